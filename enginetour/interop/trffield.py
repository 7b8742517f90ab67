"""From a tournament report to a field: whether everybody's rounds agree, who is there, and the new round back in.

A round to be paired that is in the file already is paired anew: its opponents and byes only say who was there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from enginetour.formats.options import FEWEST
from enginetour.formats.pairing.dutch_criteria import virtual_points
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Board, Kind, Member, Paired, Turn
from enginetour.interop.foreign import Foreign, Separated
from enginetour.interop.trf import Cell, Entry, Line, Report
from enginetour.interop.trfheader import Header, header, virtual_lines
from enginetour.interop.trfodds import Odds, odds_in, with_odds

COLOURS = {"w": WHITE, "b": BLACK, "-": NEITHER}
WORDS = {WHITE: "white", BLACK: "black"}
# letter -> kind and whose points of 162
WITH_OPPONENT = {
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


def as_played(report: Report) -> Foreign:
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
        if cell.result not in WITH_OPPONENT:
            self._refuse(entry, number, "the result of a game", f"{cell.result} with opponent {cell.opponent}")
        self._answered(entries, places, entry, number)
        kind, score = WITH_OPPONENT[cell.result]
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
        mine, theirs = WITH_OPPONENT[cell.result], WITH_OPPONENT.get(answer.result, (None, ""))
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
        kinds = WITH_OPPONENT if cell.opponent else ALONE
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
