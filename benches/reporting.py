"""Time to write the report of a tournament: from scratch, after ten more games, and again without a new game."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count

from benches.measure import Settings, in_turn, line
from enginetour.cli.options import without_collecting
from enginetour.reports.review.write import write_report
from tests.support.databases import play_on, reported_played

_MORE = 10  # games between two reports


def reporting(settings: Settings) -> Iterator[str]:
    """Measure a double round robin of `settings.engines` engines that is nearly finished."""
    names = tuple(f"Engine {number:03}" for number in range(1, settings.engines + 1))
    games = len(names) * (len(names) - 1)
    folder, numbers = settings.folder / "reporting", count()
    folder.mkdir()
    first = games - _MORE * settings.rounds
    store, log = reported_played(folder / "t.db", names, options={"games_per_pairing": 2}, most=first)
    with store, without_collecting():  # as in the command
        write_report(log, folder / "report")
        _, more, same, scratch = in_turn(
            settings.rounds,
            lambda: play_on(log, _MORE),
            lambda: write_report(log, folder / "report"),
            lambda: write_report(log, folder / "report"),
            lambda: write_report(log, folder / f"scratch{next(numbers)}"),
        )
    shutil.rmtree(folder)
    yield line(f"report of {games} games, {_MORE} of them new", more, scratch, "from scratch")
    yield line(f"report of {games} games again", same, scratch, "from scratch")
