"""On another system than Linux, commands that read results work, and the others print one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.databases import games, store

PAIRED = Path(__file__).parents[1] / "cases" / "pairing" / "bye-fixed-by-hand.trf"
# Modules and names that another system does not have.
WITHOUT = """\
import os, pkgutil, signal, sys, sysconfig, importlib
import multiprocessing, subprocess, tempfile, threading, asyncio, uuid, shutil, concurrent.futures, sqlite3, logging
for name in ("fcntl", "grp", "pwd", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
for name in ("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fork", "getuid", "makedev", "pidfd_open", "pipe2",
             "sched_getaffinity", "sched_setaffinity", "statvfs"):
    delattr(os, name)
del signal.SIGHUP, signal.pidfd_send_signal, signal.pthread_sigmask
sysconfig.get_config_vars()
sys.platform = "sunos5"
"""
EACH_MODULE = """
import enginetour
for package in ("model", "ratings", "formats", "interop", "reports"):
    found = importlib.import_module("enginetour." + package)
    for module in pkgutil.walk_packages(found.__path__, found.__name__ + "."):
        importlib.import_module(module.name)
        print(module.name)
"""
COMMANDS = """
from enginetour.cli.main import main
for words in sys.argv[1:]:
    sys.argv = ["enginetour", *words.split()]
    try:
        main()
    except SystemExit as end:
        print("exit", end.code, file=sys.stderr)
"""


def elsewhere(code: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + code, *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_each_module_that_only_reads_is_imported_without_modules_of_linux(tmp_path: Path) -> None:
    done = elsewhere(EACH_MODULE, cwd=tmp_path)
    assert done.stderr == ""
    assert {"enginetour.interop.files", "enginetour.reports.review.write"} <= set(done.stdout.split())


def test_reading_commands_work_elsewhere_and_others_print_one_line(tmp_path: Path) -> None:
    """On another system, `run` and `match` print one line; commands that read and compute work."""
    store(tmp_path / "games.db")
    games(tmp_path / "games.pgn")
    done = elsewhere(
        COMMANDS,
        "run night.toml",
        "match wren1 wren2",
        "rate games.pgn -o list.csv",
        "ratings --db games.db --all",
        "report --db games.db -o report",
        "simulate --compare dutch --entrants 6 --rounds 2 --fields 2",
        f"pair {PAIRED} --rounds 9",
        cwd=tmp_path,
    )
    step = "Hint: rate, ratings, report, pair, simulate and other commands that read results work here."
    lines = [line for line in done.stderr.splitlines() if line.startswith(("enginetour:", "exit"))]
    for command in ("run", "match"):
        assert lines[:2] == [f"enginetour: enginetour {command} needs Linux (found sunos5). {step}", "exit 2"]
        del lines[:2]
    assert lines == ["exit 0"] * 5
    assert len((tmp_path / "list.csv").read_text().splitlines()) == 5
    assert (tmp_path / "report" / "index.html").is_file()
