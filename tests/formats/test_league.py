"""League: places of a season, promotion and relegation, as laws over random leagues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.formats.league import (
    Entry,
    Move,
    Rules,
    Season,
    SeasonResult,
    first_season,
    next_season,
    playoff_pairs,
    zones,
)


@st.composite
def rules_of_leagues(draw: st.DrawFn) -> Rules:
    """Return valid rules of a small league."""
    tiers = draw(st.integers(1, 4))
    names = tuple(draw(st.sampled_from(["ABCD", "EFGH"]))[:tiers])
    sizes = tuple(draw(st.lists(st.integers(2, 6), min_size=tiers, max_size=tiers)))
    promote = tuple(draw(st.lists(st.integers(0, 2), min_size=tiers - 1, max_size=tiers - 1)))
    playoff = (draw(st.integers(0, 1)),) * (tiers - 1)
    new: Entry = draw(st.sampled_from(get_args(Entry)))
    rules = Rules(names, sizes, promote, playoff, new, draw(st.integers(0, 2)))
    while rules.fault()[0]:
        rules = Rules(names, sizes, (0,) * (tiers - 1), (0,) * (tiers - 1), new, min(rules.entries, 2))
    return rules


@dataclass
class Played:
    """A league in which seasons are played with random results."""

    rules: Rules
    season: Season
    engines: list[str]

    def result(self, draw: Callable[..., Any], names: count[int]) -> SeasonResult:
        """Return random tables; some engines leave, and a reserve takes some of their places.

        Others leave in matches after the divisions have ended, and are still in the table.
        """
        season, left, tables = self.season, dict[str, str](), list[tuple[str, ...]]()
        for division in season.divisions:
            table = list(draw(st.permutations(division)))
            if len(table) > 2 and draw(st.booleans()):
                left[table.pop()] = "3 crashes"
                if draw(st.booleans()):
                    table.insert(0, f"reserve{next(names)}")
                    self.engines.append(table[0])
            if len(table) > 2 and draw(st.booleans()):
                left[draw(st.sampled_from(table))] = "2 stalls"
            tables.append(tuple(table))
        playoffs = {
            border: [(*pair, draw(st.booleans())) for pair in playoff_pairs(self.rules, tables, border)]
            for border in range(len(tables) - 1)
        }
        return SeasonResult(tuple(tables), playoffs, left)


def settled(draw: Callable[..., Any], season: Season) -> Season:
    """Return the season after a qualifier with a random table."""
    return season.settled(draw(st.permutations(season.qualifier))) if season.qualifier else season


@given(st.data())
def test_a_season_follows_from_the_season_before(data: st.DataObject) -> None:
    """In every season, each engine has one place, divisions have their sizes, and moves lead to these places."""
    rules, names = data.draw(rules_of_leagues()), count()
    engines = [f"e{number}" for number in range(sum(rules.sizes) + data.draw(st.integers(0, 4)))]
    first = first_season(rules, engines, qualifier=data.draw(st.booleans()))
    league = Played(rules, settled(data.draw, first), engines)
    ratings = dict.fromkeys(engines, 2000.0)
    for _ in range(data.draw(st.integers(1, 4))):
        before, league.rules = league.season, rules
        result = league.result(data.draw, names)
        ratings |= dict.fromkeys((name for table in result.tables for name in table), 2000.0)
        versions: dict[str, str] = {}
        rules = data.draw(st.one_of(st.just(rules), rules_of_leagues()))
        lacking = len(result.left) + max(0, sum(rules.sizes) - sum(league.rules.sizes))
        for _ in range(lacking + data.draw(st.integers(0, 2))):
            engines.append(f"new{next(names)}")
            ratings[engines[-1]] = data.draw(st.sampled_from([1900.0, 2100.0]))
        for old in data.draw(st.lists(st.sampled_from(engines), max_size=2, unique=True)):
            engines.append(f"new{next(names)}")
            versions[engines[-1]] = old
            ratings[engines[-1]] = 2000.0
        here = set(engines) - set(result.left) - set(versions.values())
        if len(here) > sum(rules.sizes) and data.draw(st.booleans()):
            engines.remove(data.draw(st.sampled_from(sorted(here))))
        known = before, result, engines
        made = next_season(rules, *known, before=league.rules, versions=versions, ratings=ratings)
        again = next_season(rules, *known, before=league.rules, versions=versions, ratings=ratings)
        assert made == again
        assert max(Counter(made.engines).values()) == 1, "each engine has one place"
        assert not set(made.engines) - set(engines), "all of them are in the file"
        assert not set(made.engines) & set(result.left), "those that left do not come back"
        assert tuple(map(len, made.divisions)) == tuple(
            size - places for size, places in zip(rules.sizes, made.open, strict=True)
        )
        if made.qualifier:
            assert len(made.qualifier) > sum(made.open) > 0
        _check_moves(league.rules, rules, before, result, made, versions)
        league.season = settled(data.draw, made)
        assert tuple(map(len, league.season.divisions)) == rules.sizes


def _check_moves(
    old: Rules, rules: Rules, before: Season, result: SeasonResult, made: Season, versions: dict[str, str]
) -> None:
    """Check that each change of a place has one move with the right divisions, and that other engines have none."""
    where_now = {name: tier for tier, division in enumerate(made.divisions) for name in division}
    where_then = {name: tier for tier, table in enumerate(result.tables) for name in table}
    moves = {move.engine: move for move in made.moves}
    assert len(moves) == len(made.moves)
    old_of = {new: old for new, old in versions.items() if new in moves and moves[new].why.startswith("new version")}
    for name, tier in where_now.items():
        then = where_then.get(old_of.get(name, name))
        if then != tier or name in old_of:
            move = moves[name]
            assert move.target == rules.names[tier]
            assert move.source == ("" if then is None else old.names[then])
            kinds = {"enters"} if then is None else {"promoted"} if tier < then else {"relegated"}
            assert move.kind in (kinds if then != tier else {"version"})
        else:
            assert name not in moves
    for name, move in moves.items():
        assert move.why
        if name not in made.engines:
            assert move.kind == "leaves"
    for tier, table in enumerate(result.tables if rules.sizes == old.sizes else ()):
        meaning = dict(zip(table, zones(old, result.tables, tier), strict=True))
        for name, zone in meaning.items():
            if zone == "promotion" and name in where_now and name not in versions.values():
                assert where_now[name] <= tier
            if zone == "relegation" and name in where_now:
                assert where_now[name] >= tier
    replaced = set(versions.values()) & where_then.keys()
    leaving = set(result.left) & {name for division in before.divisions for name in division} - replaced
    assert {(move.engine, move.why) for move in made.moves if move.kind == "leaves"} >= {
        (name, result.left[name]) for name in leaving
    }


def test_promotion_and_relegation() -> None:
    """The last of a table and the first of the table below change places; a playoff decides the next places."""
    rules = Rules(("A", "B"), (4, 4), (1,), (1,), entries=0)
    season = first_season(rules, [*"abcdefgh"])
    tables = (("a", "b", "c", "d"), ("e", "f", "g", "h"))
    assert playoff_pairs(rules, tables, 0) == (("c", "f"),)
    won = next_season(rules, season, SeasonResult(tables, {0: [("c", "f", True)]}), [*"abcdefgh"])
    assert won.divisions == (("a", "b", "e", "f"), ("c", "d", "g", "h"))
    lost = next_season(rules, season, SeasonResult(tables, {0: [("c", "f", False)]}), [*"abcdefgh"])
    assert lost.divisions == (("a", "b", "c", "e"), ("d", "f", "g", "h"))
    assert [(move.engine, move.kind, move.why) for move in lost.moves] == [
        ("d", "relegated", "place 4 of A"),
        ("e", "promoted", "place 1 of B"),
    ]
    assert zones(rules, tables, 0) == ["", "", "playoff against relegation", "relegation"]
    assert zones(rules, tables, 1) == ["promotion", "playoff for promotion", "", ""]


def test_rules_change_between_seasons() -> None:
    """The rules of a season decide who moves at its end; sizes and names are those of the new season."""
    before = Rules(("A", "B"), (3, 3), (1,), (1,), entries=0)
    season = first_season(before, [*"abcdef"])
    result = SeasonResult((tuple("abc"), tuple("def")), {0: [("b", "e", False)]})
    now = Rules(("Top", "Low"), (4, 2), (2,), (0,), entries=0)
    made = next_season(now, season, result, [*"abcdef"], before=before)
    assert made.divisions == (("a", "b", "d", "e"), ("c", "f"))
    assert [(move.engine, move.source, move.target, move.why) for move in made.moves] == [
        ("c", "A", "Low", "place 3 of A"),
        ("d", "B", "Top", "place 1 of B"),
        ("e", "B", "Top", "place 2 of B, and Top had a free place"),
    ]
    same = next_season(replace(now, sizes=(3, 3)), season, result, [*"abcdef"], before=before)
    assert same.divisions == (("a", "b", "d"), ("c", "e", "f")), "e has lost the playoff"


def test_a_division_is_added() -> None:
    """The waiting engines play in it, after the last of the division above if that has fewer places now."""
    before = Rules(("A", "B"), (2, 2), (1,), (0,))
    season = first_season(before, [*"abcdefg"])
    result, now = SeasonResult((("a", "b"), ("c", "d"))), Rules(("A", "B", "C"), (2, 2, 2), (1, 1), (0, 0))
    made = next_season(now, season, result, [*"abcdefg"], before=before)
    assert (made.divisions, made.waiting) == ((("a", "c"), ("b", "d"), ("e", "f")), ("g",))
    assert made.moves[-1] == Move("f", "enters", "", "C", "next of the waiting engines")
    larger = next_season(replace(now, sizes=(2, 1, 3)), season, result, [*"abcdefg"], before=before)
    assert larger.divisions == (("a", "c"), ("b",), ("d", "e", "f"))
    assert [move.why for move in larger.moves if move.kind == "enters"] == [
        "first of the waiting engines",
        "next of the waiting engines",
    ]
    assert Move("d", "relegated", "B", "C", "B has 1 place") in larger.moves
    rated = next_season(
        replace(now, new="rating"), season, result, [*"abcdefgh"], before=before, ratings={"a": 1.0, "c": 2.0, "h": 3.0}
    )
    assert rated.divisions == (("a", "c"), ("b", "h"), ("d", "e"))


def test_a_division_is_removed() -> None:
    """Its first engines are promoted and fill free places; the others wait, before those that waited already."""
    before = Rules(("A", "B", "C"), (2, 2, 3), (1, 1), (0, 0))
    season = first_season(before, [*"abcdefgh"])
    result, now = SeasonResult((("a", "b"), ("c", "d"), ("e", "f", "g"))), Rules(("A", "B"), (2, 3), (1,), (0,))
    made = next_season(now, season, result, [*"abcdefgh"], before=before)
    assert (made.divisions, made.waiting) == ((("a", "c"), ("b", "e", "f")), ("d", "g", "h"))
    assert {move.engine: (move.kind, move.source, move.target, move.why) for move in made.moves} == {
        "b": ("relegated", "A", "B", "place 2 of A"),
        "c": ("promoted", "B", "A", "place 1 of B"),
        "d": ("waits", "B", "", "place 2 of B; its division has been removed"),
        "e": ("promoted", "C", "B", "place 1 of C"),
        "f": ("promoted", "C", "B", "place 2 of C, and B had a free place"),
        "g": ("waits", "C", "", "its division has been removed"),
    }
    assert next_season(now, made, SeasonResult(made.divisions), [*"abcdefgh"]).engines  # the league continues


def test_no_engine_plays_for_promotion_and_against_relegation() -> None:
    """If engines left a division, an engine that may move up is not in the zone of relegation, too."""
    rules = Rules(("A", "B", "C"), (3, 3, 3), (1, 0), (1, 1), entries=0)
    tables = (tuple("abc"), tuple("de"), tuple("ghi"))
    assert playoff_pairs(rules, tables, 0) == (("b", "e"),)
    assert playoff_pairs(rules, tables, 1) == ()
    assert zones(rules, tables, 1) == ["promotion", "playoff for promotion"]
    full = (*tables[:1], tuple("def"), *tables[2:])
    assert zones(rules, full, 1) == ["promotion", "playoff for promotion", "playoff against relegation"]


def test_a_playoff_without_an_opponent_is_not_a_zone() -> None:
    """If the division below has too few engines for all playoffs, the others above stay without a playoff."""
    rules = Rules(("A", "B"), (5, 3), (1,), (3,), entries=0)
    tables = (tuple("abcde"), tuple("fgh"))
    assert playoff_pairs(rules, tables, 0) == (("c", "h"), ("d", "g"))
    assert zones(rules, tables, 0) == ["", "", "playoff against relegation", "playoff against relegation", "relegation"]
    assert zones(rules, tables, 1) == ["promotion", "playoff for promotion", "playoff for promotion"]


def test_a_table_changes_after_a_playoff() -> None:
    """If a game is replayed after the playoffs, an engine that won one can be the last of its table: it moves up."""
    rules = Rules(("A", "B", "C"), (2, 3, 2), (0, 1), (1, 0), entries=0)
    season = first_season(rules, [*"abcdefg"])
    result = SeasonResult((tuple("ab"), tuple("dec"), tuple("fg")), {0: [("b", "c", True)]})
    made = next_season(rules, season, result, [*"abcdefg"])
    assert made.divisions == (("a", "c"), ("b", "d", "f"), ("e", "g"))


def test_a_free_place_above_engines_that_all_change_their_division() -> None:
    """If all engines of a division were relegated, the best of those that were promoted into it fills a free place."""
    rules = Rules(("A", "B", "C"), (2, 2, 2), (0, 2), (0, 0), entries=0)
    season = first_season(rules, [*"abcdefg"])
    made = next_season(rules, season, SeasonResult((tuple("ab"), tuple("cd"), tuple("ef"))), [*"acdefg"])
    assert made.divisions == (("a", "e"), ("f", "c"), ("d", "g"))
    over = next_season(rules, season, SeasonResult((tuple("a"), tuple("cd"), tuple("ef"))), [*"acdefg"])
    assert over.divisions == made.divisions


def test_an_engine_that_waited_was_added_to_a_division() -> None:
    """An engine that waited and was added to a tournament has one place in the next season."""
    rules = Rules(("A", "B"), (2, 2), (0,), (0,), entries=0)
    season = first_season(rules, [*"abcde"])
    made = next_season(rules, season, SeasonResult((("a", "b"), ("c", "e", "d"))), [*"abcde"])
    assert (made.divisions, made.waiting) == ((("a", "b"), ("c", "e")), ("d",))


def test_the_best_upper_engine_meets_the_last_lower_engine() -> None:
    """With two playoffs at a border, the engine with the better place has the easier opponent."""
    rules = Rules(("A", "B"), (4, 4), (0,), (2,))
    assert playoff_pairs(rules, (tuple("abcd"), tuple("efgh")), 0) == (("c", "f"), ("d", "e"))


def test_an_engine_that_left_is_the_last_of_its_table() -> None:
    """If an engine left a division, one engine less is relegated, and the next engine below fills a free place."""
    rules = Rules(("A", "B"), (3, 3), (1,), (0,), entries=0)
    season = first_season(rules, [*"abcdef", "g"])
    made = next_season(rules, season, SeasonResult((("a", "b"), tuple("def")), {}, {"c": "crashes"}), [*"abcdefg"])
    assert made.divisions == (("a", "b", "d"), ("e", "f", "g"))
    two = next_season(
        Rules(("A", "B"), (3, 3), (0,), (0,)),
        season,
        SeasonResult((("a", "b"), tuple("def")), {}, {"c": "crashes"}),
        [*"abcdefg"],
    )
    assert two.divisions[0] == ("a", "b", "d")
    assert [move.why for move in two.moves if move.engine == "d"] == ["place 1 of B, and A had a free place"]


def test_new_engines() -> None:
    """New engines enter at the bottom, by a qualifier, or in the division with the nearest mean rating."""
    bottom = Rules(("A", "B"), (2, 2), (0,), (0,), entries=1)
    season = first_season(bottom, [*"abcd"])
    result = SeasonResult((("a", "b"), ("c", "d")))
    made = next_season(bottom, season, result, [*"abcd", "n", "m"])
    assert (made.divisions, made.waiting) == ((("a", "b"), ("c", "n")), ("m", "d"))
    by_match = next_season(Rules(("A", "B"), (2, 2), (0,), (0,), "qualifier", 1), season, result, [*"abcd", "n"])
    assert (by_match.divisions, by_match.open) == ((("a", "b"), ("c",)), (0, 1))
    assert by_match.qualifier == ("d", "n")
    assert [(move.engine, move.kind, move.why) for move in by_match.moves] == [
        ("d", "waits", "plays the qualifier for B")
    ]
    first = first_season(Rules(("A", "B"), (2, 2), (0,), (0,), "qualifier", 1), [*"abcde"])
    assert [move.engine for move in first.moves] == [*"abc"]
    assert by_match.settled(["n", "d"]).divisions == (("a", "b"), ("c", "n"))
    ratings = {"a": 3000.0, "b": 3000.0, "c": 2000.0, "d": 2000.0, "n": 2900.0}
    by_rating = Rules(("A", "B"), (2, 2), (0,), (0,), "rating", 0)
    rated = next_season(by_rating, season, result, [*"abcd", "n"], ratings=ratings)
    assert (rated.divisions, rated.waiting) == ((("n", "a"), ("b", "c")), ("d",))


def test_a_new_version_has_the_place_of_its_predecessor() -> None:
    """A new version is relegated or promoted in place of its predecessor, and a first version does not return."""
    rules = Rules(("A", "B"), (2, 2), (1,), (0,), entries=0)
    season = first_season(rules, [*"abcd"])
    result = SeasonResult((("a", "b"), ("c", "d")))
    made = next_season(rules, season, result, [*"abcd", "b2"], versions={"b2": "b"})
    assert made.divisions == (("a", "c"), ("b2", "d"))
    assert [(move.kind, move.why) for move in made.moves if move.engine == "b2"] == [
        ("relegated", "new version of b; place 2 of A")
    ]
    assert "b" not in made.engines
    played = SeasonResult((("a", "b"), ("c", "d")), {0: [("b", "c", True)]})
    made = next_season(
        replace(rules, promote=(0,)), season, played, [*"abcd", "b2", "c2"], versions={"b2": "b", "c2": "c"}
    )
    assert {move.engine: move.why for move in made.moves} == {
        "b2": "new version of b; lost the playoff against c",
        "c2": "new version of c; won the playoff against b",
    }


def test_faults() -> None:
    """Rules that contradict each other, missing engines and missing ratings are errors with their values."""
    assert Rules(("A", "B", "C"), (4, 3, 4), (1, 1), (1, 1), entries=1).fault() == (
        "2 engines of B may move up and 2 may move down, but its size is 3",
        1,
    )
    rules = Rules(("A", "B"), (2, 2), (0,), (0,), "rating")
    with pytest.raises(ValueError, match=r"need 4 engines \(found 3\)"):
        first_season(rules, [*"abc"])
    season = first_season(rules, [*"abcd"])
    result = SeasonResult((("a", "b"), ("c", "d")))
    with pytest.raises(ValueError, match=r"need 4 engines \(found 3\)"):
        next_season(rules, season, result, [*"abc"])
    with pytest.raises(ValueError, match=r'"rating" needs a rating in each division \(missing: A\)'):
        next_season(rules, season, result, [*"abcd", "n"], ratings={"n": 2000.0, "c": 1.0})
    with pytest.raises(ValueError, match=r"A was division 1 and is now division 2. Hint: restore the order"):
        next_season(Rules(("B", "A"), (2, 2), (0,), (0,)), season, result, [*"abcd"], before=rules)


def test_too_few_engines_name_those_that_left() -> None:
    """If engines are missing for a season, those that left are named with their divisions and the reasons."""
    rules = Rules(("A", "B"), (2, 2), (0,), (0,), entries=0)
    season = first_season(rules, [*"abcde"])
    result = SeasonResult((("a",), ("c", "d")), {}, {"b": "3 crashes"})
    with pytest.raises(ValueError, match="left") as error:
        next_season(rules, season, result, [*"abdz"], barred={"z": "left the league in an earlier season"})
    assert str(error.value) == (
        "the divisions need 4 engines (found 2): b left A (3 crashes), c left B (it is not an entrant of the league "
        "any more), e left the engines that wait (it is not an entrant of the league any more), z left the league in "
        "an earlier season. Hint: add entrants, such as new versions with other names, or reduce sizes"
    )
