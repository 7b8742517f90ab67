"""What commands that read game files tell meanwhile: how far they are, and where games cannot be counted."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

import click

from enginetour.model.errors import UsageRefused
from enginetour.reports.sheet import safe

if TYPE_CHECKING:
    from enginetour.interop.gamefilter import LeftOut
    from enginetour.interop.tally import Tally


BIG = 200_000_000  # bytes; half a second of reading and more deserves a bar
BROKEN_SHOWN = 10  # lines of places on the screen; --json has more


@contextmanager
def reading_bar(files: Sequence[Path]) -> Iterator[Callable[[int], object]]:
    """A bar on stderr, on a terminal and for big files only: nothing to see is better than a flash."""
    size = sum(path.stat().st_size for path in files if path.is_file())
    if size < BIG or not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield lambda _: None
        return
    with click.progressbar(length=size, label="reading", file=sys.stderr) as bar:
        yield bar.update


@contextmanager
def without_collecting() -> Iterator[None]:
    """Measured: a tenth of the reading goes to looking for cycles among millions of tuples that have none."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def refuse_twice(files: Sequence[Path]) -> None:
    """UsageRefused for a file that is given twice, under any of its names: each of its games would count twice."""
    seen: dict[tuple[int, int], Path] = {}
    for path in files:
        try:
            found = path.stat()
        except OSError:
            continue  # whoever reads it says so
        first = seen.setdefault((found.st_dev, found.st_ino), path)
        if first is not path and S_ISREG(found.st_mode):
            named = f", first as {first}" if first != path else ""
            what = f"is given twice{named}; its games would count twice"
            raise UsageRefused(what, place=str(path), step="leave one out")


def twins_of(files: Sequence[Path]) -> list[list[str]]:
    """Files with the same content, packed or not, in groups: each of their games counts more than once."""
    if len(files) == 1:
        return []
    from enginetour.interop.files import same_content

    return [list(map(str, group)) for group in same_content(files)]


def twins_told(twins: Sequence[Sequence[str]]) -> list[str]:
    """One note for all of them."""
    told = "; ".join(map(" = ".join, twins))
    return [f"files with the same content, whose games count more than once: {told}"] if told else []


def tell_broken(tally: Tally) -> None:
    """Where the games are that could not be counted, on stderr."""
    for place, why in tally.broken[:BROKEN_SHOWN]:
        click.echo(safe(f"{place}: {why}"), err=True)
    if tally.broken_games > BROKEN_SHOWN:
        click.echo(
            f"... and {tally.broken_games - BROKEN_SHOWN:,} more broken games; --json has their places", err=True
        )


def left_out_told(left: LeftOut) -> str:
    """The games left out, by reason."""
    first = {result: f" ({place})" for result, place in left.places.items()}
    words = [f"{n:,} with result {result or 'blank'}{first.get(result, '')}" for result, n in left.others.items()]
    reasons = {
        "broken": left.broken,
        "of an engine against itself": left.alone,
        "of engines that are not wanted": left.unwanted,
        "of engines with too few": left.few,
    }
    words += [f"{count:,} {reason}" for reason, count in reasons.items() if count]
    names = ", ".join(f"{name} {count:,}" for name, count in left.variants.items())
    said = {"odds": "at odds", "variant": f"of other variants ({names}; --variant NAME takes one)"}
    words += [f"{count:,} {said.get(part, f'by {part}')}" for part, count in left.apart.items()]
    return ", ".join(words)
