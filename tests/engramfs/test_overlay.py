from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engramfs import beneath
from engramfs.overlay import PlainFiles, directory_name, fallocate, write


@pytest.fixture(params=["openat2", "component"])
def files(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PlainFiles]:
    """An overlay reached both ways."""
    if request.param == "component":
        monkeypatch.setattr(beneath, "kernel_resolves", lambda: False)
    overlay = PlainFiles(tmp_path / "overlay")
    yield overlay
    overlay.close()


def put(files: PlainFiles, path: tuple[str, ...], data: bytes, flags: int = 0) -> None:
    descriptor = files.open(path, os.O_WRONLY | os.O_CREAT | flags)
    try:
        write(descriptor, data, 0, 0)
    finally:
        os.close(descriptor)


def get(files: PlainFiles, path: tuple[str, ...]) -> bytes:
    descriptor = files.open(path, os.O_RDONLY)
    try:
        return os.pread(descriptor, 1 << 20, 0)
    finally:
        os.close(descriptor)


def fails(code: int) -> pytest.RaisesExc[OSError]:
    return pytest.RaisesExc(OSError, check=lambda error: error.errno == code)


def test_a_file_is_written_listed_renamed_and_removed(files: PlainFiles) -> None:
    put(files, ("a.png",), b"one")
    assert get(files, ("a.png",)) == b"one"
    assert [(name, kind) for name, _, kind in files.entries(())] == [("a.png", stat.S_IFREG)]
    assert files.entries(())[0][1] == files.stat(("a.png",)).st_ino
    files.rename(("a.png",), ("b.png",), 0)
    assert get(files, ("b.png",)) == b"one"
    files.unlink(("b.png",))
    with fails(errno.ENOENT):
        files.stat(("b.png",))


def test_a_kinds_directory_is_made_when_something_plain_arrives(files: PlainFiles) -> None:
    assert files.entries(("deal",)) == []
    with fails(errno.ENOENT):
        files.open(("deal", "a.png"), os.O_RDONLY)
    put(files, ("deal", "a.png"), b"x")
    files.mkdir(("task", "img"), 0o750)
    files.symlink("a.png", ("note", "link"))
    put(files, ("b.png",), b"y")
    files.rename(("b.png",), ("trial", "b.png"), 0)
    assert {name for name, _, _ in files.entries(())} == {"deal", "task", "note", "trial"}
    assert stat.S_IMODE(files.stat(("task", "img")).st_mode) == 0o750
    with fails(errno.ENOENT):
        files.open(("deal", "deep", "a.png"), os.O_CREAT | os.O_WRONLY)


def test_symlinks_are_objects_that_are_never_followed(files: PlainFiles, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    files.symlink(str(tmp_path / "outside"), ("out",))
    files.symlink(str(tmp_path / "outside" / "secret"), ("secret",))
    assert files.readlink(("out",)) == str(tmp_path / "outside")
    assert stat.S_ISLNK(files.stat(("out",)).st_mode)
    assert stat.S_IFLNK in {kind for _, _, kind in files.entries(())}
    for action in (
        lambda: files.open(("secret",), os.O_RDONLY),
        lambda: files.open(("secret",), os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        lambda: files.stat(("out", "secret")),
        lambda: files.unlink(("out", "secret")),
        lambda: files.entries(("out",)),
        lambda: files.chmod(("secret",), 0o777),
        lambda: files.getxattr(("secret",), "user.a"),
        lambda: files.setxattr(("secret",), "user.a", b"1", 0),
        lambda: files.rename(("out", "secret"), ("stolen",), 0),
        lambda: files.link(("out", "secret"), ("stolen",)),
        lambda: files.mkdir(("out", "new"), 0o755),
    ):
        with pytest.raises(OSError):
            action()
    files.utimens(("secret",), 1, 2)
    assert (tmp_path / "outside" / "secret").stat().st_mtime_ns != 2
    assert [at.name for at in (tmp_path / "outside").iterdir()] == ["secret"]
    assert (tmp_path / "outside" / "secret").read_text() == "secret"


@pytest.mark.parametrize(
    "path", [("..",), ("..", "x"), ("a", "..", "..", "x"), ("",), (), ("a/b",)]
)
def test_nothing_leads_out(files: PlainFiles, path: tuple[str, ...]) -> None:
    with pytest.raises(OSError):
        files.open(path, os.O_CREAT | os.O_WRONLY)
    with pytest.raises(OSError):
        files.unlink(path)


def test_open_flags(files: PlainFiles) -> None:
    put(files, ("a",), b"12345")
    with fails(errno.EEXIST):
        files.open(("a",), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.close(files.open(("a",), os.O_CREAT | os.O_WRONLY))
    assert get(files, ("a",)) == b"12345"
    os.close(files.open(("a",), os.O_RDONLY | os.O_TRUNC))
    assert get(files, ("a",)) == b""
    files.mkdir(("d",), 0o755)
    with fails(errno.EISDIR):
        files.open(("d",), os.O_RDONLY)


def test_appenders_do_not_overwrite_each_other(files: PlainFiles) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    first, second = files.open(("log",), flags), files.open(("log",), flags)
    try:
        assert write(first, b"a\n", 0, os.O_APPEND) == 2
        assert write(second, b"b\n", 0, os.O_APPEND) == 2
        assert write(first, b"c\n", 2, os.O_APPEND) == 2
        assert write(first, b"A", 0, 0) == 1
        assert os.pread(second, 99, 0) == b"A\nb\nc\n"
    finally:
        os.close(first)
        os.close(second)


def test_modes_are_as_given_whatever_the_umask_of_the_server(files: PlainFiles) -> None:
    before = os.umask(0o077)
    try:
        os.close(files.open(("a",), os.O_CREAT | os.O_WRONLY, 0o6664))
        files.mkdir(("d",), 0o2775)
    finally:
        os.umask(before)
    assert stat.S_IMODE(files.stat(("a",)).st_mode) == 0o664
    assert stat.S_IMODE(files.stat(("d",)).st_mode) == 0o775
    files.chmod(("a",), 0o6755)
    assert stat.S_IMODE(files.stat(("a",)).st_mode) == 0o755
    files.utimens(("a",), 5, 1_700_000_000_123_456_789)
    assert files.stat(("a",)).st_mtime_ns == 1_700_000_000_123_456_789
    files.chown(("a",), -1, -1)


def test_a_fifo_put_there_from_outside_neither_hangs_nor_opens(
    files: PlainFiles, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "overlay" / "pipe")
    assert (stat.S_IFIFO in {kind for _, _, kind in files.entries(())}) is True
    with pytest.raises(OSError):
        files.open(("pipe",), os.O_RDONLY)


def test_rename_flags(files: PlainFiles) -> None:
    put(files, ("a",), b"a")
    put(files, ("b",), b"b")
    with fails(errno.EEXIST):
        files.rename(("a",), ("b",), 1)
    files.rename(("a",), ("b",), 2)
    assert (get(files, ("a",)), get(files, ("b",))) == (b"b", b"a")
    files.rename(("a",), ("c",), 1)
    assert get(files, ("c",)) == b"b"


def test_hard_links_and_space(files: PlainFiles) -> None:
    put(files, ("a",), b"a")
    files.link(("a",), ("b",))
    assert files.stat(("a",)).st_nlink == 2
    assert files.statvfs().f_bavail > 0
    descriptor = files.open(("a",), os.O_RDWR)
    try:
        fallocate(descriptor, 0, 0, 4096)
        assert files.stat(("b",)).st_size == 4096
        fallocate(descriptor, 1, 0, 8192)  # keep the size
        assert files.stat(("b",)).st_size == 4096
        with fails(errno.EINVAL):
            fallocate(descriptor, 0, 0, 0)
    finally:
        os.close(descriptor)
    files.rename(("a",), ("d", "a"), 0)
    with fails(errno.ENOTEMPTY):
        files.rmdir(("d",))
    files.unlink(("d", "a"))
    files.rmdir(("d",))


def test_extended_attributes(files: PlainFiles) -> None:
    put(files, ("a",), b"a")
    files.setxattr(("a",), "user.x", b"1", 0)
    files.setxattr(("a",), "user.engram.id", b"1", 0)
    files.setxattr(("a",), "system.posix_acl_access", b"1", 0)
    assert files.getxattr(("a",), "user.x") == b"1"
    assert files.listxattr(("a",)) == ["user.x"]
    assert files.listxattr(()) == []
    with fails(errno.ENODATA):
        files.getxattr(("a",), "security.capability")
    with fails(errno.EOPNOTSUPP):
        files.setxattr(("a",), "security.capability", b"1", 0)
    with fails(errno.EOPNOTSUPP):
        files.removexattr(("a",), "trusted.x")
    files.removexattr(("a",), "user.engram.id")
    files.removexattr(("a",), "user.x")
    with fails(errno.ENODATA):
        files.getxattr(("a",), "user.x")


names = st.binary(min_size=1, max_size=255).filter(
    lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")
)


@settings(max_examples=50)
@given(name=names, data=st.binary(max_size=100))
def test_any_name_that_the_disk_takes(
    tmp_path_factory: pytest.TempPathFactory, name: bytes, data: bytes
) -> None:
    overlay = PlainFiles(tmp_path_factory.mktemp("overlay"))
    try:
        path = (os.fsdecode(name),)
        put(overlay, path, data)
        assert get(overlay, path) == data
        assert [os.fsencode(found) for found, _, _ in overlay.entries(())] == [name]
        overlay.unlink(path)
    finally:
        overlay.close()


def test_a_name_too_long(files: PlainFiles) -> None:
    with fails(errno.ENAMETOOLONG):
        files.open(("a" * 256,), os.O_CREAT | os.O_WRONLY)


def test_each_namespace_has_a_directory_of_its_own() -> None:
    assert directory_name(()) == "_"
    assert directory_name((("team", "a/b"), ("x", "_"))) == "team=a%2Fb,x=_"
    long = directory_name((("team", "ü" * 100),))
    assert len(long) <= 255
    assert long != directory_name((("team", "ü" * 99 + "a"),))


def test_this_kernel_resolves_at_once() -> None:
    """Both ways above are different code only where this holds; it does from Linux 5.6 on."""
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    assert beneath.kernel_resolves() or release < (5, 6)
