"""Who sits where in which round: pure number patterns, seats counted from 0.

A round is a tuple of pairs of seats in board order; with an odd number of seats one of them rests.
"""

from __future__ import annotations

Round = tuple[tuple[int, int], ...]


def berger(seats: int) -> tuple[Round, ...]:
    """Rounds of (white, black) seats by the Berger tables; nobody's colours differ by more than one.

    An odd field sits with a dummy in the last seat and then has equal colours. Source: FIDE C.05 annex 1.
    """
    even = seats + seats % 2
    ring = even - 1
    rounds: list[Round] = []
    for number in range(ring if seats > 1 else 0):
        pivot = number * (even // 2) % ring
        pairs = [(pivot, ring) if number % 2 == 0 else (ring, pivot)]
        pairs += [((pivot + k) % ring, (pivot - k) % ring) for k in range(1, even // 2)]
        rounds.append(tuple(pair for pair in pairs if max(pair) < seats))
    return tuple(rounds)


def circle(seats: int) -> tuple[Round, ...]:
    """Rounds by the circle method: the i-th meets the i-th from the end, the first stays, the last moves to second.

    The pairs carry no colours. An odd field sits with a dummy in the last seat.
    """
    order = list(range(seats + seats % 2))
    rounds: list[Round] = []
    for _ in range(len(order) - 1 if seats > 1 else 0):
        pairs = ((order[i], order[-1 - i]) for i in range(len(order) // 2))
        rounds.append(tuple(pair for pair in pairs if max(pair) < seats))
        order.insert(1, order.pop())
    return tuple(rounds)


def slide(front: int, back: int) -> tuple[Round, ...]:
    """Rounds in which each of `front` seats meets each of `back` seats once, the rows sliding past each other.

    Pairs are (front seat, back seat), both counted from 0; nobody sits twice in a round.
    """
    length = max(front, back) if min(front, back) else 0
    return tuple(
        tuple((seat, (number + seat) % length) for seat in range(front) if (number + seat) % length < back)
        for number in range(length)
    )
