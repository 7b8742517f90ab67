"""Start the command line, as `enginetour` or as `python -m enginetour`."""

import os
import signal


def main() -> None:
    """Load the command line and run it.

    Until a run handles signals itself, a signal ends the process at once and without a traceback, even while the
    process waits for a disk or runs C code. Python's own handlers would be called only after that step.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if a shell's `&` ignores SIGINT
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if os.getpid() == 1:  # for the first process of a container, the kernel ignores signals without a handler
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, lambda number, _: os._exit(128 + number))
    from enginetour.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
