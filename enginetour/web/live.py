"""The live state of a running tournament: boards, clocks, last games, and the pages that show it."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice
from operator import itemgetter
from time import thread_time
from typing import TYPE_CHECKING, Any

from enginetour.model.game import Game, Incident, MoveMade, Opening, Outcome, Pairing, SideRecord, Termination
from enginetour.model.variants import VARIANTS, board_of
from enginetour.reports.forecast import forecast_sheet
from enginetour.reports.pgn import format_score, game_pgn
from enginetour.reports.sheet import safe_text

if TYPE_CHECKING:
    import chess


# Games in progress.

_LINE_PLIES = 12  # plies of a PV that fit below a board
MAX_PV_LENGTH = 160  # characters of a PV that is not a list of moves (CECP: free text)
SHOWN_MOVES = 16  # plies of the game next to its board
_SHOWN_SCORES = 32  # evaluations sent with each move; between two updates, engines make fewer moves
_MAX_SCORE = 1000  # centipawns; larger evaluations are drawn at this height


class LiveGame:
    """A game in progress. New moves are only stored; the board is updated when a page needs it."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self.white, self.black = safe_text(start.get("white", "?")), safe_text(start.get("black", "?"))
        self.opening = safe_text(start.get("opening") or "")
        self._eco = safe_text(start.get("eco") or "")
        self._hardware = safe_text(start.get("hardware") or "")
        self._engines = [safe_text(name) for name in start.get("engines") or ("", "")]
        self.clocks: list[int | None] = list(start.get("clocks") or (None, None))
        self.controls = [safe_text(text) for text in start.get("tc") or ("", "")]
        self.at = self._begun_at = float(start.get("at") or time.time())
        self.moves: list[str] = [str(move) for move in start.get("moves", ())]
        self.scores: list[int | None] = [None] * len(self.moves)  # centipawns, from White's side
        self.over = False
        self.incomplete = False  # moves are missing, so the board is not updated any more
        self._searched: list[Mapping[str, Any] | None] = [None, None]
        self._events: dict[int, Mapping[str, Any]] = {}  # by ply
        self._numbers = [int(start.get(name) or 1) for name in ("encounter", "leg", "round")]
        self._odds, self._book_number = int(start.get("handicap") or 0), int(start.get("opening_number") or 0)
        self._booked = 0 if "ply" in start else len(self.moves)
        self._sans: list[str] = []
        self._variant = str(start.get("variant") or "standard")
        self._variant = self._variant if self._variant in VARIANTS else "standard"
        self._fen = start.get("fen")
        self._board = self._first_board(self._fen)
        self._white_first, self._number = self._board.turn, self._board.fullmove_number
        if "ply" in start:  # the game has already started
            self.incomplete = start["ply"] != len(self.moves)
            self._note(start)

    def _first_board(self, fen: str | None) -> chess.Board:
        try:
            return board_of(self._variant, fen)
        except ValueError:
            self.incomplete = True
            return board_of("standard")

    def move(self, event: Mapping[str, Any]) -> bool:
        """Add a move. Return false if it is already known."""
        ply = event.get("ply")
        if not isinstance(ply, int) or ply <= len(self.moves):
            return False
        self.incomplete = self.incomplete or ply != len(self.moves) + 1
        self.moves.append(str(event.get("uci")))
        self.scores.append(None)
        self._note(event)
        return True

    def _note(self, event: Mapping[str, Any]) -> None:
        self.clocks = list(event.get("clocks") or self.clocks)
        self.at = float(event.get("at") or time.time())
        white = event["ply"] % 2 == self._white_first  # plies of White are odd if White started
        self._searched[not white] = self._events[event["ply"]] = event
        score = event.get("score")
        if isinstance(score, int) and self.scores:
            self.scores[-1] = max(-_MAX_SCORE, min(_MAX_SCORE, score if white else -score))

    def _catch_up(self) -> None:
        """Play the new moves on the board, up to the first one that is not legal."""
        while not self.incomplete and len(self._sans) < len(self.moves):
            try:
                move = self._board.parse_uci(self.moves[len(self._sans)])
                self._sans.append(self._board.san_and_push(move))
            except (ValueError, AssertionError):
                self.incomplete = True

    def to_json(self, *, whole: bool = False) -> dict[str, Any]:
        """Return the game as a page shows it. `whole` includes all evaluations, for a page that was just opened."""
        self._catch_up()
        board = self._board
        last = board.peek() if board.move_stack else None
        return {
            "white": self.white,
            "black": self.black,
            "opening": self.opening,
            "tc": self.controls,
            "variant": "" if self._variant == "standard" else self._variant,
            "begun": self._begun_at,
            "ply": len(self.moves),
            "placement": board.board_fen().replace("~", ""),
            "turn": "white" if board.turn else "black",
            "first": "white" if self._white_first else "black",
            "last": [] if last is None else _squares(last),
            "moves": self._movetext(),
            "extra": _extra(board),
            "clocks": self.clocks,
            "since": max(0.0, round(time.time() - self.at, 3)),
            "at": self.at,
            "over": self.over,
            "incomplete": self.incomplete,
            "searches": [self._search(0), self._search(1)],
            "graph": self.scores if whole else self.scores[-_SHOWN_SCORES:],
        }

    def to_pgn(self, event: str, number: int, tags: Mapping[str, Any]) -> str:
        """Return the game as PGN with the result ``*``. Moves that were made before the connection have no comments.

        `tags` is the result of `common_tags` for the tournament.
        """
        self._catch_up()
        moves = [
            MoveMade(uci, san, book=True)
            if ply <= self._booked
            else MoveMade(uci, san, *_figures(self._events.get(ply, {})))
            for ply, (uci, san) in enumerate(zip(self.moves, self._sans, strict=False), 1)
        ]
        encounter, leg, round_ = self._numbers
        game = Game(
            Pairing(self.white, self.black, leg=leg, encounter=encounter, round=round_, handicap=self._odds),
            Outcome.VOID,
            Termination.ABORTED,
            opening=Opening(
                self.opening,
                self._book_number,
                self._fen,
                tuple(self.moves[: self._booked]),
                self._eco,
                self._variant,
            ),
            moves=tuple(moves),
            white=SideRecord(self._engines[0]),
            black=SideRecord(self._engines[1]),
            white_tc=self.controls[0],
            black_tc=self.controls[1],
            started_unix=self._begun_at,
            ended_unix=self.at,
            hardware=self._hardware,
        )
        unseen = max((ply for ply in range(self._booked + 1, len(moves) + 1) if ply not in self._events), default=0)
        return game_pgn(game, number, event, bare=unseen, **tags)

    @property
    def version(self) -> tuple[float, int]:
        """Numbers that change with every move and every game."""
        return self._begun_at, len(self.moves)

    def _movetext(self) -> str:
        """Return the last moves with their numbers: ``34. Nf3 Nc6 35. e5``."""
        words: list[str] = []
        first = max(0, len(self._sans) - SHOWN_MOVES)
        for ply in range(first, len(self._sans)):
            number, white = self._number + (ply + (not self._white_first)) // 2, (ply % 2 == 0) == self._white_first
            words += [f"{number}."] if white else [f"{number}…"] if ply == first else []
            words.append(self._sans[ply])
        return " ".join(words)

    def _search(self, side: int) -> dict[str, Any] | None:
        """Return the last search of a side: score from White's side, depth, nodes, time and PV in SAN."""
        search = self._searched[side]
        if search is None:
            return None
        score = search.get("score")
        return {
            "score": "" if score is None else format_score(int(score) * (-1 if side else 1)),
            "depth": search.get("depth"),
            "nodes": search.get("nodes"),
            "ms": search.get("elapsed_ms"),
            "pv": self._pv(str(search.get("pv") or ""), int(search["ply"])),
        }

    def _pv(self, pv: str, ply: int) -> str:
        """Return a PV in SAN as far as it is legal, or its text if it does not start with a move."""
        words = pv.split()
        if not words or self.incomplete:
            return safe_text(pv)[:MAX_PV_LENGTH]
        board = self._board.copy()
        while len(board.move_stack) > max(0, ply - 1):
            board.pop()
        line: list[chess.Move] = []
        before = board.copy(stack=False)
        for word in islice(words, _LINE_PLIES):
            try:
                move = board.push_uci(word)
            except ValueError:
                break
            if not move:  # a null move
                break
            line.append(move)
        return before.variation_san(line) if line else safe_text(pv)[:MAX_PV_LENGTH]


def _figures(event: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return time, clock, score and depth of a move event."""
    return event.get("elapsed_ms") or 0, event.get("clock_ms"), event.get("score"), event.get("depth")


def _squares(move: chess.Move) -> list[str]:
    """Return the squares of a move; a drop has only one."""
    uci = move.uci()
    return [uci[2:4]] if "@" in uci else [uci[:2], uci[2:4]] if uci != "0000" else []


def _extra(board: chess.Board) -> list[str]:
    """Return the pieces in hand, or the number of checks left, of White and Black, for variants that have them."""
    for name in ("pockets", "remaining_checks"):
        if (found := getattr(board, name, None)) is not None:
            label = "checks left" if name == "remaining_checks" else "in hand"
            return [f"{label}: {' '.join(str(found[white]).upper()) or '–'}" for white in (True, False)]
    return []


# Server-sent events.

MAX_PENDING = 1280  # pending updates of a page, 1 KB each; with more, the whole state is sent again


def sse_frame(event: str, value: Mapping[str, Any]) -> bytes:
    """Return a server-sent event (WHATWG HTML 9.2): its name and one line of JSON."""
    return f"event: {event}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n".encode()


class Listener:
    """The pending events of one page. Only the newest event of each kind is kept, which limits the memory."""

    def __init__(self) -> None:
        self._due: dict[str, bytes] = {}
        self._awake = asyncio.Event()
        self.behind = False  # too many events were pending, so the whole state must be sent again
        self.closed = False

    def put(self, thing: str, frame: bytes) -> None:
        """Add an event. It replaces a pending event with the same `thing`."""
        if len(self._due) >= MAX_PENDING:
            self._due.clear()
            self.behind = True
        if not self.behind:
            self._due.pop(thing, None)
            self._due[thing] = frame
        self._awake.set()

    def close(self) -> None:
        """Close the stream of this page."""
        self.closed = True
        self._awake.set()

    async def due(self, patience: float) -> bytes:
        """Return all pending events, oldest first, or a keep-alive comment after `patience` seconds."""
        if not self._awake.is_set():
            try:
                await asyncio.wait_for(self._awake.wait(), patience)
            except TimeoutError:
                return b": keep-alive\n\n"
        self._awake.clear()
        frames, self._due = b"".join(self._due.values()), {}
        return frames


# Tournaments.

MAX_LINES = 30  # games, incidents and decisions on a page
UPDATE_INTERVAL_S = 0.1  # seconds between two updates of the boards of a tournament
_REST = 4  # times the duration of the last update; limits the updates of many boards to a fifth of one processor
# Events of the event log that are shown with the incidents.
_REPORTED_EVENTS = ("suspended", "withdrawn", "paused", "resumed", "slots", "asked", "disk-low", "trouble")


_NOT_PROGRESS = ("event", "ok", "playing", "forecast")


class LiveTournament:
    """The live state of one tournament. It is used in the event loop only. Without listeners, an event costs little."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.running = False
        self.games: dict[int, LiveGame] = {}
        self.progress: dict[str, Any] = {}
        self.table: dict[str, Any] = {}
        self.forecast: dict[str, Any] = {}  # the newest forecast; empty if there is none
        self.lines: deque[dict[str, Any]] = deque(maxlen=MAX_LINES)
        self.incidents: deque[dict[str, Any]] = deque(maxlen=MAX_LINES)
        self.listeners: set[Listener] = set()
        self.stale = True  # something has changed since the standings were read
        self.refused = ""  # the reason, already reported, why the standings cannot be read
        self.whole = False  # true: `lines` ends with the last line of the event log
        self._changed: set[int] = set()
        self._due_at = 0.0  # earliest time of the next update, by the clock of the loop
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, status: Mapping[str, Any]) -> None:
        """Set the whole state from the answer to `status`."""
        self.running = True
        self.games = {int(game["slot"]): LiveGame(game) for game in status.get("playing", ()) if "slot" in game}
        self._set_progress(status)
        self.forecast = dict(status.get("forecast") or {})
        self.stale, self.whole = True, False
        self.send_all()

    def merge_lines(self, lines: Sequence[dict[str, Any]], incidents: Sequence[dict[str, Any]]) -> None:
        """Add the last lines of the event log before the live lines. Results of games that became void are updated."""
        numbers, now = {line["number"] for line in self.lines}, {line["number"]: line for line in lines}
        live = [_as_it_counts(line, now.get(line["number"], line)) for line in self.lines]
        games = [*(line for line in lines if line["number"] not in numbers), *live]
        known = [_incident_key(line) for line in self.incidents]
        found = [*(line for line in incidents if _incident_key(line) not in known), *self.incidents]
        self.lines = deque(sorted(games, key=itemgetter("number")), MAX_LINES)
        self.incidents = deque(sorted(found, key=lambda line: line["game"] or line["after"] or 0), MAX_LINES)
        self.send_all()

    def end(self) -> None:
        """Mark the tournament as stopped or finished, and remove its boards."""
        self.running = False
        self.games.clear()
        self.forecast = {}
        state = "finished" if list(self.progress.get("remaining", ())) == [0, 0] else "stopped"  # until the log is read
        self.progress = {**self.progress, "state": state, "eta": None, "eta_range": None}
        self.stale = True
        self.send_all()

    def take(self, event: Mapping[str, Any]) -> None:
        """Process a live event."""
        kind = event.get("event")
        if kind in ("start", "move", "end"):
            self._take_board(str(kind), event)
        elif kind == "progress":
            changed = any(event.get(key) != self.progress.get(key) for key in ("games_done", "remaining"))
            self.stale = self.stale or changed
            self.whole = self.whole and event.get("games_done", 0) >= self.progress.get("games_done", 0)
            self._set_progress(event)
            self.send("progress", "progress", self.progress)
        elif kind == "forecast":
            self.forecast = {key: value for key, value in event.items() if key != "event"}
            self.send("forecast", "forecast", _forecast_texts(self.forecast))
        elif kind == "game":
            self._finished(event)
        elif kind in ("incident", "warning"):
            engine, category, cause = (str(event.get(key, "")) for key in ("engine", "category", "cause"))
            line = incident_line(event.get("game"), Incident(engine, category, cause), str(kind))
            self._line(self.incidents, "incident", line)
        elif kind in _REPORTED_EVENTS:
            text = safe_text(event.get("text", "")).removeprefix(f"{safe_text(self.title)}: ")
            after = self.lines[-1]["number"] if self.lines else self.progress.get("games_done", 0)
            line = {"kind": kind, "game": None, "after": after, "engine": "", "text": text}
            self._line(self.incidents, "incident", line)

    def _take_board(self, kind: str, event: Mapping[str, Any]) -> None:
        slot = int(event["slot"])
        if kind == "start":
            self.games[slot] = LiveGame(event)
        elif slot not in self.games:
            return
        elif kind == "end":
            self.games[slot].over = True
        elif not self.games[slot].move(event):
            return
        self._changed.add(slot)
        self._schedule_boards()

    def _set_progress(self, status: Mapping[str, Any]) -> None:
        self.progress = {key: value for key, value in status.items() if key not in _NOT_PROGRESS}

    def _finished(self, event: Mapping[str, Any]) -> None:
        self.stale = True
        line = {key: event.get(key) for key in ("number", "result", "plies", "seconds")}
        line |= {key: safe_text(event.get(key, "")) for key in ("white", "black", "cause")}
        line["decisions"] = [safe_text(text) for text in event.get("decisions", ())]
        self._line(self.lines, "game", line)

    def _line(self, lines: deque[dict[str, Any]], kind: str, line: dict[str, Any]) -> None:
        lines.append(line)
        self.send(f"{kind} {line.get('number')} {id(line)}", f"{kind}-line", line)

    def add_listener(self, listener: Listener) -> None:
        """Add a page and send it the whole state."""
        self.listeners.add(listener)
        listener.put("all", sse_frame("all", self.snapshot()))

    def snapshot(self) -> dict[str, Any]:
        """Return the whole state."""
        return {
            "running": self.running,
            "progress": self.progress,
            "forecast": _forecast_texts(self.forecast),
            "games": {str(slot): game.to_json(whole=True) for slot, game in sorted(self.games.items())},
            "table": self.table,
            "lines": list(self.lines),
            "incidents": list(self.incidents),
        }

    def send(self, thing: str, event: str, value: Mapping[str, Any]) -> None:
        """Send an event to all pages. A page that has fallen behind gets the whole state."""
        if not self.listeners:
            return
        frame = sse_frame(event, value)
        for listener in self.listeners:
            listener.put(thing, frame)
        if any(listener.behind for listener in self.listeners):
            whole = sse_frame("all", self.snapshot())
            for listener in self.listeners:
                if listener.behind:
                    listener.behind = False
                    listener.put("all", whole)

    def send_all(self) -> None:
        """Send the whole state to all pages."""
        if self.listeners:
            self.send("all", "all", self.snapshot())

    def _schedule_boards(self) -> None:
        """Send the changed boards now, or at the end of the current update interval."""
        if not self.listeners:
            self._changed.clear()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(self._due_at, loop.time()), self._send_boards)

    def _send_boards(self) -> None:
        self._timer, begun = None, thread_time()
        for slot in sorted(self._changed & self.games.keys()):
            self.send(f"board {slot}", "board", {"slot": slot, **self.games[slot].to_json()})
        self._changed.clear()
        self._due_at = asyncio.get_running_loop().time() + max(UPDATE_INTERVAL_S, _REST * (thread_time() - begun))


def _forecast_texts(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a forecast as a page shows it: its table and notes; empty without a forecast."""
    if not found:
        return {}
    sheet = forecast_sheet(found)
    columns = [{"header": safe_text(column.header), "left": column.left} for column in sheet.columns]
    return {"title": sheet.title, "columns": columns, "rows": sheet.cells()[:MAX_LINES], "notes": list(sheet.notes)}


def _as_it_counts(line: dict[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return a live line, with the current result if its game became void."""
    if now.get("result", line["result"]) == line["result"]:
        return line
    return line | {"result": now["result"], "cause": now["cause"]}


def incident_line(game: int | None, incident: Incident, kind: str) -> dict[str, Any]:
    """Return an incident of a game as a page shows it. `kind` is "incident" or "warning"."""
    text = f"{safe_text(incident.category)}: {safe_text(incident.cause)}"
    return {"kind": kind, "game": game, "after": None, "engine": safe_text(incident.at_fault), "text": text}


def _incident_key(line: Mapping[str, Any]) -> tuple[object, ...]:
    return line["game"], line["engine"], line["text"]
