"""Tests of the tables of incidents, endings, averages and matchups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from enginetour.engines.machine import Workload, processor_name
from enginetour.model.game import Game, GameVoided, Incident, MoveMade, Outcome, Pairing, SideRecord, Termination
from enginetour.referee.record import search_averages
from enginetour.reports.games import (
    averages_sheet,
    claim_lines,
    count_endings,
    endings_sheet,
    format_endings,
    incident_lines,
    machine_lines,
    pairings_sheet,
)
from enginetour.reports.html.game import engine_facts
from enginetour.reports.review.tournament import encounters_of, game_rows
from enginetour.reports.review.write import write_report
from enginetour.reports.sheet import render
from enginetour.store.games import side_records
from tests.support.databases import STORING_NAMES, add_game, game, open_log, sound_log
from tests.support.engines import game as engines_game
from tests.support.engines import scripted, sound
from tests.support.tournaments import read, tour

# Averages.


def record(*moves: MoveMade) -> SideRecord:
    total = sum(move.elapsed_ms for move in moves)
    return SideRecord("x", len(moves), total, 80, effort=search_averages(moves))


def test_averages_are_over_the_moves_that_told_the_figure() -> None:
    """Averages use only moves with a reported value: depth of three moves, nodes of two."""
    first = record(MoveMade("a", "a", 80, depth=10, nodes=4_000, tbhits=3), MoveMade("b", "b", 40, depth=20))
    second = record(MoveMade("c", "c", 20, depth=12, nodes=1_000))
    (row,) = averages_sheet("t", ["A"], [("A", first), ("A", second)]).rows
    assert (row["games"], row["moves"], row["depth"], row["nps"]) == (2, 3, 14, 50_000)
    assert (row["tbhits"], row["seldepth"], row["longest_ms"]) == (3, None, 80)
    assert row["ms"] == 140 / 3


def test_nodes_of_pondering_count_by_the_time_of_pondering() -> None:
    """Nodes and time of searches that started in the opponent's time are left out."""
    hit = SideRecord(
        "x", 2, 100, 80, effort=search_averages((MoveMade("a", "a", 20, nodes=9_000), MoveMade("b", "b", 80)), 80)
    )
    assert averages_sheet("t", [], [("A", hit)]).rows[0]["nps"] == 90_000


def test_the_speed_of_moves_too_quick_to_measure_is_what_the_engine_says() -> None:
    """The reported nps is used if the measured time is 0 ms."""
    quick = record(MoveMade("a", "a", 0, nodes=1, nps=900), MoveMade("b", "b", 0, nodes=1, nps=1_100))
    assert averages_sheet("t", [], [("A", quick)]).rows[0]["nps"] == 1_000


def test_the_page_of_a_game_tells_the_speed_as_the_table_does() -> None:
    """An engine that reports 0 nps for fast moves does not have a mean of 0."""
    quick = record(MoveMade("a", "a", 2, depth=4, nodes=90, nps=0), MoveMade("b", "b", 4, depth=5, nodes=210, nps=0))
    told = dict(engine_facts(quick))
    assert (told["mean depth"], told["mean nps"]) == ("4.5", "50,000")
    assert averages_sheet("t", [], [("A", quick)]).rows[0]["nps"] == 50_000


def test_counts_are_added_up() -> None:
    """Time margins, ponder hits, warnings and claims are summed; an engine without pondering has no rate."""
    one = SideRecord(margin_uses=2, warnings=("a",), ponders=8, ponder_hits=2, claims=(("pv-other", 3, "x"),))
    two = SideRecord(margin_uses=1, ponders=2, ponder_hits=2, claims=(("pv-other", 1, "y"), ("no-score", 1, "z")))
    sheet = averages_sheet("t", ["B", "A"], [("A", one), ("A", two), ("B", SideRecord())])
    none, row = sheet.rows
    assert (row["margin_uses"], row["ponder_hits"], row["warnings"], row["claims"]) == (3, 0.4, 1, 5)
    assert row["claims_by_kind"] == {"pv-other": 4, "no-score": 1}
    assert (none["name"], none["ponder_hits"]) == ("B", None)


def test_the_table_fits_a_terminal() -> None:
    """Empty columns are left out, and columns that do not fit continue in a block below."""
    plain = SideRecord(moves=1234, think_ms=9_000, longest_ms=5_000, effort=(("depth", 9, 90), ("seldepth", 9, 99)))
    text = render(averages_sheet("t", [], [("A middling name 1.2", plain)]), 80)
    assert "A middling name 1.2" in text and "ponder " not in text.splitlines()[1]
    claims = (("pv-other", 3, "x"),)
    busy = replace(plain, margin_uses=200, warnings=("a",), ponders=8, ponder_hits=2, claims=claims)
    busy = replace(busy, effort=(*busy.effort, ("tbhits", 9, 90), ("nps", 9, 9_000_000)))
    text = render(averages_sheet("t", [], [("A middling name 1.2", busy)]), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(head in text for head in ("TB hits", "late", "ponder", "warn.", "claims"))


def test_only_games_that_count_are_looked_at(tmp_path: Path) -> None:
    """Void games do not count."""
    store, log = open_log(tmp_path / "x.db")
    white, black = STORING_NAMES[:2]
    for meeting, outcome in enumerate((Outcome.DRAW, Outcome.VOID, Outcome.WHITE), 1):
        pairing = Pairing(white, black, meeting, encounter=meeting)
        side = SideRecord(moves=meeting)
        add_game(log, Game(pairing, outcome, Termination.MATE, white=side, black=side))
    log.record_event(GameVoided(Pairing(white, black, encounter=1), Outcome.DRAW), (), why="odd")
    found = sorted((name, side.moves) for name, side in side_records(log))
    store.close()
    assert found == sorted([(white, 3), (black, 3)])


# Endings.


@dataclass(frozen=True)
class Line:
    """A game of a list."""

    white: str
    black: str
    outcome: Outcome
    termination: str
    voided: bool = False

    @property
    def counts(self) -> bool:
        """Return whether the game counts."""
        return self.outcome is not Outcome.VOID and not self.voided


GAMES: list[Any] = [
    Line("a", "b", Outcome.WHITE, "adjudication-resign"),
    Line("b", "a", Outcome.WHITE, "mate"),
    Line("a", "b", Outcome.BLACK, "mate"),
    Line("a", "c", Outcome.DRAW, "adjudication-tablebase"),
    Line("a", "b", Outcome.VOID, "aborted"),
    Line("a", "b", Outcome.WHITE, "mate", voided=True),
]


def test_a_line_for_each_engine_and_end() -> None:
    """Rows are in the order of the entrants and of the terminations; a void game is void for both engines."""
    sheet = endings_sheet("t", ["c", "b", "a"], GAMES)
    rows = [tuple(row.values()) for row in sheet.rows]
    assert rows == [
        ("c", "adjudication-tablebase", 0, 1, 0, 0),
        ("b", "mate", 2, 0, 0, 1),
        ("b", "adjudication-resign", 0, 0, 1, 0),
        ("b", "aborted", 0, 0, 0, 1),
        ("a", "mate", 0, 0, 2, 1),
        ("a", "adjudication-resign", 1, 0, 0, 0),
        ("a", "adjudication-tablebase", 0, 1, 0, 0),
        ("a", "aborted", 0, 0, 0, 1),
    ]
    assert [shown["name"] for shown in sheet.shown] == ["c", "b", "", "", "a", "", "", ""]


def test_the_sum_of_all_that_count() -> None:
    """Void games are not counted."""
    assert format_endings(count_endings(GAMES)) == "ended by: 2 mate, 1 adjudication-resign, 1 adjudication-tablebase"
    assert format_endings({}) == ""


# The machine.

BUSY = replace(game(), load_average=3.14, cores=2, steal_percent=5.1, relay_gap_us=(100, 900, 2100), referee_us=3300)


def test_words() -> None:
    """Only measured values are shown."""
    assert list(machine_lines(BUSY)) == [
        "machine: load 3.1 on 2 processors, 5.1 % of their time taken by the host: the load is higher than the number "
        "of processors, so clocks are unreliable",
        "latency: median 0.1 ms, 99 % up to 0.9 ms, maximum 2.1 ms",
        "late move: the latency of enginetour was at most 3.3 ms",
    ]
    assert list(machine_lines(replace(game(), load_average=2.0, cores=2, steal_percent=0.0))) == [
        "machine: load 2.0 on 2 processors"
    ]
    assert list(machine_lines(game())) == []
    waited = replace(game(), white=SideRecord(waited_ms=12), black=SideRecord(waited_ms=0))
    assert list(machine_lines(waited)) == ["wait for a processor: Fruit 12 ms, Toga 0 ms in the whole game"]


def test_real_play() -> None:
    """Only a time loss has the latency of its late move."""
    lost = engines_game(scripted(fault="hang"), sound(), white_tc="0.2", doubtful_flag="loss")
    assert lost.termination is Termination.TIME
    assert lost.referee_us is not None
    assert lost.load_average is not None
    assert lost.cores
    assert engines_game(scripted(fault="crash"), sound()).referee_us is None


def test_what_a_game_keeps_of_its_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A game stores the processor, the stolen time, and the median, 99 % and maximum of the latency."""
    monkeypatch.setattr(Workload, "steal_percent", lambda _: 25.0)
    played = engines_game(sound(), sound())
    assert (played.hardware, played.steal_percent) == (processor_name(), 25.0)
    assert played.relay_gap_us is not None
    median, high, largest = played.relay_gap_us
    assert 0 < median <= high <= largest


def test_stored_and_shown(tmp_path: Path) -> None:
    """Measurements are stored, and lists mark games with more load than processors."""
    (tmp_path / "results").mkdir()
    store, log = open_log(tmp_path / "results" / "enginetour.db")
    with store:
        add_game(log, replace(game(), load_average=1.5, cores=2))
        assert "load" not in tour(tmp_path, "games").stdout
        assert "referee ms" not in tour(tmp_path, "games").stdout
        add_game(log, replace(BUSY, pairing=game(meeting=2).pairing, white=SideRecord(waited_ms=7)))
        assert log.game(2).game.white.waited_ms == 7
        assert log.game(2).game.referee_us == 3300
    assert [(row["load_average"], row["busy"]) for row in read(tmp_path, "games")] == [(1.5, False), (3.14, True)]
    listed = tour(tmp_path, "games").stdout.splitlines()
    assert ["3.1/2" in line for line in listed if "Fruit" in line] == [False, True]
    assert ["3.3" in line for line in listed if "Fruit" in line] == [False, True]
    assert any("referee ms" in line for line in listed)
    shown = " ".join(tour(tmp_path, "games", "2").stdout.split())
    assert "the load is higher than the number of processors, so clocks are unreliable" in shown
    assert read(tmp_path, "games", "2")["steal_percent"] == 5.1


# Incidents.

CRASH = Incident(
    "Fruit",
    "crash",
    "White disconnects: signal 11 (SIGSEGV)",
    37,
    (
        "12.000000 > position startpos moves e2e4",
        "12.500000 > go wtime 1000",
        "12.512345 < info depth 1 \x1b[31m",
        "odd",
    ),
    ("boom",),
    "signal 11 (SIGSEGV)",
    12_500_000,
    50_000,
    2.25,
    400,
)


def test_it_reads_from_the_question_on() -> None:
    """An incident has its facts, then the engine log in ms since the start of the search."""
    assert list(incident_lines(CRASH, 80)) == [
        "incident: Fruit, crash at ply 37",
        "  White disconnects: signal 11 (SIGSEGV)",
        "  process ended: signal 11 (SIGSEGV); memory up to 49 MiB; load 2.2; latency of",
        "  enginetour up to 0.4 ms",
        "  engine log (> sent, < received), ms since the search started:",
        "      -500.000 > position startpos moves e2e4",
        "         0.000 > go wtime 1000",
        "        12.345 < info depth 1 [31m",
        "    odd",
        "  stderr: boom",
    ]


@pytest.mark.parametrize("width", [20, 80, 200])
def test_it_fits_the_window_and_loses_nothing(width: int) -> None:
    """Long lines are wrapped without losing text."""
    moves = " ".join(["e2e4"] * 200)
    told = list(incident_lines(Incident("x", "crash", moves, 1, (f"1.0 > position moves {moves}",), (moves,)), width))
    assert max(map(len, told)) <= max(width, 64)
    assert sum(line.count("e2e4") for line in told) == 600


def test_what_was_not_measured_is_not_told() -> None:
    """An incident without measurements has no facts; times count from the start of an engine without a search."""
    assert list(incident_lines(Incident("x", "start-failure", "x is missing"), 80)) == [
        "incident: x, start-failure at ply 0",
        "  x is missing",
    ]
    assert list(incident_lines(Incident("x", "start-timeout", "silent", traffic=("0.5 > uci",)), 80))[2:] == [
        "  engine log (> sent, < received), ms since the engine started:",
        "       500.000 > uci",
    ]


def test_what_was_not_so_is_told_with_the_game() -> None:
    """A claim line has the engine, the kind, the number and the first claim."""
    side = SideRecord(claims=(("pv-other", 3, "move 7: played e2e4, and its last PV begins with d2d4"),))
    game = Game(Pairing("A", "B"), Outcome.DRAW, Termination.FIFTY, black=side)
    words = "claim: B, pv-other, 3 times, first at move 7: played e2e4, and its last PV begins with d2d4"
    assert list(claim_lines(game, 120)) == [words]


def test_a_failure_of_the_host_is_the_machines() -> None:
    """A failure of the host is attributed to the machine."""
    late = Incident("Fruit", "host", "the referee woke up 4.7 s late", 3)
    assert next(incident_lines(late, 80)) == "incident: the machine, host at ply 3"
    assert (late.at_fault, CRASH.at_fault) == ("the machine", "Fruit")


# Matchups.


def test_a_pairing_is_seen_from_the_first_of_the_list() -> None:
    """Results are counted for the first engine, whatever the colors and the order of the pairs."""
    counts = {("B", "A"): (3, 1, 0), ("A", "B"): (1, 2, 1), ("C", "A"): (0, 1, 0)}
    sheet = pairings_sheet("t", ["A", "B", "C"], counts, {("B", "A"): (0, 1, 1, 2, 0)})
    first, second = sheet.rows
    assert (first["engine"], first["opponent"]) == ("A", "B")
    assert (first["wins"], first["draws"], first["losses"], first["score"]) == (1, 3, 4, 0.3125)
    assert first["pentanomial"] == [0, 2, 1, 1, 0]
    assert (second["engine"], second["opponent"], second["pentanomial"]) == ("A", "C", None)


def test_engines_that_did_not_meet_have_no_line() -> None:
    """Two engines without games that count have no row."""
    assert pairings_sheet("t", ["A", "B"], {("A", "B"): (0, 0, 0)}, {}).rows == ()


# Games of a report.


def test_rows_know_the_games_beside_them(tmp_path: Path) -> None:
    """A page has the other leg, the replay, and the numbers of the adjacent games."""
    store, log = open_log(tmp_path / "t.db")
    with store:
        add_game(log, game(outcome=Outcome.VOID))
        for meeting in (1, 2):
            for leg in (1, 2):
                add_game(log, game(meeting=meeting, leg=leg, replay=int(meeting == leg == 1)))
        encounters = encounters_of(log.games())
        rows = list(game_rows(log, encounters, range(1, 6)))
        assert [(one.number, one.before, one.after) for one in rows] == [
            (1, None, 2), (2, 1, 3), (3, 2, 4), (4, 3, 5), (5, 4, None),
        ]  # fmt: skip
        assert [[(near.number, near.leg, near.replay) for near in one.neighbors] for one in rows] == [
            [(2, 1, 1), (3, 2, 0)], [(1, 1, 0), (3, 2, 0)], [(1, 1, 0), (2, 1, 1)], [(5, 2, 0)], [(4, 1, 0)],
        ]  # fmt: skip
        assert [one.number for one in game_rows(log, encounters, (4, 2, 3, 5))] == [4, 2, 3, 5]


def test_each_game_has_its_page(tmp_path: Path) -> None:
    """All games have a page, also void and replayed ones."""
    store, log = sound_log(tmp_path / "t.db")
    with store:
        add_game(log, game(outcome=Outcome.VOID))
        add_game(log, game(replay=1))
        add_game(log, game(meeting=2, white="Toga", black="Fruit"))
        write_report(log, tmp_path / "report")
    pages = sorted(path.name for path in (tmp_path / "report" / "games").iterdir())
    assert pages == ["1.html", "2.html", "3.html"]
