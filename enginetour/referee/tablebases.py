"""Syzygy endgame tablebases: find the files, and look up the result of a position with python-chess.

WDL tables contain the result of a position right after a capture or pawn move. After further moves, DTZ tables show
whether a won position is still won under the fifty-move rule. Source: https://syzygy-tables.info/metrics, and the
documentation of python-chess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginetour.model.errors import MachineFailure
from enginetour.model.game import Outcome
from enginetour.model.task import Rules
from enginetour.model.variants import STANDARD, board_of

if TYPE_CHECKING:
    import chess  # not imported at run time, because finding table files needs no board
    from chess.syzygy import Tablebase


FEWEST_PIECES = 3
# The size of a table in bytes is a multiple of 64 plus 16 for the checksum (Syzygy format; same test as python-chess).
_TAIL, _BLOCK = 16, 64
_FIFTY = 50  # moves; the tables assume the fifty-move rule


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Names of the tables in some directories, for example ``KQvK``.

    `damaged` contains the paths of files whose size is not that of a table.
    """

    wdl: frozenset[str]
    dtz: frozenset[str]
    damaged: tuple[str, ...]
    one_king: bool = True

    @property
    def most(self) -> int:
        """The number of pieces of the largest table, or 0 without tables."""
        return max((len(name) - 1 for name in self.wdl), default=0)

    def lines(self, pieces: int) -> tuple[str, ...]:
        """Return lines of text about existing and missing tables for up to `pieces` pieces."""
        from chess.syzygy import tablenames

        wanted: dict[int, list[str]] = {count: [] for count in range(FEWEST_PIECES, pieces + 1)}
        for name in sorted(set(tablenames(one_king=self.one_king, piece_count=pieces))):
            wanted.setdefault(len(name) - 1, []).append(name)
        lines = []
        for count, names in sorted(wanted.items()):
            known = [name for name in names if name in self.wdl]
            lines.append(_counted("WDL", count, names, self.wdl))
            if not set(known) <= self.dtz:
                lines.append(_counted("DTZ", count, known, self.dtz) + _WITHOUT_DTZ)
        return tuple(lines)


_WITHOUT_DTZ = "; without them, only positions right after a capture or pawn move are adjudicated"
_MOST_NAMED = 3


def _counted(kind: str, pieces: int, names: Sequence[str], there: frozenset[str]) -> str:
    missing = [name for name in names if name not in there]
    line = f"{kind} tables for {pieces} pieces: {len(names) - len(missing)} of {len(names)} files"
    more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    return f"{line}; missing {', '.join(missing[:_MOST_NAMED])}{more}" if missing else line


def has_tables(variant: str) -> bool:
    """Return whether Syzygy tables exist for a variant."""
    return type(board_of(variant)).tbw_suffix is not None


def example_file(variant: str) -> str:
    """Return an example of the name of a table file of the variant."""
    return f"KQvK{type(board_of(variant)).tbw_suffix}"


def find_tables(folders: Iterable[str], variant: str = STANDARD) -> TableFiles:
    """Find the tables of a variant in directories. Raises OSError if a directory cannot be read."""
    from chess.syzygy import is_tablename

    board: Any = type(board_of(variant))
    kinds: dict[str | None, set[str]] = {board.tbw_suffix: set(), board.tbz_suffix: set()}
    pawnless = {board.pawnless_tbw_suffix: board.tbw_suffix, board.pawnless_tbz_suffix: board.tbz_suffix}
    damaged = []
    for folder in folders:
        for path in sorted(Path(folder).iterdir()):
            suffix = path.suffix if path.suffix in kinds or "P" in path.stem else pawnless.get(path.suffix)
            if suffix not in kinds or suffix is None or not is_tablename(path.stem, one_king=board.one_king):
                continue
            if path.stat().st_size % _BLOCK != _TAIL:
                damaged.append(str(path))
            else:
                kinds[suffix].add(path.stem)
    wdl, dtz = (frozenset(kinds[suffix]) for suffix in (board.tbw_suffix, board.tbz_suffix))
    return TableFiles(wdl, dtz, tuple(damaged), board.one_king)


@lru_cache(maxsize=4)  # a slot plays one tournament, so it needs one set of tables
def _opened(folders: tuple[str, ...], variant: str) -> Tablebase:
    from chess.syzygy import Tablebase

    tables = Tablebase(VariantBoard=type(board_of(variant)))
    for folder in folders:
        tables.add_directory(folder)
    return tables


def open_tables(rules: Rules, variant: str) -> TableJudge | None:
    """Return the tables for a game, or None if the rules do not use tables. Each process opens tables only once.

    Raises MachineFailure if the tables cannot be read.
    """
    if rules.tables is None:
        return None
    with _reading():
        return TableJudge(_opened(rules.tables.folders, variant), rules)


@contextmanager
def _reading() -> Iterator[None]:
    """Convert read errors to MachineFailure. They are failures, because the tables were checked before the start."""
    try:
        yield
    except OSError as error:
        why = f"{error.filename}: {error.strerror}" if error.strerror else str(error)
        raise MachineFailure(f"a tablebase cannot be read: {why}") from None


class TableJudge:
    """The tables as used in one game with its rules."""

    def __init__(self, tables: Tablebase, rules: Rules) -> None:
        assert rules.tables is not None
        self._tables = tables
        self._rule = rules.tables
        self._own_fifty = rules.fifty

    def result(self, board: chess.Board) -> Outcome | None:
        """Return the result with best play, or None if the tables do not contain it or the rule excludes it."""
        rule = self._rule
        if board.castling_rights or board.occupied.bit_count() > rule.pieces:
            return None
        with _reading():
            value = self._value(board)
        if value is None or (rule.only == "draws" and value) or (rule.only == "wins" and not value):
            return None
        if not value:
            return Outcome.DRAW
        return Outcome.WHITE if (value > 0) == board.turn else Outcome.BLACK

    def _value(self, board: chess.Board) -> int | None:
        wdl = self._tables.get_wdl(board)
        if wdl is None or wdl == 0:
            return wdl
        if not self._rule.fifty:
            return 1 if wdl > 0 else -1
        if abs(wdl) == 1:  # cursed win or blessed loss: a draw for 50 moves, unknown for other limits of the tournament
            return 0 if self._own_fifty == _FIFTY else None
        if board.halfmove_clock == 0:
            return wdl // 2
        dtz = self._tables.get_dtz(board)
        # DTZ may be one ply too small, so positions at the limit are not adjudicated.
        if dtz is None or abs(dtz) + board.halfmove_clock >= 2 * self._own_fifty:
            return None
        return wdl // 2
