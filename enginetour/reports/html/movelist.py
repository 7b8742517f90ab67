"""The moves of a game as a table: a row a move, for each side SAN, evaluation, depth and time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from markupsafe import Markup

from enginetour.model.game import MoveMade
from enginetour.reports.html.ownmarkup import own
from enginetour.reports.html.replay import Start, text
from enginetour.reports.pgn import score_words

SHOWN_PLIES = (
    3000  # beyond them a page says where the rest is: fifty moves a side without progress end most games before
)
LONGEST_SAN = 16  # signs; more is no move
_NOTHING = "<td></td><td></td><td></td><td></td>"
_DEPTH = '<abbr title="depth">d</abbr>'  # as in other viewers: the column is two digits wide
_FIGURES = "".join(f'<th scope="col">{label}</th>' for label in ("eval", _DEPTH, "time"))
_SIDES = "".join(f'<th scope="col" class="m">{side}</th>{_FIGURES}' for side in ("White", "Black"))
_HEAD = f'<thead><tr><th scope="col">#</th>{_SIDES}</tr></thead>'


def move_table(start: Start, moves: Sequence[MoveMade]) -> Markup:
    """Evaluations from White's side; times in seconds."""
    parts = []
    number, white = start.number, start.white_begins
    if not white:
        parts.append(f'<tr><th scope="row">{number}</th>{_NOTHING}')
    for move in moves:
        if white:
            parts.append(f'<tr><th scope="row">{number}</th>{_cells(move, white=True)}')
        else:
            parts.append(f"{_cells(move, white=False)}</tr>\n")
            number += 1
        white = not white
    if moves and not white:
        parts.append(f"{_NOTHING}</tr>\n")
    rows = "".join(parts) if moves else ""
    return own(f'<table class="moves">{_HEAD}<tbody>\n{rows}</tbody></table>')


def _cells(move: MoveMade, *, white: bool) -> str:
    san = _san(move.san)
    if move.book:
        return f'<td class="m b">{san}</td><td class="b">book</td><td></td><td></td>'
    score = move.score
    told = "" if score is None else score_words(score if white else -score)
    depth = "" if move.depth is None else move.depth
    return f'<td class="m">{san}</td><td>{told}</td><td>{depth}</td><td>{_time(move.elapsed_ms)}</td>'


@lru_cache(1 << 13)  # a report has each of them many times
def _san(san: str) -> str:
    return text(san[:LONGEST_SAN])


@lru_cache(1 << 13)
def _time(ms: int) -> str:
    return f"{ms / 1000:.2f}" if ms < 60_000 else f"{ms // 60_000}:{ms // 1000 % 60:02}"
