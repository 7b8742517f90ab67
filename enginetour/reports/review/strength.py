"""The strength of a tournament's engines from its own games: the list by likelihood, and a bubble's order by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from enginetour.model.game import Placed
from enginetour.ratings.ratinglist import RatingList, bubble_rating_order, rating_list
from enginetour.store.games import TournamentReader, scores_told
from enginetour.store.selection import openings_of_tournament


def tournament_list(log: TournamentReader, anchor: Mapping[str, float]) -> RatingList:
    """Everybody of one tournament by maximum likelihood."""
    names = [entrant.name for entrant in log.entrants]
    counts = log.pair_counts()
    rated = {name for pair in counts for name in pair}
    anchors = {name: rating for name, rating in anchor.items() if name in rated}
    found = rating_list(counts, anchors=anchors, names=names, openings=openings_of_tournament(log))
    apart = log.scores_at_odds()
    return replace(found, caption=(*found.caption, scores_told(apart))) if apart else found


def rating_order(log: TournamentReader, placed: Sequence[Placed]) -> tuple[str, ...]:
    """The order by ratings from the edition's games with the old list as prior, of those still ranked."""
    there = {line.name for line in placed if line.rank is not None}
    start = log.entrants
    newcomers = [entrant.name for entrant in start if entrant.new]
    newcomers += [line.name for line in placed if line.name not in {entrant.name for entrant in start}]
    upward = [entrant.name for entrant in reversed(start) if not entrant.new]
    order = bubble_rating_order([*newcomers, *upward], newcomers, log.pair_counts())
    return tuple(name for name in order if name in there)
