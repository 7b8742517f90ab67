"""`enginetour rate`: rating lists from PGN files, excluded games, and the modules that it loads."""

from __future__ import annotations

import csv
import gzip
import os
import re
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from enginetour.cli import rate as gamefiles
from enginetour.cli.main import cli
from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.ratings import elo, gor
from enginetour.ratings.incremental import RatedGame
from enginetour.ratings.systems import SYSTEMS
from tests.support.tournaments import loaded_by, unwrapped, usage_error

CASES = Path(__file__).parents[1] / "cases" / "lists"
WORDS = {"w": "1-0", "d": "1/2-1/2", "l": "0-1", "*": "*"}


def pgn(*matches: tuple[str, str, str]) -> str:
    """Return the PGN of games between White and Black with results given by letters: w, d, l or ``*``."""
    return "".join(
        f'[Event "E"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{WORDS[letter]}"]\n\n1. e4 {WORDS[letter]}\n\n'
        for white, black, letters in matches
        for letter in letters
    )


FIELD = pgn(("Fruit 2.1", "Toga II", "w" * 30 + "d" * 40 + "l" * 15), ("Toga II", "Rebel 6", "wwdll" * 8))


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.pgn"
    path.write_text(FIELD)
    return path


def invoke(*words: object) -> Result:
    return CliRunner().invoke(cli, ["rate", *map(str, words)], standalone_mode=True)


def listed(*words: object) -> dict[str, Any]:
    done = invoke(*words, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = unwrapped(done.stdout)
    return found


def row(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in found["list"] if row["name"] == name)


def test_the_list_of_two_engines_is_the_closed_form(tmp_path: Path) -> None:
    """30 wins, 40 draws and 15 losses give 400 log10(50/35) Elo with a standard error of 13.728."""
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("A", "B", "w" * 30 + "d" * 40 + "l" * 15)))
    found = listed(path)
    assert row(found, "A")["rating"] - row(found, "B")["rating"] == pytest.approx(61.960784, abs=1e-6)
    assert row(found, "A")["plus"] == pytest.approx(1.959964 * 13.727991, abs=1e-5)
    assert (found["games"], found["skipped"], found["pools"]) == (85, 0, [["A", "B"]])
    keys = "rank name rating plus minus games score wins draws losses opponents performance los pool"
    assert set(row(found, "A")) >= {*keys.split(" ")}


def test_models_and_scales(tmp_path: Path) -> None:
    """The models Davidson and Rao-Kupper and Ordo's scale give their published values for the same games."""
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("A", "B", "w" * 30 + "d" * 40 + "l" * 15)))
    for words, gap in (
        (("--model", "davidson"), 61.978298),
        (("--model", "raokupper"), 61.632865),
        (("--scale", "403.514"), 61.960784 / 0.991292),
    ):
        found = listed(path, *words)
        assert row(found, "A")["rating"] - row(found, "B")["rating"] == pytest.approx(gap, rel=1e-6)


def test_the_table_has_what_ordo_users_look_for(games: Path) -> None:
    """The table has points, percentage, wins, draws, losses, draw rate, opponents' average and LOS."""
    head, first, *_ = invoke(games).stdout.splitlines()
    assert " ".join(head.split()) == "# engine rating + - games score points W D L opp. draws LOS"
    assert first.split()[1:3] == ["Fruit", "2.1"]
    assert first.split()[6:12] == ["85", "58.8%", "50", "30", "40", "15"]


def test_csv_and_output_files(games: Path, tmp_path: Path) -> None:
    """The ending of -o selects the format; all formats have the same figures."""
    printed = invoke(games, "--csv").stdout
    for name in ("list.csv", "list.json", "list.txt"):
        assert invoke(games, "-o", tmp_path / name).exit_code == 0
    assert (tmp_path / "list.csv").read_text() == printed
    rows = list(csv.DictReader(printed.splitlines()))
    assert [cells["points"] for cells in rows] == ["50.0", "20.0", "55.0"]
    assert unwrapped((tmp_path / "list.json").read_text()) == listed(games)
    assert "maximum likelihood" in (tmp_path / "list.txt").read_text()
    assert sorted(os.listdir(tmp_path)) == ["games.pgn", "list.csv", "list.json", "list.txt"]


def test_the_games_are_never_written_over(games: Path) -> None:
    """-o cannot be an input file, under any of its paths."""
    (games.parent / "link.pgn").symlink_to(games)
    done = invoke(games, "-o", games.parent / "link.pgn")
    assert isinstance(done.exception, UsageRefused)
    assert games.read_text() == FIELD


def test_no_file_counts_twice(games: Path) -> None:
    """A file that is given twice, under any path, is an error."""
    link = games.parent / "link.pgn"
    link.symlink_to(games)
    for again in (games, link):
        done = invoke(games, again)
        assert isinstance(done.exception, UsageRefused)
        assert str(again) in str(done.exception) and "given twice" in str(done.exception)
    done = invoke(games, link, "--sprt", "A", "B", "0", "5")
    assert isinstance(done.exception, UsageRefused)


def test_anchors_fix_their_ratings(games: Path) -> None:
    """Anchors fix ratings; the error for an unknown name suggests a close one."""
    found = listed(games, "--anchor", "Fruit 2.1=2784", "--anchor", "Rebel 6=2700")
    assert row(found, "Fruit 2.1")["rating"] == 2784
    assert row(found, "Rebel 6")["rating"] == 2700
    assert found["anchors"] == {"Fruit 2.1": 2784, "Rebel 6": 2700}
    done = invoke(games, "--anchor", "Fruits 2.1=2784")
    assert isinstance(done.exception, UsageRefused)
    assert "did you mean 'Fruit 2.1'?" in done.exception.what


def test_average_and_advantage(games: Path) -> None:
    """--average and --advantage set the level and White's advantage, or fit them."""
    found = listed(games, "--average", "2500", "--advantage", "30")
    assert sum(one["rating"] for one in found["list"]) == pytest.approx(7500)
    assert found["white_advantage"] == 30
    games.write_text(FIELD + pgn(("Toga II", "Fruit 2.1", "wwddl" * 9)))
    assert listed(games, "--advantage", "fit")["white_advantage"] > 5


def test_an_advantage_is_told_with_its_error(games: Path) -> None:
    """A fitted advantage is shown with its error at the confidence level."""
    games.write_text(FIELD + pgn(("Toga II", "Fruit 2.1", "wwddl" * 9)))
    found = listed(games, "--advantage", "fit")
    white, half = found["white_advantage"], 1.959964 * found["white_advantage_sd"]
    assert f"White advantage {white:.1f} ± {half:.0f}" in invoke(games, "--advantage", "fit").stdout
    told = invoke(games, "--advantage", "fit", "--confidence", "90").stdout
    assert f"White advantage {white:.1f} ± {half * 1.644854 / 1.959964:.0f}" in told
    ordo = invoke(games, "--advantage", "fit", "--layout", "ordo").stdout
    assert f"White advantage = {white:.2f} +/- {half:.2f}\n" in ordo
    assert "White advantage 30, given" in invoke(games, "--advantage", "30").stdout
    assert listed(games, "--advantage", "30")["white_advantage_sd"] is None
    assert "White" not in invoke(games).stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--anchor", "Fruit"),
        ("--anchor", "Fruit=nan"),
        ("--average", "inf"),
        ("--average", "fit"),
        ("--advantage", "x"),
        ("--average", "1", "--anchor", "Fruit 2.1=2"),
        ("--min-games", "-1"),
        ("--scale", "0"),
        ("--anchor", "Fruit 2.1=2784", "--anchor", "Fruit 2.1=2800"),
        ("--loose-anchor", "Fruit 2.1=2784+-5", "--loose-anchor", "Fruit 2.1=2784+-50"),
    ],
)
def test_what_cannot_be_meant_is_usage(games: Path, words: tuple[str, ...]) -> None:
    """Contradicting values are usage errors."""
    assert usage_error(invoke(games, *words))


def test_patterns_choose_engines(games: Path) -> None:
    """A game counts if both engines match; a pattern without a match is an error."""
    found = listed(games, "--exclude", "Reb*")
    assert [one["name"] for one in found["list"]] == ["Fruit 2.1", "Toga II"]
    assert found["skipped"] == found["left_out"]["unwanted"] == 40
    assert listed(games, "--include", "Toga*", "--include", "Rebel 6")["games"] == 40
    done = invoke(games, "--include", "Frut*")
    assert isinstance(done.exception, UsageRefused)
    assert "'Frut*'" in done.exception.what


def test_aliases_join_engines(games: Path, tmp_path: Path) -> None:
    """Aliases count as one engine; games of an engine against itself are left out."""
    aliases = tmp_path / "names.csv"
    aliases.write_text('# names\n"Toga II","Toga 2", "Rebel 6"\n\n')
    games.write_text(FIELD + pgn(("Fruit 2.1", "Toga 2", "wl")))
    found = listed(games, "--aliases", aliases)
    assert [one["name"] for one in found["list"]] == ["Fruit 2.1", "Toga II"]
    assert found["games"] == 87
    assert found["left_out"]["alone"] == 40


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ("A,B\nC,B\n", 2, "'B' is also an alias of 'A'"),
        ("A,B\nB,C\n", 2, "'B' is listed as a name, but is also an alias of 'A'"),
        ("B,C\nA,B\n", 1, "'B' is listed as a name, but is also an alias of 'A'"),
        ("A\n", 1, "at least one alias"),
        ('A,B\n"C,D\n', 2, "not a valid list of names"),
    ],
)
def test_aliases_that_contradict_are_refused(games: Path, tmp_path: Path, lines: str, line: int, words: str) -> None:
    """Contradicting aliases are an error with file and line."""
    (tmp_path / "names.csv").write_text(lines)
    done = invoke(games, "--aliases", tmp_path / "names.csv")
    assert isinstance(done.exception, InputRefused)
    assert done.exception.place.endswith(f"names.csv:{line}")
    assert words in done.exception.what


@pytest.mark.parametrize("test", [(), ("--sprt", "Fruit 2.1", "Toga II", 0, 5), ("--system", "elo")])
def test_aliases_of_the_command_line_name_engines_of_the_files(games: Path, tmp_path: Path, test: Any) -> None:
    """A chain, a cycle and an unknown name in --alias are usage errors; a file of aliases can have unknown names."""
    for typed, words in (
        (("Rebel 6=Toga II", "Toga II=Fruit 2.1"), "alias 'Rebel 6' refers to 'Toga II', which is also an alias"),
        (("Rebel 6=Toga II", "Toga II=Rebel 6"), "alias 'Rebel 6' refers to 'Toga II', which is also an alias"),
        (("Rebel 7=Toga II",), "no games of 'Rebel 7' found, did you mean 'Rebel 6'?"),
    ):
        done = invoke(games, *test, *(word for alias in typed for word in ("--alias", alias)))
        assert usage_error(done) == f"--alias: {words}"
    (tmp_path / "names.csv").write_text("Toga II,Toga 9\nRebel,Rebel 6\n")
    assert invoke(games, *test, "--aliases", tmp_path / "names.csv", "--alias", "Rebel 6=Rebel").exit_code == 0
    filtered = () if "--sprt" in test else ("--engine", "Fruit*", "--engine", "Toga*")
    assert invoke(games, *test, *filtered, "--alias", "Rebel 6=Rebel").exit_code == 0  # known, but left out


def test_engines_with_few_games_go_with_their_games(games: Path) -> None:
    """--min-games leaves out engines and their games until all others have enough."""
    found = listed(games, "--min-games", 45)
    assert [one["name"] for one in found["list"]] == ["Fruit 2.1", "Toga II"]
    assert found["left_out"]["engines"] == ["Rebel 6"]
    assert found["left_out"]["few"] == 40
    done = invoke(games, "--min-games", 200)
    assert isinstance(done.exception, InputRefused)
    assert "125 of engines with too few" in done.exception.what


def test_what_is_left_out_is_told(games: Path, tmp_path: Path) -> None:
    """Games that are left out are counted below the list; broken games are reported with file and line."""
    other = tmp_path / "other.pgn"
    other.write_text(pgn(("Fruit 2.1", "Toga II", "w**"), ("?", "Toga II", "w")))
    done = invoke(games, other)
    assert f"{other}:22: the game has an empty White tag" in done.stderr
    # Long paths are broken anywhere.
    told = f"games left out: 2 with result * ({other}:8), 1 broken"
    assert "".join(told.split()) in "".join(done.stdout.split())
    found = listed(games, other)
    assert (found["games"], found["skipped"]) == (126, 3)
    assert found["left_out"]["others"] == {"*": 2}
    assert found["broken"] == [{"place": f"{other}:22", "why": "the game has an empty White tag"}]
    assert found["files"] == [str(games), str(other)]


def noted(name: str) -> tuple[dict[str, Any], str]:
    """Return the list of a case, and its text in one line."""
    path = CASES / name
    return listed(path), " ".join(invoke(path).stdout.replace(f"{path.parent}/", "").split())


def test_results_in_usual_spellings_count(tmp_path: Path) -> None:
    """Common spellings of results count; others are left out with the place of the first; --strict exits with 9."""
    found, text = noted("results.pgn")
    left = {"1-0 forfeit": 41, "+/-": 51, "0-0": 61, "0-1 (time)": 111, "1": 121, "*": 131, "": 141, "?": 151, "-": 161}
    left["1-O"] = 171
    assert (found["games"], found["skipped"]) == (9, len(left))
    assert [row(found, name)["wins"] + row(found, name)["draws"] / 2 for name in "AB"] == [6, 3]
    assert found["left_out"]["others"] == dict.fromkeys(left, 1)
    for result, line in left.items():
        assert f"1 with result {result or 'blank'} (results.pgn:{line})" in text
    read = {"1/2": 11, "½-½": 21, "1/2 - 1/2": 31, "1:0": 71, "0.5-0.5": 81, "0–1": 181}
    assert found["respelled"] == dict.fromkeys(read, 1)
    for result, line in read.items():
        assert f"1 {result!r} (results.pgn:{line})" in text
    assert found["contradicted"] == 9
    strict = invoke(CASES / "results.pgn", "--strict", "--json")
    assert strict.exit_code == 9
    assert unwrapped(strict.stdout) == found
    assert invoke(CASES / "results.pgn", "--strict", "-o", tmp_path / "list.png").exit_code == 9


def test_strict_is_content_with_all_games(games: Path) -> None:
    """--strict gives exit code 0 if all games count; it cannot be combined with --sprt."""
    assert invoke(games, "--strict").exit_code == 0
    assert usage_error(invoke(games, "--strict", "--sprt", "Fruit 2.1", "Toga II", "0", "5"))


def test_a_contradiction_is_noted_and_the_tag_counts() -> None:
    """If the Result tag and the end of the moves differ, the tag counts; a game with the tag * is left out."""
    found, text = noted("mismatch.pgn")
    assert (found["games"], row(found, "A")["wins"]) == (2, 2)
    assert "games left out: 1 with result * (mismatch.pgn:11)" in text
    assert "3 games end with a result that differs from the Result tag; the tag is used (first: mismatch.pgn:1)" in text


@pytest.mark.parametrize("name", ["multiline_tag.pgn", "space.pgn"])
def test_blanks_and_line_breaks_within_tags_cost_no_game(name: str) -> None:
    """Spaces and line breaks within tags do not break a game."""
    found, text = noted(name)
    assert (found["games"], found["skipped"]) == (2, 0)
    assert "left out" not in text


def test_one_name_in_two_unicode_forms_is_one_engine() -> None:
    """Two Unicode forms of a name are one engine, with a note; options accept both."""
    found, text = noted("nfd.pgn")
    assert [one["name"] for one in found["list"]] == ["M\N{LATIN SMALL LETTER U WITH DIAERESIS}ller 1.0", "B"]
    assert "names that differ only by spaces or Unicode form, rated as one engine: Müller 1.0" in text
    for name in ("Mu\N{COMBINING DIAERESIS}ller  1.0", "Müller 1.0"):
        assert row(listed(CASES / "nfd.pgn", "--anchor", f"{name}=3000"), "Müller 1.0")["rating"] == 3000
        assert listed(CASES / "nfd.pgn", "--include", f"{name}*", "--include", "B")["games"] == 2


def test_names_that_nearly_agree_are_noted(tmp_path: Path) -> None:
    """Two names that nearly agree stay two engines, with a note."""
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("Fruit 2.1", "Toga", "wdl"), ("fruit 2.1", "Toga", "wdl"), ("Fruit  2.1", "To ga", "wdl")))
    done = " ".join(invoke(path).stdout.split())
    assert (
        "rated as different engines: Fruit 2.1 / fruit 2.1, To ga / Toga; use --alias OTHER=NAME to join them" in done
    )
    assert "rated as one engine: Fruit 2.1" in done
    path.write_text(pgn(("Toga", "Fruit", "wdl"), ("Toga\N{ZERO WIDTH SPACE}", "Fruit", "wdl")))
    assert r"rated as different engines: Toga / Toga\u200b;" in " ".join(invoke(path).stdout.split())


def test_aliases_join_names_that_nearly_agree(tmp_path: Path) -> None:
    """With an alias there is no note about similar names."""
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("Fruit 2.1", "Toga", "wdl"), ("fruit 2.1", "To ga", "wdl")))
    joined = invoke(path, "--alias", "fruit 2.1=Fruit 2.1", "--alias", "To ga=Toga").stdout
    assert "different engines" not in joined


def test_files_with_the_same_content_are_noted(games: Path, tmp_path: Path) -> None:
    """Files with the same content are reported, also compressed."""
    copy, packed, more, other = (tmp_path / name for name in ("copy.pgn", "x.pgn.gz", "more.pgn", "other.pgn"))
    copy.write_text(FIELD)
    packed.write_bytes(gzip.compress(FIELD.encode()))
    more.write_text(FIELD + pgn(("A", "Toga II", "w")))
    other.write_text(pgn(("A", "Toga II", "l")))
    text = "".join(invoke(games, other, copy, packed, more).stdout.split())  # long paths are broken anywhere
    assert f"fileswiththesamecontent,whosegamescountmorethanonce:{games}={copy}={packed}" in text
    assert f"={more}" not in text
    assert listed(games, other, copy)["same_content"] == [[str(games), str(copy)]]
    test = invoke(games, copy, "--sprt", "Fruit 2.1", "Toga II", "0", "5").stdout
    assert f"{games}={copy}" in "".join(test.split())
    assert "same content" not in invoke(games, other, more).stdout


CLUB = [
    ("GNU Go", "Pachi", 2, "spring", 3),
    ("GNU Go", "Fuego", 0, "autumn", 0),
    ("Pachi", "Fuego", 2, "spring", 0),
    ("Fuego", "Pachi", 1, "autumn", -2),
]


@pytest.fixture
def club(tmp_path: Path) -> Path:
    """Return two Go tournaments in one PGN file, with games at handicap."""
    path, words = tmp_path / "club.pgn", ("0-1", "1/2-1/2", "1-0")
    given = {3: '[Handicap "White gives 3"]\n', 0: "", -2: '[Handicap "Black gives 2"]\n'}
    path.write_text(
        "".join(
            f'[Event "{event}"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{words[points]}"]\n{given[stones]}\n'
            f"{words[points]}\n\n"
            for white, black, points, event, stones in CLUB
        )
    )
    return path


def by_hand(event: str | None, *, odds: bool) -> list[RatedGame]:
    """Return the games of the club, all of one event or each of its own."""
    return [
        RatedGame(white, black, points, number, event or own, stones)
        for number, (white, black, points, own, stones) in enumerate(CLUB, 1)
        if odds or not stones
    ]


@pytest.mark.parametrize("odds", [True, False])
@pytest.mark.parametrize("words", [(), ("--by-event",)])
def test_go_ratings_of_files(club: Path, words: tuple[str, ...], odds: bool) -> None:
    """A file or an Event tag is a tournament; handicap stones count; --start takes grades and ratings."""
    event, start = None if words else "all", {"GNU Go": 1500.0, "Pachi": 2100.0}
    entry = ("--start", "gnu=6k", "--start", "Pachi=2100", *(["--odds"] if odds else []))
    for system, settings in (("gor", gor.CzechSettings()), ("egf", gor.EgfSettings())):
        found = listed(club, "--system", system, *entry, *words)
        wanted = {one.engine: one.after for one in SYSTEMS[system].rate(by_hand(event, odds=odds), settings, start)}
        assert {one["name"]: one["rating"] for one in found["list"]} == pytest.approx(wanted, abs=1e-9)
        assert (found["model"], found["start"], found["skipped"]) == (system, start, 0 if odds else 2)


def test_elo_and_egf2021_of_files(club: Path) -> None:
    """Elo and EGF 2021 rate PGN files game by game, with settings."""
    found = listed(club, "--system", "elo", "--setting", "k=40", "--start", "Fuego=100", "--odds")
    rated = SYSTEMS["elo"].rate(by_hand(None, odds=True), elo.EloSettings(k=40), {"Fuego": 100.0})
    wanted = {one.engine: one.after for one in rated}
    assert {one["name"]: one["rating"] for one in found["list"]} == pytest.approx(wanted, abs=1e-9)
    found = listed(club, "--system", "egf2021", "--setting", "start_value=2 dan", "--odds")
    settings = gor.Egf2021Settings(start_value=2200.0)
    wanted = {one.engine: one.after for one in SYSTEMS["egf2021"].rate(by_hand(None, odds=True), settings, {})}
    assert {one["name"]: one["rating"] for one in found["list"]} == pytest.approx(wanted, abs=1e-9)


def test_lists_of_other_systems_have_the_forms_of_lists(club: Path, tmp_path: Path) -> None:
    """Lists of incremental systems have text, CSV, images, filters and notes, but no errors."""
    text = invoke(club, "--system", "gor", "--exclude", "Fuego", "--odds").stdout
    assert text.startswith("GoR, Czech 1998")
    assert "games left out: 3 of excluded engines" in text
    assert invoke(club, "--system", "gor", "--csv").stdout.startswith("rank,name,rating,games\n1,")
    assert invoke(club, "--system", "gor", "-o", tmp_path / "list.svg").exit_code == 0
    assert invoke(club, "--system", "gor", "--strict").exit_code == 9
    assert invoke(club, "--system", "gor", "--odds", "--strict").exit_code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--system", "gor", "--start", "Pachi=30k"), "'30k' is not a valid grade"),
        (("--system", "gor", "--start", "Pachi=strong"), "'strong' is not a valid rating"),
        (("--system", "elo", "--start", "Pachi=6k"), "must be a number for --system elo"),
        (("--system", "gor", "--start", "Nobody=6k"), "no games of 'Nobody' found"),
        (("--system", "gor", "--setting", "start_value=30k"), "start_value: '30k' is not a valid grade"),
        (("--system", "gor", "--anchor", "Pachi=2000"), "anchors is only valid for the rating system ml"),
        (("--system", "gor", "--matrix", "los"), "need --system ml"),
        (("--start", "Pachi=6k"), "--start: needs --system"),
        (("--by-event",), "--by-event: needs --system"),
        (("--setting", "k=40"), "--setting: needs --system"),
    ],
)
def test_what_a_system_does_not_know_is_rejected(club: Path, words: tuple[str, ...], told: str) -> None:
    """An invalid setting is an error of one line with the option."""
    done = invoke(club, *words)
    assert told in f"{done.exception}{done.output}"
    assert done.exit_code


def test_an_unbeaten_engine_is_named(tmp_path: Path) -> None:
    """An unbeaten engine is rated by the prior with a note, and without a prior has no rating."""
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("A", "B", "w" * 9), ("B", "C", "wl" * 9)))
    assert any("depends on the prior" in remark for remark in row(listed(path), "A")["remarks"])
    apart = listed(path, "--prior", "none")
    assert [one["name"] for one in apart["unrated"]] == ["A"]
    assert {one["name"] for one in apart["list"]} == {"B", "C"}


def test_hostile_names_move_no_cursor(tmp_path: Path) -> None:
    """Control characters of names are replaced; names that look like formulas are the same in CSV and JSON."""
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("\x1b[2J=evil\u202e", "-5 engine", "wdl" * 9)))
    assert "\x1b" not in invoke(path).output
    cells = [line.split(",")[1] for line in invoke(path, "--csv").stdout.splitlines()[1:]]
    assert sorted(cells) == ["-5 engine", "[2J=evil"]
    assert row(listed(path), "-5 engine")["games"] == 27


def test_a_bar_needs_a_terminal_and_a_big_file(
    games: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A progress bar needs a terminal and a large file."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(gamefiles, "BIG", 1)
    with gamefiles.reading_bar((games,)) as told:
        told(10)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with gamefiles.reading_bar((games,)) as told:
        told(games.stat().st_size)
    line = capsys.readouterr().err.rpartition("\r")[2]
    assert re.search(r"reading .*100%.* 0 of 0 MB, [\d,]+ MB/s", line) and len(click.unstyle(line).rstrip()) <= 80
    monkeypatch.setattr(gamefiles, "BIG", 10**9)
    with gamefiles.reading_bar((games,)) as told:
        told(10)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", [(), ("--json",), ("--csv",)])
def test_no_store_and_no_rules_are_loaded(games: Path, words: tuple[str, ...]) -> None:
    """`rate` loads no database module and no rules of chess."""
    _, modules = loaded_by("rate", str(games), *words)
    assert modules.isdisjoint({
        "sqlalchemy", "sqlmodel", "pydantic", "chess", "networkx", "enginetour.store.database"
    })  # fmt: skip


def test_numbers_wait_for_the_games(tmp_path: Path) -> None:
    """A file that cannot be read is an error before numpy is loaded."""
    said, modules = loaded_by("rate", str(tmp_path / "none.pgn"), code=3)
    assert "numpy" not in modules
    assert "none.pgn: cannot be read" in said
