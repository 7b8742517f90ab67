#!/usr/bin/env python3
"""A UCI engine whose option values are words of the option grammar: every declared one must be settable."""

import sys

import chess

OPTIONS = (
    "name Personality type combo default default var default var Tal var max",
    "name Fill type combo default fen_only var no var fen_only var always",
    "name Script type string default min 5 max 9",
    "name Time type type combo default type var type var name",
    "name Big type spin default 0 min 0 max 18446744073709551615",
)
board = chess.Board()
for line in sys.stdin:
    words = line.split()
    if words[:1] == ["uci"]:
        print("id name Combo\nid author x", *(f"option {each}" for each in OPTIONS), "uciok", sep="\n", flush=True)
    elif words[:1] == ["isready"]:
        print("readyok", flush=True)
    elif words[:1] == ["setoption"]:
        print("info string got", line.strip(), flush=True)
    elif words[:1] == ["position"]:
        at = words.index("moves") if "moves" in words else len(words)
        board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:at]))
        for move in words[at + 1 :]:
            board.push_uci(move)
    elif words[:1] == ["go"]:
        print(f"info depth 1 score cp 0 nodes 1\nbestmove {min(map(str, board.legal_moves))}", flush=True)
    elif words[:1] == ["quit"]:
        break
