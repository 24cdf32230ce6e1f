"""The documentation tells the truth: the README's commands run, the errors told exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mounted import PATIENT

ROOT = Path(__file__).resolve().parents[1]
END = "=== end of command"


def console_blocks(text: str) -> list[tuple[str, str]]:
    """(command, the output shown) of every `$ ` line in a ```console block, in order."""
    shown: list[tuple[str, str]] = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
        for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = piece.partition("\n")
            shown.append((command, output))
    return shown


def matches(shown: str, real: str) -> bool:
    """`…` on a line of its own stands for any lines; within a line for any characters of it."""
    pattern = ""
    for line in shown.splitlines():
        if line == "…":
            pattern += r"(?:.*\n)*"
        else:
            pattern += re.escape(line).replace("…", ".*") + r"\n"
    return re.fullmatch(pattern, real) is not None


@pytest.mark.parametrize(
    ("page", "least"),
    [("README.md", 20), ("docs/search.md", 10), ("docs/graph.md", 15), ("docs/recall.md", 30)],
)
def test_the_commands_of_a_page_show_what_happens(tmp_path: Path, page: str, least: int) -> None:
    """They run in one shell, in order, at a home of their own."""
    steps = console_blocks((ROOT / page).read_text())
    assert len(steps) > least
    script = "".join(f"{{ {command}\n}} 2>&1\necho '{END}'\n" for command, _ in steps)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ENGRAMFS_")},
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
        **PATIENT,
    }
    try:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
        )
    finally:
        subprocess.run(
            [sys.executable, "-m", "engramfs", "umount", str(tmp_path / "engram")],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            timeout=300,
        )
    outputs = done.stdout.split(f"{END}\n")[:-1]
    assert len(outputs) == len(steps), done.stdout + done.stderr
    for (command, shown), real in zip(steps, outputs, strict=True):
        assert matches(shown, real), f"$ {command}\nshown:\n{shown}\nreal:\n{real}"


def test_the_errors_told_are_those_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "errors", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))])
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", path.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert "://" in target or (path.parent / target).exists(), target


def test_the_keys_of_a_recall_are_those_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "recall-keys", "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
