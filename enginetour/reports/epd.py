"""The end of a game as a line of EPD: position, counters, whose game it was and how it ended (PGN standard 16.2)."""

from __future__ import annotations

from enginetour.model.game import Game
from enginetour.reports.pgn import clean


def final_position(game: Game, number: int, event: str) -> str:
    """``8/8/... w - - hmvc 3; fmvn 71; id "event, game 5"; c0 "A - B 1-0, White mates";``."""
    *fields, halfmoves, move = game.final_fen.split()
    names = f"{game.pairing.white} - {game.pairing.black} {game.outcome}"
    told = (("id", f"{event}, game {number}"), ("c0", f"{names}, {game.cause}" if game.cause else names))
    words = (f'{name} "{_operand(words)}";' for name, words in told)
    return " ".join((*fields, f"hmvc {halfmoves};", f"fmvn {move};", *words))


def _operand(words: str) -> str:
    """A string of EPD has no escapes: its quotes become single ones, and readers that cut at semicolons find none."""
    return clean(words).replace('"', "'").replace("\\", "/").replace(";", ",")
