"""Time to count the games of a PGN file, compared with reading its bytes, which every reader must do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benches.measure import Settings, in_turn, line
from benches.rating import field
from enginetour.interop.pgn import PIECE, scan

RESULTS = ("1-0", "1/2-1/2", "0-1")
MOVES = {
    "short": "1. e4 e5 2. Nf3 Nc6",
    "with comments": "\n".join(["1. Nf3 {+0.31/18 0.10s} Nc6 {-0.30/17 0.11s}"] * 50),
}


def scanning(settings: Settings) -> Iterator[str]:
    """Measure short games and games with comments."""
    engines, games = settings.rated
    for name, moves in MOVES.items():
        path = settings.folder / "scan.pgn"
        written(path, engines, games, moves)
        mine, plain = in_turn(settings.rounds, partial(scan, [path]), partial(_read, path))
        yield line(f"scan of {games} games, {name}", mine, plain, "reading the bytes")
        path.unlink()


def written(path: Path, engines: int, games: int, moves: str) -> None:
    """Write the games of the rating benchmark."""
    with path.open("w") as sink:
        for (white, black), counts in field(engines, games).items():
            for result, count in zip(RESULTS, counts, strict=True):
                tags = f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]'
                sink.write(f'[Event "E"]\n[Site "?"]\n[Round "1"]\n{tags}\n\n{moves} {result}\n\n' * count)


def _read(path: Path) -> None:
    with path.open("rb") as source:
        while source.read(PIECE):
            pass
