"""Rating lists in several layouts, matrices of a list, and head-to-head results.

layout     format                                              source
ordo       text and CSV of Ordo, its default columns and order Ordo 1.2.6, its manual and its output
bayeselo   the `ratings` command                               the example in the documentation of BayesElo
ccrl       the rating list: two header lines, shared ranks     the pages of the CCRL lists in 2026

Remarks, rating pools and unrated engines have no column in these layouts. They follow below the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial

from enginetour.model.game import format_fixed
from enginetour.ratings.matrices import Matrix
from enginetour.ratings.opponents import OpponentRecord
from enginetour.ratings.pairs import Vector
from enginetour.ratings.ratinglist import EXTREME, FEW, INCREMENTAL, NOT_ASKED, RatingList, Row, fit_bases, quantile
from enginetour.ratings.uncertainty import Errors
from enginetour.reports.sheet import (
    COLUMNS,
    DEFAULT_COLUMNS,
    NARROW_COLUMNS,
    NOTE_WIDTH,
    WIDE_COLUMNS,
    Column,
    Sheet,
    display_width,
    format_error,
    format_points,
    format_whole,
    percent_format,
    safe_text,
    shared_columns,
    shorten_middle,
    wrap_sentence,
)

# Rating lists as tables.

_MAX_NAMED = 10  # engines that a note names
_MIN_NAME_WIDTH = 20  # characters; columns are left out so that names are not shortened below this width


def likelihood_sheet(
    title: str,
    found: RatingList,
    columns: Sequence[str] | None = None,
    *,
    confidence: float = 95,
    notes: Sequence[str] = (),
) -> Sheet:
    """Return a maximum-likelihood list with the given columns, confidence intervals and notes.

    `confidence` is the confidence level of the intervals in %. `notes` are added after the notes of the list.
    """
    many = len(found.pools) > 1
    chosen = columns or (("pool", *DEFAULT_COLUMNS) if many else DEFAULT_COLUMNS)
    marks = sorted({remark for row in found.rows for remark in row.remarks})
    rows = tuple(
        {**{key: getattr(row, key) for key in COLUMNS}, "remarks": "; ".join(row.remarks)} for row in found.rows
    )
    shown = tuple(_shown(row, marks) for row in found.rows)
    legend = [f"[{number}] {mark}" for number, mark in enumerate(marks, 1)]
    if "remarks" not in chosen:  # no column for the footnote numbers, so the notes name the engines
        legend = list(remark_notes(found))
    footnotes = (*legend, *unrated_notes(found), *found.caption, list_footer(found, confidence), *notes)
    return Sheet(title, shared_columns(*chosen), rows, shown, footnotes)


def fitting_columns(found: RatingList, room: int) -> tuple[str, ...]:
    """Return the widest set of columns that fits: that of Ordo's full list, the default set or the narrow set."""
    longest = max((len(safe_text(row.name)) for row in found.rows), default=0)
    pool = ("pool",) if len(found.pools) > 1 else ()
    sheet = likelihood_sheet("", found, (*pool, *WIDE_COLUMNS))
    cells = [[column.header for column in sheet.columns], *sheet.cells()]
    widths = {
        column.key: 0 if column.flexible else max(map(len, cell)) + 2
        for column, cell in zip(sheet.columns, zip(*cells, strict=True), strict=True)
    }
    for columns in (WIDE_COLUMNS, DEFAULT_COLUMNS):
        taken = sum(widths[key] for key in (*pool, *columns))
        if taken + min(longest, _MIN_NAME_WIDTH) <= room:
            return (*pool, *columns)
    return (*pool, *NARROW_COLUMNS)


def unrated_notes(found: RatingList) -> list[str]:
    """Return notes that name the unrated engines by reason."""
    reasons = dict.fromkeys(engine.why for engine in found.unrated)
    return [f"not rated, {why}: {', '.join(e.name for e in found.unrated if e.why == why)}" for why in reasons]


def remark_notes(found: RatingList) -> list[str]:
    """Return the remarks of single rows with the names of their engines, for tables without a column for them.

    A remark on profile-likelihood intervals lists at most ten names. Other remarks list all names.
    """
    notes = []
    for mark in sorted({remark for row in found.rows for remark in row.remarks}):
        names = [row.name for row in found.rows if mark in row.remarks]
        if mark in (FEW, EXTREME) and len(names) > _MAX_NAMED:
            names = [*names[:_MAX_NAMED], f"and {len(names) - _MAX_NAMED:,} more"]
        notes.append(f"{mark}: {', '.join(names)}")
    return notes


def incremental_sheet(title: str, known: Mapping[str, tuple[float, int]]) -> Sheet:
    """Return the ratings of an incremental system, best first."""
    ordered = sorted(known.items(), key=lambda item: (-item[1][0], item[0]))
    columns = (
        *shared_columns("rank", "name"),
        Column("rating", "rating", form=lambda rating: format_fixed(rating, 1)),
        Column("games", "games"),
    )
    rows = tuple(
        {"rank": rank, "name": name, "rating": round(rating, 6), "games": games}
        for rank, (name, (rating, games)) in enumerate(ordered, 1)
    )
    return Sheet(title, columns, rows, (), (INCREMENTAL, "computed from all tournaments of the database"))


def _shown(row: Row, marks: list[str]) -> dict[str, str]:
    # An anchor does not have an error, because the other ratings are measured relative to it. Errors of large pools are
    # only computed on request.
    few = ("", "") if {"anchor", NOT_ASKED} & {*row.remarks} else ("too few", "games")
    return {
        "plus": few[0] if row.plus is None else f"+{format_error(row.plus)}",
        "minus": few[1] if row.minus is None else f"-{format_error(row.minus)}",
        "error": few[0] if row.error is None else format_error(row.error),
        "remarks": " ".join(f"[{number}]" for number, mark in enumerate(marks, 1) if mark in row.remarks),
    }


def list_footer(found: RatingList, confidence: float) -> str:
    """Return the note on model, level, games, draws, intervals and White's advantage of a list."""
    if not found.games:
        return "no games to rate"
    draws = "" if found.draw_rate is None else f", {100 * found.draw_rate:.0f} % draws"
    intervals = f"+ and - are {confidence:g} % confidence intervals"
    games = f"{found.games} game{'s' * (found.games != 1)}{draws}"
    white = f"; White advantage {_format_advantage(found, confidence)}" if found.white_advantage else ""
    return f"maximum likelihood ({found.model}), {found.level}; {games}; {intervals}{white}"


def _format_advantage(found: RatingList, confidence: float) -> str:
    """Format White's advantage with its error if it was fitted."""
    sd = found.white_advantage_sd
    if sd is None:
        return f"{round(found.white_advantage, 1) + 0.0:g}, {found.advantage_origin}"  # never -0
    return f"{format_fixed(found.white_advantage, 1)} ± {format_error(quantile(confidence) * sd)}"


# Layouts of other programs.

_SHORTEST = 12  # characters; names are not shortened below this length

# Ordo's columns in its order: key, header, width with the preceding blanks (its manual, -U and -b).
_ORDO = (
    ("rating", "RATING", 8),
    ("error", "ERROR", 7),
    ("points", "POINTS", 8),
    ("games", "PLAYED", 8),
    ("score", "(%)", 6),
    ("los", "CFS(%)", 8),
    ("wins", "W", 5),
    ("draws", "D", 5),
    ("losses", "L", 5),
    ("draw_rate", "D(%)", 6),
    ("opponents", "OppAvg", 8),
    ("opponents_error", "OppErr", 8),
    ("opponent_count", "OppN", 6),
    ("diversity", "OppDiv", 8),
)
ORDO_DEFAULT = ("rank", "name", "rating", "error", "points", "games", "score")
ORDO_COLUMNS = ("rank", "name", *(key for key, _, _ in _ORDO))


def render_layout(
    layout: str, found: RatingList, room: int, columns: Sequence[str], confidence: float, notes: Sequence[str]
) -> str:
    """Return the list in a layout of another program; names are shortened to fit `room` columns.

    `columns` is only used by the layout of Ordo.
    """
    wanted = [column for column in _ORDO if column[0] in columns]
    tables: Mapping[str, Callable[[list[Row], int], Iterator[str]]]
    tables = {"ordo": partial(_ordo, wanted=wanted), "ccrl": _ccrl, "bayeselo": _bayeselo}
    lines: list[str] = [""] if layout == "ordo" else []
    for number, _pool in enumerate(found.pools, 1):
        if len(found.pools) > 1:
            lines += [*([""] * (number > 1)), f"pool {number} of {len(found.pools)}"]
        lines += tables[layout]([row for row in found.rows if row.pool == number], room)
    if layout == "ordo":
        sd = found.white_advantage_sd
        error = "" if sd is None else f" +/- {format_fixed(quantile(confidence) * sd, 2)}"  # as Ordo with -s
        lines += ["", f"White advantage = {format_fixed(found.white_advantage, 2)}{error}", *_draw_rate(found), ""]
    return "\n".join([*lines, *_footnotes(found, confidence, notes, room)]) + "\n"


def _footnotes(found: RatingList, confidence: float, notes: Sequence[str], room: int) -> list[str]:
    """Return the lines below a list or its head-to-head results, with `notes` at the end."""
    whole = (*remark_notes(found), *unrated_notes(found), *found.caption, list_footer(found, confidence), *notes)
    return [line for note in whole for line in wrap_sentence(note, min(room, NOTE_WIDTH))]


def _draw_rate(found: RatingList) -> list[str]:
    """Return Ordo's line with the expected draw rate of equal opponents in the largest pool."""
    basis = fit_bases(found.rows).get(1)
    if basis is None or not isinstance(basis.errors, Errors):
        return []
    return [f"Draw rate (equal opponents) = {100 * basis.errors.draw_rate:.2f} %"]


def ordo_csv(found: RatingList, columns: Sequence[str]) -> str:
    """Return the list with Ordo's headers and column order.

    A missing value is an empty cell instead of Ordo's ``-``, which a spreadsheet could read as a formula.
    """
    wanted = [column for column in _ORDO if column[0] in columns]
    heads = (Column("#", "#"), Column("PLAYER", "PLAYER"), *(Column(head, head) for _, head, _ in wanted))
    rows = tuple(
        {"#": row.rank, "PLAYER": row.name, **{head: _number(row, key) for key, head, _ in wanted}}
        for row in found.rows
    )
    return Sheet("", heads, rows).csv()


def _name_field(name: str, width: int) -> str:
    """Return a name padded to `width` columns, or shortened in its middle."""
    text = shorten_middle(safe_text(name), width)
    return text + " " * (width - display_width(text))


def _name_width(rows: list[Row], room: int, taken: int, least: int) -> int:
    longest = max((display_width(safe_text(row.name)) for row in rows), default=0)
    return max(least, min(longest, max(_SHORTEST, room - taken)))


def _ordo(rows: list[Row], room: int, wanted: list[tuple[str, str, int]]) -> Iterator[str]:
    taken = sum(width for _, _, width in wanted)
    width = _name_width(rows, room, taken + 11, 6) + 3  # with the blank before the colon
    yield f"   # {_name_field('PLAYER', width)} :" + "".join(f"{head:>{size}}" for _, head, size in wanted)
    for row in rows:
        cells = (f"{_ordo_cell(row, key):>{size}}" for key, _, size in wanted)
        yield f"{row.rank:4} {_name_field(row.name, width)} :" + "".join(cells)


def _ordo_cell(row: Row, key: str) -> str:
    if key == "score":
        return f"{100 * row.score:.0f}"
    if key in ("los", "draw_rate"):
        share = row.los if key == "los" else row.draw_rate
        return "---" if share is None else f"{100 * share:.0f}"
    value = _number(row, key)
    if value is None:
        return "----"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _number(row: Row, key: str) -> object:
    """Return a value as in Ordo's CSV, with one decimal and shares in %, or None if it is unknown."""
    value = getattr(row, key)
    if value is None or key == "points":
        return value
    if key in ("score", "draw_rate"):
        return round(100 * value, 2)
    if key == "los":
        return round(100 * value)
    if key in ("error", "opponents_error") and value > 0:
        return max(0.1, round(value, 1))
    return round(value, 1) + 0.0 if isinstance(value, float) else value


def _bayeselo(rows: list[Row], room: int) -> Iterator[str]:
    width = _name_width(rows, room, 45, 4)
    yield f"Rank {_name_field('Name', width)}   Elo    +    - games score oppo. draws"
    for row in rows:
        score, draws = (f"{100 * share:.0f}%" for share in (row.score, row.draws / row.games))
        bounds = _bound(row.plus) + _bound(row.minus)
        yield (
            f"{row.rank:4} {_name_field(row.name, width)} {round(row.rating):5}{bounds} {row.games:5} {score:>5}"
            f" {round(row.opponents):5} {draws:>5}"
        )


def _ccrl(rows: list[Row], room: int) -> Iterator[str]:
    """Yield lines in the layout of CCRL. The opponents are shown as a rating difference; equal ratings share a rank."""
    ranks = _shared_ranks([round(row.rating) for row in rows])
    first = max(4, *map(len, ranks)) if ranks else 4
    width = _name_width(rows, room, first + 59, 4)
    yield f"{'Rank':>{first}}  {_name_field('Name', width)} {'Rating':^17}   Score  Average   Draws  Games    LOS"
    yield f"{' ' * (first + width + 3)}  Elo     +     −         Opponent"
    for rank, row in zip(ranks, rows, strict=True):
        score, draws = (f"{100 * share:.1f}%" for share in (row.score, row.draws / row.games))
        los = "" if row.los is None else f"{100 * row.los:.1f}%"
        apart = format_fixed(row.opponents - row.rating, 1, signed=True).replace("-", "−")
        yield (
            f"{rank:>{first}}  {_name_field(row.name, width)} {round(row.rating):5} {_bound(row.plus, '+')}"
            f" {_bound(row.minus, '−')}  {score:>6} {apart:>8}  {draws:>6} {row.games:6} {los:>6}"
        ).rstrip()


def _shared_ranks(ratings: Sequence[int]) -> list[str]:
    """Return the place of each rating, such as ``14-15`` for equal ratings. The highest rating must be first."""
    ends = {rating: place for place, rating in enumerate(ratings, 1)}
    starts = {rating: place for place, rating in reversed(list(enumerate(ratings, 1)))}
    return [f"{starts[r]}-{ends[r]}" if starts[r] < ends[r] else str(starts[r]) for r in ratings]


def _bound(number: float | None, sign: str = "") -> str:
    return f"{'---' if number is None else sign + format_error(number):>5}"


# Matrices of a list.

_MATRIX_NOTES = {
    "los": "likelihood in % that the engine in the row is stronger than the engine in the column",
    "diff": "rating of the engine in the row minus that of the engine in the column, with its error",
    "errors": "error of the rating difference between row and column",
    "score": "points of the engine in the row against the engine in the column",
}


def matrix_sheet(title: str, matrix: Matrix, *, confidence: float = 95, notes: Sequence[str] = ()) -> Sheet:
    """Return the matrix as a table. CSV has plain numbers; a score is the share of the points."""
    import numpy as np

    many = len(set(matrix.pools)) > 1
    numbers = range(1, len(matrix.names) + 1)
    columns = (
        *((Column("pool", "pool"),) if many else ()),
        Column("number", "#"),
        Column("name", "engine", left=True, flexible=True),
        *(Column(f"vs{number}", str(number), continues=True) for number in numbers),
    )
    rows, shown = [], []
    plain = matrix.values if matrix.games is None else matrix.values / np.maximum(matrix.games, 1)
    for place, (name, pool) in enumerate(zip(matrix.names, matrix.pools, strict=True)):
        cells = {f"vs{number}": cell for number, cell in zip(numbers, _plain(plain[place]), strict=True)}
        rows.append({"pool": pool, "number": place + 1, "name": name, **cells})
        shown.append({f"vs{number}": _cell(matrix, place, number - 1) for number in numbers})
    interval = f"; errors are {confidence:g} % confidence intervals" if matrix.kind in ("diff", "errors") else ""
    footnotes = [_MATRIX_NOTES[matrix.kind] + interval]
    if many:
        pools = len(set(matrix.pools))
        footnotes.append(f"{pools} rating pools: ratings of engines in different pools cannot be compared")
    return Sheet(title, columns, tuple(rows), tuple(shown), (*footnotes, *notes))


def list_json(found: RatingList, confidence: float) -> dict[str, object]:
    """Return a rating list whose intervals have this confidence in percent, ready for JSON."""
    return {**found.to_json(), "confidence": confidence}


def matrix_json(matrix: Matrix, confidence: float) -> dict[str, object]:
    """Return the matrix as JSON: the names, and rows of numbers in the order of the names. A missing number is null."""
    value: dict[str, object] = {
        "kind": matrix.kind,
        "names": list(matrix.names),
        "pools": list(matrix.pools),
        "values": [_plain(row) for row in matrix.values],
    }
    if matrix.errors is not None:
        value["errors"] = [_plain(row) for row in matrix.errors]
    if matrix.games is not None:
        value["games"] = [[int(cell) for cell in row] for row in matrix.games.tolist()]
    return value | ({"confidence": confidence} if matrix.kind in ("diff", "errors") else {})


def _format_likelihood(share: float) -> str:
    """Format a likelihood in whole %. Values that are not exactly 0 or 1 are never shown as 0 or 100."""
    if 0 < share < 0.005:
        return "<1"
    if 0.995 < share < 1:
        return ">99"
    return f"{100 * share:.0f}"


def _plain(row: Vector) -> list[float | None]:
    return [None if cell != cell else cell for cell in row.tolist()]  # nan is not equal to itself


def _cell(matrix: Matrix, row: int, column: int) -> str:
    import numpy as np

    value = float(matrix.values[row, column])
    if np.isnan(value):
        return "·" if row == column else ""
    if matrix.kind == "los":
        return _format_likelihood(value)
    if matrix.kind == "errors":
        return format_error(value)
    if matrix.games is not None:
        return f"{format_points(round(2 * value))}/{matrix.games[row, column]:.0f}"
    number = round(value)
    error = float("nan") if matrix.errors is None else float(matrix.errors[row, column])
    return f"{number:+d}" if np.isnan(error) else f"{number:+d} ±{format_error(error)}"


# Head-to-head results next to the score that the list expects.

_Opponents = Mapping[str, Sequence[OpponentRecord]]
"""The opponents of each engine."""

_COLUMNS = (
    Column("opponent", "against", left=True, flexible=True),
    *shared_columns("games", "wins", "draws", "losses", "score"),
    Column("expected", "exp.", form=percent_format(1)),
    Column("gap", "gap", form=lambda gap: "" if gap is None else f"{round(gap):+d}"),
    Column("gap_error", "±", form=format_error),
    Column("performance", "perf.", form=format_whole),
    Column("los", "LOS", form=lambda los: "" if los is None else f"{_format_likelihood(los)}%"),
)
_NUMBERS = 60  # columns of a line without the name and the indentation
_RATING = 8  # columns of the rating after a name
_SHORTEST_OPPONENT = 16  # characters that a shortened name keeps
_HEADING = 30  # characters of a name in the heading of a block, which has more room


def engine_sheet(
    title: str, name: str, met: Sequence[OpponentRecord], found: RatingList, confidence: float, notes: Sequence[str]
) -> Sheet:
    """Return the opponents of an engine, strongest first, with the score that the list expects."""
    ordered = _ordered(met, found)
    row = next((row for row in found.rows if row.name == name), None)
    own = [
        f"gap: rating of {name} minus that of the opponent; exp.: expected score; ± is a {confidence:g} % confidence"
        " interval"
    ]
    own += [f"rating of {name}: {_rating(row)}" if row else f"{name} is not rated"]
    own += [f"{name}: {'; '.join(row.remarks)}"] if row and row.remarks else []
    if row is not None and any(each.gap is None for each in ordered):
        own.append("no gap: the two engines are in different rating pools")
    rows = tuple(_against_row(each, confidence) for each in ordered)
    return Sheet(title, _COLUMNS, rows, (), (*own, *unrated_notes(found), list_footer(found, confidence), *notes))


def head_to_head_sheet(met: _Opponents, found: RatingList, confidence: float) -> Sheet:
    """Return the matchups of all engines in one table, for CSV."""
    columns = (Column("engine", "engine", left=True, flexible=True), *_COLUMNS)
    rows = tuple(
        {"engine": name, **_against_row(each, confidence)}
        for name in _names(met, found)
        for each in _ordered(met[name], found)
    )
    return Sheet("", columns, rows)


def head_to_head_text(met: _Opponents, found: RatingList, room: int, confidence: float, notes: Sequence[str]) -> str:
    """Return all engines with their opponents in the layout of Ordo's -j; ``----`` is an unknown value."""
    rated = {row.name: row for row in found.rows}
    names = list(_names(met, found))
    digits = len(str(len(names))) + 2
    longest = max((display_width(safe_text(name)) for name in names), default=0)
    wide = min(longest + _RATING, max(_SHORTEST_OPPONENT, room - _NUMBERS - digits))
    lines = ["Head to head statistics:"]
    for number, name in enumerate(names, 1):
        own, row = met[name], rated.get(name)
        games, wins, draws, losses = (sum(getattr(each, key) for each in own) for key in _COUNTS)
        share = 100 * (wins + draws / 2) / games if games else 0.0
        rating = "----" if row is None else format_fixed(row.rating, 1)
        heading = _name_field(name, max(wide - _RATING, min(_HEADING, display_width(safe_text(name)))))
        head = f"{number}) {heading} {rating:>7}"
        lines += ["", f"{head} : {games:6} (+{wins},={draws},-{losses}), {share:5.1f} %", ""]
        indent = " " * digits
        lines.append(f"{indent}{_name_field('vs.', wide)} :  games (  +,  =,  -),   (%) :    Diff,    SD, CFS (%)")
        for each in _ordered(own, found):
            diff = "----" if each.gap is None else format_fixed(each.gap, 1, signed=True)
            sd = "----" if each.sd is None else f"{max(each.sd, 0.1):.1f}"
            cfs = "----" if each.los is None else f"{100 * each.los:.1f}"
            counts = f"{each.games:6} ({each.wins:3},{each.draws:3},{each.losses:3}), {100 * each.score:5.1f}"
            lines.append(f"{indent}{_name_field(each.opponent, wide)} : {counts} : {diff:>7}, {sd:>5}, {cfs:>6}")
    return "\n".join([*lines, "", *_footnotes(found, confidence, notes, room)]) + "\n"


def head_to_head_json(met: _Opponents, found: RatingList, confidence: float) -> dict[str, object]:
    """Return the opponents of each engine, strongest first."""
    rows = {
        name: [_against_row(each, confidence) for each in _ordered(met[name], found)] for name in _names(met, found)
    }
    return {"confidence": confidence, "engines": rows}


def _against_row(each: OpponentRecord, confidence: float) -> dict[str, object]:
    error = None if each.sd is None else each.sd * quantile(confidence)
    return asdict(each) | {"score": each.score, "gap_error": error}


_COUNTS = ("games", "wins", "draws", "losses")


def _names(met: _Opponents, found: RatingList) -> Iterable[str]:
    """Return the rated names in the order of the list, then the other names."""
    listed = [row.name for row in found.rows if row.name in met]
    return [*listed, *sorted(name for name in met if met[name] and name not in set(listed))]


def _ordered(met: Sequence[OpponentRecord], found: RatingList) -> list[OpponentRecord]:
    place = {row.name: number for number, row in enumerate(found.rows)}
    return sorted(met, key=lambda each: (place.get(each.opponent, len(place)), each.opponent))


def _rating(row: Row) -> str:
    if row.plus is None or row.minus is None:
        return f"{round(row.rating)}"
    return f"{round(row.rating)} +{format_error(row.plus)} -{format_error(row.minus)}"
