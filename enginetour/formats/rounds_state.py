"""A moment of a tournament in rounds: what was decided, what is being played, who has gone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from dataclasses import field as made

from immutables import Map

from enginetour.formats.pairing.docket import Docket
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Field, Kind, Paired, Turn
from enginetour.model.game import Note, Pairing

NOBODY = Paired(())


@dataclass(frozen=True, slots=True)
class RoundsState:
    """A moment: the rounds decided so far in `field`, the boards of this one with their games, and who has gone."""

    field: Field
    gone: frozenset[int] = frozenset()
    half: tuple[int, ...] = ()  # with a half-point bye in this round
    paired: Paired = NOBODY
    games: tuple[tuple[Pairing, ...], ...] = ()  # of each board
    docket: Docket = made(default_factory=Docket)
    encounters: int = 0
    met: Map[tuple[int, int], int] = made(default_factory=Map)  # encounters of a pair of places so far
    running: bool = False
    over: bool = False  # no further round can be paired
    notes: tuple[Note, ...] = ()

    def noted(self, kind: str, text: str, **fields: object) -> RoundsState:
        """The same moment with one decision more on record."""
        return replace(self, notes=(*self.notes, Note(kind, text, tuple(fields.items()))))

    def place(self, name: str) -> int:
        """Of a member that is still in; ValueError for anybody else."""
        places = {member.name: place for place, member in enumerate(self.field.members)}
        if name not in places:
            raise ValueError(f"{name} is not in this tournament")
        if places[name] in self.gone:
            raise ValueError(f"{name} has withdrawn already")
        return places[name]

    @property
    def present(self) -> tuple[int, ...]:
        """Places of those still in."""
        return tuple(place for place in range(len(self.field.members)) if place not in self.gone)

    def result(self, number: int) -> tuple[int, int, int]:
        """Half points of a board's White and Black so far, and games played.

        A game that was called off is won by the one that stayed.
        """
        board = self.paired.boards[number]
        first = self.field.members[board.white].name
        white = black = played = 0
        for game in self.games[number]:
            outcome = self.docket.played.get(game.key)
            if outcome is not None:
                mine = outcome.half_points(white=game.white == first)
                white, black, played = white + mine, black + 2 - mine, played + 1
            elif game.key in self.docket.off:
                stayed = [place not in self.gone for place in (board.white, board.black)]
                white, black = white + 2 * (stayed == [True, False]), black + 2 * (stayed == [False, True])
        return white, black, played

    def row(self, *, bye: int, both_colours: bool, by_match: bool) -> tuple[Turn, ...]:
        """What everybody did in the running round, as far as it is played. `bye` is its points."""
        row = [Turn() for _ in self.field.members]
        for place in self.paired.byes:
            row[place] = Turn(Kind.BYE, points=bye)
        for place in self.half:
            row[place] = Turn(Kind.HALF_BYE, points=self.field.win // 2)
        colours = (NEITHER, NEITHER) if both_colours else (WHITE, BLACK)
        for number, board in enumerate(self.paired.boards):
            white, black, played = self.result(number)
            if by_match:
                lead = (white > black) - (white < black)
                white, black = (1 + lead, 1 - lead) if white or black else (0, 0)
            kind = Kind.PLAYED if played or self.docket.left else Kind.FORFEIT
            row[board.white] = Turn(kind, board.black, colours[0], white, board.handicap, played)
            row[board.black] = Turn(kind, board.white, colours[1], black, -board.handicap, played)
        return tuple(row)
