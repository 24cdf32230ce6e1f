"""What programs may rely on through a real mount, said in system calls."""

from __future__ import annotations

import errno
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mounted import Mounted, mounted


@pytest.fixture(scope="module")
def mount(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mounted]:
    with mounted(tmp_path_factory.mktemp("promises")) as running:
        yield running


def document(words: str, id: str = "") -> bytes:
    """A valid task that carries an id, so that nothing is added to its bytes."""
    return f"---\nid: {id or uuid.uuid4()}\nstatus: open\n---\n{words}\n".encode()


def looks(found: os.stat_result) -> tuple[int, ...]:
    return (
        found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns,
    )  # fmt: skip


@pytest.mark.parametrize("way", ["create", "replace", "in place", "append", "chmod", "utimens"])
def test_fstat_before_close_is_stat_after_close(mount: Mounted, way: str) -> None:
    path = mount.root / "task" / f"fstat-{way.replace(' ', '-')}.md"
    mine = str(uuid.uuid4())
    if way != "create":
        path.write_bytes(document("first", mine))
    flags = {"in place": os.O_RDWR, "append": os.O_WRONLY | os.O_APPEND}.get(
        way, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if way != "create" else os.O_EXCL)
    )
    file = os.open(path, flags, 0o644)
    os.write(file, b"more\n" if way == "append" else document("other", mine))
    if way == "chmod":
        os.fchmod(file, 0o600)
    if way == "utimens":
        os.utime(file, ns=(1, 1_234_567_890_123_456_789))
    before = os.fstat(file)
    os.close(file)
    assert looks(os.stat(path)) == looks(before)
    with path.open("rb") as again:
        assert looks(os.fstat(again.fileno())) == looks(before)


def test_git_reads_no_file_again_after_add(mount: Mounted, tmp_path: Path) -> None:
    for number in range(5):
        (mount.root / "task" / f"git-{number}.md").write_bytes(document(f"words {number}"))
    git = ["git", f"--git-dir={tmp_path / 'g'}", f"--work-tree={mount.root}"]
    kept = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}

    def run(*arguments: str) -> str:
        done = subprocess.run([*git, *arguments], env=kept, capture_output=True, check=True)
        return done.stdout.decode()

    run("init", "-q")
    run("add", "-A")
    run("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all")
    for number in range(5):
        (mount.root / "task" / f"git-{number}.md").unlink()
    run("checkout", "--", ".")
    # `diff-files` compares what the index knows of stat with stat, and reads nothing.
    assert run("diff-files", "--name-only") == ""


def test_emptied_is_empty_at_once(mount: Mounted) -> None:
    (mount.root / "note" / "emptied.md").write_text("words\n")
    for number in range(20):
        done = mount.sh(
            f"echo words {number} > note/emptied.md; : > note/emptied.md; cat note/emptied.md;"
            f": > note/new-{number}.md; ls note/new-{number}.md; rm note/new-{number}.md;"
            f"echo ok > task/emptied.md"
        )
        assert done.stdout == f"note/new-{number}.md\n"
    (mount.root / "task" / "emptied.md").write_bytes(document("kept"))
    for _ in range(20):
        done = mount.sh(": > task/emptied.md; cat .errors task/emptied.md; rm .rejected -rf")
        assert "task/emptied.md" in done.stdout
        assert "kept" in done.stdout


def test_attributes_of_the_mountpoint(tmp_path: Path) -> None:
    with mounted(tmp_path / "m") as mount:
        source = tmp_path / "source"
        (source / "note").mkdir(parents=True)
        (source / "note" / "a.md").write_text(f"---\nid: {uuid.uuid4()}\n---\nwords\n")
        source.chmod(0o750)
        os.utime(source, (1_000_000_000, 1_000_000_000))
        for _ in range(2):
            done = subprocess.run(
                ["rsync", "-ai", f"{source}/", f"{mount.root}/"], capture_output=True, text=True
            )
            assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == ""
        for _ in range(2):
            found = mount.root.stat()
            assert (found.st_mtime, found.st_mode & 0o777) == (1_000_000_000, 0o750)
            mount.remount()


def test_what_was_refused_is_not_there_after_its_close(mount: Mounted) -> None:
    path = mount.root / "task" / "refused.md"
    for _ in range(20):
        with pytest.raises(OSError):
            path.write_text("---\nstatus: broken\n---\n")
        assert not path.exists()
    path.write_bytes(document("kept"))
    size = path.stat().st_size
    for _ in range(20):
        with pytest.raises(OSError):
            path.write_text("---\nstatus: broken\n---\n")
        assert path.stat().st_size == size
        assert b"kept" in path.read_bytes()


def test_labels_and_acls_are_told_not_to_be_there(mount: Mounted) -> None:
    path = mount.root / "note" / "labels.md"
    path.write_text("words\n")
    plain = mount.root / "labels.txt"
    plain.write_text("words\n")
    for each in (path, plain, path.parent, mount.root, mount.root / ".errors"):
        for name in ("security.selinux", "system.posix_acl_access", "trusted.x", "user.none"):
            with pytest.raises(OSError) as none:
                os.getxattr(each, name)
            assert none.value.errno in (errno.ENODATA, errno.EOPNOTSUPP), (each, name)
    with pytest.raises(FileNotFoundError):
        os.getxattr(mount.root / "note" / "missing.md", "security.selinux")


@pytest.mark.parametrize("way", ["fsync", "rename", "close of a copy"])
def test_writing_on_at_the_end_after_a_commit(mount: Mounted, way: str) -> None:
    """The commit adds an id line; the end of the handle's bytes is where it was."""
    path = mount.root / "note" / f"end-{way.replace(' ', '-')}.md"
    start = path.with_name(".end.tmp") if way == "rename" else path
    file = os.open(start, os.O_RDWR | os.O_CREAT, 0o644)
    os.write(file, b"first\n")
    if way == "fsync":
        os.fsync(file)
    elif way == "rename":
        start.rename(path)
    else:
        os.close(os.dup(file))
    assert os.lseek(file, 0, os.SEEK_END) == len(b"first\n")
    os.write(file, b"second\n")
    os.close(file)
    assert path.read_bytes().endswith(b"---\nfirst\nsecond\n")
