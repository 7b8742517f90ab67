"""The running tournament as a picture."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.cli.screen import status
from enginetour.model.game import Placed
from enginetour.ratings.sequential import OPEN_GAMES
from enginetour.reports.progress import CROWD_S, LINGER_S, Progress, headline, now_line, of_games, status_words, table
from enginetour.reports.sheet import render
from tests.touring import config, read, tour


def picture() -> Progress:
    made = Progress("bubble", "autumn", done=57, remaining=(33, 84))
    made.estimate = 3600.0
    made.placed = (Placed(1, "Fruit 2.1", 19, 12, "active"), Placed(2, "Fairy-Max", 16, 12, "parked"))
    made.elo = {"Fruit 2.1": (2641.4, 61.0, 57.0), "Fairy-Max": (2598.0, None, None)}
    made.incidents = {"Fairy-Max": 1}
    return made


def test_the_headline_says_how_far_it_is() -> None:
    """Games done of fewest-most, and when it ends."""
    line = headline(picture())
    assert line.startswith("bubble · autumn · 2 engines · 57 of 90-141 games · ends ")
    assert line.endswith("(in 60 min)")


def test_byes_are_no_score_of_games() -> None:
    """Who lost two and had a bye has 0 of 2, not 2 of 2; without byes there is no such column."""
    made = picture()
    assert "byes" not in render(table(made))
    made.placed = (Placed(1, "Fruit 2.1", 7, 4), Placed(2, "Fairy-Max", 4, 2, unplayed=4))
    first, second = render(table(made)).splitlines()[1:]
    assert "3½/4 " in first
    assert "0/2    +2" in second


def test_without_a_finished_game_there_is_no_estimate() -> None:
    """A number that is not known is not shown."""
    made = picture()
    made.estimate = None
    assert "ends" not in headline(made)


def test_the_table_has_scores_ratings_errors_and_incidents() -> None:
    """Where nothing can be said about the error there is no figure."""
    assert render(table(picture())) == (
        "#  engine     score   Elo    +    -          inc.\n"
        "1  Fruit 2.1  9½/12  2641  +61  -57  active\n"
        "2  Fairy-Max   8/12  2598            parked  1!\n"
    )


def test_live_events_tell_what_is_played() -> None:
    """start, move and end of a slot."""
    made = picture()
    made.event(0, "start", {"white": "A", "black": "B", "opening": "E029"})
    made.event(0, "move", {"ply": 67, "score": 83})
    assert now_line(made) == "now: A - B, opening E029, move 34, +0.8"
    made.event(0, "end", {})
    assert now_line(made) == "now: between games"


def test_a_busy_machine_has_a_banner_until_it_is_less_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all slots the worst is told; one that tells of nothing for a quarter of an hour plays no more."""
    made = picture()
    assert made.banner == ""
    made.event(0, "crowd", {"crowded": True, "share": 0.31, "load": 14.6, "processors": 2})
    made.event(1, "crowd", {"crowded": True, "share": 0.06, "load": 3.0, "processors": 2})
    words = "load 15 on 2 processors: clocks are unreliable. Engines waited for a processor in 31% of the last moves"
    assert made.banner == words
    assert words in status(made, "running")["warnings"]
    made.event(0, "crowd", {"crowded": False, "share": 0.0, "load": 1.0, "processors": 2})
    made.event(2, "crowd", {"crowded": False, "share": 0.0, "load": 1.0, "processors": 2})
    assert made.banner == words
    begun = time.monotonic()
    for passed, told in ((LINGER_S, "load 3 on 2 processors"), (CROWD_S, "")):
        monkeypatch.setattr(time, "monotonic", lambda passed=passed: begun + passed)
        assert made.banner.partition(":")[0] == told


def test_a_score_is_the_view_of_white() -> None:
    """The mover's score changes its sign with every ply, this one does not; mates are told as mates."""
    made = picture()
    made.event(0, "start", {"white": "A", "black": "B"})
    made.event(0, "move", {"ply": 68, "score": 83})
    assert now_line(made) == "now: A - B, move 34, -0.8"
    made.event(0, "move", {"ply": 69, "score": 31990})
    assert now_line(made) == "now: A - B, move 35, +M10"


def test_a_score_is_the_view_of_white_where_black_begins() -> None:
    """From a FEN with Black to move the odd plies are Black's; the number is that of the PGN, 8... Nf6 here."""
    made = picture()
    fen = "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 8"
    made.event(0, "start", {"white": "A", "black": "B", "fen": fen})
    made.event(0, "move", {"ply": 1, "score": 83})
    assert now_line(made) == "now: A - B, move 8, -0.8"
    made.event(0, "move", {"ply": 2, "score": 90})
    assert now_line(made) == "now: A - B, move 9, +0.9"


def test_an_uncertain_end_has_its_spread() -> None:
    """From the fewest to the most games; when both are the same, in how long."""
    made = picture()
    made.spread = (1200.0, 7200.0)
    assert re.search(r"ends \w+ \d\d:\d\d \((\w+ )?\d\d:\d\d-(\w+ )?\d\d:\d\d\)$", headline(made))
    assert of_games(57, (33, 84)) == "57 of 90-141 games"
    assert of_games(12, (0, 0)) == "12 of 12 games"


def test_a_test_without_a_number_of_games_is_open() -> None:
    """Neither a million games nor their end in months is what anybody asked for."""
    made = Progress("match", "patch", done=20, remaining=(2, OPEN_GAMES - 20))
    made.placed = ()
    made._format, made.estimate = SimpleNamespace(likely=lambda _: 300, tested=lambda _: None), 3600.0
    assert "· 20 games, until it is known · ends " in headline(made)
    assert headline(made).endswith("(in 60 min)")
    assert of_games(1, (2, OPEN_GAMES)) == "1 game, until it is known"
    assert of_games(20, (0, 0)) == "20 of 20 games"
    assert of_games(20, (2, 40_000)) == "20 of 22-40020 games"
    found = {"system": "match", "tournament": "patch", "state": "running", "games_done": 20, "eta": None}
    words = status_words({**found, "remaining": [2, OPEN_GAMES - 20], "incidents": 0, "playing": []})
    assert "20 games done, until it is known ·" in words


def test_a_small_window_shows_who_plays() -> None:
    """Of a long list the section stays, then parking; those who wait or are done are counted."""
    made = picture()
    status = ["waiting"] * 30 + ["parked", "active", "active"] + ["final"] * 20
    made.placed = tuple(Placed(rank, f"E{rank}", 0, 0, what) for rank, what in enumerate(status, 1))
    text = render(table(made, 6))
    assert [line.split()[1] for line in text.splitlines()[1:]] == ["E31", "E32", "E33", "E34", "E35", "48"]
    assert text.endswith("… 48 more: enginetour standings\n")


class Counting:
    """A format that counts what it is asked; a state is the number of games left."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def remaining(self, state: int) -> tuple[int, int]:
        return state, 2 * state

    def standings(self, state: int) -> tuple[Placed, ...]:
        self.asked["standings"] += 1
        return (Placed(1, f"{state} left", 0, 0),)

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
    """Table and estimate are worked out when they are asked for, once a state and once a look, and never stale."""
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


def test_an_event_of_a_game_that_is_not_known_changes_nothing() -> None:
    """A move may arrive after its end: live events may be lost."""
    made = picture()
    made.event(3, "move", {"ply": 1})
    assert made.live == {}


def test_status_in_words() -> None:
    """One line for the tournament, one for what is in the air; what is uncertain has its spread."""
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
    assert status_words(found) == (
        "bubble · autumn · running · 57 games done, 33-84 to go · about 60 min (33 min to 84 min) · 1 incident\n"
        "now: A - B, move 2, -0.3"
    )
    found |= {"state": "finished", "remaining": [0, 0], "eta": None, "eta_range": None, "playing": [], "incidents": 0}
    assert status_words(found) == "bubble · autumn · finished · 57 games done, 0 to go · 0 incidents"


def test_a_tournament_in_rounds_says_which(tmp_path: Path) -> None:
    """Round r of R, in the headline, in status and its JSON; formats without rounds say nothing of the kind."""
    path = config(tmp_path, ("wren1", "wren2", "wren3", "wren4"), "dutch", "rounds = 3")
    tour(tmp_path, "run", str(path), "--max-games", "3", expect=8)
    assert read(tmp_path, "status")["round"] == [2, 3]
    assert "stopped · round 2 of 3 · 3 games done" in tour(tmp_path, "status").stdout
    made = picture()
    assert "round" not in headline(made)
    made.stage = (2, 3)
    assert "2 engines · round 2 of 3 · 57 of" in headline(made)
