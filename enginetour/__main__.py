"""`enginetour` and `python -m enginetour` are the command line."""

import os
import signal


def main() -> None:
    """Load the command line and run it.

    Until a run notes signals, they end the process at once, without a traceback, also while it waits for a disk or
    computes in C: Python's own handlers would wait for the end of that step.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as by a shell's `&`
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if os.getpid() == 1:  # in a container: for the first process the kernel ignores what has no handler
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, lambda number, _: os._exit(128 + number))
    from enginetour.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
