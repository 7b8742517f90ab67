"""A running tournament; output lines as peers print them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from operator import itemgetter
from pathlib import PurePath
from typing import Any, Protocol

from enginetour.engines.machine import describe_load
from enginetour.model.game import Game, Pairing, StandingsRow, format_fixed
from enginetour.ratings.pentanomial import MatchStatistics, statistics_of
from enginetour.ratings.sequential import OPEN_GAMES, MatchTest
from enginetour.reports import sprt
from enginetour.reports.games import format_endings
from enginetour.reports.pgn import clamp_score, format_score, is_mate_score, move_number
from enginetour.reports.sheet import Column, Sheet, format_duration, format_points, safe_text

# The lines cutechess-cli and fastchess print while they run, so that existing scripts keep working.
#
# Facts of their wording: cutechess-cli 1.5.1 (`enginematch`, `tournament`), fastchess 1.8.2 (its two kinds of output).
# Where they print ``inf`` or ``nan``, the line or the part of it is left out. Figures are ours: strength and error are
# those of the complete pairs where games come in such, as in the line of a test beside them, of single games otherwise.

_RULE = "-" * 50  # around the block of fastchess
_VERDICTS = {"H0": " - H0 was accepted", "H1": " - H1 was accepted", "": ""}

_Results = tuple[int, int, int]  # wins, draws, losses of the first engine


@dataclass(frozen=True, slots=True)
class MatchScore:
    """Two engines so far: the first one's results with White and with Black.

    `pairs` on one opening by the points of the first, worst first, `drawn` of them with two draws; `terms` are the
    words in brackets behind the names: control, threads, hash, suite.
    """

    first: str
    second: str
    white: _Results
    black: _Results
    pairs: tuple[int, ...] | None = None
    drawn: int = 0
    terms: str = ""

    @property
    def results(self) -> _Results:
        """With either colour."""
        wins, draws, losses = (one + other for one, other in zip(self.white, self.black, strict=True))
        return wins, draws, losses

    @property
    def games(self) -> int:
        """All that count."""
        return sum(self.results)

    @property
    def is_paired(self) -> bool:
        """At least half of the games stand in complete pairs, as tests have it; the others are on the way."""
        return self.pairs is not None and 4 * sum(self.pairs) >= self.games > 0


def match_terms(both: Sequence[tuple[Mapping[str, Any], Mapping[str, str]]], suite: str) -> str:
    """``10+0.1, 1t, 16MB, UHO.epd``: control, Threads, Hash and suite of two engines, two where they differ.

    Controls as the store has them: ``tc``, and ``black`` with another one where an engine has it with Black, which
    fastchess has not: ``40/60 White - 10+0.1 Black``. An option that nobody has set is ``NULL``, as fastchess says of
    one that an engine has not.
    """

    def of_both(words: Iterable[str]) -> str:
        return " - ".join(dict.fromkeys(words))

    options = [{name.casefold(): value for name, value in given.items()} for _, given in both]
    control = of_both(_controls(found) for found, _ in both)
    threads = of_both(f"{given['threads']}t" if "threads" in given else "NULL" for given in options)
    size = of_both(f"{given['hash']}MB" if "hash" in given else "NULL" for given in options)
    return ", ".join(word for word in (control, threads, size, PurePath(suite).name) if word)


def _controls(found: Mapping[str, Any]) -> str:
    """Of one engine."""
    white = _control(found.get("tc", ""))
    black = _control(found.get("black", found).get("tc", ""))
    return white if white == black else f"{white} White - {black} Black"


def _control(tc: str) -> str:
    """A control without a clock in their words: ``0.1/move``, ``1000 nodes``, ``8 plies``."""
    kind, _, number = tc.partition("=")
    theirs = {"movetime": f"{number}/move", "nodes": f"{number} nodes", "depth": f"{number} plies"}
    return tc if "," in tc else theirs.get(kind, tc)


def started_line(number: int, total: int | None, white: str, black: str) -> str:
    """``Started game 1 of 20 (A vs B)``; without the 20 where nobody said how many there are."""
    of_all = "" if total is None else f" of {max(number, total)}"
    return safe_text(f"Started game {number}{of_all} ({white} vs {black})")


def finished_line(number: int, game: Game) -> str:
    """``Finished game 5 (A vs B): 1-0 {White mates}``."""
    names = f"{game.pairing.white} vs {game.pairing.black}"
    return safe_text(f"Finished game {number} ({names}): {game.outcome} {{{game.cause}}}")


def score_line(match: MatchScore) -> str:
    """``Score of A vs B: 3 - 1 - 2  [0.667] 6``, from the first one's view; only with a game."""
    return safe_text(f"Score of {match.first} vs {match.second}: {_counts(match.results)}")


def interval_lines(match: MatchScore, test: MatchTest | None = None) -> Iterator[str]:
    """The lines of cutechess-cli, then the block of fastchess; nothing without a game."""
    if not match.games:
        return
    wins, draws, losses = match.results
    found = statistics_of(match.pairs if match.pairs and match.is_paired else (losses, draws, wins))
    for line in (*_as_cutechess(match, found, test), _RULE, *_as_fastchess(match, found, test), _RULE):
        yield safe_text(line)


def ended() -> str:
    """The last line of a match of two that was played to its end."""
    return "Finished match"


def _as_cutechess(match: MatchScore, found: MatchStatistics, test: MatchTest | None) -> Iterator[str]:
    for colour, results in (("White", match.white), ("Black", match.black)):
        if sum(results):
            yield f"...      {match.first} playing {colour}: {_counts(results)}"
    swapped = match.white, match.black[::-1]
    wins, draws, losses = (one + other for one, other in zip(*swapped, strict=True))
    yield f"...      White vs Black: {_counts((wins, draws, losses))}"
    error = _error(found)
    if found.elo is not None and error is not None:
        share = 100 * match.results[1] / match.games
        strength = f"{round(found.elo, 1) or 0.0:.1f} +/- {error:.1f}, LOS: {100 * found.los:.1f} %"
        yield f"Elo difference: {strength}, DrawRatio: {share:.1f} %"
    if test is not None:
        low, high = test.test.bounds
        told = f"SPRT: llr {_short(test.walk.llr)} ({format_fixed(100 * test.walk.llr / high, 1)}%)"
        yield f"{told}, lbound {_short(low)}, ubound {_short(high)}{_VERDICTS[test.walk.verdict]}"


def _as_fastchess(match: MatchScore, found: MatchStatistics, test: MatchTest | None) -> Iterator[str]:
    wins, draws, losses = match.results
    yield f"Results of {match.first} vs {match.second} ({match.terms}):"
    error, nelo, spread = _error(found), found.nelo, found.nelo_error
    if found.elo is not None and error is not None and nelo is not None and spread is not None:
        yield f"Elo: {format_fixed(found.elo, 2)} +/- {error:.2f}, nElo: {format_fixed(nelo, 2)} +/- {spread:.2f}"
    level = match.pairs[2] / sum(match.pairs) if match.pairs and match.is_paired else draws / match.games
    yield f"LOS: {100 * found.los:.2f} %, DrawRatio: {100 * level:.2f} %{_pairs_ratio(match)}"
    points, share = wins + draws / 2, 100 * (wins + draws / 2) / match.games
    yield f"Games: {match.games}, Wins: {wins}, Losses: {losses}, Draws: {draws}, Points: {points:.1f} ({share:.2f} %)"
    if match.pairs and any(match.pairs):
        decided = match.pairs[2] - match.drawn
        ratio = f", WL/DD Ratio: {decided / match.drawn:.2f}" if match.drawn else ""
        yield f"Ptnml(0-2): [{', '.join(map(str, match.pairs))}]{ratio}"
    if test is not None:
        low, high = test.test.bounds
        elos = f"[{test.test.elo0:.2f}, {test.test.elo1:.2f}]"
        llr = test.walk.llr
        share = llr / (high if llr >= 0 else -low)  # of the bound on its side; cutechess-cli takes the upper one always
        yield f"LLR: {format_fixed(llr, 2)} ({format_fixed(100 * share, 1)}%) ({low:.2f}, {high:.2f}) {elos}"


def _counts(results: _Results) -> str:
    """``3 - 1 - 2  [0.667] 6``: wins, losses, draws, share of the points, games."""
    wins, draws, losses = results
    games = sum(results)
    return f"{wins} - {losses} - {draws}  [{(wins + draws / 2) / games:.3f}] {games}"


def _pairs_ratio(match: MatchScore) -> str:
    """Pairs won against pairs lost; nothing without a lost one."""
    worst: Sequence[int] = match.pairs or (0,) * 5
    lost = worst[0] + worst[1]
    return f", PairsRatio: {(worst[3] + worst[4]) / lost:.2f}" if lost else ""


def _short(value: float) -> str:
    return f"{value or 0.0:.3g}"


def _error(found: MatchStatistics) -> float | None:
    if found.error is not None or found.low is None or found.high is None:
        return found.error
    return (found.high - found.low) / 2


# A running tournament as a picture: how far it is, who stands where, what is being played now.

_MAX_SLOTS = 1024  # as in a configuration
_MOST_SHOWN = 60  # rows of a live table: more than any window
# Who is shown when there is no room for all: who plays, who may come back, who has just left.
_INTEREST = {"active": 0, "parked": 1, "final": 2}


class RunView(Protocol):
    """What the picture needs of a running tournament; a `Scheduler` is one."""

    @property
    def state(self) -> Any: ...  # noqa: D102
    @property
    def format(self) -> Any: ...  # noqa: D102
    @property
    def slots(self) -> int: ...  # noqa: D102
    @property
    def paused(self) -> bool: ...  # noqa: D102
    @property
    def stopping(self) -> str: ...  # noqa: D102
    @property
    def flying(self) -> Mapping[Any, tuple[Pairing, float]]: ...  # noqa: D102

    def estimate(self) -> float | None:
        """Seconds to go."""


# What `Progress` works out of the state it looked at, and what of the run besides, each when it is first asked for.
_OF_STATE = ("placed", "test", "stage")
_OF_RUN = ("estimate", "spread")
BUSY_LINGER_S = 60.0  # a warning stays after engines have ceased to wait
BUSY_TIMEOUT_S = 900.0  # a slot that has told of a busy machine and of nothing since plays slowly, or no more


@dataclass
class Progress:
    """Mutable on purpose: one picture that is looked at, never stored.

    A look costs little: most games end without anybody reading the table, and one of 100 takes 6 ms (measured).
    """

    system: str
    name: str
    done: int = 0
    remaining: tuple[int, int] = (0, 0)
    slots: int = 1
    busy: int = 0
    paused: bool = False
    stopping: bool = False
    elo: Mapping[str, tuple[float | None, float | None, float | None]] = field(default_factory=dict)
    incidents: dict[str, int] = field(default_factory=dict)
    endings: Counter[str] = field(default_factory=Counter)  # games that count, by termination
    live: dict[int, dict[str, Any]] = field(default_factory=dict)  # slot -> the game on it
    numbered: int = 0  # the highest number of a game in the log
    warnings: tuple[str, ...] = ()  # of the machine: what may make its clocks doubtful
    crowds: dict[int, tuple[float, Mapping[str, Any]]] = field(default_factory=dict)  # slot -> until when that is told
    stop_at: float | None = None  # UTC seconds from which no game begins, where that was asked for
    _format: Any = None
    _state: Any = None
    _running: RunView | None = None

    @cached_property
    def placed(self) -> tuple[StandingsRow, ...]:
        """Who stands where."""
        return () if self._format is None else tuple(self._format.standings(self._state))

    @cached_property
    def test(self) -> tuple[tuple[str, str], MatchTest] | None:
        """Of a match under one."""
        return None if self._format is None else sprt.current_test(self._format, self._state)

    @cached_property
    def stage(self) -> tuple[int, int] | None:
        """The round now and how many there are, of a tournament in rounds."""
        stage = getattr(self._format, "stage", None)
        return stage(self._state) if stage else None

    @cached_property
    def estimate(self) -> float | None:
        """Seconds to the likely end; None where nobody can tell."""
        return None if self._running is None else self._running.estimate()

    @cached_property
    def spread(self) -> tuple[float, float] | None:
        """Seconds to the end with the fewest and with the most games."""
        if self.estimate is None or self._format is None or is_open_ended(self.done, self.remaining):
            return None
        if not (likely := self._format.likely(self._state)):
            return None
        fewest, most = (self.estimate * count / likely for count in self.remaining)
        return fewest, most

    @property
    def planned(self) -> int | None:
        """All its games at most; None where a test ends it and nobody named a number."""
        return None if is_open_ended(self.done, self.remaining) else self.done + self.remaining[1]

    def stand(self, format_: Any, state: Any) -> None:
        """Look at the state of a tournament, running or not."""
        if format_ is self._format and state is self._state:
            return
        self._format, self._state = format_, state
        self.remaining = format_.remaining(state)
        for name in _OF_STATE:
            self.__dict__.pop(name, None)

    def take(self, running: RunView) -> None:
        """Look at a running tournament."""
        self.stand(running.format, running.state)
        self._running = running
        for name in _OF_RUN:
            self.__dict__.pop(name, None)
        self.slots, self.busy = running.slots, len(running.flying)
        self.paused, self.stopping = running.paused, bool(running.stopping)

    def rate(self) -> None:
        """Bring `elo` up to date; a picture without a log has nothing to rate by."""

    def match(self) -> MatchScore | None:
        """Of a tournament of two: how it stands, without its pairs; None without a game."""

    def paired(self, match: MatchScore) -> MatchScore:
        """The same with its pairs on one opening and its terms; a picture without a log knows none."""
        return match

    def event(self, slot: int, name: str, payload: Any) -> None:
        """A live event of a slot: start, move, end."""
        if name == "start":
            self.live[slot] = {"slot": slot, **payload, "moves": list(payload.get("moves", ()))}
        elif name == "move" and slot in self.live:
            self.live[slot].update(payload)
            self.live[slot]["moves"].append(payload.get("uci"))
        elif name == "end":
            self.live.pop(slot, None)
        elif name == "crowd":
            now = time.monotonic()
            if payload["crowded"]:
                self.crowds[slot] = now + BUSY_TIMEOUT_S, payload
            elif slot in self.crowds:  # a machine that is busy now and then is not told of each time
                self.crowds[slot] = now + BUSY_LINGER_S, self.crowds[slot][1]

    @property
    def banner(self) -> str:
        """What makes the clocks doubtful now: engines that wait for a processor; "" where few do."""
        now = time.monotonic()
        found = [told for until, told in list(self.crowds.values()) if now < until]
        if not found:
            return ""
        worst = max(found, key=itemgetter("load"))
        share = max(float(told["share"]) for told in found)
        load = describe_load(float(worst["load"]), int(worst["processors"]))
        return f"{load}: clocks are unreliable. Engines waited for a processor in {share:.0%} of the last moves"


def headline(picture: Progress) -> str:
    """``bubble · autumn-bubble · 14 engines · 57 of 90-141 games · slot 1/1 · ends Sun 04:10``."""
    parts = [picture.system, safe_text(picture.name), f"{len(picture.placed)} engines"]
    parts += [format_round(picture.stage)] if picture.stage else []
    parts.append(format_games(picture.done, picture.remaining))
    if max(picture.slots, picture.busy) > 1:
        parts.append(f"slots {picture.busy}/{picture.slots}")
    parts += ["stopping"] if picture.stopping else ["paused"] if picture.paused else []
    if picture.estimate is not None and picture.remaining[1]:
        parts.append(f"ends {_clock(picture.estimate)} ({_between(picture)})")
    if picture.stop_at is not None:
        parts.append(f"stops {format_clock(picture.stop_at)}")
    return " · ".join(parts)


def sequential_lines(picture: Progress) -> tuple[str, ...]:
    """Where the test of a match stands, in two lines; none without a test."""
    return sprt.sprt_lines(*picture.test) if picture.test else ()


def format_round(stage: Sequence[int]) -> str:
    """``round 3 of 5``."""
    return f"round {stage[0]} of {stage[1]}"


def format_games(done: int, remaining: tuple[int, int]) -> str:
    """``57 of 90-141 games``; one number when fewest and most are the same, none where nobody knows the most."""
    if is_open_ended(done, remaining):
        return f"{done} game{'s' * (done != 1)}, until it is known"
    fewest, most = (done + count for count in remaining)
    return f"{done} of {fewest if fewest == most else f'{fewest}-{most}'} games"


def is_open_ended(done: int, remaining: Sequence[int]) -> bool:
    """A test ends it, and nobody named a number of games; as many as there are slots may be counted a moment ahead."""
    fewest, most = remaining
    return fewest != most and OPEN_GAMES <= done + most <= OPEN_GAMES + _MAX_SLOTS


def _between(picture: Progress) -> str:
    """When it ends with the fewest and with the most games, where the clock can tell them apart."""
    first, last = (_clock(seconds) for seconds in picture.spread or (0.0, 0.0))
    if first == last or picture.remaining[0] == picture.remaining[1]:
        return f"in {format_duration(picture.estimate or 0.0)}"
    day = _clock(picture.estimate or 0.0)[:4]
    return f"{first.removeprefix(day)}-{last.removeprefix(day)}"


def live_table(picture: Progress, room: int = _MOST_SHOWN) -> Sheet:
    """The live table: score, rating with error, games, incidents; at most `room` lines without the header."""
    columns = (
        Column("rank", "#"),
        Column("name", "engine", left=True, flexible=True),
        Column("score", "score"),
        *([Column("unplayed", "byes")] if any(line.unplayed for line in picture.placed) else []),
        Column("elo", "Elo"),
        Column("plus", "+"),
        Column("minus", "-"),
        Column("status", "", left=True),
        Column("incidents", "inc.", left=True),
    )
    rows = []
    shown = _seen(picture.placed, min(room, _MOST_SHOWN))
    for line in shown:
        rating, plus, minus = picture.elo.get(line.name, (None, None, None))
        wrong = picture.incidents.get(line.name, 0)
        rows.append(
            {
                "rank": line.rank,
                "name": line.name,
                "score": f"{format_points(line.half_points - line.unplayed)}/{line.games}",
                "unplayed": f"+{format_points(line.unplayed)}" if line.unplayed else "",
                "elo": "" if rating is None else str(round(rating)),
                "plus": "" if plus is None else f"+{plus:.0f}",
                "minus": "" if minus is None else f"-{minus:.0f}",
                "status": line.status,
                "incidents": f"{wrong}!" if wrong else "",
            }
        )
    left = len(picture.placed) - len(shown)
    return Sheet("", columns, tuple(rows), notes=(f"… {left} more: enginetour standings",) if left else ())


def _seen(placed: tuple[StandingsRow, ...], room: int) -> list[StandingsRow]:
    """All lines, or the most interesting of them in their order with a line of the room for the others."""
    if len(placed) <= room:
        return list(placed)
    order = sorted(range(len(placed)), key=lambda place: (_INTEREST.get(placed[place].status, 3), place))
    return [placed[place] for place in sorted(order[: max(1, room - 1)])]


def playing_line(picture: Progress) -> str:
    """``now: Phalanx - HoiChess, opening balanced 29, move 34, +0.8`` for each game in the air."""
    return _playing(picture.live.values())


def format_status(found: Mapping[str, Any]) -> str:
    """The JSON of `status` in words: how far it is, and what is in the air."""
    fewest, most = found["remaining"]
    parts = [found["system"], found["tournament"], found["state"]]
    parts += [format_round(found["round"])] if found.get("round") else []
    to_go = f"{fewest if fewest == most else f'{fewest}-{most}'} to go"
    to_go = "until it is known" if is_open_ended(found["games_done"], (fewest, most)) else to_go
    done = found["games_done"]
    parts.append(f"{done} game{'s' * (done != 1)} done, {to_go}")
    parts += [f"{found['slots']} slots"] if found.get("slots", 1) > 1 else []
    if found["eta"] is not None and most:
        first, last = (format_duration(seconds) for seconds in found["eta_range"] or (found["eta"],) * 2)
        parts.append(f"about {format_duration(found['eta'])}" + (f" ({first} to {last})" if first != last else ""))
    if found.get("stop_at"):
        parts.append(f"stops {format_clock(datetime.fromisoformat(found['stop_at']).timestamp())}")
    parts.append(f"{found['incidents']} incident{'s' * (found['incidents'] != 1)}")
    lines = [safe_text(" · ".join(parts)), format_endings(found.get("endings", {}))]
    lines.append(_playing(found["playing"]) if found["playing"] else "")
    lines += [safe_text(f"warning: {words}") for words in found.get("warnings", ())]
    return "\n".join(line for line in lines if line)


def _playing(games: Iterable[Mapping[str, Any]]) -> str:
    parts = []
    for game in games:
        words = f"{game.get('white', '?')} - {game.get('black', '?')}"
        if game.get("opening"):
            words += f", opening {game['opening']}"
        if game.get("ply"):
            words += f", move {move_number(game.get('fen'), int(game['ply']))[0]}"
        if game.get("score") is not None:
            words += f", {_for_white(game)}"
        parts.append(safe_text(words))
    return f"now: {' | '.join(parts)}" if parts else "now: between games"


def _for_white(game: Mapping[str, Any]) -> str:
    """The mover's score as White sees it: ``+0.8``, ``-M5``."""
    _, white = move_number(game.get("fen"), int(game.get("ply", 1)))
    score = int(game["score"]) * (1 if white else -1)
    return format_score(score) if is_mate_score(score) else f"{clamp_score(score) / 100:+.1f}"


def _clock(seconds: float) -> str:
    return format_clock(time.time() + seconds)


def format_clock(at: float) -> str:
    """UTC seconds as the clock on the wall shows them: ``Sun 04:10``."""
    return time.strftime("%a %H:%M", time.localtime(at))
