"""UCI engines: handshake, search, and pondering with ponderhit."""

from __future__ import annotations

import time

from enginetour.engines.position import read_move
from enginetour.engines.protocol import MOST_OPTIONS, MS, OWED_NS, Ask, Engine, Script, Setup
from enginetour.engines.sandbox import expand_scratch
from enginetour.engines.starting import Launch
from enginetour.engines.uci_lines import (
    complete_info,
    go_command,
    last_search_info,
    plain_line,
    read_option,
    split_words,
)
from enginetour.engines.wire import Message, MessageKind, SearchInfo, escape_text
from enginetour.model.errors import EngineStalled, Unsupported
from enginetour.model.task import DeclaredOption, EngineSpec
from enginetour.model.variants import STANDARD, VARIANTS

# Ethereal 12.00 loses `ponderhit` and `stop` if they arrive before its search thread runs: up to 2.5 ms after `go
# ponder` on a busy machine (measured). The first output shows that the search runs. If an engine sends no output,
# enginetour waits this long.
BEGIN_NS = 50 * MS  # ns
LOOK_NS = 1 * MS  # ns between two checks for this output


_ANSWER = b"bestmove"
_FALSE_STARTS = ("copyprotection", "registration")
_STANDARD_WORDS = frozenset({"chess", "normal", "standard"})  # values of UCI_Variant for standard chess


class UciEngine(Engine):
    """One UCI engine (UCI protocol, April 2006; runner spec section 6).

    If an engine declares an option twice, `declared` contains the first one. All lines that cannot be parsed together
    cause one warning.
    """

    _last_search_info = staticmethod(last_search_info)

    def __init__(self, spec: EngineSpec, launch: Launch | None = None) -> None:
        super().__init__(spec, launch)
        self._options: dict[str, DeclaredOption] = {}
        self._placed = False  # the position of the next search has been sent
        self._variant = STANDARD  # variant of the last game
        self._may_ponder = False  # pondering is requested and declared, and no option of the user forbids it
        self._hint = ""  # the move that the engine expects, as sent with its last `bestmove`
        self._guess: tuple[int, str] | None = None  # ponder position: number of plies and last move
        self._early: Message | None = None  # the answer, if the engine sent it before a hit or miss was known
        self._begun_ns = 0  # time of the last `go ponder`
        self._waited = False  # enginetour waited for the start of the ponder search before the next `go`
        self._stopped = False  # the ponder search is over; the next answer belongs to it

    def handshake(self) -> Script:
        """Send `uci`, `isready` and the options.

        The option list ends with the answer to `isready`, because a banner may already contain `uciok`.
        """
        limit = self.handshake_deadline
        self.discard()
        yield from self.send_lines(b"uci")
        for word, awaited in (("uciok", MessageKind.HELLO), ("readyok", MessageKind.PONG)):
            if awaited is MessageKind.PONG:
                yield from self.send_lines(self._ping())
            self.awaited = (word, "handshake_timeout")
            while (message := (yield from self.receive_poked(limit))) is None or message.kind is not awaited:
                if message is None:
                    yield from self.start_timeout(word)
        self.declared = tuple(self._options.values())
        yield from self._set_options()
        self.ready = True

    def _set_options(self) -> Script:
        settings = self._checked_settings(self.spec.options)
        # Engines with `line_delay_ms` may not ponder, because they need a wait between `position` and `go`.
        set_so = any(option.name.casefold() == "ponder" and text == "true" for option, text in settings)
        self._may_ponder = self.spec.ponder and set_so and not self.spec.quirks.line_delay_ms
        self._other_rules = next((f"{one.name} = {text}" for one, text in settings if _is_of_variant(one, text)), "")
        lines = [_setoption(option, expand_scratch(text, self.process.scratch)) for option, text in settings]
        yield from self._settle_options(lines, "options")

    def new_game(self, setup: Setup) -> Script:
        """Send `ucinewgame` and wait for the answer to `isready`; the position is sent before the first `go`."""
        self._refuse_limits(setup.tc)
        lines = [b"ucinewgame"]
        opponent = self._options.get("uci_opponent")
        if opponent is not None and opponent.kind == "string":
            lines.insert(0, _setoption(opponent, f"none none computer {setup.opponent_ascii}"))
        lines = [*self.variant_lines(setup.position.variant), *lines]
        self._variant = setup.position.variant
        self._placed = False
        self._forget_guess()
        self._hint = ""
        self.ponders = self.ponder_hits = 0 if self._may_ponder else None
        yield from self.fenced(self.ready_ns, *lines)
        self.games += 1

    _other_rules = ""  # an option set by the user for rules other than those of standard chess

    def variant_lines(self, name: str) -> list[bytes]:
        """Return the lines that set UCI_Variant and UCI_Chess960 for the variant `name`.

        The list is empty if the last game had the same variant. Raises Unsupported if the engine cannot play it.
        """
        if name == STANDARD and self._other_rules:
            raise Unsupported(
                f"has the option {self._other_rules}; remove it for games of {name}, because enginetour sets it"
            )
        if name == self._variant:
            return []
        variant, lines = VARIANTS[name], list[bytes]()
        kinds, shuffled = self._options.get("uci_variant"), self._options.get("uci_chess960")
        declared = {choice.casefold(): choice for choice in kinds.choices} if kinds is not None else {}
        word = next((declared[word] for word in variant.uci if word in declared), "")
        if not word and not variant.is_usual:
            raise Unsupported(f"does not declare {name} as a value of UCI_Variant")
        if kinds is not None and word:
            lines.append(_setoption(kinds, word))
        if shuffled is not None and shuffled.kind == "check":
            lines.append(_setoption(shuffled, "true" if variant.any_rank else "false"))
        elif variant.any_rank:
            raise Unsupported(f"does not declare {name}: it does not have the option UCI_Chess960")
        return lines

    def approach(self, ask: Ask) -> Script:
        """Send the position before `go`, if this needs more than one write or a wait.

        With ``fence = "wait"``, enginetour first waits for the answer to `isready`; with `line_delay_ms`, it waits
        after the position. A ponder search on another move is stopped first.
        """
        if self.pondering:
            while self._is_young:  # wait for the first output of the ponder search
                self._waited = True
                yield from self.receive(min(self._begun_ns + BEGIN_NS, time.monotonic_ns() + LOOK_NS))
            if self._hit(ask):
                return
            yield from self._give_up()
        if self.fence == "wait":
            yield from self.fenced(self.game_fence_ns, ask.position.line)
        else:
            yield from self.send_lines(ask.position.line)
        yield from self.pause_before_line()
        self.discard()  # an answer right after the pong does not belong to the next search
        self._placed = True

    def go_lines(self, ask: Ask) -> bytes:
        """Return `go`, with `position` before it if that has not been sent yet, as one write."""
        words = go_command(ask).encode("ascii")
        if self._placed:
            self._placed = False
            return words + b"\n"
        start = self._ping() + b"\n" if self.fence == "inline" else b""
        return start + ask.position.line + b"\n" + words + b"\n"

    def _ping(self) -> bytes:
        self._pings += 1
        return b"isready"

    def _stop(self) -> bytes:
        return b"stop"

    def _two_lines(self) -> tuple[bytes, bytes]:
        return self._ping(), self._ping()

    def _question_lines(self) -> tuple[bytes, ...]:
        return b"stop", self._ping()

    def full_search_info(self, text: bytes, *, white: bool) -> SearchInfo:
        """Return `search_info`, with missing figures taken from lines without a score."""
        return complete_info(self.search_info(text, white=white), text)

    def _is_chatter(self) -> bool:
        return self._pings == self._pongs and self.intake.lacks(_ANSWER)

    def _next_message(self) -> Message | None:
        if self.thinking and self._pings == self._pongs:
            found = self.intake.answer(_ANSWER)
            if found is None:
                return None
            self.search_text = found[0]
            return self._concluded(split_words(found[1]), self.stamp_ns)
        if self.ready and not self.intake.has(_ANSWER, b"readyok"):
            self.intake.drop_lines()
            return None
        while (raw := self.intake.line()) is not None:
            line = plain_line(raw)
            if line:
                message = self._read(line)
                if message is not None:
                    return message
        return None

    def _read(self, line: str) -> Message | None:
        word, _, rest = line.partition(" ")
        if word == "readyok":
            return self._pong()
        if word == "bestmove":
            return Message(MessageKind.STALE, rest.partition(" ")[0], self.stamp_ns)
        if self.ready:
            return None
        if word == "uciok":
            return Message(MessageKind.HELLO)
        if word == "id":
            kind, _, value = rest.partition(" ")
            if kind == "name":
                self.own_name = escape_text(value)
            elif kind == "author":
                self.author = escape_text(value)
        elif word == "option":
            self._declare(line)
        elif word in _FALSE_STARTS and rest == "error":
            self.note("unlicensed", f"reports {escape_text(line)!r}")
        return None

    def _pong(self) -> Message | None:
        if self._pongs == self._pings:
            self._twice = True
            return None
        self._pongs += 1
        return Message(MessageKind.PONG, stamp_ns=self.stamp_ns) if self._pongs == self._pings else None

    def _declare(self, line: str) -> None:
        option = read_option(line)
        if option is None:
            self.note("odd-option", f"declares an option that cannot be used: {escape_text(line)}")
        elif len(self._options) >= MOST_OPTIONS:
            self.note("many-options", f"declares more than {MOST_OPTIONS} options; the others are ignored")
        elif self._options.setdefault(option.name.casefold(), option) is not option:
            self.note("double-option", f"declares the option {escape_text(option.name)!r} twice; the first one counts")

    # Pondering: while its opponent thinks, the engine searches the position after the move that it expects. Then it
    # gets `ponderhit` or `stop`.
    #
    # Pondering does not use the clock. After a hit, the clock starts when `ponderhit` is written. After a miss,
    # enginetour sends `stop` and reads the outstanding answer before the new `go`
    # (runner spec 5.2, 6; UCI protocol, "go ponder").

    @property
    def pondering(self) -> bool:
        """Return whether the engine got `go ponder`, and no `ponderhit`, `stop` or `go` since."""
        return self._guess is not None

    def ponder(self, ask: Ask) -> None:
        """Start to ponder on the move that the engine expects, if it is legal and does not end the game."""
        hint, self._hint = self._hint, ""
        if not (hint and self._may_ponder) or self.pondering or self.thinking or self.process.broken:
            return
        self.discard()  # late output belongs to the previous search
        board = ask.position.board
        move, _ = read_move(board, hint, lenient_promotion=False)
        if move is None:
            self.note("ponder-move", f"sent the illegal ponder move {escape_text(hint)!r}; it is not asked to ponder")
            return
        after = board.copy(stack=False)
        after.push(move)
        if after.is_variant_end() or not any(after.generate_legal_moves()):
            return
        self._guess = (len(ask.position.moves) + 1, move.uci())
        self.ponders = (self.ponders or 0) + 1
        self.searches += 1
        self.search_text, self.late_ns = b"", 0
        fence = (self._ping(),) if self.fence != "off" else ()
        lines = *fence, ask.position.line_with(move), go_command(ask, "go ponder").encode("ascii"), b""
        self._last_write_ns = self._begun_ns = self.process.write(b"\n".join(lines))

    def needs_preparation(self, ask: Ask) -> bool:
        """Return whether the next search needs more than one write.

        After a hit, one write is enough if the ponder search has begun.
        """
        if self._guess is None:
            return self.needs_approach
        return self._waited or self._is_young or not self._hit(ask)

    @property
    def _is_young(self) -> bool:
        """Return whether the ponder search may not have begun, because there is no output and BEGIN_NS is not over."""
        return self.stamp_ns <= self._begun_ns and time.monotonic_ns() < self._begun_ns + BEGIN_NS

    def _hit(self, ask: Ask) -> bool:
        moves = ask.position.moves
        return self._guess is not None and self._guess == (len(moves), moves[-1])

    def _give_up(self) -> Script:
        """Stop a ponder search and discard its answer. Raises EngineStalled if no answer comes."""
        self._stopped = True
        if self.thinking:
            yield from self.send_lines(self._stop())
            deadline = time.monotonic_ns() + OWED_NS
            while self.thinking:
                if (yield from self.receive_poked(deadline)) is None:
                    raise EngineStalled(
                        f"no answer to stop within {OWED_NS / 1e9:g} s after pondering on a move that was not played"
                    )
        self.discard()  # a second answer to `stop` does not belong to the next search

    def settle(self) -> Script:
        """Send a fence after a search; the next answer belongs to that search, even if it was a ponder search."""
        self._stopped = True
        yield from super().settle()

    def go(self, ask: Ask) -> int:
        """Send `ponderhit` after a hit, else start a normal search; return the time of the write.

        If the engine answered before a hit, that answer is used at once and `ponderhit` is not sent.
        """
        self.pondered_ns = 0
        if self._guess is None:  # the usual case, first because it runs in every ply
            self._hint = ""
            return super().go(ask)
        hit, early = self._hit(ask), self._early
        self._forget_guess()
        if not hit:
            self._hint = ""
            return super().go(ask)
        self.ponder_hits = (self.ponder_hits or 0) + 1
        if early is None:
            self._last_write_ns = self.process.write(b"ponderhit\n")
        else:
            self._last_write_ns = time.monotonic_ns()
            self._unheard.append(early._replace(stamp_ns=self._last_write_ns))
            self.note(
                "early-answer",
                f"answered {escape_text(early.text)!r} while pondering; the guess was right, so this answer is used",
            )
        self.pondered_ns = (self._last_write_ns if early is None else early.stamp_ns) - self._begun_ns
        return self._last_write_ns

    def _forget_guess(self) -> None:
        self._guess, self._early, self._stopped, self._waited = None, None, False, False

    def _concluded(self, words: list[str], stamp_ns: int) -> Message | None:
        self.answers += 1
        if self._may_ponder:
            self._hint = words[3] if len(words) > 3 and words[2] == "ponder" else ""
        message = Message(MessageKind.ANSWER, words[1] if len(words) > 1 else "", stamp_ns)
        if self._guess is None or self._stopped:
            return message
        self._early = message
        return None


def _is_of_variant(option: DeclaredOption, text: str) -> bool:
    """Return whether this option makes an engine use other rules or another notation of castling."""
    name = option.name.casefold()
    return (name, text) == ("uci_chess960", "true") or (
        name == "uci_variant" and text.casefold() not in _STANDARD_WORDS
    )


def _setoption(option: DeclaredOption, text: str) -> bytes:
    if option.kind == "button":
        line = f"setoption name {option.name}"
    else:
        line = f"setoption name {option.name} value {text or '<empty>'}"
    return line.encode("utf-8", "replace")
