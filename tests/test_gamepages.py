"""Pages of all games in a folder, by one process or several."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from enginetour import gamepages
from enginetour.gamepages import game_writers
from enginetour.model import Outcome
from enginetour.reports.html.site import Site
from enginetour.review.games import game_rows
from enginetour.store.log import TournamentLog
from tests.storing import add_game, game, open_log


@contextmanager
def played(folder: Path, legs: int) -> Iterator[TournamentLog]:
    """Two games for each encounter, and one that was played again."""
    store, log = open_log(folder / "t.db")
    with store:
        add_game(log, game(outcome=Outcome.VOID))
        for meeting in range(1, legs + 1):
            for leg in (1, 2):
                add_game(log, game(meeting=meeting, leg=leg, replay=int(meeting == leg == 1)))
        yield log


def written(log: TournamentLog, folder: Path, heed: Callable[[], None] = lambda: None) -> int:
    with game_writers(log, folder, Site("autumn", ()), heed=heed) as rest:
        return rest()


def test_rows_know_the_games_beside_them(tmp_path: Path) -> None:
    """The other leg, the one that was played again, and the numbers before and after."""
    with played(tmp_path, 2) as log:
        rows = list(game_rows(log))
        assert [(one.number, one.before, one.after) for one in rows] == [
            (1, None, 2), (2, 1, 3), (3, 2, 4), (4, 3, 5), (5, 4, None),
        ]  # fmt: skip
        assert [[(near.number, near.leg, near.replay) for near in one.neighbours] for one in rows] == [
            [(2, 1, 1), (3, 2, 0)], [(1, 1, 0), (3, 2, 0)], [(1, 1, 0), (2, 1, 1)], [(5, 2, 0)], [(4, 1, 0)],
        ]  # fmt: skip
        assert [one.number for one in game_rows(log, 2, 3)] == [2, 3]


def test_every_game_gets_its_page_whoever_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes write what one writes."""
    monkeypatch.setattr(gamepages, "SHARE", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with played(tmp_path, 4) as log:
        alone, together = tmp_path / "alone", tmp_path / "together"
        for folder, worth in ((alone, 100), (together, 1)):
            folder.mkdir()
            monkeypatch.setattr(gamepages, "WORTH_ANOTHER", worth)
            assert written(log, folder) == 9
        names = sorted(path.name for path in (alone / "games").iterdir())
        assert names == sorted(f"{number}.html" for number in range(1, 10))
        for name in names:
            assert (alone / "games" / name).read_bytes() == (together / "games" / name).read_bytes()


def test_what_fails_in_another_process_fails_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that does not take a page is an OSError wherever it was noticed, and nobody is left writing."""
    monkeypatch.setattr(gamepages, "SHARE", 2)
    monkeypatch.setattr(gamepages, "WORTH_ANOTHER", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with played(tmp_path, 2) as log:
        (tmp_path / "games" / "3.html").mkdir(parents=True)  # of the second share
        with pytest.raises(IsADirectoryError):
            written(log, tmp_path)
    assert multiprocessing.active_children() == []


def test_whoever_is_in_a_hurry_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `heed` raises ends the other processes too."""
    monkeypatch.setattr(gamepages, "SHARE", 2)
    monkeypatch.setattr(gamepages, "WORTH_ANOTHER", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})

    def heed() -> None:
        raise InterruptedError

    with played(tmp_path, 2) as log, pytest.raises(InterruptedError):
        written(log, tmp_path, heed=heed)
    assert multiprocessing.active_children() == []
