"""Game, Pairing, Entrant, Outcome, Termination, Opening, and the events of the tournament log.

Everything is frozen and picklable. Names of entrants are the keys; scores are in half points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Outcome(StrEnum):
    """How a game ended, in PGN's words; VOID does not count and is played again."""

    WHITE = "1-0"
    DRAW = "1/2-1/2"
    BLACK = "0-1"
    VOID = "*"

    def half_points(self, *, white: bool) -> int:
        """0, 1 or 2 for the side asked about; a void game gives 0 to both."""
        if self is Outcome.DRAW:
            return 1
        return 2 if self is (Outcome.WHITE if white else Outcome.BLACK) else 0


INTERNAL = "internal"  # category of a game in which enginetour itself failed


class Termination(StrEnum):
    """Why a game ended; the code in the record."""

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
    """Who takes part. The tuple of entrants is the old ranking, best first; `new` ones have no place in it."""

    name: str
    new: bool = False
    rating: float | None = None
    family: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Pairing:
    """One game on offer. `meeting` is the pair's n-th encounter (one opening), `leg` the game inside it.

    All counts start at 1. `encounter` numbers the encounters of the whole tournament in the order the
    format scheduled them; it depends on results, never on timing. `handicap` is what White gives Black by time odds,
    in bands of 100 rating points; below 0 it is White that is given them, as in the other leg of the same encounter.
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
        """The two names in sorted order, whoever has White."""
        return (self.white, self.black) if self.white < self.black else (self.black, self.white)

    @property
    def key(self) -> GameKey:
        """What makes this game unique in its tournament, but for replays of void games."""
        return (*self.pair, self.meeting, self.leg)


GameKey = tuple[str, str, int, int]


@dataclass(frozen=True, slots=True)
class GameFinished:
    """A game of the log. VOID changes nothing in a format: its key stays on offer."""

    pairing: Pairing
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class GameVoided:
    """A finished game is struck out afterwards; `outcome` is what it had been."""

    pairing: Pairing
    outcome: Outcome
    why: str = ""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """An entrant leaves; its unplayed games are off."""

    name: str


@dataclass(frozen=True, slots=True)
class Added:
    """An entrant joins a tournament under way."""

    entrant: Entrant


@dataclass(frozen=True, slots=True)
class Replaced:
    """`old` leaves and `entrant` takes its place in the starting list, with no games played."""

    old: str
    entrant: Entrant


@dataclass(frozen=True, slots=True)
class Extended:
    """The tournament goes on beyond what it was frozen to: settings of its format that grew, with their new values."""

    settings: tuple[tuple[str, int], ...]


Event = GameFinished | GameVoided | Withdrawn | Added | Replaced | Extended


@dataclass(frozen=True, slots=True)
class Note:
    """A decision of a format (round paired, engine parked, dropped, ...), kept beside the log for audits.

    `fields` is JSON-ready and sorted by the format; `text` is the sentence people read.
    """

    kind: str
    text: str
    fields: tuple[tuple[str, object], ...] = ()

    @property
    def is_warning(self) -> bool:
        """To be told before the first game."""
        return self.kind == "warning"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What must be told of a round: above all the rules that it breaks, because no other round is left."""
        said = dict(self.fields).get("remarks", ())
        return tuple(map(str, said)) if isinstance(said, list | tuple) else ()


@dataclass(frozen=True, slots=True)
class StandingsRow:
    """One line of a format's table. `rank` None is not ranked (withdrawn); equal ranks are shared places."""

    rank: int | None
    name: str
    half_points: int
    games: int
    status: str = ""  # in the format's own words: parked, withdrawn, final, ...; "" for none
    tiebreaks: tuple[tuple[str, int], ...] = ()  # (published code, integer in the code's own unit)
    unplayed: int = 0  # of the half points, those that came without a game: byes


@dataclass(frozen=True, slots=True)
class Opening:
    """Where a game starts: a position and moves played from it. `index` is its 1-based place in the suite."""

    name: str = ""
    index: int = 0
    fen: str | None = None  # None: the usual starting position
    moves: tuple[str, ...] = ()  # UCI, played for both sides before the clocks run
    eco: str = ""  # where the suite tells it
    variant: str = "standard"  # by whose rules the whole game is played


class MoveMade(NamedTuple):
    """One ply. Times in milliseconds; score in centipawns from the mover's side, mate in n = +-(32000 - n).

    A tuple: a game has hundreds, and a frozen dataclass takes five times as long to make (measured).
    """

    uci: str
    san: str
    elapsed_ms: int = 0
    clock_ms: int | None = None  # left after the move, increment included
    score: int | None = None
    depth: int | None = None
    nodes: int | None = None
    pv: str = ""
    book: bool = False
    seldepth: int | None = None
    nps: int | None = None  # nodes a second as the engine tells them
    hashfull: int | None = None  # permille
    tbhits: int | None = None
    gap_us: int | None = None  # from the opponent's answer to this engine's `go`
    lines: tuple[str, ...] = ()  # of the engine's output, those that match the pattern asked for


@dataclass(frozen=True, slots=True)
class Incident:
    """Something a tester must see. `traffic` and `stderr` are the last lines, oldest first.

    A line of traffic begins with seconds since the start of the engine's process; `last_go_us` is its last `go`.
    """

    engine: str
    category: str
    cause: str
    ply: int = 0
    traffic: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()
    status: str = ""  # how its process ended: "exit 1", "signal 11 (SIGSEGV)"; "" while it lived
    last_go_us: int | None = None  # None: it was not asked in this game
    memory_kb: int | None = None  # the most its processes were seen to hold
    load_average: float | None = None  # of the machine at that moment
    referee_us: int | None = None  # what the referee itself may have cost that move

    @property
    def is_warning(self) -> bool:
        """Tolerated and told once; it cost nobody a point."""
        return self.category.endswith("warning")

    @property
    def at_fault(self) -> str:
        """Who is to blame, for people: one of the host or of enginetour is noted with an engine too."""
        return {"host": "the machine", INTERNAL: "enginetour"}.get(self.category, self.engine)

    @property
    def is_repeatable(self) -> bool:
        """A search of an engine brought it about, so it can be asked to do it again."""
        return not self.is_warning and self.category not in ("restart", "host", INTERNAL)


@dataclass(frozen=True, slots=True)
class SideRecord:
    """What one engine did in one game; times in milliseconds."""

    own_name: str = ""
    moves: int = 0
    think_ms: int = 0
    longest_ms: int = 0
    least_clock_ms: int | None = None
    margin_uses: int = 0
    warnings: tuple[str, ...] = ()
    cpu_ms: int | None = None  # processor time of all its processes, thinking or not; None: the kernel does not tell
    ponders: int | None = None  # searches in its opponent's time; None: it did not ponder, or begins so by itself
    ponder_hits: int | None = None  # of them, those whose guess came true
    speed: float | None = None  # of the machine, by which its times were divided; None: they were not
    effort: tuple[tuple[str, int, int], ...] = ()  # (figure, moves that told it, their sum): depth, nodes, ...
    claims: tuple[tuple[str, int, str], ...] = ()  # (kind, how often, the first) it said of its search what was not so
    waited_ms: int | None = None  # for a processor, the thread of its process that did so longest; None: not known


@dataclass(frozen=True, slots=True)
class Game:
    """A game that ended. Start and end are UTC seconds since 1970, for people only, never for order."""

    pairing: Pairing
    outcome: Outcome
    termination: Termination
    cause: str = ""  # words for people: "White mates", "Black loses on time"
    culprit: str = ""  # entrant whose fault ended the game, if it was one
    category: str = ""  # of a void game or fault: start-failure, unsupported, engine-abort, host, ...
    opening: Opening = field(default_factory=Opening)
    moves: tuple[MoveMade, ...] = ()
    white: SideRecord = field(default_factory=SideRecord)
    black: SideRecord = field(default_factory=SideRecord)
    white_tc: str = ""
    black_tc: str = ""
    final_fen: str = ""
    started_unix: float = 0.0
    ended_unix: float = 0.0
    relay_gap_us: tuple[int, int, int] | None = None  # relay gap: median, 99th percentile, largest
    incidents: tuple[Incident, ...] = ()
    replay: int = 0
    hardware: str = ""  # processor of the machine it was played on
    load_average: float | None = None  # of that machine, and how many processors it has for it
    cores: int | None = None
    steal_percent: float | None = None  # of their time that its host gave to others
    referee_us: int | None = None  # at a flag: what the referee itself may have cost that move
    traffic: tuple[str, ...] = ()  # where all of it was asked for; a file has it, the store does not

    @property
    def plies(self) -> int:
        """Half moves on the board, opening included."""
        return len(self.moves)


def format_fixed(value: float, digits: int, *, signed: bool = False) -> str:
    """``12.5``, ``+0.3``; never minus nothing: that is noise, another on each processor."""
    return f"{round(value, digits) or 0.0:{'+' if signed else ''}.{digits}f}"
