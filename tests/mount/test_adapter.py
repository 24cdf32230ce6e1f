"""The adapter, by a real mount of a dictionary: what the binding drops, the kernel must see."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from engramfs.fuse import Adapter

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
UTIME_NOW, UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2


@pytest.fixture(scope="module")
def mount(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("floor")
    log = (place.parent / "floor.log").open("w+")
    server = subprocess.Popen(
        [sys.executable, "-m", "scripts.benchmarks.floor", place],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n", "the floor could not be mounted"
        yield place
    finally:
        subprocess.run(["fusermount3", "-u", "-z", place], check=False)
        server.wait(120)
        log.seek(0)
        assert "Traceback" not in log.read()


@pytest.fixture
def file(mount: Path, request: pytest.FixtureRequest) -> Path:
    path = mount / f"{request.node.name}.md"
    path.write_bytes(b"some text\n")
    return path


def rename(old: Path, new: Path, flags: int) -> None:
    done = libc.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags)
    if done != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def test_bytes_sizes_and_listing(mount: Path) -> None:
    directory = mount / "directory"
    directory.mkdir()
    path = directory / "ünï code.md"
    path.write_bytes(bytes(range(256)) * 4096)
    assert path.read_bytes() == bytes(range(256)) * 4096
    assert path.stat().st_size == 1 << 20
    assert path.stat().st_blocks == 2048
    assert [entry.name for entry in os.scandir(directory)] == ["ünï code.md"]
    assert {entry.inode() for entry in os.scandir(directory)} == {path.stat().st_ino}
    listed = subprocess.run(["ls", "-a", directory], capture_output=True, text=True, check=True)
    assert listed.stdout.split("\n")[:2] == [".", ".."]
    path.unlink()
    directory.rmdir()
    assert not directory.exists()


def test_names_that_are_no_utf_8_arrive(mount: Path) -> None:
    name = os.fsencode(mount) + b"/\xff\xfe"
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600))
    assert b"\xff\xfe" in os.listdir(os.fsencode(mount))
    assert stat.S_IMODE(os.stat(name).st_mode) == 0o600
    os.unlink(name)


def test_rename_flags(file: Path) -> None:
    other = file.with_name("other.md")
    other.write_bytes(b"other\n")
    with pytest.raises(FileExistsError):
        rename(file, other, 1)
    rename(file, other, 2)
    assert file.read_bytes() == b"other\n"
    assert other.read_bytes() == b"some text\n"
    rename(file, other, 0)
    assert other.read_bytes() == b"other\n"
    assert not file.exists()


def test_ftruncate_and_fstat_go_to_the_handle(file: Path) -> None:
    with file.open("r+b") as stream:
        os.ftruncate(stream.fileno(), 4)
        assert os.fstat(stream.fileno()).st_size == 4
        assert stream.read() == b"some"
        os.fchmod(stream.fileno(), 0o600)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_times(file: Path) -> None:
    os.utime(file, ns=(1, 1_234_567_890_123_456_789))
    assert file.stat().st_mtime_ns == 1_234_567_890_123_456_789

    class Timespec(ctypes.Structure):
        _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))

    times = (Timespec * 2)(Timespec(0, UTIME_OMIT), Timespec(0, UTIME_OMIT))
    assert libc.utimensat(AT_FDCWD, os.fsencode(file), times, 0) == 0
    assert file.stat().st_mtime_ns == 1_234_567_890_123_456_789
    times[1] = Timespec(0, UTIME_NOW)
    assert libc.utimensat(AT_FDCWD, os.fsencode(file), times, 0) == 0
    assert file.stat().st_mtime > 1_700_000_000
    os.utime(file, ns=(1, 1))
    subprocess.run(["touch", "-a", file], check=True)
    assert file.stat().st_mtime_ns == 1
    subprocess.run(["touch", file], check=True)
    assert file.stat().st_mtime > 1_700_000_000


def test_open_flags_arrive(file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(b"more\n")
    assert file.read_bytes() == b"some text\nmore\n"
    file.open("wb").close()
    assert file.read_bytes() == b""
    with pytest.raises(FileExistsError):
        os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY)


def test_xattrs(file: Path) -> None:
    os.setxattr(file, "user.one", b"1" * 300)
    assert os.getxattr(file, "user.one") == b"1" * 300
    assert os.listxattr(file) == ["user.one"]
    os.removexattr(file, "user.one")
    for name in ("user.one", "security.capability"):
        with pytest.raises(OSError) as missing:
            os.getxattr(file, name)
        assert missing.value.errno == errno.ENODATA


def test_links_and_nodes(file: Path) -> None:
    link = file.with_name("link")
    link.symlink_to(file.name)
    assert str(link.readlink()) == file.name
    assert link.read_bytes() == b"some text\n"
    with pytest.raises(PermissionError):
        os.link(file, file.with_name("hard.md"))
    with pytest.raises(PermissionError):
        os.mkfifo(file.with_name("pipe"))
    node = file.with_name("node")
    os.mknod(node, stat.S_IFREG | 0o640)
    assert stat.S_IMODE(node.stat().st_mode) == 0o640


def test_what_is_left_out_is_answered_as_the_kernel_does(file: Path) -> None:
    import fcntl

    with file.open("r+b") as stream:
        with pytest.raises(OSError) as refused:
            fcntl.ioctl(stream.fileno(), 0x5401)
        assert refused.value.errno == errno.ENOTTY
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert os.lseek(stream.fileno(), 0, os.SEEK_DATA) == 0
        assert os.lseek(stream.fileno(), 0, os.SEEK_END) == 10
        assert libc.fallocate(stream.fileno(), 0, ctypes.c_long(0), ctypes.c_long(100)) == -1
        assert ctypes.get_errno() == errno.EOPNOTSUPP
        os.fsync(stream.fileno())
    with file.open("rb") as source, file.with_name("copied").open("wb") as target:
        assert os.copy_file_range(source.fileno(), target.fileno(), 100) == 10
    assert file.with_name("copied").read_bytes() == b"some text\n"


def test_shared_writing_maps_are_refused_and_private_ones_work(file: Path) -> None:
    import mmap

    with file.open("r+b") as stream:
        with pytest.raises(OSError) as refused:
            mmap.mmap(stream.fileno(), 0, mmap.MAP_SHARED)
        assert refused.value.errno == errno.ENODEV
        with mmap.mmap(stream.fileno(), 0, mmap.MAP_PRIVATE) as private:
            assert private[:4] == b"some"


def test_the_space_of_the_disk_is_told(mount: Path) -> None:
    assert os.statvfs(mount).f_blocks == os.statvfs("/").f_blocks
    assert os.statvfs(mount).f_namemax == 255


def test_many_threads_at_once(mount: Path) -> None:
    directory = mount / "threads"
    directory.mkdir()

    def work(number: int) -> None:
        for turn in range(50):
            path = directory / f"{number}-{turn}"
            path.write_text(f"{number} {turn}")
            assert path.read_text() == f"{number} {turn}"
            path.replace(directory / f"{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(list(directory.iterdir())) == 8


@pytest.mark.parametrize(("capable", "wanted"), [(0xFFFF_FFFF, 1 << 18), (0, 0)])
def test_lookups_of_one_directory_may_run_at_once(capable: int, wanted: int) -> None:
    """Asked of a kernel that can; libfuse 3.17 leaves it off unless it is wanted."""
    adapter = Adapter.__new__(Adapter)
    adapter.operations, adapter._ready = SimpleNamespace(), lambda: None
    connection = SimpleNamespace(contents=SimpleNamespace(capable=capable, want=3 << 13))
    adapter.init_fuse_3(connection, None)
    assert connection.contents.want == wanted
