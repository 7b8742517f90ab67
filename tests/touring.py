"""Whole tournaments in a workspace of the test's own: their configuration, the command line, what must hold after."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import chess.pgn
import pytest
from click.testing import CliRunner, Result

from enginetour.cli.main import cli, main
from enginetour.store import replay
from enginetour.store.log import TournamentLog
from enginetour.store.tournaments import Store
from enginetour.tournament import probing
from enginetour.tournament.places import LocalPlace

CONFIG = """\
[tournament]
name = "{name}"
seed = 4
[format]
system = "{system}"
{settings}
[play]
tc = "{tc}"
[report]
write = false
{entrants}
"""
BUBBLE = "size = 3\nmin_matches = 2\nunpark_threshold = 2\ngames_per_pairing = 2"
FOUR = ("wren1", "wren2", "wren3", "wren4")
THREE = FOUR[:3]
LONG_S = 60.0  # on a busy machine; nothing takes so long
GONE_S = 5.0  # after the end of the scheduler, however it ended: reliability section 3
BUSY_S = 5.0  # room for a busy machine on top of what is promised


def config(
    folder: Path,
    engines: tuple[str, ...],
    system: str = "bubble",
    settings: str = BUBBLE,
    more: str = "",
    *,
    name: str = "trial",
    tc: str = "depth=1",
) -> Path:
    """A configuration between shipped engines; `more` is appended."""
    entrants = "\n".join(f'[[entrants]]\nengine = "{engine}"' for engine in engines) + more
    path = folder / f"{name}.toml"
    path.write_text(CONFIG.format(name=name, system=system, settings=settings, tc=tc, entrants=entrants), "utf-8")
    return path


def entrant(name: str, command: Sequence[str], protocol: str = "uci") -> str:
    """The section of a configuration for an engine by its command."""
    words = json.dumps([*command])  # a list of strings reads the same in TOML
    return f'\n[[entrants]]\nname = "{name}"\nprotocol = "{protocol}"\ndir = "scratch"\ncommand = {words}\n'


def tour(folder: Path, *words: str, expect: int | None = 0) -> subprocess.CompletedProcess[str]:
    """The command line's own entry, called in the workspace: a process for each would cost half of the test's time."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    argv = ["enginetour", *words]
    with chdir(folder), mock.patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return _checked(subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue()), expect)


TRIED_ONCE = """\
from enginetour.referee import slot
from enginetour.engines import protocol as base
from enginetour.referee.compliance import course, common as lines
from enginetour.referee import probe
probe.AGAIN_S, course.TRIES = (), 1
base.OWED_NS = 100 * base.MS
lines.ANSWER_S = 1.0
slot.main()
"""


def try_engines_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots that try an engine do so once, and wait a moment for one that says nothing.

    For refusals told by `tour`: three tries and their pauses have tests of their own in regressions/test_probe.py.
    """
    command = (sys.executable, "-P", "-c", TRIED_ONCE)
    for module in (probing, probing):
        monkeypatch.setattr(module, "LocalPlace", partial(LocalPlace, command=command))


def typed(folder: Path, *words: str, expect: int | None = 0) -> subprocess.CompletedProcess[str]:
    """The command line as a tester types it: a process of its own."""
    command = [sys.executable, "-m", "enginetour", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=100)
    return _checked(done, expect)


def _checked(done: subprocess.CompletedProcess[str], expect: int | None) -> subprocess.CompletedProcess[str]:
    assert "Traceback" not in done.stderr, done.stderr
    assert "our own failure" not in done.stderr, done.stderr
    if expect is not None:
        assert done.returncode == expect, done.stdout + done.stderr
    return done


def ask(db: Path, *words: str) -> Result:
    """What a command says of a database; a refusal is the result's exception."""
    return CliRunner().invoke(cli, [*words, "--db", str(db)])


def read(folder: Path, *words: str) -> Any:
    """What a command says as JSON."""
    return json.loads(tour(folder, *words, "--json").stdout)


def started(folder: Path, *words: str, **more: Any) -> subprocess.Popen[str]:
    """The command line in a process that goes on: its stdout is read line by line, its stderr by nobody."""
    command = [sys.executable, "-u", "-m", "enginetour", *words]
    more.setdefault("stderr", subprocess.DEVNULL)
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, preexec_fn=default_signals, **more)


@contextmanager
def running(folder: Path, path: Path, *options: str, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """`enginetour run` in a process of its own, seen up to its first finished game; killed if the test fails."""
    with started(folder, "run", str(path), *options, **more) as process:
        try:
            assert process.stdout is not None
            next(line for line in process.stdout if line.startswith("Finished game"))
            yield process
        finally:
            process.kill()


def until(condition: Callable[[], object], within: float = LONG_S) -> None:
    """Look again and again, so many seconds at most: what is promised, where something is."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)


def default_signals() -> None:
    """Whoever started the tests may ignore them (nohup, a shell's ``&``): what is tested would inherit that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def audit(folder: Path, name: str = "trial") -> int:
    """No game lost or doubled: the log replays to the decisions that were noted; the number of games."""
    with Store.open(folder / "results" / "enginetour.db", create=False) as store:
        return audited(store.tournament(name))


def audited(log: TournamentLog) -> int:
    """The same for an open log."""
    replay.audit(log)
    lines = log.games()
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    keys = [(*sorted((line.white, line.black)), line.meeting, line.leg, line.replay) for line in lines]
    assert len(set(keys)) == len(keys)
    return len(lines)


def pgn_games(path: Path) -> int:
    """Games that can be read from a PGN."""
    with path.open() as source:
        return sum(1 for _ in iter(lambda: chess.pgn.read_game(source), None))


def left_running(folder: Path) -> list[str]:
    """Every process but this one that has the folder in its command, environment (our tag) or place."""
    wanted = os.fsencode(folder)
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        try:
            seen = [(process / name).read_bytes() for name in ("cmdline", "environ")]
            seen.append(os.readlink(os.fsencode(process / "cwd")))
        except OSError:  # it ended, or is a zombie, or another user's
            continue
        if any(wanted in text for text in seen):
            found.append(f"{process.name}: {seen[0].replace(bytes(1), b' ').decode('utf-8', 'replace')}")
    return found
