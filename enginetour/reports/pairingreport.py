"""How a tournament was paired, round by round: floats, rematches, colours, gaps of strength, and the proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from enginetour.model.game import Note
from enginetour.reports.sheet import Column, Sheet, points

if TYPE_CHECKING:
    from enginetour.reports.pairingerror import RoundFigures


NOTES = (
    "floats: boards of unequal scores; widest: the largest gap of a board in points; uneven: entrants whose Whites and "
    "Blacks then differ by 2 or more; without: byes of every kind; e_total and RMS gap in Elo points of the "
    "tournament's own games (Vuorinen 2010, 7.1): compare tournaments by the RMS gap.",
)


def pairing_report(title: str, figures: Sequence[RoundFigures], notes: Iterable[Note]) -> Sheet:
    """A row a round and one for all; the guarantee is that noted when the round was paired, below the table in full."""
    columns = (
        Column("round", "round"),
        Column("boards", "boards"),
        Column("floats", "floats"),
        Column("widest", "widest"),
        Column("rematches", "rematch"),
        Column("uneven", "uneven"),
        Column("without", "without"),
        Column("e_total", "e_total"),
        Column("rms_gap", "RMS gap"),
        Column("guarantee", "proof", left=True),
    )
    proofs = {}
    for note in notes:
        if note.kind == "round":
            told = dict(note.fields)
            proofs[told["round"]] = str(told["guarantee"])
    marks = {proof: f"[{number}]" for number, proof in enumerate(dict.fromkeys(proofs.values()), 1)}
    rows, shown = [], []
    for line in figures:
        rms = line.error.rms
        rows.append(
            {
                "round": line.number or None,
                "boards": line.boards,
                "floats": line.floats,
                "widest": line.widest / 2,
                "rematches": line.rematches,
                "uneven": line.uneven,
                "without": line.unpaired,
                "e_total": round(line.error.total, 2),
                "rms_gap": None if rms is None else round(rms, 1),
                "guarantee": proofs.get(line.number),
            }
        )
        shown.append(
            {
                "round": str(line.number or "all"),
                "widest": points(line.widest),
                "e_total": f"{line.error.total:.2f}",
                "rms_gap": "" if rms is None else f"{rms:.0f}",
                "guarantee": marks.get(proofs.get(line.number, ""), ""),
            }
        )
    return Sheet(
        title, columns, tuple(rows), tuple(shown), (*(f"{mark} {proof}" for proof, mark in marks.items()), *NOTES)
    )
