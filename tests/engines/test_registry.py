"""Tests of engines/registry."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from enginetour.engines.enginefile import EngineEntry, read_entry, write_entry
from enginetour.engines.registry import candidates, find, find_program, load, named, read_engines, to_spec
from enginetour.interop.files import bundled_directory
from enginetour.model.errors import EngineRefused, InputRefused
from enginetour.model.task import Quirks
from enginetour.testing import PLAYING
from tests.support.tournaments import config, tour

DEBIAN = {
    "stockfish": "clock movetime nodes depth",
    "ethereal": "clock movetime depth",
    "toga2": "clock movetime depth",
    "glaurung": "clock movetime depth",
    "fairy-stockfish": "clock movetime nodes depth",
    "gnuchess-uci": "clock movetime depth",
    "sjaakii-uci": "clock movetime depth",
    "gnuchess-cecp": "clock movetime",
    "fairymax": "clock movetime depth",
    "phalanx": "clock movetime",
    "hoichess": "clock movetime depth",
    "sjaakii-cecp": "clock movetime depth",
    "polyglot-stockfish-cecp": "clock movetime depth nodes",
    "fairy-stockfish-cecp": "clock movetime depth",
}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory that is the whole PATH; `_program` adds programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("enginetour.engines.registry.GAMES", (str(tmp_path / "games"),))
    return folder


def _program(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_shipped_files() -> None:
    """Every bundled engine file loads and has a unique name, a family, an origin and the surveyed limits."""
    registry = load([bundled_directory("engines")])
    entries = {entry.id: entry for entry in registry.entries()}
    assert set(entries) == {*DEBIAN, *(f"wren{level}" for level in range(1, 9))}
    assert len({entry.name for entry in entries.values()}) == len(entries)
    for name, limits in DEBIAN.items():
        assert entries[name].supported_limits == set(limits.split()), name
        assert entries[name].package, name
    for entry in entries.values():
        assert entry.family, entry.id
        assert entry.origin, entry.id
        assert entry.version, entry.id
    assert {entry.protocol for entry in entries.values() if entry.family == "wren"} == {"uci", "cecp"}
    assert entries["gnuchess-cecp"].quirks.protover_delay_ms == 100
    assert {entry.quirks.tells_features for entry in entries.values() if entry.protocol == "cecp"} == {True}
    assert entries["fairymax"].quirks.movetime == "level"
    assert not entries["hoichess"].quirks.st_fraction
    assert entries["sjaakii-cecp"].quirks.movetime_margin_ms == 500
    assert entries["fairy-stockfish-cecp"].quirks.no_cores


@pytest.mark.parametrize(
    ("name", "options", "init", "words"),
    [
        ("stockfish", {"Threads": "1", "Ponder": "false"}, (), ()),
        ("ethereal", {"Threads": "1", "Ponder": "false"}, (), ()),
        ("fairy-stockfish", {"Threads": "1", "Ponder": "false"}, (), ()),
        ("toga2", {"Number of Threads": "1", "Ponder": "false", "OwnBook": "false"}, (), ()),
        ("glaurung", {"Threads": "1", "Ponder": "false", "OwnBook": "false", "Use Search Log": "false"}, (), ()),
        ("gnuchess-uci", {"Ponder": "false", "OwnBook": "false"}, (), ("--uci",)),
        ("sjaakii-uci", {"Ponder": "false", "UCI_Chess960": "false"}, (), ()),
        ("gnuchess-cecp", {}, ("book off",), ()),
        ("phalanx", {}, (), ("-b-", "-l-")),
        ("hoichess", {}, ("book off",), ()),
        ("fairy-stockfish-cecp", {"Ponder": "false"}, (), ()),
    ],
)
def test_one_thread_no_pondering_no_book(
    name: str, options: dict[str, str], init: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """Bundled engine files set one thread, no pondering and no book."""
    entry = load([bundled_directory("engines")]).get(name)
    assert options.items() <= {key: str(value).lower() for key, value in entry.options.items()}.items()
    assert entry.quirks.init == init
    assert entry.command[1:] == words


@pytest.mark.engine("stockfish")
@pytest.mark.engine("polyglot")
def test_polyglot_ini() -> None:
    """The ini file of the adapter contains the engine's absolute path, and is in the scratch directory."""
    spec = to_spec(load([bundled_directory("engines")]).get("polyglot-stockfish-cecp"))
    assert spec.command[1] == "{scratch}/stockfish.ini"
    ((name, text),) = spec.files
    assert name == "stockfish.ini"
    assert f"EngineCommand = {find_program('stockfish', Path('/'))}\n" in text


def test_wren_starts_by_our_python() -> None:
    """Wren is started by the running interpreter, from the directory of its files."""
    spec = to_spec(load([bundled_directory("engines")]).get("wren3"))
    assert spec.command == (sys.executable, str(bundled_directory("engines") / "wren.py"), "3")
    assert spec.dir == "scratch"


def test_unknown_id() -> None:
    """An unknown engine is reported with the closest id and the command that lists them."""
    with pytest.raises(InputRefused) as caught:
        load([bundled_directory("engines")]).get("stokfish", "t.toml:4")
    hint = "Hint: list all engines with enginetour engines list."
    assert str(caught.value) == f"t.toml:4: unknown engine 'stokfish', did you mean 'stockfish'? {hint}"


def test_order_of_folders(tmp_path: Path) -> None:
    """A file of the workspace replaces a bundled file with the same id; hidden files are ignored."""
    write_entry(tmp_path, EngineEntry("stockfish", "Mine", ("mine",), "uci"))
    (tmp_path / ".hidden.toml").write_text("")
    registry = load([tmp_path, tmp_path / "missing", bundled_directory("engines")])
    assert registry.get("stockfish").name == "Mine"
    assert registry.get("toga2").name == "Toga II 3.0"
    assert ".hidden" not in registry.ids


def test_ids_count_upwards(tmp_path: Path) -> None:
    """Ids with numbers are listed by value."""
    for name in ("e10", "e9", "d"):
        (tmp_path / f"{name}.toml").write_text("")
    assert load([tmp_path]).ids == ("d", "e9", "e10")


def test_a_broken_file_stops_only_its_users(tmp_path: Path) -> None:
    """A broken engine file is rejected when it is needed, not before."""
    write_entry(tmp_path, EngineEntry("good", "Good", ("good",), "uci"))
    (tmp_path / "broken.toml").write_text("name = 1\n")
    registry = load([tmp_path])
    assert registry.get("good").name == "Good"
    with pytest.raises(InputRefused, match=r"broken\.toml:1: name"):
        registry.get("broken")


def test_missing_program(programs: Path) -> None:
    """A missing program is rejected with the package that contains it."""
    entry = EngineEntry("x", "X 1", ("nowhere",), "uci", package="x-chess")
    with pytest.raises(EngineRefused) as caught:
        to_spec(entry)
    assert caught.value.exit_code == 4
    assert str(caught.value).startswith("X 1: program 'nowhere' not found in PATH, ")
    assert str(caught.value).endswith(". Hint: run apt install x-chess.")


def test_where_programs_are_looked_for(programs: Path, tmp_path: Path) -> None:
    """PATH comes before the games directories; a path starts at the engine file; files must be executable."""
    _program(tmp_path / "games" / "one")
    assert find_program("one", tmp_path) == str(tmp_path / "games" / "one")
    _program(programs / "one")
    assert find_program("one", tmp_path) == str(programs / "one")
    assert find_program("./games/../bin/one", tmp_path) == str(programs / "one")
    (programs / "text").write_text("")
    assert find_program("text", tmp_path) is None
    assert find_program("./bin", tmp_path) is None


def test_links_stay(programs: Path, tmp_path: Path) -> None:
    """A program that is a link is started by the name of the link."""
    _program(programs / "one")
    (tmp_path / "two").symlink_to(programs / "one")
    assert find_program("./two", tmp_path) == str(tmp_path / "two")


def test_placeholders(programs: Path, tmp_path: Path) -> None:
    """Placeholders are replaced everywhere, except for the scratch directory of each process."""
    one = _program(programs / "one")
    entry = EngineEntry(
        "x",
        "X",
        ("{python}", "{here}/x.py", "{scratch}/x", "{program:one}", "{other}"),
        "uci",
        folder=tmp_path,
        dir="nets",
        env={"NET": "{here}/net"},
        options={"Net": "{here}/net"},
        files={"x.ini": "a={program:one}\nb={scratch}\n"},
    )
    spec = to_spec(entry)
    assert spec.command == (sys.executable, f"{tmp_path}/x.py", "{scratch}/x", str(one), "{other}")
    assert spec.dir == str(tmp_path / "nets")
    assert spec.env == (("NET", f"{tmp_path}/net"),)
    assert spec.options == (("Net", f"{tmp_path}/net"),)
    assert spec.files == (("x.ini", f"a={one}\nb={{scratch}}\n"),)


def test_a_net_named_from_the_folder_of_the_file(programs: Path, tmp_path: Path) -> None:
    """A net next to the engine file is found, alone or in ``--weights=nets/a.pb``."""
    _program(programs / "one")
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "a.pb").touch()
    words = ("nets/a.pb", "--weights=nets/a.pb", "-w=gone.pb", "--threads=2")
    spec = to_spec(EngineEntry("x", "X", ("one", *words), "uci", folder=tmp_path))
    assert spec.command[1:] == (f"{tmp_path}/nets/a.pb", f"--weights={tmp_path}/nets/a.pb", *words[2:])


def test_options_go_over(programs: Path) -> None:
    """Options of a configuration replace those of the file in any case; booleans are lower case."""
    _program(programs / "one")
    entry = EngineEntry("x", "X", ("one",), "uci", options={"Hash": 16, "OwnBook": False})
    spec = to_spec(entry, name="Mine", options={"hash": 64, "Contempt": 0.5, "Ponder": True})
    assert spec.name == "Mine"
    assert spec.options == (("Hash", "64"), ("OwnBook", "false"), ("Contempt", "0.5"), ("Ponder", "true"))


def test_find(programs: Path, tmp_path: Path) -> None:
    """Known programs without a file are found once, also with a version after the name."""
    _program(tmp_path / "games" / "toga2")
    _program(programs / "gnuchess")
    _program(programs / "stockfish-16.1")
    _program(programs / "stockfish_tools")
    (programs / "stockfish").symlink_to(programs / "stockfish-16.1")
    folder = tmp_path / "engines"
    found = {entry.id: entry for entry in find(folder)}
    assert set(found) == {"gnuchess-cecp", "gnuchess-uci", "stockfish", "toga2"}
    _program(programs / "stockfish-17")
    for entry in find(folder):
        write_entry(folder, entry)
    assert load([folder]).ids == ("gnuchess-cecp", "gnuchess-uci", "stockfish", "stockfish-17", "toga2")
    newer = load([folder]).get("stockfish-17")
    assert (newer.name, newer.command) == ("Stockfish 15.1 (stockfish-17)", (str(programs / "stockfish-17"),))
    assert find(folder) == ()


def test_candidates(programs: Path) -> None:
    """A new command is tried as UCI, then as CECP; known programs get their arguments."""
    _program(programs / "gnuchess")
    _program(programs / "mine")
    uci, cecp = candidates(("gnuchess",), programs)
    assert (uci.protocol, uci.command[1:], uci.quirks) == ("uci", ("--uci",), Quirks())
    assert (cecp.protocol, cecp.command[1:], cecp.quirks) == ("cecp", (), Quirks())
    uci, cecp = candidates(("./mine", "-a"), programs)
    assert uci.command == cecp.command == (str(programs / "mine"), "-a")
    assert (uci.name, uci.options) == ("mine", ())
    with pytest.raises(EngineRefused):
        candidates(("nothing",), programs)


def test_find_leaves_out_what_cannot_start(programs: Path, tmp_path: Path) -> None:
    """An adapter without its engine is not found."""
    _program(programs / "polyglot")
    assert find(tmp_path / "engines") == ()
    _program(programs / "stockfish")
    assert {entry.id for entry in find(tmp_path / "engines")} == {"polyglot-stockfish-cecp", "stockfish"}


def test_found_engines_have_the_names_that_they_report(programs: Path, tmp_path: Path) -> None:
    """Found engines have the names that they report, each name once."""
    for name in ("gnuchess", "hoichess", "phalanx", "stockfish", "stockfish-9", "toga2"):
        _program(programs / name)
    found = find(tmp_path / "engines")
    reported = {
        "gnuchess-cecp": "GNU Chess", "gnuchess-uci": "GNU Chess 6.2.9", "hoichess": "HoiChess 0.22.0-3-debian",
        "phalanx": "Phalanx XXIV", "stockfish": "Stockfish 17.1", "stockfish-9": "Stockfish 17.1", "toga2": "",
    }  # fmt: skip
    entries = {entry.id: entry for entry in named(found, reported, ["HoiChess 0.22.0"])}
    assert {engine: (entry.name, entry.version) for engine, entry in entries.items()} == {
        "gnuchess-cecp": ("GNU Chess 6.2.9 (CECP)", "6.2.9"),
        "gnuchess-uci": ("GNU Chess 6.2.9", "6.2.9"),
        "hoichess": ("HoiChess 0.22.0 (hoichess)", "0.22.0"),
        "phalanx": ("Phalanx XXIV", ""),
        "stockfish": ("Stockfish 17.1", "17.1"),
        "stockfish-9": ("Stockfish 17.1 (stockfish-9)", "17.1"),
        "toga2": ("Toga II 3.0", "3.0.0.1SE1"),
    }
    (long,) = named([entry for entry in found if entry.id == "toga2"], {"toga2": "T" * 103}, ())
    assert read_entry(write_entry(tmp_path / "engines", long)).name == "T" * 100


@pytest.mark.parametrize(
    ("name", "version", "reported", "differs"),
    [
        ("Stockfish 15.1", "15.1", "Stockfish 17.1", True),
        ("Stockfish 15.1", "", "Stockfish dev-20240101-abc", True),
        ("Stockfish", "15.1", "Stockfish 17.1 64-bit", True),
        ("Stockfish 17.1", "17.1", "Stockfish 17.1 64-bit", False),
        ("SF 17.1 net A", "", "Stockfish 17.1", False),
        ("Lc0 v0.31", "", "Lc0 v0.31.0", True),
        ("Lc0 v0.31.0", "", "Lc0 0.31.0+git.abc", False),
        ("Crafty 25.2", "", "Crafty-25.2", False),
        ("My engine", "", "Mine 2.0", False),
        ("GNU Chess 6.2.7", "6.2.7", "GNU Chess", False),
        ("Phalanx XXV", "25", "Phalanx XXV", False),
    ],
)
def test_a_file_that_states_another_release(name: str, version: str, reported: str, differs: bool) -> None:
    """Only releases that both names state are compared, not words, processors or chosen names."""
    assert EngineEntry("x", name, ("x",), "uci", version=version).contradicts(reported) is differs


def test_check_run_and_find_tell_another_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` and `run` report another release with file and next step; `find` writes the reported name."""
    monkeypatch.setattr("enginetour.engines.registry.GAMES", ())
    monkeypatch.setattr("enginetour.engines.registry.GAMES", ())
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "stockfish"
    threads = "s/^uciok/option name Threads type spin default 1 min 1 max 1\\nuciok/"
    script = f'{sys.executable} -E -S {PLAYING} --protocol uci --fault "17.1" | /bin/sed -u "{threads}"'
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    path = config(tmp_path, ("wren1", "stockfish"), "match", "games = 2")
    words = "Stockfish 15.1: the engine file has 'Stockfish 15.1', but the engine reports 'Scripted 17.1'. Hint: "
    assert f"warning: {words}enginetour engines find writes" in tour(tmp_path, "check", str(path)).stdout
    assert (
        f"warning: {words}enginetour engines find writes"
        in tour(tmp_path, "run", str(path), "--max-games", "1", expect=None).stdout
    )
    assert "Scripted 17.1" in tour(tmp_path, "engines", "find").stdout
    assert load([tmp_path / "engines"]).get("stockfish").name == "Scripted 17.1"
    assert "the engine file has" not in tour(tmp_path, "check", str(path), expect=None).stdout


def test_a_missing_folder_is_empty(tmp_path: Path) -> None:
    """A missing directory contains no engines."""
    assert load([tmp_path / "none"]).ids == ()


KITE: dict[str, Any] = {
    "name": "Kite 2.0 / dev",
    "command": "./kite",
    "workingDirectory": "engines of mine",
    "stderrFile": "",
    "protocol": "uci",
    "timeoutScaleFactor": 1,
    "options": [
        {"name": "Hash", "type": "spin", "value": 64, "default": 16, "min": 1, "max": 1024},
        {"name": "Threads", "type": "spin", "value": 1, "default": 1, "min": 1, "max": 8},
        {"name": "Clear Hash", "type": "button", "value": None},
        {"name": "Own Book", "type": "check", "value": False, "default": True},
    ],
}
HERON: dict[str, Any] = {
    "name": "Heron",
    "command": "heron -x --quiet",
    "protocol": "xboard",
    "initStrings": ["random", "book off"],
    "whitepov": True,
    "restart": "on",
    "ponder": True,
    "timeoutScaleFactor": 2,
    "variants": ["standard", "fischerandom"],
}


def listed(tmp_path: Path, *rows: object) -> Path:
    """Return a list in the format of Cute Chess."""
    path = tmp_path / "engines.json"
    path.write_text(json.dumps(rows))
    return path


def test_what_an_engine_file_says(tmp_path: Path) -> None:
    """Changed options, init lines, point of view and restart are imported; the program becomes absolute."""
    (tmp_path / "engines of mine").mkdir()
    (tmp_path / "engines of mine" / "kite").touch()
    (kite, heron), skipped = read_engines(listed(tmp_path, KITE, HERON))
    assert not skipped
    assert kite.entry.id == "kite-2.0-dev"
    assert kite.entry.command == (str(tmp_path / "engines of mine" / "kite"),)
    assert kite.entry.options == {"Hash": 64, "Own Book": False}
    assert not kite.notes
    assert heron.entry.command == ("heron", "-x", "--quiet")
    assert heron.entry.protocol == "cecp"
    assert heron.entry.quirks.init == ("random", "book off")
    assert heron.entry.quirks.whitepov
    assert heron.entry.quirks.restart
    assert [words.partition(" ")[0] for words in heron.notes] == ["ponder", "timeoutScaleFactor", "variants"]


def test_a_list_from_windows_keeps_its_paths(tmp_path: Path) -> None:
    """Backslashes of Windows paths are kept; ``C:Enginesmy kite.exe`` was written instead."""
    row = {"name": "K", "command": "C:\\Engines\\my kite.exe", "workingDirectory": "C:\\Engines", "protocol": "uci"}
    ((one,), _) = read_engines(listed(tmp_path, row))
    assert one.entry.command == ("C:\\Engines\\my kite.exe",)
    assert one.entry.dir == "C:\\Engines"


def test_engines_of_one_name_have_ids_of_their_own(tmp_path: Path) -> None:
    """Engines with the same name get numbered ids."""
    found, _ = read_engines(listed(tmp_path, HERON, HERON, {**HERON, "name": "heron"}))
    assert [one.entry.id for one in found] == ["heron", "heron-2", "heron-3"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (7, "is not a JSON object"),
        ({**HERON, "protocol": "uci2"}, "protocol must be uci or xboard (found 'uci2')"),
        ({**HERON, "name": ""}, "no name: name and command are required"),
        ({**HERON, "command": 3}, "command must be text (found 3)"),
        ({**HERON, "command": "'"}, "No closing quotation"),
        ({**HERON, "initStrings": ["a\nb"]}, "init"),
    ],
)
def test_what_is_no_engine_is_left_out_by_number(tmp_path: Path, row: object, told: str) -> None:
    """An invalid entry is reported by its number; the others are imported."""
    found, skipped = read_engines(listed(tmp_path, row, KITE))
    assert [one.entry.name for one in found] == ["Kite 2.0 / dev"]
    assert len(skipped) == 1
    assert skipped[0].startswith("engine 1: ")
    assert told in skipped[0]


@pytest.mark.parametrize("text", ["", "{}", "[1", "[" * 100_000])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    """Another file is rejected with its name."""
    path = tmp_path / "engines.json"
    path.write_text(text)
    with pytest.raises(InputRefused, match=r"engines\.json"):
        read_engines(path)


def test_import_writes_files_and_leaves_those_that_are_there(tmp_path: Path) -> None:
    """An import writes files, and a second import writes nothing."""
    (tmp_path / "engines").mkdir()
    path = listed(tmp_path, KITE, HERON, 7)
    told = tour(tmp_path, "engines", "import", path.name)
    assert "2 engine files written" in told.stdout
    assert "left out, engine 3: is not a JSON object" in told.stderr
    assert read_entry(tmp_path / "engines" / "heron.toml").quirks.whitepov
    again = tour(tmp_path, "engines", "import", path.name)
    assert "0 engine files written" in again.stdout
    assert "heron: engine file already exists, not changed" in again.stderr
    config = 'cutechess-cli -engine conf=Heron -engine conf="Kite 2.0 / dev" -each tc=1+0.01 -rounds 2'
    tour(tmp_path, "init", "it.toml", "--from-command", config)
    assert 'engine = "heron"' in (tmp_path / "it.toml").read_text()
