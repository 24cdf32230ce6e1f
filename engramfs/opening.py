"""Settings -> an open engine, for the mount and for single commands."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import StoreHeld
from engramfs import lock
from engramfs.errors import FsError
from engramfs.settings import Settings
from engramfs.wire import Failed

if TYPE_CHECKING:
    from engine.engine import Engine

DATABASE = "engramfs.duckdb"
_LOOKS = 20  # somebody who only looks whether the lock is held holds it for microseconds


def require_store(store: Path) -> None:
    """Failed where there is no store to read."""
    if not (store / DATABASE).exists():
        raise Failed(f"there is no store at {store} (engramfs mount or engramfs import makes one)")


def open_engine(settings: Settings, kinds: str | None = None) -> Engine:
    """Open the store of the settings; `kinds` is the text of a kinds.yaml to apply.

    Raises StoreHeld, StoreCorrupt, SchemaTooNew, StoreFull, and Invalid for wrong kinds.
    """
    from engine.embed import OnnxEmbedder
    from engine.engine import Engine

    model = settings.text("model")
    embedder = OnnxEmbedder(Path(model)) if model and settings.text("embed") != "off" else None
    for look in range(_LOOKS):
        try:
            return Engine.open(
                settings.store,
                kinds=kinds,
                embedder=embedder,
                embed=settings.text("embed"),
                config=settings.config(),
            )
        except StoreHeld:
            if look + 1 == _LOOKS or lock.holder(settings.store) is not None:
                raise
            time.sleep(0.005)
    raise AssertionError("the loop returns or raises")


def read_kinds(settings: Settings) -> str | None:
    """The text of the kinds file that the settings name; None when they name none."""
    path = settings.text("kinds")
    if not path:
        return None
    try:
        return Path(path).read_text("utf-8-sig")
    except OSError as error:
        raise FsError(
            "EINVAL", f"the kinds file {path} cannot be read: {error.strerror}", "check --kinds"
        ) from error
    except UnicodeDecodeError as error:
        raise FsError("EINVAL", f"the kinds file {path} is not UTF-8: {error}") from error
