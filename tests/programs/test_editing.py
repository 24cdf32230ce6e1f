"""Every program that edits files: a valid edit, a creation, an invalid edit.

After each: what fstat said before a close is what stat says after it, git sees what was done and
nothing else, `.errors` tells of the refused edit and of nothing else, and identity stays.
"""

from __future__ import annotations

import os
import pty
import select
import shlex
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mounted import Mounted

VIM = "vim -u NONE -i NONE -es --cmd 'set nocp backupcopy={mode} writebackup swapfile'"
PYTHON_PLAIN = (
    'python3 -c \'import sys; open(sys.argv[2], "wb").write(open(sys.argv[1], "rb").read())\''
)
PYTHON_ATOMIC = """python3 - "$SRC" "$F" <<'PY'
import os, sys, tempfile
data = open(sys.argv[1], "rb").read()
with tempfile.NamedTemporaryFile(dir=os.path.dirname(sys.argv[2]), delete=False) as temporary:
    temporary.write(data)
    temporary.flush()
    os.fsync(temporary.fileno())
os.replace(temporary.name, sys.argv[2])
PY"""


@dataclass(frozen=True)
class Program:
    """How a program writes: its scripts see $F, $SRC (a file with the new bytes), $OLD, $NEW."""

    name: str
    edit: str
    create: str = ""
    says: bool = True  # a refusal shows in its exit status


def replaces(name: str, command: str, says: bool = True) -> Program:
    """A program that writes whole files writes new and old ones by the same command."""
    return Program(name, command, command, says)


PROGRAMS = [
    *(
        Program(
            f"vim-{mode}",
            VIM.format(mode=mode) + ' -c "%s/$OLD/$NEW/" -c wq "$F"',
            VIM.format(mode=mode) + ' -c "call setline(1, readfile(\'$SRC\'))" -c wq "$F"',
        )
        for mode in ("auto", "yes", "no")
    ),
    Program("sed -i", 'sed -i "s/$OLD/$NEW/" "$F"'),
    Program("sed -i.bak", 'sed -i.bak "s/$OLD/$NEW/" "$F"'),
    Program("perl -i", 'perl -i -pe "s/$OLD/$NEW/" "$F"'),
    Program("perl -i.orig", 'perl -i.orig -pe "s/$OLD/$NEW/" "$F"'),
    replaces("cp", 'cp "$SRC" "$F"'),
    replaces("cp -p", 'cp -p "$SRC" "$F"'),
    replaces("mv from outside", 'cp "$SRC" "$SRC.2" && mv "$SRC.2" "$F"'),
    replaces("mv within", 'cp "$SRC" "$F.tmp.42" && mv "$F.tmp.42" "$F"'),
    replaces("rsync -a", 'rsync -a "$SRC" "$F"'),
    replaces("rsync --inplace", 'rsync -a --inplace "$SRC" "$F"'),
    replaces("install", 'install -m 644 "$SRC" "$F"'),
    replaces("tee", 'tee "$F" < "$SRC" > /dev/null'),
    replaces("dd", 'dd if="$SRC" of="$F" status=none'),
    replaces("python plain", f'{PYTHON_PLAIN} "$SRC" "$F"', says=False),
    replaces("python atomic", PYTHON_ATOMIC),
    replaces("cat >", 'cat "$SRC" > "$F"', says=False),
    replaces("bash echo >", 'printf "%s" "$(cat "$SRC"; echo .)" | head -c -1 > "$F"', says=False),
    replaces(
        "bash group",
        '{ head -n 2 "$SRC"; tail -n +3 "$SRC" | cat; } > "$F"',
        says=False,
    ),
    Program(
        "patch",
        'sed "s/$OLD/$NEW/" "$F" | diff -u "$F" - | patch -s "$F"',
    ),
]


def by_name(program: Program) -> str:
    return program.name


class Desk:
    """One test's file in the mount, the environment of its programs, and the checks after them."""

    def __init__(self, mount: Mounted, closewatch: Path, scratch: Path) -> None:
        self.mount, self.scratch = mount, scratch
        self.slug = f"t-{uuid.uuid4().hex[:12]}"
        self.file = mount.root / "task" / f"{self.slug}.md"
        self.log = scratch / "closes"
        self.preload = {
            "LD_PRELOAD": str(closewatch),
            "CLOSEWATCH_ROOT": str(mount.root),
            "CLOSEWATCH_LOG": str(self.log),
        }
        self.carries = "never" not in mount.flags

    def text(self, status: str) -> str:
        identity = f"id: {uuid.uuid4()}\n" if self.carries else ""
        return f"---\n{identity}status: {status}\n---\n# Title\n\nwords of {self.slug}\n"

    def seed(self) -> str:
        """A valid engram that was there before; returns its id."""
        self.file.write_text(self.text("open"))
        return os.getxattr(self.file, "user.engram.id").decode()

    def run(self, script: str, new: str, source: str) -> subprocess.CompletedProcess[str]:
        src = self.scratch / "source.md"
        src.write_text(source)
        later = self.file.stat().st_mtime_ns if self.file.exists() else time.time_ns()
        os.utime(src, ns=(later + 10**10, later + 10**10))  # rsync compares whole seconds
        return self.mount.sh(
            script,
            F=str(self.file),
            SRC=str(src),
            OLD="status: open",
            NEW=f"status: {new}",
            **self.preload,
        )

    def assert_stable_closes(self) -> None:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        assert not [line for line in lines if line.startswith("DIFFERENT")], lines
        assert [line for line in lines if line.startswith("same")], "no close was seen at all"

    def assert_git_settled(self) -> None:
        """git adds the file once and then finds nothing to do."""
        git = f"git --git-dir={shlex.quote(str(self.scratch / 'git'))} --work-tree=. "
        script = (
            f"set -e; {git} init -q . 2>/dev/null || true; "
            f"{git} add task/{self.slug}.md; {git} -c user.name=t -c user.email=t@t commit -qm x; "
            f"{git} status --porcelain -- task/{self.slug}.md"
        )
        done = self.mount.sh(script)
        assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr

    def mine(self) -> list[str]:
        """The lines of `.errors` about this file."""
        return [line for line in self.mount.errors().splitlines() if self.slug in line]


@pytest.fixture
def desk(mount: Mounted, closewatch: Path, tmp_path: Path) -> Desk:
    return Desk(mount, closewatch, tmp_path)


@pytest.mark.parametrize("program", PROGRAMS, ids=by_name)
def test_valid_edit(desk: Desk, program: Program) -> None:
    identity = desk.seed()
    before = desk.file.read_text()
    wanted = before.replace("status: open", "status: done")
    done = desk.run(program.edit, "done", wanted)
    assert done.returncode == 0, done.stderr
    assert desk.file.read_text() == wanted
    assert os.getxattr(desk.file, "user.engram.id").decode() == identity
    assert desk.mine() == []
    desk.assert_stable_closes()
    desk.assert_git_settled()


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.create], ids=by_name)
def test_creation(desk: Desk, program: Program) -> None:
    wanted = desk.text("open")
    done = desk.run(program.create, "open", wanted)
    assert done.returncode == 0, done.stderr
    assert desk.file.read_text() == wanted
    assert desk.mine() == []
    desk.assert_stable_closes()
    desk.assert_git_settled()


@pytest.mark.parametrize("program", PROGRAMS, ids=by_name)
def test_invalid_edit(desk: Desk, program: Program) -> None:
    identity = desk.seed()
    before = desk.file.read_bytes()
    refused = before.replace(b"status: open", b"status: broken")
    done = desk.run(program.edit, "broken", refused.decode())
    if program.says:
        assert done.returncode != 0, "the program saw no refusal"
    assert desk.file.read_bytes() == before
    assert os.getxattr(desk.file, "user.engram.id").decode() == identity
    assert desk.mine(), "nothing in .errors"
    assert "broken" in desk.mount.errors()
    kept = desk.mount.root / ".rejected" / "task" / f"{desk.slug}.md"
    assert kept.read_bytes() == refused
    assert os.getxattr(desk.file, "user.engram.error")
    # the next valid edit clears both
    desk.file.write_bytes(before.replace(b"status: open", b"status: done"))
    assert desk.mine() == []
    assert not kept.exists()


def test_append_keeps_what_is_there(desk: Desk) -> None:
    desk.seed()
    before = desk.file.read_text()
    for script in ('echo one >> "$F"', "python3 -c \"open('$F', 'a').write('two\\n')\""):
        assert desk.run(script, "", "").returncode == 0
    assert desk.file.read_text() == before + "one\ntwo\n"
    assert desk.mine() == []
    desk.assert_stable_closes()


def test_second_rsync_has_nothing_to_do(desk: Desk) -> None:
    source = desk.scratch / "tree"
    source.mkdir()
    (source / f"{desk.slug}.md").write_text(desk.text("open"))
    command = (
        f'rsync -ai "{source}/" "{desk.mount.root}/task/" --include="{desk.slug}.md" --exclude="*"'
    )
    first = desk.mount.sh(command)
    assert first.returncode == 0, first.stderr
    assert f"{desk.slug}.md" in first.stdout
    second = desk.mount.sh(command)
    assert f"{desk.slug}.md" not in second.stdout


def press(keys: list[bytes], command: list[str], environment: dict[str, str]) -> int:
    """Type into a full-screen program on a terminal of its own; return its exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, {**os.environ, **environment, "TERM": "xterm"})
    deadline = time.monotonic() + 30
    for key in keys:
        drain(terminal, deadline)
        os.write(terminal, key)
    while time.monotonic() < deadline:
        drain(terminal, deadline)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            os.close(terminal)
            return os.waitstatus_to_exitcode(status)
    raise AssertionError(f"{command[0]} did not end")


def drain(terminal: int, deadline: float) -> None:
    """Read what the program draws until it rests."""
    while time.monotonic() < deadline and select.select([terminal], [], [], 0.3)[0]:
        try:
            if not os.read(terminal, 65536):
                return
        except OSError:  # the terminal is closed once the program has ended
            return


NANO_DELETE, NANO_WRITE, NANO_QUIT = b"\x1b[3~", b"\x0f", b"\x18"


@pytest.mark.parametrize("new", ["done", "broken"])
def test_nano(desk: Desk, new: str) -> None:
    desk.seed()
    before = desk.file.read_text()
    line = before.splitlines().index("status: open") + 1
    keys = [NANO_DELETE * 4, new.encode(), NANO_WRITE, b"\r", NANO_QUIT]
    if new == "broken":
        keys.append(b"n")
    press(keys, ["nano", "-I", f"+{line},9", str(desk.file)], desk.preload)
    wanted = before.replace("status: open", "status: done") if new == "done" else before
    assert desk.file.read_text() == wanted
    assert bool(desk.mine()) == (new == "broken")
    if new == "done":
        desk.assert_stable_closes()
