"""The columns a likelihood list can show, by the keys of its JSON and CSV."""

from __future__ import annotations

from enginetour.reports.sheet import Column

# The columns a likelihood list can show, by the keys of its JSON and CSV.

COLUMNS = {
    column.key: column
    for column in (
        Column("pool", "pool"),
        Column("rank", "#"),
        Column("name", "engine", left=True, flexible=True),
        Column("rating", "rating"),
        Column("plus", "+"),
        Column("minus", "-"),
        Column("error", "±"),
        Column("games", "games"),
        Column("score", "score"),
        Column("points", "points"),
        Column("wins", "W"),
        Column("draws", "D"),
        Column("losses", "L"),
        Column("opponents", "opp."),
        Column("opponents_error", "opp.±"),
        Column("opponent_count", "opps"),
        Column("diversity", "div."),
        Column("performance", "perf."),
        Column("draw_rate", "draws"),
        Column("los", "LOS"),
        Column("remarks", "", left=True),
    )
}
COLUMN_KEYS = tuple(COLUMNS)
NARROW_COLUMNS = ("rank", "name", "rating", "plus", "minus", "games", "score", "remarks")
DEFAULT_COLUMNS = (
    "rank",
    "name",
    "rating",
    "plus",
    "minus",
    "games",
    "score",
    "opponents",
    "draw_rate",
    "los",
    "remarks",
)
# What Ordo's full list has between the score and the opponents.
WIDE_COLUMNS = (*DEFAULT_COLUMNS[:7], "points", "wins", "draws", "losses", *DEFAULT_COLUMNS[7:])
MIN_NAME_WIDTH = 20  # signs of a name that a column more may not cost
