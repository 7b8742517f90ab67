"""All sections of a configuration as pydantic models, from ``[tournament]`` and ``[play]`` to ``[[entrants]]``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from enginetour.engines.enginefile import refuse_equal_options, refuse_unusable_variables
from enginetour.model.errors import did_you_mean
from enginetour.model.plugins import UnknownName, validated
from enginetour.model.task import LimitName, OptionValue, Restart, Sandbox, VariableName
from enginetour.model.timecontrol import TimeControl
from enginetour.model.variants import STANDARD, variant_named
from enginetour.openings.choice import OpeningSettings
from enginetour.ratings import grades
from enginetour.ratings.elo import EloSettings
from enginetour.ratings.gor import CzechSettings, Egf2021Settings, EgfSettings
from enginetour.ratings.grades import Scale

_Item = TypeVar("_Item")
_ListOf = Annotated[tuple[_Item, ...], Field(strict=False)]  # TOML arrays are lists; strict mode would reject them
_Name = Annotated[str, Field(min_length=1, max_length=100)]
LONGEST_NAME = 64  # characters of the name of a tournament
LARGEST_RATING = 100_000  # a choice of enginetour: larger than on any scale; limits the number of bands
_Milliseconds = Annotated[int, Field(ge=0, le=60_000)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True, allow_inf_nan=False)


def printable(text: str | None) -> str | None:
    """Return a text. Raise ValueError if it has unprintable characters, or spaces at the beginning or end."""
    if text is not None and (not text.isprintable() or text != text.strip()):
        raise ValueError("must be printable text without spaces at the beginning or end")
    return text


def _parse_control(text: str) -> str:
    """Return a time control in its usual spelling. Raise ValueError with the reason if it is not valid.

    A stage after a stage without a number of moves is an error: the user probably wrote minutes before the colon, as
    in cutechess-cli and fastchess.
    """
    parsed = TimeControl.parse(text)
    if any(not stage.moves for stage in parsed.stages[:-1]):
        why = "a stage without a number of moves lasts to the end of the game, so the stage after ':' is never reached"
        raise ValueError(f"{why}; write minutes in seconds, 1:30+1 as 90+1 (found {text!r})")
    return str(parsed)


_Control = Annotated[str, AfterValidator(_parse_control)]
_Moves = Annotated[int, Field(ge=1, le=1000)]
_Path = Annotated[str, Field(min_length=1, max_length=4096)]
_TIME_CONTROL = (
    "10+0.1 (seconds + increment), 40/60+0.6, 40/60:20/30, hourglass=60, movetime=0.1, nodes=1000 or depth=8"
)


class _DrawSettings(_Section):
    """``[play] draw``: draw adjudication by the scores of both engines."""

    movenumber: int = Field(ge=0, le=2000, description="Number of moves that must have been played.")
    movecount: _Moves = Field(
        description="Number of consecutive moves of each side with scores within the limit (key score). "
        "A capture or a pawn move starts the count again."
    )
    score: int = Field(ge=0, le=10_000, description="Largest distance of both scores from 0, in centipawns.")


class ResignSettings(_Section):
    """``[play] resign``: resign adjudication by the score of the losing engine."""

    movecount: _Moves = Field(
        description="Number of consecutive moves with a score that reaches the limit (key score)."
    )
    # Mate scores count as 32,000 minus the number of moves.
    score: int = Field(ge=1, le=31_000, description="Score below 0 at which an engine has lost, in centipawns.")
    twosided: bool = Field(default=True, description="Whether the opponent's scores must agree.")


class TableSettings(_Section):
    """``[play] tablebases``: adjudication by Syzygy tables."""

    path: Annotated[tuple[_Path, ...], Field(min_length=1, max_length=64)] = Field(
        description="Directories of the Syzygy tables, as a list or separated as in PATH."
    )
    pieces: int | None = Field(
        default=None,
        ge=3,
        le=7,
        description="Largest number of pieces to adjudicate, kings included. Default: as in the largest tables.",
    )
    fifty: bool = Field(default=True, description="Whether a win that the fifty-move rule prevents counts as a draw.")
    only: Literal["wins", "draws", "both"] = Field(default="both", description="Results to adjudicate.")
    adjudicate: bool = Field(
        default=True, description="Whether enginetour ends games by the tables; false: only engines use them."
    )
    engines: bool = Field(
        default=False,
        description="Whether engines get the directories as SyzygyPath (UCI) or egtpath (CECP), if they support it.",
    )

    @field_validator("path", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            value = [directory for directory in value.split(os.pathsep) if directory]
        if not isinstance(value, list | tuple) or not value:
            raise ValueError(f'must be a directory, directories separated by "{os.pathsep}", or a list of directories')
        return tuple(value)

    @model_validator(mode="after")
    def _has_a_use(self) -> TableSettings:
        if not self.adjudicate and not self.engines:
            raise ValueError("adjudicate = false needs engines = true; otherwise remove tablebases")
        return self


class _OwnBookSection(_Section):
    """``own_book``: a Polyglot book from which enginetour plays for this engine, without using its clock."""

    file: _Path = Field(description="Polyglot book, relative to the configuration file.")
    choice: Literal["weight", "best"] = Field(
        default="weight", description="How to choose a move: at random by weight, or always the best one."
    )
    plies: int = Field(default=40, ge=1, le=400, description="Last ply of the game that may come from the book.")


class _SourceSection(_Section):
    engine: str | None = Field(default=None, description="Id of an engine file (see `enginetour engines list`).")
    glob: str | None = Field(default=None, description="Pattern of engine ids; each matching engine is an entrant.")
    name: _Name | None = Field(default=None, description="Name of the entrant. Default: the name in the engine file.")
    command: _ListOf[str] | None = Field(
        default=None, description="Program and arguments of an engine without an engine file."
    )
    protocol: Literal["uci", "cecp"] | None = Field(default=None, description="Protocol of an engine with a command.")


class DefaultsSection(_Section):
    """``[defaults]``: settings of all entrants that do not set them themselves."""

    dir: str | None = Field(
        default=None,
        description='Working directory of the engine, or "scratch" for a temporary one. '
        "Default: the program's directory if it is writable, else a temporary one.",
    )
    env: dict[str, str] = Field(default={}, description="Environment variables of the engine.")
    options: dict[str, OptionValue] = Field(default={}, description="Engine options by name.")
    limits: _ListOf[LimitName] | None = Field(
        default=None, description="Search limits that the engine supports. Default: those in the engine file."
    )
    quirks: dict[str, Any] = Field(
        default={}, description="Differences from the protocol, as under [quirks] of an engine file."
    )
    resources: dict[str, Any] = Field(
        default={}, description="Limits on memory and files, as under [resources] of an engine file."
    )
    sandbox: Sandbox | None = Field(
        default=None, description="Sandbox of the engine. Default: as in the engine file, or else as in [play]."
    )
    pass_env: _ListOf[VariableName] = Field(
        default=(), description="Names of environment variables that the engine inherits from enginetour."
    )
    keep_scratch: bool = Field(default=False, description="Whether the temporary directory is kept between games.")
    tc: _Control | None = Field(default=None, description="Time control of this entrant. Default: that of [play].")
    white_tc: _Control | None = Field(default=None, description="Time control with White. Default: tc.")
    black_tc: _Control | None = Field(default=None, description="Time control with Black. Default: tc.")
    tc_factor: float | None = Field(
        default=None,
        ge=0.001,
        le=1000,
        description="Factor that multiplies the times or nodes of this entrant. Default: 1.",
    )
    timemargin: _Milliseconds | None = Field(
        default=None, description="Time margin of this entrant in ms. Default: that of [play]."
    )
    ponder: bool | None = Field(default=None, description="Whether the engine ponders. Default: as in [play].")
    restart: Restart | None = Field(
        default=None, description="When the engine gets a new process. Default: as in [play]."
    )
    own_book: _OwnBookSection | None = Field(
        default=None, description="Polyglot book of this entrant: a file, or a table. Default: none."
    )
    _options = field_validator("options")(refuse_equal_options)
    _env = field_validator("env")(refuse_unusable_variables)

    @field_validator("own_book", mode="before")
    @classmethod
    def _book(cls, value: object) -> object:
        return {"file": value} if isinstance(value, str) else value


class EntrantSection(DefaultsSection, _SourceSection):
    """``[[entrants]]``: an engine file by its id, a command, or a glob over the ids of engine files."""

    inherit: str | None = Field(
        default=None,
        description="Another entrant, by its name or engine id. Its settings, except name, new, rating and reserve, "
        "are the defaults of this entrant.",
    )
    reserve: bool = Field(
        default=False,
        description="Whether the entrant is a reserve: it plays only if it takes the place of an entrant that fails.",
    )
    replaces: _Name | None = Field(
        default=None,
        description="In a league: the name of its previous version, whose place it takes in the next season.",
    )
    new: bool = Field(default=False, description="Whether the entrant is a newcomer without a known rank.")
    rating: float | None = Field(
        default=None,
        ge=-LARGEST_RATING,
        le=LARGEST_RATING,
        description="Rating on the scale of rating_scale, or a Go grade such as 6k. Default: that of the engine file.",
    )
    family: str = Field(
        default="",
        description="Family of the engine. Engines of the same family are related, such as versions of one engine.",
    )
    origin: str = Field(
        default="",
        description="Origin of the engine. Some formats avoid pairs of entrants with the same origin.",
    )
    _name = field_validator("name", "family", "origin")(printable)

    @field_validator("rating", mode="before")
    @classmethod
    def _graded(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        grade = grades.parse(value)
        if grade is None:
            raise ValueError(f"must be a number or {grades.ALLOWED}")
        return grade.rating()

    @model_validator(mode="after")
    def _one_source(self) -> EntrantSection:
        return self._checked()

    def _checked(self) -> EntrantSection:
        given = [key for key in ("engine", "command", "glob") if getattr(self, key)]
        if len(given) > 1 or not (given or self.inherit):
            raise ValueError(f"needs exactly one of engine, command, glob (found {' and '.join(given) or 'none'})")
        if self.command and not self.command[0].strip():
            raise ValueError("command must begin with a program")
        if self.command and not (self.name and self.protocol):
            raise ValueError("an entrant with a command needs name and protocol (uci or cecp)")
        if not self.command and self.protocol:
            raise ValueError("protocol is only for an entrant with a command; an engine file has its own")
        if self.glob and self.name:
            raise ValueError("name cannot be used with glob; the names are those of the engine files")
        return self

    def with_defaults(self, defaults: DefaultsSection) -> EntrantSection:
        """Return the entrant with the settings of `defaults` that it does not set itself, except options.

        The keys of tables are combined. A time control of the entrant replaces all time controls of `defaults`.
        """
        return self._with(defaults, defaults.model_fields_set - {"options"})

    def inheriting(self, other: EntrantSection) -> EntrantSection:
        """Return the entrant with the settings of another entrant that it does not set itself, as `with_defaults` does.

        Options are combined, too. Name, rank, rating and reserve are not inherited. Raise ValueError if the engine is
        inherited, but cannot be used without a name.
        """
        own = _SOURCES if any(getattr(self, key) for key in _SOURCES) else ()
        return self._with(other, other.model_fields_set - {*_OWN_KEYS, *own})._checked()

    def _with(self, other: DefaultsSection, keys: Iterable[str]) -> EntrantSection:
        own, found = self.model_fields_set, dict[str, Any]()
        for key in keys:
            usual, given = getattr(other, key), getattr(self, key)
            if key == "options":
                found[key] = combined_options(usual, given)
            elif isinstance(usual, dict):
                found[key] = usual | given
            elif key == "pass_env":
                found[key] = (*usual, *given)
            elif key not in own and not (key in _COLOR_CONTROLS and "tc" in own):
                found[key] = usual
        return self.model_copy(update=found) if found else self


def combined_options(usual: Mapping[str, OptionValue], own: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Return inherited engine options and those of an entrant, which have priority, also in another case."""
    names = {option.casefold() for option in own}
    return {**{option: value for option, value in usual.items() if option.casefold() not in names}, **own}


_SOURCES = ("engine", "command", "glob", "protocol")
_OWN_KEYS = ("name", "inherit", "reserve", "replaces", "new", "rating")  # keys that are not inherited
_COLOR_CONTROLS = ("white_tc", "black_tc")
_Extra = Literal["timeleft", "latency", "nodes", "seldepth", "nps", "hashfull", "tbhits", "pv", "lines"]
_Divisor = Annotated[float, Field(gt=1, le=1000)]


_TAG_NAME = re.compile("[A-Z][A-Za-z0-9_]{0,63}")  # the form of tag names in PGN standard 8.1
_MOST_TAGS = 32
_LONGEST_TAG = 255  # characters of a line (PGN standard 4.3)


def check_tags(tags: Mapping[str, str]) -> None:
    """Raise ValueError if a PGN tag of the user is not valid, or has a meaning of its own for enginetour."""
    from enginetour.interop.gametags import is_odds_tag  # imported here: tags are rarely given
    from enginetour.reports.pgn import OWN_TAGS

    own = {name.casefold() for name in OWN_TAGS}
    if len(tags) > _MOST_TAGS:
        raise ValueError(f"must have at most {_MOST_TAGS} tags (found {len(tags)})")
    if len({name.casefold() for name in tags}) < len(tags):
        raise ValueError("two names differ only in case")
    for name, value in tags.items():
        if not _TAG_NAME.fullmatch(name):
            raise ValueError(f"a name must be a capital letter, then letters, digits and _ (found {name!r})")
        if name.casefold() in own or is_odds_tag(name.encode()):
            raise ValueError(f"enginetour writes the tag {name} itself; choose another name")
        if printable(value) == "" or len(name) + len(json.dumps(value, ensure_ascii=False)) + 3 > _LONGEST_TAG:
            raise ValueError(f"the value of {name} must have 1 to {_LONGEST_TAG - len(name) - 5} characters")


class PlaySection(_Section):
    """``[play]``: time control, concurrency, openings, and the rules by which the referee ends a game.

    `config.entrants` explains how `tc`, `white_tc` and `black_tc` are combined with the keys of an entrant.
    """

    tc: _Control = Field(default="10+0.1", description=f"Time control: {_TIME_CONTROL}.")
    white_tc: _Control | None = Field(default=None, description="Time control with White. Default: tc.")
    black_tc: _Control | None = Field(default=None, description="Time control with Black. Default: tc.")
    concurrency: int = Field(default=1, ge=1, le=1024, description="Number of concurrent games.")
    affinity: bool | Literal["quick"] = Field(
        default="quick",
        description="CPU pinning: true pins each game to its own cores, false pins none, "
        '"quick" pins only very fast games of two single-threaded UCI engines.',
    )
    start_parallel: int = Field(  # runner spec 14
        default=4, ge=1, le=1024, description="Largest number of engines that start at the same time."
    )
    restart: Restart = Field(
        default="auto",
        description='When an engine gets a new process: "on" for each game, "off" only after a crash, '
        '"auto" after an abnormal end of a game.',
    )
    timemargin: _Milliseconds | None = Field(
        default=None,
        description="Time in ms that an engine may exceed its clock without losing. "
        "Default: 50, or 100 with a fixed time per move, or more if the engine file sets more.",
    )
    hang_limit: float = Field(
        default=60.0, gt=0, le=86_400, description="Longest time for a move without a clock, in seconds."
    )
    doubtful_flag: Literal["void", "loss"] = Field(
        default="void", description="Result of a time loss that the load of the machine may have caused."
    )
    max_moves: int = Field(default=600, ge=1, le=2000, description="Number of moves after which a game is a draw.")
    draw: _DrawSettings | None = Field(default=None, description="Draw adjudication by scores. Default: off.")
    resign: ResignSettings | None = Field(default=None, description="Resign adjudication by scores. Default: off.")
    tablebases: TableSettings | None = Field(default=None, description="Syzygy tables. Default: none.")
    draw_offers: bool = Field(
        default=False, description="Whether two engines may agree on a draw, if their protocols support offers."
    )
    repetition: int = Field(
        default=3, ge=3, le=5, description="Number of occurrences of a position after which a game is a draw."
    )
    fifty: int = Field(
        default=50,
        ge=50,
        le=75,
        description="Number of moves without a capture or a pawn move after which a game is a draw.",
    )
    grace: float = Field(
        default=60.0,
        ge=0,
        le=86_400,
        description="Longest time in seconds that games in progress continue after Ctrl-C.",
    )
    on_suspend: Literal["withdraw", "stop"] = Field(
        default="withdraw",
        description="What to do if no game can start without a suspended engine: withdraw the engine, or stop.",
    )
    suspend_patience: float = Field(  # reliability spec 1
        default=3600.0,
        ge=0,
        le=604_800,
        description="Time in seconds to wait for a suspended engine before on_suspend applies.",
    )
    odds: _ListOf[_Divisor] | None = Field(
        default=None,
        description="Divisors of the stronger engine's time for 1, 2, ... bands of handicap. Default: by formula.",
    )
    sandbox: Sandbox = Field(default="none", description="Sandbox of engines whose engine files do not set one.")
    ponder: bool = Field(default=False, description="Whether engines think in their opponents' time.")
    speed: Literal["measure"] | Annotated[float, Field(ge=0.05, le=20)] | None = Field(
        default=None,
        description="Speed of this machine relative to the reference machine, or "
        '"measure"; times are divided by it. Default: times are not scaled.',
    )
    pgn: _ListOf[_Extra] = Field(
        default=(), description='Data in PGN comments in addition to score, depth and time, or "all".'
    )
    tags: dict[str, str] = Field(
        default={},
        description='PGN tags of every game, such as { Site = "Berlin" }, except those that enginetour writes itself.',
    )
    eco: str = Field(default="", description="File of opening names and ECO codes for the PGN. Default: none.")
    keep_lines: str = Field(
        default="", description="Regular expression; engine output lines that match it are stored with the moves."
    )
    engine_log: bool = Field(
        default=False, description="Whether to write the last 256 KiB of each engine's input and output, per game."
    )
    variant: str = Field(default=STANDARD, description="Chess variant, such as chess960 or atomic.")
    openings: OpeningSettings = Field(
        default=OpeningSettings.model_construct(), description="Openings of the games. Default: bundled openings."
    )

    @field_validator("variant")
    @classmethod
    def _known(cls, name: str) -> str:
        return variant_named(name).name

    @field_validator("pgn", mode="before")
    @classmethod
    def _all(cls, names: object) -> object:
        return get_args(_Extra) if names in ("all", ["all"], ("all",)) else names

    @field_validator("tags")
    @classmethod
    def _usable(cls, tags: dict[str, str]) -> dict[str, str]:
        if tags:
            check_tags(tags)
        return tags

    @field_validator("keep_lines")
    @classmethod
    def _pattern(cls, text: str) -> str:
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"is not a valid Python regular expression: {error} (found {text!r})") from error
        return text

    @field_validator("odds")
    @classmethod
    def _growing(cls, table: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if table is not None and (not table or list(table) != sorted(table)):
            raise ValueError("must be a list of divisors that do not decrease, such as [2, 4, 8]")
        return table

    @field_validator("openings", mode="before")
    @classmethod
    def _table(cls, value: object) -> object:
        if isinstance(value, str):
            raise ValueError(f'must be a table: openings = {{ file = "{value}" }}')
        return value


def _known_system(name: str) -> str:
    from enginetour.ratings.systems import known_system  # imported here: a match starts faster without it

    return known_system(name)


class RatingsSection(_Section):
    """``[ratings]``: rating systems to show, the engine with a fixed rating, and settings of incremental systems.

    Settings apply to all games of the database. A system without settings here keeps its last settings.
    """

    systems: _ListOf[Annotated[str, AfterValidator(_known_system)]] = Field(
        default=("ml",), description="Rating systems to show."
    )
    anchor: dict[str, float] = Field(
        default={}, description="Entrant with a fixed rating, and that rating; all others are relative to it."
    )
    elo: EloSettings | None = Field(default=None, description="Settings of the system elo.")
    gor: CzechSettings | None = Field(default=None, description="Settings of the system gor (Czech GoR).")
    egf: EgfSettings | None = Field(default=None, description="Settings of the system egf (European Go Federation).")
    egf2021: Egf2021Settings | None = Field(default=None, description="Settings of the system egf2021.")
    plugins: dict[str, dict[str, Any]] = Field(
        default={}, description="Settings of rating systems of plug-ins, a table for each name."
    )

    @model_validator(mode="after")
    def _settings_are_used(self) -> RatingsSection:
        for system in self.settings():
            if system not in self.systems:
                raise ValueError(f"settings of {system} are given, but systems does not contain {system}")
        return self

    def settings(self) -> dict[str, BaseModel]:
        """Return the settings that are given, by system."""
        found = {system: getattr(self, system) for system in ("elo", "gor", "egf", "egf2021")}
        if self.plugins:
            from enginetour.ratings.systems import settings_for

            found |= {_known_system(name): settings_for(name, given) for name, given in self.plugins.items()}
        return {system: settings for system, settings in found.items() if settings is not None}


_PerHundred = Annotated[int, Field(ge=0, le=100)] | None
_LIMIT = "Largest number of {} of an engine per 100 games before it is suspended. Default: no limit."


class QualitySection(_Section):
    """``[quality]``: limits of failures; an engine that exceeds a limit is replaced by a reserve, or withdrawn."""

    crashes: _PerHundred = Field(default=None, description=_LIMIT.format("crashes"))
    stalls: _PerHundred = Field(default=None, description=_LIMIT.format("stalled connections"))
    time_losses: _PerHundred = Field(default=None, description=_LIMIT.format("time losses"))
    illegal_moves: _PerHundred = Field(default=None, description=_LIMIT.format("illegal moves"))

    def limits(self) -> dict[str, int]:
        """Return the limits that are given, by key."""
        return self.model_dump(exclude_none=True)


class ReportSection(_Section):
    """``[report]``: the HTML report; `enginetour report` writes it at any time."""

    write: bool = Field(default=True, description="Whether a run writes its HTML report at the end.")


_ORDERS = ("file", "rating", "standings")


def listed_order(order: str | None) -> tuple[str, int | None] | None:
    """Return the list and the edition in ``list:NAME`` or ``list:NAME#3``, or None for any other order."""
    found = re.fullmatch(r"list:([^#]+)(?:#([1-9]\d{0,8}))?", order or "")
    return None if found is None else (found[1], int(found[2]) if found[2] else None)


class TournamentSection(_Section):
    """``[tournament]``: name, random seed, and the order of the starting list."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)] = Field(description="Name of the tournament.")
    seed: int = Field(default=1, ge=0, lt=2**63, description="Random seed of openings and pairings.")
    order: str | None = Field(
        default=None,
        description='Order of the starting list: "file", "rating", "standings", "list:NAME" or "list:NAME#EDITION". '
        'Default: "file", and "rating" for later editions.',
    )
    rating_scale: Scale | None = Field(default=None, description="Scale of the entrants' ratings. Default: unknown.")
    _name = field_validator("name")(printable)

    @field_validator("order")
    @classmethod
    def _known_order(cls, order: str | None) -> str | None:
        if order is None or order in _ORDERS or listed_order(order):
            return order
        allowed = f"must be {', '.join(_ORDERS)}, list:NAME or list:NAME#EDITION"
        raise ValueError(f"{allowed} (found {order!r}){did_you_mean(order, _ORDERS)}")


_Notice = Literal["finished", "stopped", "incident", "suspended", "withdrawn", "disk-low"]
ALL: tuple[_Notice, ...] = get_args(_Notice)
_Text = Annotated[str, Field(min_length=1)]


class NotifySection(_Section):
    """``[notify]``: notifications by a command, a webhook, apprise services, or plug-ins."""

    command: _ListOf[_Text] = Field(
        default=(), description="Program and arguments. The program receives the event as JSON on its standard input."
    )
    webhook: str | None = Field(default=None, description="URL that receives the event as JSON by POST.")
    apprise: _ListOf[_Text] = Field(default=(), description="URLs of apprise services.")
    plugins: dict[str, dict[str, Any]] = Field(
        default={}, description="Settings of notifiers of plug-ins, a table for each name."
    )
    on: _ListOf[_Notice] = Field(default=ALL, description="Events that cause a notification.")

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
            raise ValueError("must be a URL that begins with http:// or https://")
        return url

    @model_validator(mode="after")
    def _known_plugins(self) -> NotifySection:
        self.channels()
        return self

    def channels(self) -> dict[str, Any]:
        """Return the settings of the channels that are configured, by name."""
        found = {name: getattr(self, name) for name in ("command", "webhook", "apprise") if getattr(self, name)}
        if self.plugins:
            from enginetour.tournament.notify import NOTIFIERS  # imported here, because it imports this module

            for name, given in self.plugins.items():
                if name in found or name not in NOTIFIERS:
                    what = f"unknown notifier {name!r}{did_you_mean(name, NOTIFIERS)}"
                    raise UnknownName(what, step="install the package that contains it, or remove its table")
                found[name] = validated(NOTIFIERS[name].settings, given, "plugins", name)
        return found
