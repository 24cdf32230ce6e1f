"""Cases 1 to 10: front matter and bytes, through a real mount."""

from __future__ import annotations

import json
import os
import re

import pytest

from tests.cases.conftest import Ask, asker
from tests.mounted import Mounted, engramfs

ID_LINE = re.compile(rb"id: [0-9a-f-]{36}\r?\n")


def written(data: bytes) -> bytes:
    """The bytes without the one id line that a mount shows."""
    return ID_LINE.sub(b"", data, count=1)


def test_01_scalars_stay_as_written(mount: Mounted) -> None:
    file = mount.root / "note" / "scalars.md"
    block = "---\ndate: 2012-10-11T23:39:45-04:00\nsleep: 10:00\nver: 1.10\nzip: 00123\n---\n"
    file.write_text(block + "body one\n")
    assert written(file.read_bytes()).decode() == block + "body one\n"
    assert mount.sh("sed -i s/one/two/ note/scalars.md").returncode == 0
    assert written(file.read_bytes()).decode() == block + "body two\n"
    answer = asker(mount, ".recall")("body two", kinds="note")
    properties = next(i for i in answer["items"] if i["path"] == "note/scalars.md")["properties"]
    assert properties["sleep"] == "10:00"
    assert properties["ver"] == "1.10"
    assert properties["zip"] == "00123"
    assert properties["date"] == "2012-10-11T23:39:45-04:00"


def test_02_an_unmodified_save_has_zero_diff(mount: Mounted) -> None:
    file = mount.root / "note" / "order.md"
    text = (
        "---\nzip: z\ntopic: alpha # why\n# a comment line\nsleep: 'quoted'\n"
        "ver: >\n  folded\n  block\n---\nbody"
    )
    file.write_text(text)
    shown = file.read_bytes()
    assert written(shown).decode() == text
    file.write_bytes(shown)
    assert file.read_bytes() == shown


def test_03_words_of_yaml_1_1_are_strings(mount: Mounted, recall: Ask) -> None:
    (mount.root / "note" / "tags.md").write_text("---\ntags: [en, no, on, y]\n---\nwords of tags\n")
    item = next(i for i in recall("words of tags")["items"] if i["path"] == "note/tags.md")
    assert item["properties"]["tags"] == ["en", "no", "on", "y"]


def test_04_dates_reach_json_as_iso_strings(mount: Mounted) -> None:
    (mount.root / "note" / "dated.md").write_text("---\ndate: 2026-04-05\n---\nthe dated thing\n")
    for name in (".recall", ".search"):
        items = asker(mount, name)("dated thing")["items"]
        item = next(i for i in items if i["path"] == "note/dated.md")
        assert item["properties"]["date"] == "2026-04-05"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_05_bom_and_crlf(mount: Mounted, recall: Ask, newline: str) -> None:
    slug = f"bom{len(newline)}"
    data = b"\xef\xbb\xbf" + newline.join(["---", "topic: bommy", "---", "text", ""]).encode()
    (mount.root / "note" / f"{slug}.md").write_bytes(data)
    shown = (mount.root / "note" / f"{slug}.md").read_bytes()
    assert shown.startswith(b"\xef\xbb\xbf---" + newline.encode() + b"id: ")
    assert written(shown) == data
    item = next(i for i in recall("bommy")["items"] if i["path"] == f"note/{slug}.md")
    assert item["properties"]["topic"] == "bommy"


def test_06_blocks_are_never_doubled(mount: Mounted) -> None:
    file = mount.root / "note" / "blocks.md"
    text = (
        "---\ntitle: Managed\nslug: blocks\nkind: note\n---\n---\ntopic: second block\n---\nbody\n"
    )
    file.write_text(text)
    for _ in range(3):
        shown = file.read_bytes()
        assert written(shown).decode() == text
        file.write_bytes(shown)
    assert file.read_bytes().count(b"id: ") == 1


def test_07_link_fields(mount: Mounted) -> None:
    (mount.root / "person" / "Bill Gates.md").write_text("founder\n")
    (mount.root / "note" / "one-link.md").write_text("---\nperson: [[Bill Gates]]\n---\n")
    assert "note/one-link.md" not in mount.errors()
    with pytest.raises(OSError) as refused:
        (mount.root / "note" / "two-links.md").write_text("---\nwho: [[A]], [[B]]\n---\n")
    assert refused.value.errno == 71  # EPROTO
    assert '["[[A]]", "[[B]]"]' in mount.errors()
    (mount.root / "note" / "two-links.md").write_text('---\nwho: ["[[A]]", "[[B]]"]\n---\n')
    assert "note/two-links.md" not in mount.errors()


def test_08_duplicate_keys_are_refused_with_both_lines(mount: Mounted) -> None:
    with pytest.raises(OSError):
        (mount.root / "task" / "twice.md").write_text("---\nstatus: open\nstatus: done\n---\n")
    errors = mount.errors()
    assert "status" in errors
    assert "2" in errors and "3" in errors
    (mount.root / "task" / "twice.md").write_text("---\nstatus: open\n---\n")
    assert "task/twice.md" not in mount.errors()


MERGE_BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 19)
)


@pytest.mark.parametrize(
    "block",
    [MERGE_BOMB, "topic: " + "[" * 10_000, "topic: |\n" + "  words words\n" * 1_600_000],
    ids=["aliases", "depth", "size"],
)
def test_09_bombs_are_refused_and_the_mount_answers(mount: Mounted, block: str) -> None:
    before = resident(mount)
    with pytest.raises(OSError) as refused:
        (mount.root / "note" / "bomb.md").write_text(f"---\n{block}\n---\nbody\n")
    assert refused.value.errno == 71
    assert "note" in os.listdir(mount.root)
    assert resident(mount) - before < 400 * 1024 * 1024
    assert "note/bomb.md" in mount.errors()


def resident(mount: Mounted) -> int:
    with open(f"/proc/{mount.pid()}/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("on: yes", "on"),
        ("2024: x", "2024"),
        ("content: hi", "content"),
        ("self: me", "self"),
        ("handler: x", "handler"),
        ("? [a, b] : c", "line 2"),
    ],
)
def test_10_odd_keys_are_problems_of_the_document(mount: Mounted, line: str, named: str) -> None:
    with pytest.raises(OSError) as refused:
        (mount.root / "note" / "odd.md").write_text(f"---\n{line}\n---\n")
    assert refused.value.errno == 71
    assert named in mount.errors()
    log = mount.store / "log"
    assert not log.exists() or "Traceback" not in log.read_text()


def test_the_refusals_above_are_all_that_status_counts(mount: Mounted) -> None:
    status = json.loads(engramfs("status", "--json", "--store", mount.store))
    assert status["refusals"] >= 2
