"""A UCI engine in its opponent's time: it thinks about the move it expects, then hears `ponderhit` or `stop`.

Nothing of it is on a clock: a hit starts the engine's clock after the write of `ponderhit`, a miss is stopped and its
owed answer taken before the new `go` (runner spec 5.2, 6; UCI protocol, "go ponder").
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import chess

from enginetour.engines.moves import read_move
from enginetour.engines.options import Setting
from enginetour.engines.protocol import MS, OWED_NS, Ask, Engine, Script
from enginetour.engines.said import Said, What, printable
from enginetour.engines.starting import Launch
from enginetour.engines.uci_lines import go_words
from enginetour.model.errors import EngineStalled
from enginetour.model.task import EngineSpec

# Ethereal 12.00 loses `ponderhit` and `stop` that come before its search thread runs: measured up to 2.5 ms
# after `go ponder` on a busy machine. Its first output tells that it runs; who prints nothing is waited for so long.
BEGIN_NS = 50 * MS
LOOK_NS = 1 * MS  # between two looks for that output


class PonderingEngine(Engine):
    """What UCI engines have beside searches on their own time."""

    def __init__(self, spec: EngineSpec, launch: Launch | None = None) -> None:
        super().__init__(spec, launch)
        self._may_ponder = False  # wanted, declared, and nobody's option says otherwise
        self._hint = ""  # the move it expects, as it wrote that behind its last answer
        self._guess: tuple[int, str] | None = None  # plies and last move of the position it ponders on
        self._early: Said | None = None  # its answer, when it gave one before it was told hit or miss
        self._begun_ns = 0  # stamp of its last `go ponder`
        self._waited = False  # for that search to begin, before the answer to it was asked for
        self._stopped = False  # the ponder search is over for us: its answer is the owed one

    @property
    def pondering(self) -> bool:
        """It was set thinking in its opponent's time, and has not been asked since."""
        return self._guess is not None

    def ponder(self, ask: Ask) -> None:
        """Set it thinking about the move it expects, where that is legal and leaves it a move."""
        hint, self._hint = self._hint, ""
        if not (hint and self._may_ponder) or self.pondering or self.thinking or self.process.broken:
            return
        self.discard()  # what comes late belongs to the search that is over
        board = ask.position.board
        move, _ = read_move(board, hint, lenient_promotion=False)
        if move is None:
            self.note("ponder-move", f"expects {printable(hint)!r}, no legal move; not pondered on")
            return
        after = board.copy(stack=False)
        after.push(move)
        if after.is_variant_end() or not any(after.generate_legal_moves()):
            return
        self._guess = (len(ask.position.moves) + 1, move.uci())
        self.ponders = (self.ponders or 0) + 1
        self.searches += 1
        self.search_text, self.late_ns = b"", 0
        self._last_write_ns = self._begun_ns = self.process.write(self._ponder_lines(ask, move))

    def _ponder_lines(self, ask: Ask, move: chess.Move) -> bytes:
        fence = (self._ping(),) if self.fence != "off" else ()
        lines = *fence, ask.position.line_with(move), go_words(ask, "go ponder").encode("ascii"), b""
        return b"\n".join(lines)

    def stands_apart(self, ask: Ask) -> bool:
        """After a hit nothing stands before `ponderhit` once the search runs; after a miss there is one to end."""
        if self._guess is None:
            return self.needs_approach
        return self._waited or self._is_young or not self._hit(ask)

    @property
    def _is_young(self) -> bool:
        """Its ponder search may not have begun yet: no output since `go ponder`, a moment ago."""
        return self.stamp_ns <= self._begun_ns and time.monotonic_ns() < self._begun_ns + BEGIN_NS

    def _let_begin(self) -> Script:
        """Off the clock, up to the first output of the ponder search."""
        while self._is_young:
            self._waited = True
            yield from self.hear(min(self._begun_ns + BEGIN_NS, time.monotonic_ns() + LOOK_NS))

    def _hit(self, ask: Ask) -> bool:
        moves = ask.position.moves
        return self._guess is not None and self._guess == (len(moves), moves[-1])

    def _give_up(self) -> Script:
        """Stop a ponder search and take its answer; EngineStalled when none comes."""
        self._stopped = True
        if self.thinking:
            yield from self.say(self._stop())
            deadline = time.monotonic_ns() + OWED_NS
            while self.thinking:
                if (yield from self.hear_poked(deadline)) is None:
                    raise EngineStalled(f"no answer to stop within {OWED_NS / 1e9:g} s of pondering on another move")
        self.discard()  # a second answer to `stop` is none to the search that follows

    def settle(self) -> Script:
        """An answer to `stop` is the owed one, pondering or not."""
        self._stopped = True
        yield from super().settle()

    def go(self, ask: Ask) -> int:
        """`ponderhit` after a hit, and the answer at once if it is there already; else a search like any other."""
        self.pondered_ns = 0
        if self._guess is None:  # the common case, on the path of every ply
            self._hint = ""
            return super().go(ask)
        hit, early = self._hit(ask), self._early
        self.forget_guess()
        if not hit:
            self._hint = ""
            return super().go(ask)
        self.ponder_hits = (self.ponder_hits or 0) + 1
        if early is None:
            self._last_write_ns = self.process.write(b"ponderhit\n")
        else:
            self._last_write_ns = time.monotonic_ns()
            self._unheard.append(early._replace(stamp_ns=self._last_write_ns))
            self.note("early-answer", f"answered {printable(early.text)!r} while pondering; it counts at the hit")
        self.pondered_ns = (self._last_write_ns if early is None else early.stamp_ns) - self._begun_ns
        return self._last_write_ns

    def forget_guess(self) -> None:
        """A search of its own, or another game."""
        self._guess, self._early, self._stopped, self._waited = None, None, False, False

    def begin_pondering_anew(self) -> None:
        """Another game: nothing is expected, nothing was guessed."""
        self.forget_guess()
        self._hint = ""
        self.ponders = self.ponder_hits = 0 if self._may_ponder else None

    def _learn(self, settings: Sequence[Setting]) -> None:
        """Whether it may ponder. Readers of single lines may not: `position` and `go` would need a wait between."""
        set_so = any(option.name.casefold() == "ponder" and text == "true" for option, text in settings)
        self._may_ponder = self.spec.ponder and set_so and not self.spec.quirks.line_delay_ms

    def _concluded(self, words: list[str], stamp_ns: int) -> Said | None:
        """What a ``bestmove`` line means: an answer, or one to be kept while it ponders."""
        self.answers += 1
        if self._may_ponder:
            self._hint = words[3] if len(words) > 3 and words[2] == "ponder" else ""
        said = Said(What.ANSWER, words[1] if len(words) > 1 else "", stamp_ns)
        if self._guess is None or self._stopped:
            return said
        self._early = said
        return None
