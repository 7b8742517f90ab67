"""One tournament of the playing hall: the games in the air, how far it is, its last lines, and who looks on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from time import thread_time
from typing import Any

from enginetour.model.game import Incident
from enginetour.reports.sheet import safe
from enginetour.web.game import LiveGame
from enginetour.web.listener import Listener, framed

LINES = 30  # of games and incidents kept and shown: what a page has room for
BEAT_S = 0.1  # between two tellings of one tournament: ten a second are more than an eye follows
REST = 4  # times what the last telling of the boards took: those of a cluster take a fifth of one processor, not all
# Events of the journal that deserve a line of their own; the games have theirs.
TOLD = ("suspended", "withdrawn", "paused", "resumed", "slots", "asked", "disk-low", "trouble")


class Room:
    """Mutable and of the event loop alone. Without anybody looking on an event costs next to nothing."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.running = False
        self.games: dict[int, LiveGame] = {}
        self.progress: dict[str, Any] = {}
        self.table: dict[str, Any] = {}
        self.lines: deque[dict[str, Any]] = deque(maxlen=LINES)
        self.incidents: deque[dict[str, Any]] = deque(maxlen=LINES)
        self.audience: set[Listener] = set()
        self.stale = True  # there was a game or another change since the table was made
        self.refused = ""  # why there is no table, as it was told
        self.whole = False  # its lines are the last of the log, none missing
        self._changed: set[int] = set()
        self._due_at = 0.0  # by the loop's clock: no board is told before
        self._timer: asyncio.TimerHandle | None = None

    # What comes from the running tournament.

    def begin(self, status: Mapping[str, Any]) -> None:
        """Its answer to `status`: everything as it is now."""
        self.running = True
        self.games = {int(game["slot"]): LiveGame(game) for game in status.get("playing", ()) if "slot" in game}
        self._far(status)
        self.stale, self.whole = True, False
        self.tell_all()

    def remember(self, lines: Sequence[dict[str, Any]], incidents: Sequence[dict[str, Any]]) -> None:
        """The last lines of the log, before those that were told live; a game may have been struck out since."""
        known, now = {line["number"] for line in self.lines}, {line["number"]: line for line in lines}
        live = [_as_it_counts(line, now.get(line["number"], line)) for line in self.lines]
        kept = sorted([*(line for line in lines if line["number"] not in known), *live], key=_number)
        told = [_told(line) for line in self.incidents]
        found = [*(line for line in incidents if _told(line) not in told), *self.incidents]
        self.lines = deque(kept, maxlen=LINES)
        self.incidents = deque(sorted(found, key=_after), LINES)
        self.tell_all()

    def end(self) -> None:
        """It runs no more; its last boards go."""
        self.running = False
        self.games.clear()
        state = "finished" if list(self.progress.get("remaining", ())) == [0, 0] else "stopped"  # the log has the word
        self.progress = {**self.progress, "state": state, "eta": None, "eta_range": None}
        self.stale = True
        self.tell_all()

    def take(self, event: Mapping[str, Any]) -> None:
        """A live event."""
        kind = event.get("event")
        if kind in ("start", "move", "end"):
            self._play(str(kind), event)
        elif kind == "progress":
            changed = any(event.get(key) != self.progress.get(key) for key in ("games_done", "remaining"))
            self.stale = self.stale or changed  # somebody left or came, a game was struck out
            self.whole = self.whole and event.get("games_done", 0) >= self.progress.get("games_done", 0)
            self._far(event)
            self.tell("progress", "progress", self.progress)
        elif kind == "game":
            self._finished(event)
        elif kind in ("incident", "warning"):
            self._line(self.incidents, "incident", self._incident(str(kind), event))
        elif kind in TOLD:
            words = safe(event.get("text", "")).removeprefix(f"{safe(self.title)}: ")
            after = self.lines[-1]["number"] if self.lines else self.progress.get("games_done", 0)
            told = {"kind": kind, "game": None, "after": after, "engine": "", "words": words}
            self._line(self.incidents, "incident", told)

    def _play(self, kind: str, event: Mapping[str, Any]) -> None:
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
        self._soon()

    def _far(self, status: Mapping[str, Any]) -> None:
        self.progress = {key: value for key, value in status.items() if key not in ("event", "ok", "playing")}

    def _finished(self, event: Mapping[str, Any]) -> None:
        self.stale = True
        told = {key: event.get(key) for key in ("number", "result", "plies", "seconds")}
        told |= {key: safe(event.get(key, "")) for key in ("white", "black", "cause", "at")}
        told["decisions"] = [safe(words) for words in event.get("decisions", ())]
        self._line(self.lines, "game", told)

    @staticmethod
    def _incident(kind: str, event: Mapping[str, Any]) -> dict[str, Any]:
        words = f"{safe(event.get('category', ''))}: {safe(event.get('cause', ''))}"
        incident = Incident(str(event.get("engine", "")), str(event.get("category", "")), "")
        return {"kind": kind, "game": event.get("game"), "engine": safe(incident.at_fault), "words": words}

    def _line(self, lines: deque[dict[str, Any]], kind: str, line: dict[str, Any]) -> None:
        lines.append(line)
        self.tell(f"{kind} {line.get('number')} {id(line)}", f"{kind}-line", line)

    # What goes to the pages.

    def attend(self, listener: Listener) -> None:
        """One more looks on: everything as it is now, then what changes."""
        self.audience.add(listener)
        listener.put("all", framed("all", self.snapshot()))

    def snapshot(self) -> dict[str, Any]:
        """All that a page shows."""
        return {
            "running": self.running,
            "progress": self.progress,
            "games": {str(slot): game.told(whole=True) for slot, game in sorted(self.games.items())},
            "table": self.table,
            "lines": list(self.lines),
            "incidents": list(self.incidents),
        }

    def tell(self, thing: str, event: str, value: Mapping[str, Any]) -> None:
        """One thing to all who look on; a page that has fallen behind is told all anew."""
        if not self.audience:
            return
        frame = framed(event, value)
        for listener in self.audience:
            listener.put(thing, frame)
        if any(listener.behind for listener in self.audience):
            whole = framed("all", self.snapshot())
            for listener in self.audience:
                if listener.behind:
                    listener.behind = False
                    listener.put("all", whole)

    def tell_all(self) -> None:
        """Everything to all."""
        if self.audience:
            self.tell("all", "all", self.snapshot())

    def _soon(self) -> None:
        """Tell what changed on the boards: at once after a quiet beat, else when the beat is over."""
        if not self.audience:
            self._changed.clear()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(self._due_at, loop.time()), self._tell_boards)

    def _tell_boards(self) -> None:
        self._timer, begun = None, thread_time()
        for slot in sorted(self._changed & self.games.keys()):
            self.tell(f"board {slot}", "board", {"slot": slot, **self.games[slot].told()})
        self._changed.clear()
        self._due_at = asyncio.get_running_loop().time() + max(BEAT_S, REST * (thread_time() - begun))


def _as_it_counts(line: dict[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """A game that was struck out has another result in the log than the one that was told."""
    if now.get("result", line["result"]) == line["result"]:
        return line
    return line | {"result": now["result"], "cause": now["cause"]}


def _number(line: Mapping[str, Any]) -> int:
    return int(line["number"])


def _after(line: Mapping[str, Any]) -> int:
    """The game that it is about, or after which it was told."""
    return int(line["game"] or line.get("after") or 0)


def _told(line: Mapping[str, Any]) -> tuple[object, ...]:
    return line["game"], line["engine"], line["words"]
