"""`engramfs graph show`: a picture of the graph as a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.visible import one_line, visible
from engramfs.cli_graph import graph, paths_of
from engramfs.cli_options import ask, store_options
from engramfs.wire import Failed

if TYPE_CHECKING:
    from engramfs.picture import Picture


@graph.command()
@click.option("--around", metavar="REF", help="Only what lies near this engram.")
@click.option("--hops", type=int, default=2, metavar="N", help="How near: 1 to 4; 2 unless said.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("graph.html"),
    help="The file; its ending says what it is: .html, .svg, .dot or .graphml.",
)
@store_options
def show(
    around: str | None,
    hops: int,
    output: Path,
    store: Path | None,
    namespace: tuple[str, ...],
) -> None:
    """Draw the graph. Without -o as the page graph.html, which any browser shows."""
    draw = _form(output)
    arguments = {
        "around": around,
        "hops": hops,
        "paths": paths_of((around,) if around is not None else ()),
    }
    message = ask("graph show", store, namespace, arguments)
    from engramfs.picture import from_message

    if around is None:
        about = " ".join(("The graph", *namespace))
    else:
        about = " ".join((f"Around {around}, {hops} hop{'s' * (hops != 1)}", *namespace))
    picture = from_message(message, one_line(about))
    write(output, draw(picture))
    click.echo(visible(f"{output}: {picture.counts}"))


def _form(output: Path) -> Callable[[Picture], str]:
    """What draws for files with this ending."""
    from engramfs.picture_page import page
    from engramfs.picture_svg import svg
    from engramfs.picture_text import dot, graphml

    forms = {".html": page, ".svg": svg, ".dot": dot, ".graphml": graphml}
    form = forms.get(output.suffix.lower())
    if form is None:
        raise Failed(
            f"{output} is no name for a picture: the ending says what is drawn "
            f"({', '.join(forms)})",
            2,
        )
    return form


def write(output: Path, text: str) -> None:
    """Write a file, or replace what it held: whoever reads sees the old or the new, and whole."""
    place = Path(os.path.realpath(output))
    if place.exists() and not place.is_file():
        raise Failed(f"{output} is there and no file")
    # Permissions as they were, or as any new file of this user has them.
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask()
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=place.parent, prefix=f".{place.name[:60]}.", delete=False
        ) as file:
            fresh = Path(file.name)
            try:
                file.write(text)
                file.flush()
                fresh.chmod(mode)
                fresh.replace(place)
            except BaseException:
                fresh.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise Failed(f"{output} cannot be written: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
