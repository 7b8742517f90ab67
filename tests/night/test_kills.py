"""Tournaments that are ended again and again, in every way and at any time."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from enginetour.engines import strays
from tests.support.tournaments import ENDS, KILLS, SEED, STUCK_S, Tour, config, everybody, kill, killed, send, slots_of

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

WRENS = ("wren1", "wren2", "wren3", "wren4", "wren5", "wren6")
BUBBLE = "size = 4\nmin_matches = 3\nunpark_threshold = 2\ngames_per_pairing = 2"
BUSY_S = 2.0  # additional time for a busy machine


def tours(folder: Path, dice: random.Random, slots: int = 1) -> Iterator[Tour]:
    """One bubble after the other in the same database, each resumed until it has ended."""
    for number in count(1):
        path = config(folder, WRENS, settings=BUBBLE, name=f"night-{number}", strong=True)
        yield Tour(folder, path, dice, slots)


@pytest.mark.parametrize("slots", [1, 2])
def test_sigkill_at_any_moment_loses_and_doubles_nothing(
    workspace: Path, slots: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """After every SIGKILL the same command resumes; the result is that of an uninterrupted tournament."""
    told = killed(workspace, tours(workspace, random.Random(SEED + slots), slots), KILLS)
    with capsys.disabled():
        print(f"\n{slots} slots: {told}")


@pytest.mark.parametrize("slots", [1, 2])
def test_a_killed_slot_costs_nothing(workspace: Path, slots: int, capsys: pytest.CaptureFixture[str]) -> None:
    """After the kill of a slot, its engines end, its game is replayed and the run continues."""
    dice = random.Random(SEED - slots)
    kills = games = 0
    longest = 0.0
    for tour in tours(workspace, dice, slots):
        tour.in_order = False
        life = tour.begin()
        life.listen(STUCK_S, 1)  # a kill during the probe of engines would end the run
        while kills < ENDS and tour.wait_for_a_moment(life):
            for slot in slots_of(life.process.pid)[: dice.randint(1, slots)]:
                engines = [seen.pid for seen in strays.descendants(slot, strays.process_table())]
                send([slot], signal.SIGKILL)
                begun = time.monotonic()
                while any(seen.state != "Z" for pid in (slot, *engines) if (seen := strays.process_info(pid))):
                    time.sleep(0.005)  # poll, because they are not child processes
                    assert time.monotonic() - begun < 1.0  # reliability section 3
                longest = max(longest, time.monotonic() - begun)
                kills += 1
        assert life.end() == 0, life.said()
        tour.after(life, 0)
        games += tour.finish()
        if kills >= ENDS:
            break
    with capsys.disabled():
        print(f"\n{slots} slots: {kills} of them killed, {games} games, all gone after {longest * 1000:.0f} ms")


@pytest.mark.parametrize(
    ("number", "times", "whole", "code", "within"),
    [
        (signal.SIGTERM, 1, False, 143, 5.0),
        (signal.SIGTERM, 1, True, 143, 5.0),
        (signal.SIGHUP, 1, False, 129, 5.0),
        (signal.SIGINT, 2, False, 130, 3.0),
    ],
    ids=["term", "term-everybody", "hup", "int-twice"],
)
def test_a_stop_at_any_moment_is_tidy(
    workspace: Path,
    number: signal.Signals,
    times: int,
    whole: bool,
    code: int,
    within: float,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A stop gives the right exit code in time, leaves no process, blames no engine, and can be resumed."""
    dice = random.Random(SEED + number + whole)
    stops = games = 0
    longest = 0.0
    wanted = ENDS
    for tour in tours(workspace, dice):
        while stops < wanted:
            life = tour.begin()
            if tour.wait_for_a_moment(life):
                begun = "database " in life.said()  # printed just before the signal handlers are installed
                for turn in range(times):
                    if turn:
                        life.listen(dice.uniform(0.0, 0.3))
                    send(everybody(workspace) if whole else [life.process.pid], number)
                sent = time.monotonic()
                ended = life.end()
                longest = max(longest, time.monotonic() - sent)
                assert time.monotonic() - sent < within + BUSY_S
                stops += 1
                tour.after(life, ended)
                # Exit codes as in a shell: death by the signal, without the handlers, has the same code.
                shell = ended if ended >= 0 else 128 - ended
                assert shell == code or (shell == 0 and tour.finished()), life.said()
                if begun and not tour.finished():
                    assert f"enginetour run {tour.path} resumes it" in life.said()
            else:
                tour.after(life, life.end())
            if tour.finished():
                break
        games += tour.finish()
        if stops >= wanted:
            break
    with capsys.disabled():
        print(f"\n{number.name}: {stops} stops, {games} games, the slowest stop took {longest:.2f} s")


@pytest.mark.engine("stockfish")
@pytest.mark.engine("fairymax")
def test_real_engines_survive_kills(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tournaments of UCI and CECP engines with real clocks are killed and resumed, with the same result."""
    dice = random.Random(SEED)
    more = '\n[[entrants]]\nengine = "stockfish"\nname = "Stockfish B"\n'
    path = config(
        workspace,
        ("stockfish", "fairymax"),
        settings="size = 3\nmin_matches = 2\nunpark_threshold = 1\ngames_per_pairing = 4",
        more=more,
        name="real",
        tc="0.2+0.02",
    )
    tour = Tour(workspace, path, dice)
    kills = 0
    while kills < ENDS and not tour.finished():
        life = tour.begin()
        if tour.wait_for_a_moment(life):
            kill(workspace, life, dice)
            kills += 1
        tour.after(life, life.end())
    games = tour.finish()
    with capsys.disabled():
        print(f"\nstockfish and fairymax: {kills} kills in {tour.lives} lives, {games} games")
