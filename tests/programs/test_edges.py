"""Editors on the file of an edge, beside which nothing can be made."""

from __future__ import annotations

import pytest

from tests.mounted import Mounted

VIM = "vim -u NONE -i NONE -es --cmd 'set nocp backupcopy={} writebackup swapfile'"
EDITORS = {
    "vim-auto": VIM.format("auto") + " -c '%s/first/second/' -c wq $F",
    "vim-yes": VIM.format("yes") + " -c '%s/first/second/' -c wq $F",
    "ed": "printf ',s/first/second/\\nw\\nq\\n' | ed -s $F",
    "cp": "sed s/first/second/ $F > $T; cp $T $F; rm $T",
    "cp -p": "sed s/first/second/ $F > $T; cp -p $T $F; rm $T",
    "cat": "sed s/first/second/ $F > $T; cat $T > $F; rm $T",
    "dd": "sed s/first/second/ $F > $T; dd if=$T of=$F bs=7 2>&1; rm $T",
}


@pytest.mark.parametrize("editor", EDITORS)
def test_what_is_said_of_an_edge_can_be_edited(
    mount: Mounted, editor: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    about = ".graph/note/a/out/about"
    for slug in ("a", "b"):
        (mount.root / f"note/{slug}.md").write_text(f"I am {slug}\n")
    file, temporary = f"{about}/b.edge", tmp_path_factory.mktemp("edge") / "t"
    made = mount.sh(f"ln -s note/b.md {about}/; echo 'note: the first' > {file}")
    assert made.returncode == 0, made.stderr
    done = mount.sh(EDITORS[editor], F=file, T=str(temporary))
    assert done.returncode == 0, done.stdout + done.stderr
    text = (mount.root / file).read_text()
    assert "note: the second\n" in text
    assert (mount.root / file).stat().st_size == len(text)
    assert mount.sh(f"rm {about}/b.md; ls -A .graph/note/a/out").stdout == ""
