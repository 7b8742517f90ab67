"""Charts of a tournament or list, for pages and as files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from enginetour.model.errors import UsageRefused, match_name, no_match_hint, suggest
from enginetour.model.game import StandingsRow
from enginetour.ratings.ratinglist import RatingList
from enginetour.reports.charts import curves, lists
from enginetour.reports.charts.bubble import bubble_chart, round_robins
from enginetour.reports.charts.canvas import Picture
from enginetour.reports.charts.curves import Curve, Point
from enginetour.reports.charts.output import CHART_WIDTH, with_title
from enginetour.reports.review.engines import opponents_of
from enginetour.reports.review.fairness import Fairness, WhiteShare, fairness_of
from enginetour.reports.review.lists import ListHistory, RatingPath, history_of, list_history
from enginetour.reports.review.tournament import crosstable_rows
from enginetour.reports.sheet import format_count
from enginetour.store.careers import PublishedRating
from enginetour.store.editions import editions_of
from enginetour.store.games import GameLine, TournamentReader, game_conditions
from enginetour.store.lists import tournament_rating_list
from enginetour.store.replay import fold
from enginetour.store.tournaments import Store

_MOST_CURVES = 8  # curves; the number of different colors (reports.charts.canvas)
_MIN_GAMES = 10  # games; a chart of fewer games is not useful
_MAX_OPENINGS = 30  # rows in the chart of White's share, about one screen

# Charts on pages. The functions return None if there is not enough data. `width` is in units of the chart.


def rating_picture(found: RatingList, width: float = CHART_WIDTH) -> Picture | None:
    """Return a chart of the ratings in the largest pool of a list."""
    rows = lists.largest_pool(found)
    return lists.rating_chart(rows, title="Ratings with confidence intervals", width=width) if rows else None


def best_scores_chart(placed: Sequence[StandingsRow], games: Iterable[GameLine]) -> Callable[..., Picture | None]:
    """Return a function that draws the scores of the first engines in the standings, game by game, in a width."""
    best = [line.name for line in placed if line.rank is not None][:_MOST_CURVES]
    results = {name: points for name, points in _results(best, games).items() if points}
    if max(map(len, results.values()), default=0) < _MIN_GAMES:
        return lambda **_: None
    return partial(curves.score_chart, results, title="Points above 50 % of the first engines, game by game")


def _results(names: Iterable[str], games: Iterable[GameLine]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {name: [] for name in names}
    for game in games:
        if (game.white in found or game.black in found) and game.counts:
            for name, white in ((game.white, True), (game.black, False)):
                if name in found:
                    found[name].append(game.outcome.half_points(white=white))
    return found


def opponents_picture(rating: float | None, faced: Sequence[lists.OpponentScore]) -> Picture | None:
    """Return a chart of an engine's score against each opponent, by the opponent's rating."""
    if all(one.rating is None for one in faced):
        return None
    return lists.score_by_rating_chart(rating, faced, title="Score by the opponent's rating")


def editions_picture(one: ListHistory, width: float = CHART_WIDTH) -> Picture | None:
    """Return a chart of the best engines' ratings in the editions of a list, or None if there is only one edition."""
    if len(one.editions) < 2:
        return None
    lines = [_curve(name, points) for name, points in one.engines[:_MOST_CURVES]]
    return curves.curve_chart(lines, title=f"Editions of {one.name}", width=width)


def career_picture(name: str, editions: Sequence[PublishedRating], width: float = CHART_WIDTH) -> Picture | None:
    """Return a chart of an engine's ratings in the editions of its list, or None if there is only one edition."""
    if len(editions) < 2:
        return None
    return curves.curve_chart([_curve(name, editions)], title="Rating in each edition", width=width)


def _curve(name: str, points: Sequence[PublishedRating]) -> Curve:
    return Curve(name, tuple(curves.edition_point(p.edition, p.rating, p.plus, p.minus, p.games) for p in points))


def paths_picture(name: str, own: Sequence[RatingPath], width: float = CHART_WIDTH) -> Picture | None:
    """Return a chart of the best engines' ratings by an incremental system, game by game."""
    best = sorted(own, key=lambda path: -path.points[-1][1])[:_MOST_CURVES]
    lines = [
        Curve(
            path.name,
            tuple(Point(number, rating, tooltip=f"game {number}: {round(rating)}") for number, rating in path.points),
        )
        for path in best
    ]
    if not lines:
        return None
    return curves.curve_chart(lines, title=f"{name}, game by game", below="game", width=width)


def fairness_pictures(found: Fairness, width: float = CHART_WIDTH) -> Iterator[Picture]:
    """Yield charts of White's share, of latencies and of the load. Charts with too few games are left out."""
    if found.white.games:
        shares = [("all games", found.white)]
        yield curves.white_share_chart(shares, title="White's share of the points", width=width)
    if len(found.worst_us) >= _MIN_GAMES:
        gaps = [gap / 1000 for gap in found.worst_us]
        yield curves.histogram(gaps, title="Maximum latency of each game", unit="ms", width=width)
    if len(found.load) >= _MIN_GAMES:
        yield curves.load_chart(found.load, title="Load of the machine", cores=found.shared_cores, width=width)


# Charts as files, with titles that name the tournament or list.


def crosstable(log: TournamentReader) -> Picture:
    """Return a chart of the crosstable, with the order and the points of the standings."""
    format_, state = fold(log)
    placed = format_.standings(state)
    rows = crosstable_rows([line.name for line in placed], log.games())
    drawn = [replace(row, half_points=line.half_points) for line, row in zip(placed, rows, strict=True)]
    return lists.crosstable_chart(drawn, title=f"crosstable · {log.title}")


def bubble(log: TournamentReader, *, by_games: bool | None = None) -> Picture:
    """Return the chart of a bubble. Raise UsageRefused if the tournament has another format."""
    if log.system != "bubble":
        what = f"{log.title} is a {log.system} tournament, and only a bubble tournament has a bubble history"
        raise UsageRefused(what, step="use enginetour chart score")
    format_, state = fold(log)
    rounds = round_robins(format_.notes(state), len(log.games(counting=True)))
    return bubble_chart(rounds, format_.standings(state), title=f"bubble history · {log.title}", by_games=by_games)


def scores(log: TournamentReader, names: Collection[str] = ()) -> Picture:
    """Return a chart of the points above 50 % after each game.

    It shows the engines in `names`, or by default the first engines in the standings.
    """
    format_, state = fold(log)
    placed = [line.name for line in format_.standings(state)]
    names = [_known(name, log) for name in names]
    results = _results([name for name in placed if not names or name in names], log.games())
    return curves.score_chart(results, title=f"score · {log.title}")


def fairness(log: TournamentReader, kind: str) -> Picture:
    """Return a chart by `kind`: White's share (white), maximum latencies (relay) or load of the machine (load)."""
    found = fairness_of(tuple(game_conditions(log)), log.specs)
    if kind == "white":
        return curves.white_share_chart(_shares(found), title=f"White's share of the points · {log.title}")
    if kind == "relay":
        title = f"maximum latency of each game · {log.title}"
        return curves.histogram([gap / 1000 for gap in found.worst_us], title=title, unit="ms")
    return curves.load_chart(found.load, title=f"load of the machine · {log.title}", cores=found.shared_cores)


def opponents(log: TournamentReader, name: str) -> Picture:
    """Return a chart of an engine's score by the ratings of its opponents. Raise UsageRefused for an unknown name."""
    name = _known(name, log)
    found = tournament_rating_list(log, log.config.get("ratings", {}).get("anchor") or {})
    ratings = {row.name: row.rating for row in found.rows}
    met = opponents_of(log.games(), ratings).get(name, ())
    faced = [lists.OpponentScore(one.name, one.rating, one.half_points, len(one.games)) for one in met]
    return lists.score_by_rating_chart(ratings.get(name), faced, title=f"{name} against opponents · {log.title}")


def editions(store: Store, name: str, wanted: Sequence[str] = ()) -> Picture:
    """Return a chart of the ratings in the editions of a list. Raise UsageRefused if there are fewer than two editions.

    `wanted` selects engines by name; without it, the chart shows the best engines.
    """
    heads = editions_of(store, name)
    if wanted:
        known = [engine for engine, _ in list_history(store, name, heads).engines]
        if missing := sorted(word for word in wanted if match_name(word, known) is None):
            hint = no_match_hint(missing[0], known) or suggest(missing[0], known)
            raise UsageRefused(f"{missing[0]!r} not found in the editions of {name}{hint}", place="--engine")
        wanted = [match_name(word, known) or word for word in wanted]
    found = list_history(store, name, heads, wanted or None)
    drawn = editions_picture(found)
    if drawn is None:
        what = f"{name} has {format_count(len(heads), 'edition')}, and a history needs at least two"
        raise UsageRefused(what, step=f"use {shlex.join(['enginetour', 'publish', name])}")
    return with_title(drawn, f"{wanted[0]} in {name}, all editions" if len(wanted) == 1 else f"editions of {name}")


def paths(store: Store, log: TournamentReader, system: str, wanted: Sequence[str] = ()) -> Picture:
    """Return a chart of the ratings by an incremental system after each game of a tournament."""
    wanted = [_known(name, log) for name in wanted]
    own = [one for one in history_of(store, log.id, list(wanted or log.specs)).paths if one.system == system]
    drawn = paths_picture(system, own)
    if drawn is None:
        command = ["enginetour", "ratings", "-t", log.name, "--edition", str(log.edition), "--system", system]
        raise UsageRefused(f"{log.title} does not have ratings by {system} yet", step=f"use {shlex.join(command)}")
    return with_title(drawn, f"{system} · {log.title}")


def _shares(found: Fairness) -> list[tuple[str, WhiteShare]]:
    lines = sorted(found.openings, key=lambda line: -line.white.games)[:_MAX_OPENINGS]
    return [("all games", found.white), *((line.name or f"opening {line.place}", line.white) for line in lines)]


def _known(word: str, log: TournamentReader) -> str:
    if (name := match_name(word, log.specs)) is None:
        raise UsageRefused(
            f"{word!r} not found in {log.title}{no_match_hint(word, log.specs) or suggest(word, log.specs)}",
            step="use enginetour standings to see the entrants",
        )
    return name
