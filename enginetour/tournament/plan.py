"""Plan of a tournament: the configuration resolved to entrants, engines, openings, rules and starting list.

Nothing here writes. All errors of a configuration are found before the first game.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginetour.engines.enginefile import EngineEntry
from enginetour.engines.machine import (
    FILES,
    SLOT_FILES,
    Cores,
    SpeedSetting,
    allowed_processors,
    find_cores,
    most_files,
)
from enginetour.engines.registry import of_workspace
from enginetour.formats.base import SYSTEMS, Format
from enginetour.model import task
from enginetour.model.errors import InputRefused, StoreRefused, UsageRefused, suggest
from enginetour.model.game import Entrant, Pairing
from enginetour.model.plugins import UnknownName, refuse_missing, stored_plugins
from enginetour.model.task import DeclaredOption, EngineSpec, GameTask, Rules, Side
from enginetour.model.timecontrol import LONG_GAME
from enginetour.model.variants import STANDARD
from enginetour.openings.books import HeldGames
from enginetour.openings.choice import BUILT_IN, READERS, OpeningBook, OpeningScope, load_opening_book
from enginetour.openings.eco import OpeningNames, read_opening_names
from enginetour.openings.polyglot import BookLines
from enginetour.openings.positions import needs_setboard
from enginetour.reports.sheet import format_count
from enginetour.reports.starts import starts_json
from enginetour.store.address import Address, database_of, results_of, workspace_of
from enginetour.tournament.config import load
from enginetour.tournament.config.entrants import (
    control_warnings,
    describe_controls,
    describe_tables,
    refuse_mixed_hourglass,
    resolve,
    rules_of,
    side_of,
)
from enginetour.tournament.config.load import Config
from enginetour.tournament.config.sections import listed_order
from enginetour.tournament.quality import can_replace

if TYPE_CHECKING:
    from enginetour.store.tournaments import Store


_EDITION_SEEDS = 1 << 32  # larger than seeds that users choose, so that no edition has the seed of another tournament
_GO_SYSTEMS = ("gor", "egf", "egf2021")  # their ratings are on the Go scale
FEWEST = 2  # entrants; a game has two sides


@dataclass(frozen=True)
class _Resources:
    """The files and rules of a configuration, loaded on first use. Raises InputRefused if a file cannot be used."""

    config: Config

    @property
    def folder(self) -> Path:
        return self.config.path.resolve().parent

    @cached_property
    def format(self) -> Format[Any]:
        return self.config.make_format()

    @cached_property
    def rules(self) -> Rules:
        return rules_of(self.config)

    @cached_property
    def names(self) -> OpeningNames | None:
        eco = self.config.play.eco
        path = self.folder / Path(eco).expanduser()
        return read_opening_names(path, self.config.at("play", "eco")) if eco else None

    @cached_property
    def book(self) -> OpeningBook:
        """The openings. An error in their file also shows the line of the configuration that sets the file."""
        config, games = self.config, getattr(self.config.format_options, "games_per_pairing", 1)
        try:
            return load_opening_book(
                config.play.openings,
                seed=config.tournament.seed,
                legs=min(2, games),
                listed=hasattr(config.format_options, "cycles"),
                folder=self.folder,
                variant=config.play.variant,
                most_plies=2 * config.play.max_moves - 1,  # an engine must play at least one ply
            )
        except InputRefused as error:
            named = f"the file is set in {config.at('play', 'openings', 'file')}"
            error.step = f"{error.step}; {named}" if error.step else named
            raise

    @cached_property
    def longest(self) -> tuple[int, str]:
        """The largest number of plies of an opening, and a name for this opening in messages."""
        openings = self.book.openings
        if isinstance(openings, BookLines):
            return self.config.play.openings.longest or 0, "an opening line"
        if isinstance(openings, HeldGames):
            plies, name = openings.longest
            return plies, f"the opening {name!r}"
        held = openings if isinstance(openings, tuple) else ()
        longest = max(held, key=lambda opening: len(opening.moves), default=None)
        return (0, "") if longest is None else (len(longest.moves), f"the opening {longest.name!r}")

    def refuse_long(self) -> None:
        (plies, where), most = self.longest, self.config.play.max_moves
        if plies >= 2 * most:
            what = f"max_moves {most} is reached during {where}, which has {plies} plies"
            step = "increase max_moves, or shorten the openings with plies under openings"
            raise InputRefused(what, place=self.config.at("play", "max_moves"), step=step)

    def refuse_short_lived(self, spec: EngineSpec) -> None:
        most = spec.quirks.max_plies
        plies, where = self.longest if most else (0, "")
        if most and plies >= most:
            what = f"max_plies {most} of {spec.name} is reached during {where}, which has {plies} plies"
            step = "remove max_plies from [quirks], or shorten the openings with plies under openings"
            raise InputRefused(what, place=self.config.at("play", "openings"), step=step)


def opening_names(config: Config) -> OpeningNames | None:
    """Return the opening names for the PGN; None without `eco`. Raises InputRefused."""
    return _Resources(config).names


@dataclass(frozen=True)
class Plan:
    """A tournament that can be started: its entrants, best first, its reserves, and how each of them plays."""

    config: Config
    workspace: Path
    database: Address
    entrants: tuple[Entrant, ...]
    sides: Mapping[str, Side]  # of entrants and reserves
    files: Mapping[str, EngineEntry]  # engine files of those that have one
    resources: _Resources
    reserves: tuple[Entrant, ...] = ()  # in the order in which they take the places of failing engines
    dealt: OpeningBook | None = None
    speed: float | None = None  # of this machine, if clocks are scaled by it
    away: bool = False  # true: games are played on other machines, whose speeds scale the clocks

    @property
    def format(self) -> Format[Any]:
        """The format with the options of the configuration."""
        return self.resources.format

    @property
    def rules(self) -> Rules:
        """The rules of the games."""
        return self.resources.rules

    @property
    def names(self) -> OpeningNames | None:
        """Opening names for the PGN."""
        return self.resources.names

    @property
    def book(self) -> OpeningBook:
        """The openings, in the order of the edition."""
        return self.dealt or self.resources.book

    @property
    def results(self) -> Path:
        """The directory of PGN, event log and reports, which a run creates."""
        return results_of(self.workspace, self.database)

    @property
    def wanted_speed(self) -> SpeedSetting:
        """The speed setting for the clocks of this machine."""
        return None if self.away else self.config.play.speed

    def task(self, sides: Mapping[str, Side], pairing: Pairing, replay: int) -> GameTask:
        """Return the task of a game, with its opening, time odds, and clocks scaled by the machine's speed."""
        seats = sides[pairing.white].playing(white=True), sides[pairing.black].playing(white=False)
        given = task.with_time_odds(*seats, pairing.handicap, self.config.play.odds)
        white, black = (self._booked(side.at_speed(self.speed), pairing) for side in given)
        opening = self.book.pick(pairing)
        is_hard = any(side.spec.protocol == "cecp" for side in given) and needs_setboard(opening)
        return GameTask(
            pairing=pairing,
            white=white,
            black=black,
            opening=opening,
            spare=self.book.spare(pairing) if is_hard and opening.variant == STANDARD else None,
            rules=self.rules,
            replay=replay,
            keep_lines=self.config.play.keep_lines,
            log_traffic=self.config.play.engine_log,
        )

    def _booked(self, side: Side, pairing: Pairing) -> Side:
        """Return the side with a seed for its own book, which depends on the random seed, encounter and name."""
        if side.own_book is None:
            return side
        seed = f"{self.book.seed}:{pairing.encounter}:{side.spec.name}"
        return replace(side, own_book=replace(side.own_book, seed=seed))

    def of_edition(self, number: int, per: OpeningScope | None) -> Plan:
        """Return the plan of an edition. Its own order of openings avoids repeated games of deterministic engines."""
        return replace(self, dealt=self.book_of(number).dealt(per))

    def book_of(self, edition: int) -> OpeningBook:
        """Return the openings in the order of an edition."""
        return self.book.seeded(self.book.seed + (edition - 1) * _EDITION_SEEDS)

    def side(self, spec: EngineSpec) -> Side:
        """Return how an engine without its own settings plays in this tournament: its time controls and margins."""
        return side_of(self.config, spec, None)


def prepare(source: Path | Config, db: Address | None, *, resumes: bool = False, workspace: Path | None = None) -> Plan:
    """Find everything that a configuration refers to. Nothing is written.

    Errors contain the place and the next step. The openings of a large book are checked later, by `refuse_openings`.

    Args:
        source: The configuration, or its file.
        db: Address of the database; None for the default of the workspace.
        resumes: Whether to omit an entrant that has withdrawn and whose engine cannot be found.
        workspace: Directory whose engine files are used; None for the workspace of the configuration.
    """
    try:
        config = load.load(source) if isinstance(source, Path) else source
    except UnknownName as error:
        assert isinstance(source, Path)
        _refuse_missing(source, error.tournament, db)
        raise
    path = config.path
    folder = config.path.resolve().parent
    workspace = workspace or workspace_of(folder)
    registry = of_workspace(workspace)
    _refuse_streams(config)
    resources = _Resources(config)
    try:
        resources.refuse_long()
    except InputRefused:
        if config.book_kind not in BUILT_IN:  # a plug-in may have read this book
            _refuse_missing(path, config.tournament.name, db, READERS.group)
        raise
    database = database_of(folder, db)
    entrants: list[Entrant] = []
    reserves: list[Entrant] = []
    sides: dict[str, Side] = {}
    files: dict[str, EngineEntry] = {}
    absent: set[str] = set()

    def is_gone(name: str) -> bool:
        if resumes and name in _gone(database, config.tournament.name):
            absent.add(name)
        return name in absent

    for number, section in enumerate(config.entrants):
        at = config.at("entrants", number)
        for entrant, spec, entry in resolve(section, registry, folder, at, is_gone, defaults=config.defaults):
            if entrant.name in sides:
                at = config.at("entrants", number, "name" if section.name else "engine")
                step = "give each entrant its own name"
                raise InputRefused(f"two entrants have the name {entrant.name!r}", place=at, step=step)
            _refuse_copies(entrant.name, spec, sides, config.at("entrants", number))
            resources.refuse_short_lived(spec)
            (reserves if section.reserve else entrants).append(entrant)
            sides[entrant.name] = side_of(config, spec, section)
            if entry.path is not None:
                files[entrant.name] = entry
    refuse_mixed_hourglass(sides, config)
    known = [*(entrant.name for entrant in entrants), *sorted(absent)]
    _refuse_seeds(config, known)
    for name in config.ratings.anchor:
        if name not in known:
            what = f"anchor {name!r} is not an entrant{suggest(name, known)}"
            raise InputRefused(what, place=config.at("ratings", "anchor", name))
    plan = Plan(config, workspace, database, tuple(entrants), sides, files, resources, tuple(reserves))
    _ = plan.rules, plan.names  # to read their files
    whole = len(entrants) >= FEWEST and not absent
    if whole and config.tournament.order in (None, "file"):  # other orders need the database
        refuse_field(plan)
    return plan


def _refuse_missing(path: Path, name: str, db: Address | None, *groups: str) -> None:
    """Raise PluginRefused if the stored tournament of a configuration needs a plug-in that is not installed."""
    from enginetour.store.tournaments import newest_log  # imported here, as below

    database = database_of(path.resolve().parent, db)
    # If the database cannot be read, the configuration is the first thing to correct.
    with suppress(StoreRefused), newest_log(database, name) as log:
        if log is not None:
            refuse_missing(stored_plugins(log.config), str(path), *groups)


def _gone(database: Address, name: str) -> set[str]:
    from enginetour.store.tournaments import newest_log  # imported here: engines start before this is loaded

    with newest_log(database, name) as log:
        return set() if log is None else log.gone


def _refuse_streams(config: Config) -> None:
    systems = [system for system in config.ratings.systems if system != "ml"]
    if systems and config.play.variant != STANDARD:
        what = f"{systems[0]} rates games of standard chess only, but the variant is {config.play.variant}"
        step = f"remove it, and use enginetour ratings --all --variant {config.play.variant} --system {systems[0]}"
        raise InputRefused(what, place=config.at("ratings", "systems"), step=step)


def _refuse_copies(name: str, spec: EngineSpec, sides: Mapping[str, Side], place: str) -> None:
    twin = next((one for one, side in sides.items() if side.spec.command == spec.command), None)
    if spec.max_copies and twin is not None:
        copies = "1 copy" if spec.max_copies == 1 else f"{spec.max_copies} copies"
        what = f"{name} and {twin} are the same engine, which allows {copies} at a time"
        raise InputRefused(what, place=place, step="remove one of them, or remove max_copies from the engine file")


def scale_doubts(plan: Plan) -> tuple[str, ...]:
    """Return a warning if ratings are used on two scales and the configuration does not set rating_scale."""
    config, scale = plan.config, plan.config.tournament.rating_scale
    bringing = next((entrant for entrant in plan.entrants if entrant.rating is not None), None)
    if bringing is None:
        return ()
    options = config.format_options
    by_gor = config.system == "gor-drift" or getattr(options, "model", "") == "gor"
    as_go = [system for system in config.ratings.systems if system in _GO_SYSTEMS]
    if scale == "elo" and by_gor:
        return (f'{config.system} uses ratings on the Go scale (1 dan is 2100), but rating_scale is "elo"',)
    other = "its McMahon band" if "base" in type(options).model_fields else ""
    other = other or ("its first Elo rating" if "elo" in config.ratings.systems else "")
    if scale is not None or not other or not (as_go or by_gor):
        return ()
    first = f"its first {as_go[0]} rating" if as_go else f"its rating in {config.system}"
    return (
        f"rating = {bringing.rating:g} of {bringing.name} is used as {other} and as {first}, which is on the Go scale "
        '(1 dan is 2100): set rating_scale = "go" or rating_scale = "elo" under [tournament]',
    )


def reserve_doubts(plan: Plan) -> Iterator[str]:
    """Yield a warning if the reserves of a plan can never play. The format must be able to pair the entrants."""
    if not plan.reserves:
        return
    names, play = ", ".join(entrant.name for entrant in plan.reserves), plan.config.play
    if not plan.config.quality.limits() and play.on_suspend == "stop":
        why = '[quality] has no limits, and on_suspend is "stop"'
    elif can_replace(plan.format, plan.format.start(plan.entrants), plan.entrants[0].name, plan.reserves[0]):
        return
    else:
        why = "entrants cannot join this tournament after its start"
    yield f"reserve = true has no effect ({names}): {why}"


def refuse_few(plan: Plan) -> None:
    """Raise InputRefused if there are fewer than two entrants."""
    if len(plan.entrants) < FEWEST:
        found = str(len(plan.entrants)) + (f" and {format_count(len(plan.reserves), 'reserve')}" * bool(plan.reserves))
        what = f"a tournament needs at least two entrants (found {found})"
        raise InputRefused(what, place=plan.config.at("entrants"), step="add another [[entrants]]")


def refuse_field(plan: Plan) -> None:
    """Raise InputRefused if the format cannot pair the entrants."""
    config = plan.config
    try:
        state = plan.format.start(plan.entrants)
        if not plan.format.offers(state):
            raise ValueError("; ".join(note.text for note in plan.format.notes(state)) or "there are no games to play")
    except InputRefused as error:
        error.place = config.at("entrants", min(FEWEST, len(config.entrants) - 1))
        raise
    except ValueError as error:
        raise InputRefused(str(error), place=config.at("format", "system")) from None


def refuse_openings(plan: Plan, edition: int) -> None:
    """Raise InputRefused for an invalid opening of a large book that the edition may use.

    The format must be able to pair the entrants.
    """
    if plan.book.is_large:  # small books are checked when loaded; starting a Swiss of 300 takes a second
        plan.book_of(edition).check(plan.format.remaining(plan.format.start(plan.entrants))[1])


def _refuse_seeds(config: Config, sides: Collection[str]) -> None:
    seeds = getattr(config.format_options, "seeds", None)
    if isinstance(seeds, tuple | list):
        unknown = [name for name in seeds if name not in sides]
        doubled = [name for name, times in Counter(seeds).items() if times > 1]
        if set(seeds) >= set(sides):
            what = "seeds contains all entrants, so they have no opponents"
            raise InputRefused(what, place=config.at("format", "seeds"))
        for name, fault in [(n, "is not an entrant") for n in unknown] + [(n, "is given twice") for n in doubled]:
            allowed = ", ".join(sides)
            raise InputRefused(f"seed {name!r} {fault}; entrants: {allowed}", place=config.at("format", "seeds"))
    elif isinstance(seeds, int) and seeds >= len(sides):
        what = f"seeds must be less than the number of entrants, {len(sides)} (found {seeds})"
        raise InputRefused(what, place=config.at("format", "seeds"))


Errors = dict[str, float]  # standard errors of ratings, Elo
_Ranks = dict[str, tuple[float, float | None]]  # rank, and rating if the order has one


def ordered(plan: Plan, store: Store, tell: Callable[[str], None]) -> Plan:
    """Return the plan with its entrants in the configured order.

    In formats with rounds, entrants without a rating also get the rating of this order. Raise InputRefused if the
    entrants cannot be paired.
    """
    from enginetour.store.ratings import prior_ratings, update_ratings
    from enginetour.store.replay import last_standings

    name, order = plan.config.tournament.name, plan.config.tournament.order
    if order is None:
        order = "rating" if store.has(name) else "file"
    ranks: _Ranks
    if order == "rating":
        update_ratings(store, "elo")
        known = prior_ratings(store, [entrant.name for entrant in plan.entrants])
        ranks = {engine: (-rating, rating) for engine, rating in known.items()}
    elif order == "standings" and store.has(name):
        ranks = {engine: (place, None) for place, engine in enumerate(last_standings(store, name))}
    elif listed := listed_order(order):
        plan, ranks, errors = _by_list(plan, store, *listed)
        tell(f"starting list: {plan.config.tournament.order}")
        for doubt in _doubts(plan, errors):
            tell(f"warning: {doubt}")
    else:
        ranks = {}
    if ranks or order != "file":
        # Entrants without a rank come last, new ones at the very end, both in the order of the file.
        last = (float("inf"), None)
        entrants = sorted(plan.entrants, key=lambda entrant: ranks.get(entrant.name, last)[0])
        newcomers = store.has(name) or listed_order(order) is not None
        in_rounds = SYSTEMS[plan.config.system].rounds  # elsewhere, it would only affect incremental ratings
        marked = tuple(
            replace(
                entrant,
                new=entrant.new or (newcomers and entrant.name not in ranks),
                rating=ranks.get(entrant.name, last)[1] if in_rounds and entrant.rating is None else entrant.rating,
            )
            for entrant in entrants
        )
        if order == "rating" and marked != tuple(entrants):
            plan = _on_elo(plan, marked)
        plan = replace(plan, entrants=marked)
    refuse_field(plan)
    return plan


def _on_elo(plan: Plan, marked: tuple[Entrant, ...]) -> Plan:
    """Set the scale to Elo if all ratings are from the database. Raise InputRefused if others are on the Go scale."""
    config = plan.config
    own = {entrant.name for entrant in plan.entrants if entrant.rating is not None}
    taken = [entrant.name for entrant in marked if entrant.rating is not None and entrant.name not in own]
    if not taken:
        return plan
    if config.tournament.rating_scale == "go":
        what = f'order = "rating" uses the Elo rating of {taken[0]}, but rating_scale is "go"'
        step = 'give every entrant a rating, or set order = "file" under [tournament]'
        raise InputRefused(what, place=config.at("tournament", "order"), step=step)
    if own:
        return plan
    stated = config.tournament.model_copy(update={"rating_scale": "elo"})
    return replace(plan, config=config.model_copy(update={"tournament": stated}))


def _by_list(plan: Plan, store: Store, name: str, number: int | None) -> tuple[Plan, _Ranks, Errors]:
    """Return the plan with the list's edition in its configuration, and the ranks and rating errors by engine."""
    from enginetour.store.editions import lines_by_name, rating_errors, read_edition

    tournament, place = plan.config.tournament, plan.config.at("tournament", "order")
    try:
        made = read_edition(store, name, number)
    except UsageRefused as refused:
        raise InputRefused(refused.what, place=place, step=refused.step) from None
    lines = lines_by_name(store, made)
    ranks: _Ranks = {engine: (line.ordinal, line.rating) for engine, line in lines.items()}
    if not any(entrant.name in ranks for entrant in plan.entrants):
        raise InputRefused(f"no entrant is in edition {made.number} of the list {name!r}", place=place)
    taken = tournament.model_copy(update={"order": f"list:{name}#{made.number}"})
    return replace(plan, config=plan.config.model_copy(update={"tournament": taken})), ranks, rating_errors(lines)


def _doubts(plan: Plan, errors: Errors) -> tuple[str, ...]:
    """Return warnings of the format about ratings from a list. Ratings in the configuration are not checked."""
    from enginetour.formats.rounds import Rounds  # imported here: other formats start faster without it

    format_ = plan.format
    if not isinstance(format_, Rounds):
        return ()
    taken = [entrant.name for entrant in plan.entrants if entrant.rating is None]
    return format_.system.rating_warnings([errors[name] for name in taken if name in errors])


# Processors (concurrent games, threads, pondering) and open files that concurrent games need.


def processors_wanted(sides: Iterable[Side], slots: int) -> int:
    """Return how many processors concurrent games of the pair with the most threads need.

    One side of a game thinks, and the other side may ponder.
    """
    each = [(side.spec.threads, side.spec.ponder) for side in sides]
    games = (thinks + (ponders if may else 0) for (thinks, _), (ponders, may) in permutations(each, 2))
    return slots * max(games, default=max((own for own, _ in each), default=0))


def processor_shortage(sides: Iterable[Side], slots: int, processors: int) -> Iterator[str]:
    """Yield a warning if the machine has fewer processors than the games need."""
    sides = tuple(sides)
    want = processors_wanted(sides, slots)
    if want > processors:
        why = " and pondering" if any(side.spec.ponder for side in sides) else ""
        here = f"but this machine has {processors}: engines will slow each other down"
        yield f"{format_count(slots, 'concurrent game')} with threads{why} need {want} processors, {here}"


def overload_warnings(sides: Iterable[Side], slots: int) -> Iterator[str]:
    """Yield a warning if this process may use fewer processors than the games need."""
    return processor_shortage(sides, slots, allowed_processors().count)


def few_open(config: Config, slots: int) -> Iterator[str]:
    """Yield a warning if the format keeps fewer encounters open than the concurrent games need without waiting."""
    ahead = getattr(config.format_options, "ahead", None)
    if ahead is not None and slots > 1 and 2 * slots > ahead:
        yield f"{slots} concurrent games will wait for each other: set ahead to at least {2 * slots} (found {ahead})"


def refuse_overload(slots: int, *, force: bool) -> None:
    """Raise UsageRefused for more concurrent games than processors, unless forced."""
    here = allowed_processors()
    if slots > here.count and not force:
        what = f"{slots} concurrent games on {here} would slow the engines down"
        raise UsageRefused(what, step="use fewer concurrent games, or --force")


def own_cores(sides: Iterable[Side], slots: int, place: str) -> Cores:
    """Return separate cores for the engines of each game, as many as the largest pair needs.

    Raise InputRefused if there are too few.
    """
    found = find_cores(processors_wanted(sides, 1))
    if lacking := found.lacking(slots):
        step = "use fewer concurrent games or engine threads, or remove affinity"
        raise InputRefused(f"affinity: {lacking}", place=place, step=step)
    return found


def silent_ponderers(side: Side, declared: Iterable[DeclaredOption]) -> Iterator[str]:
    """Yield a warning if pondering is configured but the engine will not ponder."""
    spec = side.spec
    if not spec.ponder or spec.protocol == "cecp":
        return
    if spec.quirks.line_delay_ms:
        yield f"{spec.name} does not ponder, because line_delay_ms is set for it"
    elif any(name.casefold() == "ponder" and value.casefold() == "false" for name, value in spec.options):
        yield f"{spec.name} does not ponder, because its options have Ponder = false"
    elif not any(option.name.casefold() == "ponder" for option in declared):
        yield f"{spec.name} does not ponder, because it does not declare the option Ponder"


def refuse_few_files(slots: int) -> None:
    """Raise UsageRefused if the limit of open files is too low for the games, before anything starts."""
    most, needed = most_files(), FILES + SLOT_FILES * slots
    if most is not None and most < needed:
        need = f"{format_count(slots, 'concurrent game')} need{'s' * (slots == 1)}"
        what = f"{need} {needed} open files, but the limit is {most}"
        raise UsageRefused(what, place="ulimit -n", step="run ulimit -n 1024")


# Estimate before the first game: number of games, hours, warnings.


def estimate_duration(plan: Plan) -> dict[str, Any]:
    """Estimate the games (fewest, most, likely) and an upper limit of their hours, with warnings, ready for JSON.

    Raise InputRefused if the entrants cannot be paired.
    """
    refuse_field(plan)
    state = plan.format.start(plan.entrants)
    notes = plan.format.notes(state)
    fewest, most = plan.format.remaining(state)
    sides = plan.sides.values()
    moves, speed = long_game_moves(plan), _speed(plan)
    controls = [tc for side in sides for tc in side.controls]
    longest = [(tc if speed is None else tc.scaled(1 / speed, nodes=False)).seconds(moves) for tc in controls]
    hours = None
    if all(seconds is not None for seconds in longest):
        hours = most * 2 * max(seconds or 0.0 for seconds in longest) / 3600
        hours = min(hours, getattr(plan.config.format_options, "hours", None) or hours) / plan.config.play.concurrency
    starts = starts_json(plan.format, state, plan.config.tournament.rating_scale)
    return {
        "fewest": fewest,
        "most": most,
        "likely": plan.format.likely(state),
        "longest_hours": hours,
        "openings": len(plan.book.openings),
        "tables": list(describe_tables(plan.config)),
        "opening_book": plan.book.description
        + (plan.book.shared(_meetings(plan)) if len(plan.entrants) > FEWEST else ""),
        "starts": starts["lines"] if starts else [],
        "round_1": starts,
        "warnings": [note.text for note in notes if note.is_warning]
        + [f"round 1: {remark}" for note in notes for remark in note.remarks]
        + list(scale_doubts(plan))
        + list(reserve_doubts(plan))
        + list(control_warnings(sides))
        + list(_again(plan, most))
        + list(_beyond_hours(plan, longest))
        + list(few_open(plan.config, plan.config.play.concurrency))
        + list(overload_warnings(sides, plan.config.play.concurrency)),
        "controls": {name: describe_controls(side) for name, side in plan.sides.items()},
        "test": plan.format.expected_games() if hasattr(plan.format, "expected_games") else None,
    }


def _beyond_hours(plan: Plan, longest: Sequence[float | None]) -> Iterator[str]:
    """Yield a warning if the hours of an adaptive tournament do not suffice for its goal with long games."""
    options = plan.config.format_options
    hours, doubts = getattr(options, "hours", None), getattr(plan.format, "doubts", None)
    if hours and doubts and all(longest):
        games = int(hours * 3600 / 2 / max(seconds or 0.0 for seconds in longest))
        if 0 < games < options.games:
            yield from (f"{hours:g} hours of long games: {doubt}" for doubt in doubts(plan.entrants, games))


def long_game_moves(plan: Plan) -> int:
    """Return the number of moves per game that the estimate of the time uses."""
    return min(LONG_GAME, plan.config.play.max_moves)


def _speed(plan: Plan) -> float | None:
    wish = plan.wanted_speed
    return plan.speed if plan.speed is not None or isinstance(wish, str) else wish


def _meetings(plan: Plan) -> int:
    """Return the number of games that the format plans for two entrants."""
    options = plan.config.format_options
    return int(options.games_per_pairing) * int(getattr(options, "cycles", 1))


def _again(plan: Plan, most: int) -> Iterator[str]:
    """Yield a warning if games without a clock will repeat, because two engines replay an opening in the same way."""
    if any(tc.stages or tc.movetime_ms for side in plan.sides.values() for tc in side.controls):
        return
    pair = most if len(plan.entrants) == FEWEST else _meetings(plan) if plan.book.per == "pairing" else 0
    openings = len(plan.book.openings)
    if pair > 2 * openings:
        again = f"{pair - 2 * openings} of {pair} games of a pair are expected to repeat earlier games"
        why = f"without a clock and with {format_count(openings, 'opening')}"
        yield f"{why}, {again}; ratings count them as new games"
