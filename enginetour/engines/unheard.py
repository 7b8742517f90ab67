"""Signals that end us are for the main thread: one that is given to another thread does not wake it (signal(7))."""

import signal

ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


def hear_no_end() -> None:
    """For a thread beside the main one, first of all. What it starts inherits that until it says otherwise."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)


def hear_all() -> None:
    """For the main thread of what such a thread has started, once it has its handlers."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
