"""Names of engrams: how they are compared, made from titles, and what a file may not be called."""

from __future__ import annotations

import re
import unicodedata

from slugify import slugify as _slugify

from engine.errors import Problem

SUFFIX = ".md"
MAX_NAME_BYTES = 255  # of a whole file name, as on every Linux filesystem

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def nfc(name: str) -> str:
    """The form that names are compared by: Unicode's composed one."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def fold(name: str) -> str:
    """The form that names are found by where case does not count."""
    return nfc(nfc(name).casefold())


def slugify(text: str) -> str:
    """A slug for a title: lower case, every run that is not letters or numbers one `-`.

    May be empty. Accents stay.
    """
    return nfc(
        _slugify(
            text,
            allow_unicode=True,
            entities=False,
            decimal=False,
            hexadecimal=False,
            regex_pattern=r"[\W_]+",
        )
    )


def name_problem(stem: str) -> Problem | None:
    """What forbids `stem` + `.md` as the file name of an engram, or None."""
    reason, hint = _forbidden(stem)
    if not reason and len((stem + SUFFIX).encode()) > MAX_NAME_BYTES:
        reason = f"a file name has at most {MAX_NAME_BYTES} bytes, {SUFFIX} included"
        hint = "shorten the name and keep the long form as `title`"
    return Problem(reason, key="slug", hint=hint) if reason else None


def directory_problem(name: str) -> Problem | None:
    """What forbids `name` as the directory of a kind, or None."""
    reason, hint = _forbidden(name)
    if not reason and name != name.strip():
        reason, hint = "the name of a kind has no blanks at its ends", "remove them"
    if not reason and ".." in name:
        reason, hint = "the name of a kind does not hold `..`", "remove the dots"
    if not reason and len(name.encode()) > MAX_NAME_BYTES:
        reason, hint = f"a directory name has at most {MAX_NAME_BYTES} bytes", "shorten it"
    return Problem(reason, key=name, hint=hint) if reason else None


def _forbidden(name: str) -> tuple[str, str]:
    if not name:
        return "the name is empty", f"put something before `{SUFFIX}`"
    if name.startswith("."):
        return "the name begins with a dot", "such names are for plain files beside the engrams"
    if "/" in name:
        return "the name holds a `/`", "use another character"
    if any("\ud800" <= character <= "\udfff" for character in name):
        return "the name is not valid UTF-8", "rename the file"
    if found := _CONTROL.search(name):
        code = ord(found.group())
        return f"the name holds the control character U+{code:04X}", "remove the character"
    return "", ""
