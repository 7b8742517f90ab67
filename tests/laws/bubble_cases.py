"""Random bubble cases, and the invariants of every trace (P1-P13 of the format's page)."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

from tests.laws.bubble_oracle import POINTS

STYLES = ("strength", "noise", "draws", "right order", "reversed", "cycle", "newcomers", "nearly level")


def random_case(seed: int, longest: int = 40) -> dict[str, Any]:
    """Return a case of up to `longest` engines, always the same for a seed."""
    dice = random.Random(seed)
    size = dice.randint(2, 12)
    count = dice.choice([dice.randint(0, longest), dice.randint(0, longest), size, size + 1, dice.randint(0, 2)])
    minimum = dice.choice([0, 1000, dice.randint(0, 3 * size), dice.randint(0, 3 * size), size])
    threshold = dice.choice([0, size - 1, dice.randint(0, size - 1)])
    games = dice.choice([1, 1, 2, 4])
    names = [f"E{number:02}" for number in range(count)]
    style = dice.choice(STYLES)
    strength = [number * dice.choice([0, 40, 100]) + dice.gauss(0, 150) for number in range(count)]
    matrices = [[["-"] * count for _ in names] for _ in range(games)]
    for matrix in matrices:
        for i, j in combinations(range(count), 2):
            sign = _sign(dice, style, strength[j] - strength[i], i, j, count)
            matrix[i][j], matrix[j][i] = sign, {"1": "0", "=": "=", "0": "1"}[sign]
    leavers = dice.sample(names, dice.choice([0, 0, 0, 1, 2, count // 3, count]) if count > 1 else 0)
    most = 1 + games * count * (count - 1) // 2
    after = sorted(dice.choice([0, dice.randint(0, most), dice.randint(0, most // 2)]) for _ in leavers)
    dice.shuffle(after)
    return {
        "format": "enginetour-bubble-case/1",
        "name": f"random-{seed}",
        "note": style,
        "params": {
            "size": size,
            "min_matches": minimum,
            "unpark_threshold": threshold,
            "games_per_pairing": games,
        },
        "ranking": names,
        "withdrawals": [{"engine": e, "after_games": a} for e, a in zip(leavers, after, strict=True)],
        "results": [["".join(row) for row in matrix] for matrix in matrices],
    }


def _sign(dice: random.Random, style: str, gap: float, i: int, j: int, count: int) -> str:
    """Return the result of i against j, where i is below j in the list and j is stronger by `gap`."""
    match style:
        case "draws":
            return "="
        case "right order":
            return "0"
        case "reversed":
            return "1"
        case "cycle":
            return "1" if (j - i) % 3 == 1 else "0"
        case "newcomers" if i < count // 3 and j >= count // 3:
            return "1"
        case "noise":
            return dice.choice("1=0")
        case "nearly level":
            return dice.choice("=======10")
    level = 1 / (1 + 10 ** (gap / 400))
    return "=" if dice.random() < 0.3 else "1" if dice.random() < level else "0"


def check_invariants(case: dict[str, Any], trace: dict[str, Any]) -> None:
    """Check P1-P13; AssertionError names the one that is violated."""
    names, params = case["ranking"], case["params"]
    size, games = params["size"], params["games_per_pairing"]
    place = {name: number for number, name in enumerate(names)}
    met: dict[str, set[str]] = {name: set() for name in names}
    score: dict[tuple[str, str], list[str]] = {}
    played: set[tuple[str, str, int]] = set()
    started = {w["engine"] for step in trace["steps"][:1] for w in step["withdrawals"] if w["after_games"] == 0}
    old = [name for name in names if name not in started]
    first = old[:size]
    parked: list[str] = []
    ranked: list[str] = []
    section: set[str] = set()
    total = 0
    assert sorted(trace["ranking"] + trace["withdrawn"]) == sorted(names), "P1"
    for number, step in enumerate(trace["steps"]):
        if number == 0:
            assert [e["engine"] for e in step["entered"]] == first, "P2"
            section, old = set(first), old[size:]
        for entry in step["entered"] if number else []:
            _check_entry(entry, section, old, parked, met, params)
        members = set(section)
        for w in step["withdrawals"]:
            name = w["engine"]
            assert (w["was"] == "ranked") == (name in ranked), "section 3"
            for group in (old, parked):
                if name in group:
                    group.remove(name)
            if name in section:
                section.discard(name)
                if w["replacement"]:
                    # finished matches of this step do not count outside of the section
                    _check_entry(w["replacement"], section, old, parked, met, params, told_only=True)
                else:
                    assert not old and not parked, "a replacement enters while there is one"
            members |= section
        for white, black, game, result in step["games"]:
            assert {white, black} <= members, "P3"
            pair = (min(white, black), max(white, black))
            assert 1 <= game <= games and (*pair, game) not in played, "P4"
            played.add((*pair, game))
            sign = {"1-0": "1", "1/2-1/2": "=", "0-1": "0"}[result]
            assert case["results"][game - 1][place[white]][place[black]] == sign, "results"
            score.setdefault((white, black), []).append(sign)
            score.setdefault((black, white), []).append({"1": "0", "=": "=", "0": "1"}[sign])
            if len(score[white, black]) == games:
                met[white].add(black)
                met[black].add(white)
        total += len(step["games"])
        assert step["games_total"] == total, "P5"
        assert set(step["active"]) == section, "P6"
        assert all(b in met[a] for a, b in combinations(section, 2)), "P6"
        if old or parked:
            assert len(section) == size, "P6"
        _check_table(step, section, score, place)
        _check_decision(step, section, old, parked, ranked, met, params)
    assert len(trace["steps"]) <= 2 * len(names) + len(names) * (len(names) - 1) // 2 + 1, "P13"
    if len(names) > size and not case["withdrawals"]:
        low = size * (size - 1) // 2 + (len(names) - size) * (size - 1)
        assert low * games <= total <= games * len(names) * (len(names) - 1) // 2, "P13"


def _check_entry(
    entry: dict[str, Any],
    section: set[str],
    old: list[str],
    parked: list[str],
    met: dict[str, set[str]],
    params: dict[str, int],
    *,
    told_only: bool = False,
) -> None:
    known = {name: len(met[name] & section) for name in parked}
    if old:
        few = [name for name in parked if known[name] < params["unpark_threshold"]]
        expected = (few[0], "parked", 4) if few else (old[0], "list", 5)
    else:
        expected = (min(parked, key=lambda name: known[name]), "parked", 8)
    assert (entry["engine"], entry["from"], entry["rule"]) == expected, "P7"
    assert entry["met"] == known.get(entry["engine"], 0), "P7"
    assert entry["met"] + entry["to_play"] == len(section), "P7"
    (parked if entry["from"] == "parked" else old).remove(entry["engine"])
    section.add(entry["engine"])
    assert told_only or len(section) == params["size"], "P6"


def _check_table(
    step: dict[str, Any], section: set[str], score: dict[tuple[str, str], list[str]], place: dict[str, int]
) -> None:
    def got(a: str, b: str) -> float:
        return float(sum(POINTS[sign] for sign in score.get((a, b), [])))

    points = {a: sum(got(a, b) for b in section if b != a) for a in section}
    keys = []
    for name, told, berger in step["table"]:
        assert told == points[name], "P8"
        assert berger == sum(got(name, b) * points[b] for b in section if b != name), "P8"
        tied = [n for n, t, s in step["table"] if (t, s) == (told, berger) and n != name]
        keys.append((told, berger, sum(got(name, b) for b in tied), place[name]))
    assert keys == sorted(keys, reverse=True) and len(keys) == len(section), "P8"


def _check_decision(
    step: dict[str, Any],
    section: set[str],
    old: list[str],
    parked: list[str],
    ranked: list[str],
    met: dict[str, set[str]],
    params: dict[str, int],
) -> None:
    decision, order = step["decision"], [row[0] for row in step["table"]]
    assert (decision["action"] == "finish") == (not old and not parked), "P9"
    if decision["action"] == "finish":
        assert decision["engine"] == (order[0] if order else None), "P9"
        return
    last = order[-1]
    assert (decision["last"], decision["last_matches"]) == (last, len(met[last])), "P10"
    enough = len(met[last]) >= params["min_matches"]
    assert enough == (decision["reason"] == "last_has_min_matches"), "P10"
    leaver = last if decision["action"] == "drop" else order[0]
    assert decision["engine"] == leaver, "P10"
    if decision["reason"] == "last_has_met_all_left":
        assert not old and (section | set(parked)) - {last} <= met[last], "P11"
    if decision["action"] == "drop":
        ranked.append(leaver)
    else:
        parked.append(leaver)
    section.discard(leaver)
    assert [name for name in parked if name in step["parked"]] == step["parked"], "P12"
    # Only the first engine of the queue has left it.
    assert len(parked) - len(step["parked"]) in (0, 1), "P12"
