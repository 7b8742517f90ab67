"""Laws of AGA files: a written field is read as the same field, with any line ends."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.pairing.field import WHITE, Field, Kind, Member, Turn, Unpairable
from enginetour.interop import tde
from enginetour.interop.foreign import next_round
from enginetour.interop.pairers import make_pairing_system
from enginetour.interop.roundfiles import PlayedTournament, register
from enginetour.model.errors import InputRefused
from tests.support.databases import random_field

NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=80)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def in_tde(turn: Turn) -> Turn:
    """Return the parts of a round that the format can store: games with forfeits, and one bye."""
    if turn.opponent is not None:
        return replace(turn, kind=Kind.PLAYED, games=1)
    return turn if turn.kind is Kind.BYE else Turn()


def renamed(field: Field, names: list[str]) -> Field:
    """Change names, families to clubs, ratings to whole points, and some absences to half-point byes."""
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
    """Ratings, clubs, games, colors and byes are kept; half-point byes become absences, and names have one line."""
    names = data.draw(st.lists(NAMES, min_size=count, max_size=count))
    field = renamed(random_field(seed, count, 3), names)
    texts = register(PlayedTournament("T", "dutch", field, {}))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_bytes(text.replace("\n", end).encode())
        found = tde.read_tournament(tde.read(Path(folder) / "register.tde"), rounds=5).field
    assert [member.rating for member in found.members] == [member.rating for member in field.members]
    assert [member.family for member in found.members] == [member.family for member in field.members]
    assert all(member.name and member.name == " ".join(member.name.split()) for member in found.members)
    assert found.history == tuple(tuple(map(in_tde, row)) for row in field.history)


def in_capitals(draw: st.DrawFn, text: str) -> str:
    """Return a name in the form that gopair uses for comparison."""
    return draw(st.sampled_from([text.lower(), text.upper(), text.title()]))


@dataclass(frozen=True)
class Made:
    """Lines of a register and their meaning: settings, komi of even games, and by id the mark BYE and missed rounds.

    A missed round 0 means all rounds.
    """

    lines: list[str]
    settings: dict[str, object]
    komi: str
    listed: dict[str, tuple[bool, frozenset[int]]]


@st.composite
def registers(draw: st.DrawFn) -> Made:
    """Yield registers with directives between the lines of entrants; the last directive of a kind is valid."""
    directives = draw(st.lists(st.sampled_from([*tde.DIRECTIVES, ("RULES", "ING"), ("RULES", "AGA")]), max_size=5))
    told, meant = [], dict[str, object]()
    for words in directives:
        lead, gap = draw(st.sampled_from(["## ", "##", " ##\t"])), draw(st.sampled_from([" ", "  ", "\t"]))
        told.append(lead + in_capitals(draw, gap.join(words)))
        meant |= dict([tde.DIRECTIVES[words]] if words in tde.DIRECTIVES else [])
    listed, entrants = {}, []
    for number in range(draw(st.integers(2, 9))):
        bye, drops = draw(st.booleans()), draw(st.frozensets(st.integers(0, 4), max_size=2))
        marks = draw(st.permutations(["CLUB=x", "BYE"] if bye else ["CLUB=x"]))
        gap = draw(st.sampled_from([" ", ", ", ",", "; "]))
        behind = " #" + gap.join(f"DROP{missed or ''}" for missed in sorted(drops)) if drops else ""
        rating = draw(st.sampled_from(["2.5", "-1.25", "10k", "3d"]))
        entrants.append(f"P{number} Name {number} " + in_capitals(draw, f"{rating} {' '.join(marks)}{behind}"))
        listed[f"P{number}"] = bye, drops
    lines: list[str] = []
    while told or entrants:
        lines.append((told if told and (not entrants or draw(st.booleans())) else entrants).pop(0))
    return Made(lines, meant, "7.5" if ("RULES", "ING") in directives else "6.5", listed)


@settings(max_examples=60, deadline=None)
@given(made=registers(), end=ENDS, results=st.randoms(use_true_random=False))
def test_directives_and_marks_mean_what_they_say(made: Made, end: str, results: random.Random) -> None:
    """Entrants who have left are not paired, all others are, and an entrant marked BYE has the bye first.

    The komi is that of the rules, and half a point at odds. The file of a round with results is read as that round.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "register.tde").write_bytes(end.join(made.lines).encode())
        register = tde.read(folder / "register.tde")
        for number in range(1, 4):
            before = tde.read_tournament(register, rounds=4)
            assert before.field.number == number
            marked = tuple(f"Name {at[1:]}" for at, (bye, _) in made.listed.items() if bye)
            later = {f"Name {at[1:]}": sorted(n for n in drops if n > number) for at, (_, drops) in made.listed.items()}
            leaving = {name: tuple(drops) for name, drops in later.items() if drops}
            marks = ({"bye": marked} if marked else {}) | ({"drop": leaving} if leaving else {})
            assert before.settings == made.settings | marks
            there = {at for at, (_, drops) in made.listed.items() if drops.isdisjoint({0, number})}
            assert {before.labels[place] for place in before.field.present} == there
            given_ = {"method": "best"} if before.settings.get("method") != "round_robin" else {"handicaps": "min"}
            try:
                system, _ = make_pairing_system("gopair", before, given_)
                paired = next_round(system, before.field)
            except (InputRefused, Unpairable):
                return  # fewer than two entrants are left, or there is no such round robin
            seats = [before.labels[at] for board in paired.boards for at in board.pair]
            resting = [before.labels[at] for at in paired.byes]
            assert sorted(seats + resting) == sorted(there)
            first = {at for at in before.field.present if made.listed[before.labels[at]][0]}
            if resting and first and before.settings.get("method") != "round_robin":
                assert set(paired.byes) <= first
            odds = results.randint(0, 1)
            paired = replace(paired, boards=tuple(replace(board, handicap=odds) for board in paired.boards))
            text = tde.round_files(register, before, paired)[f"{number}.tde"]
            assert {line.split()[-1] for line in text.splitlines()[1:]} <= {"0.5" if odds else made.komi}
            while tde.UNPLAYED in text:
                text = text.replace(tde.UNPLAYED, results.choice("wWbBdD"), 1)
            (folder / f"{number}.tde").write_bytes(text.replace("\n", end).encode())
            row = tde.read_tournament(register, rounds=4).field.history[-1]
            for board in paired.boards:
                assert (row[board.white].opponent, row[board.white].color) == (board.black, WHITE)
                assert (row[board.white].handicap, row[board.black].handicap) == (odds, -odds)
            alone = paired.byes if len(paired.byes) == 1 else ()  # a file can have only one bye
            assert tuple(at for at, turn in enumerate(row) if turn.kind is Kind.BYE) == alone
