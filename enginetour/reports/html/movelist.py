"""The moves of a game as a table: a row a move, for each side SAN, evaluation, depth and time."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from enginetour.model import MoveMade
from enginetour.reports.html.expected import Line
from enginetour.reports.html.ownmarkup import own
from enginetour.reports.html.replay import Replay
from enginetour.reports.pgn import score_words
from enginetour.reports.sheet import safe

SHOWN_PLIES = (
    3000  # beyond them a page says where the rest is: fifty moves a side without progress end most games before
)
LONGEST_SAN = 16  # signs; more is no move
_NOTHING = "<td></td><td></td><td></td><td></td>"
_DEPTH = '<abbr title="depth">d</abbr>'  # as in other viewers: the column is two digits wide
_FIGURES = "".join(f'<th scope="col">{label}</th>' for label in ("eval", _DEPTH, "time"))
_SIDES = "".join(f'<th scope="col" class="m">{side}</th>{_FIGURES}' for side in ("White", "Black"))
_HEAD = f'<thead><tr><th scope="col">#</th>{_SIDES}</tr></thead>'


def move_table(replay: Replay, moves: Sequence[MoveMade]) -> Markup:
    """Evaluations from White's side; times in seconds."""
    rows = []
    row = "" if replay.white_begins else f'<tr><th scope="row">{replay.number}</th>{_NOTHING}'
    for ply, move in enumerate(moves[:SHOWN_PLIES]):
        white = replay.is_white(ply)
        cells = _cells(move, white=white)
        if white:
            row = f'<tr><th scope="row">{replay.number + (ply + (not replay.white_begins)) // 2}</th>{cells}'
        else:
            rows.append(f"{row}{cells}</tr>\n")
            row = ""
    if row and moves:
        rows.append(f"{row}{_NOTHING}</tr>\n")
    return own(f'<table class="moves">{_HEAD}<tbody>\n{"".join(rows)}</tbody></table>')


def _cells(move: MoveMade, *, white: bool) -> str:
    san = _text(move.san[:LONGEST_SAN])
    if move.book:
        return f'<td class="m b">{san}</td><td class="b">book</td><td></td><td></td>'
    score, ms = move.score, move.elapsed_ms
    told = "" if score is None else score_words(score if white else -score)
    depth = "" if move.depth is None else move.depth
    time = f"{ms / 1000:.2f}" if ms < 60_000 else f"{ms // 60_000}:{ms // 1000 % 60:02}"
    return f'<td class="m">{san}</td><td>{told}</td><td>{depth}</td><td>{time}</td>'


def line_list(replay: Replay, expected: Sequence[Line | None], room: int) -> tuple[Markup, int]:
    """An item for every ply, empty without a line, so that the n-th is that of ply n; and how many there are.

    There are fewer than plies where `room` in bytes is not enough, for them and for what the script is told of them.
    """
    parts = []
    for ply, line in enumerate(expected):
        part = "<li></li>"
        if line is not None:
            part = f"<li>{replay.label(ply)} {_text(line.words)}{' …' if line.cut else ''}</li>"
            room -= len(part.encode()) + len(line.changes)
        if room < 0:
            break
        parts.append(part)
    return own("\n".join(parts)), len(parts)


def _text(words: str) -> str:
    """Nearly all of it is plain and needs no escaping."""
    if words.isascii() and (words.isalnum() or (words.isprintable() and not _SIGNS.intersection(words))):
        return words
    return str(escape(safe(words)))


_SIGNS = frozenset("<>&\"'")
