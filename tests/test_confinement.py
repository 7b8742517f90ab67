"""What an engine may use and touch: memory, files, niceness, and the two sandboxes."""

import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from enginetour.engines import launch, machine, sandbox, starting
from enginetour.engines.enginefile import QuirksSection, ResourcesSection, StoredSpec
from enginetour.engines.process import EngineProcess, kill_living, wait
from enginetour.engines.sandbox import RESULTS, wipe
from enginetour.model.errors import StartFailed
from enginetour.model.game import Outcome, Termination
from enginetour.model.task import EngineSpec, Quirks, Resources, Sandbox
from enginetour.store import codecs
from enginetour.tournament import probing
from enginetour.tournament.plan import prepare
from tests.playing import game, scripted, sound
from tests.test_process import SECOND, lines_of, odd
from tests.touring import until


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Whatever a test does, its engines end with it."""
    yield
    kill_living()


def tried(outside: Path, **more: Any) -> dict[str, Any]:
    """What an engine could do under these settings, beside a port that answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        engine = EngineProcess(odd("tries", str(outside), str(server.getsockname()[1]), **more))
        told: dict[str, Any] = json.loads(lines_of(engine, 1)[0])
        engine.end()
    assert engine.exit_status() == "exit 0"
    return told


def fenced(sandbox: Sandbox, tmp_path: Path) -> dict[str, Any]:
    """The same in a sandbox; skips where this machine has none."""
    if f"{sandbox} no" in probing.in_force():
        pytest.skip(f"no {sandbox} here")
    told = tried(tmp_path / "escaped", sandbox=sandbox)
    assert not (tmp_path / "escaped").exists()
    return told


def test_without_a_sandbox_an_engine_may_do_what_we_may(tmp_path: Path) -> None:
    """The other tests show something: a write and a connection succeed here."""
    told = tried(tmp_path / "written")
    assert (told["scratch"], told["outside"], told["null"], told["tcp"]) == (True, True, True, True)
    assert (tmp_path / "written").exists()


def test_landlock_lets_it_write_in_scratch_only(tmp_path: Path) -> None:
    """A write outside scratch and a TCP connection fail, its scratch folder and /dev/null stay open."""
    told = fenced("landlock", tmp_path)
    assert (told["scratch"], told["outside"], told["null"], told["tcp"]) == (True, False, True, False)
    assert told["home"]


def test_bubblewrap_lets_it_write_in_scratch_only(tmp_path: Path) -> None:
    """The same through bubblewrap, with the system read-only and no network at all."""
    told = fenced("bwrap", tmp_path)
    assert (told["scratch"], told["outside"], told["null"], told["tcp"]) == (True, False, True, False)
    assert told["home"]


def broken_out(sandbox: Sandbox, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What an engine could do to a file in the hidden folder, and to listeners there, in /run and without a name."""
    monkeypatch.setenv(RESULTS, str(folder))
    victim = folder / "enginetour.db"
    victim.write_text("games")
    # Where we may: who is not root has no place of their own directly in /run.
    runs = [f"/run/enginetour-test-{os.getpid()}.sock"] * os.access("/run", os.W_OK)
    places = [str(folder / "t.sock"), f"@enginetour-test-{os.getpid()}", *runs]
    with ExitStack() as stack:
        for place in places:
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(place.replace("@", "\0"))
            listener.listen()
            stack.callback(Path(place).unlink, missing_ok=True)
        words = (text.encode().hex() for text in (str(victim), *places))
        engine = EngineProcess(odd("breaks-out", *words, sandbox=sandbox))
        done: list[str] = json.loads(lines_of(engine, 1)[0])
        engine.end()
    if sandbox != "none":
        assert victim.read_text() == "games"
    return done


@pytest.fixture
def apart() -> Iterator[Path]:
    """A folder that is not in /tmp, which bubblewrap hides anyway."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def test_without_a_sandbox_an_engine_reaches_all(apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next test shows something: files are changed and every listener is reached here."""
    done = broken_out("none", apart, monkeypatch)
    assert {"write", "truncate", "remove"} <= set(done)
    assert len([place for place in done if "enginetour-test" in place or "t.sock" in place]) >= 2


@pytest.mark.parametrize("sandbox", ["landlock", "bwrap"])
@pytest.mark.parametrize("namespace", ["pid", "off"])
def test_no_engine_breaks_out_of_a_sandbox(
    sandbox: Sandbox, namespace: str, apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file, right, device, mount, setting or listener, as root too: it has no capability and no socket to ask by."""
    if f"{sandbox} no" in probing.in_force():
        pytest.skip(f"no {sandbox} here")
    monkeypatch.setenv("ENGINETOUR_NAMESPACE", namespace)
    assert broken_out(sandbox, apart, monkeypatch) == []


ALLOWED, FORBIDDEN, UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026  # linux/seccomp.h, with EPERM and ENOSYS
X86_64, I386, AARCH64, RISCV64 = 0xC000003E, 0x40000003, 0xC00000B7, 0xC00000F3  # linux/audit.h


def verdict(architecture: int, number: int, argument: int = 0) -> int:
    """What the filter says of a call, by the rules of bpf(4)."""
    program, data, held, at = launch._program(), {0: number, 4: architecture, 16: argument}, 0, 0
    while True:
        code, then, otherwise, value = program[at]
        at += 1
        if code == 0x20:
            held = data[value]
        elif code == 0x06:
            return value
        else:
            holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            at += then if holds else otherwise


@pytest.mark.parametrize(
    ("architecture", "socket_", "chmod", "mount", "read", "clone"),
    [
        (X86_64, 41, 90, 165, 0, 56),
        (I386, 359, 15, 21, 3, 120),
        (AARCH64, 198, 53, 40, 63, 220),
        (RISCV64, 198, 53, 40, 63, 220),
    ],
)
def test_the_filter_knows_each_architecture(
    architecture: int, socket_: int, chmod: int, mount: int, read: int, clone: int
) -> None:
    """A socket, rights and a mount are forbidden, reading and starting threads is not, a user namespace is."""
    assert {verdict(architecture, call) for call in (socket_, chmod, mount, 425)} == {FORBIDDEN}
    assert verdict(architecture, read) == ALLOWED
    assert [verdict(architecture, clone, flags) for flags in (0x3D0F00, 0x10000000)] == [ALLOWED, FORBIDDEN]
    assert verdict(architecture, 435) == UNKNOWN
    assert verdict(architecture, 0x40000000 | 41) == FORBIDDEN
    assert verdict(0xDEAD, read) == FORBIDDEN


def test_a_filter_of_calls_leaves_threads_and_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine may search with threads, start processes, and change its own memory as before."""
    if "landlock no" in probing.in_force():
        pytest.skip("no landlock here")
    script = "import threading, subprocess; t = threading.Thread(target=print, args=('thread',)); t.start(); t.join(); "
    script += "subprocess.run(['echo', 'process'])"
    command = (sys.executable, "-I", "-S", "-u", "-c", script)
    engine = EngineProcess(EngineSpec("threads", command, "uci", dir="scratch", sandbox="landlock"))
    assert lines_of(engine, 2) == ["thread", "process"]
    until(engine.exit_status)
    assert engine.exit_status() == "exit 0"


def test_a_death_inside_bubblewrap_is_told_as_it_was() -> None:
    """bwrap ends with 128 and the signal's number: told as the signal."""
    if "bwrap no" in probing.in_force():
        pytest.skip("no bwrap here")
    engine = EngineProcess(odd("quiet", sandbox="bwrap"))
    engine.write(b"kill 6\n")
    until(engine.exit_status)
    assert engine.exit_status() == "signal 6 (SIGABRT)"


def test_a_missing_bubblewrap_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for and not there: refused, and told what to install."""
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    with pytest.raises(StartFailed, match="apt install bubblewrap"):
        EngineProcess(odd("quiet", sandbox="bwrap"))


def test_a_kernel_without_landlock_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher's error number becomes a reason and the next step."""
    monkeypatch.setattr(starting, "_hear", lambda _: b"ready\nfailed landlock 38\n")
    with pytest.raises(StartFailed, match='built without it; say "bwrap" or "none"'):
        EngineProcess(odd("quiet", sandbox="landlock"))


def test_limits_are_set(tmp_path: Path) -> None:
    """Open files, the size of a file and niceness are those of the engine file."""
    told = tried(tmp_path / "written", resources=Resources(files=64, file_size=3, nice=7))
    own = os.nice(0)
    assert (told["files"], told["file_size"], told["nice"]) == ([64, 64], [3_000_000] * 2, min(19, own + 7))


def test_a_limit_beyond_our_own_is_refused() -> None:
    """More files than the kernel gives anybody: one line that names the key."""
    with pytest.raises(StartFailed, match="files = 2000000000; this machine allows"):
        EngineProcess(odd("quiet", resources=Resources(files=2_000_000_000)))


@pytest.mark.parametrize("namespace", ["pid", "off"])
def test_an_engine_over_its_memory_is_killed_alone(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends within a wait and says why; one below its limit, and one without, play on."""
    monkeypatch.setenv("ENGINETOUR_NAMESPACE", namespace)
    hog = EngineProcess(odd("eats", "120", resources=Resources(memory=60)))
    modest = EngineProcess(odd("eats", "20", resources=Resources(memory=60)))
    deadline = time.monotonic_ns() + 20 * SECOND
    while not hog.eof and time.monotonic_ns() < deadline:
        for process in wait((hog, modest), None, deadline).readable:
            process.read()
    until(hog.exit_status)
    held, limit = hog.exit_status().split(" over limit ")
    assert (held.startswith("killed: "), limit) == (True, "60 MB")
    assert modest.exit_status() == ""


def test_shared_pages_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that share what they hold are below a limit that their sum exceeds."""
    sizes = {b"RssAnon:": 60 * machine.MB, b"Pss_Anon:": 30 * machine.MB}
    monkeypatch.setattr(machine, "_field", lambda _path, key: sizes[key])
    assert machine.excess([1, 2], 100) == ""
    assert machine.excess([1, 2], 50) == "killed: 60 MB over limit 50 MB"
    assert machine.excess([1, 2], None) == ""


def test_a_size_in_gigabytes_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a person would write it."""
    monkeypatch.setattr(machine, "_field", lambda _path, _key: 1_900_000_000)
    assert machine.excess([1], 1500) == "killed: 1.9 GB over limit 1.5 GB"


def test_variables_that_are_named_are_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pass_env` gives an engine more of our environment, and nothing that was not named."""
    monkeypatch.setenv("LICENCE", "l")
    monkeypatch.setenv("SECRET", "s")
    engine = EngineProcess(odd("report", pass_env=("LICENCE", "MISSING")))
    environment = json.loads(lines_of(engine, 1)[0])["environment"]
    assert environment["LICENCE"] == "l"
    assert not {"SECRET", "MISSING"} & set(environment)


def test_a_scratch_folder_is_kept_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named after its engine and stays."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    engine = EngineProcess(odd("quiet", keep_scratch=True))
    engine.end()
    assert engine.scratch.name.startswith("enginetour-kept-quiet-")
    assert engine.scratch.exists()
    wipe(engine.scratch)


def test_a_game_is_lost_by_eating_memory() -> None:
    """The engine over its limit loses by a crash of its own category, the other wins; both have used the processor."""
    hog = replace(scripted("uci", "eats", at=2), resources=Resources(memory=150))
    played = game(hog, sound())
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.CRASH), played.cause
    assert played.category == "crash (memory)"
    assert played.cause.endswith(" over limit 150 MB")
    (incident,) = played.incidents
    assert (incident.engine, incident.category) == ("eats", "crash (memory)")
    assert played.white.cpu_ms is not None and played.black.cpu_ms is not None
    assert played.white.cpu_ms > played.black.cpu_ms >= 0


def test_what_is_in_force_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, tried for real; without a namespace the reason stands in it and in the warning of a run."""
    monkeypatch.setenv("ENGINETOUR_NAMESPACE", "off")
    told = probing.in_force()
    assert told.startswith("engines run in: no pid namespace (ENGINETOUR_NAMESPACE=off)")
    assert "\n" not in told
    assert "ENGINETOUR_NAMESPACE=off" in probing.unguarded()


def test_a_machine_that_forbids_namespaces_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher's refusal is remembered, the engine starts without, and why is told."""
    hear, heard = starting._hear, list[bytes]()

    def forbidden(report: int) -> bytes | None:
        heard.append(hear(report) or b"")
        return b"failed namespace 1\n" if len(heard) == 1 else heard[-1]

    monkeypatch.setattr(starting, "_forbidden", "")
    monkeypatch.setattr(starting, "_hear", forbidden)
    first, second = EngineProcess(odd("quiet")), EngineProcess(odd("quiet"))
    assert (first.init, second.init) == (None, None)
    assert len(heard) == 3
    assert starting.without_namespace() == "Operation not permitted"


def test_tables_in_the_hidden_folder_stay_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several folders in one option, parted as in PATH, are each let in."""
    monkeypatch.setattr(sandbox, "HIDDEN", (tmp_path,))
    for name in ("three", "four"):
        (tmp_path / name).mkdir()
    spec = odd("quiet", offered=(("SyzygyPath", f"{tmp_path}/three:{tmp_path}/four"),))
    needed = sandbox._needed(spec, ("/bin/true",), Path("/"), tmp_path / "scratch", [tmp_path])
    assert needed == [f"{tmp_path}/four", f"{tmp_path}/three"]


@pytest.mark.parametrize(("user", "warned"), [(0, True), (1000, False)])
def test_root_is_warned(user: int, warned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root hears that its engines are root too."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert ("running as root" in probing.root_warning()) == warned


def test_every_part_of_a_specification_has_its_model() -> None:
    """A field that the model of the database does not know could be written and never read."""
    assert set(StoredSpec.model_fields) == {field.name for field in fields(EngineSpec)}
    for section, part in ((QuirksSection, Quirks), (ResourcesSection, Resources)):
        assert set(section.model_fields) == {field.name for field in fields(part)}


def test_settings_survive_the_store() -> None:
    """A stored engine is started again under the same limits; one that was stored before they existed has none."""
    spec = odd("quiet", resources=Resources(memory=900, nice=3), sandbox="landlock", pass_env=("A",), keep_scratch=True)
    spec = replace(spec, offered=(("SyzygyPath", "/tables"),))
    text = codecs.spec_text(spec)
    assert codecs.spec_of(text) == spec
    newer = ("resources", "sandbox", "pass_env", "offered")
    older = {key: value for key, value in json.loads(text).items() if key not in newer}
    assert codecs.spec_of(json.dumps(older)) == odd("quiet", keep_scratch=True)


@pytest.mark.parametrize(
    ("play", "entrant", "in_use"), [("landlock", "", "landlock"), ("landlock", "none", "none"), ("none", "", "none")]
)
def test_a_sandbox_for_all_gives_way_to_an_entrants_own(tmp_path: Path, play: str, entrant: str, in_use: str) -> None:
    """`sandbox` under [play] is for those that name none."""
    own = f'sandbox = "{entrant}"\n' if entrant else ""
    entrants = "".join(f'[[entrants]]\nname = "{name}"\nprotocol = "uci"\ncommand = ["true"]\n{own}' for name in "AB")
    path = tmp_path / "t.toml"
    path.write_text(
        f'[tournament]\nname = "t"\n[format]\nsystem = "roundrobin"\n[play]\nsandbox = "{play}"\n{entrants}'
    )
    assert {side.spec.sandbox for side in prepare(path, None).sides.values()} == {in_use}
