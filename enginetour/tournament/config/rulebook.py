"""The rules of a tournament's games, from its ``[play]``: bounds were checked before, here tables are looked for."""

from __future__ import annotations

import os
from pathlib import Path

from enginetour.model.errors import InputRefused
from enginetour.model.task import DrawRule, EngineSpec, ResignRule, Rules, TableRule
from enginetour.referee import tablebases
from enginetour.referee.tablebases import FEWEST_PIECES, Found
from enginetour.tournament.config.adjudication import TableSettings
from enginetour.tournament.config.config import Config

SYZYGY_PATH = "SyzygyPath"  # the option of UCI engines, and what stands for CECP's egtpath


def rules_of(config: Config) -> Rules:
    """InputRefused for tables that are not there, are damaged, or are of no use for the variant."""
    play = config.play
    return Rules(
        play.repetition,
        play.fifty,
        play.max_moves,
        play.hang_limit,
        play.doubtful_flag,
        draw=None if play.draw is None else DrawRule(**play.draw.model_dump()),
        resign=None if play.resign is None else ResignRule(**play.resign.model_dump()),
        tables=_table_rule(config),
        draw_offers=play.draw_offers,
    )


def _table_rule(config: Config) -> TableRule | None:
    settings = config.play.tablebases
    if settings is None:
        return None
    place, variant = config.at("play", "tablebases"), config.play.variant
    if not tablebases.is_known(variant):
        raise InputRefused(f"there are no tables for {variant}", place=place, step="leave tablebases out")
    found = look(config)
    if not found.wdl:
        where = ", ".join(folders_of(config))
        step = f"name the folders that hold files such as {tablebases.example(variant)}"
        raise InputRefused(f"no Syzygy tables for {variant} in {where}", place=place, step=step)
    if not settings.adjudicate:
        return None
    return TableRule(folders_of(config), settings.pieces or found.most, settings.fifty, settings.only)


def folders_of(config: Config) -> tuple[str, ...]:
    """The folders of the tables, absolute; relative ones begin at the configuration."""
    settings = config.play.tablebases
    if settings is None:
        return ()
    base = config.path.resolve().parent
    return tuple(str((base / Path(folder).expanduser()).resolve()) for folder in settings.path)


def look(config: Config) -> Found:
    """The tables in those folders; InputRefused for a folder that cannot be read, or files that are no tables."""
    place = config.at("play", "tablebases")
    try:
        found = tablebases.found_in(folders_of(config), config.play.variant)
    except OSError as error:
        raise InputRefused(f"{error.filename}: {error.strerror}", place=place, step="correct path") from None
    if found.damaged:
        more = f" and {len(found.damaged) - 1} more" if len(found.damaged) > 1 else ""
        what = f"{found.damaged[0]}{more}: cut, or no table (of 64 bytes a block and 16 behind them)"
        raise InputRefused(what, place=place, step="get the file again")
    return found


def table_lines(config: Config) -> tuple[str, ...]:
    """What tables there are and which are missing, for `check`; nothing without the rule."""
    settings = config.play.tablebases
    if settings is None:
        return ()
    found = look(config)
    return found.lines(max(FEWEST_PIECES, settings.pieces or found.most))


def offered_to(config: Config, spec: EngineSpec) -> tuple[tuple[str, str], ...]:
    """The path of the tables for an engine that bears it, and whose own options do not name one."""
    settings: TableSettings | None = config.play.tablebases
    if (
        settings is None
        or not settings.engines
        or spec.quirks.no_tablebases
        or any(name.casefold() == SYZYGY_PATH.casefold() for name, _ in spec.options)
    ):
        return ()
    return ((SYZYGY_PATH, os.pathsep.join(folders_of(config))),)
