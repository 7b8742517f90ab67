"""The page of a game: board, moves, graphs, lines, and all that is known of it.

10,000 of them are made in seconds, so tables of moves and graphs are written here and not by templates (0.3 us a cell,
0.5 by a template: measured). Every word that is not ours is escaped.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from enginetour.model.game import Game, Incident
from enginetour.reports import pgn
from enginetour.reports.html import gamewords, graphs, replay
from enginetour.reports.html.diagram import diagram
from enginetour.reports.html.gamerow import GameRow
from enginetour.reports.html.movelist import SHOWN_PLIES, move_table
from enginetour.reports.html.page import render
from enginetour.reports.html.replay import Lines, Start
from enginetour.reports.html.site import Site
from enginetour.reports.incident import incident_lines

LARGEST_PGN = 240_000  # bytes that a page carries along; a longer game is in the tournament's PGN
LARGEST_TRAFFIC = 100_000  # signs of all incidents of one game
_TRAFFIC_WIDTH = 110  # columns
_NO_BOARD = replay.EMPTY * 64


def game_page(row: GameRow, site: Site) -> str:
    """Return the page as HTML; the script that goes with it replays the game."""
    game = row.game
    moves = game.moves[:SHOWN_PLIES]
    start = replay.start_of(game)
    text = pgn.text(game, row.number, row.event)
    lines = replay.line_list(start, moves, replay.LARGEST_LINES)
    has_pgn = len(text) <= LARGEST_PGN
    squares = replay.squares_of(game.final_fen) or _NO_BOARD
    return render(
        "game.html",
        site=site,
        here=f"games/{row.number}.html",
        row=row,
        played=game,
        result=gamewords.result(row),
        ending=gamewords.ending(row),
        board=diagram(squares, replay.last_squares(game.moves), own_pieces=not site.single),
        moves=move_table(start, moves),
        evaluations=graphs.evaluations(start, moves),
        clocks=graphs.clocks(start, moves),
        lines=lines.markup if lines.found else None,
        sides=tuple(_side(game, start, white=white) for white in (True, False)),
        facts=[(label, words) for label, words in gamewords.facts(row) if words],
        incidents=list(_incidents(game)),
        remarks=tuple(_remarks(game, start, lines, len(moves), has_pgn=has_pgn)),
        positions=replay.told(start, game, moves),
        download=_download(text) if has_pgn else None,
    )


def _side(game: Game, start: Start, *, white: bool) -> dict[str, object]:
    """What stands beside the board for one side: its name, hand or checks, clock and score at the end."""
    plies = game.moves[white is not start.white_begins :: 2][::-1]
    clock = next((move.clock_ms for move in plies if move.clock_ms is not None), None)
    scored = next((move for move in plies if move.score is not None), None)
    score = "" if scored is None or scored.score is None else pgn.score_words(scored.score if white else -scored.score)
    variant, fen = game.opening.variant, game.final_fen
    return {
        "name": game.pairing.white if white else game.pairing.black,
        "clock": "" if clock is None else graphs.seconds(clock),
        "score": score,
        "depth": "" if scored is None or not scored.depth else scored.depth,
        "held": replay.held(fen, white=white) if variant == "crazyhouse" else "",
        "checks": replay.checks_given(fen)[not white] if variant == "3check" else None,
        "used": [(label, words) for label, words in gamewords.used(game.white if white else game.black) if words],
    }


def _incidents(game: Game) -> Iterator[tuple[Incident, list[str]]]:
    """Each with its traffic line by line, as far as there is room."""
    room = LARGEST_TRAFFIC
    for incident in game.incidents:
        words: list[str] = []
        for line in incident_lines(incident, _TRAFFIC_WIDTH):
            room -= len(line)
            if room < 0:
                words.append("…")
                break
            words.append(line)
        yield incident, words


def _remarks(game: Game, start: Start, lines: Lines, shown: int, *, has_pgn: bool) -> Iterator[str]:
    """What of the record is not on the page, and why."""
    if game.plies > SHOWN_PLIES:
        yield f"Moves after the first {SHOWN_PLIES} plies are left out here; enginetour export pgn has them."
    if lines.cut:
        yield f"Lines are cut after {replay.LINE_WORDS} words."
    if lines.count < shown:
        yield f"From {start.label(lines.count)} on lines are left out, they are too long for one page."
    if not has_pgn:
        yield "The game is too long to be carried along as PGN; enginetour export pgn has it."


def _download(text: str) -> str:
    packed = base64.b64encode(text.encode("utf-8", "replace")).decode()
    return f"data:application/x-chess-pgn;base64,{packed}"
