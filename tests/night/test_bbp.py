"""Compare the Dutch system with bbpPairings 6, with any points for byes, losses and absences, and acceleration.

``BBP_PAIRINGS=/path/to/bbpPairings.exe make night`` names the program; without it, this file is not collected.
bbpPairings does not count a bye as a downfloat if it scores no more than a loss. FIDE C.04.3 1.4.3 counts every bye.
Tournaments with such byes are compared with the rule of bbpPairings.
"""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from enginetour.formats.dutch import Dutch, DutchOptions
from enginetour.formats.pairing import dutch_criteria
from enginetour.formats.pairing.field import Field, Kind
from enginetour.formats.rounds import Rounds
from enginetour.interop.foreign import next_round
from enginetour.interop.pairers import make_pairing_system, read_tournament
from enginetour.interop.roundfiles import PlayedTournament, TableGame, played_tournament, trf_report
from enginetour.interop.trf import read, virtual_lines
from enginetour.model.game import Added, Entrant, GameFinished, Outcome, Withdrawn

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]
TOURNAMENTS = 200
NO_ROUND = 1  # exit code of bbpPairings if there is no legal round


@dataclass
class Drawn:
    """A random tournament; points are in half points by the letters of the old lines BBW to BBZ.

    Places count from 0 in pairing order. `numbers` are those of the file, which differ if its lines have another order
    (XXC rank). `style` is the kind of codes in the file.
    """

    rng: random.Random
    size: int
    rounds: int
    worth: dict[str, int]
    style: str  # TRF26, BB or XXS
    end: str  # line ending
    numbers: list[int]
    virtual: list[list[int]]  # virtual points of each entrant by rounds
    apart: list[tuple[int, int]]
    late: list[int]  # missed rounds of each entrant before its first
    gone: list[int]  # round of each entrant from which on it is absent
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
        style = rng.choice(("TRF26", "BB", "XXS"))
        if style == "TRF26":
            worth["F"] = worth["Z"]
        numbers = list(range(1, size + 1))
        if style == "BB" and rng.random() < 0.3:
            rng.shuffle(numbers)
        late = [rng.randint(1, 2) if rng.random() < 0.07 else 0 for _ in numbers]
        gone = [rng.randint(2, rounds) if rng.random() < 0.05 else rounds + 1 for _ in numbers]
        apart = [(one, other) for one, other in [tuple(rng.sample(range(size), 2))] if rng.random() < 0.3]
        blank: list[list[str]] = [[] for _ in numbers]
        virtual = _virtual(rng, size, rounds, win)
        end = rng.choice(("\n", "\r\n", "\r"))
        return cls(rng, size, rounds, worth, style, end, numbers, virtual, apart, late, gone, blank, [0] * size)

    def text(self) -> str:
        """Return the file for enginetour."""
        half = {letter: f"{points / 2:4.1f}" for letter, points in self.worth.items()}
        match self.style:
            case "TRF26":
                letters = {"W": "W", "D": "D", "L": "L", "A": "Z", "P": "U"}
                said = " ".join(f"{name}{half[letter]}   " for name, letter in letters.items())
                lines = ["012 drawn", f"142 {self.rounds}", "152 W", f"162  {said.rstrip()}"]
            case "BB":
                lines = [
                    "012 drawn",
                    f"XXR {self.rounds}",
                    *(f"BB{letter} {points}" for letter, points in half.items()),
                ]
                lines.append("XXC white1" + " rank" * (self.numbers != sorted(self.numbers)))
            case _:
                codes = {"W": "W", "D": "D", "WL": "L", "BL": "L", "ZPB": "Z", "FL": "F", "PAB": "U"}
                words = [f"{code}={self.worth[letter] / 2:g}" for code, letter in codes.items()]
                lines = ["012 drawn", f"XXR {self.rounds}", "XXC white1", f"XXS {' '.join(words)}"]
        for place, number in enumerate(self.numbers):
            head = f"001 {number:4d}      {f'E{number}':33} {2400 - 10 * place:4d}"
            score, rank = f"{self.points[place] / 2:4.1f}", f"{number:4d}"
            lines.append(f"{head:80}{score} {rank}  " + "  ".join(self.cells[place]))
        for one, other in self.apart:
            pair = sorted((self.numbers[one], self.numbers[other]))
            old = self.style != "TRF26"
            lines.append("XXP {} {}".format(*pair) if old else "260 001 {:03d} {:4d} {:4d}".format(self.rounds, *pair))
        if self.style == "TRF26":
            rows = [dict(enumerate(row, 1)) for row in zip(*self.virtual, strict=True)]
            lines += virtual_lines(rows)
        else:
            lines += [
                f"XXA {self.numbers[place]:4d} " + " ".join(f"{points / 2:4.1f}" for points in row)
                for place, row in enumerate(self.virtual)
                if any(row)
            ]
        return self.end.join([*lines, ""])

    def other_text(self) -> str:
        """Return the file for bbpPairings, which does not read XXS and calls an absence Z in line 162."""
        lines = self.text().split(self.end)
        if self.style == "TRF26":
            lines = [line.replace("A", "Z") if line.startswith("162") else line for line in lines]
        if self.style == "XXS":
            lines = [line for line in lines if not line.startswith("XXS")]
            lines[1:1] = [f"BB{letter} {points / 2:4.1f}" for letter, points in self.worth.items()]
        return self.end.join(lines)

    def absences(self, number: int) -> set[int]:
        """Write the absences of this round and return the absent entrants."""
        away = set()
        for place in range(self.size):
            drawn = self.rng.random()
            letter = "Z" if drawn < 0.05 else "H" if drawn < 0.09 else "F" if drawn < 0.10 else ""
            if number <= self.late[place] or number >= self.gone[place]:
                letter = "Z"
            if letter:
                away.add(place)
                self.cells[place].append(f"0000 - {letter}")
        return away

    def score(self, away: set[int]) -> None:
        """Return the score of an entrant, including the absences of this round."""
        for place in away:
            self.points[place] += self.worth[{"Z": "Z", "H": "D", "F": "W"}[self.cells[place][-1][-1]]]

    def play(self, boards: set[tuple[int, int]], bye: int | None) -> None:
        """Add random results, with some forfeits (some without colors) and games of less than one move."""
        results = ("10", "10", "==", "01", "01", "==", "10", "01", "+-", "-+", "--", "WL", "DD")
        for white, black in sorted(boards):
            signs = self.rng.choice(results)
            colorless = signs[0] in "+-" and self.rng.random() < 0.5
            for place, opponent, color, sign in ((white, black, "w", signs[0]), (black, white, "b", signs[1])):
                self.cells[place].append(f"{self.numbers[opponent]:4d} {'-' if colorless else color} {sign}")
                self.points[place] += self.worth[WORTH[sign]]
        if bye is not None:
            self.cells[bye].append("0000 - U")
            self.points[bye] += self.worth["U"]


WORTH = {"1": "W", "+": "W", "W": "W", "=": "D", "D": "D", "0": "L", "L": "L", "-": "F"}


def _virtual(rng: random.Random, size: int, rounds: int, win: int) -> list[list[int]]:
    """Make virtual points: none, the same for an upper part until some round, or random ones."""
    kind = rng.choice(("none", "upper", "any"))
    upper, long = rng.randint(1, size), rng.randint(0, rounds)
    scheme = [rng.choice((win, win // 2, 1)) if number < long else 0 for number in range(rounds)]
    if kind == "any":
        return [[rng.choice((0, 0, 1, win)) for _ in range(rounds)] for _ in range(size)]
    return [scheme if kind == "upper" and place < upper else [0] * rounds for place in range(size)]


Round = tuple[set[tuple[int, int]], int | None]


def theirs(drawn: Drawn, file: Path) -> Round | None:
    """Return the round of bbpPairings by places; None if there is no legal round."""
    text = drawn.other_text()
    file.write_bytes(text.encode())
    done = subprocess.run(
        [os.environ["BBP_PAIRINGS"], "--dutch", str(file), "-p"], capture_output=True, text=True, timeout=60
    )
    if done.returncode == NO_ROUND:
        return None
    assert done.returncode == 0, done.stderr + text
    places = {number: place for place, number in enumerate(drawn.numbers)} | {0: None}
    pairs = [[places[int(word)] for word in line.split()] for line in done.stdout.split("\n")[1:] if line.strip()]
    boards = {(one, other) for one, other in pairs if one is not None and other is not None}
    return boards, next((one for one, other in pairs if other is None), None)


def ours(text: str) -> Round | None:
    """Return the round of `pair`; None if there is no legal round."""
    found = read_tournament(read(text.encode()))
    assert not found.warnings, text
    paired = next_round(make_pairing_system("dutch", found, {})[0], found.field)
    if "fallback" in paired.guarantee:
        return None
    return {(board.white, board.black) for board in paired.boards}, next(iter(paired.byes), None)


def unpaid_byes_float_nowhere(before: Field, points: list[list[int]], member: int, back: int) -> dutch_criteria.Float:
    """Use the rule of bbpPairings for 1.4.3: a bye that scores no more than a loss is not a downfloat."""
    if back <= len(before.history):
        turn = before.history[-back][member]
        if turn.kind is Kind.BYE and turn.points <= before.loss:
            return dutch_criteria.Float.NONE
    return LETTER(before, points, member, back)


LETTER = dutch_criteria._float


def test_rounds_of_drawn_tournaments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred tournaments have the same pairs, colors and byes."""
    rounds = accelerated = unpaid_rounds = by_letter = no_round = 0
    for seed in range(TOURNAMENTS):
        drawn = Drawn.of(seed)
        unpaid = drawn.worth["U"] <= drawn.worth["L"]
        accelerated += any(map(any, drawn.virtual))
        for number in range(1, drawn.rounds + 1):
            away = drawn.absences(number)
            if drawn.size - len(away) < 2:
                break
            text = drawn.text()
            wanted = theirs(drawn, tmp_path / "drawn.trf")
            with monkeypatch.context() as patched:
                if unpaid:
                    patched.setattr(dutch_criteria, "_float", unpaid_byes_float_nowhere)
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


def own(seed: int) -> tuple[PlayedTournament, bool]:
    """Play a tournament with absences, byes and changing entrants; also return whether it has unpaid byes."""
    rng = random.Random(f"own {seed}")
    size, points = rng.randint(5, 16), rng.choice((None, 0.0, 0.5, 1.0))
    rounds = rng.randint(3, min(7, size - 2))
    names = [f"E{number}" for number in range(1, size + 1)]
    missed = {name: rng.sample(range(1, rounds + 1), 2) for name in rng.sample(names, rng.randint(0, 3))}
    absent, half = ({n: m for at, (n, m) in enumerate(missed.items()) if at % 2 == kind} for kind in (0, 1))
    settings: dict[str, object] = {"rounds": rounds, "bye_points": points, "absent": absent, "half_bye": half}
    settings |= {"acceleration": rng.choice(("none", "baku")), "initial_color": rng.choice(("lot", "black"))}
    format_ = Rounds(Dutch(DutchOptions.model_validate(settings)), seed)
    state = format_.start(tuple(Entrant(name) for name in names))
    kept: dict[tuple[int, frozenset[str]], list[TableGame]] = {}
    while games := format_.offers(state):
        drawn, present = rng.random(), [state.field.members[place].name for place in state.present]
        if drawn < 0.02 and len(present) > 5:
            state = format_.step(state, Withdrawn(rng.choice(present)))
        elif drawn < 0.04 and state.field.number < rounds:
            state = format_.step(state, Added(Entrant(f"Late{len(state.field.members)}")))
        else:
            game, outcome = rng.choice(games), rng.choice((Outcome.WHITE, Outcome.DRAW, Outcome.BLACK))
            kept.setdefault((game.round, frozenset(game.pair)), []).append(TableGame(game.white, outcome))
            state = format_.step(state, GameFinished(game, outcome))
    return played_tournament("own", "dutch", format_, state, kept), points == 0


def test_exports_of_own_tournaments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """bbpPairings confirms all rounds of exported tournaments."""
    rounds = broken = 0
    for seed in range(TOURNAMENTS):
        with monkeypatch.context() as patched:
            if own(seed)[1]:
                patched.setattr(dutch_criteria, "_float", unpaid_byes_float_nowhere)
            one, _ = own(seed)
        file = tmp_path / "own.trf"
        file.write_bytes(trf_report(one).content())
        done = subprocess.run(
            [os.environ["BBP_PAIRINGS"], "--dutch", str(file), "-c"], capture_output=True, text=True, timeout=60
        )
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        legal = [line for line in lines if "No valid pairing exists" not in line]
        assert all(": Round #" in line for line in legal), f"tournament {seed}\n{done.stdout}{file.read_text()}"
        rounds, broken = rounds + len(legal), broken + (legal != lines)
    print(f"{TOURNAMENTS} exports, {rounds} rounds, {broken} without a legal pairing in the end")
