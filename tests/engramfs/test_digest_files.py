"""`.digests`: a file for each digest that says what its engrams say now, and nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from engine.config import Config
from engine.model import Draft
from engine.namespace import Scope
from engramfs.control import ControlFiles, ControlSettings
from engramfs.errors import FsError
from tests.engramfs.tree_rig import ME, SCOPE, Rig, fails, rigged

NOT_BY_ITSELF = Config(digests=False)
PUMP = b"# Pump\n\nThe pump overheats when its seal leaks.\n"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path, config=NOT_BY_ITSELF) as made:
        made.save("/note/pump.md", PUMP)
        made.save("/deal/acme.md", b"# Acme\n\nAcme buys one pump each year.\n")
        yield made


def build(rig: Rig) -> None:
    assert not any(digest.stale for digest in rig.engine.rebuild_digests(SCOPE))


def control(rig: Rig, name: str, *, only: frozenset[str] | None = None) -> str:
    files = ControlFiles(rig.engine, SCOPE, ControlSettings(only_kinds=only))
    try:
        return files.serve(name, ME).decode()
    finally:
        files.close()


def test_there_is_a_file_for_each_digest_once_it_is_made(rig: Rig) -> None:
    assert rig.ls("/.digests") == []
    build(rig)
    assert rig.ls("/.digests") == ["kind-deal.md", "kind-note.md", "tenant.md"]
    assert ".digests" not in rig.ls("/")


def test_a_file_is_a_front_matter_and_the_digest(rig: Rig) -> None:
    build(rig)
    digest = rig.engine.digest(SCOPE, "kind-note")
    written = rig.read("/.digests/kind-note.md").decode()
    _, front, body = written.split("---\n", 2)
    assert yaml.safe_load(front) == {
        "scope": "kind-note", "level": "scope", "title": "Kind note", "namespace": "",
        "engrams": 1, "hash": digest.hash, "built": "2023-11-14T22:13:20Z",
    }  # fmt: skip
    assert body == "\nnote/pump\n- The pump overheats when its seal leaks.\n"
    assert digest.text in written


def test_stat_tells_what_is_read(rig: Rig) -> None:
    build(rig)
    inodes = set()
    for name in rig.ls("/.digests"):
        found = rig.stat(f"/.digests/{name}")
        assert found.size == len(rig.read(f"/.digests/{name}"))
        assert found.mode == stat.S_IFREG | 0o444
        assert found.mtime_ns == rig.engine.digest(SCOPE, name.removesuffix(".md")).built_ns
        inodes.add(found.inode)
    assert len(inodes) == 3
    assert rig.stat("/.digests").mode == stat.S_IFDIR | 0o555
    listed = rig.tree.readdir(rig.inode("/.digests"), ME)
    assert {one.inode for one in listed} == inodes


def test_one_that_is_stale_is_gone_until_it_is_made_again(rig: Rig) -> None:
    build(rig)
    before = rig.stat("/.digests").mtime_ns
    held = rig.open("/.digests/kind-note.md")
    rig.save("/note/pump.md", b"# Pump\n\nThe pump runs cool since its seal is new.\n")
    assert rig.ls("/.digests") == ["kind-deal.md"]
    assert not rig.exists("/.digests/kind-note.md")
    assert rig.stat("/.digests").mtime_ns > before
    assert b"overheats" in rig.tree.read(held, 4096, 0)  # an open file stays what it was
    rig.close(held)
    build(rig)
    assert b"runs cool" in rig.read("/.digests/kind-note.md")
    rig.unlink("/note/pump.md")
    assert rig.ls("/.digests") == ["kind-deal.md"]


def test_control_characters_are_shown_as_escapes(rig: Rig) -> None:
    rig.save("/note/pump.md", "The pump is \x1b[31mred hot\u202e today.\n".encode())
    build(rig)
    assert "The pump is \\x1b[31mred hot\\u202e today." in rig.read("/.digests/tenant.md").decode()


def test_nothing_in_it_can_be_changed(rig: Rig) -> None:
    build(rig)
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC):
        with fails("EACCES"):
            rig.open("/.digests/kind-note.md", flags)
    with fails("EPERM"):
        rig.create("/.digests/mine.md")
    with fails("EPERM"):
        rig.tree.mkdir(*rig.parent("/.digests/mine"), 0o755, ME)
    with fails("EPERM"):
        rig.unlink("/.digests/kind-note.md")
    with fails("EPERM"):
        rig.tree.rmdir(*rig.parent("/.digests/kind-note.md"), ME)
    with fails("EPERM"):
        rig.tree.symlink(*rig.parent("/.digests/link"), "../note/pump.md", ME)
    with fails("EPERM"):
        rig.rename("/.digests/kind-note.md", "/note/kind.md")
    with fails("EPERM"):
        rig.rename("/note/pump.md", "/.digests/pump.md")
    with fails("EACCES"):
        rig.rename("/.digests", "/digests")
    with fails("EACCES"):
        rig.tree.rmdir(*rig.parent("/.digests"), ME)
    assert rig.ls("/.digests") == ["kind-deal.md", "kind-note.md", "tenant.md"]
    assert rig.rejected() == {}


def test_what_is_not_there_is_not_found(rig: Rig) -> None:
    build(rig)
    for path in ("/.digests/kind-task.md", "/.digests/kind-note", "/.digests/none/a.md"):
        assert not rig.exists(path)
    with fails("ENOTDIR"):
        rig.stat("/.digests/kind-note.md/a")
    with fails("ENOTDIR"):
        rig.ls("/.digests/kind-note.md")
    with fails("EISDIR"):
        rig.open("/.digests")
    with fails("EINVAL"):
        rig.tree.readlink(rig.inode("/.digests/kind-note.md"), ME)


def test_a_mount_of_some_kinds_shows_no_digest_of_others(tmp_path: Path) -> None:
    for settings in ({"only_kinds": frozenset({"note"})}, {"root_kind": "note"}):
        where = tmp_path / next(iter(settings))
        with rigged(where, config=NOT_BY_ITSELF, **settings) as rig:
            rig.engine.put(SCOPE, Draft("note", "pump", PUMP))
            rig.engine.put(SCOPE, Draft("deal", "acme", b"# Acme\n"))
            build(rig)
            assert rig.ls("/.digests") == ["kind-note.md"]
            assert not rig.exists("/.digests/tenant.md")
            assert not rig.exists("/.digests/kind-deal.md")


def test_a_mount_shows_the_digests_of_its_own_namespace_only(rig: Rig) -> None:
    other = Scope((("team", "sales"),), exact=True)
    rig.engine.put(other, Draft("deal", "secret", b"# Secret\n\nNobody here may read this.\n"))
    build(rig)
    rig.engine.rebuild_digests(other)
    assert not any(b"Nobody" in rig.read(f"/.digests/{name}") for name in rig.ls("/.digests"))


def test_the_map_tells_of_all_and_of_what_is_wrong(rig: Rig) -> None:
    assert control(rig, ".digests?ask=map").splitlines()[1:] == [
        "tenant: Everything, not made yet",
        "  kind-deal: Kind deal, not made yet",
        "  kind-note: Kind note, not made yet",
    ]
    build(rig)
    size = len(rig.read("/.digests/kind-note.md"))
    hash = rig.engine.digest(SCOPE, "kind-note").hash[:16]
    told = control(rig, ".digests?ask=map")
    assert f"  kind-note: {hash}, 1 engram, Kind note, {size} bytes" in told.splitlines()
    known = told.splitlines()[0].removeprefix("map: ")
    assert control(rig, f".digests?ask=map&known={known}") == "unchanged\n"
    rig.save("/note/pump.md", b"# Pump\n\nThe pump is sold.\n")
    told = control(rig, f".digests?known={known}")
    assert "  kind-note: " in told and "Kind note, stale: its engrams have changed" in told
    assert control(rig, ".digests?ask=map", only=frozenset({"deal"})).count("kind-") == 1


@pytest.mark.parametrize("request_", ["ask=show", "nown=1", "format=xml", "ask=map&ask=map"])
def test_a_bad_question_is_refused_with_its_reason(rig: Rig, request_: str) -> None:
    with pytest.raises(FsError, match=request_.split("=")[0]) as failed:
        control(rig, f".digests?{request_}")
    assert failed.value.code == "EINVAL"
