"""`enginetour pair` as people type it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_tde import REGISTER, folder
from tests.test_trf import entry
from tests.touring import read, tour

GOLDEN = Path(__file__).parent / "golden" / "trf" / "112_clean_n11_r7.trf"


def four(path: Path, *lines: str) -> Path:
    file = path / "four.trf"
    file.write_text("\n".join([*lines, *(entry(number) for number in range(1, 5))]))
    return file


def test_a_recorded_round(tmp_path: Path) -> None:
    """Its boards, bye and guarantee by the default system, as JSON with starting numbers and for people."""
    found = read(tmp_path, "pair", str(GOLDEN), "--round", "5")
    assert list(found) == ["round", "system", "pairs", "bye", "certified", "guarantee", "warnings"]
    assert (found["round"], found["system"], found["certified"], found["warnings"]) == (5, "dutch", True, [])
    assert found["bye"] == 5 and len(found["pairs"]) == 5 and set(found["pairs"][0]) == {"board", "white", "black"}
    seen = tour(tmp_path, "pair", str(GOLDEN), "--round", "5").stdout
    assert (
        "round 5 of 7 · dutch" in seen and "bye: 5 Test0005" in seen and "guarantee: maximum weight, certified" in seen
    )


def test_the_round_is_written_and_read_again(tmp_path: Path) -> None:
    """Opponents and colours in, results out; until they are there the next round is refused; nothing is replaced."""
    file, out = four(tmp_path, "142 3", "152 W"), tmp_path / "out.trf"
    found = read(tmp_path, "pair", str(file), "-o", str(out))
    lines = out.read_bytes().decode().split("\r\n")
    assert [line[91:] for line in lines[2:6]] == ["   3 w", "   4 b", "   1 b", "   2 w"]
    assert [(one["white"], one["black"]) for one in found["pairs"]] == [(1, 3), (4, 2)]
    assert "the round is not finished" in tour(tmp_path, "pair", str(out), "--round", "2", expect=3).stderr
    assert "--overwrite replaces it" in tour(tmp_path, "pair", str(file), "-o", str(out), expect=2).stderr
    tour(tmp_path, "pair", str(file), "-o", str(out), "--absent", "4", "--overwrite")
    assert [line[91:] for line in out.read_bytes().decode().split("\r\n")[2:6]] == [
        "   2 w", "   1 b", "0000 - U", "0000 - Z",
    ]  # fmt: skip
    assert "not a file in a folder" in tour(tmp_path, "pair", str(file), "-o", "no/x.trf", expect=2).stderr


def test_other_systems_and_settings(tmp_path: Path) -> None:
    """Any registered one that pairs in rounds; the user's settings go before the file's."""
    file = four(tmp_path, "142 3", "152 W")
    black = read(tmp_path, "pair", str(file), "--set", "initial_colour=black")
    assert [(one["white"], one["black"]) for one in black["pairs"]] == [(3, 1), (2, 4)]
    assert read(tmp_path, "pair", str(file), "--system", "swiss-gotha")["system"] == "swiss-gotha"
    baku = four(tmp_path, "142 3", "192 FIDE_DUTCH_2025_BAKU")
    found = read(tmp_path, "pair", str(baku), "--system", "swiss-gotha")
    assert found["warnings"][-1:] == ["the file says acceleration = baku, which swiss-gotha does not know"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 3, "the number of rounds in a line 142"),
        (("--rounds", "4"), 3, "rounds 4 is more than 4 entrants have: at most 3"),
        (("--rounds", "3", "--absent", "1", "--absent", "2", "--absent", "E3"), 3, "only E4 is there for round 1"),
        (("--rounds", "3", *(f"--absent={number}" for number in range(1, 5))), 3, "nobody is there for round 1"),
        (("--rounds", "3", "--absent", "9"), 2, "--absent: no entrant '9'"),
        (("--rounds", "3", "--set", "rounds=2"), 2, "--rounds N says how many"),
        (("--rounds", "3", "--why", "1", "2", "-o", "x.trf"), 2, "-o does nothing with --why"),
        (("--rounds", "3", "--overwrite"), 2, "--overwrite does nothing with a round that goes into no file"),
        (("--rounds", "3", "--unfinished-ok"), 2, "--unfinished-ok does nothing with a TRF"),
        (("--rounds", "3", "--xboard"), 2, "FILE does nothing with --xboard"),
        (("--rounds", "3", "--system", "dusch"), 2, "unknown system 'dusch', did you mean 'dutch'?"),
        (("--rounds", "3", "--system", "bubble"), 2, "bubble does not pair in rounds; those that do:"),
        (("--rounds", "3", "--set", "initial_colour"), 2, "'initial_colour' is not key=value"),
        (("--rounds", "3", "--set", "inital_colour=white"), 2, "did you mean 'initial_colour'?"),
        (("--rounds", "3", "--set", "strict=maybe"), 2, "strict"),
        (("--rounds", "3", "--why", "1", "01"), 2, "nobody meets itself"),
        (("--rounds", "3", "--why", "1", "7"), 2, "--why: no entrant '7'"),
    ],
)
def test_what_cannot_be_paired_is_told_in_a_line(words: tuple[str, ...], code: int, told: str, tmp_path: Path) -> None:
    """And the exit code says whose fault it is."""
    refused = tour(tmp_path, "pair", str(four(tmp_path)), *words, expect=code)
    assert told in refused.stderr and refused.stderr.count("\n") == 1


def test_no_file(tmp_path: Path) -> None:
    """Neither one that is not named nor one that is not there."""
    assert "which tournament?" in tour(tmp_path, "pair", expect=2).stderr
    assert "cannot read: No such file" in tour(tmp_path, "pair", "none.trf", expect=3).stderr


def test_all_of_one_family(tmp_path: Path) -> None:
    """They meet all the same unless the system is told otherwise; then that it could not be helped is said."""
    register = "".join(f"A{number} Engine{number} {number}d CLUB=x\n" for number in range(1, 5))
    folder(tmp_path, register=register)
    words = ("pair", "register.tde", "--rounds", "2", "--system", "dutch")
    assert read(tmp_path, *words)["warnings"] == []
    told = read(tmp_path, *words, "--set", "forbid_family=true")["warnings"]
    assert len(told) == 2 and all("of one family" in one for one in told)
    assert "no legal round is left" in tour(
        tmp_path, *words, "--set", "forbid_family=true", "--set", "strict=true", expect=3
    ).stderr  # fmt: skip


def test_a_register_is_paired_by_gopair(tmp_path: Path) -> None:
    """Ids instead of numbers; the round file and the list appear in the folder asked for, once."""
    folder(tmp_path, register=REGISTER.replace("## noearly\n", "## PAIR BEST\n"))
    found = read(tmp_path, "pair", "register.tde", "--rounds", "3", "-o", ".")
    assert found["system"] == "gopair" and found["bye"] is None
    assert {one for pair in found["pairs"] for one in (pair["white"], pair["black"])} == {
        "USA1",
        "usa2",
        "USA3",
        "USA5",
    }
    assert (tmp_path / "1.tde").read_text().count("?") == 2 and (tmp_path / "pairs_1.txt").exists()
    tour(tmp_path, "pair", ".", "--round", "1", "--rounds", "3", "-o", ".", expect=2)
    tour(tmp_path, "pair", ".", "--round", "1", "--rounds", "3", "-o", ".", "--overwrite")


def test_why(tmp_path: Path) -> None:
    """A weighed system tells criteria and costs; the Dutch one the round it would have instead."""
    words = ("pair", str(GOLDEN), "--round", "5", "--why", "1", "3")
    weighed = read(tmp_path, *words, "--system", "swiss-gotha")
    assert weighed["paired"] and weighed["exact"] > 0 and weighed["criteria"][0]["worth"] == 1
    assert weighed["instead"] and [1, 3] not in weighed["instead"]
    seen = tour(tmp_path, *words, "--system", "swiss-gotha").stdout
    assert "are paired in round 5" in seen and f"loses {weighed['exact']:,} (solved again)" in seen
    dutch = read(tmp_path, *words)
    assert dutch["exact"] is None and dutch["criteria"][0] == {
        "name": "not met before",
        "worth": 1,
        "most": 1,
        "source": "FIDE C.04.3 C1",
    }
    apart = tour(tmp_path, "pair", str(GOLDEN), "--round", "5", "--why", "1", "4").stdout
    assert "met in round 2" in apart and "there is no legal round with this pair" in apart
