"""Pair the next round of a tournament of another program.

A round that the file already contains is paired again: its opponents and byes only show who is present.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn, get_args

from pydantic import ValidationError

from enginetour.formats.base import FEWEST, SYSTEMS, RatingHandicap, make_format, options_model, setting_value
from enginetour.formats.dutch import Dutch
from enginetour.formats.gotha import Handicap
from enginetour.formats.information import Information
from enginetour.formats.pairing import standings, tiebreaks
from enginetour.formats.pairing.dutch_criteria import virtual_points
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Field, Kind, Member, Paired, Turn, Unpairable
from enginetour.formats.rounds import PairingSystem, RoundsOptions
from enginetour.interop.foreign import ForeignTournament, SeparatedField, existing_round
from enginetour.interop.trf import (
    TrfCell,
    TrfEntrant,
    TrfLine,
    TrfReport,
    read_header,
    read_odds,
    virtual_lines,
    with_odds,
)
from enginetour.model.errors import InputRefused, UsageRefused, suggest
from enginetour.model.game import StandingsRow
from enginetour.model.validation import plain_error
from enginetour.ratings import grades
from enginetour.ratings.gor import FLOOR

# Conversion between a tournament report and a field: check that both sides of each game agree, find who is present,
# and add the new round to the report.

_COLORS = {"w": WHITE, "b": BLACK, "-": NEITHER}
_COLOR_NAMES = {WHITE: "white", BLACK: "black"}
# letter -> kind of turn, and the letter that has its points in line 162
_WITH_OPPONENT = {
    **dict.fromkeys("1W", (Kind.PLAYED, "W")),
    **dict.fromkeys("=D", (Kind.PLAYED, "D")),
    **dict.fromkeys("0L", (Kind.PLAYED, "L")),
    "+": (Kind.FORFEIT, "+"),
    "-": (Kind.FORFEIT, "A"),
}
# Some programs before 2016 write byes as + = - without an opponent.
_UNPLAYED_RESULTS = {
    **dict.fromkeys("F+", (Kind.FULL_BYE, "F")),
    **dict.fromkeys("H=", (Kind.HALF_BYE, "H")),
    **dict.fromkeys("Z -", (Kind.ABSENT, "Z")),
    "U": (Kind.BYE, "P"),
}
_LETTERS = {Kind.FULL_BYE: "F", Kind.HALF_BYE: "H", Kind.ABSENT: "Z"}


def read_tournament(report: TrfReport, *, number: int | None = None, rounds: int | None = None) -> ForeignTournament:
    """Return the tournament before round `number`, by default the first round without pairs.

    `rounds` is the total number of rounds. The default is the number in the header of the file; without one, it is the
    number of rounds in the entrants' lines if they contain round `number`. Raise InputRefused for lines that contradict
    each other.
    """
    return _Reader(report).foreign(number, rounds)


def rounds_paired(report: TrfReport) -> int:
    """Return how many rounds of the file are paired."""
    return _rounds_paired(report.entries)[0]


class _Reader:
    """Read a report; with `whole` no round will be paired, and games of the last round may lack results."""

    def __init__(self, report: TrfReport, *, whole: bool = False) -> None:
        self.report, self.whole = report, whole
        self.header, self.odds = read_header(report), read_odds(report)
        self.entries = sorted(report.entries, key=lambda one: (one.line if self.header.by_line else 0, one.number))
        self.places = {entry.number: place for place, entry in enumerate(self.entries)}
        self.paired, self.fixed = _rounds_paired(self.entries)

    def foreign(self, number: int | None = None, rounds: int | None = None) -> ForeignTournament:
        entries, paired = self.entries, self.paired
        self._check_byes_alone(paired)
        following = paired + 1 if number is None else number
        if not 1 <= following <= paired + 1:
            self.report.refuse(0, f"a round from 1 to {paired + 1}", following)
        in_all = self._rounds(following, rounds)
        history = tuple(tuple(self._turn(entry, count) for entry in entries) for count in range(1, following))
        asked = {place: kind for place, entry in enumerate(entries) if (kind := self._asked(entry, following))}
        bye = self.fixed if following == paired + 1 else None
        there = tuple(place for place in range(len(entries)) if place not in asked and place != bye)
        field = SeparatedField(
            members=tuple(
                Member(e.name, None if e.rating is None else float(e.rating), "", e.federation) for e in entries
            ),
            history=history,
            present=there,
            rounds=in_all,
            win=self.header.scores["W"],
            loss=self.header.scores["L"],
            draw=self.header.scores["D"],
            virtual=self._virtual(following),
            bye=bye,
            apart=frozenset(
                (min(pair), max(pair))
                for during, numbers in self.header.forbidden
                if following in during
                for pair in [[self.places[one] for one in numbers]]
            ),
        )
        second_byes = (
            f"entrant {entry.number} has two allocated byes"
            for entry in entries
            if sum(cell.result == "U" for cell in entry.cells[: following - 1]) > 1
        )
        warnings = (*self._sums(), *second_byes, *self._type())
        labels = tuple(str(entry.number) for entry in entries)
        existing, colorless = None, frozenset[tuple[int, int]]()
        if following <= paired:
            existing, colorless = existing_round([self._open_turn(entry, following) for entry in entries])
        return ForeignTournament(
            field, labels, self._settings(), asked, warnings, existing=existing, colorless=colorless
        )

    def _open_turn(self, entry: TrfEntrant, number: int) -> Turn:
        """Return the opponent of an entrant in a round according to the file, whatever the result."""
        cell = _cell(entry, number)
        if not cell.opponent:
            return Turn(Kind.BYE if cell.result == "U" else Kind.ABSENT)
        self._mutual(entry, number)
        return Turn(Kind.PLAYED, self.places[cell.opponent], _COLORS[cell.color])

    def _check_byes_alone(self, number: int) -> None:
        """Raise InputRefused if the last round has several allocated byes, no game, and entrants that could play."""
        cells = {str(entry.number): _cell(entry, number) for entry in self.entries} if number else {}
        resting = [label for label, cell in cells.items() if cell.result == "U"]
        waiting = list(cells.values()).count(TrfCell())
        if len(resting) > 1 and waiting >= FEWEST and not any(cell.opponent for cell in cells.values()):
            expected = f"at most one bye in round {number}, which has no games"
            self.report.refuse(0, expected, f"byes of {', '.join(resting)}")

    def _rounds(self, following: int, asked: int | None) -> int:
        written = max(len(entry.cells) for entry in self.entries)
        in_all = asked or self.header.rounds or (written if following <= written or self.whole else None)
        if in_all is None:
            self.report.refuse(0, "the number of rounds in line 142 or --rounds", "none")
        if following > in_all and not self.whole:
            self.report.refuse(0, f"a round that is not paired, or --rounds above {in_all}", "all paired")
        return in_all

    def _turn(self, entry: TrfEntrant, number: int) -> Turn:
        """Return the result of an entrant in a round; raise InputRefused unless the opponent's line agrees."""
        cell = _cell(entry, number)
        if not cell.opponent:
            if cell.result not in _UNPLAYED_RESULTS:
                self._refuse(entry, number, "an opponent", f"the result {cell.result} without an opponent")
            kind, score = _UNPLAYED_RESULTS[cell.result]
            return Turn(kind, points=self.header.worth(score))
        if cell.result == " " and self.whole and number == self.paired:
            return self._open_turn(entry, number)
        if cell.result == " ":
            self._refuse(entry, number, "a result", "none: the round is not finished")
        if cell.result not in _WITH_OPPONENT:
            self._refuse(entry, number, "the result of a game", f"{cell.result} with opponent {cell.opponent}")
        self._check_opponent(entry, number)
        kind, score = _WITH_OPPONENT[cell.result]
        points, games = self.header.worth(score), int(kind is Kind.PLAYED)
        given = self._given(number, entry.number, cell.opponent) if games else 0
        return Turn(kind, self.places[cell.opponent], _COLORS[cell.color], points, given, games)

    def _given(self, number: int, one: int, other: int) -> int:
        """Return the bands that `one` gives `other`, negative if `one` receives them."""
        taker, bands = self.odds.get((number, one), (0, 0))
        if taker == other:
            return bands
        taker, bands = self.odds.get((number, other), (0, 0))
        return -bands if taker == one else 0

    def _mutual(self, entry: TrfEntrant, number: int) -> TrfEntrant:
        """Return the opponent; raise InputRefused unless the opponent's line names this entrant too."""
        cell = _cell(entry, number)
        if cell.opponent not in self.places or cell.opponent == entry.number:
            self._refuse(entry, number, "the number of another entrant", cell.opponent)
        other = self.entries[self.places[cell.opponent]]
        answer = _cell(other, number).opponent
        if answer != entry.number:
            found = f"{answer or 'none'} in line {other.line}"
            self._refuse(entry, number, f"an opponent whose line names {entry.number}", found)
        return other

    def _check_opponent(self, entry: TrfEntrant, number: int) -> None:
        other = self._mutual(entry, number)
        cell, answer, who = _cell(entry, number), _cell(other, number), f"line {other.line}"
        if {cell.color, answer.color} not in ({"w", "b"}, {"-"}) or (cell.color == "-" and cell.result not in "+-"):
            expected = "w on one side and b on the other"
            self._refuse(entry, number, expected, f"{cell.color} here and {answer.color} in {who}")
        mine, theirs = _WITH_OPPONENT[cell.result], _WITH_OPPONENT.get(answer.result, (None, ""))
        both = {mine[1], theirs[1]}
        if mine[0] is not theirs[0] or (both & {"W", "+"} and both not in ({"W", "L"}, {"+", "A"})):
            found = f"{cell.result} here and {answer.result} in {who}"
            self._refuse(entry, number, "results that agree", found)

    def _refuse(self, entry: TrfEntrant, number: int, expected: str, found: object) -> NoReturn:
        self.report.refuse(entry.line, f"{expected} in round {number} of entrant {entry.number}", found)

    def _asked(self, entry: TrfEntrant, number: int) -> Kind | None:
        """Return the kind of absence from the round to be paired, or None if the entrant is present."""
        cell = _cell(entry, number)
        if cell.opponent or cell.result == "U":
            return None
        letter = self.header.byes.get((number, entry.number), cell.result)
        if letter == " ":
            return Kind.ABSENT if number <= self.paired or entry.number in self.header.away else None
        if letter not in _UNPLAYED_RESULTS:
            self._refuse(entry, number, "an opponent", letter)
        return _UNPLAYED_RESULTS[letter][0]

    def _type(self) -> list[str]:
        """Return a note if the file names another pairing system than the Dutch one, and a round will be paired."""
        if self.whole or not self.header.type or self.header.type.upper().startswith("FIDE_DUTCH"):
            return []
        return [f"{self.report.place}: pairing system {self.header.type} is ignored"]

    def _virtual(self, number: int) -> tuple[tuple[int, ...], ...]:
        """Return the virtual points of each round up to `number` in the file, for any acceleration method."""
        if not self.header.virtual:
            return ()
        given = self.header.virtual
        return tuple(tuple(given.get((count, e.number), 0) for e in self.entries) for count in range(1, number + 1))

    def _sums(self) -> list[str]:
        """Return notes about points that differ from the sum of the rounds.

        The points may include or exclude an unfinished round, byes after it, and current virtual points.
        """
        paired, warnings = self.paired, []
        cells = ([_cell(entry, count + 1) for entry in self.entries] for count in range(paired))
        begun = [count for count, row in enumerate(cells) if any(one.opponent and one.result == " " for one in row)]
        for entry in self.entries:
            worth = [self._worth(cell) for cell in entry.cells]
            extra = {0, *(self.header.virtual.get((count, entry.number), 0) for count in (paired, paired + 1))}
            sums = {sum(worth[:upto]) for upto in (len(worth), paired, min(begun, default=paired))}
            if entry.points not in {one + more for one in sums for more in extra}:
                warnings.append(
                    f"{self.report.place}:{entry.line}: entrant {entry.number} has {entry.points / 2:g} points, "
                    f"but the sum of its rounds is {sum(worth[:paired]) / 2:g}; the rounds are used"
                )
        return warnings

    def _worth(self, cell: TrfCell) -> int:
        kinds = _WITH_OPPONENT if cell.opponent else _UNPLAYED_RESULTS
        return self.header.worth(kinds.get(cell.result, (None, "A"))[1])

    def _settings(self) -> dict[str, object]:
        found: dict[str, object] = {}
        color = self.header.color or _first_color(self.entries)
        if color:
            found["initial_color"] = _COLOR_NAMES[color]
        if self.header.baku and not self.header.virtual:
            found["acceleration"] = "baku"
        return found


def _cell(entry: TrfEntrant, number: int) -> TrfCell:
    return entry.cells[number - 1] if number <= len(entry.cells) else TrfCell()


def _rounds_paired(entries: Sequence[TrfEntrant]) -> tuple[int, int | None]:
    """Return how many rounds are paired, and the place of the entrant whose bye in the next round is fixed.

    A bye is fixed before pairing if one entrant has U, no entrant has an opponent, and two or more have a blank result.
    """
    last = max((count for entry in entries for count, cell in enumerate(entry.cells, 1) if _is_paired(cell)), default=0)
    cells = [_cell(entry, last) for entry in entries] if last else []
    byes = [place for place, cell in enumerate(cells) if cell.result == "U"]
    if len(byes) != 1 or any(cell.opponent for cell in cells) or cells.count(TrfCell()) < FEWEST:
        return last, None
    return last - 1, byes[0]


def _is_paired(cell: TrfCell) -> bool:
    return bool(cell.opponent) or cell.result == "U"


def _first_color(entries: Sequence[TrfEntrant]) -> int | None:
    """Return the initial color according to the first round with games, or None; later entrants do not count."""
    first = min((n for entry in entries for n, cell in enumerate(entry.cells, 1) if _COLORS[cell.color]), default=0)
    there = [entry for entry in entries if any(_is_paired(cell) for cell in entry.cells[:first])]
    for count, entry in enumerate(there, 1):
        if color := _COLORS[_cell(entry, first).color]:
            return color if count % 2 else -color
    return None


def _with_virtual(report: TrfReport, before: ForeignTournament, accelerated: int) -> TrfReport:
    """Return the report with the virtual points of the pairing, so that other programs need no acceleration rule."""
    if not accelerated or before.field.virtual:
        return report
    rows = [virtual_points(before.field, number, accelerated) for number in range(1, accelerated + 1)]
    lines = virtual_lines([dict(zip(map(int, before.labels), row, strict=True)) for row in rows])
    kept = [one for one in report.records if not (isinstance(one, TrfLine) and one.tag in ("250", "XXA"))]
    first = next(at for at, one in enumerate(kept) if isinstance(one, TrfEntrant))
    return replace(report, records=(*kept[:first], *map(TrfLine, lines), *kept[first:]))


def with_round(report: TrfReport, before: ForeignTournament, paired: Paired) -> TrfReport:
    """Return the report with the new round (opponents and colors, without results) instead of an existing one.

    The absences of XXZ are removed, because they are now in the column of this round.
    """
    number = before.field.number
    cells = {place: TrfCell(result=_LETTERS[kind]) for place, kind in before.asked.items()}
    cells |= {place: TrfCell(result="U") for place in paired.byes}
    for board in paired.boards:
        cells[board.white] = TrfCell(int(before.labels[board.black]), "w")
        cells[board.black] = TrfCell(int(before.labels[board.white]), "b")
    report = with_odds(report, number, before.labels, paired.boards)
    report = _with_virtual(report, before, paired.accelerated)
    entries = {entry.number: entry for entry in report.entries}
    fresh = []
    for place, label in enumerate(before.labels):
        entry = entries[int(label)]
        earlier = (*entry.cells, *[TrfCell()] * number)[: number - 1]
        fresh.append(replace(entry, cells=(*earlier, cells.get(place, TrfCell(result="Z")))))
    kept = tuple(one for one in report.records if not (isinstance(one, TrfLine) and one.tag == "XXZ"))
    return replace(report, records=kept).with_entries(fresh)


# Tournaments of other programs with enginetour's systems: next round, settings of file and user, and table.

_FIDE_RULES = {"fide": "2026", "fide-2023": "2023", "fide-2009": "2009"}
_SHOWN = 8  # number of names in a note
_PLANNED = ("applies only to tournaments that enginetour runs", "use --absent for entrants that miss this round")
_NOT_SETTABLE = {  # setting -> problem, and what to do
    "absent": _PLANNED,
    "half_bye": _PLANNED,
    "bye_points": ("applies only to tournaments that enginetour runs", "set the points of a bye with P in line 162"),
    "rounds": ("cannot be set here", "use --rounds N"),
}
_READ_BY_ALL = ("initial_color", "drop")  # settings of a file that every system uses: initial color and absences


def parse_settings(words: Iterable[str]) -> dict[str, object]:
    """Read ``key=value`` texts; a value is TOML or plain text. Raise UsageRefused for texts without ``=`` or key."""
    found: dict[str, object] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            step = "run enginetour systems NAME to list the keys"
            raise UsageRefused(f"{word!r} is not a valid KEY=VALUE setting", place="--set", step=step)
        found[key.strip()] = setting_value(value.strip())
    return found


def check_system(name: str) -> None:
    """Raise UsageRefused unless a system with this name exists and pairs in rounds."""
    if name not in SYSTEMS:
        raise UsageRefused(f"unknown system {name!r}{suggest(name, _in_rounds())}", place="--system")
    if not SYSTEMS[name].rounds:
        known = ", ".join(_in_rounds())
        raise UsageRefused(f"system {name} does not pair in rounds; systems that do: {known}", place="--system")


def _in_rounds() -> list[str]:
    return [name for name, system in SYSTEMS.items() if system.rounds]


def _by_name(foreign: ForeignTournament, given: Mapping[str, object]) -> dict[str, object]:
    """Return the settings; gopair's `bye` and `drop` contain names of entrants instead of ids of the file."""

    def name(label: object) -> object:
        place = foreign.place(label) if isinstance(label, str) else None
        return label if place is None else foreign.field.members[place].name

    found = dict(given)
    if (bye := found.get("bye")) is not None:
        found["bye"] = [name(label) for label in (bye if isinstance(bye, list) else [str(bye)])]
    if isinstance(drop := found.get("drop"), dict):
        found["drop"] = {name(label): rounds for label, rounds in drop.items()}
    return found


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def on_rating_scale(system: PairingSystem, foreign: ForeignTournament) -> ForeignTournament:
    """Return the tournament with ratings on the scale of the system.

    In GoR, 1 dan begins at 2050, and the lowest rating is 100.
    """
    if foreign.one_dan is None or not isinstance(system, Information) or system.model != "gor":
        return foreign
    above = grades.GO - foreign.one_dan
    members = tuple(
        replace(member, rating=None if member.rating is None else max(FLOOR, member.rating + above))
        for member in foreign.field.members
    )
    if members == foreign.field.members:
        return foreign
    return replace(foreign, field=replace(foreign.field, members=members), one_dan=None)


def make_pairing_system(
    name: str, foreign: ForeignTournament, given: Mapping[str, object]
) -> tuple[PairingSystem, tuple[str, ...]]:
    """Return the system with the settings of the file and the user, and notes about unused settings.

    The settings of the user have priority.
    Raise InputRefused if the system cannot pair this field.
    """
    check_system(name)
    for key, (what, step) in _NOT_SETTABLE.items():
        if key in given:
            raise UsageRefused(f"{key} {what}", place="--set", step=step)
    model: Any = options_model(name)
    fields = model.model_fields
    by_score = "handicap" in fields and Handicap in get_args(fields["handicap"].annotation)
    used = set(fields) - (set() if by_score else {"handicap"})  # the handicap setting of a file is by McMahon score
    idle = {key: value for key, value in foreign.settings.items() if key not in used and key not in _READ_BY_ALL}
    notes = []
    if idle:
        named = ", ".join(idle) if len(idle) > 1 else ", ".join(f"{key} = {_format_value(idle[key])}" for key in idle)
        notes.append(f"settings of the file that {name} ignores: {named}")
    if foreign.field.virtual and "acceleration" not in fields:
        notes.append(f"the file has virtual points (250, XXA), which {name} ignores")
    wanted = {key: value for key, value in foreign.settings.items() if key in used}
    wanted |= _by_name(foreign, given) if name == "gopair" else given
    if "rounds" in fields:
        wanted["rounds"] = foreign.field.rounds
    try:
        options = model.model_validate(wanted)
    except ValidationError as error:
        step = f"run enginetour systems {name} to list the settings"
        raise UsageRefused(plain_error(error, model, wanted, noun="setting"), place="--set", step=step) from None
    rounds: Any = make_format(name, options)
    system: PairingSystem = rounds.system
    rated = on_rating_scale(system, foreign)
    if rated is not foreign:
        more = grades.GO - (foreign.one_dan or 0)
        raised = f"with {name}, ratings of the file are increased by {more:g}, because 1 dan begins at {grades.GO:g}"
        lowest = f"with {name}, ratings below {FLOOR:g} count as {FLOOR:g}, the lowest rating of GoR"
        notes.append(f"{raised}; the lowest rating is {FLOOR:g}" if more else lowest)
    most = RoundsOptions.most_rounds(len(foreign.field.members))
    if "rounds" in fields and foreign.field.rounds > most:
        notes.append(
            f"{foreign.field.rounds} rounds need rematches; without rematches, at most {most} rounds are possible"
        )
    system.bounded = False  # another program's tournament can have any number of rounds
    try:
        system.check(rated.field.members)
        handicap = getattr(options, "handicap", None)
        if isinstance(handicap, RatingHandicap):
            handicap.check({member.name: member.rating for member in foreign.field.members})
    except ValueError as error:
        raise InputRefused(str(error), place=name) from None
    return system, tuple(notes)


@dataclass(frozen=True, slots=True)
class FinalTable:
    """Table of a file; `finished` is True if all rounds are played."""

    title: str
    placed: tuple[StandingsRow, ...]
    finished: bool
    notes: tuple[str, ...]


def rank_report(report: TrfReport, codes: Sequence[str] | None, unplayed: tiebreaks.Unplayed) -> FinalTable:
    """Return the table in the order of `codes`, by default the codes of lines 202 and 212, or of the Dutch system.

    The order ends before a code of the file that enginetour does not support. Raise UsageRefused for unknown codes.
    """
    said, foreign = read_header(report), _Reader(report, whole=True).foreign()
    field, notes = foreign.field, list(foreign.warnings)
    if codes is not None:
        try:
            order = standings.check_codes(tuple(codes))
        except ValueError as error:
            raise UsageRefused(str(error), place="--placement") from None
    else:
        order, unknown = _order(said.codes)
        if unknown:
            notes.append(f"tie-break {unknown} of the file is not supported; only the tie-breaks before it are used")
    placed = standings.rank_by_codes(
        field, order, tuple(range(len(field.members))), tiebreaks.PlacementTerms(unplayed=unplayed)
    )
    if unplayed in _FIDE_RULES:
        rules = f"the FIDE rules of {_FIDE_RULES[unplayed]} (--unplayed {unplayed})"
        notes.append(f"rounds without a game are scored by {rules}")
    notes += _ranked_otherwise(report, placed, foreign)
    is_open = any(not turn.games and turn.met for row in field.history[-1:] for turn in row)
    finished = len(field.history) >= field.rounds and not is_open
    return FinalTable(said.name or report.place, placed, finished, tuple(notes))


def rank_by_system(
    name: str,
    title: str,
    foreign: ForeignTournament,
    columns: Mapping[str, Sequence[Fraction]],
    codes: Sequence[str] | None,
    unplayed: tiebreaks.Unplayed | None,
) -> FinalTable:
    """Return the table of a file after its last round, by a pairing system with the settings of the file and the user.

    The `columns` of the file are compared with the table. Raise UsageRefused for unknown codes.
    """
    chosen = {"placement": None if codes is None else list(codes), "unplayed": unplayed}
    given: dict[str, object] = {key: value for key, value in chosen.items() if value is not None}
    if name == "gopair" and "method" not in foreign.settings:
        given["method"] = "best"  # a table does not need remaining opponents
    system, unused = make_pairing_system(name, foreign, given)
    field = foreign.field
    placed = system.table(field, tuple(range(len(field.members))))
    notes = [*foreign.warnings, *unused]
    columns = columns if len(field.history) >= field.rounds else {}  # the file has values after the last round
    found = standings.code_values(field, tuple(columns), system.terms(field))
    for code, column in columns.items():
        lowest = code == "CAT" and min(column) > 0  # some files count categories from 1
        mine = [Fraction(value, tiebreaks.PLACEMENT_CODES[code].per) + lowest for value in found[code]]
        other = [(at, here, there) for at, (here, there) in enumerate(zip(mine, column, strict=True)) if here != there]
        if other:
            at, here, there = other[0]
            more = f", and {len(other) - 1} more" if len(other) > 1 else ""
            values = f"{float(there):g} in the file, {float(here):g} here"
            notes.append(f"{code} of {field.members[at].name}: {values}{more}")
    is_open = any(
        turn.met and turn.opponent is not None and not turn.points and not row[turn.opponent].points
        for row in field.history[-1:]
        for turn in row
    )
    return FinalTable(title, placed, len(field.history) >= field.rounds and not is_open, tuple(notes))


def _order(codes: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return the codes of a file in the form of enginetour up to the first unknown code, and this code or ""."""
    if not codes:
        return Dutch.codes, ""
    found: list[str] = []
    for code in codes:
        mine = code.replace(":GP", "").replace("/", "-").replace("#", "-")
        mine = {"RTNG": "RATING"}.get(mine, mine)
        if mine not in tiebreaks.PLACEMENT_CODES:
            return tuple(found or ("PTS",)), code
        found.append(mine)
    return tuple(found), ""


def _ranked_otherwise(report: TrfReport, placed: Sequence[StandingsRow], foreign: ForeignTournament) -> list[str]:
    """Return a note about entrants whose rank in the file differs, if the file has ranks for all entrants."""
    ranks = {entry.name: entry.rank for entry in report.entries}
    if None in ranks.values() or len(ranks) != len(foreign.labels):
        return []
    other = [f"{line.name} ({ranks[line.name]})" for line in placed if ranks[line.name] != line.rank]
    more = ", ..." if len(other) > _SHOWN else ""
    return [f"ranks differ from the file for {len(other)} entrants: {', '.join(other[:_SHOWN])}{more}"] if other else []


_POINTS = {"+": (2, 0), "=": (1, 1), "-": (0, 2)}  # half points of White and Black
_RESULTS = re.compile(r"results (\d{1,5})(?: (.*))?")
_GAME = re.compile(r"pairings? (\d{1,7})")

_SystemMaker = Callable[[Field], PairingSystem]


def answer_xboard(lines: Iterable[str], make: _SystemMaker, *, rounds: int, seed: int = 1) -> Iterator[str]:
    """Yield one answer per game request; `make` returns the system for a field. Errors are shown to xboard's user.

    All other commands are for chess engines and need no answer.
    """
    count, results = 0, ""
    for line in lines:
        text = line.rstrip("\r\n")
        if text == "quit":
            return
        if found := _RESULTS.fullmatch(text):
            count, results = int(found[1]), found[2] or ""
        elif asked := _GAME.fullmatch(text):
            try:
                yield xboard_game(make, count, results, int(asked[1]), rounds=rounds, seed=seed)
            except ValueError as error:
                yield f"tellusererror enginetour: {error}"


def xboard_game(make: _SystemMaker, count: int, results: str, number: int, *, rounds: int, seed: int = 1) -> str:
    """Return the players of a game as ``A-B``; raise ValueError if they are unknown."""
    each = count // 2
    if not each or not number:
        raise ValueError(f"game {number} of {count} participants does not exist")
    wanted, board = divmod(number - 1, each)
    if wanted >= rounds:
        raise ValueError(f"game {number} is in round {wanted + 1} of {rounds}; use --rounds {wanted + 1}")
    members = tuple(Member(str(place + 1)) for place in range(count))
    field = Field(members, (), tuple(range(count)), rounds, seed=seed)
    system = make(field)
    for at in range(wanted):
        played = results[at * each : (at + 1) * each]
        paired = _boards(system, field, each)
        field = Field(members, (*field.history, _row(field, paired, played, system)), field.present, rounds, seed=seed)
    found = _boards(system, field, each).boards[board]
    return f"{found.white + 1}-{found.black + 1}"


def _boards(system: PairingSystem, field: Field, each: int) -> Paired:
    paired = system.paired(field)
    if len(paired.boards) != each:
        raise Unpairable(f"round {field.number} has {len(paired.boards)} boards, but xboard plays {each}")
    return paired


def _row(field: Field, paired: Paired, played: str, system: PairingSystem) -> tuple[Turn, ...]:
    row = [Turn() for _ in field.members]
    for board, sign in zip(paired.boards, played.ljust(len(paired.boards)), strict=True):
        if sign not in _POINTS:
            raise ValueError(f"round {field.number} is not finished, so round {field.number + 1} cannot be paired")
        white, black = _POINTS[sign]
        row[board.white] = Turn(Kind.PLAYED, board.black, WHITE, white, games=1)
        row[board.black] = Turn(Kind.PLAYED, board.white, BLACK, black, games=1)
    for place in paired.byes:
        row[place] = Turn(Kind.BYE, points=system.bye_points(field))
    return tuple(row)
