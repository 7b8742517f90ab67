"""Clocks on a cluster: each machine measures itself, and its games are played by its own speed."""

from __future__ import annotations

import platform
from collections import Counter
from pathlib import Path

import pytest
from distributed import get_worker

from enginetour.engines import machine
from enginetour.reports.review.fairness import hosts_of
from enginetour.store.games import conditions
from enginetour.store.tournaments import Store
from enginetour.tournament.cluster import worker
from tests.nearcluster import near_cluster, place_of
from tests.touring import config, read, tour

SPEEDS = {"quick": 2.0, "slow": 0.5, "slower": 0.1}
CLOCKS = {"2": "30+0.5,depth=1", "0.5": "120+2,depth=1"}


def current() -> object:
    """The worker in one of whose threads this is called; None elsewhere."""
    try:
        return get_worker()
    except ValueError:
        return None


@pytest.fixture(autouse=True)
def _speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the workers are called; the manager's own machine is never measured."""
    monkeypatch.setattr(worker, "_speed", lambda _: SPEEDS[str(get_worker().name)])
    monkeypatch.setattr(platform, "node", lambda: getattr(current(), "name", "manager"))
    monkeypatch.setattr(machine, "speed", lambda _=0: pytest.fail("nobody plays here"))


def test_each_game_has_the_clocks_of_its_machine(tmp_path: Path) -> None:
    """They are written in its record beside host and speed; the tournament itself has no machine.

    The fairness page counts the games of each, and a list can be of one machine alone.
    """
    tc = '60+1,depth=1"\nspeed = "measure"\n#'
    path = config(tmp_path, ("wren1", "wren2", "wren3"), "roundrobin", "games_per_pairing = 2", tc=tc)
    with near_cluster("quick", "slow") as cluster:
        done = tour(
            tmp_path, "run", str(path), "--place", place_of(cluster), "--slots", "2", "--max-games", "3", expect=8
        )
        done.stdout += tour(tmp_path, "run", str(path), "--place", place_of(cluster), "--slots", "2").stdout
    assert "times are divided by the speed of the machine" in done.stdout
    assert "times are multiplied" not in done.stdout
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        log = store.tournament("trial")
        assert "machine" not in log.config
        games = [stored.game for stored in log.full_games()]
        hosts = hosts_of(tuple(conditions(log)))
    speeds = {game.pairing.key: game.hardware.partition(", speed ")[2].rstrip(")") for game in games}
    assert len(games) == 6
    assert set(speeds.values()) == {"2", "0.5"}
    for game in games:
        assert {game.white_tc, game.black_tc} == {CLOCKS[speeds[game.pairing.key]]}
        assert game.white.speed == game.black.speed == float(speeds[game.pairing.key])
    counts = Counter("quick" if speed == "2" else "slow" for speed in speeds.values())
    assert {name.rpartition("(")[2].rstrip(")"): count for name, count in hosts.games} == counts
    assert hosts.words.endswith("too few to compare their results")
    for name, count in counts.items():
        rows = read(tmp_path, "ratings", "--all", "--hardware", f"*({name},*")["list"]
        assert sum(row["games"] for row in rows) == 2 * count


def test_a_machine_too_slow_for_a_clock_lacks_speed(tmp_path: Path) -> None:
    """More than a day for a stage; the others play."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "", tc='20000,depth=1"\nspeed = "measure"\n#')
    with near_cluster("quick", "slower") as cluster:
        done = tour(tmp_path, "run", str(path), "--place", place_of(cluster))
    assert "slower lacks speed: 20000,depth=1 times 10 is more than a day" in done.stdout
    assert {line["white_tc"] for line in read(tmp_path, "games")} == {"10000,depth=1"}
