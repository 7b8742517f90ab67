"""Tests of referee/tablebases: results count only where they are exact, and missing files are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import chess
import pytest

from enginetour.model.errors import MachineFailure
from enginetour.model.game import Opening, Outcome, Termination
from enginetour.model.task import Rules, TablebaseRule
from enginetour.referee import tablebases
from enginetour.referee.tablebases import TableJudge, find_tables
from tests.support.engines import game, scripted, sound
from tests.support.tournaments import config, entrant, tour

if TYPE_CHECKING:
    from chess.syzygy import Tablebase


KQK = "8/8/8/8/8/2k5/8/K6Q {} - - {} 80"


class Saying:
    """Tables that know one position."""

    def __init__(self, wdl: int | None, dtz: int | None = None) -> None:
        self.wdl, self.dtz = wdl, dtz

    def get_wdl(self, _board: chess.Board) -> int | None:
        return self.wdl

    def get_dtz(self, _board: chess.Board) -> int | None:
        return self.dtz


def said(fen: str, wdl: int | None, dtz: int | None = None, *, fifty_moves: int = 50, **rule: Any) -> Outcome | None:
    """Return the result of a position for the side to move, with these values in the tables."""
    rules = Rules(fifty=fifty_moves, tables=TablebaseRule(("/tables",), **{"pieces": 5, **rule}))
    return TableJudge(cast("Tablebase", Saying(wdl, dtz)), rules).result(chess.Board(fen))


@pytest.mark.parametrize(
    ("turn", "wdl", "expected"),
    [
        ("w", 2, Outcome.WHITE),
        ("b", 2, Outcome.BLACK),
        ("w", -2, Outcome.BLACK),
        ("b", -2, Outcome.WHITE),
        ("w", 0, Outcome.DRAW),
        ("w", 1, Outcome.DRAW),
        ("b", -1, Outcome.DRAW),
        ("w", None, None),
    ],
)
def test_right_after_a_capture_the_result_counts(turn: str, wdl: int | None, expected: Outcome | None) -> None:
    """After a capture the WDL counts; cursed wins and blessed losses are draws."""
    assert said(KQK.format(turn, 0), wdl) is expected


@pytest.mark.parametrize(("clock", "dtz", "won"), [(1, 98, True), (1, 99, False), (60, -39, True), (60, -40, False)])
def test_with_moves_on_the_counter_dtz_must_confirm(clock: int, dtz: int, won: bool) -> None:
    """With moves on the counter DTZ must confirm a win; it may be one ply too small."""
    assert said(KQK.format("w", clock), 2 if dtz > 0 else -2, dtz) == (
        (Outcome.WHITE if dtz > 0 else Outcome.BLACK) if won else None
    )


def test_without_dtz_a_win_waits_and_a_draw_does_not() -> None:
    """Without DTZ a win waits, and a draw does not."""
    assert said(KQK.format("w", 7), 2, None) is None
    assert said(KQK.format("w", 7), 0, None) is Outcome.DRAW


def test_without_the_fifty_move_rule_a_win_is_a_win() -> None:
    """Without the fifty-move rule every win is a win."""
    assert said(KQK.format("w", 90), 1, fifty=False) is Outcome.WHITE
    assert said(KQK.format("b", 90), 2, fifty=False) is Outcome.BLACK


def test_tables_know_nothing_of_a_longer_counter() -> None:
    """With `fifty = 75` a cursed win is unknown."""
    assert said(KQK.format("w", 0), 1, fifty_moves=75) is None
    assert said(KQK.format("w", 60), 2, 70, fifty_moves=75) is Outcome.WHITE


@pytest.mark.parametrize(
    ("only", "wdl", "expected"),
    [("wins", 0, None), ("wins", 1, None), ("wins", -2, Outcome.BLACK), ("draws", 2, None), ("draws", 1, Outcome.DRAW)],
)
def test_only_wins_or_only_draws(only: str, wdl: int, expected: Outcome | None) -> None:
    """With `only`, other results are played out."""
    assert said(KQK.format("w", 0), wdl, only=only) is expected


def test_no_castling_rights_and_not_more_pieces_than_asked_for() -> None:
    """Positions with castling rights or too many pieces are not adjudicated."""
    assert said("4k3/8/8/8/8/8/8/4K2R w K - 0 1", 2) is None
    assert said("4k3/8/8/8/8/8/8/4K2R w - - 0 1", 2) is Outcome.WHITE
    assert said("4k3/8/8/8/8/8/8/4K2R w - - 0 1", 2, pieces=3) is Outcome.WHITE
    assert said("4k3/8/8/8/8/8/P7/4K2R w - - 0 1", 2, pieces=3) is None


def folder_with(path: Path, *names: str, size: int = 80) -> str:
    """Return a directory of files that look like tables."""
    for name in names:
        (path / name).write_bytes(b"\0" * size)
    return str(path)


def test_missing_tables_have_names(tmp_path: Path) -> None:
    """Missing tables are listed for each number of pieces."""
    where = folder_with(tmp_path, *(f"{name}.rtbw" for name in ("KQvK", "KRvK", "KPvK", "KNvK")), "KQvK.rtbz", "x.txt")
    found = find_tables((where,))
    assert found.most == 3
    assert found.lines(3) == (
        "WDL tables for 3 pieces: 4 of 5 files; missing KBvK",
        "DTZ tables for 3 pieces: 1 of 4 files; missing KNvK, KPvK, KRvK; "
        "without them, only positions right after a capture or pawn move are adjudicated",
    )
    assert found.lines(4)[2:] == ("WDL tables for 4 pieces: 0 of 30 files; missing KBBvK, KBNvK, KBPvK and 27 more",)


def test_a_cut_file_is_no_table(tmp_path: Path) -> None:
    """A truncated file is found before game 1."""
    where = folder_with(tmp_path, "KQvK.rtbw", size=90)
    assert find_tables((where,)).damaged == (f"{where}/KQvK.rtbw",)


def test_variants_have_their_own_tables(tmp_path: Path) -> None:
    """Variants have their own tables."""
    where = folder_with(tmp_path, "KQvK.atbw", "KRvK.rtbw")
    assert find_tables((where,), "atomic").wdl == {"KQvK"}
    assert find_tables((where,), "chess960").wdl == {"KRvK"}
    assert tablebases.has_tables("antichess")
    assert not tablebases.has_tables("crazyhouse")
    assert [tablebases.example_file(variant) for variant in ("chess960", "giveaway")] == ["KQvK.rtbw", "KQvK.gtbw"]


def test_a_table_that_cannot_be_read_is_the_machines_failure(tmp_path: Path) -> None:
    """A table that cannot be read is a failure of the machine."""
    where = folder_with(tmp_path, "KQvK.rtbw")
    judge = tablebases.open_tables(Rules(tables=TablebaseRule((where,), 3)), "standard")
    assert judge is not None
    with pytest.raises(MachineFailure, match=r"a tablebase cannot be read: .*KQvK\.rtbw"):
        judge.result(chess.Board(KQK.format("w", 0)))


def of_one_value(path: Path) -> str:
    """Return a directory with a table of king and queen: "won" with the queen to move, else "lost".

    Syzygy tables with one value per side contain only flag 0x80 and the value, 4 for won and 0 for lost.
    """
    path.mkdir()
    head = bytes.fromhex("71e8235d 01 00 6655ee 00")  # "WDL", of two sides; pieces: king, queen, and the other king
    (path / "KQvK.rtbw").write_bytes((head + bytes((0x80, 4, 0x80, 0))).ljust(80, b"\0"))
    return str(path)


TAKES = "7k/8/8/3p4/8/8/8/K2Q4 w - - 0 1"  # the queen takes the pawn: three pieces, which are in the table
KNOWN_END = "White wins by adjudication: SyzygyTB"


def test_a_game_ends_where_the_tables_know_it(tmp_path: Path) -> None:
    """A game ends with the move that leads to a known position, and only with the rule."""
    tables, opening = TablebaseRule((of_one_value(tmp_path / "tables"),), 3), Opening(fen=TAKES)
    white, black = sound(moves="a1a2,d1d5"), sound("cecp", moves="h8g8")
    ended = game(white, black, opening=opening, tables=tables, max_moves=2)
    assert (ended.outcome, ended.termination) == (Outcome.WHITE, Termination.ADJUDICATION_TABLEBASE)
    assert (ended.cause, ended.plies) == (KNOWN_END, 3)
    for rule in (None, replace(tables, only="draws")):
        goes_on = game(white, sound(moves="h8g8,g8h8"), opening=opening, tables=rule, max_moves=2)
        assert (goes_on.termination, goes_on.plies) == (Termination.ADJUDICATION_LENGTH, 4)


def test_a_tournament_with_tables(tmp_path: Path) -> None:
    """`tablebases` of a configuration ends games, and the PGN says so."""
    of_one_value(tmp_path / "tables")
    (tmp_path / "results").mkdir()
    (tmp_path / "takes.epd").write_text(f"{TAKES}\n")
    specs = (scripted("uci", name="U", moves="d1d5/h8g8"), scripted("cecp", name="C", moves="d1d5/h8g8"))
    entrants = "".join(entrant(spec.name, spec.command, spec.protocol) for spec in specs)
    path = config(tmp_path, (), "match", "games = 2", entrants, tc="60")
    play = '[play]\ntablebases = { path = "tables" }\nopenings = { file = "takes.epd" }\n'
    path.write_text(path.read_text().replace("[play]\n", play))
    tour(tmp_path, "run", str(path))
    pgn = (tmp_path / "results" / "trial.pgn").read_text()
    assert pgn.count('[Result "1-0"]') == pgn.count('[Termination "adjudication"]') == pgn.count('[PlyCount "1"]') == 2
    assert " ".join(pgn.split()).count(KNOWN_END) == 2


def test_tables_are_opened_once_in_a_process(tmp_path: Path) -> None:
    """Two games of one slot share the open tables."""
    rules = Rules(tables=TablebaseRule((folder_with(tmp_path, "KQvK.rtbw"),), 3))
    first, second = (tablebases.open_tables(rules, "standard") for _ in range(2))
    assert first is not None
    assert second is not None
    assert first._tables is second._tables
