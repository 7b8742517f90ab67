"""What of a run is done while most of the program is not loaded yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from enginetour.cli.heard import EARLY, Heard
from enginetour.cli.loading import loading
from enginetour.headstart import HeadStart, warmed
from enginetour.serveraddress import Address

if TYPE_CHECKING:
    from enginetour.plan import Plan


class Begun(NamedTuple):
    """The plan, the signals noted since, what of the plan's games has begun, and where they are played."""

    plan: Plan
    signals: Heard
    ahead: HeadStart | None = None
    place: str | None = None  # as --place has it; None: on this machine


@contextmanager
def beginning(
    config: Path,
    db: Address | None,
    *,
    slots: int | None,
    most_games: int | None = None,
    place: str | None = None,
    resumes: bool = False,
) -> Iterator[tuple[Begun, Callable[[], None]]]:
    """A configuration's plan with its first games under way; to be called once all that is needed is loaded.

    Refuses as `prepare` does, and a tournament that runs already.
    """
    with (
        loading() as loaded,
        (warmed(config, db, slots) if place is None else None) or nullcontext() as ahead,
    ):
        from enginetour.plan import prepare
        from enginetour.store.lock import refuse_held
        from enginetour.store.slugs import slug_of

        plan, signals = prepare(config, db, resumes=resumes), Heard()
        if isinstance(plan.database, Path):
            refuse_held(plan.database, slug_of(plan.config.tournament.name))
        signals.last_words = EARLY
        with signals.noting():
            if ahead is not None:
                ahead.begin(plan, slots or plan.config.play.slots, most_games)
            yield Begun(plan, signals, ahead, place), loaded
