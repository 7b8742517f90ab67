from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.touring import tour

GAMES = "".join(
    f'[White "A"]\n[Black "B"]\n[Result "{result}"]\n\n{result}\n\n' for result in ("1-0", "0-1", "1/2-1/2")
)


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("4", "4")])
def test_a_list_takes_one_processor_unless_told(
    given: str | None, used: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads of linear algebra that wait for busy processors made a list beside running games take twice as long."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    (tmp_path / "g.pgn").write_text(GAMES, "utf-8")
    tour(tmp_path, "rate", "g.pgn")
    assert os.environ["OPENBLAS_NUM_THREADS"] == used
