"""Tests of web/pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enginetour.formats.base import Format
from enginetour.model.game import GameVoided
from enginetour.store.games import TournamentReader
from enginetour.store.replay import format_of
from enginetour.store.tournaments import Store, tournament_entries
from enginetour.web import pages
from enginetour.web.pages import StandingsCache
from tests.support.databases import add_game, draft, game, open_log

# How tournaments stand, for the pages that follow them.


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Three tournaments of which one has a game; of two it is remembered how they stand."""
    monkeypatch.setattr(pages, "_MAX_TOURNAMENTS", 2)
    made, log = open_log(tmp_path / "db")
    with made:
        add_game(log, game())
        made.create_tournament(draft("winter"))
        made.create_tournament(draft("spring"))
        yield made


def test_a_long_archive_is_read_once_and_not_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of all tournaments asks for their states again and again: only a log that has moved on is read."""
    read: list[str] = []

    def counted(log: TournamentReader) -> Format[Any]:
        read.append(log.title)
        return format_of(log)

    monkeypatch.setattr(pages, "format_of", counted)
    standings, wanted = StandingsCache(store), tournament_entries(store)
    assert standings.states(wanted) == dict.fromkeys(("autumn", "winter", "spring"), "stopped")
    assert standings.states(wanted) and read == ["autumn", "winter", "spring"]
    add_game(store.tournament("winter"), game())
    assert standings.states(wanted) and read[3:] == ["winter"]
    assert not standings._folds


def test_so_many_are_remembered(store: Store) -> None:
    """Those that were looked at last; one that was forgotten is read anew and tells the same."""
    standings, (autumn, *others) = StandingsCache(store), tournament_entries(store)
    first = standings.read(autumn, lines=True)
    for entry in others:
        standings.read(entry, lines=False)
    assert list(standings._folds) == [entry.id for entry in others]
    assert standings.read(autumn, lines=True) == first
    assert [line["number"] for line in first.lines] == [1]


def test_a_game_struck_out_has_no_result(store: Store) -> None:
    """The line of the last games says what `enginetour games` says; it told the old result."""
    one = game()
    store.tournament("autumn").record_event(GameVoided(one.pairing, one.outcome, "a wrong book"))
    line = StandingsCache(store).read(tournament_entries(store)[0], lines=True).lines[0]
    assert (line["result"], line["cause"]) == ("*", "annulled, was 1-0: ")
