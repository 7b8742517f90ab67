"""Standings, crosstable, rounds and floats of a tournament, as printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import TYPE_CHECKING, Any

from enginetour.formats.pairing.field import Field, Kind, Paired, Turn
from enginetour.formats.pairing.standings import legend
from enginetour.formats.pairing.tiebreaks import PLACEMENT_CODES
from enginetour.model.game import Note, StandingsRow
from enginetour.model.task import ProbeResult
from enginetour.reports.sheet import (
    NOTE_WIDTH,
    Column,
    Sheet,
    format_halves,
    format_points,
    format_value,
    format_yes,
    wrap_sentence,
)

if TYPE_CHECKING:
    from enginetour.interop.foreign import Pairs
    from enginetour.interop.roundfiles import PairingReason


# What people read in the morning, as sheets: standings, crosstable, ladder, games, ratings, probes.

_BESIDE = len("99  shortest  points  games")  # of a table with the shortest names, without its tie-breaks
_BYES = "byes: points without a game, among the points"
_QUARTERS = ("", "¼", "½", "¾")


def tiebreak_values(line: StandingsRow) -> dict[str, float]:
    """The tie-breaks of a line by code: points where their unit is a part of a point, else what they count."""
    return {
        code: value / PLACEMENT_CODES[code].per if PLACEMENT_CODES[code].per > 1 else value * PLACEMENT_CODES[code].per
        for code, value in line.tiebreaks
    }


def _tiebreak_column(code: str, *, continues: bool = False) -> Column:
    form = _format_quarters if PLACEMENT_CODES[code].per in (2, 4) else format_value
    return Column(code, code, continues=continues, form=form)


def _format_quarters(value: float | None) -> str:
    """Halves and quarters of a point as testers write them: ``9½``, ``30¾``, ``-¼``; nothing for None."""
    if value is None:
        return ""
    whole, quarters = divmod(int(abs(value) * 4), 4)
    return "-" * (value < 0) + f"{whole if whole or not quarters else ''}{_QUARTERS[quarters]}"


def standings_sheet(title: str, placed: Sequence[StandingsRow], odds: Mapping[str, int] | None = None) -> Sheet:
    """The table of a format, with the tie-breaks it has and the status where there is one.

    `odds` is how many games of an entrant were at time odds, told where there are any.
    """
    codes = list(dict.fromkeys(code for line in placed for code, _ in line.tiebreaks))
    byes = any(line.unplayed for line in placed)
    columns = [Column("rank", "#"), Column("name", "engine", left=True, flexible=True)]
    columns += [Column("points", "points", form=format_halves), Column("games", "games")]
    columns += [Column("unplayed", "byes", form=lambda points: format_halves(points or None))] if byes else []
    columns += [Column("odds", "odds")] if odds else []
    values = [tiebreak_values(line) for line in placed]
    status = max((len(line.status) for line in placed), default=0)
    forms = [_tiebreak_column(code) for code in codes]
    broad = sum(2 + max(len(cell) for cell in (c.key, *(c.form(own.get(c.key)) for own in values))) for c in forms)
    narrow = _BESIDE + len("  byes") * byes + broad + 2 * bool(status) + status <= NOTE_WIDTH
    columns += [_tiebreak_column(code, continues=not narrow) for code in codes]
    columns += [Column("status", "status", left=True)] if status else []
    rows = [
        {
            "rank": line.rank,
            "name": line.name,
            "points": line.half_points / 2,
            "games": line.games,
            **({"unplayed": line.unplayed / 2} if byes else {}),
            **({"odds": odds.get(line.name, 0)} if odds else {}),
            **own,
            "status": line.status,
        }
        for line, own in zip(placed, values, strict=True)
    ]
    return Sheet(title, tuple(columns), tuple(rows), (), (*([_BYES] if byes else []), *legend(codes)))


def crosstable_sheet(
    title: str,
    names: Sequence[str],
    cells: Mapping[tuple[str, str], str],
    totals: Sequence[StandingsRow],
    codes: Sequence[str] = (),
    notes: tuple[str, ...] = (),
) -> Sheet:
    """Everybody against everybody: ``1=0`` from the row's view, in the order of `names`, with tie-breaks by `codes`.

    CSV has ``1½0``: a spreadsheet takes what begins with = for a formula.
    """
    by_name = {line.name: line for line in totals}
    columns = [Column("rank", "#"), Column("name", "engine", left=True, flexible=True)]
    columns += [Column("points", "points", form=format_halves), *map(_tiebreak_column, codes)]
    columns += [
        Column(f"vs{number}", str(number), continues=True, form=lambda cell: cell.replace("½", "="))
        for number in range(1, len(names) + 1)
    ]
    rows = []
    for number, name in enumerate(names, start=1):
        row: dict[str, object] = {"rank": number, "name": name, "points": by_name[name].half_points / 2}
        row |= {code: value for code, value in tiebreak_values(by_name[name]).items() if code in codes}
        for place, other in enumerate(names, start=1):
            row[f"vs{place}"] = "x" if other == name else cells.get((name, other), "").replace("=", "½")
        rows.append(row)
    return Sheet(title, tuple(columns), tuple(rows), (), (*notes, *legend(codes)))


def points_notes(
    placed: Iterable[StandingsRow], half_points: Mapping[str, int], *, by_match: bool = False
) -> tuple[str, ...]:
    """Why the points of a table are not those of the games in the crosstable, `half_points`, and whose."""
    byes, struck, gone = list[str](), list[str](), list[str]()
    for line in placed:
        more = line.half_points - line.unplayed - half_points[line.name]
        byes += [f"{line.name} {format_points(line.unplayed)}"] if line.unplayed else []
        if more and not by_match:
            (struck if more > 0 else gone).append(f"{line.name} {format_points(abs(more))}")
    found = {
        "points without a game (byes)": byes,
        "points of games that were struck out when they had decided": struck,
        "points against the withdrawn, which the standings leave out": gone,
    }
    notes = [f"{what}: {', '.join(who)}" for what, who in found.items() if who]
    return (*notes, *(["points are those of matches, signs those of games"] if by_match else []))


def probes_sheet(found: Mapping[str, ProbeResult]) -> Sheet:
    """What starting every engine once has shown."""
    columns = (
        Column("name", "engine", left=True, flexible=True),
        Column("fit", "fit", left=True, form=format_yes),
        Column("own_name", "calls itself", left=True, flexible=True),
        Column("handshake_ms", "start ms"),
        Column("problems", "problems", left=True, form="; ".join),
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
    return Sheet("", columns, rows)


# A round that was paired, as a table and as JSON.

_CERTIFIED = "certified"
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
        Column("white_points", head, form=format_halves),
        Column("black", "no."),
        Column("black_name", "Black", left=True, flexible=True),
        Column("black_points", head, form=format_halves),
    )
    if any(board.handicap for board in paired.boards):
        columns = (*columns, Column("handicap", "handicap"))
    rows: list[dict[str, Any]] = []
    for number, board in enumerate(paired.boards, 1):
        row: dict[str, Any] = {"board": number, "handicap": board.handicap}
        for side, place in (("white", board.white), ("black", board.black)):
            row |= {side: _number_label(labels[place]), f"{side}_name": field.members[place].name}
            row[f"{side}_points"] = before[place] / 2
        rows.append(row)
    notes = [f"bye: {labels[place]} {field.members[place].name}" for place in paired.byes]
    notes += [f"guarantee: {paired.guarantee}", *paired.remarks, *warnings]
    return Sheet(title, columns, tuple(rows), (), tuple(notes))


def round_json(
    system: str, field: Field, labels: Sequence[str], paired: Paired, warnings: Sequence[str]
) -> dict[str, Any]:
    """Keys: round, system, pairs (board, white, black, and handicap where there is one), bye, certified, warnings."""
    byes = [_number_label(labels[place]) for place in paired.byes]
    pairs: list[dict[str, Any]] = []
    for number, board in enumerate(paired.boards, 1):
        white, black = (_number_label(labels[place]) for place in (board.white, board.black))
        pairs.append({"board": number, "white": white, "black": black})
        if board.handicap:
            pairs[-1]["handicap"] = board.handicap
    more = [f"{label} rests too" for label in byes[1:]]
    return {
        "round": field.number,
        "system": system,
        "pairs": pairs,
        "bye": byes[0] if byes else None,
        "certified": _CERTIFIED in paired.guarantee,
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
class CheckedRound:
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


def checked_sheet(title: str, rounds: Sequence[CheckedRound], labels: Sequence[str], notes: Sequence[str]) -> Sheet:
    """A row a round; what differs below each other's words."""
    columns = (
        Column("round", "round"),
        Column("boards", "boards"),
        Column("same", "same", form=format_yes),
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
    differing = sum(one.differs for one in rounds)
    told = f"{differing} of {len(rounds)} rounds differ" if differing else f"all {len(rounds)} rounds are the same"
    return Sheet(title, columns, tuple(rows), (), (told, *notes))


def checked_json(
    system: str, rounds: Sequence[CheckedRound], labels: Sequence[str], notes: Sequence[str]
) -> dict[str, Any]:
    """Keys: system, rounds (round, boards, same, expected, found, failure), differing, warnings; a bye has null."""

    def pairs(found: Pairs) -> list[list[int | str | None]]:
        return [[None if place is None else _number_label(labels[place]) for place in pair] for pair in found]

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


def _number_label(label: str) -> int | str:
    """A starting number as a number, an id as it is."""
    return int(label) if label.isascii() and label.isdigit() else label


def why_lines(found: PairingReason, field: Field) -> list[str]:
    """The answer of ``--why`` in sentences and rows, each fits a terminal."""
    return [part for line in _answer(found, field) for part in wrap_sentence(line, _ROOM, then="      ")]


def _answer(found: PairingReason, field: Field) -> list[str]:
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


def why_json(found: PairingReason, field: Field, labels: Sequence[str]) -> dict[str, Any]:
    """Keys: round, pair, paired, guarantee, facts, rules, criteria, weight, least, exact, instead.

    A criterion has name, worth, most, source.

    `least` and `exact` are None where no weight decides or the other decision is not legal.
    """
    cost = found.cost
    return {
        "round": field.number,
        "pair": [_number_label(labels[place]) for place in found.pair],
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
        "instead": found.instead and [[_number_label(labels[a]), _number_label(labels[b])] for a, b in found.instead],
    }


# How a tournament was paired, round by round: floats, rematches, colours, gaps of strength, and the proof.

_PAIRING_NOTES = (
    "floats: boards of unequal scores; widest: the largest gap of a board in points; uneven: entrants whose Whites and "
    "Blacks then differ by 2 or more; without: byes of every kind; e_total and RMS gap in Elo points of the "
    "tournament's own games (Vuorinen 2010, 7.1): compare tournaments by the RMS gap.",
)


def pairing_report(title: str, figures: Sequence[RoundFigures], notes: Iterable[Note]) -> Sheet:
    """A row a round and one for all; the guarantee is that noted when the round was paired, below the table in full."""
    told = [dict(note.fields) for note in notes if note.kind == "round"]
    proofs = {round_["round"]: str(round_["guarantee"]) for round_ in told}
    marks = {proof: f"[{number}]" for number, proof in enumerate(dict.fromkeys(proofs.values()), 1)}
    columns = (
        Column("round", "round", form=lambda number: str(number or "all")),
        Column("boards", "boards"),
        Column("floats", "floats"),
        Column("widest", "widest", form=format_halves),
        Column("rematches", "rematch"),
        Column("uneven", "uneven"),
        Column("without", "without"),
        Column("e_total", "e_total", form="{:.2f}".format),
        Column("rms_gap", "RMS gap"),
        Column("guarantee", "proof", left=True, form=lambda proof: marks.get(proof, "")),
    )
    rows = tuple(
        {
            "round": line.number or None,
            "boards": line.boards,
            "floats": line.floats,
            "widest": line.widest / 2,
            "rematches": line.rematches,
            "uneven": line.uneven,
            "without": line.unpaired,
            "e_total": round(line.error.total, 2),
            "rms_gap": None if line.error.rms is None else round(line.error.rms, 1),
            "guarantee": proofs.get(line.number),
        }
        for line in figures
    )
    # Rounded once: to whole points for people, to one decimal in JSON.
    shown = tuple({"rms_gap": "" if line.error.rms is None else f"{line.error.rms:.0f}"} for line in figures)
    footnotes = (*(f"{mark} {proof}" for proof, mark in marks.items()), *_PAIRING_NOTES)
    return Sheet(title, columns, rows, shown, footnotes)


# How far apart those were whom a tournament paired, and how its rounds kept the rules of pairing.
#
# e_total = sqrt(sum over entrants and rounds of (RS - RS of the opponent)^2) / (2 k N), k rounds, N entrants: Vuorinen
# 2010, section 7.1. It shrinks with the size of the tournament, so the RMS gap stands beside it: tournaments are
# compared by that. RS, relative strength: our decision (the thesis's appendix is not public): the logistic model's most
# likely ratings from the tournament's own games, with one phantom draw of every entrant against 0, in Elo points.

_ABSOLUTE_DIFFERENCE = 2  # colours that differ by so much make an absolute preference: FIDE C.04.3


@dataclass(frozen=True, slots=True)
class PairingError:
    """Elo points. `rms` is None where nobody has met anybody."""

    total: float
    rms: float | None


@dataclass(frozen=True, slots=True)
class RoundFigures:
    """One round from 1, or all of them in one line with `number` 0. Gaps in points are half points before the round."""

    number: int
    boards: int
    floats: int  # boards of unequal scores: one was drawn up, the other down
    widest: int  # the largest gap in points of a board
    rematches: int  # boards of two who had met over the board
    uneven: int  # members whose colours then differ by `STEEP` or more
    unpaired: int  # byes of every kind; who is absent, or has not come yet, is none
    error: PairingError


def relative_strengths(field: Field) -> tuple[float, ...]:
    """RS of every member in Elo points, by place; 0 for whoever played nothing. Byes and forfeits do not count.

    A draw is half a win and half a loss to the model, so the points of a match are all it needs of its games.
    """
    names = [f"{place:06}" for place in range(len(field.members))]  # two members may have one name
    counts: dict[tuple[str, str], tuple[int, int, int]] = {}
    for one, other, mine, theirs in _met(field):
        draws = mine % 2
        old = counts.get((names[one], names[other]), (0, 0, 0))
        more = ((mine - draws) // 2, draws, (theirs - draws) // 2)
        counts[names[one], names[other]] = (old[0] + more[0], old[1] + more[1], old[2] + more[2])
    if not counts:
        return (0.0,) * len(names)
    from enginetour.ratings.likelihood import fit  # numbers: most tables need none
    from enginetour.ratings.priors import PhantomDraws

    found = fit(counts, prior=PhantomDraws(1.0, 0.0)).by_name()
    return tuple(found.get(name, 0.0) for name in names)


def pairing_figures(field: Field, scores: Sequence[Sequence[int]] = ()) -> tuple[RoundFigures, ...]:
    """A line for every round and one for all; `scores` that decided the pairing, as `Field.points`, the default."""
    strengths = relative_strengths(field)
    lines = []
    met: set[tuple[int, int]] = set()
    balance = [0] * len(field.members)
    for number, row in enumerate(field.history):
        before, boards = (scores or field.points)[number], _boards(row)
        gaps = [abs(before[one] - before[other]) for one, other in boards]
        for member, turn in enumerate(row):
            balance[member] += turn.colour if turn.met and not turn.handicap else 0
        lines.append(
            RoundFigures(
                number + 1,
                boards=len(boards),
                floats=sum(gap > 0 for gap in gaps),
                widest=max(gaps, default=0),
                rematches=sum(board in met for board in boards),
                uneven=sum(abs(whites) >= _ABSOLUTE_DIFFERENCE for whites in balance),
                unpaired=sum(turn.opponent is None and turn.kind is not Kind.ABSENT for turn in row),
                error=pairing_error(field, strengths, (number,)),
            )
        )
        met |= {board for board in boards if row[board[0]].met}
    return (*lines, _added(lines, pairing_error(field, strengths, range(len(lines)))))


def _added(lines: Sequence[RoundFigures], error: PairingError) -> RoundFigures:
    return RoundFigures(
        0,
        boards=sum(line.boards for line in lines),
        floats=sum(line.floats for line in lines),
        widest=max((line.widest for line in lines), default=0),
        rematches=sum(line.rematches for line in lines),
        uneven=lines[-1].uneven if lines else 0,
        unpaired=sum(line.unpaired for line in lines),
        error=error,
    )


def pairing_error(field: Field, strengths: Sequence[float], rounds: Sequence[int]) -> PairingError:
    """Return the error of these rounds, counted from 0; `strengths` in Elo points by place."""
    gaps = [
        (strengths[member] - strengths[turn.opponent]) ** 2
        for number in rounds
        for member, turn in enumerate(field.history[number])
        if turn.met and turn.opponent is not None
    ]
    total = fsum(gaps)
    size = 2 * len(rounds) * len(field.members)
    return PairingError(sqrt(total) / size if size else 0.0, sqrt(total / len(gaps)) if gaps else None)


def _boards(row: Sequence[Turn]) -> list[tuple[int, int]]:
    return [(one, turn.opponent) for one, turn in enumerate(row) if turn.opponent is not None and one < turn.opponent]


def _met(field: Field) -> list[tuple[int, int, int, int]]:
    """Matches with a result: two places, the lower first, and what each scored."""
    return [
        (one, other, row[one].points, row[other].points)
        for row in field.history
        for one, other in _boards(row)
        if row[one].met and row[one].points + row[other].points
    ]
