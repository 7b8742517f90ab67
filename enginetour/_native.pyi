from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import chess

Move = TypeVar("Move", bound=tuple[Any, ...])

INTERFACE: int

def usual_games(text: bytes, names: Mapping[bytes, int]) -> tuple[bytes, bytes, bytes] | None:
    """Return White, Black (C integers) and results (bytes) of all games, or None if Python must read the text."""

class Board:
    """A position by FIDE's rules, Chess960 among them; moves are UCI, king takes rook where ranks are shuffled.

    `is_legal`, `can_move`, `in_check` are what the relay goes by: the laws hold them against python-chess.
    """

    def __init__(self, board: chess.Board) -> None: ...
    @property
    def turn(self) -> bool: ...
    def play(self, uci: str) -> str: ...
    def onto(self, board: chess.Board) -> None: ...
    def is_legal(self, uci: str) -> bool: ...
    def can_move(self) -> bool: ...
    def in_check(self) -> bool: ...
    def write(self, kind: type[Move], raw: tuple[Any, ...], gap_ns: int | None, uci: str) -> Move | None: ...

class Relay:
    """Two engines and a game under way: `enginetour.referee.relay` says what each word means."""

    def __init__(
        self,
        moves: list[str],
        enter: Callable[[Any], None],
        gap: Callable[[int], None],
        raw: type,
        halts: object,
        judge: Callable[..., Any] | None,
        own_stat: int,
        repetition: int,
        halfmoves: int,
        most_plies: int,
        longest_line: int,
    ) -> None: ...
    def seat(
        self,
        white: bool,
        seat: object,
        stdin: int,
        stdout: int,
        traffic: Callable[[bytes], None],
        limits: bytes,
        threads: list[int],
    ) -> None: ...
    def watch(self, others: tuple[tuple[int, int, str], ...]) -> None: ...
    def clock(
        self,
        white: bool,
        rest: int,
        increment: int,
        margin: int,
        to_go: int,
        fixed: int,
        limit: int,
        least: int,
        longest: int,
    ) -> None: ...
    def take(
        self,
        board: chess.Board,
        line: bytes,
        words_begun: bool,
        plies: int,
        anchor: int,
        begun_at: int,
        seen: dict[tuple[object, ...], int],
        answered_ns: int,
    ) -> bool: ...
    def run(
        self,
        held: int,
        last_elapsed: int,
        since: int,
        urgent: bool,
        live: int,
        look_black: int,
        look_white: int,
        quick: int,
    ) -> int: ...
    def turn(self) -> bool: ...
    def stirs(self) -> bool: ...
    def crowd(self) -> tuple[int, int]: ...
    def give(self, board: chess.Board) -> tuple[bytes, bool, int, dict[tuple[object, ...], int]]: ...
    def clocked(self, white: bool) -> tuple[int, int, int, int, int, int, int, int, int, list[bytes], int]: ...
    def ply(
        self,
    ) -> tuple[bool, bytes, int, int, int, int, int, bytes, int, int, int, bytes | None, Any]: ...
