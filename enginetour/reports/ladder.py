"""The bubble's story as text: each round robin with its table, who left and why, and both rankings at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from enginetour.model import Note, Placed
from enginetour.reports.sheet import points, safe

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


def _step(step: dict[str, Any]) -> list[str]:
    import textwrap

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
    left = [safe(line.name) for line in ranking if line.rank is not None]
    right = [safe(name) for name in by_rating]
    wide = max(12, *(len(name) for name in left)) if left else 12
    lines = ["", f" {'#':>3}  {'drop-out order':<{max(wide, 14)}}  rating order"]
    for number in range(max(len(left), len(right))):
        one = left[number] if number < len(left) else ""
        two = right[number] if number < len(right) else ""
        lines.append(f" {number + 1:>3}  {one:<{max(wide, 14)}}  {two}".rstrip())
    gone = [safe(line.name) for line in ranking if line.rank is None]
    return [*lines, *([f"withdrawn: {', '.join(gone)}"] if gone else [])]
