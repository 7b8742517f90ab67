"""Commands match and sprt, and the option --sprt of rating lists: the sequential test of two engines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from enginetour.cli.options import RealRange, count_option, database_option, gathered, many_option, quote_command
from enginetour.cli.printing import echo, output_form, output_options, print_sheet
from enginetour.model.errors import TourError, UsageRefused, usage_errors
from enginetour.store.address import Address, database_of, results_of, rows_of_others, workspace_of

if TYPE_CHECKING:
    from enginetour.cli.session import Run
    from enginetour.interop.gametags import GameColumns
    from enginetour.interop.toml import ConfigDraft
    from enginetour.ratings.sequential import MatchTest, Sprt
    from enginetour.store.log import TournamentLog
    from enginetour.store.tournaments import Store
    from enginetour.tournament.probing import Detected


# `enginetour match`: write the configuration of a match and run it.

_OWN = frozenset({"tc", "concurrency", "openings"})  # settings of [play] whose options are defined below
_ELSEWHERE = frozenset({"odds"})  # setting of [play] that needs a handicap under [format]; `match` has no such option
# Options with a value of one word; a KEY=VALUE word after it does not belong to it.
_LISTED = frozenset({"--option", "--entrant"})
_EXAMPLES = {  # values that are tables or lists
    "draw": "movenumber=40 movecount=8 score=10",
    "resign": "movecount=4 score=600",
    "tablebases": "path=/syzygy",
    "pgn": "nodes,nps,pv",
    "tags": "Site=Berlin",
}
_TYPED = f"{__name__}.typed"  # key in the meta data of click's context, for the options on the command line
_PAIR = re.compile(r"[A-Za-z][A-Za-z0-9_]*=")


class _Match(click.Command):
    """A command with an option for every setting of [play]; the settings are read only if one of them is used."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options defined below, and also those of [play] if the command line or --help needs them."""
        params = super().get_params(ctx)
        written = {word for param in params[:-1] for word in param.opts}
        if ctx.meta.get(_TYPED, {"--help"}) <= written:
            return params
        return [*params[:-1], *_play_options(), params[-1]]  # --help is still the last option

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Join the words of each table such as ``--sprt elo0=0 elo1=5``, then parse the arguments as click does."""
        joined = _joined(args)
        ctx.meta[_TYPED] = {word.partition("=")[0] for word in joined if word.startswith("-")}
        return super().parse_args(ctx, joined)


@lru_cache(maxsize=1)
def _play_options() -> list[click.Option]:
    from enginetour.model.renamed import RENAMED_KEYS
    from enginetour.tournament.config.sections import PlaySection

    options = []
    for key, field in PlaySection.model_fields.items():
        if key in _OWN | _ELSEWHERE:
            continue
        previous = [path[1] for path, current in RENAMED_KEYS.items() if path[:-1] == ("play",) and current == key]
        options_of_key = [f"--{name.replace('_', '-')}" for name in (key, *previous)]
        option = options_of_key[0]
        usual = field.get_default(call_default_factory=True)
        text = field.description or f"Setting {key} of [play]."
        if key in _EXAMPLES:
            text += f" For example, {option} {_EXAMPLES[key]}."
        default: bool | str = False if usual in (None, (), "", {}) else str(usual)
        if isinstance(usual, bool):
            default = option[2:] if usual else f"no-{option[2:]}"
        settings: dict[str, Any] = {"help": text, "show_default": default}
        if field.annotation is bool or bool in get_args(field.annotation):
            switches = [f"{name}/--no-{name[2:]}" for name in options_of_key]
            options.append(click.Option([*switches, f"play_{key}"], default=None, **settings))
        else:
            options.append(click.Option([*options_of_key, f"play_{key}"], metavar="VALUE", **settings))
    return options


def _joined(args: Sequence[str]) -> list[str]:
    """Join the value of an option with the KEY=VALUE words that follow it."""
    joined: list[str] = []
    within = False  # whether the last word is the value of an option that may be a table
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
@click.option(
    "--tc",
    metavar="CONTROL",
    show_default="10+0.1",
    help="Time control: seconds+increment such as 1+0.01, or 40/60, nodes=1000 or depth=8.",
)
@count_option(
    "--games",
    show_default="100, or 2 per pair of more than two engines",
    help="Number of games; an odd number plays without game pairs.",
)
@click.option("--openings", metavar="FILE", help="Opening book, or settings: file=FILE order=sequential plies=8.")
@click.option("--order", type=click.Choice(["random", "sequential"]), help="Order of the openings.")
@click.option(
    "--sprt", metavar="TABLE", help="Stop when this SPRT decides: elo0=0 elo1=5, also alpha=, beta=, model=, pairs=."
)
@click.option(
    "--error",
    type=RealRange(0.1, 1000),
    metavar="ELO",
    help="Stop when the 95 % confidence interval of the Elo difference is at most +-ELO.",
)
@count_option("--concurrency", help="Number of concurrent games.")
@many_option("--option", "options", metavar="[ENGINE.]NAME=VALUE", help="Option of one engine or of all.")
@many_option(
    "--entrant",
    "settings",
    metavar="[ENGINE.]KEY=VALUE",
    help="Setting of one entrant or of all, such as tc or ponder.",
)
@click.option(
    "--format",
    "system",
    type=click.Choice(["roundrobin", "gauntlet"]),
    show_default="roundrobin",
    help="Format for more than two engines.",
)
@count_option("--seeds", show_default="1", help="Number of gauntlet engines: the first N engines play all others.")
@click.option("--name", metavar="TEXT", show_default="names of the engines", help="Name of the tournament.")
@count_option("--seed", least=0, most=2**63 - 1, default=1, show_default=True, help="Random seed.")
@click.option("--force", is_flag=True, help="Allow more concurrent games than processors.")
@click.option("--write-only", is_flag=True, help="Write the configuration, but do not play.")
@database_option
def match(
    engine: tuple[str, ...],
    tc: str | None,
    games: int | None,
    openings: str | None,
    order: str | None,
    sprt: str | None,
    error: float | None,
    concurrency: int | None,
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
    """Play engines against each other without a configuration.

    Each ENGINE is an id of `engines list`, a name or a command. Two engines
    play a match, more engines a round robin. enginetour writes a
    configuration into results/. The same command resumes an unfinished
    match, or plays a finished match again.

    Write tables as KEY=VALUE words, and lists with commas: --pgn nodes,pv.
    In --option and --entrant, ENGINE may also be the engine's number on the
    command line; the first engine is 1.

    Example: enginetour match stockfish ./my-engine --tc 1+0.01 --games 20
    """
    from enginetour.tournament.executor import probe_executor

    workspace = workspace_of(Path.cwd())
    hidden = results_of(workspace, database_of(workspace, db))
    # Engines are probed by the slots that play the games. Other modules load while the first slot starts.
    slots = click.get_current_context().with_resource(probe_executor(hidden, start=True))
    from enginetour.engines.registry import of_workspace
    from enginetour.tournament.config.quickmatch import MatchRequest, draft_match, parse_setting
    from enginetour.tournament.config.sections import PlaySection
    from enginetour.tournament.config.write import locate_typed, remove_draft, write_match
    from enginetour.tournament.plan import prepare
    from enginetour.tournament.probing import detect_each, known_probes

    under_play: dict[str, Any] = {} if tc is None else {"tc": tc}
    if openings is not None or order is not None:
        under_play["openings"] = _openings(openings, order)
    for key, value in play.items():
        if value is not None:
            key = key.removeprefix("play_")
            under_play[key] = parse_setting(PlaySection, key, value) if isinstance(value, str) else value
    asked = MatchRequest(
        engine, under_play, games, _table(sprt), error, system, seeds, options, settings, name or "", seed
    )
    detected: list[Detected] = []

    def detect(commands: Sequence[tuple[str, ...]], protocol: str | None, folder: Path) -> list[Detected]:
        detected.extend(_while_loading(partial(detect_each, commands, protocol, folder, slots)))
        return detected

    draft = draft_match(asked, of_workspace(workspace), Path.cwd(), detect)
    from enginetour.cli.run import RunOptions
    from enginetour.cli.session import Run

    fresh = not (directory := workspace / "results").exists()
    path, made = write_match(draft, directory, words := _typed(draft, engine))
    kept = not made  # true: keep the file; a new file is removed if the tournament does not start

    def announce() -> None:
        nonlocal kept
        kept = True
        echo(f"configuration {path}{'' if made else ' (unchanged)'}")

    if write_only:
        announce()
        echo(f"{quote_command('run', path, db=db)} plays it")
        return 0
    try:
        plan, how = prepare(path, db), RunOptions(concurrency, force=force, new=True, resume_new=True)
        run = Run(plan, db, slots, known_probes(plan.sides, detected), how, settled=announce)
        code = run.go()
    except TourError as error:
        locate_typed(error, path, path.read_text("utf-8", "replace"), words)
        if not kept:
            remove_draft(path, with_folder=fresh)
        raise
    _print_result(run)
    return code


def _table(sprt: str | None) -> Mapping[str, Any] | None:
    from enginetour.tournament.config.quickmatch import parse_value

    table = None if sprt is None else parse_value(sprt)
    if table is None or isinstance(table, Mapping):
        return table
    raise UsageRefused(f"must be a table such as elo0=0 elo1=5 (found {sprt!r})", place="--sprt")


def _while_loading(detect: Callable[[], list[Detected]]) -> list[Detected]:
    """Detect engines while the database modules are loaded."""
    from concurrent.futures import ThreadPoolExecutor  # imported here: `rate` imports this module

    with ThreadPoolExecutor(1) as other:
        answers = other.submit(detect)
        import_module("enginetour.cli.session")
        return answers.result()


def _openings(openings: str | None, order: str | None) -> dict[str, Any]:
    from enginetour.tournament.config.quickmatch import parse_setting
    from enginetour.tournament.config.sections import PlaySection

    read = parse_setting(PlaySection, "openings", openings) if openings is not None else {}
    found = dict(read) if isinstance(read, Mapping) else {"file": openings}
    return found if order is None else {**found, "order": order}


def _typed(draft: ConfigDraft, engines: Sequence[str]) -> dict[str, str]:
    """Map each key of the configuration to the option, or the word on the command line, that set it."""
    words = {key: f"--{key.replace('_', '-')}" for key in (*draft.play, "sprt", "games", "error", "seeds", "name")}
    words |= {"games_per_pairing": "--games", "system": "--format"}
    for number, (entrant, typed) in enumerate(zip(draft.entrants, engines, strict=True), 1):
        own = {key: "--option" if key == "options" else "--entrant" for key in entrant}
        words |= {f"{number}.{key}": option for key, option in own.items()}
        words |= {f"{number}.{key}": typed for key in ("", "engine", "command", "name", "protocol")}
    return words


def _print_result(run: Run) -> None:
    """Print the figures of a match if it has a game. For a match with a test, `Run` has already printed them."""
    from enginetour.reports.sprt import match_sheet
    from enginetour.store.games import head_to_head
    from enginetour.store.tournaments import newest_log

    config = run.plan.config
    if config.system != "match" or config.format_options.sprt is not None:
        return
    with rows_of_others(run.plan.database), newest_log(run.plan.database, config.tournament.name) as log:
        if log is None:  # the run stopped before it created the tournament
            return
        one, other = (entrant.name for entrant in log.entrants)
        if log.pair_counts():
            met = head_to_head(log.database, one, other, tournament=log.id)
            print_sheet(match_sheet(f"{one} against {other}", met.scheduled))


# `ratings --sprt` and `rate --sprt`: the sequential test of two engines, over their games in the database or in files.


@dataclass(frozen=True, slots=True)
class TestRequest:
    """A sequential test of two engines."""

    engines: tuple[str, str]
    test: Sprt


def _requested(
    sprt: tuple[str, str, float, float] | None, model: str | None, alpha: float | None, beta: float | None
) -> TestRequest | None:
    if sprt is None:
        for option, value in (("--sprt-model", model), ("--alpha", alpha), ("--beta", beta)):
            if value is not None:
                raise UsageRefused("needs --sprt", place=option, step="add --sprt A B ELO0 ELO1")
        return None
    return TestRequest(sprt[:2], _made_test("--sprt", *sprt[2:], model, alpha, beta))


def _made_test(
    place: str, elo0: float, elo1: float, model: str | None, alpha: float | None, beta: float | None
) -> Sprt:
    """Return the test. Errors of the bounds name the option `place`, those of the error rates their options."""
    from enginetour.ratings.sequential import ERROR, Sprt

    rates = {"--alpha": ERROR if alpha is None else alpha, "--beta": ERROR if beta is None else beta}
    odd = [option for option, rate in rates.items() if not 0 < rate < 1]
    both = [] if sum(rates.values()) < 1 else [*rates]
    with usage_errors(", ".join(odd or both) or place):
        # click has checked the model
        return Sprt(elo0, elo1, model or "logistic", *rates.values())  # type: ignore[arg-type]


def _test_options(*model: str) -> tuple[Callable[[Any], Any], ...]:
    """Return the options of the model, under the names `model`, and of the error rates."""
    return (
        click.option(
            *model,
            "model",
            type=click.Choice(["logistic", "normalized", "bayesian"]),
            show_default="logistic",
            help="Unit of ELO0 and ELO1: Elo, normalized Elo (nElo) or BayesElo.",
        ),
        click.option(
            "--alpha", type=float, metavar="P", show_default="0.05", help="Probability of accepting H1 if H0 is true."
        ),
        click.option(
            "--beta", type=float, metavar="P", show_default="0.05", help="Probability of accepting H0 if H1 is true."
        ),
    )


# The options of a test, passed to the command as `test`: a TestRequest, or None if ``--sprt`` is not given.
sprt_options = gathered(
    (
        click.option(
            "--sprt",
            type=(str, str, float, float),
            metavar="A B ELO0 ELO1",
            help="Run an SPRT of A vs B (H0: elo=ELO0, H1: elo=ELO1) instead of printing the list.",
        ),
        *_test_options("--sprt-model"),
    ),
    "test",
    _requested,
)


def print_test(store: Store, log: TournamentLog | None, asked: TestRequest) -> None:
    """Print the test over the games of two engines in the tournament `log`, or in the whole database if it is None.

    Game pairs are evaluated in the order of the schedule, as in a match with this test.
    """
    from enginetour.ratings.sequential import match_test
    from enginetour.reports.sheet import format_count
    from enginetour.store.games import head_to_head

    met = head_to_head(store.database, *asked.engines, tournament=None if log is None else log.id)
    notes = [f"versions counted as one engine: {', '.join(versions)}" for versions in met.versions if len(versions) > 1]
    for imported, games in met.unopened.items():  # an older version imported them and did not store openings
        again = f"run enginetour import --remove {shlex.quote(imported)}, then import the files again"
        count = format_count(games, "game")
        notes.append(
            f"{count} of {imported} not counted as game pairs, because the import has no openings. Hint: {again}"
        )
    title = "all tournaments" if log is None else log.title
    value = {"versions": [list(versions) for versions in met.versions], "openings_not_kept": dict(met.unopened)}
    _print_figures(match_test(asked.test, met.scheduled), met.names, title, notes, value)


def print_file_test(
    files: Sequence[Path],
    games: GameColumns,
    naming: Callable[[str], str | None],
    asked: TestRequest,
    notes: Sequence[str],
) -> None:
    """Print the test over the games of two engines in PGN files, in the order of the files."""
    from enginetour.interop.gamepairs import match_games, meant_engines
    from enginetour.ratings.sequential import match_test

    engines = meant_engines(games, naming, asked.engines)
    met = match_games(games, naming, *engines)
    title = ", ".join(path.name for path in files)
    _print_figures(match_test(asked.test, met), engines, title, notes, {"files": list(map(str, files))})


def _print_figures(
    found: MatchTest, engines: tuple[str, str], title: str, notes: Sequence[str], value: Mapping[str, object]
) -> None:
    from enginetour.reports.sprt import sprt_row, sprt_sheet

    if output_form() == "csv":
        print_sheet(sprt_row(engines, found))
    else:
        sheet = sprt_sheet(f"{engines[0]} against {engines[1]} · {title}", engines, found, notes)
        print_sheet(sheet, {"engines": list(engines), **value, **found.to_json()})


# `enginetour sprt`: the same test from counts on the command line.

_COUNTED = ("first engine", "second engine")
_WITHOUT_ORDER = (
    "counts do not show the order of the results: the bounds are Wald's, and Elo is not corrected for an early stop"
)
_MOST_GAMES = 10**12


class _Counts(click.ParamType[tuple[int, ...]]):
    """A parameter type for counts such as ``30,440,1100,500,30``, also in brackets and with spaces."""

    name = "counts"

    def __init__(self, kinds: Sequence[str]) -> None:
        self._kinds = kinds

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the counts in the order of the text. Raise click.BadParameter if they are not valid."""
        words = str(value).strip(" []").split(",")
        if len(words) != len(self._kinds) or not all(re.fullmatch(r" *[0-9]{1,13} *", word) for word in words):
            self.fail(
                f"must be {len(self._kinds)} counts separated by commas: {','.join(self._kinds)} (found {value!r})"
            )
        counts = tuple(map(int, words))
        if not 0 < sum(counts) <= _MOST_GAMES:
            self.fail(f"the sum of the counts must be between 1 and {_MOST_GAMES} (found {sum(counts)})")
        return counts


@click.command()
@click.option(
    "--penta",
    type=_Counts(("LL", "LD", "DD", "WD", "WW")),
    metavar="LL,LD,DD,WD,WW",
    help="Game pairs of the first engine with 0, 1/2, 1, 1 1/2 and 2 points, as in Ptnml(0-2) of fastchess.",
)
@click.option(
    "--wdl", type=_Counts(("W", "D", "L")), metavar="W,D,L", help="Wins, draws and losses of the first engine."
)
@gathered(
    (
        click.option("--elo0", type=float, default=0, show_default="0", help="Elo difference of hypothesis H0."),
        click.option("--elo1", type=float, default=5, show_default="5", help="Elo difference of hypothesis H1."),
        *_test_options("--model"),
    ),
    "test",
    partial(_made_test, "--elo0, --elo1"),
)
@output_options
def sprt(penta: tuple[int, ...] | None, wdl: tuple[int, ...] | None, test: Sprt) -> None:
    """Compute an SPRT and Elo from counts of games.

    Give game pairs (--penta), single games (--wdl), or both. Pairs give more
    accurate errors. The counts do not show the order of the games, so the
    bounds are those of Wald. To play a test, use `enginetour match --sprt`;
    for games in files or in the database, use `rate --sprt` or
    `ratings --sprt`.

    Example: enginetour sprt --penta 30,440,1100,500,30 --elo0 0 --elo1 5
    """
    from enginetour.ratings.sequential import MatchTest

    if penta is None and wdl is None:
        step = "give --penta LL,LD,DD,WD,WW or --wdl W,D,L; to play a test, use enginetour match A B --sprt"
        raise UsageRefused("no counts are given", step=step)
    with usage_errors("--penta" if wdl is None else "--wdl"):
        found = MatchTest.of_counts(test, wdl and wdl[::-1], penta)
    _print_figures(found, _COUNTED, "counts", [_WITHOUT_ORDER], {})
