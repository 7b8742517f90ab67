"""What next: what a tester would do with the result, and the command for it where there is one."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from enginetour.ratings.matrices import matrix_of
from enginetour.ratings.ratinglist import RatingList, Row
from enginetour.reports.progress import is_open
from enginetour.reports.review.facts import Facts
from enginetour.reports.review.fairness import Fairness
from enginetour.reports.review.incidents import IncidentLine
from enginetour.reports.sheet import counted

TOLD_APART = 0.95  # likelihood of superiority that testers ask for (Ordo, CCRL)
ONE_SIDED_95 = 1.6449  # standard deviations of the normal distribution below which 95 % lie
MOST_GAMES = 100_000  # beyond, two engines are level for all practical purposes


@dataclass(frozen=True, slots=True)
class Advice:
    """`kind`: decide, resume, incidents, engines, fairness or next; `command` is "" where none helps."""

    kind: str
    text: str
    command: str = ""


def advice_of(
    facts: Facts,
    found: RatingList,
    incidents: Sequence[IncidentLine],
    fairness: Fairness,
    *,
    again: str,
    suspended: Sequence[str] = (),
) -> tuple[Advice, ...]:
    """In the order of what matters; `again` is the command that resumes, `suspended` whom the run set aside."""
    return tuple(_advice(facts, found, incidents, fairness, again, suspended))


def _advice(
    facts: Facts,
    found: RatingList,
    incidents: Sequence[IncidentLine],
    fairness: Fairness,
    again: str,
    suspended: Sequence[str],
) -> Iterator[Advice]:
    if not facts.finished:
        fewest, most = facts.remaining
        left = f"{most}" if fewest == most else f"{fewest} to {most}"
        play = f"{left} game{'s' * (most != 1)} to play"
        play = "to play until it is known" if is_open(facts.games, facts.remaining) else play
        then = ", ".join(f"{white} – {black}" for white, black in facts.offers)
        coming = f", next {then}" if then else ""
        yield Advice("resume", f"Not finished: {play}{coming}.", again if facts.newest else "")
    if apart := told_apart(found):
        waiting = 0 if facts.finished else len(found.unrated)
        some = f"{counted(waiting, 'engine')} {'has' if waiting == 1 else 'have'} not played yet. Of the others, "
        yield Advice("decide", f"{some if waiting else ''}{apart}")
    for name in suspended:
        words = shlex.join(["enginetour", "withdraw", "-t", facts.name, name])
        yield Advice("engines", f"{name} was suspended: mend it and resume, or take it out.", words)
    grave = [line for line in incidents if not line.incident.is_warning]
    if grave:
        worst = Counter(line.incident.at_fault for line in grave).most_common(3)
        who = ", ".join(f"{name} ({count})" for name, count in worst)
        games = ["enginetour", "games", "--incidents", "-t", facts.name, "--edition", str(facts.edition)]
        words = f"{counted(len(grave), 'incident')} to look at: {who}."
        yield Advice("incidents", words, shlex.join(games))
    for warning in fairness.warnings:
        yield Advice("fairness", f"{warning[0].upper()}{warning[1:]}.")
    if facts.finished and facts.newest:
        yield Advice("next", "Finished: the next edition starts from this result.", f"{again} --new")


def told_apart(found: RatingList) -> str:
    """Whether the first two of the list can be told apart, and how many games that would take."""
    rows = [row for row in found.rows if row.pool == 1][:2]
    if len(rows) < 2 or rows[0].los is None:
        return ""
    first, second = rows
    los = first.los or 0.0
    if los >= TOLD_APART:
        return f"{first.name} is ahead of {second.name} with a likelihood of {_percent(los)}: told apart at 95 %."
    needed = games_needed(found, first, second)
    words = f"{first.name} and {second.name} cannot be told apart yet (likelihood {_percent(los)})"
    if needed is None:
        return f"{words}, and no number of games can be named at this difference."
    more = counted(needed, "more game")
    return f"{words}: about {more} of each would do it at 95 % if the difference of now is the true one."


def games_needed(found: RatingList, first: Row, second: Row) -> int | None:
    """More games of each of two until their difference is 1.64 of its errors; None for more than `MOST_GAMES`.

    Errors shrink with the square root of the games, played as those so far.
    """
    names = [row.name for row in found.rows]
    spread = float(matrix_of("errors", found, None, 1.0).values[names.index(first.name), names.index(second.name)])
    gap = first.rating - second.rating
    played = (first.games + second.games) / 2
    if not spread > 0 or gap <= 0:  # nan between anchors
        return None
    needed = played * ((ONE_SIDED_95 * spread / gap) ** 2 - 1)
    return max(1, ceil(needed)) if needed <= MOST_GAMES else None


def _percent(likelihood: float) -> str:
    return ">99.9\N{NO-BREAK SPACE}%" if 0.999 < likelihood < 1 else f"{100 * likelihood:.1f}\N{NO-BREAK SPACE}%"
