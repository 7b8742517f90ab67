"""Syzygy tables: what they say counts only where it is exact, and what is missing has a name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import chess
import pytest

from enginetour import tablebases
from enginetour.errors import MachineFailure
from enginetour.model import Outcome
from enginetour.tablebases import TableJudge, found_in
from enginetour.task import Rules, TableRule

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
    """The result of a position of which the tables say this, for the side to move."""
    rules = Rules(fifty=fifty_moves, tables=TableRule(("/tables",), **{"pieces": 5, **rule}))
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
    """Cursed wins and blessed losses are draws."""
    assert said(KQK.format(turn, 0), wdl) is expected


@pytest.mark.parametrize(("clock", "dtz", "won"), [(1, 98, True), (1, 99, False), (60, -39, True), (60, -40, False)])
def test_with_moves_on_the_counter_dtz_must_confirm(clock: int, dtz: int, won: bool) -> None:
    """The last ply before the hundredth is not trusted, for DTZ may be one too small."""
    assert said(KQK.format("w", clock), 2 if dtz > 0 else -2, dtz) == (
        (Outcome.WHITE if dtz > 0 else Outcome.BLACK) if won else None
    )


def test_without_dtz_a_win_waits_and_a_draw_does_not() -> None:
    """More moves on the counter make no draw a win."""
    assert said(KQK.format("w", 7), 2, None) is None
    assert said(KQK.format("w", 7), 0, None) is Outcome.DRAW


def test_without_the_fifty_move_rule_a_win_is_a_win() -> None:
    """Cursed ones too, whatever the counter says."""
    assert said(KQK.format("w", 90), 1, fifty=False) is Outcome.WHITE
    assert said(KQK.format("b", 90), 2, fifty=False) is Outcome.BLACK


def test_tables_know_nothing_of_a_longer_counter() -> None:
    """With `fifty = 75` of the board a cursed win may be one."""
    assert said(KQK.format("w", 0), 1, fifty_moves=75) is None
    assert said(KQK.format("w", 60), 2, 70, fifty_moves=75) is Outcome.WHITE


@pytest.mark.parametrize(
    ("only", "wdl", "expected"),
    [("wins", 0, None), ("wins", 1, None), ("wins", -2, Outcome.BLACK), ("draws", 2, None), ("draws", 1, Outcome.DRAW)],
)
def test_only_wins_or_only_draws(only: str, wdl: int, expected: Outcome | None) -> None:
    """What is not asked for is played out."""
    assert said(KQK.format("w", 0), wdl, only=only) is expected


def test_no_castling_rights_and_not_more_pieces_than_asked_for() -> None:
    """Tables know neither."""
    assert said("4k3/8/8/8/8/8/8/4K2R w K - 0 1", 2) is None
    assert said("4k3/8/8/8/8/8/8/4K2R w - - 0 1", 2) is Outcome.WHITE
    assert said("4k3/8/8/8/8/8/8/4K2R w - - 0 1", 2, pieces=3) is Outcome.WHITE
    assert said("4k3/8/8/8/8/8/P7/4K2R w - - 0 1", 2, pieces=3) is None


def folder_with(path: Path, *names: str, size: int = 80) -> str:
    """A folder of files that look like tables."""
    for name in names:
        (path / name).write_bytes(b"\0" * size)
    return str(path)


def test_missing_tables_have_names(tmp_path: Path) -> None:
    """Of each number of pieces how many there are, the first that are missing, and what lacks without DTZ."""
    where = folder_with(tmp_path, *(f"{name}.rtbw" for name in ("KQvK", "KRvK", "KPvK", "KNvK")), "KQvK.rtbz", "x.txt")
    found = found_in((where,))
    assert found.most == 3
    assert found.lines(3) == (
        "WDL tables for 3 pieces: 4 of 5 files; missing KBvK",
        "DTZ tables for 3 pieces: 1 of 4 files; missing KNvK, KPvK, KRvK; "
        "of these only positions right after a capture or pawn move are judged",
    )
    assert found.lines(4)[2:] == ("WDL tables for 4 pieces: 0 of 30 files; missing KBBvK, KBNvK, KBPvK and 27 more",)


def test_a_cut_file_is_no_table(tmp_path: Path) -> None:
    """A download that broke off is found before game 1."""
    where = folder_with(tmp_path, "KQvK.rtbw", size=90)
    assert found_in((where,)).damaged == (f"{where}/KQvK.rtbw",)


def test_variants_have_their_own_tables(tmp_path: Path) -> None:
    """Tables of atomic chess are none of chess."""
    where = folder_with(tmp_path, "KQvK.atbw", "KRvK.rtbw")
    assert found_in((where,), "atomic").wdl == {"KQvK"}
    assert found_in((where,), "chess960").wdl == {"KRvK"}
    assert tablebases.is_known("antichess")
    assert not tablebases.is_known("crazyhouse")


def test_a_table_that_cannot_be_read_is_the_machines_failure(tmp_path: Path) -> None:
    """Neither engine has lost a game in which a table is no table."""
    where = folder_with(tmp_path, "KQvK.rtbw")
    judge = tablebases.opened(Rules(tables=TableRule((where,), 3)), "standard")
    assert judge is not None
    with pytest.raises(MachineFailure, match=r"a tablebase cannot be read: .*KQvK\.rtbw"):
        judge.result(chess.Board(KQK.format("w", 0)))


def test_tables_are_opened_once_in_a_process(tmp_path: Path) -> None:
    """Two games of one slot share them."""
    rules = Rules(tables=TableRule((folder_with(tmp_path, "KQvK.rtbw"),), 3))
    first, second = (tablebases.opened(rules, "standard") for _ in range(2))
    assert first is not None
    assert second is not None
    assert first._tables is second._tables
