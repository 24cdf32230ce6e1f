"""What is asked of digests, for the mount and for the command line, and which of them are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from engine.errors import Conflict, NotFound, shown
from engine.recall.given import FORMATS, Given
from engramfs import digest_text
from engramfs.wire import Failed

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.model import Digest, Entry
    from engine.namespace import Scope
    from engramfs.wire import Message

MAP_KEYS = ("ask", "known", "format")


def perform(
    engine: Engine,
    scope: Scope,
    arguments: Message,
    path_of: Callable[[Entry], str | None],
    progress: Callable[[Message], None],
) -> Message:
    """A command: `ask` is map (as `pairs` say), show (`name`, `json`) or rebuild (`name`, `anew`).

    Raises Failed for another one, Invalid, NotFound, Conflict, SummariserFailed.
    """
    match arguments["ask"]:
        case "map":
            pairs = [(str(key), str(value)) for key, value in arguments["pairs"]]
            told = answer_map(engine, scope, pairs)
        case "show":
            as_values = bool(arguments.get("json"))
            told = answer_show(engine, scope, str(arguments["name"]), path_of, as_values=as_values)
        case "rebuild":
            return _rebuilt(engine, scope, arguments, progress)
        case other:
            raise Failed(f"the server knows no question {other!r} about digests", 2)
    return {"text": told.decode("utf-8", "replace")}


def answer_map(engine: Engine, scope: Scope, pairs: Iterable[tuple[str, str]]) -> bytes:
    """The outline. Invalid for keys and values that are none."""
    given = Given(pairs, MAP_KEYS, of=".digests", filters=False)
    given.choice("ask", ("map",), "map")
    as_values = given.choice("format", FORMATS, "md") == "json"
    known = given.one("known").strip().lower()
    given.finish()
    render = digest_text.map_values if as_values else digest_text.map_text
    return render(engine.digests(scope), known)


def answer_show(
    engine: Engine,
    scope: Scope,
    name: str,
    path_of: Callable[[Entry], str | None],
    *,
    as_values: bool,
) -> bytes:
    """One digest and what is below it.

    NotFound for one that is not there, with those that are; Conflict for a stale one: nothing
    that is out of date is told.
    """
    all_of_them = {digest.name: digest for digest in engine.digests(scope)}
    digest = all_of_them.get(name)
    if digest is None:
        known = ", ".join(each.name for each in digest_text.in_tree(list(all_of_them.values())))
        raise NotFound(f"there is no digest {shown(name)}", f"there are: {known or 'none yet'}")
    if digest.stale:
        raise Conflict(
            f"the digest {name} does not say what its engrams say now "
            f"({digest_text.why_stale(digest)})",
            f"it is made anew by: engramfs digest rebuild {name}",
        )
    render = digest_text.show_values if as_values else digest_text.show_text
    return render(digest, _children(engine, digest, list(all_of_them.values()), path_of))


def _children(
    engine: Engine, digest: Digest, others: list[Digest], path_of: Callable[[Entry], str | None]
) -> list[str]:
    if digest.level == "tenant":
        return [each.name for each in digest_text.in_tree(others) if each.level != "tenant"]
    found = (engine.reading.entries.get(no) for no in digest.members.tolist())
    return [
        path_of(entry) or f"{entry.kind}/{entry.name} {entry.id}"
        for entry in found
        if entry is not None
    ]


def _rebuilt(
    engine: Engine, scope: Scope, arguments: Message, progress: Callable[[Message], None]
) -> Message:
    """`{"made": number of digests, "failed": [[name, why], …]}`."""
    name = arguments.get("name")
    digests = engine.rebuild_digests(
        scope,
        name,
        lambda done, total: progress({"done": done, "total": total}),
        anew=bool(arguments.get("anew")),
    )
    asked = [digest for digest in digests if name in (None, digest.name)]
    # One that could not be made anew may still say what its engrams say.
    lacking = [each for each in asked if each.stale or each.problem]
    failed = [[each.name, digest_text.why_stale(each)] for each in lacking]
    return {"made": len(asked) - len(failed), "failed": failed}
