"""Tables as data, and their output as text, CSV, JSON, Markdown, BBCode or HTML."""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from unicodedata import bidirectional

# Control characters, zero-width and bidirectional marks, line and paragraph separators: a name with these could damage
# the output of a terminal (Unicode TR 36).
_MARKS = "\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_UNSAFE = re.compile(f"[\x00-\x1f{_MARKS}]")
# `json` escapes C0 characters, but not these and not halves of surrogate pairs (RFC 8259, section 7).
_RAW = re.compile(f"[{_MARKS}\ud800-\udfff]")
NOTE_WIDTH = 80  # columns of the notes below a table
PLAIN_WIDTH = 200  # columns of a table that is written to a pipe or file


def wrap_sentence(text: str, width: int, *, first: str = "", then: str = "  ") -> list[str]:
    """Wrap a sentence at blanks into lines of at most `width` characters.

    Names with hyphens stay on one line.
    """
    return textwrap.wrap(safe_text(text), width, initial_indent=first, subsequent_indent=then, break_on_hyphens=False)


def safe_text(value: object) -> str:
    """Return text without characters that move the cursor, change the writing direction or break the line.

    Bytes of a file name that are not UTF-8 are written as backslash escapes.
    """
    text = str(value)
    if text.isprintable():  # a fast path: a large list has tens of thousands of cells
        return text
    text = _UNSAFE.sub("", text.replace("\n", " "))
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


_Key = TypeVar("_Key")
_MOST_TEXTS = 1 << 13


class Texts(dict[_Key, str], Generic[_Key]):
    """A cache of texts by key. It takes a third of the time of `lru_cache` if most keys repeat."""

    def __init__(self, make: Callable[[_Key], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: _Key) -> str:
        if len(self) >= _MOST_TEXTS:
            self.clear()
        made = self[key] = self._make(key)
        return made


def format_value(value: object) -> str:
    """Format a JSON value for people. None gives an empty text, and whole floats do not have ``.0``."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def format_halves(points: float | None) -> str:
    """Format points with halves: ``9½``. The text is empty for None."""
    return "" if points is None else format_points(round(2 * points))


def format_whole(number: float | None) -> str:
    """Format a number without decimals and never as ``-0``. The text is empty for None."""
    return "" if number is None else str(round(number))


def format_error(number: float | None) -> str:
    """Format an error in rating points. An error above 0 is never shown as 0. The text is empty for None."""
    if number is None:
        return ""
    if number >= 0.95:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 0.05 else "<0.1"


def percent_format(decimals: int) -> Callable[[float | None], str]:
    """Return a function that formats a share as ``52.4%``, and None as an empty text."""
    return lambda share: "" if share is None else f"{100 * share:.{decimals}f}%"


def format_yes(value: bool | None) -> str:  # noqa: FBT001
    """Return ``yes`` or ``no``."""
    return "yes" if value else "no"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key in JSON and CSV, its header, its alignment and the format of its values for people."""

    key: str
    header: str
    left: bool = False
    flexible: bool = False  # can be shortened to fit the window
    continues: bool = False  # one of many similar columns: those that do not fit continue in a block below
    rare: bool = False  # shown only if at least one row has a value
    form: Callable[[Any], str] = format_value


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table. Its rows map column keys to values. `shown` replaces texts that the columns' formats would give."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]
    shown: tuple[Mapping[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def cells(self) -> list[list[str]]:
        """Return the texts that people read, row by row."""
        lines = []
        for number, row in enumerate(self.rows):
            shown = self.shown[number] if self.shown else {}
            cells = (shown[c.key] if c.key in shown else c.form(row.get(c.key)) for c in self.columns)
            lines.append([*map(safe_text, cells)])
        return lines

    def csv(self) -> str:
        """Return CSV (RFC 4180) with the JSON keys as header. Control characters are removed from names."""
        sink = io.StringIO()
        writer = csv.writer(sink, lineterminator="\n")
        writer.writerow([column.key for column in self.columns])
        for row in self.rows:
            writer.writerow([_csv_cell(row.get(column.key)) for column in self.columns])
        return sink.getvalue()


@lru_cache(4096)  # pages have a few different numbers thousands of times
def format_points(half_points: int) -> str:
    """Format half points: ``9½``, ``8``, ``½``."""
    whole, half = divmod(half_points, 2)
    return f"{whole if whole or not half else ''}{'½' if half else ''}"


def format_duration(seconds: float) -> str:
    """Format seconds: ``0.4 s``, ``45 s``, ``12 min``, ``3 h 20 min``."""
    if 0 < seconds < 1:
        return f"{max(seconds, 0.1):.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


def format_hours(hours: float | None) -> str:
    """Format hours as `format_duration` formats seconds. The text is empty for None."""
    return "" if hours is None else format_duration(hours * 3600)


def iso_timestamp(seconds: float) -> str:
    """Format UTC seconds as ISO 8601, such as ``2026-11-21T20:05:00Z``."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun: ``1 game``, ``2,410 games``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def render(sheet: Sheet, width: int | None = None) -> str:
    """Return the table as aligned text.

    `width` is in characters. Flexible columns are shortened to fit it. Without flexible columns the table can be wider.
    """
    cells = sheet.cells()
    shown = [i for i, column in enumerate(sheet.columns) if not column.rare or any(line[i] for line in cells)]
    columns, cells = [sheet.columns[i] for i in shown], [[line[i] for i in shown] for line in cells]
    headers = [column.header for column in columns]
    widths = [max(map(display_width, column)) for column in zip(headers, *cells, strict=True)]
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


SCHEMA = 1  # version of the form of all JSON documents; a change that readers notice increases it


def json_text(value: object) -> str:
    """Return the JSON document of a value: keys in the documented order, without NaN.

    The document is an object with its version in ``schema``. A list becomes its ``rows``.
    """
    assert not (isinstance(value, Mapping) and "schema" in value)
    document = {"schema": SCHEMA, **(value if isinstance(value, Mapping) else {"rows": value})}
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    return _RAW.sub(lambda char: f"\\u{ord(char[0]):04x}", text)


def _fit(widths: list[int], columns: Sequence[Column], room: int) -> None:
    over = sum(widths) + 2 * (len(widths) - 1) - room
    if over > 0 and any(column.continues for column in columns):
        # The columns that continue below get at least half of the window.
        over = sum(widths[i] + 2 for i, column in enumerate(columns) if not column.continues) - room // 2
    while over > 0:
        candidates = [i for i, column in enumerate(columns) if column.flexible and widths[i] > _SHORTEST]
        if not candidates:
            return
        widest = max(candidates, key=lambda i: widths[i])
        widths[widest] -= 1
        over -= 1


def _blocks(widths: list[int], columns: Sequence[Column], room: int) -> list[list[int]]:
    """Return the positions of the columns of each block. There is one block if all columns fit."""
    always = [i for i, column in enumerate(columns) if not column.continues]
    left = room - sum(widths[i] + 2 for i in always) + 2
    blocks: list[list[int]] = [[]]
    for i, column in enumerate(columns):
        if column.continues:
            if blocks[-1] and sum(widths[j] + 2 for j in (*blocks[-1], i)) > left:
                blocks.append([])
            blocks[-1].append(i)
    return [sorted([*always, *block]) for block in blocks]


_SHORTEST = 8  # characters that a shortened name keeps


def _is_narrow(text: str) -> bool:
    """Return whether each character takes one column, as all printable characters of Latin-1 do (Unicode TR 11)."""
    return text.isprintable() and (text.isascii() or max(text) <= "\xff")


def display_width(text: str) -> int:
    """Return the width of a text in terminal columns; wide characters take two columns."""
    if _is_narrow(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _keep_apart(cells: list[list[str]], i: int, width: int) -> None:
    """Shorten texts of a column in the middle if they would be equal when cut at the end."""
    long = {line[i] for line in cells if display_width(line[i]) > width}
    if len({_cut(text, max(0, width - 1)) for text in long}) < len(long):
        for line in cells:
            if line[i] in long:
                line[i] = shorten_middle(line[i], width)


def shorten_middle(text: str, width: int) -> str:
    """Shorten a text to `width` columns by leaving out its middle.

    Names begin with the engine and end with the version, so both stay visible.
    """
    if display_width(text) <= width:
        return text
    tail = width // 2
    return f"{_cut(text, width - 1 - tail)}…{_cut(text[::-1], tail)[::-1]}"


def _pad(text: str, width: int, *, left: bool) -> str:
    size = display_width(text)
    if size > width:
        text = f"{_cut(text, max(0, width - 1))}…"
        size = display_width(text)
    fill = " " * (width - size)
    return text + fill if left else fill + text


def _cut(text: str, width: int) -> str:
    """Return at most `width` columns of the text, in time linear in its length."""
    if _is_narrow(text):
        return text[:width]
    from rich.cells import set_cell_size

    return set_cell_size(text, width).rstrip()


def _csv_cell(value: object) -> object:
    return safe_text(value) if isinstance(value, str) else "" if value is None else value


# Markup for forums and web sites. Names are escaped in all formats.
#
# format     output                                source
# markdown   a table with pipes                    GitHub Flavored Markdown 0.29, 4.10; escapes: CommonMark 0.31, 2.4
# bbcode     aligned text in a [code] block        phpBB: its BBCode has no tables, but every forum supports [code]
# html       a <table> to paste into a page        HTML Standard, 4.9
#
# Inside a [code] block only its end tag has a meaning, so a name that contains that tag loses its bracket.

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&$])")  # characters with a meaning anywhere in a line
_FIRST = re.compile(r"^(\s*)([#+=-]|\d+(?=[.)]))")  # characters with a meaning at the start of a line
_CODE_ENDS = re.compile(r"\[(?=/code\b)", re.IGNORECASE)


def markdown(sheet: Sheet) -> str:
    """Return the title in bold, the table, and its notes as a list."""
    lines = [f"**{_literal(sheet.title)}**", ""] if sheet.title else []
    lines.append(_piped([_literal(column.header) for column in sheet.columns]))
    lines.append(_piped([":---" if column.left else "---:" for column in sheet.columns]))
    lines += [_piped([_literal(cell) for cell in cells]) for cells in sheet.cells()]
    notes = [f"- {_FIRST.sub(_shielded, _literal(note))}" for note in sheet.notes]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def bbcode(sheet: Sheet) -> str:
    """Return the aligned text in a [code] block."""
    return f"[code]\n{_CODE_ENDS.sub('(', render(sheet))}[/code]\n"


def html(sheet: Sheet) -> str:
    """Return a table with a caption, and its notes as paragraphs. Its only style is the alignment of the cells."""
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
    """Escape everything that has a meaning in Markdown."""
    return _MARKDOWN.sub(r"\\\1", safe_text(text))


def _shielded(first: re.Match[str]) -> str:
    return f"{first[1]}{first[2]}\\" if first[2][0].isdigit() else f"{first[1]}\\{first[2]}"


def _piped(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _text(value: str) -> str:
    """Escape a text, and isolate right-to-left text from its surroundings."""
    from html import escape  # imported here: it loads a table of all named characters, and most tables are text

    text = escape(safe_text(value))
    return f"<bdi>{text}</bdi>" if any(bidirectional(char) in ("R", "AL") for char in text) else text


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


def shared_columns(*keys: str) -> tuple[Column, ...]:
    """Return the columns with these keys, which many tables have."""
    return tuple(COLUMNS[key] for key in keys)


COLUMN_KEYS = tuple(COLUMNS)
NARROW_COLUMNS = ("rank", "name", "rating", "plus", "minus", "games", "score", "remarks")
DEFAULT_COLUMNS = (*NARROW_COLUMNS[:7], "opponents", "draw_rate", "los", "remarks")
# The default columns, and the columns that Ordo's full list has between score and opponents.
WIDE_COLUMNS = (*DEFAULT_COLUMNS[:7], "points", "wins", "draws", "losses", *DEFAULT_COLUMNS[7:])
