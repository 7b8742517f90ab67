"""The pairing program of an xboard Swiss: it is asked for one game after the other and gets only the results so far.

``results 5 +=-*``  five participants; of each game in order + = - from White's side, * being played, blank not begun
``pairing 7``       who plays game 7? ``2-4``: participant 2, White, and 4, from 1

A round has as many games as pairs fit into the field. Rounds before are paired again from their results, so nothing
is remembered that xboard could not tell after a restart. Source: xboard 4.9 manual, -pairingEngine; NextTourneyGame
in its backend.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from enginetour.formats.pairing.field import BLACK, WHITE, Field, Kind, Member, Paired, Turn, Unpairable
from enginetour.formats.rounds import PairingSystem

_POINTS = {"+": (2, 0), "=": (1, 1), "-": (0, 2)}  # half points of White and Black
_RESULTS = re.compile(r"results (\d{1,5})(?: (.*))?")
_GAME = re.compile(r"pairings? (\d{1,7})")

_SystemMaker = Callable[[Field], PairingSystem]


def answer_xboard(lines: Iterable[str], make: _SystemMaker, *, rounds: int, seed: int = 1) -> Iterator[str]:
    """Answers, one a game; `make` gives the system for a field. What cannot be answered is told to xboard's user.

    All other commands are those of chess engines and need no answer.
    """
    count, results = 0, ""
    for line in lines:
        text = line.rstrip("\r\n")
        if text == "quit":
            return
        if found := _RESULTS.fullmatch(text):
            count, results = int(found[1]), found[2] or ""
        elif asked := _GAME.fullmatch(text):
            try:
                yield xboard_game(make, count, results, int(asked[1]), rounds=rounds, seed=seed)
            except ValueError as error:
                yield f"tellusererror enginetour: {error}"


def xboard_game(make: _SystemMaker, count: int, results: str, number: int, *, rounds: int, seed: int = 1) -> str:
    """Who plays a game, ``A-B``; ValueError if that cannot be said."""
    each = count // 2
    if not each or not number:
        raise ValueError(f"no game {number} among {count} participants")
    wanted, board = divmod(number - 1, each)
    if wanted >= rounds:
        raise ValueError(f"game {number} is in round {wanted + 1} of {rounds}; start it with --rounds {wanted + 1}")
    members = tuple(Member(str(place + 1)) for place in range(count))
    field = Field(members, (), tuple(range(count)), rounds, seed=seed)
    system = make(field)
    for at in range(wanted):
        played = results[at * each : (at + 1) * each]
        paired = _boards(system, field, each)
        field = Field(members, (*field.history, _row(field, paired, played, system)), field.present, rounds, seed=seed)
    found = _boards(system, field, each).boards[board]
    return f"{found.white + 1}-{found.black + 1}"


def _boards(system: PairingSystem, field: Field, each: int) -> Paired:
    paired = system.paired(field)
    if len(paired.boards) != each:
        raise Unpairable(f"round {field.number} has {len(paired.boards)} boards, xboard plays {each}")
    return paired


def _row(field: Field, paired: Paired, played: str, system: PairingSystem) -> tuple[Turn, ...]:
    row = [Turn() for _ in field.members]
    for board, sign in zip(paired.boards, played.ljust(len(paired.boards)), strict=True):
        if sign not in _POINTS:
            raise ValueError(f"round {field.number} is not finished, round {field.number + 1} cannot be paired")
        white, black = _POINTS[sign]
        row[board.white] = Turn(Kind.PLAYED, board.black, WHITE, white, games=1)
        row[board.black] = Turn(Kind.PLAYED, board.white, BLACK, black, games=1)
    for place in paired.byes:
        row[place] = Turn(Kind.BYE, points=system.bye_points(field))
    return tuple(row)
