"""A wall clock that jumps by days, back and forth, at every look of the scheduler."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

from tests.forked import Forked, quick
from tests.touring import audit, left_running, read

DAYS_S = 5 * 86_400.0


def jumping() -> None:
    """From here on every stamp of this process is days before or after the last."""
    true, jumps = time.time, itertools.cycle((0.0, DAYS_S, -DAYS_S))
    time.time = lambda: true() + next(jumps)


def test_days_more_or_less_touch_no_game(tmp_path: Path) -> None:
    """Stopped and gone on with under such a clock: all games once, in order, none void, the list rated."""
    (tmp_path / "results").mkdir()
    path = quick(tmp_path, system="roundrobin", settings="cycles = 1\ngames_per_pairing = 2")
    for more, expected in (("--max-games", "5"), 8), ((), 0):
        code, _, told = Forked(tmp_path, ["run", str(path), *more], tmp_path / "errors", jumping).ended()
        assert code == expected, told
    assert audit(tmp_path) == 12
    assert [row["result"] for row in read(tmp_path, "games")].count("*") == 0
    assert sum(row["games"] for row in read(tmp_path, "ratings", "--system", "elo")["list"]) == 24
    assert left_running(tmp_path) == []
