"""A cross-section of the engines that misbehave, the quickest; `make night` plays all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faultrows import RULES, TABLES, Row
from tests.faults import KINDS
from tests.misbehaviour import Kind, course, judge, title

QUICK = {
    "uci-segv",
    "cecp-crash",
    "uci-dies-with-a-child",
    "uci-late",
    "cecp-late",
    "uci-illegal-then-dies",
    "uci-ten-megabyte-line",
    "uci-dies-at-second-game",
    "cecp-refuses-setboard",
    "cecp-move-and-win",
    "cecp-abort",
    "uci-litters",
}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.title in QUICK], ids=title)
def test_a_tournament_with_a_misbehaving_engine(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends by itself with the right verdicts, the sound ones lose nothing, and nothing is left."""
    judge(course(kind, tmp_path, monkeypatch))


def test_every_kind_has_a_name_of_its_own() -> None:
    """The cross-section is part of the whole, and no kind hides another."""
    titles = [kind.title for kind in KINDS]
    assert len(set(titles)) == len(titles)
    assert set(titles) >= QUICK


BY_TITLE = {kind.title: kind for kind in KINDS}
HERE = Path(__file__).parent


def shown(row: Row) -> list[Kind]:
    """The kinds that show a row; KeyError for one that is not there."""
    titles = [
        title
        for word in row.faults.split()
        for title in ([word] if word.startswith(("uci-", "cecp-")) else [f"{protocol}-{word}" for protocol in row.on])
    ]
    return [BY_TITLE[title] for title in titles]


@pytest.mark.parametrize("row", [*TABLES, *RULES], ids=lambda row: row.words)
def test_every_row_is_shown(row: Row) -> None:
    """By a kind in each protocol and under each control, with the verdict of the table; or by a test that is there."""
    kinds = shown(row)
    assert kinds or row.tests
    for kind in kinds:
        if row.category == "restart":
            assert kind.restarts
        elif row.category.endswith("warning"):
            assert row.category in kind.warnings
        else:
            assert (row.verdict, row.category) in kind.ends
    if kinds and row.on == ("uci", "cecp") and len(kinds) > 1:
        assert {kind.protocol for kind in kinds} == set(row.on)
    controls = {kind.tc.partition("=")[0] if "=" in kind.tc else "clock" for kind in kinds}
    assert controls >= set(row.controls)
    for test in row.tests.split():
        file, name = test.split("::")
        assert f"def {name}(" in (HERE / f"{file}.py").read_text("utf-8"), test


def test_every_kind_belongs_to_a_row() -> None:
    """Nothing is played that no table asks for."""
    assert {kind.title for row in TABLES for kind in shown(row)} == set(BY_TITLE)
