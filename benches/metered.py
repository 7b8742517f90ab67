"""An engine whose CPU is told when it ends: ``metered.py FOLDER ENGINE ...`` runs ENGINE on its own pipes.

It stands beside the pipes, not in them. One file in FOLDER a process: seconds of CPU of the engine and of this program.
"""

# mypy: ignore-errors
# An engine is a program, not a part of the package.
import os
import sys
import time


def main():
    folder, *words = sys.argv[1:]
    path = f"{folder}/{os.getpid()}-{time.monotonic_ns()}.cpu"
    pid = os.posix_spawnp(words[0], words, os.environ)
    _, status, used = os.wait4(pid, 0)
    own = os.times()
    with open(path, "x") as sink:
        sink.write(str(used.ru_utime + used.ru_stime + own.user + own.system))
    sys.exit(os.waitstatus_to_exitcode(status) & 255)


main()
