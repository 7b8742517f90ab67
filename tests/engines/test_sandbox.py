"""Tests of engines/sandbox."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import chess.pgn
import click
import pytest

from enginetour.cli.main import COMMANDS, cli
from enginetour.engines import launch, machine, sandbox, starting
from enginetour.engines import process as safeguards
from enginetour.engines.machine import allowed_processors
from enginetour.engines.process import EngineProcess, wait
from enginetour.engines.sandbox import (
    HIDDEN_RESULTS,
    SCRATCH_ROOT,
    TAG_LINK,
    make_scratch,
    remove_scratch,
    remove_scratch_root,
)
from enginetour.engines.strays import TAG
from enginetour.formats.league import Move, Rules, Season
from enginetour.model.errors import MachineFailure, StartFailed
from enginetour.model.game import Outcome, Termination
from enginetour.model.task import EngineSpec, Resources, Sandbox
from enginetour.store import codecs
from enginetour.store.seasons import write_season
from enginetour.store.tournaments import Store
from enginetour.tournament.events import EventLog
from enginetour.tournament.executor import end_leftovers
from enginetour.tournament.notify import send_to_command
from enginetour.tournament.plan import prepare
from tests.support import databases
from tests.support.databases import BIDI, ESCAPES, FORMULA, TITLES, meddled
from tests.support.engines import ODD as EnginesODD
from tests.support.engines import SECOND, game, lines_of, odd, scripted, sound
from tests.support.tournaments import (
    THREE,
    Forked,
    config,
    everybody,
    kill_everybody,
    quick,
    send,
    temporary,
    tour,
    try_engines_once,
    until,
    unwrapped,
)

# What an engine may use and reach: memory, files, niceness, and the two sandboxes.

pytestmark = pytest.mark.usefixtures("engines_ended")


def tried(outside: Path, **more: Any) -> dict[str, Any]:
    """Return what an engine could do under these settings, next to a port that answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        engine = EngineProcess(odd("tries", str(outside), str(server.getsockname()[1]), **more))
        told: dict[str, Any] = json.loads(lines_of(engine, 1)[0])
        engine.end()
    assert engine.exit_status() == "exit 0"
    return told


@cache
def guards() -> str:
    return safeguards.describe_safeguards()


def needs(sandbox: Sandbox) -> None:
    """Skip the test if this machine has no such sandbox."""
    if f"{sandbox} no" in guards():
        pytest.skip(f"no {sandbox} here")


def test_without_a_sandbox_an_engine_may_do_what_we_may(tmp_path: Path) -> None:
    """Without a sandbox a write and a connection succeed, so the other tests show something."""
    told = tried(tmp_path / "written")
    assert (told["scratch"], told["outside"], told["null"], told["tcp"]) == (True, True, True, True)
    assert (tmp_path / "written").exists()


@pytest.mark.parametrize("sandbox", ["landlock", "bwrap"])
def test_a_sandbox_lets_it_write_in_scratch_only(sandbox: Sandbox, tmp_path: Path) -> None:
    """In a sandbox a write outside scratch and a TCP connection fail; scratch and /dev/null stay open.

    The same holds for bubblewrap, with a read-only system and no network.
    """
    needs(sandbox)
    told = tried(tmp_path / "escaped", sandbox=sandbox)
    assert not (tmp_path / "escaped").exists()
    assert (told["scratch"], told["outside"], told["null"], told["tcp"]) == (True, False, True, False)
    assert told["home"]


def broken_out(sandbox: Sandbox, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what an engine could do to a hidden file, and to listeners there, in /run and without a name."""
    monkeypatch.setenv(HIDDEN_RESULTS, str(folder))
    victim = folder / "enginetour.db"
    victim.write_text("games")
    # Only root may create a directory in /run.
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
    """Return a directory outside /tmp, which bubblewrap hides anyway."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def test_without_a_sandbox_an_engine_reaches_all(apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a sandbox files are changed and every listener is reached, so the next test shows something."""
    done = broken_out("none", apart, monkeypatch)
    assert {"write", "truncate", "remove"} <= set(done)
    assert len([place for place in done if "enginetour-test" in place or "t.sock" in place]) >= 2


@pytest.mark.parametrize("sandbox", ["landlock", "bwrap"])
@pytest.mark.parametrize("namespace", ["pid", "off"])
def test_no_engine_breaks_out_of_a_sandbox(
    sandbox: Sandbox, namespace: str, apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a sandbox no file, permission, device, mount, setting or listener is reached, not even by root."""
    needs(sandbox)
    monkeypatch.setenv("ENGINETOUR_NAMESPACE", namespace)
    assert broken_out(sandbox, apart, monkeypatch) == []


ALLOWED, FORBIDDEN, UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026  # linux/seccomp.h, with EPERM and ENOSYS
X86_64, I386, AARCH64, RISCV64 = 0xC000003E, 0x40000003, 0xC00000B7, 0xC00000F3  # linux/audit.h


def verdict(architecture: int, number: int, argument: int = 0) -> int:
    """Return the decision of the filter for a call, by the rules of bpf(4)."""
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
    """On each architecture sockets, permissions and mounts are forbidden; reading and threads are allowed."""
    assert {verdict(architecture, call) for call in (socket_, chmod, mount, 425)} == {FORBIDDEN}
    assert verdict(architecture, read) == ALLOWED
    assert [verdict(architecture, clone, flags) for flags in (0x3D0F00, 0x10000000)] == [ALLOWED, FORBIDDEN]
    assert verdict(architecture, 435) == UNKNOWN
    assert verdict(architecture, 0x40000000 | 41) == FORBIDDEN
    assert verdict(0xDEAD, read) == FORBIDDEN


def test_a_filter_of_calls_leaves_threads_and_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine may use threads, start processes and change its memory with the filter."""
    needs("landlock")
    script = "import threading, subprocess; t = threading.Thread(target=print, args=('thread',)); t.start(); t.join(); "
    script += "subprocess.run(['echo', 'process'])"
    command = (sys.executable, "-I", "-S", "-u", "-c", script)
    engine = EngineProcess(EngineSpec("threads", command, "uci", dir="scratch", sandbox="landlock"))
    assert lines_of(engine, 2) == ["thread", "process"]
    until(engine.exit_status)
    assert engine.exit_status() == "exit 0"


def test_a_death_inside_bubblewrap_is_told_as_it_was() -> None:
    """bwrap ends with 128 plus the signal; the status shows the signal."""
    needs("bwrap")
    engine = EngineProcess(odd("quiet", sandbox="bwrap"))
    engine.write(b"kill 6\n")
    until(engine.exit_status)
    assert engine.exit_status() == "signal 6 (SIGABRT)"


def test_a_missing_bubblewrap_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing bubblewrap is reported with its package."""
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    with pytest.raises(StartFailed, match="run apt install bubblewrap"):
        EngineProcess(odd("quiet", sandbox="bwrap"))


def test_a_kernel_without_landlock_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher's error number becomes a reason and the next step."""
    monkeypatch.setattr(starting, "_read_report", lambda _: b"ready\nfailed landlock 38\n")
    with pytest.raises(StartFailed, match='built without it; use "bwrap" or "none"'):
        EngineProcess(odd("quiet", sandbox="landlock"))


def test_limits_are_set(tmp_path: Path) -> None:
    """Open files, file size and niceness are those of the engine file."""
    told = tried(tmp_path / "written", resources=Resources(files=64, file_size=3, nice=7))
    own = os.nice(0)
    assert (told["files"], told["file_size"], told["nice"]) == ([64, 64], [3_000_000] * 2, min(19, own + 7))


def test_a_limit_beyond_our_own_is_refused() -> None:
    """Too many open files are rejected in one line that names the key."""
    with pytest.raises(StartFailed, match="files = 2000000000 is too high; this machine allows at most"):
        EngineProcess(odd("quiet", resources=Resources(files=2_000_000_000)))


@pytest.mark.parametrize("namespace", ["pid", "off"])
def test_an_engine_over_its_memory_is_killed_alone(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only an engine above its memory limit is killed, within a wait, with the reason."""
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
    """Shared pages are counted once: two processes stay below a limit that their sum exceeds."""
    sizes = {b"RssAnon:": 60 * machine.MB, b"Pss_Anon:": 30 * machine.MB}
    monkeypatch.setattr(machine, "_field", lambda _path, key: sizes[key])
    assert machine.memory_excess([1, 2], 100) == ""
    assert machine.memory_excess([1, 2], 50) == "killed: 60 MB over limit 50 MB"
    assert machine.memory_excess([1, 2], None) == ""


def test_a_size_in_gigabytes_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large sizes are shown in GB."""
    monkeypatch.setattr(machine, "_field", lambda _path, _key: 1_900_000_000)
    assert machine.memory_excess([1], 1500) == "killed: 1.9 GB over limit 1.5 GB"


def test_variables_that_are_named_are_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pass_env` passes the named variables and no others."""
    monkeypatch.setenv("LICENCE", "l")
    monkeypatch.setenv("SECRET", "s")
    engine = EngineProcess(odd("report", pass_env=("LICENCE", "MISSING")))
    environment = json.loads(lines_of(engine, 1)[0])["environment"]
    assert environment["LICENCE"] == "l"
    assert not {"SECRET", "MISSING"} & set(environment)


def test_a_scratch_folder_is_kept_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kept scratch directory is named after its engine and remains."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    engine = EngineProcess(odd("quiet", keep_scratch=True))
    engine.end()
    assert engine.scratch.name.startswith("enginetour-kept-quiet-")
    assert engine.scratch.exists()
    remove_scratch(engine.scratch)


def test_a_game_is_lost_by_eating_memory() -> None:
    """An engine above its memory limit loses by a crash of its own category; the other engine wins."""
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
    """The line of safeguards is tested for real; without a namespace it contains the reason."""
    monkeypatch.setenv("ENGINETOUR_NAMESPACE", "off")
    told = safeguards.describe_safeguards()
    assert told.startswith("engines run in: no PID namespace (ENGINETOUR_NAMESPACE=off; enginetour ends remaining")
    assert "\n" not in told


def test_a_machine_that_forbids_namespaces_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that forbids namespaces is asked once; engines start without one, and the reason is shown."""
    hear, heard = starting._read_report, list[bytes]()

    def forbidden(report: int) -> bytes | None:
        heard.append(hear(report) or b"")
        return b"failed namespace 1\n" if len(heard) == 1 else heard[-1]

    monkeypatch.setattr(starting, "_forbidden", "")
    monkeypatch.setattr(starting, "_read_report", forbidden)
    first, second = EngineProcess(odd("quiet")), EngineProcess(odd("quiet"))
    assert (first.init, second.init) == (None, None)
    assert len(heard) == 3
    assert starting.why_no_namespace() == "Operation not permitted"


def test_tables_in_the_hidden_folder_stay_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several directories of tables in one option, separated as in PATH, stay readable."""
    monkeypatch.setattr(sandbox, "HIDDEN", (tmp_path,))
    for name in ("three", "four"):
        (tmp_path / name).mkdir()
    spec = odd("quiet", offered=(("SyzygyPath", f"{tmp_path}/three:{tmp_path}/four"),))
    needed = sandbox._needed(spec, ("/bin/true",), Path("/"), tmp_path / "scratch", [tmp_path])
    assert needed == [f"{tmp_path}/four", f"{tmp_path}/three"]


@pytest.mark.parametrize(("user", "warned"), [(0, True), (1000, False)])
def test_root_is_warned(user: int, warned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root gets the warning that its engines are root too."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert ("run as root" in safeguards.root_warning()) == warned


def test_settings_survive_the_store() -> None:
    """A stored engine starts again with the same limits; an older one has none."""
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
    """`sandbox` under [play] applies to engines without their own."""
    own = f'sandbox = "{entrant}"\n' if entrant else ""
    entrants = "".join(f'[[entrants]]\nname = "{name}"\nprotocol = "uci"\ncommand = ["true"]\n{own}' for name in "AB")
    path = tmp_path / "t.toml"
    path.write_text(
        f'[tournament]\nname = "t"\n[format]\nsystem = "roundrobin"\n[play]\nsandbox = "{play}"\n{entrants}'
    )
    assert {side.spec.sandbox for side in prepare(path, None).sides.values()} == {in_use}


# The security table of the reliability spec (5), row by row.

UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff]"
)
ODD = "\x1b[31m\u202eodd\x9b"
# Every command that prints names chosen by others; {t} is each tournament in turn.
READING = (
    *("status -t {t}", "status -t {t} --json", "standings -t {t}", "standings -t {t} --json", "standings -t {t} --csv"),
    *(f"standings -t {{t}} --format {kind}" for kind in ("markdown", "bbcode", "html")),
    *("crosstable -t {t}", "crosstable -t {t} --json", "crosstable -t {t} --csv"),
    *("bubble -t {t}", "bubble -t {t} --json", "bubble -t {t} --csv", "bubble -t {t} --step 1"),
    *("bubble -t {t} --step 99", "games -t {t}", "games -t {t} --json", "games -t {t} --csv"),
    *("games 1 -t {t}", "games 1 -t {t} --json"),
    *("games 999 -t {t}", "games -t {t} --engine {odd}", "games -t {t} --termination {odd}"),
    *("forecast -t {t} --simulations 20", "forecast -t {t} --json --simulations 20"),
    *("standings -t {t} --pairing-report", "ratings -t {t}", "ratings -t {t} --csv", "ratings -t {t} --json"),
    *("ratings -t {t} --system elo", "ratings -t {t} --system gor --csv", "ratings -t {t} --anchor {odd}=3"),
    *("export pgn -t {t}", "export csv -t {t}", "export json -t {t}", "export trf -t {t}"),
    *("export tde -t {t} -o {odd}", "export pgn -t {t} -o {odd}"),
)  # fmt: skip
ONCE = (
    *("status", "status -t {odd}", "games", "ratings --all", "ratings --all --json", "ratings --all --csv"),
    *("ratings --all --columns all", "ratings --all --columns all --csv", "ratings {odd}", "ratings --engine {odd}"),
    *("ratings --all --matrix los", "ratings --all --matrix score --csv", "ratings --all --matrix diff --json"),
    *("ratings --all --head-to-head all", "ratings --all --head-to-head {formula} --csv", "ratings --time-class {odd}"),
    *("ratings --all --layout ordo", "ratings --all --layout ordo --csv", "ratings --all --layout ccrl"),
    *("ratings --all --layout bayeselo", "ratings --all --sprt {escapes} {formula} 0 5", "ratings --hardware {odd}"),
    *("ratings --all --sprt {escapes} {formula} 0 5 --csv", "ratings --all --sprt {odd} {formula} 0 5"),
    *("lists define {odd}", "lists define l --engine * --anchor {formula}=2000"),
    *("lists define l --alias {escapes}={odd}", "lists define l --hardware {odd}", "lists define l --hardware {none}"),
    *("lists", "lists --json", "lists --csv", "lists show l", "lists show l --json", "lists show l --csv"),
    *("publish l --note {odd}", "publish l --again --json", "publish l --again --csv", "publish {odd}"),
    *("editions", "editions --json", "editions --csv", "editions l 1", "editions l 1 --csv", "editions {odd}"),
    *("diff l", "diff l --json", "diff l --csv", "diff l 1 2", "diff {odd}", "import games.pgn --include {odd}"),
    *("import games.pgn --dry-run", "import games.pgn --dry-run --json", "import games.pgn --name {odd}"),
    *("import {odd}.pgn", "import games.pgn --name club", "imports", "imports --json", "imports --csv"),
    *("import --list", "import --list --json", "import --list --csv", "import --remove {odd}", "diff l"),
    *("history {escapes}", "history {formula} --json", "history {bidi} --csv", "history {bidi} --csv events"),
    *("history {bidi} --csv editions", "history {odd}", "history {bidi} --list l"),
    *("rate games.pgn", "rate games.pgn --json", "rate games.pgn --csv", "rate games.pgn --layout ordo"),
    *("rate games.pgn --matrix los", "rate games.pgn --head-to-head all --csv", "rate games.pgn -o {odd}.json"),
    *("rate games.pgn --layout ordo --csv", "rate {odd}.pgn", "rate no{odd}.pgn", "rate games.pgn --min-games 99"),
    *("rate games.pgn --anchor {odd}=1", "rate games.pgn --aliases bad.csv", "rate games.pgn --include {odd}"),
    *("pair club.trf", "pair club.trf --json", "pair club.trf --csv", "pair club.trf --why 1 2"),
    *("pair club.trf --why 1 2 --json", "pair club.trf -o {odd}.trf", "pair club.trf --absent {odd}", "pair bad.trf"),
    *("pair register.tde", "pair register.tde --why A1{odd} B1", "pair register.tde --json"),
    *("pair club.trf --set {odd}=1", "simulate --case case.json", "simulate --case case.json --json"),
    *("simulate --case bad.json", "simulate {odd}.toml"),
    *("simulate --compare {odd}", "simulate --compare dutch:{odd}=1", "simulate c.toml"),
    *("next --all", "next --all --json", "next --all --csv", "next {odd}", "forecast c.toml", "forecast -t {odd}"),
    *("plan c.toml --hours 1", "plan --hours 1 --goal {odd} --entrants 4", "forecast {odd}.toml"),
    *("forecast p.toml --simulations 20", "forecast p.toml --simulations 20 --csv"),
    *("plan --hours 1 --entrants 3 --tc 1+0.01 --fields 1 --processes 1 --csv",),
    *("check c.toml", "check o.toml", "run c.toml", "run o.toml", "init {odd}.toml", "init i.toml --name {odd}"),
    *("init j.toml --engine {odd}", "systems {odd}", "systems", "{odd}", "engines list", "engines list --csv"),
    *("engines check {odd}", "engines check odd", "engines add x {odd}", "engines find --dry-run"),
    *("withdraw {odd}", "withdraw {escapes} --why {odd}", "withdraw {formula} --json", "void 1 --why {odd}"),
    *("void 999", "add {odd}", "add wren1 --name {odd}", "replace {bidi} {odd}", "demo {odd}"),
    *("match {odd} {escapes}", "match wren1 wren2 --tc {odd}", "match wren1 wren2 --openings no{odd}"),
    *("chart list -t {odd} -o l.svg", "chart crosstable -t {escapes} -o {odd}.svg", "chart {odd} -o c.png"),
    *("machines", "machines --drain {odd}"),
    *("season", "season --json", "season --csv", "season show 1 --csv", "season show 9", "season show --league {odd}"),
    *("season next {odd}.toml", "season next c.toml", "plan --league c.toml", "site -o {odd}site"),
    *("site --league {odd}", "site --url {odd}", "site -o engines"),
    *("report {odd}", "report -t {odd}", "report -o {odd}.html", "report l -o engines", "report -o {odd}/{bidi}"),
    *("sprt --penta 1,2,3,4,5", "sprt --wdl 3,4,5 --csv", "sprt --wdl {odd}"),
    *("concurrency 3", "pause -t {odd}", "unpause --json", "finish", "serve --token {odd}"),
    *("serve --db {odd}.db", "serve --host {odd}", "serve --host {odd} --token 0123456789abcdef"),
    *("db check", "db check --json", "db backup {odd}.db", "db upgrade", "db check --db {odd}.db"),
)  # fmt: skip


def typed(words: str, **more: str) -> list[str]:
    """Return the words of a line with the names inserted."""
    names = {"odd": ODD, "formula": FORMULA, "escapes": ESCAPES, "bidi": BIDI, "none": "", **more}
    return [re.sub(r"\{(\w+)\}", lambda found: names[found[1]], word) for word in words.split(" ")]


LINES = [typed(words, t=title) for title in TITLES.values() for words in READING] + [typed(words) for words in ONCE]


@pytest.fixture(autouse=True)
def _as_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep escapes as on a terminal; Click removes them in a pipe."""
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "results").mkdir()
    databases.store(folder / "results" / "enginetour.db")
    rules, season = Rules((ODD, FORMULA), (1, 1), (1,), (0,)), Season(((ODD,), (BIDI,)), (0, 0), waiting=(ESCAPES,))
    season = replace(season, moves=(Move(ODD, "promoted", FORMULA, ODD, ESCAPES),))
    with Store.open(folder / "results" / "enginetour.db", create=False) as store:
        write_season(store, FORMULA, 1, {}, rules, season)
    return folder


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a directory with a hostile database and files of the same kind."""
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    databases.games(tmp_path / "games.pgn")
    shutil.copy(tmp_path / "games.pgn", tmp_path / f"{ODD}.pgn")
    entry = "001 {:4}      {:33} {:4} CZE {:11} {:10}  0.0 {:4}"
    trf = ["012 t\x1b", "XXR 3", *(entry.format(n, f"E{n}{ODD}", 2000, n, "", n) for n in range(1, 5))]
    (tmp_path / "club.trf").write_bytes("\r\n".join(trf).encode())
    (tmp_path / "bad.trf").write_bytes("\r\n".join(trf).replace("2000", "\x9b\u202e00").encode())
    (tmp_path / "register.tde").write_text(f"A1{ODD} N {ODD} 2.5\nB1 Other 3d\n")
    (tmp_path / "bad.csv").write_text(f"{ODD}\n")
    case = {
        "format": "enginetour-bubble-case/1", "params": {"size": 2, "min_matches": 1, "unpark_threshold": 1},
        "ranking": [ODD, "\ud800", "="], "results": [["-10", "0-1", "10-"]],
    }  # fmt: skip
    (tmp_path / "case.json").write_text(json.dumps(case))
    (tmp_path / "bad.json").write_text(json.dumps({ODD + "\ud800": 1}))
    (tmp_path / "c.toml").write_text('[tournament]\nname = "x\\u202e"\n[format]\nsystem = "\\u009b"\n')
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "", name="o")
    path.write_text(path.read_text().replace('tc = "depth=1"', 'openings = { file = "\\u009b\\u202e" }'))
    planned = config(tmp_path, ("wren1", "wren2"), "roundrobin", "", name="p")
    entrant = 'engine = "wren1"'
    planned.write_text(planned.read_text().replace(entrant, f"name = {json.dumps(FORMULA)}\n{entrant}"))
    (tmp_path / "engines").mkdir(exist_ok=True)
    (tmp_path / "engines" / "odd.toml").write_text('name = "odd"\ncommand = "/none\\u202e"\nprotocol = "uci"\n')
    yield tmp_path


def test_terminal_escapes(folder: Path) -> None:
    """No command prints characters that move a cursor, rename a window or reverse a line; markup stays text."""
    driven = set()
    for words in LINES:
        done = tour(folder, *words, expect=None)
        assert done.returncode in (0, 2, 3, 4, 5, 7), (words, done.stderr)
        for told in (done.stdout, done.stderr):
            found = UNSAFE.search(told.replace("\r\n", "\n"))  # TRF ends its lines with CR LF
            assert found is None, (words, told[max(0, found.start() - 60) : found.end() + 20])
        driven.add(words[0])
    assert driven >= set(COMMANDS), "a command that is not driven"
    assert "[red]markup[/red]" in tour(folder, "ratings", "--all").stdout


def _with_csv(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if any("--csv" in option.opts for option in command.params):
        yield path
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from _with_csv(inner, (*path, name))


def test_csv_has_names_unchanged(folder: Path) -> None:
    """--csv writes names unchanged, even if they begin like a formula."""
    # the names there are those of enginetour
    commands = set(_with_csv(cli, ())) - {("simulate",), ("engines", "check")}
    asked = set()
    making = ("lists", "publish", "import")
    for words in LINES:
        if "--csv" not in words and words[0] not in making:
            continue
        done = tour(folder, *words, expect=None)
        if "--csv" not in words or done.returncode:
            continue
        asked |= {path for path in commands if tuple(words[: len(path)]) == path}
        for cell in (cell for row in csv.reader(io.StringIO(done.stdout)) for cell in row):
            assert not cell.startswith(("'=", "'+", "\t", "\r")), (words, cell)
        if words[:2] == ["ratings", "--all"] and len(words) == 3:
            assert FORMULA in [row[1] for row in csv.reader(io.StringIO(done.stdout))]
    assert asked == commands


def _games_in(text: str) -> list[chess.pgn.Game]:
    source, found = io.StringIO(text), []
    while game := chess.pgn.read_game(source):
        found.append(game)
    return found


def _unescaped(value: str) -> str:
    """Remove the escapes of PGN 7; python-chess leaves that to its users."""
    return re.sub(r'\\(["\\])', r"\1", value)


@pytest.mark.engine("pgn-extract")
def test_pgn_header_and_comment_injection(folder: Path) -> None:
    """python-chess and pgn-extract read back the same games and tags."""
    path = folder / "out.pgn"
    tour(folder, "export", "pgn", "-t", TITLES["roundrobin"], "-o", str(path))
    played = unwrapped(tour(folder, "games", "-t", TITLES["roundrobin"], "--json").stdout)
    program = shutil.which("pgn-extract") or "/usr/games/pgn-extract"
    again = subprocess.run([program, "-s", str(path)], capture_output=True, text=True, check=True)
    assert again.stderr == ""
    for text in (path.read_text("utf-8"), again.stdout):
        read = _games_in(text)
        assert [one.headers["Result"] for one in read] == [one["result"] for one in played]
        assert all(not one.errors and one.headers["Event"] != "no" for one in read)
        whites = [" ".join("".join(c if c.isprintable() else " " for c in one["white"]).split()) for one in played]
        assert [_unescaped(one.headers["White"]) for one in read] == whites


def test_report_injection(folder: Path) -> None:
    """The name of a tournament does not begin a line of a TRF."""
    lines = tour(folder, "export", "trf", "-t", TITLES["dutch"]).stdout.splitlines()
    assert sum(line.startswith("001") for line in lines) == len(databases.NAMES)


def test_log_forging(tmp_path: Path) -> None:
    """One event is one JSON line, whatever it contains."""
    said: list[str] = []
    journal = EventLog(tmp_path / "log.jsonl", said.append)
    for name in databases.NAMES:
        journal({"event": "game", "text": f'{name}\n{{"event": "forged"}}\r\n\x85\u2028'})
    lines = (tmp_path / "log.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["game"] * len(databases.NAMES)
    assert not said


def test_sql_and_integers_beyond_64_bits(folder: Path) -> None:
    """Tables survive names with quotes, and too large numbers are rejected."""
    evil = databases.SQL
    for words in (("history", evil), ("games", "--engine", evil), ("standings", "-t", TITLES["roundrobin"])):
        tour(folder, *words)
    huge = str(2**64)
    for line in ("status --edition", "games", "void", "editions l", "diff l", "ratings --all --as-of game"):
        typed_in = [*line.split(" "), huge] if not line.endswith("game") else [*line.split(" ")[:-1], f"game {huge}"]
        assert tour(folder, *typed_in, expect=2).stderr.count("enginetour: ") <= 1
    tour(folder, "db", "check")


def test_words_that_are_no_text(folder: Path) -> None:
    """Names that are not UTF-8 are rejected; files with such bytes are read and reported."""
    for words in (
        ("standings", "-t", "\udcff"),
        ("history", "\udcff"),
        ("publish", "\udcff"),
        ("lists", "show", "\udcff"),
    ):
        assert tour(folder, *words, expect=2).stderr.count("\n") == 1
    shutil.copy(folder / "games.pgn", folder / "\udcff.pgn")
    assert unwrapped(tour(folder, "rate", "\udcff.pgn", "--json").stdout)["files"] == ["\udcff.pgn"]


def test_format_strings_and_shell_text(folder: Path, tmp_path: Path) -> None:
    """Names with %s, {0} and $(...) are printed unchanged, and nothing is run."""
    assert "%s %n {0}" in tour(folder, "standings", "-t", TITLES["roundrobin"]).stdout
    keep = "import os, sys; open('heard', 'w').write(os.environ['ENGINETOUR_TEXT'] + repr(sys.argv))"
    (tmp_path / "tell").write_text(f"#!{sys.executable}\n{keep}\n")
    (tmp_path / "tell").chmod(0o755)
    event = {"event": "incident", "tournament": "t", "text": "$(touch run) `touch run`; touch run %s {0}"}
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        send_to_command(("./tell",), event, tmp_path)
    finally:
        os.chdir(here)
    heard = (tmp_path / "heard").read_text()
    assert heard.startswith(event["text"])
    assert "touch" not in heard.removeprefix(event["text"])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("engine", ["../odd", "../../etc/passwd", "/etc/passwd", "engines/odd", "odd.toml"])
def test_path_traversal_by_the_id_of_an_engine(folder: Path, engine: str) -> None:
    """An id is a name among those in the directory, never a path."""
    path = config(folder, (engine, "wren1"), "roundrobin", "", name="walk")
    assert "unknown engine" in tour(folder, "check", path.name, expect=3).stderr


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/b", "..", "", "a\nb"])
def test_path_traversal_by_generated_files(folder: Path, name: str) -> None:
    """Generated files stay in the scratch directory."""
    text = f'name = "odd"\ncommand = "true"\nprotocol = "uci"\n[files]\n{json.dumps(name)} = "x"\n'
    (folder / "engines" / "odd.toml").write_text(text)
    assert "files" in tour(folder, "engines", "check", "odd", expect=3).stderr


def test_names_become_slugs(folder: Path) -> None:
    """A tournament's name is not a path: its files are next to the database."""
    path = config(folder, ("wren1", "wren2"), "roundrobin", "", name="up")
    path.write_text(path.read_text().replace('name = "up"', 'name = "../../up"'))
    before = set(folder.parent.iterdir())
    tour(folder, "run", path.name, "--plain")
    assert set(folder.parent.iterdir()) == before
    made = {file.name for file in (folder / "results").iterdir()}
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,127}", name) for name in made), made


@pytest.mark.parametrize("words", ["rate games.pgn -o made", "export csv -o made", "pair club.trf -o made"])
def test_links_beside_exports(folder: Path, words: str) -> None:
    """A link at the place of a written file is not followed."""
    victim = folder / "victim"
    victim.write_text("precious")
    (folder / ".made.new").symlink_to(victim)
    assert tour(folder, *words.split(" "), expect=7).stderr.count("enginetour: ") == 1
    (folder / ".made.new").unlink(missing_ok=True)
    (folder / "made").symlink_to(victim)
    tour(folder, *words.split(" "), *(["--overwrite"] if "pair" in words else []))
    assert victim.read_text() == "precious"
    assert not (folder / "made").is_symlink()


def test_scratch_wiping(tmp_path: Path) -> None:
    """Links, mode 000 and odd names are removed; targets of links stay."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("precious")
    inner = tmp_path / "scratch" / "-rf" / "a\nb" / os.fsdecode(b"\xff\xfe")
    inner.mkdir(parents=True)
    (inner / "out").symlink_to(tmp_path / "kept")
    (inner / "file").symlink_to(tmp_path / "kept" / "file")
    (tmp_path / "scratch" / "-rf").chmod(0)
    assert remove_scratch(tmp_path / "scratch") == 0
    assert not (tmp_path / "scratch").exists()
    assert (tmp_path / "kept" / "file").read_text() == "precious"


def _page(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[2 * 4096 : 6 * 4096] = b"\x55" * (4 * 4096)
    path.write_bytes(bytes(whole))


FOREIGN: dict[str, Callable[[Path], None]] = {
    "trigger": lambda path: meddled(path, "CREATE TRIGGER t AFTER INSERT ON games BEGIN DELETE FROM games; END"),
    "view": lambda path: meddled(path, "CREATE VIEW v AS SELECT * FROM games"),
    "page": _page,
    "application": lambda path: meddled(path, "PRAGMA application_id=7"),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("words", ["standings", "games --json", "ratings --all", "import games.pgn", "void 1"])
def test_databases_of_others(folder: Path, kind: str, words: str) -> None:
    """A trigger, a view, torn pages or another application give exit 5 and one line; no byte changes."""
    path = folder / "results" / "enginetour.db"
    FOREIGN[kind](path)
    before = path.read_bytes()
    done = tour(folder, *words.split(" "), expect=5)
    assert done.stderr.count("enginetour: ") == 1
    assert path.read_bytes() == before


# Safeguards of an engine without root: PID namespace through a user namespace, and both sandboxes.

NOBODY = 65534  # /proc/sys/kernel/overflowuid: a user and a group without rights
OTHER: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
PACKAGE = Path(__file__).parents[2] / "enginetour"
NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))"

# Reports, as JSON, what an engine could do in a sandbox, and its safeguards.
TRIES = """\
import json, os, sys, time
from enginetour.engines import process as safeguards
from enginetour.engines.process import EngineProcess; from enginetour.engines.process import wait
from enginetour.model.task import EngineSpec
sandbox, script, outside, port, *more = sys.argv[1:]
told = {"guards": safeguards.describe_safeguards(), "user": os.geteuid()}
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
def unprivileged_folder() -> Iterator[Path]:
    """Return a directory in which the user nobody can read the package and write."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        made.chmod(0o755)
        shutil.copytree(PACKAGE, made / "enginetour", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(EnginesODD, made / "odd.py")
        for his in (made / "own", made / "outside"):
            his.mkdir()
            if OTHER:
                os.chown(his, NOBODY, NOBODY)
        yield made


def run(program: str, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a Python program as nobody if this user is root, else as this user."""
    command = [program, "-S", "-B", "-c", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **OTHER, **more)


def interpreter() -> str:
    """Return an interpreter that nobody may start; root's may be in root's home."""
    for program in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        try:
            if run(program, NEW_ENOUGH).returncode == 0:
                return program
        except OSError:
            continue
    pytest.skip("no Python 3.11 that an unprivileged user may start")


@pytest.mark.parametrize("sandbox", ["none", "landlock", "bwrap"])
def test_an_unprivileged_user_has_namespace_and_sandboxes(sandbox: str, unprivileged_folder: Path) -> None:
    """The engine has its own namespace; in a sandbox it writes only in scratch and reaches no port."""
    outside = unprivileged_folder / "outside" / sandbox
    surroundings = {
        "PATH": os.environ["PATH"],
        "HOME": str(unprivileged_folder / "own"),
        "TMPDIR": str(unprivileged_folder / "own"),
    }
    victim, place = unprivileged_folder / "outside" / f"{sandbox}.db", f"/run/enginetour-test-{os.getpid()}.sock"
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
        words: tuple[str, ...] = (
            TRIES,
            sandbox,
            str(unprivileged_folder / "odd.py"),
            str(outside),
            str(server.getsockname()[1]),
        )
        words += tuple(text.encode().hex() for text in (str(victim), *runs))
        done = run(
            interpreter(), *words, cwd=unprivileged_folder, env={**surroundings, "PYTHONPATH": str(unprivileged_folder)}
        )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["user"] == (OTHER.get("user") or os.geteuid())
    for missing in ("no PID namespace", f"{sandbox} no"):
        if missing in told["guards"]:
            pytest.skip(f"not for unprivileged users of this machine: {told['guards']}")
    free = sandbox == "none"
    assert (told["in_namespace"], told["status"]) == (True, "exit 0")
    assert (told["scratch"], told["outside"], told["null"], told["tcp"]) == (True, free, True, free)
    assert outside.exists() == free
    assert {"write", "remove", *runs} <= set(told["done"]) if free else told["done"] == []
    assert free or victim.read_text() == "games"


# Mistakes of testers: one line on stderr, the right exit code, nothing written.


def refused(folder: Path, *words: str, code: int = 3) -> str:
    """Return the one line of an error; the directory is unchanged."""
    before = sorted(folder.rglob("*"))
    done = tour(folder, *words, expect=code)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert sorted(folder.rglob("*")) == before
    return done.stderr


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('tc = "depth=1"', 'tc = "depth=1"\nopenings = "suite.epd"', '{ file = "suite.epd" }'),
        ('tc = "depth=1"', 'tc = "depth=1"\nopenings = { file = "no.epd" }', "the file is set in trial.toml:"),
        ('tc = "depth=1"', 'tc = "depth=1"\n[ratings]\nanchor = { "Wren 1" = nan }', "finite"),
        ('tc = "depth=1"', 'tc = "depth=1"\nhang_limit = inf', "hang_limit"),
        ('[tournament]\nname = "trial"\nseed = 4\n', "", '[tournament] with name = "..."'),
        ("[[entrants]]", "[entrants]", "[[entrants]]"),
        ('engine = "wren1"', 'name = "X"\ncommand = [""]\nprotocol = "uci"', "command"),
        ('engine = "wren1"', 'engine = "wren1"\nrating = nan', "finite"),
    ],
)
def test_a_configuration_with_one_mistake(tmp_path: Path, old: str, new: str, told: str) -> None:
    """A mistake is reported with its line and what to write instead."""
    entrants = ("wren1",) if old == "[[entrants]]" else THREE
    path = config(tmp_path, entrants)
    path.write_text(path.read_text().replace(old, new, 1))
    line = refused(tmp_path, "run", path.name)
    assert line.startswith("enginetour: ")
    assert told in line


def test_no_entrants_at_all(tmp_path: Path) -> None:
    """A configuration without entrants is reported with what to add."""
    assert "[[entrants]]" in refused(tmp_path, "run", config(tmp_path, ()).name)


def test_one_entrant(tmp_path: Path) -> None:
    """`check` rejects a single entrant as `run` does, before any engine starts."""
    path = config(tmp_path, ("wren1",))
    for command in ("run", "check"):
        assert "a tournament needs at least two" in refused(tmp_path, command, path.name)


def test_seeds_that_leave_nobody(tmp_path: Path) -> None:
    """Seeds that include all entrants are rejected."""
    path = config(tmp_path, ("wren1", "wren2"), "gauntlet", 'seeds = ["Wren 1", "Wren 2"]')
    assert "seeds contains all entrants" in refused(tmp_path, "run", path.name)


def test_a_mark_at_the_start_of_the_file_is_no_mistake(tmp_path: Path) -> None:
    """A byte order mark at the start of the file is accepted."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    tour(tmp_path, "run", path.name)


def test_a_program_that_says_nothing_is_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program without output is not an engine: `cat` sends no move."""
    try_engines_once(monkeypatch)
    entrant = '\n[[entrants]]\nname = "X"\ncommand = ["/bin/cat"]\nprotocol = "cecp"\nquirks.handshake_timeout = 1'
    path = config(tmp_path, ("wren1",), "roundrobin", "", entrant, tc="1+0.1")
    line = refused(tmp_path, "run", path.name, code=4)
    assert "engine X: " in line
    assert line.endswith("check that it uses cecp; start it by hand: /bin/cat.\n")


@pytest.mark.parametrize("kind", ["garbage", "folder", "foreign"])
def test_a_database_from_elsewhere(tmp_path: Path, kind: str) -> None:
    """A foreign database is reported before anything, such as a lock, is written next to it."""
    path, base = config(tmp_path, ("wren1", "wren2"), "roundrobin", ""), tmp_path / "x.db"
    if kind == "garbage":
        base.write_bytes(b"garbage" * 1000)
    elif kind == "folder":
        base.mkdir()
    else:
        other = sqlite3.connect(base)
        other.execute("create table t (a)")
        other.close()
    assert "x.db: is " in refused(tmp_path, "run", path.name, "--db", "x.db", code=5)


def test_an_empty_file_becomes_the_database(tmp_path: Path) -> None:
    """An empty file, as `mktemp` leaves it, becomes the database."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    (tmp_path / "x.db").touch()
    tour(tmp_path, "run", path.name, "--db", "x.db")
    tour(tmp_path, "status", "--db", "x.db")


def test_two_entrants_of_an_engine_that_may_run_once(tmp_path: Path) -> None:
    """Two entrants of an engine that may run once are rejected, because both run at the same time."""
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "one.toml").write_text(
        'name = "One"\nprotocol = "uci"\ncommand = ["/bin/true"]\nmax_copies = 1\n'
    )
    path = config(tmp_path, ("one", "wren1"), more='\n[[entrants]]\nengine = "one"\nname = "Another"\n')
    line = refused(tmp_path, "check", path.name)
    assert "Another and One are the same engine, which allows 1 copy at a time" in line
    assert "trial.toml:" in line


def test_check_refuses_what_run_refuses(tmp_path: Path) -> None:
    """`check` rejects frozen settings, ended tournaments and too much concurrency, as `run` does."""
    path = config(tmp_path, THREE[:2], "match", "games = 2")
    assert f"ready to run: enginetour run {path}\n" in tour(tmp_path, "check", str(path)).stdout
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    path.write_text(path.read_text().replace("depth=1", "depth=2"))
    told = [tour(tmp_path, command, str(path), expect=5).stderr for command in ("check", "run")]
    assert "play.tc cannot change" in told[0]
    assert told[0] == told[1].splitlines(keepends=True)[-1]
    path.write_text(path.read_text().replace("depth=2", "depth=1"))
    assert f"ready to run: enginetour run {path}\n" in tour(tmp_path, "check", str(path)).stdout
    tour(tmp_path, "run", str(path))
    assert f"ready to run: enginetour run --new {path}\n" in tour(tmp_path, "check", str(path)).stdout
    path.write_text(
        path.read_text()
        .replace("[play]", f"[play]\nconcurrency = {allowed_processors().count + 1}")
        .replace('"trial"', '"crowd"')
    )
    assert f"ready to run: enginetour run --force {path}\n" in tour(tmp_path, "check", str(path)).stdout


@pytest.mark.parametrize("mode", [0o644, None])
def test_a_program_that_is_there_is_not_called_missing(tmp_path: Path, mode: int | None) -> None:
    """A file that is not executable, a directory or a name without ./ is not reported as missing."""
    path = tmp_path / "owl"
    if mode is None:
        path.mkdir()
        told = f"{path} is a directory, not a program"
    else:
        path.write_text("#!/bin/sh\n")
        path.chmod(mode)
        told = f"{path} is not executable (use chmod +x owl)"
        assert "write ./owl for the file in" in refused(tmp_path, "match", "owl", "wren1")
    assert told in refused(tmp_path, "match", "./owl", "wren1")
    assert "is not an engine file or a program" in refused(tmp_path, "match", "owl" * 100, "wren1")
    assert told in refused(tmp_path, "engines", "add", "owl", "./owl", code=4)
    file = config(tmp_path, ("wren1", "wren2"))
    file.write_text(file.read_text().replace('engine = "wren1"', 'name = "X"\ncommand = ["./owl"]\nprotocol = "uci"'))
    assert told in refused(tmp_path, "check", file.name, code=4)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--tc", "5:00+3"), "--tc: play.tc: "),
        (("--games-per-pairing", "3"), "--games-per-pairing: format.games_per_pairing: "),
        (("--name", "a\nb"), "--name: tournament.name: "),
        (("--tc", "nodes=1000", "--engine", "wren1", "--engine", "toga2"), "--tc: Toga II 3.0 does not support nodes"),
    ],
)
def test_init_names_what_was_typed(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    """`init` reports what was typed, and writes nothing that `check` rejects."""
    assert refused(tmp_path, "init", "night.toml", "--format", "gauntlet", *words).startswith(f"enginetour: {told}")
    assert not (tmp_path / "night.toml").exists()


def test_init_for_another_folder_keeps_the_book(tmp_path: Path) -> None:
    """Paths given to `init` start at the current directory, also for a file in another directory."""
    (tmp_path / "lists").mkdir()
    (tmp_path / "some.epd").write_text("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n")
    tour(tmp_path, "init", "lists/night.toml", "--openings", "some.epd", "--engine", "wren1", "--engine", "wren2")
    assert "openings: 1 from" in tour(tmp_path, "check", "lists/night.toml").stdout
    tour(tmp_path, "init", "night.toml", "--openings", "some.epd")
    assert 'file = "some.epd"' in (tmp_path / "night.toml").read_text()


def test_what_is_to_be_typed_can_be(tmp_path: Path) -> None:
    """Suggested commands quote names with blanks, and contain the database."""
    told = tour(tmp_path, "init", "my night.toml", "--engine", "wren1", "--engine", "wren2", "--tc", "depth=1").stdout
    assert told.endswith("; enginetour check 'my night.toml' checks it, enginetour run 'my night.toml' starts it\n")
    told = tour(tmp_path, "check", "my night.toml", "--db", "my games.db").stdout
    assert told.endswith("ready to run: enginetour run 'my night.toml' --db 'my games.db'\n")
    words = ("match", "wren1", "wren2", "--tc", "depth=1", "--db", "x.db", "--write-only")
    assert tour(tmp_path, *words).stdout.endswith(" --db x.db plays it\n")


def test_a_step_that_no_engine_of_these_has(tmp_path: Path) -> None:
    """A check of CECP for a UCI engine is rejected."""
    told = refused(tmp_path, "engines", "check", "wren1", "--step", "setboard", code=2)
    assert told == "enginetour: --step: 'setboard' is not a step of uci, the protocol of the engine\n"
    tour(tmp_path, "engines", "check", "wren1", "wren2", "--step", "name")


# After everything was killed at once, nothing needs to be removed by hand.


def test_scratch_folders_of_a_killed_run_are_wiped_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run removes scratch directories of a killed run, but not those of others, links or files."""
    monkeypatch.setenv(SCRATCH_ROOT, str(tmp_path))
    mine = [make_scratch("db:one"), make_scratch("db:one/12-1")]
    kept = [make_scratch(tag) for tag in ("db:two", "db:one2", "")]
    for folder in (*mine, *kept):
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("x")
    link = tmp_path / "enginetour-link"
    link.symlink_to(make_scratch("db:one"))
    mine.append(link.readlink())
    link.with_name("enginetour-file").touch()
    faked = link.with_name("enginetour-fake")
    faked.mkdir()
    (faked / ".tag").write_text("db:one")
    assert end_leftovers("db:one") == ()
    assert not any(folder.exists() for folder in mine)
    assert all((folder / "deep" / "file").exists() for folder in kept)
    assert len(os.listdir(tmp_path)) == len(kept) + 3


def test_folders_of_another_user_are_let_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories of other users stay, whatever their names and tags are."""
    monkeypatch.setenv(SCRATCH_ROOT, str(tmp_path))
    folder = make_scratch("db:one")
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    end_leftovers("db:one")
    assert folder.exists()


def test_a_folder_that_cannot_tell_its_tag_is_one_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database in a very long path works, though its tag does not fit into a link."""
    monkeypatch.setenv(SCRATCH_ROOT, str(tmp_path))
    assert make_scratch("x" * 5_000).is_dir()


def test_a_new_tag_replaces_the_old_one_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory always has a tag while its tag is replaced."""
    monkeypatch.setenv(SCRATCH_ROOT, str(tmp_path))
    folder, link, seen = make_scratch("db:one"), os.symlink, list[str]()

    def watched(tag: str, path: Path) -> None:
        seen.append(os.readlink(folder / TAG_LINK))
        link(tag, path)

    monkeypatch.setattr(os, "symlink", watched)
    sandbox.retag(folder, "db:two")
    assert seen == ["db:one"]
    assert os.readlink(folder / TAG_LINK) == "db:two"
    assert os.listdir(folder) == [TAG_LINK]


def test_a_slot_leaves_its_folder_only_with_nothing_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot's directory with something in it keeps its tag, so that the next run finds it."""
    monkeypatch.setenv(SCRATCH_ROOT, str(tmp_path))
    folders = [make_scratch("db:one"), make_scratch("db:one")]
    (folders[0] / "left").touch()
    for folder in folders:
        monkeypatch.setenv(SCRATCH_ROOT, str(folder))
        remove_scratch_root()
    assert [os.path.lexists(folder / ".tag") for folder in folders] == [True, False]
    assert [folder.exists() for folder in folders] == [True, False]


def test_a_run_wipes_what_was_left_when_all_were_killed(tmp_path: Path) -> None:
    """If scheduler, slots and engines are killed at once, the same command removes their directories later."""
    (tmp_path / "results").mkdir()
    path = quick(tmp_path, system="roundrobin", settings="cycles = 10")  # it has not ended when all are killed
    words = ["run", str(path), "--concurrency", "2"]
    first = Forked(tmp_path, words, tmp_path / "first")
    first.first_game()
    send(everybody(tmp_path), signal.SIGSTOP)  # a slot whose scheduler ends would clean up
    kill_everybody(tmp_path)
    assert first.ended()[0] == 137
    assert len(os.listdir(temporary(tmp_path))) == 2
    second = Forked(tmp_path, words, tmp_path / "second")
    assert second.ended()[0] == 0
    assert os.listdir(temporary(tmp_path)) == []


def test_a_slot_whose_folder_was_tidied_up_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot continues after its directory was removed by a cleaner of temporary files."""
    root = make_scratch("db:one")
    monkeypatch.setenv(SCRATCH_ROOT, str(root))
    monkeypatch.setenv(TAG, "db:one/12")
    shutil.rmtree(root)
    made = make_scratch()
    assert made.parent == root
    assert os.readlink(root / TAG_LINK) == "db:one/12"
    assert root.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(root)
    root.symlink_to(tmp_path)  # a link made by another program
    tmp_path.rename(tmp_path.with_name("elsewhere"))
    with pytest.raises(MachineFailure, match="cannot make a scratch directory"):
        make_scratch()
    root.unlink()
