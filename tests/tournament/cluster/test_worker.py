"""Tests of tournament/cluster/worker."""

from __future__ import annotations

import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import pytest
from distributed import Security

from enginetour.engines import identity, strays
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Game, Pairing
from enginetour.model.task import EngineSpec, GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.link import VERSION
from enginetour.tournament.cluster import worker
from enginetour.tournament.cluster.executor import refuse_without
from enginetour.tournament.cluster.machines import Demand, GameOrder, Origin
from enginetour.tournament.cluster.worker import (
    EngineMissing,
    WorkerService,
    capacity_of,
    inspect_worker,
    local_engine,
    missing_requirements,
)
from enginetour.tournament.executor import LocalExecutor
from tests.support.engines import alive, scripted, sound
from tests.support.network import near_cluster, place_of, started_worker
from tests.support.tournaments import GONE_S, config, read, tour, until

# A worker without Dask's processes.

LONG = 30  # s; no step takes that long
TAG = f"cluster-desk-{os.getpid()}"  # tests of another process may run at the same time


class Loop:
    """Calls functions at once."""

    def __init__(self) -> None:
        self.told = threading.Event()

    def add_callback(self, act: Any, *_: object) -> None:
        self.told.set()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The part of Dask's worker that is used: two slots and one thread."""
    state = SimpleNamespace(total_resources={"slot": 2.0}, nthreads=1)
    one = SimpleNamespace(loop=Loop(), get_current_task=lambda: "guard", plugins={}, state=state)
    monkeypatch.setattr(worker, "get_worker", lambda: one)
    monkeypatch.setattr(worker, "_speed", lambda _: 1.5)
    return one


@pytest.fixture
def service(here: Any, tmp_path: Path) -> Iterator[WorkerService]:
    """Make a service of a run whose clocks are not scaled."""
    one = WorkerService(here, "run", Demand(()), 2, tmp_path, None)
    yield one
    if one._executor is not None:
        one._executor.close()


def order(white: EngineSpec | None = None) -> GameOrder:
    spec = white or sound()
    side = Side(spec, TimeControl.parse("60"))
    return GameOrder("run", TAG, 0, GameTask(Pairing("A", "B"), side, side))


def test_a_worker_that_lacks_something_opens_no_desk(here: Any) -> None:
    """A worker that lacks something reports it and starts no service."""
    found = inspect_worker(pickle.dumps(Demand((), books=(("/no/book", ""),))), "run")
    assert found.lacks == ("book: file /no/book not found",)
    assert (found.speed, bool(found.processor), here.plugins) == (1.5, True, {})
    assert capacity_of(here) == 1


def test_a_game_tells_its_machine(service: WorkerService) -> None:
    """A game records processor, host and speed of its machine."""
    kind, game = service.play(order(), "one")
    assert kind == "result"
    assert isinstance(game, Game)
    assert game.hardware.endswith(", speed 1.5)")


def test_as_many_engines_start_at_once_as_the_run_says(here: Any, tmp_path: Path) -> None:
    """`start_parallel` of the configuration applies on every machine."""
    one = WorkerService(here, "run", Demand((), start_parallel=1), 2, tmp_path, None)
    place = one._slots(TAG)
    place.close()
    assert place.settings.start_parallel == 1


def test_a_task_that_comes_twice_is_one_game(service: WorkerService, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Dask runs a task twice, both get the result of one game."""
    submitted: list[GameTask] = []
    submit = LocalExecutor.submit

    def counted(self: LocalExecutor, task: Any, prefer: int | None = None) -> Any:
        submitted.append(task)
        return submit(self, task, prefer)

    monkeypatch.setattr(LocalExecutor, "submit", counted)
    replies: list[Any] = []
    slow = order(scripted(name="slow", fault="slow", seconds=0.05))
    threads = [threading.Thread(target=lambda: replies.append(service.play(slow, "same"))) for _ in range(2)]
    service._lock.acquire()
    for thread in threads:
        thread.start()
    service._lock.release()
    for thread in threads:
        thread.join(LONG)
    assert len(replies) == 2
    assert len(submitted) == 1
    assert replies[0] == replies[1]


def test_a_key_that_is_released_drops_its_game_and_engines(service: WorkerService) -> None:
    """If its key is released, a game is dropped with its engines."""
    replies: list[Any] = []
    hanging = order(scripted(name="hangs", fault="hang"))
    thread = threading.Thread(target=lambda: replies.append(service.play(hanging, "key")))
    thread.start()
    until(lambda: len(processes()) >= 3)
    service.transition("another", "executing", "released")
    service.transition("key", "executing", "memory")
    assert len(processes()) >= 3
    service.transition("key", "executing", "released")
    thread.join(LONG)
    assert replies[0][0] == "failed"
    until(lambda: processes() == [], GONE_S)


def test_the_guard_s_release_closes_the_desk(service: WorkerService, here: Any) -> None:
    """If the key of the guard is released, the service closes."""
    service.transition("guard", "executing", "memory")
    assert not here.loop.told.is_set()
    service.transition("guard", "memory", "released")
    assert here.loop.told.is_set()
    assert service.teardown(here) is None
    assert service.play(order(), "late") == ("failed", "the manager of its slots was closed")


def test_an_engine_that_changed_is_lacking(service: WorkerService, tmp_path: Path) -> None:
    """A worker whose engine has changed lacks that engine."""
    changed = EngineSpec("Owl", ("/bin/cat",), "uci", fingerprint="0" * 16)
    kind, words = service.play(order(changed), "one")
    assert kind == "lacks"
    assert "different build: fingerprint of /bin/cat" in str(words)


def processes() -> list[int]:
    """Return the processes of the service."""
    own = [seen.pid for seen in strays.process_table() if strays.process_tag(seen.pid).startswith(f"{TAG}/")]
    return [pid for pid in own if alive(pid)]


# TLS, with certificates made as `configs/cluster/tls.yaml` says.

TOLD = Path(__file__).parents[3] / "configs" / "cluster" / "tls.yaml"
COMMAND = "#   openssl "


def authority(folder: Path) -> Path:
    """Make ``ca.pem``, ``host.pem`` and their keys in a directory, and return it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on this machine")
    folder.mkdir()
    for line in TOLD.read_text().splitlines():
        if line.startswith(COMMAND):
            subprocess.run(shlex.split(line.removeprefix("# ")), cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return authority(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def place_of_certificates(ours: Path) -> Iterator[str]:
    """Start a scheduler and a worker that accept only certificates of this authority."""
    with told(ours):
        security = Security()  # type: ignore[no-untyped-call]
    with near_cluster("a", security=security) as cluster:
        yield place_of(cluster)


def told(folder: Path, **other: str) -> Any:
    """Write Dask's configuration with the certificates of a directory."""
    (folder / TOLD.name).write_text(TOLD.read_text().replace("/home/me/.config/dask", str(folder)))
    found = dask.config.merge(dask.config.config, dask.config.collect([str(folder)], {}))
    own = {f"distributed.comm.tls.{key}": value for key, value in other.items()}
    return dask.config.set({"distributed": found["distributed"]} | own)


def test_games_are_played_by_tls(tmp_path: Path, ours: Path, place_of_certificates: str) -> None:
    """Games are played with the certificates of Dask's configuration."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    assert place_of_certificates.startswith("dask=tls://")
    with told(ours):
        tour(tmp_path, "run", str(path), "--executor", place_of_certificates)
    assert len(read(tmp_path, "games")) == 1


def test_another_authority_is_refused(tmp_path: Path, place_of_certificates: str) -> None:
    """Certificates of another authority are rejected on both sides, and nothing is written."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    with told(authority(tmp_path / "theirs")):
        refused = tour(tmp_path, "run", str(path), "--executor", place_of_certificates, expect=2)
    assert "TLS certificate does not match" in refused.stderr
    assert refused.stderr.strip().endswith("dask scheduler --protocol tls, with certificates of the same authority.")
    refused = tour(
        tmp_path, "run", str(path), "--executor", place_of_certificates.replace("tls://", "tcp://"), expect=2
    )
    assert "no Dask scheduler responds at tcp://" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert list((tmp_path / "results").iterdir()) == []


def test_without_certificates(ours: Path, place_of_certificates: str) -> None:
    """Missing or wrong certificates are one error each; without TLS none are needed."""
    address = place_of_certificates.removeprefix("dask=")
    with pytest.raises(UsageRefused, match=r"does not configure ca-file and client.cert and client.key"):
        refuse_without(address)
    with (
        told(ours, **{"client.key": "/no/key"}),
        pytest.raises(UsageRefused, match=r"client\.key: file /no/key not found"),
    ):
        refuse_without(address)
    with told(ours, **{"client.key": f"{ours}/ca.key"}), pytest.raises(UsageRefused, match="MISMATCH"):
        refuse_without(address)
    refuse_without("tcp://kallisto:8786")


# The bundled systemd units.

SERVICES = Path(__file__).parents[3] / "configs" / "cluster"
SETTINGS = {"${HOST}": "10.0.0.1", "${SCHEDULER}": "tcp://10.0.0.1:8786", "${SLOTS}": "4", "%H": "kallisto"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("scheduler", {"host": "10.0.0.1", "port": "8786", "dashboard": False}),
        (
            "worker",
            {
                "scheduler": "tcp://10.0.0.1:8786",
                "name": "kallisto",
                "nthreads": 4,
                "resources": "slot=4",
                "nanny": False,
            },
        ),
    ],
)
def test_dask_takes_the_command(kind: str, expected: dict[str, object]) -> None:
    """Dask knows every option of the command in a unit."""
    lines = (SERVICES / f"dask-{kind}.service").read_text().splitlines()
    command = next(line.removeprefix("ExecStart=") for line in lines if line.startswith("ExecStart="))
    for name, value in SETTINGS.items():
        command = command.replace(name, value)
    program, word, *words = shlex.split(command)
    assert (program, word) == ("%h/chess/.venv/bin/dask", kind)
    context = import_module(f"distributed.cli.dask_{kind}").main.make_context("dask", words)
    assert {key: context.params[key] for key in expected} == expected


@pytest.mark.parametrize("kind", ["scheduler", "worker"])
def test_systemd_takes_the_unit(tmp_path: Path, kind: str) -> None:
    """systemd accepts the unit, and restarts it after any end."""
    unit = SERVICES / f"dask-{kind}.service"
    text = unit.read_text()
    assert f"systemctl --user enable --now {unit.stem}" in text
    assert "\nRestart=always\n" in text
    program = tmp_path / "chess" / ".venv" / "bin" / "dask"
    program.parent.mkdir(parents=True)
    program.symlink_to("/bin/true")
    analyze = shutil.which("systemd-analyze")
    if analyze is not None:  # a container may have no systemd
        home = os.environ | {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
        done = subprocess.run(
            [analyze, "--user", "verify", unit], env=home, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


# Unsuitable workers, each a real Dask process.

OLD = """\
import enginetour
enginetour.__version__ = "0.0.9"
"""
NONE = """\
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "enginetour":
            raise ModuleNotFoundError("No module named 'enginetour'", name=name)
sys.meta_path.insert(0, Missing())
"""


def test_each_is_told_in_a_line(tmp_path: Path) -> None:
    """An older version, no enginetour, or no slots: one line for each, and no database is made."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    with near_cluster("idle", slots=0) as cluster, ExitStack() as stack:
        for name, text in (("old", OLD), ("none", NONE)):
            (tmp_path / f"{name}.py").write_text(text)
            stack.enter_context(started_worker(cluster, tmp_path, name, "--preload", f"{tmp_path}/{name}.py"))
        refused = tour(tmp_path, "run", str(path), "--executor", place_of(cluster), expect=3)
    lacks = re.findall(r"^  (\w+) lacks (.+)$", refused.stdout, re.MULTILINE)
    other = next(words for name, words in lacks if name == "old").removeprefix(f"enginetour {VERSION}: ")
    assert re.fullmatch(r"found 0\.0\.9 \([0-9a-f]{8}\); install the same version", other)
    assert dict(lacks) == {
        "idle": "no slots: start its worker with --resources slot=N --nthreads N",
        "none": f"enginetour {VERSION}: No module named 'enginetour'",
        "old": f"enginetour {VERSION}: {other}",
    }
    assert refused.stderr.count("\n") == 1
    assert "no machine of the cluster can play" in refused.stderr
    assert list((tmp_path / "results").iterdir()) == []


# The equipment of a machine.

ENGINE = "print('uciok')\n"
FILE = 'name = "Owl"\ncommand = ["{python}", "{here}/owl.py"]\nprotocol = "uci"\n'


def owl(folder: Path) -> EngineSpec:
    """Return an engine of one script, as the manager has it."""
    folder.mkdir(parents=True)
    (folder / "owl.py").write_text(ENGINE)
    spec = EngineSpec("Owl", (sys.executable, str(folder / "owl.py")), "uci")
    return replace(spec, fingerprint=identity.fingerprint(spec))


@pytest.fixture
def there(tmp_path: Path) -> EngineSpec:
    """Return the engine of the manager's machine, whose directories do not exist here."""
    spec = owl(tmp_path / "manager")
    (tmp_path / "manager" / "owl.py").unlink()
    return spec


def workspace(folder: Path, script: str) -> Path:
    """Make the directory of a worker, with its own engine file."""
    (folder / "engines").mkdir(parents=True)
    (folder / "engines" / "owl.toml").write_text(FILE)
    (folder / "engines" / "owl.py").write_text(script)
    return folder


def test_the_engine_file_of_a_machine_says_where_its_engine_is(tmp_path: Path, there: EngineSpec) -> None:
    """Another path with the same content is the same engine; options and limits are the manager's."""
    start = workspace(tmp_path / "worker", ENGINE)
    asked = replace(there, options=(("Hash", "16"),))
    asked = replace(asked, fingerprint="")
    found = local_engine(asked, Origin("owl"), start)
    assert found.command == (sys.executable, str(start / "engines" / "owl.py"))
    assert found.options == asked.options
    assert local_engine(there, Origin("owl"), start).command == found.command


def test_another_build_is_no_such_engine(tmp_path: Path, there: EngineSpec) -> None:
    """The text about another build has both fingerprints and the engine file."""
    start = workspace(tmp_path / "worker", ENGINE + "# changed\n")
    with pytest.raises(EngineMissing, match=f"different build: .* not {there.fingerprint}"):
        local_engine(there, Origin("owl"), start)


def test_without_an_engine_file_the_manager_s_path_counts(tmp_path: Path) -> None:
    """Without an engine file, the manager's path is used, such as a shared directory."""
    spec = owl(tmp_path / "shared")
    assert local_engine(spec, None, tmp_path) == spec
    gone = replace(spec, command=("/no/such/owl",))
    with pytest.raises(EngineMissing, match="program /no/such/owl not found"):
        local_engine(gone, None, tmp_path)


def test_a_shipped_engine_is_found_by_its_id(tmp_path: Path) -> None:
    """A bundled engine is found by its id wherever enginetour is installed."""
    gone = EngineSpec("Wren 1", ("/no/such/python", "wren.py", "1"), "uci")
    assert local_engine(gone, Origin("wren1"), tmp_path).command[0] == sys.executable


def test_all_that_is_missing_is_told(tmp_path: Path) -> None:
    """Missing tables, books, processors and memory are one text each; without any there is none."""
    book = tmp_path / "book.bin"
    book.write_bytes(b"0" * 16)
    empty = tmp_path / "tables"
    empty.mkdir()
    much = Demand(
        (),
        folders=(str(empty),),
        tables=5,
        books=((str(book), "other"), ("/no/book", "")),
        processors=1_000,
        hash_mb=10**9,
    )
    told = list(missing_requirements(much, 2, tmp_path, 1.0))
    assert [words.partition(":")[0] for words in told] == ["tablebases", "book", "book", "processors", "memory"]
    assert "0 of 5 files" in told[0]
    assert "differs from the file on the machine that runs the tournament" in told[1]
    assert "file /no/book not found" in told[2]
    assert (
        next(missing_requirements(replace(much, folders=("/no/tables",)), 1, tmp_path, 1.0))
        == "tablebases: directory /no/tables not found"
    )
    assert not list(missing_requirements(Demand(()), 1, tmp_path, 1.0))
    assert not list(missing_requirements(Demand((), processors=1_000, crowded=True), 1, tmp_path, 1.0))
