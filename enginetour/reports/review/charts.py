"""Pictures that leave the report: each of one tournament or list, under a title that says which."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from enginetour.formats.pairing.standings import CrossRow
from enginetour.model.errors import UsageRefused, match_name, no_match_hint, suggest
from enginetour.reports.charts import curves, lists
from enginetour.reports.charts import ladder as ladders
from enginetour.reports.charts.canvas import Picture, with_title
from enginetour.reports.charts.curves import ScoreRun, score_chart
from enginetour.reports.charts.ladder import round_robins
from enginetour.reports.review import pages
from enginetour.reports.review.engines import opponents_of
from enginetour.reports.review.fairness import Fairness, fairness_of
from enginetour.reports.review.lists import history_of, list_history
from enginetour.reports.review.tournament import crosstable_rows, tournament_rating_list
from enginetour.reports.sheet import format_count
from enginetour.store.editions import editions_of
from enginetour.store.games import TournamentReader, game_conditions
from enginetour.store.replay import fold
from enginetour.store.tournaments import Store

_MAX_OPENINGS = 30  # lines of White's share: more than a screen is not compared


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
    ranking = [ladders.LadderRow(line.name, line.rank, line.status) for line in format_.standings(state)]
    played = len(log.games(counting=True))
    rounds = round_robins(format_.notes(state), played)
    return ladders.ladder_chart(rounds, ranking, title=f"ladder · {log.title}", by_games=by_games)


def scores(log: TournamentReader, names: Collection[str] = ()) -> Picture:
    """Points above half after each game, of `names` or of the best in the order of the table."""
    format_, state = fold(log)
    placed = [line.name for line in format_.standings(state)]
    names = [_known(name, log) for name in names]
    runs: dict[str, list[int]] = {name: [] for name in placed if not names or name in names}
    for game in log.games(counting=True):
        for name, white in ((game.white, True), (game.black, False)):
            if name in runs:
                runs[name].append(game.outcome.half_points(white=white))
    lines = [ScoreRun(name, tuple(results)) for name, results in runs.items()]
    return score_chart(lines, title=f"score · {log.title}")


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
    drawn = pages.editions_picture(found)
    if drawn is None:
        have = format_count(len(heads), "edition")
        raise UsageRefused(f"{name} has {have}, a history needs two", step=shlex.join(["enginetour", "publish", name]))
    who = f"{wanted[0]} in {name}" if len(wanted) == 1 else name
    return with_title(drawn, f"{who}, edition by edition")


def paths(store: Store, log: TournamentReader, system: str, wanted: Sequence[str] = ()) -> Picture:
    """Ratings by an incremental system after each game of a tournament."""
    wanted = [_known(name, log) for name in wanted]
    own = [one for one in history_of(store, log.id, list(wanted or log.specs)).paths if one.system == system]
    drawn = pages.paths_picture(system, own)
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
