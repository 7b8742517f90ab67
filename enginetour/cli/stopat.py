"""`run --stop-at`: a time of the local clock after which no game begins."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from enginetour.model.errors import UsageRefused
from enginetour.reports.progress import clock_words
from enginetour.tournament.scheduler import Scheduler, Watcher


def stop_time(words: str, now: datetime | None = None) -> float:
    """UTC seconds of the next HH:MM, or of an ISO time (local unless it says otherwise); UsageRefused if it is past."""
    now = datetime.now().astimezone() if now is None else now
    daily = re.fullmatch(r"\d{1,2}:\d\d", words)
    try:
        if ":" not in words:
            raise ValueError
        then = datetime.fromisoformat(f"{now:%Y-%m-%d}T{words:0>5}" if daily else words)
    except ValueError:
        what = f"takes HH:MM or an ISO time such as 2026-11-22T07:00, found {words!r}"
        raise UsageRefused(what, place="--stop-at") from None
    if daily and then <= now.replace(tzinfo=None):
        then += timedelta(days=1)  # without a zone it is a time on the wall, however long that night is
    if then.timestamp() <= now.timestamp():
        then = then.replace(fold=1)  # the hour that the wall shows twice in autumn: its second time is to come
    if then.timestamp() <= now.timestamp():
        raise UsageRefused(f"{words} is past", place="--stop-at", step="name a time to come")
    return then.timestamp()


class StopAt(Watcher):
    """Looks at the wall clock after every change and once a second: a sleep of the machine does not put it off."""

    def __init__(self, at: float, screen: Watcher, clock: Callable[[], float] = time.time) -> None:
        self.at = at
        self.screen = screen
        self.clock = clock

    def turn(self, scheduler: Scheduler) -> None:
        """Once it is time no game begins any more; those in the air end as they do."""
        if self.clock() >= self.at and not scheduler.stopping:
            scheduler.stop(now=False)
            self.screen.trouble(f"{clock_words(self.at)} as asked: no new games, those in the air may end")
