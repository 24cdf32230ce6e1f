"""Cases 11 to 13: names."""

from __future__ import annotations

import os
import unicodedata

import pytest

from tests.cases.conftest import asker, paths
from tests.mounted import Mounted


def test_11_case_and_spaces_make_different_files(mount: Mounted) -> None:
    names = ["Site Roadmap.md", "site-roadmap.md", "README.md", "readme.md"]
    for name in names:
        (mount.root / "note" / name).write_text(f"I am {name}\n")
    assert set(names) <= set(os.listdir(mount.root / "note"))
    for name in names:
        assert (mount.root / "note" / name).read_text().endswith(f"I am {name}\n")


def test_12_one_file_under_both_spellings(mount: Mounted) -> None:
    composed = unicodedata.normalize("NFC", "café.md")
    decomposed = unicodedata.normalize("NFD", "café.md")
    (mount.root / "note" / composed).write_text("coffee\n")
    assert (mount.root / "note" / decomposed).read_text().endswith("coffee\n")
    (mount.root / "note" / decomposed).write_text("more coffee\n")
    listed = [n for n in os.listdir(mount.root / "note") if "caf" in n]
    assert listed == [composed]
    assert (mount.root / "note" / composed).read_text().endswith("more coffee\n")


@pytest.mark.parametrize(
    "name",
    [
        "a%2Fb.md",
        ".hidden.md",
        "trailing .md",
        "trailing.md ",
        "new\nline.md",
        "b" * 252 + ".md",
        "b" * 253 + ".md",
        "tab\tname.md",
        "x.MD",
    ],
)
def test_13_a_name_works_everywhere_or_is_refused_at_create(mount: Mounted, name: str) -> None:
    file = mount.root / "note" / name
    try:
        file.write_text("odd name words\n")
    except OSError as refused:
        assert refused.errno in (1, 22, 36)  # EPERM, EINVAL, ENAMETOOLONG
        assert name not in os.listdir(mount.root / "note")
        return
    assert name in os.listdir(mount.root / "note")
    assert file.read_text().endswith("odd name words\n")
    file.rename(file.with_name("in between.md"))
    file.with_name("in between.md").rename(file)
    assert file.read_text().endswith("odd name words\n")
    if name.endswith(".md") and not name.startswith("."):
        assert f"note/{name}" in paths(asker(mount, ".recall")("odd name words", limit=50))
    file.unlink()
    assert name not in os.listdir(mount.root / "note")


def test_13_dot_dot_is_the_parent(mount: Mounted) -> None:
    assert set(os.listdir(mount.root / "note" / "..")) == set(os.listdir(mount.root))
