"""Laws of AGA files: what we write of a field is read as that field, whatever ends the lines."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.field import Field, Kind, Member, Turn
from enginetour.interop import tde
from enginetour.interop.played import Played, register
from tests.pastfields import random_field

NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=80)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def in_tde(turn: Turn) -> Turn:
    """What the format can tell of a round: games, among which forfeits are, the bye, else nothing."""
    if turn.opponent is not None:
        return replace(turn, kind=Kind.PLAYED, games=1)
    return turn if turn.kind is Kind.BYE else Turn()


def renamed(field: Field, names: list[str]) -> Field:
    """With these names, families as clubs, ratings to a point, some rounds with half-point byes for absences."""
    members = tuple(
        Member(name, member.rating, member.family) for name, member in zip(names, field.members, strict=True)
    )
    history = tuple(
        tuple(Turn(Kind.HALF_BYE, points=1) if turn == Turn() and number % 2 else turn for turn in row)
        for number, row in enumerate(field.history)
    )
    return replace(field, members=members, history=history)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(2, 9), end=ENDS, data=st.data())
def test_a_field_written_as_tde_reads_back(seed: int, count: int, end: str, data: st.DataObject) -> None:
    """Ratings, clubs, games, colours, byes; half-point byes become absences, names one line each."""
    names = data.draw(st.lists(NAMES, min_size=count, max_size=count))
    field = renamed(random_field(seed, count, 3), names)
    texts = register(Played("T", "dutch", field, {}))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_bytes(text.replace("\n", end).encode())
        found = tde.foreign(tde.read(Path(folder) / "register.tde"), rounds=5).field
    assert [member.rating for member in found.members] == [member.rating for member in field.members]
    assert [member.family for member in found.members] == [member.family for member in field.members]
    assert all(member.name and member.name == " ".join(member.name.split()) for member in found.members)
    assert found.history == tuple(tuple(map(in_tde, row)) for row in field.history)
