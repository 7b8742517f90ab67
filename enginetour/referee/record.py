"""The record of a game in progress: notation, search figures, live events, engine warnings (bookkeeping).

The referee puts raw plies in and takes one step at a time, only while no pipe has anything to read. Plies of quick
searches wait for each other: nearly none that is answered at once is kept waiting by it, and many plies in a row
cost a third of as many that are written one by one between two switches to another process. No spectator sees that a
move is a quarter of a second old.
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
from enginetour.engines.position import ROOM, Position, is_plainly_legal, play, written
from enginetour.engines.process import NEVER_NS
from enginetour.engines.wire import LONGEST_PV, MATE, SearchInfo, escape_text
from enginetour.model.game import Incident, MoveMade, SideRecord
from enginetour.referee.clock import MS
from enginetour.referee.compiled import native, record_board
from enginetour.referee.link import Link
from enginetour.referee.startup import WARNING_LINES, EnginePool, Seat, incident_of, search_request
from enginetour.referee.waits import EngineWaits, OwnWaits

# How hard an engine worked in one game, as it told it: sums to be averaged over a tournament.

_PLACE = {name: place for place, name in enumerate(MoveMade._fields)}
_FIGURES = ("depth", "seldepth", "nodes", "nps", "hashfull", "tbhits")


def search_averages(moves: Sequence[MoveMade], pondered_ms: int = 0) -> tuple[tuple[str, int, int], ...]:
    """(figure, moves that told it, their sum) over one side's own moves; what none told is left out.

    `nodes_ms` is the time of the searches that told their nodes, with the part of it that was the opponent's,
    `pondered_ms`: an engine counts nodes from `go ponder` on.
    """
    columns = list(zip(*moves, strict=True)) or [()] * len(MoveMade._fields)  # a third of the time of move by move
    told = {name: [figure for figure in columns[_PLACE[name]] if figure is not None] for name in _FIGURES}
    spent, nodes = columns[_PLACE["elapsed_ms"]], columns[_PLACE["nodes"]]
    told["nodes_ms"] = [ms for ms, count in zip(spent, nodes, strict=True) if count is not None]
    before = {"nodes_ms": pondered_ms}
    return tuple((name, len(figures), sum(figures) + before.get(name, 0)) for name, figures in told.items() if figures)


# Lines of an engine's output that a tester wants to keep with its moves.

KEPT_LINES = 20  # of one search that match a pattern: a record is no log
KEPT_LENGTH = 300  # bytes of such a line, and all the pattern is tried on: no engine can make a search for it long


def matching_lines(search: bytes, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """The last lines of a search's output in which the pattern is found, oldest first."""
    lines = (line[:KEPT_LENGTH].decode("utf-8", "replace").strip() for line in reversed(search.split(b"\n")))
    found = (escape_text(line, KEPT_LENGTH) for line in lines if line and pattern.search(line))
    return tuple(reversed(list(islice(found, KEPT_LINES))))


# What an engine says about its own search, held against the board and against its next words (runner spec 12).
#
# kind           what was found
# no-score       a move without any scored line, where it had a choice
# pv-other       its last PV, of a score that is no bound, does not begin with the move it played
# pv-illegal     a move of its last PV cannot be played (UCI only: in CECP a PV is free text)
# mate-late      it said mate in n and had not mated with its n-th move
# mate-lost      it said that it mates, and with its next move that it is mated
#
# Counted and told, never a verdict: none of it changes a game.

_CLAIMS = ("no-score", "pv-other", "pv-illegal", "mate-late", "mate-lost")
_PV_PIECE = 8  # plies of a PV looked at in one step: 30 us (measured), a step of bookkeeping (runner spec 15)
_COORDINATES = re.compile(r"[a-h][1-8][a-h][1-8][qrbnk]?")
_NUMBER = re.compile(r"(?:\d+\.+)?")
_MATE_RANGE = 1000  # moves; farther ones are no distances any engine has seen


class SearchClaims:
    """The claims of one side in one game; `usual`: FIDE's rules hold, and the boards' castling rights are clean."""

    def __init__(self, *, reads_pv: bool, usual: bool) -> None:
        self._reads_pv = reads_pv
        self._usual = usual
        self._due: int | None = None  # number of the own move by which a promised mate is on the board
        self._moves = 0
        self._number = 0  # of the move, as the PGN has it: openings and positions begin anywhere
        self._mates = False  # its last score was a mate of its own
        self._found: dict[str, tuple[int, str]] = {}

    def heard(
        self, thought: SearchInfo, move: chess.Move, board: chess.Board, elapsed_ms: int
    ) -> Iterator[None] | None:
        """Look at a search whose move is about to be made on `board`; what is left to look at piece by piece.

        Of a PV as many plies are looked at as the search took milliseconds: 10 us a ply are 1 % of the time then.
        """
        self._moves += 1
        self._number = board.fullmove_number
        if thought.score is None:
            if board.legal_moves.count() > 1:
                self._tell("no-score", f"played {move.uci()} without any scored line")
            return None
        self._mate(thought.score, thought.bound)
        pv = thought.pv.split()
        if not pv or thought.bound:  # that of a search that failed: it leads nowhere
            return None
        first = move if pv[0] == move.uci() else self._first(pv, board)
        if first is not None and first != move:
            self._tell("pv-other", f"played {move.uci()}, and its last PV begins with {first.uci()}")
        if not self._reads_pv or elapsed_ms < 1:
            return None
        whole = pv if len(thought.pv) < LONGEST_PV else pv[:-1]
        return self._line(whole[:elapsed_ms], board.copy(stack=False), self._number)

    @property
    def is_quiet(self) -> bool:
        """Nothing was promised that the next search might break."""
        return not self._mates and self._due is None

    def passed(self) -> None:
        """A search of whose score and PV there is nothing to tell, after others that were quiet."""
        self._moves += 1

    def _mate(self, score: int, bound: int) -> None:
        counts = MATE - _MATE_RANGE <= abs(score) <= MATE  # beyond it engines have scales of their own
        mates = counts and score > 0 and bound >= 0
        if self._due is not None and self._moves > self._due:
            late = self._moves - self._due
            self._tell("mate-late", f"had not mated {late} move{'s' * (late != 1)} after it should have")
            self._due = None
        if self._mates and counts and score < 0 and bound <= 0:
            self._tell("mate-lost", f"said mate, and a move later that it is mated in {MATE + score}")
            self._due = None
        if mates:
            due = self._moves + max(1, MATE - score) - 1
            self._due = due if self._due is None else min(due, self._due)
        self._mates = mates

    def _first(self, pv: list[str], board: chess.Board) -> chess.Move | None:
        for word in pv[:3]:  # a number, dots, a mark of a bound may stand before it
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
                    words = f"its PV goes on with {escape_text(word)!r}, illegal at {board.fen()}"
                    self._tell("pv-illegal", words, number)  # other searches were heard since
                    return
                board.push(move)
            if ply % _PV_PIECE == _PV_PIECE - 1:
                yield

    def _tell(self, kind: str, words: str, number: int | None = None) -> None:
        count, first = self._found.get(kind, (0, f"move {self._number if number is None else number}: {words}"))
        self._found[kind] = count + 1, first

    def broken(self) -> tuple[tuple[str, int, str], ...]:
        """(kind, how often, words of the first) of what did not hold."""
        return tuple((kind, *self._found[kind]) for kind in _CLAIMS if kind in self._found)


def _played(board: chess.Board, word: str) -> bool:
    """Whether that is a move of which it is soon seen that it is legal; it is played then."""
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


class _SideNotes:
    """What is written of one side."""

    def __init__(self, seat: Seat, *, usual: bool) -> None:
        spec = seat.side.spec
        self.claims = SearchClaims(reads_pv=spec.protocol == "uci", usual=usual)
        self.is_plain = spec.protocol == "uci" and not spec.quirks.whitepov  # its searches may be read compiled
        self.moves: list[MoveMade] = []  # not those of a book
        self.pondered_ns = 0  # in searches that told nodes, before a clock ran


class PlyWriter:
    """Writes one game; `looks` are what is still to be looked at of PVs, piece by piece."""

    def __init__(self, position: Position, keep_lines: str = "") -> None:
        self._position = position
        self._kept = re.compile(keep_lines) if keep_lines else None
        self._shadow = record_board(position)
        self._quick = getattr(self._shadow, "write", None) if self._kept is None else None
        self._pages: dict[Seat | None, _SideNotes] = {}
        self.looks: deque[Iterator[None]] = deque()
        self.moves: list[MoveMade] = []

    def begin(self, *seats: Seat) -> None:
        """Whose thoughts are to come."""
        self._pages = {seat: _SideNotes(seat, usual=self._position.usual) for seat in seats}

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

    def _patiently(self, raw: RawPly, seat: Seat, page: _SideNotes, gap_ns: int | None, uci: str) -> MoveMade:
        thought = self._thought(raw, seat, page.claims)
        return MoveMade(
            uci, self._shadow.play(raw.move, uci, raw.mark), raw.elapsed_ms, raw.clock_ms,
            thought.score, thought.depth, thought.nodes, thought.pv,
            seldepth=thought.seldepth,
            nps=thought.nps,
            hashfull=thought.hashfull,
            tbhits=thought.tbhits,
            gap_us=None if gap_ns is None else gap_ns // 1000,
            lines=() if self._kept is None else matching_lines(raw.search, self._kept),
        )  # fmt: skip

    def _thought(self, raw: RawPly, seat: Seat, claims: SearchClaims) -> SearchInfo:
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
        return () if page is None else search_averages(page.moves, page.pondered_ns // MS)

    def broken(self, seat: Seat) -> tuple[tuple[str, int, str], ...]:
        """What it claimed and did not hold."""
        page = self._pages.get(seat)
        return () if page is None else page.claims.broken()


LIVE_INTERVAL_NS = 100_000_000  # between two tellings: ten a second are as many as anybody sees


class LiveMoves:
    """The live events "move" of one game from its first move after the opening on.

    A game that is over before anything of it was told is told by its result alone: nobody can follow games of a tenth
    of a second, and telling them takes 9 % of what they cost us at nodes=1 (measured).
    """

    def __init__(
        self, link: Link, position: Position, clocks: Sequence[int | None], *, hourglass: bool = False
    ) -> None:
        """`clocks` in milliseconds, White's first; the position is that in which the engines begin."""
        self._link = link
        self.next_ns = time.monotonic_ns() + LIVE_INTERVAL_NS  # from when on moves are told again
        self._clocks = list(clocks)
        self._sand = sum(ms or 0 for ms in clocks) if hourglass else None  # what one has not the other has
        self._first = self._told = len(position.moves)
        self._black_begins = position.board.turn == chess.BLACK

    def is_behind(self, moves: Sequence[MoveMade]) -> bool:
        """There is a move that was not told."""
        return self._told < len(moves)

    def look(self, moves: Sequence[MoveMade]) -> int:
        """Tell what was not told if it is time to; when it will be, in CLOCK_MONOTONIC ns."""
        if not self.is_behind(moves):
            return NEVER_NS
        now = time.monotonic_ns()
        if now < self.next_ns:
            return self.next_ns
        self.next_ns = now + LIVE_INTERVAL_NS
        self._tell(moves)
        return NEVER_NS

    def end(self, moves: Sequence[MoveMade]) -> None:
        """The last moves of a game that was followed."""
        if self._told > self._first:
            self._tell(moves)

    def _tell(self, moves: Sequence[MoveMade]) -> None:
        """All together: one alone costs 60 us in both processes, among others 10."""
        told = []
        for move in moves[self._told :]:
            black = (self._told - self._first + self._black_begins) % 2
            self._clocks[black] = move.clock_ms
            if self._sand is not None:
                self._clocks[not black] = self._sand - (move.clock_ms or 0)
            self._told += 1
            told.append(
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
        if told:
            self._link.tell("moves", told)


# What can wait until an engine thinks: notation, scores, live events, warnings (runner spec section 4).

PATIENCE_NS = 1_000_000  # into a search: what answers sooner finds us waiting
HELD_NS = 250_000_000  # a ply waits so long for others, until a search leaves the time
STEP_PLIES = 8 if native else 1  # plies a step: 30 us (measured), a ply of bookkeeping in Python (runner spec 15)
HELD_PLIES = 31  # the most: then at once, or all of a quick game would be left to its end; odd, so sides take turns


class Record:
    """The record of one game as it grows, a shadow board behind the real one."""

    def __init__(self, position: Position, link: Link, pool: EnginePool, keep_lines: str = "") -> None:
        self._position = position
        self._scribe = PlyWriter(position, keep_lines)
        self.moves = self._scribe.moves
        self._link = link
        self._pool = pool
        self.raw: deque[tuple[RawPly, int | None]] = deque()  # with the relay gap before it, in ns
        self._looks = self._scribe.looks
        self._since_ns = 0  # CLOCK_MONOTONIC: the first search that left them waiting; 0: none
        self._gap: int | None = None  # in ns, before the search under way
        self._seats: tuple[Seat, ...] = ()
        self._used: dict[Seat, int | None] = {}  # processor time in ms at the beginning of the game
        self._spent: dict[Seat, int] = {}  # and in it
        self._queued: dict[Seat, float | None] = {}  # ms in it that its engine waited for a processor
        self.incidents: list[Incident] = []
        self.gaps: list[int] = []
        self._queue = OwnWaits()
        self.workload = Workload()
        self._waited = b""  # how long this process waited for a CPU up to the last step, in the kernel's words
        self._asked: tuple[Seat, Seat] | None = None  # who thinks and who waits, where that is to be noted
        self._live: LiveMoves | None = None
        self.due_ns = NEVER_NS  # CLOCK_MONOTONIC: from when on a step is worth its time
        self._crowd = self._compiled = (0, 0)  # moves that were told apart, and those with a long wait: of this game
        self._watched: Seat | None = None  # whose memory is to be looked at

    def begin(self, *seats: Seat) -> None:
        """Whose warnings to watch, and whose processor time and memory; no clock runs yet."""
        self._seats = seats
        clocks, hourglass = [seat.clock.rest_ms for seat in seats], all(seat.clock.tc.hourglass for seat in seats)
        self._live = LiveMoves(self._link, self._position, clocks, hourglass=hourglass)
        for seat in seats:
            seat.look()
            if seat.present is not None:
                process = seat.present.process
                seat.waits = EngineWaits(process.engine_pid, process.family)
        self._used = {seat: seat.cpu_ms(whole=False) for seat in seats}
        self._scribe.begin(*seats)

    def enter(self, ply: RawPly) -> None:
        """Take a ply, do nothing yet."""
        if ply.seat is not None and not ply.book and (pondered := ply.seat.engine.pondered_ns):
            ply = ply._replace(pondered_ns=pondered)
        self.raw.append((ply, self._gap))
        self._gap = None

    def relayed(self, gap_ns: int) -> None:
        """One answer became the opponent's `go` after `gap_ns`."""
        self.gaps.append(gap_ns)
        self._gap = gap_ns

    def search_begun(self, seat: Seat, other: Seat, go_ns: int) -> None:
        """A search is under way since CLOCK_MONOTONIC `go_ns`, and `other` may ponder meanwhile."""
        self._waited = self._queue.look()
        if seat.waits is not None:
            seat.waits.mark(go_ns)
        self.count_waits()
        self._plan(seat, other, go_ns)

    def search_goes_on(self, seat: Seat, other: Seat, go_ns: int, waited: bytes, gap_ns: int | None) -> None:
        """As `search_begun`, of one that compiled code began, with what it noted then."""
        self._waited, self._gap = waited, gap_ns
        self._plan(seat, other, go_ns)

    def count_waits(self, compiled: tuple[int, int] | None = None) -> None:
        """Count long waits for a processor, with those that compiled code has counted in this game."""
        self._compiled = compiled or self._compiled
        queues = [seat.waits for seat in self._seats if seat.waits is not None]
        marks = self._compiled[0] + sum(queue.marks for queue in queues)
        long = self._compiled[1] + sum(queue.long for queue in queues)
        counted, self._crowd = self._crowd, (marks, long)
        if told := self._pool.shortage.add(marks - counted[0], long - counted[1]):
            self._link.tell("crowd", told)

    def terms(self) -> tuple[int, int, int, bool, int]:
        """What `search_begun` goes by, for who foresees it: plies, ms of the last, since when they wait; what else."""
        last = self.raw[-1][0].elapsed_ms if self.raw else 0
        behind = self._live.next_ns if self._live is not None and self._live.is_behind(self.moves) else 0
        urgent = self._asked is not None or self._watched is not None
        return len(self.raw), last, self._since_ns, urgent, 1 if self._looks else behind

    def work(self, stirs: Callable[[], bool]) -> None:
        """Steps that are due, as long as nothing stirs."""
        if self.raw:
            self._since_ns = self._since_ns or 1  # those that are left do not wait for others again
        self.due_ns = 0
        while self.due_ns <= time.monotonic_ns():
            self.step()
            if stirs():
                return

    def _plan(self, seat: Seat, other: Seat, go_ns: int) -> None:
        if other.side.spec.ponder or seat.engine.new_notes or other.engine.new_notes or self._position.is_long(ROOM):
            self._asked = seat, other
            self.due_ns = go_ns
        elif self._pending:  # many are taken up at once, though this search may be answered before they are done
            self.due_ns = go_ns if len(self.raw) >= HELD_PLIES else self._held_until(go_ns)
        elif self._live is not None and self._live.is_behind(self.moves):
            self.due_ns = max(go_ns + PATIENCE_NS, self._live.next_ns)

    def _held_until(self, go_ns: int) -> int:
        """When those that wait are written, fewer than the most; in a slow game none comes in time to join them."""
        soon = go_ns + PATIENCE_NS
        if not self.raw or self.raw[-1][0].elapsed_ms * MS >= HELD_NS:
            return soon
        self._since_ns = self._since_ns or go_ns
        return max(soon, self._since_ns + HELD_NS)

    @property
    def _pending(self) -> bool:
        return self._asked is not None or bool(self.raw) or bool(self._looks) or self._watched is not None

    def step(self) -> None:
        """Some plies of bookkeeping, or something else that takes no longer; then live events, all at once."""
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
        """The kernel's file of how long this process waited for a CPU, -1 without."""
        return -1 if self._queue.file is None else self._queue.file

    def watch(self, seat: Seat) -> None:
        """Look at its engine's memory when there is time."""
        self._watched = seat
        self.due_ns = 0

    def waited_now(self) -> int:
        """Nanoseconds this process has waited for a CPU since the last step of the search under way."""
        return self._queue.waited_ns(self._queue.look()) - self._queue.waited_ns(self._waited)

    def close(self) -> None:
        """Do all that is left; nobody thinks any more."""
        self._asked = None
        while self._pending:
            self.step()
        if self._live is not None:
            self._live.end(self.moves)
        self._warnings()
        for seat, begun in self._used.items():
            now = seat.cpu_ms()
            if now is not None and begun is not None:
                self._spent[seat] = max(0, now - begun)  # of two clocks, one of which ticks
            self._queued[seat] = None if seat.waits is None else seat.waits.of_game_ms()

    def release(self) -> None:
        """No more steps; the descriptors go back."""
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
        """What one engine did."""
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
        """Relay gap in microseconds: median, 99th percentile, largest; None without one."""
        if not self.gaps:
            return None
        gaps = sorted(self.gaps)
        ranks = (len(gaps) // 2, min(len(gaps) - 1, len(gaps) * 99 // 100), len(gaps) - 1)
        median, high, largest = (gaps[rank] // 1000 for rank in ranks)
        return median, high, largest
