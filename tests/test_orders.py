"""Orders of a round robin, with their colours."""

from itertools import combinations

import pytest

from enginetour.formats.pairing.schedule import Colours, Order, berger, circle, rounds_of

SEATED: tuple[Order, ...] = ("seats", "circle")


def colours_of(order: Order, colours: Colours, entrants: int) -> list[str]:
    """Of every entrant, round by round."""
    found = [""] * entrants
    for pairs in rounds_of(order, colours, entrants):
        for white, black in pairs:
            found[white] += "w"
            found[black] += "b"
    return found


def widest(order: Order, colours: Colours, parity: int) -> int:
    """The largest difference of colours in fields up to 24."""
    found = [run for count in range(2 + parity, 25, 2) for run in colours_of(order, colours, count)]
    return max(abs(run.count("w") - run.count("b")) for run in found)


def test_seats_as_printed() -> None:
    """Ten entrants, the first three rounds; lower seat first in each column's pair."""
    printed = ["1-6 2-7 3-8 4-9 5-10", "1-7 6-8 2-9 3-10 4-5", "1-8 7-9 6-10 2-5 3-4"]  # Vuorinen 2010, 3.1
    wanted = [[frozenset(map(int, pair.split("-"))) for pair in line.split()] for line in printed]
    found = [[frozenset(seat + 1 for seat in pair) for pair in pairs] for pairs in rounds_of("seats", "balanced", 10)]
    assert found[:3] == wanted


def test_circle_is_the_circle_method() -> None:
    """The same pairs in the same rounds and board order; Berger's order is his table."""
    for count in range(13):
        for ours, plain in zip(rounds_of("circle", "balanced", count), circle(count), strict=True):
            assert [set(pair) for pair in ours] == [set(pair) for pair in plain]
        assert rounds_of("berger", "balanced", count) == berger(count)


@pytest.mark.parametrize("colours", ["balanced", "rows"])
@pytest.mark.parametrize("order", SEATED)
def test_everybody_meets_once(order: Order, colours: Colours) -> None:
    """In as few rounds as can be, nobody twice in one."""
    for count in range(13):
        rounds = rounds_of(order, colours, count)
        assert len(rounds) == (0 if count < 2 else count - 1 + count % 2)
        assert sorted(tuple(sorted(pair)) for pairs in rounds for pair in pairs) == list(combinations(range(count), 2))
        for pairs in rounds:
            assert len({seat for pair in pairs for seat in pair}) == 2 * len(pairs) == count - count % 2


@pytest.mark.parametrize("order", SEATED)
def test_colours_are_as_told(order: Order) -> None:
    """By columns one apart at most, two in odd fields, and never three alike in an even one; by rows three and four."""
    assert [widest(order, "balanced", parity) for parity in (0, 1)] == [1, 2]
    assert [widest(order, "rows", parity) for parity in (0, 1)] == [3, 4]
    runs = [run for count in range(2, 25, 2) for run in colours_of(order, "balanced", count)]
    assert not any("www" in run or "bbb" in run for run in runs)


def test_rows_take_turns() -> None:
    """The whole upper row has White, then the whole lower row."""
    first, second = rounds_of("seats", "rows", 6)[:2]
    assert first == ((0, 3), (1, 4), (2, 5))
    assert second == ((4, 0), (5, 3), (2, 1))
