"""Fixtures of all tests; tests whose engine is missing are skipped, or fail with ENGINETOUR_NO_SKIPS=1."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from enginetour.engines import process, protocol
from enginetour.referee import clock, waits
from enginetour.referee.startup import EnginePool
from enginetour.store.address import Address, parse_address
from tests.support import databases

if TYPE_CHECKING:
    from distributed import SpecCluster

    from tests.support.network import Stage


hypothesis.settings.register_profile("busy", deadline=None)  # a busy machine must not fail tests
hypothesis.settings.load_profile("busy")

GAMES = "/usr/games:/usr/local/games"


def find_program(name: str) -> str | None:
    """Return the path of a program in PATH or in the usual directories of engines."""
    return shutil.which(name) or shutil.which(name, path=GAMES)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("engine"):
        for name in mark.args:
            if find_program(name) is None:
                pytest.skip(f"{name} is not on this machine")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude modules and tests from garbage collections, because they exist until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("ENGINETOUR_NO_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"skipped where no skip is allowed: {item.nodeid}: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the user's settings, and let no game be void because this process wakes up late on a busy machine."""
    for name in ("ENGINETOUR_DB", "ENGINETOUR_PASS_ENV", "ENGINETOUR_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(clock, "OVERSLEPT_NS", 60_000 * clock.MS)
    yield


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A tournament with a simulated run that sends given events to the live page."""
    from tests.support.network import Stage  # takes half a second, and few tests need it

    made = Stage(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    """A workspace with a directory for results; after the test no process of it may run."""
    from tests.support.tournaments import BUSY_S, GONE_S, everybody, left_running, send  # see `stage`

    (tmp_path / "results").mkdir()
    yield tmp_path
    gone_by = time.monotonic() + GONE_S + BUSY_S  # a loading slot ends when it reads its pipe
    while (left := left_running(tmp_path)) and time.monotonic() < gone_by:
        time.sleep(0.05)
    send(everybody(tmp_path), signal.SIGKILL)
    assert left == []


@pytest.fixture(scope="module")
def cluster() -> Iterator[SpecCluster]:
    """Two machines of a Dask cluster with two slots each, in this process."""
    from tests.support.network import near_cluster  # see `stage`

    with near_cluster("a", "b", slots=2) as made:
        yield made


@pytest.fixture(scope="session")
def server() -> Iterator[databases.Server]:
    """A PostgreSQL server for tests."""
    if why := databases.lacking():
        pytest.skip(why)
    with databases.server() as made:
        yield made


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    """An address of a database; tests with it run with SQLite and with PostgreSQL."""
    if request.param == "file":
        return tmp_path / "t.db"
    made: databases.Server = request.getfixturevalue("server")
    return parse_address(made.schema())


@pytest.fixture
def pool() -> Iterator[EnginePool]:
    """A pool of engines, which end with the test."""
    kept = EnginePool()
    yield kept
    kept.close_all()


@pytest.fixture
def engines_ended() -> Iterator[None]:
    """End all engines after the test."""
    yield
    process.kill_running_engines()


@pytest.fixture
def no_engine_left() -> Iterator[None]:
    """Check that the test ends without a running engine."""
    yield
    assert not process.running_engines


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report no wait and no late wake-up, so that other reasons of a doubtful time loss are tested alone."""
    monkeypatch.setattr(waits.OwnWaits, "look", lambda queue: b"")
    monkeypatch.setattr(waits.EngineWaits, "machine_ns", lambda queue: None)
    monkeypatch.setattr(waits.EngineWaits, "is_kept_waiting", lambda queue, used_ns: False)
    monkeypatch.setattr(clock.Interruptions, "woke", lambda *_: 0)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the answer to `stop`, and to the ping after it, as long as a busy machine needs."""
    monkeypatch.setattr(protocol, "OWED_NS", 60_000 * protocol.MS)
    monkeypatch.setattr(protocol, "PING_NS", 60_000 * protocol.MS)
