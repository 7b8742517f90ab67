"""``[play]``: how games are played."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, Field, field_validator

from enginetour.model.task import Restart, Sandbox
from enginetour.model.variants import STANDARD, variant_named
from enginetour.openings.choice import OpeningSettings
from enginetour.tournament.config.adjudication import DrawSettings, ResignSettings, TableSettings
from enginetour.tournament.config.spelling import STRICT, Control

Extra = Literal["timeleft", "latency", "nodes", "seldepth", "nps", "hashfull", "tbhits", "pv", "lines"]
Divisor = Annotated[float, Field(gt=1, le=1000)]


class PlaySection(BaseModel):
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

    model_config = STRICT
    tc: Control = "10+0.1"
    white_tc: Control | None = None
    black_tc: Control | None = None
    slots: Annotated[int, Field(ge=1, le=1024)] = 1
    affinity: bool | Literal["quick"] = "quick"
    start_parallel: Annotated[int, Field(ge=1, le=1024)] = 4  # runner spec 14
    restart: Restart = "auto"
    margin_ms: Annotated[int, Field(ge=0, le=60_000)] | None = None
    hang_limit: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    doubtful_flag: Literal["void", "loss"] = "void"
    max_moves: Annotated[int, Field(ge=1, le=2000)] = 600
    draw: DrawSettings | None = None
    resign: ResignSettings | None = None
    tablebases: TableSettings | None = None
    draw_offers: bool = False
    repetition: Annotated[int, Field(ge=3, le=5)] = 3
    fifty: Annotated[int, Field(ge=50, le=75)] = 50
    grace: Annotated[float, Field(ge=0, le=86_400)] = 60.0
    on_suspend: Literal["withdraw", "stop"] = "withdraw"
    suspend_patience: Annotated[float, Field(ge=0, le=604_800)] = 3600.0  # s, reliability spec 1
    odds: tuple[Divisor, ...] | None = None
    sandbox: Sandbox = "none"
    ponder: bool = False
    speed: Literal["measure"] | Annotated[float, Field(ge=0.05, le=20)] | None = None
    pgn: tuple[Extra, ...] = ()
    eco: str = ""
    keep_lines: str = ""
    log_traffic: bool = False
    variant: str = STANDARD
    openings: OpeningSettings = OpeningSettings()

    @field_validator("variant")
    @classmethod
    def _known(cls, name: str) -> str:
        return variant_named(name).name

    @field_validator("odds", "pgn", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("pgn", mode="before")
    @classmethod
    def _all(cls, names: object) -> object:
        return get_args(Extra) if names in ("all", ["all"], ("all",)) else names

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
