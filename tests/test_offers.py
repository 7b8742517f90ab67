"""Which games may begin, and in which order."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from enginetour.model.game import Pairing
from enginetour.tournament.scheduler import Allotment, Offers
from enginetour.tournament.setbacks import Setbacks

NOW = (Pairing("Ada", "Bea", leg=1), Pairing("Bea", "Ada", leg=2), Pairing("Cid", "Dot"))
LATER = (Pairing("Eve", "Fay"),)


class Showing:
    """A format whose states are what they show, and that counts how often it was asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def offers(self, state: list[Pairing]) -> tuple[Pairing, ...]:
        self.asked["offers"] += 1
        return tuple(state)

    def ahead(self, _: list[Pairing]) -> tuple[Pairing, ...]:
        self.asked["ahead"] += 1
        return LATER


def offers(slots: int) -> tuple[Offers, Showing, Allotment]:
    format_: Any = Showing()
    allotment = Allotment(slots)
    return Offers(format_, Setbacks(lambda: 0.0, lambda _: None), allotment), format_, allotment


def test_a_format_is_asked_once_a_state() -> None:
    """Before the commit of a game for what follows it, and after it for what is sure; an older state anew."""
    made, format_, _ = offers(1)
    before, after = list(NOW), list(NOW[1:])
    for state in (before, after, before, after):
        list(made.wanted(state))
        assert made.are_sure_of(NOW[2], state)
    assert format_.asked["offers"] == 2
    list(made.wanted(list(NOW)))
    assert not made.are_sure_of(NOW[0], after)
    assert made.are_sure_of(NOW[0], before)
    assert format_.asked["offers"] == 4


def test_one_slot_looks_not_ahead() -> None:
    """Others do, behind all that is on offer; a format may need milliseconds for it, so one slot asks for none."""
    made, format_, _ = offers(1)
    assert tuple(made.wanted(list(NOW))) == NOW
    assert not format_.asked["ahead"]
    assert tuple(offers(2)[0].wanted(list(NOW))) == NOW + LATER


def test_the_rest_of_an_encounter_comes_first_where_it_was_begun() -> None:
    """Not while it is played; what is sure to be may be it, too."""
    made, _, allotment = offers(2)
    allotment.begin(0, LATER[0])
    allotment.begin(1, NOW[0])
    assert tuple(made.wanted(list(NOW))) == NOW[2:]
    allotment.end(LATER[0], failed=False)
    assert tuple(made.wanted(list(NOW))) == LATER + NOW[2:]


def test_a_promise_is_one_however_often_it_is_written_down() -> None:
    """A pairing made anew is the same game; with other colours or not shown it is none."""
    made, _, _ = offers(2)
    for game in (*NOW, *LATER):
        assert made.are_sure_of(replace(game), list(NOW))
    assert not made.are_sure_of(replace(NOW[2], white="Dot", black="Cid"), list(NOW))
    assert not made.are_sure_of(NOW[0], [NOW[2]])
