"""What people read in the morning, as sheets: standings, crosstable, ladder, games, ratings, probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from enginetour.model import Placed
from enginetour.placement import CODES
from enginetour.reports.sheet import NOTE_WIDTH, Column, Sheet, points, words
from enginetour.task import Probe

_BESIDE = len("99  shortest  points  games")  # of a table with the shortest names, without its tie-breaks
_QUARTERS = ("", "¼", "½", "¾")


def tiebreaks(line: Placed) -> dict[str, float]:
    """The tie-breaks of a line by code: points where their unit is a part of a point, else what they count."""
    return {
        code: value / CODES[code].per if CODES[code].per > 1 else value * CODES[code].per
        for code, value in line.tiebreaks
    }


def in_words(line: Placed) -> dict[str, str]:
    """The same for people: halves and quarters of a point as testers write them: ``9½``, ``30¾``, ``-¼``."""
    found = {}
    for code, value in tiebreaks(line).items():
        found[code] = words(value)
        if CODES[code].per in (2, 4):
            whole, quarters = divmod(int(abs(value) * 4), 4)
            found[code] = "-" * (value < 0) + f"{whole if whole or not quarters else ''}{_QUARTERS[quarters]}"
    return found


def standings(title: str, placed: Sequence[Placed], odds: Mapping[str, int] | None = None) -> Sheet:
    """The table of a format, with the tie-breaks it has and the status where there is one.

    `odds` is how many games of an entrant were at time odds, told where there are any.
    """
    codes = list(dict.fromkeys(code for line in placed for code, _ in line.tiebreaks))
    columns = [Column("rank", "#"), Column("name", "engine", left=True, flexible=True), Column("points", "points")]
    columns.append(Column("games", "games"))
    columns += [Column("odds", "odds")] if odds else []
    texts = [in_words(line) for line in placed]
    status = max((len(line.status) for line in placed), default=0)
    broad = [2 + max(len(cell) for cell in (code, *(text.get(code, "") for text in texts))) for code in codes]
    narrow = _BESIDE + sum(broad) + 2 * bool(status) + status <= NOTE_WIDTH
    columns += [Column(code, code, continues=not narrow) for code in codes]
    if status:
        columns.append(Column("status", "status", left=True))
    rows = [
        {
            "rank": line.rank,
            "name": line.name,
            "points": line.half_points / 2,
            "games": line.games,
            **({"odds": odds.get(line.name, 0)} if odds else {}),
            **tiebreaks(line),
            "status": line.status,
        }
        for line in placed
    ]
    shown = [{"points": points(line.half_points), **text} for line, text in zip(placed, texts, strict=True)]
    return Sheet(title, tuple(columns), tuple(rows), tuple(shown))


def crosstable(
    title: str,
    names: Sequence[str],
    cells: Mapping[tuple[str, str], str],
    totals: Sequence[Placed],
    codes: Sequence[str] = (),
) -> Sheet:
    """Everybody against everybody: ``1=0`` from the row's view, in the order of `names`, with tie-breaks by `codes`."""
    by_name = {line.name: line for line in totals}
    columns = [Column("rank", "#"), Column("name", "engine", left=True, flexible=True), Column("points", "points")]
    columns += [Column(code, code) for code in codes]
    columns += [Column(f"vs{number}", str(number), continues=True) for number in range(1, len(names) + 1)]
    rows = []
    for number, name in enumerate(names, start=1):
        row: dict[str, object] = {"rank": number, "name": name, "points": by_name[name].half_points / 2}
        row |= {code: value for code, value in tiebreaks(by_name[name]).items() if code in codes}
        for other_number, other in enumerate(names, start=1):
            row[f"vs{other_number}"] = "x" if other == name else cells.get((name, other), "")
        rows.append(row)
    shown = tuple({"points": points(by_name[name].half_points), **in_words(by_name[name])} for name in names)
    return Sheet(title, tuple(columns), tuple(rows), shown)


def probes(found: Mapping[str, Probe]) -> Sheet:
    """What starting every engine once has shown."""
    columns = (
        Column("name", "engine", left=True, flexible=True),
        Column("fit", "fit", left=True),
        Column("own_name", "calls itself", left=True, flexible=True),
        Column("handshake_ms", "start ms"),
        Column("problems", "problems", left=True),
    )
    rows = tuple(
        {
            "name": name,
            "fit": not probe.problems,
            "own_name": probe.own_name,
            "handshake_ms": probe.handshake_ms,
            "problems": list(probe.problems),
        }
        for name, probe in found.items()
    )
    shown = tuple(
        {"fit": "no" if probe.problems else "yes", "problems": "; ".join(probe.problems)} for probe in found.values()
    )
    return Sheet("", columns, rows, shown)


def duration(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


def moment(seconds: float) -> str:
    """UTC seconds as ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
