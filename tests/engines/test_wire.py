"""Tests of engines/wire: lines of a stream of bytes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.engines import cecp_lines
from enginetour.engines.uci_lines import plain_line
from enginetour.engines.wire import BUFFER_CAP, LINE_CAP, LineBuffer


@given(st.lists(st.binary(max_size=20)), st.integers(1, 7))
def test_lines_do_not_depend_on_how_the_stream_was_cut(pieces: list[bytes], size: int) -> None:
    """A stream gives the same lines in one read and byte by byte."""
    stream = b"\n".join(pieces)
    whole, cut = LineBuffer(), LineBuffer()
    whole.feed(stream)
    lines: list[bytes | None] = []
    for at in range(0, len(stream), size):
        cut.feed(stream[at : at + size])
        lines += iter(cut.line, None)
    assert [*lines, cut.end(), cut.line()] == [*iter(whole.line, None), whole.end(), whole.line()]


def test_an_answer_is_found_at_a_line_start_only() -> None:
    """An answer is found only at the start of a line; blanks before it are ignored."""
    intake = LineBuffer()
    intake.feed(b"info string bestmove e2e4\n \tbestmove d2d4 ponder d7d5\nbestmove a2a3\n")
    assert intake.answer(b"bestmove") == (b"info string bestmove e2e4\n", b" \tbestmove d2d4 ponder d7d5")
    assert intake.line() == b"bestmove a2a3"


def test_an_answer_byte_by_byte() -> None:
    """An answer is complete only with its line end."""
    intake = LineBuffer()
    for byte in b"info depth 1\nbestmove e2e4":
        intake.feed(bytes([byte]))
        assert intake.answer(b"bestmove") is None
    intake.feed(b"\n")
    assert intake.answer(b"bestmove") == (b"info depth 1\n", b"bestmove e2e4")
    assert len(intake.text) == 0


@given(st.lists(st.sampled_from([b"info bestmove", b"bestmove", b" e2e4", b"best", b"move", b"\n", b"1. e4", b"\xff"])))
def test_what_is_chatter_holds_no_answer(pieces: list[bytes]) -> None:
    """`lacks` before `answer`, and `lacks_line` before `match`, do not change the result."""
    words, lines = (LineBuffer(), LineBuffer()), (LineBuffer(), LineBuffer())
    for piece in pieces:
        for intake in (*words, *lines):
            intake.feed(piece)
        found = None if words[0].lacks(b"bestmove") else words[0].answer(b"bestmove")
        assert found == words[1].answer(b"bestmove")
        told = None if lines[0].lacks_line(cecp_lines.TELLING) else lines[0].match(cecp_lines.TELLING)
        assert told == lines[1].match(cecp_lines.TELLING)


def test_memory_stays_bounded_and_the_last_score_survives() -> None:
    """Old lines are dropped first, except the last one with a score; an endless line is cut."""
    intake = LineBuffer()
    intake.feed(b"info depth 9 score cp 3\n")
    for _ in range(40):
        intake.feed(b"info string noise of an engine\n" * 2000)
        assert len(intake.text) <= BUFFER_CAP + 64
    intake.feed(b"bestmove e2e4\n")
    found = intake.answer(b"bestmove")
    assert found is not None
    assert found[0].startswith(b"info depth 9 score cp 3\n")


def test_an_endless_line_is_cut_and_the_next_one_read() -> None:
    """The rest of an overlong line is dropped as it arrives."""
    intake = LineBuffer()
    for _ in range(10):
        intake.feed(b"x" * 65536)
        assert len(intake.text) <= LINE_CAP
    assert intake.overlong
    intake.feed(b"yy\nbestmove e2e4\n")
    assert intake.answer(b"bestmove") == (b"x" * LINE_CAP + b"\n", b"bestmove e2e4")


def test_the_last_line_may_lack_its_end() -> None:
    """At end of file an unfinished line is closed and reported."""
    intake = LineBuffer()
    intake.feed(b"a\nbestmove e2e4")
    assert intake.end()
    assert intake.answer(b"bestmove") == (b"a\n", b"bestmove e2e4")
    assert not intake.end()


def test_a_pattern_takes_its_line_and_what_came_before() -> None:
    """A pattern takes whole lines only."""
    intake = LineBuffer()
    pattern = re.compile(rb"^[ ]*move [^\n]*", re.MULTILINE)
    intake.feed(b"5 3 1 9 move it\n move e2e4\nmove e7")
    assert intake.match(pattern) == (b"5 3 1 9 move it\n", b" move e2e4")
    assert intake.match(pattern) is None
    intake.feed(b"e5\n")
    assert intake.match(pattern) == (b"", b"move e7e5")
    assert not intake.has(b"move")


@pytest.mark.parametrize("unseen", [b"", b"\x1b[32m", b"\0", b"\x08", b"\xef\xbb\xbf", b" \x1b[0m\x1b[1;31m "])
def test_what_nobody_sees_before_an_answer_is_no_part_of_it(unseen: bytes) -> None:
    """Colors, a NUL or a byte order mark before an answer are ignored; the answer was lost, and a game on time."""
    intake = LineBuffer()
    intake.feed(b"info depth 1\n" + unseen + b"bestmove e2e4\n")
    assert intake.answer(b"bestmove") == (b"info depth 1\n", unseen + b"bestmove e2e4")
    intake.feed(unseen + b"bestmoves e2e4\ninfo string bestmove e2e4\n")
    assert intake.answer(b"bestmove") is None
    assert (found := cecp_lines.TELLING.search(b"1 5 1 1 e2e4\n" + unseen + b"move e2e4\n")) is not None
    assert plain_line(found[0]) == "move e2e4"
