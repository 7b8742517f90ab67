"""What is told when a run ends: the story, the rating lists, what to doubt, and where everything is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from enginetour.cli.common import say, width
from enginetour.cli.tell import story
from enginetour.model.game import GameFinished
from enginetour.reports import ratinglist
from enginetour.reports.review.fairness import over_again
from enginetour.reports.review.tournament import tournament_list
from enginetour.reports.sheet import render
from enginetour.store.games import repeated
from enginetour.store.ratings import ratings_of

if TYPE_CHECKING:
    from enginetour.reports.pgn import PgnFile
    from enginetour.tournament.run import Session
    from enginetour.tournament.scheduler import End


MOST_TOLD = 12  # round robins told at the end of a run: a screenful


def morning(session: Session, pgn: PgnFile, end: End, warnings: Iterable[str] = ()) -> None:
    """The ladder or the table, the rating lists, what to doubt, and where everything is."""
    log, plan = session.log, session.plan
    click.echo("")
    click.echo(story(log, most=MOST_TOLD), nl=False)
    for system in plan.config.ratings.systems:
        click.echo("")
        if system == "ml":
            rated = tournament_list(log, plan.config.ratings.anchor)
            click.echo(render(ratinglist.likelihood(f"ratings · {log.title}", rated), width()), nl=False)
        else:
            known = ratings_of(session.store, system, log.id)
            click.echo(render(ratinglist.incremental(ratinglist.SYSTEM_NAMES[system], known), width()), nl=False)
    found = [incident for _, incident in log.incidents()]
    wrong = sum(not incident.is_warning for incident in found)
    click.echo("")
    if found:
        click.echo(f"incidents: {wrong}, warnings: {len(found) - wrong}   enginetour games --incidents")
    pairings = (event.pairing for event in log.events() if isinstance(event, GameFinished))
    if wrapped := plan.suite.wrapped(pairings):
        say(wrapped)
    again = over_again(*repeated(log))
    for words in (*((again,) if again else ()), *warnings):
        say(f"warning: {words}")
    lacking = "" if pgn.is_whole else " lacks games; enginetour export pgn -o FILE writes all"
    for line in (f"state: {end.value}", f"database: {plan.database}", f"PGN: {pgn.path}{lacking}"):
        say(line)
