"""Engines that speak UCI (UCI protocol, April 2006; runner spec section 6)."""

from __future__ import annotations

from enginetour.engines import options
from enginetour.engines.options import MOST_OPTIONS
from enginetour.engines.pondering import PonderingEngine
from enginetour.engines.protocol import Ask, Script, Setup
from enginetour.engines.said import Said, Thought, What, printable
from enginetour.engines.starting import Launch
from enginetour.engines.uci_lines import filled, go_words, last_thought, plain, read_option, words_of
from enginetour.model.errors import EngineStalled, StartFailed, Unsupported
from enginetour.model.task import Declared, EngineSpec
from enginetour.model.variants import STANDARD, VARIANTS

_ANSWER = b"bestmove"
_FALSE_STARTS = ("copyprotection", "registration")
_STANDARD_WORDS = frozenset({"chess", "normal", "standard"})  # values of UCI_Variant


class UciEngine(PonderingEngine):
    """One UCI engine. `declared` keeps the first option of each name; what does not parse is one note."""

    def __init__(self, spec: EngineSpec, launch: Launch | None = None) -> None:
        super().__init__(spec, launch)
        self._options: dict[str, Declared] = {}
        self._placed = False  # the position of the next search has been sent
        self._variant = STANDARD  # of the last game

    def handshake(self) -> Script:
        """`uci`, options, `isready`. A first ping closes the option list: a banner may hold a `uciok` of its own."""
        limit = self.handshake_deadline
        self.discard()
        yield from self.say(b"uci")
        for word, awaited in (("uciok", What.HELLO), ("readyok", What.PONG)):
            if awaited is What.PONG:
                yield from self.say(self._ping())
            self.awaited = (word, "handshake_timeout")
            while (said := (yield from self.hear_poked(limit))) is None or said.what is not awaited:
                if said is None:
                    yield from self.start_timeout(word)
        self.declared = tuple(self._options.values())
        yield from self._set_options()
        self.ready = True

    def _set_options(self) -> Script:
        wanted = self.spec.options
        chosen = (*options.standard(self.declared, wanted, self.spec.offered), *wanted)
        settings, self.problems = options.check(self.declared, chosen)
        if self.problems:
            raise StartFailed("; ".join(self.problems), category="bad-option")
        self._learn(settings)
        self._other_rules = next((f"{one.name} = {text}" for one, text in settings if _is_of_variant(one, text)), "")
        lines = [_setoption(option, self.process.expand(text)) for option, text in settings]
        lines += [line.encode("ascii", "replace") for line in self.spec.quirks.init]
        try:
            yield from self.fenced(self.ready_ns, *lines)
        except EngineStalled as fault:
            raise StartFailed(f"after the options: {fault.detail}", category="start-timeout") from fault

    def new_game(self, setup: Setup) -> Script:
        """`ucinewgame` and a fence; the position goes with the first `go`."""
        asked = setup.tc.limits - self.spec.limits
        if asked:
            raise Unsupported(f"cannot be limited by {', '.join(sorted(asked))}")
        lines = [b"ucinewgame"]
        opponent = self._options.get("uci_opponent")
        if opponent is not None and opponent.kind == "string":
            name = "".join(sign for sign in setup.opponent if sign.isascii() and sign.isprintable())
            lines.insert(0, _setoption(opponent, f"none none computer {name or 'opponent'}"))
        lines = [*self.variant_lines(setup.position.variant), *lines]
        self._variant = setup.position.variant
        self._placed = False
        self.begin_pondering_anew()
        yield from self.fenced(self.ready_ns, *lines)
        self.games += 1

    _other_rules = ""  # an option that the user set, which is not for standard chess

    def variant_lines(self, name: str) -> list[bytes]:
        """UCI_Variant and UCI_Chess960, where the variant is another than that of the last game."""
        if name == STANDARD and self._other_rules:
            raise Unsupported(
                f"has the option {self._other_rules} in games of {name}: leave it out, the variant sets it"
            )
        if name == self._variant:
            return []
        variant, told = VARIANTS[name], []
        kinds, shuffled = self._options.get("uci_variant"), self._options.get("uci_chess960")
        declared = {choice.casefold(): choice for choice in kinds.choices} if kinds is not None else {}
        word = next((declared[word] for word in variant.uci if word in declared), "")
        if not word and not variant.is_usual:
            raise Unsupported(f"does not declare {name}: no such value of UCI_Variant")
        if kinds is not None and word:
            told.append(_setoption(kinds, word))
        if shuffled is not None and shuffled.kind == "check":
            told.append(_setoption(shuffled, "true" if variant.any_rank else "false"))
        elif variant.any_rank:
            raise Unsupported(f"does not declare {name}: it has no UCI_Chess960")
        return told

    def approach(self, ask: Ask) -> Script:
        """The position ahead of `go`: behind a fence with ``fence = "wait"``, on its own with `line_delay_ms`."""
        if self.pondering:
            yield from self._let_begin()
            if self._hit(ask):
                return
            yield from self._give_up()
        if self.fence == "wait":
            yield from self.fenced(self.game_fence_ns, ask.position.line)
        else:
            yield from self.say(ask.position.line)
        yield from self.breathe()
        self.discard()  # an answer right behind the pong is none to the search that follows
        self._placed = True

    def go_lines(self, ask: Ask) -> bytes:
        """`position` and `go` in one string."""
        words = go_words(ask).encode("ascii")
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

    def thought(self, text: bytes, *, white: bool, bounds: bool = True) -> Thought:
        """Scores are from the engine's side, unless `whitepov` says otherwise."""
        thought = last_thought(text, bounds=bounds)
        return thought.turned() if self.spec.quirks.whitepov and not white else thought

    def told(self, text: bytes, *, white: bool) -> Thought:
        """Also from lines without a score."""
        return filled(self.thought(text, white=white), text)

    def _is_chatter(self) -> bool:
        return self._pings == self._pongs and self.intake.lacks(_ANSWER)

    def _heard(self) -> Said | None:
        if self.thinking and self._pings == self._pongs:
            found = self.intake.answer(_ANSWER)
            if found is None:
                return None
            self.search_text = found[0]
            return self._concluded(words_of(found[1]), self.stamp_ns)
        if self.ready and not self.intake.has(_ANSWER, b"readyok"):
            self.intake.drop_lines()
            return None
        while (raw := self.intake.line()) is not None:
            line = plain(raw)
            if line:
                said = self._read(line)
                if said is not None:
                    return said
        return None

    def _read(self, line: str) -> Said | None:
        word, _, rest = line.partition(" ")
        if word == "readyok":
            return self._pong()
        if word == "bestmove":
            return Said(What.STALE, rest.partition(" ")[0], self.stamp_ns)
        if self.ready:
            return None
        if word == "uciok":
            return Said(What.HELLO)
        if word == "id":
            self._identify(rest)
        elif word == "option":
            self._declare(line)
        elif word in _FALSE_STARTS and rest == "error":
            self.note("unlicensed", f"says {printable(line)!r}")
        return None

    def _pong(self) -> Said | None:
        if self._pongs == self._pings:
            self._twice = True
            return None
        self._pongs += 1
        return Said(What.PONG, stamp_ns=self.stamp_ns) if self._pongs == self._pings else None

    def _identify(self, rest: str) -> None:
        kind, _, value = rest.partition(" ")
        if kind == "name":
            self.own_name = printable(value)
        elif kind == "author":
            self.author = printable(value)

    def _declare(self, line: str) -> None:
        option = read_option(line)
        if option is None:
            self.note("odd-option", f"an option that cannot be used: {printable(line)}")
        elif len(self._options) >= MOST_OPTIONS:
            self.note("many-options", f"declares more than {MOST_OPTIONS} options; the rest is not known")
        elif self._options.setdefault(option.name.casefold(), option) is not option:
            self.note("double-option", f"option {printable(option.name)!r} declared twice, the first counts")


def _is_of_variant(option: Declared, text: str) -> bool:
    """An option by which an engine plays, or writes castling, otherwise than in standard chess."""
    name = option.name.casefold()
    return (name, text) == ("uci_chess960", "true") or (
        name == "uci_variant" and text.casefold() not in _STANDARD_WORDS
    )


def _setoption(option: Declared, text: str) -> bytes:
    if option.kind == "button":
        line = f"setoption name {option.name}"
    else:
        line = f"setoption name {option.name} value {text or '<empty>'}"
    return line.encode("utf-8", "replace")
