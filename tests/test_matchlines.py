"""Lines in the words of cutechess-cli and fastchess."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enginetour.cli.screen import Claimed, Lines
from enginetour.model.game import Game, Incident, Note, Outcome, Pairing, SideRecord, Termination
from enginetour.ratings.sequential import Sprt, match_test
from enginetour.reports import progress
from enginetour.reports.progress import MatchScore, Progress
from tests.test_scheduler import ended, scheduler
from tests.touring import LONG_S, config, tour


def game(white: str = "A", black: str = "B") -> Game:
    return Game(Pairing(white, black), Outcome.WHITE, Termination.MATE, "White mates")


def test_the_words_of_a_match() -> None:
    """As cutechess-cli prints them, to the blank: two before the bracket."""
    assert progress.started(1, 20, "A", "B") == "Started game 1 of 20 (A vs B)"
    assert progress.finished(5, game()) == "Finished game 5 (A vs B): 1-0 {White mates}"
    assert progress.score(MatchScore("A", "B", (2, 1, 0), (1, 1, 1))) == "Score of A vs B: 3 - 1 - 2  [0.667] 6"


def test_the_interval_of_a_match() -> None:
    """The lines of cutechess-cli, then the block of fastchess, figure for figure; 3 of the 7 level pairs are drawn."""
    match = MatchScore("A", "B", (12, 6, 2), (6, 8, 6), (1, 2, 7, 6, 4), 3, "10+0.1, 1t, 16MB, UHO.epd")
    lines = list(progress.interval(match))
    assert lines == [
        "...      A playing White: 12 - 2 - 6  [0.750] 20",
        "...      A playing Black: 6 - 6 - 8  [0.500] 20",
        "...      White vs Black: 18 - 8 - 14  [0.625] 40",
        "Elo difference: 88.7 +/- 89.4, LOS: 98.1 %, DrawRatio: 35.0 %",
        "--------------------------------------------------",
        "Results of A vs B (10+0.1, 1t, 16MB, UHO.epd):",
        "Elo: 88.74 +/- 89.37, nElo: 114.55 +/- 120.86",
        "LOS: 98.15 %, DrawRatio: 35.00 %, PairsRatio: 3.33",
        "Games: 40, Wins: 18, Losses: 8, Draws: 14, Points: 25.0 (62.50 %)",
        "Ptnml(0-2): [1, 2, 7, 6, 4], WL/DD Ratio: 1.33",
        "--------------------------------------------------",
    ]


def test_games_on_the_way_change_no_kind_of_figure() -> None:
    """With several slots a pair may lack a game: figures were those of games in one block, of pairs in the next."""
    whole = MatchScore("A", "B", (12, 6, 2), (6, 8, 6), (1, 2, 7, 6, 4), 3)
    on_the_way = MatchScore("A", "B", (13, 6, 2), (6, 8, 7), (1, 2, 7, 6, 4), 3)
    told = {line.split()[0]: line for line in progress.interval(whole)}
    then = {line.split()[0]: line for line in progress.interval(on_the_way)}
    assert then["LOS:"] == told["LOS:"] == "LOS: 98.15 %, DrawRatio: 35.00 %, PairsRatio: 3.33"
    assert then["Elo:"] == told["Elo:"]
    assert then["Games:"] == "Games: 42, Wins: 19, Losses: 9, Draws: 14, Points: 26.0 (61.90 %)"


def test_single_games_and_a_test() -> None:
    """Without pairs the error is that of the games; a test adds a line to each of the two."""
    test = match_test(Sprt(0.0, 10.0), [(number, 2 if number % 3 else 0) for number in range(60)])
    lines = list(progress.interval(MatchScore("A", "B", (20, 0, 10), (20, 0, 10)), test))
    assert re.fullmatch(r"SPRT: llr \S+ \(\S+%\), lbound -2\.94, ubound 2\.94", lines[4])
    assert re.fullmatch(r"LLR: \d\.\d\d \(\d+\.\d%\) \(-2\.94, 2\.94\) \[0\.00, 10\.00\]", lines[-2])
    assert not [line for line in lines if "Ptnml" in line or "PairsRatio" in line]
    (alone,) = (line for line in lines if line.startswith("Elo difference"))
    assert re.search(r"\+/- 9\d\.\d,", alone)


def test_a_ratio_below_zero_is_measured_as_there() -> None:
    """By the lower bound in fastchess, by the upper one in cutechess-cli: with uneven errors that is not the same."""
    games = [(number, 0 if number % 3 else 2) for number in range(18)]
    test = match_test(Sprt(0.0, 60.0, alpha=0.05, beta=0.2), games)
    low, high = test.test.bounds
    assert low < test.walk.llr < -1
    lines = list(progress.interval(MatchScore("A", "B", (3, 0, 6), (3, 0, 6)), test))
    assert f"({100 * test.walk.llr / high:.1f}%)" in lines[4]
    assert f"({-100 * test.walk.llr / low:.1f}%) (-1.56, 2.77)" in lines[-2]


def test_a_verdict_is_told_as_there() -> None:
    """Words that scripts wait for."""
    test = match_test(Sprt(0.0, 100.0), [(number, 2 if number % 5 else 0) for number in range(200)])
    assert test.walk.verdict == "H1"
    lines = list(progress.interval(MatchScore("A", "B", (80, 0, 20), (80, 0, 20)), test))
    assert lines[4].endswith(" - H1 was accepted")


@pytest.mark.parametrize(
    "match", [MatchScore("A", "B", (3, 0, 0), (3, 0, 0), (0, 0, 0, 0, 3)), MatchScore("A", "B", (0, 0, 0), (0, 0, 0))]
)
def test_what_is_infinite_is_left_out(match: MatchScore) -> None:
    """No game, or only wins: neither inf nor nan, and no line about a strength nobody can tell."""
    told = " ".join(progress.interval(match))
    assert not re.search(r"inf|nan|Elo|Ratio: $|WL/DD|PairsRatio", told)
    assert bool(told) == bool(match.games)


def test_the_terms_of_a_match() -> None:
    """One where both play by the same, two where not; options nobody set are NULL."""
    same = [({"tc": "10+0.1"}, {"Threads": "1", "hash": "16"})] * 2
    assert progress.terms(same, "/books/UHO.epd") == "10+0.1, 1t, 16MB, UHO.epd"
    other = [({"tc": "nodes=1000"}, {}), ({"tc": "movetime=0.1"}, {"Hash": "16"})]
    assert progress.terms(other, "") == "1000 nodes - 0.1/move, NULL, NULL - 16MB"
    assert progress.terms([({"tc": "movetime=1,nodes=1"}, {})] * 2, "").startswith("movetime=1,nodes=1, NULL")


def test_the_terms_of_a_match_with_a_control_for_each_colour() -> None:
    """Both are told, with their colours; another margin with Black is no other control."""
    coloured: Any = {"tc": "40/2:20/1", "margin_ms": 50, "black": {"tc": "0.5+0.05", "margin_ms": 50}}
    assert progress.terms([(coloured, {})] * 2, "").startswith("40/2:20/1 White - 0.5+0.05 Black, NULL")
    plain: Any = {"tc": "5+0.05", "margin_ms": 50, "black": {"tc": "5+0.05", "margin_ms": 90}}
    assert progress.terms([(plain, {}), (coloured, {})], "").startswith("5+0.05 - 40/2:20/1 White - 0.5+0.05 Black")


def test_started_games_are_numbered_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    """Also with two slots, and beyond the plan when void games, here the four before, are played again."""
    lines = Lines(Progress("match", "x", remaining=(3, 3), numbered=4))
    lines.event(0, "start", {"white": "A", "black": "B"})
    lines.event(1, "start", {"white": "B", "black": "A"})
    lines.game(5, game("B", "A"), ())
    lines.event(1, "start", {"white": "A", "black": "C"})
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Started")]
    assert told == [
        "Started game 5 of 7 (A vs B)",
        "Started game 6 of 7 (B vs A)",
        "Started game 7 of 7 (A vs C)",
    ]


@pytest.mark.parametrize(
    ("remaining", "told"),
    [
        ((2, 1_000_000), "Started game 1 (A vs B)"),
        ((2, 40_000), "Started game 1 of 40000 (A vs B)"),
        ((1_000_000, 1_000_000), "Started game 1 of 1000000 (A vs B)"),
    ],
)
def test_nobody_named_the_number_of_games(
    remaining: tuple[int, int], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A test ends the match: a million is our own, and tells nobody how long it takes."""
    Lines(Progress("match", "x", remaining=remaining)).event(0, "start", {"white": "A", "black": "B"})
    assert capsys.readouterr().out.splitlines() == [told]


def test_a_game_begun_before_the_last_one_is_told_is_told_after_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Its slot went on while the last result was being written: lines and numbers stay in their order."""
    loop = scheduler(ended)
    lines = Lines(Progress("match", "x", remaining=(3, 3)))
    lines.event(0, "start", {"white": "A", "black": "B"})
    lines.event(0, "start", {"white": "B", "black": "A"})
    lines.picture.done += 1
    lines.game(1, game("A", "B"), ())
    lines.progress(loop)
    told = [line.split(" (")[0] for line in capsys.readouterr().out.splitlines()]
    assert told == ["Started game 1 of 3", "Finished game 1", "Started game 2 of 7"]


def test_a_game_that_begins_while_the_last_one_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """It is counted already, and the games to go were not looked at again yet: there is not one more of them."""
    picture = Progress("match", "x", remaining=(4, 4))
    lines = Lines(picture)
    lines.event(0, "start", {"white": "A", "black": "B"})
    picture.done += 1
    lines.game(1, game("A", "B"), ())
    lines.event(0, "start", {"white": "B", "black": "A"})
    told = [line.split(" (")[0] for line in capsys.readouterr().out.splitlines() if line.startswith("Started")]
    assert told == ["Started game 1 of 4", "Started game 2 of 4"]


def test_a_failure_of_the_machine_names_no_engine(capsys: pytest.CaptureFixture[str]) -> None:
    """The line of the run named the engine whose turn it was; the count, the page and `games` said: the machine."""
    incident = Incident("A", "host", "the referee's process was stopped during a move")
    void = replace(game(), outcome=Outcome.VOID, incidents=(incident,))
    Lines(Progress("match", "x", remaining=(3, 3))).game(7, void, ())
    told = capsys.readouterr().out
    assert "incident: the machine: the referee's process was stopped during a move   enginetour games 7" in told


class Asked(Progress):
    """A picture of a match, told of by `meanwhile` while the score is being looked up."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        super().__init__("match", "x", remaining=(9, 9))
        self.meanwhile = meanwhile

    def match(self) -> MatchScore | None:
        self.meanwhile()
        return MatchScore("A", "B", (1, 0, 0), (0, 0, 0))


def test_the_lines_of_a_game_stand_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Games start on its own slot and on another while its score is looked up: neither waits, none comes between."""

    def start() -> None:
        lines.event(0, "start", {"white": "B", "black": "A"})
        lines.event(1, "start", {"white": "A", "black": "C"})

    def start_elsewhere() -> None:
        thread = threading.Thread(target=start, daemon=True)
        thread.start()
        thread.join(LONG_S)
        waited.append(thread.is_alive())

    waited: list[bool] = []
    lines = Lines(Asked(start_elsewhere))
    lines.event(0, "start", {"white": "A", "black": "B"})
    lines.picture.done += 1
    lines.game(1, game("A", "B"), ())
    lines.progress(scheduler(ended))
    assert waited == [False]
    told = [line.split(" (")[0] for line in capsys.readouterr().out.splitlines()]
    assert told == [
        "Started game 1 of 9",
        "Started game 2 of 9",
        "Finished game 1",
        "Score of A vs B: 1 - 0 - 0  [1.000] 1",
        "Started game 3 of 7",
    ]


def test_the_lines_of_a_game_are_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that another thread or program writes into the same place can come between."""
    written: list[str] = []
    monkeypatch.setattr("click.echo", written.append)
    lines = Lines(Asked(lambda: None))
    lines.game(1, game("A", "B"), (Note("decision", "A is first"),))
    assert written == [
        "Finished game 1 (A vs B): 1-0 {White mates}\nScore of A vs B: 1 - 0 - 0  [1.000] 1\n  A is first"
    ]


def test_quick_games_bring_no_progress_every_moment(capsys: pytest.CaptureFixture[str]) -> None:
    """A line after ten games, and the next one when a second has passed too."""
    now = [100.0]
    lines = Lines(Progress("match", "x", remaining=(60, 60)), clock=lambda: now[0])
    for number, later in enumerate([0.0] * 35 + [1.0], 1):
        now[0] += later
        lines.game(number, game(), ())
        lines.progress(scheduler(ended))
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("match · x")]
    assert len(told) == 2


def test_a_false_claim_is_told_once_for_each_engine_and_kind() -> None:
    """The second game says nothing new of A, but of B."""
    false = SideRecord(claims=(("no-score", 2, "move 1: played e2e4 without any scored line"),))
    claimed = Claimed()
    (words,) = claimed.new(replace(game(), white=false))
    assert words == "claim: A: move 1: played e2e4 without any scored line (no-score, 2 times; told once)"
    (other,) = claimed.new(replace(game(), white=false, black=false))
    assert other.startswith("claim: B: ")


def test_a_match_speaks_as_scripts_expect(tmp_path: Path) -> None:
    """Every game is started, finished and scored, in this order; the strength and the pairs come at the end."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren4"), "match", "games = 4")
    out = tour(tmp_path, "run", str(path)).stdout.splitlines()
    known = [line.split()[0] for line in out if re.match(r"(Started game|Finished game|Score) ", line)]
    assert known == ["Started", "Finished", "Score"] * 4
    assert "Started game 4 of 4 (Wren 4 vs Wren 1)" in out
    last = [line for line in out if line.startswith("Score")][-1]
    score = re.fullmatch(r"Score of Wren 1 vs Wren 4: (\d) - (\d) - (\d)  \[([01]\.\d{3})\] 4", last)
    assert score is not None
    assert sum(int(score[n]) for n in (1, 2, 3)) == 4
    pairs = [re.match(r"Ptnml\(0-2\): \[(\d), (\d), (\d), (\d), (\d)\]", line) for line in out]
    (found,) = [match for match in pairs if match]
    assert sum(int(found[n]) for n in range(1, 6)) == 2
    (terms,) = [line for line in out if line.startswith("Results of Wren 1 vs Wren 4 (")]
    assert terms.endswith("):")
    colours = [int(line.split()[-1]) for line in out if re.match(r"\.\.\.      Wren 1 playing ", line)]
    assert colours == [2, 2]
    assert out.count("Finished match") == 1
