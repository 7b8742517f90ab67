"""How each engine worked over a tournament: its averages, and what it did that a tester should know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from enginetour.model.game import SideRecord
from enginetour.reports.sheet import Column, Sheet

_COLUMNS = (
    Column("name", "engine", left=True, flexible=True),
    Column("games", "games"),
    Column("moves", "moves", continues=True),
    Column("depth", "depth", continues=True),
    Column("seldepth", "seld.", continues=True),
    Column("nps", "nps", continues=True),
    Column("ms", "ms/move", continues=True),
    Column("longest_ms", "max ms", continues=True),
    Column("tbhits", "TB hits", continues=True, rare=True),
    Column("margin_uses", "late", continues=True, rare=True),
    Column("ponder_hits", "ponder", continues=True, rare=True),
    Column("warnings", "warn.", continues=True, rare=True),
    Column("claims", "claims", continues=True, rare=True),
)
_TOLD = ("depth", "seldepth", "nodes", "nodes_ms", "nps", "hashfull", "tbhits")
NOTES = (
    "averages over the moves that were told of, book moves left out; nps: nodes by the time we measured,"
    " or what the engine says where that is below 1 ms",
    "late: moves that used the margin; ponder: hits of its guesses; claims: said of its searches and not so",
)


def averages(title: str, names: Sequence[str], sides: Iterable[tuple[str, SideRecord]]) -> Sheet:
    """A line for each engine that has played, in the order of `names`; None and an empty cell: nobody told."""
    totals: dict[str, _Total] = {}
    for name, record in sides:
        totals.setdefault(name, _Total()).add(record)
    ordered = [*(name for name in names if name in totals), *sorted(totals.keys() - set(names))]
    rows = tuple({"name": name, **totals[name].figures()} for name in ordered)
    return Sheet(title, _COLUMNS, rows, tuple(_shown(row) for row in rows), NOTES)


class _Total:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.told: dict[str, tuple[int, int]] = dict.fromkeys(_TOLD, (0, 0))
        self.claims: Counter[str] = Counter()
        self.longest = 0

    def add(self, record: SideRecord) -> None:
        self.counts.update(
            games=1,
            moves=record.moves,
            think_ms=record.think_ms,
            margin_uses=record.margin_uses,
            warnings=len(record.warnings),
            ponders=record.ponders or 0,
            ponder_hits=record.ponder_hits or 0,
        )
        self.longest = max(self.longest, record.longest_ms)
        for name, moves, total in record.effort:
            before = self.told.get(name, (0, 0))
            self.told[name] = before[0] + moves, before[1] + total
        for kind, number, _ in record.claims:
            self.claims[kind] += number

    def figures(self) -> dict[str, object]:
        """By the keys of JSON and CSV."""
        counts, told = self.counts, self.told
        ponders = counts["ponders"]
        return {
            "games": counts["games"],
            "moves": counts["moves"],
            **{name: _mean(*told[name]) for name in ("depth", "seldepth", "nodes", "hashfull", "tbhits")},
            "nps": nps(told),
            "ms": _mean(counts["moves"], counts["think_ms"]),
            "longest_ms": self.longest,
            "margin_uses": counts["margin_uses"],
            "ponder_hits": counts["ponder_hits"] / ponders if ponders else None,
            "warnings": counts["warnings"],
            "claims": self.claims.total(),
            "claims_by_kind": dict(self.claims),
        }


def nps(told: Mapping[str, tuple[int, int]]) -> float | None:
    """Nodes a second of what an engine told (name -> moves, total): by our clock, else what it says itself."""
    nothing = (0, 0)
    measured = told.get("nodes_ms", nothing)[1]
    return round(1000 * told["nodes"][1] / measured) if measured else _mean(*told.get("nps", nothing))


def _mean(number: int, total: int) -> float | None:
    return total / number if number else None


def _shown(row: Mapping[str, object]) -> dict[str, str]:
    hits = row["ponder_hits"]
    cells = {name: _short(row[name]) for name in ("depth", "seldepth", "ms", "tbhits", "nps")}
    cells["tbhits"] = cells["tbhits"] if row["tbhits"] else ""  # an engine without tables says 0 all day
    cells |= {name: str(row[name] or "") for name in ("margin_uses", "warnings", "claims")}
    cells["ponder_hits"] = f"{100 * hits:.0f}%" if isinstance(hits, float) else ""
    return cells


def _short(figure: object) -> str:
    """One digit behind the point below 1000, thousands as ``454k``, millions as ``1.21M``."""
    if not isinstance(figure, int | float):
        return ""
    if figure >= 1_000_000:
        return f"{figure / 1_000_000:.2f}M"
    return f"{figure / 1000:.0f}k" if figure >= 10_000 else f"{figure:.1f}" if figure < 1000 else f"{figure:.0f}"
