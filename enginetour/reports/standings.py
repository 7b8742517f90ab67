"""Tables of standings, crosstables, engine checks, paired rounds and pairing reports, as they are printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum, sqrt
from typing import TYPE_CHECKING, Any

from enginetour.formats.pairing.field import Field, Kind, Paired, Turn
from enginetour.formats.pairing.standings import legend
from enginetour.formats.pairing.tiebreaks import PLACEMENT_CODES
from enginetour.model.game import Note, StandingsRow, Withdrawal
from enginetour.model.task import ProbeResult
from enginetour.reports.sheet import (
    NOTE_WIDTH,
    Column,
    Sheet,
    format_halves,
    format_points,
    format_value,
    format_yes,
    shared_columns,
    wrap_sentence,
)

if TYPE_CHECKING:
    from enginetour.interop.foreign import Pairs
    from enginetour.interop.roundfiles import PairingReason

# Standings and crosstable.

_BESIDE = len("99  shortest  points  games")  # characters; width of a table with short names and without tie-breaks
_BYES = "byes: points without a game; they are included in the points"
_QUARTERS = ("", "¼", "½", "¾")


def tiebreak_values(line: StandingsRow) -> dict[str, float]:
    """Return the tie-breaks of a line by code, in points if their unit is a part of a point."""
    return {
        code: value / PLACEMENT_CODES[code].per if PLACEMENT_CODES[code].per > 1 else value * PLACEMENT_CODES[code].per
        for code, value in line.tiebreaks
    }


def _tiebreak_column(code: str, *, continues: bool = False) -> Column:
    form = _format_quarters if PLACEMENT_CODES[code].per in (2, 4) else format_value
    return Column(code, code, continues=continues, form=form)


def _format_quarters(value: float | None) -> str:
    """Format halves and quarters of a point: ``9½``, ``30¾``, ``-¼``. The text is empty for None."""
    if value is None:
        return ""
    whole, quarters = divmod(int(abs(value) * 4), 4)
    return "-" * (value < 0) + f"{whole if whole or not quarters else ''}{_QUARTERS[quarters]}"


def standings_sheet(
    title: str,
    placed: Sequence[StandingsRow],
    odds: Mapping[str, int] | None = None,
    withdrawals: Iterable[Withdrawal] = (),
    meanings: Mapping[str, str] = {},
) -> Sheet:
    """Return the standings with their tie-breaks and the status of each entrant.

    `odds` counts the games of an entrant at time odds; its column is shown if it is not empty. The notes contain the
    reasons of `withdrawals`, and the codes with their usual `meanings` or those of a format.
    """
    codes = list(dict.fromkeys(code for line in placed for code, _ in line.tiebreaks))
    byes = any(line.unplayed for line in placed)
    columns = [*shared_columns("rank", "name", "points", "games")]
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
    notes = (*([_BYES] if byes else []), *(one.note for one in withdrawals if one.note), *legend(codes, meanings))
    return Sheet(title, tuple(columns), tuple(rows), (), notes)


def crosstable_sheet(
    title: str,
    names: Sequence[str],
    cells: Mapping[tuple[str, str], str],
    totals: Sequence[StandingsRow],
    codes: Sequence[str] = (),
    notes: tuple[str, ...] = (),
) -> Sheet:
    """Return the crosstable in the order of `names`, with the tie-breaks in `codes`.

    A cell such as ``1=0`` contains the results of the engine in the row. A cell of more than `MAX_CELL_GAMES`
    games shows points and games instead, such as ``12½/20``. CSV always has all results, as ``1½0``, because a
    spreadsheet reads a leading = as a formula.
    """
    by_name = {line.name: line for line in totals}
    columns = [*shared_columns("rank", "name", "points"), *map(_tiebreak_column, codes)]
    columns += [Column(f"vs{number}", str(number), continues=True, form=_cell) for number in range(1, len(names) + 1)]
    rows = []
    for number, name in enumerate(names, start=1):
        row: dict[str, object] = {"rank": number, "name": name, "points": by_name[name].half_points / 2}
        row |= {code: value for code, value in tiebreak_values(by_name[name]).items() if code in codes}
        for place, other in enumerate(names, start=1):
            row[f"vs{place}"] = "x" if other == name else cells.get((name, other), "").replace("=", "½")
        rows.append(row)
    return Sheet(title, tuple(columns), tuple(rows), (), (*notes, *legend(codes)))


MAX_CELL_GAMES = 12  # a cell of a crosstable with more games shows points and number of games


def _cell(results: str) -> str:
    if len(results) <= MAX_CELL_GAMES:
        return results.replace("½", "=")
    return f"{format_points(2 * results.count('1') + results.count('½'))}/{len(results)}"


def points_notes(
    placed: Iterable[StandingsRow], half_points: Mapping[str, int], *, by_match: bool = False
) -> tuple[str, ...]:
    """Return notes on why the points in the standings differ from the points in the crosstable.

    `half_points` contains the half points of each entrant in the crosstable.
    """
    byes, void, withdrawn = list[str](), list[str](), list[str]()
    for line in placed:
        more = line.half_points - line.unplayed - half_points[line.name]
        byes += [f"{line.name} {format_points(line.unplayed)}"] if line.unplayed else []
        if more and not by_match:
            (void if more > 0 else withdrawn).append(f"{line.name} {format_points(abs(more))}")
    found = {
        "points without a game (byes)": byes,
        "points of voided games that still count, because a later round was paired with their results": void,
        "points against withdrawn engines, not included in the standings": withdrawn,
    }
    notes = [f"{what}: {', '.join(who)}" for what, who in found.items() if who]
    return (*notes, *(["points are counted by match, results by game"] if by_match else []))


def probes_sheet(found: Mapping[str, ProbeResult]) -> Sheet:
    """Return a table of the results of starting each engine once."""
    columns = (
        Column("name", "engine", left=True, flexible=True),
        Column("fit", "can play", left=True, form=format_yes),
        Column("own_name", "reported name", left=True, flexible=True),
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


# Paired rounds.

_CERTIFIED = "certified"
_ROOM = 79  # columns of a narrow terminal


def round_sheet(
    title: str,
    field: Field,
    labels: Sequence[str],
    paired: Paired,
    warnings: Sequence[str],
    scores: tuple[str, Sequence[int]],
) -> Sheet:
    """Return the boards of a round with the scores before it; byes, guarantee and warnings are notes.

    `scores` are the name and the half points of the scores that decided the pairing.
    """
    called, before = scores
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
    """Return a round as JSON.

    Keys: round, system, pairs (board, white, black, and handicap at odds), bye, certified, guarantee, warnings.
    """
    byes = [_number_label(labels[place]) for place in paired.byes]
    pairs: list[dict[str, Any]] = []
    for number, board in enumerate(paired.boards, 1):
        white, black = (_number_label(labels[place]) for place in (board.white, board.black))
        pairs.append({"board": number, "white": white, "black": black})
        if board.handicap:
            pairs[-1]["handicap"] = board.handicap
    more = [f"{label} also has a bye" for label in byes[1:]]
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
    """Return the scores that decide the pairing as JSON; the object is empty if these scores are the points.

    Keys: the name of the score with its values by entrant, `starts` with the values before round 1, `starting_list`.
    """
    if called == "points":
        return {}
    now, begun = ({label: row[place] / 2 for place, label in enumerate(labels)} for row in (rows[-1], rows[0]))
    return {called: now, "starts": begun, "starting_list": [*starts]}


@dataclass(frozen=True, slots=True)
class CheckedRound:
    """A round of a file compared with the pairing of the system.

    Pairs contain the places of two entrants, White first; the second place is None for a bye.
    """

    number: int
    boards: int
    expected: Pairs
    found: Pairs
    failure: str = ""  # why the system cannot pair this round

    @property
    def differs(self) -> bool:
        """Return whether pairs, colors or byes differ."""
        return bool(self.expected or self.found or self.failure)


def checked_rounds(
    system: str, rounds: Sequence[CheckedRound], labels: Sequence[str], notes: Sequence[str]
) -> tuple[Sheet, dict[str, Any]]:
    """Return a table with a row for each round of a file and the pairs that differ, and the same for JSON.

    Keys of JSON: system, rounds (round, boards, same, expected, found, failure), differing, warnings. A bye has null.
    """

    def pairs(found: Pairs) -> list[list[int | str | None]]:
        return [[None if place is None else _number_label(labels[place]) for place in pair] for pair in found]

    columns = (
        Column("round", "round"),
        Column("boards", "boards"),
        Column("same", "same", form=format_yes),
        Column("expected", "by the system", left=True),
        Column("found", "in the file", left=True),
    )
    heads = [{"round": one.number, "boards": one.boards, "same": not one.differs} for one in rounds]
    rows = tuple(
        {**head, "expected": one.failure or _pairs(one.expected, labels), "found": _pairs(one.found, labels)}
        for head, one in zip(heads, rounds, strict=True)
    )
    value = [
        {**head, "expected": pairs(one.expected), "found": pairs(one.found), "failure": one.failure or None}
        for head, one in zip(heads, rounds, strict=True)
    ]
    differing = sum(one.differs for one in rounds)
    summary = f"{differing} of {len(rounds)} rounds differ" if differing else f"all {len(rounds)} rounds are the same"
    return (
        Sheet(f"rounds checked · {system}", columns, rows, (), (summary, *notes)),
        {"system": system, "rounds": value, "differing": differing, "warnings": list(notes)},
    )


def _pairs(pairs: Pairs, labels: Sequence[str]) -> str:
    return ", ".join(
        f"{labels[one]}-{labels[other]}" if other is not None else f"bye {labels[one]}" for one, other in pairs
    )


def _number_label(label: str) -> int | str:
    """Return a starting number as an integer, and an id unchanged."""
    return int(label) if label.isascii() and label.isdigit() else label


def why_lines(found: PairingReason, field: Field) -> list[str]:
    """Return the answer of ``--why`` in lines that fit a terminal."""
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
        weighs = any(reason.most != 1 for reason in found.reasons)  # otherwise each criterion is met or not
        sources = {reason.source for reason in found.reasons}
        lines += [f"criteria: {source}" for source in sources if len(sources) == 1]
        for reason in found.reasons:
            most = f" of at most {reason.most:,}" if reason.most else ""  # a penalty does not have a maximum
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
                f"weight lost by every round {with_or_without} this pair: at least {found.cost.least:,}"
                " (proved lower bound)"
            )
        if found.cost.exact is not None:
            lines.append(
                f"weight lost by the best round {with_or_without} this pair: {found.cost.exact:,} (solved again)"
            )
    if found.instead is None:
        lines.append(f"there is no legal round {with_or_without} this pair")
    else:
        pairs = {board.pair for board in found.paired.boards}
        lines.append(f"the best round {with_or_without} this pair would contain")
        lines += [f"  {names[a]} - {names[b]}" for a, b in found.instead if (a, b) not in pairs]
    return lines


def why_json(found: PairingReason, field: Field, labels: Sequence[str]) -> dict[str, Any]:
    """Return the answer of ``--why`` as JSON.

    Keys: round, pair, paired, guarantee, facts, rules, criteria (name, worth, most, source), weight, least, exact,
    instead. `least` and `exact` are None if weights do not decide the pairing, or if the
    opposite decision is not legal.
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


# Pairing report.

_PAIRING_NOTES = (
    "floats: boards with unequal scores; widest: largest score difference of a board; uneven: entrants whose numbers "
    "of games with White and with Black differ by 2 or more; without: byes of all kinds; e_total and RMS gap: Elo "
    "differences between opponents, from the games of this tournament (Vuorinen 2010, 7.1). Compare tournaments by "
    "their RMS gap.",
)


def pairing_report(title: str, figures: Sequence[RoundFigures], notes: Iterable[Note]) -> Sheet:
    """Return a row for each round and one for all rounds, with the proofs of the pairings as notes."""
    rounds = [dict(note.fields) for note in notes if note.kind == "round"]
    proofs = {round_["round"]: str(round_["guarantee"]) for round_ in rounds}
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
    # Whole points for people, one decimal in JSON; both are rounded from the exact value.
    shown = tuple({"rms_gap": "" if line.error.rms is None else f"{line.error.rms:.0f}"} for line in figures)
    footnotes = (*(f"{mark} {proof}" for proof, mark in marks.items()), *_PAIRING_NOTES)
    return Sheet(title, columns, rows, shown, footnotes)


# Figures of the pairing report.
#
# e_total = sqrt(sum over entrants and rounds of (RS - RS of the opponent)^2) / (2 k N), k rounds, N entrants: Vuorinen
# 2010, section 7.1. It falls with the size of the tournament, so tournaments are compared by the RMS gap. RS is the
# relative strength in Elo. The appendix of the thesis that defines it is not public, so enginetour uses the ratings of
# the logistic model from the games of the tournament, with one phantom draw of each entrant against 0.

_ABSOLUTE_DIFFERENCE = 2  # a color difference of this size is an absolute preference (FIDE C.04.3)


@dataclass(frozen=True, slots=True)
class PairingError:
    """The pairing error in Elo. `rms` is None before the first game."""

    total: float
    rms: float | None


@dataclass(frozen=True, slots=True)
class RoundFigures:
    """The figures of one round, or of all rounds if `number` is 0."""

    number: int
    boards: int
    floats: int  # boards with unequal scores
    widest: int  # the largest score difference of a board, half points
    rematches: int  # boards of two entrants that have played each other before
    uneven: int  # entrants whose color difference is at least `_ABSOLUTE_DIFFERENCE` after the round
    unpaired: int  # byes of all kinds, without absent entrants
    error: PairingError


def relative_strengths(field: Field) -> tuple[float, ...]:
    """Return the relative strength of each entrant in Elo, by place; 0 without games. Byes and forfeits do not count.

    The model treats a draw as half a win and half a loss, so the points of a match are sufficient.
    """
    from enginetour.formats.pairing.gorounds import match_scores  # loads numpy, which most tables do not need
    from enginetour.ratings.likelihood import fit
    from enginetour.ratings.priors import PhantomDraws

    names = [f"{place:06}" for place in range(len(field.members))]  # two entrants can have the same name
    counts: dict[tuple[str, str], tuple[int, int, int]] = {}
    for one, other, score in chain.from_iterable(match_scores(field)):
        if any(score):
            pair = names[one], names[other]
            wins, draws, losses = map(sum, zip(counts.get(pair, (0, 0, 0)), score, strict=True))
            counts[pair] = wins, draws, losses
    if not counts:
        return (0.0,) * len(names)
    found = fit(counts, prior=PhantomDraws(1.0, 0.0)).by_name()
    return tuple(found.get(name, 0.0) for name in names)


def pairing_figures(field: Field, scores: Sequence[Sequence[int]] = ()) -> tuple[RoundFigures, ...]:
    """Return the figures of each round and of all rounds.

    `scores` contains the half points that decided the pairing; by default `Field.points`.
    """
    strengths = relative_strengths(field)
    lines = []
    met: set[tuple[int, int]] = set()
    balance = [0] * len(field.members)
    for number, row in enumerate(field.history):
        before, boards = (scores or field.points)[number], _boards(row)
        gaps = [abs(before[one] - before[other]) for one, other in boards]
        for member, turn in enumerate(row):
            balance[member] += turn.color if turn.met and not turn.handicap else 0
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
    """Return the pairing error of the given rounds, counted from 0; `strengths` are Elo by place."""
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
