"""The Dutch system against bbpPairings 6, where byes, losses and absences have any worth and rounds are accelerated.

``BBP_PAIRINGS=/path/to/bbpPairings.exe make night`` names the program; without it this file is not collected.
bbpPairings gives no downfloat for a bye that is worth no more than a loss. FIDE C.04.3 1.4.3 gives one for any bye.
Such tournaments are compared with that reading of bbpPairings, all others as they are.
"""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from enginetour.dutch import preparation
from enginetour.field import Field, Kind
from enginetour.interop.foreign import next_round
from enginetour.interop.pairer import pairer
from enginetour.interop.trf import read
from enginetour.interop.trffield import foreign

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]
TOURNAMENTS = 200
NO_ROUND = 1  # exit code of bbpPairings where no legal round is left


@dataclass
class Drawn:
    """A tournament as it grows: worths in half points by the letters of the old lines BBW to BBZ."""

    rng: random.Random
    size: int
    rounds: int
    worth: dict[str, int]
    virtual: list[list[int]]  # of each entrant, by rounds
    cells: list[list[str]] = field(default_factory=list)  # of each entrant
    points: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, seed: int) -> Drawn:
        rng = random.Random(f"bbp {seed}")
        size, win = rng.randint(6, 30), rng.choice((2, 2, 2, 4, 6))
        rounds = rng.randint(4, min(9, size - 2))
        loss = rng.randint(0, win // 2)
        worth = {"W": win, "D": rng.randint(loss, win), "L": loss, "Z": rng.randint(0, loss), "F": rng.randint(0, loss)}
        worth["U"] = rng.randint(0, win)
        upper, long = rng.randint(1, size), rng.randint(0, rounds - 1)
        scheme = [rng.choice((win, win // 2, 1)) for _ in range(long)] if rng.random() < 0.5 else []
        virtual = [scheme if number < upper else [] for number in range(size)]
        return cls(rng, size, rounds, worth, virtual, [[] for _ in range(size)], [0] * size)

    def text(self) -> str:
        """As a file that both programs read."""
        lines = ["012 drawn", f"XXR {self.rounds}", "152 W"]
        lines += [f"BB{letter} {points / 2:4.1f}" for letter, points in self.worth.items()]
        for number in range(self.size):
            head = f"001 {number + 1:4d}      {f'E{number + 1}':33} {2400 - 10 * number:4d}"
            score, rank = f"{self.points[number] / 2:4.1f}", f"{number + 1:4d}"
            lines.append(f"{head:80}{score} {rank}  " + "  ".join(self.cells[number]))
        lines += [
            f"XXA {number + 1:4d} " + " ".join(f"{points / 2:4.1f}" for points in row)
            for number, row in enumerate(self.virtual)
            if row
        ]
        return "\n".join(lines) + "\n"

    def absences(self) -> set[int]:
        """Who does not want to be paired in this round; their cells are written."""
        away = set()
        for number in range(self.size):
            drawn = self.rng.random()
            letter = "Z" if drawn < 0.05 else "H" if drawn < 0.09 else "F" if drawn < 0.10 else ""
            if letter:
                away.add(number)
                self.cells[number].append(f"0000 - {letter}")
        return away

    def score(self, away: set[int]) -> None:
        """The absences of this round count."""
        for number in away:
            self.points[number] += self.worth[{"Z": "Z", "H": "D", "F": "W"}[self.cells[number][-1][-1]]]

    def play(self, boards: set[tuple[int, int]], bye: int | None) -> None:
        """Results by chance, a forfeit now and then."""
        for white, black in sorted(boards):
            one, other = self.rng.choice(("10", "10", "==", "01", "01", "==", "10", "01", "+-", "-+"))
            for number, opponent, colour, sign in ((white, black, "w", one), (black, white, "b", other)):
                self.cells[number].append(f"{opponent + 1:4d} {colour} {sign}")
                self.points[number] += self.worth[{"1": "W", "+": "W", "=": "D", "0": "L", "-": "F"}[sign]]
        if bye is not None:
            self.cells[bye].append("0000 - U")
            self.points[bye] += self.worth["U"]


Round = tuple[set[tuple[int, int]], int | None]


def theirs(text: str, file: Path) -> Round | None:
    """bbpPairings' round, None where no legal one is left."""
    file.write_text(text)
    done = subprocess.run(
        [os.environ["BBP_PAIRINGS"], "--dutch", str(file), "-p"], capture_output=True, text=True, timeout=60
    )
    if done.returncode == NO_ROUND:
        return None
    assert done.returncode == 0, done.stderr + text
    pairs = [tuple(int(word) - 1 for word in line.split()) for line in done.stdout.split("\n")[1:] if line.strip()]
    return {(one, other) for one, other in pairs if other >= 0}, next((one for one, other in pairs if other < 0), None)


def ours(text: str) -> Round | None:
    """The round of `pair`, None where it breaks the law."""
    found = foreign(read(text))
    paired = next_round(pairer("dutch", found, {})[0], found.field)
    if "fallback" in paired.guarantee:
        return None
    return {(board.white, board.black) for board in paired.boards}, next(iter(paired.byes), None)


def unpaid_byes_float_nowhere(before: Field, points: list[list[int]], member: int, back: int) -> preparation.Float:
    """bbpPairings' reading of 1.4.3: a bye that is worth no more than a loss is no downfloat."""
    if back <= len(before.history):
        turn = before.history[-back][member]
        if turn.kind is Kind.BYE and turn.points <= before.loss:
            return preparation.Float.NONE
    return LETTER(before, points, member, back)


LETTER = preparation._float


def test_rounds_of_drawn_tournaments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred tournaments without a difference in pairs, colors or byes."""
    rounds = accelerated = unpaid_rounds = by_letter = no_round = 0
    for seed in range(TOURNAMENTS):
        drawn = Drawn.of(seed)
        unpaid = drawn.worth["U"] <= drawn.worth["L"]
        accelerated += any(drawn.virtual)
        for number in range(1, drawn.rounds + 1):
            away = drawn.absences()
            if drawn.size - len(away) < 2:
                break
            text = drawn.text()
            wanted = theirs(text, tmp_path / "drawn.trf")
            with monkeypatch.context() as patched:
                if unpaid:
                    patched.setattr(preparation, "_float", unpaid_byes_float_nowhere)
                found = ours(text)
            assert found == wanted, f"tournament {seed}, round {number}\n{text}"
            rounds += 1
            if wanted is None:
                no_round += 1
                break
            unpaid_rounds += unpaid
            by_letter += unpaid and ours(text) != wanted
            drawn.score(away)
            drawn.play(*wanted)
    print(f"{TOURNAMENTS} tournaments, {accelerated} accelerated, {rounds} rounds, {no_round} without a legal pairing")
    print(f"where a bye is worth no more than a loss, 1.4.3 changes {by_letter} of {unpaid_rounds} rounds")
