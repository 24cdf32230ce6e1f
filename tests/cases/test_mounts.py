"""Cases 14 to 22d: programs and mounts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mounted import KINDS, Mounted, engramfs, identity, mounted, run, task
from tests.waiting import until


def test_14_a_copy_moved_over_keeps_the_target(mount: Mounted) -> None:
    path = task(mount, "replace")
    before = identity(path), os.getxattr(path, "user.engram.created"), path.stat().st_ino
    assert (
        mount.sh("cd task; cp replace.md t.tmp; echo more >> t.tmp; mv t.tmp replace.md").returncode
        == 0
    )
    assert path.read_text().endswith("more\n")
    assert (identity(path), os.getxattr(path, "user.engram.created"), path.stat().st_ino) == before


def test_15_content_is_there_at_once(mount: Mounted) -> None:
    done = mount.sh("cd note; echo words > tmp; mv tmp once.md; cat once.md")
    assert done.stdout.endswith("words\n")


def test_17_a_refused_redirection_in_bash(mount: Mounted) -> None:
    path = task(mount, "refused")
    before = path.read_bytes()
    done = mount.sh("echo '---\nstatus: [' > task/refused.md; cat task/refused.md")
    assert done.stdout.encode() == before
    assert "task/refused.md" in mount.errors()
    assert b"line" in os.getxattr(path, "user.engram.error")
    assert (mount.root / ".rejected/task/refused.md").read_text() == "---\nstatus: [\n"
    os.unlink(mount.root / ".rejected/task/refused.md")
    assert not (mount.root / ".rejected/task/refused.md").exists()


def test_18_kill_9_and_mount_again(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        path = task(mount, "kept")
        shown, was = path.read_bytes(), identity(path)
        os.kill(mount.pid(), signal.SIGKILL)
        mount.start()  # at once: the dying process may still hold the store
        assert path.read_bytes() == shown
        assert identity(path) == was
        assert mount.errors() == ""


def test_19_an_empty_kind_and_a_damaged_row(tmp_path: Path) -> None:
    with mounted(tmp_path, damaged=True) as mount:
        assert os.listdir(mount.root / "person") == []
        good, bad = task(mount, "good"), task(mount, "bad")
        was = good.read_bytes()
        mount.stop()
        import duckdb

        with duckdb.connect(str(mount.store / "engramfs.duckdb")) as plain:
            plain.execute(
                "UPDATE version SET source = 'damaged'::BLOB "
                "WHERE seq IN (SELECT seq FROM state WHERE slug = 'bad')"
            )
        mount.start()
        assert good.read_bytes() == was
        assert set(os.listdir(mount.root / "task")) == {"good.md", "bad.md"}
        with pytest.raises(OSError) as damaged:
            bad.read_bytes()
        assert damaged.value.errno == 5
        checked = run("check", "--store", mount.store)
        assert checked.returncode == 3
        assert "bad" in checked.stdout + checked.stderr
        bad.write_bytes(was)  # written again, its bytes are whole
        assert bad.read_bytes() != b""


def test_21_an_unlinked_open_file_reads_on(mount: Mounted) -> None:
    path = task(mount, "open", "one\ntwo\n")
    done = mount.sh("cd task; exec 3<open.md; rm open.md; ls -a; cat <&3")
    assert done.stdout.endswith("one\ntwo\n")
    assert "fuse_hidden" not in done.stdout
    assert "open.md" not in done.stdout
    assert not path.exists()


def test_22_times_are_kept(mount: Mounted, tmp_path: Path) -> None:
    source = tmp_path / "times.md"
    source.write_text("---\nstatus: open\n---\n")
    os.utime(source, ns=(10**18 + 1, 10**18 + 123456789))
    for command in ("cp -p", "rsync -a", "install -p -m 644"):
        name = f"times-{command.split()[0]}.md"
        assert mount.sh(f"{command} {source} task/{name}").returncode == 0
        assert (mount.root / "task" / name).stat().st_mtime_ns == 10**18 + 123456789
    assert mount.sh("touch -d @1234567890.5 task/times-cp.md").returncode == 0
    assert (mount.root / "task/times-cp.md").stat().st_mtime_ns == 1234567890_500000000
    done = mount.sh(f"tar -C {tmp_path} -cf - times.md | tar -C task -xf -")
    assert done.returncode == 0, done.stderr
    assert (mount.root / "task/times.md").stat().st_mtime == 10**9


def test_22_second_rsync_is_idle(mount: Mounted, tmp_path: Path) -> None:
    tree = tmp_path / "tree" / "note"
    tree.mkdir(parents=True)
    for n in range(5):
        identity_line = f"id: 0190c1de-0000-7000-8000-0000000000{n:02d}"
        (tree / f"sync{n}.md").write_text(f"---\n{identity_line}\n---\nbody {n}\n")
    assert mount.sh(f"rsync -a {tmp_path}/tree/ .").returncode == 0
    again = mount.sh(f"rsync -ai {tmp_path}/tree/ . | grep sync")
    assert again.stdout == ""


@pytest.mark.parametrize("command", ["truncate -s 0 {}", ": > {}", "cp /dev/null {}"])
def test_22_emptying(mount: Mounted, command: str) -> None:
    note = mount.root / "note" / "emptied.md"
    note.write_text("text\n")
    assert mount.sh(command.format("note/emptied.md")).returncode == 0
    until(lambda: note.read_bytes() == b"")  # emptied at release, which close does not wait for
    path = task(mount, "full")
    before = path.read_bytes()
    mount.sh(command.format("task/full.md"))
    until(lambda: "task/full.md" in mount.errors())
    assert path.read_bytes() == before
    path.write_bytes(before.replace(b"body", b"other"))
    assert "task/full.md" not in mount.errors()


def test_22b_appenders_overwrite_nothing(mount: Mounted) -> None:
    path = task(mount, "appended")
    done = mount.sh(
        "cd task; echo a >> appended.md; stat appended.md >/dev/null; echo b >> appended.md"
    )
    assert done.returncode == 0
    assert path.read_text().endswith("body\na\nb\n")
    append = "for i in $(seq 20); do echo $n-$i >> appended.md; done"
    both = f"cd task; for n in 1 2; do ({append}) & done; wait"
    assert mount.sh(both).returncode == 0
    lines = path.read_text().split()
    assert {f"{n}-{i}" for n in (1, 2) for i in range(1, 21)} <= set(lines)


def test_22c_a_copy_has_an_id_of_its_own(mount: Mounted) -> None:
    a = task(mount, "original")
    assert mount.sh("cd task; cp original.md copied.md").returncode == 0
    b = a.with_name("copied.md")
    first = identity(b)
    assert first != identity(a)
    assert first in b.read_text()
    for word in ("one", "two"):
        b.write_text(b.read_text() + word)
        assert identity(b) == first


def test_22c_moving_between_roots_keeps_the_identity(tmp_path: Path) -> None:
    roots = {kind: tmp_path / kind for kind in ("task", "note", "person")}
    kinds, store = tmp_path / "kinds.yaml", tmp_path / "store"
    kinds.write_text(KINDS)
    for root in roots.values():
        root.mkdir()
    options = [o for kind, root in roots.items() for o in ("--root", f"{kind}={root}")]
    where = ("--store", store, "--kinds", kinds, "--embed", "off")
    engramfs("mount", "--mode", "roots", *options, *where)
    try:
        source = roots["note"] / "moving.md"
        source.write_text("words\n")
        was = identity(source), os.getxattr(source, "user.engram.created")
        done = subprocess.run(["mv", source, roots["task"]], capture_output=True, check=False)
        assert done.returncode != 0, "a task without a status was accepted"
        assert identity(source) == was[0]
        subprocess.run(["mv", source, roots["person"]], check=True)
        moved = roots["person"] / "moving.md"
        assert not source.exists()
        assert moved.read_text().endswith("words\n")
        assert (identity(moved), os.getxattr(moved, "user.engram.created")) == was
    finally:
        engramfs("umount", roots["task"], "--store", store)
    assert not os.path.ismount(roots["note"])
    engramfs("check", "--store", store)


def test_22c_rsync_delete_after_of_a_renamed_file(tmp_path: Path) -> None:
    """The copy under the new name takes over once the grace time of the old one has passed."""
    with mounted(tmp_path) as mount:
        mount.remount(ENGRAMFS_GRACE_NS=str(2 * 10**9))
        old = mount.root / "note" / "old.md"
        old.write_text("words\n")
        was = identity(old), os.getxattr(old, "user.engram.created")
        tree = tmp_path / "tree"
        tree.mkdir()
        assert mount.sh(f"cp -p note/old.md {tree}/new.md").returncode == 0
        assert mount.sh(f"rsync -a --delete-after {tree}/ note/").returncode == 0
        assert os.listdir(mount.root / "note") == ["new.md"]
        new = mount.root / "note" / "new.md"
        until(lambda: identity(new) == was[0])
        assert os.getxattr(new, "user.engram.created") == was[1]
        assert was[0] in new.read_text()


def test_22d_a_named_temporary_keeps_the_target(mount: Mounted) -> None:
    path = task(mount, "atomic")
    before = identity(path), path.stat().st_ino
    script = (
        "import os,tempfile;"
        "t=tempfile.NamedTemporaryFile('w',dir='task',suffix='.md',delete=False);"
        "t.write('---\\nstatus: done\\n---\\nnew\\n');t.close();os.replace(t.name,'task/atomic.md')"
    )
    done = mount.sh(f'{sys.executable} -c "{script}"')
    assert done.returncode == 0, done.stderr
    assert path.read_text().endswith("new\n")
    assert (identity(path), path.stat().st_ino) == before
    assert not [n for n in os.listdir(path.parent) if n.startswith("tmp")]
