"""Laws of lists with random databases."""

from __future__ import annotations

import tempfile
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.model.game import GameVoided, Outcome
from enginetour.model.timecontrol import TIME_CLASSES
from enginetour.store.definition import ListDefinition, define_list
from enginetour.store.editions import make_edition, publish
from enginetour.store.lists import rate_selection
from enginetour.store.selection import Selection, select_games
from enginetour.store.tournaments import Store
from tests.support.databases import STORING_NAMES, bring, draft, game, record, spec

CONTROLS = ("10+0.1", "60", "180+2", "40/600", "5400+30", "nodes=1000", "depth=3", "movetime=1")
GAME = st.tuples(
    st.permutations(STORING_NAMES).map(lambda names: tuple(names[:2])),
    st.sampled_from([Outcome.WHITE, Outcome.DRAW, Outcome.BLACK, Outcome.VOID]),
    st.sampled_from(CONTROLS),
    st.sampled_from(["2026-11-01", "2026-11-02", "2026-11-03"]),
    st.sampled_from(["Ryzen", "Xeon"]),
)
IMPORTED = st.tuples(st.sampled_from([(1, 2), (2, 3), (4, 1)]), st.integers(0, 2)).map(lambda one: (*one[0], one[1]))


def played(store: Store, games: list[Any], imported: list[tuple[int, int, int]]) -> None:
    """Make a tournament and an import."""
    log = store.create_tournament(draft())
    for (white, black), outcome, control, day, hardware in games:
        record(log, white, black, outcome, tc=control, day=day, hardware=hardware)
    if imported:
        bring(store, imported, name="autumn club", tc="?")


def counted(found: Selection) -> Counter[tuple[str, str, str]]:
    """Return every result of every pair as a counter."""
    pairs, bag = found.pairs, Counter[tuple[str, str, str]]()
    for white, black, *results in zip(pairs.white, pairs.black, pairs.wins, pairs.draws, pairs.losses, strict=True):
        for word, count in zip("WDL", results, strict=True):
            bag[pairs.names[white], pairs.names[black], word] += int(count)
    return +bag


@settings(max_examples=8, deadline=None)
@given(st.lists(GAME, max_size=8), st.lists(IMPORTED, max_size=3))
def test_filters_part_the_games(games: list[Any], imported: list[tuple[int, int, int]]) -> None:
    """With filters by time class, control, machine, day or tournament, included and excluded games add up."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "t.db") as store:
        played(store, games, imported)
        whole = select_games(store, ListDefinition())
        parts: list[list[dict[str, Any]]] = [
            [{"time_classes": (name,)} for name in TIME_CLASSES],
            [{"tc": (control,)} for control in (*CONTROLS, "[?]")],
            [{"hardware": ("R*",)}, {"hardware": ("Xeon",)}],
            [{"tournaments": ("autumn",)}, {"not_tournaments": ("autumn",)}],
            [{"until": date(2026, 11, 1)}, {"since": date(2026, 11, 2)}],
        ]
        if imported:
            parts.pop(2)  # imported games have no machine
        for classes in parts:
            found = [select_games(store, ListDefinition(**part)) for part in classes]
            assert sum((counted(one) for one in found), Counter()) == counted(whole)
            for one in found:
                assert one.games + sum(one.left_out.values()) == whole.games


@settings(max_examples=6, deadline=None)
@given(
    st.lists(GAME, min_size=1, max_size=6),
    st.lists(GAME, max_size=4),
    st.lists(IMPORTED, max_size=2),
    st.sampled_from([{}, {"time_classes": ("bullet", "blitz", "nodes")}, {"by": "name"}, {"system": "elo"}]),
    st.booleans(),
)
def test_an_edition_comes_out_again(
    first: list[Any], later: list[Any], imported: list[tuple[int, int, int]], parts: dict[str, Any], struck: bool
) -> None:
    """An edition can be computed again for its last games, with the same numbers, after later games and annulments."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "t.db") as store:
        played(store, first, imported)
        definition = ListDefinition(**parts)
        define_list(store, "all", definition)
        if not rate_selection(store, select_games(store, definition)).rows:
            return
        made = publish(store, "all")
        log = store.tournament("autumn")
        standing = next((line for line in log.games(counting=True)), None)
        if struck and standing is not None:
            pairing = game(standing.white, standing.black, meeting=standing.meeting).pairing
            log.record_event(GameVoided(pairing, standing.outcome), why="law")
        log.accept_change({name: spec(name, "another") for name in STORING_NAMES[:2]})
        for (white, black), outcome, control, day, _ in later:
            record(log, white, black, outcome, tc=control, day=day)
        again = select_games(store, definition, made.moment)
        found = make_edition("all", 1, again, rate_selection(store, again))
        assert found.numbers() == made.numbers()
