"""The lines that engines expected, spelled for people and told to a script ply by ply.

Most are in UCI's words and by the rules of chess: those of many games are played at once (`boards`). The others,
SAN with all its habits and variants, are played word by word (`mailbox`). As far as a line repeats the game, the game
says how it is spelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enginetour.model import MoveMade
from enginetour.reports.html.boards import CODES, played
from enginetour.reports.html.mailbox import effects, spelled
from enginetour.reports.html.replay import Replay, change, exploded
from enginetour.reports.html.saidmove import ORNAMENT, as_uci
from enginetour.reports.pgn import is_mate
from enginetour.variants import VARIANTS

SHOWN_PLIES = 40  # of a line: of 13,000 lines of 14 engines 4 had more (measured)
LONGEST_WORD = 12  # signs of a word that is no move: an engine may say anything
_NO_CHECKS = frozenset({"antichess", "giveaway", "suicide", "atomic", "racingkings"})  # there, or others than a board's


@dataclass(frozen=True, slots=True)
class Line:
    """`words` for people; `changes` for the script, one for each of the first words; `cut`: there was more."""

    words: tuple[str, ...]
    changes: tuple[str, ...]
    cut: bool


@dataclass(slots=True)
class _Begun:
    """A line as far as it repeats the game."""

    said: list[str]
    cut: bool
    told: list[str]
    changes: list[str]
    ends_in_mate: bool  # as its score says


def lines(games: Sequence[tuple[Replay, Sequence[MoveMade]]]) -> list[list[Line | None]]:
    """For each game and ply the line its engine gave with it; None without one. An illegal rest stands as it is."""
    found: list[list[Line | None]] = [[None] * len(moves) for _, moves in games]
    together: list[tuple[int, int, _Begun]] = []
    for place, (replay, moves) in enumerate(games):
        usual = VARIANTS[replay.variant].is_usual
        for ply, move in enumerate(moves):
            if move.pv:
                begun = _begun(replay, moves, ply)
                at = ply + len(begun.told)
                if usual and at < len(replay.boards) and len(begun.told) < len(begun.said) and begun.said[-1] in CODES:
                    together.append((place, ply, begun))
                else:
                    found[place][ply] = _one_by_one(replay, ply, begun)
    _all_at_once(games, together, found)
    return found


def _begun(replay: Replay, moves: Sequence[MoveMade], ply: int) -> _Begun:
    said = moves[ply].pv.split(None, SHOWN_PLIES)
    cut = len(said) > SHOWN_PLIES
    if cut:
        said.pop()
    told: list[str] = []
    changes: list[str] = []
    for word, move, (_, words) in zip(said, moves[ply:], replay.plies[ply:], strict=False):
        if word not in (move.uci, move.san):
            break
        told.append(move.san)
        changes.append(words)
    return _Begun(said, cut, told, changes, is_mate(moves[ply].score or 0))


def _all_at_once(
    games: Sequence[tuple[Replay, Sequence[MoveMade]]],
    together: Sequence[tuple[int, int, _Begun]],
    found: list[list[Line | None]],
) -> None:
    starts, white, codes = [], [], []
    for place, ply, begun in together:
        replay, at = games[place][0], ply + len(begun.told)
        starts.append(replay.boards[at])
        white.append(replay.is_white(at))
        codes.append([CODES.get(word, -1) for word in begun.said[len(begun.told) :]])
    result = played(starts, white, codes)
    special: dict[int, list[tuple[int, str]]] = {}
    for (number, at), what in result.effects.items():
        special.setdefault(number, []).append((at, change(what, "")))
    mates: dict[tuple[bytes, bool], bool] = {}
    for number, ((place, ply, begun), sans) in enumerate(zip(together, result.sans, strict=True)):
        first, whole = len(begun.told), len(begun.told) + len(sans)
        begun.told += sans
        begun.changes += begun.said[first:whole]
        for at, words in special.get(number, ()):
            begun.changes[first + at] = words
        if begun.ends_in_mate and whole == len(begun.said) and not begun.cut and begun.told[-1][-1] == "+":
            key = result.boards[number, :64].tobytes(), white[number] ^ bool(len(sans) % 2)
            if key not in mates:
                mates[key] = _is_mate(*key)
            if mates[key]:
                begun.told[-1] = begun.told[-1].replace("+", "#")
        begun.told += [word[:LONGEST_WORD] for word in begun.said[whole:]]
        found[place][ply] = Line(tuple(begun.told), tuple(begun.changes), begun.cut)


def _one_by_one(replay: Replay, ply: int, begun: _Begun) -> Line:
    at = ply + len(begun.told)
    if at >= len(replay.boards):
        return Line(tuple(word[:LONGEST_WORD] for word in begun.said), (), begun.cut)
    squares, white = replay.boards[at][:], replay.is_white(at)
    for place, word in enumerate(begun.said[len(begun.told) :], len(begun.told)):
        uci = as_uci(squares, word, white=white)
        what = None if uci is None else effects(squares, uci, white=white)
        if uci is None or what is None:
            if ORNAMENT.fullmatch(word):
                continue
            begun.told += [one[:LONGEST_WORD] for one in begun.said[place:]]
            break
        if replay.variant == "atomic":
            what = exploded(squares, what)
        san = spelled(squares, uci, what, white=white)
        begun.told.append(san.rstrip("+") if replay.variant in _NO_CHECKS else san)
        begun.changes.append(change(what, uci))
        white = not white
    else:
        usual = VARIANTS[replay.variant].is_usual and begun.ends_in_mate and not begun.cut
        if usual and begun.told[-1:] and begun.told[-1][-1] == "+" and _is_mate(bytes(squares), white):
            begun.told[-1] = begun.told[-1].replace("+", "#")
    return Line(tuple(begun.told), tuple(begun.changes), begun.cut)


def _is_mate(squares: bytes, white: bool) -> bool:  # noqa: FBT001
    """Whether White (Black) to move and in check is mated; a pawn that could be taken in passing is not known of."""
    import chess

    board = chess.Board(None)
    for square, code in enumerate(squares):
        if code:
            board.set_piece_at(square, chess.Piece.from_symbol(chr(code)))
    board.turn = white
    return board.is_checkmate()
