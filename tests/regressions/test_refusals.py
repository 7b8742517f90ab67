"""What a tester may get wrong: one line on stderr, the right exit code, nothing written."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from enginetour.engines.machine import allowed
from tests.touring import THREE, config, tour, try_engines_once


def refused(folder: Path, *words: str, code: int = 3) -> str:
    """The one line of a refusal; the folder is as it was."""
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
        ('tc = "depth=1"', 'tc = "depth=1"\nopenings = { file = "no.epd" }', "named in trial.toml:"),
        ('tc = "depth=1"', 'tc = "depth=1"\n[ratings]\nanchor = { "Wren 1" = nan }', "finite"),
        ('tc = "depth=1"', 'tc = "depth=1"\nhang_limit = inf', "hang_limit"),
        ('[tournament]\nname = "trial"\nseed = 4\n', "", '[tournament] with name = "..."'),
        ("[[entrants]]", "[entrants]", "[[entrants]]"),
        ('engine = "wren1"', 'name = "X"\ncommand = [""]\nprotocol = "uci"', "command"),
        ('engine = "wren1"', 'engine = "wren1"\nrating = nan', "finite"),
    ],
)
def test_a_configuration_with_one_mistake(tmp_path: Path, old: str, new: str, told: str) -> None:
    """The line, and what to write instead."""
    entrants = ("wren1",) if old == "[[entrants]]" else THREE
    path = config(tmp_path, entrants)
    path.write_text(path.read_text().replace(old, new, 1))
    line = refused(tmp_path, "run", path.name)
    assert line.startswith("enginetour: ")
    assert told in line


def test_no_entrants_at_all(tmp_path: Path) -> None:
    """What is to be added is told."""
    assert "[[entrants]]" in refused(tmp_path, "run", config(tmp_path, ()).name)


def test_one_entrant(tmp_path: Path) -> None:
    """`check` refuses it as `run` does, both before any engine starts."""
    path = config(tmp_path, ("wren1",))
    for command in ("run", "check"):
        assert "a tournament needs two" in refused(tmp_path, command, path.name)


def test_seeds_that_leave_nobody(tmp_path: Path) -> None:
    """A list of all entrants is refused as their number is."""
    path = config(tmp_path, ("wren1", "wren2"), "gauntlet", 'seeds = ["Wren 1", "Wren 2"]')
    assert "leave" in refused(tmp_path, "run", path.name)


def test_a_mark_at_the_start_of_the_file_is_no_mistake(tmp_path: Path) -> None:
    """Editors of some systems put a byte order mark there."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    tour(tmp_path, "run", path.name)


def test_a_program_that_says_nothing_is_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first version of CECP greets nobody, so a move is asked for; `cat` has none."""
    try_engines_once(monkeypatch)
    entrant = '\n[[entrants]]\nname = "X"\ncommand = ["/bin/cat"]\nprotocol = "cecp"\nquirks.handshake_timeout = 1'
    path = config(tmp_path, ("wren1",), "roundrobin", "", entrant, tc="1+0.1")
    line = refused(tmp_path, "run", path.name, code=4)
    assert "engine X: " in line
    assert line.endswith("does it speak cecp? try it by hand: /bin/cat\n")


@pytest.mark.parametrize("kind", ["garbage", "folder", "foreign"])
def test_a_database_from_elsewhere(tmp_path: Path, kind: str) -> None:
    """It is told before anything is written beside it, a lock among it."""
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
    """As `mktemp` leaves one."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    (tmp_path / "x.db").touch()
    tour(tmp_path, "run", path.name, "--db", "x.db")
    tour(tmp_path, "status", "--db", "x.db")


def test_two_entrants_of_an_engine_that_may_run_once(tmp_path: Path) -> None:
    """Each had a copy of its own: two instances at the same time, which is what the engine's file forbids."""
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "one.toml").write_text(
        'name = "One"\nprotocol = "uci"\ncommand = ["/bin/true"]\nmax_copies = 1\n'
    )
    path = config(tmp_path, ("one", "wren1"), more='\n[[entrants]]\nengine = "one"\nname = "Another"\n')
    line = refused(tmp_path, "check", path.name)
    assert "Another and One are one engine, of which 1 copy may run at a time" in line
    assert "trial.toml:" in line


def test_check_refuses_what_run_refuses(tmp_path: Path) -> None:
    """It said "fit to run" of a setting that had been frozen, of an ended tournament and of too many slots."""
    path = config(tmp_path, THREE[:2], "match", "games = 2")
    assert f"fit to run: enginetour run {path}\n" in tour(tmp_path, "check", str(path)).stdout
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    path.write_text(path.read_text().replace("depth=1", "depth=2"))
    told = [tour(tmp_path, command, str(path), expect=5).stderr for command in ("check", "run")]
    assert "play.tc is frozen" in told[0]
    assert told[0] == told[1].splitlines(keepends=True)[-1]
    path.write_text(path.read_text().replace("depth=2", "depth=1"))
    assert f"fit to run: enginetour run {path}\n" in tour(tmp_path, "check", str(path)).stdout
    tour(tmp_path, "run", str(path))
    assert f"fit to run: enginetour run --new {path}\n" in tour(tmp_path, "check", str(path)).stdout
    path.write_text(
        path.read_text().replace("[play]", f"[play]\nslots = {allowed().count + 1}").replace('"trial"', '"crowd"')
    )
    assert f"fit to run: enginetour run --force {path}\n" in tour(tmp_path, "check", str(path)).stdout


@pytest.mark.parametrize("mode", [0o644, None])
def test_a_program_that_is_there_is_not_called_missing(tmp_path: Path, mode: int | None) -> None:
    """A download without its executable bit, a folder, a name without ./: each was "no program", to be installed."""
    path = tmp_path / "owl"
    if mode is None:
        path.mkdir()
        told = f"{path} is a folder, not a program"
    else:
        path.write_text("#!/bin/sh\n")
        path.chmod(mode)
        told = f"{path} is not executable (chmod +x owl?)"
        assert "./owl is the one in" in refused(tmp_path, "match", "owl", "wren1")
    assert told in refused(tmp_path, "match", "./owl", "wren1")
    assert "is no engine file and no program" in refused(tmp_path, "match", "owl" * 100, "wren1")
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
        (("--tc", "nodes=1000", "--engine", "wren1", "--engine", "toga2"), "--tc: Toga II 3.0 does not obey nodes"),
    ],
)
def test_init_names_what_was_typed(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    """It named a line of a file that was gone by then, or wrote what its own check refused."""
    assert refused(tmp_path, "init", "night.toml", "--format", "gauntlet", *words).startswith(f"enginetour: {told}")
    assert not (tmp_path / "night.toml").exists()


def test_init_for_another_folder_keeps_the_suite(tmp_path: Path) -> None:
    """What is typed begins here: the file looked for the suite beside itself."""
    (tmp_path / "lists").mkdir()
    (tmp_path / "some.epd").write_text("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n")
    tour(tmp_path, "init", "lists/night.toml", "--openings", "some.epd", "--engine", "wren1", "--engine", "wren2")
    assert "openings: 1 from" in tour(tmp_path, "check", "lists/night.toml").stdout
    tour(tmp_path, "init", "night.toml", "--openings", "some.epd")
    assert 'file = "some.epd"' in (tmp_path / "night.toml").read_text()


def test_what_is_to_be_typed_can_be(tmp_path: Path) -> None:
    """A blank in a name was told without quotes, and another database not at all."""
    told = tour(tmp_path, "init", "my night.toml", "--engine", "wren1", "--engine", "wren2", "--tc", "depth=1").stdout
    assert told.endswith(
        "; enginetour check 'my night.toml' tells the plan, enginetour run 'my night.toml' starts it\n"
    )
    told = tour(tmp_path, "check", "my night.toml", "--db", "my games.db").stdout
    assert told.endswith("fit to run: enginetour run 'my night.toml' --db 'my games.db'\n")
    words = ("match", "wren1", "wren2", "--tc", "depth=1", "--db", "x.db", "--write-only")
    assert tour(tmp_path, *words).stdout.endswith(" --db x.db plays it\n")


def test_a_step_that_no_engine_of_these_has(tmp_path: Path) -> None:
    """A UCI engine was called fit by a step of CECP, which it was never taken through."""
    told = refused(tmp_path, "engines", "check", "wren1", "--step", "setboard", code=2)
    assert told == "enginetour: --step: 'setboard' is no step of uci, the protocol spoken here\n"
    tour(tmp_path, "engines", "check", "wren1", "wren2", "--step", "name")
