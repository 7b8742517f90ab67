"""Lines in the words of cutechess-cli and fastchess."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.cli.screen import Claimed, Lines
from enginetour.model import Game, Outcome, Pairing, SideRecord, Termination
from enginetour.reports import matchlines
from enginetour.reports.progress import Progress
from tests.touring import config, tour


def game(white: str = "A", black: str = "B") -> Game:
    return Game(Pairing(white, black), Outcome.WHITE, Termination.MATE, "White mates")


def test_the_words_of_a_match() -> None:
    """As cutechess-cli prints them, to the blank: two before the bracket."""
    assert matchlines.started(1, 20, "A", "B") == "Started game 1 of 20 (A vs B)"
    assert matchlines.finished(5, game()) == "Finished game 5 (A vs B): 1-0 {White mates}"
    assert matchlines.score("A", "B", 3, 1, 2) == "Score of A vs B: 3 - 1 - 2  [0.667] 6"


def test_the_words_of_the_strength() -> None:
    """Patterns that scripts use find their figures; 20 - 20 - 60 is no difference, with the error of 100 games."""
    elo, pairs = matchlines.strength(20, 20, 60, (5, 10, 20, 10, 5))
    assert re.fullmatch(r"Elo difference: 0\.0 \+/- \d+\.\d, LOS: 50\.0 %, DrawRatio: 60\.0 %", elo)
    assert pairs == "Ptnml(0-2): [5, 10, 20, 10, 5]"
    (alone,) = matchlines.strength(20, 20, 60)
    assert re.search(r"\+/- 43\.\d,", alone)  # 1.96 x 800/ln(10)/sqrt(100) x the sd of 0.316 of a game


@pytest.mark.parametrize("counts", [(0, 0, 0), (6, 0, 0)])
def test_what_is_infinite_is_left_out(counts: tuple[int, int, int]) -> None:
    """No game, or only wins: neither inf nor nan."""
    assert list(matchlines.strength(*counts)) == []


def test_started_games_are_numbered_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    """Also with two slots, and beyond the plan when void games are played again."""
    lines = Lines(Progress("match", "x", remaining=(3, 3), numbered=4))
    lines.event(0, "start", {"white": "A", "black": "B"})
    lines.event(1, "start", {"white": "B", "black": "A"})
    lines.game(5, game("B", "A"), ())
    lines.event(1, "start", {"white": "A", "black": "C"})
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Started")]
    assert told == [
        "Started game 5 of 5 (A vs B)",
        "Started game 6 of 6 (B vs A)",
        "Started game 7 of 7 (A vs C)",
    ]


def test_a_false_claim_is_told_once_for_each_engine_and_kind() -> None:
    """The second game says nothing new of A, but of B."""
    false = SideRecord(claims=(("no-score", 2, "move 1: played e2e4 without any scored line"),))
    claimed = Claimed()
    (words,) = claimed.new(replace(game(), white=false))
    assert words == "warning: A: move 1: played e2e4 without any scored line (no-score, 2 times; told once)"
    (other,) = claimed.new(replace(game(), white=false, black=false))
    assert other.startswith("warning: B: ")


def test_a_match_speaks_as_scripts_expect(tmp_path: Path) -> None:
    """Every game is started, finished and scored, in this order; the strength and the pairs come at the end."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren4"), "match", "games = 4")
    out = tour(tmp_path, "run", str(path)).stdout.splitlines()
    known = [line.split()[0] for line in out if re.match(r"(Started|Finished|Score) ", line)]
    assert known == ["Started", "Finished", "Score"] * 4
    assert "Started game 4 of 4 (Wren 4 vs Wren 1)" in out
    last = [line for line in out if line.startswith("Score")][-1]
    score = re.fullmatch(r"Score of Wren 1 vs Wren 4: (\d) - (\d) - (\d)  \[([01]\.\d{3})\] 4", last)
    assert score is not None
    assert sum(int(score[n]) for n in (1, 2, 3)) == 4
    assert sum(bool(re.fullmatch(r"Ptnml\(0-2\): \[\d, \d, \d, \d, \d\]", line)) for line in out) == 1
