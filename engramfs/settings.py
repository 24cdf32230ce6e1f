"""Settings: flags beat ENGRAMFS_*, which beat the store's config.toml, which beats the defaults.

The environment is passed in, never read here. Every number of `engine.config.Config` is a setting
under its own name. In config.toml `[summarizer] command = …` is `summarizer_command = …`.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.config import Config
from engine.errors import Invalid
from engine.model import Namespace
from engine.namespace import parse_namespace
from engramfs.wire import Failed

CONFIG_FILE = "config.toml"
PREFIX = "ENGRAMFS_"
_ENVIRONMENT = "the environment"
_PATHS = frozenset({"mountpoint", "kinds", "model"})
_COMMANDS = frozenset({"summarizer_command", "summarizer_guard"})
_SOME = frozenset(  # nothing goes on with none of these
    {
        *("store_threads", "store_memory_small", "store_memory_medium", "store_memory_large"),
        *("model_threads", "model_tokens", "part_tokens", "embed_batch", "load_batch"),
        *("demand_half", "demand_half_life_days"),
        "summarizer_seconds",
    }
)

Value = str | bool | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its type is its default's."""

    name: str
    default: Value
    help: str
    choices: tuple[str, ...] = ()


OWN = (
    Setting("mountpoint", "/engram", "where `engramfs mount` mounts in prefix mode"),
    Setting("mode", "prefix", "one mountpoint, or one for each kind", ("prefix", "roots")),
    Setting("roots", (), "roots mode: KIND=DIR, one for each kind"),
    Setting("kinds", "", "the kinds.yaml that is applied at mount, and again when it changes"),
    Setting("only_kinds", (), "the kinds that the mount shows; none named: all"),
    Setting("namespace", (), "name=value attributes that a mount or a command is bound to"),
    Setting("embed", "background", "when vectors are made", ("background", "inline", "off")),
    Setting("model", "", "directory with model.onnx and tokenizer.json; empty: the bundled model"),
    Setting("model_pooling", "mean", "how the model's vectors become one", ("mean", "cls")),
    Setting("model_query_prefix", "", "what the model wants before a question"),
    Setting("model_passage_prefix", "", "what the model wants before a passage"),
    Setting("model_tokens", 256, "tokens that the model reads"),
    Setting("model_threads", 1, "threads of the model; two help only on an idle machine"),
    Setting("summarizer_command", "", "program that makes digests; empty: the one built in"),
    Setting("summarizer_guard", "", "program that vets what goes to the one that makes digests"),
    Setting("summarizer_seconds", 60, "after which either of them is ended"),
    Setting("id_in_file", "shown", "whether reading shows the id line", ("shown", "never")),
    Setting("on_conflict", "win", "what the later of two writers gets", ("win", "refuse")),
    Setting("rewrite_links", False, "a rename also rewrites the links of other engrams to it"),
    Setting("read_only", False, "nothing can be written through the mount"),
    Setting("allow_other", False, "other users may enter, judged by permission bits"),
)
_NO_NUMBERS = {
    "recall_source_roles": "whose words a recall gives that names nobody",
    "fail_on_graph_error": "a recall fails, rather than say so, where edges cannot be read",
    "time_zone": 'whose days "yesterday" and "in March" are',
    "digests": "made by themselves; false: only by `engramfs digest rebuild`",
    "demand": "what is read and recalled counts; false: nothing is recorded of readers",
}
ENGINE = tuple(
    Setting(field.name, field.default, _NO_NUMBERS.get(field.name, "a number of the engine"))  # type: ignore[arg-type]
    for field in dataclasses.fields(Config)
)
TABLE: Mapping[str, Setting] = {setting.name: setting for setting in (*OWN, *ENGINE)}


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting's value, and where it came from: flag, environment, config.toml or default."""

    store: Path
    values: Mapping[str, Value]
    sources: Mapping[str, str]

    def text(self, name: str) -> str:
        return str(self.values[name])

    def number(self, name: str) -> int:
        value = self.values[name]
        return value if isinstance(value, int) else 0

    def flag(self, name: str) -> bool:
        return bool(self.values[name])

    def names(self, name: str) -> tuple[str, ...]:
        value = self.values[name]
        return value if isinstance(value, tuple) else ()

    def words(self, name: str) -> tuple[str, ...]:
        """A command as the program and its arguments; () where there is none."""
        return tuple(shlex.split(self.text(name)))

    def given(self, name: str) -> bool:
        """Was it set by anything but its default?"""
        return self.sources[name] != "default"

    def environment(self) -> dict[str, str]:
        """The variables whose paths a process in another directory would take for others."""
        return {
            PREFIX + name.upper(): self.text(name)
            for name in sorted(_PATHS | _COMMANDS)
            if self.sources[name] == _ENVIRONMENT
        }

    def namespace(self) -> Namespace:
        """The attributes named; Failed (usage) when they are none."""
        try:
            return parse_namespace(self.names("namespace"))
        except Invalid as error:
            raise Failed(str(error), 2) from error

    def config(self) -> Config:
        """The engine's numbers. A guard and a summariser that use their time do not hang."""
        chosen: dict[str, Any] = {setting.name: self.values[setting.name] for setting in ENGINE}
        if not self.given("digest_silence_seconds"):
            both = 2.0 * self.number("summarizer_seconds")
            chosen["digest_silence_seconds"] = max(chosen["digest_silence_seconds"], both)
        return Config(**chosen)


def load(
    store: Path,
    flags: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Put the four layers together. A flag that is None was not given.

    Raises Failed (usage) with one sentence that names the setting and where the wrong value stands.
    Paths become absolute: those of config.toml against the store, others against the directory
    that the command was started in.
    """
    values = {name: setting.default for name, setting in TABLE.items()}
    sources = dict.fromkeys(values, "default")
    file = store / CONFIG_FILE
    layers: list[tuple[str, Mapping[str, object]]] = [
        (str(file), _read(file)),
        (
            _ENVIRONMENT,
            {
                name.removeprefix(PREFIX).lower(): value
                for name, value in (environment or {}).items()
                if name.startswith(PREFIX) and name.removeprefix(PREFIX).lower() in TABLE
            },
        ),
        ("the command line", {k: v for k, v in (flags or {}).items() if v is not None}),
    ]
    for source, layer in layers:
        for name, value in layer.items():
            setting = TABLE.get(name)
            if setting is None:
                raise Failed(f"{source}: {name} is no setting ({_near(name)})", 2)
            base = store if source == str(file) else Path.cwd()
            values[name] = _absolute(setting, _convert(setting, value, source), base)
            sources[name] = source
    return Settings(store, values, sources)


def _read(file: Path) -> Mapping[str, object]:
    try:
        written = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Failed(f"{file} is not valid TOML: {error}", 2) from error
    found: dict[str, object] = {}
    for name, value in written.items():
        inner = value.items() if isinstance(value, dict) else ()
        for key, one in [(f"{name}_{under}", each) for under, each in inner] or [(name, value)]:
            if key in found:
                raise Failed(f"{file}: {key} is given twice (in a table and without one)", 2)
            found[key] = one
    return found


def _absolute(setting: Setting, value: Value, base: Path) -> Value:
    """A path made absolute; whatever is no path as it is."""
    if setting.name in _PATHS and value:
        return os.path.normpath(base / str(value))
    if setting.name in _COMMANDS and value:
        program, *words = shlex.split(str(value))
        return shlex.join([os.path.normpath(base / program) if "/" in program else program, *words])
    if setting.name == "roots" and isinstance(value, tuple):
        found = []
        for root in value:
            kind, _, path = root.partition("=")
            found.append(f"{kind}={os.path.normpath(base / path)}" if path else root)
        return tuple(found)
    return value


def _near(name: str) -> str:
    close = difflib.get_close_matches(name, TABLE, 1)
    return f"did you mean {close[0]}?" if close else "engramfs config lists all of them"


def _convert(setting: Setting, value: object, source: str) -> Value:
    """The value in the setting's type."""
    wrong = f"{source}: {setting.name} is {value!r}, but "
    default = setting.default
    if isinstance(default, bool):
        truth = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
        if isinstance(value, bool):
            return value
        found = truth.get(str(value).lower())
        if found is None:
            raise Failed(f"{wrong}it is on or off", 2)
        return found
    if isinstance(default, tuple):
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple):
            raise Failed(f"{wrong}it is a list", 2)
        named = tuple(str(part).strip() for part in parts if str(part).strip())
        return _accepted(setting, named, wrong)
    if isinstance(default, int | float):
        least = 1 if setting.name in _SOME else 0
        try:
            if isinstance(value, bool):
                raise ValueError
            number = type(default)(str(value))
            if not least <= number < math.inf:
                raise ValueError
        except ValueError:
            shape = "a whole number" if isinstance(default, int) else "a number"
            raise Failed(f"{wrong}it is {shape}, {least} or more", 2) from None
        return number
    if not isinstance(value, str):
        raise Failed(f"{wrong}it is a text", 2)
    if setting.name in _COMMANDS:
        try:
            shlex.split(value)
        except ValueError as error:
            raise Failed(f"{wrong}it cannot be read as a command: {error}", 2) from error
        return value.strip()
    if setting.choices and value not in setting.choices:
        raise Failed(f"{wrong}it is one of {', '.join(setting.choices)}", 2)
    return _accepted(setting, value, wrong)


def _accepted(setting: Setting, value: Value, wrong: str) -> Value:
    """What is no number of the engine, as the engine itself judges it."""
    if setting.name in _NO_NUMBERS:
        try:
            Config(**{setting.name: value})  # type: ignore[arg-type]
        except Invalid as error:
            raise Failed(f"{wrong}{error.problems[0].hint}", 2) from error
    return value
