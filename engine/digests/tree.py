"""The Merkle tree of a digest: hashes of engrams, of groups of them, of the whole. Pure.

A text is asked for by the hash of all that it is made of, so what did not change is not made again.
Large scopes are summarised in groups, and the groups again. Where a group ends says the number of
its last member (as in content-defined chunking), so that an engram that comes or goes changes its
own group and those above, and no other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from engine.model import Entry

T = TypeVar("T")

RECIPE = "3"  # another one whenever the same engrams would be put to the summariser otherwise
GROUP = 32  # most texts that are summarised at a time
_LEAST = 4  # members of a group that is not the last: each level is a quarter of the one below
_ENDS_ONE_IN = 12  # … and of the others one in so many ends it: 16 members on average


@dataclass(frozen=True, slots=True)
class Node:
    """A text to be made of others: of the engrams `leaves`, or of the nodes `children`."""

    hash: str
    leaves: tuple[int, ...] = ()  # engram numbers
    children: tuple[Node, ...] = ()

    def all(self) -> Iterable[Node]:
        """This node and those below it."""
        yield self
        for child in self.children:
            yield from child.all()

    def engrams(self) -> list[int]:
        """The numbers of all engrams below it."""
        return [no for node in self.all() for no in node.leaves]


def leaf(entry: Entry, sha256: str) -> str:
    """The hash of all that a digest can say of one engram; `sha256` is of its bytes as written."""
    said = [
        RECIPE, entry.id, entry.kind, entry.slug, entry.title, sha256, entry.host_sha256,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(said).encode("utf-8", "surrogatepass")).hexdigest()


def joined(maker: str, tokens: int, children: Iterable[str]) -> str:
    """The hash of a text of so many tokens that `maker` makes of these; their order is nothing."""
    said = [RECIPE, maker, tokens, sorted(children)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def tree_of(leaves: Sequence[tuple[int, str]], maker: str, tokens: int, group_tokens: int) -> Node:
    """The tree over (engram number, hash), which come in any order."""
    ordered = sorted(leaves)
    if len(ordered) <= GROUP:
        return Node(joined(maker, tokens, (hash for _, hash in ordered)), _numbers(ordered))
    level = 0
    nodes = [
        (some[-1][0], Node(joined(maker, group_tokens, (h for _, h in some)), _numbers(some)))
        for some in cut(ordered, level)
    ]
    while len(nodes) > GROUP:
        level += 1
        nodes = [(some[-1][0], _above(some, maker, group_tokens)) for some in cut(nodes, level)]
    return _above(nodes, maker, tokens)


def tree_over(nodes: Sequence[tuple[str, str]], maker: str, tokens: int, group: int) -> Node:
    """The tree over other digests by (name, hash): the tenant's. Groups as in `tree_of`."""
    ordered = sorted(nodes)
    keyed = [(_number(name), Node(hash)) for name, hash in ordered]
    level = 0
    while len(keyed) > GROUP:
        keyed = [(some[-1][0], _above(some, maker, group)) for some in cut(keyed, level)]
        level += 1
    return _above(keyed, maker, tokens)


def cut(items: Sequence[tuple[int, T]], level: int) -> list[list[tuple[int, T]]]:
    """(number, anything) in groups of at most GROUP, in order."""
    groups: list[list[tuple[int, T]]] = [[]]
    for item in items:
        groups[-1].append(item)
        full = len(groups[-1]) == GROUP
        if full or (len(groups[-1]) >= _LEAST and _ends(item[0], level)):
            groups.append([])
    return groups if groups[-1] else groups[:-1]


def _above(nodes: Sequence[tuple[int, Node]], maker: str, tokens: int) -> Node:
    children = tuple(node for _, node in nodes)
    return Node(joined(maker, tokens, (node.hash for node in children)), children=children)


def _numbers(leaves: Sequence[tuple[int, str]]) -> tuple[int, ...]:
    return tuple(no for no, _ in leaves)


def _ends(number: int, level: int) -> bool:
    return _number(f"{level}:{number}") % _ENDS_ONE_IN == 0


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big")
