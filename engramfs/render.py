"""What `.help`, `.errors` and `.status` say: pure text of the engine's values.

Stored text never reaches a terminal as a command to it: control characters are shown as escapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from textwrap import fill

from engine.model import Notice, Problem, Status
from engine.recall.searches import SEARCHES
from engine.visible import json_text, visible
from engramfs.names import TABLE, SpecialName


def one_line(text: str) -> str:
    """`text` on one line: what a terminal would obey is shown as an escape (`\\x1b`, `\\n`)."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def instant(ns: int, *, milliseconds: bool = False) -> str:
    """Nanoseconds since the epoch as ISO 8601 in UTC."""
    at = datetime.fromtimestamp(ns // 1_000_000_000, UTC)
    fraction = f".{ns // 1_000_000 % 1000:03d}" if milliseconds else ""
    return f"{at:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def problem_line(problem: Problem) -> str:
    """One problem: `line 3: stage: … (hint)`; the key only where the message does not name it."""
    line = f"line {problem.line}: " if problem.line is not None else ""
    key = f"{problem.key}: " if problem.key and problem.key not in problem.message else ""
    hint = f" ({problem.hint})" if problem.hint else ""
    return one_line(f"{line}{key}{problem.message}{hint}")


def errors_text(notices: Sequence[Notice]) -> bytes:
    """`.errors`, newest first; b"" when there is none."""
    return "\n".join(_notice(notice) for notice in notices).encode("utf-8", "backslashreplace")


def errors_json(notices: Sequence[Notice]) -> bytes:
    """The same as one JSON array."""
    return as_json(
        [
            {
                "path": notice.path,
                "time": instant(notice.at_ns),
                "event": notice.event,
                "problems": [
                    {
                        "message": problem.message,
                        "line": problem.line,
                        "key": problem.key,
                        "hint": problem.hint,
                    }
                    for problem in notice.problems
                ],
            }
            for notice in notices
        ]
    )


def status_values(status: Status, about: Mapping[str, object]) -> dict[str, object]:
    """`.status` as JSON holds it; `about` comes first: what the mount knows of itself."""
    return {
        **about,
        "engrams": status.engrams,
        "kinds": dict(status.kinds),
        "parts": status.parts,
        "pending_vectors": status.pending_vectors,
        "vector_search": status.vector_index.search,
        "vectors": status.vector_index.vectors,
        "vectors_in_index": status.vector_index.held,
        "embed": status.embed,
        "model": status.model,
        "digests": status.digests.fresh,
        "digests_stale": status.digests.stale,
        "digests_made": "by themselves" if status.digests.making == "on" else "when asked for",
        "refusals": status.refusals,
        "commit": status.seq,
        "events": dict(status.events),
        "misses": list(status.misses),
        "problems": list(status.problems),
    }


def status_text(values: Mapping[str, object]) -> bytes:
    """The same as one `name: value` a line."""
    lines: list[str] = []
    for name, value in values.items():
        label = name.replace("_", " ")
        if isinstance(value, Mapping):
            shown = ", ".join(f"{key} {count}" for key, count in value.items())
            lines.append(f"{label}: {one_line(shown) or 'none'}")
        elif isinstance(value, list):
            lines.append(f"{label}: {'none' if not value else len(value)}")
            lines.extend(f"  {one_line(str(item))}" for item in value)
        else:
            lines.append(f"{label}: {one_line(str(value))}".rstrip())
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def help_text(place: str = "/engram", *, roots: bool = False) -> bytes:
    """`.help`: what can be read and written here. `place` is the mountpoint to show."""
    served = [row for row in TABLE.values() if row.exists]
    width = max(len(row.name) for row in served) + 2
    names = "\n".join(f"  {row.name:<{width}}{row.help}{_example(row)}" for row in served)
    file = "<slug>.md" if roots else "<kind>/<slug>.md"
    return _HELP.format(place=place, names=names, file=file).encode()


def usage_text(special: SpecialName, place: str = "/engram") -> bytes:
    """What a bare `.recall` or `.search` shows before this session's first request."""
    if special.name == ".recall":
        return _RECALL_USAGE.format(place=place).encode()
    name, file = special.name.removeprefix("."), f"{place}/{special.name}"
    search = SEARCHES.get(name)
    if name == "match":
        return _MATCH_USAGE.format(file=file, example=special.example).encode()
    if search is None:
        from engramfs.graph_requests import ASKS, EDGE_KEYS

        keys = fill(f"Keys, joined by &: {_keys(ASKS.get(name) or EDGE_KEYS[name])}.", 88)
        usage = _ORDER_USAGE if special.changes else _GRAPH_USAGE
        return usage.format(
            file=file, help=special.help, example=special.example, keys=keys
        ).encode()
    keys = _keys(search.keys)
    return _SEARCH_USAGE.format(
        file=file,
        help=special.help,
        example=special.example,
        keys=keys,
        filters="" if search.continues else ",\nand the filters of .recall",
        operators=_OPERATORS if search.operators else "",
    ).encode()


def as_json(value: object) -> bytes:
    """JSON on one line, with a line feed behind it."""
    return json_text(value).encode() + b"\n"


def _keys(keys: Sequence[str]) -> str:
    return ", ".join(keys).replace("format", "format (md or json)")


def _example(special: SpecialName) -> str:
    if not special.example:
        return ""
    return (
        f": write {special.example}" if special.changes else f": {special.name}?{special.example}"
    )


def _notice(notice: Notice) -> str:
    head = f"{one_line(notice.path)}  {instant(notice.at_ns)}  {notice.event}\n"
    return head + "".join(f"  {problem_line(problem)}\n" for problem in notice.problems)


_HELP = """\
This directory is an engramfs mount. Its files are engrams: Markdown with typed front matter, at
{file}. Edit them with anything. A write that breaks a rule fails, nothing is changed, and
.errors says why; the refused bytes are kept in .rejected.

{names}

A request is the name itself: key=value pairs joined by & behind ? (or :, which no shell expands).
  cat '{place}/.recall?q=overheating pumps&budget=2000'
A long question is written, and its answer read back:
  echo 'why did the pumps overheat last week?' > {place}/.recall; cat {place}/.recall
"""

_RECALL_USAGE = """\
Nothing was asked in this session yet.

  cat '{place}/.recall?q=overheating pumps&budget=2000'     a request by name
  echo 'a question' > {place}/.recall; cat {place}/.recall  a request of any length

Keys, joined by &: q, kinds, budget, counter, max_characters, limit, k, channels, detail, fusion,
trace, strict, format (md or json), set, and the filters kind, title, created_after, created_before,
updated_after, updated_before, scope_ids, prop.NAME, prop.NAME_after, _before, _min, _max.
{place}/.schema lists the kinds and their properties.
"""

_SEARCH_USAGE = """\
Nothing was asked in this session yet. This file finds
{help}:

  cat '{file}?{example}'
  echo '{example}' > {file}; cat {file}

Keys, joined by &: {keys}{filters}.
{operators}"""

_MATCH_USAGE = """\
Nothing was asked in this session yet. This file gives the engrams that a prompt touches on, at most
three; where there is none, the answer is empty.

  cat '{file}?{example}'
  echo 'a prompt of any length' > {file}; cat {file}

Keys, joined by &: prompt, limit, kinds, format (md or json), and the filters of .recall.
"""

_GRAPH_USAGE = """\
Nothing was asked in this session yet. This file tells
{help}:

  cat '{file}?{example}'
  echo '{example}' > {file}; cat {file}

An engram is named by its id, or as kind/slug, which is kind%2Fslug in a file's name.
{keys}
"""

_ORDER_USAGE = """\
Nothing was written in this session yet. What is written to this file
{help}:

  echo '{example}' > {file}

An engram is named by its id, as kind/slug, or by its path. A JSON object will do as well.
{keys}
"""

_OPERATORS = """\
In q a "phrase" must stand in the text, title:word in the title, and -word nowhere.
"""
