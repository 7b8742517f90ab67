"""The bubble's story as text: each round robin with its table, who left and why, and both rankings at the end."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from enginetour.model import Note, Placed
from enginetour.reports.sheet import Column, Sheet, points, render, safe
from enginetour.reports.text import standings

_DECIDES = ("park", "drop", "finish")
_TEXT_WIDTH = 78


def steps(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """One entry a round robin, JSON-ready: who entered, the table in points, the decision in words."""
    found: dict[int, dict[str, Any]] = {}
    for note in notes:
        told: dict[str, Any] = dict(note.fields)
        step = found.setdefault(told["step"], {"step": told["step"], "told": [], "table": [], "decision": None})
        if note.kind in _DECIDES:
            step["table"] = [
                {"engine": name, "points": half / 2, "sonneborn_berger": quarters / 4}
                for name, half, quarters in told["table"]
            ]
            step["decision"] = {"action": told["action"], "engine": told["engine"], "reason": told["reason"]}
            step["games_total"] = told["games_total"]
        step["told"].append(note.text)
    return list(found.values())


def text(title: str, notes: Sequence[Note], ranking: Sequence[Placed], by_rating: Sequence[str]) -> str:
    """The whole ladder, then the drop-out order with the rating order beside it."""
    lines = [safe(title), ""]
    for step in steps(notes):
        lines += _step(step)
    if any(line.status == "final" for line in ranking):
        lines += _rankings(ranking, by_rating)
    return "\n".join(lines) + "\n"


def one(title: str, step: dict[str, Any], table: Sheet, ranking: Sequence[Placed], width: int) -> str:
    """A round robin in full: its crosstable, what was decided and why, the parking queue, the interim ranking."""
    parts = [f"after {step['games_total']} games" if step["decision"] else "playing", *step["told"]]
    parked = ", ".join(step["parked"]) or "nobody"
    lines = [safe(title), "", *render(table, width).splitlines(), ""]
    for part in (*parts, f"parked, the longest first: {parked}"):
        lines += textwrap.wrap(safe(part), _TEXT_WIDTH, subsequent_indent="    ")
    plain = [replace(line, tiebreaks=()) for line in ranking]
    return "\n".join([*lines, "", *render(standings("interim ranking", plain), width).splitlines()]) + "\n"


def _step(step: dict[str, Any]) -> list[str]:
    table = ", ".join(f"{safe(row['engine'])} {points(round(row['points'] * 2))}" for row in step["table"])
    head = f"round robin {step['step']}" + (f", after {step['games_total']} games" if step["decision"] else ", playing")
    parts = [(f"{head}: {table}" if table else head), *(safe(words) for words in step["told"])]
    return [
        line
        for number, part in enumerate(parts)
        for line in textwrap.wrap(part, _TEXT_WIDTH, initial_indent="  " * (number > 0), subsequent_indent="    ")
    ]


def _rankings(ranking: Sequence[Placed], by_rating: Sequence[str]) -> list[str]:
    """Both orders side by side; the ratings from the same games order the list better (Kendall tau .90 against .88)."""
    ended = all(line.status in ("final", "withdrawn") for line in ranking)
    columns = (
        Column("rank", "#"),
        Column("dropped", "drop-out order" if ended else "order so far", left=True, flexible=True),
        Column("rated", "rating order", left=True, flexible=True),
    )
    left = [line.name for line in ranking if line.rank is not None]
    pairs = zip_longest(left, by_rating, fillvalue="")
    rows = tuple({"rank": rank, "dropped": one, "rated": two} for rank, (one, two) in enumerate(pairs, 1))
    gone = [line.name for line in ranking if line.rank is None]
    notes = (f"withdrawn: {', '.join(gone)}",) if gone else ()
    return ["", *render(Sheet("", columns, rows, notes=notes), _TEXT_WIDTH).splitlines()]
