"""A request for matches: pairs -> a frozen request, or Invalid with every problem at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from engine.arguments import explained
from engine.catalogue import Catalogue
from engine.config import Config
from engine.filters import Filters
from engine.model import Namespace
from engine.namespace import Scope
from engine.recall.given import FORMATS, Given
from engine.recall.keys import Free, Key, Whole, keys_of


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """A request after defaults. `limit` engrams at most; `written` are the filters as given."""

    prompt: str = ""
    kinds: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    written: tuple[tuple[str, str], ...] = ()
    namespace: Namespace = ()
    limit: int = 3
    format: str = "md"
    warnings: tuple[str, ...] = ()


@lru_cache(maxsize=8)
def match_keys(config: Config) -> Mapping[str, Key]:
    """Every key of a match by its name, but for the filters, in the order of docs/recall.md."""
    recall = keys_of(config)
    rows = (
        Key("prompt", Free("-", f"plain text, up to {config.question_bytes:,} bytes; written "
            f"{config.written_question_bytes:,}"),
            "What somebody is about to tell an agent.", "Seamless"),
        Key("limit", Whole(config.match_limit, 1, config.match_limit), "Engrams.", "Seamless"),
        Key("kinds", Free("all", "kinds and groups, by commas or repeated"),
            "Only engrams of these."),
        recall["namespace.NAME"],
        recall["format"],
    )  # fmt: skip
    return {row.name: row for row in rows}


@explained
def parse_match(
    pairs: Iterable[tuple[str, str]],
    catalogue: Catalogue,
    config: Config,
    *,
    form: str = "api",
    ceiling: Scope | None = None,
) -> MatchRequest:
    """Judge the pairs of a match; `form` and `ceiling` as in `parse_request`."""
    keys = [key for key in match_keys(config) if "." not in key]
    given = Given(pairs, keys, of="match", namespaces=True)
    prompt = given.question(config, form, "prompt")
    if not prompt:
        given.refuse("prompt", "the prompt is empty", "match with prompt=…")
    kinds = given.kinds(catalogue)
    request = MatchRequest(
        prompt=prompt,
        kinds=kinds,
        filters=given.filters(catalogue, kinds),
        written=given.written_filters(),
        namespace=given.namespace(ceiling),
        limit=given.integer("limit", config.match_limit, 1, config.match_limit),
        format=given.choice("format", FORMATS, "md"),
        warnings=tuple(given.warnings),
    )
    given.finish()
    return request
