"""Seats and rounds."""

from collections import Counter
from itertools import combinations

import pytest

from enginetour.formats.pairing.schedule import berger, circle, slide


def test_berger_six_as_printed() -> None:
    """The table for six is the one of the handbook."""
    printed = "1-6 2-5 3-4 | 6-4 5-3 1-2 | 2-6 3-1 4-5 | 6-5 1-4 2-3 | 3-6 4-2 5-1"  # FIDE C.05 annex 1
    assert " | ".join(" ".join(f"{w + 1}-{b + 1}" for w, b in pairs) for pairs in berger(6)) == printed


@pytest.mark.parametrize("seats", range(13))
def test_everybody_meets_once(seats: int) -> None:
    """Every pair meets once, nobody sits twice in a round, and there are as few rounds as can be."""
    for rounds in (berger(seats), circle(seats)):
        pairs = [tuple(sorted(pair)) for boards in rounds for pair in boards]
        assert sorted(pairs) == list(combinations(range(seats), 2))
        assert len(rounds) == (0 if seats < 2 else seats - 1 + seats % 2)
        for boards in rounds:
            seated = [seat for pair in boards for seat in pair]
            assert len(seated) == len(set(seated)) == seats - seats % 2


@pytest.mark.parametrize("seats", range(2, 25))
def test_berger_colours_are_fair(seats: int) -> None:
    """Whites and Blacks differ by one at most, by nothing in an odd field, and never three alike in a row."""
    colours: dict[int, str] = dict.fromkeys(range(seats), "")
    for boards in berger(seats):
        for white, black in boards:
            colours[white] += "w"
            colours[black] += "b"
    for run in colours.values():
        assert abs(run.count("w") - run.count("b")) == (1 - seats % 2)
        assert "www" not in run and "bbb" not in run


@pytest.mark.parametrize(("front", "back"), [(0, 3), (1, 5), (3, 5), (5, 3), (4, 4), (2, 0)])
def test_rows_slide_past_each_other(front: int, back: int) -> None:
    """Each of one row meets each of the other once, and nobody sits twice in a round."""
    rounds = slide(front, back)
    met = Counter(pair for boards in rounds for pair in boards)
    assert met == Counter((a, b) for a in range(front) for b in range(back))
    for boards in rounds:
        assert len({a for a, _ in boards}) == len({b for _, b in boards}) == len(boards)
