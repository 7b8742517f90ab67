"""All sections of a configuration as pydantic models: tournament, play, entrants, ratings, report, notify."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any, Literal, TypeVar, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from enginetour.engines.enginefile import refuse_equal_options
from enginetour.model.errors import suggest
from enginetour.model.task import LimitName, OptionValue, Restart, Sandbox, VariableName
from enginetour.model.timecontrol import TimeControl
from enginetour.model.variants import STANDARD, variant_named
from enginetour.openings.choice import OpeningSettings
from enginetour.ratings import grades
from enginetour.ratings.elo import EloSettings
from enginetour.ratings.gor import CzechSettings, Egf2021Settings, EgfSettings
from enginetour.ratings.grades import Scale

_Item = TypeVar("_Item")
_ListOf = Annotated[tuple[_Item, ...], Field(strict=False)]  # TOML has lists
_Name = Annotated[str, Field(min_length=1, max_length=100)]
LONGEST_NAME = 64  # characters of the name of a tournament
LARGEST_RATING = 100_000  # our choice: beyond every scale, and bands stay small
_Milliseconds = Annotated[int, Field(ge=0, le=60_000)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True, allow_inf_nan=False)


def _printable(text: str | None) -> str | None:
    if text is not None and (not text.isprintable() or text != text.strip()):
        raise ValueError("a name is printable text without blanks at its ends")
    return text


def _parse_control(text: str) -> str:
    """A time control in its usual spelling; ValueError in words for the user.

    A stage behind one that lasts for ever is a slip: cutechess-cli and fastchess have minutes before the colon.
    """
    parsed = TimeControl.parse(text)
    if any(not stage.moves for stage in parsed.stages[:-1]):
        why = "a stage without moves lasts to the end, so what is behind its ':' is never reached"
        raise ValueError(f"{why}; minutes are written in seconds, 1:30+1 as 90+1; found {text!r}")
    return str(parsed)


_Control = Annotated[str, AfterValidator(_parse_control)]


_Moves = Annotated[int, Field(ge=1, le=1000)]
_Path = Annotated[str, Field(min_length=1, max_length=4096)]


class _DrawSettings(_Section):
    """Both scores within `score` centipawns for `moves` moves each, with `after_move` moves played or more.

    A capture or a pawn move starts the count of moves again. It does not change the count for `resign`.
    """

    after_move: Annotated[int, Field(ge=0, le=2000)]
    moves: _Moves
    score: Annotated[int, Field(ge=0, le=10_000)]


class ResignSettings(_Section):
    """A side at -`score` centipawns or less for `moves` moves has lost; `two_sided`: if the other one agrees."""

    moves: _Moves
    score: Annotated[int, Field(ge=1, le=31_000)]  # mates count as 32 000 less their moves
    two_sided: bool = True


class TableSettings(_Section):
    """Syzygy tables in the folders of `path`, parted as in PATH or listed.

    `pieces` (default: as many as there are tables for) and `only` limit what they decide, ``adjudicate = false``
    leaves it all to the engines; with ``fifty = false`` a win counts however long it takes. ``engines = true`` gives
    the folders to engines that declare SyzygyPath or, in CECP, egt with syzygy.
    """

    path: Annotated[tuple[_Path, ...], Field(min_length=1, max_length=64)]
    pieces: Annotated[int, Field(ge=3, le=7)] | None = None
    fifty: bool = True
    only: Literal["wins", "draws", "both"] = "both"
    adjudicate: bool = True
    engines: bool = False

    @field_validator("path", mode="before")
    @classmethod
    def _parted(cls, value: object) -> object:
        if isinstance(value, str):
            value = [folder for folder in value.split(os.pathsep) if folder]
        if not isinstance(value, list | tuple) or not value:
            raise ValueError(f'a folder, some parted by "{os.pathsep}" as in PATH, or a list of them')
        return tuple(value)

    @model_validator(mode="after")
    def _of_use(self) -> TableSettings:
        if not self.adjudicate and not self.engines:
            raise ValueError("tables that neither adjudicate nor are given to engines: leave them out")
        return self


class _OwnBookSection(_Section):
    """``own_book``: a Polyglot book from which we play for this engine, off its clock, up to `plies` of the game."""

    file: _Path
    choice: Literal["weight", "best"] = "weight"
    plies: Annotated[int, Field(ge=1, le=400)] = 40


class EntrantSection(_Section):
    """``[[entrants]]``: an engine file by its id, or a command of its own, or a glob over engine ids."""

    engine: str | None = None
    glob: str | None = None
    name: _Name | None = None
    command: _ListOf[str] | None = None
    protocol: Literal["uci", "cecp"] | None = None
    dir: str | None = None
    env: dict[str, str] = {}
    options: dict[str, OptionValue] = {}
    limits: _ListOf[LimitName] | None = None
    quirks: dict[str, Any] = {}
    resources: dict[str, Any] = {}
    sandbox: Sandbox | None = None
    pass_env: _ListOf[VariableName] = ()
    keep_scratch: bool = False
    tc: _Control | None = None
    white_tc: _Control | None = None
    black_tc: _Control | None = None
    tc_factor: Annotated[float, Field(ge=0.001, le=1000)] | None = None
    margin_ms: _Milliseconds | None = None
    ponder: bool | None = None
    restart: Restart | None = None
    own_book: _OwnBookSection | None = None
    new: bool = False
    rating: Annotated[float, Field(ge=-LARGEST_RATING, le=LARGEST_RATING)] | None = (
        None  # on the scale of [tournament] rating_scale; a grade of Go is its middle
    )
    family: str = ""
    origin: str = ""
    _name = field_validator("name", "family", "origin")(_printable)
    _options = field_validator("options")(refuse_equal_options)

    @field_validator("own_book", mode="before")
    @classmethod
    def _book(cls, value: object) -> object:
        return {"file": value} if isinstance(value, str) else value

    @field_validator("rating", mode="before")
    @classmethod
    def _graded(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        grade = grades.parse(value)
        if grade is None:
            raise ValueError(f"a rating is a number or {grades.ALLOWED}")
        return grade.rating()

    @model_validator(mode="after")
    def _one_source(self) -> EntrantSection:
        given = [key for key in ("engine", "command", "glob") if getattr(self, key)]
        if len(given) != 1:
            raise ValueError(f"give one of engine, command, glob; found {' and '.join(given) or 'none'}")
        if self.command and not self.command[0].strip():
            raise ValueError("command begins with a program")
        if self.command and not (self.name and self.protocol):
            raise ValueError("an entrant with a command needs name and protocol (uci or cecp)")
        if not self.command and self.protocol:
            raise ValueError("protocol belongs to an entrant with a command; an engine file has its own")
        if self.glob and self.name:
            raise ValueError("a glob takes the names from the engine files")
        return self


_Extra = Literal["timeleft", "latency", "nodes", "seldepth", "nps", "hashfull", "tbhits", "pv", "lines"]
_Divisor = Annotated[float, Field(gt=1, le=1000)]


class PlaySection(_Section):
    """``[play]``: time control, slots, openings and the rules by which the referee ends a game.

    At most `start_parallel` engines start at once, but always the two of a game. `restart` is told by `Restart`.
    With `affinity` the engines of each slot have cores of their own, and we keep off them where there is room; "quick"
    binds two of UCI and one thread each, with 10 s or more for a move, to one processor, where they and we take turns,
    in games behind one in which a ply took half a millisecond at most, on the average; only the compiled part does.
    An engine that does not start, and without which nothing goes on, is waited for `suspend_patience` seconds.
    `speed` is this machine's against a reference (`supervise.pace`): 2 is twice as fast, and clocks are half as long.
    How `tc`, `white_tc` and `black_tc` go together with those of entrants is told by `controls`.
    With `draw_offers` two engines may agree on a draw: offers are passed on, where their protocols know them.
    `eco` is a file by which games in the PGN get a code of ECO and the name of their opening (`openingnames`).
    `pgn` is what comments of moves tell beside score, depth and time, or "all"; `keep_lines` a pattern: the lines of an
    engine in which it is found are kept with its moves, and `pgn` has them as "lines".
    With `log_traffic` what the engines of each game were told and said is written into a file of its own, beside the
    PGN: the last 256 KiB of each engine. Without it only incidents keep traffic.
    `sandbox` is for engines whose own files and entries name none.
    `odds` is by what the time of the giver of 1, 2, ... bands is divided, instead of the formula of `odds`.
    """

    tc: _Control = "10+0.1"
    white_tc: _Control | None = None
    black_tc: _Control | None = None
    slots: Annotated[int, Field(ge=1, le=1024)] = 1
    affinity: bool | Literal["quick"] = "quick"
    start_parallel: Annotated[int, Field(ge=1, le=1024)] = 4  # runner spec 14
    restart: Restart = "auto"
    margin_ms: _Milliseconds | None = None
    hang_limit: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    doubtful_flag: Literal["void", "loss"] = "void"
    max_moves: Annotated[int, Field(ge=1, le=2000)] = 600
    draw: _DrawSettings | None = None
    resign: ResignSettings | None = None
    tablebases: TableSettings | None = None
    draw_offers: bool = False
    repetition: Annotated[int, Field(ge=3, le=5)] = 3
    fifty: Annotated[int, Field(ge=50, le=75)] = 50
    grace: Annotated[float, Field(ge=0, le=86_400)] = 60.0
    on_suspend: Literal["withdraw", "stop"] = "withdraw"
    suspend_patience: Annotated[float, Field(ge=0, le=604_800)] = 3600.0  # s, reliability spec 1
    odds: _ListOf[_Divisor] | None = None
    sandbox: Sandbox = "none"
    ponder: bool = False
    speed: Literal["measure"] | Annotated[float, Field(ge=0.05, le=20)] | None = None
    pgn: _ListOf[_Extra] = ()
    eco: str = ""
    keep_lines: str = ""
    log_traffic: bool = False
    variant: str = STANDARD
    openings: OpeningSettings = OpeningSettings.model_construct()

    @field_validator("variant")
    @classmethod
    def _known(cls, name: str) -> str:
        return variant_named(name).name

    @field_validator("pgn", mode="before")
    @classmethod
    def _all(cls, names: object) -> object:
        return get_args(_Extra) if names in ("all", ["all"], ("all",)) else names

    @field_validator("keep_lines")
    @classmethod
    def _pattern(cls, text: str) -> str:
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"a regular expression of Python, found {text!r} ({error})") from error
        return text

    @field_validator("odds")
    @classmethod
    def _growing(cls, table: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if table is not None and (not table or list(table) != sorted(table)):
            raise ValueError("divisors of time for 1, 2, ... bands, never falling, as [2, 4, 8]")
        return table

    @field_validator("openings", mode="before")
    @classmethod
    def _suite(cls, value: object) -> object:
        if isinstance(value, str):
            raise ValueError(f'write openings = {{ file = "{value}" }}')
        return value


class RatingsSection(_Section):
    """``[ratings]``: which systems are shown, the engine whose rating is fixed, and settings by incremental system.

    They hold for all games of the store: where a system has none here, those it was last given hold.
    """

    systems: _ListOf[Literal["ml", "elo", "gor", "egf", "egf2021"]] = ("ml",)
    anchor: dict[str, float] = {}
    elo: EloSettings | None = None
    gor: CzechSettings | None = None
    egf: EgfSettings | None = None
    egf2021: Egf2021Settings | None = None

    @model_validator(mode="after")
    def _settings_are_used(self) -> RatingsSection:
        for system in self.settings():
            if system not in self.systems:
                raise ValueError(f"settings for {system}, which systems does not name")
        return self

    def settings(self) -> dict[str, BaseModel]:
        """The settings that are given, by system."""
        found = ((system, getattr(self, system)) for system in ("elo", "gor", "egf", "egf2021"))
        return {system: settings for system, settings in found if settings is not None}


class ReportSection(_Section):
    """``[report]``: `enginetour report` writes it at any time, too."""

    write: bool = True


_ORDERS = ("file", "rating", "standings")


def listed_order(order: str | None) -> tuple[str, int | None] | None:
    """List and edition of ``list:NAME`` or ``list:NAME#3``, None for another order or a word that is none."""
    found = re.fullmatch(r"list:([^#]+)(?:#([1-9]\d{0,8}))?", order or "")
    return None if found is None else (found[1], int(found[2]) if found[2] else None)


class TournamentSection(_Section):
    """``[tournament]``: its name, the seed of all chance, and the order of the starting list."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    order: str | None = None
    rating_scale: Scale | None = None  # of the ratings of entrants; None: not stated
    _name = field_validator("name")(_printable)

    @field_validator("order")
    @classmethod
    def _known_order(cls, words: str | None) -> str | None:
        if words is None or words in _ORDERS or listed_order(words):
            return words
        raise ValueError(f"an order is {', '.join(_ORDERS)}, list:NAME or list:NAME#EDITION{suggest(words, _ORDERS)}")


_Notice = Literal["finished", "stopped", "incident", "suspended", "withdrawn", "disk-low"]
ALL: tuple[_Notice, ...] = get_args(_Notice)
_Word = Annotated[str, Field(min_length=1)]


class NotifySection(_Section):
    """A command (argument list, never a shell), a webhook, services of apprise; `on` which events."""

    command: _ListOf[_Word] = ()
    webhook: str | None = None
    apprise: _ListOf[_Word] = ()
    on: _ListOf[_Notice] = ALL

    @field_validator("webhook")
    @classmethod
    def _address(cls, url: str | None) -> str | None:
        if url is None:
            return None
        try:
            parts = urlsplit(url)
            fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            fits = False
        if not fits or not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError('a webhook is an address "http://..." or "https://..."')
        return url

    def channels(self) -> tuple[str, ...]:
        """The ways that are given."""
        return tuple(name for name in ("command", "webhook", "apprise") if getattr(self, name))
