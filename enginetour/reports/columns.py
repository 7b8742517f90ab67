"""The columns a likelihood list can show, by the keys of its JSON and CSV."""

from __future__ import annotations

from enginetour.reports.sheet import Column, format_halves, format_whole, percent_format


def format_error(number: float | None) -> str:
    """An error in points; one that is not 0 is never shown as 0; nothing for None."""
    if number is None:
        return ""
    if number >= 0.95:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 0.05 else "<0.1"


COLUMNS = {
    column.key: column
    for column in (
        Column("pool", "pool"),
        Column("rank", "#"),
        Column("name", "engine", left=True, flexible=True),
        Column("rating", "rating", form=format_whole),
        Column("plus", "+"),
        Column("minus", "-"),
        Column("error", "±"),
        Column("games", "games"),
        Column("score", "score", form=percent_format(1)),
        Column("points", "points", form=format_halves),
        Column("wins", "W"),
        Column("draws", "D"),
        Column("losses", "L"),
        Column("opponents", "opp.", form=format_whole),
        Column("opponents_error", "opp.±", form=format_error),
        Column("opponent_count", "opps"),
        Column("diversity", "div.", form=lambda number: "" if number is None else f"{number:.1f}"),
        Column("performance", "perf.", form=format_whole),
        Column("draw_rate", "draws", form=percent_format(0)),
        Column("los", "LOS", form=percent_format(0)),
        Column("remarks", "", left=True),
    )
}
COLUMN_KEYS = tuple(COLUMNS)
NARROW_COLUMNS = ("rank", "name", "rating", "plus", "minus", "games", "score", "remarks")
DEFAULT_COLUMNS = (*NARROW_COLUMNS[:7], "opponents", "draw_rate", "los", "remarks")
# What Ordo's full list has between the score and the opponents.
WIDE_COLUMNS = (*DEFAULT_COLUMNS[:7], "points", "wins", "draws", "losses", *DEFAULT_COLUMNS[7:])
