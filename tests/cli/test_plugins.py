"""Plug-ins on the command line: the example distribution from its installation to its removal, and faulty plug-ins."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.tournaments import FOUR, audit, config, running, tour

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
HILL, EXTRAS = EXAMPLES / "enginetour-hill", EXAMPLES / "enginetour-extras"
BUILD = """
import os, sys
from hatchling.build import build_wheel
for place in sys.argv[2:]:
    os.chdir(place)
    build_wheel(sys.argv[1])
"""
MISSING = "the format 'hill' is not installed; it is part of the package enginetour-hill 1.0. Hint: pip install"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheels of the examples, and install each into a directory."""
    folder = tmp_path_factory.mktemp("plug-ins")
    subprocess.run([sys.executable, "-c", BUILD, folder, HILL, EXTRAS], check=True, capture_output=True)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder / wheel.name.partition("-")[0])
    return folder


def test_the_format_of_an_installed_package_from_start_to_removal(tmp_path: Path, installed: Path) -> None:
    """Real engines play it; it is killed, resumed, simulated and reported. Without the package there is one line."""
    path = config(tmp_path, FOUR, "hill", "games_per_pairing = 2", tc="0.1+0.01", strong=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(installed / "enginetour_hill"))
        with running(tmp_path, path) as process:
            process.send(signal.SIGKILL)
        assert 1 <= audit(tmp_path) < 6
        tour(tmp_path, "run", str(path))
        assert audit(tmp_path) == 6
        assert "king" in tour(tmp_path, "standings").stdout
        assert "6" in tour(tmp_path, "simulate", str(path)).stdout
        tour(tmp_path, "report", "-o", "report")
        assert "king of the hill" in tour(tmp_path, "systems", "hill").stdout
        assert "the winner is the king" in (tmp_path / "report" / "index.html").read_text()
    for words, code in (
        (("run", str(path)), 3),
        (("check", str(path)), 3),
        (("simulate", str(path)), 3),
        (("status",), 5),
        (("standings",), 5),
        (("crosstable",), 5),
        (("report",), 5),
        (("withdraw", "Wren 1"), 5),
    ):
        told = tour(tmp_path, *words, expect=code).stderr.strip().splitlines()
        assert MISSING in told[-1], words
        assert all(line.startswith("tournament trial, edition 1") for line in told[:-1])
    assert "Wren 1" in tour(tmp_path, "games").stdout  # the games do not need the format
    assert "Wren 1" in tour(tmp_path, "ratings").stdout


def test_the_laws_include_plug_ins(installed: Path) -> None:
    """The packages' tests pass, and `pytest --pyargs enginetour.testing` tries the laws on their plug-ins."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    words += [str(HILL / "tests"), str(EXTRAS / "tests"), "--pyargs", "enginetour.testing"]
    words += ["-k", "hill or fast or lines or sans or extras"]
    paths = os.pathsep.join(str(installed / name) for name in ("enginetour_hill", "enginetour_extras"))
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "19 passed" in done.stdout


def test_a_list_of_formats_reports_faulty_plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`systems` lists the other formats, and one line for each faulty plug-in."""
    about = tmp_path / "odd-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[enginetour.formats]\nodd = no_such_module\nbubble = os\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    done = tour(tmp_path, "systems")
    assert "roundrobin" in done.stdout and "odd" not in done.stdout
    assert done.stderr.splitlines() == [
        "warning: odd 1: the name of the format 'bubble' already exists in enginetour. Hint: use another name for it.",
        "warning: odd 1: the format 'odd' cannot be imported (ModuleNotFoundError: No module named 'no_such_module'). "
        "Hint: install it again: pip install -U odd.",
    ]
    tour(tmp_path, "systems", "bubble")
    refused = tour(tmp_path, "systems", "odd", expect=3).stderr.splitlines()
    assert len(refused) == 1 and refused[0].startswith("enginetour: odd 1: the format 'odd' cannot be imported")


def test_a_rating_system_a_notifier_and_a_reader_of_a_package(tmp_path: Path, installed: Path) -> None:
    """One run uses all three. After the removal of the package, one line names it."""
    more = '\n[ratings]\nsystems = ["ml", "fast"]\nplugins = { fast = { k = 50 } }\n'
    more += '[notify]\nplugins = { lines = { file = "lines.txt" } }\n'
    play = 'openings = { file = "book.sans" }'
    path = config(tmp_path, FOUR[:2], "roundrobin", "cycles = 1\ngames_per_pairing = 2", more, play=play)
    (tmp_path / "book.sans").write_text("e4 e5 Nf3\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(installed / "enginetour_extras"))
        assert "Elo, fast" in tour(tmp_path, "run", str(path)).stdout
        assert '"event": "finished"' in (tmp_path / "lines.txt").read_text()
        assert "e4 e5 Nf3" in tour(tmp_path, "games", "1").stdout
        assert "Elo, fast" in tour(tmp_path, "ratings", "--system", "fast").stdout
        tour(tmp_path, "lists", "define", "quick", "--system", "fast")
        tour(tmp_path, "publish", "quick")
        pgn = str(tmp_path / "results" / "trial.pgn")
        assert "Elo, fast" in tour(tmp_path, "rate", pgn, "--system", "fast").stdout
        text = path.read_text()
        path.write_text(text.replace('file = "lines', 'fil = "lines'))
        assert "notify: plugins.lines.file is missing" in tour(tmp_path, "check", str(path), expect=3).stderr
        (tmp_path / "book.sans").write_text("e4 e5 Ke3\n")
        path.write_text(text)
        assert "book.sans:1: invalid opening: illegal" in tour(tmp_path, "check", str(path), expect=3).stderr
    told = tour(tmp_path, "run", str(path), expect=3).stderr.splitlines()
    assert len(told) == 1 and "is not installed; it is part of the package enginetour-extras 2.1." in told[0]
    without = text.partition("\n[ratings]")[0] + text.partition('"lines.txt" } }\n')[2]
    path.write_text(without)
    told = tour(tmp_path, "run", str(path), expect=3).stderr.splitlines()
    assert len(told) == 1 and "the reader of openings 'sans' is not installed" in told[0]
    assert "Wren 1" in tour(tmp_path, "standings").stdout
    assert "quick" in tour(tmp_path, "lists").stdout
    missing = (
        "enginetour: the rating system 'fast' is not installed; it is part of the package enginetour-extras 2.1. Hint"
    )
    for words in (
        ("ratings", "quick"),
        ("ratings", "quick", "--as-of", "edition 1"),
        ("publish", "quick"),
        ("diff", "quick"),
        ("lists", "define", "quick", "--min-games", "3"),
        ("report", "quick"),
        ("history", "Wren 1", "--list", "quick"),
    ):
        told = tour(tmp_path, *words, expect=5).stderr.splitlines()
        assert len(told) == 1 and told[0].startswith(missing), words
    assert "Wren 1" in tour(tmp_path, "editions", "quick", "1").stdout
    checked = tour(tmp_path, "db", "check")
    assert "sound" in checked.stdout and "edition 1 of quick: not replayed, the rating system 'fast'" in checked.stderr
    assert "quick" in tour(tmp_path, "ratings", "quick", "--system", "elo").stdout
