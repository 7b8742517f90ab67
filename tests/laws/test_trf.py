"""Laws of report files: a header has the same meaning in the codes of 2006 and of 2026, and after it was rewritten."""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.pairing.field import BLACK, WHITE
from enginetour.interop.trf import TrfEntrant, TrfHeader, read, read_header

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
OLD_SCORES = {"W": "BBW", "D": "BBD", "L": "BBL", "A": "BBF", "P": "BBU"}


@dataclass(frozen=True)
class Said:
    """Content that both kinds of lines can express for a number of entrants; points are half points."""

    entrants: int
    rounds: int
    white: bool
    scores: dict[str, int]
    virtual: dict[int, list[int]]  # points in each round by number of the entrant
    apart: list[list[int]]
    byes: list[tuple[str, int, list[int]]]  # letter, round, numbers

    def new(self) -> list[str]:
        """Return the lines of TRF26."""
        lines = [f"142 {self.rounds:3d}", f"152 {'W' if self.white else 'B'}"]
        if self.scores:
            lines.append("162 " + "".join(f" {key} {worth / 2:4.1f}  " for key, worth in self.scores.items()).rstrip())
        for number, points in self.virtual.items():
            for count, worth in enumerate(points, 1):
                lines.append(f"250      {worth / 2:4.1f} {count:03d} {count:03d} {number:4d} {number:4d}")
        return lines + [f"260 001 {self.rounds:03d} " + " ".join(f"{at:4d}" for at in one) for one in self.apart]

    def old(self) -> list[str]:
        """Return the lines that programs have used since 2006."""
        lines = [f"XXR {self.rounds}", f"XXC {'white1' if self.white else 'black1'}"]
        lines += [f"{OLD_SCORES[key]} {worth / 2:4.1f}" for key, worth in self.scores.items()]
        for number, points in self.virtual.items():
            lines.append(f"XXA {number:4d} " + " ".join(f"{worth / 2:4.1f}" for worth in points))
        return lines + ["XXP " + " ".join(map(str, one)) for one in self.apart]

    def both(self) -> list[str]:
        """Return the lines of requested byes, which have only one code."""
        return [f"240 {kind} {count:03d} " + " ".join(f"{at:4d}" for at in who) for kind, count, who in self.byes]


@st.composite
def tournaments(draw: st.DrawFn) -> Said:
    """Yield tournaments of 2 to 12 entrants."""
    count = draw(st.integers(2, 12))
    rounds = draw(st.integers(1, 20))
    number = st.integers(1, count)
    some = st.lists(number, min_size=1, max_size=4, unique=True)
    points = st.lists(st.integers(0, 4), min_size=1, max_size=rounds)
    return Said(
        count,
        rounds,
        draw(st.booleans()),
        draw(st.dictionaries(st.sampled_from(sorted(OLD_SCORES)), st.integers(0, 12))),
        draw(st.dictionaries(number, points, max_size=3)),
        draw(st.lists(st.lists(number, min_size=2, max_size=4, unique=True), max_size=3)),
        draw(st.lists(st.tuples(st.sampled_from("FHZ"), st.integers(1, rounds), some), max_size=3)),
    )


def parted(found: TrfHeader, rounds: int) -> set[tuple[int, tuple[int, int]]]:
    """Return each round with its forbidden pairs."""
    return {(number, pair) for during, pair in found.forbidden for number in range(1, rounds + 1) if number in during}


@settings(max_examples=60, deadline=None)
@given(said=tournaments(), order=st.randoms(use_true_random=False), end=ENDS)
def test_codes_of_both_years_say_the_same(said: Said, order: random.Random, end: str) -> None:
    """The meaning does not depend on the order of lines and line ends, or on writing the file again."""
    entrants = [TrfEntrant(number, f"N{number}").text() for number in range(1, said.entrants + 1)]
    for lines in (said.new(), said.old()):
        order.shuffle(lines)
        report = read(end.join([*lines, *said.both(), *entrants]).encode())
        for found in (read_header(report), read_header(read(report.text()))):
            assert (found.rounds, found.color) == (said.rounds, WHITE if said.white else BLACK)
            worths = {"W": 2, "D": 1, "L": 0, "A": 0} | said.scores
            assert {key: found.worth(key) for key in "WDLAPZ"} == {
                **worths,
                "P": said.scores.get("P", worths["W"]),
                "Z": worths["A"],
            }
            assert found.virtual == {
                (count, number): worth
                for number, points in said.virtual.items()
                for count, worth in enumerate(points, 1)
            }
            pairs = {(min(a, b), max(a, b)) for one in said.apart for a in one for b in one if a != b}
            assert parted(found, said.rounds) == {(n, pair) for n in range(1, said.rounds + 1) for pair in pairs}
            assert found.byes == {(count, at): kind for kind, count, who in said.byes for at in who}
