"""What people ask of a run that goes on: more or fewer slots, a pause, an end. The log has nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from enginetour.model.errors import TourError, UsageRefused
from enginetour.tournament.loop import Scheduler
from enginetour.tournament.requests import Machines, Plain, Request, Slots
from enginetour.tournament.surroundings import Cluster


@dataclass
class Helm:
    """Carries out requests of the socket, in the loop's thread: who comes later has his way, and reads what was.

    `refuse` raises TourError for a number of slots that this machine cannot bear, forced or not; `tell` is for the
    screen of the run, `note` for its events where none would tell of an order: slots and pauses have theirs.
    """

    scheduler: Scheduler
    refuse: Callable[[int, bool], None]
    tell: Callable[[str], None]
    note: Callable[[str], None]

    def carry_out(self, request: Request) -> dict[str, Any] | None:
        """The reply, JSON-ready and never an exception; None for a request of another kind."""
        plain = {"pause": self._pause, "unpause": self._unpause, "finish": self._finish}
        try:
            match request:
                case Slots():
                    said: Any = self._slots(request)
                case Machines():
                    said = self._machines(request)
                case Plain(do=do) if do in plain:
                    said = plain[do]()
                case _:
                    return None
        except TourError as error:
            return {"ok": False, "error": str(error), "exit": error.exit_code}
        return {"ok": True, "said": said}

    def _slots(self, request: Slots) -> str:
        self._refuse_stopping()
        wish, now = request.slots, self.scheduler.slots
        if wish == now:
            return f"{_slots(now)}, as before"
        if wish > now:
            self.refuse(wish, request.force)
        self.scheduler.resize(wish)
        self.tell(f"{_slots(wish)} instead of {now}, as asked")
        over = len(self.scheduler.flying) - wish
        return f"{_slots(wish)} instead of {now}" + (f"; {over} more until games end" if over > 0 else "")

    def _pause(self) -> str:
        self._refuse_stopping()
        if self.scheduler.paused:
            return "paused already"
        self.scheduler.paused = True
        for waiting in list(self.scheduler.flying):  # for a seat, where the place has fewer of them than slots
            waiting.cancel()
        self.tell("paused as asked: no game begins until enginetour unpause")
        return f"paused: no game begins, {self._flying()}; enginetour unpause goes on"

    def _unpause(self) -> str:
        self._refuse_stopping()
        if not self.scheduler.paused:
            return "not paused"
        self.scheduler.paused = False
        self.tell("the pause is over, as asked")
        return "the pause is over: games begin again"

    def _finish(self) -> str:
        if not self.scheduler.stopping:
            self.scheduler.stop(now=False)
            self._tell_and_note("stopping as asked: no game begins, those in the air may end")
        return f"stopping: no game begins, {self._flying()}; run goes on later"

    def _machines(self, request: Machines) -> Any:
        """Its rows; where a machine is named it is drained, or used again, before."""
        place = self.scheduler.place
        if not isinstance(place, Cluster):
            raise UsageRefused("this run has one machine", step="run --place has those of a Dask cluster")
        for kind, act, words in (("drain", place.drain, "gets no new games"), ("use", place.use, "gets games again")):
            name = request.drain if kind == "drain" else request.use
            if name is None:
                continue
            if not act(name):
                known = ", ".join(dict.fromkeys(str(row["machine"]) for row in place.rows()))
                raise UsageRefused(f"no machine is called {name!r}", step=f"there are: {known}")
            self._tell_and_note(f"{name} {words}, as asked")
        return place.rows()

    def _tell_and_note(self, text: str) -> None:
        self.tell(text)
        self.note(text)

    def _refuse_stopping(self) -> None:
        if self.scheduler.stopping:
            raise UsageRefused("the run is stopping", step="start it again when it has ended")

    def _flying(self) -> str:
        count = sum(not taken_back.cancelled() for taken_back in self.scheduler.flying)
        return f"{count} in the air may end" if count else "none is in the air"


def _slots(count: int) -> str:
    return f"{count} slot{'s' * (count != 1)}"
