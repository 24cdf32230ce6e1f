"""Which paths a mount must not meet, and how the kernel's table of mounts is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from engramfs.errors import FsError
from engramfs.mounts import MountLine, check_paths, is_below, parse_mountinfo, under_a_mount

MOUNTINFO = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
90 22 0:39 / /mnt/with\040blank rw,nosuid - fuse.engramfs /data/my\040store rw,user_id=0
91 22 0:40 / /plain rw - tmpfs tmpfs rw
"""


def test_mountinfo() -> None:
    assert parse_mountinfo(MOUNTINFO) == [
        MountLine("/", "ext4", "/dev/vda"),
        MountLine("/mnt/with blank", "fuse.engramfs", "/data/my store"),
        MountLine("/plain", "tmpfs", "tmpfs"),
    ]
    assert parse_mountinfo("garbage\n - \n") == []


def test_below() -> None:
    assert is_below("/a/b", "/a")
    assert is_below("/a", "/a")
    assert is_below("/a", "/")
    assert not is_below("/ab", "/a")


def test_what_a_server_must_not_meet(tmp_path: Path) -> None:
    store, mount, elsewhere = (tmp_path / name for name in ("store", "mount", "elsewhere"))
    for directory in (store, mount, elsewhere, store / "overlay"):
        directory.mkdir()
    (elsewhere / "link").symlink_to(store)
    kinds = mount / "kinds.yaml"
    kinds.touch()
    check_paths(store, [str(mount)], {"kinds file": "", "model": str(elsewhere)})
    wrong: list[tuple[str, dict[str, str], str]] = [
        (str(store), {}, "is the store itself"),
        (str(elsewhere / "link"), {}, "is the store itself"),
        (str(tmp_path), {}, "would lie under the mountpoint"),
        (str(store / "overlay"), {}, "in the store's overlay"),
        (str(mount), {"kinds file": str(kinds)}, "the kinds file"),
    ]
    for mountpoint, others, said in wrong:
        with pytest.raises(FsError, match=said):
            check_paths(store, [mountpoint], others)
    with pytest.raises(FsError, match="lie in each other"):
        check_paths(store, [str(mount), str(mount)], {})


def test_a_source_under_a_mount(tmp_path: Path) -> None:
    inside = tmp_path / "mount" / "deal"
    inside.mkdir(parents=True)
    (tmp_path / "link").symlink_to(inside)
    mountpoints = [str(tmp_path / "mount")]
    assert under_a_mount(str(tmp_path / "link"), mountpoints) == mountpoints[0]
    assert under_a_mount(str(tmp_path), mountpoints) is None
