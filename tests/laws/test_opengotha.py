"""Laws of OpenGotha and EGF files: a written field is read as the same field."""

from __future__ import annotations

import random
from xml.sax.saxutils import quoteattr

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.pairing.field import BLACK, WHITE, Field, Kind, Turn
from enginetour.interop import h9, opengotha
from enginetour.interop.opengotha import NOT_PAIRED
from tests.support.databases import random_field

NAMES = st.lists(
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=12),
    min_size=12,
    max_size=12,
    unique_by=lambda name: name.replace(" ", "").upper(),
)
RESULTS = {(2, 0): "WHITEWINS", (0, 2): "BLACKWINS", (1, 1): "EQUAL"}


def grade(band: int) -> str:
    """Yield grades such as 5K or 1D."""
    return f"{band + 1}D" if band >= 0 else f"{-band}K"


def as_xml(field: Field, names: list[str], bands: list[int]) -> bytes:
    """Write a field with names and grades as XML; an entrant without game and bye in a round is absent."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<Tournament dataVersion="201"><Players>']
    for at, member in enumerate(field.members):
        there = "".join("01"[turn.paired or turn.kind is Kind.BYE] for turn in field.turns(at))
        lines.append(
            f'<Player name={quoteattr(names[at])} firstName="" rank="{grade(bands[at])}" rating="{member.rating:.0f}" '
            f'club={quoteattr(member.family)} country={quoteattr(member.origin)} participating="{there}1111"/>'
        )
    lines.append("</Players><Games>")
    byes = []
    for number, row in enumerate(field.history, 1):
        for at, turn in enumerate(row):
            if turn.kind is Kind.BYE:
                byes.append(f'<ByePlayer roundNumber="{number}" player={quoteattr(names[at].upper())}/>')
            if turn.opponent is None or turn.color != WHITE:
                continue
            result = RESULTS[turn.points, row[turn.opponent].points] + "_BYDEF" * (turn.kind is Kind.FORFEIT)
            lines.append(
                f'<Game roundNumber="{number}" tableNumber="1" handicap="{max(turn.handicap, 0)}" '
                f'result="RESULT_{result}" whitePlayer={quoteattr(names[at].upper())} '
                f"blackPlayer={quoteattr(names[turn.opponent].upper())}/>"
            )
    lines += ["</Games><ByePlayers>", *byes, "</ByePlayers>"]
    lines.append('<GeneralParameterSet numberOfRounds="9" genMMS2ValueBye="2" genMMS2ValueAbsent="1"/></Tournament>')
    return "\n".join(lines).encode()


def as_h9(field: Field, names: list[str], bands: list[int]) -> bytes:
    """Write the same as an H9 table without names of values."""
    lines = []
    for at in range(len(field.members)):
        cells = []
        for turn in field.turns(at):
            if turn.opponent is None:
                cells.append({2: "0+", 1: "0=", 0: "0-"}[turn.points])
                continue
            sign = "-=+"[turn.points] + "/!"[turn.kind is Kind.FORFEIT]
            cells.append(f"{turn.opponent + 1}{sign}{'w' if turn.color == WHITE else 'b'}{abs(turn.handicap)}")
        lines.append(f"{at + 1} {names[at]} x {grade(bands[at])} XX xxxx 0 0 0 0 {' '.join(cells)}")
    return "\n".join(lines).encode()


def colored(turn: Turn, at: int) -> Turn:
    """Give forfeits random colors, which the files need."""
    if turn.opponent is None or turn.color:
        return turn
    return Turn(turn.kind, turn.opponent, WHITE if at < turn.opponent else BLACK, turn.points, 0, turn.games)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(4, 12), names=NAMES)
def test_a_field_reads_back(seed: int, count: int, names: list[str]) -> None:
    """Names, grades, games with colors and points, byes and absences are read as they were written."""
    dice = random.Random(seed)
    field = random_field(seed, count, 4)
    rows = tuple(tuple(colored(turn, at) for at, turn in enumerate(row)) for row in field.history)
    field = Field(field.members, rows, field.present, 9)
    bands = [dice.randint(-30, 8) for _ in range(count)]
    order = sorted(range(count), key=lambda at: names[at])
    place = {at: new for new, at in enumerate(order)}
    xml = opengotha.read(as_xml(field, names, bands), "x.xml")
    assert [member.name for member in xml.members] == [names[at] for at in order]
    assert [member.band for member in xml.members] == [bands[at] for at in order]
    assert [member.family for member in xml.members] == [field.members[at].family for at in order]
    for mine, read in zip(field.history, xml.history, strict=False):
        for at, turn in enumerate(mine):
            other = None if turn.opponent is None else place[turn.opponent]
            wanted = Turn(turn.kind, other, turn.color, turn.points, turn.handicap, turn.games)
            assert read[place[at]] == wanted
    table = h9.read(as_h9(field, names, bands), "x.h9")
    assert [member.band for member in table.members] == bands
    for mine, read in zip(field.history, table.history, strict=False):
        for turn, found in zip(mine, read, strict=True):
            lone = turn.kind is Kind.BYE or turn.opponent is not None
            assert found == turn if lone else found == NOT_PAIRED
