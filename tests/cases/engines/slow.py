#!/usr/bin/env python3
"""slow.py uci start|newgame UNTIL, or slow.py cecp start UNTIL: waits for seconds or a file where no clock runs."""

import os
import sys
import time

import chess

PROTOCOL, WHEN, UNTIL = sys.argv[1:]


def pause(when: str) -> None:
    if when != WHEN:
        return
    if not UNTIL.startswith("/"):
        time.sleep(float(UNTIL))
    while UNTIL.startswith("/") and not os.path.exists(UNTIL):
        time.sleep(0.001)


def say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


def move(board: chess.Board) -> str:
    return min(map(str, board.legal_moves))


board, force = chess.Board(), True
for line in sys.stdin:
    words = line.split() or [""]
    if PROTOCOL == "uci":
        if words[0] == "uci":
            pause("start")
            say("id name Slow", "id author x", "uciok")
        elif words[0] == "ucinewgame":
            pause("newgame")
        elif words[0] == "isready":
            say("readyok")
        elif words[0] == "position":
            at = words.index("moves") if "moves" in words else len(words)
            board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:at]))
            for each in words[at + 1 :]:
                board.push_uci(each)
        elif words[0] == "go":
            say("info depth 1 score cp 0 nodes 1", f"bestmove {move(board)}")
    elif words[0] == "protover":
        pause("start")
        say('feature myname="Slow" usermove=1 ping=1 setboard=1 sigint=0 sigterm=0 done=1')
    elif words[0] == "ping":
        say(f"pong {words[1]}")
    elif words[0] in ("new", "setboard"):
        board, force = (
            (chess.Board() if words[0] == "new" else chess.Board(line.partition(" ")[2].strip())),
            words[0] != "new",
        )
    elif words[0] == "force":
        force = True
    elif words[0] in ("go", "usermove"):
        force = False if words[0] == "go" else force
        if words[0] == "usermove":
            board.push_uci(words[1])
        if not force and not board.is_game_over():
            answer = move(board)
            board.push_uci(answer)
            say(f"move {answer}")
    if words[0] == "quit":
        break
