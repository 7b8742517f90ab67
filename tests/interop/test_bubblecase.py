"""Bubble cases and traces as JSON."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from enginetour.interop.bubblecase import read_case
from enginetour.model.errors import InputRefused
from enginetour.model.game import Outcome, Pairing

GOOD: dict[str, Any] = {
    "format": "enginetour-bubble-case/1",
    "name": "three",
    "note": "",
    "params": {"size": 2, "min_matches": 2, "unpark_threshold": 1, "games_per_pairing": 2},
    "ranking": ["A", "B", "C"],
    "withdrawals": [{"engine": "B", "after_games": 3}],
    "results": [["-10", "0-=", "1=-"], ["-=1", "=-1", "00-"]],
}


def _set(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def change(case: dict[str, Any]) -> None:
        spot: Any = case
        for key in path[:-1]:
            spot = spot[key]
        spot[path[-1]] = to

    return change


def _drop(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda case: case.pop(key)


def test_a_good_case_is_read() -> None:
    """Text, bytes and JSON data give the same case; results do not depend on color."""
    case = read_case(json.dumps(GOOD))
    assert case == read_case(json.dumps(GOOD).encode()) == read_case({**GOOD, "expected": 5})
    assert case.ranking == ("A", "B", "C") and case.options.size == 2
    assert case.outcome(Pairing("A", "B")) is Outcome.WHITE
    assert case.outcome(Pairing("B", "A")) is Outcome.BLACK
    assert case.outcome(Pairing("C", "A", 1, 2)) is Outcome.BLACK
    assert case.outcome(Pairing("C", "B", 1, 1)) is Outcome.DRAW


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_set("format", to="enginetour-bubble-case/2"), "format"),
        (_drop("format"), "format"),
        (_set("rankings", to=[]), "unknown key 'rankings'"),
        (_drop("params"), "params is missing"),
        (_drop("ranking"), "ranking is missing"),
        (_drop("results"), "results is missing"),
        (_set("name", to=7), "name"),
        (_set("params", to=[]), "params"),
        (_set("params", "size", to=1), "params.size"),
        (_set("params", "size", to=True), "params.size"),
        (_set("params", "size", to="2"), "params.size"),
        (_set("params", "min_matches", to=-1), "params.min_matches"),
        (_set("params", "min_matches", to=1.5), "params.min_matches"),
        (_set("params", "unpark_threshold", to=2), "params.unpark_threshold"),
        (_set("params", "games_per_pairing", to=3), "params.games_per_pairing"),
        (_set("params", "games", to=1), "params.games"),
        (_set("ranking", to="ABC"), "ranking"),
        (_set("ranking", 1, to=2), r"ranking\.2"),
        (_set("ranking", 1, to=""), r"ranking\.2"),
        (_set("ranking", 2, to="A"), r"ranking\.3: 'A' is in the ranking twice"),
        (_set("withdrawals", to={}), "withdrawals"),
        (_set("withdrawals", 0, to="B"), r"withdrawals\.1"),
        (_set("withdrawals", 0, "engine", to="Z"), r"withdrawals\.1\.engine: 'Z' is not in the ranking"),
        (_set("withdrawals", 0, "engine", to=None), r"withdrawals\.1\.engine"),
        (_set("withdrawals", 0, "after_games", to=-1), r"withdrawals\.1\.after_games"),
        (_set("withdrawals", 0, "after_games", to=True), r"withdrawals\.1\.after_games"),
        (_set("withdrawals", 0, "when", to=1), r"unknown key 'withdrawals\.1\.when'"),
        (_set("withdrawals", 0, to={"engine": "B"}), r"withdrawals\.1\.after_games is missing"),
        (_set("withdrawals", to=GOOD["withdrawals"] * 2), r"withdrawals\.2\.engine: 'B' is withdrawn twice"),
        (_set("results", to=GOOD["results"][:1]), "results: expected 2 matrices"),
        (_set("results", to="-10"), "results"),
        (_set("results", 0, to="-10"), r"results\.1"),
        (_set("results", 0, to=["-10", "0-="]), r"results\.1: expected 3 rows"),
        (_set("results", 1, 1, to="=-"), r"results\.2\.2"),
        (_set("results", 1, 1, to=5), r"results\.2\.2"),
        (_set("results", 0, 0, to="-x0"), r"results\.1\.1: character 2 must be one of '1=0'"),
        (_set("results", 0, 0, to="110"), r"results\.1\.1: character 1"),
        (_set("results", 0, 0, to="--0"), r"results\.1\.1: character 2"),
        (_set("results", 0, 1, to="1-="), r"results\.1\.2: B - A is '1', but A - B is '1'"),
    ],
)
def test_bad_cases_are_refused_by_name(change: Callable[[dict[str, Any]], None], named: str) -> None:
    """An invalid case raises an error with file and field."""
    case = json.loads(json.dumps(GOOD))
    change(case)
    with pytest.raises(InputRefused, match=named) as refusal:
        read_case(json.dumps(case), "cases/three.json")
    assert refusal.value.place.startswith("cases/three.json")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ('{\n "format": }', "bad.json:2", "not valid JSON"),
        ("[]", "bad.json", "found list"),
        (b"\xff\xfe{", "bad.json", "UTF-8|JSON"),
        ('{"name": "a", "name": "b"}', "bad.json", "name: the key appears twice"),
        ("[" * 100_000, "bad.json", "nested"),
    ],
)
def test_what_is_no_json_object_is_refused(text: str | bytes, place: str, what: str) -> None:
    """Text that is not a JSON object raises an error with its line."""
    with pytest.raises(InputRefused, match=what) as refusal:
        read_case(text, "bad.json")
    assert refusal.value.place == place
