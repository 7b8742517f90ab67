"""A table as data; text, CSV, JSON, Markdown, BBCode."""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from unicodedata import bidirectional

# A table as data; text, CSV, JSON, Markdown, BBCode.

# A table as data: rows in, terminal text, CSV or JSON out.

# C0, C1, DEL, zero-width and bidirectional marks, line and paragraph ends: what a name may do to a terminal (Unicode
# TR 36).
_MARKS = "\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_UNSAFE = re.compile(f"[\x00-\x1f{_MARKS}]")
# JSON escapes C0 itself; these, and halves of surrogate pairs, it would pass on (RFC 8259, 7).
_RAW = re.compile(f"[{_MARKS}\ud800-\udfff]")
NOTE_WIDTH = 80  # sentences below a table read badly when longer
PLAIN_WIDTH = 200  # columns of a table that is piped: a file has no edge


def wrap_sentence(words: str, width: int, *, first: str = "", then: str = "  ") -> list[str]:
    """A sentence in lines of up to `width`, broken at blanks: an engine's name with a hyphen stays whole."""
    return textwrap.wrap(safe_text(words), width, initial_indent=first, subsequent_indent=then, break_on_hyphens=False)


def safe_text(words: object) -> str:
    """Text from engines and people without anything that moves a cursor, turns a line round or breaks it.

    What UTF-8 cannot hold, as bytes of a file's name that are none, is told by its number.
    """
    told = str(words)
    if told.isprintable():  # nearly all: a large list has tens of thousands of cells
        return told
    text = _UNSAFE.sub("", told.replace("\n", " "))
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


_Key = TypeVar("_Key")
_MOST_TEXTS = 1 << 13


class Texts(dict[_Key, str], Generic[_Key]):
    """Texts by what they are made of, each made once: `lru_cache`, in a third of its time where most come again."""

    def __init__(self, make: Callable[[_Key], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: _Key) -> str:
        if len(self) >= _MOST_TEXTS:
            self.clear()
        made = self[key] = self._make(key)
        return made


def format_value(value: object) -> str:
    """A JSON value as people write it: nothing for None, whole floats without ``.0``."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def format_halves(points: float | None) -> str:
    """Points as testers write them: ``9½``; nothing for None."""
    return "" if points is None else format_points(round(2 * points))


def format_whole(number: float | None) -> str:
    """Without decimals, never ``-0``; nothing for None."""
    return "" if number is None else str(round(number))


def percent_format(decimals: int) -> Callable[[float | None], str]:
    """What writes a share as ``52.4%``; nothing for None."""
    return lambda share: "" if share is None else f"{100 * share:.{decimals}f}%"


def format_yes(value: bool | None) -> str:  # noqa: FBT001
    """``yes`` or ``no``."""
    return "yes" if value else "no"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the key of its JSON and CSV, the words above it, its side, and how a value is written for people."""

    key: str
    header: str
    left: bool = False
    flexible: bool = False  # may be cut to fit the window
    continues: bool = False  # of many of its kind: those that find no room stand in a block below
    rare: bool = False  # people read it where a row has something in it only
    form: Callable[[Any], str] = format_value


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows of cells by column key. A cell is a value for JSON; `shown` has words for people that no form tells."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]
    shown: tuple[Mapping[str, str], ...] = ()
    notes: tuple[str, ...] = field(default=())

    def cells(self) -> list[list[str]]:
        """What people read, row by row."""
        lines = []
        for number, row in enumerate(self.rows):
            told = self.shown[number] if self.shown else {}
            cells = (told[c.key] if c.key in told else c.form(row.get(c.key)) for c in self.columns)
            lines.append([*map(safe_text, cells)])
        return lines

    def csv(self) -> str:
        """RFC 4180 with the JSON keys as header; names as in JSON, but for control characters."""
        sink = io.StringIO()
        writer = csv.writer(sink, lineterminator="\n")
        writer.writerow([column.key for column in self.columns])
        for row in self.rows:
            writer.writerow([_csv_cell(row.get(column.key)) for column in self.columns])
        return sink.getvalue()


def format_points(half_points: int) -> str:
    """Half points as testers write them: ``9½``, ``8``, ``½``."""
    whole, half = divmod(half_points, 2)
    return f"{whole if whole or not half else ''}{'½' if half else ''}"


def format_duration(seconds: float) -> str:
    """``0.4 s``, ``45 s``, ``12 min``, ``3 h 20 min``."""
    if 0 < seconds < 1:
        return f"{max(seconds, 0.1):.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


def iso_timestamp(seconds: float) -> str:
    """UTC seconds as ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def format_count(number: int, noun: str) -> str:
    """``1 game``, ``2,410 games``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def render(sheet: Sheet, width: int | None = None) -> str:
    """The sheet as aligned text of at most `width` columns where cutting the flexible ones is enough."""
    cells = sheet.cells()
    shown = [i for i, column in enumerate(sheet.columns) if not column.rare or any(line[i] for line in cells)]
    columns, cells = [sheet.columns[i] for i in shown], [[line[i] for i in shown] for line in cells]
    headers = [column.header for column in columns]
    widths = [max([_len(headers[i]), *(_len(line[i]) for line in cells)]) for i in range(len(headers))]
    room = width or PLAIN_WIDTH
    _fit(widths, columns, room)
    for i, column in enumerate(columns):
        if column.flexible:
            _keep_apart(cells, i, widths[i])
    lines = [safe_text(sheet.title)] if sheet.title else []
    for number, block in enumerate(_blocks(widths, columns, room)):
        lines += [""] * (number > 0)
        for line in [headers, *cells]:
            parts = [_pad(line[i], widths[i], left=columns[i].left) for i in block]
            lines.append("  ".join(parts).rstrip())
    for note in sheet.notes:
        lines += wrap_sentence(note, min(width or NOTE_WIDTH, NOTE_WIDTH))
    return "\n".join(lines) + "\n"


def json_text(value: object) -> str:
    """JSON as every ``--json`` prints it: one object, keys in the documented order, no NaN."""
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    return _RAW.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def _fit(widths: list[int], columns: Sequence[Column], room: int) -> None:
    over = sum(widths) + 2 * (len(widths) - 1) - room
    if over > 0 and any(column.continues for column in columns):
        # What continues below takes what the others leave it: half of the window at least.
        over = sum(widths[i] + 2 for i, column in enumerate(columns) if not column.continues) - room // 2
    while over > 0:
        candidates = [i for i, column in enumerate(columns) if column.flexible and widths[i] > _SHORTEST]
        if not candidates:
            return
        widest = max(candidates, key=lambda i: widths[i])
        widths[widest] -= 1
        over -= 1


def _blocks(widths: list[int], columns: Sequence[Column], room: int) -> list[list[int]]:
    """The columns of each block by their places: all in one when they fit, else those that continue dealt out."""
    always = [i for i, column in enumerate(columns) if not column.continues]
    left = room - sum(widths[i] + 2 for i in always) + 2
    blocks: list[list[int]] = [[]]
    for i, column in enumerate(columns):
        if column.continues:
            if blocks[-1] and sum(widths[j] + 2 for j in (*blocks[-1], i)) > left:
                blocks.append([])
            blocks[-1].append(i)
    return [sorted([*always, *block]) for block in blocks]


_SHORTEST = 8  # signs of a name that still tell it


def _len(text: str) -> int:
    if text.isascii() and text.isprintable():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _keep_apart(cells: list[list[str]], i: int, width: int) -> None:
    """Cut a column's words in the middle where cut at the end different ones would read the same."""
    long = {line[i] for line in cells if _len(line[i]) > width}
    if len({_cut(text, max(0, width - 1)) for text in long}) < len(long):
        for line in cells:
            if line[i] in long:
                line[i] = shorten_middle(line[i], width)


def shorten_middle(text: str, width: int) -> str:
    """At most `width` columns of it, without its middle: names begin with an engine and end with its version."""
    if _len(text) <= width:
        return text
    tail = width // 2
    return f"{_cut(text, width - 1 - tail)}…{_cut(text[::-1], tail)[::-1]}"


def _pad(text: str, width: int, *, left: bool) -> str:
    if _len(text) > width:
        text = f"{_cut(text, max(0, width - 1))}…"
    fill = " " * (width - _len(text))
    return text + fill if left else fill + text


def _cut(text: str, width: int) -> str:
    """At most `width` columns of it, in time that does not grow with the square of a name."""
    if text.isascii() and text.isprintable():
        return text[:width]
    from rich.cells import set_cell_size

    return set_cell_size(text, width).rstrip()


def _csv_cell(value: object) -> object:
    return safe_text(value) if isinstance(value, str) else "" if value is None else value


# Sheets in the languages that forums and sites take: Markdown, BBCode, HTML. Names stay text in all of them.
#
# format     is                                    source
# markdown   a table with pipes                    GitHub Flavored Markdown 0.29, 4.10; escapes: CommonMark 0.31, 2.4
# bbcode     aligned text in a [code] block        phpBB: its BBCodes have no table, and all boards take code
# html       a <table> to paste into a page        HTML Standard, 4.9
#
# In a [code] block a board reads nothing but the end of it; a name that says so loses its bracket.

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&$])")  # signs that mean something anywhere in a line
_FIRST = re.compile(r"^(\s*)([#+=-]|\d+(?=[.)]))")  # and those that do at its beginning
_CODE_ENDS = re.compile(r"\[(?=/code\b)", re.IGNORECASE)


def markdown(sheet: Sheet) -> str:
    """The title in bold, the table, its notes as a list."""
    lines = [f"**{_literal(sheet.title)}**", ""] if sheet.title else []
    lines.append(_piped([_literal(column.header) for column in sheet.columns]))
    lines.append(_piped([":---" if column.left else "---:" for column in sheet.columns]))
    lines += [_piped([_literal(cell) for cell in cells]) for cells in sheet.cells()]
    notes = [f"- {_FIRST.sub(_shielded, _literal(note))}" for note in sheet.notes]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def bbcode(sheet: Sheet) -> str:
    """As it is printed into a file, in a block of code: every forum shows that with columns that stand."""
    return f"[code]\n{_CODE_ENDS.sub('(', render(sheet))}[/code]\n"


def html(sheet: Sheet) -> str:
    """A table with a caption; notes follow as paragraphs. No style but the sides on which cells stand."""
    sides = ["" if column.left else ' style="text-align:right"' for column in sheet.columns]
    lines = ["<table>"]
    if sheet.title:
        lines.append(f"<caption>{_text(sheet.title)}</caption>")
    heads = zip(sheet.columns, sides, strict=True)
    lines += [
        "<thead>",
        _row(f'<th scope="col"{side}>{_text(column.header)}</th>' for column, side in heads),
        "</thead>",
    ]
    lines.append("<tbody>")
    for cells in sheet.cells():
        lines.append(_row(f"<td{side}>{_text(cell)}</td>" for cell, side in zip(cells, sides, strict=True)))
    lines += ["</tbody>", "</table>", *(f"<p>{_text(note)}</p>" for note in sheet.notes)]
    return "\n".join(lines) + "\n"


MARKUPS: Mapping[str, Callable[[Sheet], str]] = MappingProxyType({"markdown": markdown, "bbcode": bbcode, "html": html})


def _literal(text: str) -> str:
    """Words of which Markdown reads nothing as its own."""
    return _MARKDOWN.sub(r"\\\1", safe_text(text))


def _shielded(first: re.Match[str]) -> str:
    return f"{first[1]}{first[2]}\\" if first[2][0].isdigit() else f"{first[1]}\\{first[2]}"


def _piped(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _text(words: str) -> str:
    """Escaped, and from right to left within itself only."""
    told = escape(safe_text(words))
    return f"<bdi>{told}</bdi>" if any(bidirectional(sign) in ("R", "AL") for sign in told) else told


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
