"""Sheets in the languages that forums and sites take: Markdown, BBCode, HTML. Names stay text in all of them.

format     is                                    source
markdown   a table with pipes                    GitHub Flavored Markdown 0.29, 4.10; escapes: CommonMark 0.31, 2.4
bbcode     aligned text in a [code] block        phpBB: its BBCodes have no table, and all boards take code
html       a <table> to paste into a page        HTML Standard, 4.9

In a [code] block a board reads nothing but the end of it; a name that says so loses its bracket.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from types import MappingProxyType
from unicodedata import bidirectional

from enginetour.reports.sheet import Sheet, render, safe

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
    return _MARKDOWN.sub(r"\\\1", safe(text))


def _shielded(first: re.Match[str]) -> str:
    return f"{first[1]}{first[2]}\\" if first[2][0].isdigit() else f"{first[1]}\\{first[2]}"


def _piped(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _text(words: str) -> str:
    """Escaped, and from right to left within itself only."""
    told = escape(safe(words))
    return f"<bdi>{told}</bdi>" if any(bidirectional(sign) in ("R", "AL") for sign in told) else told
