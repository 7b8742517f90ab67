"""The games of two engines in the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.model.game import GameVoided, Outcome
from enginetour.ratings.pentanomial import paired
from enginetour.store.games import meetings
from tests.storing import add_game, draft, game, open_log


def test_half_points_are_the_first_engines(tmp_path: Path) -> None:
    """Whoever had White, and from the other side they add up to two a game."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game("Fruit", "Toga", Outcome.WHITE, leg=1))
        add_game(log, game("Toga", "Fruit", Outcome.WHITE, leg=2))
        add_game(log, game("Fruit", "Phalanx", Outcome.WHITE))
        add_game(log, game("Toga", "Fruit", Outcome.DRAW, meeting=2))
        own, foe = meetings(store.database, "Fruit", "Toga"), meetings(store.database, "Toga", "Fruit")
    assert [points for _, points in own.games] == [2, 0, 1]
    assert [points for _, points in foe.games] == [0, 2, 1]
    assert paired(own.games) == [2]
    assert own.versions == (("Fruit",), ("Toga",))


def test_a_void_leg_counts_when_it_is_replayed(tmp_path: Path) -> None:
    """The pair is complete with the replay, in its place in the log; a struck game takes its pair away."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game("Fruit", "Toga", Outcome.WHITE, leg=1))
        add_game(log, game("Toga", "Fruit", Outcome.VOID, leg=2))
        add_game(log, game("Fruit", "Toga", Outcome.DRAW, meeting=2, leg=1))
        add_game(log, game("Toga", "Fruit", Outcome.DRAW, meeting=2, leg=2))
        assert paired(meetings(store.database, "Fruit", "Toga").games) == [2]
        add_game(log, game("Toga", "Fruit", Outcome.BLACK, leg=2, replay=1))
        assert paired(meetings(store.database, "Fruit", "Toga").games) == [2, 4]
        struck = game("Fruit", "Toga", Outcome.DRAW, meeting=2, leg=1)
        log.record_event(GameVoided(struck.pairing, struck.outcome, "power cut"))
        assert paired(meetings(store.database, "Fruit", "Toga").games) == [4]


def test_four_legs_are_two_pairs(tmp_path: Path) -> None:
    """Legs 1 and 2, 3 and 4, though they ended in another order."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        for leg, outcome in ((1, Outcome.WHITE), (3, Outcome.BLACK), (4, Outcome.WHITE), (2, Outcome.BLACK)):
            white, black = ("Fruit", "Toga") if leg % 2 else ("Toga", "Fruit")
            add_game(log, game(white, black, outcome, leg=leg))
        assert paired(meetings(store.database, "Fruit", "Toga").games) == [0, 4]


def test_tournaments_apart_and_together(tmp_path: Path) -> None:
    """The same key in another tournament is another pair; versions of a name are added up and told, or asked alone."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game("Fruit", "Toga", Outcome.WHITE, leg=1))
        later = store.create_tournament(draft("winter", fingerprint="f2"))
        add_game(later, game("Toga", "Fruit", Outcome.DRAW, leg=2))
        both = meetings(store.database, "Fruit", "Toga")
        assert [points for _, points in both.games] == [2, 1]
        assert paired(both.games) == []
        assert both.versions == (("Fruit [f1]", "Fruit [f2]"), ("Toga [f1]", "Toga [f2]"))
        assert [points for _, points in meetings(store.database, "Fruit", "Toga", tournament=later.id).games] == [1]
        alone = meetings(store.database, "Fruit [f1]", "Toga")
        assert [points for _, points in alone.games] == [2]
        assert alone.versions == (("Fruit [f1]",), ("Toga [f1]",))


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("Fruit", "Togo", "did you mean 'Toga'?"),
        ("Fruit", "Fruit", "a test needs two"),
        ("Fruit", "HoiChess", "have not met"),
    ],
)
def test_a_refusal_names_what_is_there(tmp_path: Path, one: str, other: str, told: str) -> None:
    """An unknown name, one engine twice, two that never met: never an empty test."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game("Fruit", "Toga"))
        with pytest.raises(UsageRefused) as refusal:
            meetings(store.database, one, other)
    assert told in str(refusal.value)
