"""A board that moves pieces and spells moves, and knows no other rule: quick enough for the lines of 10,000 games.

Beside every ply stands the line its engine expected, some 1200 moves a game. Squares are 0 to 63 from a1 as in
python-chess, pieces the bytes of FEN's letters, 0 where there is none. A move is believed when its piece can go that
way on this board; whether its own king stays safe is not asked. For legal moves the spelling is that of python-chess,
but for ``#`` (tests/laws).
"""

from __future__ import annotations

from enginetour.reports.html.geometry import BETWEEN, DROPS, LEAPS, MOVES, NAMES, PAWNS, SIGHT, STEPS

PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = b"PNBRQK"
EMPTY = 0
LARGE = 0xDF  # clears the bit that makes a letter small, and Black's
SMALL = 0x20
_FIRST_SMALL = 0x60

Effects = tuple[tuple[int, int], ...]
"""What a move changes, in this order: squares with what stands on them afterwards."""


def placed(placement: str) -> bytearray:
    """The board of FEN's first field, pockets and signs of promotion left out; ValueError for what is none."""
    squares = bytearray(64)
    ranks = placement.split("[")[0].replace("~", "").split("/")[:8]
    if len(ranks) != 8:
        raise ValueError(f"no eight ranks: {placement!r}")
    for rank, letters in zip(range(7, -1, -1), ranks, strict=True):
        at = rank * 8
        for letter in letters:
            if letter in "12345678":
                at += int(letter)
            elif letter in "PNBRQKpnbrqk" and at < rank * 8 + 8:
                squares[at] = ord(letter)
                at += 1
            else:
                raise ValueError(f"no rank of a board: {letters!r}")
        if at != rank * 8 + 8:
            raise ValueError(f"no rank of a board: {letters!r}")
    return squares


def effects(squares: bytearray, uci: str, *, white: bool) -> Effects | None:
    """What a move in UCI's words changes, None for one that no piece here can make."""
    way = MOVES.get(uci[:4])
    if way is None:
        return _dropped(squares, uci, white=white)
    start, end = way
    piece = squares[start]
    if not piece or (piece < _FIRST_SMALL) is not white:
        return None
    kind, target = piece & LARGE, squares[end]
    if target and (target < _FIRST_SMALL) is white:
        return _castled(squares, start, end) if kind == KING else None
    if kind == PAWN:
        return _pawn(squares, start, end, uci[4:], white=white)
    if uci[4:]:
        return None
    if kind == KNIGHT:
        fits = end in LEAPS[start]
    elif kind == KING:
        if end not in STEPS[start]:
            return _castled(squares, start, end)
        fits = True
    else:
        fits = _open(squares, kind, start, end)
    return ((start, 0), (end, piece)) if fits else None


def spelled(squares: bytearray, uci: str, what: Effects, *, white: bool, royal: bool = True) -> str:
    """Play a move and spell it: standard algebraic notation, ``+`` where it gives check.

    Where kings are not `royal` nothing is a check, and no piece is kept from moving by one.
    """
    start, piece = what[0][0], squares[what[0][0]]
    if uci[1] == "@":
        san = uci if uci[0] != "P" else uci[1:]
    elif (piece & LARGE) == PAWN:
        san = uci[2:4] if uci[0] == uci[2] else f"{uci[0]}x{uci[2:4]}"
        if uci[4:]:
            san += f"={uci[4].upper()}"
    elif len(what) == 4 and what[2][1]:
        san = "O-O" if what[2][0] & 7 == 6 else "O-O-O"
    else:
        end = what[1][0]
        cross = "x" if squares[end] else ""
        twin = (squares.count(piece) > 1 and told_apart(squares, start, end, white=white, royal=royal)) or ""
        san = f"{chr(piece & LARGE)}{twin}{cross}{uci[2:4]}"
    for square, code in what:
        squares[square] = code
    king = squares.find(KING | SMALL if white else KING) if royal else -1
    return f"{san}+" if king >= 0 and gives_check(squares, king, what, white=white) else san


def gives_check(squares: bytearray, king: int, what: Effects, *, white: bool) -> bool:
    """Whether White's (Black's) move that was just played attacks the other's king, itself or by making room."""
    for square, code in what:
        if code:
            kind = code & LARGE
            if (kind == KNIGHT and square in LEAPS[king]) or (kind == PAWN and square in PAWNS[white][king]):
                return True
        sight = SIGHT[white].get(king << 6 | square)
        if sight is not None:
            line, seers = sight
            for seen in line:
                code = squares[seen]
                if code:
                    if code in seers:
                        return True
                    break
    return False


def attacked(squares: bytearray, square: int, *, white: bool) -> bool:
    """Whether a piece of White (Black) attacks the square."""
    side = EMPTY if white else SMALL
    for kind, near in ((KNIGHT, LEAPS[square]), (PAWN, PAWNS[white][square]), (KING, STEPS[square])):
        piece = kind | side
        for seen in near:
            if squares[seen] == piece:
                return True
    return gives_check(squares, square, tuple((seen, EMPTY) for seen in STEPS[square]), white=white)


def _open(squares: bytearray, kind: int, start: int, end: int) -> bool:
    between = BETWEEN[kind].get(start << 6 | end)
    if between is None:
        return False
    for square in between:  # noqa: SIM110
        if squares[square]:
            return False
    return True


def told_apart(squares: bytearray, start: int, end: int, *, white: bool, royal: bool) -> str:
    """Where the piece comes from, as far as another of its kind could legally make the move too."""
    piece = squares[start]
    kind = piece & LARGE
    others = []
    other = squares.find(piece)
    while other >= 0:
        if other != start:
            if kind == KNIGHT:
                fits = other in LEAPS[end]
            elif kind == KING:
                fits = other in STEPS[end]
            else:
                fits = _open(squares, kind, other, end)
            if fits and (not royal or is_safe(squares, ((other, EMPTY), (end, piece)), white=white)):
                others.append(other)
        other = squares.find(piece, other + 1)
    if not others:
        return ""
    same_file = any(other & 7 == start & 7 for other in others)
    same_rank = any(other >> 3 == start >> 3 for other in others)
    name = NAMES[start]
    if not same_file:
        return name[0]
    return name if same_rank else name[1]


def is_safe(squares: bytearray, what: Effects, *, white: bool) -> bool:
    """White's (Black's) own king is not attacked once that has changed; so it is where there is none."""
    after = squares[:]
    for square, code in what:
        after[square] = code
    king = after.find(KING if white else KING | SMALL)
    return king < 0 or not attacked(after, king, white=not white)


def _pawn(squares: bytearray, start: int, end: int, promoted: str, *, white: bool) -> Effects | None:
    piece, forward = squares[start], 8 if white else -8
    passed = start + forward
    if (end >> 3 in (0, 7)) is not bool(promoted):
        return None
    if promoted:
        if promoted not in ("q", "r", "b", "n", "k"):
            return None
        arrived = ord(promoted.upper()) if white else ord(promoted)
    else:
        arrived = piece
    if start & 7 == end & 7:
        if squares[end] or squares[passed]:
            return None
        far = end == passed + forward and (start >> 3 <= 1 if white else start >> 3 >= 6)
        return ((start, 0), (end, arrived)) if end == passed or far else None
    if end not in (passed - 1, passed + 1) or abs((start & 7) - (end & 7)) != 1:
        return None
    if squares[end]:
        return ((start, 0), (end, arrived))
    beside = (start & 56) | (end & 7)
    if squares[beside] != piece ^ SMALL:
        return None
    return ((start, 0), (end, arrived), (beside, 0))


def _castled(squares: bytearray, start: int, end: int) -> Effects | None:
    """A king that goes two squares towards a rook of its own, or onto it."""
    king = squares[start]
    rook = king ^ KING ^ ROOK
    if start >> 3 != end >> 3:
        return None
    step = 1 if end > start else -1
    corner = end
    if squares[end] != rook:
        edge = start | 7 if step > 0 else start & 56
        corners = [square for square in range(start + step, edge + step, step) if squares[square]]
        if abs(end - start) != 2 or not corners or squares[corners[0]] != rook:
            return None
        corner = corners[0]
    rank = start & 56
    king_end, rook_end = (rank | 6, rank | 5) if step > 0 else (rank | 2, rank | 3)
    return ((start, 0), (corner, 0), (king_end, king), (rook_end, rook))


def _dropped(squares: bytearray, uci: str, *, white: bool) -> Effects | None:
    drop = DROPS.get(uci)
    if drop is None or squares[drop[1]]:
        return None
    return ((drop[1], drop[0] if white else drop[0] | SMALL),)
