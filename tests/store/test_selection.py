"""Tests of game selections and game pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.model.game import GameVoided, Opening, Outcome
from enginetour.ratings.ratinglist import rating_list
from enginetour.store.definition import ListDefinition
from enginetour.store.selection import Selection, pentanomials_of, pentanomials_of_tournament, select_games
from enginetour.store.tables import GAMES
from enginetour.store.tournaments import Store
from tests.support.databases import add_game, bring, counted_pairs, draft, game, open_log, record, seconds, spec, stamp

# Game pairs.

WHITE, DRAW, BLACK = Outcome.WHITE, Outcome.DRAW, Outcome.BLACK


def test_pairs_by_the_points_of_the_first_name(tmp_path: Path) -> None:
    """Pairs are counted by the points of the name that sorts first; single games are not pairs."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        for meeting, (first, second) in enumerate(((WHITE, BLACK), (WHITE, DRAW), (DRAW, DRAW), (BLACK, WHITE)), 1):
            add_game(log, game("Toga", "Fruit", first, meeting=meeting, leg=1))
            add_game(log, game("Fruit", "Toga", second, meeting=meeting, leg=2))
        add_game(log, game("Toga", "HoiChess", WHITE, leg=1))
        add_game(log, game("HoiChess", "Toga", BLACK, leg=2))
        add_game(log, game("Toga", "Fruit", WHITE, meeting=9, leg=1))
        found = pentanomials_of(store.database)
        assert found == {("Fruit", "Toga"): (1, 1, 1, 0, 1), ("HoiChess", "Toga"): (1, 0, 0, 0, 0)}
        assert pentanomials_of_tournament(log) == found
        turned = pentanomials_of(store.database, GAMES.c.meeting > 1, names={1: "x", 2: "a"})
        assert turned == {("a", "x"): (1, 0, 1, 1, 0)}
        assert "5 game pairs" in rating_list(counted_pairs(store), openings=found).caption[-2]


def test_legs_that_are_no_pair(tmp_path: Path) -> None:
    """Void legs, equal colors and different openings do not make a pair."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game(leg=1))
        add_game(log, game("Toga", "Fruit", Outcome.VOID, leg=2))
        for leg in (3, 4):
            add_game(log, game(*(("Fruit", "Toga") if leg % 2 else ("Toga", "Fruit")), DRAW, leg=leg))
        add_game(log, game(meeting=2, leg=1))
        add_game(log, game(meeting=2, leg=2))
        add_game(log, game(meeting=3, leg=1))
        add_game(log, replace(game("Toga", "Fruit", meeting=3, leg=2), opening=Opening("B20", 3, "", ("e2e4",))))
        assert pentanomials_of(store.database) == {("Fruit", "Toga"): (0, 0, 1, 0, 0)}
        add_game(log, game("Toga", "Fruit", DRAW, leg=2, replay=1))
        assert pentanomials_of(store.database) == {("Fruit", "Toga"): (0, 0, 1, 1, 0)}
        struck = game("Toga", "Fruit", DRAW, leg=4)
        log.record_event(GameVoided(struck.pairing, struck.outcome, "power cut"))
        assert pentanomials_of(store.database) == {("Fruit", "Toga"): (0, 0, 0, 1, 0)}


def test_versions_and_tournaments(tmp_path: Path) -> None:
    """Games of different tournaments or versions do not make a pair; versions of a name can be combined."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game(leg=1))
        later = store.create_tournament(draft("winter", fingerprint="f2"))
        add_game(later, game("Toga", "Fruit", DRAW, leg=2))
        assert pentanomials_of(store.database) == {}
        add_game(later, game("Fruit", "Toga", DRAW, leg=1))
        add_game(log, game("Toga", "Fruit", BLACK, leg=2))
        assert pentanomials_of(store.database) == {
            ("Fruit [f1]", "Toga [f1]"): (0, 0, 0, 0, 1),
            ("Fruit [f2]", "Toga [f2]"): (0, 0, 1, 0, 0),
        }
        assert pentanomials_of_tournament(later) == {("Fruit", "Toga"): (0, 0, 1, 0, 0)}


# Selections.


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "t.db") as opened:
        yield opened


def counts(found: Selection) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return the pairs as a table by names."""
    pairs = found.pairs
    columns = zip(pairs.white, pairs.black, pairs.wins, pairs.draws, pairs.losses, strict=True)
    return {(pairs.names[w], pairs.names[b]): (int(won), int(drawn), int(lost)) for w, b, won, drawn, lost in columns}


def of(store: Store, as_of: str | None = None, **parts: Any) -> Selection:
    return select_games(store, ListDefinition(**parts), as_of)


def test_everything(store: Store) -> None:
    """Without a filter, the stored counts are used, including imports."""
    log = store.create_tournament(draft())
    record(log, "Fruit", "Toga")
    record(log, "Phalanx", "Toga", Outcome.DRAW)
    record(log, "Phalanx", "Toga", Outcome.VOID)
    bring(store, [(1, 2, 0)])
    expected = {("Fruit", "Toga"): (1, 0, 1), ("Phalanx", "Toga"): (0, 1, 0)}
    assert counts(of(store)) == expected
    assert counts(of(store, since=date(2020, 1, 1))) == expected, "counted from the games it is the same"
    assert of(store).left_out == {}
    assert (of(store).moment.game, of(store).moment.imported) == (3, 1)


def test_filters(store: Store) -> None:
    """Every part of the filter selects its games and counts the excluded ones."""
    log = store.create_tournament(draft())
    record(log, "Fruit", "Toga", tc="60+0.5", hardware="Ryzen 9 5950X")
    record(log, "Fruit", "Phalanx", tc="nodes=1000", day="2026-11-03", hardware="Xeon E5")
    record(log, "HoiChess", "Toga", Outcome.DRAW, tc="180+2", hardware="Ryzen 9 5950X")
    other = store.create_tournament(draft("spring"))
    record(other, "Fruit", "Toga", Outcome.BLACK, tc="60+0.5")
    bring(store, [(1, 2, 0), (1, 2, 1)])
    first, second, third = ("Fruit", "Toga"), ("Fruit", "Phalanx"), ("HoiChess", "Toga")
    cases: list[tuple[dict[str, Any], dict[tuple[str, str], tuple[int, int, int]], dict[str, int]]] = [
        ({"time_classes": ("bullet",)}, {first: (1, 0, 1)}, {"time class": 4}),
        (
            {"time_classes": ("blitz", "nodes")},
            {first: (0, 1, 1), second: (1, 0, 0), third: (0, 1, 0)},
            {"time class": 2},
        ),
        ({"tc": ("60*",)}, {first: (1, 0, 1)}, {"control": 4}),
        ({"hardware": ("Ryzen*",)}, {first: (1, 0, 0), third: (0, 1, 0)}, {"hardware": 4}),
        ({"tournaments": ("spr*",)}, {first: (0, 0, 1)}, {"tournament": 5}),
        (
            {"not_tournaments": ("spring", "club #1")},
            {first: (1, 0, 0), second: (1, 0, 0), third: (0, 1, 0)},
            {"tournament": 3},
        ),
        ({"since": date(2026, 11, 2)}, {second: (1, 0, 0)}, {"date": 5}),
        ({"until": date(2026, 11, 1), "tournaments": ("club",)}, {first: (0, 1, 1)}, {"tournament": 4}),
        ({"engines": ("Fr*", "Toga")}, {first: (1, 1, 2)}, {"engine": 2}),
        ({"not_engines": ("Toga",)}, {second: (1, 0, 0)}, {"engine": 5}),
        ({"min_games": 4}, {first: (1, 1, 2)}, {"few games": 2}),
    ]
    for parts, expected, left in cases:
        found = of(store, **parts)
        assert (counts(found), found.left_out) == (expected, left), parts
    assert {*of(store).names} - {*of(store, min_games=4).names} == {"HoiChess", "Phalanx"}


def test_import_without_a_date(store: Store) -> None:
    """A game without a date is on no day."""
    store.create_tournament(draft())
    bring(store, [(1, 2, 2)], day=0)
    assert of(store, until=date(2030, 1, 1)).left_out == {"date": 1}
    assert of(store).games == 1


def test_as_of(store: Store) -> None:
    """A moment selects the games of that time, including games that were annulled later."""
    log = store.create_tournament(draft())
    first = record(log, "Fruit", "Toga", day="2026-11-01")
    bring(store, [(1, 2, 1)])
    record(log, "Toga", "Fruit", day="2026-11-10")
    voided = log.games()[0]
    pairing = replace(game(meeting=voided.meeting).pairing)
    log.record_event(GameVoided(pairing, Outcome.WHITE), why="wrong book")
    stamp_void = seconds("2026-11-12T12:00")
    stamp(log, stamp_void)
    assert counts(of(store)) == {("Fruit", "Toga"): (0, 1, 0), ("Toga", "Fruit"): (1, 0, 0)}
    assert counts(of(store, "2026-11-01")) == {("Fruit", "Toga"): (1, 0, 0)}
    assert counts(of(store, "2026-11-01T11:59")) == {}
    assert counts(of(store, f"game {first}")) == {("Fruit", "Toga"): (1, 0, 0)}, "the import came after it"
    assert counts(of(store, "2026-11-11")) == {("Fruit", "Toga"): (1, 1, 0), ("Toga", "Fruit"): (1, 0, 0)}
    assert counts(of(store, "2026-11-12T13:00+00:00")) == counts(of(store))
    for words, told in (
        ("yesterday", "is not a valid time"),
        ("game 99", "game 99 does not exist; the newest is game 2"),
    ):
        with pytest.raises(UsageRefused, match=told):
            of(store, words)


def test_names(store: Store) -> None:
    """Versions are separate, combined by name or renamed; earlier selections have the names of that time."""
    log = store.create_tournament(draft())
    first = record(log, "Fruit", "Toga")
    log.accept_change({"Fruit": spec("Fruit", "abcdef0123")})
    record(log, "Fruit", "Toga")
    assert set(counts(of(store))) == {("Fruit [f1]", "Toga"), ("Fruit [abcdef01]", "Toga")}
    assert counts(of(store, by="name")) == {("Fruit", "Toga"): (2, 0, 0)}
    assert counts(of(store, f"game {first}")) == {("Fruit", "Toga"): (1, 0, 0)}
    for glob in ("Fruit [f1]", "Fruit *f1?"):
        assert counts(of(store, engines=(glob, "Toga"))) == {("Fruit [f1]", "Toga"): (1, 0, 0)}
    assert of(store, by="name").versions == {"Fruit": (1, 5), "Toga": (2,)}
    found = of(store, aliases={"Fruit [f1]": "Toga", "Fruit [abcdef01]": "Old"})
    assert counts(found) == {("Old", "Toga"): (1, 0, 0)}
    assert found.left_out == {"one engine": 1}
