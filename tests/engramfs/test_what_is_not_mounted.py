"""Nothing that a mountpoint does not show changes an answer, a score, a rank or a count there.

Two stores hold the same notes. One holds more beside them, of a kind that the mountpoint does not
show, with the words that are asked for, edges from and to the notes, and readers of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import DAY_NS, SECOND_NS, Config
from engine.engine import Engine
from engine.errors import Invalid, NotFound
from engine.model import Draft, EdgeMeta
from engine.namespace import Scope
from engramfs.control import ControlFiles, ControlSettings
from engramfs.errors import FsError
from engramfs.names import TABLE
from engramfs.ports import Process
from tests.engine.hash_embedder import HashEmbedder

TREE = Scope((), exact=True)
SEEN = Scope((), exact=True, kinds=frozenset({"note"}))
CALLER = Process(pid=1, tid=1, uid=0, gid=0, sid=1)
OTHER = Process(pid=2, tid=2, uid=0, gid=0, sid=2)
KINDS = """
kinds:
  note: {fields: {about: {type: string, link: about}, due: {type: datetime}}}
  secret: {briefing: constraint, fields: {code: {type: string}}}
groups: {all: [note, secret]}
"""
WORDS = ("pump", "hot", "xyzzy", "cellar", "2026")
ASKED = "pump xyzzy in may 2026"
NAMES = ("a", "b", "c", "d")
HIDDEN = ("v", "w", "x")

FORMS = [
    *(
        f".recall?q={ASKED}&{keys}&format={format}".replace(" ", "+")
        for keys in (
            "limit=200", "trace=on", "trace=on&fusion=rrf&hops=2&reverse=on", "surfaces=facts",
            "sources=on&chunks=on&trace=on", "altitude=tenant", "themes=on", "now=2026-05-09",
            "trace=on&channels=lexical,graph&limit=1", "trace=on&kinds=note&prop.about=b",
        )
        for format in ("md", "json")
    ),
    ".recall?kinds=note&trace=on", ".recall?q=nothing+has+that", ".recall?q=x&kinds=secret",
    ".recall?q=x&kinds=all&prop.code=1", ".briefing?budget=800", ".match?prompt=hot pump xyzzy",
    ".search?q=pump+xyzzy&limit=50", ".search?q=pump+xyzzy&format=json", ".search?q=secret/v",
    ".find_exact?q=xyzz", ".find_objects?q=pump+hot&format=json", ".text?q=xyzzy&format=json",
    ".vector?q=pump+xyzzy&format=json", ".expand?of=a&hops=2", ".neighbours?of=a&format=json",
    ".expand?of=v", ".expand?of=secret/v", ".find_links?q=xyzzy", ".find_links?relation=opens",
    ".continue?set=none", ".schema", ".status?format=json", ".status", ".errors?format=json",
    ".help", ".events", ".digests?ask=map", ".digests?ask=map&format=json",
    *(f".graph?ask={ask}&format=json"
      for ask in ("rank", "most_linked", "communities", "orphans", "dangling")),
    ".graph?ask=path&from=a&to=d",
]  # fmt: skip

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
notes = st.dictionaries(st.sampled_from(NAMES), texts, min_size=2)
hidden = st.dictionaries(st.sampled_from(HIDDEN), texts, min_size=1)
edges = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=4)
crossing = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(HIDDEN), st.booleans()), max_size=6
)


class Clock:
    now = 1_778_000_000 * SECOND_NS  # in May 2026

    def __call__(self) -> int:
        return self.now


class Ids:
    """Ids of notes that are the same in both stores, whatever else is made."""

    made = 0

    def __call__(self) -> str:
        self.made += 1
        return f"019e0000-0000-7000-8000-{self.made:012x}"


@contextmanager
def store(of: dict[str, str], linked: list[tuple[str, str]]) -> Iterator[Engine]:
    config = Config(digests=False, briefing_counted=1)
    opened = Engine.open(
        ":memory:", kinds=KINDS, embed="inline", embedder=HashEmbedder(), config=config,
        clock=Clock(), new_id=Ids(),
    )  # fmt: skip
    with closing(opened) as engine:
        for slug in sorted(of):
            source = f"---\nabout: {NAMES[0]}\n---\nof [[v]]: {of[slug]}\n"
            engine.put(TREE, Draft("note", slug, source.encode()))
        for one, other in linked:
            if one in of and other in of and one != other:
                engine.link(TREE, f"note/{one}", "opens", f"note/{other}", EdgeMeta("xyzzy"))
        yield engine


def add_hidden(engine: Engine, of: dict[str, str], crossing: list[tuple[str, str, bool]]) -> None:
    """More of another kind, linked to the notes, read and asked for by somebody who sees it."""
    for slug, text in of.items():
        engine.put(TREE, Draft("secret", slug, f"---\ncode: xyzzy\n---\n{text} [[a]]\n".encode()))
    for note, secret, outward in crossing:
        ends = (f"note/{note}", f"secret/{secret}")
        one, other = ends if outward else ends[::-1]
        for relation in ("opens", "derived_from"):
            try:
                engine.link(TREE, one, relation, other, EdgeMeta("xyzzy pump"))
            except NotFound:
                break
    files = ControlFiles(engine, TREE, ControlSettings("/all"))
    for entry in engine.entries(TREE, "secret"):
        engine.opened(TREE, entry, "somebody", "2")
    files.serve(".recall?q=xyzzy&kinds=secret", OTHER)
    files.serve(".recall?q=nobody+asked+that&kinds=secret&channels=lexical", OTHER)
    files.close()
    engine.refuse(
        TREE, kind="secret", slug="v", path="secret/v.md", event="refused", problems=(),
        source=b"x",
    )  # fmt: skip


def told(engine: Engine, name: str) -> str:
    """An answer or why there is none, without the ids of result sets and what took how long."""
    files = ControlFiles(engine, TREE, ControlSettings("/notes", only_kinds=SEEN.kinds))
    try:
        answer = files.serve(name, CALLER).decode()
    except FsError as error:
        answer = f"{error.code} {error}"
    finally:
        files.close()
    varying = (r'"set":\s*"[^"]*"', r"set=\S+", r'"times_ms":\s*\{[^}]*\}', r"\bms: .*")
    for pattern in varying:
        answer = re.sub(pattern, "", answer)
    return re.sub(r'"seq":\s*\d+|seq: \d+', "", answer)  # commits are numbered over the store


def test_every_file_that_answers_is_asked() -> None:
    asked = {re.split("[?:]", form)[0] for form in FORMS}
    files = {row.name for row in TABLE.values() if row.exists and (row.asks or not row.directory)}
    assert files - asked == {".link", ".unlink"}


@settings(max_examples=12, deadline=None)
@given(notes, edges, hidden, crossing)
def test_an_answer_is_the_same_whatever_else_there_is(
    of: dict[str, str],
    linked: list[tuple[str, str]],
    secrets: dict[str, str],
    crossed: list[tuple[str, str, bool]],
) -> None:
    with store(of, linked) as alone, store(of, linked) as among:
        add_hidden(among, secrets, crossed)
        assert among.status(TREE).engrams == len(of) + len(secrets)
        for engine in (alone, among):
            for slug in of:
                entry = engine.lookup(SEEN, "note", slug)
                assert entry is not None
                engine.opened(TREE, entry, "me", "3")
        for form in FORMS:
            assert told(among, form) == told(alone, form), form


def test_the_other_kind_does_change_what_whoever_sees_it_is_told() -> None:
    """So that the property is one of the mountpoint, and not of answers that say nothing."""
    of = {"a": "pump hot xyzzy", "b": "pump"}
    with store(of, [("a", "b")]) as alone, store(of, [("a", "b")]) as among:
        add_hidden(among, {"v": "xyzzy pump", "w": "xyzzy"}, [("a", "v", True), ("b", "v", False)])
        forms = (
            ".recall?q=pump+xyzzy&trace=on", ".status?format=json", ".graph?ask=rank",
            ".text?q=xyzzy&format=json", ".briefing?", ".neighbours?of=note/a",
        )  # fmt: skip
        for form in forms:
            answers = []
            for engine in (alone, among):
                files = ControlFiles(engine, TREE, ControlSettings("/notes"))
                answers.append(files.serve(form, CALLER))
                files.close()
            assert answers[0] != answers[1], form


def test_who_sees_some_kinds_writes_no_others() -> None:
    with store({"a": "pump"}, []) as engine:
        id = engine.get(TREE, "note/a").id
        with pytest.raises(Invalid, match="secret is not among the kinds that are seen here"):
            engine.put(SEEN, Draft("secret", "s", b"x\n"))
        with pytest.raises(Invalid, match="not among the kinds"):
            engine.rename(SEEN, id, "secret", "a")
        with pytest.raises(Invalid, match="not among the kinds"):
            engine.keep_blank(SEEN, "secret", "s", "s", 9, 0o644, DAY_NS)
        engine.delete(SEEN, id)
        with pytest.raises(Invalid, match="not among the kinds"):
            engine.revive(SEEN, id, kind="secret")
        engine.put(TREE, Draft("secret", "s", b"x\n"))
        for ref in ("secret/s", engine.get(TREE, "secret/s").id):
            with pytest.raises(NotFound):
                engine.get(SEEN, ref)
        assert engine.entries(SEEN) == [] and engine.lookup(SEEN, "secret", "s") is None


def test_a_mark_of_a_kind_out_of_sight_is_none() -> None:
    with store({"a": "pump"}, []) as engine:
        whole = ControlFiles(engine, TREE, ControlSettings("/all"))
        notes = ControlFiles(engine, TREE, ControlSettings("/notes", only_kinds=SEEN.kinds))
        assert b"No kind is marked" not in whole.serve(".briefing", CALLER)
        assert b"No kind is marked" in notes.serve(".briefing", CALLER)
        whole.close()
        notes.close()
