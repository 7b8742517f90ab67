"""An incident as people read it."""

from __future__ import annotations

import pytest

from enginetour.model.game import Game, Incident, Outcome, Pairing, SideRecord, Termination
from enginetour.reports.games import claim_lines, incident_lines

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
    """Facts in one line, then the traffic with its direction, in ms from the `go`; nothing moves a cursor."""
    assert list(incident_lines(CRASH, 80)) == [
        "incident: Fruit, crash at ply 37",
        "  White disconnects: signal 11 (SIGSEGV)",
        "  process ended: signal 11 (SIGSEGV); memory up to 49 MiB; load 2.2; referee's",
        "  own share up to 0.4 ms",
        "  traffic, > to and < from the engine, ms since it was asked:",
        "      -500.000 > position startpos moves e2e4",
        "         0.000 > go wtime 1000",
        "        12.345 < info depth 1 [31m",
        "    odd",
        "  stderr: boom",
    ]


@pytest.mark.parametrize("width", [20, 80, 200])
def test_it_fits_the_window_and_loses_nothing(width: int) -> None:
    """Long lines go on below themselves."""
    moves = " ".join(["e2e4"] * 200)
    told = list(incident_lines(Incident("x", "crash", moves, 1, (f"1.0 > position moves {moves}",), (moves,)), width))
    assert max(map(len, told)) <= max(width, 64)
    assert sum(line.count("e2e4") for line in told) == 600


def test_what_was_not_measured_is_not_told() -> None:
    """An engine that was never there has words only; stamps count from the start of one that was not asked."""
    assert list(incident_lines(Incident("x", "start-failure", "x is missing"), 80)) == [
        "incident: x, start-failure at ply 0",
        "  x is missing",
    ]
    assert list(incident_lines(Incident("x", "start-timeout", "silent", traffic=("0.5 > uci",)), 80))[2:] == [
        "  traffic, > to and < from the engine, ms since its start:",
        "       500.000 > uci",
    ]


def test_what_was_not_so_is_told_with_the_game() -> None:
    """Who, what kind, how often, and the first."""
    side = SideRecord(claims=(("pv-other", 3, "move 7: played e2e4, and its last PV begins with d2d4"),))
    game = Game(Pairing("A", "B"), Outcome.DRAW, Termination.FIFTY, black=side)
    words = "claim: B, pv-other, 3 times, first at move 7: played e2e4, and its last PV begins with d2d4"
    assert list(claim_lines(game, 120)) == [words]


def test_a_failure_of_the_host_is_the_machines() -> None:
    """It is noted with the engine whose turn it was, which is not to blame."""
    late = Incident("Fruit", "host", "the referee woke up 4.7 s late", 3)
    assert next(incident_lines(late, 80)) == "incident: the machine, host at ply 3"
    assert (late.at_fault, CRASH.at_fault) == ("the machine", "Fruit")
