"""The pairs of a request under judgement: sorted by key, with the problems found so far.

Each method takes one key's values as the type that a request wants. What is wrong is written down
with the key, the value as given and the valid range, and told at the end, all at once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from engine.catalogue import Catalogue
from engine.config import Config
from engine.errors import Invalid, Problem, shown
from engine.filters import CORE_KEYS, FALSE, TRUE, Filters, is_filter_key, parse_filters, split
from engine.instants import aware
from engine.model import Namespace
from engine.namespace import Scope, bind

SEARCHED = ("lexical", "vector", "exact")  # what a search asks
CHANNELS = (*SEARCHED, "graph", "temporal")
FUSIONS = ("score", "rrf")
FORMATS = ("md", "json")

MOST_WEIGHT = 1000.0
MOST_PROBLEMS = 50  # of one request that are told; a sentence says how many more there are
MANY = ("kinds", "channels", "tags", "source_roles", "surfaces")  # keys that may be repeated
_LOST_PLUS = re.compile(r"(:\d\d(?:\.\d+)?) (\d\d:?\d\d)\Z")  # + is a blank in a name
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")  # Python takes 1_0


class Given:
    """Pairs sorted by key, and the problems found so far.

    `keys` are those that the request takes, `of` what it is called. `filters`: it takes those too,
    and `namespaces`: `namespace.NAME`. `many` are those that may be repeated.
    """

    def __init__(
        self,
        pairs: Iterable[tuple[str, str]],
        keys: Collection[str],
        *,
        of: str = "a request",
        filters: bool = True,
        namespaces: bool = False,
        many: Collection[str] = MANY,
    ) -> None:
        self.values: dict[str, list[str]] = {}
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self.clamped_keys: list[str] = []
        self._filters: list[tuple[str, str]] = []
        self._namespace: list[tuple[str, str]] = []
        self.every_key: set[str] = set()
        named = {*keys, *(CORE_KEYS if filters else ())}
        families = ["prop.NAME"] * filters + ["namespace.NAME"] * namespaces
        valid = ", ".join([*sorted(named), *families])
        for key, value in pairs:
            self.every_key.add(key)
            if key in keys:
                self.values.setdefault(key, []).append(value)
            elif filters and is_filter_key(key):
                self._filters.append((key, value))
            elif namespaces and key.startswith("namespace."):
                self._namespace.append((key.partition(".")[2], value))
            else:
                self.refuse(key, f"`{shown(key)}` is no key of {of}", f"keys are {valid}")
        for key, given in self.values.items():
            if len(given) > 1 and key not in many:
                self.refuse(key, f"{key} is given {len(given)} times", "give it once")

    def has(self, key: str) -> bool:
        """Is there a value that is not blank?"""
        return any(value.strip(" ,\t\r\n") for value in self.values.get(key, ()))

    def refuse(self, key: str, message: str, hint: str) -> None:
        self.problems.append(Problem(message, key=shown(key), hint=hint))

    def finish(self) -> None:
        """Raise Invalid if anything was refused; of very many problems the first are told."""
        told, more = self.problems[:MOST_PROBLEMS], len(self.problems) - MOST_PROBLEMS
        if more > 0:
            told.append(Problem(f"{more} more problems are not told", hint="mend these first"))
        if told:
            raise Invalid(*told)

    def question(self, config: Config, form: str, key: str = "q") -> str:
        """A text. A written one may be longer than one in a name, a command or a call."""
        text = self.one(key).strip()
        size = len(text.encode("utf-8", "surrogatepass"))
        most = config.written_question_bytes if form == "written" else config.question_bytes
        if size > most:
            self.refuse(key, f"{key} has {size} bytes", f"at most {most}")
        return text

    def fresh(self, form: str) -> bool:
        """Wait for vectors? Not in a name, whose lookup would hold up its directory."""
        wanted = self.boolean("fresh")
        if wanted and form == "name":
            self.refuse(
                "fresh",
                "fresh cannot be in a name",
                "write the request to the file and read it back",
            )
        return wanted

    def kinds(self, catalogue: Catalogue) -> tuple[str, ...]:
        names = split(self.values.get("kinds", ()))
        found, unknown = catalogue.expand(names)
        if unknown and not catalogue.grows:
            valid = ", ".join([*sorted(catalogue.kinds), *sorted(catalogue.groups)])
            for name in unknown:
                self.refuse("kinds", f"kinds: `{shown(name)}` is no kind or group", valid)
        if "kinds" in self.values and not names:
            self.refuse("kinds", "kinds is empty", "name kinds or groups, or leave it out")
        # In open mode a kind that nobody made yet is asked for in vain, which is no error.
        return tuple(sorted({*found, *unknown}))

    def filters(self, catalogue: Catalogue, kinds: tuple[str, ...]) -> Filters:
        asked = [("kinds", ",".join(kinds))] if kinds else []
        try:
            return parse_filters([*asked, *self._filters], catalogue)
        except Invalid as error:
            known = {(problem.key, problem.message) for problem in self.problems}
            self.problems += [
                problem
                for problem in error.problems
                if (problem.key, problem.message) not in known and problem.key != "kinds"
            ]
            return Filters()

    def written_filters(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(set(self._filters)))

    def namespace(self, ceiling: Scope | None) -> Namespace:
        asked = tuple(self._namespace)
        try:
            bind(ceiling if ceiling is not None else Scope(), asked)
        except Invalid as error:
            self.problems += error.problems
        return () if ceiling is not None else asked

    def integer(
        self, key: str, default: int, least: int, most: int, *, clamp: bool = False, or_: str = ""
    ) -> int:
        """A whole number of a range; above it it is lowered where `clamp`. `or_` is what else the
        key takes, which the caller has looked for."""
        if key not in self.values:
            return default
        text = self.one(key).strip()
        value = int(text) if _INTEGER.fullmatch(text) else None
        if value is None or value < least or (value > most and not clamp):
            said = f"{key}: `{shown(text)}` is out of range"
            valid = f"{or_}, or {least} to {most}" if or_ else f"{least} to {most}"
            self.refuse(key, said, f"a whole number, {valid}")
            return default
        if value > most:
            self.lowered(key, f"{key} {value} was lowered to {most}")
        return min(value, most)

    def lowered(self, key: str, said: str) -> None:
        """A value was brought into its range, which the answer says."""
        self.clamped_keys.append(key)
        self.warnings.append(said)

    def clamped(self, key: str, default: int, least: int, most: int) -> int:
        """A whole number of up to 18 digits, brought into the range, which is said."""
        text = self.one(key).strip()
        if not _INTEGER.fullmatch(text):
            return self.integer(key, default, least, most)
        inside = min(max(int(text), least), most)
        if int(text) != inside:
            self.lowered(key, f"{key} {text} was changed to {inside}")
        return inside

    def floor(self, key: str, most: float = 1.0) -> float:
        """A number from 0 to `most`; 0 without one."""
        if key not in self.values:
            return 0.0
        value = _number(self.one(key))
        if value is None or not 0.0 <= value <= most:
            said = f"{key}: `{shown(self.one(key))}` is out of range"
            self.refuse(key, said, f"a number, 0 to {most:g}")
            return 0.0
        return value

    def time(self, key: str) -> datetime | None:
        """A date or time; without an offset it is UTC."""
        if key not in self.values:
            return None
        text = self.one(key).strip()
        found = aware(_LOST_PLUS.sub(r"\1+\2", text))
        if found is None:
            said = f"{key}: `{shown(text)}` is not a date or time"
            self.refuse(key, said, "write one such as 2026-04-05 or 2026-04-05T10:00:00Z")
        return found

    def boolean(self, key: str) -> bool:
        if key not in self.values:
            return False
        text = self.one(key).strip().lower()
        if text not in TRUE | FALSE:
            said = f"{key}: `{shown(text)}` is no switch"
            self.refuse(key, said, "on, off, true, false, 1 or 0")
        return text in TRUE

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        if key not in self.values:
            return default
        text = self.one(key).strip().lower()
        if text not in choices:
            self.refuse(key, f"{key}: `{shown(text)}` is not known", f"one of {', '.join(choices)}")
            return default
        return text

    def subset(
        self,
        key: str,
        choices: Sequence[str],
        default: tuple[str, ...],
        aliases: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[str, ...]:
        """Some of the choices, each given once, in the order of the choices."""
        if key not in self.values:
            return default
        parts = (part.strip() for value in self.values[key] for part in value.split(","))
        names = [aliases.get(part, part) for part in parts if part]
        hint = f"a subset of {', '.join(choices)}"
        if not names:
            self.refuse(key, f"{key} is empty", hint)
        for name in dict.fromkeys(names):
            if name not in choices:
                self.refuse(key, f"{key}: `{shown(name)}` is not known", hint)
            elif names.count(name) > 1:
                self.refuse(key, f"{key}: {name} is given {names.count(name)} times", hint)
        return tuple(choice for choice in choices if choice in names)

    def words(self, key: str, hint: str) -> tuple[str, ...]:
        """Words by commas or repeated, as they were given: one may hold a comma itself."""
        given = {value.strip() for value in self.values.get(key, ()) if split([value])}
        if key in self.values and not given:
            self.refuse(key, f"{key} is empty", hint)
        return tuple(sorted(given))

    def weights(self) -> tuple[tuple[str, float], ...]:
        found: dict[str, float] = {}
        pieces = split(self.values.get("weights", ()))
        if "weights" in self.values and not pieces:
            self.refuse("weights", "weights is empty", "such as lexical:2,vector:1")
        names = [piece.partition(":")[0].strip().lower() for piece in pieces]
        for name, times in Counter(names).items():
            if times > 1:
                said = f"weights: {shown(name)} is given {times} times"
                self.refuse("weights", said, "give it once")
        for name, piece in zip(names, pieces, strict=True):
            number = piece.partition(":")[2]
            if name not in CHANNELS:
                hint = f"a subset of {', '.join(CHANNELS)}"
                self.refuse("weights", f"weights: `{shown(name)}` is no channel", hint)
            value = _number(number)
            if value is None or value > MOST_WEIGHT:
                self.refuse(
                    "weights",
                    f"weights: `{shown(piece)}` is not of the form channel:number",
                    f"a number up to {MOST_WEIGHT:.0f}, such as lexical:2,vector:1",
                )
            elif value > 0:  # missing or not positive means 1
                found[name] = value
        return tuple((name, found[name]) for name in CHANNELS if found.get(name, 1.0) != 1.0)

    def one(self, key: str) -> str:
        """The value of a key that is given once; "" without it."""
        return self.values.get(key, [""])[0]


def _number(text: str) -> float | None:
    value = float(text) if _NUMBER.fullmatch(text.strip()) else math.inf
    return value if math.isfinite(value) else None
