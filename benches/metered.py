"""Measure the CPU time of an engine: ``metered.py FOLDER ENGINE ...`` runs ENGINE, which inherits the pipes.

It writes a file per process into FOLDER with the CPU seconds of the engine and of this program.
"""

# mypy: ignore-errors
# An engine is a program, not a module of the package.
import os
import sys
import time


def main():
    folder, *command = sys.argv[1:]
    path = f"{folder}/{os.getpid()}-{time.monotonic_ns()}.cpu"
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(pid, 0)
    own = os.times()
    with open(path, "x") as sink:
        sink.write(str(used.ru_utime + used.ru_stime + own.user + own.system))
    sys.exit(os.waitstatus_to_exitcode(status) & 255)


main()
