"""The built wheel, and what the scripts promise on machines that lack something."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources, so that nothing here can leak into it."""
    here = tmp_path_factory.mktemp("wheel")
    for name in ("engine", "engramfs"):
        shutil.copytree(ROOT / name, here / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, here / name)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(here / "dist")],
        cwd=here,
        check=True,
        capture_output=True,
        timeout=300,
    )
    (built,) = (here / "dist").glob("engramfs-*.whl")
    return built


def test_the_wheel_holds_both_packages_whole(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        (entry_points,) = (name for name in held if name.endswith("entry_points.txt"))
        assert b"engramfs = engramfs.cli:main" in archive.read(entry_points)
    for package in ("engine", "engramfs"):
        wanted = {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / package).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert f"{package}/py.typed" in wanted
        assert wanted <= held
    assert any(name.endswith(".sql") for name in held)
    assert not any(name.startswith(("tests", "scripts")) for name in held)


def test_the_installed_wheel_runs_from_another_directory(wheel: Path, tmp_path: Path) -> None:
    """Its dependencies come from this environment; the packages come from the wheel."""
    place = tmp_path / "environment"
    venv.create(place, with_pip=False)
    (packages,) = place.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    borrowed = [path for path in map(Path, sys.path) if path.name == "site-packages"]
    (packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in borrowed))
    program = (
        "import engine, engramfs\n"
        "from engine.engine import Engine\n"
        "from engine.namespace import Scope\n"
        "from engine.model import Draft\n"
        "store = Engine.open(':memory:', embed='off')\n"
        "store.put(Scope((), exact=True), Draft('note', 'a', b'zebra\\n'))\n"
        "print(engine.__file__, engramfs.__file__, store.status(Scope()).engrams)\n"
        "store.close()\n"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    python = place / "bin" / "python"
    done = subprocess.run(
        [python, "-c", program],
        cwd=elsewhere,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    engine_file, engramfs_file, count = done.stdout.split()
    assert Path(engine_file).is_relative_to(packages)
    assert Path(engramfs_file).is_relative_to(packages)
    assert count == "1"
    version = subprocess.run(
        [python, "-m", "engramfs", "--help"],
        cwd=elsewhere,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert version.returncode == 0, version.stderr
    assert "mount" in version.stdout


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A checkout on a machine that has a shell, Python and little else; its user is not root."""
    here = tmp_path / "checkout"
    (here / "scripts").mkdir(parents=True)
    for name in ("scripts/setup", "scripts/test", "scripts/check", "pyproject.toml"):
        shutil.copy(ROOT / name, here / name)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "dirname", "cat", "sha256sum", "rm", "mkdir", "cp"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    script(tools / "id", "echo 1000")
    script(tools / "python3", f'exec {sys.executable} "$@"')
    return here


def test_without_root_the_one_line_to_run_is_said(machine: Path) -> None:
    done = run(machine, "scripts/test")
    assert done.returncode == 1
    assert done.stdout == ""
    first, line = done.stderr.splitlines()
    assert first.endswith("Run this line, then start again:")
    assert line.startswith("    sudo apt-get install -y ")
    assert {"fuse3", "vim", "nano", "rsync", "git", "attr", "chromium"} <= set(line.split())
    assert not (machine / ".venv").exists()


def test_the_second_run_does_nothing(machine: Path) -> None:
    """Installing is done by an environment that only notes what it is asked for."""
    tools = machine.parent / "bin"
    script(tools / "python3", fake_python(machine))
    first = run(machine, "scripts/setup", "check")
    assert first.returncode == 0, first.stderr
    assert "-e .[check]" in (machine / "asked").read_text()
    (machine / "asked").unlink()
    second = run(machine, "scripts/setup", "check")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert not (machine / "asked").exists()
    with (machine / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert run(machine, "scripts/setup", "check").returncode == 0
    assert (machine / "asked").exists()


def test_an_unknown_job_is_a_usage_error(machine: Path) -> None:
    done = run(machine, "scripts/setup", "everything")
    assert done.returncode != 0


def fake_python(machine: Path) -> str:
    """A python3 whose virtual environments hold a python that only notes what it is asked for."""
    inner = machine.parent / "inner"
    script(inner, f'case "$*" in *"pip install"*) echo "$@" >>{machine}/asked ;; esac')
    return (
        'if [ "$1" = -m ] && [ "$2" = venv ]; then\n'
        f'    mkdir -p "$3/bin" && cp {inner} "$3/bin/python"\n'
        "    exit\n"
        "fi\n"
        f'exec {sys.executable} "$@"'
    )


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


def run(machine: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", *command],
        cwd=machine,
        env={"PATH": str(machine.parent / "bin"), "HOME": str(machine)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
