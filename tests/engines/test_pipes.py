"""Tests of engines/pipes."""

import os
import select
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from enginetour.engines.pipes import TRAFFIC_CAP, WAITING_CAP, ByteRing, Doorbell, Outbox, Traffic, last_lines

# Bytes on pipes: limited memory, and writes that never block.


@given(st.lists(st.binary(min_size=1, max_size=40)), st.integers(1, 60))
def test_a_ring_holds_the_last_bytes(chunks: list[bytes], cap: int) -> None:
    """A ring buffer keeps the end of its stream."""
    ring = ByteRing(cap)
    for chunk in chunks:
        ring.append(chunk)
    stream = b"".join(chunks)
    assert bytes(ring) == stream[-cap:]
    assert len(ring) == len(bytes(ring))


def test_traffic_joins_pieces_and_escapes() -> None:
    """A line in pieces is shown once, with the time of its first byte and without control characters."""
    traffic = Traffic(1_000_000_000)
    traffic.append(b">", 1_500_000_000, b"position startpos\ngo depth 1\n")
    traffic.append(b"<", 2_000_000_000, b"info \x1b[31m")
    traffic.append(b">", 2_100_000_000, b"stop\n")
    traffic.append(b"<", 2_500_000_000, b"x\r\nbestmove e2")
    assert traffic.lines(50) == (
        "0.500000 > position startpos",
        "0.500000 > go depth 1",
        "1.100000 > stop",
        "1.000000 < info \\x1b[31mx",
        "1.500000 < bestmove e2",
    )
    assert traffic.lines(1) == ("1.500000 < bestmove e2",)
    assert traffic.lines(0) == ()


def test_traffic_is_bounded_in_chunks_and_in_lines() -> None:
    """Long chunks, single bytes and long lines do not make an incident large. The newest data are kept."""
    traffic = Traffic(0)
    for number in range(100_000):
        traffic.append(b"<", number, b"x")
    stamps = [stamp for _, stamp, _ in traffic.pieces()]
    assert stamps == list(range(100_000))[-len(stamps) :]
    assert TRAFFIC_CAP * 0.9 < 14 * len(stamps) <= TRAFFIC_CAP
    traffic.append(b"<", 0, b"y" * 60_000 + b"\n")
    assert all(len(line) < 400 for line in traffic.lines(50))


def test_a_full_pipe_never_blocks_and_breaks_at_its_bound() -> None:
    """What a full pipe does not take waits in order; more than 64 KiB breaks it."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    out = Outbox(writing)
    out.send(b"a" * 60_000)
    out.send(b"b" * 60_000)
    assert 0 < len(out) <= WAITING_CAP
    received = b""
    while len(received) < 120_000:
        received += os.read(reading, 65536)
        out.push()
    assert received == b"a" * 60_000 + b"b" * 60_000
    assert not len(out)
    for _ in range(3):
        out.send(b"c" * 60_000)
    assert out.broken
    os.close(reading)
    os.close(writing)


def test_a_reader_that_is_gone_breaks_without_an_exception() -> None:
    """A reader that is gone sets `broken` and raises nothing."""
    reading, writing = os.pipe()
    os.close(reading)
    out = Outbox(writing)
    out.send(b"uci\n")
    out.send(b"isready\n")
    assert out.broken
    assert not len(out)
    os.close(writing)


def test_last_lines_are_printable() -> None:
    """Shown lines of stderr are in order and have no control characters."""
    assert last_lines(b"one\n\ntwo \x07\n\xff\x00three\n", 2) == ("two \\x07", "\ufffd\\x00three")


# Requests to a thread that sleeps in a select.


def test_acts_are_done_in_their_order_by_whoever_answers() -> None:
    """A request wakes the poll; one answer carries out all requests in order, and the doorbell is quiet again."""
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
    """New work is rejected with the first reason, other requests are not; at the end nothing is accepted."""
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
