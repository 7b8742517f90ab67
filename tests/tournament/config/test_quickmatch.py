"""Tests of the configurations that `enginetour match` drafts."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from enginetour.engines.registry import candidates, of_workspace
from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.model.task import EngineSpec, ProbeResult
from enginetour.testing import PLAYING
from enginetour.tournament.config.load import load
from enginetour.tournament.config.quickmatch import (
    MatchRequest,
    draft_match,
    is_list,
    parse_setting,
    parse_value,
    with_number,
)
from enginetour.tournament.config.sections import EntrantSection, PlaySection
from tests.support.tournaments import config, tour, try_engines_once, unwrapped


def detect(
    commands: Sequence[tuple[str, ...]], protocol: str | None, folder: Path
) -> list[tuple[EngineSpec, ProbeResult]]:
    """Detect every command as UCI."""
    del protocol
    return [(candidates(command, folder)[0], ProbeResult("it")) for command in commands]


def draft(tmp_path: Path, *engines: str, **asked: Any) -> dict[str, Any]:
    """Return the configuration as it is read back."""
    found = draft_match(MatchRequest(engines, **asked), of_workspace(tmp_path), tmp_path, detect)
    file = tmp_path / "it.toml"
    file.write_text(found.text())
    read = load(file)
    return {
        "entrants": [entrant.model_dump(exclude_defaults=True) for entrant in read.entrants],
        "format": read.format,
        "play": read.play.model_dump(exclude_defaults=True),
        "name": read.tournament.name,
    }


def test_engines_by_id_name_and_command(tmp_path: Path) -> None:
    """An engine is the id or name of an engine file, else a program, written as an absolute path."""
    (tmp_path / "mine").write_text("#!/bin/sh\n")
    (tmp_path / "mine").chmod(0o755)
    found = draft(tmp_path, "wren1", "Wren 2", "./mine --fast")
    assert [entrant.get("engine") for entrant in found["entrants"]] == ["wren1", "wren2", None]
    assert found["entrants"][2] == {
        "name": "mine",
        "command": (str(tmp_path / "mine"), "--fast"),
        "protocol": "uci",
    }
    assert found["format"] == {"system": "roundrobin", "games_per_pairing": 2}


def test_two_copies_have_names_of_their_own(tmp_path: Path) -> None:
    """Two entrants with one engine get different names; settings are for both by name and for one by number."""
    found = draft(tmp_path, "wren1", "wren1", settings=("wren1.margin_ms=70", "2.tc=5", "rating=100.5"))
    assert found["entrants"] == [
        {"engine": "wren1", "timemargin": 70, "rating": 100.5},
        {"engine": "wren1", "name": "Wren 1 (2)", "timemargin": 70, "rating": 100.5, "tc": "5"},
    ]


def test_a_key_of_a_table_is_written_with_a_dot_as_in_toml(tmp_path: Path) -> None:
    """`resources.memory=200` is `resources=memory=200`; several keys of a table are combined."""
    settings = ("1.resources.memory=200", "1.resources.files=64", "env.A=b c", "wren2.options.Clear Hash=true")
    one, other = draft(tmp_path, "wren1", "wren2", settings=settings)["entrants"]
    assert (one["resources"], one["env"]) == ({"memory": 200, "files": 64}, {"A": "b c"})
    assert other == {"engine": "wren2", "env": {"A": "b c"}, "options": {"Clear Hash": True}}
    assert draft(tmp_path, "wren1", "wren2", settings=("1.resources=memory=200 files=64",))["entrants"][0] == {
        "engine": "wren1",
        "resources": {"memory": 200, "files": 64},
    }
    with pytest.raises(InputRefused, match=r"unknown key 'entrants\.1\.tc\.base'"):
        draft(tmp_path, "wren1", "wren2", settings=("1.tc.base=5",))


@pytest.mark.parametrize(
    ("commands", "names"),
    [
        (("./crash.py segv 3", "wren1"), ["crash", "Wren 1"]),
        (("python3 -O crash.py --fast", "./sf-16.1"), ["crash", "sf-16.1"]),
        (("/usr/bin/env perl crash.py", "./sf-16.1 net.nnue"), ["crash", "sf-16.1"]),
        (("python3 -m wren 4", "wren1"), ["wren", "Wren 1"]),
        (("./crash.py segv 3", "./crash.py stall"), ["crash segv 3", "crash stall"]),
        (("./crash.py", "./crash.py --fast"), ["crash", "crash --fast"]),
        (("./crash.py 1", "./crash.py 1"), ["crash 1", "crash 1 (2)"]),
        (("./crash.py 1", "other/crash.py"), ["crash 1", "crash"]),
        (("base/src/sf", "./dev/src/sf"), ["sf (base)", "sf (dev)"]),
        (("base/src/sf -x", "dev/src/sf -x", "dev/src/sf -x"), ["sf -x (base)", "sf -x (dev)", "sf -x (dev) (2)"]),
        (("python3 base/src/sf", "dev/src/sf", "dev/src/sf y"), ["sf (base)", "sf (dev)", "sf y"]),
        (("dev/sf", "dev/src/sf", "base/src/sf"), ["sf", "sf (2)", "sf (3)"]),
        (("nice -n 5 ./sf-16.1", "taskset -c 0,1 nice -n 19 python3 crash.py"), ["sf-16.1", "crash"]),
        (("nice -n 5 perl crash.py", "timeout 900 cat"), ["crash", "cat"]),
        (("./sf.old", "./sf.new"), ["sf.old", "sf.new"]),
        (("./my sf", "'./my sf' -x"), ["my sf", "my sf -x"]),
        (("dev/sf", "./sf.new -x", "./sf.new -y"), ["sf", "sf.new -x", "sf.new -y"]),
        (("python3 crash.py", "python3 crash.py --x"), ["crash", "crash --x"]),
        (
            ("python3 crash.py --protocol uci --net nets/a.nnue", "python3 crash.py --protocol uci --net nets/b.nnue"),
            ["crash a.nnue", "crash b.nnue"],
        ),
        (("./crash.py", f"./crash.py {'very ' * 20}"), ["crash", "crash very very very ver"]),
        (
            (f"./crash.py {'x' * 30} 1", f"./crash.py {'x' * 30} 2", f"./crash.py {'x' * 30}"),
            ["crash 1", "crash 2", "crash"],
        ),
        ((f"./crash.py {'x' * 30}1", f"./crash.py {'x' * 30}2"), [f"crash {'x' * 18}", f"crash {'x' * 18} (2)"]),
    ],
)
def test_a_command_is_called_by_its_program(tmp_path: Path, commands: tuple[str, ...], names: list[str]) -> None:
    """A command is named after its program or script; arguments, directories or numbers tell equal names apart."""
    for file in (
        "crash.py",
        "other/crash.py",
        "sf-16.1",
        "sf.old",
        "sf.new",
        "my sf",
        "base/src/sf",
        "dev/src/sf",
        "dev/sf",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("#!/bin/sh\n")
        (tmp_path / file).chmod(0o755)
    found = draft_match(MatchRequest(commands, options=("1.Hash=1",)), of_workspace(tmp_path), tmp_path, detect)
    assert [entrant.get("name", "Wren 1") for entrant in found.entrants] == names
    again = draft_match(
        MatchRequest(commands, options=(f"{names[1]}.Hash=1",)), of_workspace(tmp_path), tmp_path, detect
    )
    assert again.entrants[1]["options"] == {"Hash": 1}


def test_options_of_one_and_of_all(tmp_path: Path) -> None:
    """The engine comes before the dot; without a dot all engines are meant."""
    found = draft(tmp_path, "wren1", "wren2", options=("Wren 2.Hash=64", "Own Book=false", "1.Style=Risky"))
    assert [entrant["options"] for entrant in found["entrants"]] == [
        {"Own Book": False, "Style": "Risky"},
        {"Hash": 64, "Own Book": False},
    ]


def test_a_net_typed_from_here(tmp_path: Path) -> None:
    """A file in an engine option becomes an absolute path; other values do not change."""
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "a.nnue").touch()
    options = (
        "EvalFile=nets/a.nnue",
        "1.SyzygyPath=./nets",
        "Book=gone.bin",
        "Style=nets",
        "Hash=16",
        f"Text={'a.' * 999}",
    )
    found = draft(tmp_path, "wren1", "wren2", options=options)
    same = {"EvalFile": f"{tmp_path}/nets/a.nnue", "Book": "gone.bin", "Style": "nets", "Hash": 16, "Text": "a." * 999}
    assert [one["options"] for one in found["entrants"]] == [same | {"SyzygyPath": f"{tmp_path}/nets"}, same]


def test_an_engine_whose_name_begins_with_the_other(tmp_path: Path) -> None:
    """If one name begins with another, the longest name counts."""
    for name in ("sf", "sf.dev"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    for pair in (("./sf", "./sf.dev"), ("./sf.dev", "./sf")):
        asked = MatchRequest(pair, options=("sf.dev.Hash=8", "SF.Threads=2"))
        found = draft_match(asked, of_workspace(tmp_path), tmp_path, detect)
        assert {Path(one["command"][0]).name: one["options"] for one in found.entrants} == {
            "sf": {"Threads": 2},
            "sf.dev": {"Hash": 8},
        }


def test_a_test_ends_by_itself(tmp_path: Path) -> None:
    """--sprt and --error do not need a number of games."""
    found = draft(tmp_path, "wren1", "wren2", sprt={"elo0": 0, "elo1": 5})
    assert found["format"]["games"] == 1_000_000
    known = draft(tmp_path, "wren1", "wren2", error=8.0)["format"]
    assert known == {"system": "match", "games": 1_000_000, "error": 8.0}
    assert draft(tmp_path, "wren1", "wren2")["format"] == {"system": "match", "games": 100}
    for games in (1, 5):  # an odd number allows no game pairs
        one = draft(tmp_path, "wren1", "wren2", games=games)["format"]
        assert one == {"system": "match", "games": games, "games_per_pairing": 1}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("8", 8),
        ("0.5", 0.5),
        ("true", True),
        ("loss", "loss"),
        ("[2, 4.5]", [2, 4.5]),
        ("a=1 b=x", {"a": 1, "b": "x"}),
        ("a=0,b=5, c=x,y", {"a": 0, "b": 5, "c": "x,y"}),
        ("x,y=3", "x,y=3"),
        ("'", "'"),
    ],
)
def test_what_is_typed(text: str, read: object) -> None:
    """Numbers, booleans, lists and tables are parsed; everything else is text."""
    assert parse_value(text) == read


def test_a_setting_of_text_stays_text() -> None:
    """A setting of type text stays text, such as a time control of five seconds."""
    assert parse_setting(PlaySection, "tc", "5") == "5"
    assert parse_setting(PlaySection, "tc", "nodes=5") == "nodes=5"
    assert parse_setting(EntrantSection, "tc", "5") == "5"
    assert parse_setting(EntrantSection, "white_tc", "5") == "5"
    assert parse_setting(PlaySection, "speed", "0.5") == 0.5
    assert parse_setting(PlaySection, "draw", "movenumber=40 movecount=8") == {"movenumber": 40, "movecount": 8}
    assert parse_setting(PlaySection, "openings", "file=518 plies=4") == {"file": "518", "plies": 4}
    assert parse_setting(EntrantSection, "env", "THREADS=1 NET=small") == {"THREADS": "1", "NET": "small"}


@pytest.mark.parametrize(
    ("section", "key", "text", "read"),
    [
        (PlaySection, "pgn", "nodes", ["nodes"]),
        (PlaySection, "pgn", "nodes,pv", ["nodes", "pv"]),
        (PlaySection, "pgn", "all", ["all"]),
        (PlaySection, "pgn", "[nodes, pv]", ["nodes", "pv"]),
        (PlaySection, "odds", "2,4.5", [2, 4.5]),
        (PlaySection, "openings", "positions=518,3", {"positions": [518, 3]}),
        (PlaySection, "tablebases", "path=/one:/two", {"path": "/one:/two"}),
        (EntrantSection, "limits", "nodes,clock", ["nodes", "clock"]),
        (EntrantSection, "pass_env", "HOME", ["HOME"]),
    ],
)
def test_a_list_is_typed_with_commas(section: type[BaseModel], key: str, text: str, read: object) -> None:
    """One value is a list too; brackets are optional, and directories are separated as in PATH."""
    assert parse_setting(section, key, text) == read


def test_a_long_name_has_room_for_its_number(tmp_path: Path) -> None:
    """A number is added within the 64 characters of a name."""
    long = draft_match(MatchRequest(("wren1", "wren2"), name="x" * 64), of_workspace(tmp_path), tmp_path, detect)
    assert with_number(long, 12).tournament["name"] == "x" * 59 + " (12)"


@pytest.mark.parametrize(
    ("engines", "asked", "told"),
    [
        (("wren1",), {}, "a match needs at least two engines (found 1)"),
        (("wren1", "wran2"), {}, "'wran2' is not an engine file or a program, did you mean 'wren2'"),
        (("wren1", "./gone"), {}, "'./gone' is not an engine file"),
        (("wren1", "'"), {}, "is not a valid command line"),
        (("wren1", "wren2", "wren3"), {"sprt": {"elo0": 0, "elo1": 5}}, "a test needs exactly two engines"),
        (("wren1", "wren2", "wren3"), {"error": 9.0}, "a target error needs exactly two engines"),
        (("wren1", "wren2", "wren3"), {"seeds": 1}, "seeds can only be used with a gauntlet"),
        (("wren1", "wren2"), {"options": ("Hash",)}, "no value in 'Hash'"),
    ],
)
def test_what_makes_no_match(tmp_path: Path, engines: tuple[str, ...], asked: dict[str, Any], told: str) -> None:
    """The error is one sentence with a hint."""
    with pytest.raises((InputRefused, UsageRefused)) as refused:
        draft_match(MatchRequest(engines, **asked), of_workspace(tmp_path), tmp_path, detect)
    assert told in str(refused.value)


def test_a_match_is_played_kept_and_played_again(tmp_path: Path) -> None:
    """A match is stored and shown by other commands; the same command plays its next edition."""
    (tmp_path / "results").mkdir()
    words = ("match", "wren1", "wren2", "--tc", "depth=1", "--games", "2")
    table = ("--openings", "order=sequential", "plies=4", "--max-moves", "5")
    first = tour(tmp_path, *words, *table).stdout
    assert "Finished game 2 (Wren 2 vs Wren 1): 1/2-1/2" in first
    assert "Ptnml(0-2)  [0, 0, 1, 0, 0]" in first
    path = tmp_path / "results" / "wren-1-vs-wren-2.toml"
    assert 'openings = { order = "sequential", plies = 4 }\nmax_moves = 5\n' in path.read_text()
    assert "Wren 1" in tour(tmp_path, "standings").stdout
    again = tour(tmp_path, *words, *table).stdout
    assert " (unchanged)" in again.splitlines()[0]
    assert "edition 2" in tour(tmp_path, "standings").stderr
    tour(tmp_path, *words, "--write-only")
    assert 'name = "Wren 1 vs Wren 2 (2)"' in (tmp_path / "results" / "wren-1-vs-wren-2-2.toml").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--fifty", "10"), "--fifty: "),
        (("--tc", "soon"), "--tc: "),
        (("--games", "3", "--sprt", "elo0=0", "elo1=5"), "--games: "),
        (("--sprt", "elo0=5", "elo1=0"), "--sprt: "),
        (("--error", "0"), "must be between 0.1 and 1000"),
        (("--option", "wren1.Hsh=3"), "engine Wren 1: unknown option 'Hsh'"),
        (("--sprt", "yes"), "must be a table such as elo0=0 elo1=5"),
        (("--entrant", "wren1.nonsense=2"), "unknown key 'entrants.1.nonsense'"),
        (("--no-such-thing", "1"), "unknown option --no-such-thing"),
    ],
)
def test_a_refused_setting_is_told_with_its_option(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    """An error names the option, and no file is left."""
    code = 2 if words[-1] in ("yes", "1", "0") else 3
    refused = tour(tmp_path, "match", "wren1", "wren2", *words, expect=code)
    assert told in refused.stderr
    assert not list(tmp_path.glob("results/*.toml"))


def test_every_setting_of_play_is_an_option(tmp_path: Path) -> None:
    """`match --help` has all settings of [play] except odds, which need a handicap."""
    told = tour(tmp_path, "match", "--help").stdout
    assert [key for key in PlaySection.model_fields if f"--{key.replace('_', '-')}" not in told] == ["odds"]


@pytest.mark.parametrize("option", ["--entrant", "--option"])
def test_a_number_of_no_engine_is_told(tmp_path: Path, option: str) -> None:
    """A number before the dot that is larger than the number of engines is an error with the numbers of engines."""
    refused = tour(tmp_path, "match", "wren1", "wren2", option, "3.name=x", expect=2)
    assert refused.stderr == f"enginetour: {option}: engine 3 does not exist (found '3.name=x'). Hint: use 1 to 2.\n"


def test_the_help_shows_defaults_as_they_are_written(tmp_path: Path) -> None:
    """The help shows the default of a switch as `ponder` or `no-ponder`, and no default of an empty table."""
    told = " ".join(tour(tmp_path, "match", "--help").stdout.split())
    assert "[default: no-ponder]" in told
    assert "default: False" not in told and "default: {}" not in told


def test_the_help_shows_how_to_write_a_list_and_a_table(tmp_path: Path) -> None:
    """The example of each list or table in the help can be parsed."""
    told = " ".join(tour(tmp_path, "match", "--help").stdout.split())
    several = {"draw", "resign", "tablebases", "pgn"}
    assert {key for key in PlaySection.model_fields if is_list(PlaySection, key)} <= several | {"odds"}
    for key in several:
        (shown,) = re.findall(rf"For example, --{key} (.+?)\.(?: |$)", told)
        PlaySection.model_validate({key: parse_setting(PlaySection, key, shown)})


def test_a_program_that_is_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is not an engine is an error before anything is written."""
    try_engines_once(monkeypatch)
    refused = tour(tmp_path, "match", "wren1", "/bin/true", expect=4)
    assert "check that it is an engine" in refused.stderr
    assert not list(tmp_path.glob("results/*"))


def test_a_test_is_played_to_its_verdict(tmp_path: Path) -> None:
    """A test stops after the pair that decides it, and prints the decision."""
    (tmp_path / "engines").mkdir()
    for name, move in (("Ada", "g1f3"), ("Bea", "a1a1")):
        words = [sys.executable, "-I", "-S", PLAYING, "--moves", move]
        file = f'name = "{name}"\nprotocol = "uci"\ndir = "scratch"\ncommand = {json.dumps(words)}\n'
        (tmp_path / "engines" / f"{name.lower()}.toml").write_text(file)
    (tmp_path / "one.epd").write_text("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n")
    given = ("--sprt", "elo0=0", "elo1=100", "--tc", "60", "--openings", "file=one.epd")
    told = tour(tmp_path, "match", "ada", "bea", *given).stdout
    found = unwrapped(tour(tmp_path, "status", "--json").stdout)
    test = found["sprt"]
    pairs = test["stopped_after"]
    assert (found["state"], found["games_done"], test["wins"]) == ("finished", 2 * pairs, 2 * pairs)
    assert (test["by"], test["verdict"], test["pentanomial"]) == ("pairs", "H1", [0, 0, 0, 0, pairs])
    assert test["bounds"] == pytest.approx([-2.944, 2.944], abs=1e-3)
    assert test["llr"] >= test["decides_at"][1]
    lines = {line[:10].strip(): line[10:].strip() for line in told.splitlines()}
    assert lines["LLR"].startswith(f"{test['llr']:.3f} (H0 at ")
    assert lines["verdict"].startswith(f"H1 after {pairs} game pairs")


def test_a_test_without_a_verdict_is_not_just_finished(tmp_path: Path) -> None:
    """At its last game, the run and `status` both say that the test has no verdict."""
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2\nsprt = { elo0 = 0, elo1 = 5 }")
    done = tour(tmp_path, "run", str(path))
    assert "state: finished, no verdict after all 1 pairs" in done.stdout
    assert "finished without a verdict" in tour(tmp_path, "status").stdout


def test_previous_option_names_are_accepted(tmp_path: Path) -> None:
    """The configuration has current keys, so the same command finds it again."""
    words = ("match", "wren1", "wren2", "--tc", "depth=1", "--write-only")
    tour(tmp_path, *words, "--margin-ms", "70", "--log-traffic", "--draw", "after_move=9 moves=8 score=10")
    text = (tmp_path / "results" / "wren-1-vs-wren-2.toml").read_text()
    assert "timemargin = 70\n" in text and "engine_log = true\n" in text
    assert "draw = { movenumber = 9, movecount = 8, score = 10 }\n" in text
    current = ("--timemargin", "70", "--engine-log", "--draw", "movenumber=9 movecount=8 score=10")
    assert " (unchanged)" in tour(tmp_path, *words, *current).stdout
