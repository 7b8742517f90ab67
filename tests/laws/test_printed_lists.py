"""Laws of printed lists: no invalid number, no zero error, and no rating without its reason."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.cli.listoptions import Display, present
from enginetour.ratings.matrices import MatrixName
from enginetour.ratings.pairs import Counts, pairs_of
from enginetour.ratings.ratinglist import RatingList, rating_list
from enginetour.reports.sheet import COLUMN_KEYS, safe_text

NAMES = ("Ada 1", "Bob", "象棋 引擎", "[bold]Dee[/]", "=E", "F" * 100)
LAW = settings(max_examples=15, deadline=None)

engines = st.sampled_from(NAMES)
pairings = st.tuples(engines, engines).filter(lambda pair: pair[0] != pair[1])
games = st.one_of(st.integers(0, 3), st.integers(0, 40))
tables = st.dictionaries(pairings, st.tuples(games, games, games).filter(any), min_size=1, max_size=12)
terms = st.fixed_dictionaries({
    "model": st.sampled_from(["logistic", "davidson", "raokupper"]),
    "prior": st.sampled_from(["auto", "none"]),
})  # fmt: skip
DISPLAYS = [
    *(Display(layout=layout) for layout in ("plain", "ordo", "ccrl", "bayeselo")),
    Display(layout="ordo", columns=COLUMN_KEYS),
    Display(columns=COLUMN_KEYS),
    *(Display(matrix=kind) for kind in get_args(MatrixName)),
    Display(versus="all"),
    Display(confidence=99.0),
]
# An invalid number, or an error of zero (+0, -0 or ±0).
_NONE = re.compile(r"\b(?:nan|inf|infinity)\b|±0(?:\.0)?(?![.\d])", re.IGNORECASE)


def printed(found: RatingList, counts: Counts, display: Display, form: str, room: int = 80) -> str:
    told = present(found, pairs_of(counts), display, form, room)
    for name in NAMES:  # names may contain such text
        told = told.replace(safe_text(name), "name")
    return told


@pytest.mark.parametrize("display", DISPLAYS, ids=str)
@given(counts=tables, chosen=terms, room=st.sampled_from([40, 80, 200]))
@LAW
def test_no_number_that_is_none(display: Display, counts: Counts, chosen: Any, room: int) -> None:
    """No layout, matrix or column has NaN, infinity or ±0, in text, CSV and JSON."""
    found = rating_list(counts, **chosen)
    for form in ("text", "csv", "json"):
        if form == "json" and (display.layout != "plain" or display.columns):
            continue
        told = printed(found, counts, display, form, room)
        assert not _NONE.search(told), told
        if form == "json":
            json.loads(told, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))


@given(counts=tables, chosen=terms)
@LAW
def test_no_error_is_nothing(counts: Counts, chosen: Any) -> None:
    """Printed errors are positive; a missing error has its reason in the row."""
    found = rating_list(counts, **chosen)
    rows = list(csv.DictReader(io.StringIO(printed(found, counts, Display(columns=COLUMN_KEYS), "csv"))))
    assert len(rows) == len(found.rows)
    for row in rows:
        assert row["remarks"] or (row["plus"] and row["minus"] and row["error"])
        assert all(float(row[key]) > 0 for key in ("plus", "minus", "error") if row[key])
    for column in (6, 5):  # also in BayesElo's layout
        for line in _table(present(found, None, Display(layout="bayeselo"), "text", 200)):
            assert line.split()[-column] not in ("0", "0.0")
    for row in csv.DictReader(io.StringIO(printed(found, counts, Display(layout="ordo"), "csv"))):
        assert row["ERROR"] == "" or float(row["ERROR"]) > 0


@pytest.mark.parametrize("display", [*DISPLAYS[:8], DISPLAYS[-2]], ids=str)
@given(counts=tables, chosen=terms)
@LAW
def test_what_a_rating_rests_on_is_said(display: Display, counts: Counts, chosen: Any) -> None:
    """An engine with a perfect or zero score is named with its prior, and an unrated engine with the reason."""
    found = rating_list(counts, **chosen)
    told = " ".join(printed(found, counts, display, "text").split())
    for row in found.rows:
        for remark in row.remarks:
            assert remark in told
    for engine in found.unrated:
        assert engine.why in told


@given(counts=tables, chosen=terms, percent=st.sampled_from([68.0, 99.0]))
@LAW
def test_another_confidence_moves_bounds_only(counts: Counts, chosen: Any, percent: float) -> None:
    """Another confidence changes only the intervals."""
    from enginetour.ratings.ratinglist import at_confidence

    found = rating_list(counts, **chosen)
    other = at_confidence(found, percent)
    for before, after in zip(found.rows, other.rows, strict=True):
        assert replace(after, plus=0, minus=0, error=0, opponents_error=0, remarks=()) == replace(
            before, plus=0, minus=0, error=0, opponents_error=0, remarks=()
        )
        if before.plus is not None and after.plus is not None:
            assert (after.plus > before.plus) == (percent > 95)


def _table(text: str) -> Iterator[str]:
    """Return the lines of engines, which begin with a rank."""
    return (line for line in text.splitlines() if re.match(r" *\d+ .*\d%$", line))
