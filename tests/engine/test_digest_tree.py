"""The Merkle tree of a digest, and the scopes of a namespace: pure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.columns import ColumnCache
from engine.digests.scopes import (
    Ground,
    Standing,
    communities,
    hash_of_edges,
    kinds,
    signs,
    weights_of,
)
from engine.digests.tree import GROUP, Node, cut, joined, leaf, tree_of, tree_over
from engine.entries import Entries
from engine.model import Entry, Namespace

ENTRY = Entry(
    no=0, id="i", namespace=(), kind="note", slug="s", name="s", inode=1, mode=0, mtime_ns=0,
    ctime_ns=0, created_ns=0, updated_ns=0, size=1, shown_size=1, seq=1, source_seq=1, title="T",
)  # fmt: skip


def hashes(numbers: list[int]) -> list[tuple[int, str]]:
    return [(no, f"{no:x}") for no in numbers]


def whole(leaves: list[tuple[int, str]]) -> Node:
    return tree_of(leaves, "maker", 500, 250)


def covered(node: Node) -> list[int]:
    return [*node.leaves, *(no for child in node.children for no in covered(child))]


def test_all_that_a_digest_can_say_of_an_engram_is_in_its_hash() -> None:
    said = leaf(ENTRY, "sum")
    assert said == leaf(replace(ENTRY, seq=9, mtime_ns=9, mode=9, inode=9), "sum")
    others = [
        replace(ENTRY, id="j"), replace(ENTRY, kind="task"), replace(ENTRY, slug="t"),
        replace(ENTRY, title="U"), replace(ENTRY, host_sha256="x"),
    ]  # fmt: skip
    assert len({said, leaf(ENTRY, "other"), *(leaf(each, "sum") for each in others)}) == 7


def test_the_hash_is_of_the_maker_and_the_length_too_and_of_no_order() -> None:
    assert joined("a", 1, ["x", "y"]) == joined("a", 1, ["y", "x"])
    assert len({joined("a", 1, ["x"]), joined("b", 1, ["x"]), joined("a", 2, ["x"])}) == 3


@given(st.lists(st.integers(0, 10**6), unique=True, max_size=3_000), st.randoms())
def test_every_engram_is_in_one_group_and_no_group_is_too_large(numbers, random) -> None:  # type: ignore[no-untyped-def]
    found = whole(hashes(numbers))
    assert covered(found) == sorted(numbers)
    for node in found.all():
        assert len(node.leaves) <= GROUP
        assert len(node.children) <= GROUP
        assert not (node.leaves and node.children)
    random.shuffle(numbers)
    assert whole(hashes(numbers)).hash == found.hash


@given(st.sets(st.integers(0, 10**5), min_size=200, max_size=2_000), st.data())
def test_one_change_touches_one_group_and_those_above(numbers, data) -> None:  # type: ignore[no-untyped-def]
    before = whole(hashes(list(numbers)))
    changed = data.draw(st.sampled_from(sorted(numbers)))
    after = whole([(no, "new" if no == changed else hash) for no, hash in hashes(list(numbers))])
    known = {node.hash for node in before.all()}
    new = [node for node in after.all() if node.hash not in known]
    assert after.hash in {node.hash for node in new}
    assert sum(bool(node.leaves) for node in new) == 1
    assert len(new) <= 5  # one a level


@given(st.sets(st.integers(0, 10**5), min_size=200, max_size=2_000), st.integers(0, 10**5))
def test_one_that_comes_touches_its_neighbours_only(numbers, comes) -> None:  # type: ignore[no-untyped-def]
    numbers = numbers - {comes}
    before = whole(hashes(list(numbers)))
    after = whole(hashes([*numbers, comes]))
    known = {node.hash for node in before.all()}
    groups = [node for node in after.all() if node.leaves and node.hash not in known]
    # Groups are of other engrams up to the next number that ends one.
    touched = sorted(no for node in groups for no in node.leaves)
    ordered = sorted([*numbers, comes])
    at = ordered.index(touched[0])
    assert touched == ordered[at : at + len(touched)]
    assert comes in touched
    assert len(touched) <= max(10 * GROUP, len(ordered) // 2)


def test_groups_end_by_their_last_number_and_are_never_of_one() -> None:
    groups = cut([(no, None) for no in range(10_000)], 0)
    assert all(4 <= len(group) <= GROUP for group in groups[:-1])
    assert [no for group in groups for no, _ in group] == list(range(10_000))
    assert 10 <= 10_000 / len(groups) <= 24
    assert groups != cut([(no, None) for no in range(10_000)], 1)


def test_the_tenant_is_over_names_and_hashes() -> None:
    few = tree_over([("kind-a", "x"), ("kind-b", "y")], "maker", 500, 250)
    assert [child.hash for child in few.children] == ["x", "y"]
    many = [(f"community-{no}", str(no)) for no in range(500)]
    found = tree_over(many, "maker", 500, 250)
    told = [node.hash for node in found.all() if not node.children]
    assert sorted(told) == sorted(hash for _, hash in many)
    assert all(len(node.children) <= GROUP for node in found.all())


# -- scopes -----------------------------------------------------------------------
def columns_of(*rows: tuple[str, Namespace, int]):  # type: ignore[no-untyped-def]
    """Engrams by (kind, namespace, commit); a commit below 0 is that of a deletion."""
    entries = Entries()
    cache = ColumnCache(entries)
    entries.swap(
        [
            replace(
                ENTRY,
                no=no,
                id=f"{no:012d}",
                kind=kind,
                namespace=namespace,
                slug=f"s{no}",
                inode=no + 2,
                title=f"T{no}",
                seq=abs(seq),
                deleted_ns=1 if seq < 0 else None,
            )
            for no, (kind, namespace, seq) in enumerate(rows)
        ]
    )
    return cache.now()


def test_a_scope_stands_by_its_live_engrams_and_their_latest_commit() -> None:
    other: Namespace = (("team", "x"),)
    columns = columns_of(
        ("note", (), 3), ("task", (), 5), ("note", (), 7), ("note", other, 9), ("note", (), -11)
    )
    ground = Ground(columns, ())
    assert ground.whole == Standing(3, 7)
    assert dict(ground.kinds) == {"note": Standing(2, 7), "task": Standing(1, 5)}
    assert ground.among(np.array([0, 1, 3, 4, 99])) == Standing(2, 5)
    assert Ground(columns, other).whole == Standing(1, 9)
    assert Ground(columns, (("team", "none"),)).whole == Standing(0, -1)
    shapes = {shape.name: shape.members.tolist() for shape in kinds(ground, {2})}
    assert shapes == {"kind-note": [0], "kind-task": [1]}


def test_small_communities_have_no_digest_and_the_oldest_member_names_the_others() -> None:
    columns = columns_of(*[("note", (), no) for no in range(10)])
    weights = np.arange(10.0)
    groups = [[5, 2, 7, 3], [0, 1], [4, 6, 8, 77]]
    [one, two] = communities(Ground(columns, ()), groups, set(), weights, 3)
    assert (one.name, one.members.tolist()) == ("community-s2-00000002", [2, 3, 5, 7])
    assert one.title == "T7 · T5 · T3"
    assert one.standing == Standing(4, 7)
    assert two.members.tolist() == [4, 6, 8]
    assert [each.members.tolist() for each in communities(
        Ground(columns, ()), groups, {2, 6}, weights, 3
    )] == [[3, 5, 7]]  # fmt: skip


def test_edges_weigh_an_engram_and_are_the_same_in_any_order() -> None:
    columns = columns_of(*[("note", (), no) for no in range(4)])
    a, b = np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32)
    weights = weights_of(4, Ground(columns, ()), a, b)
    assert np.isclose(weights.mean(), 1)
    assert weights.tolist() == [1.2, 1.2, 1.2, 0.4]
    assert hash_of_edges(a, b) == hash_of_edges(a[::-1], b[::-1])
    assert hash_of_edges(a, b) == hash_of_edges(np.append(a, 0), np.append(b, 1))
    assert hash_of_edges(a, b) != hash_of_edges(b, a)


def test_signs_tell_the_namespaces_in_which_something_is_new() -> None:
    other: Namespace = (("team", "x"),)
    rows = [("note", (), 1), ("note", (), 2), ("note", other, 3), ("note", other, 4)]
    none = np.zeros(0, np.int32)
    before = signs(columns_of(*rows), none, none)
    assert before == {(): (2, 2, 0), other: (2, 4, 0)}
    edge = np.array([2], np.int32), np.array([3], np.int32)
    after = signs(columns_of(*rows), *edge)
    assert after[()] == before[()]
    assert after[other] != before[other]
    crossing = np.array([0, 1, 1], np.int32), np.array([2, -1, 99], np.int32)
    assert signs(columns_of(*rows), *crossing) == before
