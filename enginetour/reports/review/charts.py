"""Pictures of a tournament or list: on its pages, and on their own under a title that names it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence

from enginetour.formats.pairing.standings import CrossRow
from enginetour.model.errors import UsageRefused, match_name, no_match_hint, suggest
from enginetour.model.game import Note, StandingsRow
from enginetour.ratings.ratinglist import RatingList
from enginetour.reports.charts import curves, lists
from enginetour.reports.charts.canvas import Picture, with_title
from enginetour.reports.charts.curves import Curve, Point
from enginetour.reports.charts.ladder import ladder_chart, round_robins
from enginetour.reports.review.engines import opponents_of
from enginetour.reports.review.fairness import Fairness, fairness_of
from enginetour.reports.review.lists import ListHistory, RatingPath, history_of, list_history
from enginetour.reports.review.tournament import crosstable_rows
from enginetour.reports.sheet import format_count
from enginetour.store.careers import PublishedRating
from enginetour.store.editions import editions_of
from enginetour.store.games import GameLine, TournamentReader, game_conditions
from enginetour.store.lists import tournament_rating_list
from enginetour.store.replay import fold
from enginetour.store.tournaments import Store

_MOST_CURVES = 8  # colors that can be told apart (reports.charts.canvas)
_MIN_GAMES = 10  # games; a distribution of fewer tells nothing
_MAX_OPENINGS = 30  # lines of White's share: more than a screen is not compared

# On pages; None where there is nothing to see.


def rating_picture(found: RatingList) -> Picture | None:
    """The first pool of a list, which is the largest; None without a rated engine."""
    rows = lists.largest_pool(found)
    return lists.rating_chart(rows, title="Ratings, and how far they may be off") if rows else None


def best_scores_picture(placed: Sequence[StandingsRow], games: Iterable[GameLine]) -> Picture | None:
    """The best of the table game by game; None where nobody has played enough to see a line."""
    best = [line.name for line in placed if line.rank is not None][:_MOST_CURVES]
    results = {name: points for name, points in _results(best, games).items() if points}
    if max(map(len, results.values()), default=0) < _MIN_GAMES:
        return None
    return curves.score_chart(results, title="The first of the table, game by game: points above half")


def _results(names: Iterable[str], games: Iterable[GameLine]) -> dict[str, list[int]]:
    """Half points of each game that counts, by engine."""
    found: dict[str, list[int]] = {name: [] for name in names}
    for game in games:
        if game.counts:
            for name, white in ((game.white, True), (game.black, False)):
                if name in found:
                    found[name].append(game.outcome.half_points(white=white))
    return found


def ladder_picture(
    notes: Sequence[Note], games: int, placed: Sequence[StandingsRow], title: str, *, by_games: bool | None = None
) -> Picture:
    """Who was in a bubble's section, entered, was parked and dropped out, over the `games`."""
    return ladder_chart(round_robins(notes, games), placed, title=title, by_games=by_games)


def opponents_picture(rating: float | None, faced: Sequence[lists.OpponentScore]) -> Picture | None:
    """An engine's score against each opponent by that one's rating; None where nobody is rated."""
    if all(one.rating is None for one in faced):
        return None
    return lists.score_by_rating_chart(rating, faced, title="Score by the opponent's rating")


def editions_picture(one: ListHistory) -> Picture | None:
    """The best of the list through its editions; None where there is one edition only."""
    if len(one.editions) < 2:
        return None
    lines = [_curve(name, points) for name, points in one.engines[:_MOST_CURVES]]
    return curves.rating_history_chart(lines, title=f"{one.name}, edition by edition")


def career_picture(name: str, editions: Sequence[PublishedRating]) -> Picture | None:
    """One engine through the editions of its list; None where it is in one only."""
    if len(editions) < 2:
        return None
    return curves.rating_history_chart([_curve(name, editions)], title="Edition by edition")


def _curve(name: str, points: Sequence[PublishedRating]) -> Curve:
    return Curve(name, tuple(curves.edition_point(p.edition, p.rating, p.plus, p.minus, p.games) for p in points))


def paths_picture(name: str, own: Sequence[RatingPath]) -> Picture | None:
    """The best by an incremental system, game by game."""
    best = sorted(own, key=lambda path: -path.points[-1][1])[:_MOST_CURVES]
    lines = [
        Curve(
            path.name,
            tuple(Point(number, rating, words=f"game {number}: {round(rating)}") for number, rating in path.points),
        )
        for path in best
    ]
    return curves.rating_history_chart(lines, title=f"{name}, game by game", below="game") if lines else None


def fairness_pictures(found: Fairness) -> Iterator[Picture]:
    """White's share, relay gaps, load: what there is of them."""
    if found.white.games:
        white = found.white
        share = curves.ShareBar("all games", white.share, white.error, white.games)
        yield curves.white_share_chart([share], title="White's share of the points")
    if len(found.worst_us) >= _MIN_GAMES:
        gaps = [gap / 1000 for gap in found.worst_us]
        yield curves.histogram(gaps, title="Relay gap, the largest of each game", unit="ms")
    if len(found.load) >= _MIN_GAMES:
        yield curves.load_chart(found.load, title="Load of the machine", cores=found.shared_cores)


# On their own, under titles that name the tournament or list.


def crosstable(log: TournamentReader) -> Picture:
    """Everybody against everybody, in the order of the table and with its points."""
    format_, state = fold(log)
    placed = format_.standings(state)
    rows = crosstable_rows([line.name for line in placed], log.games())
    cells = (
        tuple(None if cell is None else lists.CrossScore(cell.half_points, len(cell.games)) for cell in row.cells)
        for row in rows
    )
    drawn = [
        CrossRow(row.name, line.half_points, row.games, met) for line, row, met in zip(placed, rows, cells, strict=True)
    ]
    return lists.crosstable_chart(drawn, title=f"crosstable · {log.title}")


def ladder(log: TournamentReader, *, by_games: bool | None = None) -> Picture:
    """A bubble over time; UsageRefused for another format."""
    if log.system != "bubble":
        raise UsageRefused(f"{log.title} is a {log.system}, only a bubble has a ladder", step="enginetour chart score")
    format_, state = fold(log)
    notes, games, placed = format_.notes(state), len(log.games(counting=True)), format_.standings(state)
    return ladder_picture(notes, games, placed, f"ladder · {log.title}", by_games=by_games)


def scores(log: TournamentReader, names: Collection[str] = ()) -> Picture:
    """Points above half after each game, of `names` or of the best in the order of the table."""
    format_, state = fold(log)
    placed = [line.name for line in format_.standings(state)]
    names = [_known(name, log) for name in names]
    results = _results([name for name in placed if not names or name in names], log.games())
    return curves.score_chart(results, title=f"score · {log.title}")


def fairness(log: TournamentReader, kind: str) -> Picture:
    """By `kind` (white, relay, load): White's share, in all and by openings, largest relay gaps, the machine's load."""
    found = fairness_of(tuple(game_conditions(log)), log.specs)
    if kind == "white":
        return curves.white_share_chart(_shares(found), title=f"White's share of the points · {log.title}")
    if kind == "relay":
        title = f"relay gap, the largest of each game · {log.title}"
        return curves.histogram([gap / 1000 for gap in found.worst_us], title=title, unit="ms")
    return curves.load_chart(found.load, title=f"load of the machine · {log.title}", cores=found.shared_cores)


def opponents(log: TournamentReader, name: str) -> Picture:
    """An engine's score by the ratings of its opponents; UsageRefused for a name that is not there."""
    name = _known(name, log)
    found = tournament_rating_list(log, log.config.get("ratings", {}).get("anchor") or {})
    ratings = {row.name: row.rating for row in found.rows}
    met = opponents_of(log.games(), ratings).get(name, ())
    faced = [lists.OpponentScore(one.name, one.rating, one.half_points, len(one.games)) for one in met]
    return lists.score_by_rating_chart(ratings.get(name), faced, title=f"{name} by opponents · {log.title}")


def editions(store: Store, name: str, wanted: Sequence[str] = ()) -> Picture:
    """A list through its editions, all engines or those wanted; UsageRefused for fewer than two editions."""
    heads = editions_of(store, name)
    if wanted:
        known = [engine for engine, _ in list_history(store, name, heads).engines]
        if missing := sorted(word for word in wanted if match_name(word, known) is None):
            hint = no_match_hint(missing[0], known) or suggest(missing[0], known)
            raise UsageRefused(f"{missing[0]!r} is in no edition of {name}{hint}", place="--engine")
        wanted = [match_name(word, known) or word for word in wanted]
    found = list_history(store, name, heads, wanted or None)
    drawn = editions_picture(found)
    if drawn is None:
        have = format_count(len(heads), "edition")
        raise UsageRefused(f"{name} has {have}, a history needs two", step=shlex.join(["enginetour", "publish", name]))
    who = f"{wanted[0]} in {name}" if len(wanted) == 1 else name
    return with_title(drawn, f"{who}, edition by edition")


def paths(store: Store, log: TournamentReader, system: str, wanted: Sequence[str] = ()) -> Picture:
    """Ratings by an incremental system after each game of a tournament."""
    wanted = [_known(name, log) for name in wanted]
    own = [one for one in history_of(store, log.id, list(wanted or log.specs)).paths if one.system == system]
    drawn = paths_picture(system, own)
    if drawn is None:
        words = ["enginetour", "ratings", "-t", log.name, "--edition", str(log.edition), "--system", system]
        raise UsageRefused(f"no ratings by {system} are kept of {log.title}", step=shlex.join(words))
    return with_title(drawn, f"{system} · {log.title}")


def _shares(found: Fairness) -> list[curves.ShareBar]:
    lines = sorted(found.openings, key=lambda line: -line.white.games)[:_MAX_OPENINGS]
    named = [("all games", found.white), *((line.name or f"opening {line.place}", line.white) for line in lines)]
    return [curves.ShareBar(name, share.share, share.error, share.games) for name, share in named]


def _known(word: str, log: TournamentReader) -> str:
    if (name := match_name(word, log.specs)) is None:
        raise UsageRefused(
            f"{word!r} is not in {log.title}{no_match_hint(word, log.specs) or suggest(word, log.specs)}",
            step="enginetour standings",
        )
    return name
