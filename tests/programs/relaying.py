"""A wrapper like `ssh HOST ENGINE`: it forwards its input to a program, and the output of the program with a delay.

relaying.py --ms 30 --mark WORD PROGRAM WORDS...

The program has WORD in its environment, so that tests can find it. With --apart it has its own session, and signals to
the process group do not reach it. With --breaks N the wrapper ends at the N-th move, like a lost connection.
"""

# mypy: ignore-errors
# An engine is a program, not a module of the package: it has no annotations.
import argparse
import os
import subprocess
import threading
import time

ANSWERS = (b"bestmove", b"move")
LOST = 255  # exit code of ssh for a lost connection (ssh(1), EXIT STATUS)


def forward(sink):
    """Forward the input to the program."""
    while said := os.read(0, 65536):
        os.write(sink.fileno(), said)
    sink.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ms", type=float, default=0.0)
    parser.add_argument("--mark", required=True)
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--breaks", type=int, default=0)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    marked = {**os.environ, "MARK": options.mark}
    program = subprocess.Popen(options.program, env=marked, start_new_session=options.apart, **pipes)
    threading.Thread(target=forward, args=(program.stdin,), daemon=True).start()
    answers = 0
    for line in program.stdout:
        if line.startswith(ANSWERS):
            answers += 1
            if answers == options.breaks:
                os._exit(LOST)
            time.sleep(options.ms / 1000)
        os.write(1, line)
    os._exit(program.wait())


main()
