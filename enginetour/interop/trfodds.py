"""Time odds in a tournament report, which has no column for them: comments that other programs skip.

``### odds 003 0001 0012 2``  in round 3 entrant 1 gives entrant 12 two bands
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from enginetour.formats.pairing.field import Board
from enginetour.interop.trf import Line, Report

Odds = dict[tuple[int, int], tuple[int, int]]
"""(round, number of who gives) -> number of who takes, bands."""

_ODDS = re.compile(r"### odds ([0-9]{3}) ([0-9]{4}) ([0-9]{4}) ([1-9][0-9]?)\s*")


def odds_in(report: Report) -> Odds:
    """All that the comments tell."""
    told = (_ODDS.fullmatch(line.text) for line in report.lines)
    return {(int(one[1]), int(one[2])): (int(one[3]), int(one[4])) for one in told if one}


def with_odds(report: Report, number: int, labels: Sequence[str], boards: Sequence[Board]) -> Report:
    """The file with the odds of a round's boards at its end, and no others of that round."""
    kept = [one for one in report.records if not (isinstance(one, Line) and _is_of(one.text, number))]
    while kept and isinstance(kept[-1], Line) and not kept[-1].text.strip():
        kept.pop()
    told = [
        Line(f"### odds {number:03d} {int(labels[board.white]):04d} {int(labels[board.black]):04d} {board.handicap}")
        for board in boards
        if board.handicap
    ]
    return replace(report, records=(*kept, *told))


def _is_of(text: str, number: int) -> bool:
    told = _ODDS.fullmatch(text)
    return told is not None and int(told[1]) == number
