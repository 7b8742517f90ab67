"""The fairness page's tables: measures with their spread, openings, margins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

from enginetour.reports.charts.fairness import quantile
from enginetour.reports.review.fairness import Fairness, Share
from enginetour.reports.sheet import Column, Sheet

MOST_OPENINGS = 1_000  # lines of the table of openings


def share_words(share: Share) -> str:
    """``52.4 % ±3.1``; "too few games" where no error can be told."""
    if share.share is None:
        return ""
    words = f"{100 * share.share:.1f} %"
    return f"{words} ±{100 * share.error:.1f}" if share.error is not None else f"{words}, too few games"


def measures(found: Fairness) -> Sheet:
    """What was measured in each game, as its median, 99th percentile and largest."""
    columns = (
        Column("what", "measured in each game", left=True),
        Column("games", "games"),
        Column("median", "median"),
        Column("high", "99 %"),
        Column("largest", "largest"),
    )
    rows = tuple(_measures(found))
    return Sheet("measures", columns, rows)


def _measures(found: Fairness) -> Iterator[dict[str, object]]:
    gaps = ((found.relay_us, "relay gap, the game's median"), (found.worst_us, "relay gap, the game's largest"))
    for values, words in gaps:
        if values:
            yield _measure(f"{words}, ms", [value / 1000 for value in values], "{:.2f}")
    if found.own_us:
        yield _measure("referee's own share at a flag, ms", [value / 1000 for _, value in found.own_us], "{:.1f}")
    if found.load:
        yield _measure("load of the machine", [load for _, load in found.load], "{:.2f}")
    if found.steal:
        yield _measure("processor time its host gave to others, %", [100 * one for one in found.steal], "{:.2f}")


def _measure(words: str, values: Sequence[float], form: str) -> dict[str, object]:
    ordered = sorted(values)
    return {
        "what": words,
        "games": len(ordered),
        "median": form.format(quantile(ordered, 0.5)),
        "high": form.format(quantile(ordered, 0.99)),
        "largest": form.format(ordered[-1]),
    }


def openings(found: Fairness) -> Sheet:
    """White's points on each opening, the most one-sided first."""
    columns = (
        Column("place", "#"),
        Column("opening", "opening", left=True, flexible=True),
        Column("games", "games"),
        Column("share", "White", left=True),
        Column("draws", "draws"),
    )
    ordered = sorted(found.openings, key=lambda one: (-_one_sided(one.white), one.place))
    rows = tuple(
        {
            "place": line.place or None,
            "opening": line.name,
            "games": line.white.games,
            "share": share_words(line.white),
            "draws": line.draws,
        }
        for line in ordered[:MOST_OPENINGS]
    )
    more = len(ordered) - len(rows)
    return Sheet("openings", columns, rows, notes=(f"{more} more openings, nearer to even",) if more else ())


def _one_sided(share: Share) -> float:
    return abs((share.share or 0.0) - 0.5) * sqrt(share.games)  # in units of its own chance error


def margins(found: Fairness) -> Sheet:
    """Who moved after its time was up and was forgiven."""
    columns = (
        Column("engine", "engine", left=True),
        Column("uses", "moves within the margin"),
        Column("games", "games"),
    )
    rows = tuple({"engine": name, "uses": uses, "games": games} for name, uses, games in found.margins)
    return Sheet("margins", columns, rows)


def own_shares(found: Fairness) -> Sheet:
    """Flags, and how much of the late move the referee itself may have cost."""
    columns = (Column("game", "game"), Column("share", "own share, ms"))
    rows = tuple({"game": number, "share": f"{own / 1000:.1f}"} for number, own in found.own_us)
    return Sheet("own shares", columns, rows)
