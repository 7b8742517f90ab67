"""What was wrong in our style sheets."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from enginetour.reports.html.page import ROOM

SHEETS = sorted((ROOM / "assets").glob("*.css"))


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_no_rule_stands_twice(sheet: Path) -> None:
    """A block pasted once more among the rules for phones undid what stood between."""
    lines = Counter(line.strip() for line in sheet.read_text("utf-8").splitlines() if "{" in line and "}" in line)
    assert [line for line, count in lines.items() if count > 1] == []


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_paper_is_light(sheet: Path) -> None:
    """Whoever prints from a dark desktop gets no dark board."""
    assert "@media (prefers-color-scheme" not in sheet.read_text("utf-8")
