"""The bubble's story as text: each round robin with its table, who left and why, and both rankings at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from enginetour.model.game import Note, StandingsRow
from enginetour.reports.sheet import Column, Sheet, render, safe_text, wrap_sentence
from enginetour.reports.standings import standings_sheet

_DECIDES = ("park", "drop", "finish")
_TEXT_WIDTH = 78


def ladder_steps(notes: Iterable[Note]) -> list[dict[str, Any]]:
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


def ladder_text(
    title: str,
    notes: Sequence[Note],
    ranking: Sequence[StandingsRow],
    by_rating: Sequence[str],
    *,
    most: int | None = None,
) -> str:
    """The ladder, a line for each coming and going, then the drop-out order with the rating order beside it.

    `most` round robins are told, the last ones; all of them by default.
    """
    lines = [safe_text(title), "", "  RR  games"]
    count = dict(notes[-1].fields)["step"] if notes else 0
    first_told = 1 if most is None or not isinstance(count, int) else max(1, count - most + 1)
    if first_told > 1:
        lines.append(f"      the first {first_told - 1} are told by: enginetour ladder")
    before = 0
    for number, games, words in _briefs(notes, ranking):
        head, before = "" if number == before else str(number), number
        if number >= first_told:
            first = f"{head:>4}  {'' if games is None else games:>5}  "
            lines += wrap_sentence(words, _TEXT_WIDTH, first=first, then=" " * 15)
    if any(line.status == "final" for line in ranking):
        lines += _rankings(ranking, by_rating)
    return "\n".join(lines) + "\n"


def ladder_sheet(title: str, notes: Sequence[Note], ranking: Sequence[StandingsRow]) -> Sheet:
    """The ladder as a table: each coming and going with its round robin and the games finished by then."""
    columns = (Column("step", "RR"), Column("games", "games"), Column("told", "decision", left=True))
    rows = tuple({"step": step, "games": games, "told": told} for step, games, told in _briefs(notes, ranking))
    return Sheet(title, columns, rows)


def _briefs(notes: Sequence[Note], ranking: Sequence[StandingsRow]) -> Iterator[tuple[int, int | None, str]]:
    """Each note in few words with its round robin; games finished in all where it is a decision."""
    place = sum(line.rank is not None for line in ranking)
    for note in notes:
        told: dict[str, Any] = dict(note.fields)
        yield told["step"], told["games_total"] if note.kind in _DECIDES else None, _brief(note, told, place)
        place -= note.kind == "drop"


def _brief(note: Note, told: dict[str, Any], place: int) -> str:
    """A decision in the fewest words that still give its reason; `place` is the next to be taken from below."""
    if note.kind in ("enter", "unpark"):
        return _entered(told["entered"])
    if note.kind not in ("park", "drop"):
        return note.text
    last, played = told["last"], _matches(told["last_matches"])
    if note.kind == "park":
        return f"parked: {told['engine']}, top; last {last}: {played}, too few"
    why = "enough" if told["reason"] == "last_has_min_matches" else "has met all still in"
    return f"out: {told['engine']}, number {place}; last: {played}, {why}"


def _entered(entries: Sequence[dict[str, Any]]) -> str:
    if entries[0]["from"] == "start":
        return f"start: {', '.join(entry['engine'] for entry in entries)}"
    (entry,) = entries
    if entry["from"] == "list":
        return f"in: {entry['engine']}, from the list"
    return f"in: {entry['engine']}, from parking; has met {entry['met']} of {entry['met'] + entry['to_play']}"


def _matches(count: int) -> str:
    return "1 match" if count == 1 else f"{count} matches"


def round_robin_text(
    title: str, step: dict[str, Any], table: Sheet, ranking: Sequence[StandingsRow], width: int
) -> str:
    """A round robin in full: its crosstable, what was decided and why, the parking queue, the interim ranking."""
    parts = [f"after {step['games_total']} games" if step["decision"] else "playing", *step["told"]]
    parked = ", ".join(step["parked"]) or "nobody"
    lines = [safe_text(title), "", *render(table, width).splitlines(), ""]
    for part in (*parts, f"parked, the longest first: {parked}"):
        lines += wrap_sentence(part, _TEXT_WIDTH, then="    ")
    plain = [replace(line, tiebreaks=()) for line in ranking]
    return "\n".join([*lines, "", *render(standings_sheet("interim ranking", plain), width).splitlines()]) + "\n"


def orders_sheet(ranking: Sequence[StandingsRow], by_rating: Sequence[str]) -> Sheet:
    """Both orders side by side; the ratings from the same games order the list better (Kendall tau .90 against .88)."""
    has_ended = all(line.status in ("final", "withdrawn") for line in ranking)
    columns = (
        Column("rank", "#"),
        Column("engine", "drop-out order" if has_ended else "order so far", left=True, flexible=True),
        Column("status", "status", left=True),
        Column("opponent", "rating order", left=True, flexible=True),
    )
    pairs = zip_longest((line for line in ranking if line.rank is not None), by_rating)
    rows = tuple(
        {"rank": rank, "engine": line and line.name, "status": line and line.status, "opponent": other}
        for rank, (line, other) in enumerate(pairs, 1)
    )
    return Sheet("both orders", columns, rows)


def _rankings(ranking: Sequence[StandingsRow], by_rating: Sequence[str]) -> list[str]:
    both = orders_sheet(ranking, by_rating)
    gone = [line.name for line in ranking if line.rank is None]
    notes = (f"withdrawn: {', '.join(gone)}",) if gone else ()
    columns = tuple(column for column in both.columns if column.key != "status")
    return ["", *render(replace(both, title="", columns=columns, notes=notes), _TEXT_WIDTH).splitlines()]
