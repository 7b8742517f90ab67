"""A tournament that is ended from outside at random moments and gone on with: its lives, and what must hold after each.

Sizes by environment: ENGINETOUR_NIGHT_KILLS (default 1000), ENGINETOUR_NIGHT_SEED (default 2007).
"""

from __future__ import annotations

import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from enginetour.engines import strays
from enginetour.model.game import GameFinished, Note, Outcome, Pairing
from enginetour.store.log import TournamentLog
from enginetour.store.replay import fold, format_of
from enginetour.store.tournaments import Store
from enginetour.tournament.plan import prepare
from tests.touring import GONE_S, audited, default_signals, left_running, pgn_games, tour

KILLS = int(os.environ.get("ENGINETOUR_NIGHT_KILLS", "1000"))
ENDS = max(4, KILLS // 20)  # of every other kind
SEED = int(os.environ.get("ENGINETOUR_NIGHT_SEED", "2007"))
ALL_OF_IT = 0.3  # share of kills that hit scheduler, slots and engines at once
STUCK_S = 120.0  # a life without any sign for so long hangs
FINISHED = re.compile(r"Finished game (\d+) \((.+) vs (.+)\): (\S+) ")


class Started(Protocol):
    """A process as `subprocess` gives it, however it was started; `stdout` is read without buffer."""

    pid: int

    @property
    def stdout(self) -> IO[bytes] | None:
        """What it says."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, negative for a signal."""


Starter = Callable[[Path, list[str], Path], Started]
"""Folder, words of the command line, file for stderr -> the process."""


def by_name(folder: Path, words: list[str], errors: Path) -> Started:
    """The program as it is typed, in a session of its own."""
    with errors.open("wb") as sink:
        return subprocess.Popen(
            [sys.executable, "-u", "-m", "enginetour", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=sink,
            env=os.environ | {"TMPDIR": str(temporary(folder))},
            preexec_fn=default_signals,
            start_new_session=True,
        )


def temporary(folder: Path) -> Path:
    """Where the scratch folders of a run go: in our folder too."""
    made = folder / "tmp"
    made.mkdir(exist_ok=True)
    return made


@dataclass
class Life:
    """One run of `enginetour run` until it was ended from outside, or ended by itself."""

    process: Started
    errors: Path
    held: bytes = b""
    announced: list[tuple[int, str, str, str]] = field(default_factory=list)

    def listen(self, seconds: float, games: int = 1 << 30) -> bool:
        """Hear what it announces for so long or until so many games; False once it has ended."""
        assert self.process.stdout is not None
        until = time.monotonic() + seconds
        wanted = len(self.announced) + games
        while len(self.announced) < wanted and (left := until - time.monotonic()) > 0:
            if select.select([self.process.stdout], [], [], left)[0] and not self._hear():
                return False
        return True

    def _hear(self) -> bool:
        assert self.process.stdout is not None
        chunk = os.read(self.process.stdout.fileno(), 1 << 16)
        *lines, self.held = (self.held + chunk).split(b"\n")
        for line in lines:
            found = FINISHED.match(line.decode())
            if found:
                number, white, black, result = found.groups()
                self.announced.append((int(number), white, black, result))
        return bool(chunk)

    def end(self) -> int:
        """Hear the rest and wait; its exit code, negative for a signal."""
        assert self.listen(STUCK_S) is False, f"still there after {STUCK_S:.0f} s: {self.said()}"
        code = self.process.wait(STUCK_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def said(self) -> str:
        """Its stderr."""
        return self.errors.read_text("utf-8", "replace")


@dataclass
class Tour:
    """One configuration, its lives, and every game that was ever announced."""

    folder: Path
    path: Path
    dice: random.Random
    slots: int = 1
    start: Starter = by_name
    start_s: float = 2.0  # about what the preparations of a run take
    in_order: bool = True  # not where the machine failed games: others go before them then
    lives: int = 0
    announced: dict[int, tuple[str, str, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The tournament's."""
        return self.path.stem

    def begin(self) -> Life:
        """Start or go on: the same command, in a process of its own."""
        self.lives += 1
        errors = self.folder / f"{self.name}-{self.lives}.stderr"
        words = ["run", str(self.path), "--slots", str(self.slots), "--force"]
        return Life(self.start(self.folder, words, errors), errors)

    def wait_for_a_moment(self, life: Life) -> bool:
        """Anything from the first instruction to a game, the instant it is announced too; False if it ended before."""
        if self.dice.random() < 0.4:
            return life.listen(self.dice.uniform(0.0, self.start_s))
        later = self.dice.choice((0.0, self.dice.uniform(0.0, 0.3)))
        return life.listen(STUCK_S, self.dice.randint(1, 4)) and life.listen(later)

    def after(self, life: Life, code: int) -> None:
        """What must hold when a life is over: no process, no announced game lost, none announced twice."""
        said = life.said()
        assert "our own failure" not in said, said
        assert "Traceback" not in said or code == -signal.SIGINT, said
        self.nothing_left()
        for number, *rest in life.announced:
            assert number not in self.announced, f"game {number} was announced in two lives"
            self.announced[number] = (rest[0], rest[1], rest[2])
        if self.announced:
            with self.log() as (log, _):
                lines = {line.number: (line.white, line.black, line.outcome.value) for line in log.games()}
                lost = {number: told for number, told in self.announced.items() if lines.get(number) != told}
                assert not lost, f"announced and not there: {lost}"
                audited(log)

    def nothing_left(self) -> None:
        """No process of ours within the promised time."""
        until = time.monotonic() + GONE_S
        while left := left_running(self.folder):
            assert time.monotonic() < until, left
            time.sleep(0.02)  # nothing to wait on: they are nobody's children any more

    def log(self) -> _Opened:
        """The stored tournament."""
        return _Opened(self.folder, self.name)

    def finished(self) -> bool:
        """Nothing is left to play."""
        if not self.announced:
            return False
        with self.log() as (log, _):
            format_, state = fold(log)
            return not format_.offers(state)

    def finish(self) -> int:
        """Play the rest undisturbed; the number of games, all of them and their decisions as in one unbroken run."""
        life = self.begin()
        code = life.end()
        assert code == 0, life.said()
        self.after(life, code)
        assert self.finished()
        assert "Finished game" not in tour(self.folder, "run", str(self.path)).stdout
        with self.log() as (log, _):
            self._as_unbroken(log)
            games = audited(log)
            pgn = self.folder / "results" / f"{self.name}.pgn"
            assert pgn_games(pgn) == len(log.games(counting=True))
            assert pgn.read_text("utf-8") == tour(self.folder, "export", "pgn", "-t", self.name).stdout
            events = [json.loads(line) for line in pgn.with_suffix(".log.jsonl").read_text("ascii").splitlines()]
            logged = [event["number"] for event in events if event["event"] == "game"]
            assert logged == [line.number for line in log.games()], "each game has one line in the log"
            blamed = [incident for _, incident in log.incidents() if not incident.is_warning]
            assert [incident for incident in blamed if incident.category in ("crash", "host")] == [], blamed
            return games

    def _as_unbroken(self, log: TournamentLog) -> None:
        """Pairings, colours, openings and decisions are those of a run that nobody ended, with the same results."""
        pairings, notes = unbroken(log)
        played = [event.pairing for event in log.events() if isinstance(event, GameFinished) and counts(event)]
        assert sorted(pairings, key=str) == sorted(played, key=str)
        if self.slots == 1 and self.in_order:
            assert pairings == played
        assert as_json(notes) == as_json(note for _, note in log.notes())
        suite = prepare(self.path, None).suite
        assert all(stored.game.opening == suite.pick(stored.game.pairing) for stored in log.full_games())


class _Opened:
    """A tournament's log and its store, closed at the end."""

    def __init__(self, folder: Path, name: str) -> None:
        self.store = Store.open(folder / "results" / "enginetour.db", create=False)
        self.name = name

    def __enter__(self) -> tuple[TournamentLog, Store]:
        return self.store.tournament(self.name), self.store

    def __exit__(self, *_: object) -> None:
        self.store.close()


def counts(event: GameFinished) -> bool:
    """It was not void."""
    return event.outcome is not Outcome.VOID


def as_json(notes: Iterable[Note]) -> list[str]:
    """Comparable: the store knows lists only, a format may say tuples."""
    return [json.dumps([note.kind, note.text, note.fields]) for note in notes]


def unbroken(log: TournamentLog) -> tuple[list[Pairing], list[Note]]:
    """The tournament played again, one game at a time, with the results of the log; its pairings and decisions."""
    format_ = format_of(log)
    results = {event.pairing.key: event for event in log.events() if isinstance(event, GameFinished) and counts(event)}
    state: Any = format_.start(log.entrants)
    pairings: list[Pairing] = []
    while offers := format_.offers(state):
        pairings.append(offers[0])
        state = format_.step(state, GameFinished(offers[0], results[offers[0].key].outcome))
    return pairings, list(format_.notes(state))


def send(pids: list[int], number: signal.Signals) -> None:
    """To all of them at once; some may have gone."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def everybody(folder: Path) -> list[int]:
    """Scheduler, slots and engines: as the kernel ends them without memory, or a service manager its unit."""
    return [int(line.partition(":")[0]) for line in left_running(folder)]


def kill_everybody(folder: Path) -> None:
    """All their groups one right after the other, the scheduler's first: one has no time to end the next."""
    found = sorted(everybody(folder))
    for pid in found:
        seen = strays.look(pid)
        if seen is not None and seen.group == pid:  # a leader's group is all its own
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


def slots_of(scheduler: int) -> list[int]:
    """The slot processes of a scheduler."""
    return [seen.pid for seen in strays.table() if seen.parent == scheduler and seen.state != "Z"]


def kill(folder: Path, life: Life, dice: random.Random) -> None:
    """SIGKILL, to the scheduler or to everybody."""
    if dice.random() < ALL_OF_IT:
        kill_everybody(folder)
    send([life.process.pid], signal.SIGKILL)


def killed(folder: Path, tours: Iterable[Tour], wanted: int) -> str:
    """So many SIGKILLs, over as many tournaments as it takes, each played to its end; what came of it, in words."""
    kills = games = lives = 0
    for one in tours:
        while kills < wanted:
            life = one.begin()
            if one.wait_for_a_moment(life):
                kill(folder, life, one.dice)
                kills += 1
            code = life.end()
            assert code in (0, -signal.SIGKILL), life.said()
            one.after(life, code)
            if one.finished():
                break
        games += one.finish()
        lives += one.lives
        if kills >= wanted:
            break
    return f"{kills} kills in {lives} lives, {games} games, none lost, none doubled, nothing left running"
