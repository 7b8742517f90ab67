"""The free engine where there is no C compiler: as ``free_engine.c``, some microseconds slower in every answer."""

# mypy: ignore-errors
# An engine is a program, not a part of the package.
import mmap
import os
import struct
import sys
import time

MOST_PLIES = 1 << 15
RECORD = struct.Struct("=4q")  # ply, heard, answered, own CPU: ns


def main():
    game, folder = sys.argv[1:]
    with open(game) as source:
        moves = source.read().split()
    path = f"{folder}/{os.getpid()}-{time.monotonic_ns()}.stamps"
    with open(path, "x+b") as file:
        file.truncate(MOST_PLIES * RECORD.size)
        records = mmap.mmap(file.fileno(), 0)
    count = ply = 0
    held = b""
    while chunk := os.read(0, 65536):
        heard = time.monotonic_ns()
        *lines, held = (held + chunk).split(b"\n")
        for line in map(bytes.strip, lines):
            if line.startswith(b"position"):
                ply = len(line.partition(b" moves ")[2].split())
            elif line.startswith(b"go"):
                move = moves[ply] if ply < len(moves) else "0000"
                text = (
                    f"info depth 9 seldepth 12 score cp 13 nodes 12345 nps 1000000 time 1 pv {move}\nbestmove {move}\n"
                )
                if count < MOST_PLIES:
                    cpu = time.process_time_ns()
                    RECORD.pack_into(records, count * RECORD.size, ply, heard, time.monotonic_ns(), cpu)
                    count += 1
                os.write(1, text.encode())
            elif line == b"isready":
                os.write(1, b"readyok\n")
            elif line == b"uci":
                os.write(1, b"id name Free\nid author the tests\nuciok\n")
            elif line == b"quit":
                return


main()
