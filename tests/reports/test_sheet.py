"""Tests of tables and their output formats."""

from __future__ import annotations

import csv
import io
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from enginetour.reports.sheet import (
    Column,
    Sheet,
    bbcode,
    format_duration,
    format_points,
    html,
    markdown,
    render,
    safe_text,
    shorten_middle,
)
from tests.support.databases import add_game, game, open_log
from tests.support.tournaments import ask, unwrapped, usage_error

# Text and CSV.

COLUMNS = (Column("rank", "#"), Column("name", "engine", left=True, flexible=True), Column("points", "points"))


def sheet(*names: str) -> Sheet:
    return Sheet("title", COLUMNS, tuple({"rank": n, "name": name, "points": 1.5} for n, name in enumerate(names, 1)))


def test_columns_are_aligned() -> None:
    """Numbers are right-aligned and names left-aligned, in columns as wide as their widest cell."""
    assert render(sheet("Ada", "Bartholomew")) == (
        "title\n#  engine       points\n1  Ada             1.5\n2  Bartholomew     1.5\n"
    )


def test_a_long_name_is_cut_to_the_window() -> None:
    """A table is not wider than the window."""
    assert max(len(line) for line in render(sheet("x" * 100), 80).splitlines()) == 80


def test_half_points_are_written_as_testers_do() -> None:
    """Half points are written with ½."""
    assert [format_points(half) for half in (19, 16, 1, 0)] == ["9½", "8", "½", "0"]


def test_a_wide_table_goes_on_below() -> None:
    """Columns that do not fit continue in blocks below, each with rank and name."""
    columns = (*COLUMNS[:2], *(Column(f"vs{n}", str(n), continues=True) for n in range(1, 21)))
    row = {"rank": 1, "name": "Bartholomew the Great", **{f"vs{n}": "1=" for n in range(1, 21)}}
    lines = render(Sheet("", columns, (row,)), 60).splitlines()
    assert max(map(len, lines)) <= 60
    assert [line.split()[0] for line in lines if line] == ["#", "1"] * 3
    assert [number for line in lines for number in line.split() if number == "20"] == ["20"]


@given(st.text(max_size=100))
def test_no_name_moves_the_cursor_or_turns_the_line(name: str) -> None:
    """Each row is one line without control characters or bidirectional marks."""
    lines = render(sheet(name)).splitlines()
    assert len(lines) == 3
    assert all(sign.isprintable() or sign.isspace() or ord(sign) > 0x9F for sign in lines[2])
    assert not set(safe_text(name)) & set("\x1b\x07\u202e\u200f\u2066")


@given(st.sampled_from(["", "-5 ", "=", "+", "@", "'"]), st.text(max_size=50))
def test_csv_reads_back_with_the_same_names(front: str, name: str) -> None:
    """CSV keeps names that start like a formula, and removes control characters."""
    rows = list(csv.reader(io.StringIO(sheet(front + name).csv())))
    assert rows[0] == ["rank", "name", "points"]
    assert rows[1][1] == safe_text(front + name)
    assert safe_text(front) == front


def test_names_that_begin_alike_stay_apart() -> None:
    """Shortened names of different versions stay different."""
    columns = (Column("name", "engine", left=True, flexible=True), Column("games", "games"))
    rows = tuple({"name": f"Stockfish skill {number}", "games": 1} for number in (3, 15))
    told = render(Sheet("", columns, rows), 19).splitlines()
    assert told[1:] == ["Stock…kill 3      1", "Stock…ill 15      1"]
    rows = ({"name": "Fairy-Stockfish 11.1", "games": 1}, {"name": "Toga", "games": 2})
    assert render(Sheet("", columns, rows), 19).splitlines()[1].startswith("Fairy-Stock…")


def test_a_name_is_cut_in_its_middle() -> None:
    """A shortened name keeps its start and its end, and wide characters take two columns."""
    assert shorten_middle("Stockfish skill 15", 10) == "Stoc…ll 15"
    assert shorten_middle("Toga", 10) == "Toga"
    assert cell_len(shorten_middle("象棋引擎一号第二版", 8)) <= 8


def test_a_note_is_not_broken_inside_a_name() -> None:
    """Notes are not broken at hyphens of names."""
    sheet = Sheet("t", (Column("n", "engine"),), ({"n": "A"},), notes=("groups {GNU Chess, Fairy-Max 5.0b}",))
    assert render(sheet, 26).splitlines()[-2:] == ["groups {GNU Chess,", "  Fairy-Max 5.0b}"]


# Markdown, BBCode and HTML.

ODD = "A|B_c* [/code] <b>$x_1$</b> & `d`"
SHEET = Sheet(
    "list · 1 < 2",
    (Column("rank", "#"), Column("name", "engine", left=True), Column("plus", "+")),
    ({"rank": 1, "name": ODD, "plus": 12.5}, {"rank": 2, "name": "Toga II", "plus": None}),
    notes=("1. a note", "# and *another*"),
)


def test_markdown_is_a_table_of_pipes() -> None:
    """Markdown has alignments, escaped characters and notes as a list."""
    assert markdown(SHEET) == (
        "**list · 1 \\< 2**\n"
        "\n"
        "| # | engine | + |\n"
        "| ---: | :--- | ---: |\n"
        "| 1 | A\\|B\\_c\\* \\[/code\\] \\<b\\>\\$x\\_1\\$\\</b\\> \\& \\`d\\` | 12.5 |\n"
        "| 2 | Toga II |  |\n"
        "\n"
        "- 1\\. a note\n"
        "- \\# and \\*another\\*\n"
    )


def test_bbcode_is_one_block_of_code() -> None:
    """The BBCode block keeps its columns, and no name ends it."""
    assert bbcode(SHEET) == (
        "[code]\n"
        "list · 1 < 2\n"
        "#  engine                                +\n"
        "1  A|B_c* (/code] <b>$x_1$</b> & `d`  12.5\n"
        "2  Toga II\n"
        "1. a note\n"
        "# and *another*\n"
        "[/code]\n"
    )


def test_html_is_a_table_with_a_caption() -> None:
    """HTML text is escaped, and right-to-left text is isolated."""
    told = html(Sheet("t", SHEET.columns, ({"rank": 1, "name": "שלום <i>", "plus": 2},), notes=("a & b",)))
    assert told == (
        "<table>\n"
        "<caption>t</caption>\n"
        "<thead>\n"
        '<tr><th scope="col" style="text-align:right">#</th><th scope="col">engine</th>'
        '<th scope="col" style="text-align:right">+</th></tr>\n'
        "</thead>\n"
        "<tbody>\n"
        '<tr><td style="text-align:right">1</td><td><bdi>שלום &lt;i&gt;</bdi></td>'
        '<td style="text-align:right">2</td></tr>\n'
        "</tbody>\n"
        "</table>\n"
        "<p>a &amp; b</p>\n"
    )


class _Cells(HTMLParser):
    """Collects the tags and the text of each cell."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells and self.tags[-1] in ("td", "bdi"):
            self.cells[-1] += data.strip("\n")


@settings(deadline=None)
@given(st.text(max_size=100))
def test_no_name_leaves_its_cell(name: str) -> None:
    """Any text is one cell in HTML, one row in Markdown and part of one block in BBCode."""
    sheet = Sheet("", (Column("name", "engine", left=True), Column("n", "n")), ({"name": name, "n": 1},))
    page = _Cells()
    page.feed(html(sheet))
    assert set(page.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "bdi"}
    assert len(page.cells) == 2 and page.cells[0].split() == safe_text(name).split()
    (line,) = markdown(sheet).split("\n")[2:-1]
    bare = line.replace("\\\\", "")
    assert bare.count("|") - bare.count("\\|") == 3
    assert bbcode(sheet).lower().count("[/code]") == 1


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    store, log = open_log(path)
    with store:
        add_game(log, game())
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("standings",),
        ("standings", "--engines"),
        ("crosstable",),
        ("crosstable", "--pairs"),
        ("games",),
        ("games", "--endings"),
        ("ratings",),
        ("ratings", "--matrix", "los"),
        ("ratings", "--head-to-head", "all"),
        ("ratings", "--system", "elo"),
        ("history", "Fruit"),
        ("editions",),
        ("lists",),
        ("imports",),
    ],
    ids=" ".join,
)
def test_every_table_comes_in_every_format(db: Path, words: tuple[str, ...]) -> None:
    """`--format` gives the same result as the flags, and forum formats start with their markup."""
    told = {form: ask(db, *words, "--format", form) for form in ("text", "markdown", "bbcode", "html", "csv", "json")}
    assert {done.exit_code for done in told.values()} == {0}, {form: done.output for form, done in told.items()}
    assert told["text"].stdout == ask(db, *words).stdout
    assert told["json"].stdout == ask(db, *words, "--json").stdout and unwrapped(told["json"].stdout) is not None
    assert told["csv"].stdout == ask(db, *words, "--csv").stdout
    assert "\n| " in f"\n{told['markdown'].stdout}" and "---" in told["markdown"].stdout
    assert told["bbcode"].stdout.startswith("[code]\n") and told["bbcode"].stdout.endswith("[/code]\n")
    assert told["html"].stdout.startswith("<table>\n")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("standings", "--json", "--format", "markdown"), "--json: cannot be combined with --format markdown"),
        (("history", "Fruit", "--csv", "events", "--format", "html"), "--csv: cannot be combined with --format html"),
        (("games", "1", "--format", "html"), "--format html: does not support a single game"),
        (("ratings", "--layout", "ordo", "--format", "bbcode"), "--layout: cannot be combined with --format bbcode"),
        (("standings", "--format", "rtf"), "'rtf' is not one of"),
    ],
)
def test_what_cannot_be_had_together_is_refused(db: Path, words: tuple[str, ...], what: str) -> None:
    """Contradicting options are usage errors."""
    assert what in usage_error(ask(db, *words))


def test_a_file_is_in_the_language_of_its_ending(db: Path, tmp_path: Path) -> None:
    """The ending of the file selects the format, and a contradicting option is an error."""
    for name, first in (("a.md", "**ratings"), ("a.html", "<table>"), ("a.txt", "ratings"), ("a.csv", "rank,")):
        assert ask(db, "ratings", "-o", str(tmp_path / name)).exit_code == 0
        assert (tmp_path / name).read_text("utf-8").startswith(first)
    assert ask(db, "ratings", "--format", "bbcode", "-o", str(tmp_path / "b.txt")).exit_code == 0
    assert (tmp_path / "b.txt").read_text("utf-8").startswith("[code]")
    error = usage_error(ask(db, "ratings", "--format", "bbcode", "-o", str(tmp_path / "c.md")))
    assert "cannot be combined with --format bbcode (found c.md)" in error


def test_a_short_time_is_not_none() -> None:
    """A short duration is not shown as 0."""
    assert [format_duration(seconds) for seconds in (0, 0.02, 0.4, 1.4)] == ["0 s", "0.1 s", "0.4 s", "1 s"]
