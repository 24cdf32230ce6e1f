"""Settings -> an open engine, for the mount and for single commands."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import Invalid, StoreHeld
from engramfs import lock
from engramfs.errors import FsError
from engramfs.settings import TABLE, Settings
from engramfs.wire import Failed

if TYPE_CHECKING:
    from engine.embed import Embedder
    from engine.engine import Engine
    from engine.ports import Guard, Summariser

DATABASE = "engramfs.duckdb"
_TOLD = frozenset({"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR"})
_LOOKS = 20  # somebody who only looks whether the lock is held holds it for microseconds


def require_store(store: Path) -> None:
    """Failed where there is no store to read."""
    if not (store / DATABASE).exists():
        raise Failed(f"there is no store at {store} (engramfs mount or engramfs import makes one)")


def open_engine(settings: Settings, kinds: str | None = None, *, re_embed: bool = False) -> Engine:
    """Open the store of the settings; `kinds` is the text of a kinds.yaml to apply.

    `re_embed`: another model's vectors are dropped, where they are refused otherwise.

    Raises StoreHeld, StoreCorrupt, SchemaTooNew, StoreFull, and Failed for wrong kinds.
    """
    from engine.engine import Engine

    embedder, summariser, guard = _embedder(settings), _summariser(settings), _guard(settings)
    for look in range(_LOOKS):
        try:
            return Engine.open(
                settings.store,
                kinds=kinds,
                embedder=embedder,
                embed=settings.text("embed"),
                config=settings.config(),
                re_embed=re_embed,
                summariser=summariser,
                guard=guard,
            )
        except Invalid as error:
            file = settings.text("kinds")
            raise Failed("\n".join(f"{file}: {problem}" for problem in error.problems)) from error
        except StoreHeld:
            if look + 1 == _LOOKS or lock.holder(settings.store) is not None:
                raise
            time.sleep(0.005)
    raise AssertionError("the loop returns or raises")


def _embedder(settings: Settings) -> Embedder | None:
    """The configured model; None for the bundled one as it comes, or where no vectors are made."""
    configured = any(settings.given(name) for name in TABLE if name.startswith("model"))
    if not configured or settings.text("embed") == "off":
        return None
    from engine.embed import ModelSettings, OnnxEmbedder

    directory = settings.text("model")
    how = ModelSettings(
        pooling="cls" if settings.text("model_pooling") == "cls" else "mean",
        query_prefix=settings.text("model_query_prefix"),
        passage_prefix=settings.text("model_passage_prefix"),
        max_tokens=settings.number("model_tokens"),
    )
    return OnnxEmbedder(
        Path(directory) if directory else None, how, threads=settings.number("model_threads")
    )


def _summariser(settings: Settings) -> Summariser | None:
    """The configured command; None for the summariser that is built in."""
    words = settings.words("summarizer_command")
    if not words:
        return None
    from engine.digests.command import Command

    return Command(words, seconds=_seconds(settings), environment=_environment())


def _guard(settings: Settings) -> Guard | None:
    """The configured command; None: everything may be summarised."""
    words = settings.words("summarizer_guard")
    if not words:
        return None
    from engine.digests.command import CommandGuard

    return CommandGuard(words, seconds=_seconds(settings), environment=_environment())


def _seconds(settings: Settings) -> float:
    return float(settings.number("summarizer_seconds"))


def _environment() -> dict[str, str]:
    """What a program of the user's may know: where programs and its own files are, and how to
    write; no secrets that this process happens to have."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _TOLD or name.startswith(("LC_", "XDG_"))
    }


def read_kinds(settings: Settings) -> str | None:
    """The text of the kinds file that the settings name; None when they name none."""
    path = settings.text("kinds")
    if not path:
        return None
    try:
        return Path(path).read_text("utf-8-sig")
    except OSError as error:
        raise FsError(
            "EINVAL",
            f"the kinds file {path} cannot be read: {error.strerror}",
            "check --kinds, or the setting kinds",
        ) from error
    except UnicodeDecodeError as error:
        raise FsError(
            "EINVAL", f"the kinds file {path} is not UTF-8: {error}", "save it as UTF-8"
        ) from error
