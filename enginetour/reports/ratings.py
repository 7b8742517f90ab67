"""Rating lists as sheets: likelihood lists with errors, and the ratings of incremental systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from enginetour.model.game import fixed
from enginetour.ratings.pairs import CAPTION
from enginetour.ratings.ratinglist import EXTREME, FEW, NOT_ASKED, RatingList, Row, quantile
from enginetour.reports.columns import COLUMNS, NAME_ROOM, NARROW, USUAL, WIDE
from enginetour.reports.sheet import Column, Sheet, points, safe

FEW_NAMED = 10  # engines in a note
SYSTEM_NAMES = {
    "elo": "Elo, incremental",
    "gor": "GoR, Czech 1998",
    "egf": "GoR, EGF as in the thesis of 2010",
    "egf2021": "GoR, EGF 2021",
}


def likelihood(
    title: str,
    found: RatingList,
    columns: Sequence[str] | None = None,
    *,
    confidence: float = 95,
    notes: Sequence[str] = (),
) -> Sheet:
    """The list by maximum likelihood with `columns`, every uncertain number with its bounds, pools apart.

    `confidence` is that of the bounds in %, `notes` follow the list's own.
    """
    many = len(found.pools) > 1
    chosen = columns or (("pool", *USUAL) if many else USUAL)
    marks = sorted({remark for row in found.rows for remark in row.remarks})
    rows = tuple(row_of(row) for row in found.rows)
    shown = tuple(_shown(row, marks) for row in found.rows)
    legend = [f"[{number}] {mark}" for number, mark in enumerate(marks, 1)]
    if "remarks" not in chosen:  # the numbers stand nowhere: the names tell whom a remark is about
        legend = list(remarks(found))
    told = (*legend, *unrated(found), *found.caption, footing(found, confidence), *notes)
    return Sheet(title, tuple(COLUMNS[key] for key in chosen), rows, shown, told)


def roomy(found: RatingList, room: int) -> tuple[str, ...]:
    """The columns that find room: all that Ordo's users look for, the usual ones, or the fewest."""
    longest = max((len(safe(row.name)) for row in found.rows), default=0)
    pool = ("pool",) if len(found.pools) > 1 else ()
    sheet = likelihood("", found, (*pool, *WIDE))
    cells = [[column.header for column in sheet.columns], *sheet.cells()]
    widths = {
        column.key: 0 if column.flexible else max(map(len, cell)) + 2
        for column, cell in zip(sheet.columns, zip(*cells, strict=True), strict=True)
    }
    for columns in (WIDE, USUAL):
        taken = sum(widths[key] for key in (*pool, *columns))
        if taken + min(longest, NAME_ROOM) <= room:
            return (*pool, *columns)
    return (*pool, *NARROW)


def unrated(found: RatingList) -> list[str]:
    """Who has no rating, by reason."""
    reasons = dict.fromkeys(engine.why for engine in found.unrated)
    return [f"not rated, {why}: {', '.join(e.name for e in found.unrated if e.why == why)}" for why in reasons]


def remarks(found: RatingList) -> list[str]:
    """What is said of single rows, with the names, for tables without room for it.

    Who has no error or rests on a prior is always named; of profile bounds a few names are enough.
    """
    told = []
    for mark in sorted({remark for row in found.rows for remark in row.remarks}):
        names = [row.name for row in found.rows if mark in row.remarks]
        if mark in (FEW, EXTREME) and len(names) > FEW_NAMED:
            names = [*names[:FEW_NAMED], f"and {len(names) - FEW_NAMED:,} more"]
        told.append(f"{mark}: {', '.join(names)}")
    return told


def distance(number: float) -> str:
    """An error in points; one that is not 0 is never shown as 0."""
    if number >= 0.95:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 0.05 else "<0.1"


def incremental(title: str, known: Mapping[str, tuple[float, int]]) -> Sheet:
    """Ratings of an incremental system, best first."""
    ordered = sorted(known.items(), key=lambda item: (-item[1][0], item[0]))
    columns = (
        Column("rank", "#"),
        Column("name", "engine", left=True, flexible=True),
        Column("rating", "rating"),
        Column("games", "games"),
    )
    rows = tuple(
        {"rank": rank, "name": name, "rating": round(rating, 6), "games": games}
        for rank, (name, (rating, games)) in enumerate(ordered, 1)
    )
    shown = tuple({"rating": fixed(rating, 1)} for _, (rating, _games) in ordered)
    return Sheet(title, columns, rows, shown, (CAPTION, "by the games of all tournaments of the store"))


def row_of(row: Row) -> dict[str, object]:
    """The cells by column."""
    return {
        "pool": row.pool,
        "rank": row.rank,
        "name": row.name,
        "rating": row.rating,
        "plus": row.plus,
        "minus": row.minus,
        "error": row.error,
        "games": row.games,
        "score": row.score,
        "points": row.wins + row.draws / 2,
        "wins": row.wins,
        "draws": row.draws,
        "losses": row.losses,
        "opponents": row.opponents,
        "opponents_error": row.opponents_error,
        "opponent_count": row.opponent_count,
        "diversity": row.diversity,
        "draw_rate": row.draws / row.games if row.games else None,
        "performance": row.performance,
        "los": row.los,
        "remarks": "; ".join(row.remarks),
    }


def _shown(row: Row, marks: list[str]) -> dict[str, str]:
    # An anchor has no error: it is where the others are measured from. Large pools have errors on request only.
    few = ("", "") if {"anchor", NOT_ASKED} & {*row.remarks} else ("too few", "games")
    return {
        "rating": str(round(row.rating)),  # an int has no "-0"
        "plus": few[0] if row.plus is None else f"+{distance(row.plus)}",
        "minus": few[1] if row.minus is None else f"-{distance(row.minus)}",
        "error": few[0] if row.error is None else distance(row.error),
        "score": f"{100 * row.score:.1f}%",
        "points": points(2 * row.wins + row.draws),
        "opponents": str(round(row.opponents)),
        "opponents_error": "" if row.opponents_error is None else distance(row.opponents_error),
        "diversity": "" if row.diversity is None else f"{row.diversity:.1f}",
        "performance": "" if row.performance is None else str(round(row.performance)),
        "draw_rate": f"{100 * row.draws / row.games:.0f}%" if row.games else "",
        "los": "" if row.los is None else f"{100 * row.los:.0f}%",
        "remarks": " ".join(f"[{number}]" for number, mark in enumerate(marks, 1) if mark in row.remarks),
    }


def footing(found: RatingList, confidence: float) -> str:
    """What the list is, in one line."""
    if not found.games:
        return "no games to rate"
    draws = "" if found.draw_rate is None else f", {100 * found.draw_rate:.0f}% draws"
    bounds = f"+ and - are {confidence:g} %"
    games = f"{found.games} game{'s' * (found.games != 1)}{draws}"
    white = f"; White advantage {advantage(found, confidence)}" if found.white_advantage else ""
    return f"maximum likelihood ({found.model}), {found.level}; {games}; {bounds}{white}"


def advantage(found: RatingList, confidence: float) -> str:
    """White's, with its error where it was fitted."""
    sd = found.white_advantage_sd
    if sd is None:
        return f"{found.white_advantage:g}, given"
    return f"{fixed(found.white_advantage, 1)} ± {distance(quantile(confidence) * sd)}"
