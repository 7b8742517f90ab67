"""The record of a game in progress: notation, search figures, live events, warnings about engines.

The referee adds raw plies, and runs one step of bookkeeping at a time, only while no pipe has data to read. Plies of
fast searches are collected and written together, which takes a third of the time and delays very few answers.
Spectators see such moves less than a second late.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import chess

from enginetour.engines.machine import Workload
from enginetour.engines.position import ROOM, Position, is_plainly_legal, play, play_san, written
from enginetour.engines.process import NEVER_NS
from enginetour.engines.wire import LONGEST_PV, MATE, SearchInfo, escape_text
from enginetour.interop.compiled import native
from enginetour.model.game import Incident, MoveMade, SideRecord
from enginetour.referee.clock import MS
from enginetour.referee.link import Link
from enginetour.referee.startup import WARNING_LINES, EnginePool, Seat, incident_of, search_request
from enginetour.referee.waits import EngineWaits, OwnWaits

# The search figures that an engine reports in one game, summed for averages over a tournament.

_PLACE = {name: place for place, name in enumerate(MoveMade._fields)}
_FIGURES = ("depth", "seldepth", "nodes", "nps", "hashfull", "tbhits")


def search_averages(moves: Sequence[MoveMade], pondered_ms: int = 0) -> tuple[tuple[str, int, int], ...]:
    """Return (figure, number of moves that reported it, sum) for the moves of one side.

    Figures that were never reported are omitted. `nodes_ms` is the time of the searches that reported nodes. It
    includes `pondered_ms`, the time of these searches while the opponent was thinking, because an engine counts nodes
    from `go ponder` on.
    """
    # these columns take a third of the time of a loop over moves
    columns = list(zip(*moves, strict=True)) or [()] * len(MoveMade._fields)
    reported = {name: [figure for figure in columns[_PLACE[name]] if figure is not None] for name in _FIGURES}
    spent, nodes = columns[_PLACE["elapsed_ms"]], columns[_PLACE["nodes"]]
    reported["nodes_ms"] = [ms for ms, count in zip(spent, nodes, strict=True) if count is not None]
    before = {"nodes_ms": pondered_ms}
    rows = [(name, len(figures), sum(figures) + before.get(name, 0)) for name, figures in reported.items() if figures]
    return tuple(rows)


# Lines of search output that are stored with the moves if a tester gives a pattern for them.

KEPT_LINES = 20  # maximum number of stored lines of one search
KEPT_LENGTH = 300  # only this many bytes of a line are searched and stored, so that long lines cannot make this slow


def matching_lines(search: bytes, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Return the last lines of a search's output that match the pattern, oldest first."""
    lines = (line[:KEPT_LENGTH].decode("utf-8", "replace").strip() for line in reversed(search.split(b"\n")))
    found = (escape_text(line, KEPT_LENGTH) for line in lines if line and pattern.search(line))
    return tuple(reversed(list(islice(found, KEPT_LINES))))


# Claims in an engine's search output, checked against the board and against later output (runner spec 12).
#
# kind           finding
# no-score       the engine moved without reporting a score, although it had a choice of moves
# pv-other       the last PV with an exact score does not begin with the move played
# pv-illegal     a move of the last PV is illegal (UCI only; in CECP a PV is free text)
# mate-late      the engine announced a mate in n and has not mated with its n-th move
# mate-lost      the engine announced a mate, and with its next move it announced that it is mated
#
# Findings are counted and reported. They never change a game.

_CLAIMS = ("no-score", "pv-other", "pv-illegal", "mate-late", "mate-lost")
_PV_PIECE = 8  # plies of a PV checked in one step of bookkeeping: 30 us (measured; runner spec 15)
_COORDINATES = re.compile(r"[a-h][1-8][a-h][1-8][qrbnk]?")
_NUMBER = re.compile(r"(?:\d+\.+)?")
_MATE_RANGE = 1000  # moves; a larger distance does not count as an announced mate


class SearchClaims:
    """The claims of one side in one game. `usual` is true for FIDE's rules and boards with clean castling rights."""

    def __init__(self, *, reads_pv: bool, usual: bool) -> None:
        self._reads_pv = reads_pv
        self._usual = usual
        self._due: int | None = None  # number of the engine's move that must mate at the latest, as announced
        self._moves = 0
        self._number = 0  # move number as in the PGN; after an opening or from a FEN it does not begin at 1
        self._mates = False  # True if the last score of the engine was that it mates
        self._found: dict[str, tuple[int, str]] = {}

    def heard(self, info: SearchInfo, move: chess.Move, board: chess.Board, elapsed_ms: int) -> Iterator[None] | None:
        """Check a search before its move is made on `board`. Return an iterator over the remaining checks, or None.

        The number of checked plies of a PV is the duration of the search in milliseconds. At 10 us per ply, the check
        takes 1 % of that time.
        """
        self._moves += 1
        self._number = board.fullmove_number
        if info.score is None:
            if board.legal_moves.count() > 1:
                self._tell("no-score", f"played {move.uci()} without reporting a score")
            return None
        self._mate(info.score, info.bound)
        pv = info.pv.split()
        if not pv or info.bound:  # the PV of a search that failed high or low may differ from the move
            return None
        first = move if pv[0] == move.uci() else self._first(pv, board)
        if first is not None and first != move:
            self._tell("pv-other", f"played {move.uci()}, but its last PV begins with {first.uci()}")
        if not self._reads_pv or elapsed_ms < 1:
            return None
        whole = pv if len(info.pv) < LONGEST_PV else pv[:-1]
        return self._line(whole[:elapsed_ms], board.copy(stack=False), self._number)

    @property
    def is_quiet(self) -> bool:
        """True if no claim of this side is open that its next search may contradict."""
        return not self._mates and self._due is None

    def passed(self) -> None:
        """Count a search that contains no claim to check."""
        self._moves += 1

    def _mate(self, score: int, bound: int) -> None:
        counts = MATE - _MATE_RANGE <= abs(score) <= MATE  # larger scores use a scale that only the engine defines
        mates = counts and score > 0 and bound >= 0
        if self._due is not None and self._moves > self._due:
            late = self._moves - self._due
            self._tell("mate-late", f"the announced mate is {late} move{'s' * (late != 1)} overdue")
            self._due = None
        if self._mates and counts and score < 0 and bound <= 0:
            self._tell("mate-lost", f"announced a mate, and one move later reported that it is mated in {MATE + score}")
            self._due = None
        if mates:
            due = self._moves + max(1, MATE - score) - 1
            self._due = due if self._due is None else min(due, self._due)
        self._mates = mates

    def _first(self, pv: list[str], board: chess.Board) -> chess.Move | None:
        for word in pv[:3]:  # the move may follow a number, dots or the mark of a bound
            text = _NUMBER.sub("", word, count=1)
            try:
                return board.parse_uci(text.lower()) if _COORDINATES.fullmatch(text.lower()) else board.parse_san(text)
            except ValueError:
                if self._reads_pv:
                    return None
        return None

    def _line(self, pv: list[str], board: chess.Board, number: int) -> Iterator[None]:
        for ply, word in enumerate(pv):
            if not (self._usual and _played(board, word)):
                try:
                    move = board.parse_uci(word.lower())
                    if not move:
                        raise ValueError
                except ValueError:
                    text = f"its PV contains {escape_text(word)!r}, which is illegal in {board.fen()}"
                    self._tell("pv-illegal", text, number)  # `_number` may already belong to a later search
                    return
                board.push(move)
            if ply % _PV_PIECE == _PV_PIECE - 1:
                yield

    def _tell(self, kind: str, words: str, number: int | None = None) -> None:
        count, first = self._found.get(kind, (0, f"move {self._number if number is None else number}: {words}"))
        self._found[kind] = count + 1, first

    def broken(self) -> tuple[tuple[str, int, str], ...]:
        """Return (kind, count, text of the first case) for each kind of claim that proved wrong."""
        return tuple((kind, *self._found[kind]) for kind in _CLAIMS if kind in self._found)


def _played(board: chess.Board, word: str) -> bool:
    """Play a move if a fast test shows that it is legal. Return whether it was played."""
    if len(word) != 4:
        return False
    try:
        move = written(word)
    except ValueError:
        return False
    if not is_plainly_legal(board, move):
        return False
    play(board, move)
    return True


# The board of the record: compiled if the compiled part was built, otherwise python-chess.


class _RecordBoard:
    """The position before the next ply of the record, implemented with python-chess, for all variants."""

    def __init__(self, position: Position) -> None:
        self._board = position.start_board()
        self._board.castling_rights = self._board.clean_castling_rights()
        self._usual = position.usual

    @property
    def board(self) -> chess.Board:
        """The current board, which callers must not change."""
        return self._board

    @property
    def turn(self) -> bool:
        """The side to move."""
        return self._board.turn

    def play(self, uci: str, mark: str | None) -> str:
        """Play a move and return its SAN notation. `mark` is the ``+``, ``#`` or "" at its end; None if unknown.

        This takes 4 us with FIDE's rules and 14 us otherwise (measured).
        """
        move = written(uci)
        if self._usual:
            return play_san(self._board, move, mark=mark)
        san = self._board.san(move)
        self._board.push(move)
        return san


class _CompiledBoard(_RecordBoard):
    """The position before the next ply of the record, implemented with compiled code, only for FIDE's rules."""

    def __init__(self, position: Position) -> None:
        """Raise ValueError if a side does not have exactly one king, or if no game can reach the position."""
        super().__init__(position)
        assert native is not None
        self._own = native.Board(self._board)
        self.write = self._own.write  # writes a UCI engine's ply and search; None if Python must read the search

    @property
    def board(self) -> chess.Board:
        self._own.onto(self._board)  # takes about 3 us
        return self._board

    @property
    def turn(self) -> bool:
        return bool(self._own.turn)

    def play(self, uci: str, mark: str | None) -> str:
        del mark  # calculating it in C is faster than passing it
        return str(self._own.play(uci))


def _record_board(position: Position) -> _RecordBoard:
    """Return the fastest board that supports the rules of the game."""
    if native is not None and position.usual:
        try:
            return _CompiledBoard(position)
        except ValueError:  # a position that only python-chess accepts
            pass
    return _RecordBoard(position)


# The plies of the record.


class RawPly(NamedTuple):
    """One ply of a game without its move. `search` is the raw output of the engine's search."""

    seat: Seat | None  # None for a move of the opening
    elapsed_ms: int = 0
    clock_ms: int | None = None
    search: bytes = b""
    book: bool = False  # True if the move is from the opening book of the side
    mark: str | None = None  # ``+``, ``#`` or "" at the end of the notation; None if unknown
    pondered_ns: int = 0  # time that the same search pondered before the clock was running


class _SideNotes:
    """The data that are recorded for one side."""

    def __init__(self, seat: Seat, *, usual: bool) -> None:
        spec = seat.side.spec
        self.claims = SearchClaims(reads_pv=spec.protocol == "uci", usual=usual)
        self.is_plain = spec.protocol == "uci" and not spec.quirks.whitepov  # compiled code can read such searches
        self.moves: list[MoveMade] = []  # the moves of the side, except book moves
        self.pondered_ns = 0  # pondering time of the searches that reported nodes


class PlyWriter:
    """Writer of the record of one game. `looks` contains iterators over the remaining checks of PVs."""

    def __init__(self, position: Position, keep_lines: str = "") -> None:
        self._position = position
        self._kept = re.compile(keep_lines) if keep_lines else None
        self._shadow = _record_board(position)
        self._quick = getattr(self._shadow, "write", None) if self._kept is None else None
        self._pages: dict[Seat | None, _SideNotes] = {}
        self.looks: deque[Iterator[None]] = deque()
        self.moves: list[MoveMade] = []

    def begin(self, *seats: Seat) -> None:
        """Start the record of the searches of these seats."""
        self._pages = {seat: _SideNotes(seat, usual=self._position.usual) for seat in seats}

    def write(self, raw: RawPly, gap_ns: int | None) -> None:
        """Write the next ply. `gap_ns` is the relay gap before it."""
        seat, uci = raw.seat, self._position.moves[len(self.moves)]
        if seat is None or raw.book:
            san = self._shadow.play(uci, raw.mark)
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

    def _patiently(self, raw: RawPly, seat: Seat, page: _SideNotes, gap_ns: int | None, uci: str) -> MoveMade:
        info = self._thought(raw, seat, page.claims, uci)
        return MoveMade(
            uci, self._shadow.play(uci, raw.mark), raw.elapsed_ms, raw.clock_ms,
            info.score, info.depth, info.nodes, info.pv,
            seldepth=info.seldepth,
            nps=info.nps,
            hashfull=info.hashfull,
            tbhits=info.tbhits,
            gap_us=None if gap_ns is None else gap_ns // 1000,
            lines=() if self._kept is None else matching_lines(raw.search, self._kept),
        )  # fmt: skip

    def _thought(self, raw: RawPly, seat: Seat, claims: SearchClaims, uci: str) -> SearchInfo:
        board, white = self._shadow.board, self._shadow.turn == chess.WHITE
        info = seat.engine.full_search_info(raw.search, white=white)
        look = claims.heard(info, written(uci), board, raw.elapsed_ms)
        if look is not None:
            self.looks.append(look)
        if info.bound:  # the record contains the score that draw and resign adjudication use
            exact = seat.engine.search_info(raw.search, white=white, bounds=False)
            if exact.score is not None:
                info = info._replace(score=exact.score, depth=exact.depth, pv=exact.pv, bound=0)
        return info

    def effort(self, seat: Seat) -> tuple[tuple[str, int, int], ...]:
        """Return the sums of a side's search figures, for averages over a tournament."""
        page = self._pages.get(seat)
        return () if page is None else search_averages(page.moves, page.pondered_ns // MS)

    def broken(self, seat: Seat) -> tuple[tuple[str, int, str], ...]:
        """Return (kind, count, text of the first case) for a side's claims that proved wrong."""
        page = self._pages.get(seat)
        return () if page is None else page.claims.broken()


# ns between two reports of a game that somebody watches, and of other games, for `enginetour status`. A report takes
# 0.2 ms in the scheduler's process (measured), which is much in fast games. Moves of slower games are reported at once.
LIVE_INTERVAL_NS = 500_000_000
UNWATCHED_INTERVAL_NS = 2_000_000_000


class LiveMoves:
    """The live events "moves" of one game, which begin with the first move after the opening.

    If a game ends before the first report is due, only its result is reported, because spectators cannot follow it.
    """

    def __init__(
        self,
        link: Link,
        position: Position,
        clocks: Sequence[int | None],
        *,
        watched: bool,
        hourglass: bool = False,
    ) -> None:
        """Start in the first position after the opening. `clocks` are in milliseconds, White's clock first."""
        self._link = link
        self._interval_ns = LIVE_INTERVAL_NS if watched else UNWATCHED_INTERVAL_NS
        self.next_ns = time.monotonic_ns() + self._interval_ns  # time at which the next report is allowed
        self._clocks = list(clocks)
        # sum of both hourglass clocks, which is constant: the time that one side uses is added to the other clock
        self._sand = sum(ms or 0 for ms in clocks) if hourglass else None
        self._first = self._told = len(position.moves)
        self._black_begins = position.board.turn == chess.BLACK

    def is_behind(self, moves: Sequence[MoveMade]) -> bool:
        """Return whether there are moves that have not been reported."""
        return self._told < len(moves)

    def look(self, moves: Sequence[MoveMade]) -> int:
        """Report new moves if the next report is due. Return when to call this again (CLOCK_MONOTONIC, ns)."""
        if not self.is_behind(moves):
            return NEVER_NS
        now = time.monotonic_ns()
        if now < self.next_ns:
            return self.next_ns
        self.next_ns = now + self._interval_ns
        self._tell(moves)
        return NEVER_NS

    def end(self, moves: Sequence[MoveMade]) -> None:
        """Report the last moves of a game, if earlier moves of it were reported."""
        if self._told > self._first:
            self._tell(moves)

    def _tell(self, moves: Sequence[MoveMade]) -> None:
        """Report all new moves in one event. A move costs 60 us of both processes alone, but 10 us with others."""
        events = []
        for move in moves[self._told :]:
            black = (self._told - self._first + self._black_begins) % 2
            self._clocks[black] = move.clock_ms
            if self._sand is not None:
                self._clocks[not black] = self._sand - (move.clock_ms or 0)
            self._told += 1
            events.append(
                {
                    "ply": self._told,
                    "uci": move.uci,
                    "san": move.san,
                    "score": move.score,
                    "depth": move.depth,
                    "nodes": move.nodes,
                    "pv": move.pv,
                    "elapsed_ms": move.elapsed_ms,
                    "clock_ms": move.clock_ms,
                    "clocks": list(self._clocks),
                    "at": time.time(),
                }
            )
        if events:
            self._link.tell("moves", events)


# Bookkeeping that can wait until an engine is thinking: notation, scores, live events, warnings (runner spec 4).

PATIENCE_NS = 1_000_000  # ns from the start of a search to bookkeeping, so that faster answers are not delayed
HELD_NS = 500_000_000  # ns; maximum time that plies are collected before they are written
STEP_PLIES = 8 if native else 1  # plies per step; in both cases a step takes 30 us (measured; runner spec 15)
HELD_PLIES = 63  # maximum number of collected plies; odd, so that the delays are shared by both sides


class Record:
    """The record of one game in progress. It uses a second board, which follows the board of the game."""

    def __init__(
        self, position: Position, link: Link, pool: EnginePool, keep_lines: str = "", *, watched: bool
    ) -> None:
        self._position = position
        self._scribe = PlyWriter(position, keep_lines)
        self._is_watched = watched
        self.moves = self._scribe.moves
        self._link = link
        self._pool = pool
        self.raw: deque[tuple[RawPly, int | None]] = deque()  # collected plies, each with the relay gap before it in ns
        self._looks = self._scribe.looks
        self._since_ns = 0  # CLOCK_MONOTONIC time since which plies are being collected; 0 if there are none
        self._gap: int | None = None  # relay gap before the current search, in ns
        self._seats: tuple[Seat, ...] = ()
        self._used: dict[Seat, int | None] = {}  # processor time of the engine before the game, in ms
        self._spent: dict[Seat, int] = {}  # processor time of the engine during the game, in ms
        self._queued: dict[
            Seat, float | None
        ] = {}  # time that the engine waited for a processor during the game, in ms
        self.incidents: list[Incident] = []
        self.gaps: list[int] = []
        self._queue = OwnWaits()
        self.workload = Workload()
        self._waited = b""  # the kernel's figures for the waits of this process, at the start of the current search
        # the side that is thinking and the other side, if the next step must serve their engines
        self._asked: tuple[Seat, Seat] | None = None
        self._live: LiveMoves | None = None
        self.due_ns = NEVER_NS  # CLOCK_MONOTONIC time of the next step
        self._crowd = self._compiled = (0, 0)  # numbers of measured moves of this game and of moves with a long wait
        self._watched: Seat | None = None  # the seat whose memory will be measured next

    def begin(self, *seats: Seat) -> None:
        """Start to record the warnings, processor time and memory of these seats. No clock may be running yet."""
        self._seats = seats
        clocks, hourglass = [seat.clock.rest_ms for seat in seats], all(seat.clock.tc.hourglass for seat in seats)
        self._live = LiveMoves(self._link, self._position, clocks, watched=self._is_watched, hourglass=hourglass)
        for seat in seats:
            seat.look()
            if seat.present is not None:
                process = seat.present.process
                seat.waits = EngineWaits(process.engine_pid, process.family)
        self._used = {seat: seat.cpu_ms(whole=False) for seat in seats}
        self._scribe.begin(*seats)

    def enter(self, ply: RawPly) -> None:
        """Store a ply for a later step."""
        if ply.seat is not None and not ply.book and (pondered := ply.seat.engine.pondered_ns):
            ply = ply._replace(pondered_ns=pondered)
        self.raw.append((ply, self._gap))
        self._gap = None

    def relayed(self, gap_ns: int) -> None:
        """Record that `gap_ns` passed between an answer and the opponent's `go`."""
        self.gaps.append(gap_ns)
        self._gap = gap_ns

    def search_begun(self, seat: Seat, other: Seat, go_ns: int) -> None:
        """Record that a search of `seat` began at `go_ns` (CLOCK_MONOTONIC). `other` may ponder meanwhile."""
        self._waited = self._queue.look()
        if seat.waits is not None:
            seat.waits.mark(go_ns)
        self.count_waits()
        self._plan(seat, other, go_ns)

    def search_goes_on(self, seat: Seat, other: Seat, go_ns: int, waited: bytes, gap_ns: int | None) -> None:
        """Record a search that compiled code began. `waited` and `gap_ns` were measured by compiled code."""
        self._waited, self._gap = waited, gap_ns
        self._plan(seat, other, go_ns)

    def count_waits(self, compiled: tuple[int, int] | None = None) -> None:
        """Count long waits for a processor. `compiled` are the counts of compiled code in this game so far."""
        self._compiled = compiled or self._compiled
        queues = [seat.waits for seat in self._seats if seat.waits is not None]
        marks = self._compiled[0] + sum(queue.marks for queue in queues)
        long = self._compiled[1] + sum(queue.long for queue in queues)
        counted, self._crowd = self._crowd, (marks, long)
        if event := self._pool.shortage.add(marks - counted[0], long - counted[1]):
            self._link.tell("crowd", event)

    def terms(self) -> tuple[int, int, int, bool, int]:
        """Return the data that compiled code needs to decide when bookkeeping is due.

        These are: the number of collected plies, the milliseconds of the last one, the time since which they are
        collected, whether other work is urgent, and when live events are due (0: there are none, 1: now).
        """
        last = self.raw[-1][0].elapsed_ms if self.raw else 0
        behind = self._live.next_ns if self._live is not None and self._live.is_behind(self.moves) else 0
        urgent = self._asked is not None or self._watched is not None
        return len(self.raw), last, self._since_ns, urgent, 1 if self._looks else behind

    def work(self, stirs: Callable[[], bool]) -> None:
        """Run the steps that are due. Stop when `stirs` returns True because there is input to read."""
        if self.raw:
            self._since_ns = self._since_ns or 1  # if this is interrupted, the remaining plies are due at once
        self.due_ns = 0
        while self.due_ns <= time.monotonic_ns():
            self.step()
            if stirs():
                return

    def _plan(self, seat: Seat, other: Seat, go_ns: int) -> None:
        if other.side.spec.ponder or seat.engine.new_notes or other.engine.new_notes or self._position.is_long(ROOM):
            self._asked = seat, other
            self.due_ns = go_ns
        elif self._pending:  # many plies are written at once, although the answer may arrive before this is finished
            self.due_ns = go_ns if len(self.raw) >= HELD_PLIES else self._held_until(go_ns)
        elif self._live is not None and self._live.is_behind(self.moves):
            self.due_ns = max(go_ns + PATIENCE_NS, self._live.next_ns)

    def _held_until(self, go_ns: int) -> int:
        """Return when to write the collected plies if they are few. In a slow game this is soon."""
        soon = go_ns + PATIENCE_NS
        if not self.raw or self.raw[-1][0].elapsed_ms * MS >= HELD_NS:
            return soon
        self._since_ns = self._since_ns or go_ns
        return max(soon, self._since_ns + HELD_NS)

    @property
    def _pending(self) -> bool:
        return self._asked is not None or bool(self.raw) or bool(self._looks) or self._watched is not None

    def step(self) -> None:
        """Do one step of bookkeeping: some plies, or other work of similar length. After the last, report moves."""
        if self._asked is not None:
            seat, other = self._asked
            self._asked = None
            if other.side.spec.ponder:
                other.engine.ponder(search_request(self._position, other, seat))
            self._position.shorten(ROOM)
            self._warnings()
        elif self.raw:
            for _ in range(min(STEP_PLIES, len(self.raw))):
                self._scribe.write(*self.raw.popleft())
            if not self.raw:
                self._since_ns = 0
        elif self._looks:
            if next(self._looks[0], self) is self:
                self._looks.popleft()
        elif self._watched is not None:
            self._watched.look()
            self._watched = None
        if not self._pending:
            self.due_ns = NEVER_NS if self._live is None else self._live.look(self.moves)

    @property
    def queue_fd(self) -> int:
        """The descriptor of the kernel's file on the waits of this process for a CPU, or -1 without such a file."""
        return -1 if self._queue.file is None else self._queue.file

    def watch(self, seat: Seat) -> None:
        """Measure the memory of a side's engine in the next step."""
        self._watched = seat
        self.due_ns = 0

    def waited_now(self) -> int:
        """Return how many ns this process has waited for a CPU since the current search began."""
        return self._queue.waited_ns(self._queue.look()) - self._queue.waited_ns(self._waited)

    def close(self) -> None:
        """Do all remaining work. No engine may be thinking."""
        self._asked = None
        while self._pending:
            self.step()
        if self._live is not None:
            self._live.end(self.moves)
        self._warnings()
        for seat, begun in self._used.items():
            now = seat.cpu_ms()
            if now is not None and begun is not None:
                self._spent[seat] = max(0, now - begun)  # negative values occur, because the two clocks differ slightly
            self._queued[seat] = None if seat.waits is None else seat.waits.of_game_ms()

    def release(self) -> None:
        """Close the files. No step may be done afterwards."""
        self._queue.close()
        for seat in self._seats:
            if seat.waits is not None:
                seat.waits.close()

    def _warnings(self) -> None:
        for seat in self._seats:
            engine = seat.present
            while engine is not None and engine.new_notes:
                kind, words = engine.new_notes.pop(0)
                seat.warnings.append(f"{kind}: {words}")
                if (seat.name, kind) not in self._pool.warned:
                    self._pool.warned.add((seat.name, kind))
                    cause = f"{kind}: {words}"
                    ply = len(self._position.moves)
                    self.incidents.append(incident_of(seat, "protocol-warning", cause, ply, WARNING_LINES))

    def side_record(self, seat: Seat) -> SideRecord:
        """Return the record of one side for the `Game`."""
        clock = seat.clock
        return SideRecord(
            own_name=seat.present.own_name if seat.present is not None else "",
            moves=clock.moves,
            think_ms=clock.total_ms,
            longest_ms=clock.longest_ms,
            least_clock_ms=clock.least_ms,
            margin_uses=clock.margin_uses,
            warnings=tuple(seat.warnings),
            cpu_ms=self._spent.get(seat),
            speed=seat.side.speed,
            effort=self._scribe.effort(seat),
            claims=self._scribe.broken(seat),
            ponders=seat.present.ponders if seat.present is not None else None,
            ponder_hits=seat.present.ponder_hits if seat.present is not None else None,
            waited_ms=None if (waited := self._queued.get(seat)) is None else round(waited),
        )

    def relay_us(self) -> tuple[int, int, int] | None:
        """Return median, 99th percentile and maximum of the relay gaps in us, or None if no ply was relayed."""
        if not self.gaps:
            return None
        gaps = sorted(self.gaps)
        ranks = (len(gaps) // 2, min(len(gaps) - 1, len(gaps) * 99 // 100), len(gaps) - 1)
        median, high, largest = (gaps[rank] // 1000 for rank in ranks)
        return median, high, largest
