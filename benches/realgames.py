"""Matches of real engines with several runners: games per second, own CPU, time losses.

With nodes=1 an engine needs less CPU than its runner, so that the runner is measured, and all games are the same. With
a short clock and no time margin, a slow runner causes time losses.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from benches import free
from benches.measure import Settings, a_second, against, plain
from benches.runners import Bout, Played, Runner, missing_peers, present

METERED = Path(__file__).parent / "metered.py"
SHORTEST = 2  # games of the short match in each slot, whose times are subtracted
SLOTS = (1, 2)
QUICK = ("stockfish", "stockfish")
CLOCKED = ("stockfish", "ethereal-chess")
TC = "1+0.01"
GAMES = "/usr/games"  # directory of engines in Debian (Policy 11.11)


def real_games(settings: Settings, program: tuple[str, ...]) -> Iterator[str]:
    """Measure all runners in turn, then time losses and the end of a match with engines that ignore `quit`."""
    if missing := sorted({name for name in QUICK + CLOCKED if _found(name) is None}):
        yield f"no games of real engines: {', '.join(missing)} not found in PATH"
        return
    for slots in SLOTS:
        rate: dict[str, list[float]] = defaultdict(list)
        play: dict[str, list[float]] = defaultdict(list)
        share: dict[str, list[float]] = defaultdict(list)
        timed: dict[str, list[float]] = defaultdict(list)
        for number in range(settings.rounds):
            for name, runner in present().items():
                folder = settings.folder / f"real-{slots}-{number}-{name}"
                few, games = SHORTEST * slots, settings.real
                short, long = (_bare(runner, folder / f"{count}", count, slots).seconds for count in (few, games))
                rate[name].append(long / games)
                play[name].append((long - short) / (games - few))
                share[name].append(_share(runner, folder, settings.real, slots))
                timed[name].append(_share(runner, folder / "timed", settings.timed, slots, CLOCKED, TC))
        yield f"stockfish at nodes=1, {slots} slot{'s' * (slots > 1)}, {settings.real} games"
        yield from against("  games, with start and end", rate, show=a_second)
        yield from against("  games, without start and end", play, show=a_second)
        yield from against("  own CPU per ply, database and PGN included", share)
        yield f"{' and '.join(CLOCKED)} at {TC}, {slots} slot{'s' * (slots > 1)}, {settings.timed} games"
        yield from against("  own CPU per ply, database and PGN included", timed)
    late = {name: [float(_clocked(runner, settings, name))] for name, runner in present().items()}
    yield from against(f"time losses, {settings.forfeits} games at {TC}, 2 slots", late, show=plain, ratio=False)
    ends = {name: [_deaf(runner, settings, program, name)] for name, runner in present().items()}
    yield from against("last move to exit, engines that ignore quit", ends)
    if note := missing_peers():
        yield note


def _deaf(runner: Runner, settings: Settings, program: tuple[str, ...], name: str) -> float:
    """Return the seconds from the last move of two engines that ignore `quit` and SIGTERM to the end of the command."""
    folder = settings.folder / f"deaf-{name}"
    words = free.command(program, folder / "stamps", deaf=True)
    one, other = free.NAMES
    # More than two games, because two can end before all modules are loaded.
    played = runner(Bout(((one, words), (other, words)), "60+1", settings.match), folder / "ran")
    return (played.ended - free.edges(folder / "stamps")[1]) / 1e9


def _bare(runner: Runner, folder: Path, games: int, slots: int) -> Played:
    one, other = QUICK
    return runner(Bout((("A", [path_of(one)]), ("B", [path_of(other)])), "nodes=1", games, slots), folder)


def _share(
    runner: Runner, folder: Path, games: int, slots: int, names: tuple[str, str] = QUICK, limit: str = "nodes=1"
) -> float:
    """Return the CPU seconds of the runner per ply, as the difference of a long and a short match."""
    spent = []
    for count in (SHORTEST * slots, games):
        times = folder / f"cpu-{count}"
        times.mkdir(parents=True)
        one, other = ([sys.executable, "-E", "-S", str(METERED), str(times), path_of(name)] for name in names)
        played = runner(Bout((("A", one), ("B", other)), limit, count, slots), folder / f"metered-{count}")
        engines = sum(float(path.read_text()) for path in times.glob("*.cpu"))
        spent.append((played.cpu - engines, played.plies))
    (short, few), (long, many) = spent
    return (long - short) / (many - few)


def _clocked(runner: Runner, settings: Settings, name: str) -> int:
    one, other = CLOCKED
    bout = Bout(((one, [path_of(one)]), (other, [path_of(other)])), TC, settings.forfeits, 2)
    return runner(bout, settings.folder / f"forfeits-{name}").forfeits


def path_of(program: str) -> str:
    """Return the path of an installed engine."""
    found = _found(program)
    assert found is not None
    return found


def _found(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:{GAMES}")
