"""Registers and round files of the American Go Association."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.errors import InputRefused
from enginetour.field import BLACK, WHITE, Board, Kind, Paired
from enginetour.interop.tde import foreign, read, round_files, written_rating

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
    """Ids, names, ratings and grades on a scale without the gap, clubs, marks and directives in any capitals."""
    found = read(folder(tmp_path))
    assert [one.id for one in found.listed] == ["USA1", "usa2", "USA3", "USA4", "USA5"]
    assert [one.name for one in found.listed][:3] == ["Smith, John", "Doe, Jane", "Engine 2 Point 1"]
    assert [one.rating for one in found.listed] == [150, 250, -25, -950, -200]
    assert [one.club for one in found.listed] == ["NYGC", "", "x", "", ""]
    assert [one.bye for one in found.listed] == [False, True, True, False, False]
    assert found.ing and found.settings == {"handicaps": "min", "early": "off"}


@pytest.mark.parametrize("points", [2800, 150, 1, 0, -1, -99, -100, -950])
def test_ratings_come_back_as_they_were_written(points: int, tmp_path: Path) -> None:
    """To the point."""
    register = f"A  One  {written_rating(points)}\nB  Two  1.0\n"
    assert read(folder(tmp_path, register=register)).listed[0].rating == pytest.approx(points)


def test_rounds(tmp_path: Path) -> None:
    """Results in any capitals, draws, handicaps; the one in no line had the bye; DROP keeps away."""
    path = folder(tmp_path, "# round 1\nUSA1 usa2 w 0 7.5\nusa5 USA3 d 2 0.5\n", "USA2 USA5 B 0 7.5\n")
    found = foreign(read(path), rounds=4)
    assert found.field.number == 3 and found.field.rounds == 4 and found.field.present == (0, 1, 2, 4)
    first, second = found.field.history
    assert [turn.kind for turn in first] == [Kind.PLAYED] * 3 + [Kind.ABSENT, Kind.PLAYED]
    assert [turn.points for turn in first] == [2, 0, 1, 0, 1]
    assert (first[4].colour, first[2].colour, first[4].handicap, first[2].handicap) == (WHITE, BLACK, 2, -2)
    assert [turn.kind for turn in second] == [Kind.BYE, Kind.PLAYED, Kind.ABSENT, Kind.ABSENT, Kind.PLAYED]
    assert [turn.points for turn in second] == [2, 0, 0, 0, 2]
    assert found.settings["bye"] == ("Doe, Jane", "Engine 2 Point 1") and found.warnings == ()
    assert foreign(read(path), number=2, rounds=4).field.present == (0, 1, 4)


def test_two_in_no_line_were_not_there(tmp_path: Path) -> None:
    """A round has one bye; the last round is guessed and said."""
    found = foreign(read(folder(tmp_path, "USA1 USA2 w 0 7.5\n")))
    assert [turn.kind for turn in found.field.history[0]][2:] == [Kind.ABSENT] * 3
    assert found.warnings == ("round 2 is taken for the last: --rounds N",)


def test_the_new_round(tmp_path: Path) -> None:
    """A file gopair reads and a list people read; read back, it is not finished."""
    register = read(folder(tmp_path))
    before = foreign(register, rounds=3)
    texts = round_files(register, before, Paired((Board(0, 1), Board(2, 4, 3)), (3,)))
    assert texts["1.tde"] == "# round 1\nUSA1 usa2 ? 0 7.5\nUSA3 USA5 ? 3 0.5\n"
    assert texts["pairs_1.txt"].splitlines()[2:] == [
        "  1  White Smith, John - Black Doe, Jane",
        "  2  White Engine 2 Point 1 - Black Poe, Ed, handicap 3",
        "     bye Roe, Rick",
    ]
    (tmp_path / "1.tde").write_text(texts["1.tde"])
    with pytest.raises(InputRefused, match=r"1.tde:2: expected w, b or d \(or --unfinished-ok\), found \?"):
        foreign(register, rounds=3)
    assert foreign(register, rounds=3, unfinished_ok=True).field.scores == (0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("register", "words"),
    [
        ("", "lines with entrants, found none"),
        ("USA1 Smith", "register.tde:1: expected ID, name, rating"),
        ("USA1 Smith x1", "expected ID, name, rating such as 2.5 or 10k"),
        ("USA1 Smith 0.5", "a rating from 1.0 up or from -1.0 down, found 0.5"),
        ("A Smith 2d\na Jones 2d", "register.tde:2: expected an id of its own, found a once more"),
        ("## HANDICAPS SOME\nA Smith 2d", "one of ## HANDICAPS MIN, ## HANDICAPS MAX"),
    ],
)
def test_a_broken_register(register: str, words: str, tmp_path: Path) -> None:
    """File and line."""
    with pytest.raises(InputRefused, match=words):
        read(folder(tmp_path, register=register))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("USA1 USA2", "1.tde:1: expected WHITE_ID BLACK_ID RESULT HANDICAP KOMI"),
        ("USA1 USA9 w 0 7.5", "an id of the register, found USA9"),
        ("USA1 USA1 w 0 7.5", "two who have no other game in this round"),
        ("USA1 USA2 w 0 7.5\nUSA3 USA2 w 0 7.5", "1.tde:2: expected two who have no other game"),
        ("USA1 USA2 w x 7.5", "a handicap from 0 to 99, found x"),
    ],
)
def test_a_broken_round(text: str, words: str, tmp_path: Path) -> None:
    """File and line."""
    with pytest.raises(InputRefused, match=words):
        foreign(read(folder(tmp_path, text)), rounds=3)


def test_rounds_that_cannot_be(tmp_path: Path) -> None:
    """An earlier round without a file, one after the last, no register at all."""
    register = read(folder(tmp_path))
    with pytest.raises(InputRefused, match="expected the file of an earlier round, found none"):
        foreign(register, number=3, rounds=3)
    with pytest.raises(InputRefused, match="a round from 1 to 3, found 4"):
        foreign(register, number=4, rounds=3)
    with pytest.raises(InputRefused, match="cannot read: No such file"):
        read(tmp_path / "none.tde")
