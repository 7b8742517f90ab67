"""A likelihood list laid out as other programs and lists print theirs, so that scripts and eyes find their way.

layout     as                                                  source
ordo       ordo's text and CSV, its default columns and order  Ordo 1.2.6, its manual and what it prints
bayeselo   the `ratings` command                               the example in BayesElo's documentation
ccrl       the rating list: two lines of header, shared ranks  the pages of CCRL's lists in 2026

What these layouts have no column for (remarks, pools, who is not rated) follows below the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from enginetour.model.game import fixed
from enginetour.ratings.ratinglist import RatingList, Row, grounds_of, quantile
from enginetour.ratings.uncertainty import Errors
from enginetour.reports.ratings import distance, footing, remarks, unrated
from enginetour.reports.sheet import NOTE_WIDTH, Column, Sheet, lines_of, safe, shortened

_SHORTEST = 12  # signs of a name that are left in a narrow window

# Ordo's columns in its order: key, header, width with the blanks before it (its manual, -U and -b).
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
ORDO_USUAL = ("rank", "name", "rating", "error", "points", "games", "score")
ORDO_ALL = ("rank", "name", *(key for key, _, _ in _ORDO))


def laid_out(
    layout: str,
    found: RatingList,
    room: int,
    *,
    columns: Sequence[str] = ORDO_USUAL,
    confidence: float = 95,
    notes: Sequence[str] = (),
) -> str:
    """The list as `layout` has it, in `room` columns where cutting names is enough; `columns` are for Ordo's."""
    table: Callable[[list[Row], int], Iterator[str]]
    if layout == "ordo":
        wanted = [column for column in _ORDO if column[0] in columns]

        def table(rows: list[Row], room: int) -> Iterator[str]:
            return _ordo(rows, room, wanted)
    else:
        table = _ccrl if layout == "ccrl" else _bayeselo
    lines: list[str] = [""] if layout == "ordo" else []
    for number, _pool in enumerate(found.pools, 1):
        if len(found.pools) > 1:
            lines += [*([""] * (number > 1)), f"pool {number} of {len(found.pools)}"]
        lines += table([row for row in found.rows if row.pool == number], room)
    if layout == "ordo":
        sd = found.white_advantage_sd
        error = "" if sd is None else f" +/- {fixed(quantile(confidence) * sd, 2)}"  # as Ordo with -s
        lines += ["", f"White advantage = {fixed(found.white_advantage, 2)}{error}", *_draw_rate(found), ""]
    told = (*remarks(found), *unrated(found), *found.caption, footing(found, confidence), *notes)
    return "\n".join([*lines, *wrapped(told, room)]) + "\n"


def wrapped(notes: Sequence[str], room: int) -> list[str]:
    """Sentences below a table, in lines."""
    width = min(room, NOTE_WIDTH)
    return [line for note in notes for line in lines_of(note, width)]


def _draw_rate(found: RatingList) -> list[str]:
    """Expected between equals, of the largest pool."""
    ground = grounds_of(found.rows).get(1)
    if ground is None or not isinstance(ground.errors, Errors):
        return []
    return [f"Draw rate (equal opponents) = {100 * ground.errors.draw_rate:.2f} %"]


def ordo_csv(found: RatingList, columns: Sequence[str] = ORDO_USUAL) -> str:
    """Ordo's headers and order; an empty cell, not Ordo's ``-``, is what cannot be given: no formula begins there."""
    wanted = [column for column in _ORDO if column[0] in columns]
    heads = (Column("#", "#"), Column("PLAYER", "PLAYER"), *(Column(head, head) for _, head, _ in wanted))
    rows = tuple(
        {"#": row.rank, "PLAYER": row.name, **{head: _number(row, key) for key, head, _ in wanted}}
        for row in found.rows
    )
    return Sheet("", heads, rows).csv()


def name_width(name: str) -> int:
    """Columns that the name takes on a terminal: two for a wide sign."""
    from rich.cells import cell_len

    return cell_len(safe(name))


def name_field(name: str, width: int) -> str:
    """A name that moves no cursor, in a field of `width` columns filled up, or cut in its middle with an ellipsis."""
    from rich.cells import cell_len

    told = shortened(safe(name), width)
    return told + " " * (width - cell_len(told))


def _name_width(rows: list[Row], room: int, taken: int, least: int) -> int:
    longest = max((name_width(row.name) for row in rows), default=0)
    return max(least, min(longest, max(_SHORTEST, room - taken)))


def _ordo(rows: list[Row], room: int, wanted: list[tuple[str, str, int]]) -> Iterator[str]:
    taken = sum(width for _, _, width in wanted)
    width = _name_width(rows, room, taken + 11, 6) + 3  # and the blank before the colon
    yield f"   # {name_field('PLAYER', width)} :" + "".join(f"{head:>{size}}" for _, head, size in wanted)
    for row in rows:
        cells = (f"{_ordo_cell(row, key):>{size}}" for key, _, size in wanted)
        yield f"{row.rank:4} {name_field(row.name, width)} :" + "".join(cells)


def _ordo_cell(row: Row, key: str) -> str:
    if key == "score":
        return f"{100 * row.score:.0f}"
    if key in ("los", "draw_rate"):
        share = row.los if key == "los" else row.draws / row.games
        return "---" if share is None else f"{100 * share:.0f}"
    value = _number(row, key)
    if value is None:
        return "----"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _number(row: Row, key: str) -> object:
    """As Ordo's CSV has it: one digit behind the point, shares in %; None for what cannot be given."""
    if key == "points":
        return row.wins + row.draws / 2
    value = row.draws / row.games if key == "draw_rate" else getattr(row, key)
    if value is None:
        return None
    if key in ("score", "draw_rate"):
        return round(100 * value, 2)
    if key == "los":
        return round(100 * value)
    if key in ("error", "opponents_error") and value > 0:
        return max(0.1, round(value, 1))
    return round(value, 1) + 0.0 if isinstance(value, float) else value


def _bayeselo(rows: list[Row], room: int) -> Iterator[str]:
    width = _name_width(rows, room, 45, 4)
    yield f"Rank {name_field('Name', width)}   Elo    +    - games score oppo. draws"
    for row in rows:
        score, draws = (f"{100 * share:.0f}%" for share in (row.score, row.draws / row.games))
        bounds = _bound(row.plus, 5) + _bound(row.minus, 5)
        yield (
            f"{row.rank:4} {name_field(row.name, width)} {round(row.rating):5}{bounds} {row.games:5} {score:>5}"
            f" {round(row.opponents):5} {draws:>5}"
        )


def _ccrl(rows: list[Row], room: int) -> Iterator[str]:
    """Opponents as a difference; engines with one whole rating share their ranks, as in ``14-15``."""
    ranks = _shared_ranks([round(row.rating) for row in rows])
    first = max(4, *map(len, ranks)) if ranks else 4
    width = _name_width(rows, room, first + 59, 4)
    yield f"{'Rank':>{first}}  {name_field('Name', width)} {'Rating':^17}   Score  Average   Draws  Games    LOS"
    yield f"{' ' * (first + width + 3)}  Elo     +     −         Opponent"
    for rank, row in zip(ranks, rows, strict=True):
        score, draws = (f"{100 * share:.1f}%" for share in (row.score, row.draws / row.games))
        los = "" if row.los is None else f"{100 * row.los:.1f}%"
        apart = fixed(row.opponents - row.rating, 1, signed=True).replace("-", "−")
        yield (
            f"{rank:>{first}}  {name_field(row.name, width)} {round(row.rating):5} {_bound(row.plus, 5, '+')}"
            f" {_bound(row.minus, 5, '−')}  {score:>6} {apart:>8}  {draws:>6} {row.games:6} {los:>6}"
        ).rstrip()


def _shared_ranks(ratings: Sequence[int]) -> list[str]:
    """Of ratings that fall: the place, or the first and the last of those with the same rating."""
    ends = {rating: place for place, rating in enumerate(ratings, 1)}
    starts = {rating: place for place, rating in reversed(list(enumerate(ratings, 1)))}
    return [f"{starts[r]}-{ends[r]}" if starts[r] < ends[r] else str(starts[r]) for r in ratings]


def _bound(number: float | None, width: int, sign: str = "") -> str:
    return f"{'---' if number is None else sign + distance(number):>{width}}"
