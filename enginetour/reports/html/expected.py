"""The lines that engines expected, spelled for people and told to a script ply by ply.

Those by the rules of chess are played at once, for many games (`boards`); those of variants word by word (`mailbox`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enginetour.model import MoveMade
from enginetour.reports.html.boards import played
from enginetour.reports.html.mailbox import effects, spelled
from enginetour.reports.html.replay import Replay, change, exploded
from enginetour.reports.html.saidboards import code, origins
from enginetour.reports.html.saidmove import ORNAMENT, as_uci
from enginetour.reports.pgn import MATE_SCORE, is_mate
from enginetour.variants import VARIANTS

SHOWN_PLIES = 30  # of a line: of 25,000 lines of 14 engines 6 in a thousand had more (measured)
LONGEST_WORD = 12  # signs of a word that is no move: an engine may say anything
_NO_CHECKS = frozenset({"antichess", "giveaway", "suicide", "atomic", "racingkings"})  # or others than on a board


@dataclass(frozen=True, slots=True)
class Line:
    """`words` for people; `changes` for the script, one for each of the first words; `cut`: there was more."""

    words: str
    changes: str
    cut: bool


def lines(games: Sequence[tuple[Replay, Sequence[MoveMade]]]) -> list[list[Line | None]]:
    """For each game and ply the line its engine gave with it; None without one. An illegal rest stands as it is."""
    found: list[list[Line | None]] = [[None] * len(moves) for _, moves in games]
    places: list[tuple[int, int]] = []
    said: list[list[str]] = []
    for place, (replay, moves) in enumerate(games):
        playable = len(replay.boards) if VARIANTS[replay.variant].is_usual else 0
        for ply, move in enumerate(moves):
            if move.pv:
                words = _words(move.pv)
                if ply < playable:
                    places.append((place, ply))
                    said.append(words)
                else:
                    found[place][ply] = _one_by_one(replay, ply, words)
    _all_at_once(games, places, said, found)
    return found


def _words(pv: str) -> list[str]:
    """At most one more than is shown, without what is no move."""
    said = pv.split(None, SHOWN_PLIES)
    if len(said) > SHOWN_PLIES:
        said[-1] = "…"
    if "." in pv or not pv[0].isalnum():
        return [word for word in said if word == "…" or not ORNAMENT.fullmatch(word)]
    return said


def _all_at_once(
    games: Sequence[tuple[Replay, Sequence[MoveMade]]],
    places: Sequence[tuple[int, int]],
    said: Sequence[Sequence[str]],
    found: list[list[Line | None]],
) -> None:
    starts = [games[place][0].boards[ply] for place, ply in places]
    white = [games[place][0].is_white(ply) for place, ply in places]
    result = played(starts, white, [list(map(code, words)) for words in said], origins)
    mates: dict[tuple[bytes, bool], bool] = {}
    there = np.arange(result.sans.shape[1]) < result.counts[:, None]
    sans, changes, begin = result.sans[there].tolist(), result.changes[there].tolist(), 0
    for number, ((place, ply), words, count) in enumerate(zip(places, said, result.counts.tolist(), strict=True)):
        end = begin + count
        told, led = " ".join(sans[begin:end]), " ".join(changes[begin:end])
        begin = end
        if count == len(words):
            if told[-1:] == "+" and count == _plies_to_mate(games[place][1][ply].score):
                key = result.boards[number, :64].tobytes(), white[number] ^ bool(count % 2)
                if key not in mates:
                    mates[key] = _is_mate(*key)
                told = told[:-1] + "#" if mates[key] else told
            found[place][ply] = Line(told, led, cut=False)
        else:
            found[place][ply] = _broken_off(told, words[count:], led)


def _plies_to_mate(score: int | None) -> int | None:
    """As the score has it: 5 for mate in 3, 6 for being mated in 3; None for every other score."""
    if score is None or not is_mate(score):
        return None
    return 2 * (MATE_SCORE - abs(score)) - (score > 0)


def _broken_off(told: str, rest: Sequence[str], changes: str) -> Line:
    """What cannot be played stands as it was said."""
    cut = list(rest[-1:]) == ["…"]
    parts = [told, *(word[:LONGEST_WORD] for word in (rest[:-1] if cut else rest))]
    return Line(" ".join(filter(None, parts)), changes, cut)


def _one_by_one(replay: Replay, ply: int, said: Sequence[str]) -> Line:
    told: list[str] = []
    changes: list[str] = []
    if ply >= len(replay.boards):
        return _broken_off("", said, "")
    squares, white = replay.boards[ply][:], replay.is_white(ply)
    for word in said:
        uci = as_uci(squares, word, white=white)
        what = None if uci is None else effects(squares, uci, white=white)
        if uci is None or what is None:
            break
        if replay.variant == "atomic":
            what = exploded(squares, what)
        told.append(spelled(squares, uci, what, white=white, royal=replay.variant not in _NO_CHECKS))
        changes.append(change(what, uci))
        white = not white
    return _broken_off(" ".join(told), said[len(told) :], " ".join(changes))


def _is_mate(squares: bytes, white: bool) -> bool:  # noqa: FBT001
    """Whether White (Black) to move and in check is mated; a pawn that could be taken in passing is not known of."""
    import chess

    board = chess.Board(None)
    for square, piece in enumerate(squares):
        if piece:
            board.set_piece_at(square, chess.Piece.from_symbol(chr(piece)))
    board.turn = white
    return board.is_checkmate()
