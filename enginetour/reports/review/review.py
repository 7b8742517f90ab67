"""A tournament as a report shows it: everything that is on its pages but the moves of single games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from enginetour.formats.pairing.standings import CrossRow
from enginetour.formats.rounds import Rounds
from enginetour.model.game import Note, Placed
from enginetour.ratings.ratinglist import RatingList
from enginetour.reports import sprt
from enginetour.reports.averages import averages
from enginetour.reports.endings import endings
from enginetour.reports.html.crosstable import Cell
from enginetour.reports.pairingerror import RoundFigures
from enginetour.reports.review.advice import Advice, advice_of
from enginetour.reports.review.crosstable import crosstable
from enginetour.reports.review.editions import History, history_of
from enginetour.reports.review.engines import EngineReview, colours_of, opponents_of
from enginetour.reports.review.facts import Facts, facts_of
from enginetour.reports.review.fairness import Fairness, fairness_of, over_again, used_up
from enginetour.reports.review.incidents import IncidentLine, incident_lines
from enginetour.reports.review.ladder import Ladder, ladder_of
from enginetour.reports.review.rounds import Round, rounds_of
from enginetour.reports.review.slugs import slugs_of
from enginetour.reports.review.story import Happened, story_of
from enginetour.reports.review.strength import rating_order, tournament_list
from enginetour.reports.sheet import Sheet
from enginetour.store.games import GameLine, TournamentReader, conditions, lineup, repeated
from enginetour.store.replay import fold
from enginetour.store.tournaments import Store

RESUME = "enginetour run CONFIG"  # the log does not know from which file it was started


@dataclass(frozen=True, slots=True)
class Review:
    """Games are those of the log in order, with void ones; engines stand in the order of the table.

    `ladder` is None but for a bubble, `rounds` and `figures` empty but for formats in rounds. `odds` counts games at
    odds by engine. `slugs` names each engine's page.
    """

    facts: Facts
    story: tuple[Happened, ...]
    test: Sheet | None  # where a match under a sequential test stands
    standings: tuple[Placed, ...]
    odds: Mapping[str, int]
    ratings: RatingList
    crosstable: tuple[CrossRow[Cell], ...]
    ladder: Ladder | None
    rounds: tuple[Round, ...]
    figures: tuple[RoundFigures, ...]
    notes: tuple[Note, ...]
    games: tuple[GameLine, ...]
    engines: tuple[EngineReview, ...]
    incidents: tuple[IncidentLine, ...]
    fairness: Fairness
    history: History
    advice: tuple[Advice, ...]
    slugs: Mapping[str, str]


def review_of(log: TournamentReader, *, again: str = RESUME, suspended: Sequence[str] = ()) -> Review:
    """Gather all of it; `again` is the command that resumes, `suspended` whom a run that has just ended set aside."""
    format_, state = fold(log)
    placed = format_.standings(state)
    names = [line.name for line in placed]
    games, played = tuple(log.games()), tuple(conditions(log))
    facts = facts_of(log, format_, state, games)
    found = tournament_list(log, log.config.get("ratings", {}).get("anchor") or {})
    incidents = incident_lines(log.incidents(), {game.number: game for game in games}, (log.name, log.edition))
    fairness = fairness_of(played, log.specs, over_again(*repeated(log)), used_up(log))
    everybody = [*dict.fromkeys([*names, *log.specs])]
    efforts = averages(
        "", everybody, ((n, s) for g in played for n, s in zip((g.white, g.black), g.sides, strict=True))
    )
    ended, slugs = endings("", everybody, games), slugs_of(everybody)
    notes = format_.notes(state)
    rounds, figures = rounds_of(format_, state, games) if isinstance(format_, Rounds) else ((), ())
    is_bubble = log.system == "bubble"
    return Review(
        facts=facts,
        story=story_of(games, notes),
        test=sprt.story("test", *tested) if (tested := sprt.under_test(format_, state)) else None,
        standings=placed,
        odds=log.odds_by_entrant(),
        ratings=found,
        crosstable=crosstable(names, games),
        ladder=ladder_of(notes, placed, rating_order(log, placed)) if is_bubble else None,
        rounds=rounds,
        figures=figures,
        notes=notes,
        games=games,
        engines=_engines(log, everybody, placed, found, games, efforts, ended, slugs),
        incidents=incidents,
        fairness=fairness,
        history=history_of(Store(log.database), log.id, everybody),
        advice=advice_of(facts, found, incidents, fairness, again=again, suspended=suspended),
        slugs=slugs,
    )


def _engines(
    log: TournamentReader,
    names: Sequence[str],
    placed: Sequence[Placed],
    found: RatingList,
    games: Sequence[GameLine],
    efforts: Sheet,
    ended: Sheet,
    slugs: Mapping[str, str],
) -> tuple[EngineReview, ...]:
    specs, entered = log.specs, lineup(log)
    lines, rows = {line.name: line for line in placed}, {row.name: row for row in found.rows}
    met = opponents_of(games, {name: row.rating for name, row in rows.items()})
    return tuple(
        EngineReview(
            name=name,
            slug=slugs[name],
            entered=entered[name],
            spec=specs[name],
            placed=lines.get(name),
            row=rows.get(name),
            colours=colours_of(met.get(name, ())),
            opponents=met.get(name, ()),
            efforts=_of(efforts, name),
            endings=_of(ended, name),
        )
        for name in names
    )


def _of(sheet: Sheet, name: str) -> Sheet:
    """The lines of one engine, without its name."""
    own = [place for place, row in enumerate(sheet.rows) if row["name"] == name]
    columns = tuple(column for column in sheet.columns if column.key != "name")
    shown = tuple(sheet.shown[place] for place in own) if sheet.shown else ()
    return replace(sheet, columns=columns, rows=tuple(sheet.rows[place] for place in own), shown=shown)
