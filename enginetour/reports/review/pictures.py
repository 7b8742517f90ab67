"""The pictures of a review: from its rows to those of the charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginetour.ratings.ratinglist import RatingList
from enginetour.reports.charts import fairness as fairness_charts
from enginetour.reports.charts import history, opposition, ratinglist
from enginetour.reports.charts import ladder as ladder_chart
from enginetour.reports.charts.curves import Curve, Point
from enginetour.reports.charts.marks import Picture
from enginetour.reports.charts.roundrobins import round_robins
from enginetour.reports.review.editions import ListHistory, RatingPath
from enginetour.reports.review.engines import EngineReview
from enginetour.reports.review.fairness import Fairness
from enginetour.reports.review.listreview import ListedEngine
from enginetour.reports.review.review import Review
from enginetour.store.careers import Published

MOST_CURVES = 8  # colours that can be told apart (reports.charts.palette)
SOME = 10  # games; a distribution of fewer tells nothing


def rating_list(review: Review) -> Picture | None:
    """Of the first pool, which is the largest; None without a rated engine."""
    return rated(review.ratings)


def rated(found: RatingList) -> Picture | None:
    """The same of any list."""
    rows = ratinglist.rated(found)
    return ratinglist.rating_list(rows, title="Ratings, and how far they may be off") if rows else None


def scores(review: Review) -> Picture | None:
    """Points above half of the best of the table, game by game; None where nobody has played enough to see a line."""
    best = [line.name for line in review.standings if line.rank is not None][:MOST_CURVES]
    met: dict[str, list[int]] = {name: [] for name in best}
    for line in review.games:
        if line.counts:
            for name, white in ((line.white, True), (line.black, False)):
                if name in met:
                    met[name].append(line.outcome.half_points(white=white))
    runs = [history.Run(name, tuple(points)) for name, points in met.items() if points]
    if max((len(run.half_points) for run in runs), default=0) < SOME:
        return None
    return history.score_over_games(runs, title="The first of the table, game by game: points above half")


def ladder(review: Review) -> Picture | None:
    """Who was in the section, entered, was parked and dropped out, over the games."""
    if review.ladder is None:
        return None
    ranked = [ladder_chart.Ranked(line.name, line.rank, line.status) for line in review.ladder.ranking]
    return ladder_chart.ladder(
        round_robins(review.notes, review.facts.games), ranked, title="Who was in the section, and at which place"
    )


def opponents(one: EngineReview) -> Picture | None:
    """Its score against each opponent by that one's rating; None where nobody is rated."""
    faced = [opposition.Faced(met.name, met.rating, met.half_points, len(met.games)) for met in one.opponents]
    if not any(line.rating is not None for line in faced):
        return None
    rating = None if one.row is None else one.row.rating
    return opposition.score_by_rating(rating, faced, title="Score by the opponent's rating")


def editions(one: ListHistory) -> Picture | None:
    """The best of the list through its editions; None where there is one edition only."""
    if len(one.editions) < 2:
        return None
    lines = [_curve(name, points) for name, points in one.engines[:MOST_CURVES]]
    return history.rating_history(lines, title=f"{one.name}, edition by edition")


def career(one: ListedEngine) -> Picture | None:
    """One engine through the editions of its list; None where it stands in one only."""
    if len(one.editions) < 2:
        return None
    return history.rating_history([_curve(one.name, one.editions)], title="Edition by edition")


def _curve(name: str, points: Sequence[Published]) -> Curve:
    return Curve(name, tuple(history.edition_point(p.edition, p.rating, p.plus, p.minus, p.games) for p in points))


def paths(name: str, own: Sequence[RatingPath]) -> Picture | None:
    """The best by an incremental system, game by game."""
    best = sorted(own, key=lambda path: -path.points[-1][1])[:MOST_CURVES]
    lines = [
        Curve(
            path.name,
            tuple(Point(number, rating, words=f"game {number}: {round(rating)}") for number, rating in path.points),
        )
        for path in best
    ]
    return history.rating_history(lines, title=f"{name}, game by game", below="game") if lines else None


def fairness(found: Fairness) -> Iterator[Picture]:
    """White's share, relay gaps, load: what there is of them."""
    if found.white.games:
        white = found.white
        share = fairness_charts.Share("all games", white.share, white.error, white.games)
        yield fairness_charts.white_share([share], title="White's share of the points")
    if len(found.worst_us) >= SOME:
        gaps = [gap / 1000 for gap in found.worst_us]
        yield fairness_charts.distribution(gaps, title="Relay gap, the largest of each game", unit="ms")
    if len(found.load) >= SOME:
        yield fairness_charts.load(found.load, title="Load of the machine", cores=found.shared_cores)
