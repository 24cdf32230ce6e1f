"""A page in headless Chromium: what stands in the document once its scripts have run."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_EMPTY = {"meta", "input", "br", "img", "link", "source", "base"}


class Document(HTMLParser):
    """The elements of a page in order, their attributes, and their texts."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._texts: list[list[str]] = []
        self._open: list[int] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._texts.append([])
        if tag not in _EMPTY:
            self._open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            if self.elements[self._open.pop()][0] == tag:
                return

    def handle_data(self, data: str) -> None:
        for at in self._open:
            self._texts[at].append(data)

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """(attributes, text) of every element with this name."""
        return [
            (attributes, "".join(text))
            for (name, attributes), text in zip(self.elements, self._texts, strict=True)
            if name == tag
        ]

    def text(self, id: str) -> str:
        """The text of the element with this id."""
        [at] = [at for at, (_, given) in enumerate(self.elements) if given.get("id") == id]
        return "".join(self._texts[at])

    def classed(self, name: str) -> list[str]:
        """The texts of the elements of a class."""
        return [
            "".join(text)
            for (_, given), text in zip(self.elements, self._texts, strict=True)
            if name in (given.get("class") or "").split()
        ]


def visit(page: Path, fragment: str, profile: Path) -> tuple[Document, list[str]]:
    """The document as it is then, and what the console heard. `fragment`: key=value, unquoted."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    assert program is not None, "Chromium is missing: `scripts/setup test` installs it"
    key, _, value = fragment.partition("=")
    done = subprocess.run(
        [
            program, "--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
            "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
            "--enable-logging=stderr", "--virtual-time-budget=20000", "--window-size=1400,900",
            f"--user-data-dir={profile}", "--dump-dom",
            f"{page.as_uri()}#{key}={quote(value)}" if fragment else page.as_uri(),
        ],
        capture_output=True,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    console = re.findall(r"CONSOLE.*", done.stderr.decode("utf-8", "replace"))
    return Document(done.stdout.decode("utf-8")), console
