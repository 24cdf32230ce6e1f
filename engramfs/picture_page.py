"""A picture as one HTML page that needs no network.

Stored text is only ever data: it goes into the page as JSON in which nothing can end a script, and
from there into the document as text. A policy in the page lets no script run but those put in here,
whose hashes it names, and nothing be loaded.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from functools import cache
from importlib.resources import files

from engramfs.picture import Picture, colours

_VENDORED = ("graphology.umd.min.js", "sigma.min.js")
_LICENSES = ("sigma", "graphology", "graphology-utils", "obliterator", "events")
# Would have a browser that shows its source look for a file that is not there.
_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)
_UNSAFE = {
    ord(character): f"\\u{ord(character):04x}" for character in ("<", ">", "&", "\u2028", "\u2029")
}


def page(picture: Picture) -> str:
    """The whole page."""
    libraries = [_licenses(), *(_MAP.sub("", _file("vendor", name)) for name in _VENDORED)]
    scripts = ["\n".join(libraries), _file("pages", "graph.js")]
    style = _file("pages", "graph.css")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; "
        f"script-src {' '.join(_hash(script) for script in scripts)}; "
        "base-uri 'none'; form-action 'none'"
    )
    blanks = {
        "policy": policy,
        "about": html.escape(picture.about),
        "counts": html.escape(picture.counts),
        "style": style,
        "drawing": script_json(_drawing(picture)),
        "libraries": scripts[0],
        "script": scripts[1],
    }
    frame = re.split(r"\{\{(\w+)\}\}", _file("pages", "graph.html"))
    return "".join(blanks[text] if at % 2 else text for at, text in enumerate(frame))


def script_json(value: object) -> str:
    """JSON that can stand in a `script` element whatever texts it holds."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE)


def _drawing(picture: Picture) -> dict[str, object]:
    """What `graph.js` reads: rows instead of objects, kinds and relations by their places."""
    kinds = colours(picture.nodes)
    kind_at = {kind: at for at, kind in enumerate(kinds)}
    relation_at = {
        relation: at for at, relation in enumerate({t.relation: 0 for t in picture.ties})
    }
    return {
        "kinds": [[kind, colour, count] for kind, (colour, count) in kinds.items()],
        "relations": list(relation_at),
        "nodes": [
            [
                node.id,
                kind_at[node.kind],
                node.path,
                node.title,
                node.summary,
                round(x, 4),
                round(y, 4),
            ]
            for node, (x, y) in zip(picture.nodes, picture.places, strict=True)
        ],
        "ties": [
            [tie.source, tie.target, relation_at[tie.relation], *([tie.note] if tie.note else [])]
            for tie in picture.ties
        ],
    }


def _hash(text: str) -> str:
    """The source of a content security policy that allows just this text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _file(directory: str, name: str) -> str:
    return files("engramfs").joinpath(directory, name).read_text("utf-8")


def _licenses() -> str:
    """What is asked of whoever passes the libraries on."""
    texts = (f"{name}\n\n{_file('vendor', f'{name}.LICENSE.txt').strip()}" for name in _LICENSES)
    return "/*!\n" + "\n\n".join(texts) + "\n*/"
