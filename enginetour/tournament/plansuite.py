"""The openings that a configuration asks for, and whether games have room behind them."""

from __future__ import annotations

from pathlib import Path

from enginetour.model.errors import InputRefused
from enginetour.model.task import EngineSpec
from enginetour.openings.choice import OpeningSuite, load
from enginetour.openings.polyglot import BookLines
from enginetour.openings.suites import HeldGames
from enginetour.tournament.config.config import Config


def suite_of(config: Config, folder: Path) -> OpeningSuite:
    """The openings; a refusal of their file also tells where the configuration names it."""
    games = getattr(config.format_options, "games_per_pairing", 1)
    try:
        return load(
            config.play.openings,
            seed=config.tournament.seed,
            legs=min(2, games),
            listed=hasattr(config.format_options, "cycles"),
            folder=folder,
            variant=config.play.variant,
            most_plies=2 * config.play.max_moves - 1,  # one ply at least is an engine's
        )
    except InputRefused as error:
        named = f"named in {config.at('play', 'openings', 'file')}"
        error.step = f"{error.step}; {named}" if error.step else named
        raise


def _longest(config: Config, suite: OpeningSuite) -> tuple[int, str]:
    """Plies of the longest opening, where they are held or as long as was asked for, and what to call it."""
    if isinstance(suite.openings, BookLines):
        return config.play.openings.longest or 0, "lines"
    if isinstance(suite.openings, HeldGames):
        plies, name = suite.openings.longest
        return plies, f"the opening {name!r}"
    held = suite.openings if isinstance(suite.openings, tuple) else ()
    longest = max(held, key=lambda opening: len(opening.moves), default=None)
    return (0, "") if longest is None else (len(longest.moves), f"the opening {longest.name!r}")


def refuse_long(config: Config, suite: OpeningSuite) -> None:
    """InputRefused for openings that leave the engines no move."""
    plies, where = _longest(config, suite)
    if plies >= 2 * config.play.max_moves:
        what = f"max_moves {config.play.max_moves} is reached within {where} of {plies} plies"
        step = "raise it, or cut lines with plies under openings"
        raise InputRefused(what, place=config.at("play", "max_moves"), step=step)


def refuse_short_lived(config: Config, suite: OpeningSuite, spec: EngineSpec) -> None:
    """InputRefused for openings that are over only when an engine's longest game is."""
    most = spec.quirks.max_plies
    plies, where = _longest(config, suite) if most else (0, "")
    if most and plies >= most:
        what = f"max_plies {most} of {spec.name} is reached within {where} of {plies} plies"
        step = "leave it out of [quirks], or cut lines with plies under openings"
        raise InputRefused(what, place=config.at("play", "openings"), step=step)
