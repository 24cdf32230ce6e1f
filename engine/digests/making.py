"""Making the text of one digest: the texts that are there already, and those that are not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.digests import tree
from engine.digests.scopes import Floats, Ground, Numbers
from engine.digests.texts import middle, texts_of
from engine.digests.tree import Node
from engine.errors import EngineError, GuardRefused, SummariserFailed
from engine.fusion import fitted
from engine.model import Entry
from engine.ports import Guard, Summariser, Text
from engine.state import State
from engine.store import digests as stored


class Outrun(Exception):
    """An engram changed while digests were made of it; they are made again from how it is now."""


class Stopped(Exception):
    """The engine closes."""


class Postponed(Exception):
    """Somebody asks for a digest, who comes first; what is made already is kept."""


@dataclass(slots=True)
class Call:
    """The summariser at work: since when it has not answered (monotonic), None between calls."""

    since: float | None = None


class Leaves:
    """The hashes of engrams, kept from one time to the next by the commit of their state."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._seq: Numbers = np.zeros(0, np.int64)
        self._hash = np.zeros((0, 32), np.uint8)

    def of(self, entries: Sequence[Entry]) -> list[tuple[int, str]]:
        """(number, hash) of those that can be read. Outrun when one changed meanwhile."""
        longest = max((entry.no for entry in entries), default=-1) + 1
        if longest > len(self._seq):
            self._hash = np.concatenate(
                [self._hash, np.zeros((longest - len(self._seq), 32), np.uint8)]
            )
            self._seq = fitted(self._seq, longest)
        news = [entry for entry in entries if self._seq[entry.no] != entry.seq]
        if news:
            with self._state.store.cursor() as cursor:
                sums = stored.checksums(cursor, [entry.seq for entry in news])
            for entry in news:
                if entry.seq in sums:
                    hash = bytes.fromhex(tree.leaf(entry, sums[entry.seq]))
                    self._hash[entry.no] = np.frombuffer(hash, np.uint8)
                    self._seq[entry.no] = entry.seq
                else:
                    unreadable(self._state, entry)
        return [
            (entry.no, self._hash[entry.no].tobytes().hex())
            for entry in entries
            if self._seq[entry.no] == entry.seq
        ]


def unreadable(state: State, entry: Entry) -> None:
    """It is left out where it is damaged; where it is no longer as it was, Outrun."""
    here = state.entries.get(entry.no)
    if here is None or here.seq != entry.seq:
        raise Outrun


@dataclass(frozen=True, slots=True)
class Means:
    """What digests of any namespace are made with."""

    state: State
    summariser: Summariser
    guard: Guard | None
    call: Call
    give_way: Callable[[], None]  # to readers; raises Postponed
    stopped: Callable[[], None]  # raises Stopped when the engine closes

    @property
    def maker(self) -> str:
        """All that a text depends on beside the engrams; another, and digests are made anew."""
        config = self.state.config
        numbers = config.digest_tokens, config.digest_group_tokens, config.digest_characters
        return f"{tree.RECIPE} {' '.join(map(str, numbers))} {self.summariser.fingerprint}"

    def tree_of(self, leaves: Sequence[tuple[int, str]]) -> Node:
        """The tree over (engram number, hash)."""
        config = self.state.config
        return tree.tree_of(leaves, self.maker, config.digest_tokens, config.digest_group_tokens)

    def tree_over(self, nodes: Sequence[tuple[str, str]]) -> Node:
        """The tree over other digests by (name, hash)."""
        config = self.state.config
        return tree.tree_over(nodes, self.maker, config.digest_tokens, config.digest_group_tokens)


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes texts for one namespace at one moment."""

    means: Means
    ground: Ground
    weights: Floats

    def text(
        self, name: str, title: str, whole: Node, given: Mapping[str, Text], *, anew: bool = False
    ) -> str:
        """The text of a digest. `given` are the texts of nodes that others made, by their hash.

        What is stored is not made again, unless `anew`. Raises SummariserFailed, GuardRefused,
        Outrun, Stopped.
        """
        known: dict[str, str] = {}
        if not anew:
            with self.means.state.store.cursor() as cursor:
                hashes = {node.hash for node in whole.all()}
                known = stored.texts(cursor, self.ground.namespace, hashes)
        return self._made(name, title, whole, whole, known, given)

    def _made(
        self,
        name: str,
        title: str,
        whole: Node,
        node: Node,
        known: dict[str, str],
        given: Mapping[str, Text],
    ) -> str:
        if node.hash in known:
            return known[node.hash]
        texts = self._engrams(node.leaves) if node.leaves else []
        for child in node.children:
            if child.hash in given:
                texts.append(given[child.hash])
            else:
                made = self._made(name, title, whole, child, known, given)
                below = np.array(child.engrams(), np.int64)
                weight = float(self.weights[below].mean()) if len(below) else 1.0
                texts.append(
                    Text(-1, name, title, (made,), middle(self.means.state, below), weight)
                )
        config = self.means.state.config
        tokens = config.digest_tokens if node is whole else config.digest_group_tokens
        text = self._summarised(texts, tokens)
        with self.means.state.store.lock:
            self.means.stopped()
            with self.means.state.store.transaction() as cursor:
                stored.keep_text(cursor, self.ground.namespace, name, node.hash, text)
        known[node.hash] = text
        return text

    def _engrams(self, numbers: Sequence[int]) -> list[Text]:
        entries = [self.ground.columns.entry(no) for no in numbers]
        found = texts_of(self.means.state, entries, self.weights)
        for entry in entries:
            if entry.no not in found:
                unreadable(self.means.state, entry)
        return [found[no] for no in numbers if no in found]

    def _summarised(self, texts: Sequence[Text], tokens: int) -> str:
        self.means.give_way()
        self.means.stopped()
        self.means.call.since = time.monotonic()
        try:
            self._vet(texts)
            text = self.means.summariser.summarise(texts, tokens)
        except EngineError:
            self.means.stopped()  # its end is no failure then
            raise
        except (Exception, SystemExit) as error:  # the latter would end the thread without a word
            self.means.stopped()
            raise SummariserFailed(f"the summariser failed: {error!r}") from error
        finally:
            self.means.call.since = None
        if not isinstance(text, str) or not text.strip():
            raise SummariserFailed("the summariser gave no text")
        return text.encode("utf-8", "replace").decode()

    def _vet(self, texts: Sequence[Text]) -> None:
        if self.means.guard is None:
            return
        try:
            answer = self.means.guard(texts)
        except GuardRefused:
            raise
        except (Exception, SystemExit) as error:
            raise GuardRefused(f"the guard failed: {error!r}") from error
        if answer is not None and answer is not True:
            raise GuardRefused("the guard said no")
