"""Settings: which layer wins, what a wrong value says, and the engine's numbers among them."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import Config
from engramfs.points import Point, points
from engramfs.settings import TABLE, load
from engramfs.wire import Failed


def test_flags_beat_the_environment_which_beats_the_file_which_beats_the_default(
    tmp_path: Path,
) -> None:
    assert load(tmp_path).text("embed") == "background"
    (tmp_path / "config.toml").write_text('embed = "off"\nrecall_budget = 100\n')
    assert load(tmp_path).text("embed") == "off"
    environment = {"ENGRAMFS_EMBED": "inline", "ENGRAMFS_STORE": "/s", "PATH": "/bin"}
    assert load(tmp_path, environment=environment).text("embed") == "inline"
    loaded = load(tmp_path, {"embed": "background", "mode": None}, environment)
    assert loaded.text("embed") == "background"
    assert loaded.sources["embed"] == "the command line"
    assert loaded.sources["recall_budget"] == str(tmp_path / "config.toml")
    assert not loaded.given("mode")
    assert loaded.config() == Config(recall_budget=100)


def test_every_number_of_the_engine_is_a_setting() -> None:
    assert {field.name for field in dataclasses.fields(Config)} <= set(TABLE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('embde = "off"\n', "did you mean embed?"),
        ('embed = "never"\n', "one of background, inline, off"),
        ("read_only = 3\n", "it is on or off"),
        ('recall_budget = "many"\n', "it is a whole number"),
        ("recall_budget = true\n", "it is a whole number"),
        ("recall_budget = -1\n", "it is a whole number, 0 or more"),
        ("store_threads = 0\n", "it is a whole number, 1 or more"),
        ("fold_tail_share = nan\n", "it is a number, 0 or more"),
        ("fold_tail_share = inf\n", "it is a number, 0 or more"),
        ("namespace = 3\n", "it is a list"),
        ("kinds = 3\n", "it is a text"),
        ("embed = [\n", "is not valid TOML"),
        ("[summarizer]\ncomand = 'x'\n", "did you mean summarizer_command?"),
        ("summarizer = {}\n", "summarizer is no setting"),
        ("summarizer_guard = ''\n[summarizer]\nguard = ''\n", "summarizer_guard is given twice"),
        ("summarizer_command = 'a \"b'\n", "it cannot be read as a command: No closing quotation"),
        ("summarizer_seconds = 0\n", "it is a whole number, 1 or more"),
        ("time_zone = 'Mars/Olympus'\n", "a name of the IANA database, such as Europe/Berlin"),
        ("time_zone = 'Europe'\n", "a name of the IANA database"),
        ("time_zone = '../etc/passwd'\n", "a name of the IANA database"),
        ("time_zone = ''\n", "a name of the IANA database"),
        ("recall_source_roles = ['usr']\n", "it is some of user, assistant, system, tool"),
    ],
)
def test_a_wrong_setting_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(Failed, match=r"config\.toml") as failed:
        load(tmp_path)
    assert said in str(failed.value)
    assert failed.value.exit_code == 2


def test_values_of_the_environment_are_text(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        environment={
            "ENGRAMFS_READ_ONLY": "on",
            "ENGRAMFS_ONLY_KINDS": "deal, person",
            "ENGRAMFS_RECENCY_DECAY": "0.5",
        },
    )
    assert loaded.flag("read_only") is True
    assert loaded.names("only_kinds") == ("deal", "person")
    assert loaded.config().recency_decay == 0.5


def test_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text('kinds = "kinds.yaml"\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    loaded = load(tmp_path, {"roots": ("deal=d", "person=/p")}, {"ENGRAMFS_MOUNTPOINT": "../m"})
    assert loaded.text("kinds") == str(tmp_path / "kinds.yaml")
    assert loaded.text("mountpoint") == str(tmp_path / "m")
    assert loaded.names("roots") == (f"deal={elsewhere}/d", "person=/p")
    assert loaded.text("model") == ""


def test_mountpoints(tmp_path: Path) -> None:
    assert points(load(tmp_path, {"mountpoint": "/m"})) == (Point("/m"),)
    roots = {"mode": "roots", "roots": ("deal=/d", "person=/p")}
    assert points(load(tmp_path, roots)) == (Point("/d", "deal"), Point("/p", "person"))
    for wrong in ((), ("deal",), ("=/d",), ("deal=/d", "deal=/e")):
        with pytest.raises(Failed) as failed:
            points(load(tmp_path, {"mode": "roots", "roots": wrong}))
        assert failed.value.exit_code == 2


@given(st.sampled_from(sorted(TABLE)), st.text())
def test_any_text_is_a_value_or_a_sentence(name: str, value: str) -> None:
    try:
        loaded = load(Path("/nowhere"), environment={f"ENGRAMFS_{name.upper()}": value})
    except Failed as failed:
        assert name in str(failed)
        assert failed.exit_code == 2
    else:
        assert type(loaded.values[name]) is type(TABLE[name].default)
        assert os.fspath(loaded.store) == "/nowhere"


def test_a_table_of_the_file_is_a_prefix(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[summarizer]\ncommand = 'llm -s \"sum up\"'\n")
    assert load(tmp_path).words("summarizer_command") == ("llm", "-s", "sum up")
    assert load(tmp_path).words("summarizer_guard") == ()


def test_programs_that_use_the_time_they_are_given_do_not_hang(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    usual = load(tmp_path).config().digest_silence_seconds
    for text, seconds in (
        ("summarizer_seconds = 5\n", usual),
        ("summarizer_seconds = 300\n", 600.0),
        ("summarizer_seconds = 300\ndigest_silence_seconds = 400.0\n", 400.0),
    ):
        file.write_text(text)
        assert load(tmp_path).config().digest_silence_seconds == seconds


def test_a_program_with_a_path_is_found_from_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text("summarizer.command = './bin/sum \"a b\"'\n")
    monkeypatch.chdir("/usr")
    settings = load(tmp_path, environment={"ENGRAMFS_SUMMARIZER_GUARD": "bin/vet -q"})
    assert settings.words("summarizer_command") == (str(tmp_path / "bin/sum"), "a b")
    assert settings.words("summarizer_guard") == ("/usr/bin/vet", "-q")


def test_a_server_elsewhere_is_told_the_paths_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text("kinds = 'kinds.yaml'\n")
    monkeypatch.chdir("/usr")
    given = {"ENGRAMFS_MODEL": "model", "ENGRAMFS_SUMMARIZER_GUARD": "vet", "ENGRAMFS_EMBED": "off"}
    assert load(tmp_path, environment=given).environment() == {
        "ENGRAMFS_MODEL": "/usr/model", "ENGRAMFS_SUMMARIZER_GUARD": "vet",
    }  # fmt: skip


def test_a_setting_that_is_no_number_says_what_it_is() -> None:
    for setting in TABLE.values():
        number = isinstance(setting.default, int | float) and not isinstance(setting.default, bool)
        assert number or setting.help != "a number of the engine", setting.name
