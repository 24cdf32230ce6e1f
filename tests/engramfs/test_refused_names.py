"""A refused name is told in `.errors`: programs show only the text of an errno."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engramfs.errors import FsError
from tests.engramfs.tree_rig import ME, SCOPE, Rig, rigged


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as made:
        yield made


def told(rig: Rig) -> list[tuple[str, str]]:
    notices = [notice for notice in rig.engine.notices(SCOPE) if notice.event == "name"]
    return [(notice.path, problem.message) for notice in notices for problem in notice.problems]


def refused(call: Callable[[], object]) -> None:
    with pytest.raises(FsError):
        call()


def test_every_way_to_make_a_name_is_told(rig: Rig) -> None:
    tree = rig.tree
    tree.mkdir(*rig.parent("/note/img"), 0o755, ME)
    rig.save("/note/plain.txt", b"x")
    refused(lambda: rig.save("/note/x.MD", b"x"))
    refused(lambda: rig.save("/note/a\nb.md", b"x"))
    refused(lambda: rig.save("/note/img/z.md", b"x"))
    refused(lambda: tree.mkdir(*rig.parent("/note/d.md"), 0o755, ME))
    refused(lambda: tree.symlink(*rig.parent("/note/l.md"), "/x", ME))
    refused(lambda: tree.mknod(*rig.parent("/note/f.md"), 0o10644, ME))
    refused(lambda: rig.rename("/note/plain.txt", "/note/img/r.md"))
    refused(lambda: rig.save("/note/caf\udce9.md", b"x"))
    found = dict(told(rig))
    assert list(found) == [
        "note/caf\\udce9.md", "note/img/r.md", "note/f.md", "note/l.md", "note/d.md",
        "note/img/z.md", "note/a\nb.md", "note/x.MD",
    ]  # fmt: skip
    assert "small letters" in found["note/x.MD"]
    assert "control character" in found["note/a\nb.md"]
    assert "never be indexed" in found["note/img/z.md"]
    assert "not valid UTF-8" in found["note/caf\\udce9.md"]


def test_the_same_name_again_is_told_once(rig: Rig) -> None:
    for _ in range(3):
        refused(lambda: rig.save("/note/x.MD", b"x"))
    assert [path for path, _ in told(rig)] == ["note/x.MD"]


def test_what_posix_tells_plainly_is_not_told(rig: Rig) -> None:
    rig.save("/note/a.md", b"x")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    refused(lambda: rig.tree.create(*rig.parent("/note/a.md"), 0o644, flags, ME))
    refused(lambda: rig.tree.mkdir(*rig.parent("/note"), 0o755, ME))
    refused(lambda: rig.rename("/note/gone.md", "/note/b.md"))
    linked = rig.inode("/note/a.md")
    refused(lambda: rig.tree.link(linked, *rig.parent("/note/a.md.orig"), ME))  # as perl -i.orig
    assert told(rig) == []
