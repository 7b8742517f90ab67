"""Tests and simulations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from enginetour.model.game import format_fixed
from enginetour.ratings.pentanomial import MatchStatistics, statistics_of, tally_match
from enginetour.ratings.sequential import UNITS, MatchTest, corrected_bounds
from enginetour.reports.sheet import Column, Sheet, format_duration, safe_text

if TYPE_CHECKING:
    from enginetour.formats.simulation import ComparisonResult, Estimate, SimulationResult


# A sequential test as people read it: whole, as lines beside a running match, as one line of CSV.

_COLUMNS = (Column("what", "", left=True), Column("value", "", left=True))
_PAIR_POINTS = ("0", "½", "1", "1½", "2")


def sprt_sheet(title: str, engines: tuple[str, str], found: MatchTest, notes: Sequence[str] = ()) -> Sheet:
    """One figure a line, every uncertain one with its 95 % interval."""
    losses, draws, wins = found.games
    lines = [("W / D / L", f"{wins} / {draws} / {losses}")]
    if found.pairs is not None:
        shares = " · ".join(f"{points}: {count}" for points, count in zip(_PAIR_POINTS, found.pairs, strict=True))
        lines.append(("pairs", f"{sum(found.pairs)} by points · {shares}"))
    lines += [("score", f"{100 * found.statistics.score:.2f} %"), *_strength(found.statistics)]
    lines += _decision(engines, found)
    rows = tuple({"what": what, "value": value} for what, value in lines)
    return Sheet(title, _COLUMNS, rows, notes=(*_remarks(found), *notes))


def match_sheet(title: str, scored: Sequence[tuple[Hashable, int]]) -> Sheet:
    """What two engines made of their games without a test: counts, pairs, Elo, LOS, nElo.

    `scored` as `match_test` takes it.
    """
    won, pairs, _ = tally_match(scored)
    losses, draws, wins = won
    statistics = statistics_of(pairs or won)
    lines = [("W / D / L", f"{wins} / {draws} / {losses}")]
    if pairs is not None:
        lines.append(("Ptnml(0-2)", f"[{', '.join(map(str, pairs))}]"))
    lines += [("score", f"{100 * statistics.score:.2f} %"), *_strength(statistics)]
    rows = tuple({"what": what, "value": value} for what, value in lines)
    return Sheet(title, _COLUMNS, rows, notes=("± and intervals are 95 %",))


def sprt_row(engines: tuple[str, str], found: MatchTest) -> Sheet:
    """Everything in one row: what CSV is for."""
    flat = {"engine": engines[0], "opponent": engines[1], **found.to_json()}
    sprt = flat.pop("sprt")
    assert isinstance(sprt, dict)
    pairs = flat.pop("pentanomial") or [None] * len(_PAIR_POINTS)
    assert isinstance(pairs, list)
    flat |= {f"pairs_{half_points}": count for half_points, count in enumerate(pairs)}
    for key in ("bounds", "decides_at"):
        flat |= dict(zip((f"{key}_low", f"{key}_high"), sprt.pop(key), strict=True))
    after = sprt.pop("estimate") or {}
    flat |= sprt | {f"estimate_{key}": after.get(key) for key in ("elo", "low", "high")}
    return Sheet("", tuple(Column(key, key) for key in flat), (flat,))


def current_test(format_: Any, state: Any) -> tuple[tuple[str, str], MatchTest] | None:
    """The engines and the test of a match that is under one and has a game; None of everything else."""
    ask = getattr(format_, "tested", None)
    found = ask(state) if ask else None
    return (state.pair, found) if found else None


def sprt_lines(engines: tuple[str, str], found: MatchTest) -> tuple[str, str]:
    """The line cutechess prints of a test, so that existing scripts keep working, and the strength beside it."""
    walk, (low, high) = found.walk, found.test.bounds
    share = 100 * walk.llr / (high if walk.llr >= 0 else -low)
    ended = f" - {walk.verdict} was accepted" if walk.verdict else ""
    losses, draws, wins = found.games
    parts = [safe_text(f"{engines[0]} - {engines[1]}"), f"W {wins} D {draws} L {losses}"]
    if found.pairs is not None:
        parts.append(f"pairs {'-'.join(map(str, found.pairs))}")
    parts += [f"{what} {figure}" for what, figure in _strength(found.statistics)]
    ratio = round(walk.llr, 2) or 0.0
    return (
        f"SPRT: llr {ratio:.2f} ({round(share, 1) or 0.0:.1f}%), lbound {low:.2f}, ubound {high:.2f}{ended}",
        " · ".join(parts),
    )


def sprt_json(engines: tuple[str, str], found: MatchTest) -> dict[str, object]:
    """What `status --json` tells of a test: one object with the counts, the ratio, the verdict and the strength."""
    flat = found.to_json()
    sprt = flat.pop("sprt")
    assert isinstance(sprt, dict)
    return {"engines": list(engines), **sprt, **flat}


def _strength(statistics: MatchStatistics) -> list[tuple[str, str]]:
    if statistics.error is not None and statistics.elo is not None:
        elo = f"{_signed(statistics.elo)} ± {statistics.error:.1f}"
    else:
        elo = _between(statistics.elo, statistics.low, statistics.high)
    lines = [("Elo", elo), ("LOS", _percent(statistics.los))]
    if statistics.nelo is not None and statistics.nelo_error is not None:
        lines.append(("nElo", f"{_signed(statistics.nelo)} ± {statistics.nelo_error:.1f}"))
    return lines


def _decision(engines: tuple[str, str], found: MatchTest) -> list[tuple[str, str]]:
    test, walk = found.test, found.walk
    (low, high), (lower, upper) = test.bounds, corrected_bounds(test, walk)
    each = "pairs" if found.walks_by_pairs else "games"
    lines = [
        ("test", f"{test.elo1:g} {UNITS[test.model]} (H1) against {test.elo0:g} (H0), {test.model}, by {each}"),
        ("LLR", f"{round(walk.llr, 3) or 0.0:.3f}"),
        ("bounds", f"{low:.3f} and {high:.3f}, less the overshoot {lower:.3f} and {upper:.3f}"),
    ]
    if not walk.verdict:
        return [*lines, ("verdict", "none, the LLR lies between the bounds")]
    stopped, since = sum(walk.stopped), sum(walk.counts) - sum(walk.stopped)
    lines.append(("verdict", f"{walk.verdict} after {stopped} {each}: {test.meaning(walk.verdict, engines[0])}"))
    if since:
        later = f"1 {each[:-1]}, which changes" if since == 1 else f"{since} {each}, which change"
        lines.append(("since then", f"{later} no verdict"))
    if found.after_stop is not None:
        after = found.after_stop
        elo = _between(after.elo, after.low, after.high)
        lines.append(("at the stop", f"{elo} Elo, {'by plain figures' if after.plain else 'median-unbiased'}"))
    return lines


def _remarks(found: MatchTest) -> list[str]:
    remarks = ["± and intervals are 95 %"]
    if found.pairs is not None:
        remarks[0] += ", by pairs of games on one opening"
    if found.statistics.by_profile:
        remarks.append("few or one-sided results: interval and LOS from the profile of the likelihood")
    if found.lone:
        one = found.lone == 1
        remarks.append(
            f"{'1 game lacks its' if one else f'{found.lone} games lack their'} partner"
            f" and {'counts' if one else 'count'} in W / D / L only"
        )
    return remarks


def _between(value: float | None, low: float | None, high: float | None) -> str:
    """``+5.0 (-1.0 to +11.0)``; an end that is not there is open."""
    if low is None and high is None:
        return "not known yet"
    if low is None or high is None:
        ends = f"below {_signed(high)}" if low is None and high is not None else f"above {_signed(low or 0.0)}"
    else:
        ends = f"{_signed(low)} to {_signed(high)}"
    return ends if value is None else f"{_signed(value)} ({ends})"


def _signed(value: float) -> str:
    return format_fixed(value, 1, signed=True)


def _percent(chance: float) -> str:
    if not 0.0005 <= chance < 0.9995:
        return "above 99.9 %" if chance > 0.5 else "below 0.1 %"
    return f"{100 * chance:.1f} %"


# What simulations found, as sheets: systems side by side, or one configuration played many times.
#
# For people a figure and its standard error share a cell, and beside long names the last figures stand in a block
# below; rows for JSON and CSV have both, `tau_fit` and `tau_fit_error`.

# key of an accuracy -> words above its column, decimals
_FIGURE_COLUMNS = {
    "games": ("games", 0),
    "tau_table": ("tau by table", 3),
    "tau_fit": ("tau by fit", 3),
    "best_table": ("best first", 2),
    "best_fit": ("by fit", 2),
    "gap": ("gap", 0),
}
_MEANING = (
    "tau: Kendall's rank correlation with the true strengths, of the format's own table and of ratings fitted to the "
    "games alone. best first: how often the strongest is named first. gap: root mean square of the Elo between "
    "opponents. ±: one standard error."
)
_ABOVE = {"tau_table": "by table", "tau_fit": "by fit"}  # figures whose differences are told in words


def comparison_sheet(title: str, found: Sequence[ComparisonResult]) -> Sheet:
    """A line a system; below, how far the others are above the first on the same fields."""
    columns = [Column("system", "system", left=True, flexible=True)]
    columns += [Column(key, words, continues=True) for key, (words, _) in _FIGURE_COLUMNS.items()]
    rows = [{"system": line.label} for line in found]
    shown = [
        {key: _words(line.figures[key], places).replace(" ", "") for key, (_, places) in _FIGURE_COLUMNS.items()}
        for line in found
    ]
    notes = [
        f"{line.label} over {found[0].label}: "
        + ", ".join(f"{words} {_words(line.above[key], 3, signed=True)}" for key, words in _ABOVE.items())
        for line in found[1:]
    ]
    return Sheet(title, tuple(columns), tuple(rows), tuple(shown), (*notes, _MEANING))


def comparison_rows(found: Sequence[ComparisonResult]) -> Sheet:
    """The same as numbers; `..._above` is the difference to the first system."""
    rows: list[dict[str, object]] = []
    for line in found:
        above = {f"{key}_above": line.above[key] for key in _ABOVE}
        rows.append({"system": line.label, **_numbers({**line.figures, **above})})
    return Sheet("", tuple(Column(key, key) for key in rows[0]), tuple(rows))


def rehearsal_sheet(title: str, found: SimulationResult, hours: float | None) -> Sheet:
    """Figures line by line. `hours` is for the expected number of games, None where no clock bounds it."""
    lines = {
        "games, at least": f"{found.fewest}",
        "games, expected": f"{_words(found.figures['games'], 0)}, 80 % within {found.low:.0f} to {found.high:.0f}",
        "games, at most": f"{found.most}",
    }
    if hours is not None:
        lines["time, expected"] = f"{format_duration(hours * 3600)} if every game is long"
    lines |= {words: _words(found.figures[key], places) for key, words, places in _REHEARSAL_LINES}
    rows = [{"figure": figure, "value": value} for figure, value in lines.items()]
    columns = (Column("figure", "figure", left=True), Column("value", "value", left=True))
    return Sheet(title, columns, tuple(rows), (), (_MEANING,))


_REHEARSAL_LINES = (
    ("tau_table", "tau by table", 3),
    ("tau_fit", "tau by fit", 3),
    ("best_table", "best first", 2),
    ("best_fit", "best first by fit", 2),
    ("gap", "gap", 0),
)


def rehearsal_row(found: SimulationResult, hours: float | None) -> Sheet:
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
