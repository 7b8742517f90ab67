"""Wren, a family of small chess engines in pure Python: eight levels, from nearly random moves to a full search.

``wren.py [LEVEL]`` uses UCI or CECP (WinBoard protocol 2), depending on the first command. Options: Level, and Seed for
other choices among nearly equal moves. It reads commands during a search.
"""

from __future__ import annotations

import sys
from itertools import pairwise

import chess
from wren_levels import DEEPEST, LEVELS
from wren_search import Limits
from wren_voice import AUTHOR, LARGEST_SEED, Wire, Wren, fixed, say, share

# CECP commands without an effect.
SILENT = frozenset(
    {"xboard", "accepted", "rejected", "otim", "easy", "hard", "computer", "name", "random", "rating", "white", "black"}
    | {"bk", "hint", "draw", "?", "."}
)


class Uci(Wren):
    """Wren with UCI (Huber and Meyer-Kahlen 2006)."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.told: list[str] = []  # the last position command, which the next one usually extends

    def run(self) -> None:
        """Execute commands until quit."""
        say(f"id name Wren {self.level}\nid author {AUTHOR}")
        say(f"option name Level type spin default {self.level} min 1 max {len(LEVELS)}")
        say(f"option name Seed type spin default 0 min 0 max {LARGEST_SEED}\nuciok")
        while True:
            word, *rest = self.wire.next().split()
            if word == "quit":
                return
            if word == "isready":
                say("readyok")
            elif word == "setoption" and "value" in rest and rest[0] == "name":
                at = rest.index("value")
                self.option(" ".join(rest[1:at]), " ".join(rest[at + 1 :]))
            elif word == "position":
                self.position(rest)
            elif word == "go":
                self.go(rest)

    def position(self, words: list[str]) -> None:
        """Play the moves that are new since the last position, or set up the position again."""
        try:
            known = len(self.told)
            if not (known and "moves" in self.told and words[:known] == self.told):
                self.told = []
                at = words.index("moves") if "moves" in words else len(words)
                self.setup(chess.Board(" ".join(words[1:at])) if words[0] == "fen" else chess.Board())
                known = at + 1
            for text in words[known:]:
                self.push(self.board.parse_uci(text))
            self.told = words
        except (ValueError, IndexError) as error:
            say(f"info string {error}")

    def go(self, words: list[str]) -> None:
        """Search and answer; without any limit, search until stop."""
        given = {key: int(value) for key, value in pairwise(words) if value.lstrip("-").isdecimal()}
        side = "w" if self.board.turn else "b"
        soft = hard = 0.0
        if "movetime" in given:
            soft, hard = fixed(given["movetime"])
        elif f"{side}time" in given:
            soft, hard = share(given[f"{side}time"], given.get(f"{side}inc", 0), given.get("movestogo", 0))
        limits = Limits(soft, hard, max(0, given.get("nodes", 0)), min(given.get("depth", DEEPEST), DEEPEST))
        move = self.think(limits)
        while "infinite" in words and not self.wire.stopping:
            self.wire.hear(self.wire.read())
        say(f"bestmove {move.uci() if move else '(none)'}")


class Cecp(Wren):
    """Wren with CECP, protocol 2 (Muller and Mann 2009)."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.wire.cecp = True
        self.talks = False
        self.side: chess.Color | None = chess.BLACK  # None: force mode
        self.clock_ms = self.increment_ms = self.fixed_ms = 0.0
        self.moves_per = 0
        self.depth = DEEPEST
        self.setup(chess.Board())

    def run(self) -> None:
        """Execute commands until quit."""
        while True:
            word, _, rest = self.wire.next().partition(" ")
            if word == "quit":
                return
            if not self.obey(word, rest.strip()):
                say(f"Error (unknown command): {word}")

    def obey(self, word: str, rest: str) -> bool:
        """Execute a command; return False if it is unknown."""
        try:
            return self.play(word, rest) or self.settle(word, rest) or word in SILENT
        except (ValueError, IndexError):
            say(f"Error (bad argument): {word} {rest}")
            return True

    def play(self, word: str, rest: str) -> bool:
        """Execute a command about the game; return False for another command."""
        if word == "new":
            self.side, self.depth, self.board = chess.BLACK, DEEPEST, chess.Board()
            self.setup(self.board)
        elif word == "setboard":
            try:
                self.setup(chess.Board(rest))
            except ValueError:
                say("tellusererror Illegal position")
        elif word in ("force", "result"):
            self.side = None
        elif word == "go":
            self.side = self.board.turn
            self.answer()
        elif word == "usermove":
            try:
                self.push(self.board.parse_uci(rest))
            except ValueError:
                say(f"Illegal move: {rest}")
                return True
            if self.side is self.board.turn:
                self.answer()
        else:
            return False
        return True

    def settle(self, word: str, rest: str) -> bool:
        """Execute a command about clocks and settings; return False for another command."""
        if word == "time":
            self.clock_ms = float(rest) * 10
        elif word == "level":
            moves, base, increment = rest.split()
            minutes, _, seconds = base.partition(":")
            self.moves_per, self.fixed_ms = int(moves), 0
            self.clock_ms = (float(minutes) * 60 + float(seconds or 0)) * 1000
            self.increment_ms = float(increment) * 1000
        elif word == "st":
            self.fixed_ms = float(rest) * 1000
        elif word == "sd":
            self.depth = max(1, min(int(rest), DEEPEST))
        elif word in ("post", "nopost"):
            self.talks = word == "post"
        elif word == "option":
            name, _, value = rest.partition("=")
            self.option(name.strip(), value.strip())
        elif word == "ping":
            say(f"pong {rest}")
        elif word == "protover":
            say(
                "feature done=0\nfeature ping=1 setboard=1 usermove=1 time=1 reuse=1 draw=0 sigint=0 sigterm=1 colors=0"
            )
            say(f'feature myname="Wren {self.level}" variants="normal" san=0 debug=0 analyze=0 name=0')
            say(f'feature option="Level -spin {self.level} 1 {len(LEVELS)}"')
            say(f'feature option="Seed -spin 0 0 {LARGEST_SEED}"\nfeature done=1')
        else:
            return False
        return True

    def answer(self) -> None:
        """Search and move, and report the result if the move ends the game."""
        soft = hard = 0.0
        if self.fixed_ms:
            soft, hard = fixed(self.fixed_ms)
        elif self.clock_ms:
            made = self.board.fullmove_number - 1
            left = self.moves_per - made % self.moves_per if self.moves_per else 0
            soft, hard = share(self.clock_ms, self.increment_ms, left)
        move = self.think(Limits(soft, hard, 0, self.depth))
        if self.wire.aborted:
            return
        if move:
            self.push(move)
            say(f"move {move.uci()}")
        if not any(self.board.legal_moves):
            mated = self.board.is_check()
            winner = "Black" if self.board.turn else "White"
            score = "0-1" if self.board.turn else "1-0"
            say(f"{score} {{{winner} mates}}" if mated else "1/2-1/2 {Stalemate}")


def main() -> None:
    """Run the protocol of the first command."""
    argument = sys.argv[1] if len(sys.argv) > 1 else "8"
    if argument not in map(str, range(1, len(LEVELS) + 1)):
        raise SystemExit(f"a level is 1 to {len(LEVELS)}, found {argument}")
    wire = Wire()
    first = wire.next()
    while first not in ("uci", "xboard"):
        if first == "quit":
            return
        first = wire.next()
    engine: Uci | Cecp = Uci(int(argument)) if first == "uci" else Cecp(int(argument))
    engine.wire.waiting, engine.wire.rest = wire.waiting, wire.rest
    engine.run()


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        raise SystemExit(1) from None
