"""Requests to a running tournament by the thousand: random, mutated, hostile; and what must hold after them."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from enginetour.store.check import inspect
from enginetour.store.tournaments import Store
from enginetour.tournament.control import ask, socket_path
from tests.forked import FIELD, Forked, quick
from tests.touring import LONG_S, audit, left_running

# Valid ones. Whoever leaves or joins does so once; nothing here ends the run.
SEEDS: tuple[dict[str, Any], ...] = (
    {"do": "void", "game": 1, "why": "dice"},
    {"do": "void", "game": 2},
    {"do": "withdraw", "engine": "Dot", "why": "dice"},
    {"do": "add", "id": "wren4", "name": "New", "why": "dice"},
    {"do": "replace", "engine": "Cid", "id": "wren3", "fingerprint": ""},
    {"do": "slots", "slots": 2, "force": False},
    {"do": "machines", "drain": "kallisto"},
    {"do": "pause"},
    {"do": "unpause"},
    {"do": "unpause"},
    {"do": "status"},
)
# What a request carried once, and what an engine file holds.
FOREIGN = ("spec", "entrant", "command", "env", "options", "protocol", "shell", "place", "grace", "do", "exit", "\0")
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 2**31, 2**63, -(2**64), float("inf"), float("nan"), 10**300),
    *("", " ", "\0", "\ud800", "😀", "../../bin/sh", "/bin/sh", "wren4\n", "x" * 5000, "[" * 30_000, "{}", "null"),
    *([], [5], ["/bin/sh", "-c", "id"], [[["a"]]], {}, {"name": 7}, {"do": "void"}, [None] * 100),
    {"name": "X", "command": [5], "protocol": "uci", "limits": ["clock"], "env": [["A", 1]]},
)
REAL = frozenset(("void", "withdraw", "add", "replace"))  # requests that write an event


def requests(dice: random.Random) -> Iterator[bytes]:
    """One line after another, without its end."""
    while True:
        line = _one(dice).replace(b"\n", b" ")
        if not line.strip().startswith(b'{"do": "subscribe"'):
            yield line


def _one(dice: random.Random) -> bytes:
    request = dict(dice.choice(SEEDS))
    kind = dice.random()
    if kind < 0.05:
        return dice.randbytes(dice.randint(1, 200))
    if kind < 0.10:
        deep = dice.choice((10, 300, 900, 30_000))
        inside = b"[" * deep + b"]" * deep * dice.randint(0, 1)
        return dice.choice((inside, b'{"do":"add","id":' + inside + b"}", b'{"do":' + inside + b"}"))
    for _ in range(dice.randint(0, 3)):
        _mutate(request, dice)
    text = json.dumps(request, ensure_ascii=dice.random() < 0.9).encode("utf-8", "surrogatepass")
    if kind < 0.35:
        spoilt = bytearray(text)
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(spoilt))
            spoilt[at : at + dice.randint(0, 3)] = dice.randbytes(dice.randint(0, 3))
            spoilt = spoilt or bytearray(b"{")
        return bytes(spoilt)
    return text


def _mutate(request: dict[str, Any], dice: random.Random) -> None:
    keys = list(request)
    match dice.randrange(5):
        case 0 if keys:
            del request[dice.choice(keys)]
        case 1 if keys:
            request[dice.choice(keys)] = dice.choice(ODD)
        case 2:
            request[dice.choice(FOREIGN)] = dice.choice(ODD)
        case 3 if keys:
            request[dice.choice(keys).upper()] = request.pop(dice.choice(keys), None)
        case _:
            request |= dice.choice(SEEDS)


class Bombarded:
    """A tournament that is asked `count` things, then told to finish."""

    def __init__(self, folder: Path, count: int, seed: int) -> None:
        (folder / "results").mkdir(exist_ok=True)
        path = quick(folder, system="roundrobin", settings="cycles = 5000\ngames_per_pairing = 2")
        self.folder, self.count = folder, count
        self.database = folder / "results" / "enginetour.db"
        self.answers: Counter[str] = Counter()  # ok, or the exit code
        self.written = 0
        self.run = Forked(folder, ["run", str(path), "--slots", "2"], folder / "errors.txt")
        self.run.first_game()
        listener = threading.Thread(target=self._listen, daemon=True)
        listener.start()
        begun = time.monotonic()
        self._bombard(random.Random(seed))
        self.seconds = time.monotonic() - begun
        ask(socket_path(self.database, "trial"), {"do": "unpause"}, timeout=LONG_S)
        ask(socket_path(self.database, "trial"), {"do": "finish"}, timeout=LONG_S)
        listener.join(LONG_S)
        assert not listener.is_alive(), "the run does not end"
        assert self.run.stdout is not None
        self.run.stdout.close()
        self.code = self.run.wait(LONG_S)

    def _listen(self) -> None:
        assert self.run.stdout is not None
        while self.run.stdout.read(1 << 16):
            pass

    def _bombard(self, dice: random.Random) -> None:
        where = os.fspath(socket_path(self.database, "trial"))
        lines = requests(dice)
        done = 0
        while done < self.count:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(LONG_S)
                connection.connect(where)
                answers = connection.makefile("rb")
                while done < self.count:
                    line = next(lines)
                    with suppress(BrokenPipeError):  # it was turned away in the middle of a long line
                        connection.sendall(line + b"\n")
                    try:
                        answer = answers.readline()
                    except ConnectionResetError:
                        answer = b""
                    if not answer:  # the server has dropped the connection since its last answer: ask again
                        break
                    done += 1
                    self._count(line, json.loads(answer))

    def _count(self, line: bytes, answer: dict[str, Any]) -> None:
        if answer["ok"]:
            self.answers["ok"] += 1
            self.written += json.loads(line)["do"] in REAL
            return
        assert answer["error"] and "\n" not in answer["error"], answer
        assert len(answer["error"]) < 2000, answer
        self.answers[f"exit {answer['exit']}"] += 1

    def settle(self) -> str:
        """Nothing was raised, nothing invalid written; the figures."""
        told = self.run.errors.read_text()
        assert self.code == 8, told
        assert "Traceback" not in told and "our own failure" not in told, told
        games = audit(self.folder)
        with Store.open(self.database, create=False, readonly=True) as store:
            assert inspect(store).findings == ()
            log = store.tournament("trial")
            assert log.last_position == games + self.written
            joined = [spec for name, spec in log.specs.items() if name not in dict(FIELD)]
            assert all(Path(spec.command[1]).name == "wren.py" and spec.name.isprintable() for spec in joined), joined
        assert left_running(self.folder) == []
        figures = ", ".join(f"{count} {name}" for name, count in sorted(self.answers.items()))
        return f"{self.count} requests in {self.seconds:.0f} s: {figures}; {self.written} events, {games} games"
