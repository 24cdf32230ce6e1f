"""One mount for the cases of a module; cases that need a mount of their own make it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.mounted import Mounted, mounted

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def mount(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mounted]:
    with mounted(tmp_path_factory.mktemp("case")) as running:
        yield running


@pytest.fixture
def recall(mount: Mounted) -> Ask:
    return asker(mount, ".recall")


def asker(mount: Mounted, name: str) -> Ask:
    """A function that asks a control file for JSON."""

    def ask(question: str, **keys: object) -> dict[str, Any]:
        pairs = {"q": question, "format": "json", **{k: str(v) for k, v in keys.items()}}
        answer: dict[str, Any] = json.loads(
            (mount.root / f"{name}?{urlencode(pairs)}").read_bytes()
        )
        return answer

    return ask


def paths(answer: dict[str, Any]) -> list[str]:
    return [item["path"] for item in answer["items"]]


def kept_answer(mount: Mounted, question: str) -> str:
    """The name that gives the same bytes for minutes; by its question, an answer is made anew after
    five seconds."""
    answer = (mount.root / f".recall?q={question}").read_text()
    found = re.search(r"^token: (\S+)$", answer, re.M)
    assert found is not None, answer
    name = f".recall?set={found[1]}"
    assert (mount.root / name).read_text() == answer
    return name
