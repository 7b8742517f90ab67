"""Machines of a cluster are disconnected for a minute, twice as long as Dask waits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.network import Cluster, Network, cluster, lacking, manager, unhurried
from tests.support.tournaments import FOUR, GONE_S, audit, config, left_running, until

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

CUT_S = 60.0
BORNE_S = 30.0  # Dask's default of distributed.comm.timeouts.tcp


@pytest.fixture
def hosts() -> Iterator[Network]:
    """Two hosts: one with the scheduler of the cluster and a worker, one to disconnect."""
    if why := lacking():
        pytest.skip(why)
    with closing(Network("home", "away")) as made:
        yield made


@pytest.fixture
def dask(hosts: Network, tmp_path: Path) -> Iterator[Cluster]:
    """The scheduler and a worker `near` on its host."""
    home, before = hosts.address("home"), hosts.enter("home")
    with cluster(tmp_path / "dask", slots=1, host=home, before=before) as made:
        made.join("near", made.address, "--host", home, before=before)
        yield made


def slow(folder: Path, cycles: int) -> Path:
    """A tournament of two games per cycle that take seconds each."""
    (folder / "results").mkdir(parents=True)
    settings = f"games_per_pairing = 2\ncycles = {cycles}"
    return config(folder, (), "roundrobin", settings, unhurried(FOUR[:2], 20))


def rest(since: float) -> None:
    """Wait until the end of the disconnection; everything that is expected during it has happened."""
    left = since + CUT_S - time.monotonic()
    assert left > 0
    time.sleep(left)


def test_a_worker_cut_off_for_a_minute(hosts: Network, dask: Cluster, tmp_path: Path) -> None:
    """The game of the worker is played elsewhere, its engines end, and it plays again after its return."""
    path, away = slow(tmp_path / "tour", cycles=12), hosts.address("away")
    dask.join("away", dask.address, "--host", away, before=hosts.enter("away"))
    dask.wait_for_workers()
    with manager(path, dask.place, before=hosts.enter("home")) as one:
        dask.wait_for_game("away")
        hosts.pull("away")
        cut = time.monotonic()
        one.hears("away has left the cluster, with 1 game in progress")
        dask.wait_for_end("away")
        assert time.monotonic() - cut < BORNE_S + 2 * GONE_S
        dask.again("away")
        rest(cut)
        hosts.plug("away")
        one.hears("away is back: 1 slot")
        dask.kill("near")
        assert "Finished game" in one.finishes()
    dask.end()
    until(lambda: left_running(tmp_path) == [], GONE_S)  # slots end after their worker
    assert audit(path.parent) == 24


def test_a_manager_cut_off_for_a_minute(hosts: Network, dask: Cluster, tmp_path: Path) -> None:
    """The games end on the cluster without blame for an engine, and are played again later."""
    path = slow(tmp_path / "tour", cycles=3)
    dask.wait_for_workers()
    with manager(path, dask.place, before=hosts.enter("away")) as one:
        one.hears("Finished game")
        dask.wait_for_game("near")
        hosts.pull("away")
        cut = time.monotonic()
        one.hears("does not respond: games wait until it does")
        until(lambda: len(left_running(dask.folder_of("near"))) == 1)
        assert time.monotonic() - cut < BORNE_S + 2 * GONE_S
        rest(cut)
        hosts.plug("away")
        one.hears("is back")
        assert "set aside" not in one.finishes()
    dask.end()
    until(lambda: left_running(tmp_path) == [], GONE_S)  # slots end after their worker
    assert audit(path.parent) == 6
