"""Game, Pairing, Entrant, Outcome, Termination, Opening, and the events of the tournament log.

Everything is frozen and picklable. Entrants are identified by name; scores are in half points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Outcome(StrEnum):
    """The result of a game, as in PGN; a VOID game does not count and is replayed."""

    WHITE = "1-0"
    DRAW = "1/2-1/2"
    BLACK = "0-1"
    VOID = "*"

    def half_points(self, *, white: bool) -> int:
        """Return the half points of a side: 0, 1 or 2; both sides get 0 for a void game."""
        if self is Outcome.DRAW:
            return 1
        return 2 if self is (Outcome.WHITE if white else Outcome.BLACK) else 0


RESULTS = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK)  # in the order in which games are counted


INTERNAL = "internal"  # category of a game with an internal error


class Termination(StrEnum):
    """Reasons for the end of a game, as stored in the database."""

    MATE = "mate"
    STALEMATE = "stalemate"
    REPETITION = "repetition"
    FIFTY = "fifty"
    MATERIAL = "material"
    ADJUDICATION_DRAW = "adjudication-draw"
    ADJUDICATION_RESIGN = "adjudication-resign"
    ADJUDICATION_LENGTH = "adjudication-length"
    ADJUDICATION_TABLEBASE = "adjudication-tablebase"
    TIME = "time"
    ILLEGAL_MOVE = "illegal-move"
    CRASH = "crash"
    STALL = "stall"
    RESIGN = "resign"
    CLAIM = "claim"
    FALSE_CLAIM = "false-claim"
    AGREEMENT = "agreement"
    VARIANT = "variant"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class Entrant:
    """A participant. The tuple of entrants is the starting list, best first; a `new` entrant has no rank in it."""

    name: str
    new: bool = False
    rating: float | None = None
    family: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Pairing:
    """One game to play. `meeting` is the number of the pair's encounter (one opening), `leg` the game in it.

    All counts start at 1. `encounter` numbers the encounters of the whole tournament in the order in which the format
    scheduled them; it depends on results, never on timing. `handicap` is what White gives Black by time odds, in bands
    of 100 rating points; if it is negative, Black gives it, as in the other game of the same encounter.
    """

    white: str
    black: str
    meeting: int = 1
    leg: int = 1
    encounter: int = 1
    round: int = 1
    handicap: int = 0

    @property
    def pair(self) -> tuple[str, str]:
        """The two names in sorted order."""
        return (self.white, self.black) if self.white < self.black else (self.black, self.white)

    @property
    def key(self) -> GameKey:
        """The identity of the game in its tournament; replays of a void game share it."""
        low, high = (self.white, self.black) if self.white < self.black else (self.black, self.white)
        return low, high, self.meeting, self.leg


GameKey = tuple[str, str, int, int]


@dataclass(frozen=True, slots=True)
class GameFinished:
    """A game in the log has ended. A VOID game changes nothing in a format: it must still be played.

    `ms` is its duration in milliseconds; None if it is unknown.
    """

    pairing: Pairing
    outcome: Outcome
    ms: int | None = None


@dataclass(frozen=True, slots=True)
class GameVoided:
    """A finished game is voided later; `outcome` is its former result."""

    pairing: Pairing
    outcome: Outcome
    why: str = ""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """An entrant withdraws; its remaining games are not played."""

    name: str


@dataclass(frozen=True, slots=True)
class Added:
    """An entrant joins a tournament that has started."""

    entrant: Entrant


@dataclass(frozen=True, slots=True)
class Replaced:
    """`entrant` replaces `old` in the starting list, without its games."""

    old: str
    entrant: Entrant


@dataclass(frozen=True, slots=True)
class Extended:
    """Settings of the format are increased to these values, so that the tournament becomes longer."""

    settings: tuple[tuple[str, int], ...]


Event = GameFinished | GameVoided | Withdrawn | Added | Replaced | Extended


@dataclass(frozen=True, slots=True)
class Note:
    """A decision of a format (round paired, engine parked, ...), stored with the log for audits.

    `text` is the sentence for users; `fields` contains the same facts as values that JSON can represent.
    """

    kind: str
    text: str
    fields: tuple[tuple[str, object], ...] = ()

    @property
    def is_warning(self) -> bool:
        """Return whether the note is a warning, which is shown before the first game."""
        return self.kind == "warning"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks about a round, above all the rules that it breaks because no other round is possible."""
        found = dict(self.fields).get("remarks", ())
        return tuple(map(str, found)) if isinstance(found, list | tuple) else ()


@dataclass(frozen=True, slots=True)
class StandingsRow:
    """One line of a format's table. `rank` is None for an entrant that is not ranked; equal ranks are shared."""

    rank: int | None
    name: str
    half_points: int
    games: int
    status: str = ""  # a term of the format: parked, withdrawn, final, ...; "" for none
    tiebreaks: tuple[tuple[str, int], ...] = ()  # (published code, integer in the unit of the code)
    unplayed: int = 0  # half points from byes, included in half_points


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """An entrant that was withdrawn or replaced, with the reason and the entrant that took its place, each "" if none.

    JSON documents have the same keys.
    """

    name: str
    why: str = ""
    replacement: str = ""

    @property
    def note(self) -> str:
        """The sentence below a table, or "" if the table shows everything: there is no reason and no replacement."""
        more = [text for text in (self.why, self.replacement and f"replaced by {self.replacement}") if text]
        return f"withdrawn: {self.name}, {'; '.join(more)}" if more else ""


@dataclass(frozen=True, slots=True)
class Opening:
    """The start of a game: a position and moves from it. `index` is its place in the book, from 1."""

    name: str = ""
    index: int = 0
    fen: str | None = None  # None: the initial position
    moves: tuple[str, ...] = ()  # UCI; played for both sides before the clocks start
    eco: str = ""  # ECO code; "" if the book does not contain it
    variant: str = "standard"  # variant of the whole game


class MoveMade(NamedTuple):
    """One ply. Times are in milliseconds.

    The score is in centipawns from the mover's point of view; a mate in n is +-(32000 - n). The class is a named tuple
    because a game has hundreds of plies, and creating a frozen dataclass takes five times as long (measured).
    """

    uci: str
    san: str
    elapsed_ms: int = 0
    clock_ms: int | None = None  # time that remains after the move, including the increment
    score: int | None = None
    depth: int | None = None
    nodes: int | None = None
    pv: str = ""
    book: bool = False
    seldepth: int | None = None
    nps: int | None = None  # nodes per second, as reported by the engine
    hashfull: int | None = None  # permille
    tbhits: int | None = None
    gap_us: int | None = None  # time from the opponent's move to the `go` for this engine
    lines: tuple[str, ...] = ()  # output lines of the engine that match `keep_lines`


@dataclass(frozen=True, slots=True)
class Incident:
    """An event that a tester should see. `traffic` (engine log) and `stderr` are the last lines, oldest first.

    Each line of the engine log begins with the seconds since the start of the engine's process; `last_go_us` is the
    time of the last `go` on the same clock.
    """

    engine: str
    category: str
    cause: str
    ply: int = 0
    traffic: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()
    status: str = ""  # how the engine's process ended: "exit 1", "signal 11 (SIGSEGV)"; "" if it had not ended
    last_go_us: int | None = None  # None: no search in this game
    memory_kb: int | None = None  # largest measured memory of the engine's processes
    load_average: float | None = None  # load average of the machine at that time
    referee_us: int | None = None  # largest delay that the referee itself may have caused during that move

    @property
    def is_warning(self) -> bool:
        """Return whether the incident is a warning, which does not cost a point and is reported once."""
        return self.category.endswith("warning")

    @property
    def at_fault(self) -> str:
        """The entrant at fault, or "the machine" or "enginetour"; their incidents are stored with an engine too."""
        return {"host": "the machine", INTERNAL: "enginetour"}.get(self.category, self.engine)

    @property
    def is_repeatable(self) -> bool:
        """Return whether a search of an engine caused the incident, so that a replay of the search may repeat it."""
        return not self.is_warning and self.category not in ("restart", "host", INTERNAL)


@dataclass(frozen=True, slots=True)
class SideRecord:
    """Statistics of one engine in one game; times are in milliseconds."""

    own_name: str = ""
    moves: int = 0
    think_ms: int = 0
    longest_ms: int = 0
    least_clock_ms: int | None = None
    margin_uses: int = 0
    warnings: tuple[str, ...] = ()
    cpu_ms: int | None = None  # processor time of all its processes, including pauses between searches; None: unknown
    ponders: int | None = None  # number of ponder searches; None: the engine did not ponder, or ponders by itself
    ponder_hits: int | None = None  # number of ponder searches with the right move
    speed: float | None = None  # speed of the machine, by which the times were divided; None: they were not divided
    effort: tuple[tuple[str, int, int], ...] = ()  # (figure such as depth or nodes, moves that reported it, sum)
    # (kind, count, first example) of reported PVs or mates that proved wrong
    claims: tuple[tuple[str, int, str], ...] = ()
    waited_ms: int | None = None  # longest wait of one of its threads for a processor; None: unknown


@dataclass(frozen=True, slots=True)
class Game:
    """A game that has ended. Start and end are UTC seconds since 1970, for display only, never for order."""

    pairing: Pairing
    outcome: Outcome
    termination: Termination
    cause: str = ""  # text for users: "White mates", "Black loses on time"
    culprit: str = ""  # entrant whose fault ended the game
    category: str = ""  # category of a void game or fault: start-failure, unsupported, engine-abort, host, ...
    opening: Opening = field(default_factory=Opening)
    moves: tuple[MoveMade, ...] = ()
    white: SideRecord = field(default_factory=SideRecord)
    black: SideRecord = field(default_factory=SideRecord)
    white_tc: str = ""
    black_tc: str = ""
    final_fen: str = ""
    started_unix: float = 0.0
    ended_unix: float = 0.0
    relay_gap_us: tuple[int, int, int] | None = None  # latency between moves: median, 99th percentile, largest
    incidents: tuple[Incident, ...] = ()
    replay: int = 0
    hardware: str = ""  # processor of the machine
    load_average: float | None = None  # load average of the machine
    cores: int | None = None  # number of processors of the machine that the game could use
    steal_percent: float | None = None  # share of their time that the host of a virtual machine took
    referee_us: int | None = None  # after a time loss: largest delay that the referee may have caused in that move
    traffic: tuple[str, ...] = ()  # the whole engine log if `engine_log` is set; written to a file, not to the database

    @property
    def plies(self) -> int:
        """Half moves on the board, including the opening."""
        return len(self.moves)

    @property
    def finished(self) -> GameFinished:
        """The event of the log that this game is."""
        return GameFinished(self.pairing, self.outcome, duration_ms(self.started_unix, self.ended_unix))


def duration_ms(started_unix: float, ended_unix: float) -> int | None:
    """Return the duration of a game in milliseconds from its stored times; None if they are not known."""
    return max(0, round(1000 * (ended_unix - started_unix))) if ended_unix else None


def format_fixed(value: float, digits: int, *, signed: bool = False) -> str:
    """Format a number as ``12.5`` or ``+0.3``; minus zero, which is only a rounding error, becomes zero."""
    return f"{round(value, digits) or 0.0:{'+' if signed else ''}.{digits}f}"
