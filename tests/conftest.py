"""Settings of all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Nothing fails for being slow: a machine that is busy would decide about it. (`settings()` is what
# hypothesis has for this machine; on one that integrates it draws the same examples each time.)
settings.register_profile(
    "untimed", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")
