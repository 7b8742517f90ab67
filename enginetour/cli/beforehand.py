"""What `check` finds of a plan beside what its database knows."""

from __future__ import annotations

from typing import Any

from enginetour.cli.common import rows_of_others
from enginetour.engines.machine import allowed
from enginetour.model.errors import InputRefused, StoreRefused
from enginetour.store.database import is_made
from enginetour.store.log import TournamentLog
from enginetour.store.replay import fold
from enginetour.store.tournaments import Store
from enginetour.tournament import limits
from enginetour.tournament import plan as plans
from enginetour.tournament.limits import refuse_few_files
from enginetour.tournament.plan import Plan
from enginetour.tournament.resume import grown_settings, refuse_openings_to_come, same_engines


def how_to_run(plan: Plan) -> list[str]:
    """The options without which `run` would refuse; what it refuses with any is refused here in its words."""
    slots, name = plan.config.play.slots, plan.config.tournament.name
    refuse_few_files(slots)
    force = ["--force"] if slots > allowed().count and plan.config.play.affinity is not True else []
    if not is_made(plan.database):
        _refuse_openings(plan, 1)
        return force
    with rows_of_others(plan.database), Store.open(plan.database, create=False, readonly=True) as store:
        if not store.has(name):
            _refuse_openings(plan, store.newest_edition(name) + 1)
            return force
        log = store.tournament(name)
        format_, state = fold(log)
        if not format_.offers(state) and not _grows(plan, log):
            _refuse_openings(plan, log.edition + 1)
            return [*force, "--new"]
        refuse_openings_to_come(plan, log, grown_settings(plan, log), format_, state)
        same_engines(plan, log, accept_change=False, heed=lambda: None)
    return force


def _grows(plan: Plan, log: TournamentLog) -> bool:
    """Whether the file makes what has ended longer; else what it says is for the next edition."""
    try:
        return bool(grown_settings(plan, log))
    except StoreRefused:
        return False


def _refuse_openings(plan: Plan, edition: int) -> None:
    """As `plan.refuse_openings`; nothing for a field that `foretold` has words for."""
    try:
        plans.refuse_field(plan)
    except InputRefused:
        return
    plans.refuse_openings(plan, edition)


def foretold(plan: Plan) -> dict[str, Any]:
    """As `outlook.foretold`; nothing where a database that is there may bring the ratings that lack."""
    try:
        return limits.foretold(plan)
    except InputRefused:
        if plan.config.tournament.order in (None, "file") or not is_made(plan.database):
            raise
        return {}
