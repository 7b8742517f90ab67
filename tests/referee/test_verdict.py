"""Tests of referee/verdict."""

from __future__ import annotations

from pathlib import Path

import chess
import pytest

from enginetour.engines.wire import Message, MessageKind
from enginetour.model.errors import EngineFault, StartFailed
from enginetour.model.game import Outcome, Termination
from enginetour.model.task import EngineSpec, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import verdict
from enginetour.referee.clock import MS
from enginetour.referee.startup import Seat
from tests.support.faults import KINDS, RULES, TABLES, Kind, Row, course, judge, title

# Verdicts that no scripted engine can cause.


def black() -> Seat:
    return Seat(Side(EngineSpec("b", ("/b",), "uci"), TimeControl.parse("1"), 50), Rules(), white=False)


def flag(
    over_ms: int, own_ms: int, rules: Rules, fen: str = chess.STARTING_FEN, waited_ms: int | None = None
) -> verdict.Verdict:
    waited = None if waited_ms is None else waited_ms * MS
    return verdict.flag(black(), chess.Board(fen), rules, over_ms * MS, own_ms * MS, "late", waited_ns=waited)


def test_a_flag_beyond_the_referees_own_share_is_a_loss() -> None:
    """An overrun larger than the delay of the referee is a loss."""
    told = flag(5, 4, Rules())
    assert (told.outcome, told.termination, told.category) == (Outcome.WHITE, Termination.TIME, "time")
    assert "doubtful" not in told.cause
    assert "margin 50 ms" in told.cause


def test_a_doubtful_flag_is_void_and_the_hosts() -> None:
    """A smaller overrun makes the game void, and nobody is at fault."""
    told = flag(4, 5, Rules())
    assert (told.outcome, told.category, told.culprit) == (Outcome.VOID, "host", None)
    assert "up to 5.0 ms" in told.cause


@pytest.mark.parametrize(("own", "waited", "outcome"), [(3, 1017, Outcome.VOID), (3, 927, Outcome.WHITE)])
def test_a_wait_of_the_engine_for_a_processor_is_in_the_budget(own: int, waited: int, outcome: Outcome) -> None:
    """The engine's wait for a processor and the delay of the referee are one budget."""
    told = flag(930, own, Rules(), waited_ms=waited)
    assert (told.outcome, told.termination) == (outcome, Termination.TIME)
    assert f"engine waited up to {waited}.0 ms for a processor" in told.cause


@pytest.mark.parametrize(("waited", "outcome"), [(31_000, Outcome.VOID), (29_000, Outcome.WHITE)])
def test_an_engine_that_waited_for_half_of_the_hang_limit_has_not_hung(waited: int, outcome: Outcome) -> None:
    """A move is doubtful if the engine waited for half of the hang limit."""
    seat = Seat(Side(EngineSpec("b", ("/b",), "uci"), TimeControl.parse("nodes=1"), 50), Rules(), white=False)
    told = verdict.flag(seat, chess.Board(), Rules(), 5 * MS, 0, "late", waited_ns=waited * MS)
    assert told.outcome is outcome


def test_a_doubtful_flag_may_be_kept_as_a_loss() -> None:
    """A doubtful time loss may stay a loss, with the figures."""
    told = flag(4, 5, Rules(doubtful_flag="loss"))
    assert told.outcome is Outcome.WHITE
    assert "doubtful" in told.cause


@pytest.mark.parametrize("claim", ["1-0", "0-1", "1/2-1/2"])
def test_a_claim_before_the_first_search_is_noise(claim: str) -> None:
    """Claims before the first search are ignored; in the game they count."""
    seat = black()
    said = Message(MessageKind.RESULT, claim)
    assert verdict.by_message(seat, said, thinking=False, aborts=0) is None
    assert not seat.draw_claimed
    seat.searched = True
    told = verdict.by_message(seat, said, thinking=False, aborts=0)
    if claim == "1/2-1/2":
        assert told is None
        assert seat.draw_claimed
    else:
        assert told is not None
        assert (told.outcome, told.termination) == (
            Outcome.WHITE,
            Termination.FALSE_CLAIM if claim == "0-1" else Termination.RESIGN,
        )


def test_who_refuses_the_opening_late_has_not_lost() -> None:
    """A rejection of the opening that comes late, before the first search, is not a loss."""
    seat = black()
    said = Message(MessageKind.REFUSED_MOVE, "Illegal move: e7e5")
    told = verdict.by_message(seat, said, thinking=False, aborts=0)
    assert told is not None
    assert (told.outcome, told.category) == (Outcome.VOID, "unsupported")
    thinking = verdict.by_message(seat, said, thinking=True, aborts=0)
    assert thinking is not None
    assert (thinking.outcome, thinking.termination) == (Outcome.WHITE, Termination.FALSE_CLAIM)


@pytest.mark.parametrize(
    ("fen", "outcome"),
    [
        ("4k3/8/8/8/8/8/8/q3K3 b - - 0 1", Outcome.DRAW),
        ("4k3/8/8/8/8/8/8/q3KB2 b - - 0 1", Outcome.DRAW),
        ("4k3/8/8/8/8/8/8/b3KN2 b - - 0 1", Outcome.WHITE),
        ("4k3/8/8/8/8/8/P7/q3K3 b - - 0 1", Outcome.WHITE),
        ("4k3/8/8/p1p1p1p1/P1P1P1P1/8/8/4K3 b - - 0 1", Outcome.DRAW),
        ("8/8/8/8/8/5k2/4q3/6KR b - - 0 1", Outcome.WHITE),
    ],
)
def test_who_cannot_mate_cannot_win_by_a_flag(fen: str, outcome: Outcome) -> None:
    """An engine that cannot mate does not win on time or by an illegal move (FIDE 6.9, 7.5.5)."""
    for told in (flag(5, 0, Rules(), fen), verdict.illegal(black(), "e8e1", chess.Board(fen))):
        assert told.outcome is outcome
        assert told.culprit is not None and told.category == told.termination.value
        assert told.cause.endswith("; the opponent cannot mate") is (outcome is Outcome.DRAW)


@pytest.mark.parametrize(("moves", "outcome"), [(0, Outcome.VOID), (1, Outcome.WHITE)])
def test_a_binary_of_another_cpu_cannot_have_moved(moves: int, outcome: Outcome) -> None:
    """An illegal instruction is a failed start only before the first move."""
    seat = black()
    seat.searched, seat.clock.moves = True, moves
    told = verdict.crash(seat, "signal 4 (SIGILL)")
    assert told.outcome is outcome
    assert ("another processor" in told.cause) is not bool(moves)


@pytest.mark.parametrize(("category", "halted"), [("start-timeout", True), ("start-failure", False)])
def test_a_halt_excuses_whoever_was_too_slow_alone(category: str, *, halted: bool) -> None:
    """After a halt only a start timeout is excused, not a missing program."""
    late, other = black(), black()
    faults: dict[Seat, EngineFault] = {
        late: StartFailed("no answer", category="start-timeout"),
        other: StartFailed("exit 1", category=category),
    }
    told = verdict.start_failed(faults, "the machine was suspended")
    assert told.void
    assert (told.culprit, told.category) == ((None, "host") if halted else (late, "start-timeout"))


# A selection of misbehaving engines, the fastest; `make night` plays all of them.

QUICK = {
    "uci-segv",
    "cecp-crash",
    "uci-dies-with-a-child",
    "uci-late",
    "cecp-late",
    "uci-illegal-then-dies",
    "uci-ten-megabyte-line",
    "uci-dies-at-second-game",
    "cecp-refuses-setboard",
    "cecp-move-and-win",
    "cecp-abort",
    "uci-litters",
}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.title in QUICK], ids=title)
def test_a_tournament_with_a_misbehaving_engine(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tournament with them ends by itself with the right verdicts, and nothing is left."""
    judge(course(kind, tmp_path, monkeypatch))


def test_every_kind_has_a_name_of_its_own() -> None:
    """Each kind has a unique name, and the selection is part of the whole."""
    titles = [kind.title for kind in KINDS]
    assert len(set(titles)) == len(titles)
    assert set(titles) >= QUICK


BY_TITLE = {kind.title: kind for kind in KINDS}
HERE = Path(__file__).parents[1]


def shown(row: Row) -> list[Kind]:
    """Return the kinds that show a row; KeyError for an unknown kind."""
    titles = [
        title
        for word in row.faults.split()
        for title in ([word] if word.startswith(("uci-", "cecp-")) else [f"{protocol}-{word}" for protocol in row.on])
    ]
    return [BY_TITLE[title] for title in titles]


@pytest.mark.parametrize("row", [*TABLES, *RULES], ids=lambda row: row.words)
def test_every_row_is_shown(row: Row) -> None:
    """Each row of the table is shown by a kind in each protocol and control, or by an existing test."""
    kinds = shown(row)
    assert kinds or row.tests
    for kind in kinds:
        if row.category == "restart":
            assert kind.restarts
        elif row.category.endswith("warning"):
            assert row.category in kind.warnings
        else:
            assert (row.verdict, row.category) in kind.ends
    if kinds and row.on == ("uci", "cecp") and len(kinds) > 1:
        assert {kind.protocol for kind in kinds} == set(row.on)
    controls = {kind.tc.partition("=")[0] if "=" in kind.tc else "clock" for kind in kinds}
    assert controls >= set(row.controls)
    for test in row.tests.split():
        file, name = test.split("::")
        assert f"def {name}(" in (HERE / f"{file}.py").read_text("utf-8"), test


def test_every_kind_belongs_to_a_row() -> None:
    """Each kind belongs to a row of the table."""
    assert {kind.title for row in TABLES for kind in shown(row)} == set(BY_TITLE)
