"""What people read in the morning, as sheets: standings, crosstable, ladder, games, ratings, probes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from enginetour.formats.pairing.standings import legend
from enginetour.formats.pairing.tiebreaks import PLACEMENT_CODES
from enginetour.model.game import Placed
from enginetour.model.task import Probe
from enginetour.reports.sheet import NOTE_WIDTH, Column, Sheet, points, words

_BESIDE = len("99  shortest  points  games")  # of a table with the shortest names, without its tie-breaks
BYES = "byes: points without a game, among the points"
_QUARTERS = ("", "¼", "½", "¾")


def tiebreaks(line: Placed) -> dict[str, float]:
    """The tie-breaks of a line by code: points where their unit is a part of a point, else what they count."""
    return {
        code: value / PLACEMENT_CODES[code].per if PLACEMENT_CODES[code].per > 1 else value * PLACEMENT_CODES[code].per
        for code, value in line.tiebreaks
    }


def in_words(line: Placed) -> dict[str, str]:
    """The same for people: halves and quarters of a point as testers write them: ``9½``, ``30¾``, ``-¼``."""
    found = {}
    for code, value in tiebreaks(line).items():
        found[code] = words(value)
        if PLACEMENT_CODES[code].per in (2, 4):
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
    byes = any(line.unplayed for line in placed)
    columns += [Column("unplayed", "byes")] if byes else []
    columns += [Column("odds", "odds")] if odds else []
    texts = [in_words(line) for line in placed]
    status = max((len(line.status) for line in placed), default=0)
    broad = [2 + max(len(cell) for cell in (code, *(text.get(code, "") for text in texts))) for code in codes]
    narrow = _BESIDE + len("  byes") * byes + sum(broad) + 2 * bool(status) + status <= NOTE_WIDTH
    columns += [Column(code, code, continues=not narrow) for code in codes]
    if status:
        columns.append(Column("status", "status", left=True))
    rows = [
        {
            "rank": line.rank,
            "name": line.name,
            "points": line.half_points / 2,
            "games": line.games,
            **({"unplayed": line.unplayed / 2} if byes else {}),
            **({"odds": odds.get(line.name, 0)} if odds else {}),
            **tiebreaks(line),
            "status": line.status,
        }
        for line in placed
    ]
    shown = [
        {"points": points(line.half_points), "unplayed": points(line.unplayed) if line.unplayed else "", **text}
        for line, text in zip(placed, texts, strict=True)
    ]
    notes = (*([BYES] if byes else []), *legend(codes))
    return Sheet(title, tuple(columns), tuple(rows), tuple(shown), notes)


def crosstable(
    title: str,
    names: Sequence[str],
    cells: Mapping[tuple[str, str], str],
    totals: Sequence[Placed],
    codes: Sequence[str] = (),
    notes: tuple[str, ...] = (),
) -> Sheet:
    """Everybody against everybody: ``1=0`` from the row's view, in the order of `names`, with tie-breaks by `codes`.

    CSV has ``1½0``: a spreadsheet takes what begins with = for a formula.
    """
    by_name = {line.name: line for line in totals}
    columns = [Column("rank", "#"), Column("name", "engine", left=True, flexible=True), Column("points", "points")]
    columns += [Column(code, code) for code in codes]
    columns += [Column(f"vs{number}", str(number), continues=True) for number in range(1, len(names) + 1)]
    rows, shown = [], []
    for number, name in enumerate(names, start=1):
        row: dict[str, object] = {"rank": number, "name": name, "points": by_name[name].half_points / 2}
        row |= {code: value for code, value in tiebreaks(by_name[name]).items() if code in codes}
        met = {
            f"vs{other_number}": "x" if other == name else cells.get((name, other), "")
            for other_number, other in enumerate(names, start=1)
        }
        rows.append(row | {key: cell.replace("=", "½") for key, cell in met.items()})
        shown.append({"points": points(by_name[name].half_points), **in_words(by_name[name]), **met})
    return Sheet(title, tuple(columns), tuple(rows), tuple(shown), (*notes, *legend(codes)))


def apart(placed: Iterable[Placed], half_points: Mapping[str, int], *, by_match: bool = False) -> tuple[str, ...]:
    """Why the points of a table are not those of the games in the crosstable, `half_points`, and whose."""
    byes, struck, gone = list[str](), list[str](), list[str]()
    for line in placed:
        more = line.half_points - line.unplayed - half_points[line.name]
        byes += [f"{line.name} {points(line.unplayed)}"] if line.unplayed else []
        if more and not by_match:
            (struck if more > 0 else gone).append(f"{line.name} {points(abs(more))}")
    found = {
        "points without a game (byes)": byes,
        "points of games that were struck out when they had decided": struck,
        "points against the withdrawn, which the standings leave out": gone,
    }
    notes = [f"{what}: {', '.join(who)}" for what, who in found.items() if who]
    return (*notes, *(["points are those of matches, signs those of games"] if by_match else []))


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
    """``0.4 s``, ``45 s``, ``12 min``, ``3 h 20 min``."""
    if 0 < seconds < 1:
        return f"{max(seconds, 0.1):.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


def moment(seconds: float) -> str:
    """UTC seconds as ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
