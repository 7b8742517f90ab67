"""Display of rating lists: golden texts of layouts, matrices and head-to-head results, and invalid combinations."""

from __future__ import annotations

import csv
import io
import json
import re
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from enginetour.cli.listoptions import Display, present
from enginetour.cli.main import cli
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Outcome
from enginetour.ratings.pairs import Counts, pairs_of
from enginetour.ratings.ratinglist import RatingList, rating_list
from enginetour.reports.ratinglist import ORDO_COLUMNS
from enginetour.reports.sheet import COLUMN_KEYS
from enginetour.store.tournaments import Store
from tests.cli.test_rate import pgn
from tests.support.databases import draft, record
from tests.support.tournaments import unwrapped, usage_error

GOLDEN = Path(__file__).parents[1] / "golden" / "lists"
# Wide signs, a name longer than a window, markup, an unbeaten engine, few games, and a pool apart.
FIELD: Counts = {
    ("Fruit 2.1", "Toga II"): (30, 40, 15),
    ("Toga II", "象棋引擎 1.0"): (20, 10, 12),
    ("象棋引擎 1.0", "Fruit 2.1"): (8, 11, 20),
    ("[bold]Rebel[/] 6", "Toga II"): (3, 2, 9),
    ("Long " + "name " * 19, "Fruit 2.1"): (4, 1, 7),
    ("Perfect", "Toga II"): (6, 0, 0),
    ("Apart 1", "Apart 2"): (9, 4, 9),
}
NOTE = re.compile(r"\[1\]|few games|gap:|likelihood in|rating of|points of")  # what begins the notes of this field
SHOWN = {
    "plain": Display(),
    "ordo": Display(layout="ordo"),
    "ordo-all": Display(layout="ordo", columns=COLUMN_KEYS),
    "ccrl": Display(layout="ccrl"),
    "bayeselo": Display(layout="bayeselo"),
    "los": Display(matrix="los"),
    "diff": Display(matrix="diff", confidence=99.0),
    "score": Display(matrix="score"),
    "against": Display(versus="Toga II"),
    "head-to-head": Display(versus="all"),
}


@cache
def rated(counts: tuple[tuple[tuple[str, str], tuple[int, int, int]], ...]) -> RatingList:
    """Return the list of these counts; several tests show the same list."""
    return rating_list(dict(counts))


def shown(display: Display, *, room: int = 80, form: str = "text", counts: Counts = FIELD) -> str:
    return present(rated(tuple(counts.items())), pairs_of(counts), display, form, room)


@pytest.mark.parametrize("room", [80, 200])
@pytest.mark.parametrize("name", SHOWN)
def test_printed_as_before(name: str, room: int) -> None:
    """The text equals the golden file, at 80 and 200 characters per line."""
    assert shown(SHOWN[name], room=room) == (GOLDEN / f"{name}-{room}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", [name for name in SHOWN if name != "ordo-all"])
def test_lines_keep_to_the_window(name: str) -> None:
    """Tables fit 80 characters per line, also with wide characters, long names and 200 engines."""
    names = [f"Engine {number:03}" if number % 7 else "日本の将棋エンジン" * 6 + str(number) for number in range(200)]
    counts = dict.fromkeys(zip(names, [*names[1:], names[0]], strict=True), (3, 2, 2))
    counts |= {("Toga II", names[0]): (2, 1, 2)}
    for table in (FIELD, counts):
        lines = list(takewhile(lambda line: not NOTE.match(line), shown(SHOWN[name], counts=table).splitlines()))
        assert len(lines) > 2
        assert max(map(cell_len, lines)) <= 80


def test_ordos_csv_has_its_headers_and_order() -> None:
    """Ordo's CSV has its headers; by default the first seven; unknown values are empty cells."""
    rows = list(csv.reader(io.StringIO(shown(Display(layout="ordo", columns=COLUMN_KEYS), form="csv"))))
    assert rows[0][:7] == ["#", "PLAYER", "RATING", "ERROR", "POINTS", "PLAYED", "(%)"]
    assert rows[0][7:] == ["CFS(%)", "W", "D", "L", "D(%)", "OppAvg", "OppErr", "OppN", "OppDiv"]
    assert len(rows[0]) == len(ORDO_COLUMNS)
    assert rows[0][:7] == next(csv.reader(io.StringIO(shown(Display(layout="ordo"), form="csv"))))
    perfect = next(row for row in rows if row[1] == "Perfect")
    assert perfect[4:7] == ["6.0", "6", "100.0"]


def test_ccrl_shares_ranks_by_whole_ratings() -> None:
    """In the CCRL layout, engines with equal rounded ratings share a rank such as 2-5; the last line has no LOS."""
    even = dict.fromkeys([("B", "Base"), ("C", "Base"), ("D", "Base")], (4, 4, 4))
    counts: Counts = {("A", "Base"): (9, 0, 1), **even, ("Base", "Weak"): (9, 1, 2)}
    lines = shown(Display(layout="ccrl"), counts=counts).splitlines()
    assert [line.split()[0] for line in lines[2:8]] == ["1", "2-5", "2-5", "2-5", "2-5", "6"]
    assert [len(line.split()) for line in lines[2:8]] == [10] * 5 + [9]


def test_a_matrix_in_json_is_beside_the_list() -> None:
    """JSON has the matrix next to the list; values between pools and on the diagonal are null."""
    told = json.loads(shown(Display(matrix="diff", confidence=99.0), form="json"))
    assert {"list", "matrix", "confidence"} <= set(told)
    matrix = told["matrix"]
    assert matrix["names"] == [row["name"] for row in told["list"]]
    assert matrix["values"][0][0] is None and matrix["values"][0][-1] is None
    assert matrix["values"][0][1] == pytest.approx(told["list"][0]["rating"] - told["list"][1]["rating"])
    assert matrix["errors"][0][1] == matrix["errors"][1][0] > 0


def test_a_matrix_in_csv_is_whole() -> None:
    """A matrix as CSV has one row per engine and one column per opponent, with scores as fractions."""
    rows = list(csv.DictReader(io.StringIO(shown(Display(matrix="score"), form="csv"))))
    at = {row["name"]: row["number"] for row in rows}
    assert len(rows) == 8
    assert float(rows[int(at["Perfect"]) - 1][f"vs{at['Toga II']}"]) == 1.0
    assert rows[0]["vs1"] == ""


def test_head_to_head_in_csv_and_json() -> None:
    """Head-to-head results have the same figures in CSV and JSON, one row per pair in both directions."""
    rows = list(csv.DictReader(io.StringIO(shown(Display(versus="all"), form="csv"))))
    assert len(rows) == 2 * len(FIELD)
    told = json.loads(shown(Display(versus="Perfect"), form="json"))["head_to_head"]["engines"]
    assert list(told) == ["Perfect"]
    one = next(row for row in rows if row["engine"] == "Perfect")
    assert float(one["gap"]) == told["Perfect"][0]["gap"]
    assert told["Perfect"][0]["performance"] is None
    assert one["performance"] == ""


def test_small_errors_are_not_nothing() -> None:
    """An error below 0.1 is shown as such, not as zero."""
    counts = {("A", "B"): (400_000_000, 200_000_000, 400_000_000)}
    assert "<0.1" in shown(Display(), counts=counts)
    assert "±<0.1" in shown(Display(matrix="diff"), counts=counts)
    row = next(csv.DictReader(io.StringIO(shown(Display(layout="ordo"), form="csv", counts=counts))))
    assert row["ERROR"] == "0.1"


def test_an_engine_without_games_here_is_answered_with_the_nearest() -> None:
    """The error for an unknown engine suggests a close name."""
    with pytest.raises(UsageRefused, match="did you mean 'Toga II'"):
        shown(Display(versus="Tuga II"))


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.pgn"
    path.write_text(pgn(("Fruit", "Toga", "w" * 12 + "d" * 9 + "l" * 6), ("Toga", "Rebel", "wwdll" * 5)))
    return path


def rate(*words: object) -> Result:
    return CliRunner().invoke(cli, ["rate", *map(str, words)])


@pytest.mark.parametrize(
    "words",
    [
        ("--matrix", "los", "--against", "Toga"),
        ("--matrix", "los", "--columns", "name"),
        ("--matrix", "los", "--layout", "ordo"),
        ("--layout", "ccrl", "--columns", "name"),
        ("--layout", "ccrl", "--csv"),
        ("--layout", "ordo", "--json"),
        ("--columns", "name", "--json"),
        ("--columns", ""),
        ("--columns", "rating,nmae"),
        ("--confidence", "100"),
    ],
)
def test_what_cannot_be_had_is_usage(games: Path, words: tuple[str, ...]) -> None:
    """Invalid display options are usage errors, and nothing is printed on stdout."""
    done = rate(games, *words)
    assert usage_error(done)
    assert done.stdout == ""


def test_columns_come_in_the_order_asked_for(games: Path) -> None:
    """--columns selects columns by their keys in order, also with dashes; an unknown key gets a suggestion."""
    head = rate(games, "--columns", "name,draw-rate,error,diversity", "--csv").stdout.splitlines()[0]
    assert head == "name,draw_rate,error,diversity"
    assert "did you mean 'rating'?" in rate(games, "--columns", "ratng").stderr
    assert rate(games, "--columns", "all", "--csv").stdout.splitlines()[0].split(",") == list(COLUMN_KEYS)


def test_the_footing_tells_the_confidence(games: Path) -> None:
    """Text and JSON show the confidence level."""
    assert "+ and - are 99 %" in " ".join(rate(games, "--confidence", "99").stdout.split())
    assert unwrapped(rate(games, "--confidence", "99", "--json").stdout)["confidence"] == 99


def test_errors_are_asked_for_by_pattern(games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--errors-for selects engines by pattern; a pattern without a match is an error."""
    from enginetour.ratings import ratinglist as rows

    monkeypatch.setattr(rows, "DENSE_ERRORS", 2)
    found = unwrapped(rate(games, "--errors-for", "T*", "--json").stdout)["list"]
    assert [row["name"] for row in found if row["plus"] is not None] == ["Toga"]
    assert isinstance(rate(games, "--errors-for", "X*").exception, UsageRefused)


def test_a_list_of_the_store_is_shown_likewise(tmp_path: Path) -> None:
    """`ratings` has the same display options; they are errors for incremental systems, which have no errors."""
    path = tmp_path / "t.db"
    with Store.open(path) as store:
        log = store.create_tournament(draft())
        for white, black, outcome in (
            ("Fruit", "Toga", Outcome.WHITE),
            ("Toga", "Phalanx", Outcome.WHITE),
            ("Phalanx", "Fruit", Outcome.DRAW),
            ("Toga", "Fruit", Outcome.DRAW),
        ):
            record(log, white, black, outcome)

    def ratings(*words: str) -> Any:
        return CliRunner().invoke(cli, ["ratings", "--db", str(path), "--all", *words])

    assert "CFS" in ratings("--layout", "ordo", "--columns", "all").stdout
    assert unwrapped(ratings("--matrix", "score", "--json").stdout)["matrix"]["games"][0].count(0) <= 2
    against = unwrapped(ratings("--against", "Fruit", "--json").stdout)["head_to_head"]["engines"]["Fruit"]
    assert {each["opponent"]: each["games"] for each in against} == {"Toga": 2, "Phalanx": 1}
    assert usage_error(ratings("--system", "elo", "--matrix", "los"))
    assert usage_error(ratings("--sprt", "Fruit", "Toga", "0", "5", "--matrix", "los"))
