"""The command line without a store: words into requests, directories into plans, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engramfs
from engine.slug import nfc
from engramfs import cli_ask, cli_digest, cli_graph, cli_picture  # noqa: F401  (they add theirs)
from engramfs.cli_ask import pairs_of
from engramfs.cli_import import plan
from engramfs.cli_mount import server_arguments
from engramfs.cli_options import group
from engramfs.errors import FsError
from engramfs.launch import start
from engramfs.opening import read_kinds
from engramfs.settings import load
from engramfs.wire import Failed


def run(*arguments: object, store: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "engramfs", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "ENGRAMFS_STORE": str(store or "")},
    )


@pytest.mark.parametrize(
    ("words", "pairs"),
    [
        (["overheating pumps"], [("q", "overheating pumps")]),
        (["overheating", "pumps"], [("q", "overheating pumps")]),
        (
            ["pumps", "--budget", "200", "--created-after=2026-01-01"],
            [("q", "pumps"), ("budget", "200"), ("created_after", "2026-01-01")],
        ),
        (["--trace", "--kinds", "a,b"], [("trace", "on"), ("kinds", "a,b")]),
        (["--prop.due_after", "2026", "x"], [("q", "x"), ("prop.due_after", "2026")]),
        (["--kinds", "a", "--", "--budget"], [("q", "--budget"), ("kinds", "a")]),
        (["-word", '"a phrase"'], [("q", '-word "a phrase"')]),
        (["--q=a=b"], [("q", "a=b")]),
        (
            ["--prop.due-date", "x", "--max-characters=9"],
            [("prop.due-date", "x"), ("max_characters", "9")],
        ),
        ([], []),
    ],
)
def test_words_as_pairs(words: list[str], pairs: list[tuple[str, str]]) -> None:
    assert pairs_of(words) == pairs


def test_words_that_are_not_utf_8_are_a_fault_of_usage() -> None:
    with pytest.raises(Failed, match="not UTF-8") as failed:
        pairs_of(["caf\udce9"])
    assert failed.value.exit_code == 2


def test_a_word_that_begins_like_an_option_is_a_word(tmp_path: Path) -> None:
    done = run("search", "pump", "-heat", store=tmp_path)
    assert "there is no store at" in done.stderr


@pytest.mark.parametrize(
    ("words", "pairs"),
    [
        (["--", "--exact"], [("q", "--exact")]),
        (["a", "--limit", "2", "--", "--b", "--", "-c"], [("q", "a --b -- -c"), ("limit", "2")]),
        (["pump", "--"], [("q", "pump")]),
        (["pump", "-heat"], [("q", "pump -heat")]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", [cli_ask.search, cli_ask.recall])
def test_behind_two_dashes_everything_is_the_question(
    command: click.Command,
    words: list[str],
    pairs: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[dict[str, object]] = []

    def ask(*given: Any) -> dict[str, str]:
        asked.append(given[-1])
        return {"text": ""}

    monkeypatch.setattr(cli_ask, "ask", ask)
    command.main(words, standalone_mode=False)
    assert asked[0]["pairs"] == pairs


@given(st.lists(st.text()))
def test_any_words_are_pairs(words: list[str]) -> None:
    for key, value in pairs_of(words):
        assert isinstance(key, str)
        assert isinstance(value, str)


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


def test_a_plan_with_a_kind_flattens(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "in/b.md", "in/a.md", "in/deep/B.md", ".git/c.md", ".d.md", "x.png")
    found = plan(tmp_path, "note")
    assert {file.shown: (file.directory, file.name) for file in found.files} == {
        "a.md": ("note", "a"),
        "in/a.md": ("note", "in-a"),
        "in/b.md": ("note", "in-b"),
        "in/deep/B.md": ("note", "in-deep-B"),
    }
    assert found.outside == ()
    assert found.plain == 1


def test_a_plan_without_a_kind_takes_the_first_directory(tmp_path: Path) -> None:
    write(tmp_path, "README.md", "deal/a.md", "deal/in/b.md", "person/a.md")
    found = plan(tmp_path, None)
    assert {file.shown: (file.directory, file.name) for file in found.files} == {
        "deal/a.md": ("deal", "a"),
        "deal/in/b.md": ("deal", "b"),
        "person/a.md": ("person", "a"),
    }
    assert found.outside == ("README.md",)


def test_no_file_of_a_plan_takes_the_place_of_another(tmp_path: Path) -> None:
    write(tmp_path, "note/in-a.md", "note/in/a.md", "note/a.md", "note/é.md", "note/e\u0301.md")
    write(tmp_path, "NOTE/in-a.md", "note/README.md", "note/readme.md", "note/caf\udce9.md")
    found = plan(tmp_path, None)
    places = [(file.directory.casefold(), nfc(file.name)) for file in found.files]
    assert len(places) == len(set(places)) == 5
    refused = dict(found.refused)
    assert len(refused) == 4
    assert "in-a.md" in refused["note/in/a.md"]
    assert "not valid UTF-8" in refused["note/caf\udce9.md"]


def test_import_reports_what_it_cannot_read_and_goes_on(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source, "note/a.md", "note/z.md")
    os.mkfifo(source / "note" / "fifo.md")
    (source / "note" / "gone\x1b[31m.md").symlink_to("/nonexistent")
    done = run("import", source, store=tmp_path / "store")
    assert done.returncode == 1
    assert "imported 2 of 4 documents: 2 new, 0 changed, 0 unchanged, 2 refused" in done.stdout
    assert "note/fifo.md: it cannot be read: it is no file\n" in done.stderr
    assert "note/gone\\x1b[31m.md: it cannot be read: No such file or directory\n" in done.stderr


def test_the_server_gets_what_the_command_was_given(tmp_path: Path) -> None:
    flags = {
        "kinds": "k.yaml",
        "namespace": ("a=b",),
        "only_kinds": "x,y",
        "read_only": True,
        "mountpoint": "--odd",
    }
    settings = load(tmp_path, flags)
    assert server_arguments(settings, [settings.text("mountpoint")]) == [
        *("--store", str(tmp_path), "--mode", "prefix", "--kinds", f"{Path.cwd()}/k.yaml"),
        *("--only-kinds", "x,y", "--namespace", "a=b"),
        *("--embed", "background", "--id-in-file", "shown", "--read-only"),
        *("--", f"{Path.cwd()}/--odd"),
    ]
    roots = load(tmp_path, {"mode": "roots", "roots": ("deal=/d",)})
    assert server_arguments(roots, ["/d"])[2:6] == ["--mode", "roots", "--root", "deal=/d"]


def test_config_lists_every_setting_and_where_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('embed = "off"\n')
    done = run("config", store=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f'embed = "off"  # {tmp_path}/config.toml: ' in done.stdout
    assert "recall_budget = 4096  # default: " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nonsense"], 2, "No such command"),
        (["mount", "--embed", "never"], 2, "embed"),
        (["mount", "--mode", "roots"], 2, "at least one --root"),
        (["mount", "/m", "--mode", "roots", "--root", "deal=/d"], 2, "instead of a mountpoint"),
        (["mount", "/nonexistent/m n"], 1, "mkdir -p '/nonexistent/m n'"),
        (["umount", "/"], 1, "not a mount of engramfs"),
        (["status"], 1, "there is no store at"),
        (["recall", "x"], 1, "there is no store at"),
        (["import", "/nonexistent"], 2, "does not exist"),
        (["kinds", "apply", "/nonexistent"], 2, "does not exist"),
        (["status", "--namespace", "x"], 2, "name=value"),
        (["mount", "/m", "--store", ""], 2, "Invalid value for '--store': it is empty"),
        (["mount", ""], 2, "the mountpoint is empty"),
    ],
)
def test_a_mistake_is_a_sentence_and_an_exit_code(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    done = run(*arguments, store=tmp_path / "store")
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_kinds_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('kinds = "nope.yaml"\n')
    with pytest.raises(FsError, match=r"No such file.*\(check --kinds, or the setting kinds\)"):
        read_kinds(load(tmp_path))


def test_a_store_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Failed, match="cannot be made or written: Not a directory"):
        start(tmp_path / "file" / "store", [])


def test_a_wrong_config_is_usage(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("embed = 3\n")
    done = run("status", store=tmp_path)
    assert done.returncode == 2
    assert "config.toml: embed is 3" in done.stderr


def test_a_package_that_is_not_installed_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-m", "engramfs", "status"],
        cwd=Path(engramfs.__file__).parents[1],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("engramfs: the package click is not installed for ")
    assert "Traceback" not in done.stderr


def test_the_command_line_imports_nothing_heavy() -> None:
    script = (
        "import engramfs.cli, engramfs.cli_ask, engramfs.cli_import, engramfs.cli_mount, "
        "engramfs.cli_picture, engramfs.cli_digest, sys, json;"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{script}print(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {"duckdb", "numpy", "onnxruntime", "igraph", "yaml", "rich", "mfusepy", "watchdog"}
    heavy |= {"dateparser"}
    assert heavy.isdisjoint(json.loads(done.stdout))


def test_every_command_gets_all_the_words_that_it_takes() -> None:
    def commands(owner: click.Group) -> Iterator[click.Command]:
        for command in owner.commands.values():
            yield from commands(command) if isinstance(command, click.Group) else (command,)

    found = list(commands(group))
    assert {"path", "mount", "import", "show", "recall", "map", "rebuild"} <= {
        command.name for command in found
    }
    for command in found:
        assert command.callback is not None
        words = {str(param.name): None for param in command.params if param.expose_value}
        signature(command.callback).bind(**words)  # TypeError: one is missing, or one too many
