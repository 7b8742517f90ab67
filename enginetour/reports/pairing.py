"""A round that was paired, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from enginetour.formats.pairing.field import Field, Paired
from enginetour.reports.sheet import Column, Sheet, lines_of, points

if TYPE_CHECKING:
    from enginetour.interop.pairers import Pairs
    from enginetour.interop.roundfiles import Why


CERTIFIED = "certified"
_ROOM = 79  # columns of a terminal


def round_sheet(
    title: str,
    field: Field,
    labels: Sequence[str],
    paired: Paired,
    warnings: Sequence[str],
    scores: tuple[str, Sequence[int]] | None = None,
) -> Sheet:
    """Board by board with scores before the round; byes, the guarantee, warnings and starting scores are below.

    `scores` are the name and the half points of the scores that decided the pairing, by default points.
    """
    called, before = scores or ("points", field.scores)
    head = "pts" if called == "points" else called
    columns: tuple[Column, ...] = (
        Column("board", "board"),
        Column("white", "no."),
        Column("white_name", "White", left=True, flexible=True),
        Column("white_points", head),
        Column("black", "no."),
        Column("black_name", "Black", left=True, flexible=True),
        Column("black_points", head),
    )
    if any(board.handicap for board in paired.boards):
        columns = (*columns, Column("handicap", "handicap"))
    rows: list[dict[str, Any]] = []
    shown = []
    for number, board in enumerate(paired.boards, 1):
        row: dict[str, Any] = {"board": number, "handicap": board.handicap}
        words = {}
        for side, place in (("white", board.white), ("black", board.black)):
            row |= {side: numbered(labels[place]), f"{side}_name": field.members[place].name}
            row[f"{side}_points"] = before[place] / 2
            words[f"{side}_points"] = points(before[place])
        rows.append(row)
        shown.append(words)
    notes = [f"bye: {labels[place]} {field.members[place].name}" for place in paired.byes]
    notes += [f"guarantee: {paired.guarantee}", *paired.remarks, *warnings]
    return Sheet(title, columns, tuple(rows), tuple(shown), tuple(notes))


def round_json(
    system: str, field: Field, labels: Sequence[str], paired: Paired, warnings: Sequence[str]
) -> dict[str, Any]:
    """Keys: round, system, pairs (board, white, black, and handicap where there is one), bye, certified, warnings."""
    byes = [numbered(labels[place]) for place in paired.byes]
    pairs: list[dict[str, Any]] = []
    for number, board in enumerate(paired.boards, 1):
        white, black = (numbered(labels[place]) for place in (board.white, board.black))
        pairs.append({"board": number, "white": white, "black": black})
        if board.handicap:
            pairs[-1]["handicap"] = board.handicap
    more = [f"{label} rests too" for label in byes[1:]]
    return {
        "round": field.number,
        "system": system,
        "pairs": pairs,
        "bye": byes[0] if byes else None,
        "certified": CERTIFIED in paired.guarantee,
        "guarantee": paired.guarantee,
        "warnings": [*paired.remarks, *more, *warnings],
    }


def scores_json(
    called: str, rows: Sequence[Sequence[int]], labels: Sequence[str], starts: Sequence[str]
) -> dict[str, Any]:
    """Keys: the name of the score with its value by entrant now, `starts` with that before round 1, `starting_list`.

    No keys where points alone decide the pairing.
    """
    if called == "points":
        return {}
    now, begun = ({label: row[place] / 2 for place, label in enumerate(labels)} for row in (rows[-1], rows[0]))
    return {called: now, "starts": begun, "starting_list": [*starts]}


@dataclass(frozen=True, slots=True)
class Checked:
    """A round of a file against the same round by the system: pairs by place, White first, None for a bye."""

    number: int
    boards: int
    expected: Pairs
    found: Pairs
    failure: str = ""  # why the system has no such round

    @property
    def differs(self) -> bool:
        """Pairs, colors or the bye are others."""
        return bool(self.expected or self.found or self.failure)


def checked_sheet(title: str, rounds: Sequence[Checked], labels: Sequence[str], notes: Sequence[str]) -> Sheet:
    """A row a round; what differs below each other's words."""
    columns = (
        Column("round", "round"),
        Column("boards", "boards"),
        Column("same", "same"),
        Column("expected", "by the system", left=True),
        Column("found", "in the file", left=True),
    )
    rows = [
        {
            "round": one.number,
            "boards": one.boards,
            "same": not one.differs,
            "expected": one.failure or _pairs(one.expected, labels),
            "found": _pairs(one.found, labels),
        }
        for one in rounds
    ]
    shown = [{"same": "no" if one.differs else "yes"} for one in rounds]
    differing = sum(one.differs for one in rounds)
    told = f"{differing} of {len(rounds)} rounds differ" if differing else f"all {len(rounds)} rounds are the same"
    return Sheet(title, columns, tuple(rows), tuple(shown), (told, *notes))


def checked_json(system: str, rounds: Sequence[Checked], labels: Sequence[str], notes: Sequence[str]) -> dict[str, Any]:
    """Keys: system, rounds (round, boards, same, expected, found, failure), differing, warnings; a bye has null."""

    def pairs(found: Pairs) -> list[list[int | str | None]]:
        return [[None if place is None else numbered(labels[place]) for place in pair] for pair in found]

    return {
        "system": system,
        "rounds": [
            {
                "round": one.number,
                "boards": one.boards,
                "same": not one.differs,
                "expected": pairs(one.expected),
                "found": pairs(one.found),
                "failure": one.failure or None,
            }
            for one in rounds
        ],
        "differing": sum(one.differs for one in rounds),
        "warnings": list(notes),
    }


def _pairs(pairs: Pairs, labels: Sequence[str]) -> str:
    return ", ".join(
        f"{labels[one]}-{labels[other]}" if other is not None else f"bye {labels[one]}" for one, other in pairs
    )


def numbered(label: str) -> int | str:
    """A starting number as a number, an id as it is."""
    return int(label) if label.isascii() and label.isdigit() else label


def why_lines(found: Why, field: Field) -> list[str]:
    """The answer of ``--why`` in sentences and rows, each fits a terminal."""
    return [part for line in _answer(found, field) for part in lines_of(line, _ROOM, then="      ")]


def _answer(found: Why, field: Field) -> list[str]:
    names = [member.name for member in field.members]
    one, other = (names[place] for place in found.pair)
    lines = [f"{one} and {other} are {'' if found.together else 'not '}paired in round {field.number}"]
    lines += [f"  {fact}" for fact in found.facts]
    lines.append(f"decided: {found.paired.guarantee}")
    lines += [f"  {rule}" for rule in found.rules]
    if found.reasons:
        width = max(len(reason.name) for reason in found.reasons)
        weighs = any(reason.most != 1 for reason in found.reasons)  # else criteria are met or not, in their order
        sources = {reason.source for reason in found.reasons}
        lines += [f"criteria: {source}" for source in sources if len(sources) == 1]
        for reason in found.reasons:
            most = f" of at most {reason.most:,}" if reason.most else ""  # of what counts against a pair, none is best
            worth = f"{reason.worth:,}{most}" if weighs else "yes" if reason.worth else "no"
            source = f"  ({reason.source})" * (len(sources) > 1)
            lines.append(f"  {reason.name:{width}}  {worth}{source}")
        if weighs:
            lines.append(f"  {'weight':{width}}  {sum(reason.worth for reason in found.reasons):,}")
    with_or_without = "without" if found.together else "with"
    if found.cost is not None:
        lines.append(f"weight of the round: {found.cost.total:,}")
        if found.cost.least is not None:
            lines.append(
                f"a round {with_or_without} this pair loses at least {found.cost.least:,} (slack of the proof)"
            )
        if found.cost.exact is not None:
            lines.append(f"the best round {with_or_without} this pair loses {found.cost.exact:,} (solved again)")
    if found.instead is None:
        lines.append(f"there is no legal round {with_or_without} this pair")
    else:
        pairs = {board.pair for board in found.paired.boards}
        lines.append(f"the best round {with_or_without} it would have")
        lines += [f"  {names[a]} - {names[b]}" for a, b in found.instead if (a, b) not in pairs]
    return lines


def why_json(found: Why, field: Field, labels: Sequence[str]) -> dict[str, Any]:
    """Keys: round, pair, paired, guarantee, facts, rules, criteria, weight, least, exact, instead.

    A criterion has name, worth, most, source.

    `least` and `exact` are None where no weight decides or the other decision is not legal.
    """
    cost = found.cost
    return {
        "round": field.number,
        "pair": [numbered(labels[place]) for place in found.pair],
        "paired": found.together,
        "guarantee": found.paired.guarantee,
        "facts": list(found.facts),
        "rules": list(found.rules),
        "criteria": [
            {"name": reason.name, "worth": reason.worth, "most": reason.most, "source": reason.source}
            for reason in found.reasons
        ],
        "weight": cost and cost.total,
        "least": cost and cost.least,
        "exact": cost and cost.exact,
        "instead": found.instead and [[numbered(labels[a]), numbered(labels[b])] for a, b in found.instead],
    }
