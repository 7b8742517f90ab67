"""Real engines on an overloaded machine: no engine loses points by it, the load is reported, and the run ends.

Environment: ENGINETOUR_NIGHT_BUSY_S (seconds with three times as many busy processes as processors, default
1200), ENGINETOUR_NIGHT_BUSY_GAMES (games of each pair, default 200).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from enginetour.model.game import Game, Outcome, Termination
from enginetour.store.tournaments import Store
from tests.support.tournaments import Forked, audit, config, read

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

BUSY_S = float(os.environ.get("ENGINETOUR_NIGHT_BUSY_S", "1200"))
GAMES = int(os.environ.get("ENGINETOUR_NIGHT_BUSY_GAMES", "200"))
ENGINES = ("stockfish", "toga2", "glaurung", "ethereal", "fairymax", "polyglot-stockfish-cecp")
MARGIN = re.compile(r"margin ([\d.]+) ms")
SHARE = re.compile(r"referee delay up to ([\d.]+) ms")
WAITED = re.compile(r"engine waited up to ([\d.]+) ms")


@contextmanager
def busy() -> Iterator[threading.Timer]:
    """Run three times as many busy processes as processors; a timer ends them."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(3 * (os.cpu_count() or 1))]

    def end() -> None:
        for process in processes:
            process.kill()

    timer = threading.Timer(BUSY_S, end)
    timer.start()
    try:
        yield timer
    finally:
        timer.cancel()
        end()
        for process in processes:
            process.wait()


def excused(game: Game) -> bool:
    """Whether the machine may have caused a time loss, from the values in its cause."""
    cause = game.cause
    over = re.search(r"loses on time, (\d+) ms over", cause)
    if over is None:
        return "because the engine got no processor" in cause
    margin, share, waited = (
        float(found[1]) if (found := part.search(cause)) is not None else 0.0 for part in (MARGIN, SHARE, WAITED)
    )
    return float(over[1]) - margin < share + waited - 1  # one of the values is truncated to milliseconds


@pytest.mark.engine("stockfish")
def test_a_busy_machine_costs_nobody_a_point(tmp_path: Path) -> None:
    """In a gauntlet at 1+0.02 with two slots on an overloaded machine, no time loss is due to the machine."""
    path = config(tmp_path, ENGINES, "gauntlet", f"games_per_pairing = {GAMES}", tc="1+0.02")
    words = ["run", str(path), "--concurrency", "2", "--force"]
    with busy() as timer, Forked(tmp_path, words, tmp_path / "errors") as run:
        run.first_game()
        while "clocks are unreliable" not in run.errors.read_text() or not timer.is_alive():
            run.first_game()
        during = read(tmp_path, "status")["warnings"]
        assert run.ended()[0] == 0
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        games = [line.game for line in store.tournament("trial").full_games(1)]
    lost = [game for game in games if game.termination is Termination.TIME]
    counted = [game for game in lost if game.outcome is not Outcome.VOID]
    assert [game.cause for game in counted if excused(game)] == []
    assert [game.cause for game in lost if game.cause.endswith("; doubtful") and not excused(game)] == []
    assert any("clocks are unreliable" in words for words in during)
    events = [json.loads(line) for line in (tmp_path / "results" / "trial.log.jsonl").read_text().splitlines()]
    assert any("clocks are unreliable" in event["text"] for event in events if event["event"] == "trouble")
    told = f"{audit(tmp_path)} games, {len(counted)} time losses count, {len(lost) - len(counted)} were void"
    print(told, *(game.cause for game in counted), sep="\n")
