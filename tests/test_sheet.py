"""Tables: text that fits, CSV that no spreadsheet runs, names that cannot move a cursor."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from enginetour.reports.sheet import Column, Sheet, points, render, safe, shortened

COLUMNS = (Column("rank", "#"), Column("name", "engine", left=True, flexible=True), Column("points", "points"))


def sheet(*names: str) -> Sheet:
    return Sheet("title", COLUMNS, tuple({"rank": n, "name": name, "points": 1.5} for n, name in enumerate(names, 1)))


def test_columns_are_aligned() -> None:
    """Numbers right, names left, as wide as the widest."""
    assert render(sheet("Ada", "Bartholomew")) == (
        "title\n#  engine       points\n1  Ada             1.5\n2  Bartholomew     1.5\n"
    )


def test_a_long_name_is_cut_to_the_window() -> None:
    """80 columns stay 80 columns."""
    assert max(len(line) for line in render(sheet("x" * 100), 80).splitlines()) == 80


def test_half_points_are_written_as_testers_do() -> None:
    """9½, 8, ½, 0."""
    assert [points(half) for half in (19, 16, 1, 0)] == ["9½", "8", "½", "0"]


def test_a_wide_table_goes_on_below() -> None:
    """Columns that may continue are dealt out to blocks; rank and name stand before each of them."""
    columns = (*COLUMNS[:2], *(Column(f"vs{n}", str(n), continues=True) for n in range(1, 21)))
    row = {"rank": 1, "name": "Bartholomew the Great", **{f"vs{n}": "1=" for n in range(1, 21)}}
    lines = render(Sheet("", columns, (row,)), 60).splitlines()
    assert max(map(len, lines)) <= 60
    assert [line.split()[0] for line in lines if line] == ["#", "1"] * 3
    assert [number for line in lines for number in line.split() if number == "20"] == ["20"]


@given(st.text(max_size=100))
def test_no_name_moves_the_cursor_or_turns_the_line(name: str) -> None:
    """Each row stays one line without controls or bidirectional marks."""
    lines = render(sheet(name)).splitlines()
    assert len(lines) == 3
    assert all(sign.isprintable() or sign.isspace() or ord(sign) > 0x9F for sign in lines[2])
    assert not set(safe(name)) & set("\x1b\x07\u202e\u200f\u2066")


@given(st.sampled_from(["", "-5 ", "=", "+", "@", "'"]), st.text(max_size=50))
def test_csv_reads_back_with_the_same_names(front: str, name: str) -> None:
    """Names that begin like a formula too, so that tables can be joined by them; control characters are left out."""
    rows = list(csv.reader(io.StringIO(sheet(front + name).csv())))
    assert rows[0] == ["rank", "name", "points"]
    assert rows[1][1] == safe(front + name)
    assert safe(front) == front


def test_names_that_begin_alike_stay_apart() -> None:
    """Where a window cuts names, versions of one engine differ still; names that differ in front are cut behind."""
    columns = (Column("name", "engine", left=True, flexible=True), Column("games", "games"))
    rows = tuple({"name": f"Stockfish skill {number}", "games": 1} for number in (3, 15))
    told = render(Sheet("", columns, rows), 19).splitlines()
    assert told[1:] == ["Stock…kill 3      1", "Stock…ill 15      1"]
    rows = ({"name": "Fairy-Stockfish 11.1", "games": 1}, {"name": "Toga", "games": 2})
    assert render(Sheet("", columns, rows), 19).splitlines()[1].startswith("Fairy-Stock…")


def test_a_name_is_cut_in_its_middle() -> None:
    """Its engine and its version stay, in no more columns than there are; wide signs take two."""
    assert shortened("Stockfish skill 15", 10) == "Stoc…ll 15"
    assert shortened("Toga", 10) == "Toga"
    assert cell_len(shortened("象棋引擎一号第二版", 8)) <= 8


def test_a_note_is_not_broken_inside_a_name() -> None:
    """Below a rating list "{Fairy-Max 5.0b, HoiChess}" ended its line with "Fairy-"."""
    sheet = Sheet("t", (Column("n", "engine"),), ({"n": "A"},), notes=("groups {GNU Chess, Fairy-Max 5.0b}",))
    assert render(sheet, 26).splitlines()[-2:] == ["groups {GNU Chess,", "  Fairy-Max 5.0b}"]
