"""Tasks for a slot process (play, probe, replay a game): engine settings, rules of the game, time odds.

Tasks are frozen and picklable data, without references to tournaments or databases.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from math import log2
from operator import attrgetter
from typing import Annotated, Any, Literal

from enginetour.model.game import Game, Incident, Opening, Pairing, SideRecord
from enginetour.model.moves import PackedMoves, pack_moves
from enginetour.model.timecontrol import DOUBLING, Stage, TimeControl, odds_divisor

OptionValue = str | int | float | bool
LimitName = Literal["clock", "movetime", "nodes", "depth"]


class Bounds:
    """Limits of a field, with pydantic's names; they are checked only when a file or a database is read."""

    def __init__(self, **limits: object) -> None:
        self.limits = limits

    def __get_pydantic_core_schema__(self, source: object, handler: Callable[[object], dict[str, Any]]) -> Any:
        """Add the limits to pydantic's schema."""
        return handler(source) | self.limits


Line = Annotated[str, Bounds(max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")]
VariableName = Annotated[str, Bounds(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=256)]
_THREADS = frozenset({"threads", "cores"})  # the usual UCI option, and the option that stands for the CECP command


@dataclass(frozen=True, slots=True)
class Quirks:
    """Differences between an engine and its protocol; each field is a key under ``[quirks]`` of an engine file.

    The text in an annotation is the description of the key.
    """

    line_delay_ms: Annotated[
        int,
        Bounds(ge=0, le=10_000),
        "Pause in ms between the lines that enginetour sends, for an engine that reads one line at a time.",
    ] = 0
    handshake_timeout: Annotated[
        float,
        Bounds(gt=0, le=600),
        "Longest time in seconds from the start of the process to the end of the handshake.",
    ] = 60.0  # runner spec 6, 7
    ready_timeout: Annotated[
        float,
        Bounds(gt=0, le=600),
        "Longest time in seconds for the answer to a ping before and between games. "
        "During a game: 5 s, or a twelfth of this value if that is longer.",
    ] = 60.0  # runner spec 5
    fence: Annotated[
        Literal["off", "inline", "wait"],
        'Ping before each search: "inline" sends it in one write with the search, "wait" waits for its answer first.',
    ] = "off"
    whitepov: Annotated[bool, "Whether the engine reports scores from White's point of view."] = False
    lenient_promotion: Annotated[bool, "Whether a promotion without a piece means a queen."] = False
    rook_castling: Annotated[bool, "CECP: whether castling in Chess960 is sent as king takes rook instead of O-O."] = (
        False
    )
    tells_features: Annotated[
        bool,
        "CECP: true: an engine that sends no features counts as an engine that cannot start; false: enginetour uses "
        "protocol 1 for it.",
    ] = False
    protover_delay_ms: Annotated[
        int,
        Bounds(ge=0, le=10_000),
        "CECP: pause in ms between `xboard` and `protover 2`, for an engine that loses lines during its start.",
    ] = 0
    st_fraction: Annotated[bool, "CECP: whether `st` accepts fractions of a second."] = False
    movetime: Annotated[Literal["st", "level"], "CECP: the command that sets a fixed time per move."] = "st"
    no_cores: Annotated[bool, "CECP: whether `cores` is never sent."] = False
    no_computer: Annotated[bool, "CECP: whether `computer` is never sent."] = False
    no_tablebases: Annotated[bool, "Whether the engine never gets the directories of tablebases."] = False
    init: Annotated[tuple[Line, ...], Bounds(strict=False, max_length=64), "Lines sent once after the handshake."] = ()
    max_plies: Annotated[
        int, Bounds(ge=0, le=10_000), "Longest game in plies that the engine supports; 0: no limit."
    ] = 0
    restart: Annotated[bool, "Whether every game needs a new process."] = False
    movetime_margin_ms: Annotated[
        int,
        Bounds(ge=0, le=60_000),
        "Time margin in ms with a fixed time per move, if the tournament does not set one. Values below 100 count as "
        "100.",
    ] = 0
    clock_margin_ms: Annotated[
        int,
        Bounds(ge=0, le=60_000),
        "Time margin in ms with a clock, if the tournament does not set one. Values below 50 count as 50.",
    ] = 0


Sandbox = Literal["none", "bwrap", "landlock"]


@dataclass(frozen=True, slots=True)
class Resources:
    """Limits of an engine's processes; each field is a key under ``[resources]``. None: the limit of enginetour."""

    # A bare interpreter uses 16 MB.
    memory: Annotated[
        Annotated[int, Bounds(ge=16, le=10_000_000)] | None,
        "Largest anonymous memory in MB of all processes of the engine. An engine that exceeds it loses the game. "
        "Default: no limit.",
    ] = None
    # nr_open of Linux, proc_sys_fs(5)
    files: Annotated[
        Annotated[int, Bounds(ge=16, le=1_048_576)] | None,
        "Largest number of open files. Default: the limit of enginetour.",
    ] = None
    file_size: Annotated[
        Annotated[int, Bounds(ge=1, le=10_000_000)] | None,
        "Size in MB of the largest file that the engine may write. Default: the limit of enginetour.",
    ] = None
    nice: Annotated[
        int, Bounds(ge=0, le=19), "Niceness; an engine with a higher value leaves more processor time to others."
    ] = 0


# When an engine gets a new process: "on": for each game; "auto": after an abnormal end and after `reuse=0`; "off": only
# if the old process has ended or does not respond.
Restart = Literal["auto", "on", "off"]


_Pairs = Annotated[tuple[Annotated[tuple[str, str], Bounds(strict=False)], ...], Bounds(strict=False)]


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """How to start an engine, and its limits; `name` is the entrant's name, which identifies it everywhere.

    `command` is absolute and may contain ``{scratch}``; `files` are first written into the scratch directory.
    `optional` names options of ``[defaults]``; those that the engine does not declare are left out of `options`.
    """

    name: str
    command: Annotated[tuple[str, ...], Bounds(strict=False, min_length=1)]
    protocol: Literal["uci", "cecp"]
    dir: str | None = None  # None: the program's directory if writable, else scratch; "scratch"; or a path
    env: _Pairs = ()
    options: _Pairs = ()
    files: _Pairs = ()
    limits: Annotated[frozenset[LimitName], Bounds(strict=False)] = frozenset({"clock", "movetime", "nodes", "depth"})
    quirks: Quirks = field(default_factory=Quirks)
    max_copies: Annotated[int, Bounds(ge=0, le=1024)] = 0  # 0: no limit
    fingerprint: str = ""
    resources: Resources = field(default_factory=Resources)
    sandbox: Sandbox = "none"
    pass_env: Annotated[tuple[VariableName, ...], Bounds(strict=False)] = ()  # variables that the engine inherits
    keep_scratch: bool = False
    offered: _Pairs = ()  # options that are set only if the engine declares them
    ponder: bool = False  # whether the engine thinks in its opponent's time
    restart: Restart = "auto"
    optional: Annotated[tuple[str, ...], Bounds(strict=False)] = ()  # options that an engine may lack, in lower case

    @property
    def threads(self) -> int:
        """The number of search threads from its options, 1 by default."""
        for name, value in self.options:
            if name.casefold() in _THREADS and value.isascii() and value.isdigit():
                return max(1, int(value))
        return 1


@dataclass(frozen=True, slots=True)
class DrawRule:
    """Draw if both sides' scores stay within `score` centipawns for `moves` moves each, from move `after_move` on."""

    after_move: int
    moves: int
    score: int


@dataclass(frozen=True, slots=True)
class ResignRule:
    """Loss for a side whose score is -`score` centipawns or less for `moves` moves.

    With `two_sided`, the opponent's score must agree.
    """

    moves: int
    score: int
    two_sided: bool = True


@dataclass(frozen=True, slots=True)
class TablebaseRule:
    """Results of Syzygy tables in `folders`, for up to `pieces` pieces including kings."""

    folders: tuple[str, ...]
    pieces: int
    fifty: bool = True  # a win that takes too long counts as a draw
    only: Literal["wins", "draws", "both"] = "both"


@dataclass(frozen=True, slots=True)
class Rules:
    """When the referee ends a game. A game always ends at 5 repetitions and 75 moves; these are the largest values."""

    repetition: int = 3  # FIDE 9.2
    fifty: int = 50  # FIDE 9.3, in moves of both sides
    max_moves: int = 600  # a safety limit: two surveyed engines crash in games of 2,000 moves
    hang_limit: float = 60.0  # s per move without a clock (runner spec 3)
    doubtful_flag: Literal["void", "loss"] = "void"
    draw: DrawRule | None = None
    resign: ResignRule | None = None
    tables: TablebaseRule | None = None
    draw_offers: bool = False  # two engines may agree on a draw


@dataclass(frozen=True, slots=True)
class OwnBook:
    """A Polyglot book from which enginetour plays for an engine, up to `plies` of the game; `seed` varies the moves."""

    path: str
    choice: Literal["weight", "best"] = "weight"
    plies: int = 40
    seed: str = ""
    digest: str = ""  # digest of the file, stored because a changed book leads to other games


@dataclass(frozen=True, slots=True)
class TimeTerms:
    """Time control and time margin for one color."""

    tc: TimeControl
    margin_ms: int


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a game: its engine, time control and time margin in milliseconds."""

    spec: EngineSpec
    tc: TimeControl
    margin_ms: int = 50
    variant: str = "standard"  # variant that the engine must support
    own_book: OwnBook | None = None
    black: TimeTerms | None = None  # terms with Black, if they differ from the terms with White
    speed: float | None = None  # speed of the machine, by which the times are divided

    @property
    def controls(self) -> tuple[TimeControl, TimeControl]:
        """The time controls with White and with Black."""
        return self.tc, self.tc if self.black is None else self.black.tc

    def playing(self, *, white: bool) -> Side:
        """Return the side with the time control of one color."""
        if self.black is None:
            return self
        terms = TimeTerms(self.tc, self.margin_ms) if white else self.black
        return replace(self, tc=terms.tc, margin_ms=terms.margin_ms, black=None)

    def at_speed(self, speed: float | None) -> Side:
        """Return the side on a machine of this speed: times are divided by it, nodes and depth do not change."""
        return self if speed is None else replace(self, tc=self.tc.scaled(1 / speed, nodes=False), speed=speed)


@dataclass(frozen=True, slots=True)
class GameTask:
    """Everything that a slot needs to play one game."""

    pairing: Pairing
    white: Side
    black: Side
    opening: Opening = field(default_factory=Opening)
    rules: Rules = field(default_factory=Rules)
    replay: int = 0
    keep_lines: str = ""  # regular expression: output lines that match it are stored with the moves
    log_traffic: bool = False  # return the engine logs with every game
    aborts: int = 0  # earlier games of this key that an engine ended by ``*``; other replays do not count
    watched: bool = False  # a page, a program or a terminal shows the moves, so they are reported more often
    spare: Opening | None = None  # used instead of `opening` if an engine without setboard cannot start there


@dataclass(frozen=True, slots=True)
class ProbeTask:
    """Start an engine, do the handshake, and quit.

    The engine must declare `variant`. An engine that declares nothing must make a move.
    """

    spec: EngineSpec
    variant: str = "standard"


@dataclass(frozen=True, slots=True)
class ReenactTask:
    """Send the commands of a game to one of its engines again, up to the search after `moves`.

    A move is (UCI, milliseconds); a move without milliseconds came from the own book of its side. With `last_only`,
    only the last search is repeated, from its position. `speed` is the divisor of the pauses before the search.
    """

    game: GameTask
    white: bool  # whether the engine has White
    moves: tuple[tuple[str, int | None], ...]  # moves after the opening
    last_only: bool = False
    speed: float = 1.0


@dataclass(frozen=True, slots=True)
class ReenactResult:
    """Result of a `ReenactTask`; `category` is as in an incident, or "" for a legal move in time."""

    category: str
    words: str
    status: str = ""  # how the engine's process ended, "" if it had not ended
    ply: int = 0  # number of half moves on the board at that time
    elapsed_ms: int | None = None
    text: str = ""  # answer of the engine


@dataclass(frozen=True, slots=True)
class DeclaredOption:
    """An option that an engine declares; `kind` is the term of its protocol (check, spin, combo, string, ...)."""

    name: str
    kind: str
    default: str = ""
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Result of a `ProbeTask`. `problems` are sentences for the user; if there are none, the engine can play."""

    name: str
    own_name: str = ""
    author: str = ""
    options: tuple[DeclaredOption, ...] = ()
    features: tuple[tuple[str, str], ...] = ()
    steps: tuple[tuple[str, bool, str], ...] = ()  # (step, success, text)
    problems: tuple[str, ...] = ()
    category: str = ""  # "" | start-failure | start-timeout | bad-option | unsupported
    handshake_ms: int = 0


_Values = tuple[Any, ...]


def _by_place(item: Any) -> tuple[type, _Values]:
    """Pickle the values without their names, in half the time of a frozen dataclass's own method (measured)."""
    return type(item), _VALUES[type(item)](item)


def _by_columns(game: Game) -> tuple[Callable[..., Game], tuple[_Values, _Values, bytes, _Values]]:
    """Pickle the moves of a game packed and by columns, in half the time of pickling move by move (measured)."""
    values, columns = _VALUES[Game](game), tuple(zip(*game.moves, strict=True))
    return _of_columns, (values[:_MOVES], columns, pack_moves(game.moves), values[_MOVES + 1 :])


def _of_columns(before: _Values, columns: _Values, packed: bytes, after: _Values) -> Game:
    return Game(*(*before, PackedMoves.of_columns(columns, packed), *after))


# Classes that are pickled for every game.
_OF_A_GAME = (Game, Pairing, Opening, SideRecord, Incident)
_OF_A_TASK = (GameTask, Side, EngineSpec, Quirks, Resources, Rules, DrawRule, ResignRule, TimeControl, Stage)
_MOVES = [each.name for each in fields(Game)].index("moves")
_VALUES = {kind: attrgetter(*(each.name for each in fields(kind))) for kind in (*_OF_A_GAME, *_OF_A_TASK)}
for _kind in _VALUES:
    copyreg.pickle(_kind, _by_columns if _kind is Game else _by_place)  # type: ignore[arg-type]


def odds_in_points(bands: int, table: Sequence[float] | None = None) -> float:
    """Return the rating points that time odds are assumed to cost the giver; negative if `bands` is negative."""
    lost = DOUBLING * log2(odds_divisor(abs(bands), table))
    return lost if bands > 0 else -lost


def with_time_odds(white: Side, black: Side, handicap: int, table: Sequence[float] | None = None) -> tuple[Side, Side]:
    """Return both sides of a game in which White gives `handicap` bands, or Black if it is negative."""
    by = odds_divisor(abs(handicap), table)
    if handicap > 0:
        return replace(white, tc=white.tc.divided(by)), black
    if handicap < 0:
        return white, replace(black, tc=black.tc.divided(by))
    return white, black
