"""What to tell an author when YAML does not parse: the line, and the spelling that works."""

from __future__ import annotations

import re

import yaml

from engine.errors import Problem

_WIKI_LINK = re.compile(r"\[\[.+?\]\]")


def syntax_problem(error: yaml.YAMLError, text: str, first_line: int, key: str) -> Problem:
    """The problem that stopped the parser. `key` is the root's key that was being read."""
    mark = getattr(error, "problem_mark", None)
    context = getattr(error, "context", None) or ""
    if "flow" in context or "quoted" in context:  # the place that was left open
        mark = getattr(error, "context_mark", None) or mark
    if mark is None:
        return Problem(f"the YAML cannot be read: {error}", first_line, key)
    message = str(getattr(error, "problem", error))
    index = min(mark.index, len(text))
    line = first_line + text.count("\n", 0, index)
    row = text[text.rfind("\n", 0, index) + 1 :].split("\n", 1)[0].rstrip("\r")
    named, hint = _advice(f"{context} {message}", row)
    return Problem(f"the YAML cannot be read: {message}", line, named or key, hint)


def _advice(message: str, row: str) -> tuple[str, str]:
    name, colon, value = row.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not name or name[0] in "\"'[{&*!|>%@`-":
        name, value = "", row.strip()
    links = _WIKI_LINK.findall(value)
    if links:
        listed = ", ".join(f'"{link}"' for link in links)
        spelled = f"[{listed}]" if len(links) > 1 else listed
        return name, f"write {name}: {spelled}" if name else f"write {spelled}"
    if "flow" in message:
        return name, "close the bracket, or put the text in double quotes"
    if "Unicode character escape" in message:
        return name, "write the character itself"
    if "escape" in message or "hexdecimal" in message:
        return name, "write \\\\ for a backslash, or put the text in single quotes"
    if "quoted" in message:
        return name, "close the quotes"
    if "\t" in row and ("tab" in message or "cannot start any token" in message):
        return name, "indent with blanks, not tabs"
    if name and value and value[0] not in "\"'" and "\n" not in value:
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        return name, f'put the text in quotes: {name}: "{quoted[:80]}"'
    return name, "check the quotes, brackets and indentation on this line and the one above"
