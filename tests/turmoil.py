"""A run that people steer at random while its slots are killed, and what must hold after it."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from enginetour.engines import strays
from enginetour.model.errors import StoreRefused
from enginetour.store.tournaments import Store
from enginetour.tournament.control import ask, socket_path
from tests.forked import FIELD, Forked, quick
from tests.storing import counts_are_kept
from tests.touring import audit, left_running, pgn_games

SLOTS = 8
ACTS = ("slots", "slots", "slots", "pause", "unpause", "unpause", "status", "void", "withdraw", "kill")


class Turmoil:
    """One tournament in a folder; `steer` as often as you like, then `settle`."""

    def __init__(self, folder: Path, dice: random.Random, cycles: int) -> None:
        (folder / "results").mkdir()
        path = quick(folder, system="roundrobin", settings=f"cycles = {cycles}\ngames_per_pairing = 2")
        self.folder, self.dice = folder, dice
        self.database = folder / "results" / "enginetour.db"
        self.done: Counter[str] = Counter()
        self.stays = [name for name, _ in FIELD]
        self.run = Forked(folder, ["run", str(path), "--slots", str(SLOTS), "--force"], folder / "errors.txt")
        self.said = bytearray(self.run.first_game())
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.run.stdout is not None
        while chunk := self.run.stdout.read(1 << 16):
            self.said += chunk

    def steer(self, act: str) -> None:
        """One thing that somebody does, or the machine."""
        if act == "kill":
            slots = [seen.pid for seen in strays.table() if seen.parent == self.run.pid and seen.state != "Z"]
            if slots:
                with suppress(ProcessLookupError):
                    os.kill(self.dice.choice(slots), signal.SIGKILL)
                self.done[act] += 1
            return
        request: dict[str, Any] = {"do": act} | ({"why": "dice"} if act in ("void", "withdraw") else {})
        if act == "slots":
            request |= {"slots": self.dice.randint(1, SLOTS), "force": True}
        elif act == "void":
            request["game"] = self.dice.randint(1, 1 + self.said.count(b"Finished game"))
        elif act == "withdraw":
            if len(self.stays) < len(FIELD):
                return
            request["engine"] = self.stays.pop(self.dice.randrange(len(self.stays)))
        try:
            answer = ask(socket_path(self.database, "trial"), request, timeout=60.0)
        except StoreRefused:  # it has just ended
            return
        self.done[act] += bool(answer and answer["ok"])
        if answer and act == "status":
            assert len(answer["playing"]) <= SLOTS

    def settle(self) -> int:
        """To the end; the number of games, when nothing was lost, doubled or left behind."""
        self.steer("unpause")
        self.listener.join()
        assert self.run.stdout is not None
        self.run.stdout.close()
        code = self.run.wait(60.0)
        told = self.run.errors.read_text()
        assert code == 0, told
        assert "Traceback" not in told, told
        games = audit(self.folder)
        with Store.open(self.database, create=False) as store:
            log = store.tournament("trial")
            lines = log.games()
            keys = Counter((*sorted((line.white, line.black)), line.meeting, line.leg) for line in lines if line.counts)
            assert set(keys.values()) == {1}
            assert counts_are_kept(log)
        assert pgn_games(self.folder / "results" / "trial.pgn") == keys.total()
        assert left_running(self.folder) == []
        return games
