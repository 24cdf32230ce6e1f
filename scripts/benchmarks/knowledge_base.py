"""A corpus like a firm's knowledge base: manuals, incidents, decisions, procedures, minutes.

Manuals have sections; incidents are dated, tagged and link to their manual and to who handled them;
decisions follow one another, and half of the older ones are marked as superseded; the procedure of
a site is nearly the general one; minutes name much and answer nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from engine.slug import slugify
from scripts.benchmarks.judged import NOW, Judged, Made, Question, asked, few, popular, when
from scripts.benchmarks.wording import (
    MACHINE_TROUBLES,
    MACHINES,
    PEOPLE,
    RULES,
    SITES,
    SYSTEM_TROUBLES,
    SYSTEMS,
    TASKS,
    TEAMS,
    Trouble,
    Wordings,
)

KINDS = """
kinds:
  manual: {}
  incident:
    fields:
      site: {type: string}
      occurred: {type: datetime}
      handled_by: {type: string, link: handled_by, to: person}
  decision:
    fields:
      decided: {type: datetime}
  procedure: {}
  person: {}
  minutes: {}
"""
INCIDENTS = 360
DECIDED = 60  # matters that are decided, most of them several times
PROCEDURES = 36
MINUTES = 60
DAYS = 540
EACH = 30  # questions a family
PAST = 300

_HAPPENED = (
    "On {day} the {thing} at {site} {fault}.",
    "At {site} the {thing} {fault} during the {shift} shift of {day}.",
    "{day}: staff at {site} reported that the {thing} {fault}.",
    "The {shift} shift at {site} found that the {thing} {fault}. That was on {day}.",
)
_BECAUSE = ("It was {cause}.", "The reason was {cause}.", "It came from {cause}.",
            "We traced it to {cause}.")  # fmt: skip
_HELPED = ("{who} {remedy}.", "{who} came and {remedy}.", "After an hour {who} {remedy}.")
_AFTER = ("It has run since then.", "Nobody was hurt.", "Two deliveries went out late.",
          "The customer was told.", "The log of that day is in the binder.")  # fmt: skip
_RULED = (
    "From today the {rule} of the {thing} is {value}.",
    "We agreed on {value} as the {rule} of the {thing}.",
    "{value}: that is what counts as {rule} of the {thing} from this day on.",
    "The {rule} for the {thing} was set to {value} after a discussion of costs and safety.",
)
_WHY = ("The insurer asked for it.", "The team had wanted this for long.",
        "It follows from the accident in spring.", "We look at it again in a year.")  # fmt: skip


class _Maker:
    """Draws engrams and remembers what is true of them."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"knowledge base {seed}")
        self.things = [(names, MACHINE_TROUBLES) for names in MACHINES]
        self.things += [(names, SYSTEM_TROUBLES) for names in SYSTEMS]
        self.draw.shuffle(self.things)
        self.sites = self.draw.sample(SITES, len(SITES))
        self.engrams: list[Made] = []
        self.incidents: list[tuple[Made, int, int, Trouble, str]] = []
        self.decided: dict[tuple[int, int], list[tuple[Made, str]]] = {}
        self.procedures: dict[tuple[int, int], dict[int | None, Made]] = {}
        self.manuals: list[tuple[Made, list[Trouble]]] = []

    def one(self, wordings: Wordings) -> str:
        return self.draw.choice(wordings)

    def add(self, made: Made) -> Made:
        self.engrams.append(made)
        return made

    def day(self) -> datetime:
        return NOW - timedelta(days=min(self.draw.uniform(0, DAYS), self.draw.uniform(0, DAYS)))

    def person(self, name: str) -> None:
        site, thing = self.draw.choice(self.sites), self.draw.choice(self.things)[0]
        body = (
            f"{name} works at {self.one(site)} in {self.draw.choice(TEAMS)}. "
            f"Extension {self.draw.randrange(1000, 9999)}, mornings only.\n\n"
            f"Knows the {self.one(thing)} well."
        )
        at = NOW - timedelta(days=DAYS + self.draw.uniform(0, 300))
        self.add(Made("person", slugify(name), name, body, at, standing=True))

    def manual(self, number: int) -> None:
        names, all_troubles = self.things[number]
        troubles = self.draw.sample(all_troubles, 3)
        sections = [
            f"The {names[0]} stands at {self.one(self.draw.choice(self.sites))} and elsewhere. "
            f"Only trained staff may use the {self.one(names)}.",
            f"## Before you begin\n\nLook at the {self.one(names)} for damage, read the last page "
            "of the log, and tell the shift leader that you are there.",
        ]
        for trouble in troubles:
            advice = " ".join(
                f"Often it is {self.one(cause)}; then it helped that somebody {self.one(remedy)}."
                for cause, remedy in trouble.causes
            )
            sections.append(
                f"## What if it {self.one(trouble.fault)}\n\n{advice} Write an incident afterwards."
            )
        body = f"{sections[0]}\n\n" + "\n\n".join(sections[1:])
        at = NOW - timedelta(days=DAYS + self.draw.uniform(0, 300))
        made = Made(
            "manual", slugify(names[0]), f"{names[0].capitalize()} manual", body, at, standing=True
        )
        self.manuals.append((self.add(made), troubles))

    def incident(self, number: int) -> None:
        which = popular(self.draw, self.things)
        names, troubles = self.things[which]
        place = self.draw.randrange(len(self.sites))
        trouble = self.draw.choice(troubles)
        cause, remedy = self.draw.choice(trouble.causes)
        who, at = self.draw.choice(PEOPLE), self.day()
        told = {
            "day": f"{at:%d %B %Y}", "thing": self.one(names), "site": self.one(self.sites[place]),
            "fault": self.one(trouble.fault), "cause": self.one(cause), "who": who,
            "remedy": self.one(remedy), "shift": self.draw.choice(("early", "late", "night")),
        }  # fmt: skip
        manual = self.manuals[which][0]
        parts = [self.one(_HAPPENED), self.one(_BECAUSE), self.one(_HELPED), self.one(_AFTER)]
        body = " ".join(part.format(**told) for part in parts) + f"\n\nSee [[{manual.path}]]."
        made = Made(
            "incident", f"i{number:04}", f"{self.one(names).capitalize()}, incident {number}",
            body, at + timedelta(hours=3),
            {"site": self.sites[place][0], "occurred": f"{at:%Y-%m-%dT%H:%M:%SZ}",
             "handled_by": slugify(who), "tags": f"[{slugify(names[0])}]"},
        )  # fmt: skip
        self.incidents.append((self.add(made), which, place, trouble, who))

    def decision(self, which: int, rule: int) -> None:
        times = sorted(self.day() for _ in range(self.draw.choice((1, 2, 3, 4))))
        names, (rules, values) = self.things[which][0], RULES[rule]
        marked = self.draw.random() < 0.5
        chain: list[tuple[Made, str]] = []
        base = f"{slugify(names[0])}-{slugify(rules[0])}"
        for number, at in enumerate(times):
            value = self.draw.choice([v for v in values if not chain or v != chain[-1][1]])
            body = " ".join((self.one(_RULED), self.one(_WHY))).format(
                rule=self.one(rules), thing=self.one(names), value=value
            )
            properties = {"decided": f"{at:%Y-%m-%d}"}
            if marked and number + 1 < len(times):
                properties["superseded_by"] = f"decision/{base}-{number + 1}"
            title = f"{self.one(names).capitalize()}: {self.one(rules)}"
            made = Made("decision", f"{base}-{number}", title, body, at, properties)
            chain.append((self.add(made), value))
        self.decided[which, rule] = chain

    def procedure(self, which: int, task: int) -> None:
        names, (tasks, steps) = self.things[which][0], TASKS[task]
        found: dict[int | None, Made] = {}
        places = self.draw.sample(range(len(self.sites)), 3)
        for place in (None, *places):
            own = self.draw.sample(steps, len(steps))
            site = "" if place is None else f" at {self.sites[place][0]}"
            body = (
                f"How {self.one(tasks)} is done with the {self.one(names)}{site}.\n\n"
                + "\n".join(f"{n + 1}. {step.capitalize()}." for n, step in enumerate(own))
            )
            slug = slugify(f"{names[0]} {tasks[0]}{site}")
            title = f"{names[0].capitalize()}: {tasks[0]}{site}"
            found[place] = self.add(
                Made("procedure", slug, title, body, self.day(), standing=place is None)
            )
        self.procedures[which, task] = found

    def minutes(self, number: int) -> None:
        at = self.day()
        lines = []
        for _ in range(5):
            names, troubles = self.draw.choice(self.things)
            fault = self.one(self.draw.choice(troubles).fault)
            lines.append(
                self.draw.choice((
                    f"- {self.draw.choice(PEOPLE)} asks whether the {self.one(names)} {fault}.",
                    f"- The {self.one(RULES[self.draw.randrange(len(RULES))][0])} of the "
                    f"{self.one(names)} comes up and is put off.",
                    f"- {self.one(self.draw.choice(self.sites))}: nothing new about the "
                    f"{self.one(names)}.",
                ))
            )  # fmt: skip
        self.add(Made("minutes", f"m{number:03}", f"Minutes of {at:%d %B}", "\n".join(lines), at))


def made(seed: int, share: float = 1.0) -> Judged:
    """The corpus of a seed, or a share of it."""
    maker = _Maker(seed)
    draw = maker.draw
    for name in PEOPLE:
        maker.person(name)
    for number in range(len(maker.things)):
        maker.manual(number)
    for number in range(few(INCIDENTS, share)):
        maker.incident(number)
    pairs = [(which, rule) for which in range(len(maker.things)) for rule in range(len(RULES))]
    for which, rule in draw.sample(pairs, few(DECIDED, share)):
        maker.decision(which, rule)
    tasks = [(which, task) for which in range(len(maker.things)) for task in range(len(TASKS))]
    for which, task in draw.sample(tasks, few(PROCEDURES, share)):
        maker.procedure(which, task)
    for number in range(few(MINUTES, share)):
        maker.minutes(number)
    questions = asked([partial(family, maker) for family in FAMILIES], few(EACH, share))
    past = tuple(draw.choice(FAMILIES)(maker) for _ in range(few(PAST, share)))
    return Judged("knowledge base", KINDS, tuple(maker.engrams), questions, past)


def _remedy(maker: _Maker) -> Question:
    """What to do against a fault: the manual says, incidents of the same kind help."""
    which = popular(maker.draw, maker.things)
    made, troubles = maker.manuals[which]
    trouble = maker.draw.choice(troubles)
    thing, fault = maker.one(maker.things[which][0]), maker.one(trouble.fault)
    text = maker.one((
        "what helps when the {thing} {fault}", "{thing} {fault}, how do I repair it",
        "the {thing} {fault} again, what should I try",
    )).format(thing=thing, fault=fault)  # fmt: skip
    helps = {
        one.path: 1
        for one, other, _, same, _ in maker.incidents
        if other == which and same is trouble
    }
    return Question(text, "remedy", {**helps, made.path: 2})


def _incident(maker: _Maker) -> tuple[Made, int, int, Trouble, str]:
    """One that people still talk about: the newer, the likelier."""
    newest = sorted(maker.incidents, key=lambda each: each[0].at, reverse=True)
    return newest[min(int(maker.draw.expovariate(1 / 60)), len(newest) - 1)]


def _cause(maker: _Maker) -> Question:
    """Why something failed at a site: that incident, and no other site's."""
    _, which, place, trouble, _ = _incident(maker)
    text = maker.one((
        "why was it that the {thing} {fault} at {site}",
        "reason for the failure at {site} when the {thing} {fault}",
        "{site}: the {thing} {fault}, what was behind it",
    )).format(
        thing=maker.one(maker.things[which][0]), fault=maker.one(trouble.fault),
        site=maker.one(maker.sites[place]),
    )  # fmt: skip
    same = {
        one.path: 2
        for one, thing, where, what, _ in maker.incidents
        if (thing, where) == (which, place) and what is trouble
    }
    return Question(text, "cause", same)


def _rule(maker: _Maker) -> Question:
    """What holds now: the newest decision alone."""
    which, rule = maker.draw.choice(list(maker.decided))
    text = maker.one((
        "what is the {rule} of the {thing}", "{rule} for the {thing}",
        "tell me the {rule} that we have for the {thing}",
    )).format(rule=maker.one(RULES[rule][0]), thing=maker.one(maker.things[which][0]))  # fmt: skip
    return Question(text, "rule", {maker.decided[which, rule][-1][0].path: 2})


def _phone(maker: _Maker) -> Question:
    """Two steps: the incident leads to the page of who handled it."""
    one, which, place, trouble, who = _incident(maker)
    text = maker.one((
        "telephone of whoever dealt with the {thing} that {fault} at {site}",
        "how do I reach the colleague who saw to the {thing} at {site} when it {fault}",
    )).format(
        thing=maker.one(maker.things[which][0]), fault=maker.one(trouble.fault),
        site=maker.one(maker.sites[place]),
    )  # fmt: skip
    return Question(text, "two steps", {one.path: 1, f"person/{slugify(who)}": 2})


def _time(maker: _Maker) -> Question:
    """What failed at a time."""
    one, which, _, _, _ = _incident(maker)
    happened = _occurred(one)
    said, start, end = when(maker.draw, happened)
    text = maker.one((
        "what went wrong with the {thing} {time}", "{thing}: which incidents were there {time}",
        "did the {thing} fail {time}",
    )).format(thing=maker.one(maker.things[which][0]), time=said)  # fmt: skip
    within = {
        each.path: 2
        for each, thing, _, _, _ in maker.incidents
        if thing == which and start <= _occurred(each) < end
    }
    return Question(text, "time", within)


def _occurred(made: Made) -> datetime:
    return datetime.fromisoformat(made.properties["occurred"].replace("Z", "+00:00"))


def _how(maker: _Maker) -> Question:
    """A procedure: a site's own is meant if the site is named, else the general one."""
    which, task = maker.draw.choice(list(maker.procedures))
    found = maker.procedures[which, task]
    place = maker.draw.choice(list(found))
    site = "" if place is None else f" at {maker.one(maker.sites[place])}"
    text = maker.one((
        "how do we go about {task} with the {thing}{site}", "steps for {task}, {thing}{site}",
    )).format(
        task=maker.one(TASKS[task][0]), thing=maker.one(maker.things[which][0]), site=site
    )  # fmt: skip
    return Question(text, "procedure", {m.path: 2 if p == place else 1 for p, m in found.items()})


def _name(maker: _Maker) -> Question:
    """An engram by what it is called."""
    wanted = maker.draw.choice(maker.engrams)
    while wanted.kind not in ("manual", "procedure", "person"):
        wanted = maker.draw.choice(maker.engrams)
    return Question(wanted.title, "name", {wanted.path: 2})


FAMILIES: tuple[Callable[[_Maker], Question], ...] = (
    _remedy, _cause, _rule, _phone, _time, _how, _name
)  # fmt: skip
