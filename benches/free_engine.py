"""The free engine for machines without a C compiler: as ``free_engine.c``, but some microseconds slower per move."""

# mypy: ignore-errors
# An engine is a program, not a module of the package.
import mmap
import os
import signal
import struct
import sys
import time

MOST_PLIES = 1 << 15
RECORD = struct.Struct("=5q")  # ply, heard, answered, own CPU: ns; clock: ms

SAID = "info depth {depth} seldepth 12 score cp 13 nodes 12345 nps 1000000 time 1 pv {move}\n"
MS = 1_000_000  # ns
SPREAD = 618_034  # ns, as in free_engine.c


def rest_until(due):
    time.sleep(max(0, due - time.monotonic_ns()) / 1e9)


def main():
    game, folder, *given = sys.argv[1:]
    count_lines, think, deaf = (*map(int, given), *(1, 0, 0)[len(given) :])
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
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
                said = [SAID.format(depth=9 + at, move=move) for at in range(count_lines)]
                if think:
                    long = think * MS + count * SPREAD % MS
                    for at, one in enumerate(said, 1):
                        rest_until(heard + long * at // (count_lines + 1))
                        os.write(1, one.encode())
                    rest_until(heard + long)
                    said = []
                text = "".join(said) + f"bestmove {move}\n"
                if count < MOST_PLIES:
                    cpu = time.process_time_ns()
                    _, _, clock = line.partition(b" btime " if ply % 2 else b" wtime ")
                    rest = int(clock.split()[0]) if clock else 0
                    RECORD.pack_into(records, count * RECORD.size, ply, heard, time.monotonic_ns(), cpu, rest)
                    count += 1
                os.write(1, text.encode())
            elif line == b"isready":
                os.write(1, b"readyok\n")
            elif line == b"uci":
                os.write(1, b"id name Free\nid author the tests\nuciok\n")
            elif line == b"quit" and not deaf:
                return
    while deaf:
        signal.pause()


main()
