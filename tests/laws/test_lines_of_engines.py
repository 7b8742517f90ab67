"""Output of engines is only data: no line raises an exception, and nothing grows without limit."""

from __future__ import annotations

import chess
from hypothesis import given
from hypothesis import strategies as st

from enginetour.engines import cecp_lines, uci_lines
from enginetour.engines.cecp_lines import Features
from enginetour.engines.position import read_move
from enginetour.engines.wire import BUFFER_CAP, LINE_CAP, LONGEST_PV, LineBuffer, SearchInfo, escape_text

VOCABULARY = """info score cp mate depth nodes pv multipv string option name type spin default min max var check combo
feature done=1 option= -spin /// move 1. ... 1-0 * 1/2-1/2 Illegal Error ( ) : e2e4 +3 -100003 " = 9"""
WORDS = st.sampled_from([*VOCABULARY.split(), "\t", "\x00", "\xff", ""])
LINES = st.lists(st.one_of(WORDS, st.text(max_size=8)), max_size=14).map(" ".join)


def fits(thought: SearchInfo) -> bool:
    numbers = [number for number in (thought.score, thought.depth, thought.nodes) if number is not None]
    return all(-(2**63) <= number < 2**63 for number in numbers) and len(thought.pv) <= LONGEST_PV


@given(LINES)
def test_no_line_raises(line: str) -> None:
    """Every reader accepts every line, with bounded results."""
    raw = line.encode("utf-8", "replace")
    assert fits(uci_lines.last_search_info(b"info " + raw + b" score " + raw))
    assert fits(cecp_lines.last_search_info(raw + b"\n" + raw))
    text = uci_lines.plain_line(raw)
    uci_lines.read_option("option name " + text)
    cecp_lines.read_move(text)
    cecp_lines.read_result(text)
    cecp_lines.read_refusal(text)
    Features().read(text)
    assert escape_text(line).isprintable()


@given(LINES)
def test_a_move_that_is_read_is_legal(text: str) -> None:
    """Only legal moves are read from any text."""
    board = chess.Board()
    move, _ = read_move(board, text, lenient_promotion=True)
    assert move is None or board.is_legal(move)


@given(st.lists(st.binary(max_size=400), max_size=30))
def test_chunks_do_not_matter(chunks: list[bytes]) -> None:
    """A move is found at the same place, however the stream is divided."""
    whole, pieces = LineBuffer(), LineBuffer()
    whole.feed(b"".join(chunks) + b"\nbestmove x\n")
    found = None
    for chunk in [*chunks, b"\nbestmove x\n"]:
        pieces.feed(chunk)
        found = found or pieces.answer(b"bestmove")
        assert len(pieces.text) <= BUFFER_CAP + LINE_CAP
    assert found == whole.answer(b"bestmove")
