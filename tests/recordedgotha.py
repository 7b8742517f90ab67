"""Recorded tournaments of a present-day Gotha program: what it knew before each round, and the field it saw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from enginetour.field import BLACK, WHITE, Field, Kind, Member, Turn

FOLDER = Path(__file__).parent / "golden" / "gotha"
POINTS = {"1-0": 2, "1/2": 1, "0-1": 0}


def recorded(name: str) -> Iterator[tuple[Field, dict[str, Any]]]:
    """The field before each round and its record, as the README beside the files tells."""
    told = json.loads((FOLDER / f"{name}.json").read_text())
    members = tuple(Member(line["name"], line["rating"], line["family"], line["origin"]) for line in told["players"])
    place = {member.name: at for at, member in enumerate(members)}
    history: tuple[tuple[Turn, ...], ...] = ()
    for state in told["states"]:
        yield Field(members, history, tuple(range(len(members))), told["rounds"]), state
        row = [Turn()] * len(members)
        for (white, black, handicap), result in zip(state["pairs"], state["results"], strict=True):
            one, other, points = place[white], place[black], POINTS[result]
            row[one] = Turn(Kind.PLAYED, other, WHITE, points, handicap, 1)
            row[other] = Turn(Kind.PLAYED, one, BLACK, 2 - points, -handicap, 1)
        if state["bye"]:
            row[place[state["bye"]]] = Turn(Kind.BYE, points=2)
        history += (tuple(row),)
