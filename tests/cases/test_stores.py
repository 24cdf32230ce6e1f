"""Cases 22e to 26, 31, 32 and 35: remounts, events, kills, the store."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer

from tests.cases.conftest import asker, kept_answer, paths
from tests.mounted import Mounted, engramfs, identity, mounted, run, task
from tests.waiting import gone, until


def test_22e_an_empty_entry_survives_a_remount(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        assert mount.sh("touch task/new.md").returncode == 0
        mount.remount()
        path = mount.root / "task" / "new.md"
        assert path.read_bytes() == b""
        assert paths(asker(mount, ".recall")("new")) == []
        path.write_text("---\nstatus: open\n---\nnew words\n")
        assert paths(asker(mount, ".recall")("new words")) == ["task/new.md"]


def test_23_inodes_are_stable(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        path = task(mount, "stable")
        before = path.stat()
        mount.remount()
        after = path.stat()
        assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns, after.st_size) == (
            before.st_ino,
            before.st_mtime_ns,
            before.st_ctime_ns,
            before.st_size,
        )
        tree = tmp_path / "copy"
        assert mount.sh(f"rsync -a note task {tree}/").returncode == 0
        for _ in range(2):
            assert mount.sh(f"rsync -ani note task {tree}/").stdout == ""


def test_24_events_show_an_import_through_the_server(mount: Mounted, tmp_path: Path) -> None:
    (tmp_path / "imported.md").write_text("imported words\n")
    observer = Observer()  # inotify sees what clients do, and must not disturb
    observer.schedule(FileSystemEventHandler(), str(mount.root), recursive=True)
    observer.start()
    follower = subprocess.Popen(
        ["tail", "-f", "-n", "+1", mount.root / ".events"], stdout=subprocess.PIPE, text=True
    )
    try:
        engramfs("import", tmp_path, "--kind", "note", "--store", mount.store)
        assert follower.stdout is not None
        for line in follower.stdout:
            event = json.loads(line)
            if event["path"] == "note/imported.md":
                assert event["event"] == "create"
                assert event["id"] == identity(mount.root / "note/imported.md")
                break
    finally:
        follower.kill()
        follower.wait()
        observer.stop()
        observer.join()


def test_25_the_server_never_meets_its_own_mount(mount: Mounted, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    for mountpoint in (store, tmp_path):
        done = run("mount", mountpoint, "--store", store, "--embed", "off")
        assert done.returncode == 1 or done.returncode == 2
        assert "store" in done.stderr
        assert "Traceback" not in done.stderr
    done = run("import", mount.root / "note", "--kind", "note", "--store", mount.store)
    assert done.returncode != 0
    assert "mount" in done.stderr


def test_26_kill_9_during_puts_then_plain_duckdb_then_mount(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        writer = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import sys\n"
                "for n in range(100000):\n"
                "    with open(f'note/n{n}.md', 'w') as f: f.write(f'unique{n}word body\\n')\n"
                "    print(n, flush=True)\n",
            ],
            cwd=mount.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) == 60:
                break
        pid = mount.pid_from_lock()
        os.kill(pid, signal.SIGKILL)
        rest = writer.stdout.read().split()
        writer.wait()
        until(lambda: gone(pid))
        acknowledged = int(rest[-1]) if rest else 60
        import duckdb

        with duckdb.connect(str(mount.store / "engramfs.duckdb")) as plain:
            row = plain.execute("SELECT count(*) FROM version").fetchone()
            assert row is not None and row[0] > acknowledged
        mount.start()
        for n in (0, 30, acknowledged):
            assert (mount.root / f"note/n{n}.md").read_text().endswith(f"unique{n}word body\n")
            assert paths(asker(mount, ".recall")(f"unique{n}word")) == [f"note/n{n}.md"]


def test_31_every_command_works_while_the_store_is_held(mount: Mounted, tmp_path: Path) -> None:
    task(mount, "held", "a heliotrope\n")
    store = ("--store", mount.store)
    assert "task/held.md" in engramfs("recall", "heliotrope", *store)
    assert "held" in engramfs("search", "heliotrope", *store)
    engramfs("status", *store)
    engramfs("check", *store)
    engramfs("kinds", "show", *store)
    engramfs("reindex", *store)
    assert "task/held.md" in engramfs("recall", "heliotrope", *store)
    second = tmp_path / "second"
    second.mkdir()
    done = run("mount", second, *store)
    assert done.returncode == 4
    assert str(mount.root) in done.stderr or str(mount.pid()) in done.stderr


def test_32_35_no_network_and_nothing_embedded_twice(tmp_path: Path) -> None:
    """The whole way with the embedder, in a network namespace of its own where we may make one."""
    with mounted(tmp_path, flags=("--embed", "background")) as mount:
        note = mount.root / "note" / "embedded.md"
        note.write_text("the cat sat on the mat\n")
        answer = asker(mount, ".recall")
        until(lambda: pending(mount) == 0)
        assert "vector" in answer("feline on a rug")["items"][0]["channels"]
        vectors = count_vectors(mount)
        for _ in range(2):
            mount.remount()
            assert pending(mount) == 0
        assert count_vectors(mount) == vectors


def test_34_another_model_is_refused_until_everything_is_embedded_anew(tmp_path: Path) -> None:
    tree, other = tmp_path / "tree", {"ENGRAMFS_MODEL_TOKENS": "128"}
    tree.mkdir()
    (tree / "cat.md").write_text("the cat sat on the mat\n")
    store = ("--store", tmp_path / "store")
    engramfs("import", tree, "--kind", "note", *store, env={"ENGRAMFS_EMBED": "inline"})
    refused = run("recall", "feline", *store, env=other)
    assert refused.returncode == 1
    assert "engramfs reindex --embed" in refused.stderr
    engramfs("reindex", "--embed", *store, env=other)
    status = json.loads(engramfs("status", "--json", *store, env=other))
    assert status["pending_vectors"] == 0  # the command waits until they are made
    answer = engramfs("recall", "feline on a rug", *store, "--format", "json", env=other)
    assert "vector" in json.loads(answer)["items"][0]["channels"]


def pending(mount: Mounted) -> int:
    status = json.loads(engramfs("status", "--json", "--store", mount.store))
    return int(status["pending_vectors"])


def count_vectors(mount: Mounted) -> int:
    mount.stop()
    import duckdb

    with duckdb.connect(str(mount.store / "engramfs.duckdb"), read_only=True) as plain:
        row = plain.execute("SELECT count(*) FROM vector").fetchone()
    mount.start()
    assert row is not None
    return int(row[0])


def test_node_reads_the_same_bytes_where_it_is_installed(mount: Mounted) -> None:
    (mount.root / "note" / "node.md").write_text("an axolotl\n")
    name = kept_answer(mount, "axolotl")
    wanted = (mount.root / name).read_bytes()
    if shutil.which("node"):
        script = f"process.stdout.write(require('fs').readFileSync('{name}'))"
        done = subprocess.run(["node", "-e", script], cwd=mount.root, capture_output=True)
        assert done.stdout == wanted
    assert b"note/node.md" in wanted
