"""`run --place`: what is refused before the first game, in one line each."""

import re
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from enginetour.cli.common import machine_lines
from enginetour.tournament.cluster import place
from tests.touring import config, tour

WRENS = ("wren1", "wren2")
CLUSTER = "dask=tcp://127.0.0.1:{port}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A configuration in a workspace."""
    (tmp_path / "results").mkdir()
    return config(tmp_path, WRENS, "roundrobin", "")


@pytest.mark.parametrize("place", ["mars", "dask=127.0.0.1:8786"])
def test_no_place(tmp_path: Path, path: Path, place: str) -> None:
    """The line shows what an address looks like."""
    refused = tour(tmp_path, "run", str(path), "--place", place, expect=2)
    line = (
        f"enginetour: --place: '{place}' is no place to play; say --place dask=tcp://HOST:8786, or dask=tls://HOST:8786"
    )
    assert refused.stderr.strip() == line


def test_without_the_extra(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line has what to install, and where."""
    for name in [name for name in sys.modules if name.startswith("enginetour.cluster")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused = tour(tmp_path, "run", str(path), "--place", CLUSTER.format(port=1), expect=2)
    assert refused.stderr.strip().endswith("pip install 'enginetour[dask]', here and on every machine")
    assert "Dask is not installed" in refused.stderr


def test_wrong_address(tmp_path: Path, path: Path) -> None:
    """Nobody there: one line with the next step, and nothing written."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        place = CLUSTER.format(port=taken.getsockname()[1])  # bound, and nobody listens
        refused = tour(tmp_path, "run", str(path), "--place", place, expect=2)
    assert "no scheduler of Dask answers at tcp://127.0.0.1" in refused.stderr
    assert refused.stderr.strip().endswith("start one there: dask scheduler")
    assert refused.stderr.count("\n") == 1
    assert list((tmp_path / "results").iterdir()) == []


def test_who_answers_is_no_scheduler(tmp_path: Path, path: Path) -> None:
    """It hangs up on us, however often we call: one line in words for people."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        threading.Thread(target=hang_up, args=(other,), daemon=True).start()
        refuses_who_is_no_scheduler(tmp_path, path, other)
        other.shutdown(socket.SHUT_RDWR)


def test_who_answers_says_nothing(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the call and is mute: nobody waits for it for ever."""
    monkeypatch.setattr(place, "CONNECT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as other:
        refuses_who_is_no_scheduler(tmp_path, path, other, "no answer within 0.3 s")


def hang_up(other: socket.socket) -> None:
    """On everybody who calls, until the server is shut down."""
    with suppress(OSError):
        while True:
            other.accept()[0].close()


def refuses_who_is_no_scheduler(folder: Path, path: Path, other: socket.socket, why: str = r"[^<>]+") -> None:
    place = CLUSTER.format(port=other.getsockname()[1])
    refused = tour(folder, "run", str(path), "--place", place, expect=2)
    address = re.escape(place.removeprefix("dask="))
    assert re.search(f"no scheduler of Dask answers at {address} \\({why}\\); start one there", refused.stderr)
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "step"), [("affinity = true", "leave affinity out"), ("speed = 1.5", 'speed = "measure"')]
)
def test_settings_of_one_machine(tmp_path: Path, path: Path, line: str, step: str) -> None:
    """Cores and a given speed are of the machine they were written for."""
    path.write_text(path.read_text().replace("[play]\n", f"[play]\n{line}\n").replace('"depth=1"', '"1+0.1"'))
    refused = tour(tmp_path, "run", str(path), "--place", CLUSTER.format(port=1), expect=3)
    assert step in refused.stderr


def test_machines_in_words() -> None:
    """One line a worker; what it lacks stands below it."""
    row = {"machine": "io", "address": "tcp://1", "slots": 4, "busy": 1, "played": 1, "processor": "EPYC", "speed": 1.5}
    fit = row | {"state": "fit", "lacks": [], "why": ""}
    odd = row | {
        "state": "lacking",
        "lacks": ["book: no file b", "Owl: no program owl"],
        "processor": "",
        "speed": None,
        "why": "",
    }
    aside = row | {"state": "aside", "lacks": [], "why": "it died", "busy": 0, "played": 2}
    gone = {"machine": "europa", "state": "gone", "played": 3, "why": ""}
    assert list(machine_lines([fit, odd, aside, gone])) == [
        "io (EPYC, speed 1.5): 4 slots, 1 game played, 1 in the air",
        "io (tcp://1): gets no games, 1 game played, 1 in the air",
        "  io lacks book: no file b",
        "  io lacks Owl: no program owl",
        "io (EPYC, speed 1.5): set aside: it died, 2 games played",
        "europa: gone, 3 games played",
    ]
