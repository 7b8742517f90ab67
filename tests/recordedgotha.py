"""Recorded tournaments of a present-day Gotha program: what it knew before each round, and the field it saw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from enginetour.formats.pairing.field import BLACK, WHITE, Field, Kind, Member, Turn

FOLDER = Path(__file__).parent / "golden" / "gotha"
POINTS = {"1-0": 2, "1/2": 1, "0-1": 0}


def read(name: str) -> dict[str, Any]:
    """A tournament as it was recorded; what is in it, the README beside the files tells."""
    told: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return told


def turns(told: dict[str, Any], state: dict[str, Any]) -> tuple[Turn, ...]:
    """A round, in the order of the members."""
    place = {line["name"]: at for at, line in enumerate(told["players"])}
    row = [Turn()] * len(place)
    for (white, black, handicap), result in zip(state["pairs"], state["results"], strict=True):
        one, other, points = place[white], place[black], POINTS[result]
        row[one] = Turn(Kind.PLAYED, other, WHITE, points, handicap, 1)
        row[other] = Turn(Kind.PLAYED, one, BLACK, 2 - points, -handicap, 1)
    if state["bye"]:
        row[place[state["bye"]]] = Turn(Kind.BYE, points=2)
    return tuple(row)


def recorded(name: str) -> Iterator[tuple[Field, dict[str, Any]]]:
    """The field before each round, and its record."""
    told = read(name)
    members = tuple(Member(line["name"], line["rating"], line["family"], line["origin"]) for line in told["players"])
    history: tuple[tuple[Turn, ...], ...] = ()
    for state in told["states"]:
        yield Field(members, history, tuple(range(len(members))), told["rounds"]), state
        history += (turns(told, state),)
