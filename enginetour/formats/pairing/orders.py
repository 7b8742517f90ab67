"""The orders of a round robin: which rounds follow each other, and who has White in them; seats counted from 0.

order    who meets whom                                        source
berger   Berger tables                                         FIDE C.05 annex 1
seats    two rows, read left to right and left to right        Vuorinen 2010, 3.1
circle   two rows, read left to right and back: first v last   the circle method

In the last two everybody but the first moves one seat a round, and the columns are the boards.
"""

from __future__ import annotations

from typing import Literal

from enginetour.formats.pairing.schedules import Round, berger

Order = Literal["berger", "seats", "circle"]
Colours = Literal["balanced", "rows"]


def rounds_of(order: Order, colours: Colours, entrants: int) -> tuple[Round, ...]:
    """Rounds of (white, black); an odd field sits with a dummy in the last seat.

    Balanced colours differ by one at most, by two in an odd field of `seats` and `circle`, by nothing in one of
    `berger`. With `rows` the upper row has White in every other round, and colours differ by up to three, four if odd.
    """
    return berger(entrants) if order == "berger" else _rotation(order, colours, entrants)


def _rotation(order: Order, colours: Colours, entrants: int) -> tuple[Round, ...]:
    even = entrants + entrants % 2
    upper, lower = list(range(even // 2)), list(range(even // 2, even))
    if order == "circle":
        lower.reverse()
    rounds: list[Round] = []
    for number in range(even - 1 if entrants > 1 else 0):
        boards = []
        for column, (one, other) in enumerate(zip(upper, lower, strict=True)):
            # by columns whoever moves on has the other colour, in the first it takes the turn of the round
            parity = number if colours == "rows" or column == 0 else column
            boards.append((one, other) if parity % 2 == 0 else (other, one))
        rounds.append(tuple(pair for pair in boards if max(pair) < entrants))
        lower.append(upper.pop())
        upper.insert(1, lower.pop(0))
    return tuple(rounds)
