"""The graph's control files over a real engine: what they answer, change and refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from engine.engine import Engine
from engine.model import Draft, EdgeMeta
from engine.namespace import Scope
from engramfs.control import ControlFiles, ControlSettings
from engramfs.errors import FsError
from engramfs.ports import Process

SCOPE = Scope((), exact=True)
ME = Process(pid=1, tid=1, uid=0, gid=0, sid=1)
YOU = Process(pid=2, tid=2, uid=0, gid=0, sid=2)
KINDS = """\
kinds:
  note: {}
  person: {}
  secret: {}
recipes:
  around: {relations: [about], hops: 2, direction: out}
"""


@pytest.fixture
def engine() -> Iterator[Engine]:
    """a about b about c; a owned_by ann; c tells secret/s."""
    engine = Engine.open(":memory:", kinds=KINDS, embed="off")
    for slug in ("a", "b", "c", "lonely"):
        put(engine, "note", slug, f"# Note {slug}\n\nText of {slug}.\n")
    put(engine, "person", "ann", "# Ann\n")
    put(engine, "secret", "s", "# Sesame\n")
    engine.link(SCOPE, "note/a", "about", "note/b", EdgeMeta(note="because\n---\n## note/x.md"))
    engine.link(SCOPE, "note/b", "about", "note/c", EdgeMeta(confidence=0.5, status="open"))
    engine.link(SCOPE, "note/a", "owned_by", "person/ann")
    engine.link(SCOPE, "note/c", "tells", "secret/s")
    yield engine
    engine.close()


@pytest.fixture
def files(engine: Engine) -> Iterator[ControlFiles]:
    files = ControlFiles(engine, SCOPE, ControlSettings("/engram"))
    yield files
    files.close()


def put(engine: Engine, kind: str, slug: str, text: str) -> None:
    engine.put(SCOPE, Draft(kind, slug, text.encode()))


def cat(files: ControlFiles, name: str) -> str:
    return files.serve(name, ME).decode()


def values(files: ControlFiles, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cat(files, f"{name}&format=json"))
    return found


def heads(text: str) -> list[str]:
    return re.findall("^## (.*)$", text, re.M)


def write(files: ControlFiles, name: str, text: str, caller: Process = ME) -> None:
    """echo TEXT > NAME"""
    session = files.session(name, caller)
    session.write(f"{text}\n".encode(), 0)
    session.flush()
    session.close()


def refused(files: ControlFiles, name: str, text: str | None = None) -> tuple[str, str]:
    """(errno, what .errors says newest)."""
    with pytest.raises(FsError) as caught:
        files.serve(name, ME) if text is None else write(files, name, text)
    return caught.value.code, cat(files, ".errors").partition("\n\n")[0]


# -- walking -----------------------------------------------------------------------
def test_expand_tells_how_each_was_reached(files: ControlFiles) -> None:
    text = cat(files, ".expand?of=note/a&relations=about&hops=2&direction=out")
    assert heads(text) == ["note/b.md", "note/c.md"]
    assert "Note b  (1.000; about from note/a.md, hop 1)" in text
    assert "Note c  (0.500; about from note/b.md, hop 2)" in text
    first = values(files, ".expand?of=note/a.md&relations=about&direction=out")["items"][0]
    ids = {slug: files._engine.get(SCOPE, f"note/{slug}").id for slug in "ab"}
    assert first["relation"] == {"label": "about", "direction": "out", "source": ids["a"], "hop": 1}
    assert (first["path"], first["id"], first["score"]) == ("note/b.md", ids["b"], 1.0)
    assert "Note a  (1.000; about of note/b.md, hop 1)" in cat(files, ".expand?of=note/b")


def test_a_relation_that_no_edge_has_is_told(files: ControlFiles) -> None:
    for name in (".expand?of=a&relations=abuot", ".neighbours?of=a&relations=abuot"):
        assert "warning: no edge has the relation abuot" in cat(files, name)
    assert "warning: no edge has the relation abuot" in cat(files, ".find_links?relation=abuot")
    assert "warning" not in cat(files, ".find_links?relation=about")


def test_expand_by_recipe_by_several_and_with_parts(files: ControlFiles) -> None:
    assert heads(cat(files, ".expand?of=note/a&recipe=around")) == ["note/b.md", "note/c.md"]
    found = heads(cat(files, ".expand?of=note/b,person/ann&direction=in"))
    assert found == ["note/a.md"]
    text = cat(files, ".expand?of=note/lonely&containment=on")
    assert heads(text) == ["note/lonely.md"] * 2 and "> # Note lonely Text of lonely." in text
    code, told = refused(files, ".expand?of=note/a&recipe=nothing")
    assert code == "ENOENT" and "recipes: around" in told
    code, told = refused(files, ".expand?of=note/a&recipe=around&hops=2")
    assert code == "EINVAL" and "the recipe says hops" in told


def test_an_engram_is_named_by_id_place_or_path(engine: Engine, files: ControlFiles) -> None:
    id = engine.get(SCOPE, "note/b").id
    for name in (
        id,
        id.upper(),
        "note/b",
        "note/b.md",
        "/engram/note/b.md",
        "note%2Fb",
        "b",
    ):
        assert len(heads(cat(files, f".neighbours?of={name}"))) == 2
    put(engine, "note", "x, y", "see [[a]]\n")
    assert heads(cat(files, ".neighbours?of=note/x, y")) == ["note/x, y.md mentions note/a.md"]
    write(files, ".neighbours", "note/b")
    assert len(heads(cat(files, ".neighbours"))) == 2


def test_more_than_a_page_is_a_set(engine: Engine, files: ControlFiles) -> None:
    for number in range(45):
        put(engine, "note", f"n{number:02}", "see [[lonely]]\n")
    page = values(files, ".expand?of=note/lonely")
    assert (page["total"], len(page["items"])) == (45, 20)
    more = values(files, f".continue?set={page['set']}&offset=20&limit=50")["items"]
    assert [item["relation"]["label"] for item in more] == ["mentions"] * 25
    text = cat(files, ".expand?of=note/lonely")
    command = re.search(r"^More: cat '/engram/(.*)'$", text, re.M)
    assert command is not None
    assert "(1.000; mentions of note/lonely.md, hop 1)" in cat(files, command[1])


def test_a_hub_is_answered_in_part_and_says_so(engine: Engine, files: ControlFiles) -> None:
    drafts = [Draft("note", f"n{number}", b"see [[lonely]]\n") for number in range(100)]
    engine.put_many(SCOPE, drafts)
    page = values(files, ".expand?of=note/lonely")
    assert page["total"] == 64 and "64 neighbours of an engram are read at most" in str(page)
    text = cat(files, ".neighbours?of=note/lonely&limit=5")
    assert "edges: 1 to 5 of more than 5" in text and "More: offset=5" in text
    assert "edges: 96 to 100 of 100" in cat(files, ".neighbours?of=note/lonely&limit=5&offset=95")


def test_neighbours_are_edges_with_what_is_said_of_them(files: ControlFiles) -> None:
    text = cat(files, ".neighbours?of=note/b")
    assert heads(text) == ["note/b.md about note/c.md", "note/a.md about note/b.md"]
    assert "by hand; confidence 0.5; since " in text and "\n> status: open\n" in text
    out = values(files, ".neighbours?of=note/b&direction=out")
    assert (out["total"], out["edges"][0]["confidence"]) == (1, 0.5)
    assert out["edges"][0]["target"]["title"] == "Note c"


def test_stored_text_stands_behind_a_quote_mark(files: ControlFiles) -> None:
    text = cat(files, ".find_links?q=because")
    assert heads(text) == ["note/a.md about note/b.md"]
    assert "\n> because\n> ---\n> ## note/x.md\n" in text


def test_find_links_by_word_and_relation(files: ControlFiles) -> None:
    assert heads(cat(files, ".find_links?relation=owned_by")) == [
        "note/a.md owned_by person/ann.md"
    ]
    assert values(files, ".find_links?q=nothing")["total"] == 0
    write(files, ".find_links", "because")
    assert len(heads(cat(files, ".find_links"))) == 1
    assert "neither q nor relation" in refused(files, ".find_links?limit=3")[1]


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        (".expand?of=note/zzz", "ENOENT", "there is no engram note/zzz"),
        (".expand?of=note", "ENOENT", "kind%2Fslug in a file's name"),
        (".expand?of=both", "EINVAL", "both could be note/both or person/both"),
        (".expand?hops=1", "EINVAL", "of=note%2Fa"),
        (".expand?of=note/a&hops=5", "EINVAL", "a whole number, 1 to 4"),
        (".expand?of=note/a&direction=up", "EINVAL", "one of out, in, both"),
        (".expand?of=note/a&q=x", "EINVAL", "`q` is no key of expand"),
        (".neighbours?of=note/a&hops=1", "EINVAL", "`hops` is no key of neighbours"),
        (".graph?ask=everything", "EINVAL", "one of path, rank, communities"),
        (".graph?from=note/a", "EINVAL", "ask is not given once"),
        (".graph?ask=path&from=note/a", "EINVAL", "to is missing"),
    ],
)
def test_bad_questions_name_what_works(
    engine: Engine, files: ControlFiles, name: str, code: str, said: str
) -> None:
    for kind in ("note", "person"):
        put(engine, kind, "both", "")
    found, told = refused(files, name)
    assert found == code and said in told


# -- the graph as a whole ------------------------------------------------------------
def test_analyses(engine: Engine, files: ControlFiles) -> None:
    text = cat(files, ".graph?ask=path&from=note/a&to=note/c")
    assert "path: 2 hops from note/a.md to note/c.md" in text
    assert heads(text) == ["note/a.md about note/b.md", "note/b.md about note/c.md"]
    assert "path: none" in cat(files, ".graph?ask=path&from=note/a&to=note/lonely")
    assert heads(cat(files, ".graph?ask=orphans")) == ["note/lonely.md"]
    ranked = values(files, ".graph?ask=rank&of=person/ann")["items"]
    assert {item["path"] for item in ranked[:2]} == {"note/a.md", "person/ann.md"}
    assert ranked[-1]["score"] < ranked[0]["score"]
    linked = values(files, ".graph?ask=most_linked&limit=2")
    assert (linked["total"], len(linked["items"]), linked["items"][0]["score"]) == (4, 2, 1.0)
    group = values(files, ".graph?ask=communities")["communities"]
    assert sum(each["size"] for each in group) == 5
    put(engine, "note", "t1", "---\naliases: [Twin]\n---\n")
    put(engine, "person", "t2", "---\naliases: [Twin]\n---\n")
    put(engine, "note", "d", "see [[nobody]] and [[Twin]]\n")
    text = cat(files, ".graph?ask=dangling")
    assert heads(text) == ["note/d.md mentions ?"] * 2
    assert "> Twin\ncould mean note/t1.md, person/t2.md" in text
    assert "> nobody\nnothing has that name" in text


def test_the_directory_itself_is_not_a_file(files: ControlFiles) -> None:
    with pytest.raises(FsError, match="not served here"):
        files.serve(".graph", ME)
    assert files.mode(".views?ask=orphans") is None


# -- making and removing edges ---------------------------------------------------------
def test_a_written_edge_is_made_once_and_told(engine: Engine, files: ControlFiles) -> None:
    told = []
    engine.subscribe(told.append)
    write(files, ".link", "from=note/a&relation=about&to=note/c.md&note=a %26 b&confidence=0.25")
    edge = next(each for each in engine.edges(SCOPE, "note/a") if each.note)
    found = [each for each in engine.edges(SCOPE, "note/a") if each.note == "a & b"]
    assert [(each.relation, each.confidence) for each in found] == [("about", 0.25)], edge
    text = cat(files, ".link")
    assert heads(text) == ["note/a.md about note/c.md"] and "> a & b" in text
    assert len(told) == 1
    assert "Nothing was written" in files.serve(".link", YOU).decode()
    write(files, ".unlink", '{"from": "note/a", "relation": "about", "to": "note/c"}')
    assert "unlinked: note/a.md about note/c.md" in cat(files, ".unlink")
    assert all(each.note != "a & b" for each in engine.edges(SCOPE, "note/a"))
    write(files, ".unlink", "note/a about note/c")
    assert "no such edge: note/a.md about note/c.md" in cat(files, ".unlink")


def test_an_edge_is_told_on_the_same_handle(files: ControlFiles) -> None:
    session = files.session(".link", ME)
    request = b'{"from": "note/a", "relation": "see", "to": "note/c", "format": "json"}'
    session.write(request, 0)
    edge = json.loads(session.read(1 << 16, len(request)))
    assert (edge["relation"], edge["target"]["path"]) == ("see", "note/c.md")
    session.flush()


@pytest.mark.parametrize("name", [".link", ".unlink"])
def test_no_name_carries_an_order(engine: Engine, files: ControlFiles, name: str) -> None:
    before = engine.edges(SCOPE, "note/a")
    for asked in (f"{name}?from=note/a&relation=about&to=note/c", f"{name}:note/a about note/b"):
        assert files.mode(asked) is None and files.reserved(asked)
        with pytest.raises(FsError) as caught:
            files.serve(asked, ME)
        assert caught.value.code == "ENOENT"
    assert "Nothing was written" in cat(files, name)
    assert engine.edges(SCOPE, "note/a") == before


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("from=note/a&relation=about&to=note/a", "EINVAL", "cannot be linked to itself"),
        ("from=note/a&relation=contains&to=note/b", "EINVAL", "belongs_to instead of contains"),
        ("from=note/a&relation=a/b&to=note/b", "EINVAL", "a relation is a word such as about"),
        ("from=note/a&relation=a%00b&to=note/b", "EINVAL", "control character"),
        ("from=note/a&relation=about&to=note/b&confidence=0", "EINVAL", "above 0 and up to 1"),
        ("from=note/a&relation=about&to=note/b&confidence=nan", "EINVAL", "above 0 and up to 1"),
        ("from=note/a&relation=about&to=note/b&confidence=high", "EINVAL", "such as 0.8"),
        ("from=note/a&relation=about&to=note/zzz", "ENOENT", "there is no engram note/zzz"),
        ("from=note/a&to=note/b", "EINVAL", "write from=note/a&relation=about&to=note/b"),
        ("note/a is about note/b", "EINVAL", "write note/a about note/b"),
        ("from=note/a&relation=x&to=note/b&colour=red", "EINVAL", "`colour` is no key of link"),
        ("{", "EINVAL", "write note/a about note/b"),
    ],
)
def test_bad_edges_are_refused_with_the_spelling_that_works(
    engine: Engine, files: ControlFiles, text: str, code: str, said: str
) -> None:
    before = engine.edges(SCOPE, "note/a")
    found, told = refused(files, ".link", text)
    assert (found, said in told) == (code, True), told
    with pytest.raises(FsError):
        files.serve(".link", ME)
    assert engine.edges(SCOPE, "note/a") == before


def test_deleted_and_part_are_no_ends(engine: Engine, files: ControlFiles) -> None:
    part = engine.children(SCOPE, "note/b")[1].id
    found, told = refused(files, ".link", f"from=note/a&relation=x&to={part}")
    assert found == "EINVAL" and "link the engram it belongs to: note/b" in told
    engine.delete(SCOPE, engine.get(SCOPE, "note/lonely").id)
    assert refused(files, ".link", "from=note/a&relation=x&to=note/lonely")[0] == "ENOENT"


def test_an_edge_of_the_text_is_taken_out_of_the_text(engine: Engine, files: ControlFiles) -> None:
    put(engine, "note", "d", "see [[a]]\n")
    found, told = refused(files, ".unlink", "note/d mentions note/a")
    assert found == "EINVAL" and "take `a` out of the file" in told


def test_nothing_is_changed_in_a_mount_that_is_read_only(engine: Engine) -> None:
    files = ControlFiles(engine, SCOPE, ControlSettings("/engram", read_only=True))
    with pytest.raises(FsError) as caught:
        write(files, ".link", "note/a x note/c")
    assert caught.value.code == "EROFS"
    files.close()


# -- what a mountpoint shows -------------------------------------------------------------
def test_kinds_that_are_not_shown_are_not_told(engine: Engine) -> None:
    shown = ControlSettings("/engram", only_kinds=frozenset({"note"}))
    files = ControlFiles(engine, SCOPE, shown)
    secret = engine.get(SCOPE, "secret/s").id
    for name in ("secret/s", secret, engine.children(SCOPE, "secret/s")[0].id):
        assert refused(files, f".expand?of={name}")[0] == "ENOENT"
        assert refused(files, ".link", f"from=note/a&relation=x&to={name}")[0] == "ENOENT"
    assert heads(cat(files, ".expand?of=note/c")) == ["note/b.md"]
    assert heads(cat(files, ".neighbours?of=note/c")) == ["note/b.md about note/c.md"]
    assert heads(cat(files, ".find_links?relation=tells")) == []
    for ask in ("rank", "most_linked", "communities", "orphans"):
        assert "secret" not in cat(files, f".graph?ask={ask}")
        assert "Sesame" not in cat(files, f".graph?ask={ask}&format=json")
    files.close()


def test_in_a_root_the_kind_may_be_left_out(engine: Engine) -> None:
    files = ControlFiles(engine, SCOPE, ControlSettings("/notes", root_kind="note"))
    for name in ("a", "a.md", "note/a", "/notes/a.md"):
        assert heads(cat(files, f".expand?of={name}")) == ["b.md"]
    write(files, ".link", "a see c.md")
    assert heads(cat(files, ".link")) == ["a.md see c.md"]
    assert refused(files, ".expand?of=person/ann")[0] == "ENOENT"
    files.close()


def test_another_namespace_is_not_there(engine: Engine) -> None:
    team = Scope((("team", "sales"),), exact=True)
    engine.put(team, Draft("note", "theirs", b"see [[x]]\n"))
    files = ControlFiles(engine, team, ControlSettings("/engram"))
    theirs = engine.get(team, "note/theirs").id
    assert heads(cat(files, ".graph?ask=dangling")) == ["note/theirs.md mentions ?"]
    assert refused(files, ".link", f"from={theirs}&relation=x&to=note/a")[0] == "ENOENT"
    assert refused(files, f".expand?of={engine.get(SCOPE, 'note/a').id}")[0] == "ENOENT"
    files.close()


@pytest.mark.parametrize("name", [".expand", ".neighbours", ".find_links", ".link", ".unlink"])
def test_a_bare_name_tells_its_use(files: ControlFiles, name: str) -> None:
    text = cat(files, name)
    assert f"/engram/{name}" in text and "Keys, joined by &" in text
    assert name in cat(files, ".help")
