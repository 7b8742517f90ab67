"""From weights to a round: who rests, the heaviest legal pairs, what could not be avoided, who has White."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enginetour.formats.pairing import matching, shortage
from enginetour.formats.pairing.chance import Chance
from enginetour.formats.pairing.field import WHITE, Board, Dice, Field, Unpairable
from enginetour.formats.pairing.lineup import Flags, Ints, Lineup
from enginetour.formats.pairing.present import Value

CERTIFIED = "maximum weight, certified"
IN_TWO_STEPS = f"{CERTIFIED}: floats first, then inside the groups counted anew"


def last_meetings(field: Field, lineup: Lineup, *, forfeits: bool) -> Ints:
    """The latest round (from 1) in which two met, 0 if never, as a matrix; with `forfeits` a pairing is enough."""
    rounds = np.zeros((len(lineup), len(lineup)), dtype=np.int64)
    numbers = {member: at for at, member in enumerate(lineup.member.tolist())}
    for number, row in enumerate(field.history, 1):
        for member, at in numbers.items():
            turn = row[member]
            if forfeits and turn.opponent in numbers:
                rounds[at, numbers[turn.opponent]] = number
    for member, at in numbers.items():
        for opponent, number in field.meetings[member].items():  # a field may keep some apart by a meeting of its own
            if opponent in numbers:
                rounds[at, numbers[opponent]] = max(number, rounds[at, numbers[opponent]])
    return rounds


def bars(meetings: Ints, kin: Flags | None) -> Ints:
    """How much each pair is barred: 1 for a family, for a rematch the more the later its round."""
    related = np.zeros(meetings.shape, dtype=np.int64) if kin is None else kin.astype(np.int64)
    return np.where(meetings > 0, meetings + 1, related)


def held(pairs: Sequence[tuple[int, int]], member: Ints, group: Ints) -> tuple[Flags, Flags]:
    """Who of these pairs floats, and, as a matrix, which pairs are out of question once the floats stand.

    `member` are the places in the entry order that `pairs` are about, `group` is of each.
    """
    number = {at: index for index, at in enumerate(member.tolist())}
    apart = group[:, None] != group
    floating = np.zeros(len(member), dtype=np.bool_)
    across = [(number[one], number[other]) for one, other in pairs if apart[number[one], number[other]]]
    for pair in across:
        floating[list(pair)] = True
    apart |= floating[:, None] | floating
    for one, other in across:
        apart[one, other] = apart[other, one] = False
    return floating, apart


def heaviest(
    field: Field,
    members: Ints,
    weights: Ints,
    meetings: Ints,
    kin: Flags | None,
    *,
    strict: bool,
    apart: Flags | None = None,
) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    """Pairs of places in the entry order, and what has to be told about them; matrices are over `members`.

    No rematch, and nobody of the own family where `kin` says who that is; if there is no such round, families meet
    first, as few as possible, then rematches: the fewest, then the least recent. Pairs `apart` are never made.
    Unpairable when `strict` and a rematch is needed, or when nobody is left to meet.
    """
    met = meetings > 0
    related = np.zeros(met.shape, dtype=np.bool_) if kin is None else kin
    try:
        found = matching.relaxed_matching(weights, related.astype(np.int64), met if apart is None else met | apart)
    except shortage.Unpairable as error:
        if strict:
            raise Unpairable(_without_rematch(field, members, error.shortage)) from None
        found = matching.relaxed_matching(weights, bars(meetings, kin), apart)
    return _told(field, members, found.pairs, meetings, related)


def _without_rematch(field: Field, members: Ints, shortage: shortage.Shortage) -> str:
    lacking = [field.members[members[at]].name for part in shortage.parts for at in part]
    shown = ", ".join(lacking[:8]) + (" ..." if len(lacking) > 8 else "")
    return f"no round without a rematch exists: {shortage.left_over} of {shown} stay over; strict = false allows it"


def _told(
    field: Field, members: Ints, pairs: Sequence[tuple[int, int]], meetings: Ints, related: Flags
) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    remarks: list[str] = []
    drawn: list[tuple[int, int]] = []
    for one, other in pairs:
        places = int(members[one]), int(members[other])
        names = " - ".join(field.members[at].name for at in places)
        if meetings[one, other]:
            remarks.append(f"rematch {names}, last met in round {meetings[one, other]}: it cannot be avoided")
        elif related[one, other]:
            remarks.append(f"{names} are of one family: it cannot be avoided")
        drawn.append(places)
    return drawn, tuple(remarks)


def seated(
    field: Field,
    lineup: Lineup,
    pairs: Sequence[tuple[int, int]],
    dice: Dice,
    stones: Value | None,
    strength: Ints,
    *,
    named: Chance | None = None,
) -> tuple[Board, ...]:
    """Boards with their colors, best group first.

    With a handicap the stronger has White. Otherwise the entrant that had White less often (Gotha), then the one that
    had Black last, then one by lot; with `named` numbers these decide right after the balance, as in OpenGotha.
    """
    number = {int(member): at for at, member in enumerate(lineup.member)}
    boards: list[tuple[tuple[int, int, int], Board]] = []
    for one, other in sorted(pairs):
        a, b = number[one], number[other]
        given = 0 if stones is None else int(stones(np.array([a]), np.array([b]))[0])
        if given:
            first = bool(strength[a] >= strength[b])
        else:
            wants = [(int(lineup.balance[at]), _last_colour(field, member)) for at, member in ((a, one), (b, other))]
            if named is not None and wants[0][0] == wants[1][0]:
                first = int(named(np.array([one]), np.array([other]), 1)[0]) == 0
            else:
                first = wants[0] < wants[1] if wants[0] != wants[1] else dice.below(2) == 0
        board = Board(one, other, given) if first else Board(other, one, given)
        upper, lower = sorted([(int(lineup.group[at]), int(lineup.place[at])) for at in (a, b)])
        boards.append(((*upper, lower[0]), board))
    return tuple(board for _, board in sorted(boards, key=lambda item: item[0]))


def _last_colour(field: Field, member: int) -> int:
    """Of its last game with one; with none it counts as between the two."""
    for row in reversed(field.history):
        if row[member].met and row[member].colour:
            return 1 if row[member].colour == WHITE else -1
    return 0
