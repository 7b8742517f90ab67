"""The games of a PGN as openings, held as they are written; each is checked when it is asked for.

Reading a game takes an eighth of what checking it takes (60 and 480 us, measured): large suites are read whole, and of
them only those that the games can need are checked before game 1.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening
from enginetour.model.variants import STANDARD, Numbered
from enginetour.openings.openingcheck import Bad, Written, checked
from enginetour.openings.suitefile import MOST_OPENINGS, written_games


class _Packed(NamedTuple):
    """A game in a tenth of the room that `Written` takes; the lines of its moves are read again in need."""

    line: int
    name: str
    eco: str
    fen: str | None
    sans: str


class HeldGames(Numbered):
    """All games of a file, cut after `plies`; InputRefused for a bad one when it is asked for."""

    def __init__(self, path: Path, plies: int | None = None, variant: str = STANDARD) -> None:
        self._path, self._plies, self._variant = path, plies, variant
        self._games: list[_Packed | Bad] = []
        for game in written_games(path, variant):
            if len(self._games) == MOST_OPENINGS:
                raise InputRefused(f"more than {MOST_OPENINGS:,} openings", place=str(path), step="cut the file")
            self._games.append(game if isinstance(game, Bad) else self._packed(game))

    def __len__(self) -> int:
        return len(self._games)

    def _at(self, number: int) -> Opening:
        game = self._games[number]
        found = game if isinstance(game, Bad) else self._checked(game)
        if isinstance(found, Opening):
            return replace(found, index=number + 1)
        raise self._refusal(number)

    def refuse_unreadable(self) -> None:
        """InputRefused for the first that is no game at all, without checking the others."""
        for number, game in enumerate(self._games):
            if isinstance(game, Bad):
                raise self._refusal(number)

    @property
    def longest(self) -> tuple[int, str]:
        """Plies and name of the longest, as far as they are used."""
        games = (game for game in self._games if not isinstance(game, Bad))
        plies, name = max(((game.sans.count(" ") + bool(game.sans), game.name) for game in games), default=(0, ""))
        return plies if self._plies is None else min(plies, self._plies), name

    def _packed(self, game: Written) -> _Packed:
        kept = game.sans if self._plies is None else game.sans[: self._plies + 1]  # one more tells that it is cut
        return _Packed(game.line, game.name, game.eco, game.fen, " ".join(san for _, san in kept))

    def _checked(self, game: _Packed) -> Opening | Bad:
        sans = tuple((game.line, san) for san in game.sans.split())
        return checked(Written(game.line, game.name, game.eco, game.fen, sans), self._plies, self._variant)

    def _refusal(self, number: int) -> InputRefused:
        """It names the line of the bad move, for which the file is read once more."""
        game = next(islice(written_games(self._path, self._variant), number, None))
        bad = game if isinstance(game, Bad) else checked(game, self._plies, self._variant)
        assert isinstance(bad, Bad)
        step = "mend it, or leave bad openings out with skip_bad = true"
        return InputRefused(f"bad opening, {bad.why}", place=f"{self._path}:{bad.line}", step=step)
