"""Who did what against whom, beside what the list expects: one engine as a table, all of them in blocks as Ordo's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from enginetour.model.game import fixed
from enginetour.ratings.ratinglist import Against, RatingList, Row
from enginetour.reports.layouts import name_field, name_width, wrapped
from enginetour.reports.matrix import percent
from enginetour.reports.ratings import distance, footing, remarks, unrated
from enginetour.reports.sheet import Column, Sheet

Met = Mapping[str, Sequence[Against]]
"""Opponents by engine."""

_COLUMNS = (
    Column("opponent", "against", left=True, flexible=True),
    Column("games", "games"),
    Column("wins", "W"),
    Column("draws", "D"),
    Column("losses", "L"),
    Column("score", "score"),
    Column("expected", "exp."),
    Column("gap", "gap"),
    Column("gap_error", "±"),
    Column("performance", "perf."),
    Column("los", "LOS"),
)
_NUMBERS = 60  # columns of a line of a block without name and indent
_RATING = 8  # columns of a rating behind a name
_SHORTEST = 16  # signs of a name that still tell it
_HEADING = 30  # signs of a name over a block, where the numbers leave more room


def one(
    title: str,
    name: str,
    met: Sequence[Against],
    found: RatingList,
    *,
    quantile: float,
    confidence: float = 95,
    notes: Sequence[str] = (),
) -> Sheet:
    """The opponents of an engine, the strongest first; `quantile` standard deviations are an error."""
    ordered = _ordered(met, found)
    row = next((row for row in found.rows if row.name == name), None)
    told = [f"gap: {name}'s rating less the opponent's; exp.: the score that the list expects; ± is {confidence:g} %"]
    told += [f"{name} has {_rating(row)}" if row else f"{name} is not rated"]
    told += [f"{name}: {'; '.join(row.remarks)}"] if row and row.remarks else []
    if row is not None and any(each.gap is None for each in ordered):
        told.append("no gap: rated apart, the games between them bound no difference")
    rows = tuple(line(each, quantile) for each in ordered)
    shown = tuple(_shown(each, quantile) for each in ordered)
    return Sheet(title, _COLUMNS, rows, shown, (*told, *unrated(found), footing(found, confidence), *notes))


def everybody(met: Met, found: RatingList, *, quantile: float) -> Sheet:
    """All pairings of all engines in one table, for CSV."""
    columns = (Column("engine", "engine", left=True, flexible=True), *_COLUMNS)
    rows = tuple(
        {"engine": name, **line(each, quantile)} for name in _names(met, found) for each in _ordered(met[name], found)
    )
    return Sheet("", columns, rows)


def blocks(met: Met, found: RatingList, room: int, *, confidence: float = 95, notes: Sequence[str] = ()) -> str:
    """All engines, each with its opponents, as Ordo writes them by -j; ``----`` is what cannot be given."""
    rated = {row.name: row for row in found.rows}
    names = list(_names(met, found))
    digits = len(str(len(names))) + 2
    longest = max((name_width(name) for name in names), default=0)
    wide = min(longest + _RATING, max(_SHORTEST, room - _NUMBERS - digits))
    lines = ["Head to head statistics:"]
    for number, name in enumerate(names, 1):
        own, row = met[name], rated.get(name)
        games, wins, draws, losses = (sum(getattr(each, key) for each in own) for key in _COUNTS)
        share = 100 * (wins + draws / 2) / games if games else 0.0
        rating = "----" if row is None else fixed(row.rating, 1)
        heading = name_field(name, max(wide - _RATING, min(_HEADING, name_width(name))))
        head = f"{number}) {heading} {rating:>7}"
        lines += ["", f"{head} : {games:6} (+{wins},={draws},-{losses}), {share:5.1f} %", ""]
        indent = " " * digits
        lines.append(f"{indent}{name_field('vs.', wide)} :  games (  +,  =,  -),   (%) :    Diff,    SD, CFS (%)")
        for each in _ordered(own, found):
            diff = "----" if each.gap is None else fixed(each.gap, 1, signed=True)
            sd = "----" if each.sd is None else f"{max(each.sd, 0.1):.1f}"
            cfs = "----" if each.los is None else f"{100 * each.los:.1f}"
            counts = f"{each.games:6} ({each.wins:3},{each.draws:3},{each.losses:3}), {100 * each.score:5.1f}"
            lines.append(f"{indent}{name_field(each.opponent, wide)} : {counts} : {diff:>7}, {sd:>5}, {cfs:>6}")
    told = (*remarks(found), *unrated(found), *found.caption, footing(found, confidence), *notes)
    return "\n".join([*lines, "", *wrapped(told, room)]) + "\n"


def to_json(met: Met, found: RatingList, *, quantile: float, confidence: float = 95) -> dict[str, object]:
    """Opponents by engine, the strongest first."""
    told = {name: [line(each, quantile) for each in _ordered(met[name], found)] for name in _names(met, found)}
    return {"confidence": confidence, "engines": told}


def line(each: Against, quantile: float) -> dict[str, object]:
    """One pairing by the keys of JSON and CSV."""
    value = asdict(each)
    return value | {"score": each.score, "gap_error": None if each.sd is None else each.sd * quantile}


_COUNTS = ("games", "wins", "draws", "losses")


def _names(met: Met, found: RatingList) -> Iterable[str]:
    """As the list has them, the unrated behind."""
    listed = [row.name for row in found.rows if row.name in met]
    return [*listed, *sorted(name for name in met if met[name] and name not in set(listed))]


def _ordered(met: Sequence[Against], found: RatingList) -> list[Against]:
    place = {row.name: number for number, row in enumerate(found.rows)}
    return sorted(met, key=lambda each: (place.get(each.opponent, len(place)), each.opponent))


def _rating(row: Row) -> str:
    if row.plus is None or row.minus is None:
        return f"{round(row.rating)}"
    return f"{round(row.rating)} +{distance(row.plus)} -{distance(row.minus)}"


def _shown(each: Against, quantile: float) -> dict[str, str]:
    return {
        "score": f"{100 * each.score:.1f}%",
        "expected": "" if each.expected is None else f"{100 * each.expected:.1f}%",
        "gap": "" if each.gap is None else f"{round(each.gap):+d}",
        "gap_error": "" if each.sd is None else distance(each.sd * quantile),
        "performance": "" if each.performance is None else str(round(each.performance)),
        "los": "" if each.los is None else f"{percent(each.los)}%",
    }
