"""The commands that need a store. They run in whichever process has it open.

A command takes the host, a scope and JSON arguments, and returns JSON.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import Invalid, NotFound, Problem
from engine.namespace import Scope
from engramfs import wire
from engramfs.answers import Packs
from engramfs.wire import Failed, Message

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.model import Commit, Entry, Namespace
    from engramfs.graph_forms import View
    from engramfs.points import Point

Progress = Callable[[Message], None]

_STEP_SECONDS = 0.5  # between two reports of how many vectors are made


@dataclass(frozen=True, slots=True)
class Host:
    """What a command may use. `tree` is the namespace whose engrams have paths: the mount's."""

    engine: Engine
    store: Path
    tree: Namespace = ()
    mountpoints: tuple[str, ...] = ()
    show_id: bool = True  # lines are counted with the id line that reading shows
    packs: Packs = field(default_factory=Packs)
    points: tuple[Point, ...] = ()  # the mountpoints in each spelling that people may use

    def path_of(self, entry: Entry) -> str | None:
        """Where the engram stands in the tree, None when it stands in no tree."""
        if entry.namespace != self.tree or entry.deleted_ns is not None:
            return None
        kind = self.engine.catalogue.directory(entry.kind)
        return f"{kind}/{entry.name}.md"


Command = Callable[[Host, Scope, Message, Progress], Message]


def perform(host: Host, request: Message, progress: Progress) -> Message:
    """Run the request `{"command", "namespace", "arguments"}`. Raises Failed and engine errors."""
    command = _COMMANDS.get(str(request.get("command")))
    if command is None:
        raise Failed(f"the server knows no command {request.get('command')!r}", 2)
    given = request.get("namespace")
    scope = Scope() if given is None else Scope(tuple((str(k), str(v)) for k, v in given))
    return command(host, scope, request.get("arguments") or {}, progress)


def _judged(command: Command) -> Command:
    """The command, which fails as wrong usage where its request is Invalid."""

    @wraps(command)
    def judged(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
        try:
            return command(host, scope, arguments, progress)
        except Invalid as error:
            raise Failed(str(wire.failure(error)), 2) from error

    return judged


def _text(rendered: bytes) -> Message:
    return {"text": rendered.decode("utf-8", "replace")}


def _pairs(arguments: Message) -> tuple[tuple[str, str], ...]:
    return tuple((str(key), str(value)) for key, value in arguments["pairs"])


def _session(arguments: Message) -> str:
    """Who asks, for demand."""
    return str(arguments.get("session", ""))


def _status(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    from engramfs.render import status_values

    return status_values(
        host.engine.status(scope),
        {
            "pid": os.getpid() if host.mountpoints else None,
            "mountpoints": list(host.mountpoints),
            "store": str(host.store),
        },
    )


@_judged
def _recall(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    from engine.recall.request import parse_request

    engine = host.engine
    request = parse_request(
        _pairs(arguments), engine.catalogue, engine.config, counters=engine.counters
    )
    if request.token:
        # Commands have the rights of the whole store: what a mount was told they may read.
        mounts = host.mountpoints if scope.covers(host.tree) else ()
        return {"text": host.packs.again(request.token, scope, *mounts).decode()}
    pack = engine.recall(
        scope, request, path_of=host.path_of, shown=host.show_id, session=_session(arguments)
    )
    host.packs.put(scope, pack.token, pack.rendered)
    return _text(pack.rendered)


@_judged
def _briefing(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    from engine.briefing.request import parse_briefing

    engine = host.engine
    request = parse_briefing(
        _pairs(arguments), engine.catalogue, engine.config, counters=engine.counters
    )
    found = engine.briefing(scope, request, path_of=host.path_of, session=_session(arguments))
    host.packs.put(scope, found.token, found.rendered)
    return _text(found.rendered)


@_judged
def _match(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    from engine.match_request import parse_match

    engine = host.engine
    request = parse_match(_pairs(arguments), engine.catalogue, engine.config)
    found = engine.match(scope, request, path_of=host.path_of, session=_session(arguments))
    return _text(found.rendered)


def _next_request(set_id: str, offset: int, limit: int) -> str:
    if not set_id:
        return f"--offset {offset}"
    return f"engramfs search --continue {set_id} --offset {offset} --limit {limit}"


@_judged
def _search(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    """A page of hits. `search` names the way to search, `pairs` are its request."""
    from engine.recall.searches import SEARCHES, parse_search
    from engramfs import searching

    search = str(arguments.get("search", "search"))
    if search not in SEARCHES:
        raise Failed(f"the server knows no search {search!r}", 2)

    engine = host.engine
    request = parse_search(search, _pairs(arguments), engine.catalogue, engine.config)
    try:
        page = searching.run(engine, scope, request, shown=host.show_id)
    except NotFound:
        # Commands have the rights of the whole store: of a set that a mount was told they may
        # ask for more.
        if not request.search.continues or not scope.covers(host.tree):
            raise
        tree = Scope(host.tree, exact=True)
        page = searching.run(engine, tree, request, shown=host.show_id)
    if not host.mountpoints:
        page = replace(page, set_id="")  # it ends with this process
    view = _view(host, scope, arguments)
    return _text(searching.render(request, page, view.path_of, _next_request, view.name))


def _view(host: Host, scope: Scope, arguments: Message) -> View:
    """What a command about the graph sees: `paths` are its words as paths where it was typed."""
    from engramfs.graph_forms import View
    from engramfs.refs import ref_of

    engine, paths = host.engine, arguments.get("paths") or {}
    tree = Scope(scope.attributes or host.tree, exact=True)  # where `kind/slug` is looked up
    return View(
        engine,
        scope,
        lambda text: ref_of(engine, tree, text, host.points, path=str(paths.get(text, ""))),
        host.path_of,
        _next_request,
        shown=host.show_id,
        keeps=bool(host.mountpoints),
    )


@_judged
def _graph(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    """Ask the graph. `ask` names the question, `pairs` are its request."""
    from engramfs.graph_answers import answer
    from engramfs.graph_requests import ASKS, parse_ask

    question = str(arguments["ask"])
    if question not in ASKS:
        raise Failed(f"the server knows no question {question!r} of the graph", 2)
    request = parse_ask(question, _pairs(arguments), host.engine.config)
    return _text(answer(_view(host, scope, arguments), request))


@_judged
def _edge(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    """Make or remove an edge: `ask` is link or unlink."""
    from engramfs import graph_answers
    from engramfs.graph_requests import parse_edge

    doing = str(arguments["ask"])
    act = graph_answers.link if doing == "link" else graph_answers.unlink
    return _text(act(_view(host, scope, arguments), parse_edge(doing, _pairs(arguments))))


def _mv(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    """Rename the engram `a` to `b`; `rewrite` its links, `replace` what is there."""
    from engine.slug import SUFFIX, nfc
    from engramfs.address import engram_name_fault
    from engramfs.refs import place_for

    engine, b = host.engine, str(arguments["b"])
    entry = engine.by_id(scope, _view(host, scope, arguments).ref(str(arguments["a"])))
    if entry is None:
        raise NotFound(f"there is no engram {arguments['a']}")
    path = str((arguments.get("paths") or {}).get(b, ""))
    kind, name = place_for(engine.catalogue, b, entry.name, host.points, path)
    fault = engram_name_fault(f"{name}{SUFFIX}")
    if fault is not None:
        raise Failed(fault.sentence, 2)
    its = Scope(entry.namespace, exact=True)
    there = engine.lookup(its, kind, nfc(name))
    taken = there is not None and not there.empty and there.id != entry.id
    if taken and not arguments.get("replace"):
        raise Failed(f"{kind}/{name} is there already (move it away, or say --replace)")
    rewrite = bool(arguments.get("rewrite"))
    commit = engine.rename(its, entry.id, kind, nfc(name), name=name, by="mv", rewrite=rewrite)
    return {
        "from": host.path_of(entry) or f"{entry.kind}/{entry.name}",
        "to": host.path_of(commit.entry) or f"{kind}/{name}",
        "rewritten": [host.path_of(linker) or linker.id for linker in commit.rewritten],
    }


def _graph_show(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    """What a picture is drawn of: `around` an engram, or None for all; laying out is the asker's
    work, lest the mount stand still meanwhile."""
    from engramfs.picture import to_message

    around = arguments["around"]
    if around is not None:
        around = _view(host, scope, arguments).ref(str(around))
    found = host.engine.excerpt(scope, around, int(arguments["hops"]))
    return to_message(found, host.path_of)


@_judged
def _digest(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    """Tell of digests, or make them anew: `ask` is map, show or rebuild."""
    from engramfs.digest_answers import perform

    tree = Scope(scope.attributes or host.tree, exact=True)
    return perform(host.engine, tree, arguments, host.path_of, progress)


def _import(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    """Put documents. `files`: [{path, directory, name, source (base64), mtime_ns, mode}].

    Answers `{"results": [[path, outcome, [reason, …]], …]}`, in order; outcome is new, changed,
    unchanged or refused. Refused documents change nothing.
    """
    from engine.model import Draft

    engine = host.engine
    exact = Scope(scope.attributes, exact=True)
    results: list[list[Any]] = []
    drafts: list[tuple[int, Draft]] = []
    for file in arguments["files"]:
        outcome: list[Any] = [file["path"], "refused", []]
        results.append(outcome)
        directory = file["directory"]
        if engine.catalogue.open and engine.catalogue.kind(directory) is None:
            engine.make_kind(directory)
        kind = engine.catalogue.by_directory(directory) or engine.catalogue.kind(directory)
        if kind is None or not kind.parent:
            known = ", ".join(kind.name for kind in engine.catalogue.parents()) or "none"
            outcome[2] = [f"there is no kind {directory} (the kinds are: {known})"]
            continue
        draft = Draft(
            kind=kind.name,
            slug=file["name"],
            name=file["name"],
            source=base64.b64decode(file["source"]),
            mode=file["mode"],
            mtime_ns=file["mtime_ns"],
            by="import",
        )
        drafts.append((len(results) - 1, draft))
    answers = engine.put_many(exact, [draft for _, draft in drafts])
    for (at, _), answer in zip(drafts, answers, strict=True):
        if isinstance(answer, Invalid):
            results[at][2] = [_reason(problem) for problem in answer.problems]
        else:
            results[at][1] = _outcome(answer)
    return {"results": results}


def _outcome(commit: Commit) -> str:
    if not commit.changed:
        return "unchanged"
    return "new" if commit.replaced is None else "changed"


def _reason(problem: Problem) -> str:
    from engramfs.render import problem_line

    return problem_line(problem)


def _kinds_show(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    import yaml

    from engine.catalogue import Field, Kind, catalogue_to_rows, kind_to_json

    rows = catalogue_to_rows(host.engine.catalogue)
    specs: dict[str, Any] = {name: json.loads(spec) for name, spec in rows}
    rest = {name: value for name, value in specs.pop("", {}).items() if value}
    plain = json.loads(kind_to_json(Kind("plain", fields={"field": Field("field")})))
    usual = plain.pop("fields")["field"]
    for name, spec in specs.items():
        fields = {
            key: {"type": field.pop("type"), **_unusual(field, usual)}
            for key, field in spec.pop("fields", {}).items()
        }
        specs[name] = _unusual(spec, plain) | ({"fields": fields} if fields else {})
    shown = {"kinds": specs, **rest}
    return {"text": yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=100)}


def _unusual(spec: Message, usual: Message) -> Message:
    """What differs from the default."""
    return {name: value for name, value in spec.items() if value != usual.get(name)}


def _kinds_apply(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    return {"changes": list(host.engine.apply_kinds(arguments["text"]))}


def _check(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    problems = host.engine.check(repair=bool(arguments.get("repair")))
    return {"problems": [_reason(problem) for problem in problems]}


def _reindex(host: Host, scope: Scope, arguments: Message, progress: Progress) -> Message:
    def report(done: int, total: int) -> None:
        progress({"done": done, "total": total})

    embed = bool(arguments.get("embed"))
    host.engine.reindex(embed=embed, progress=report)
    status = host.engine.status(scope)
    total = status.pending_vectors
    # Whoever asks for vectors gets them before the command ends, or hears why not.
    while embed and status.pending_vectors and not status.problems:
        host.engine.reading.wait_for_vectors(_STEP_SECONDS)
        status = host.engine.status(scope)
        report(max(0, total - status.pending_vectors), total)
    pending = status.pending_vectors
    if embed and pending:
        raise Failed(f"{pending} vectors could not be made: {'; '.join(status.problems)}")
    return {"engrams": status.engrams, "parts": status.parts, "pending": pending}


_COMMANDS: Mapping[str, Command] = {
    "status": _status,
    "recall": _recall,
    "briefing": _briefing,
    "match": _match,
    "search": _search,
    "graph": _graph,
    "graph show": _graph_show,
    "link": _edge,
    "unlink": _edge,
    "mv": _mv,
    "digest": _digest,
    "import": _import,
    "kinds show": _kinds_show,
    "kinds apply": _kinds_apply,
    "check": _check,
    "reindex": _reindex,
}
