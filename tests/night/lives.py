"""A tournament that is ended from outside at random moments and gone on with: its lives, and what must hold after each.

Sizes by environment: ENGINETOUR_NIGHT_KILLS (default 50), ENGINETOUR_NIGHT_SEED (default 2007).
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
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from enginetour import tournament
from enginetour.model import GameFinished, Note, Outcome, Pairing
from enginetour.plan import prepare
from enginetour.store.log import TournamentLog
from enginetour.store.tournaments import Store
from tests.touring import audited, default_signals, left_running, pgn_games, tour

KILLS = int(os.environ.get("ENGINETOUR_NIGHT_KILLS", "50"))
SEED = int(os.environ.get("ENGINETOUR_NIGHT_SEED", "2007"))
GONE_S = 5.0  # after the end of the scheduler, however it ended: reliability section 3
STUCK_S = 120.0  # a life without any sign for so long hangs
FINISHED = re.compile(r"Finished game (\d+) \((.+) vs (.+)\): (\S+) ")


@dataclass
class Life:
    """One run of `enginetour run` until it was ended from outside, or ended by itself."""

    process: subprocess.Popen[bytes]
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
    lives: int = 0
    announced: dict[int, tuple[str, str, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The tournament's."""
        return self.path.stem

    def begin(self) -> Life:
        """Start or go on: the same command, in a process of its own; its temporary files are in our folder too."""
        self.lives += 1
        errors = self.folder / f"{self.name}-{self.lives}.stderr"
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        words = ["run", str(self.path), "--slots", str(self.slots), "--force"]
        with errors.open("wb") as sink:
            process = subprocess.Popen(
                [sys.executable, "-u", "-m", "enginetour", *words],
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=os.environ | {"TMPDIR": str(temporary)},
                preexec_fn=default_signals,
            )
        return Life(process, errors)

    def wait_for_a_moment(self, life: Life) -> bool:
        """Anything from the first instruction to a game, the instant it is announced too; False if it ended before."""
        if self.dice.random() < 0.4:
            return life.listen(self.dice.uniform(0.0, 2.0))
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
            format_, state = tournament.fold(log)
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
            blamed = [incident for _, incident in log.incidents() if not incident.is_warning]
            assert [incident for incident in blamed if incident.category in ("crash", "host")] == [], blamed
            return games

    def _as_unbroken(self, log: TournamentLog) -> None:
        """Pairings, colours, openings and decisions are those of a run that nobody ended, with the same results."""
        pairings, notes = unbroken(log)
        played = [event.pairing for event in log.events() if isinstance(event, GameFinished) and counts(event)]
        assert sorted(pairings, key=str) == sorted(played, key=str)
        if self.slots == 1:
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
    format_ = tournament.format_of(log)
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
