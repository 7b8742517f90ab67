"""Pairs the next round of another program's event.

A round to be paired that is in the file already is paired anew: its opponents and byes only say who was there.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, get_args

from pydantic import ValidationError

from enginetour.formats.base import SYSTEMS, make_format, options_model
from enginetour.formats.dutch import Dutch
from enginetour.formats.gotha import Handicap
from enginetour.formats.information import Information
from enginetour.formats.options import FEWEST, RatingHandicap
from enginetour.formats.pairing import standings, tiebreaks
from enginetour.formats.pairing.dutch_criteria import virtual_points
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Board, Field, Kind, Member, Paired, Turn, Unpairable
from enginetour.formats.rounds import PairingSystem, RoundsOptions
from enginetour.interop.toml import refusal
from enginetour.interop.trf import Cell, Entry, Header, Line, Odds, Report, header, odds_in, virtual_lines, with_odds
from enginetour.model.errors import InputRefused, UsageRefused, match_name, suggest
from enginetour.model.game import StandingsRow
from enginetour.ratings import grades
from enginetour.ratings.gor import FLOOR

# A tournament that another program runs, as pairing systems see it, and the next round of it.

Pairs = tuple[tuple[int, int | None], ...]


@dataclass(frozen=True)
class Separated(Field):
    """A field in which some must not meet: they count as having met in the round to be paired, so nobody is tempted."""

    apart: frozenset[tuple[int, int]] = frozenset()  # places, lower first

    @cached_property
    def meetings(self) -> tuple[dict[int, int], ...]:
        """As those of any field, with the pairs apart met in this very round."""
        found = tuple(map(dict, super().meetings))
        for one, other in self.apart:
            found[one][other] = found[other][one] = self.number
        return found

    def parted(self, one: int, other: int) -> Separated:
        """The same with one pair more apart."""
        return replace(self, apart=self.apart | {(min(one, other), max(one, other))})

    def resting(self, place: int) -> Separated:
        """The same with the bye of this round fixed for a member that is there."""
        there = {*self.present, *([] if self.bye is None else [self.bye])} - {place}
        return replace(self, bye=place, present=tuple(sorted(there)))


@dataclass(frozen=True, slots=True)
class Foreign:
    """A file's tournament before its next round.

    `labels` are the file's names of the members, by place; `settings` what the file says of the pairing, by the
    systems' keys; `asked` the unplayed rounds that absent members asked for, others are just not there. `one_dan` is
    the rating at which 1 dan begins, where the file has a scale of grades.
    """

    field: Separated
    labels: tuple[str, ...]
    settings: Mapping[str, object]
    asked: Mapping[int, Kind]
    warnings: tuple[str, ...] = ()
    one_dan: float | None = None
    stands: Paired | None = None  # this round as the file has it already
    colorless: frozenset[tuple[int, int]] = frozenset()  # pairs of it that the file gives no colors

    def differing(self, paired: Paired) -> tuple[Pairs, Pairs]:
        """Pairs of a round that the file does not have, and those that it has instead, White first; a bye has None."""
        assert self.stands is not None
        mine, theirs = (
            {*((board.white, board.black) for board in one.boards), *((place, None) for place in one.byes)}
            for one in (paired, self.stands)
        )
        mine = {(b, w) if b is not None and (b, w) in theirs and (b, w) in self.colorless else (w, b) for w, b in mine}
        return tuple(sorted(mine - theirs, key=_first)), tuple(sorted(theirs - mine, key=_first))

    def place(self, label: str) -> int | None:
        """Of the member of that label or name, zeros and case aside, or of the only one whose name begins so."""
        wanted = plain_label(label)
        for place, known in enumerate(self.labels):
            if plain_label(known) == wanted or self.field.members[place].name.lower() == label.strip().lower():
                return place
        names = [member.name for member in self.field.members]
        name = None if label.strip().isdigit() else match_name(label.strip(), names)
        return None if name is None or names.count(name) > 1 else names.index(name)


def as_it_stands(row: Sequence[Turn]) -> tuple[Paired, frozenset[tuple[int, int]]]:
    """A round that a file has already, and its pairs without colors."""
    pairs = [(at, turn) for at, turn in enumerate(row) if turn.opponent is not None]
    boards = [
        Board(at, turn.opponent, max(turn.handicap, 0))
        for at, turn in pairs
        if turn.opponent is not None and (turn.colour == WHITE or (not turn.colour and at < turn.opponent))
    ]
    byes = tuple(at for at, turn in enumerate(row) if turn.kind is Kind.BYE)
    colorless = frozenset((board.white, board.black) for board in boards if not row[board.white].colour)
    return Paired(tuple(boards), byes), colorless


def is_as_heavy(system: PairingSystem, field: Field, one: Paired, other: Paired) -> bool:
    """Whether two rounds have the same sum of weights and bars, where the system makes the sum as large as it can."""
    weighed = system.weighed(field)
    if weighed is None:
        return False
    at = {member: place for place, member in enumerate(weighed.members)}
    if any({place for board in paired.boards for place in board.pair} != at.keys() for paired in (one, other)):
        return False
    first, second = (
        (
            sum(int(weighed.weights[at[board.white], at[board.black]]) for board in paired.boards),
            sorted(int(weighed.barred[at[board.white], at[board.black]]) for board in paired.boards),
        )
        for paired in (one, other)
    )
    return first == second


def plain_label(text: str) -> str:
    """A label as all ways to write it have it in common: lower case, without zeros before the number."""
    return re.sub(r"^([^0-9]*)0+(?=[0-9])", r"\1", text.strip().lower())


def _first(pair: tuple[int, int | None]) -> tuple[bool, int]:
    return pair[1] is None, min(place for place in pair if place is not None)


def next_round(system: PairingSystem, field: Separated) -> Paired:
    """The round by this system; Unpairable if nobody or only one is there, or if some apart would have to meet."""
    there = len(field.present)
    rests = "" if field.bye is None else field.members[field.bye].name
    if rests and there % 2:
        raise Unpairable(f"{there} entrants are left besides {rests}, who has the bye: an even number is needed")
    if there < 2:
        who = f"only {field.members[field.present[0]].name} is" if there else "nobody is"
        raise Unpairable(f"{who} there for round {field.number}: two are needed")
    paired = system.paired(field)
    if not paired.boards:
        raise Unpairable(f"the system has no round {field.number}: it is over")
    for board in paired.boards:
        if board.pair in field.apart:
            one, other = (field.members[place].name for place in board.pair)
            raise Unpairable(f"it has {one} - {other}, who must not meet, says the file")
    if field.bye is None:
        return paired
    turns = field.turns(field.bye)
    again = any(turn.kind is Kind.BYE or (not turn.met and turn.points >= field.win) for turn in turns)
    remark = (f"{rests} has the bye by decision, but already had a bye or a win without a game (C2)",) * again
    return replace(paired, byes=(field.bye,), remarks=(*paired.remarks, *remark))


# From a tournament report to a field: whether everybody's rounds agree, who is there, and the new round back in.

COLOURS = {"w": WHITE, "b": BLACK, "-": NEITHER}
WORDS = {WHITE: "white", BLACK: "black"}
# letter -> kind and whose points of 162
_WITH_OPPONENT = {
    **{
        letter: (Kind.PLAYED, score) for letters, score in (("1W", "W"), ("=D", "D"), ("0L", "L")) for letter in letters
    },
    "+": (Kind.FORFEIT, "+"),
    "-": (Kind.FORFEIT, "A"),
}
# As some programs of before 2016 write byes: + = - without an opponent.
ALONE = {
    **dict.fromkeys("F+", (Kind.FULL_BYE, "F")),
    **dict.fromkeys("H=", (Kind.HALF_BYE, "H")),
    **dict.fromkeys("Z -", (Kind.ABSENT, "Z")),
    "U": (Kind.BYE, "P"),
}
LETTERS = {Kind.FULL_BYE: "F", Kind.HALF_BYE: "H", Kind.ABSENT: "Z"}


def foreign(report: Report, *, number: int | None = None, rounds: int | None = None) -> Foreign:
    """Before round `number`, by default the first that nobody is paired in. InputRefused: lines that contradict.

    `rounds` in all, by default those the file says or, for a round it has, as many as it has.
    """
    return _Reader(report, header(report), odds_in(report)).foreign(number, rounds)


def _as_played(report: Report) -> Foreign:
    """All rounds that are paired; boards without a result have no points yet."""
    return _Reader(report, header(report), odds_in(report), whole=True).foreign(None, None)


def rounds_paired(report: Report) -> int:
    """How many rounds of the file are paired."""
    return _rounds_paired(report.entries)[0]


@dataclass(frozen=True, slots=True)
class _Reader:
    report: Report
    header: Header
    odds: Odds
    whole: bool = False  # no round is to be paired: the last may be open, and none need be left

    def foreign(self, number: int | None, rounds: int | None) -> Foreign:
        entries = sorted(self.report.entries, key=self._order)
        places = {entry.number: place for place, entry in enumerate(entries)}
        paired, fixed = _rounds_paired(entries)
        self._refuse_byes_alone(entries, paired)
        following = paired + 1 if number is None else number
        if not 1 <= following <= paired + 1:
            self.report.refuse(0, f"a round to pair from 1 to {paired + 1}", following)
        in_all = self._rounds(entries, following, rounds)
        history = tuple(
            tuple(self._turn(entries, places, entry, count) for entry in entries) for count in range(1, following)
        )
        asked = {place: kind for place, entry in enumerate(entries) if (kind := self._asked(entry, following, paired))}
        bye = fixed if following == paired + 1 else None
        there = tuple(place for place in range(len(entries)) if place not in asked and place != bye)
        field = Separated(
            members=tuple(
                Member(e.name, None if e.rating is None else float(e.rating), "", e.federation) for e in entries
            ),
            history=history,
            present=there,
            rounds=in_all,
            win=self.header.scores["W"],
            loss=self.header.scores["L"],
            draw=self.header.scores["D"],
            virtual=self._virtual(entries, following),
            bye=bye,
            apart=frozenset(
                (min(pair), max(pair))
                for during, numbers in self.header.forbidden
                if following in during
                for pair in [(places[numbers[0]], places[numbers[1]])]
            ),
        )
        warnings = (*self._sums(entries, paired), *self._second_byes(entries, following), *self._type())
        labels = tuple(str(entry.number) for entry in entries)
        stands, colorless = self._stands(entries, places, following) if following <= paired else (None, frozenset())
        return Foreign(field, labels, self._settings(), asked, warnings, stands=stands, colorless=colorless)

    def _stands(
        self, entries: Sequence[Entry], places: Mapping[int, int], number: int
    ) -> tuple[Paired, frozenset[tuple[int, int]]]:
        """A round as the file has it, and its pairs without colors, as places in order."""
        boards, byes, colorless = [], [], set()
        for place, entry in enumerate(entries):
            cell = _cell(entry, number)
            if cell.result == "U" and not cell.opponent:
                byes.append(place)
            if not cell.opponent:
                continue
            self._mutual(entries, places, entry, number)
            other = places[cell.opponent]
            if cell.colour == "-" and place < other:
                colorless.add((place, other))
            if cell.colour == "w" or (cell.colour == "-" and place < other):
                boards.append(Board(place, other))
        return Paired(tuple(boards), tuple(byes)), frozenset(colorless)

    def _refuse_byes_alone(self, entries: Sequence[Entry], number: int) -> None:
        """InputRefused if the last round has several allocated byes, no game, and entrants that could play."""
        cells = {str(entry.number): _cell(entry, number) for entry in entries} if number else {}
        resting = [label for label, cell in cells.items() if cell.result == "U"]
        waiting = list(cells.values()).count(Cell())
        if len(resting) > 1 and waiting >= FEWEST and not any(cell.opponent for cell in cells.values()):
            self.report.refuse(0, f"one bye in round {number}, which has no games", f"byes of {', '.join(resting)}")

    def _order(self, entry: Entry) -> tuple[int, int]:
        return (entry.line if self.header.by_line else 0, entry.number)

    def _rounds(self, entries: Sequence[Entry], following: int, asked: int | None) -> int:
        written = max(len(entry.cells) for entry in entries)
        in_all = asked or self.header.rounds or (written if following <= written or self.whole else None)
        if in_all is None:
            self.report.refuse(0, "the number of rounds in a line 142 (or --rounds)", "none")
        if following > in_all and not self.whole:
            self.report.refuse(0, f"a round left to pair, or --rounds above {in_all}", "all of them paired")
        return in_all

    def _turn(self, entries: Sequence[Entry], places: Mapping[int, int], entry: Entry, number: int) -> Turn:
        """What one did in a round; InputRefused unless the opponent's line says the same."""
        cell = _cell(entry, number)
        if not cell.opponent:
            if cell.result not in ALONE:
                self._refuse(entry, number, "an opponent", f"the result {cell.result} without one")
            kind, score = ALONE[cell.result]
            return Turn(kind, points=self.header.worth(score))
        if cell.result == " " and self.whole and number == _rounds_paired(entries)[0]:
            self._mutual(entries, places, entry, number)
            return Turn(Kind.PLAYED, places[cell.opponent], COLOURS[cell.colour])
        if cell.result == " ":
            self._refuse(entry, number, "a result", "none: the round is not finished")
        if cell.result not in _WITH_OPPONENT:
            self._refuse(entry, number, "the result of a game", f"{cell.result} with opponent {cell.opponent}")
        self._answered(entries, places, entry, number)
        kind, score = _WITH_OPPONENT[cell.result]
        points, games = self.header.worth(score), int(kind is Kind.PLAYED)
        given = self._given(number, entry.number, cell.opponent) if games else 0
        return Turn(kind, places[cell.opponent], COLOURS[cell.colour], points, given, games)

    def _given(self, number: int, one: int, other: int) -> int:
        """Bands that `one` gives `other`, below 0 those it takes."""
        taker, bands = self.odds.get((number, one), (0, 0))
        if taker == other:
            return bands
        taker, bands = self.odds.get((number, other), (0, 0))
        return -bands if taker == one else 0

    def _mutual(self, entries: Sequence[Entry], places: Mapping[int, int], entry: Entry, number: int) -> Entry:
        """The opponent; InputRefused unless it names this one too."""
        cell = _cell(entry, number)
        if cell.opponent not in places or cell.opponent == entry.number:
            self._refuse(entry, number, "the number of another entrant", cell.opponent)
        other = entries[places[cell.opponent]]
        answer = _cell(other, number).opponent
        if answer != entry.number:
            found = f"{answer or 'none'} in line {other.line}"
            self._refuse(entry, number, f"an opponent that names {entry.number} too", found)
        return other

    def _answered(self, entries: Sequence[Entry], places: Mapping[int, int], entry: Entry, number: int) -> None:
        other = self._mutual(entries, places, entry, number)
        cell, answer, who = _cell(entry, number), _cell(other, number), f"line {other.line}"
        if {cell.colour, answer.colour} not in ({"w", "b"}, {"-"}) or (cell.colour == "-" and cell.result not in "+-"):
            words = "w on one side and b on the other"
            self._refuse(entry, number, words, f"{cell.colour} here and {answer.colour} in {who}")
        mine, theirs = _WITH_OPPONENT[cell.result], _WITH_OPPONENT.get(answer.result, (None, ""))
        both = {mine[1], theirs[1]}
        if mine[0] is not theirs[0] or (both & {"W", "+"} and both not in ({"W", "L"}, {"+", "A"})):
            self._refuse(
                entry, number, "results that fit each other", f"{cell.result} here and {answer.result} in {who}"
            )

    def _refuse(self, entry: Entry, number: int, expected: str, found: object) -> NoReturn:
        self.report.refuse(entry.line, f"round {number} of {entry.number}: {expected}", found)

    def _asked(self, entry: Entry, number: int, paired: int) -> Kind | None:
        """How an entrant is away from the round to be paired, None for those there."""
        cell = _cell(entry, number)
        if cell.opponent or cell.result == "U":
            return None
        letter = self.header.byes.get((number, entry.number), cell.result)
        if entry.number in self.header.away and number > paired and letter == " ":
            return Kind.ABSENT
        if letter == " ":
            return Kind.ABSENT if number <= paired else None
        return ALONE[letter][0] if letter in ALONE else self._refuse(entry, number, "an opponent", letter)

    def _type(self) -> list[str]:
        """A system of the file that is not the Dutch one, where a round is to be paired."""
        is_dutch = not self.header.type or self.header.type.upper().startswith("FIDE_DUTCH")
        return (
            [] if is_dutch or self.whole else [f"{self.report.place}: pairing system {self.header.type} has no effect"]
        )

    def _second_byes(self, entries: Sequence[Entry], number: int) -> list[str]:
        return [
            f"entrant {entry.number} has two allocated byes"
            for entry in entries
            if sum(cell.result == "U" for cell in entry.cells[: number - 1]) > 1
        ]

    def _virtual(self, entries: Sequence[Entry], number: int) -> tuple[tuple[int, ...], ...]:
        """Virtual points of each round up to `number` as the file has them, whatever acceleration made them."""
        if not self.header.virtual:
            return ()
        given = self.header.virtual
        return tuple(tuple(given.get((count, e.number), 0) for e in entries) for count in range(1, number + 1))

    def _sums(self, entries: Sequence[Entry], paired: int) -> list[str]:
        """Points that are not what the rounds add up to.

        A round not finished and byes after it may count or not, and so may the virtual points of now.
        """
        begun = [count for count in range(paired) if any(_is_open(_cell(entry, count + 1)) for entry in entries)]
        told = []
        for entry in entries:
            worth = [self._worth(cell) for cell in entry.cells]
            extra = {0, *(self.header.virtual.get((count, entry.number), 0) for count in (paired, paired + 1))}
            sums = {sum(worth[:upto]) for upto in (len(worth), paired, min(begun, default=paired))}
            if entry.points not in {one + more for one in sums for more in extra}:
                told.append(
                    f"{self.report.place}:{entry.line}: {entry.points / 2:g} points, but the rounds of {entry.number} "
                    f"add up to {sum(worth[:paired]) / 2:g}; the rounds are believed"
                )
        return told

    def _worth(self, cell: Cell) -> int:
        kinds = _WITH_OPPONENT if cell.opponent else ALONE
        score = kinds.get(cell.result, (None, "A"))[1]
        return self.header.worth(score)

    def _settings(self) -> dict[str, object]:
        found: dict[str, object] = {}
        entries = sorted(self.report.entries, key=self._order)
        colour = self.header.colour or _first_colour(entries)
        if colour:
            found["initial_colour"] = WORDS[colour]
        if self.header.baku and not self.header.virtual:
            found["acceleration"] = "baku"
        return found


def _cell(entry: Entry, number: int) -> Cell:
    return entry.cells[number - 1] if number <= len(entry.cells) else Cell()


def _rounds_paired(entries: Sequence[Entry]) -> tuple[int, int | None]:
    """How many rounds are paired, and the place of the entrant whose bye of the next one is fixed.

    A bye stands alone before the round is paired: one entrant has U, nobody an opponent, and two or more are blank.
    """
    last = max((count for entry in entries for count, cell in enumerate(entry.cells, 1) if _is_paired(cell)), default=0)
    cells = [_cell(entry, last) for entry in entries] if last else []
    byes = [place for place, cell in enumerate(cells) if cell.result == "U"]
    if len(byes) != 1 or any(cell.opponent for cell in cells) or cells.count(Cell()) < FEWEST:
        return last, None
    return last - 1, byes[0]


def _is_paired(cell: Cell) -> bool:
    return bool(cell.opponent) or cell.result == "U"


def _is_open(cell: Cell) -> bool:
    return bool(cell.opponent) and cell.result == " "


def _first_colour(entries: Sequence[Entry]) -> int | None:
    """The initial colour that the first round with games shows; an entrant that came later does not count."""
    first = min((n for entry in entries for n, cell in enumerate(entry.cells, 1) if COLOURS[cell.colour]), default=0)
    there = [entry for entry in entries if any(_is_paired(cell) for cell in entry.cells[:first])]
    for count, entry in enumerate(there, 1):
        if colour := COLOURS[_cell(entry, first).colour]:
            return colour if count % 2 else -colour
    return None


def _with_virtual(report: Report, before: Foreign, accelerated: int) -> Report:
    """The file with the virtual points of the round's pairing, so that other programs need no scheme to agree."""
    if not accelerated or before.field.virtual:
        return report
    rows = [virtual_points(before.field, number, accelerated) for number in range(1, accelerated + 1)]
    lines = virtual_lines([dict(zip(map(int, before.labels), row, strict=True)) for row in rows])
    kept = [one for one in report.records if not (isinstance(one, Line) and one.tag in ("250", "XXA"))]
    first = next(at for at, one in enumerate(kept) if isinstance(one, Entry))
    return replace(report, records=(*kept[:first], *map(Line, lines), *kept[first:]))


def with_round(report: Report, before: Foreign, paired: Paired) -> Report:
    """The file with the new round in it: opponents and colours, results blank; what stood there goes.

    So do the absences of XXZ, which were those of this round and stand in its column now.
    """
    number = before.field.number
    cells: dict[int, Cell] = {}
    for place in range(len(before.labels)):
        if place in before.asked:
            cells[place] = Cell(result=LETTERS[before.asked[place]])
    for place in paired.byes:
        cells[place] = Cell(result="U")
    for board in paired.boards:
        cells[board.white] = Cell(int(before.labels[board.black]), "w")
        cells[board.black] = Cell(int(before.labels[board.white]), "b")
    report = with_odds(report, number, before.labels, paired.boards)
    report = _with_virtual(report, before, paired.accelerated)
    entries = {entry.number: entry for entry in report.entries}
    fresh = []
    for place, label in enumerate(before.labels):
        entry = entries[int(label)]
        earlier = (*entry.cells, *[Cell()] * number)[: number - 1]
        fresh.append(replace(entry, cells=(*earlier, cells.get(place, Cell(result="Z")))))
    kept = tuple(one for one in report.records if not (isinstance(one, Line) and one.tag == "XXZ"))
    return replace(report, records=kept).with_entries(fresh)


# Another program's tournament by enginetour's systems: its next round, by file and user, and its table.

_FIDE_RULES = {"fide": "2026", "fide-2023": "2023", "fide-2009": "2009"}
SHOWN = 8  # names in a note
_OWN_ROUNDS = ("absent", "half_bye")  # name rounds to come, of which only one is paired here
_HEEDED = ("initial_colour", "drop")  # of a file, by every system: first round and absences are part of the field


def settings(words: Iterable[str]) -> dict[str, object]:
    """``key=value`` each, the value as in a configuration or a bare word. UsageRefused for anything else."""
    found: dict[str, object] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            raise UsageRefused(f"{word!r} is not key=value", place="--set", step="enginetour systems NAME lists keys")
        try:
            found[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except (ValueError, RecursionError):  # no TOML, a number of thousands of digits, brackets in brackets
            found[key.strip()] = value.strip()
    return found


def rounds_system(name: str) -> None:
    """UsageRefused unless the registry has a system of that name that pairs in rounds."""
    if name not in SYSTEMS:
        raise UsageRefused(f"unknown system {name!r}{suggest(name, _in_rounds())}", place="--system")
    if not SYSTEMS[name].rounds:
        known = ", ".join(_in_rounds())
        raise UsageRefused(f"{name} does not pair in rounds; those that do: {known}", place="--system")


def _in_rounds() -> list[str]:
    return [name for name, system in SYSTEMS.items() if system.rounds]


def _by_name(foreign: Foreign, given: Mapping[str, object]) -> dict[str, object]:
    """The settings with names where the marks of gopair have ids of the file."""

    def name(label: object) -> object:
        place = foreign.place(label) if isinstance(label, str) else None
        return label if place is None else foreign.field.members[place].name

    found = dict(given)
    if (bye := found.get("bye")) is not None:
        found["bye"] = [name(label) for label in (bye if isinstance(bye, list) else [str(bye)])]
    if isinstance(drop := found.get("drop"), dict):
        found["drop"] = {name(label): rounds for label, rounds in drop.items()}
    return found


def _written(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def on_scale(system: PairingSystem, foreign: Foreign) -> Foreign:
    """The tournament with ratings on the scale of the system: GoR begins 1 dan at 2050 and has none below 100."""
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


def pairer(name: str, foreign: Foreign, given: Mapping[str, object]) -> tuple[PairingSystem, tuple[str, ...]]:
    """The system with settings of file and user, the user's first, and what must be told of those it has no use for.

    InputRefused: the field is none it can pair.
    """
    rounds_system(name)
    for key in _OWN_ROUNDS:
        if key in given:
            what, step = f"{key} plans the rounds of a tournament of ours", "--absent names who is away in this round"
            raise UsageRefused(what, place="--set", step=step)
    if "bye_points" in given:
        what, step = "bye_points are those of a tournament of ours", "a line 162 with P says what a bye is worth"
        raise UsageRefused(what, place="--set", step=step)
    if "rounds" in given:
        raise UsageRefused("rounds are those of the tournament", place="--set", step="--rounds N says how many")
    model: Any = options_model(name)
    fields = model.model_fields
    by_score = "handicap" in fields and Handicap in get_args(fields["handicap"].annotation)
    used = set(fields) - (set() if by_score else {"handicap"})  # that of a file is by McMahon score
    idle = {key: value for key, value in foreign.settings.items() if key not in used and key not in _HEEDED}
    told = []
    if idle:
        named = ", ".join(idle) if len(idle) > 1 else ", ".join(f"{key} = {_written(idle[key])}" for key in idle)
        told.append(f"settings of the file without effect in {name}: {named}")
    if foreign.field.virtual and "acceleration" not in fields:
        told.append(f"the file has virtual points (250, XXA), which {name} does not use")
    wanted = {key: value for key, value in foreign.settings.items() if key in used}
    wanted |= _by_name(foreign, given) if name == "gopair" else given
    if "rounds" in fields:
        wanted["rounds"] = foreign.field.rounds
    try:
        options = model.model_validate(wanted)
    except ValidationError as error:
        refused = refusal(error, Path("--set"), "", model)
        raise UsageRefused(refused.what, place="--set", step=f"enginetour systems {name}") from None
    rounds: Any = make_format(name, options)
    system: PairingSystem = rounds.system
    rated = on_scale(system, foreign)
    if rated is not foreign:
        more = grades.GO - (foreign.one_dan or 0)
        raised = f"the ratings of the file count {more:g} points more with {name}: GoR begins 1 dan at {grades.GO:g}"
        lowest = f"with {name}, ratings below {FLOOR:g} count as {FLOOR:g}, the lowest of GoR"
        told.append(f"{raised}, and its lowest rating is {FLOOR:g}" if more else lowest)
    most = RoundsOptions.most_rounds(len(foreign.field.members))
    if "rounds" in fields and foreign.field.rounds > most:
        told.append(f"{foreign.field.rounds} rounds need rematches: without any the entrants can play at most {most}")
    system.bounded = False  # as long as another program's tournament goes
    try:
        system.check(rated.field.members)
        handicap = getattr(options, "handicap", None)
        if isinstance(handicap, RatingHandicap):
            handicap.check({member.name: member.rating for member in foreign.field.members})
    except ValueError as error:
        raise InputRefused(str(error), place=name) from None
    return system, tuple(told)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The table of a file; `finished` where all its rounds are played."""

    title: str
    placed: tuple[StandingsRow, ...]
    finished: bool
    notes: tuple[str, ...]


def ranking(report: Report, codes: Sequence[str] | None, unplayed: tiebreaks.Unplayed) -> Ranking:
    """The table by these codes, else by those of the file's lines 202 and 212, else by those of the Dutch system.

    UsageRefused for codes that do not exist. A code of the file that enginetour does not have ends its order.
    """
    said, foreign = header(report), _as_played(report)
    field, notes = foreign.field, list(foreign.warnings)
    if codes is not None:
        try:
            order = standings.check_codes(tuple(codes))
        except ValueError as error:
            raise UsageRefused(str(error), place="--placement") from None
    else:
        order, unknown = _order(said.codes)
        if unknown:
            notes.append(f"tie-break {unknown} of the file is not available: the table ends before it")
    placed = standings.rank_by_codes(
        field, order, tuple(range(len(field.members))), tiebreaks.PlacementTerms(unplayed=unplayed)
    )
    if unplayed in _FIDE_RULES:
        notes.append(f"rounds without a game count by FIDE's rules of {_FIDE_RULES[unplayed]} (--unplayed {unplayed})")
    notes += _ranked_otherwise(report, placed, foreign)
    is_open = any(not turn.games and turn.met for row in field.history[-1:] for turn in row)
    return Ranking(said.name or report.place, placed, len(field.history) >= field.rounds and not is_open, tuple(notes))


def ranking_by(
    name: str,
    title: str,
    foreign: Foreign,
    columns: Mapping[str, Sequence[Fraction]],
    codes: Sequence[str] | None,
    unplayed: tiebreaks.Unplayed | None,
) -> Ranking:
    """The table of a file after its last round, by a system with the settings of the file and these of the user.

    The `columns` of the file are compared with it. UsageRefused for codes that do not exist.
    """
    chosen = {"placement": None if codes is None else list(codes), "unplayed": unplayed}
    given: dict[str, object] = {key: value for key, value in chosen.items() if value is not None}
    if name == "gopair" and "method" not in foreign.settings:
        given["method"] = "best"  # a table needs no opponents that are left
    system, told = pairer(name, foreign, given)
    field = foreign.field
    placed = system.table(field, tuple(range(len(field.members))))
    notes = [*foreign.warnings, *told]
    columns = columns if len(field.history) >= field.rounds else {}  # they are those after the last round
    found = standings.code_values(field, tuple(columns), system.terms(field))
    for code, column in columns.items():
        lowest = code == "CAT" and min(column) > 0  # some count categories from 1
        mine = [Fraction(value, tiebreaks.PLACEMENT_CODES[code].per) + lowest for value in found[code]]
        other = [(at, ours, said) for at, (ours, said) in enumerate(zip(mine, column, strict=True)) if ours != said]
        if other:
            at, ours, said = other[0]
            more = f", and {len(other) - 1} more" if len(other) > 1 else ""
            notes.append(
                f"{code} of {field.members[at].name} is {float(said):g} in the file, {float(ours):g} here{more}"
            )
    is_open = any(
        turn.met and turn.opponent is not None and not turn.points and not row[turn.opponent].points
        for row in field.history[-1:]
        for turn in row
    )
    return Ranking(title, placed, len(field.history) >= field.rounds and not is_open, tuple(notes))


def _order(codes: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The codes of a file as ours, up to the first that is unknown, which comes with them."""
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


def _ranked_otherwise(report: Report, placed: Sequence[StandingsRow], foreign: Foreign) -> list[str]:
    """Entrants that the file gives other ranks, where all have one."""
    ranks = {entry.name: entry.rank for entry in report.entries}
    if None in ranks.values() or len(ranks) != len(foreign.labels):
        return []
    other = [f"{line.name} ({ranks[line.name]})" for line in placed if ranks[line.name] != line.rank]
    more = ", ..." if len(other) > SHOWN else ""
    return [f"the file has other ranks for {len(other)} entrants: {', '.join(other[:SHOWN])}{more}"] if other else []


# xboard's side of a Swiss: it asks for one game after the other and tells nothing but results so far.
#
# ``results 5 +=-*``  five participants; of each game in order + = - from White's side, * being played, blank not begun
# ``pairing 7``       who plays game 7? ``2-4``: participant 2, White, and 4, from 1
#
# A round has as many games as pairs fit into the field. Rounds before are paired again from their results, so nothing
# is remembered that xboard could not tell after a restart. Source: xboard 4.9 manual, -pairingEngine; NextTourneyGame
# in its backend.

POINTS = {"+": (2, 0), "=": (1, 1), "-": (0, 2)}  # half points of White and Black
_RESULTS = re.compile(r"results (\d{1,5})(?: (.*))?")
_GAME = re.compile(r"pairings? (\d{1,7})")

Maker = Callable[[Field], PairingSystem]


def conversation(lines: Iterable[str], make: Maker, *, rounds: int, seed: int = 1) -> Iterator[str]:
    """Answers, one a game; `make` gives the system for a field. What cannot be answered is told to xboard's user.

    All other commands are those of chess engines and need no answer.
    """
    count, results = 0, ""
    for line in lines:
        text = line.rstrip("\r\n")
        if text == "quit":
            return
        if told := _RESULTS.fullmatch(text):
            count, results = int(told[1]), told[2] or ""
        elif asked := _GAME.fullmatch(text):
            try:
                yield game(make, count, results, int(asked[1]), rounds=rounds, seed=seed)
            except ValueError as error:
                yield f"tellusererror enginetour: {error}"


def game(make: Maker, count: int, results: str, number: int, *, rounds: int, seed: int = 1) -> str:
    """Who plays a game, ``A-B``; ValueError if that cannot be said."""
    each = count // 2
    if not each or not number:
        raise ValueError(f"no game {number} among {count} participants")
    wanted, board = divmod(number - 1, each)
    if wanted >= rounds:
        raise ValueError(f"game {number} is in round {wanted + 1} of {rounds}; start it with --rounds {wanted + 1}")
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
        raise Unpairable(f"round {field.number} has {len(paired.boards)} boards, xboard plays {each}")
    return paired


def _row(field: Field, paired: Paired, played: str, system: PairingSystem) -> tuple[Turn, ...]:
    row = [Turn() for _ in field.members]
    for board, sign in zip(paired.boards, played.ljust(len(paired.boards)), strict=True):
        if sign not in POINTS:
            raise ValueError(f"round {field.number} is not finished, round {field.number + 1} cannot be paired")
        white, black = POINTS[sign]
        row[board.white] = Turn(Kind.PLAYED, board.black, WHITE, white, games=1)
        row[board.black] = Turn(Kind.PLAYED, board.white, BLACK, black, games=1)
    for place in paired.byes:
        row[place] = Turn(Kind.BYE, points=system.bye_points(field))
    return tuple(row)
