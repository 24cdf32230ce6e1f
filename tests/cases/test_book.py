"""A whole book: copied in with `cp`, imported, read back byte for byte, and asked.

The book is the Rust book where ENGRAMFS_DATA names a directory that holds `rust-book/src`; without
it the project's own documentation stands in, with questions of its own.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cases.conftest import asker, paths
from tests.mounted import Mounted, engramfs, mounted

ID_BLOCK = re.compile(rb"\A(\xef\xbb\xbf)?---\r?\nid: [0-9a-f-]{36}\r?\n---\r?\n")
ID_LINE = re.compile(rb"id: [0-9a-f-]{36}\r?\n")


@dataclass(frozen=True)
class Book:
    files: tuple[Path, ...]
    questions: dict[str, str]  # question -> stem of the file that answers it


RUST = {
    "integer overflow wrapping in release builds": "ch03-02-data-types",
    "why can a value have only one owner at a time": "ch04-01-what-is-ownership",
    "dangling references and the borrow checker": "ch04-02-references-and-borrowing",
    "string slices range syntax of bytes": "ch04-03-slices",
    "how do I store keys with associated values in a hash map": "ch08-03-hash-maps",
    "propagating errors with the question mark operator": "ch09-02-recoverable-errors-with-result",
    "lifetime elision rules": "ch10-03-lifetime-syntax",
    "closures capture their environment move keyword": "ch13-01-closures",
    "publish a crate with documentation comments": "ch14-02-publishing-to-crates-io",
    "preventing reference cycles with weak pointers": "ch15-06-reference-cycles",
}
OWN = {
    "what happens to the bytes of a refused document": "errors",
    "which keys of the front matter are reserved": "format",
    "one write and one read through the rooms": "architecture",
    "what does the word engram mean": "glossary",
}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    data = os.environ.get("ENGRAMFS_DATA")
    if data:
        return Book(tuple(sorted((Path(data) / "rust-book" / "src").glob("*.md"))), RUST)
    copied = tmp_path_factory.mktemp("docs")
    for file in (Path(__file__).parents[2] / "docs").glob("*.md"):
        shutil.copy(file, copied)
    return Book(tuple(sorted(copied.glob("*.md"))), OWN)


def stripped(data: bytes) -> bytes:
    """The file without its id line, or without the block that was made for it."""
    without = ID_BLOCK.sub(b"", data, count=1)
    return without if without != data else ID_LINE.sub(b"", data, count=1)


def assert_holds(mount: Mounted, kind: str, book: Book) -> None:
    for file in book.files:
        assert stripped((mount.root / kind / file.name).read_bytes()) == stripped(file.read_bytes())
    ask = asker(mount, ".recall")
    for question, answer in book.questions.items():
        found = paths(ask(question, budget=4096))
        assert f"{kind}/{answer}.md" in found[:5], (question, found[:5])
    assert mount.errors() == ""


def test_copied_with_cp(book: Book, tmp_path: Path) -> None:
    with mounted(tmp_path, kinds=None) as mount:
        names = " ".join(f"'{file}'" for file in book.files)
        done = mount.sh(f"mkdir book && cp {names} book/")
        assert done.returncode == 0, done.stderr
        assert len(os.listdir(mount.root / "book")) == len(book.files)
        assert_holds(mount, "book", book)


def test_imported(book: Book, tmp_path: Path) -> None:
    with mounted(tmp_path, kinds=None) as mount:
        report = engramfs("import", book.files[0].parent, "--kind", "book", "--store", mount.store)
        assert str(len(book.files)) in report
        assert_holds(mount, "book", book)
