"""What other threads ask of one that sleeps in a select."""

import select
from functools import partial

from enginetour.engines.pipes import Doorbell


def test_acts_are_done_in_their_order_by_whoever_answers() -> None:
    """Ringing wakes a poll and does nothing yet; one answer carries out all, and the bell is quiet again."""
    bell, done = Doorbell(), list[int]()
    poll = select.poll()
    poll.register(bell.fd, select.POLLIN)
    assert poll.poll(0) == []
    assert all(bell.ask(partial(done.append, number)) for number in range(3))
    assert poll.poll(0)
    assert done == []
    bell.answer()
    assert done == [0, 1, 2]
    assert poll.poll(0) == []
    bell.close()


def test_who_refuses_work_still_hears_the_rest() -> None:
    """New work is turned away with the first reason given, other acts are not; at the end nothing is taken."""
    bell, done = Doorbell(), list[str]()
    bell.refuse("stopped")
    bell.refuse("again")
    assert not bell.ask(lambda: done.append("work"), work=True)
    assert bell.refusing == "stopped"
    assert bell.ask(lambda: done.append("last"))
    bell.fall_silent("closed")
    assert done == ["last"]
    assert not bell.ask(lambda: done.append("late"))
    assert bell.refusing == "closed"
    bell.close()
