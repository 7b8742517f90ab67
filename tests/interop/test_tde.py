"""Registers and round files of the American Go Association."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.formats.pairing.field import BLACK, WHITE, Board, Kind, Paired
from enginetour.interop.foreign import next_round
from enginetour.interop.pairers import make_pairing_system, on_rating_scale
from enginetour.interop.tde import read, read_tournament, round_files, written_rating
from enginetour.model.errors import InputRefused
from tests.support.tournaments import tour

REGISTER = """\
# A comment
## HANDICAPS min
## rules ing
## noearly
USA1  Smith, John      2.5   CLUB=NYGC
usa2  Doe, Jane        3d    BYE
USA3  Engine 2 Point 1 -1.25 CLUB=x  bye # here DROP2
USA4  Roe, Rick        10k   # DROP
USA5  Poe, Ed          -3.0
"""


def folder(path: Path, *rounds: str, register: str = REGISTER) -> Path:
    for number, text in enumerate(rounds, 1):
        (path / f"{number}.tde").write_text(text)
    (path / "register.tde").write_text(register)
    return path / "register.tde"


def test_a_register(tmp_path: Path) -> None:
    """Ids, names, ratings, grades, clubs, marks and directives are read in any case."""
    found = read(folder(tmp_path))
    assert [one.id for one in found.listed] == ["USA1", "usa2", "USA3", "USA4", "USA5"]
    assert [one.name for one in found.listed][:3] == ["Smith, John", "Doe, Jane", "Engine 2 Point 1"]
    assert [one.rating for one in found.listed] == [150, 250, -25, -950, -200]
    assert [one.club for one in found.listed] == ["NYGC", "", "x", "", ""]
    assert [one.bye for one in found.listed] == [False, True, True, False, False]
    assert found.ing and found.settings == {"handicaps": "min", "early": "off"}


@pytest.mark.parametrize("points", [2800, 150, 1, 0, -1, -99, -100, -950])
def test_ratings_come_back_as_they_were_written(points: int, tmp_path: Path) -> None:
    """Ratings can be written and read again, exact to a point."""
    register = f"A  One  {written_rating(points)}\nB  Two  1.0\n"
    assert read(folder(tmp_path, register=register)).listed[0].rating == pytest.approx(points)


def test_rounds(tmp_path: Path) -> None:
    """Results, draws and handicaps are read; the only entrant without a line had the bye."""
    path = folder(tmp_path, "# round 1\nUSA1 usa2 w 0 7.5\nusa5 USA3 d 2 0.5\n", "USA2 USA5 B 0 7.5\n")
    found = read_tournament(read(path), rounds=4)
    assert found.field.number == 3 and found.field.rounds == 4 and found.field.present == (0, 1, 2, 4)
    first, second = found.field.history
    assert [turn.kind for turn in first] == [Kind.PLAYED] * 3 + [Kind.ABSENT, Kind.PLAYED]
    assert [turn.points for turn in first] == [2, 0, 1, 0, 1]
    assert (first[4].color, first[2].color, first[4].handicap, first[2].handicap) == (WHITE, BLACK, 2, -2)
    assert [turn.kind for turn in second] == [Kind.BYE, Kind.PLAYED, Kind.ABSENT, Kind.ABSENT, Kind.PLAYED]
    assert [turn.points for turn in second] == [2, 0, 0, 0, 2]
    assert found.settings["bye"] == ("Doe, Jane", "Engine 2 Point 1") and found.warnings == ()
    assert read_tournament(read(path), number=2, rounds=4).field.present == (0, 1, 4)


def test_two_in_no_line_were_not_there(tmp_path: Path) -> None:
    """Two entrants without a line were absent; the last round is assumed with a note."""
    found = read_tournament(read(folder(tmp_path, "USA1 USA2 w 0 7.5\n")))
    assert [turn.kind for turn in found.field.history[0]][2:] == [Kind.ABSENT] * 3
    assert found.warnings == ("the number of rounds is unknown, so round 2 is taken as the last; use --rounds N",)


def test_the_new_round(tmp_path: Path) -> None:
    """The new round is a file for gopair and a list as text, and is not finished."""
    register = read(folder(tmp_path))
    before = read_tournament(register, rounds=3)
    texts = round_files(register, before, Paired((Board(0, 1), Board(2, 4, 3)), (3,)))
    assert texts["1.tde"] == "# round 1\nUSA1 usa2 ? 0 7.5\nUSA3 USA5 ? 3 0.5\n"
    assert texts["pairs_1.txt"].splitlines()[2:] == [
        "  1  White Smith, John - Black Doe, Jane",
        "  2  White Engine 2 Point 1 - Black Poe, Ed, handicap 3",
        "     bye Roe, Rick",
    ]
    (tmp_path / "1.tde").write_text(texts["1.tde"])
    with pytest.raises(InputRefused, match=r"1.tde:2: expected w, b or d \(or --unfinished-ok\) .found \?"):
        read_tournament(register, rounds=3)
    assert read_tournament(register, rounds=3, unfinished_ok=True).field.scores == (0, 0, 0, 0, 0)


CASES = Path(__file__).parents[1] / "cases" / "tde"


def test_an_entrant_that_misses_a_round_after_a_comma() -> None:
    """``# drop3, DROP5`` is an absence in these rounds; BYE marks the candidate for the bye."""
    register = read(CASES / "comma" / "register.tde")
    assert register.listed[1].drops == {3, 5}
    before = read_tournament(register, rounds=5)
    assert before.field.number == 3 and before.field.present == (0, 2, 3, 4, 5) and before.warnings == ()
    system, told = make_pairing_system("gopair", before, {"method": "best"})
    assert next_round(system, before.field).byes == (0,) and told == ()
    system, _ = make_pairing_system("gopair", before, {"method": "best", "bye": "usa04"})
    assert next_round(system, before.field).byes == (5,), "an id given by the user replaces the marks"


def test_marks_in_the_line_of_a_name() -> None:
    """BYE and DROP may follow the rating."""
    before = read_tournament(read(CASES / "byedrop" / "register.tde"), rounds=3)
    assert before.field.present == (1, 2, 3, 4, 5) and before.settings["bye"] == ("Bar, B.",)
    system, _ = make_pairing_system("gopair", before, {})
    assert next_round(system, before.field).byes == (1,)


@pytest.mark.parametrize("system", ["entropy", "gor-drift", "probe"])
def test_ratings_of_a_register_are_converted_for_gor(system: str, tmp_path: Path) -> None:
    """Ratings of a register are converted for GoR so that grades are kept."""
    path = folder(tmp_path, register="A Foo 1 dan\nB Bar 6k\nC Baz 40k\nD Qux 9d\n")
    before = read_tournament(read(path), rounds=3)
    set_ = {} if system == "gor-drift" else {"model": "gor"}
    made, told = make_pairing_system(system, before, set_)
    assert [member.rating for member in on_rating_scale(made, before).field.members] == [2100, 1500, 100, 2900]
    assert len(told) == 1 and "ratings of the file are increased by 2050" in told[0]
    if set_:
        made, told = make_pairing_system(system, before, {"model": "elo"})
        assert on_rating_scale(made, before) is before and told == ()
    words = [word for key, value in set_.items() for word in ("--set", f"{key}={value}")]
    assert "increased by 2050" in tour(tmp_path, "pair", ".", "--rounds", "3", "--system", system, *words).stdout


def test_a_round_of_the_same_weight_is_as_good(tmp_path: Path) -> None:
    """--check-all accepts other pairs with the same sum of weights, but not with a smaller one."""
    folder(tmp_path, "A B w 0 6.5\nC D w 0 6.5\n", register="## HANDICAPS MIN\nA A 1d\nB B 1d\nC C 1d\nD D 1d\n")
    same = set()
    for pairs in ("A B w\nC D w", "A C w\nB D w", "A D w\nB C w"):
        (tmp_path / "1.tde").write_text(pairs)
        same |= {*tour(tmp_path, "pair", ".", "--check-all", "--rounds", "1").stdout.splitlines()[3:]}
    assert same >= {"all 1 rounds are the same", "round 1: the file has a different round of the same weight"}
    (tmp_path / "2.tde").write_text("A D w\nB C w")
    told = tour(tmp_path, "pair", ".", "--check-all", "--rounds", "2", "--set", "method=best", expect=10).stdout
    assert "1 of 2 rounds differ" in told


def test_a_bye_by_command(tmp_path: Path) -> None:
    """``--bye ID`` has priority over marked entrants and is ignored in an even field."""
    odd = tour(tmp_path, "pair", str(CASES / "byedrop"), "--rounds", "3", "--bye", "USA05").stdout
    assert "bye: USA5 Rex, E." in odd
    even = tour(tmp_path, "pair", str(CASES / "byedrop"), "--rounds", "3", "--bye", "USA5", "--absent", "USA6").stdout
    assert "bye:" not in even and "--bye has no effect with gopair: 4 entrants are present, an even number" in even


@pytest.mark.parametrize(
    ("line", "name", "rating", "bye", "drops"),
    [
        ("A Foo, A. 10k BYE DROP", "Foo, A.", -950, True, {0}),
        ("A Foo, A. 10k (drop), bye. CLUB=x", "Foo, A.", -950, True, {0}),
        ("A Foo, A. CLUB=x 1 dan BYE", "Foo, A.", 50, True, set()),
        ("A Stockfish 15.1 28.5 bye # DROP2", "Stockfish 15.1", 2750, True, {2}),
        ("A Bye 3 2.5", "Bye 3", 150, False, set()),
        ("A Drop 3", "Drop", 200, False, set()),
        ("A Foo 10k # was here, drop2; drop10.", "Foo", -950, False, {2, 10}),
        ("A Foo 10k #DROP", "Foo", -950, False, {0}),
        ("A Foo 10k # a raindrop2 or eyedrop", "Foo", -950, False, set()),
    ],
)
def test_lines_of_names(line: str, name: str, rating: float, bye: bool, drops: set[int], tmp_path: Path) -> None:
    """The rating is the last grade or decimal; marks are whole words in any case."""
    found = read(folder(tmp_path, register=line))
    one = found.listed[0]
    assert (one.name, one.rating, one.bye, set(one.drops)) == (name, rating, bye, drops) and found.notes == ()


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("A Foo 10k # drop 3", "'drop' in the comment is not an instruction of gopair; use DROP3 for round 3"),
        ("A Foo 10k # DROP2-4", "'DROP2-4' in the comment is not an instruction of gopair"),
        ("A Foo 10k # drop3rd", "'drop3rd' in the comment is not an instruction of gopair"),
        ("A Foo 10k # byes welcome", "'byes' in the comment is not an instruction of gopair"),
        ("A Foo 10k # DROP0", "'DROP0' in the comment is not an instruction of gopair"),
        ("A Foo 10k # will not drop", "'drop' in the comment is not an instruction of gopair"),
        ("A Foo 10k DROP 3", "'3' after the rating is unknown and ignored; use CLUB=x"),
        ("A Foo 10k half-bye", "'half-bye' after the rating is unknown"),
        ("A Foo 10k DROP3", "DROPn before the # is used, but gopair reads it only after the #"),
        ("## BANDS 5\nA Foo 10k", "the unknown directive '## BANDS 5' is ignored"),
        ("# handicaps min\nA Foo 10k", "'# handicaps min' is a comment and is ignored"),
    ],
)
def test_text_that_looks_like_an_instruction(line: str, note: str, tmp_path: Path) -> None:
    """Unknown text is noted with its line."""
    found = read(folder(tmp_path, register=line))
    assert len(found.notes) == 1 and note in found.notes[0] and "register.tde:1: " in found.notes[0]
    assert read_tournament(read(folder(tmp_path, register=f"{line}\nB Bar 9k")), rounds=3).warnings == found.notes
    comment = line.splitlines()[-1].partition("# ")[2]
    if comment:
        assert found.listed[0].drops == ({2} if "DROP2" in comment else set())
    assert not found.listed[0].bye


def test_ids_and_names(tmp_path: Path) -> None:
    """Zeros and the country USA are ignored in ids; entrants of one name get their ids."""
    path = folder(tmp_path, "2122 usa7 w 0 7.5\n", register="USA02122 Foo, A. 5k\n007 Foo, A. 6k\n## ROUNDS 4\n")
    found = read_tournament(read(path))
    assert found.field.scores == (2, 0) and found.field.rounds == 4 and found.warnings == ()
    assert [member.name for member in found.field.members] == ["Foo, A. (USA02122)", "Foo, A. (007)"]
    assert [found.place(label) for label in ("usa2122", "7", "007")] == [0, 1, 1]
    with pytest.raises(
        InputRefused, match=r"register\.tde:2: expected a different id for each entrant .found usa9 twice"
    ):
        read(folder(tmp_path, register="0009 Foo 5k\nusa9 Bar 5k"))


@pytest.mark.parametrize(
    ("register", "words"),
    [
        ("## ROUNDS some\nA Smith 2d", "## ROUNDS with a number from 1 to 999 .found SOME"),
        ("", "lines with entrants .found none"),
        ("USA1 Smith", "register.tde:1: expected ID, name, rating"),
        ("USA1 Smith x1", "expected ID, name, rating such as 2.5 or 10k"),
        ("USA1 Smith 0.5", "a rating of at least 1.0 or at most -1.0 .found 0.5"),
        ("A Smith 2d\na Jones 2d", "register.tde:2: expected a different id for each entrant .found a twice"),
        ("## HANDICAPS SOME\nA Smith 2d", "one of ## HANDICAPS MIN, ## HANDICAPS MAX"),
    ],
)
def test_a_broken_register(register: str, words: str, tmp_path: Path) -> None:
    """A broken register raises an error with file and line."""
    with pytest.raises(InputRefused, match=words):
        read(folder(tmp_path, register=register))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("USA1 USA2", "1.tde:1: expected WHITE_ID BLACK_ID RESULT HANDICAP KOMI"),
        ("USA1 USA9 w 0 7.5", "an id of the register .found USA9"),
        ("USA1 USA1 w 0 7.5", "two entrants without another game in this round"),
        ("USA1 USA2 w 0 7.5\nUSA3 USA2 w 0 7.5", "1.tde:2: expected two entrants without another game"),
        ("USA1 USA2 w x 7.5", "a handicap from 0 to 99 .found x"),
    ],
)
def test_a_broken_round(text: str, words: str, tmp_path: Path) -> None:
    """A broken round raises an error with file and line."""
    with pytest.raises(InputRefused, match=words):
        read_tournament(read(folder(tmp_path, text)), rounds=3)


def test_rounds_that_cannot_be(tmp_path: Path) -> None:
    """A missing earlier round, a round after the last, and a missing register raise an error."""
    register = read(folder(tmp_path))
    with pytest.raises(InputRefused, match=r"expected the file of an earlier round .found none"):
        read_tournament(register, number=3, rounds=3)
    with pytest.raises(InputRefused, match=r"a round that is not paired yet, or --rounds above 3 .found round 4"):
        read_tournament(register, number=4, rounds=3)
    with pytest.raises(InputRefused, match="cannot be read: No such file"):
        read(tmp_path / "none.tde")
