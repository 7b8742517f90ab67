"""Ratings of a field between two rounds, updated by the games so far.

way            from                                                        source
by_likelihood  two virtual draws of everybody at its entry rating, Elo     rule of AccelRat; logistic model
by_gor         round by round, each as one event, without new points       Vuorinen 2010, 2.2

Byes and forfeits count nothing. Ratings are by place in the entry order.
"""

from __future__ import annotations

from collections.abc import Sequence

from enginetour.formats.pairing.field import Field
from enginetour.ratings.gor import GorSettings, rate
from enginetour.ratings.incremental import RatedGame
from enginetour.ratings.likelihood import fit

ENTRY_DRAWS = 2  # AccelRat: virtual draws that hold everybody at its entry rating
Score = tuple[int, int, int]  # wins, draws, losses


def match_scores(field: Field) -> list[list[tuple[int, int, Score]]]:
    """Round by round the matches played: two places, the lower first, and what the first of them did.

    A match counts as many games as its two scores have points together, so it is one game where matches are scored.
    """
    rounds = []
    for row in field.history:
        played = []
        for member, turn in enumerate(row):
            other = turn.opponent
            if turn.met and other is not None and member < other:
                wins, draws = divmod(turn.points, 2)
                losses = (row[other].points - draws) // 2
                played.append((member, other, (wins, draws, losses)))
        rounds.append(played)
    return rounds


def by_likelihood(field: Field, entry: Sequence[float]) -> list[float]:
    """The most likely Elo ratings; each has `ENTRY_DRAWS` draws against an engine fixed at its entry rating."""
    names = [f"{place:06}" for place in range(len(entry))]
    counts: dict[tuple[str, str], Score] = {(name, f"{name} at entry"): (0, ENTRY_DRAWS, 0) for name in names}
    for played in match_scores(field):
        for one, other, (wins, draws, losses) in played:
            pair = names[one], names[other]
            before = counts.get(pair, (0, 0, 0))
            counts[pair] = (before[0] + wins, before[1] + draws, before[2] + losses)
    anchors = {f"{name} at entry": rating for name, rating in zip(names, entry, strict=True)}
    found = fit(counts, anchors=anchors).by_name()
    return [found[name] for name in names]


def by_gor(field: Field, entry: Sequence[float], *, integer_steps: bool = False) -> list[float]:
    """GoR of the thesis with epsilon 0. InputRefused when somebody enters below its floor of 100."""
    games: list[RatedGame] = []
    for number, played in enumerate(match_scores(field), 1):
        for one, other, (wins, draws, losses) in played:
            for points in (*(2,) * wins, *(1,) * draws, *(0,) * losses):
                games.append(RatedGame(str(one), str(other), points, len(games) + 1, str(number)))
    settings = GorSettings(variant="egf", eps=0.0, integer_steps=integer_steps)
    start = {str(place): rating for place, rating in enumerate(entry)}
    found = start | {event.engine: event.after for event in rate(games, settings, start)}
    return [found[str(place)] for place in range(len(entry))]
