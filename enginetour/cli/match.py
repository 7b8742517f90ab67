"""Commands match and --sprt: a match without a configuration file, and the sequential test of two engines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from enginetour.cli.options import database_option, gathered, open_store, quote_command
from enginetour.cli.printing import echo, output_form, print_sheet
from enginetour.model.errors import TourError, UsageRefused
from enginetour.store.address import Address, database_of, results_of, workspace_of

if TYPE_CHECKING:
    from enginetour.cli.session import Run
    from enginetour.interop.gametags import GameColumns
    from enginetour.interop.toml import ConfigDraft
    from enginetour.ratings.sequential import Sprt
    from enginetour.store.log import TournamentLog
    from enginetour.store.tournaments import Store


# `enginetour match`: write the configuration of a match and run it.

_OWN = frozenset({"tc", "slots", "openings"})  # settings of [play] with an option written out below
_ELSEWHERE = frozenset({"odds"})  # goes with a handicap of [format], which a line cannot say
_LISTED = frozenset({"--option", "--entrant"})  # take one value each time
_EXAMPLES = {  # of what is no single value
    "draw": "after_move=40 moves=8 score=10",
    "resign": "moves=4 score=600",
    "tablebases": "path=/syzygy",
    "pgn": "nodes,nps,pv, or all",
}
_MORE = {"draw": ". A capture or a pawn move starts the count of moves again."}
_TYPED = f"{__name__}.typed"  # options of the command line, in the context
_PAIR = re.compile(r"[a-z][a-z0-9_]*=")
_MOST_FILES = 1000  # configurations of one name


class _Match(click.Command):
    """Every setting of [play] is an option too, read from the section itself when one is typed."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Those written out, then those of [play] unless only written ones are typed."""
        params = super().get_params(ctx)
        written = {word for param in params[:-1] for word in param.opts}
        if ctx.meta.get(_TYPED, {"--help"}) <= written:
            return params
        return [*params[:-1], *_play_options(), params[-1]]  # --help stays the last

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click, once the words of a table stand together: ``--sprt elo0=0 elo1=5``."""
        joined = _joined(args)
        ctx.meta[_TYPED] = {word.partition("=")[0] for word in joined if word.startswith("-")}
        return super().parse_args(ctx, joined)


@lru_cache(maxsize=1)
def _play_options() -> list[click.Option]:
    from enginetour.tournament.config.sections import PlaySection

    options = []
    for key, field in PlaySection.model_fields.items():
        if key in _OWN | _ELSEWHERE:
            continue
        word = f"--{key.replace('_', '-')}"
        usual = field.get_default(call_default_factory=True)
        told = f"[play] {key}" + (f", as {_EXAMPLES[key]}" if key in _EXAMPLES else "")
        told += _MORE.get(key, "")
        told += "" if usual in (None, (), "") else f", default {usual}"
        if field.annotation is bool or bool in get_args(field.annotation):
            options.append(click.Option([f"{word}/--no-{word[2:]}", f"play_{key}"], default=None, help=told))
        else:
            options.append(click.Option([word, f"play_{key}"], metavar="VALUE", help=told))
    return options


def _joined(args: Sequence[str]) -> list[str]:
    """The words KEY=VALUE behind the value of an option become part of it."""
    joined: list[str] = []
    within = False  # the last word belongs to an option that may be a table
    for word in args:
        if within and _PAIR.match(word) and _PAIR.match(joined[-1]):
            joined[-1] += f" {word}"
            continue
        before = joined[-1] if joined else ""
        within = before.startswith("--") and before not in _LISTED and "=" not in before
        joined.append(word)
    return joined


@click.command(cls=_Match)
@click.argument("engine", nargs=-1, required=True)
@click.option("--tc", help="Time control, default 10+0.1: 1+0.01, 40/60, nodes=1000, depth=8.")
@click.option(
    "--games", type=click.IntRange(min=1), help="Games of the match (100; odd: no pairs), or of each pair (2)."
)
@click.option("--openings", metavar="FILE", help="Suite, or settings as file=F order=sequential plies=8.")
@click.option("--order", type=click.Choice(["random", "sequential"]), help="Of the openings.")
@click.option("--sprt", metavar="TABLE", help="elo0=0 elo1=5 [alpha= beta= model= pairs=]: play until it is known.")
@click.option(
    "--error",
    type=click.FloatRange(0.1, 1000),
    metavar="ELO",
    help="Play until the difference is known to +-ELO, 95 %.",
)
@click.option("--slots", type=click.IntRange(min=1), help="Games at once.")
@click.option("--option", "options", multiple=True, metavar="[ENGINE.]NAME=VALUE", help="Option of an engine, or all.")
@click.option("--entrant", "settings", multiple=True, metavar="[ENGINE.]KEY=VALUE", help="Its tc, margin_ms, ...")
@click.option("--format", "system", type=click.Choice(["roundrobin", "gauntlet"]), help="Of more than two engines.")
@click.option("--seeds", type=click.IntRange(min=1), help="The first so many play the gauntlet.")
@click.option("--name", help="Of the tournament; default: the engines' names.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True, help="Of all chance.")
@click.option("--force", is_flag=True, help="Allow more slots than processors.")
@click.option("--write-only", is_flag=True, help="Write the configuration, play nothing.")
@database_option
def match(
    engine: tuple[str, ...],
    tc: str | None,
    games: int | None,
    openings: str | None,
    order: str | None,
    sprt: str | None,
    error: float | None,
    slots: int | None,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    system: str | None,
    seeds: int | None,
    name: str | None,
    seed: int,
    force: bool,
    write_only: bool,
    db: Address | None,
    **play: Any,
) -> int:
    """Play ENGINE ENGINE ... without a configuration: ids, names or commands.

    Two play a match, more a round robin. A configuration is written into
    results/, so all other commands know it; the same line goes on where it
    stopped, and plays it anew once it has ended. Tables are written as
    KEY=VALUE words, lists with commas: --pgn nodes,pv. ENGINE may be its
    number, from 1.

    Example: enginetour match stockfish ./my-engine --tc 1+0.01 --games 20
    """
    from enginetour.tournament.executor import probe_executor

    workspace = workspace_of(Path.cwd())
    hidden = results_of(workspace, database_of(workspace, db))
    # Commands are tried where the games are played; what reads them loads while the first slot starts.
    place = click.get_current_context().with_resource(probe_executor(hidden, start=True))
    from enginetour.engines.registry import of_workspace
    from enginetour.tournament.config.quickmatch import MatchRequest, draft_match, parse_setting, parse_value
    from enginetour.tournament.config.sections import PlaySection
    from enginetour.tournament.config.write import locate_typed, remove_draft
    from enginetour.tournament.probing import Detected, detect_each

    under_play: dict[str, Any] = {} if tc is None else {"tc": tc}
    if openings is not None or order is not None:
        under_play["openings"] = _suite(openings, order)
    for key, value in play.items():
        if value is not None:
            key = key.removeprefix("play_")
            under_play[key] = parse_setting(PlaySection, key, value) if isinstance(value, str) else value
    table = parse_value(sprt) if sprt is not None else None
    if table is not None and not isinstance(table, Mapping):
        raise UsageRefused(f"expected elo0=0 elo1=5, found {sprt!r}", place="--sprt")
    asked = MatchRequest(engine, under_play, games, table, error, system, seeds, options, settings, name or "", seed)
    detected: list[Detected] = []

    def detect(commands: Sequence[tuple[str, ...]], protocol: str | None, folder: Path) -> list[Detected]:
        with ThreadPoolExecutor(1) as other:
            answers = other.submit(detect_each, commands, protocol, folder, place)
            import_module("enginetour.cli.session")  # with the store: while engines are detected
            detected.extend(answers.result())
        return detected

    draft = draft_match(asked, of_workspace(workspace), Path.cwd(), detect)
    from enginetour.cli.session import Run

    folder = workspace / "results"
    fresh = not folder.exists()
    path, made = _written(draft, folder, words := _typed(draft, engine))
    kept = not made  # a new file stays if there will be a tournament

    def announce() -> None:
        nonlocal kept
        kept = True
        echo(f"configuration {path}{'' if made else ', as before'}")

    if write_only:
        announce()
        echo(f"{quote_command('run', path, db=db)} plays it")
        return 0
    try:
        how: dict[str, Any] = {"new": True, "resume_new": True, "accept_change": False, "live": False}
        run = Run(path, db, place, **how, settled=announce, detected=detected)
        code = run.go(slots=slots, force=force)
    except TourError as error:
        locate_typed(error, path, path.read_text("utf-8", "replace"), words)
        if not kept:
            remove_draft(path, with_folder=fresh)
        raise
    _print_result(run)
    return code


def _suite(openings: str | None, order: str | None) -> dict[str, Any]:
    from enginetour.tournament.config.quickmatch import parse_setting
    from enginetour.tournament.config.sections import PlaySection

    read = parse_setting(PlaySection, "openings", openings) if openings is not None else {}
    suite = dict(read) if isinstance(read, Mapping) else {"file": openings}
    return suite if order is None else {**suite, "order": order}


def _typed(draft: ConfigDraft, engines: Sequence[str]) -> dict[str, str]:
    """What was typed for each key of the configuration."""
    words = {key: f"--{key.replace('_', '-')}" for key in (*draft.play, "sprt", "games", "error", "seeds", "name")}
    words |= {"games_per_pairing": "--games", "system": "--format"}
    for number, (entrant, typed) in enumerate(zip(draft.entrants, engines, strict=True), 1):
        own = {key: "--option" if key == "options" else "--entrant" for key in entrant}
        words |= {f"{number}.{key}": option for key, option in own.items()}
        words |= {f"{number}.{key}": typed for key in ("", "engine", "command", "name", "protocol")}
    return words


def _written(draft: ConfigDraft, folder: Path, words: Mapping[str, str]) -> tuple[Path, bool]:
    """The file of this configuration, and whether it was made now: the same words have the same file."""
    from enginetour.tournament.config.load import slug
    from enginetour.tournament.config.quickmatch import with_number
    from enginetour.tournament.config.write import write_draft

    for number in range(1, _MOST_FILES):
        numbered = with_number(draft, number)
        path = folder / f"{slug(str(numbered.tournament['name']))}.toml"
        if not path.exists():
            write_draft(numbered, path, words)
            return path, True
        if path.read_text(encoding="utf-8", errors="replace") == numbered.text():
            return path, False
    raise UsageRefused(f"{_MOST_FILES} configurations of this name", place=str(folder), step="choose another --name")


def _print_result(run: Run) -> None:
    """The figures of a match without a test, once it has a game; a test has told its own."""
    from enginetour.reports.sprt import match_sheet
    from enginetour.store.database import database_exists
    from enginetour.store.games import head_to_head

    config = run.plan.config
    if config.system != "match" or config.format_options.sprt is not None or not database_exists(run.plan.database):
        return
    with open_store(run.plan.database) as store:
        if not store.has(config.tournament.name):  # stopped before it was
            return
        log = store.tournament(config.tournament.name)
        one, other = (entrant.name for entrant in log.entrants)
        if log.pair_counts():
            met = head_to_head(store.database, one, other, tournament=log.id)
            print_sheet(match_sheet(f"{one} against {other}", met.scheduled))


# `--sprt`: sequential test of two engines over their games in the database or in files.


@dataclass(frozen=True, slots=True)
class TestRequest:
    """A sequential test between two engines, instead of a list."""

    engines: tuple[str, str]
    test: Sprt


def _requested(
    sprt: tuple[str, str, float, float] | None, model: str | None, alpha: float | None, beta: float | None
) -> TestRequest | None:
    if sprt is None:
        for word, value in (("--sprt-model", model), ("--alpha", alpha), ("--beta", beta)):
            if value is not None:
                raise click.UsageError(f"{word} belongs to --sprt")
        return None
    from enginetour.ratings.sequential import ERROR, Sprt

    errors = (ERROR if alpha is None else alpha, ERROR if beta is None else beta)
    try:
        test = Sprt(*sprt[2:], model or "logistic", *errors)  # type: ignore[arg-type]  # click has checked the model
    except ValueError as error:
        raise click.UsageError(f"--sprt: {error}") from None
    return TestRequest(sprt[:2], test)


# The options of a test, as `test`: a TestRequest, None without ``--sprt``.
sprt_options = gathered(
    (
        click.option(
            "--sprt",
            type=(str, str, float, float),
            metavar="A B ELO0 ELO1",
            help="No list: is A nearer ELO1 above B than ELO0? W/D/L, pairs, LLR, Elo, LOS, nElo.",
        ),
        click.option(
            "--sprt-model",
            "model",
            type=click.Choice(["logistic", "normalized", "bayesian"]),
            help="What ELO0 and ELO1 are: Elo (default), nElo, BayesElo.",
        ),
        click.option("--alpha", type=float, metavar="P", help="Chance of H1 when ELO0 is true, 0.05 unless told."),
        click.option("--beta", type=float, metavar="P", help="Chance of H0 when ELO1 is true, 0.05 unless told."),
    ),
    "test",
    _requested,
)


def print_test(store: Store, log: TournamentLog | None, asked: TestRequest) -> None:
    """Print the test over the games of two engines in one tournament, or in the whole store without `log`.

    Pairs are looked at in the order of the schedule, as a match under the test looks at them.
    """
    from enginetour.reports.sheet import format_count
    from enginetour.store.games import head_to_head

    met = head_to_head(store.database, *asked.engines, tournament=None if log is None else log.id)
    notes = [f"added up: {', '.join(versions)}" for versions in met.versions if len(versions) > 1]
    for imported, games in met.unopened.items():  # before openings were kept
        again = f"enginetour import --remove {shlex.quote(imported)}, then import its files again"
        count = format_count(games, "game")
        notes.append(f"{count} of {imported} counted one by one: no openings were kept then; {again}")
    title = "all tournaments" if log is None else log.title
    value = {"versions": [list(versions) for versions in met.versions], "openings_not_kept": dict(met.unopened)}
    _print_figures(asked.test, met.names, met.scheduled, title, notes, value)


def print_file_test(
    files: Sequence[Path],
    games: GameColumns,
    naming: Callable[[str], str | None],
    asked: TestRequest,
    notes: Sequence[str],
) -> None:
    """Print the test over the games of two engines in files, in their order."""
    from enginetour.interop.gamepairs import match_games, meant_engines

    engines = meant_engines(games, naming, asked.engines)
    met = match_games(games, naming, *engines)
    title = ", ".join(path.name for path in files)
    _print_figures(asked.test, engines, met, title, notes, {"files": list(map(str, files))})


def _print_figures(
    test: Sprt,
    engines: tuple[str, str],
    games: Sequence[tuple[Hashable, int]],
    title: str,
    notes: Sequence[str],
    value: Mapping[str, object],
) -> None:
    from enginetour.ratings.sequential import match_test
    from enginetour.reports.sprt import sprt_row, sprt_sheet

    found = match_test(test, games)
    if output_form() == "csv":
        print_sheet(sprt_row(engines, found))
    else:
        sheet = sprt_sheet(f"{engines[0]} against {engines[1]} · {title}", engines, found, notes)
        print_sheet(sheet, {"engines": list(engines), **value, **found.to_json()})
