"""For any report of another program, every system gives a sensible round or a clear one-line error."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

from hypothesis import event, given, settings
from hypothesis import strategies as st

from enginetour.formats.base import SYSTEMS
from enginetour.formats.brackets import Knockout
from enginetour.formats.pairing.field import Unpairable
from enginetour.interop import trf
from enginetour.interop.foreign import next_round
from enginetour.interop.pairers import make_pairing_system, read_tournament, with_round
from enginetour.interop.roundfiles import explain_pair
from enginetour.model.errors import InputRefused, UsageRefused

IN_ROUNDS = [name for name, system in SYSTEMS.items() if system.rounds]
PLAYED = ("10", "01", "==", "WL", "LW", "DD")
ENDS = ("\n", "\r\n", "\r")


def cells_of(dice: random.Random, count: int) -> list[trf.TrfCell]:
    """Make the cells of a round: games, forfeits of one or both sides, and byes."""
    there = [place for place in range(count) if dice.random() < 0.85]
    dice.shuffle(there)
    row = [trf.TrfCell(result=dice.choice("ZZHF")) for _ in range(count)]
    for one, other in list(pairwise(there))[::2]:
        luck = dice.random()
        results = "+-" if luck < 0.1 else "--" if luck < 0.15 else dice.choice(PLAYED)
        colors = "--" if luck < 0.15 and dice.random() < 0.5 else "wb"
        for place, mate, color, result in zip((one, other), (other, one), colors, results, strict=True):
            row[place] = trf.TrfCell(mate + 1, color, result)
    if len(there) % 2:
        row[there[-1]] = trf.TrfCell(result=dice.choice("UUFH"))
    return row


def report_of(seed: int) -> bytes:
    """Make an unfinished tournament of 2 to 13 entrants, with header lines of 2006 and 2026."""
    dice = random.Random(seed)
    count, rounds = dice.randint(2, 13), dice.randint(1, 5)
    done = dice.randint(0, rounds - 1)
    played = [cells_of(dice, count) for _ in range(done)]
    lines = [dice.choice(["142 {}", "XXR {}"]).format(rounds)]
    maybe = [
        dice.choice(["152 W", "152 B", "XXC white1", "XXC black1", "XXC rank"]),
        "192 FIDE_DUTCH_2025",
        f"XXP {dice.randint(1, count // 2)} {dice.randint(count // 2 + 1, count)}",
        f"240 {dice.choice('HFZ')} {done + 1:3d} {dice.randint(1, count):4d}",
        "BBW  3.0",
        "### a comment",
    ]
    lines += [line for line in maybe if dice.random() < 0.25]
    for place in range(count):
        name = f"N{place} " + "x" * dice.choice([3, 3, 40])
        entry = trf.TrfEntrant(place + 1, name, dice.randint(800, 2500), dice.choice(["", "GER", "FRA"]), 0, place + 1)
        lines.append(replace(entry, cells=tuple(row[place] for row in played)).text())
    return dice.choice(ENDS).join(lines).encode()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(IN_ROUNDS))
def test_a_foreign_round_is_sensible(seed: int, name: str) -> None:
    """Everyone present plays or has the bye, forbidden pairs never play, rematches are reported, `--why` has an answer.

    A round that is written and read again is the same.
    """
    report = trf.read(report_of(seed))
    try:
        before = read_tournament(report)
        system, _ = make_pairing_system(name, before, {})
        paired = next_round(system, before.field)
    except (InputRefused, UsageRefused, Unpairable) as refused:
        event(f"refused: {type(refused).__name__}")
        assert str(refused) and "\n" not in str(refused)
        return
    field = before.field
    seats = [place for board in paired.boards for place in board.pair] + list(paired.byes)
    assert len(seats) == len(set(seats))
    assert set(seats) == set(field.present) or isinstance(system, Knockout)
    assert not any(board.pair in field.apart for board in paired.boards)
    if not isinstance(system, Knockout):
        forfeits = getattr(system.options, "forfeit_counts_as_met", False)  # set in the Gotha systems
        again = sum(
            any(turn.opponent == board.black and (turn.met or forfeits) for turn in field.turns(board.white))
            for board in paired.boards
        )
        assert sum("rematch" in remark or "meet again" in remark for remark in paired.remarks) == again
    if len(field.present) > 1:
        found = explain_pair(system, field, paired, *field.present[:2])
        assert found.rules or found.reasons
    written = with_round(report, before, paired)
    assert trf.read(written.text()).text() == written.text()
    told = {entry.number: entry.cells[field.number - 1] for entry in trf.read(written.text()).entries}
    for board in paired.boards:
        white, black = (int(before.labels[place]) for place in (board.white, board.black))
        assert (told[white], told[black]) == (trf.TrfCell(black, "w"), trf.TrfCell(white, "b"))
