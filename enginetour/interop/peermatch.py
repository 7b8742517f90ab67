"""A command of cutechess-cli or fastchess as a configuration of ours; what cannot be taken over is said by name.

theirs                                    ours
-rounds R -games G, two engines           R x G games of a match
-rounds R -games G, more engines          R cycles of G games a pairing
-repeat                                   games_per_pairing = 2; without it (cutechess) one opening a game
-sprt without model                       normalized (fastchess), logistic (cutechess)
-openings without order                   sequential
no timemargin=                            margin_ms = 0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from enginetour.draft import Draft, read_value, told_apart
from enginetour.errors import InputRefused
from enginetour.interop.peerengine import PeerEngine
from enginetour.interop.peerline import PLACE, Given, Program, cut
from enginetour.interop.peeroutput import log, pgn_comments
from enginetour.interop.peerrest import ELSEWHERE, SHOWN, VARIANTS, openings, tablebases

LONGEST_NAME = 64  # characters of [tournament] name
_SYSTEMS = {
    "round-robin": "roundrobin",
    "roundrobin": "roundrobin",
    "gauntlet": "gauntlet",
    "pyramid": "roundrobin",
    "knockout": "cup",
}


@dataclass(slots=True)
class _Reading:
    """What was understood so far."""

    program: Program
    engines: list[PeerEngine] = field(default_factory=list)
    each: list[str] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)  # -games, -rounds, ... as given
    tournament: dict[str, Any] = field(default_factory=dict)
    format: dict[str, Any] = field(default_factory=dict)
    play: dict[str, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def number(self, option: str, default: int) -> int:
        """A whole number; InputRefused for anything else."""
        text = self.numbers.get(option, str(default))
        if not text.isdecimal() or len(text) > 9:
            raise InputRefused(f"-{option} takes a whole number, found {text!r}", place=PLACE)
        return int(text)


def translated(text: str, name: str, find_id: Callable[[str], str | None]) -> tuple[Draft, tuple[str, ...]]:
    """The configuration, and what was left out or is other than there, a line each.

    `name` is the tournament's without ``-event``; `find_id` gives our engine file of a name in their list.
    """
    program, options = cut(text)
    reading = _Reading(program)
    for given in options:
        _take(reading, given)
    for engine in reading.engines:
        engine.take(reading.each)
    if len(reading.engines) < 2:
        unsaid = f" ({reading.said[0]})" if reading.said else ""
        what = f"{len(reading.engines) or 'no'} engine, a match needs two{unsaid}"
        raise InputRefused(what, place=PLACE, step="give -engine twice")
    _format(reading)
    entrants = _entrants(reading, find_id)
    if "openings" not in reading.play:
        reading.said.append("without -openings they begin at the starting position; here the shipped suite is used")
    said = list(dict.fromkeys(reading.said))
    for engine in reading.engines:
        said += [line for line in engine.said if line not in said]
    tournament = {"name": name, "seed": 1, **reading.tournament}
    remarks = (f"from a command of {program}", *said)
    return Draft(tournament, reading.format, entrants, reading.play, remarks), tuple(said)


def _take(reading: _Reading, given: Given) -> None:
    """One option of either program; those that are spelt alike mean the same in both."""
    option, play = given.option, reading.play
    words = " ".join((f"-{option}", *given.words))
    if option == "engine":
        engine = PeerEngine(reading.program)
        engine.take(given.words)
        reading.engines.append(engine)
    elif option == "each":
        reading.each += given.words
    elif option in ("games", "rounds", "repeat", "seeds", "tbpieces"):
        reading.numbers[option] = given.first or "2"
    elif option in ("noswap", "reverse", "tbignore50", "tournament", "tb", "tbadjudicate"):
        reading.numbers[option] = given.first or "true"
    elif option == "openings":
        play["openings"] = openings(given, reading.said)
    elif option in ("draw", "resign"):
        play[option] = _rule(option, given, reading.said)
    elif option == "sprt":
        model = "normalized" if reading.program == "fastchess" else "logistic"
        numbers = {key: _number("sprt", key, value) for key, value in given.values().items() if key != "model"}
        reading.format["sprt"] = {**numbers, "model": given.values().get("model", model)}
    elif option == "maxmoves":
        if given.first != "0":
            play["max_moves"] = read_value(given.first)
    elif option == "concurrency":
        play["slots"] = read_value(given.first)
    elif option == "use-affinity":
        play["affinity"] = True
        if given.first:
            reading.said.append(
                f"{words}: cores are chosen here; taskset -c {given.first} enginetour run FILE limits them"
            )
    elif option == "srand":
        reading.tournament["seed"] = int(given.first) % 2**63 if given.first.isdecimal() else 1
    elif option == "event":
        reading.tournament["name"] = " ".join(given.words)[:LONGEST_NAME]
    elif option == "variant":
        if given.first != "standard":
            play["variant"] = VARIANTS.get(given.first, given.first)
    elif option in ("startup-ms", "ping-ms", "ucinewgame-ms"):
        quirk = "handshake_timeout" if option == "startup-ms" else "ready_timeout"
        reading.said.append(f"-{option} {given.first}: set {quirk} under quirks of an entrant, in seconds")
    elif option == "quick":
        _quick(reading, given)
    elif option == "pgnout":
        pgn_comments(given, reading.program, play, reading.said)
    elif option == "log":
        log(given, play, reading.said)
    elif option in ELSEWHERE:
        reading.said.append(f"{words}: {ELSEWHERE[option]}")
    elif option in SHOWN:
        reading.said.append(f"{words}: it shows something and ends, left out")
    else:
        reading.said.append(f"{words}: no option of {reading.program} that is known here, left out")


def _rule(option: str, given: Given, said: list[str]) -> dict[str, Any]:
    """``-draw`` or ``-resign`` as our setting; their defaults where a word is missing."""
    values = given.values()
    known = ("movenumber", "movecount", "score") if option == "draw" else ("movecount", "score", "twosided")
    said += [f"-{option} {key}={values[key]}: not known here, left out" for key in values if key not in known]
    if option == "draw":
        named = {"after_move": ("movenumber", "0"), "moves": ("movecount", "1"), "score": ("score", "0")}
    else:
        named = {"moves": ("movecount", "1"), "score": ("score", "0")}
    rule: dict[str, Any] = {
        ours: int(_number(option, key, values.get(key, usual))) for ours, (key, usual) in named.items()
    }
    if option == "resign":
        rule["two_sided"] = values.get("twosided", "false") == "true"
    return rule


def _number(option: str, key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputRefused(f"{key} is a number, found {text!r}", place=f"{PLACE}, -{option}") from None


def _quick(reading: _Reading, given: Given) -> None:
    """The short form of fastchess: 25 000 pairs at 10+0.1 from a book, draws adjudicated."""
    for word in given.words:
        key, _, value = word.partition("=")
        if key == "cmd":
            engine = PeerEngine(reading.program)
            engine.take([word, "tc=10+0.1"])
            reading.engines.append(engine)
        elif key == "book":
            reading.play["openings"] = {"file": value, "order": "random"}
        else:
            reading.said.append(f"-quick {word}: not known here, left out")
    reading.numbers |= {"games": "2", "rounds": "25000"}
    reading.play["draw"] = {"after_move": 30, "moves": 8, "score": 8}


def _format(reading: _Reading) -> None:
    """Who meets whom, and how often."""
    peer = reading.program == "fastchess"
    rounds = reading.number("rounds", 2 if peer else 1)
    games = reading.number("games", 2 if peer else 1)
    repeat = reading.number("repeat", games if peer else 1)
    if peer and "repeat" in reading.numbers:
        games = repeat
    kind = reading.numbers.get("tournament", "round-robin")
    if kind not in _SYSTEMS:
        known = ", ".join(_SYSTEMS)
        raise InputRefused(f"unknown tournament {kind!r}; theirs: {known}", place=f"{PLACE}, -tournament")
    legs = 2 if repeat > 1 else 1
    settings: dict[str, Any]
    if len(reading.engines) == 2 and kind != "knockout":
        total = _even(reading, rounds * games, "games")
        settings = {"system": "match", "games": total, "games_per_pairing": legs}
    elif kind == "knockout":
        settings = {"system": "cup", "games_per_pairing": max(2, _even(reading, games, "-games"))}
    else:
        pairing = games if games == 1 else _even(reading, games, "-games")
        settings = {"system": _SYSTEMS[kind], "cycles": rounds, "games_per_pairing": pairing}
        if kind == "gauntlet":
            settings["seeds"] = reading.number("seeds", 1)
        if kind == "pyramid":
            reading.said.append("-tournament pyramid: the same pairs as a round robin, in its order")
    sprt = reading.format.pop("sprt", None)
    if sprt is not None and settings["system"] == "match":
        settings["sprt"] = sprt
    elif sprt is not None:
        reading.said.append("-sprt: a test is between two engines, left out")
    reading.format = settings
    _opening_policy(reading, repeat, many=settings["system"] != "match")
    if "tb" in reading.numbers:
        reading.play["tablebases"] = tablebases(reading.numbers, reading.said)


def _opening_policy(reading: _Reading, repeat: int, *, many: bool) -> None:
    """How long an opening lasts; fresh ones for every encounter, as there, in larger fields."""
    suite = dict(reading.play.get("openings", {}))
    if suite and many:
        suite.setdefault("per", "encounter")
    if suite and repeat > 2:
        suite["repeat"] = repeat
    for option, key, value in (("noswap", "swap", False), ("reverse", "reverse", True)):
        if option in reading.numbers and reading.format["system"] == "cup":
            reading.said.append(f"-{option}: a cup gives both the same colours, left out")
        elif option in reading.numbers:
            reading.format[key] = value
    if suite:
        reading.play["openings"] = suite


def _even(reading: _Reading, games: int, what: str) -> int:
    if games % 2 == 0 and games:
        return games
    reading.said.append(f"{what} {games}: an even number gives both the same colours, {games + 1} taken")
    return games + 1


def _entrants(reading: _Reading, find_id: Callable[[str], str | None]) -> tuple[Mapping[str, Any], ...]:
    """The engines in their order; what all share goes to [play]."""
    engines = reading.engines
    names = told_apart([engine.name or f"engine {n}" for n, engine in enumerate(engines, 1)])
    entrants = [engine.entrant(name, find_id) for engine, name in zip(engines, names, strict=True)]
    shared: dict[str, list[Any]] = {
        "tc": [engine.control() for engine in engines],
        "margin_ms": [_margin(engine) for engine in engines],
    }
    for key, values in shared.items():
        if all(value == values[0] for value in values):
            reading.play[key] = values[0]
            continue
        for entrant, value in zip(entrants, values, strict=True):
            entrant[key] = value
    return tuple(entrants)


def _margin(engine: PeerEngine) -> int:
    return int(_number("engine", "timemargin", engine.given.get("timemargin", "0")))
