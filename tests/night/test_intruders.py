"""Tournaments with engines that try to act outside of their sandbox at every start."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from unittest import mock

import pytest

from enginetour.engines import process
from enginetour.interop.files import bundled_directory
from enginetour.model.task import Sandbox
from enginetour.tournament.control import socket_path
from tests.support.tournaments import audit, config, read, typed

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

INTRUDER = Path(__file__).parents[1] / "programs" / "proc_intruder.py"
WREN = bundled_directory("engines") / "wren.py"


@pytest.fixture
def apart() -> Iterator[Path]:
    """A workspace outside of /tmp, which bubblewrap always hides."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        (Path(name) / "results").mkdir()
        yield Path(name)


def tour_of_intruders(folder: Path, sandbox: Sandbox, namespace: str, places: tuple[str, ...]) -> int:
    """Play with two intruders that are restarted for each game; return the number of stored games."""
    database = folder / "results" / "enginetour.db"
    victim = folder / "results" / "notes.txt"
    victim.write_text("notes")
    victim.chmod(0o644)
    hexed = [os.fsencode(text).hex() for text in (str(socket_path(database, "trial")), str(victim), *places)]
    words = json.dumps([sys.executable, "-I", "-S", str(INTRUDER), str(WREN), *hexed])
    entrants = "".join(
        f'\n[[entrants]]\nname = "{name}"\nprotocol = "uci"\ndir = "scratch"\nrestart = "on"\ncommand = {words}\n'
        for name in ("Ada", "Bo")
    )
    path = config(folder, (), "roundrobin", "cycles = 5\ngames_per_pairing = 2", entrants)
    path.write_text(path.read_text().replace("[play]", f'[play]\nsandbox = "{sandbox}"'))
    with mock.patch.dict(os.environ, {"ENGINETOUR_NAMESPACE": namespace}):
        typed(folder, "run", str(path))
    if sandbox != "none":
        assert victim.read_text() == "notes"
        assert stat.S_IMODE(victim.stat().st_mode) == 0o644
    assert read(folder, "db", "check")["sound"]
    with closing(sqlite3.connect(database)) as raw:
        assert raw.execute("SELECT count(*) FROM events WHERE kind = 'voided'").fetchone() == (0,)
    return audit(folder)


@pytest.mark.parametrize("namespace", ["pid", "off"])
@pytest.mark.parametrize("sandbox", ["none", "landlock", "bwrap"])
def test_intruders_change_nothing(sandbox: Sandbox, namespace: str, apart: Path) -> None:
    """Intruders change no result, permission or game and reach no listener; without a sandbox the run rejects them."""
    if f"{sandbox} no" in process.describe_safeguards():
        pytest.skip(f"no {sandbox} here")
    runs = (f"/run/enginetour-night-{os.getpid()}.sock",) * os.access("/run", os.W_OK)
    places = (str(apart / "results" / "agent.sock"), f"@enginetour-night-{os.getpid()}", *runs)
    with ExitStack() as stack:
        listeners = []
        for place in places:
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(place.replace("@", "\0"))
            listener.listen()
            listener.settimeout(0)
            stack.callback(Path(place).unlink, missing_ok=True)
            listeners.append(listener)
        assert tour_of_intruders(apart, sandbox, namespace, places) == 10
        for listener in listeners if sandbox != "none" else ():
            with pytest.raises(BlockingIOError):
                listener.accept()
