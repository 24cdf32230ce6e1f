"""The rules of the process: start, hold, answer commands, end. Each test has a store of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.mounted import KINDS, Mounted, engramfs, mounted, run
from tests.waiting import gone, until


def test_status_names_the_process_and_its_mountpoints(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        found = json.loads(engramfs("status", "--json", "--store", mount.store))
        assert found["mountpoints"] == [str(mount.root)]
        assert Path(f"/proc/{found['pid']}").exists()
        assert found["store"] == str(mount.store)
        assert f"pid: {found['pid']}\n" in engramfs("status", "--store", mount.store)
        mount.stop()
        assert gone(found["pid"])
        found = json.loads(engramfs("status", "--json", "--store", mount.store))
        assert (found["pid"], found["mountpoints"]) == (None, [])
        mount.start()


def test_a_second_mount_is_told_who_holds_the_store(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        other = tmp_path / "other"
        other.mkdir()
        for flags in ((), ("--foreground",)):
            done = run("mount", other, "--store", mount.store, *flags)
            assert done.returncode == 4
            assert f"process {mount.pid()}, mounted at {mount.root}" in done.stderr
        done = run("mount", mount.root, "--store", tmp_path / "another")
        assert done.returncode == 1
        assert f"mounted already, for the store {mount.store}" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_commits_what_is_open_and_ends(tmp_path: Path, number: signal.Signals) -> None:
    with mounted(tmp_path) as mount:
        pid = mount.pid()
        good = (mount.root / "note" / "good.md").open("w")
        bad = (mount.root / "task" / "bad.md").open("w")
        for stream in (good, bad):
            stream.write("never closed\n")
            stream.flush()
        os.kill(pid, number)
        until(lambda: gone(pid))
        assert not os.path.ismount(mount.root)
        for stream in (good, bad):
            with suppress(OSError):  # the connection is gone
                stream.close()
        mount.start()
        assert (mount.root / "note" / "good.md").read_text().endswith("never closed\n")
        assert (mount.root / ".rejected" / "task" / "bad.md").read_text() == "never closed\n"
        assert "task/bad.md" in mount.errors()


def test_unmounting_while_in_use_says_so_and_changes_nothing(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount, (mount.root / "note" / "open.md").open("w"):
        done = run("umount", mount.root, "--store", mount.store)
        assert done.returncode == 1
        assert "in use" in done.stderr
        assert (mount.root / "note").is_dir()


def test_roots_end_together(tmp_path: Path) -> None:
    kinds = tmp_path / "kinds.yaml"
    kinds.write_text(KINDS)
    roots = {kind: tmp_path / kind for kind in ("task", "note")}
    for root in roots.values():
        root.mkdir()
    store = ("--store", tmp_path / "store")
    options = [word for kind, root in roots.items() for word in ("--root", f"{kind}={root}")]
    engramfs("mount", *options, *store, "--kinds", kinds, "--embed", "off")
    try:
        (roots["note"] / "a.md").write_text("words\n")
        with pytest.raises(OSError, match="cross-device"):
            os.rename(roots["note"] / "a.md", roots["task"] / "a.md")
        assert os.listdir(roots["task"]) == []
        assert b"words" in (roots["note"] / ".recall?q=words").read_bytes()
        assert b"a.md" not in (roots["task"] / ".recall?q=words").read_bytes()
    finally:
        engramfs("umount", roots["task"], *store)
    assert not os.path.ismount(roots["note"])
    done = run("mount", "--root", f"nothing={roots['note']}", *store)
    assert done.returncode == 2
    assert "there is no kind nothing" in done.stderr


def test_kinds_follow_their_file(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        assert mount.kinds is not None
        assert not (mount.root / "animal").exists()
        mount.kinds.write_text(KINDS + "  animal: {description: A beast}\n")
        until((mount.root / "animal").exists)
        until(lambda: mount.errors() == "")  # the file may have been looked at half written
        fresh = mount.kinds.with_name("fresh")
        fresh.write_text(KINDS + "  animal: {fields: {legs: {type: many}}}\n")
        fresh.replace(mount.kinds)
        until(lambda: "legs" in mount.errors())
        assert (mount.root / "animal").is_dir()
        (mount.root / "animal" / "cat.md").write_text("meow\n")


def test_wrong_kinds_are_refused_before_anything_is_mounted(tmp_path: Path) -> None:
    root, kinds = tmp_path / "mnt", tmp_path / "kinds.yaml"
    root.mkdir()
    kinds.write_text("kinds:\n  deal: {fields: {stage: {type: colour}}}\n")
    for flags in ((), ("--foreground",)):
        done = run("mount", root, "--store", tmp_path / "store", "--kinds", kinds, *flags)
        assert done.returncode == 1
        assert f"{kinds}: line 2" in done.stderr
        assert "colour" in done.stderr
        assert "Traceback" not in done.stderr
        assert not os.path.ismount(root)
    done = run("mount", root, "--store", tmp_path / "store", "--kinds", tmp_path / "none.yaml")
    assert done.returncode == 1
    assert "none.yaml cannot be read" in done.stderr


def test_a_missing_libfuse_is_one_sentence_with_the_line_to_run(tmp_path: Path) -> None:
    root = tmp_path / "mnt"
    root.mkdir()
    environment = {"FUSE_LIBRARY_PATH": "/nonexistent/libfuse3.so"}
    for flags in ((), ("--foreground",)):
        done = run("mount", root, "--store", tmp_path / "store", *flags, env=environment)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "apt-get install fuse3" in done.stderr


def test_read_only(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        (mount.root / "note" / "kept.md").write_text("words\n")
        mount.stop()
        mount.flags = ("--embed", "off", "--read-only")
        mount.start()
        assert (mount.root / "note" / "kept.md").read_text().endswith("words\n")
        assert b"kept.md" in (mount.root / ".recall?q=words").read_bytes()
        with pytest.raises(OSError, match="Read-only"):
            (mount.root / "note" / "new.md").write_text("words\n")
        with pytest.raises(OSError, match="Read-only"):
            (mount.root / "note" / "kept.md").unlink()


def test_a_namespace_is_a_tree_of_its_own(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        (mount.root / "note" / "common.md").write_text("pumps for all\n")
        (mount.root / "note" / "plain.txt").write_text("plain\n")
        mount.stop()
        mount.flags = ("--embed", "off", "--namespace", "team=sales")
        mount.start()
        assert os.listdir(mount.root / "note") == []
        (mount.root / "note" / "own.md").write_text("pumps for sales\n")
        assert b"common" not in (mount.root / ".recall?q=pumps").read_bytes()
        whole = engramfs("recall", "pumps", "--store", mount.store)
        assert "pumps for all" in whole
        assert "note/own.md" in whole
        narrow = engramfs("recall", "pumps", "--store", mount.store, "--namespace", "team=sales")
        assert "pumps for all" not in narrow


def test_a_stale_mount_is_replaced(tmp_path: Path) -> None:
    """kill -9 of the server and of the helper that would unmount after it."""
    with mounted(tmp_path) as mount:
        (mount.root / "note" / "kept.md").write_text("words\n")
        pid = mount.pid()
        helpers = [
            int(process.name)
            for process in Path("/proc").iterdir()
            if process.name.isdigit() and str(mount.root) in words_of(process)
        ]
        assert helpers, "the helper of auto_unmount runs beside the server"
        for one in (*(helper for helper in helpers if helper != pid), pid):
            os.kill(one, signal.SIGKILL)  # first the helpers, which would end with the server
        until(lambda: gone(pid))
        with pytest.raises(OSError, match=r"not connected|connection abort"):
            os.listdir(mount.root)
        mount.start()
        assert (mount.root / "note" / "kept.md").read_text().endswith("words\n")


def words_of(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_text().split("\0")
    except OSError:
        return []


def test_commands_without_a_server_and_with_one_say_the_same(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        (mount.root / "note" / "a.md").write_text("# Pumps\n\nThey overheat.\n")
        (mount.root / "note" / "b.md").write_text("# Valves\n\nThey leak.\n")
        (mount.store / "config.toml").write_text('embed = "off"\n')
        store = ("--store", mount.store)
        asked: list[tuple[object, ...]] = [
            ("search", "overheat", "--format", "json"),
            ("recall", "overheat", "--format=json", "--budget", "600"),
            ("kinds", "show"),
            ("check",),
            ("recall", "--budget", "none", "x"),
        ]
        served = [run(*words, *store) for words in asked]
        mount.stop()
        alone = [run(*words, *store) for words in asked]
        for one, two in zip(served, alone, strict=True):
            assert (one.returncode, one.stderr) == (two.returncode, two.stderr)
            assert without_tokens(one.stdout) == without_tokens(two.stdout)
        assert [done.returncode for done in alone] == [0, 0, 0, 0, 2]
        assert "budget" in alone[-1].stderr
        assert "note/a.md" in alone[0].stdout
        applied = tmp_path / "shown.yaml"
        applied.write_text(alone[2].stdout)
        assert "nothing changed" in engramfs("kinds", "apply", applied, *store)
        mount.start()


def without_tokens(text: str) -> object:
    """An answer without what is new each time: its name, and scores, which fall as text ages."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    for name in ("token", "tokens", "set"):
        found.pop(name, None)
    for item in found.get("items", ()):
        item.pop("score")
        item.pop("tokens")  # the score is written in them
    return found


def test_import_reports_and_alters_nothing(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "task").mkdir(parents=True)
    (source / "note" / "deep").mkdir(parents=True)
    (source / "task" / "good.md").write_text("---\nstatus: open\n---\nwords\n")
    (source / "task" / "bad.md").write_text("---\nstatus: lost\n---\nwords\n")
    (source / "note" / "deep" / "n.md").write_bytes(b"\xef\xbb\xbf# Title\r\n\r\nwords")
    (source / "note" / "picture.png").write_bytes(b"png")
    before = {path: path.read_bytes() for path in source.rglob("*.md")}
    with mounted(tmp_path, flags=("--embed", "off", "--id-in-file", "never")) as mount:
        store = ("--store", mount.store)
        done = run("import", source, *store)
        assert done.returncode == 1
        assert "task/bad.md: line 2: `status`" in done.stderr
        assert "other tools read these keys in it: status" in done.stderr
        assert "imported 2 of 3 documents: 2 new, 0 changed, 0 unchanged, 1 refused" in done.stdout
        assert "1 other files were left alone" in done.stdout
        assert (mount.root / "note" / "n.md").read_bytes() == before[source / "note/deep/n.md"]
        assert os.listdir(mount.root / "task") == ["good.md"]
        (source / "task" / "bad.md").unlink()
        (source / "task" / "good.md").write_text("---\nstatus: done\n---\nwords\n")
        again = engramfs("import", source, *store)
        assert "imported 2 of 2 documents: 0 new, 1 changed, 1 unchanged, 0 refused" in again
        done = run("import", source, "--kind", "nothing", *store)
        assert done.returncode == 1
        assert "there is no kind nothing" in done.stderr
    assert {path: path.read_bytes() for path in before if path.exists()}.keys() < before.keys()


def test_a_foreground_server_ends_with_ctrl_c(tmp_path: Path) -> None:
    root = tmp_path / "mnt"
    root.mkdir()
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "engramfs", "mount", root, "--store", tmp_path / "store"),
            *("--foreground", "--embed", "off"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: os.path.ismount(root))
    assert os.listdir(root) == []
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=120)
    assert server.returncode == 0, said
    assert "Traceback" not in said
    assert not os.path.ismount(root)


def test_a_mount_of_an_unreadable_store(tmp_path: Path) -> None:
    store, root = tmp_path / "store", tmp_path / "mnt"
    store.mkdir()
    root.mkdir()
    (store / "engramfs.duckdb").write_bytes(b"this is no database" * 1000)
    for words in (("mount", root), ("status",), ("recall", "x")):
        done = run(*words, "--store", store)
        assert done.returncode == 3, done.stderr
        assert str(store) in done.stderr
        assert "Traceback" not in done.stderr


def remount(mount: Mounted) -> None:
    mount.stop()
    mount.start()


def test_many_remounts_in_a_row_lose_nothing(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        for number in range(5):
            (mount.root / "note" / f"n{number}.md").write_text(f"words {number}\n")
            remount(mount)
            assert len(os.listdir(mount.root / "note")) == number + 1
