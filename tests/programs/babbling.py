"""A scripted engine whose output lines are changed randomly: cut, doubled, damaged, or mixed with noise.

Before line --calm nothing is changed, so that every state of the protocol can be reached; then one line in --rate is.
"""

# mypy: ignore-errors
# An engine is a program, not a module of the package: it has no annotations and does not use python-chess.
import os
import random
import sys
import time

sys.path.insert(0, __file__.rpartition("/tests/")[0] + "/enginetour/testing/engines")
from scripted import Options, Scripted

WORDS = [
    "bestmove",
    "move",
    "info",
    "score",
    "cp",
    "mate",
    "depth",
    "nodes",
    "pv",
    "readyok",
    "uciok",
    "pong",
    "feature",
    "done=1",
    "done=0",
    "option",
    "name",
    "type",
    "spin",
    "resign",
    "1-0",
    "0-1",
    "1/2-1/2",
    "*",
    "offer",
    "draw",
    "Illegal",
    "move:",
    "Error",
    "(x):",
    "tellusererror",
    "e2e4",
    "e7e8q",
    "0000",
    "(none)",
    "NULL",
    "e2e5",
    "O-O",
    "Nf3",
    "e9z0",
    "setboard=1",
    "ping=1",
    "san=1",
    "usermove=1",
    "99999999999999999999999",
    "-1",
    "NaN",
    "\x1b[2J",
    "\u202e",
    "\x00",
    "\x7f",
    "<",
    ">",
    '"',
    "'",
    "{",
    "}",
    "%s",
    "%n",
    "$HOME",
]


class Babbling(Scripted):
    def __init__(self, options):
        super().__init__(options)
        self.dice = random.Random(options.seed)
        self.calm = options.calm
        self.rate = options.rate
        self.said = 0

    def say(self, *lines):
        for line in lines:
            self.said += 1
            raw = (line + self.end).encode()
            if self.said > self.calm and self.dice.randrange(self.rate) == 0:
                raw = self.spoilt(raw)
            try:
                while raw:
                    raw = raw[os.write(1, raw) :]
            except OSError:
                os._exit(0)

    def noise(self, most):
        return " ".join(self.dice.choices(WORDS, k=self.dice.randint(1, most))).encode()

    def spoilt(self, raw):
        dice = self.dice
        kind = dice.randrange(12)
        if kind == 0:
            return b""  # lost
        if kind == 1:
            return raw * dice.randint(2, 5)
        if kind == 2:
            return raw[: dice.randrange(len(raw))]  # joined with the next line
        if kind == 3:
            return dice.randbytes(dice.randint(1, 300)) + raw
        if kind == 4:
            return dice.randbytes(dice.randint(1, 300)) + b"\n" + raw
        if kind == 5:
            at = dice.randrange(len(raw))
            return raw[:at] + dice.randbytes(1) + raw[at + 1 :]
        if kind == 6:
            return b"".join(self.noise(8) + b"\n" for _ in range(dice.randint(1, 30))) + raw
        if kind == 7:
            return self.noise(8) + b"\n"  # instead
        if kind == 8:
            return b"x" * dice.choice([65_535, 65_536, 65_537, 300_000]) + b"\n" + raw
        if kind == 9:
            return raw.replace(b" ", b" " * dice.randint(0, 50)).replace(b"\n", b"\r\r\n\n")
        if kind == 10:
            return raw + self.noise(3) + b"\n" + raw
        if dice.random() < 0.2:
            os.write(1, raw[:-1])
            os._exit(dice.randrange(256))  # ends in the middle of a line
        time.sleep(dice.random() / 50)
        return raw


if __name__ == "__main__":
    Babbling(Options(seed=0, calm=0, rate=4)).run()
