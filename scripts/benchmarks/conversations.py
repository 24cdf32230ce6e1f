"""A corpus like an assistant's memory: messages over a year, and pages for what they name.

Every message is an engram with its role, its session and when it was said. Facts about people
change, matters are decided again and again, and much is chatter that names the same people and
matters. Pages of people and projects answer what a message only leads to.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from engine.slug import slugify
from scripts.benchmarks.judged import NOW, Judged, Made, Question, asked, few, popular, when
from scripts.benchmarks.talk import (
    ADVICE,
    CHATTER,
    FACTS,
    LENT,
    MATTERS,
    NODS,
    PROJECTS,
    SETTLED,
    WEEKDAYS,
)
from scripts.benchmarks.wording import PEOPLE

KINDS = """
kinds:
  message:
    fields:
      said: {type: datetime}
      session: {type: string}
  person: {}
  project:
    fields:
      lead: {type: string, link: led_by, to: person}
"""
SESSIONS = 90
NAMED = 12  # people
TURNS = 11
DAYS = 365
CHANGES = (1, 2, 3)  # how often a fact is stated
DECISIONS = (2, 3, 4, 5)  # how often a matter is decided
EACH = 30  # questions a family
PAST = 300


@dataclass(frozen=True)
class _Said:
    """A message that means something, before it has a place in a session."""

    at: datetime
    key: tuple[str, int, int]  # what it is about: ("fact", person, fact) and the like
    role: str
    text: str
    reply: str = ""


class _Maker:
    """Draws messages and remembers what was said in which."""

    def __init__(self, seed: int, share: float) -> None:
        self.draw = random.Random(f"conversations {seed}")
        self.people = self.draw.sample(PEOPLE, few(NAMED, share))
        self.projects = self.draw.sample(PROJECTS, few(len(PROJECTS), share))
        self.count = few(SESSIONS, share)
        self.leads = {name: self.draw.choice(self.people) for name, _ in self.projects}
        self.engrams: list[Made] = []
        self.said: dict[tuple[str, int, int], list[Made]] = {}  # by time
        self.replies: dict[str, Made] = {}  # path of a message -> the answer to it

    def one(self, wordings: tuple[str, ...]) -> str:
        return self.draw.choice(wordings)

    def day(self) -> datetime:
        return NOW - timedelta(days=self.draw.uniform(0.2, DAYS))

    def pages(self) -> None:
        """People and projects; they were written before all messages."""
        at = NOW - timedelta(days=DAYS + 30)
        for who in self.people:
            body = (
                f"{who}. Telephone {self.draw.randrange(10_000, 99_999)}. Met at the rowing club."
            )
            self.engrams.append(Made("person", slugify(who), who, body, at, standing=True))
        for name, about in self.projects:
            body = f"{name} is {self.one(about)}. Papers are in the green folder."
            lead = {"lead": slugify(self.leads[name])}
            self.engrams.append(
                Made("project", slugify(name), f"Project {name}", body, at, lead, standing=True)
            )

    def facts(self) -> list[_Said]:
        found = []
        for person, who in enumerate(self.people):
            for number, fact in enumerate(FACTS):
                values = self.draw.sample(fact.values, self.draw.choice(CHANGES))
                for value, at in zip(values, sorted(self.day() for _ in values), strict=True):
                    text = self.one(fact.said).format(who=who.split()[0], value=value)
                    found.append(_Said(at, ("fact", person, number), "user", text))
        return found

    def decisions(self) -> list[_Said]:
        found = []
        for project, (name, _) in enumerate(self.projects):
            for matter, (names, values) in enumerate(MATTERS):
                for _ in range(self.draw.choice(DECISIONS)):
                    text = self.one(SETTLED).format(
                        matter=self.one(names), project=name, value=self.one(values)
                    )
                    role = self.one(("user", "assistant"))
                    found.append(_Said(self.day(), ("matter", project, matter), role, text))
        return found

    def advice(self) -> list[_Said]:
        return [
            _Said(self.day(), ("advice", number, 0), "user", self.one(each.problem),
                  self.one(each.answer))
            for number, each in enumerate(ADVICE)
        ]  # fmt: skip

    def loans(self) -> list[_Said]:
        found = []
        for number, thing in enumerate(LENT):
            person = self.draw.randrange(len(self.people))
            page = f"[[person/{slugify(self.people[person])}]]"
            text = self.one((f"I lent my {thing} to {page}", f"{page} has borrowed my {thing}",
                             f"{page} came by and took the {thing} along"))  # fmt: skip
            found.append(_Said(self.day(), ("loan", number, person), "user", text))
        return found

    def chatter(self, at: datetime) -> _Said:
        text = self.one(CHATTER).format(
            who=self.one(tuple(self.people)).split()[0], project=self.draw.choice(self.projects)[0],
            matter=self.one(self.draw.choice(MATTERS)[0]),
            day=self.one(WEEKDAYS),
        )  # fmt: skip
        return _Said(at, ("chatter", 0, 0), self.one(("user", "user", "assistant")), text)

    def sessions(self, meant: list[_Said]) -> None:
        """Spread what is meant over sessions, with chatter and nods between."""
        starts = sorted(self.day() for _ in range(self.count))
        held: dict[int, list[_Said]] = {number: [] for number in range(self.count)}
        for each in sorted(meant, key=lambda one: one.at):
            nearest = min(range(self.count), key=lambda n: abs(starts[n] - each.at))
            held[nearest].append(each)
        for number, start in enumerate(starts):
            said = held[number]
            said += [self.chatter(start) for _ in range(max(TURNS - 2 * len(said), 3))]
            self.draw.shuffle(said)
            at = start
            for turn, each in enumerate(said):
                made = self.message(number, 2 * turn, at, each.role, each.text)
                self.said.setdefault(each.key, []).append(made)
                at += timedelta(minutes=1)
                other = "user" if each.role == "assistant" else "assistant"
                answer = each.reply or self.one(NODS)
                self.replies[made.path] = self.message(number, 2 * turn + 1, at, other, answer)
                at += timedelta(minutes=2)

    def message(self, session: int, turn: int, at: datetime, role: str, text: str) -> Made:
        made = Made(
            "message", f"s{session:03}-{turn:02}", f"Session {session}, {turn}",
            text[0].upper() + text[1:] + ".", at,
            {"said": f"{at:%Y-%m-%dT%H:%M:%SZ}", "session": f"s{session:03}", "source_role": role},
        )  # fmt: skip
        self.engrams.append(made)
        return made


def made(seed: int, share: float = 1.0) -> Judged:
    """The corpus of a seed, or a share of it."""
    maker = _Maker(seed, share)
    maker.pages()
    maker.sessions([*maker.facts(), *maker.decisions(), *maker.advice(), *maker.loans()])
    questions = asked([partial(family, maker) for family in FAMILIES], few(EACH, share))
    past = tuple(maker.draw.choice(FAMILIES)(maker) for _ in range(few(PAST, share)))
    return Judged("conversations", KINDS, tuple(maker.engrams), questions, past)


def _fact(maker: _Maker) -> Question:
    """What holds now about a person: what was said last."""
    person = popular(maker.draw, maker.people)
    number = maker.draw.randrange(len(FACTS))
    text = maker.one(FACTS[number].asked).format(who=maker.people[person].split()[0])
    return Question(text, "fact", {maker.said["fact", person, number][-1].path: 2})


def _decided(maker: _Maker) -> Question:
    """What was decided at a time."""
    project = popular(maker.draw, maker.projects)
    matter = maker.draw.randrange(len(MATTERS))
    said = maker.said["matter", project, matter]
    at = maker.draw.choice(said).at
    time, start, end = when(maker.draw, at)
    text = maker.one(
        (
            "what did we decide about the {matter} of {project} {time}",
            "{project}, {matter}: what did we agree on {time}",
        )
    ).format(matter=maker.one(MATTERS[matter][0]), project=maker.projects[project][0], time=time)
    return Question(text, "time", {m.path: 2 for m in said if start <= m.at < end})


def _matter(maker: _Maker) -> Question:
    """What is decided now: the last word on it."""
    project = popular(maker.draw, maker.projects)
    matter = maker.draw.randrange(len(MATTERS))
    text = maker.one((
        "what is the {matter} of {project}", "which {matter} does {project} have",
        "{matter} for {project}",
    )).format(matter=maker.one(MATTERS[matter][0]), project=maker.projects[project][0])  # fmt: skip
    return Question(text, "decision", {maker.said["matter", project, matter][-1].path: 2})


def _advised(maker: _Maker) -> Question:
    """What the assistant said: the answer, and what it answered helps."""
    number = maker.draw.randrange(len(ADVICE))
    (asked,) = maker.said["advice", number, 0]
    text = maker.one(ADVICE[number].asked)
    return Question(text, "advice", {asked.path: 1, maker.replies[asked.path].path: 2})


def _lent(maker: _Maker) -> Question:
    """Two steps: the message leads to the page of who has it."""
    key = maker.draw.choice([key for key in maker.said if key[0] == "loan"])
    text = maker.one((
        "telephone of the one who has my {thing}", "whom do I ring to get the {thing} back",
    )).format(thing=LENT[key[1]])  # fmt: skip
    page = f"person/{slugify(maker.people[key[2]])}"
    return Question(text, "two steps", {maker.said[key][0].path: 1, page: 2})


def _lead(maker: _Maker) -> Question:
    """Two steps: a project's page, asked by what it is about, leads to a person's."""
    name, about = maker.projects[popular(maker.draw, maker.projects)]
    text = maker.one((
        "phone number of the leader of {about}", "how do I reach whoever is in charge of {about}",
    )).format(about=maker.one(about))  # fmt: skip
    page = f"person/{slugify(maker.leads[name])}"
    return Question(text, "two steps", {f"project/{slugify(name)}": 1, page: 2})


FAMILIES: tuple[Callable[[_Maker], Question], ...] = (
    _fact, _decided, _matter, _advised, _lent, _lead
)  # fmt: skip
