"""`engramfs recall` and `engramfs search`: a question, and any key of a request as an option."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from engramfs.cli_options import ask, group, store_options
from engramfs.wire import Failed

# -h is no help here: in `-heat` it would begin a word that is left out.
_ANY_KEY = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


def pairs_of(words: Sequence[str]) -> list[tuple[str, str]]:
    """Words of a command line as the pairs of a request.

    `--key value` and `--key=value` are pairs, a `--key` without a value is on, dashes in a key may
    stand for its underscores (not in the NAME of prop.NAME, which is the author's); everything
    else, and everything behind `--`, is the question. Raises Failed for words that are not UTF-8.
    """
    for word in words:
        if any("\ud800" <= character <= "\udfff" for character in word):
            raise Failed(f"{word[:80]!a} is not UTF-8", 2)
    pairs: list[tuple[str, str]] = []
    question: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            question += rest
            break
        if not word.startswith("--"):
            question.append(word)
            continue
        key, equals, value = word[2:].partition("=")
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("--") else "on"
        family, dot, name = key.partition(".")
        pairs.append((family.replace("-", "_") + dot + name, value))
    if question:
        pairs.insert(0, ("q", " ".join(question)))
    return pairs


def _answer(
    command: str, words: Sequence[str], store: Path | None, namespace: tuple[str, ...]
) -> None:
    answer = ask(command, store, namespace, {"pairs": pairs_of(words)})
    click.echo(answer["text"], nl=False)


@group.command(context_settings=_ANY_KEY)
@click.argument("question", nargs=-1, type=click.UNPROCESSED)
@store_options
def recall(question: tuple[str, ...], store: Path | None, namespace: tuple[str, ...]) -> None:
    """Context for QUESTION within a budget. Any key of a request is an option: --budget 2000."""
    _answer("recall", question, store, namespace)


@group.command(context_settings=_ANY_KEY)
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@store_options
def search(query: tuple[str, ...], store: Path | None, namespace: tuple[str, ...]) -> None:
    """One page of ranked engrams. "phrase", -word, title:word and any key: --limit 5."""
    _answer("search", query, store, namespace)
