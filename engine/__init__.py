"""The knowledge engine: kinds, engrams, search, recall. Knows no mount, errno or command line.

What a host needs is here by name and is imported when it is first used, so that a command which
needs little of it starts at once:

    from engine import Draft, Engine, Scope
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.catalogue import engram_path as engram_path
    from engine.config import Config as Config
    from engine.document import format_engram as format_engram
    from engine.engine import Engine as Engine
    from engine.filters import Filters as Filters
    from engine.filters import parse_filters as parse_filters
    from engine.hits import landing_ids as landing_ids
    from engine.hits import sort_objects as sort_objects
    from engine.model import Draft as Draft
    from engine.model import Hit as Hit
    from engine.model import HostPart as HostPart
    from engine.model import Page as Page
    from engine.model import Span as Span
    from engine.namespace import Scope as Scope
    from engine.ports import Reranker as Reranker
    from engine.ports import TextHook as TextHook
    from engine.session import Session as Session
    from engine.slug import slugify as slugify
    from engine.validation import parse_engram as parse_engram

_ROOMS = {
    "Config": "config",
    "Draft": "model",
    "Engine": "engine",
    "Filters": "filters",
    "Hit": "model",
    "HostPart": "model",
    "Page": "model",
    "Reranker": "ports",
    "Scope": "namespace",
    "Session": "session",
    "Span": "model",
    "TextHook": "ports",
    "engram_path": "catalogue",
    "format_engram": "document",
    "landing_ids": "hits",
    "parse_engram": "validation",
    "parse_filters": "filters",
    "slugify": "slug",
    "sort_objects": "hits",
}
__all__ = sorted(_ROOMS)


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"engine.{_ROOMS[name]}"), name)
    globals()[name] = found
    return found
