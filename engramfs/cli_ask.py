"""`engramfs recall` and `engramfs search`: a question, and any key of a request as an option."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from engramfs.cli_options import F, ask, group, store_options
from engramfs.wire import Failed

_WAYS = (  # (way to search, its flag, what it does)
    ("find_exact", "exact", "By id, title, a piece of a word or its misspelling."),
    ("find_objects", "objects", "Engrams ranked as wholes, without passages."),
    ("text", "text", "By words alone, with their BM25 scores."),
    ("vector", "vector", "By meaning alone, with cosines."),
)
# -h is no help here: in `-heat` it would begin a word that is left out.
_ANY_KEY = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


def pairs_of(words: Sequence[str], plain: str = "q") -> list[tuple[str, str]]:
    """Words of a command line as the pairs of a request.

    `--key value` and `--key=value` are pairs, a `--key` without a value is on, dashes in a key may
    stand for its underscores (not in the NAME of prop.NAME, which is the author's); everything
    else, and everything behind `--`, is the question, or what else `plain` names. Raises Failed for
    words that are not UTF-8.
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
        pairs.insert(0, (plain, " ".join(question)))
    return pairs


class _WithDashes(click.Command):
    """A command that hears of the `--` behind which everything is the question: click drops one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [*args[:at], *args[at : at + 1], *args[at:]])


@group.command(cls=_WithDashes, context_settings=_ANY_KEY)
@click.argument("question", nargs=-1, type=click.UNPROCESSED)
@click.option("--explain", is_flag=True, help="Add why each is there and others are not.")
@store_options
def recall(
    question: tuple[str, ...], explain: bool, store: Path | None, namespace: tuple[str, ...]
) -> None:
    """Context for QUESTION within a budget. Any key of a request is an option: --budget 2000."""
    pairs = pairs_of(question)
    if explain:
        pairs.append(("trace", "on"))
    answer = ask("recall", store, namespace, {"pairs": pairs, "session": _session()})
    click.echo(answer["text"], nl=False)


def _session() -> str:
    """Who asks, as a mount tells its callers apart."""
    return f"{os.getuid()}:{os.getsid(0)}"


@group.command(cls=_WithDashes, context_settings=_ANY_KEY)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="")
@store_options
def briefing(words: tuple[str, ...], store: Path | None, namespace: tuple[str, ...]) -> None:
    """What to know before starting. Any key of a briefing is an option: --budget 800."""
    answer = ask("briefing", store, namespace, {"pairs": pairs_of(words), "session": _session()})
    click.echo(answer["text"], nl=False)


@group.command(cls=_WithDashes, context_settings=_ANY_KEY)
@click.argument("prompt", nargs=-1, type=click.UNPROCESSED)
@store_options
def match(prompt: tuple[str, ...], store: Path | None, namespace: tuple[str, ...]) -> None:
    """Engrams that PROMPT touches on; nothing where none does. Any key is an option: --limit 1."""
    pairs = pairs_of(prompt, "prompt")
    answer = ask("match", store, namespace, {"pairs": pairs, "session": _session()})
    click.echo(answer["text"], nl=False)


def _ways(command: F) -> F:
    """An option for each way to search but the usual one."""
    for way, flag, help_line in reversed(_WAYS):
        command = click.option(f"--{flag}", way, is_flag=True, help=help_line)(command)
    return command


@group.command(cls=_WithDashes, context_settings=_ANY_KEY)
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@_ways
@click.option("--continue", "set_id", metavar="SET", help="More hits of a search, with --offset.")
@store_options
def search(
    query: tuple[str, ...],
    set_id: str | None,
    store: Path | None,
    namespace: tuple[str, ...],
    **ways: bool,
) -> None:
    """One page of ranked engrams. "phrase", -word, title:word and any key: --limit 5."""
    chosen = [way for way, _, _ in _WAYS if ways[way]]
    pairs = pairs_of(query)
    if set_id is not None:
        chosen.append("continue")
        pairs.append(("set", set_id))
    if len(chosen) > 1:
        flags = ", ".join(f"--{flag}" for _, flag, _ in _WAYS)
        raise Failed(f"{flags} and --continue exclude one another: give one of them", 2)
    way = chosen[0] if chosen else "search"
    answer = ask("search", store, namespace, {"search": way, "pairs": pairs})
    click.echo(answer["text"], nl=False)
