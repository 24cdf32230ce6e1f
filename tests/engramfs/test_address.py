from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramfs.address import (
    Address,
    EngramFile,
    KindDirectory,
    Layout,
    Misnamed,
    Plain,
    Root,
    Special,
    fold,
    forbidden_plain,
)
from engramfs.names import TABLE

KINDS = {"deal": "Deal", "café": "Café"}
PREFIX = Layout(KINDS.get)
ROOTS = Layout(KINDS.get, KindDirectory("Deal", "deal", top=True))
names = st.text(max_size=40) | st.sampled_from(
    ["deal", "a.md", ".recall", ".rejected", "x.MD", "."]
)


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/", Root()),
        ("/deal", KindDirectory("Deal", "deal")),
        ("/cafe\u0301", KindDirectory("Café", "café")),
        ("/deal/Acme Corp.md", EngramFile("Deal", "deal", "Acme Corp", "Acme Corp")),
        ("//deal//a.md", EngramFile("Deal", "deal", "a", "a")),
        ("/deal/cafe\u0301.md", EngramFile("Deal", "deal", "café", "cafe\u0301")),
        ("/deal/ .md", EngramFile("Deal", "deal", " ", " ")),
        ("/deal/%2F.md", EngramFile("Deal", "deal", "%2F", "%2F")),
        ("/deal/.x.md", Plain(("deal", ".x.md"), in_kind=True)),
        ("/deal/x.MD", Plain(("deal", "x.MD"), in_kind=True)),
        ("/deal/x.md~", Plain(("deal", "x.md~"), in_kind=True)),
        ("/deal/img/a.png", Plain(("deal", "img", "a.png"))),
        ("/README.md", Plain(("README.md",))),
        ("/Deal", Plain(("Deal",))),
        ("/.git/x/y.md", Plain((".git", "x", "y.md"))),
        ("/.recall", Special(TABLE[".recall"])),
        ("/.recall?q=a", Special(TABLE[".recall"], "q=a")),
        ("/.recall:q=a", Special(TABLE[".recall"], "q=a")),
        ("/.rejected/deal/a.md.3", Special(TABLE[".rejected"], None, ("deal", "a.md.3"))),
        ("/deal/.recall", Plain(("deal", ".recall"), in_kind=True)),
        ("/.recallrc", Plain((".recallrc",))),
    ],
)
def test_prefix_mode(path: str, address: Address) -> None:
    assert PREFIX.parse(path) == address


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/", KindDirectory("Deal", "deal", top=True)),
        ("/a.md", EngramFile("Deal", "deal", "a", "a")),
        ("/deal", Plain(("deal", "deal"), in_kind=True)),
        ("/img/a.png", Plain(("deal", "img", "a.png"))),
        ("/.errors", Special(TABLE[".errors"], kind="Deal")),
        ("/.rejected/a.md", Special(TABLE[".rejected"], None, ("a.md",), "Deal")),
    ],
)
def test_roots_mode(path: str, address: Address) -> None:
    assert ROOTS.parse(path) == address


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/deal/a\nb.md", "EINVAL"),
        ("/deal/a\x7f.md", "EINVAL"),
        ("/deal/a\x85.md", "EINVAL"),
        ("/deal/a\udcff.md", "EINVAL"),
        ("/deal/..", "EINVAL"),
        ("/deal/" + "é" * 127 + ".md", "ENAMETOOLONG"),
        ("/deal/a.md/b", "ENOTDIR"),
        ("/.recall/b", "ENOTDIR"),
    ],
)
def test_names_that_cannot_be(path: str, code: str) -> None:
    address = PREFIX.parse(path)
    assert isinstance(address, Misnamed)
    assert address.code == code
    assert address.sentence


def test_a_name_of_exactly_255_bytes_is_an_engram() -> None:
    assert isinstance(PREFIX.parse("/deal/" + "é" * 126 + ".md"), EngramFile)


@pytest.mark.parametrize(
    ("layout", "path", "forbidden"),
    [
        (PREFIX, "/deal/x.MD", True),
        (PREFIX, "/deal/x.mD", True),
        (PREFIX, "/deal/img/x.md", True),
        (PREFIX, "/deal/img/x.Md", True),
        (PREFIX, "/notes/x.md", True),
        (PREFIX, "/notes/x.md.tmp", False),
        (PREFIX, "/deal/img/.x.md", False),
        (PREFIX, "/deal/.obsidian/x.md", False),
        (PREFIX, "/.git/a/x.md", False),
        (PREFIX, "/README.md", False),
        (PREFIX, "/deal/.x.md", False),
        (PREFIX, "/deal/chart.png", False),
        (ROOTS, "/x.MD", True),
        (ROOTS, "/img/x.md", True),
        (ROOTS, "/.git/x.md", False),
    ],
)
def test_notes_in_plain_directories_fail_loudly(layout: Layout, path: str, forbidden: bool) -> None:
    address = layout.parse(path)
    assert isinstance(address, Plain)
    sentence = forbidden_plain(address)
    assert (sentence is not None) == forbidden


@given(st.lists(names, max_size=5), st.sampled_from([PREFIX, ROOTS]))
def test_every_path_has_an_address(walk: list[str], layout: Layout) -> None:
    address = fold(layout, walk)
    if isinstance(address, Plain):
        forbidden_plain(address)
        start = ("deal",) if layout is ROOTS else ()
        assert address.parts == (*start, *walk)
    if isinstance(address, EngramFile):
        assert address.slug == unicodedata.normalize("NFC", address.name)
        assert len(address.name.encode()) <= 252


@given(st.text(alphabet=st.characters(exclude_characters="/\0"), min_size=1))
def test_both_normal_forms_of_a_name_are_one_engram(stem: str) -> None:
    forms = {unicodedata.normalize(form, stem) + ".md" for form in ("NFC", "NFD")}
    addresses = [PREFIX.child(KindDirectory("Deal", "deal"), form) for form in forms]
    found = {a.slug for a in addresses if isinstance(a, EngramFile)}
    assert len(found) <= 1


@given(st.binary(max_size=60))
def test_any_bytes_as_the_kernel_hands_them_over(name: bytes) -> None:
    PREFIX.parse("/deal/" + name.decode(errors="surrogateescape") + ".md")
