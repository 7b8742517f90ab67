"""Openings that an engine cannot be told, found before game 1: a CECP engine without setboard knows `edit` alone.

`edit` says the pieces; castling rights, en passant and counters it cannot say (protocol spec, "edit"). A game from such
a position is void for that engine, so its pairings would stay open for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from enginetour.errors import Unsupported
from enginetour.model import Opening
from enginetour.openings import OpeningSuite
from enginetour.task import Probe, Side
from enginetour.variants import STANDARD, board_of


def untellable(suite: OpeningSuite, sides: Mapping[str, Side], probes: Mapping[str, Probe]) -> Iterator[str]:
    """A sentence for each engine that was probed and cannot be told some of the suite, by number and name."""
    shy = [name for name, probe in probes.items() if sides[name].spec.protocol == "cecp" and not _sets_board(probe)]
    if not shy:
        return
    looked, unsaid = 0, list[Opening]()
    for opening in _looked_at(suite):
        looked += 1
        if not _by_edit(opening):
            unsaid.append(opening)
    if unsaid:
        first = unsaid[0]
        called = f" ({first.name})" if first.name else ""
        for name in shy:
            yield (
                f"{name} has no setboard and cannot be told {len(unsaid)} of {looked} openings, the first is number "
                f"{first.index}{called}: castling rights, en passant or counters; its games from there are void"
            )


def _sets_board(probe: Probe) -> bool:
    return dict(probe.features).get("setboard", "0") not in ("0", "")


def _looked_at(suite: OpeningSuite) -> Iterable[Opening]:
    """All of a suite that is not too large, else its beginning; lines drawn from a book start where every game does."""
    first = suite.openings[0]
    return [first] if first.fen is None and len(suite.openings) > suite.ahead else islice(suite.openings, suite.ahead)


def _by_edit(opening: Opening) -> bool:
    if opening.fen is None:
        return True
    if opening.variant != STANDARD:
        return False
    from enginetour.adapters.cecp_setup import edit_lines  # and with it the rules of chess, which few runs need

    try:
        edit_lines(board_of(opening.variant, opening.fen), b"")
    except Unsupported:
        return False
    return True
