"""The starting list of a new tournament: in the order of the file, of ratings, of the last table, or of an edition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from enginetour.formats.base import SYSTEMS
from enginetour.formats.rounds import Rounds
from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.model.game import Entrant
from enginetour.store.editions import edition, lines_by_name
from enginetour.store.ratings import prior_ratings, refresh
from enginetour.store.tournaments import Store
from enginetour.tournament.config.tournament import listed_order
from enginetour.tournament.plan import Plan, refuse_field

Table = Callable[[Store, str], list[str]]
Errors = dict[str, float]  # standard errors of ratings, Elo
DEVIATIONS = 1.96  # + and - of a list are 95 % intervals
Ranks = dict[str, tuple[float, float | None]]  # place, and rating where the order knows one


def ordered(plan: Plan, store: Store, tell: Callable[[str], None], last_table: Table) -> Plan:
    """The plan with its entrants in the order asked for.

    Systems in rounds get the ratings the order knows for entrants that bring none. InputRefused for a field that
    cannot be paired.
    """
    name, order = plan.config.tournament.name, plan.config.tournament.order
    if order is None:
        order = "rating" if store.has(name) else "file"
    ranks: Ranks
    if order == "rating":
        refresh(store, "elo")
        known = prior_ratings(store, [entrant.name for entrant in plan.entrants])
        ranks = {engine: (-rating, rating) for engine, rating in known.items()}
    elif order == "standings" and store.has(name):
        ranks = {engine: (place, None) for place, engine in enumerate(last_table(store, name))}
    elif listed := listed_order(order):
        plan, ranks, errors = _by_list(plan, store, *listed)
        tell(f"starting list: {plan.config.tournament.order}")
        for doubt in _doubts(plan, errors):
            tell(f"warning: {doubt}")
    else:
        ranks = {}
    if ranks or order != "file":
        # Engines without a rank stand behind, new ones at the bottom, both in the order of the file.
        last = (float("inf"), None)
        entrants = sorted(plan.entrants, key=lambda entrant: ranks.get(entrant.name, last)[0])
        newcomers = store.has(name) or listed_order(order) is not None
        in_rounds = SYSTEMS[plan.config.system].rounds  # elsewhere a rating would only enter the incremental systems
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
    """The plan whose scale is Elo where all ratings come from the database; InputRefused for a mixture with Go's."""
    config = plan.config
    own = {entrant.name for entrant in plan.entrants if entrant.rating is not None}
    taken = [entrant.name for entrant in marked if entrant.rating is not None and entrant.name not in own]
    if not taken:
        return plan
    if config.tournament.rating_scale == "go":
        what = f'order = "rating" takes the Elo rating of {taken[0]}, and rating_scale is "go"'
        step = 'give every entrant a rating, or set order = "file" under [tournament]'
        raise InputRefused(what, place=config.at("tournament", "order"), step=step)
    if own:
        return plan
    stated = config.tournament.model_copy(update={"rating_scale": "elo"})
    return replace(plan, config=config.model_copy(update={"tournament": stated}))


def _by_list(plan: Plan, store: Store, name: str, number: int | None) -> tuple[Plan, Ranks, Errors]:
    """The plan with the edition it takes written into its configuration, each engine's place in it and its error."""
    tournament, place = plan.config.tournament, plan.config.at("tournament", "order")
    try:
        made = edition(store, name, number)
    except UsageRefused as refused:
        raise InputRefused(refused.what, place=place, step=refused.step) from None
    lines = lines_by_name(store, made)
    ranks: Ranks = {engine: (line.ordinal, line.rating) for engine, line in lines.items()}
    errors = {
        engine: (line.plus + line.minus) / 2 / DEVIATIONS
        for engine, line in lines.items()
        if line.plus is not None and line.minus is not None
    }
    if not any(entrant.name in ranks for entrant in plan.entrants):
        raise InputRefused(f"no entrant is in edition {made.number} of the list {name!r}", place=place)
    taken = tournament.model_copy(update={"order": f"list:{name}#{made.number}"})
    return replace(plan, config=plan.config.model_copy(update={"tournament": taken})), ranks, errors


def _doubts(plan: Plan, errors: Errors) -> tuple[str, ...]:
    """Of the system about ratings that the edition brings; what a file says is its author's to know."""
    format_ = plan.format
    if not isinstance(format_, Rounds):
        return ()
    taken = [entrant.name for entrant in plan.entrants if entrant.rating is None]
    return format_.system.doubts([errors[name] for name in taken if name in errors])
