"""Digests by the programs that people read files with, and by the command, with a mount or none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mounted import Mounted, engramfs, mounted, run
from tests.waiting import gone, until

PUMP = "# Pump\n\nThe pump overheats when its seal leaks.\n"


def fill(mount: Mounted) -> None:
    (mount.root / "note" / "pump.md").write_text(PUMP)
    (mount.root / "note" / "seal.md").write_text("A leaking seal of the pump is replaced.\n")
    (mount.root / "person" / "ann.md").write_text("Ann repairs pumps since ten years.\n")


def sh(mount: Mounted, script: str) -> str:
    done = mount.sh(f"set -e\n{script}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def configured(place: Path, config: str, **programs: str) -> Path:
    """The store's directory with a config.toml and programs beside it."""
    store = place / "store"
    store.mkdir()
    (store / "config.toml").write_text(config)
    for name, script in programs.items():
        (store / name).write_text(f"#!/bin/sh\n{script}\n")
        (store / name).chmod(0o755)
    return store


def test_digests_are_made_by_themselves(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        fill(mount)
        sh(mount, "until [ -e .digests/tenant.md ]; do sleep 0.1; done")
        assert "- Ann repairs pumps" in sh(mount, "cat .digests/kind-person.md")


def test_digests_are_files_and_a_command(tmp_path: Path) -> None:
    configured(tmp_path, "digests = false\n")
    with mounted(tmp_path) as mount:
        fill(mount)
        at, copy = ("--store", mount.store), tmp_path / "copy"
        assert engramfs("digest", "rebuild", *at) == "3 digests up to date\n"
        names = ["kind-note.md", "kind-person.md", "tenant.md"]
        assert sh(mount, "ls .digests").split() == names
        assert sh(mount, "ls -a | grep -c digests || true") == "0\n"
        assert "- The pump overheats when its seal leaks." in sh(mount, "cat .digests/kind-note.md")
        for name in names:
            told = sh(mount, f"cd .digests; stat -c %s {name}; wc -c <{name}; cat {name} | wc -c")
            assert len(set(told.split())) == 1, told
        assert sh(mount, "grep -rl Ann .digests").split() == [
            ".digests/kind-person.md", ".digests/tenant.md",
        ]  # fmt: skip
        assert sh(mount, f"cp -r .digests {copy}; cat {copy}/*") == sh(mount, "cat .digests/*")
        assert ".digests" not in sh(mount, "tar c . | tar t")
        refused = mount.sh("echo x > .digests/mine.md; rm .digests/tenant.md")
        assert refused.returncode != 0
        assert refused.stderr.count("Operation not permitted") == 2, refused.stderr
        assert sh(mount, "ls .digests").split() == names

        outline = engramfs("digest", "map", *at)
        assert outline == sh(mount, "cat '.digests?ask=map'")
        known = outline.split("\n")[0].removeprefix("map: ")
        assert engramfs("digest", "map", "--known", known, *at) == "unchanged\n"
        shown = engramfs("digest", "show", "kind-note", *at)
        assert "> - The pump overheats when its seal leaks." in shown
        assert shown.endswith("# below it\nnote/pump.md\nnote/seal.md\n")

        (mount.root / "person" / "ann.md").unlink()
        assert sh(mount, "ls .digests").split() == ["kind-note.md"]
        late = run("digest", "show", "tenant.md", *at)
        assert late.returncode == 1 and "engramfs digest rebuild tenant" in late.stderr
        mount.stop()

        stored = json.loads(engramfs("digest", "map", "--json", *at))
        assert [each.get("stale", False) for each in stored["digests"]] == [True, False, True]
        assert engramfs("digest", "rebuild", "tenant", *at) == "tenant is up to date\n"
        assert engramfs("digest", "rebuild", *at) == "2 digests up to date\n"
        assert "Ann" not in engramfs("digest", "show", "tenant", *at)
        mount.start()
        assert sh(mount, "ls .digests").split() == ["kind-note.md", "tenant.md"]


def test_a_command_of_the_users_makes_them_and_a_guard_of_theirs_vets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = configured(
        tmp_path,
        "digests = false\n[summarizer]\ncommand = './sum'\nguard = './vet'\n",
        sum='set -- $(wc -l)\necho "$1 lines, $HOME $SECRET"',
        vet="! grep -q Ann",
    )
    monkeypatch.setenv("SECRET", "hidden")
    with mounted(tmp_path) as mount:
        fill(mount)
        done = run("digest", "rebuild", "--store", store)
        assert done.returncode == 1
        assert "kind-person: failed: the guard" in done.stderr
        assert sh(mount, "ls .digests").split() == ["kind-note.md"]
        assert sh(mount, "tail -n 1 .digests/kind-note.md") == f"7 lines, {os.environ['HOME']}\n"
        assert "the guard" in sh(mount, "grep kind-person '.digests?ask=map'")


def test_a_command_that_hangs_holds_up_nothing_and_ends_with_the_mount(tmp_path: Path) -> None:
    child = tmp_path / "child"
    store = configured(
        tmp_path,
        "digests = false\n[summarizer]\ncommand = './hang'\n",
        hang=f"sh -c 'echo $$ >{child}; exec sleep 1000' &\nwait",
    )
    with mounted(tmp_path) as mount:
        fill(mount)
        rebuild = subprocess.Popen(
            [sys.executable, "-m", "engramfs", "digest", "rebuild", "--store", store],
            stderr=subprocess.DEVNULL,
        )
        sh(mount, f"until [ -s {child} ]; do sleep 0.05; done")
        assert sh(mount, "ls .digests; cat note/pump.md").endswith(PUMP)
        mount.stop()
        assert rebuild.wait(120) == 1
        until(lambda: gone(int(child.read_text())))
        mount.start()
