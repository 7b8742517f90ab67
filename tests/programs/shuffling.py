"""A fast replacement for Wren in both protocols, which moves a piece back and forth and does not use python-chess.

``shuffling.py LEVEL`` has Wren's name and options. Its games are draws by repetition after a few moves.
"""

# mypy: ignore-errors
# An engine is a program, not a module of the package: it has no annotations and does not use python-chess.
import os
import sys

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
STRAIGHT, SLANTED = ((0, 1), (1, 0), (0, -1), (-1, 0)), ((1, 1), (1, -1), (-1, 1), (-1, -1))
LEAPS = tuple((x * i, (3 - x) * j) for x in (1, 2) for i in (1, -1) for j in (1, -1))
RAYS = {"r": STRAIGHT, "b": SLANTED, "q": STRAIGHT + SLANTED}
STEPS = {"n": LEAPS, "k": STRAIGHT + SLANTED}


def square(text):
    return ord(text[0]) - 97, int(text[1]) - 1


class Board:
    def __init__(self, fen):
        rows, self.turn, *_ = fen.split()
        self.men = {}
        for y, row in zip(range(7, -1, -1), rows.split("/"), strict=True):
            x = 0
            for sign in row:
                if sign.isdigit():
                    x += int(sign)
                else:
                    self.men[x, y] = sign
                    x += 1
        self.last = {}  # last move by color
        self.playing = False

    def push(self, text):
        a, b = square(text), square(text[2:])
        man = self.men.pop(a)
        if man in "Pp" and a[0] != b[0] and b not in self.men:  # en passant
            del self.men[b[0], a[1]]
        if man in "Kk" and abs(a[0] - b[0]) == 2:
            self.men[(a[0] + b[0]) // 2, a[1]] = self.men.pop((7 if b[0] > a[0] else 0, a[1]))
        if len(text) > 4:
            man = text[4].upper() if man == "P" else text[4]
        self.men[b] = man
        self.last[self.turn] = a, b
        self.turn = "b" if self.turn == "w" else "w"

    def is_mine(self, man):
        return man.isupper() == (self.turn == "w")

    def targets(self, a):
        """Yield the squares that a piece can move to: pawns one square, or captures."""
        man = self.men[a]
        kind = man.lower()
        if kind == "p":
            up = 1 if man == "P" else -1
            ahead = (a[0], a[1] + up)
            if ahead not in self.men and ahead[1] not in (0, 7):
                yield ahead
        for x, y in STEPS.get(kind) or RAYS.get(kind) or ((1, up), (-1, up)):
            b = a[0] + x, a[1] + y
            while 0 <= b[0] < 8 and 0 <= b[1] < 8:
                other = self.men.get(b)
                if other is None and kind != "p":
                    yield b
                elif other is not None:
                    if other.isupper() != man.isupper() and (kind != "p" or b[1] not in (0, 7)):
                        yield b
                    break
                if kind not in RAYS:
                    break
                b = b[0] + x, b[1] + y

    def is_legal(self, a, b):
        """Whether the king is not attacked after a move."""
        kept = self.men
        self.men = {**kept, b: kept[a]}
        del self.men[a]
        king = next(where for where, man in self.men.items() if man in "Kk" and self.is_mine(man))
        attacked = any(
            not self.is_mine(man) and king in (self.strikes(where) if man in "Pp" else self.targets(where))
            for where, man in self.men.items()
        )
        self.men = kept
        return not attacked

    def strikes(self, a):
        up = 1 if self.men[a] == "P" else -1
        return (a[0] - 1, a[1] + up), (a[0] + 1, a[1] + up)

    def choice(self):
        """Return the move back, else a knight move, else another one; captures come last."""
        back = self.last.get(self.turn)
        if back and back[0] not in self.men and self.men.get(back[1]) not in (None, "P", "p"):
            a, b = back[1], back[0]
            if b in self.targets(a) and self.is_legal(a, b):
                return a, b
        mine = [a for a in self.men if self.is_mine(self.men[a])]
        mine.sort(key=lambda a: ("nkrbqp".index(self.men[a].lower()), a))
        moves = [(a, b) for a in mine for b in self.targets(a)]
        return next(
            (move for move in sorted(moves, key=lambda move: move[1] in self.men) if self.is_legal(*move)), None
        )


def say(*lines):
    os.write(1, "".join(f"{line}\n" for line in lines).encode())


def told(move):
    return "".join(f"{chr(97 + x)}{y + 1}" for x, y in move) if move else "(none)"


def uci(level, line, board):
    """Return the position after a command of UCI."""
    word, _, rest = line.partition(" ")
    if word == "uci":
        say(f"id name Wren {level}", "id author the enginetour authors")
        say(f"option name Level type spin default {level} min 1 max 8")
        say("option name Seed type spin default 0 min 0 max 2147483647", "uciok")
    elif word == "isready":
        say("readyok")
    elif word == "position":
        where, _, moves = rest.partition(" moves ")
        board = Board(START if where.startswith("startpos") else where.removeprefix("fen "))
        for move in moves.split():
            board.push(move)
    elif word == "go":
        move = told(board.choice())
        say(f"info depth 1 score cp {10 * int(level)} nodes 20 time 0 pv {move}", f"bestmove {move}")
    return board


def cecp(level, line, board):
    """Return the position after a command of CECP; `playing` is False in force mode."""
    word, _, rest = line.partition(" ")
    if word == "protover":
        say(f'feature ping=1 setboard=1 usermove=1 myname="Wren {level}" variants="normal" sigint=0 colors=0 name=0')
        say(f'feature option="Level -spin {level} 1 8"', 'feature option="Seed -spin 0 0 2147483647" done=1')
    elif word == "ping":
        say(f"pong {rest}")
    elif word == "new":
        board = Board(START)
    elif word == "setboard":
        board = Board(rest)
    elif word in ("force", "result"):
        board.playing = False
    elif word in ("go", "usermove"):
        if word == "usermove":
            board.push(rest)
        board.playing |= word == "go"
        if board.playing:
            move = told(board.choice())
            board.push(move)
            say(f"1 {10 * int(level)} 0 20 {move}", f"move {move}")
    return board


def main():
    level, board, protocol = sys.argv[1], Board(START), None
    for line in sys.stdin:
        protocol = protocol or (uci if line.strip() == "uci" else cecp)
        if line.strip() == "quit":
            return
        board = protocol(level, line.strip(), board)


main()
