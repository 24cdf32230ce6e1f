"""A briefing: what an agent should know before it starts, within a budget.

    found = briefing(reader, scope, request, path_of=path_of)

Kinds are marked in kinds.yaml (`briefing: constraint`, `convention`, `finding`, `task`). The rule
is that of Seamless; docs/recall.md tells it. Superseded engrams are left out, and what the scope
does not cover decides nothing. Raises Invalid when the request's namespace contradicts the scope,
and EmbedderFailed when the counter "model" cannot be had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from urllib.parse import quote

from engine.briefing.forms import Form, Head, Json, Markdown
from engine.briefing.notes import Note, in_full, summarised, titled
from engine.briefing.pack import Briefing, Draft, pack
from engine.briefing.plan import CONSTRAINTS, INDEX, Plan, plan, scores
from engine.briefing.request import BriefingRequest
from engine.columns import Columns
from engine.config import Config
from engine.filters import Filters
from engine.masks import favourites, masks
from engine.model import Entry, PropertyValue
from engine.namespace import Scope, bind
from engine.properties import PropertyIndex
from engine.reader import Reader, Row
from engine.slug import fold

PathOf = Callable[[Entry], str | None]

ADVICE = (
    "No kind is marked for briefings: a kind in kinds.yaml may say `briefing: constraint`, "
    "convention, finding or task."
)
LEAST_NOTE = 4  # tokens: no line has fewer, so it bounds how many are looked at

# How a task says that it is over; one that says nothing is open.
_STATES = ("status", "state")
_OVER = frozenset((
    "done", "closed", "complete", "completed", "finished", "resolved", "fixed", "cancelled",
    "canceled", "abandoned", "rejected", "dropped", "wontfix", "won't fix", "obsolete", "archived",
))  # fmt: skip
_ENDINGS = ("done", "closed", "completed", "archived")


def briefing(
    reader: Reader,
    scope: Scope,
    request: BriefingRequest,
    *,
    path_of: PathOf,
    session: str = "",
) -> Briefing:
    """The briefing for a request under a scope; `session` is who asks."""
    config = reader.config
    scope = bind(scope, request.namespace)
    count = reader.counter(request.counter)
    columns = reader.columns.now()
    kinds = frozenset(request.kinds) if request.kinds else None
    mask = masks(columns, reader.properties, scope, Filters(kinds=kinds))
    liked = frozenset(favourites(reader.properties))
    used = None
    if reader.counted(scope) >= config.briefing_counted:
        used = reader.utility(scope, len(columns))
    now_ns = request.now_ns if request.now_ns is not None else reader.now_ns()
    order = scores(columns, now_ns, used, config)
    chosen = plan(
        columns, mask.allowed, reader.catalogue.of_kinds(scope.kinds), liked, order,
        lambda no: is_over(reader.properties, no), config,
    )  # fmt: skip
    cap = int(request.budget * config.briefing_cap)
    draft = _draft(reader, scope, columns, request, chosen, liked, path_of, cap)
    form: Form = Json() if request.format == "json" else Markdown()
    packed = pack(draft, form, count, request.budget, cap)
    reader.note(scope, "shown", [note.entry for note in packed.notes], session)
    return packed


def is_over(properties: PropertyIndex, no: int) -> bool:
    """Does a task say that it is over? By `status` or `state`, or by a switch such as `done`."""
    held = properties.of(no)
    return any(_word(held.get(name)) in _OVER for name in _STATES) or any(
        held.get(name) is True for name in _ENDINGS
    )


def _word(value: PropertyValue) -> str:
    return fold(value).replace("_", " ").strip() if isinstance(value, str) else ""


def _draft(
    reader: Reader,
    scope: Scope,
    columns: Columns,
    request: BriefingRequest,
    chosen: Plan,
    liked: frozenset[int],
    path_of: PathOf,
    cap: int,
) -> Draft:
    config = reader.config

    def titles(section: str, numbers: Iterable[int]) -> list[Note]:
        entries = map(columns.entry, numbers)
        return [titled(section, one, path_of, favourite=one.no in liked) for one in entries]

    constraints = titles(CONSTRAINTS, chosen.constraints[: cap // LEAST_NOTE])
    foremost = constraints[: config.briefing_constraints]
    most = request.budget // LEAST_NOTE
    others = [note for section in chosen.sections for note in titles(section[0], section[1][:most])]
    read = [*foremost, *(note for note in others if note.section != INDEX)]
    rows = reader.hydrate([note.entry for note in read])
    return Draft(
        constraints=constraints,
        constraints_total=len(chosen.constraints),
        fuller=[
            (in_full(note, rows.get(note.entry.no)), _summarised(note, rows, config))
            for note in foremost
        ],
        others=[
            note if note.section == INDEX else _summarised(note, rows, config) for note in others
        ],
        total=chosen.total,
        head=replace(
            _head(request, config),
            advice="" if chosen.marked else ADVICE,
            degraded=reader.unreadable(scope),
        ),
    )


def _summarised(note: Note, rows: Mapping[int, Row], config: Config) -> Note:
    return summarised(note, rows.get(note.entry.no), config)


def _head(request: BriefingRequest, config: Config) -> Head:
    """What is known before anything is packed."""
    return Head(
        tokens=None,
        omitted=0,
        truncated=False,
        token="",
        counter=request.counter,
        controls=_controls(request),
        changed=_changed(request, config),
        warnings=request.warnings,
    )


def _controls(request: BriefingRequest) -> Mapping[str, object]:
    """Everything applied, by the request's own keys."""
    return {
        "budget": request.budget,
        "counter": request.counter,
        "kinds": list(request.kinds),
        **{f"namespace.{name}": value for name, value in request.namespace},
        "now": request.now,
        "format": request.format,
    }


def _changed(request: BriefingRequest, config: Config) -> str:
    """What differs from its default, in the syntax of a request."""
    usual = {"budget": config.briefing_budget, "counter": BriefingRequest().counter}
    pairs = [
        (name, ",".join(map(str, value)) if isinstance(value, list) else str(value))
        for name, value in _controls(request).items()
        if value and name != "format" and value != usual.get(name)
    ]
    return "&".join(f"{quote(name)}={quote(value, safe=',:')}" for name, value in pairs)
