"""SIGKILL at any time of an import, an upgrade or a copy leaves all of it or nothing."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from enginetour.cli.main import cli
from enginetour.store.backup import copy_store, upgrade_database
from enginetour.store.check import inspect
from enginetour.store.database import Database, database_exists, schema_version
from enginetour.store.imports import imports_of
from enginetour.store.tables import SCHEMA_VERSION
from enginetour.store.tournaments import Store
from tests.support.databases import older, pgn
from tests.support.tournaments import SEED

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

KILLS = int(os.environ.get("ENGINETOUR_NIGHT_STORE_KILLS", "250"))  # per kind
GAMES = 2000


def killed(act: Callable[[], object], dice: random.Random, longest_s: float) -> bool:
    """Kill the process of an act up to `longest_s` after its start; return whether the act had ended."""
    child = os.fork()
    if not child:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)  # without the other tests of the session
    time.sleep(dice.uniform(0, longest_s))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFEXITED(status)


def duration_s(act: Callable[[], object]) -> float:
    """Return the time of the act without a kill, with loaded modules."""
    act()
    begun = time.monotonic()
    act()
    return time.monotonic() - begun


def sound(path: Path) -> None:
    """Check that the check of the database finds nothing."""
    with Store.open(path, create=False, readonly=True) as store:
        assert inspect(store).findings == ()


def test_kills_of_an_upgrade(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The database has the old schema with all rows or the new one, and the upgrade can be repeated."""
    dice = random.Random(SEED)
    whole_s = duration_s(lambda: upgrade_database(older(tmp_path / "whole.db")))
    ended = 0
    for _ in range(KILLS):
        path = older(tmp_path / "t.db")
        ended += killed(lambda path=path: upgrade_database(path), dice, whole_s)  # type: ignore[misc]
        assert schema_version(path) in (6, SCHEMA_VERSION)
        upgrade_database(path)
        sound(path)
        assert dump(path) == dump(tmp_path / "whole.db")
        for left in tmp_path.glob("*t.db*"):
            left.unlink()
    with capsys.disabled():
        print(f"\n{KILLS} kills of an upgrade, {ended} of them after its end")


def test_kills_of_an_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All games of a file are stored or none, and once even if they are imported again."""
    dice = random.Random(SEED)
    file = tmp_path / "games.pgn"
    players = ("Fruit", "Toga", "Rebel", "Crafty")
    pairs = [(one, other) for one in players for other in players if one != other]
    file.write_text(pgn(*((*dice.choice(pairs), dice.choice(("1-0", "0-1", "1/2-1/2"))) for _ in range(GAMES))))
    path = tmp_path / "t.db"

    def anew() -> None:
        empty(path)
        bring(tmp_path)

    whole_s = duration_s(anew)
    ended = 0
    for _ in range(KILLS):
        empty(path)
        ended += killed(lambda: bring(tmp_path), dice, whole_s)
        with Store.open(path, create=False, readonly=True) as store:
            assert [line.games for line in imports_of(store.database)] in ([], [GAMES])
        bring(tmp_path)
        with Store.open(path, create=False, readonly=True) as store:
            assert [line.games for line in imports_of(store.database)] == [GAMES]
        sound(path)
    with capsys.disabled():
        print(f"\n{KILLS} kills of an import, {ended} of them after its end")


def empty(path: Path) -> None:
    """Replace a database by a new one."""
    for left in path.parent.glob(f"{path.name}*"):
        left.unlink()
    Database.open(path).close()


def bring(folder: Path) -> None:
    """Import the file into the database; `tour` needs the fork server, which a forked process cannot use."""
    words = ["import", str(folder / "games.pgn"), "--name", "club", "--db", str(folder / "t.db")]
    cli.main(words, standalone_mode=False)


def test_kills_of_a_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The copy is complete or has no rows, and can be made again."""
    dice = random.Random(SEED)
    source, target = older(tmp_path / "source.db", "league"), tmp_path / "t.db"
    upgrade_database(source)
    whole_s = duration_s(lambda: copy_store(source, tmp_path / f"whole-{len(list(tmp_path.iterdir()))}.db"))
    wanted = dump(source)
    ended = 0
    for _ in range(KILLS):
        for left in tmp_path.glob("t.db*"):
            left.unlink()
        done = killed(lambda: copy_store(source, target), dice, whole_s)
        ended += done
        if not done and (not database_exists(target) or not any(dump(target).values())):
            copy_store(source, target)
        assert dump(target) == wanted
    with capsys.disabled():
        print(f"\n{KILLS} kills of a copy, {ended} of them after its end")


def dump(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every table, sorted."""
    with closing(sqlite3.connect(path)) as raw:
        names = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {name: sorted(raw.execute(f'SELECT * FROM "{name}"'), key=repr) for name in names}
