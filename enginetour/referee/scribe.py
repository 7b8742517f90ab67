"""The record of a game, ply by ply: notation, and what each search was said to be, held against the board."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import chess

from enginetour.engines.position import Position
from enginetour.engines.wire import Thought
from enginetour.model.game import MoveMade
from enginetour.referee.claims import Claims
from enginetour.referee.clock import MS
from enginetour.referee.effort import effort
from enginetour.referee.keptlines import kept_lines
from enginetour.referee.referee_seats import Seat
from enginetour.referee.shadow import shadow_of


class RawPly(NamedTuple):
    """One ply as it was played; `search` is the engine's raw output."""

    move: chess.Move
    seat: Seat | None  # None: of the opening
    elapsed_ms: int = 0
    clock_ms: int | None = None
    search: bytes = b""
    book: bool = False  # played by us from the book of its side
    mark: str | None = None  # of check or mate at the end of its notation, where that is known
    pondered_ns: int = 0  # of the same search, before the clock ran


class Page:
    """What is written of one side."""

    def __init__(self, seat: Seat, *, usual: bool) -> None:
        spec = seat.side.spec
        self.claims = Claims(reads_pv=spec.protocol == "uci", usual=usual)
        self.is_plain = spec.protocol == "uci" and not spec.quirks.whitepov  # its searches may be read compiled
        self.moves: list[MoveMade] = []  # not those of a book
        self.pondered_ns = 0  # in searches that told nodes, before a clock ran


class Scribe:
    """Writes one game; `looks` are what is still to be looked at of PVs, piece by piece."""

    def __init__(self, position: Position, keep_lines: str = "") -> None:
        self._position = position
        self._kept = re.compile(keep_lines) if keep_lines else None
        self._shadow = shadow_of(position)
        self._quick = getattr(self._shadow, "write", None) if self._kept is None else None
        self._pages: dict[Seat | None, Page] = {}
        self.looks: deque[Iterator[None]] = deque()
        self.moves: list[MoveMade] = []

    def begin(self, *seats: Seat) -> None:
        """Whose thoughts are to come."""
        self._pages = {seat: Page(seat, usual=self._position.usual) for seat in seats}

    def write(self, raw: RawPly, gap_ns: int | None) -> None:
        """The next ply; `gap_ns` is the relay gap before it."""
        seat, uci = raw.seat, self._position.moves[len(self.moves)]
        if seat is None or raw.book:
            san = self._shadow.play(raw.move, uci, raw.mark)
            self.moves.append(MoveMade(uci, san, 0, raw.clock_ms, book=True))
            return
        page = self._pages[seat]
        move: MoveMade | None = None
        if self._quick is not None and page.is_plain and page.claims.is_quiet:
            move = self._quick(MoveMade, raw, gap_ns, uci)
        if move is None:
            move = self._patiently(raw, seat, page, gap_ns, uci)
        else:
            page.claims.passed()
        self.moves.append(move)
        page.moves.append(move)
        if raw.pondered_ns and move.nodes is not None:
            page.pondered_ns += raw.pondered_ns

    def _patiently(self, raw: RawPly, seat: Seat, page: Page, gap_ns: int | None, uci: str) -> MoveMade:
        thought = self._thought(raw, seat, page.claims)
        return MoveMade(
            uci, self._shadow.play(raw.move, uci, raw.mark), raw.elapsed_ms, raw.clock_ms,
            thought.score, thought.depth, thought.nodes, thought.pv,
            seldepth=thought.seldepth,
            nps=thought.nps,
            hashfull=thought.hashfull,
            tbhits=thought.tbhits,
            gap_us=None if gap_ns is None else gap_ns // 1000,
            lines=() if self._kept is None else kept_lines(raw.search, self._kept),
        )  # fmt: skip

    def _thought(self, raw: RawPly, seat: Seat, claims: Claims) -> Thought:
        board, white = self._shadow.board, self._shadow.turn == chess.WHITE
        thought = seat.engine.told(raw.search, white=white)
        look = claims.heard(thought, raw.move, board, raw.elapsed_ms)
        if look is not None:
            self.looks.append(look)
        if thought.bound:  # on record is what draws and resignations are judged by
            exact = seat.engine.thought(raw.search, white=white, bounds=False)
            if exact.score is not None:
                thought = thought._replace(score=exact.score, depth=exact.depth, pv=exact.pv, bound=0)
        return thought

    def effort(self, seat: Seat) -> tuple[tuple[str, int, int], ...]:
        """How hard it worked, to be averaged over a tournament."""
        page = self._pages.get(seat)
        return () if page is None else effort(page.moves, page.pondered_ns // MS)

    def broken(self, seat: Seat) -> tuple[tuple[str, int, str], ...]:
        """What it claimed and did not hold."""
        page = self._pages.get(seat)
        return () if page is None else page.claims.broken()
