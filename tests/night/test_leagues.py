"""Leagues that are killed at random moments: nothing is lost or doubled, and the next season follows."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from enginetour.formats.league import next_season
from enginetour.store.replay import audit
from enginetour.store.seasons import SeasonBook, seasons_of
from enginetour.store.tournaments import Store
from enginetour.tournament.league import read_league
from tests.support.tournaments import league, scripted, tour

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

KILLS = int(os.environ.get("ENGINETOUR_NIGHT_KILLS", "20"))
SEASONS = 2
RULES = "parallel = 2\ncross = { engines = 1 }\nplayoff = { games = 2 }"


def run(folder: Path, seconds: float | None, whole: bool) -> int:
    """Run the league in a process; kill it, or all its processes if `whole`, after a time. Return its exit code."""
    command = [sys.executable, "-m", "enginetour", "run", "league.toml"]
    with (folder / "out.log").open("ab") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            (os.killpg if whole else os.kill)(process.pid, signal.SIGKILL)
            return process.wait()


def test_killed_seasons(tmp_path: Path) -> None:
    """Kill the runs of two seasons; a failing engine is replaced by a reserve, and a new engine enters."""
    dice, kills = random.Random(36), 0
    path = league(tmp_path, RULES)
    bad = scripted("Eve", "uci")
    text = path.read_text().replace(bad, scripted("Eve", "uci", "--fault", "crash", "--at", "3"))
    text += f"{scripted('Sub', 'uci')}reserve = true\n[quality]\ncrashes = 0\n"
    path.write_text(text.replace("cycles = 2", "cycles = 12").replace('"roundrobin" }', '"roundrobin", cycles = 12 }'))
    for number in range(1, SEASONS + 1):
        while code := run(
            tmp_path, dice.uniform(1, 4) if kills < KILLS * number // SEASONS else None, dice.random() < 0.5
        ):
            assert code == -signal.SIGKILL, (tmp_path / "out.log").read_text()[-2000:]
            kills += 1
        if number < SEASONS:
            path.write_text(path.read_text().replace("[quality]", f"{scripted('Ivy', 'uci')}[quality]"))
            tour(tmp_path, "season", "next", "league.toml")
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        books = [SeasonBook(store, stored) for stored in seasons_of(store)]
        for book in books:
            assert not book.playable()
            names = [name for table in book.tables for name in table]
            assert len(names) == len(set(names)) == 6
            for stage in book.stages():
                assert stage.log is not None
                audit(stage.log)
                games = [game for game in stage.log.games() if game.counts]
                played = Counter((*sorted((game.white, game.black)), game.meeting, game.leg) for game in games)
                assert max(played.values()) == 1
                pgn = (tmp_path / "results" / f"{stage.log.slug}.pgn").read_text()
                assert len(re.findall(r"(?m)^\[White ", pgn)) == len(games)
        file, result = read_league(path), books[0].result()
        assert set(result.left) == {"Eve"}
        engines = [name for name in [*file.members, "Sub"] if name not in result.left]
        assert next_season(file.section.rules(), books[0].season, result, engines) == books[1].stored.season
    print(f"{kills} kills in {SEASONS} seasons, none lost, none doubled")
