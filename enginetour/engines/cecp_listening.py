"""What CECP engines say, and what it means: one table in every state (runner spec section 7)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from enginetour.engines import cecp_lines
from enginetour.engines.features import Features
from enginetour.engines.intake import KEPT
from enginetour.engines.protocol import MS, Engine
from enginetour.engines.said import Said, Thought, What, printable
from enginetour.engines.starting import Launch
from enginetour.engines.uci_lines import plain
from enginetour.model.task import EngineSpec

HELD_NS = 200 * MS  # a numbered move may be an echo: held back so long (runner spec 7)
# Sent to every engine and missed by none that does not know them.
_COURTESIES = frozenset({"?", "computer", "easy", "hard", "post", "result"})
_CASTLING = frozenset({"O-O", "O-O-O"})


class CecpListener(Engine):
    """The ear of a CECP engine: lines to what they mean, against what was last sent."""

    def __init__(self, spec: EngineSpec, launch: Launch | None = None) -> None:
        super().__init__(spec, launch)
        self.features = Features()
        self._placing = False  # a position was sent and not yet fenced
        self._opening: frozenset[str] = frozenset()  # the moves of the opening, in each form
        self._sent: frozenset[str] = frozenset()  # the last move sent, in each form
        self._plain_form = False  # it has announced a move by more than a number
        self._held: Said | None = None
        self._held_until = 0
        self._by_number = ""  # the move taken from a numbered line, in case it is announced again
        self._parted = False  # its last search ended by a word; its move may follow that
        self._is_astray = False  # it moved when it was not asked: its board is not that of the game
        self._heap = bytearray()  # raw output of the search under way, but for what meant something

    def _forget(self, opening: Sequence[str]) -> None:
        """A new game: of all moves only those of its opening were sent."""
        self._opening = frozenset(opening)
        self._sent = frozenset(opening[-2:])
        self._listen()

    def _listen(self) -> None:
        """A new search: nothing of it was heard yet."""
        self._held, self._by_number = None, ""
        self._heap.clear()

    def search_over(self) -> None:
        """The move of that search is no answer out of turn."""
        super().search_over()
        self._parted = True

    def usual(self, text: str) -> bool:
        """Castling by letters always, SAN for those who declare it (protocol spec, "move")."""
        return text.rstrip("+#") in _CASTLING or self.features.on("san")

    @property
    def due_ns(self) -> int | None:
        """When a held numbered move becomes the answer."""
        return self._held_until if self._held is not None else super().due_ns

    def thought(self, text: bytes, *, white: bool, bounds: bool = True) -> Thought:
        """Scores are from the engine's side, unless `whitepov` says otherwise."""
        thought = cecp_lines.last_thought(text, bounds=bounds)
        return thought.turned() if self.spec.quirks.whitepov and not white else thought

    def _is_chatter(self) -> bool:
        return self._held is None and self.ready and self.intake.lacks_line(cecp_lines.TELLING)

    def _heard(self) -> Said | None:
        while (found := self._next_line()) is not None:
            before, raw = found
            if self.thinking:
                self._heap += before
            line = plain(raw)
            said = self._read(line) if line else None
            if said is not None:
                return said
            if self.thinking:  # it only looked as if it meant something: "9. 31 4 1000 e2e4" is a thinking line
                self._heap += raw + b"\n"
                del self._heap[: max(0, len(self._heap) - 2 * KEPT)]
        if not self.thinking:
            self.intake.drop_lines()
        elif self._held is not None and (time.monotonic_ns() >= self._held_until or self._ended):
            return self.overdue()
        return None

    def overdue(self) -> Said | None:
        """A numbered move that nothing has followed is the answer, stamped when it came."""
        if self._held is None:
            return None
        self._by_number = self._held.text
        self.note("numbered-moves", "announces moves by their number only")
        return self._answer(self._held)

    def _next_line(self) -> tuple[bytes, bytes] | None:
        if self.ready:
            return self.intake.match(cecp_lines.TELLING)
        line = self.intake.line()
        return None if line is None else (b"", line)

    def _read(self, line: str) -> Said | None:
        stamp = self.stamp_ns
        word = line.split(None, 1)[0].lower()
        if word == "feature":
            return self._feature(line)
        if word == "pong":
            return self._pong(line)
        if line[0] == "#" or word.startswith(("tellics", "tellall", "telluser", "tellopponent", "tellothers")):
            if word == "tellusererror":
                if not self._placing:  # then it is why the position cannot be told
                    self.note("tellusererror", printable(line))
                return Said(What.REFUSED_POSITION, line, stamp)
            return None
        announced = cecp_lines.read_move(line)
        if announced is not None:
            return self._announced(announced[0], numbered=announced[1])
        result = cecp_lines.read_result(line)
        if result:
            return Said(What.ABORT if result == "*" else What.RESULT, line if result == "*" else result, stamp)
        if word == "resign" or word == "resigns":
            return Said(What.RESIGN, line, stamp)
        if line.lower().startswith("offer draw"):
            return Said(What.OFFER, line, stamp)
        return self._refusal(line)

    def _feature(self, line: str) -> Said:
        accepted, unknown = self.features.read(line.split(None, 1)[1] if " " in line else "")
        # Engines that lose lines which come together get no replies: none of them waits for any. Nor does who has not
        # read those before it.
        if not (self.spec.quirks.line_delay_ms or self.process.wants_write) and (accepted or unknown):
            replies = [f"accepted {name}\n" for name in accepted] + [f"rejected {name}\n" for name in unknown]
            self.process.write("".join(replies).encode("ascii"))
        self._take_features()
        if "done" in accepted:
            return Said(What.HELLO if self.features.on("done") else What.WAIT)
        return Said(What.FEATURE)

    def _take_features(self) -> None:
        self.declared = tuple(self.features.options.values())
        self.own_name = printable(self.features.values.get("myname", ""))

    def _pong(self, line: str) -> Said | None:
        if line.split()[-1] != str(self._pings):
            return None
        if self._pongs == self._pings:
            self._twice = True
            return None
        self._pongs = self._pings
        return Said(What.PONG, stamp_ns=self.stamp_ns)

    def _announced(self, text: str, *, numbered: bool) -> Said | None:
        # What comes before the pong of an inline fence belongs to the past.
        asked = self.thinking and (self.fence != "inline" or self._pings == self._pongs)
        if numbered:
            if not asked or self._plain_form or text in self._sent:
                return None  # an echo
            self._held = Said(What.ANSWER, text, self.stamp_ns)
            self._held_until = self.stamp_ns + HELD_NS
            return None
        self._plain_form = True
        if not asked:
            again = text == self._by_number or self._parted
            self._by_number, self._parted = "", False
            self._is_astray = self._is_astray or not again
            return None if again else Said(What.STALE, text, self.stamp_ns)
        first = self._held
        return self._answer(
            first if first is not None and first.text == text else Said(What.ANSWER, text, self.stamp_ns)
        )

    def _answer(self, said: Said) -> Said:
        self._held = None
        self.answers += 1
        self.search_text = bytes(self._heap[-KEPT:])
        return said

    def _refusal(self, line: str) -> Said | None:
        text = cecp_lines.read_refusal(line)
        if text is None:
            return Said(What.REFUSED_POSITION, line) if line.lower().startswith("illegal position") else None
        blamed = text.split(None, 1)[0].removeprefix("usermove") if text else ""
        blamed = (blamed or (text.split()[1] if len(text.split()) > 1 else "")).strip("'\"`.,;")
        if blamed in self._sent or (self._placing and blamed in self._opening):
            return Said(What.REFUSED_MOVE, line, self.stamp_ns)
        if text.startswith(("setboard", "edit")) or "position" in line.lower():
            return Said(What.REFUSED_POSITION, line, self.stamp_ns)
        if blamed and blamed not in _COURTESIES:  # nothing blamed: an empty line that was to wake it
            self.note("unsupported", f"says {printable(line)!r}")
        return Said(What.REFUSED, text, self.stamp_ns)
