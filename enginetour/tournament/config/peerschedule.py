"""Who meets whom how often, and on which openings: ``-games``, ``-rounds``, ``-repeat``, ``-tournament`` in our words.

theirs                                    ours
-rounds R -games G, two engines           R x G games of a match
-rounds R -games G, more engines          R cycles of G games a pairing
-games above 2 (fastchess)                is taken for -rounds, and the other way round
-repeat N (fastchess)                     -games N
-repeat N (cutechess)                     games on one opening; without it each game has a new one
policy=encounter, policy=round            one opening for all games of a pair, or of a round
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from enginetour.model.errors import InputRefused
from enginetour.tournament.config.peerline import PLACE, Program

_SYSTEMS = {
    "round-robin": "roundrobin",
    "roundrobin": "roundrobin",
    "gauntlet": "gauntlet",
    "pyramid": "roundrobin",
    "knockout": "cup",
}


@dataclass(slots=True)
class Schedule:
    """Of a command for so many `engines`: its `numbers` by option, as given; lines for the user go to `said`."""

    program: Program
    engines: int
    numbers: Mapping[str, str]
    said: list[str]
    rounds: int = 1
    games: int = 1
    repeat: int = 1  # games on one opening

    def __post_init__(self) -> None:
        usual = 2 if self.program == "fastchess" else 1
        self.rounds, self.games = self._number("rounds", usual), self._number("games", usual)
        self.repeat = self._number("repeat", 1)
        if self.program == "fastchess":
            if self.games > 2:
                self._swapped()
            self.repeat = self.games
        for key, count in (("rounds", self.rounds), ("games", self.games), ("repeat", self.repeat)):
            if not count:
                raise InputRefused(f"-{key} is 1 or more, found 0", place=PLACE)

    def _swapped(self) -> None:
        games, rounds = self.rounds, self.games
        if games > 2:
            what = f"fastchess has 1 or 2 -games a round, found -games {self.games} -rounds {self.rounds}"
            raise InputRefused(what, place=PLACE, step="say how many rounds there are by -rounds alone")
        self.said.append(
            f"-games {self.games}: fastchess takes more than 2 for rounds: {rounds}, of -games {games} each"
        )
        self.games, self.rounds = games, rounds

    def _number(self, option: str, default: int) -> int:
        text = self.numbers.get(option, str(default))
        if not text.isdecimal() or len(text) > 9:
            raise InputRefused(f"-{option} takes a whole number, found {text!r}", place=PLACE)
        return int(text)

    def format(self) -> dict[str, Any]:
        """``[format]`` without a test."""
        kind = self.numbers.get("tournament", "round-robin")
        if kind not in _SYSTEMS:
            known = ", ".join(_SYSTEMS)
            raise InputRefused(f"unknown tournament {kind!r}; theirs: {known}", place=f"{PLACE}, -tournament")
        if kind == "knockout":
            return self._cup()
        settings: dict[str, Any]
        if self.engines == 2:
            pairs, total = self.repeat > 1, self.rounds * self.games
            total = self._even(total, "games") if pairs else total
            settings = {"system": "match", "games": total, "games_per_pairing": 2 if pairs else 1}
        else:
            pairing = self.games if self.games == 1 else self._even(self.games, "-games")
            settings = {"system": _SYSTEMS[kind], "cycles": self.rounds, "games_per_pairing": pairing}
        if settings["system"] == "gauntlet":
            settings["seeds"] = max(1, min(self._number("seeds", 1), self.engines - 1))
            if self.program == "fastchess" and settings["seeds"] > 1:
                settings["seeds_meet"] = True
            if self.program == "cutechess-cli" and self.games == 1 and "noswap" not in self.numbers:
                theirs = "cutechess-cli gives a gauntlet's seed one colour for a whole round"
                self.said.append(f"-games 1: {theirs}, here it changes with each opponent")
        elif kind == "pyramid" and self.engines > 2:
            self.said.append("-tournament pyramid: the same pairs as a round robin, in its order")
        if "noswap" in self.numbers:
            settings["swap"] = False
            if settings["system"] == "roundrobin":
                self.said.append("-noswap: who of two has White is as in Berger's tables, not who is given first")
        if "reverse" in self.numbers:
            settings["reverse"] = True
        return settings

    def _cup(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"system": "cup", "games_per_pairing": max(2, self._even(self.games, "-games"))}
        seeds = self._number("seeds", 0)
        if not seeds:
            settings["seeding"] = "lottery"
        elif seeds < self.engines:
            self.said.append(f"-seeds {seeds}: all are seeded here, in the order in which they are given")
        self.said.append("-tournament knockout: enginetour systems cup tells how a level match is decided here")
        for option in ("noswap", "reverse"):
            if option in self.numbers:
                self.said.append(f"-{option}: a cup gives both the same colours, left out")
        return settings

    def openings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """``openings`` with how long one lasts, `given` those of the command; empty without any."""
        suite = dict(given)
        if not suite:
            return suite
        policy = suite.pop("per", "default")
        per_pair, per_round = policy == "encounter", policy == "round" and self.program == "cutechess-cli"
        if self.engines == 2:
            games = self.rounds * self.games if per_pair else self.games if per_round else self.repeat
            if games > 2:
                suite["repeat"] = games
            return suite
        if self.program == "fastchess" and "file" in suite:
            why = "fastchess takes as many from the book as there are rounds, and these again"
            self.said.append(f"-openings: {why}; here each encounter has one of its own")
        suite["per"] = "round" if per_round else "encounter"
        games = self.games + self.games % 2 if self.games > 1 else 1
        repeat = games if per_pair else min(self.repeat, games)
        if not per_round and repeat != min(2, games):  # an encounter has two games here, on one opening
            suite["repeat"] = repeat
        return suite

    def _even(self, games: int, what: str) -> int:
        if games % 2 == 0:
            return games
        self.said.append(f"{what} {games}: an even number gives both the same colours, {games + 1} taken")
        return games + 1
