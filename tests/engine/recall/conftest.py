"""What the tests of recall share."""

from __future__ import annotations

import pytest

from tests.engine.library import BagEmbedder, Library


@pytest.fixture
def library() -> Library:
    made = Library(embedder=BagEmbedder())
    made.put("asset/pump", "---\nstage: open\n---\n# Pump\n\nThe pump overheats in summer.\n")
    made.put("asset/valve", "---\nstage: won\n---\n# Valve\n\nThe pump's valve leaks.\n")
    made.put("incident/may", "# May\n\nIn May the pump overheats again.\n", days=20)
    made.put("note/other", "# Other\n\nEntirely unrelated words stand here.\n", days=1)
    return made
