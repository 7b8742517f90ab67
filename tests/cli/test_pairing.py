"""`enginetour pair`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.test_tde import REGISTER, folder
from tests.interop.test_trf import entry
from tests.support.tournaments import read, tour, unwrapped

CASES = Path(__file__).parents[1] / "cases" / "pairing"
STARTS = CASES.parent / "mcmahon"
GOLDEN = Path(__file__).parents[1] / "golden" / "trf" / "112_clean_n11_r7.trf"


def four(path: Path, *lines: str) -> Path:
    file = path / "four.trf"
    file.write_text("\n".join([*lines, *(entry(number) for number in range(1, 5))]))
    return file


def test_a_recorded_round(tmp_path: Path) -> None:
    """A round has boards, bye and guarantee of the default system, as JSON and as text."""
    found = read(tmp_path, "pair", str(GOLDEN), "--round", "5")
    assert list(found) == ["round", "system", "pairs", "bye", "certified", "guarantee", "warnings"]
    assert (found["round"], found["system"], found["certified"], found["warnings"]) == (5, "dutch", True, [])
    assert found["bye"] == 5 and len(found["pairs"]) == 5 and set(found["pairs"][0]) == {"board", "white", "black"}
    seen = tour(tmp_path, "pair", str(GOLDEN), "--round", "5").stdout
    assert (
        "round 5 of 7 · dutch" in seen and "bye: 5 Test0005" in seen and "guarantee: maximum weight, certified" in seen
    )


def test_the_round_is_written_and_read_again(tmp_path: Path) -> None:
    """A written round can be read and completed; the next round needs its results; existing files are kept."""
    file, out = four(tmp_path, "142 3", "152 W"), tmp_path / "out.trf"
    found = read(tmp_path, "pair", str(file), "-o", str(out))
    lines = out.read_bytes().decode().split("\r\n")
    assert [line[91:] for line in lines[2:6]] == ["   3 w", "   4 b", "   1 b", "   2 w"]
    assert [(one["white"], one["black"]) for one in found["pairs"]] == [(1, 3), (4, 2)]
    assert "the round is not finished" in tour(tmp_path, "pair", str(out), "--round", "2", expect=3).stderr
    assert (
        "already exists. Hint: replace it with --overwrite."
        in tour(tmp_path, "pair", str(file), "-o", str(out), expect=2).stderr
    )
    tour(tmp_path, "pair", str(file), "-o", str(out), "--absent", "4", "--overwrite")
    assert [line[91:] for line in out.read_bytes().decode().split("\r\n")[2:6]] == [
        "   2 w", "   1 b", "0000 - U", "0000 - Z",
    ]  # fmt: skip
    assert (
        "must be a file in an existing directory"
        in tour(tmp_path, "pair", str(file), "-o", "no/x.trf", expect=2).stderr
    )


@pytest.mark.parametrize(
    ("name", "words", "pairs", "bye"),
    [
        ("second-bye-half-point", (), "5-1 4-3", 2),
        ("second-bye-no-points", (), "5-1 4-3", 2),
        ("loss-worth-half-a-point", ("--rounds", "9", "--round", "4"), "13-8 1-12 3-4 2-10 9-5 11-6", 7),
        ("bye-fixed-by-hand", (), "4-1 2-5", 3),
        ("accelerated-classic", (), "1-5 6-2 7-3 4-8", None),
        ("accelerated-absent-in-round-1", ("--round", "2"), "1-2 8-3 4-6", 7),
        ("accelerated-absent-in-round-1", ("--round", "3"), "2-6 3-4 5-8 7-9", None),
    ],
)
def test_rounds_as_another_program_pairs_them(
    name: str, words: tuple[str, ...], pairs: str, bye: int | None, tmp_path: Path
) -> None:
    """With special point values, byes by hand and acceleration, the pairs are those of bbpPairings 6."""
    found = read(tmp_path, "pair", str(CASES / f"{name}.trf"), *words)
    assert " ".join(f"{one['white']}-{one['black']}" for one in found["pairs"]) == pairs
    assert (found["bye"], found["certified"], found["warnings"]) == (bye, True, [])


@pytest.mark.parametrize("name", ["names-padded-by-bytes", "windows-1250"])
def test_names_keep_their_bytes(name: str, tmp_path: Path) -> None:
    """A written round adds its cells and changes no other byte of the file."""
    file, out = CASES / f"{name}.trf", tmp_path / "out.trf"
    tour(tmp_path, "pair", str(file), "-o", str(out))
    before, after = (one.read_bytes().replace(b"\r", b"").splitlines() for one in (file, out))
    assert len(before) == len(after)
    assert all(new.startswith(old) for old, new in zip(before, after, strict=True))


def test_every_round_is_checked(tmp_path: Path) -> None:
    """--check-all compares every round with the system, shows both versions of a difference, and exits with code 10."""
    assert "all 7 rounds are the same" in tour(tmp_path, "pair", str(GOLDEN), "--check-all").stdout
    file = str(CASES / "accelerated-absent-in-round-1.trf")
    found = unwrapped(tour(tmp_path, "pair", file, "--check-all", "--json", expect=10).stdout)
    assert (found["system"], found["differing"], found["warnings"]) == ("dutch", 3, [])
    assert found["rounds"][1] == {
        "round": 2,
        "boards": 3,
        "same": False,
        "expected": [[4, 6], [7, None]],
        "found": [[4, 7], [6, None]],
        "failure": None,
    }
    assert "3 of 5 rounds differ" in tour(tmp_path, "pair", file, "--check-all", expect=10).stdout
    assert (
        "--round: has no effect with --check-all"
        in tour(tmp_path, "pair", file, "--check-all", "--round", "2", expect=2).stderr
    )


def test_more_rounds_than_opponents(tmp_path: Path) -> None:
    """A tournament with more rounds than opponents is paired as long as possible, as by bbpPairings, with a note."""
    found = read(tmp_path, "pair", str(four(tmp_path, "142 5", "152 W")))
    assert [(one["white"], one["black"]) for one in found["pairs"]] == [(1, 3), (4, 2)]
    assert found["warnings"] == ["5 rounds need rematches; without rematches, at most 3 rounds are possible"]


def test_a_round_without_a_legal_pairing_is_named(tmp_path: Path) -> None:
    """--check-all names the rule that the last round breaks, although the file has the same pairs."""
    file, lines = tmp_path / "f.trf", ["142 4", "152 W", "162  P 0.0"]
    file.write_text("\n".join([*lines, *(entry(number) for number in range(1, 4))]))
    for _ in range(4):
        tour(tmp_path, "pair", str(file), "-o", str(file), "--overwrite")
        text = file.read_bytes().decode().split("\r\n")
        file.write_text("\n".join(_all_whites_win(text)))
    found = unwrapped(tour(tmp_path, "pair", str(file), "--check-all", "--json").stdout)
    assert found["differing"] == 0
    told = [text for text in found["warnings"] if text.startswith("round")]
    assert len(told) == 2 and all(text.startswith("round 4: ") for text in told)
    assert "4 rounds need rematches; without rematches, at most 3 rounds are possible" in found["warnings"]
    assert "already had a bye" in told[1]


def test_swapped_colors_and_forfeits_without_colors(tmp_path: Path) -> None:
    """A pair with other colors differs; a forfeited pair without colors is the same pair."""
    file, lines = tmp_path / "f.trf", ["142 3", "152 W"]
    rounds = {1: "   3 w 1", 2: "   4 - -", 3: "   1 b 0", 4: "   2 - +"}
    points = {1: "1.0", 4: "1.0"}
    written = [entry(n, cell, points=points.get(n, "0.0")) for n, cell in rounds.items()]
    file.write_text("\n".join([*lines, *written]))
    assert "all 1 rounds are the same" in tour(tmp_path, "pair", str(file), "--check-all").stdout
    file.write_text("\n".join(["152 B" if line == "152 W" else line for line in [*lines, *written]]))
    seen = tour(tmp_path, "pair", str(file), "--check-all", expect=10).stdout
    assert "3-1" in seen and "1-3" in seen and "2-4" not in seen


def test_a_round_accelerated_by_baku_is_written_with_its_points(tmp_path: Path) -> None:
    """The lines 250 of an accelerated round are written once, before the entrants."""
    file = four(tmp_path, "142 3", "152 W", "192 FIDE_DUTCH_2025_BAKU")
    out = tmp_path / "out.trf"
    tour(tmp_path, "pair", str(file), "-o", str(out))
    lines = out.read_bytes().decode().split("\r\n")
    assert lines[3:5] == ["250       1.0 001 001    1    2", "250       0.5 002 002    1    2"]
    again = tour(tmp_path, "pair", str(out), "--round", "1", "-o", str(out), "--overwrite")
    assert again.stdout and out.read_bytes().decode().split("\r\n") == lines
    refused = tour(tmp_path, "pair", str(file), "--set", "bye_points=0", expect=2)
    assert "set the points of a bye with P in line 162" in refused.stderr


def test_the_table_of_a_file(tmp_path: Path) -> None:
    """`standings FILE.trf` has the tie-breaks of the file or of the options; options without effect are errors."""
    found = read(tmp_path, "standings", str(GOLDEN), "--placement", "pts,bh", "--unplayed", "fide-2023")
    assert found["finished"] and len(found["table"]) == 11
    assert set(found["table"][0]) == {"rank", "name", "points", "games", "unplayed", "BH", "status"}
    assert found["notes"][0] == "rounds without a game are scored by the FIDE rules of 2023 (--unplayed fide-2023)"
    assert "BH-C1" in tour(tmp_path, "standings", str(GOLDEN)).stdout
    for words in (("--edition", "2"), ("--engines",), ("--pairing-report",)):
        refused = tour(tmp_path, "standings", str(GOLDEN), *words, expect=2).stderr
        assert f"{words[0]}: has no effect on a file of another program" in refused
    assert (
        "is only for a file of another program"
        in tour(tmp_path, "standings", "x", "--unplayed", "own", expect=2).stderr
    )


def test_a_bye_by_decision(tmp_path: Path) -> None:
    """--bye equals a U alone in the round, and is written; a bye of an absent entrant or a second one is reported."""
    file, out = CASES / "bye-fixed-by-hand.trf", tmp_path / "out.trf"
    plain = tmp_path / "plain.trf"
    plain.write_text(file.read_text().replace("1.0    3     1 b 0  0000 - U", "0.0    3     1 b 0"))
    found = read(tmp_path, "pair", str(plain), "--bye", "charlie", "-o", str(out))
    assert found == read(tmp_path, "pair", str(file)) and found["bye"] == 3
    assert "1 b 0  0000 - U" in out.read_text()
    told = read(tmp_path, "pair", str(file), "--bye", "5")["warnings"]
    assert told == ["Echo gets the requested bye, but already had a bye or a win without a game (C2)"]
    away = tour(tmp_path, "pair", str(file), "--bye", "Alpha", "--absent", "1", expect=2)
    assert "--bye: Alpha is absent from this round" in away.stderr
    odd = tour(tmp_path, "pair", str(file), "--absent", "1", expect=3)
    assert "Charlie has the bye, and 3 entrants remain, but their number must be even" in odd.stderr


def test_the_second_bye_of_a_club_evening(tmp_path: Path) -> None:
    """With seven entrants and half-point byes, nobody gets a second bye in six rounds."""
    file = tmp_path / "club.trf"
    lines = ["142 7", "152 W", "BBU  0.5", *(entry(number) for number in range(1, 8))]
    file.write_text("\n".join(lines))
    byes = []
    for number in range(1, 7):
        found = read(tmp_path, "pair", str(file), "-o", str(file), "--overwrite")
        assert found["round"] == number and found["guarantee"] == "maximum weight, certified"
        byes.append(found["bye"])
        text = file.read_bytes().decode().split("\r\n")
        file.write_text("\n".join(_all_whites_win(text)))
    assert len(set(byes)) == 6


def _all_whites_win(lines: list[str]) -> list[str]:
    results = {"w": "1", "b": "0"}
    return [
        line + " " + results[line[-1]] if line.startswith("001") and line[-1] in results else line for line in lines
    ]


def test_mcmahon_shows_where_everybody_starts(tmp_path: Path) -> None:
    """A McMahon round shows bands, bar, floor, starting scores and scores, as text and as JSON."""
    file = STARTS / "two-groups-of-four.trf"
    found = read(tmp_path, "pair", str(file), "--system", "mcmahon")
    assert all((one["white"] <= 4) is (one["black"] <= 4) for one in found["pairs"]) and not found["warnings"]
    assert found["starts"] == found["MMS"] == {str(number): float(number <= 4) for number in range(1, 9)}
    seen = tour(tmp_path, "pair", str(file), "--system", "mcmahon").stdout
    assert "MMS" in seen.splitlines()[1] and "band 0 begins at 0: bar 21, floor 10" in seen
    assert "start 1 (bands 21 to 24): Aa, Bb, Cc, Dd\nstart 0 (bands 7 to 10): Ee, Ff, Gg, Hh" in seen
    alike = tour(tmp_path, "pair", str(file), "--system", "mcmahon", "--set", "bar=7").stdout
    assert "all entrants start equal, as in a Swiss" in alike
    later = STARTS / "absent-twice.trf"
    assert read(tmp_path, "pair", str(later), "--system", "mcmahon")["MMS"]["9"] == 2  # its start, and two halves
    for system, absence, score in (
        ("epm", "pairing-only", 2),
        ("epm", "nothing", 1),
        ("godraw", "standings", 2),
        ("godraw", "nothing", 1),
    ):
        given = ("--system", system, "--set", f"absence={absence}", "--set", "bar=21", "--set", "floor=10")
        found = read(tmp_path, "pair", str(later), *given)
        assert (found["MMS"]["9"], found["MMS"]["1"], found["starts"]["9"]) == (score, 3, 1)
    why = tour(tmp_path, "pair", str(later), "--system", "mcmahon", "--why", "Aa", "Jj").stdout
    assert "Aa has MMS 3, starting score 1\n  Jj has MMS 1, starting score 0\n  difference: 2 points" in why


def test_other_systems_and_settings(tmp_path: Path) -> None:
    """Any system that pairs in rounds can be used; --set overrides the settings of the file."""
    file = four(tmp_path, "142 3", "152 W")
    black = read(tmp_path, "pair", str(file), "--set", "initial_color=black")
    assert [(one["white"], one["black"]) for one in black["pairs"]] == [(3, 1), (2, 4)]
    assert read(tmp_path, "pair", str(file), "--system", "swiss-gotha")["system"] == "swiss-gotha"
    baku = four(tmp_path, "142 3", "192 FIDE_DUTCH_2025_BAKU")
    found = read(tmp_path, "pair", str(baku), "--system", "swiss-gotha")
    assert found["warnings"][-1:] == ["settings of the file that swiss-gotha ignores: acceleration = baku"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 3, "the number of rounds in line 142"),
        (("--rounds", "3", "--absent", "1", "--absent", "2", "--absent", "E3"), 3, "only E4 is present for round 1"),
        (("--rounds", "3", *(f"--absent={number}" for number in range(1, 5))), 3, "no entrant is present for round 1"),
        (("--rounds", "3", "--absent", "9"), 2, "--absent: entrant '9' not found"),
        (("--rounds", "3", "--set", "rounds=2"), 2, "use --rounds N"),
        (("--rounds", "3", "--why", "1", "2", "-o", "x.trf"), 2, "-o: has no effect with --why"),
        (("--rounds", "3", "--overwrite"), 2, "--overwrite: needs --output"),
        (("--rounds", "3", "--unfinished-ok"), 2, "--unfinished-ok: has no effect with a TRF file"),
        (("--rounds", "3", "--xboard"), 2, "FILE: has no effect with --xboard"),
        (("--rounds", "3", "--system", "dusch"), 2, "unknown system 'dusch', did you mean 'dutch'?"),
        (("--rounds", "3", "--system", "bubble"), 2, "system bubble does not pair in rounds; systems that do:"),
        (("--rounds", "3", "--set", "initial_color"), 2, "'initial_color' is not a valid KEY=VALUE setting"),
        (("--rounds", "3", "--set", "inital_color=white"), 2, "did you mean 'initial_color'?"),
        (("--rounds", "3", "--set", "strict=maybe"), 2, "strict"),
        (("--rounds", "3", "--why", "1", "01"), 2, "needs two different entrants (found '1' twice)"),
        (("--rounds", "3", "--why", "1", "7"), 2, "--why: entrant '7' not found"),
    ],
)
def test_what_cannot_be_paired_is_told_in_a_line(words: tuple[str, ...], code: int, told: str, tmp_path: Path) -> None:
    """A round that cannot be paired is an error of one line, with the exit code of its cause."""
    refused = tour(tmp_path, "pair", str(four(tmp_path)), *words, expect=code)
    assert told in refused.stderr and refused.stderr.count("\n") == 1


def test_no_file(tmp_path: Path) -> None:
    """A missing argument and a missing file are errors."""
    assert "FILE is missing" in tour(tmp_path, "pair", expect=2).stderr
    assert "cannot be read: No such file" in tour(tmp_path, "pair", "none.trf", expect=3).stderr


def test_all_of_one_family(tmp_path: Path) -> None:
    """Engines of one family meet if it cannot be avoided, and a note reports it."""
    register = "".join(f"A{number} Engine{number} {number}d CLUB=x\n" for number in range(1, 5))
    folder(tmp_path, register=register)
    words = ("pair", "register.tde", "--rounds", "2", "--system", "dutch")
    assert read(tmp_path, *words)["warnings"] == []
    told = read(tmp_path, *words, "--set", "forbid_family=true")["warnings"]
    assert len(told) == 2 and all("belong to the same family" in one for one in told)
    assert "no legal round exists" in tour(
        tmp_path, *words, "--set", "forbid_family=true", "--set", "strict=true", expect=3
    ).stderr  # fmt: skip


def test_a_register_is_paired_by_gopair(tmp_path: Path) -> None:
    """A register.tde is paired by gopair with ids; the round file is written into the directory once."""
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
    """--why shows criteria and costs of a weighted system, and for the Dutch system the round that it prefers."""
    words = ("pair", str(GOLDEN), "--round", "5", "--why", "1", "3")
    weighed = read(tmp_path, *words, "--system", "swiss-gotha")
    assert weighed["paired"] and weighed["exact"] > 0 and weighed["criteria"][0]["worth"] == 1
    assert weighed["instead"] and [1, 3] not in weighed["instead"]
    seen = tour(tmp_path, *words, "--system", "swiss-gotha").stdout
    assert "are paired in round 5" in seen and f": {weighed['exact']:,} (solved again)" in seen
    dutch = read(tmp_path, *words)
    assert dutch["exact"] is None and dutch["criteria"][0] == {
        "name": "not met before",
        "worth": 1,
        "most": 1,
        "source": "FIDE C.04.3 C1",
    }
    apart = tour(tmp_path, "pair", str(GOLDEN), "--round", "5", "--why", "1", "4").stdout
    assert "met in round 2" in apart and "there is no legal round with this pair" in apart
