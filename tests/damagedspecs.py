"""Databases with one damaged specification each: what was done to them, and what must come of it."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.touring import BUSY_S, default_signals, typed

ENDS_S = 1.0  # from SIGTERM, before the main loop runs
LOOP_ENDS_S = 5.0  # once it runs
Spoil = Callable[[dict[str, Any]], object]


def _with(**changed: Any) -> Spoil:
    return lambda spec: {**spec, **changed}


def _without(key: str) -> Spoil:
    return lambda spec: {name: value for name, value in spec.items() if name != key}


SPOILT: dict[str, Spoil] = {
    "a descriptor as program": _with(command=[5]),
    "a descriptor as argument": lambda spec: {**spec, "command": [*spec["command"], 5]},
    "a text as command": _with(command="/bin/sh"),
    "no command": _with(command=[]),
    "a blank program": _with(command=[" "]),
    "null as command": _with(command=None),
    "a nul in the command": _with(command=["/bin/true", "a\0b"]),
    "a nested command": _with(command=[["/bin/true"]]),
    "a number in env": _with(env=[["A", 1]]),
    "a table as env": _with(env={"A": "1"}),
    "three in env": _with(env=[["A", "1", "2"]]),
    "one in env": _with(env=[["A"]]),
    "a number in options": _with(options=[["Hash", 64]]),
    "null in options": _with(options=[[None, "64"]]),
    "true as options": _with(options=True),
    "an unknown protocol": _with(protocol="xboard"),
    "a list as protocol": _with(protocol=["uci"]),
    "no protocol": _without("protocol"),
    "an unknown limit": _with(limits=["speed"]),
    "a number as limits": _with(limits=7),
    "no limits": _without("limits"),
    "a list as limit": _with(limits=[["clock"]]),
    "an unknown key": _with(shell=True),
    "a number as name": _with(name=7),
    "another name": _with(name="Wren 9"),
    "no name": _without("name"),
    "a number as directory": _with(dir=5),
    "a negative number of copies": _with(max_copies=-1),
    "true as copies": _with(max_copies=True),
    "a fraction of copies": _with(max_copies=1.5),
    "a number as fingerprint": _with(fingerprint=5),
    "a list as quirks": _with(quirks=[]),
    "an unknown quirk": _with(quirks={"rocket": True}),
    "an endless time-out": _with(quirks={"handshake_timeout": float("inf")}),
    "a number as init": _with(quirks={"init": [5]}),
    "a text as memory": _with(resources={"memory": "much"}),
    "a negative memory": _with(resources={"memory": -1}),
    "an unknown resource": _with(resources={"rockets": 1}),
    "an unknown sandbox": _with(sandbox="castle"),
    "a number in pass_env": _with(pass_env=[5]),
    "a text as pass_env": _with(pass_env="PATH"),
    "a number as keep_scratch": _with(keep_scratch=1),
    "a number as ponder": _with(ponder=1),
    "an unknown restart": _with(restart="never"),
    "numbers as files": _with(files=[[1, 2]]),
    "numbers as offered": _with(offered=[[1, 2]]),
    "deep nesting": lambda _: "[" * 30_000 + "]" * 30_000,
    "half of it": lambda spec: json.dumps(spec)[:200],
    "nothing": lambda _: "",
    "a list": lambda _: [],
}


def spoil(database: Path, whole: Path, name: str, spoilt: Spoil) -> None:
    """Put a database with one damaged specification in the place of another one; its name is an entrant's."""
    for left in (database, *(database.with_name(database.name + end) for end in ("-wal", "-shm"))):
        left.unlink(missing_ok=True)
    shutil.copy(whole, database)
    raw = sqlite3.connect(database, isolation_level=None)
    (text,) = raw.execute("SELECT spec FROM entrants WHERE name = ?", (name,)).fetchone()
    found = spoilt(json.loads(text))
    raw.execute(
        "UPDATE entrants SET spec = ? WHERE name = ?", (found if isinstance(found, str) else json.dumps(found), name)
    )
    raw.close()


def tried(folder: Path, config: Path, names: tuple[str, ...], entrant: str) -> Iterator[tuple[str, float, float]]:
    """For each of them: the refusal of `run`, its seconds from SIGTERM to the end before and after the repair.

    `config` does not name `entrant`, so that only the database knows how to start it.
    """
    database = folder / "results" / "enginetour.db"
    whole = folder / "whole.db"
    for name in names:
        spoil(database, whole, entrant, SPOILT[name])
        before = _ended(folder, config, wait_for="")
        refused = typed(folder, "run", str(config), expect=5).stderr.strip()
        assert refused.count("\n") == 0 and entrant in refused and "enginetour db repair" in refused, refused
        assert entrant in typed(folder, "db", "check", expect=5).stdout
        repaired = typed(folder, "db", "repair").stdout.splitlines()
        assert [entrant in line for line in repaired] == [True, False], repaired
        typed(folder, "db", "check")
        after = _ended(folder, config, wait_for="Started game")
        assert before <= ENDS_S + BUSY_S, f"{name}: {before:.2f} s to the end before the repair"
        assert after <= LOOP_ENDS_S + BUSY_S, f"{name}: {after:.2f} s to the end after the repair"
        yield refused, before, after


def _ended(folder: Path, config: Path, wait_for: str) -> float:
    """Seconds from SIGTERM, sent when the run has said something, or after a moment, to its end."""
    command = [sys.executable, "-u", "-m", "enginetour", "run", str(config), "--plain"]
    more: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=folder, preexec_fn=default_signals, **more) as run:
        try:
            assert run.stdout is not None
            if wait_for:
                next((line for line in run.stdout if line.startswith(wait_for)), None)
            else:
                time.sleep(0.7)  # any moment will do
            run.send_signal(signal.SIGTERM)
            begun = time.monotonic()
            run.wait(60)
            return time.monotonic() - begun
        finally:
            run.kill()
