"""The keys of a recall as one table: what each takes, its default, and whose rule it is.

`parse_request` judges by it and docs/recall.md shows it, so neither can say what the other does
not. `origin` names the design that a key comes from; "-" is our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from engine.config import Config
from engine.model import SOURCE_ROLES
from engine.recall.given import CHANNELS, FORMATS, FUSIONS
from engine.tokens import COUNTERS

DETAILS = ("auto", "full", "parts", "summary")
ALTITUDES = ("auto", "entity", "scope", "tenant")
TAGS_MATCHES = ("any", "all", "any_strict", "all_strict", "exact")
SURFACES = ("engrams", "passages", "facts", "digests")
SURFACE_ALIASES = {"reports": "digests"}
FLOORS = ("lexical", "vector", "graph", "temporal")  # channels that a floor can be given to

MOST_K = 1000
MOST_HOPS = 2
MOST_SEEDS = 32
MOST_CHUNK_TOKENS = 8192
MOST_SCORE = 100.0
DEPTHS = {"low": (12, 1), "mid": (24, 1), "high": (100, 2)}  # k and hops


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number. `over`: above `most` it is refused, lowered, or (below too) clamped."""

    default: int
    least: int
    most: int
    over: str = "refuse"  # or "lower", "clamp"


@dataclass(frozen=True, slots=True)
class Floor:
    """A number from 0 on; 0 without one."""

    most: float = 1.0


@dataclass(frozen=True, slots=True)
class Switch:
    """on, off, true, false, 1 or 0; off without one."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    choices: tuple[str, ...]
    default: str


@dataclass(frozen=True, slots=True)
class Subset:
    """Some words, each once; `aliases` are other words for them."""

    choices: tuple[str, ...]
    default: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Free:
    """What has a form of its own."""

    default: str
    valid: str
    refused: str = "EINVAL"


Takes = Whole | Floor | Switch | Choice | Subset | Free


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a request."""

    name: str
    takes: Takes
    says: str
    origin: str = "-"


def depth_of(depth: str, config: Config) -> tuple[int, int]:
    """(k, hops) of a depth; the config says what k is without one."""
    k, hops = DEPTHS[depth]
    return (config.recall_k if depth == "mid" else k), hops


def usual_roles(config: Config) -> tuple[str, ...]:
    """Whose words a recall gives that names nobody."""
    return (
        tuple(role for role in SOURCE_ROLES if role in config.recall_source_roles) or SOURCE_ROLES
    )


@lru_cache(maxsize=8)
def keys_of(config: Config) -> Mapping[str, Key]:
    """Every key of a recall by its name, in the order of docs/recall.md."""
    k, hops = depth_of("mid", config)
    least = config.recall_budget_min
    most = config.recall_budget_max
    date = Free("-", "a date or time: 2026-04-05, 2026-04-05T10:00:00Z")
    filters = Free("-", "one or more, by commas or repeated: any of them")
    roles = usual_roles(config)
    rows = (
        Key("q", Free("-", f"plain text, up to {config.question_bytes:,} bytes; written "
            f"{config.written_question_bytes:,}"),
            "The question. With `kinds` and no q: browse, newest first.", "all; Seamless"),
        Key("budget", Whole(config.recall_budget, least, most),
            f"Tokens of the whole answer; at least {config.recall_budget_min_json} for JSON, 0 "
            "only with sources or chunks, which have their own on top.", "fabriq, Hindsight"),
        Key("counter", Choice(COUNTERS, "o200k"),
            "What counts tokens; a host may add its own.", "fabriq"),
        Key("max_characters", Whole(config.recall_max_characters, 1, config.recall_max_characters),
            "Code points of item text: titles, bodies, quotes, notes, paths.", "Taisce"),
        Key("limit", Whole(config.recall_limit, 1, config.recall_limit, "lower"),
            "Items.", "Taisce"),
        Key("kinds", Free("all", "kinds and groups, by commas or repeated"),
            "One ranking over all of them, whatever their order.",
            "fabriq, Hindsight, Seamless"),
        Key("kind", filters, "A kind, as `kinds`.", "Tacklr"),
        Key("prop.NAME", filters, "A declared property; NAME may end with _after, _before, _min, "
            "_max.", "Tacklr"),
        Key("title", filters, "The title, exactly.", "Tacklr"),
        *(Key(name, date, f"{name.partition('_')[0].capitalize()} at that time or later."
              if name.endswith("after") else f"{name.partition('_')[0].capitalize()} before it.",
              "Tacklr")
          for name in ("created_after", "created_before", "updated_after", "updated_before")),
        Key("scope_ids", Free("-", "ids or kind/slug, by commas or repeated"),
            "Only these engrams.", "Tacklr"),
        Key("namespace.NAME", Free("-", "a value; in a control file the mount's"),
            "Narrows the scope.", "Tacklr"),
        Key("tags", filters, "Tags that `tags_match` compares.", "Hindsight"),
        Key("tags_match", Choice(TAGS_MATCHES, "any"),
            "any and all include engrams without a tag, the strict ones do not; exact: the sets "
            "are equal (without `tags`: engrams without a tag).", "Hindsight"),
        Key("source_roles", Subset(SOURCE_ROLES, roles),
            "Who said it; `user` where nothing says so.", "Taisce"),
        Key("surfaces", Subset(SURFACES, SURFACES, tuple(SURFACE_ALIASES.items())),
            "What items may be: engrams whole, their passages, edges as facts, digests.", "Taisce"),
        Key("themes", Switch(), "Consult digests also when the question names an engram.",
            "Taisce"),
        Key("channels", Subset(CHANNELS, CHANNELS), "Who searches.", "fabriq"),
        Key("weights", Free("1 each", "channel:number by commas, up to 1000; 0 or less is 1"),
            "Multiply the weights of the config.", "fabriq"),
        Key("depth", Choice(tuple(DEPTHS), "mid"),
            "k and hops: " + ", ".join(f"{name} {k} and {hops}"
                                       for name, (k, hops) in DEPTHS.items()) + ".", "Hindsight"),
        Key("k", Whole(k, 1, MOST_K), "Engrams that vectors or time alone may bring in.",
            "fabriq, Hindsight"),
        Key("hops", Whole(hops, 1, MOST_HOPS, "clamp"), "How far the graph channel goes.",
            "fabriq, Taisce"),
        Key("reverse", Switch(), "It goes against the edges too.", "fabriq"),
        Key("seeds", Whole(config.recall_seeds, 1, MOST_SEEDS), "Hits that it starts from.",
            "fabriq"),
        Key("altitude", Choice(ALTITUDES, "auto"),
            "Engrams, digests of scopes, or the digest of all.", "fabriq"),
        Key("detail", Choice(DETAILS, "auto"),
            f"auto: an engram of at most {config.whole_engram_tokens} tokens whole, else its best "
            f"{config.passages} passages, at most {config.passages_tokens} tokens."),
        Key("sources", Switch(), "What items are derived from. Without the key those of kinds that "
            "are made from others; off: none.", "Hindsight"),
        Key("max_source_tokens", Whole(config.recall_source_tokens, 1, most),
            "Tokens of the sources, on top of the budget.", "Hindsight"),
        Key("chunks", Switch(), "Raw passages, from the ranking before the cut.", "Hindsight"),
        Key("max_chunk_tokens", Whole(config.recall_chunk_tokens, 1, MOST_CHUNK_TOKENS),
            "Tokens of the chunks, on top of the budget.", "Hindsight"),
        *(Key(f"min_score.{channel}", Floor(),
              "Inclusive floor in that channel; nothing moves up for what it takes out.",
              "Hindsight")
          for channel in FLOORS),
        Key("min_score", Floor(MOST_SCORE), "Inclusive floor on the final score.", "Hindsight"),
        Key("set", Free("-", "the token of an answer, alone"), "That answer again."),
        Key("now", Free("the clock", date.valid), "What \"last week\" means.", "Hindsight"),
        Key("as_of", date, "Found in the live index, shown as at that time; later ones left out.",
            "Taisce"),
        Key("trace", Switch(), "Why it is so, behind the answer and outside the budget.",
            "Hindsight"),
        Key("strict", Switch(), "A channel or surface that fails fails the recall.", "fabriq"),
        Key("fresh", Switch(), "Wait for pending vectors first, "
            f"{config.fresh_wait_seconds:g} s at most; not in a name."),
        Key("fusion", Choice(FUSIONS, "score"), "How channels are joined.", "all (rrf)"),
        Key("format", Choice(FORMATS, "md"), "Markdown, or JSON."),
    )  # fmt: skip
    return {row.name: row for row in rows}


def valid(takes: Takes) -> str:
    """What a key takes, in words."""
    match takes:
        case Whole():
            return f"{takes.least:,} to {takes.most:,}"
        case Floor():
            return f"0 to {takes.most:g}"
        case Switch():
            return "on, off, true, false, 1, 0"
        case Choice() | Subset():
            return ", ".join(takes.choices)
        case Free():
            return takes.valid


def default(takes: Takes) -> str:
    """What a key is without being given, in words."""
    match takes:
        case Whole():
            return f"{takes.default:,}"
        case Floor():
            return "0"
        case Switch():
            return "off"
        case Choice() | Free():
            return takes.default
        case Subset():
            return "all" if takes.default == takes.choices else ", ".join(takes.default)


def refusal(takes: Takes) -> str:
    """What becomes of any other value, in words."""
    if isinstance(takes, Whole):
        return {
            "refuse": "EINVAL",
            "lower": "above: lowered and said; else EINVAL",
            "clamp": "clamped and said",
        }[takes.over]
    if isinstance(takes, Subset):
        return "empty, repeated, unknown: EINVAL"
    return takes.refused if isinstance(takes, Free) else "EINVAL"


def table(keys: Iterable[Key]) -> str:
    """Keys as a table of docs/recall.md."""
    lines = [
        "| key | default | valid | otherwise | what it does | from |",
        "|---|---|---|---|---|---|",
    ]
    for key in keys:
        cells = (
            f"`{key.name}`", default(key.takes), valid(key.takes), refusal(key.takes), key.says,
            key.origin,
        )  # fmt: skip
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"
