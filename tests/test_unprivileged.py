"""What guards an engine where we are no root: the PID namespace comes through a user namespace, the sandboxes hold."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.test_process import ODD

NOBODY = 65534  # /proc/sys/kernel/overflowuid: a user and a group without rights
OTHER: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
PACKAGE = Path(__file__).parents[1] / "enginetour"
NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))"

# Tells, as JSON, what an engine could do in a sandbox and what guarded it.
TRIES = """\
import json, os, sys, time
from enginetour.tournament import probing as inforce
from enginetour.engines.process import EngineProcess; from enginetour.engines.process import wait
from enginetour.model.task import EngineSpec
sandbox, script, outside, port, *more = sys.argv[1:]
told = {"guards": inforce.in_force(), "user": os.geteuid()}
if f"{sandbox} no" not in told["guards"]:
    def heard(*words):
        command = (sys.executable, "-I", "-S", script, *words)
        engine = EngineProcess(EngineSpec("tries", command, "uci", dir="scratch", sandbox=sandbox))
        said, deadline = b"", time.monotonic_ns() + 20_000_000_000
        while not said.endswith(b"\\n") and wait((engine,), None, deadline).readable:
            said += engine.read()[0]
        engine.end()
        told.update(in_namespace=engine.init is not None, status=engine.exit_status())
        return json.loads(said)
    told |= {"done": heard("breaks-out", *more)}
    told |= heard("tries", outside, port)
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where nobody may read the package and write: checkout, interpreter and pytest's folders may be closed to him."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        made.chmod(0o755)
        shutil.copytree(PACKAGE, made / "enginetour", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ODD, made / "odd.py")
        for his in (made / "own", made / "outside"):
            his.mkdir()
            if OTHER:
                os.chown(his, NOBODY, NOBODY)
        yield made


def run(program: str, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """A Python program as nobody where we are root, as ourselves elsewhere."""
    command = [program, "-S", "-B", "-c", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **OTHER, **more)


def interpreter() -> str:
    """One that he may start; root's own may lie in root's home."""
    for program in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        try:
            if run(program, NEW_ENOUGH).returncode == 0:
                return program
        except OSError:
            continue
    pytest.skip("no Python 3.11 that an unprivileged user may start")


@pytest.mark.parametrize("sandbox", ["none", "landlock", "bwrap"])
def test_an_unprivileged_user_has_namespace_and_sandboxes(sandbox: str, folder: Path) -> None:
    """The engine is in a namespace of its own; in a sandbox it writes in scratch only and reaches no port."""
    outside = folder / "outside" / sandbox
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(folder / "own"), "TMPDIR": str(folder / "own")}
    victim, place = folder / "outside" / f"{sandbox}.db", f"/run/enginetour-test-{os.getpid()}.sock"
    victim.write_text("games")
    runs = [place] * os.access("/run", os.W_OK)
    if OTHER:
        os.chown(victim, NOBODY, NOBODY)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as listener,
        ExitStack() as end,
    ):
        for path in runs:
            listener.bind(path)
            end.callback(Path(path).unlink)
            Path(path).chmod(0o777)
            listener.listen()
        words: tuple[str, ...] = (TRIES, sandbox, str(folder / "odd.py"), str(outside), str(server.getsockname()[1]))
        words += tuple(text.encode().hex() for text in (str(victim), *runs))
        done = run(interpreter(), *words, cwd=folder, env={**surroundings, "PYTHONPATH": str(folder)})
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["user"] == (OTHER.get("user") or os.geteuid())
    for missing in ("no pid namespace", f"{sandbox} no"):
        if missing in told["guards"]:
            pytest.skip(f"not for unprivileged users of this machine: {told['guards']}")
    free = sandbox == "none"
    assert (told["in_namespace"], told["status"]) == (True, "exit 0")
    assert (told["scratch"], told["outside"], told["null"], told["tcp"]) == (True, free, True, free)
    assert outside.exists() == free
    assert {"write", "remove", *runs} <= set(told["done"]) if free else told["done"] == []
    assert free or victim.read_text() == "games"
