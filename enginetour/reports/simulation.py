"""What simulations found, as sheets: systems side by side, or one configuration played many times.

For people a figure and its standard error share a cell, and beside long names the last figures stand in a block below;
rows for JSON and CSV have both, `tau_fit` and `tau_fit_error`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from enginetour.reports.sheet import Column, Sheet
from enginetour.reports.text import duration

if TYPE_CHECKING:
    from enginetour.formats.simulation import Compared, Estimate, Rehearsed


# key of an accuracy -> words above its column, decimals
SHOWN = {
    "games": ("games", 0),
    "tau_table": ("tau by table", 3),
    "tau_fit": ("tau by fit", 3),
    "best_table": ("best first", 2),
    "best_fit": ("by fit", 2),
    "gap": ("gap", 0),
}
MEANING = (
    "tau: Kendall's rank correlation with the true strengths, of the format's own table and of ratings fitted to the "
    "games alone. best first: how often the strongest is named first. gap: root mean square of the Elo between "
    "opponents. ±: one standard error."
)
ABOVE = {"tau_table": "by table", "tau_fit": "by fit"}  # figures whose differences are told in words


def comparison(title: str, found: Sequence[Compared]) -> Sheet:
    """A line a system; below, how far the others are above the first on the same fields."""
    columns = [Column("system", "system", left=True, flexible=True)]
    columns += [Column(key, words, continues=True) for key, (words, _) in SHOWN.items()]
    rows = [{"system": line.words} for line in found]
    shown = [
        {key: _words(line.figures[key], places).replace(" ", "") for key, (_, places) in SHOWN.items()}
        for line in found
    ]
    notes = [
        f"{line.words} over {found[0].words}: "
        + ", ".join(f"{words} {_words(line.above[key], 3, signed=True)}" for key, words in ABOVE.items())
        for line in found[1:]
    ]
    return Sheet(title, tuple(columns), tuple(rows), tuple(shown), (*notes, MEANING))


def compared_rows(found: Sequence[Compared]) -> Sheet:
    """The same as numbers; `..._above` is the difference to the first system."""
    rows: list[dict[str, object]] = []
    for line in found:
        above = {f"{key}_above": line.above[key] for key in ABOVE}
        rows.append({"system": line.words, **_numbers({**line.figures, **above})})
    return Sheet("", tuple(Column(key, key) for key in rows[0]), tuple(rows))


def rehearsal(title: str, found: Rehearsed, hours: float | None) -> Sheet:
    """Figures line by line. `hours` is for the expected number of games, None where no clock bounds it."""
    lines = {
        "games, at least": f"{found.fewest}",
        "games, expected": f"{_words(found.figures['games'], 0)}, 80 % within {found.low:.0f} to {found.high:.0f}",
        "games, at most": f"{found.most}",
    }
    if hours is not None:
        lines["time, expected"] = f"{duration(hours * 3600)} if every game is long"
    lines |= {words: _words(found.figures[key], places) for key, words, places in LINES}
    rows = [{"figure": figure, "value": value} for figure, value in lines.items()]
    columns = (Column("figure", "figure", left=True), Column("value", "value", left=True))
    return Sheet(title, columns, tuple(rows), (), (MEANING,))


LINES = (
    ("tau_table", "tau by table", 3),
    ("tau_fit", "tau by fit", 3),
    ("best_table", "best first", 2),
    ("best_fit", "best first by fit", 2),
    ("gap", "gap", 0),
)


def rehearsed_row(found: Rehearsed, hours: float | None) -> Sheet:
    """The same as numbers, in one row; `low` and `high` bound 80 % of the simulated numbers of games."""
    row: dict[str, object] = {"fewest": found.fewest, "most": found.most, "low": found.low, "high": found.high}
    row |= {"hours": hours, **_numbers(found.figures)}
    return Sheet("", tuple(Column(key, key) for key in row), (row,))


def _numbers(figures: Mapping[str, Estimate]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for key, figure in figures.items():
        numbers |= {key: figure.mean, f"{key}_error": figure.error}
    return numbers


def _words(figure: Estimate, places: int, *, signed: bool = False) -> str:
    while figure.error and figure.error < 10**-places / 2:
        places += 1  # an error is never shown as 0
    mean = f"{figure.mean:{'+' if signed else ''}.{places}f}"
    return f"{mean} ± {figure.error:.{places}f}" if figure.error else mean
