"""`enginetour` and `python -m enginetour` are the command line."""

import signal


def main() -> None:
    """Load it and run it; Ctrl-C while it is loaded ends the process as it ends any other, without a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as by a shell's `&`
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from enginetour.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
