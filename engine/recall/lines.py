"""One engram on one line, as the answers that are given unasked have it."""

from __future__ import annotations

from collections.abc import Iterable

from engine.model import Degraded
from engine.visible import json_text, one_line, visible

TITLE_CHARACTERS = 240  # of a title shown: about two lines


def flat(name: str) -> str:
    """A path on one line, its blanks as they are, so that it can be copied."""
    return visible(name.replace("\n", " "))


def about(title: str, summary: str, slug: str, most: int) -> str:
    """`**Title**: summary`; the title only where the slug does not say it, `most` characters of
    the summary; "" where there is nothing to say."""
    name = "" if title == slug else f"**{one_line(title)}**"
    return ": ".join(filter(None, (name, short(summary, most))))


def headed(title: str) -> str:
    """A title as answers give it; one that is longer is a text in the wrong place, and would leave
    no room for any other engram."""
    return title if len(title) <= TITLE_CHARACTERS else f"{title[: TITLE_CHARACTERS - 1]}…"


def short(text: str, most: int) -> str:
    """The beginning of a text on one line."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def reasons(degraded: Iterable[Degraded]) -> str:
    """What an answer lacks and why, as a list that YAML and JSON read."""
    return json_text([f"{said.what} - {said.reason}" for said in degraded])
