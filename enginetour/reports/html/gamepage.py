"""The page of a game: board, moves, graphs, lines, and all that is known of it.

10,000 of them are made in seconds, so lines are spelled for many games at once, and tables of moves and graphs are
written here and not by templates (0.3 us a cell, 0.5 by a template: measured). Every word that is not ours is escaped.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from enginetour.model import Game, Incident, MoveMade
from enginetour.reports import pgn
from enginetour.reports.html import gamewords, graphs
from enginetour.reports.html.diagram import diagram
from enginetour.reports.html.expected import SHOWN_PLIES as LINE_PLIES
from enginetour.reports.html.expected import Line, lines
from enginetour.reports.html.gamerow import GameRow
from enginetour.reports.html.movelist import SHOWN_PLIES, line_list, move_table
from enginetour.reports.html.ownmarkup import own
from enginetour.reports.html.page import render
from enginetour.reports.html.replay import Replay, final_board, replayed
from enginetour.reports.html.site import Site
from enginetour.reports.incident import incident_lines

AT_ONCE = 100  # games whose lines are spelled together (measured: 20: 1.9, 100: 1.5, 300: 1.4 ms a game)
LARGEST_PGN = 240_000  # bytes that a page carries along; a longer game is in the tournament's PGN
LARGEST_TRAFFIC = 100_000  # signs of all incidents of one game
LARGEST_LINES = 400_000  # bytes of all lines; those of usual games take 15 KB
_TRAFFIC_WIDTH = 110  # columns


def game_page(row: GameRow, site: Site) -> str:
    """One page; `game_pages` is several times quicker for many."""
    return next(game_pages([row], site))


def game_pages(rows: Sequence[GameRow], site: Site) -> Iterator[str]:
    """Pages in the order of the rows; hand in some `AT_ONCE`."""
    replays = [replayed(row.game) for row in rows]
    shown = [row.game.moves[:SHOWN_PLIES] for row in rows]
    expected = lines(list(zip(replays, shown, strict=True)))
    for row, replay, told in zip(rows, replays, expected, strict=True):
        yield _page(row, replay, told, site)


def _page(row: GameRow, replay: Replay, expected: Sequence[Line | None], site: Site) -> str:
    game = row.game
    moves = game.moves[:SHOWN_PLIES]
    whole = len(replay.plies) == len(game.moves)
    squares = replay.boards[-1] if whole else final_board(game)
    last = [square for square, _ in replay.plies[-1][0]] if whole and replay.plies else ()
    text = pgn.text(game, row.number, row.event)
    items, number = line_list(replay, expected, LARGEST_LINES)
    has_pgn = len(text) <= LARGEST_PGN
    return render(
        "game.html",
        site=site,
        here=f"games/{row.number}.html",
        row=row,
        played=game,
        result=gamewords.result(row),
        ending=gamewords.ending(row),
        board=diagram(squares, last, own_pieces=not site.single),
        moves=move_table(replay, moves),
        evaluations=graphs.evaluations(replay, moves),
        clocks=graphs.clocks(replay, moves),
        lines=items if any(expected) else None,
        sides=tuple(_side(game, replay, white=white) for white in (True, False)),
        facts=[(label, words) for label, words in gamewords.facts(row) if words],
        incidents=list(_incidents(game)),
        remarks=tuple(_remarks(game, replay, expected, number, has_pgn=has_pgn)),
        positions=_positions(replay, moves, expected[:number]),
        download=_download(text) if has_pgn else None,
    )


def _side(game: Game, replay: Replay, *, white: bool) -> dict[str, object]:
    """What stands beside the board for one side: its name, hand or checks, clock and score at the end."""
    plies = [ply for ply in range(len(game.moves)) if replay.is_white(ply) is white]
    clock = next((move.clock_ms for ply in reversed(plies) if (move := game.moves[ply]).clock_ms is not None), None)
    scored = next((move for ply in reversed(plies) if (move := game.moves[ply]).score is not None), None)
    score = "" if scored is None or scored.score is None else pgn.score_words(scored.score if white else -scored.score)
    hand = replay.hands[-1] if replay.hands else ""
    return {
        "name": game.pairing.white if white else game.pairing.black,
        "clock": "" if clock is None else graphs.seconds(clock),
        "score": score,
        "depth": "" if scored is None or not scored.depth else scored.depth,
        "held": " ".join(letter.upper() for letter in hand if letter.isupper() is white),
        "checks": replay.checks[-1][not white] if replay.checks else None,
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


def _remarks(
    game: Game, replay: Replay, expected: Sequence[Line | None], lines_shown: int, *, has_pgn: bool
) -> Iterator[str]:
    """What of the record is not on the page, and why."""
    if game.plies > SHOWN_PLIES:
        yield f"Moves after the first {SHOWN_PLIES} plies are left out here; enginetour export pgn has them."
    if len(replay.plies) < game.plies:
        yield f"From {replay.label(len(replay.plies))} on the moves of the record cannot be shown on a board."
    if any(line is not None and line.cut for line in expected):
        yield f"Lines are cut after {LINE_PLIES} plies."
    if lines_shown < len(expected):
        yield f"From {replay.label(lines_shown)} on lines are left out, they are too long for one page."
    if not has_pgn:
        yield "The game is too long to be carried along as PGN; enginetour export pgn has it."


def _positions(replay: Replay, moves: Sequence[MoveMade], expected: Sequence[Line | None]) -> Markup:
    """What the script is told, as JSON that no word of an engine gets into."""
    shown = min(len(moves), len(replay.plies))
    told: dict[str, object] = {
        "start": "".join(chr(code) if code else "-" for code in replay.boards[0]),
        "white": replay.white_begins,
        "number": replay.number,
        "plies": " ".join(words for _, words in replay.plies[:shown]),
        "lines": ["" if line is None else line.changes for line in expected],
        "clocks": [move.clock_ms for move in moves],
    }
    if replay.hands:
        told["hands"] = replay.hands[: shown + 1]
    if replay.checks:
        told["checks"] = replay.checks[: shown + 1]
    return own(json.dumps(told, separators=(",", ":")).replace("<", "\\u003c"))


def _download(text: str) -> str:
    packed = base64.b64encode(text.encode("utf-8", "replace")).decode()
    return f"data:application/x-chess-pgn;base64,{packed}"
