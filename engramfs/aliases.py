"""Files that were unlinked or replaced while open, under libfuse's name for them.

libfuse renames an open file to `.fuse_hidden…` before it is unlinked or replaced. That rename is
taken as an *alias*: the name answers open and getattr with the file as it was, is in no listing and
is never stored. A hide is not yet a removal: when the same native thread's next call renames
something onto the hidden path, the file is put back first and replaced as one operation. Otherwise
it is removed at that thread's next call, or shortly after, whichever comes first, so that kill -9
between hide and rename cannot lose the target.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable

from engine.model import Entry
from engramfs.address import Address, EngramFile, Plain, Special
from engramfs.files import File, place_of
from engramfs.ground import Ground, by
from engramfs.inodes import Alias as Alias
from engramfs.ports import Attributes, Caller, Names

log = logging.getLogger(__name__)

Key = tuple[str, ...]

_DELAY_SECONDS = 0.025  # after it the removal is made durable
_PATIENCE_SECONDS = 1.0  # others wait for that; longer only if the store is stuck
_KEPT = 64  # dropped aliases that still answer getattr


class Hide:
    """A hidden path whose file is not removed yet."""

    __slots__ = ("address", "deciding", "done", "key", "settled", "thread", "writer")

    def __init__(self, address: EngramFile | Plain, writer: str) -> None:
        self.address = address
        self.key = key_of(address)
        self.writer = writer
        self.thread = threading.get_native_id()
        self.deciding = threading.Lock()
        self.settled = False
        self.done = threading.Event()


def key_of(address: EngramFile | Plain) -> Key:
    """A key by which engrams' paths and overlay paths cannot be mistaken for each other."""
    if isinstance(address, EngramFile):
        return place_of(address)
    return ("", *address.parts)


class Aliases:
    """Aliases by hidden name, and hides by the path that they hid."""

    def __init__(self, ground: Ground, remove: Callable[[EngramFile | Plain, str], None]) -> None:
        self._ground = ground
        self._remove = remove
        self._aliases: dict[Names, Alias] = {}
        self._dropped: OrderedDict[Names, Alias] = OrderedDict()
        self._guard = threading.Lock()
        self.hides: dict[Key, Hide] = {}

    # -- names -------------------------------------------------------------
    def find(self, parts: Names) -> Alias | None:
        """The alias of a hidden name, or one of those dropped lately."""
        return self._aliases.get(parts) or self._dropped.get(parts)

    def hide(
        self,
        address: Address,
        parts: Names,
        fixed: Attributes,
        caller: Caller,
        *,
        file: File | None = None,
        entry: Entry | None = None,
        descriptor: int | None = None,
    ) -> None:
        """The file at `address` is called `parts` from now on, and is about to go."""
        number = self._ground.inodes.alias()
        alias = Alias(number, address, fixed._replace(nlink=0), file, entry, descriptor)
        with self._guard:
            self._aliases[parts] = alias
        if isinstance(address, EngramFile | Plain):
            hide = Hide(address, by(caller))
            self.hides[hide.key] = hide
            timer = threading.Timer(_DELAY_SECONDS, self.settle, [hide])
            timer.daemon = True
            timer.start()

    def drop(self, parts: Names) -> bool:
        """libfuse unlinks the hidden name: its last handle is gone."""
        with self._guard:
            alias = self._aliases.pop(parts, None)
            if alias is None:
                return False
            if alias.descriptor is not None:
                os.close(alias.descriptor)
                alias.descriptor = None
            self._dropped[parts] = alias
            while len(self._dropped) > _KEPT:
                self._dropped.popitem(last=False)
            return True

    def moved(self, old: Names, new: Names) -> None:
        """A plain directory was renamed, with hidden names in it."""
        with self._guard:
            for parts in [one for one in self._aliases if one[: len(old)] == old]:
                self._aliases[(*new, *parts[len(old) :])] = self._aliases.pop(parts)

    # -- hides -------------------------------------------------------------
    def hidden(self, address: EngramFile | Plain) -> bool:
        """Is the file at this path gone, though not yet removed from the store?

        Others wait until it is decided: a hide may be half of a replacement, and then the file was
        never gone.
        """
        key = key_of(address)
        hide = self.hides.get(key)
        if hide is None:
            return False
        if hide.thread != threading.get_native_id():
            hide.done.wait(_PATIENCE_SECONDS)
        return self.hides.get(key) is hide

    def restore(self, address: EngramFile | Plain) -> None:
        """This thread is about to rename something onto the path: the target stands again."""
        hide = self.hides.get(key_of(address))
        if hide is None:
            return
        if hide.thread == threading.get_native_id():
            with hide.deciding:
                if not hide.settled:
                    self._finish(hide)
                    return
        self.settle(hide)

    def step(self) -> None:
        """This thread makes another call than that rename: what it hid is removed."""
        thread = threading.get_native_id()
        for hide in list(self.hides.values()):
            if hide.thread == thread:
                self.settle(hide)

    def settle_at(self, address: EngramFile | Plain) -> None:
        """Something new is about to take the path."""
        hide = self.hides.get(key_of(address))
        if hide is not None:
            self.settle(hide)

    def settle_all(self) -> None:
        """Nothing hidden may be found from now on."""
        for hide in list(self.hides.values()):
            self.settle(hide)

    def settle_for_answers(self) -> None:
        """What is removed must not be found by whoever asks of all, what is emptied is empty."""
        if self.hides:
            self.settle_all()
        if self._ground.closing:
            self._ground.closing.wait()

    def settle(self, hide: Hide) -> None:
        """Remove what was hidden, once."""
        with hide.deciding:
            if hide.settled:
                return
            try:
                self._remove(hide.address, hide.writer)
            except Exception:
                # The program has its answer already: the file stands again, and the log says why.
                log.exception("%s could not be removed", hide.address)
            finally:
                self._finish(hide)

    def _finish(self, hide: Hide) -> None:
        hide.settled = True
        if self.hides.get(hide.key) is hide:
            del self.hides[hide.key]
        hide.done.set()


def hidden_name(address: Address) -> Names | None:
    """The key of a name that libfuse gives to files that are gone, None for any other address."""
    if isinstance(address, Plain):
        return address.parts
    if isinstance(address, Special) and address.rest:
        return (address.name.name, *address.rest)
    return None
