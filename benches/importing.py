"""Time to import games of a PGN file into the database, compared with counting them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benches.measure import Settings, a_second, divided, in_turn, line
from benches.scanning import MOVES, written
from enginetour.interop.gamefilter import EngineNames, ratable_games
from enginetour.interop.pgn import read_games, scan
from enginetour.store.imports import import_games
from enginetour.store.tournaments import Store


def importing(settings: Settings) -> Iterator[str]:
    """Import into an empty database, and into a database with the same games; games are short or have comments."""
    engines, games = settings.rated
    path = settings.folder / "import.pgn"
    for name, moves in MOVES.items():
        written(path, engines, games, moves)
        numbers = count()

        def new(numbers: Iterator[int] = numbers) -> None:
            enter(settings.folder / f"import{next(numbers)}.db", path)

        def again() -> None:
            enter(settings.folder / "import0.db", path)

        fresh, known, plain = (divided(t, games) for t in in_turn(settings.rounds, new, again, lambda: scan([path])))
        yield line(f"import of {games} games, {name}", fresh, plain, "counting them", show=a_second)
        yield line("import of the same games again", known, plain, "counting them", show=a_second)
        for left in settings.folder.glob("import*"):
            left.unlink()


def enter(database: Path, path: Path) -> None:
    """Import a file as the command does."""
    games = read_games([path])
    with Store.open(database) as store:
        import_games(store.database, "games", games, ratable_games(games, EngineNames()), [str(path)])
