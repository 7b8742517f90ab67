"""What a run says. A pipe, terminal or log that takes no more words never harms the tournament (reliability spec 3)."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from enginetour.model.game import Game, Note
from enginetour.reports.sheet import safe
from enginetour.tournament.scheduler import Scheduler, Watcher

GONE = (errno.EPIPE, errno.EIO)  # the reader has ended, the terminal is closed: neither comes back


class Voice(Watcher):
    """Passes everything on to a screen for as long as that can be written to."""

    def __init__(self) -> None:
        self.screen = Watcher()
        self._complained = False

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Pass it on."""
        self.try_to(lambda: self.screen.game(number, game, notes))

    def event(self, slot: int, name: str, payload: Any) -> None:
        """Pass it on to a screen that tells of games under way; called from the thread of the slots."""
        tell = getattr(self.screen, "event", None)
        if tell is not None:
            self.try_to(lambda: tell(slot, name, payload))

    def trouble(self, text: str) -> None:
        """Pass it on."""
        self.try_to(lambda: self.screen.trouble(text))

    def progress(self, scheduler: Scheduler) -> None:
        """Pass it on."""
        self.try_to(lambda: self.screen.progress(scheduler))

    def say(self, text: str) -> None:
        """A line on stderr."""
        self.try_to(lambda: click.echo(safe(text), err=True))

    def try_to(self, speak: Callable[[], None]) -> None:
        """Say something that may be lost; the first loss is told on stderr."""
        try:
            speak()
        except (OSError, UnicodeError) as error:
            give_up_the_gone()
            if not self._complained:
                self._complained = True
                words = f"the screen cannot be written to ({error}); the tournament goes on"
                with contextlib.suppress(OSError, UnicodeError):
                    click.echo(words, err=True)


def give_up_the_gone(errors: Sequence[int] = GONE) -> None:
    """Send to nowhere what would go to a stream whose reader is gone, so that nothing fails at the very end either."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            if error.errno in errors:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


def fall_silent() -> None:
    """At the end of a run: unsaid words on a full disk must not become its exit code."""
    give_up_the_gone((*GONE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
