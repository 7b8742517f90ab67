"""Tests of the state of a running tournament and of match lines."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.cli.screen import Lines, WrongClaims
from enginetour.model.game import Game, Incident, Note, Outcome, Pairing, SideRecord, StandingsRow, Termination
from enginetour.ratings.sequential import OPEN_GAMES, Sprt, corrected_bounds, match_test
from enginetour.reports import progress
from enginetour.reports.progress import (
    BUSY_LINGER_S,
    BUSY_TIMEOUT_S,
    MatchScore,
    Progress,
    format_games,
    format_status,
    headline,
    live_table,
    playing_line,
    status_json,
)
from enginetour.reports.sheet import render
from tests.support.tournaments import LONG_S, config, ended, read, scheduler, tour

# The state.


def picture() -> Progress:
    made = Progress("bubble", "autumn", done=57, remaining=(33, 84))
    made.estimate = 3600.0
    made.placed = (StandingsRow(1, "Fruit 2.1", 19, 12, "active"), StandingsRow(2, "Fairy-Max", 16, 12, "parked"))
    made.elo = {"Fruit 2.1": (2641.4, 61.0, 57.0), "Fairy-Max": (2598.0, None, None)}
    made.incidents = {"Fairy-Max": 1}
    return made


def test_the_headline_says_how_far_it_is() -> None:
    """The headline has the games, the fewest and most of them, and the expected end."""
    line = headline(picture())
    assert line.startswith("bubble · autumn · 2 engines · 57 of 90-141 games · ends ")
    assert line.endswith("(in 60 min)")


def test_byes_are_no_score_of_games() -> None:
    """Byes have their own column and are not part of the score."""
    made = picture()
    assert "byes" not in render(live_table(made))
    made.placed = (StandingsRow(1, "Fruit 2.1", 7, 4), StandingsRow(2, "Fairy-Max", 4, 2, unplayed=4))
    first, second = render(live_table(made)).splitlines()[1:]
    assert "3½/4 " in first
    assert "0/2    +2" in second


def test_without_a_finished_game_there_is_no_estimate() -> None:
    """Without a finished game there is no expected end."""
    made = picture()
    made.estimate = None
    assert "ends" not in headline(made)


def test_the_table_has_scores_ratings_errors_and_incidents() -> None:
    """An unknown error is an empty cell."""
    assert render(live_table(picture())) == (
        "#  engine     score   Elo    +    -          inc.\n"
        "1  Fruit 2.1  9½/12  2641  +61  -57  active\n"
        "2  Fairy-Max   8/12  2598            parked  1!\n"
    )


def test_live_events_tell_what_is_played() -> None:
    """Start, moves and end events change the games in progress."""
    made = picture()
    made.event(0, "start", {"white": "A", "black": "B", "opening": "E029"})
    made.event(0, "moves", [{"ply": 66, "score": 9}, {"ply": 67, "score": 83}])
    assert playing_line(made.live.values()) == "now: A - B, opening E029, move 34, +0.8"
    made.event(0, "end", {})
    assert playing_line(made.live.values()) == "now: no game in progress"


def test_a_busy_machine_has_a_banner_until_it_is_less_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The banner shows the worst slot, and disappears after a quarter of an hour without news."""
    made = picture()
    assert made.banner == ""
    made.event(0, "crowd", {"crowded": True, "share": 0.31, "load": 14.6, "processors": 2})
    made.event(1, "crowd", {"crowded": True, "share": 0.06, "load": 3.0, "processors": 2})
    words = "load 15 on 2 processors: clocks are unreliable. Engines waited for a processor in 31% of the last moves"
    assert made.banner == words
    assert words in status_json(made, "running")["warnings"]
    made.event(0, "crowd", {"crowded": False, "share": 0.0, "load": 1.0, "processors": 2})
    made.event(2, "crowd", {"crowded": False, "share": 0.0, "load": 1.0, "processors": 2})
    assert made.banner == words
    begun = time.monotonic()
    for passed, told in ((BUSY_LINGER_S, "load 3 on 2 processors"), (BUSY_TIMEOUT_S, "")):
        monkeypatch.setattr(time, "monotonic", lambda passed=passed: begun + passed)
        assert made.banner.partition(":")[0] == told


def test_a_score_is_the_view_of_white() -> None:
    """Scores of games in progress are from White's side."""
    made = picture()
    made.event(0, "start", {"white": "A", "black": "B"})
    made.event(0, "moves", [{"ply": 68, "score": 83}])
    assert playing_line(made.live.values()) == "now: A - B, move 34, -0.8"
    made.event(0, "moves", [{"ply": 69, "score": 31990}])
    assert playing_line(made.live.values()) == "now: A - B, move 35, +M10"


def test_a_score_is_the_view_of_white_where_black_begins() -> None:
    """In a game from a FEN with Black to move, numbers and sides are those of the PGN."""
    made = picture()
    fen = "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 8"
    made.event(0, "start", {"white": "A", "black": "B", "fen": fen})
    made.event(0, "moves", [{"ply": 1, "score": 83}])
    assert playing_line(made.live.values()) == "now: A - B, move 8, -0.8"
    made.event(0, "moves", [{"ply": 2, "score": 90}])
    assert playing_line(made.live.values()) == "now: A - B, move 9, +0.9"


def test_an_uncertain_end_has_its_spread() -> None:
    """The expected end has a range if the number of games is uncertain."""
    made = picture()
    made.spread = (1200.0, 7200.0)
    assert re.search(r"ends \w+ \d\d:\d\d \((\w+ )?\d\d:\d\d-(\w+ )?\d\d:\d\d\)$", headline(made))
    assert format_games(57, (33, 84)) == "57 of 90-141 games"
    assert format_games(12, (0, 0)) == "12 of 12 games"


def test_a_test_without_a_number_of_games_is_open() -> None:
    """A test without a game limit does not show the internal limit."""
    made = Progress("match", "patch", done=20, remaining=(2, OPEN_GAMES - 20))
    made.placed = ()
    made._format, made.estimate = SimpleNamespace(likely=lambda _: 300, tested=lambda _: None), 3600.0
    assert "· 20 games, no game limit · ends " in headline(made)
    assert headline(made).endswith("(in 60 min)")
    assert format_games(1, (2, OPEN_GAMES)) == "1 game, no game limit"
    assert format_games(20, (0, 0)) == "20 of 20 games"
    assert format_games(20, (2, 40_000)) == "20 of 22-40020 games"
    found = {"system": "match", "tournament": "patch", "state": "running", "games_done": 20, "eta": None}
    words = format_status({**found, "remaining": [2, OPEN_GAMES - 20], "incidents": 0, "playing": []})
    assert "20 games done, no game limit ·" in words


def test_a_small_window_shows_who_plays() -> None:
    """A small window shows active entrants, then parked ones, and counts the others."""
    made = picture()
    status = ["waiting"] * 30 + ["parked", "active", "active"] + ["final"] * 20
    made.placed = tuple(StandingsRow(rank, f"E{rank}", 0, 0, what) for rank, what in enumerate(status, 1))
    text = render(live_table(made, 6))
    assert [line.split()[1] for line in text.splitlines()[1:]] == ["E31", "E32", "E33", "E34", "E35", "48"]
    assert text.endswith("… 48 more (to list all: enginetour standings)\n")


class Counting:
    """A format that counts its calls; a state is the number of remaining games."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def remaining(self, state: int) -> tuple[int, int]:
        return state, 2 * state

    def standings(self, state: int) -> tuple[StandingsRow, ...]:
        self.asked["standings"] += 1
        return (StandingsRow(1, f"{state} left", 0, 0),)

    def likely(self, state: int) -> int:
        self.asked["likely"] += 1
        return state


def looked_at(format_: Counting, state: int) -> Any:
    def estimate() -> float:
        return 60.0 * format_.likely(state)

    return SimpleNamespace(
        format=format_, state=state, estimate=estimate, slots=1, paused=False, stopping="", flying={}
    )


def test_a_look_works_nothing_out() -> None:
    """Standings and estimates are computed on demand and once for each state."""
    made, format_ = Progress("roundrobin", "autumn"), Counting()
    for left in (1000, 999, 998):
        made.take(looked_at(format_, left))
        assert made.remaining == (left, 2 * left)
    assert not format_.asked
    assert [made.placed[0].name, made.placed[0].name, made.estimate, made.spread] == [
        "998 left", "998 left", 59880.0, (59880.0, 119760.0),
    ]  # fmt: skip
    assert format_.asked == {"standings": 1, "likely": 2}
    made.take(looked_at(format_, 997))
    assert (made.placed[0].name, made.estimate) == ("997 left", 59820.0)


def test_lines_count_the_engines_once() -> None:
    """The line of each state has the number of engines without new standings, until engines may have been added."""
    made, format_ = Progress("roundrobin", "autumn"), Counting()
    for left in (1000, 999, 998):
        made.take(looked_at(format_, left))
        assert "· 1 engines ·" in headline(made)
    assert format_.asked["standings"] == 1
    made.recount()
    assert "· 1 engines ·" in headline(made)
    assert format_.asked["standings"] == 2


def test_an_event_of_a_game_that_is_not_known_changes_nothing() -> None:
    """A move of an unknown game is ignored."""
    made = picture()
    made.event(3, "moves", [{"ply": 1}])
    assert made.live == {}


def test_status_in_words() -> None:
    """The status has one line for the tournament and one for games in progress."""
    found = {
        "system": "bubble",
        "tournament": "autumn",
        "state": "running",
        "games_done": 57,
        "remaining": [33, 84],
        "eta": 3600.0,
        "eta_range": [1980.0, 5040.0],
        "playing": [{"white": "A", "black": "B", "ply": 4, "score": 31}],
        "incidents": 1,
    }
    assert format_status(found) == (
        "bubble · autumn · running · 57 games done, 33-84 remaining · about 60 min (33 min to 84 min) · 1 incident\n"
        "now: A - B, move 2, -0.3"
    )
    found |= {"state": "finished", "remaining": [0, 0], "eta": None, "eta_range": None, "playing": [], "incidents": 0}
    assert format_status(found) == "bubble · autumn · finished · 57 games done, 0 remaining · 0 incidents"


def test_a_tournament_in_rounds_says_which(tmp_path: Path) -> None:
    """Formats with rounds show the round in the headline, in status and in its JSON."""
    path = config(tmp_path, ("wren1", "wren2", "wren3", "wren4"), "dutch", "rounds = 3")
    tour(tmp_path, "run", str(path), "--max-games", "3", expect=8)
    assert read(tmp_path, "status")["round"] == [2, 3]
    assert "stopped · round 2 of 3 · 3 games done" in tour(tmp_path, "status").stdout
    made = picture()
    assert "round" not in headline(made)
    made.stage = (2, 3)
    assert "2 engines · round 2 of 3 · 57 of" in headline(made)


# Match lines.


def game(white: str = "A", black: str = "B") -> Game:
    return Game(Pairing(white, black), Outcome.WHITE, Termination.MATE, "White mates")


def test_the_words_of_a_match() -> None:
    """The lines are exactly those of cutechess-cli."""
    assert progress.started_line(1, 20, "A", "B") == "Started game 1 of 20 (A vs B)"
    assert progress.finished_line(5, game()) == "Finished game 5 (A vs B): 1-0 {White mates}"
    assert progress.score_line(MatchScore("A", "B", (2, 1, 0), (1, 1, 1))) == "Score of A vs B: 3 - 1 - 2  [0.667] 6"


def test_the_interval_of_a_match() -> None:
    """The lines of cutechess-cli with the game pairs of fastchess; 3 of the 7 even pairs consist of draws."""
    match = MatchScore("A", "B", (12, 6, 2), (6, 8, 6), (1, 2, 7, 6, 4), 3, "10+0.1, 1t, 16MB, UHO.epd")
    lines = list(progress.interval_lines(match))
    assert lines == [
        "Results of A vs B (10+0.1, 1t, 16MB, UHO.epd):",
        "...      A playing White: 12 - 2 - 6  [0.750] 20",
        "...      A playing Black: 6 - 6 - 8  [0.500] 20",
        "...      White vs Black: 18 - 8 - 14  [0.625] 40",
        "Elo difference: 88.7 +/- 89.4, LOS: 98.1 %, DrawRatio: 35.0 %",
        "Ptnml(0-2): [1, 2, 7, 6, 4], PairsRatio: 3.33, WL/DD Ratio: 1.33, nElo: 114.55 +/- 120.86",
    ]


def test_games_on_the_way_change_no_kind_of_figure() -> None:
    """Elo and nElo are those of complete game pairs, also while other games are in progress."""
    whole = MatchScore("A", "B", (12, 6, 2), (6, 8, 6), (1, 2, 7, 6, 4), 3)
    in_progress = MatchScore("A", "B", (13, 6, 2), (6, 8, 7), (1, 2, 7, 6, 4), 3)
    before = {line.split()[0]: line for line in progress.interval_lines(whole)}
    after = {line.split()[0]: line for line in progress.interval_lines(in_progress)}
    assert after["Ptnml(0-2):"] == before["Ptnml(0-2):"]
    assert after["Elo"].startswith("Elo difference: 88.7 +/- 89.4, LOS: 98.1 %")


def test_single_games_and_a_test() -> None:
    """Without pairs the error is that of the games. A test adds one line, so the LLR is shown once."""
    test = match_test(Sprt(0.0, 10.0), [(number, 2 if number % 3 else 0) for number in range(60)])
    lines = list(progress.interval_lines(MatchScore("A", "B", (20, 0, 10), (20, 0, 10)), test))
    assert re.fullmatch(r"SPRT: llr \S+ \(\S+%\), lbound -2\.\d\d, ubound 2\.\d\d", lines[-1])
    assert sum("llr" in line.lower() for line in lines) == 1
    assert not [line for line in lines if "Ptnml" in line or "PairsRatio" in line]
    (alone,) = (line for line in lines if line.startswith("Elo difference"))
    assert re.search(r"\+/- 9\d\.\d,", alone)


def test_a_ratio_below_zero_is_measured_as_there() -> None:
    """A negative LLR is a share of the upper bound, as in cutechess-cli, also with different error rates."""
    games = [(number, 0 if number % 3 else 2) for number in range(18)]
    test = match_test(Sprt(0.0, 60.0, alpha=0.05, beta=0.2), games)
    low, high = corrected_bounds(test.test, test.walk)
    assert low < test.walk.llr < -1
    lines = list(progress.interval_lines(MatchScore("A", "B", (3, 0, 6), (3, 0, 6)), test))
    assert f"({100 * test.walk.llr / high:.1f}%)" in lines[-1]


def test_a_verdict_is_told_as_there() -> None:
    """A verdict has the wording of cutechess-cli."""
    test = match_test(Sprt(0.0, 100.0), [(number, 2 if number % 5 else 0) for number in range(200)])
    assert test.walk.verdict == "H1"
    lines = list(progress.interval_lines(MatchScore("A", "B", (80, 0, 20), (80, 0, 20)), test))
    assert lines[-1].endswith(" - H1 was accepted")


@pytest.mark.parametrize(
    "match", [MatchScore("A", "B", (3, 0, 0), (3, 0, 0), (0, 0, 0, 0, 3)), MatchScore("A", "B", (0, 0, 0), (0, 0, 0))]
)
def test_what_is_infinite_is_left_out(match: MatchScore) -> None:
    """Infinite and undefined values are left out."""
    told = " ".join(progress.interval_lines(match))
    assert not re.search(r"inf|nan|Elo|Ratio: $|WL/DD|PairsRatio", told)
    assert bool(told) == bool(match.games)


def test_the_terms_of_a_match() -> None:
    """A value that differs between the engines is given twice, and an option that is not set is left out."""
    same = [({"tc": "10+0.1"}, {"Threads": "1", "hash": "16"})] * 2
    assert progress.match_terms(same, "/books/UHO.epd") == "10+0.1, 1t, 16MB, UHO.epd"
    other = [({"tc": "nodes=1000"}, {}), ({"tc": "movetime=0.1"}, {"Hash": "16"})]
    assert progress.match_terms(other, "") == "1000 nodes - 0.1/move, 16MB"
    assert progress.match_terms([({"tc": "movetime=1,nodes=1"}, {})] * 2, "") == "movetime=1,nodes=1"


def test_the_terms_of_a_match_with_a_control_for_each_color() -> None:
    """Both time controls are given with their colors, but not if only the time margin differs."""
    colored: Any = {"tc": "40/2:20/1", "margin_ms": 50, "black": {"tc": "0.5+0.05", "margin_ms": 50}}
    assert progress.match_terms([(colored, {})] * 2, "") == "40/2:20/1 White - 0.5+0.05 Black"
    plain: Any = {"tc": "5+0.05", "margin_ms": 50, "black": {"tc": "5+0.05", "margin_ms": 90}}
    assert progress.match_terms([(plain, {}), (colored, {})], "").startswith(
        "5+0.05 - 40/2:20/1 White - 0.5+0.05 Black"
    )


def test_started_games_are_numbered_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    """Games are numbered in the order of their starts, also with concurrent games and replays."""
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
    """The internal game limit of a test is not shown."""
    Lines(Progress("match", "x", remaining=remaining)).event(0, "start", {"white": "A", "black": "B"})
    assert capsys.readouterr().out.splitlines() == [told]


def test_a_game_begun_before_the_last_one_is_told_is_told_after_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A game that starts while the last result is written is reported after that result."""
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
    """The total does not count a game twice while its result is being processed."""
    picture = Progress("match", "x", remaining=(4, 4))
    lines = Lines(picture)
    lines.event(0, "start", {"white": "A", "black": "B"})
    picture.done += 1
    lines.game(1, game("A", "B"), ())
    lines.event(0, "start", {"white": "B", "black": "A"})
    told = [line.split(" (")[0] for line in capsys.readouterr().out.splitlines() if line.startswith("Started")]
    assert told == ["Started game 1 of 4", "Started game 2 of 4"]


def test_a_failure_of_the_machine_names_no_engine(capsys: pytest.CaptureFixture[str]) -> None:
    """A failure of the host is attributed to the machine."""
    incident = Incident("A", "host", "the referee's process was stopped during a move")
    void = replace(game(), outcome=Outcome.VOID, incidents=(incident,))
    Lines(Progress("match", "x", remaining=(3, 3))).game(7, void, ())
    told = capsys.readouterr().out
    assert "incident: the machine: the referee's process was stopped during a move   enginetour games 7" in told


class Asked(Progress):
    """A match that calls `meanwhile` while its score is computed."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        super().__init__("match", "x", remaining=(9, 9))
        self.meanwhile = meanwhile

    def match(self) -> MatchScore | None:
        self.meanwhile()
        return MatchScore("A", "B", (1, 0, 0), (0, 0, 0))


def test_the_lines_of_a_game_stand_together(capsys: pytest.CaptureFixture[str]) -> None:
    """The lines of one game are printed together, and other games do not wait."""

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
    """The lines of one game are written at once."""
    written: list[str] = []
    monkeypatch.setattr("click.echo", written.append)
    lines = Lines(Asked(lambda: None))
    lines.game(1, game("A", "B"), (Note("decision", "A is first"),))
    assert written == [
        "Finished game 1 (A vs B): 1-0 {White mates}\nScore of A vs B: 1 - 0 - 0  [1.000] 1\n  A is first"
    ]


def test_quick_games_bring_no_progress_every_moment(capsys: pytest.CaptureFixture[str]) -> None:
    """Progress lines have a minimum distance in games and in time."""
    now = [100.0]
    lines = Lines(Progress("match", "x", remaining=(60, 60)), clock=lambda: now[0])
    for number, later in enumerate([0.0] * 35 + [1.0], 1):
        now[0] += later
        lines.game(number, game(), ())
        lines.progress(scheduler(ended))
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("match · x")]
    assert len(told) == 2


def test_a_false_claim_is_told_once_for_each_engine_and_kind() -> None:
    """A kind of claim is reported once for each engine."""
    false = SideRecord(claims=(("no-score", 2, "move 1: played e2e4 without reporting a score"),))
    claimed = WrongClaims()
    (words,) = claimed.new(replace(game(), white=false))
    assert (
        words
        == "wrong claim: A: move 1: played e2e4 without reporting a score (no-score, 2 times; shown once per engine)"
    )
    (other,) = claimed.new(replace(game(), white=false, black=false))
    assert other.startswith("wrong claim: B: ")


def test_a_match_speaks_as_scripts_expect(tmp_path: Path) -> None:
    """A match prints start, result and score of each game, then strength and game pairs."""
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
    colors = [int(line.split()[-1]) for line in out if re.match(r"\.\.\.      Wren 1 playing ", line)]
    assert colors == [2, 2]
    assert out.count("Finished match") == 1
