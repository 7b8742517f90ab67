"""The page of a game.

Graphs are written as SVG without matplotlib, which takes 0.05 ms instead of 30 ms per graph (measured). The x axis
counts plies. If a page is wider, graphs become wider, too, but the widths of lines and the sizes of texts remain.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, cycle, repeat, takewhile
from math import exp
from typing import Any, NamedTuple, TypeVar

from markupsafe import Markup, escape
from pydantic_core import to_json

from enginetour.model.game import Game, Incident, MoveMade, Outcome, SideRecord, Termination
from enginetour.model.variants import STANDARD, VARIANTS, start_fen
from enginetour.reports import pgn
from enginetour.reports.games import incident_lines, machine_lines, mean_nps
from enginetour.reports.html.page import PIECE_LETTERS, read_asset, render_page
from enginetour.reports.html.tables import ESCAPED, Site, engine_link, facts_list, game_link, trusted_markup
from enginetour.reports.pgn import format_score
from enginetour.reports.sheet import Texts, format_duration, safe_text
from enginetour.store.games import GameLine

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class GamePage:
    """One game of a tournament. `before` and `after` are the numbers of the previous and the next game.

    `voided` is true if the game became void later. `neighbors` are the other games of its encounter, including replays.
    """

    number: int
    game: Game
    voided: bool
    neighbors: tuple[GameLine, ...] = ()
    before: int | None = None
    after: int | None = None
    tags: Mapping[str, Any] | None = None  # PGN tags of all games: the result of `pgn.common_tags`
    purpose: str = ""  # what an encounter of an adaptive tournament is for


# The start of a game.

_EMPTY = "-"
MAX_PLIES = 3000  # plies on the page; the rules end nearly all games earlier
MAX_LINE_WORDS = 30  # words of a line; 0.6 % of 25,000 lines of 14 engines had more plies (measured)
_MAX_LINES_BYTES = 400_000  # bytes of all lines of a game; usually they have 15 KB
_CHECKS_TO_WIN = 3  # the number of checks that wins a game of three-check
_NO_POSITION = "8/8/8/8/8/8/8/8 w - - 0 1"
_MOVE = re.compile(r"[a-h][1-8][a-h][1-8][qrbnk]?|[PNBRQ]@[a-h][1-8]")
_CHECKS = re.compile(r"(\+?)(\d)\+(\d)")
_SQUARE = re.compile("[a-h][1-8]")
_LETTERS = frozenset("PNBRQKpnbrqk" + _EMPTY)


@dataclass(frozen=True, slots=True)
class StartPosition:
    """The position at the start of a game, and the numbering of its moves. Plies are counted from 0."""

    fen: str
    white_begins: bool = True
    number: int = 1  # move number of the first ply

    def is_white(self, ply: int) -> bool:
        """Return whether White plays the ply."""
        return (ply % 2 == 0) is self.white_begins

    def label(self, ply: int) -> str:
        """Return the move number of the ply, for example ``12.`` for White or ``12…`` for Black."""
        number = self.number + (ply + (not self.white_begins)) // 2
        return f"{number}." if self.is_white(ply) else f"{number}…"

    def turns(self, white: _T, black: _T) -> Iterator[_T]:
        """Yield `white` for each ply of White and `black` for each ply of Black, without end."""
        return cycle((white, black) if self.white_begins else (black, white))


def start_position(game: Game) -> StartPosition:
    """Return the start position of a game, or an empty board if its FEN is not valid."""
    return _start(game.opening.variant, game.opening.fen)


@lru_cache(1024)
def _start(variant: str, fen: str | None) -> StartPosition:
    fen = start_fen(variant) if fen is None else fen
    if not fen.isascii() or not fen.isprintable() or _board_squares(fen) is None:
        return StartPosition(_NO_POSITION)
    number, white_begins = pgn.first_move(fen)
    return StartPosition(" ".join(fen.split()), white_begins, number)


# Graphs of evaluations and clocks.

_STEEPNESS = 0.00368208  # expected share of points = 1 / (1 + exp(-STEEPNESS cp)); source: lichess.org/page/accuracy
_HIGHEST = 3000  # centipawns; larger evaluations are drawn at the edge
_MARKS = (-500, -200, 0, 200, 500)
_EVERY = (5, 10, 20, 40, 100, 200, 500)  # possible distances of the marks of the x axis, in moves
_MOST_MARKS = 12
_GAP = "|"  # marks a gap in a line


def evaluation_height(score: int) -> int:
    """Return the height of a score in centipawns, -100 to 100: the expected share of points, scaled to this range."""
    return round(200 / (1 + exp(-_STEEPNESS * max(-_HIGHEST, min(_HIGHEST, score))))) - 100


_SCORE_MARKS = tuple(
    (f"{50 - evaluation_height(mark) / 2:.1f}%", f"{mark / 100:+.0f}" if mark else "0") for mark in _MARKS
)

# A point consists of these two parts, x and y. The y axis of SVG points down.
_PLIES = tuple(f"{ply}," for ply in range(1, MAX_PLIES + 1))
_WHITE_HEIGHTS = Texts[int](lambda score: str(-evaluation_height(score)))
_BLACK_HEIGHTS = Texts[int](lambda score: str(evaluation_height(score)))
_SHARES = Texts[int](lambda percent: str(100 - percent))


def evaluation_graph(start: StartPosition, moves: Sequence[MoveMade]) -> Markup | None:
    """Return the graph of both engines' evaluations from White's point of view, or None if there are none."""
    points = [
        _GAP if move.score is None else ply + heights[move.score]
        for ply, move, heights in zip(_PLIES, moves, start.turns(_WHITE_HEIGHTS, _BLACK_HEIGHTS), strict=False)
    ]
    lines = _polylines(start, points)
    if not lines:
        return None
    label = "Evaluations of both engines, from White's point of view, in pawns"
    return _graph("evals", label, start, moves, (-100, 100), _SCORE_MARKS, lines)


def clock_graph(start: StartPosition, moves: Sequence[MoveMade]) -> tuple[str, Markup] | None:
    """Return a title and the graph of both clocks, or of the times per move in a game without clocks.

    Returns None if there are no times.
    """
    values = [move.clock_ms for move in moves]
    timed = values.count(None) < len(values)
    if not timed:
        values = [None if move.book else move.elapsed_ms for move in moves]
    most = max(filter(None, values), default=0)
    if most <= 0:
        return None
    points = [
        "" if value is None else ply + _SHARES[value * 100 // most] for ply, value in zip(_PLIES, values, strict=False)
    ]
    title = "Remaining time" if timed else "Time per move"
    marks = (("0%", format_clock_time(most)), ("50%", format_clock_time(most // 2)), ("100%", "0"))
    label = f"{title} of both engines, at most {format_clock_time(most)}"
    return title, _graph("clocks", label, start, moves, (0, 100), marks, _polylines(start, points))


def _polylines(start: StartPosition, points: Sequence[str]) -> str:
    """Return the lines of both sides, with gaps. A line of a single point is drawn as a dot, because ends are round."""
    return "".join(
        f'<polyline class="{side}" points="{run if " " in run else f"{run} {run}"}"/>'
        for side, first in (("w", not start.white_begins), ("b", start.white_begins))
        for run in map(str.strip, " ".join(filter(None, points[first::2])).split(_GAP))
        if run
    )


def format_clock_time(milliseconds: int) -> str:
    """Format a time in milliseconds, for example ``0.10 s``, ``12.3 s``, ``4:05`` or ``1:04:05``."""
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.{2 if milliseconds < 10_000 else 1}f} s"
    minutes, rest = divmod(milliseconds // 1000, 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _graph(
    kind: str,
    label: str,
    start: StartPosition,
    moves: Sequence[MoveMade],
    span: tuple[int, int],
    marks: tuple[tuple[str, str], ...],
    lines: str,
) -> Markup:
    low, high = span
    plies = max(1, len(moves))
    book = next((ply for ply, move in enumerate(moves) if not move.book), plies)
    shade = f'<rect class="book" x="0" y="{low}" width="{book}" height="{high - low}"/>' if book else ""
    across, texts = _grid(marks)
    down = _move_marks(start.number, start.white_begins, plies)
    box = f'width="100%" height="100%" viewBox="0 {low} {plies} {high - low}" preserveAspectRatio="none"'
    return trusted_markup(
        f'<svg class="graph {kind}" role="img" aria-label="{ESCAPED[label]}" data-plies="{plies}">'
        f'<svg {box}>{shade}</svg><g class="grid">{across}</g><svg class="plot" {box}>{lines}</svg>'
        f'<g class="marks" aria-hidden="true">{texts}{down}</g></svg>'
    )


@lru_cache(1024)
def _grid(marks: tuple[tuple[str, str], ...]) -> tuple[str, str]:
    """Return the horizontal lines of a graph, and the texts of these lines."""
    across = "".join(f'<line x1="0" x2="100%" y1="{y}" y2="{y}"/>' for y, _ in marks)
    return across, "".join(f'<text x="0" y="{y}" dy="{_shift(y)}">{escape(text)}</text>' for y, text in marks)


def _shift(y: str) -> str:
    """Return the vertical offset of a line's text: above the line, but below the top line."""
    return "1em" if y == "0%" else "-.25em"


@lru_cache(1024)
def _move_marks(first: int, white_begins: bool, plies: int) -> str:  # noqa: FBT001
    """Return the round move numbers below the x axis."""
    last = first + (plies + (not white_begins)) // 2
    every = next((step for step in _EVERY if (last - first) / step <= _MOST_MARKS), _EVERY[-1] * 4)
    return "".join(
        f'<text class="x" x="{100 * (2 * (number - first) + white_begins) / plies:.1f}%" y="100%" dy="1.2em">'
        f"{number}</text>"
        for number in range((first // every + 1) * every, last, every)
    )


# Facts about a game.

_SHOWN_WARNINGS = 20  # maximum number of warnings about one engine in one game
_LONGEST_WARNING = 300  # characters
_RESULTS = {
    Outcome.WHITE: Markup("1&ndash;0"),
    Outcome.DRAW: Markup("&frac12;&ndash;&frac12;"),
    Outcome.BLACK: Markup("0&ndash;1"),
    Outcome.VOID: Markup("void"),
}
_ENDINGS = {
    Termination.MATE: "Checkmate",
    Termination.STALEMATE: "Stalemate",
    Termination.REPETITION: "Threefold repetition",
    Termination.FIFTY: "Fifty-move rule",
    Termination.MATERIAL: "Insufficient material",
    Termination.ADJUDICATION_DRAW: "Adjudicated as a draw by the engines' scores",
    Termination.ADJUDICATION_RESIGN: "Adjudicated as a win by the engines' scores",
    Termination.ADJUDICATION_LENGTH: "Adjudicated as a draw by the move limit",
    Termination.ADJUDICATION_TABLEBASE: "Adjudicated by tablebases",
    Termination.TIME: "Lost on time",
    Termination.ILLEGAL_MOVE: "Illegal move",
    Termination.CRASH: "An engine crashed",
    Termination.STALL: "An engine did not respond",
    Termination.RESIGN: "Resignation",
    Termination.CLAIM: "An engine correctly claimed the end of the game",
    Termination.FALSE_CLAIM: "An engine wrongly claimed the end of the game",
    Termination.AGREEMENT: "Draw by agreement",
    Termination.VARIANT: "End by the rules of the variant",
    Termination.ABORTED: "Not finished",
}


def ending_text(row: GamePage) -> str:
    """Return a text about the cause of the result. Without a recorded cause, the text describes the termination."""
    game = row.game
    cause = f"{game.cause[0].upper()}{game.cause[1:]}" if game.cause else _ENDINGS[game.termination]
    if row.voided:
        return f"{cause}. The result was {game.outcome}; this game was voided later."
    return f"{cause}. This game is void and is replayed." if game.outcome is Outcome.VOID else cause


def _format_control(game: Game) -> str:
    if game.white_tc == game.black_tc:
        return game.white_tc
    return f"White {game.white_tc or '?'}, Black {game.black_tc or '?'}"


def _format_opening(game: Game) -> str:
    """Return a text such as ``E00 Catalan, number 25 of the opening book, 10 plies``."""
    started = game.opening
    name = started.name if started.name.startswith(started.eco) else f"{started.eco} {started.name}"
    parts = [name.strip(), f"number {started.index} of the opening book" if started.index else ""]
    if started.moves:
        parts.append(f"{len(started.moves)} {'ply' if len(started.moves) == 1 else 'plies'}")
    return ", ".join(filter(None, parts)) or ("given position" if started.fen else "")


def game_facts(row: GamePage) -> Iterator[tuple[str, str]]:
    """Yield labels and texts about the game. The texts of unknown facts are empty."""
    game, pairing = row.game, row.game.pairing
    yield "time control", _format_control(game)
    if pairing.handicap:
        yield "time odds", f"{'White' if pairing.handicap > 0 else 'Black'} gives {abs(pairing.handicap)}"
    if game.opening.variant != STANDARD:
        yield "variant", VARIANTS[game.opening.variant].tag
    yield "opening", _format_opening(game)
    yield "length", f"{game.plies} plies in {format_duration(max(0.0, game.ended_unix - game.started_unix))}"
    replayed = f", replay {game.replay}" if game.replay else ""
    yield "pairing", f"round {pairing.round}, encounter {pairing.encounter}, leg {pairing.leg}{replayed}"
    yield "purpose", row.purpose
    yield "hardware", game.hardware
    for line in machine_lines(game):
        label, _, rest = line.partition(": ")
        yield label, rest


def engine_facts(record: SideRecord) -> Iterator[tuple[str, str]]:
    """Yield labels and texts about one engine in the game."""
    yield "reported name", record.own_name
    if record.moves:
        mean, longest = format_clock_time(record.think_ms // record.moves), format_clock_time(record.longest_ms)
        total = format_clock_time(record.think_ms)
        yield "thinking time", f"{total} for {record.moves} moves, {mean} per move, longest {longest}"
    if record.least_clock_ms is not None:
        yield "least remaining time", format_clock_time(record.least_clock_ms)
    if record.margin_uses:
        yield "moves within the time margin", str(record.margin_uses)
    if record.cpu_ms is not None:
        yield "processor time", format_clock_time(record.cpu_ms)
    if record.ponders:
        yield "ponder searches", f"{record.ponders}, correct predictions {record.ponder_hits or 0}"
    effort = {name: (moves, total) for name, moves, total in record.effort if moves}
    if "depth" in effort:
        yield "mean depth", f"{effort['depth'][1] / effort['depth'][0]:.1f}"
    if speed := mean_nps(effort):
        yield "mean nps", f"{speed:,.0f}"
    for warning in record.warnings[:_SHOWN_WARNINGS]:
        yield "warning", warning[:_LONGEST_WARNING]
    if len(record.warnings) > _SHOWN_WARNINGS:
        yield "warnings", f"and {len(record.warnings) - _SHOWN_WARNINGS} more"
    for kind, count, first in record.claims:
        yield "claim", f"{kind}, {count} times, first at {first}" if count > 1 else f"{kind}, {first}"


# The table of moves: SAN, evaluation, depth and time for each side.

_MAX_SAN_LENGTH = 16  # characters; moves are never longer
_NOTHING = "<td></td><td></td><td></td><td></td>"
_DEPTH = '<abbr title="depth">d</abbr>'  # short, because the column is only two digits wide
_FIGURES = "".join(f'<th scope="col">{label}</th>' for label in ("eval", _DEPTH, "time"))
_SIDES = "".join(f'<th scope="col" class="m">{side}</th>{_FIGURES}' for side in ("White", "Black"))
_HEAD = f'<thead><tr><th scope="col">#</th>{_SIDES}</tr></thead>'


_SAN_CELLS = Texts[str](lambda san: f'<td class="m">{_san(san)}</td>')
_BOOK_CELLS = Texts[str](lambda san: f'<td class="m b">{_san(san)}</td><td class="b">book</td><td></td><td></td>')
_WHITE_CELLS = Texts[int | None](lambda score: f"<td>{'' if score is None else format_score(score)}</td>")
_BLACK_CELLS = Texts[int | None](lambda score: f"<td>{'' if score is None else format_score(-score)}</td>")
_DEPTH_CELLS = Texts[int | None](lambda depth: f"<td>{'' if depth is None else depth}</td>")
_TIME_CELLS = Texts[int](
    lambda ms: f"<td>{f'{ms / 1000:.2f}' if ms < 60_000 else f'{ms // 60_000}:{ms // 1000 % 60:02}'}</td>"
)


def _san(san: str) -> str:
    return ESCAPED[san[:_MAX_SAN_LENGTH]]


def _move_table(start: StartPosition, moves: Sequence[MoveMade]) -> Markup:
    """Return the table of moves, with evaluations from White's point of view and times in seconds."""
    cells = [
        _BOOK_CELLS[move.san]
        if move.book
        else f"{_SAN_CELLS[move.san]}{scores[move.score]}{_DEPTH_CELLS[move.depth]}{_TIME_CELLS[move.elapsed_ms]}"
        for move, scores in zip(moves, start.turns(_WHITE_CELLS, _BLACK_CELLS), strict=False)
    ]
    if moves and not start.white_begins:
        cells.insert(0, _NOTHING)
    if len(cells) % 2:
        cells.append(_NOTHING)
    rows = "".join(
        [
            f'<tr><th scope="row">{number}</th>{white}{black}</tr>\n'
            for number, (white, black) in enumerate(zip(cells[::2], cells[1::2], strict=True), start.number)
        ]
    )
    return trusted_markup(f'<table class="moves">{_HEAD}<tbody>\n{rows}</tbody></table>')


# The drawings of the pieces.

_SQUARE_SIZE = 45  # units of a square in the drawings


@cache
def piece_drawings() -> Mapping[str, str]:
    """Return the SVG of each piece by its FEN letter. The ids are `piece-LETTER`.

    The drawings are those of python-chess, in the form that ``pieces.js`` has.
    """
    drawings = read_asset("pieces.js").partition(" = ")[2]
    found: dict[str, str] = json.loads(drawings.removesuffix(";\n"))
    return found


@lru_cache(1024)  # cached, because many games end with the same kinds of pieces
def piece_symbols(letters: str = PIECE_LETTERS) -> Markup:
    """Return an SVG element that defines the drawings of the given pieces."""
    return Markup("<defs>{}</defs>").format(
        Markup("").join(trusted_markup(piece_drawings()[letter]) for letter in letters)
    )


# The board.

_SIZE = 8 * _SQUARE_SIZE
_DARK = "".join(
    f"M{x * _SQUARE_SIZE} {y * _SQUARE_SIZE}h{_SQUARE_SIZE}v{_SQUARE_SIZE}h-{_SQUARE_SIZE}z"
    for y in range(8)
    for x in range(8)
    if (x + y) % 2
)
_FILES = "".join(
    f'<text x="{at * _SQUARE_SIZE + 43}" y="357" text-anchor="end">{name}</text>' for at, name in enumerate("abcdefgh")
)
_RANKS = "".join(f'<text x="3" y="{at * _SQUARE_SIZE + 11}">{8 - at}</text>' for at in range(8))
_SQUARES = f'<path class="light" d="M0 0h{_SIZE}v{_SIZE}H0z"/><path class="dark" d="{_DARK}"/>'
_PLACES = {
    f"{file}{rank}": f'x="{x * _SQUARE_SIZE}" y="{(8 - rank) * _SQUARE_SIZE}"'
    for rank in range(1, 9)
    for x, file in enumerate("abcdefgh")
}
_PIECES_BY_COLOR = (("White", "KQRBNP"), ("Black", "kqrbnp"))
_PIECE_NAMES = {"k": "King", "q": "Queen", "r": "Rook", "b": "Bishop", "n": "Knight", "p": "pawn"}


def empty_board() -> Markup:
    """Return a board that a script fills with pieces."""
    return _board_diagram(_NO_BOARD, (), own_pieces=False)


def _board_diagram(squares: str, last: Iterable[str], *, own_pieces: bool = True) -> Markup:
    """Return the board with White at the bottom, as SVG with a description for screen readers.

    `last` contains the squares of the last move. If `own_pieces` is true, the SVG includes the drawings of the pieces.
    """
    places: dict[str, list[str]] = {}
    for name, letter in zip(_PLACES, squares, strict=True):
        places.setdefault(letter, []).append(name)
    used = "".join(letter for letter in PIECE_LETTERS if letter in places)
    marks = "".join(
        f'<rect {_PLACES[name]} width="{_SQUARE_SIZE}" height="{_SQUARE_SIZE}"/>' for name in sorted(set(last))
    )
    pieces = "".join(f'<use href="#piece-{letter}" {_PLACES[name]}/>' for letter in used for name in places[letter])
    label = "; ".join(f"{side}: {_describe_pieces(places, letters)}" for side, letters in _PIECES_BY_COLOR)
    return trusted_markup(
        f'<svg class="board" viewBox="0 0 {_SIZE} {_SIZE}" role="img" aria-label="{label}">'
        f"{piece_symbols(used) if own_pieces else ''}{_SQUARES}"
        f'<g class="last">{marks}</g><g class="names" aria-hidden="true">{_FILES}{_RANKS}</g>'
        f'<g class="men">{pieces}</g></svg>'
    )


def _describe_pieces(places: Mapping[str, Sequence[str]], letters: str) -> str:
    """Return a text such as ``King g1, Queen d3, pawns f2 g2``."""
    groups = [
        f"{_PIECE_NAMES[letter.lower()]}{'s' * (len(places[letter]) > 1)} {' '.join(places[letter])}"
        for letter in letters
        if letter in places
    ]
    return ", ".join(groups) or "no pieces"


def _board_squares(fen: str) -> str | None:
    """Return 64 letters for the squares from a1 to h8, or None if the FEN is not valid. Empty squares are `_EMPTY`."""
    ranks = fen.partition(" ")[0].partition("[")[0].replace("~", "").split("/")[:8]
    rows = [_row(rank) for rank in reversed(ranks)]
    found = "".join(rows)
    return found if [len(row) for row in rows] == [8] * 8 and set(found) <= _LETTERS else None


@lru_cache(4096)
def _row(rank: str) -> str:
    return "".join(_EMPTY * int(char) if char in "12345678" else char for char in rank)


def _pieces_in_hand(fen: str, *, white: bool) -> str:
    """Return the pieces that a side holds in crazyhouse, strongest first. The FEN lists them in brackets."""
    pocket = fen.partition(" ")[0].partition("[")[2].rstrip("]")
    return " ".join("".join(letter * pocket.count(letter if white else letter.lower()) for letter in "QRBNP"))


def _checks_given(fen: str) -> tuple[int, int]:
    """Return the numbers of checks that White and Black have given in three-check.

    A FEN contains either the remaining checks, as in ``3+3``, or the given checks, as in ``+0+0``.
    """
    for field in fen.split()[1:]:
        if found := _CHECKS.fullmatch(field):
            given, left, right = found[1], int(found[2]), int(found[3])
            return (left, right) if given else (_CHECKS_TO_WIN - left, _CHECKS_TO_WIN - right)
    return 0, 0


_MOVE_TEXTS = Texts[str](lambda uci: uci if _MOVE.fullmatch(uci) else "")


# The data for ``assets/board.js``. This script contains the rules of chess, and converts lines to move notation.


def _replay_json(start: StartPosition, game: Game, moves: Sequence[MoveMade]) -> Markup:
    """Return the data of the game for the script. The moves are the only text in it that engines sent."""
    plies = [_MOVE_TEXTS[move.uci] for move in moves]
    found = {
        "variant": game.opening.variant,
        "fen": start.fen,
        "white": start.white_begins,
        "number": start.number,
        "plies": " ".join(takewhile(bool, plies)),
        "clocks": [move.clock_ms for move in moves],
    }
    return trusted_markup(to_json(found).decode().replace("<", "\\u003c"))


def _line_list(start: StartPosition, moves: Sequence[MoveMade]) -> tuple[Markup | None, list[str]]:
    """Return the lines that engines sent as list items, one for each ply, and remarks on omitted lines.

    If no engine sent a line, return None instead of the items.
    """
    remarks = []
    sent = [move.pv for move in moves]
    if max(map(str.count, sent, repeat(" ")), default=0) >= MAX_LINE_WORDS:
        sent = [*map(cut_line, sent)]
        remarks.append(f"Lines are limited to {MAX_LINE_WORDS} words.")
    if not "".join(sent).isprintable():
        sent = [safe_text(" ".join(line.split())) for line in sent]
    items = [
        f"<li>{label} {line}</li>" if line else "<li></li>"
        for label, line in zip(
            _labels(start.number, start.white_begins), str(escape("\n".join(sent))).split("\n"), strict=False
        )
    ]
    text = "\n".join(items)
    if len(text.encode()) > _MAX_LINES_BYTES:
        sizes = accumulate(len(item.encode()) for item in items)
        items = [item for item, size in zip(items, sizes, strict=True) if size <= _MAX_LINES_BYTES]
        text = "\n".join(items)
        first = start.label(len(items))
        remarks.append(f"Lines from {first} on are omitted, because all lines together are too long for one page.")
    return trusted_markup(text) if any(sent) else None, remarks


@lru_cache(16)
def _labels(number: int, white_begins: bool) -> list[str]:  # noqa: FBT001
    start = StartPosition("", white_begins, number)
    return [start.label(ply).replace("…", "&hellip;") for ply in range(MAX_PLIES)]  # ASCII is faster to encode


def cut_line(line: str) -> str:
    """Limit the number of words of a line."""
    words = line.split()
    return " ".join([*words[:MAX_LINE_WORDS], "…"] if len(words) > MAX_LINE_WORDS else words)


# The page. A report can contain 10,000 tables of moves and graphs. They are written here and not by a template, because
# this takes 0.3 us instead of 0.5 us per cell (measured). All inserted text is escaped.

_LARGEST_PGN = 240_000  # characters of a PGN in a page
_MAX_LOG_LENGTH = 100_000  # maximum number of characters of all engine logs on the page
_LOG_WIDTH = 110  # columns
_NO_BOARD = _EMPTY * 64


def game_page(row: GamePage, site: Site) -> str:
    """Return the page of a game as HTML. A script replays the game on it."""
    game, here = row.game, f"games/{row.number}.html"
    moves = game.moves[:MAX_PLIES]
    start = start_position(game)
    text = pgn.game_pgn(game, row.number, site.title, **(row.tags or {}))
    lines, remarks = _line_list(start, moves)
    if game.plies > MAX_PLIES:
        remarks.insert(0, f"Only the first {MAX_PLIES} plies are shown. For all moves, use enginetour export pgn.")
    if not (has_pgn := len(text) <= _LARGEST_PGN):
        remarks.append("This game is too long for a PGN on this page. For its PGN, use enginetour export pgn.")
    squares = _board_squares(game.final_fen) or _NO_BOARD
    last = _SQUARE.findall(_MOVE_TEXTS[game.moves[-1].uci]) if game.moves else ()
    board = _board_diagram(squares, last, own_pieces=not site.single)
    white, black = (_side(game, start, site, here, white=white) for white in (True, False))
    return render_page(
        "game.html",
        site=site,
        here=here,
        root=site.link("", here),
        number=row.number,
        white=trusted_markup(ESCAPED[game.pairing.white]),
        black=trusted_markup(ESCAPED[game.pairing.black]),
        result=_RESULTS[Outcome.VOID if row.voided else game.outcome],
        ending=ending_text(row),
        began=game.started_unix,
        others=_other_games(row, site, here),
        ways=_ways(row, site, here),
        board=trusted_markup(f"{black.line}{board}\n{white.line}"),
        moves=_move_table(start, moves),
        evaluations=evaluation_graph(start, moves),
        clocks=clock_graph(start, moves),
        lines=lines,
        facts=facts_list(game_facts(row)),
        pair=trusted_markup(f"{white.facts}{black.facts}"),
        incidents=list(_incidents(game)),
        remarks=remarks,
        positions=_replay_json(start, game, moves),
        download=_download(text) if has_pgn else None,
    )


def _other_games(row: GamePage, site: Site, here: str) -> Markup:
    """Return sentences about the other games of the encounter. At most one game of each leg is not void."""
    pairing, text = row.game.pairing, ""
    for other in row.neighbors:
        link = game_link(other.number, site, here, f"Game {other.number}")
        if other.leg != pairing.leg:
            text += f" {link} is leg {other.leg} of the same encounter{'' if other.counts else ' (void)'}."
        elif other.replay > row.game.replay:
            text += f" {link} replays this game, which is void."
        else:
            text += f" This game replays {game_link(other.number, site, here, f'game {other.number}')}, which is void."
    return trusted_markup(text)


def _ways(row: GamePage, site: Site, here: str) -> Markup:
    """Return links to the previous game, to all games and to the next game."""
    ways = [f'<a href="{escape(site.link("games.html", here))}">all games</a>']
    if row.before is not None:
        ways.insert(0, game_link(row.before, site, here, "previous"))
    if row.after is not None:
        ways.append(game_link(row.after, site, here, "next"))
    return trusted_markup(" ".join(ways))


class _Side(NamedTuple):
    """The markup of one side: the line above or below the board, and facts about the engine."""

    line: str
    facts: str


def _side(game: Game, start: StartPosition, site: Site, here: str, *, white: bool) -> _Side:
    """Return the markup of one side.

    The line at the board contains the name, pieces in hand or checks, and the last clock and score of the game.
    """
    plies = game.moves[white is not start.white_begins :: 2][::-1]
    clock = next((move.clock_ms for move in plies if move.clock_ms is not None), None)
    score = next((move.score for move in plies if move.score is not None), None)
    variant, fen = game.opening.variant, game.final_fen
    link = engine_link(game.pairing.white if white else game.pairing.black, site, here)
    held = f'<span class="hand">{_pieces_in_hand(fen, white=white) if variant == "crazyhouse" else ""}</span>'
    if variant == "3check":
        held = f'<span class="checks" title="checks given">{_checks_given(fen)[not white]}</span>{held}'
    line = (
        f'<p class="side {"white" if white else "black"}"><span class="dot" aria-hidden="true"></span>'
        f'<span class="who">{link}</span>\n{held}'
        f'<span class="score">{"" if score is None else format_score(score if white else -score)}</span>'
        f'<span class="clock">{"" if clock is None else format_clock_time(clock)}</span></p>\n'
    )
    used = facts_list(engine_facts(game.white if white else game.black))
    return _Side(line, f"<div><h3>{'White' if white else 'Black'}: {link}</h3>\n{used}</div>\n")


def _incidents(game: Game) -> Iterator[tuple[Incident, list[str]]]:
    """Yield each incident with the lines of its engine log, up to the limit of the page."""
    room = _MAX_LOG_LENGTH
    for incident in game.incidents:
        log: list[str] = []
        for line in incident_lines(incident, _LOG_WIDTH):
            room -= len(line)
            if room < 0:
                log.append("…")
                break
            log.append(line)
        yield incident, log


def _download(text: str) -> Markup:
    packed = base64.b64encode(text.encode("utf-8", "replace")).decode()
    return trusted_markup(f"data:application/x-chess-pgn;base64,{packed}")
