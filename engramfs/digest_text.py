"""Digests as text and as JSON. Pure: values in, bytes out.

A file of `.digests` is a front matter and the digest itself; in an answer, which says more than
that, stored text stands behind `> ` (docs/adr/0009). Nothing in either is obeyed by a terminal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from engine.model import Digest, Namespace
from engine.visible import json_text, one_line, visible
from engramfs.render import as_json, instant

MEMBERS = 200  # engrams of a scope that are named
_HASH = 16  # hexadecimal digits of a hash in an outline


def file_text(digest: Digest) -> bytes:
    """The whole of `.digests/<name>.md`."""
    return _utf8(f"{_front(digest)}\n{visible(digest.text).rstrip()}\n")


def map_hash(digests: Sequence[Digest]) -> str:
    """The same while the outline is: what digests there are, what they say, what is wrong."""
    said = sorted([one.name, one.hash, one.stale, one.problem, one.lacks] for one in digests)
    return hashlib.sha256(json.dumps(said).encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


def map_text(digests: Sequence[Digest], known: str) -> bytes:
    """The outline of the tree, a line a digest; `unchanged` for whoever knows its hash."""
    current = map_hash(digests)
    if known == current:
        return b"unchanged\n"
    lines = [f"map: {current}"]
    for digest in in_tree(digests):
        indent = "" if digest.level == "tenant" else "  "
        lines.append(f"{indent}{one_line(digest.name)}: {', '.join(_about(digest))}")
    return _utf8("\n".join(lines) + "\n")


def map_values(digests: Sequence[Digest], known: str) -> bytes:
    """The same as one JSON object."""
    current = map_hash(digests)
    if known == current:
        return as_json({"map": current, "unchanged": True})
    shown = [{**_values(digest), "bytes": _size(digest)} for digest in in_tree(digests)]
    return as_json({"map": current, "unchanged": False, "digests": shown})


def show_text(digest: Digest, children: Sequence[str]) -> bytes:
    """A digest and what is below it: of the tenant the scopes, of a scope its engrams' paths."""
    quoted = [f"> {line}".rstrip() for line in visible(digest.text).rstrip().split("\n")]
    below = [one_line(child) for child in children[:MEMBERS]]
    left = len(children) - len(below)
    said = [*below, *([f"… and {left} more"] if left else [])]
    return _utf8("\n".join([_front(digest), *quoted, "", "# below it", *said]) + "\n")


def show_values(digest: Digest, children: Sequence[str]) -> bytes:
    """The same as one JSON object, with all that is below."""
    return as_json({**_values(digest), "text": digest.text, "children": list(children)})


def in_tree(digests: Sequence[Digest]) -> list[Digest]:
    """The tenant first, then its scopes by name."""
    return sorted(digests, key=lambda each: (each.level != "tenant", each.name))


def _front(digest: Digest) -> str:
    """YAML whose values are JSON, as every reader of YAML takes it."""
    said = (f"{key}: {json_text(value)}" for key, value in _values(digest).items())
    return "\n".join(["---", *said, "---"]) + "\n"


def _values(digest: Digest) -> dict[str, object]:
    found: dict[str, object] = {
        "scope": digest.name,
        "level": digest.level,
        "title": digest.title,
        "namespace": namespace_text(digest.namespace),
        "engrams": len(digest.members) if digest.built_ns else None,
        "hash": digest.hash or None,
        "built": instant(digest.built_ns) if digest.built_ns else None,
    }
    if digest.stale:
        found["stale"] = True
        found["problem"] = digest.problem or None
    if digest.lacks:
        found["lacks"] = digest.lacks
    return found


def namespace_text(namespace: Namespace) -> str:
    """`team=sales,project=x`; "" for the empty one."""
    return ",".join(f"{name}={value}" for name, value in namespace)


def _about(digest: Digest) -> list[str]:
    title = one_line(digest.title)
    if not digest.built_ns:
        return [title, why_stale(digest)]
    counted = f"{len(digest.members)} engram{'' if len(digest.members) == 1 else 's'}"
    state = why_stale(digest) if digest.stale else f"{_size(digest)} bytes"
    return [digest.hash[:_HASH], counted, title, state, *([digest.lacks] if digest.lacks else [])]


def why_stale(digest: Digest) -> str:
    """In a few words why there is no text of it now."""
    if digest.problem:
        return f"failed: {one_line(digest.problem)}"
    return "stale: its engrams have changed" if digest.built_ns else "not made yet"


def _size(digest: Digest) -> int:
    return 0 if digest.stale else len(file_text(digest))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
