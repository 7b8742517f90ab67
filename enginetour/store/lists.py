"""Compute a rating list from its definition, by maximum likelihood or by an incremental system (Elo, GoR)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import chain, zip_longest
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, func, select

from enginetour.model.errors import UsageRefused, match_name, no_match_hint, suggest
from enginetour.model.game import Outcome, StandingsRow
from enginetour.model.timecontrol import describe_time_classes
from enginetour.ratings.grades import Scale
from enginetour.ratings.incremental import Lineage, RatedGame, Version, lineage
from enginetour.ratings.pairs import Counts, Pairs, pairs_of
from enginetour.ratings.priors import GaussianPrior, LooseAnchor, parse_loose_anchor, parse_prior
from enginetour.ratings.ratinglist import SHARED, RatingList, Row, bubble_rating_order, incremental_list, rating_list
from enginetour.store.engines import version_rows
from enginetour.store.games import TournamentReader, describe_scores, scores_at_odds
from enginetour.store.ratings import entry_ratings, require_system, system_named, with_event_classes
from enginetour.store.selection import (
    Pentanomial,
    Selection,
    game_filter,
    is_whole,
    pentanomials_of,
    pentanomials_of_tournament,
    tournaments_of,
)
from enginetour.store.tables import ENGINES, EVEN, GAMES, IMPORTED_GAMES, IMPORTS
from enginetour.store.tournaments import Store

_Anchor = TypeVar("_Anchor", float, LooseAnchor)


def rate_selection(store: Store, selection: Selection, *, errors_for: Collection[str] | None = None) -> RatingList:
    """Compute the rating list of selected games. If `errors_for` is given, only these engines have errors."""
    if selection.definition.system == "ml":
        openings = _opening_pairs(store, selection)
        found = likelihood_list(selection, selection.pairs, errors_for=errors_for, openings=openings)
    else:
        found = _incremental_list(store, selection)
    if selection.left_out.get("odds"):
        with store.database.reading() as connection:
            inside = tournaments_of(connection, selection.definition)
            read = and_(IMPORTED_GAMES.c.tournament.in_(inside), selection.moment.read())
            wanted = (GAMES.c.tournament.in_(inside), selection.moment.standing())
            apart = scores_at_odds(connection, *wanted, read=read)
        found = replace(found, caption=(*found.caption, describe_scores(apart)))
    return _best_of_families(found, selection) if selection.definition.best_of_family else found


def games_of_tournament(log: TournamentReader) -> dict[str, Any]:
    """Return the fields of a list definition that select the games of one tournament."""
    variant = log.config.get("play", {}).get("variant")
    return {"tournaments": (f"{log.name} #{log.edition}",)} | ({"variant": variant} if variant else {})


def _adaptive_terms(log: TournamentReader, pairs: Pairs) -> tuple[dict[str, Any], list[str]]:
    """Return the terms of a list that is the posterior of `ratings/design.py`, and a remark for its caption.

    Both are empty if the tournament is not adaptive.
    """
    if log.is_import or log.system != "adaptive":
        return {}, []
    # Here, because the lists of other formats do not need them.
    from enginetour.formats.adaptive import Adaptive
    from enginetour.ratings.design import posterior
    from enginetour.store.replay import format_of

    format_ = format_of(log)
    assert isinstance(format_, Adaptive)
    sd = format_.options.prior
    known = posterior(pairs.names, pairs.dense(), GaussianPrior(sd))
    remark = (
        "adaptive tournament: White's advantage, the draw parameter and the ratings are estimated together, with "
        f"a prior of ± {sd:g} Elo (one standard deviation) around the average rating. Without a prior, intervals would "
        "be too narrow, because the results decided when the tournament ended"
    )
    return known.list_terms(sd), [remark]


def tournament_rating_list(
    log: TournamentReader, anchor: Mapping[str, float], counts: Counts | None = None
) -> RatingList:
    """Compute the maximum-likelihood list of one tournament. `anchor` maps engines to fixed ratings.

    `counts` are `log.pair_counts()`, which are read if the caller does not have them.
    The list of an adaptive tournament has the model with which its games were chosen, and the prior of unknown ratings,
    even if the configuration has ratings with a `prior_error`. Without a prior, the intervals after the stop are too
    narrow (``python -m benches adaptive --only coverage``).
    """
    pairs = pairs_of(log.pair_counts() if counts is None else counts, [entrant.name for entrant in log.entrants])
    rated = {name for name, games in zip(pairs.names, pairs.played, strict=True) if games}
    anchors = {name: rating for name, rating in anchor.items() if name in rated}
    terms, more = _adaptive_terms(log, pairs)
    found = rating_list(pairs, anchors=anchors, openings=pentanomials_of_tournament(log), **terms)
    if apart := log.scores_at_odds():
        more.append(describe_scores(apart))
    origin = "estimated" if terms else found.advantage_origin
    return replace(found, caption=(*found.caption, *more), advantage_origin=origin)


def rating_order(log: TournamentReader, placed: Sequence[StandingsRow]) -> tuple[str, ...]:
    """Return the ranked engines in the order of their ratings.

    The ratings are computed from the games of the tournament, with the starting list as prior.
    """
    there = {line.name for line in placed if line.rank is not None}
    start = log.entrants
    newcomers = [entrant.name for entrant in start if entrant.new]
    newcomers += [line.name for line in placed if line.name not in {entrant.name for entrant in start}]
    upward = [entrant.name for entrant in reversed(start) if not entrant.new]
    order = bubble_rating_order([*newcomers, *upward], newcomers, log.pair_counts())
    return tuple(name for name in order if name in there)


def _opening_pairs(store: Store, selection: Selection) -> Mapping[tuple[str, str], Pentanomial]:
    with store.database.reading() as connection:
        wanted = _played(connection, selection)
    return pentanomials_of(
        store.database, wanted, names=_names_by_version(selection), standing=selection.moment.standing()
    )


def _played(connection: Connection, selection: Selection) -> ColumnElement[bool]:
    """Return the condition on GAMES for the games of a selection that were played here, not imported."""
    if is_whole(selection.definition):
        return and_(GAMES.c.tournament.in_(tournaments_of(connection, selection.definition)), EVEN)
    return game_filter(connection, selection.definition, selection.moment).games


def _names_by_version(selection: Selection) -> dict[int, str]:
    return {version: name for name, versions in selection.versions.items() for version in versions}


@dataclass(frozen=True, slots=True)
class GameTimes:
    """How long the games of a list take at one time control.

    `control` is the time control, or "" if the list has no games that were played here. `seconds` are the mean seconds
    of a game by engine, and `usual` those of all games (None without games). `engines` are the newest versions of the
    engines in the list: the rows of the database by name in the list.
    """

    control: str
    seconds: Mapping[str, float]
    usual: float | None
    engines: Mapping[str, Any]


def game_times(store: Store, selection: Selection, control: str = "") -> GameTimes:
    """Return the mean durations of the games of a list at `control`, by default its most frequent time control.

    Games with different controls for White and Black, and imported games, whose durations are not known, do not count.
    """
    with store.database.reading() as connection:
        wanted = _played(connection, selection)
        totals = func.count(), func.sum(GAMES.c.ended_unix - GAMES.c.started_unix)
        same = GAMES.c.white_tc == GAMES.c.black_tc
        by_color = []
        for engine in (GAMES.c.white_engine, GAMES.c.black_engine):
            columns = engine, GAMES.c.white_tc
            query = select(*columns, *totals).where(selection.moment.standing(), wanted, same).group_by(*columns)
            by_color.append(connection.execute(query).fetchall())
        newest = {max(versions): name for name, versions in selection.versions.items()}
        engines = {newest[row.id]: row for row in connection.execute(select(ENGINES)) if row.id in newest}
    by_control: Counter[str] = Counter()
    for _, tc, count, _ in by_color[0]:
        by_control[tc] += count
    control = control or next((tc for tc, _ in by_control.most_common(1)), "")
    names, spent, games = _names_by_version(selection), Counter[str](), Counter[str]()
    for version, tc, count, seconds in chain.from_iterable(by_color):
        if tc == control and version in names:
            spent[names[version]] += seconds
            games[names[version]] += count
    usual = sum(spent.values()) / games.total() if games else None
    return GameTimes(control, {name: spent[name] / games[name] for name in games}, usual, engines)


def likelihood_list(
    selection: Selection,
    pairs: Pairs,
    *,
    errors_for: Collection[str] | None = None,
    openings: Mapping[tuple[str, str], Pentanomial] | None = None,
) -> RatingList:
    """Compute a maximum-likelihood list of any pair counts with the settings of a selection's definition."""
    terms = selection.definition
    loose = {name: parse_loose_anchor(anchor) for name, anchor in terms.loose.items()}
    found = rating_list(
        pairs,
        model=terms.model,
        prior=parse_prior(terms.prior),
        anchors=(fixed := _named(selection, pairs, terms.anchors)),
        loose=_named(selection, pairs, loose, fixed),
        advantage=terms.advantage,
        scale=terms.scale,
        mean=terms.average,
        errors_for=errors_for,
        openings=openings,
        skipped=sum(selection.left_out.values()),
    )
    return replace(found, caption=(*found.caption, *describe_filter(selection)))


def _named(
    selection: Selection, pairs: Pairs, anchors: Mapping[str, _Anchor], there: Collection[str] = ()
) -> dict[str, _Anchor]:
    """Return anchors by their names in the list. The names in `there` are already anchors.

    Raise UsageRefused if an anchor does not name exactly one engine in the list.
    """
    fixed: dict[str, _Anchor] = {}
    for anchor, rating in anchors.items():
        names = (anchor,) if anchor in pairs.names else selection.names_by_term.get(anchor, ())
        names = names or tuple(filter(None, [match_name(anchor, pairs.names)]))
        if len(names) > 1:
            what = f"{anchor!r} has several versions in this list: {', '.join(names)}"
            raise UsageRefused(what, place="anchor", step="name one of them, or combine all versions with --by name")
        if not names or names[0] not in pairs.names:
            hint = no_match_hint(anchor, pairs.names) or suggest(anchor, pairs.names[:50])
            what = f"{anchor!r} has no games in this list{hint}"
            raise UsageRefused(what, place="anchor", step="choose an engine with games")
        if names[0] in fixed or names[0] in there:
            raise UsageRefused(
                f"{names[0]!r} is given twice as an anchor, the second time as {anchor!r}", place="anchor"
            )
        fixed[names[0]] = rating
    return fixed


def describe_filter(selection: Selection) -> tuple[str, ...]:
    """Describe the filter of a list: the limits of its time classes, and the number of excluded games."""
    classes = selection.definition.time_classes
    lines = [f"time classes: {describe_time_classes(classes)}"] if classes else []
    if selection.left_out:
        parts = ", ".join(f"{games:,} by {part}" for part, games in selection.left_out.items())
        lines.append(f"games left out: {parts}")
    return tuple(lines)


def _best_of_families(found: RatingList, selection: Selection) -> RatingList:
    """Keep the best engine of each family in each pool, with ranks and LOS among the remaining engines.

    The ratings are computed from the games of all engines.
    """
    kept: dict[tuple[int, str], Row] = {}
    for row in found.rows:
        kept.setdefault((row.pool, selection.families[row.name]), row)
    rows: list[Row] = []
    place = 0
    for row, following in zip_longest(kept.values(), list(kept.values())[1:]):
        last = rows[-1] if rows and rows[-1].pool == row.pool else None
        place = place + 1 if last else 1
        shared = last is not None and round(last.rating, SHARED) == round(row.rating, SHARED)
        rank = last.rank if last is not None and shared else place
        los = _los(row, following) if following is not None and following.pool == row.pool else None
        rows.append(replace(row, rank=rank, los=los))
    lines = [f"best engine of each family: {len(rows)} of {len(found.rows)} engines; the games of all engines count"]
    if selection.by_name:
        lines.append("the family of an engine without a configured family is its name without the version")
    return replace(found, rows=tuple(rows), caption=(*found.caption, *lines))


def _los(one: Row, other: Row) -> float | None:
    """Return the likelihood that `one` is stronger than `other`, or None if the list does not contain errors."""
    basis = one.basis
    if basis is None or one.name not in basis.wanted:
        return None
    here, there = basis.fit.names.index(one.name), basis.fit.names.index(other.name)
    return None if basis.fit.fixed >= {here, there} else basis.errors.los(here, there)


def _incremental_list(store: Store, selection: Selection) -> RatingList:
    """Rate the selected games with an incremental system, in the order in which they were played or imported."""
    definition, pairs = selection.definition, selection.pairs
    require_system(store, definition.system)
    known = system_named(definition.system)
    with store.database.reading() as connection:
        names = _names_by_version(selection)
        games = list(_games(connection, selection, names))
        start = known.fitting(_entry_ratings(connection, names, known.scale))
        settings = with_event_classes(connection, definition.system_settings())
        relatives = _lineage_by_name(connection, names)
    ratings = {event.engine: event.after for event in known.rate(games, settings, start, relatives)}
    skipped = sum(selection.left_out.values())
    return incremental_list(pairs, ratings, definition.system, skipped=skipped, notes=describe_filter(selection))


def _games(connection: Connection, selection: Selection, names: Mapping[int, str]) -> Iterable[RatedGame]:
    cut = game_filter(connection, selection.definition, selection.moment)
    points = {outcome: outcome.half_points(white=True) for outcome in Outcome}
    columns = (GAMES.c.id, GAMES.c.tournament, GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.outcome)
    own = select(*columns, GAMES.c.handicap).where(cut.games)
    read = (
        select(
            IMPORTS.c.after_game,
            IMPORTED_GAMES.c.tournament,
            IMPORTED_GAMES.c.white_engine,
            IMPORTED_GAMES.c.black_engine,
            IMPORTED_GAMES.c.white_half_points,
            IMPORTED_GAMES.c.id,
            IMPORTED_GAMES.c.handicap,
        )
        .join(IMPORTS, IMPORTS.c.tournament == IMPORTED_GAMES.c.tournament)
        .where(cut.imported)
        .order_by(IMPORTS.c.after_game, IMPORTED_GAMES.c.id)
    )
    played = (
        ((game, 0), white, black, points[outcome], tournament, handicap)
        for game, tournament, white, black, outcome, handicap in connection.execute(own.order_by(GAMES.c.id))
    )
    imported = (
        ((after, game), white, black, half_points, tournament, handicap or 0)
        for after, tournament, white, black, half_points, game, handicap in connection.execute(read)
    )
    for (game, _), white, black, half_points, tournament, handicap in merge(played, imported):
        one, other = names.get(white), names.get(black)
        if one is not None and other is not None and one != other:
            yield RatedGame(one, other, half_points, game, str(tournament), handicap)


def _entry_ratings(connection: Connection, names: Mapping[int, str], scale: Scale) -> dict[str, float]:
    found: dict[str, float] = {}
    for version, rating in entry_ratings(connection, scale).items():
        if int(version) in names:
            found.setdefault(names[int(version)], rating)
    return found


def _lineage_by_name(connection: Connection, names: Mapping[int, str]) -> Lineage:
    known: dict[str, Version] = {}
    for row in version_rows(connection):
        if name := names.get(row.id):
            known.setdefault(name, Version(name, row.name, row.family))
    return lineage(known.values())
