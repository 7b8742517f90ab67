"""Openings that an engine cannot be told, found before game 1: a CECP engine without setboard knows `edit` alone.

`edit` lists the pieces. Castling rights and en passant follow from the squares, or cannot be expressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from enginetour.model.errors import EngineRefused
from enginetour.model.game import Opening
from enginetour.model.task import Probe, Side
from enginetour.openings.choice import OpeningSuite
from enginetour.openings.positions import needs_setboard


def untellable(suite: OpeningSuite, sides: Mapping[str, Side], probes: Mapping[str, Probe]) -> Iterator[str]:
    """A sentence for each engine that was probed and gets other openings than those of the suite in some games.

    EngineRefused where there are none for it.
    """
    shy = [name for name, probe in probes.items() if sides[name].spec.protocol == "cecp" and not _sets_board(probe)]
    if not shy:
        return
    looked, unsaid = 0, list[Opening]()
    for opening in _looked_at(suite):
        looked += 1
        if needs_setboard(opening):
            unsaid.append(opening)
    if not unsaid:
        return
    first = unsaid[0]
    called = f" ({first.name})" if first.name else ""
    why = f"the first is number {first.index}{called}: edit cannot express castling rights, en passant or variants"
    if len(unsaid) == looked:
        what = f"{shy[0]} has no setboard and cannot be told any of {looked} openings, {why}"
        raise EngineRefused(what, place=suite.source, step="choose other openings, or leave the engine out")
    for name in shy:
        yield (
            f"{name} has no setboard and cannot be told {len(unsaid)} of {looked} openings, {why}; "
            "its games begin at others of the suite instead"
        )


def _sets_board(probe: Probe) -> bool:
    return dict(probe.features).get("setboard", "0") not in ("0", "")


def _looked_at(suite: OpeningSuite) -> Iterable[Opening]:
    """All of a suite that is not too large, else its beginning; lines drawn from a book start where every game does."""
    first = suite.openings[0]
    return [first] if first.fen is None and len(suite.openings) > suite.ahead else islice(suite.openings, suite.ahead)
