"""Tables of sequential tests (SPRT), of matches, of simulations and of planned nights."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from enginetour.model.game import format_fixed
from enginetour.ratings.pentanomial import MatchStatistics, statistics_of, tally_match
from enginetour.ratings.sequential import OPEN_GAMES, UNITS, MatchTest, corrected_bounds
from enginetour.reports.sheet import Column, Sheet, format_duration, format_whole, percent_format, safe_text

if TYPE_CHECKING:
    from enginetour.formats.planning import Proposal
    from enginetour.formats.simulation import ComparisonResult, Estimate, SimulationResult
    from enginetour.ratings.design import Goal

# Sequential tests.

_COLUMNS = (Column("what", "", left=True), Column("value", "", left=True))
_PAIR_POINTS = ("0", "½", "1", "1½", "2")
_INTERVALS = "± and ranges in parentheses are 95 % confidence intervals"


def sprt_sheet(
    title: str, engines: tuple[str, str], found: MatchTest, notes: Sequence[str] = (), *, ended: bool = False
) -> Sheet:
    """Return a sequential test as a table of figures. Each uncertain figure has one 95 % interval.

    `ended` means that no more games will be played: a test without a verdict has then reached its game limit.
    """
    lines = []
    if found.games is not None:
        losses, draws, wins = found.games
        lines.append(("W / D / L", f"{wins} / {draws} / {losses}"))
    if found.pairs is not None:
        shares = " · ".join(f"{points}: {count}" for points, count in zip(_PAIR_POINTS, found.pairs, strict=True))
        lines.append(("game pairs", f"{sum(found.pairs)}, by points: {shares}"))
    lines += [("score", f"{100 * found.statistics.score:.2f} %"), *_strength(found)]
    lines += _decision(engines, found, ended=ended)
    return _figures_sheet(title, lines, (*_remarks(found), *notes))


def _figures_sheet(title: str, lines: Iterable[tuple[str, str]], notes: tuple[str, ...]) -> Sheet:
    return Sheet(title, _COLUMNS, tuple({"what": what, "value": value} for what, value in lines), notes=notes)


def match_sheet(title: str, scored: Sequence[tuple[Hashable, int]]) -> Sheet:
    """Return the result of two engines without a test: counts, game pairs, score, Elo, LOS and nElo.

    `scored` has the same form as for `match_test`.
    """
    won, pairs, _ = tally_match(scored)
    losses, draws, wins = won
    statistics = statistics_of(pairs or won)
    lines = [("W / D / L", f"{wins} / {draws} / {losses}")]
    if pairs is not None:
        lines.append(("Ptnml(0-2)", f"[{', '.join(map(str, pairs))}]"))
    lines += [("score", f"{100 * statistics.score:.2f} %"), ("Elo", _elo(statistics)), *_certainty(statistics)]
    return _figures_sheet(title, lines, (_INTERVALS,))


def sprt_row(engines: tuple[str, str], found: MatchTest) -> Sheet:
    """Return all figures of a test in one row, for CSV."""
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
    """Return the engines and the test of a match, or None if there is no sequential test or no game yet."""
    ask = getattr(format_, "tested", None)
    found = ask(state) if ask else None
    return (state.pair, found) if found else None


def is_undecided(format_: Any, state: Any) -> bool:
    """Return whether a match is under a sequential test that has no verdict."""
    tested = current_test(format_, state)
    return tested is not None and not tested[1].walk.verdict


_MAX_SLOTS = 1024  # the limit of `concurrency` in a configuration


def is_open_ended(done: int, remaining: Sequence[int]) -> bool:
    """Return whether only a sequential test ends the tournament, because it has no limit of games.

    The maximum number of games can be slightly above `OPEN_GAMES`, because games in progress are counted in advance.
    """
    fewest, most = remaining
    return fewest != most and OPEN_GAMES <= done + most <= OPEN_GAMES + _MAX_SLOTS


def end_state(*, undecided: bool) -> str:
    """Return the state of a tournament without remaining games."""
    return "game limit reached without a verdict" if undecided else "finished"


def sprt_lines(engines: tuple[str, str], found: MatchTest) -> tuple[str, str]:
    """Return the line that cutechess-cli prints for a test, and a line with the strength."""
    parts = [safe_text(f"{engines[0]} - {engines[1]}")]
    if found.games is not None:
        losses, draws, wins = found.games
        parts.append(f"W {wins} D {draws} L {losses}")
    if found.pairs is not None:
        parts.append(f"pairs {'-'.join(map(str, found.pairs))}")
    parts += [f"{what} {figure}" for what, figure in _strength(found)]
    return llr_line(found), " · ".join(parts)


def llr_line(found: MatchTest) -> str:
    """Return the line of cutechess-cli with the bounds at which the test ends, so that the verdict agrees with them.

    Scripts that read the output of cutechess-cli can read it.
    """
    walk, (low, high) = found.walk, corrected_bounds(found.test, found.walk)
    share = 100 * walk.llr / high  # as in cutechess-cli also below 0
    ended = f" - {walk.verdict} was accepted" if walk.verdict else ""
    ratio = round(walk.llr, 2) or 0.0
    return f"SPRT: llr {ratio:.2f} ({round(share, 1) or 0.0:.1f}%), lbound {low:.2f}, ubound {high:.2f}{ended}"


def sprt_json(engines: tuple[str, str], found: MatchTest) -> dict[str, object]:
    """Return the test as one object for `status --json`: counts, log-likelihood ratio, verdict and strength."""
    flat = found.to_json()
    sprt = flat.pop("sprt")
    assert isinstance(sprt, dict)
    return {"engines": list(engines), **sprt, **flat}


def _strength(found: MatchTest) -> list[tuple[str, str]]:
    """Return Elo, LOS and nElo. After a verdict, Elo is an estimate that is corrected for the early stop."""
    after = found.after_stop
    elo = _elo(found.statistics) if after is None else _between(after.elo, after.low, after.high)
    return [("Elo", elo), *_certainty(found.statistics)]


def _elo(statistics: MatchStatistics) -> str:
    if statistics.error is not None and statistics.elo is not None:
        return f"{_signed(statistics.elo)} ± {statistics.error:.1f}"
    return _between(statistics.elo, statistics.low, statistics.high)


def _certainty(statistics: MatchStatistics) -> list[tuple[str, str]]:
    lines = [("LOS", _percent(statistics.los))]
    if statistics.nelo is not None and statistics.nelo_error is not None:
        lines.append(("nElo", f"{_signed(statistics.nelo)} ± {statistics.nelo_error:.1f}"))
    return lines


def _decision(engines: tuple[str, str], found: MatchTest, *, ended: bool) -> list[tuple[str, str]]:
    test, walk = found.test, found.walk
    lower, upper = corrected_bounds(test, walk)
    each = "game pairs" if found.walks_by_pairs else "games"
    lines = [
        ("test", f"{test.elo1:g} {UNITS[test.model]} (H1) against {test.elo0:g} (H0), {test.model}, by {each}"),
        ("LLR", f"{round(walk.llr, 3) or 0.0:.3f} (H0 at {lower:.3f}, H1 at {upper:.3f})"),
    ]
    if not walk.verdict:
        why = "the game limit was reached first" if ended else "the LLR is between the two bounds"
        return [*lines, ("verdict", f"none: {why}")]
    stopped, since = sum(walk.stopped), sum(walk.counts) - sum(walk.stopped)
    lines.append(("verdict", f"{walk.verdict} after {stopped} {each}: {test.meaning(walk.verdict, engines[0])}"))
    if since:
        lines.append(("after the verdict", f"{since} {each[:-1] if since == 1 else each}, not part of the test"))
    return lines


def _remarks(found: MatchTest) -> list[str]:
    remarks = [_INTERVALS]
    if found.pairs is not None:
        remarks[0] += ", computed from game pairs"
    if found.after_stop is not None:
        kind = "plain" if found.after_stop.plain else "median-unbiased"
        remarks.append(f"Elo is the {kind} estimate at the moment of the verdict")
    if found.statistics.by_profile:
        remarks.append("few or one-sided results: the interval and LOS are computed from the profile likelihood")
    if found.lone:
        one = found.lone == 1
        remarks.append(
            f"{found.lone} {'game is' if one else 'games are'} not part of a complete game pair"
            f" and {'counts' if one else 'count'} in W / D / L only"
        )
    return remarks


def _between(value: float | None, low: float | None, high: float | None) -> str:
    """Format ``+5.0 (-1.0 to +11.0)``. An interval can be open at one end."""
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


# Simulations. In tables for people, a figure and its standard error are in one cell. JSON and CSV have two keys, such
# as `tau_fit` and `tau_fit_error`.

# Key of a figure: header of its column, decimals.
_FIGURE_COLUMNS = {
    "games": ("games", 0),
    "tau_table": ("tau by table", 3),
    "tau_fit": ("tau by fit", 3),
    "best_table": ("best first", 2),
    "best_fit": ("by fit", 2),
    "gap": ("gap", 0),
    "rms": ("error", 0),
}
_MEANING = (
    "tau: Kendall's rank correlation with the true strengths, for the table of the format and for ratings fitted to "
    "the games. best first: share of the simulations in which the strongest engine comes first. gap: root mean square "
    "of the Elo difference between opponents. error: root mean square error of the fitted ratings in Elo. ±: one "
    "standard error."
)
_ABOVE = {"tau_table": "by table", "tau_fit": "by fit"}  # figures whose differences are in the notes


def comparison_sheet(title: str, found: Sequence[ComparisonResult]) -> Sheet:
    """Return a row for each system, and notes with the differences to the first system on the same entrants."""
    columns = [Column("system", "system", left=True, flexible=True)]
    columns += [Column(key, label, continues=True) for key, (label, _) in _FIGURE_COLUMNS.items()]
    rows = [{"system": line.label} for line in found]
    shown = [
        {
            key: _format_estimate(line.figures[key], places).replace(" ", "")
            for key, (_, places) in _FIGURE_COLUMNS.items()
        }
        for line in found
    ]
    notes = [
        f"{line.label} over {found[0].label}: "
        + ", ".join(f"{label} {_format_estimate(line.above[key], 3, signed=True)}" for key, label in _ABOVE.items())
        for line in found[1:]
    ]
    return Sheet(title, tuple(columns), tuple(rows), tuple(shown), (*notes, _MEANING))


def comparison_rows(found: Sequence[ComparisonResult]) -> Sheet:
    """Return the comparison as a table of numbers. Keys that end in `_above` are differences to the first system."""
    rows: list[dict[str, object]] = []
    for line in found:
        above = {f"{key}_above": line.above[key] for key in _ABOVE}
        rows.append({"system": line.label, **_numbers({**line.figures, **above})})
    return Sheet("", tuple(Column(key, key) for key in rows[0]), tuple(rows))


def rehearsal_sheet(title: str, found: SimulationResult, hours: float | None) -> Sheet:
    """Return the figures of a simulated tournament, one in each row.

    `hours` is the duration for the expected number of games, or None if no clock limits it.
    """
    games = _format_estimate(found.figures["games"], 0)
    lines = {
        "games, at least": f"{found.fewest}",
        "games, expected": f"{games}, 80 % between {found.low:.0f} and {found.high:.0f}",
        "games, at most": f"{found.most}",
    }
    if hours is not None:
        lines["time, expected"] = f"{format_duration(hours * 3600)} if all games are long"
    lines |= {label: _format_estimate(found.figures[key], places) for key, label, places in _REHEARSAL_LINES}
    rows = [{"figure": figure, "value": value} for figure, value in lines.items()]
    columns = (Column("figure", "figure", left=True), Column("value", "value", left=True))
    return Sheet(title, columns, tuple(rows), (), (_MEANING,))


_REHEARSAL_LINES = (
    ("tau_table", "tau by table", 3),
    ("tau_fit", "tau by fit", 3),
    ("best_table", "best first", 2),
    ("best_fit", "best first by fit", 2),
    ("gap", "gap", 0),
    ("rms", "error by fit", 1),
)


def rehearsal_row(found: SimulationResult, hours: float | None) -> Sheet:
    """Return the figures of a simulated tournament as numbers in one row.

    80 % of the simulated numbers of games are between `low` and `high`.
    """
    row: dict[str, object] = {"fewest": found.fewest, "most": found.most, "low": found.low, "high": found.high}
    row |= {"hours": hours, **_numbers(found.figures)}
    return Sheet("", tuple(Column(key, key) for key in row), (row,))


def _numbers(figures: Mapping[str, Estimate]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for key, figure in figures.items():
        numbers |= {key: figure.mean, f"{key}_error": figure.error}
    return numbers


def _format_estimate(figure: Estimate, places: int, *, signed: bool = False) -> str:
    while figure.error and figure.error < 10**-places / 2:
        places += 1  # an error above 0 is never shown as 0
    mean = f"{figure.mean:{'+' if signed else ''}.{places}f}"
    return f"{mean} ± {figure.error:.{places}f}" if figure.error else mean


# The proposals of a planned night, best first.

_PLANNED = (
    Column("system", "system", left=True),
    Column("settings", "settings", left=True, flexible=True),
    Column("games", "games", form=format_whole),
    Column("hours", "hours", form="{:.3g}".format),
    Column("rms", "error", form="{:.1f}".format),
    Column("tau", "tau", form="{:.2f}".format),
    Column("best", "first", form=percent_format(0)),
    Column("reached", "goal", form=percent_format(0)),
    Column("undecided", "open", form="{:.1f}".format),
)
_ENOUGH = 10  # simulations; with ten, the standard error of the predicted error is about 7 %
_PLAN_MEANING = (
    "error: root mean square error of the ratings in Elo. tau: Kendall's rank correlation of the ratings with the true "
    "strengths. first: probability that the best engine has the highest rating. goal: share of the simulations that "
    "reach it. open: average number of pairs that it leaves undecided."
)


def plan_sheet(
    title: str,
    basis: str,
    proposals: Sequence[Proposal],
    hours: Callable[[float], float],
    needs: Mapping[str, float],
    late: Sequence[str] = (),
) -> Sheet:
    """Return a row for each format with its best settings, best first.

    `basis` says how many games the hours allow. `needs` has the hours that formats need at least, if they need too
    many, and `late` the formats without a simulation that has finished in time.
    """
    rows = [
        {
            "system": one.candidate.system,
            "settings": one.candidate.describe(),
            "games": one.games.mean,
            "hours": hours(one.games.mean),
            "rms": one.rms.mean,
            "tau": one.tau.mean,
            "best": one.best.mean,
            "reached": one.reached,
            "undecided": one.undecided,
            "games_low": one.low,
            "games_high": one.high,
            "rms_error": one.rms.error,
            "tau_error": one.tau.error,
            "best_error": one.best.error,
            "figure": one.figure,
            "doubts": [{"places": list(places), "share": share} for places, share in one.doubts],
            "simulations": one.nights,
            "format": {"system": one.candidate.system, **one.candidate.settings},
        }
        for one in proposals
    ]
    nights = [one.nights for one in proposals]
    basis += f"; {nights[0]} simulations of {proposals[0].candidate.system}"
    if len(nights) > 1:
        basis += f", at least {min(nights[1:])} of each other format"
    notes = [basis, _goal_note(proposals[0].goal, proposals[0]), *_doubt_note(proposals[0])]
    if needs:
        lengths = (f"{system} ({format_duration(length * 3600)})" for system, length in needs.items())
        notes.append(f"too long: {', '.join(lengths)}")
    if late:
        notes.append(f"not simulated in time: {', '.join(late)}")
    if min(nights) < _ENOUGH:
        notes.append(
            f"warning: the figures are rough with fewer than {_ENOUGH} simulations; plan again on an idle machine"
        )
    return Sheet(title, _PLANNED, tuple(rows), (), (*notes, _PLAN_MEANING))


def _goal_note(goal: Goal, best: Proposal) -> str:
    """Describe the goal, and how far the best proposal gets."""
    if goal.error is not None:
        whose = "all engines" if goal.entrant is None else goal.entrant
        return (
            f"goal: 95 % intervals of at most ± {goal.error:g} Elo for {whose}; "
            f"median of the largest with {best.candidate.system}: ± {best.figure:.1f}"
        )
    what = "find the best engine" if goal.top == 1 else f"find the first {goal.top}"
    what = "separate all neighbors" if goal.top is None else what
    of = "smallest likelihood" if goal.top is None else "likelihood"
    return f"goal: {what} with likelihood {goal.los:g}; median {of} with {best.candidate.system}: {best.figure:.2f}"


def _doubt_note(best: Proposal) -> list[str]:
    """Name the places that the best proposal most often leaves undecided, or whose intervals are too wide."""
    alone = any(low == high for (low, high), _ in best.doubts)
    shown = ", ".join(
        f"{f'place {low}' if alone else f'places {low} and {high}'} ({share:.0%})" for (low, high), share in best.doubts
    )
    what = "leaves an interval too wide" if alone else "leaves undecided"
    return [f"{best.candidate.system} most often {what}: {shown}"] if shown else []
