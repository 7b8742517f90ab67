"""A cross-section of the engines that misbehave, the quickest; `make night` plays all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

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
