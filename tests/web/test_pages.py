"""Tests of the database reader of the live page."""

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
from tests.support.databases import BUBBLE, add_game, draft, game, open_log, reported_played


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Return three tournaments, one of them with a game; two states are cached."""
    monkeypatch.setattr(pages, "_MAX_TOURNAMENTS", 2)
    made, log = open_log(tmp_path / "db")
    with made:
        add_game(log, game())
        made.create_tournament(draft("winter"))
        made.create_tournament(draft("spring"))
        yield made


def test_a_long_archive_is_read_once_and_not_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """States are read again only for a tournament whose event log has changed."""
    read: list[str] = []

    def counted(log: TournamentReader) -> Format[Any]:
        read.append(log.title)
        return format_of(log)

    monkeypatch.setattr(pages, "format_of", counted)
    standings, wanted = StandingsCache(store), tournament_entries(store)
    assert [standings.state(entry) for entry in wanted] == ["stopped"] * 3
    assert all(map(standings.state, wanted)) and read == ["autumn", "winter", "spring"]
    add_game(store.tournament("winter"), game())
    assert all(map(standings.state, wanted)) and read[3:] == ["winter"]
    assert not standings._folds


def test_so_many_are_remembered(store: Store) -> None:
    """The tournaments that were read last are cached; another one is read again with the same result."""
    standings, (autumn, *others) = StandingsCache(store), tournament_entries(store)
    first = standings.read(autumn, lines=True)
    for entry in others:
        standings.read(entry, lines=False)
    assert list(standings._folds) == [entry.id for entry in others]
    assert standings.read(autumn, lines=True) == first
    assert [line["number"] for line in first.lines] == [1]


def test_a_game_struck_out_has_no_result(store: Store) -> None:
    """The line of a game that became void has no result."""
    one = game()
    store.tournament("autumn").record_event(GameVoided(one.pairing, one.outcome, "a wrong book"))
    line = StandingsCache(store).read(tournament_entries(store)[0], lines=True).lines[0]
    assert (line["result"], line["cause"]) == ("*", "annulled, was 1-0: ")


@pytest.mark.parametrize(("system", "options"), [("bubble", BUBBLE), ("roundrobin", {})])
def test_the_last_decisions_of_a_bubble(tmp_path: Path, system: str, options: dict[str, int]) -> None:
    """The live data of a bubble contain its history; those of other formats do not."""
    made, _ = reported_played(tmp_path / "db", ("A", "B", "C", "D", "E", "F"), system, options)
    with made:
        (entry,) = tournament_entries(made)
        found = StandingsCache(made).read(entry, lines=False)
    decisions = found.table["decisions"]
    assert found.progress["state"] == "finished"
    if system == "bubble":
        assert decisions[-1]["text"].endswith("games") and "drops out in place 6" in str(decisions)
        assert [line["step"] for line in decisions] == sorted(line["step"] for line in decisions)
    else:
        assert decisions is None
