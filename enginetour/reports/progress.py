"""The state of a running tournament, and the lines of a match in the wording of cutechess-cli and fastchess."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from operator import itemgetter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

from enginetour.engines.machine import describe_load
from enginetour.model.game import Game, Pairing, StandingsRow, Withdrawal, format_fixed
from enginetour.ratings.pentanomial import MatchStatistics, statistics_of
from enginetour.ratings.sequential import MatchTest
from enginetour.reports import sprt
from enginetour.reports.forecast import forecast_lines
from enginetour.reports.games import format_endings
from enginetour.reports.pgn import clamp_score, format_score, is_mate_score, move_number
from enginetour.reports.sheet import (
    Column,
    Sheet,
    format_duration,
    format_points,
    iso_timestamp,
    safe_text,
    shared_columns,
)

if TYPE_CHECKING:
    from enginetour.store.games import TournamentReader

# Lines of a match. Scripts that read the output of cutechess-cli 1.5.1 can read them; ``Ptnml(0-2)`` is the wording of
# fastchess 1.8.2. A part that would be ``inf`` or ``nan`` is left out. Strength and error are computed from complete
# game pairs if the games are played in pairs, as in the line of the test, otherwise from single games.

_Results = tuple[int, int, int]  # wins, draws, losses of the first engine


@dataclass(frozen=True, slots=True)
class MatchScore:
    """The score of two engines: the results of the first one with White and with Black.

    `pairs` counts the game pairs by the points of the first engine, fewest points first; `drawn` of them consist of two
    draws. `terms` are the conditions of the match: time control, threads, hash and opening book.
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
        """Return the results with both colors."""
        wins, draws, losses = (one + other for one, other in zip(self.white, self.black, strict=True))
        return wins, draws, losses

    @property
    def games(self) -> int:
        """Return the number of games that count."""
        return sum(self.results)

    @property
    def is_paired(self) -> bool:
        """Return whether at least half of the games are in complete pairs."""
        return self.pairs is not None and 4 * sum(self.pairs) >= self.games > 0


def match_terms(both: Sequence[tuple[Mapping[str, Any], Mapping[str, str]]], book: str) -> str:
    """Format ``10+0.1, 1t, 16MB, UHO.epd``: time control, Threads, Hash and opening book of two engines.

    A value that differs between the engines is given for both. An option that is not set is left out. Time controls
    have the form of the database: ``tc``, and ``black`` with the time control for Black if it differs.
    """

    def of_both(texts: Iterable[str]) -> str:
        return " - ".join(dict.fromkeys(texts))

    options = [{name.casefold(): value for name, value in given.items()} for _, given in both]
    control = of_both(_controls(found) for found, _ in both)
    threads = of_both(f"{given['threads']}t" for given in options if "threads" in given)
    size = of_both(f"{given['hash']}MB" for given in options if "hash" in given)
    return ", ".join(word for word in (control, threads, size, PurePath(book).name) if word)


def _controls(found: Mapping[str, Any]) -> str:
    white = _control(found.get("tc", ""))
    black = _control(found.get("black", found).get("tc", ""))
    return white if white == black else f"{white} White - {black} Black"


def _control(tc: str) -> str:
    """Format a search limit as cutechess-cli does: ``0.1/move``, ``1000 nodes``, ``8 plies``."""
    kind, _, number = tc.partition("=")
    theirs = {"movetime": f"{number}/move", "nodes": f"{number} nodes", "depth": f"{number} plies"}
    return tc if "," in tc else theirs.get(kind, tc)


def started_line(number: int, total: int | None, white: str, black: str) -> str:
    """Format ``Started game 1 of 20 (A vs B)``, without the total if it is unknown."""
    of_all = "" if total is None else f" of {max(number, total)}"
    return safe_text(f"Started game {number}{of_all} ({white} vs {black})")


def finished_line(number: int, game: Game) -> str:
    """Format ``Finished game 5 (A vs B): 1-0 {White mates}``."""
    names = f"{game.pairing.white} vs {game.pairing.black}"
    return safe_text(f"Finished game {number} ({names}): {game.outcome} {{{game.cause}}}")


def score_line(match: MatchScore) -> str:
    """Format ``Score of A vs B: 3 - 1 - 2  [0.667] 6`` for the first engine. The match must have a game that counts."""
    return safe_text(f"Score of {match.first} vs {match.second}: {_counts(match.results)}")


def interval_lines(match: MatchScore, test: MatchTest | None = None) -> Iterator[str]:
    """Yield lines with the conditions, the score by color, the strength and the test; none before the first game."""
    if not match.games:
        return
    wins, draws, losses = match.results
    found = statistics_of(match.pairs if match.pairs and match.is_paired else (losses, draws, wins))
    yield from map(safe_text, _interval_lines(match, found, test))


def _interval_lines(match: MatchScore, found: MatchStatistics, test: MatchTest | None) -> Iterator[str]:
    if match.terms:
        yield f"Results of {match.first} vs {match.second} ({match.terms}):"
    for color, results in (("White", match.white), ("Black", match.black)):
        if sum(results):
            yield f"...      {match.first} playing {color}: {_counts(results)}"
    swapped = match.white, match.black[::-1]
    wins, draws, losses = (one + other for one, other in zip(*swapped, strict=True))
    yield f"...      White vs Black: {_counts((wins, draws, losses))}"
    if found.elo is not None and (error := _error(found)) is not None:
        share = 100 * match.results[1] / match.games
        strength = f"{round(found.elo, 1) or 0.0:.1f} +/- {error:.1f}, LOS: {100 * found.los:.1f} %"
        yield f"Elo difference: {strength}, DrawRatio: {share:.1f} %"
    if match.pairs and any(match.pairs):
        decided = match.pairs[2] - match.drawn
        ratio = f", WL/DD Ratio: {decided / match.drawn:.2f}" if match.drawn else ""
        yield f"Ptnml(0-2): [{', '.join(map(str, match.pairs))}]{_pairs_ratio(match)}{ratio}{_nelo(found)}"
    elif nelo := _nelo(found):
        yield nelo.removeprefix(", ")
    if test is not None:
        yield sprt.llr_line(test)


def _nelo(found: MatchStatistics) -> str:
    if found.nelo is None or found.nelo_error is None:
        return ""
    return f", nElo: {format_fixed(found.nelo, 2)} +/- {found.nelo_error:.2f}"


def _counts(results: _Results) -> str:
    """Format ``3 - 1 - 2  [0.667] 6``: wins, losses, draws, share of the points, games."""
    wins, draws, losses = results
    games = sum(results)
    return f"{wins} - {losses} - {draws}  [{(wins + draws / 2) / games:.3f}] {games}"


def _pairs_ratio(match: MatchScore) -> str:
    """Format the ratio of won to lost pairs. The text is empty if no pair is lost."""
    worst: Sequence[int] = match.pairs or (0,) * 5
    lost = worst[0] + worst[1]
    return f", PairsRatio: {(worst[3] + worst[4]) / lost:.2f}" if lost else ""


def _error(found: MatchStatistics) -> float | None:
    if found.error is not None or found.low is None or found.high is None:
        return found.error
    return (found.high - found.low) / 2


# The state of a running tournament.

_MOST_SHOWN = 60  # rows of a live table; windows do not have more lines
# If there is not enough room for all entrants, those with a lower value are shown first.
_INTEREST = {"active": 0, "parked": 1, "final": 2}


class RunView(Protocol):
    """The properties of a running tournament that `Progress` reads. `Scheduler` has these properties."""

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
        """Return the estimated number of seconds to the end, or None if it is unknown."""


# Properties of `Progress` that are computed on demand, from the state and from the run.
_OF_STATE = ("placed", "test", "stage", "starts")
_OF_RUN = ("estimate", "spread")
BUSY_LINGER_S = 60.0  # seconds; a warning is shown for this time after engines no longer wait for a processor
BUSY_TIMEOUT_S = 900.0  # seconds; the warning of a slot is removed if the slot sends no events for this time


@dataclass
class Progress:
    """The current state of a tournament, updated in place.

    Standings are computed only when they are read. They take 6 ms for 100 engines (measured), and after most games they
    are not read.
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
    withdrawals: tuple[Withdrawal, ...] = ()
    live: dict[int, dict[str, Any]] = field(default_factory=dict)  # slot -> its game in progress
    numbered: int = 0  # the highest number of a game in the log
    warnings: tuple[str, ...] = ()  # properties of the machine that make its clocks unreliable
    crowds: dict[int, tuple[float, Mapping[str, Any]]] = field(
        default_factory=dict
    )  # slot -> end of its warning, event
    stop_at: float | None = None  # UTC seconds after which no game starts (--stop-at)
    scale: str | None = None  # scale of the entrants' ratings: elo, go, or None if unknown
    forecast: Mapping[str, Any] | None = None  # the newest document of `enginetour forecast`
    _format: Any = None
    _state: Any = None
    _running: RunView | None = None

    @cached_property
    def placed(self) -> tuple[StandingsRow, ...]:
        """Return the standings."""
        return () if self._format is None else tuple(self._format.standings(self._state))

    @cached_property
    def engines(self) -> int:
        """Return the number of engines, for which the standings are computed once and not in each state."""
        return len(self.placed)

    @cached_property
    def test(self) -> tuple[tuple[str, str], MatchTest] | None:
        """Return the engines and the sequential test of a match, or None if there is no test."""
        return None if self._format is None else sprt.current_test(self._format, self._state)

    @cached_property
    def stage(self) -> tuple[int, int] | None:
        """Return the current round and the number of rounds, or None for a format without rounds."""
        stage = getattr(self._format, "stage", None)
        return stage(self._state) if stage else None

    @cached_property
    def starts(self) -> dict[str, Any] | None:
        """Return the starting groups and the pairs of round 1, or None after round 1 or without rounds."""
        if self.stage is None or self.stage[0] != 1:
            return None
        from enginetour.reports.starts import starts_json  # imported here: later rounds do not need it

        return starts_json(self._format, self._state, self.scale)

    @cached_property
    def estimate(self) -> float | None:
        """Return the estimated number of seconds to the end, or None if it is unknown."""
        return None if self._running is None else self._running.estimate()

    @cached_property
    def spread(self) -> tuple[float, float] | None:
        """Return the estimated seconds to the end for the fewest and for the most games, or None if unknown."""
        if self.estimate is None or self._format is None or sprt.is_open_ended(self.done, self.remaining):
            return None
        if not (likely := self._format.likely(self._state)):
            return None
        fewest, most = (self.estimate * count / likely for count in self.remaining)
        return fewest, most

    @property
    def planned(self) -> int | None:
        """Return the maximum number of games, or None for a test without a game limit."""
        return None if sprt.is_open_ended(self.done, self.remaining) else self.done + self.remaining[1]

    def recount(self) -> None:
        """Count the engines again, because a change of the tournament may have added some."""
        self.__dict__.pop("engines", None)

    def stand(self, format_: Any, state: Any) -> None:
        """Set the format and the state of a tournament, which may be running or not.

        If engines were added, `recount` must follow.
        """
        if format_ is self._format and state is self._state:
            return
        self._format, self._state = format_, state
        self.remaining = format_.remaining(state)
        for name in _OF_STATE:
            self.__dict__.pop(name, None)

    def take(self, running: RunView) -> None:
        """Read the state of a running tournament."""
        self.stand(running.format, running.state)
        self._running = running
        for name in _OF_RUN:
            self.__dict__.pop(name, None)
        self.slots, self.busy = running.slots, len(running.flying)
        self.paused, self.stopping = running.paused, bool(running.stopping)

    def rate(self) -> None:
        """Update `elo`. This class does nothing, because it does not have an event log with results."""

    def match(self) -> MatchScore | None:
        """Return the score of a tournament of two engines without its game pairs, or None before the first game.

        This class has no event log, so it always returns None.
        """

    def paired(self, match: MatchScore) -> MatchScore:
        """Return the score with its game pairs and conditions.

        This class has no event log, so it returns the score unchanged.
        """
        return match

    def event(self, slot: int, name: str, payload: Any) -> None:
        """Update the games in progress from an event of a slot. Its `name` is start, moves, end or crowd."""
        if name == "start":
            self.live[slot] = {"slot": slot, **payload, "moves": list(payload.get("moves", ()))}
        elif name == "moves" and slot in self.live:
            self.live[slot].update(payload[-1])
            self.live[slot]["moves"] += [move.get("uci") for move in payload]
        elif name == "end":
            self.live.pop(slot, None)
        elif name == "crowd":
            now = time.monotonic()
            if payload["crowded"]:
                self.crowds[slot] = now + BUSY_TIMEOUT_S, payload
            elif slot in self.crowds:  # the warning stays for some time, so that it does not flicker
                self.crowds[slot] = now + BUSY_LINGER_S, self.crowds[slot][1]

    @property
    def banner(self) -> str:
        """Return a warning if engines wait for a processor; otherwise an empty text."""
        now = time.monotonic()
        found = [crowd for until, crowd in list(self.crowds.values()) if now < until]
        if not found:
            return ""
        worst = max(found, key=itemgetter("load"))
        share = max(float(crowd["share"]) for crowd in found)
        load = describe_load(float(worst["load"]), int(worst["processors"]))
        return f"{load}: clocks are unreliable. Engines waited for a processor in {share:.0%} of the last moves"


def headline(picture: Progress) -> str:
    """Format ``bubble · autumn-bubble · 14 engines · 57 of 90-141 games · ends Sun 04:10 (in 60 min)``."""
    parts = [picture.system, safe_text(picture.name), f"{picture.engines} engines"]
    parts += [format_round(picture.stage)] if picture.stage else []
    parts.append(format_games(picture.done, picture.remaining))
    if max(picture.slots, picture.busy) > 1:
        parts.append(f"concurrency {picture.busy}/{picture.slots}")
    parts += ["stopping"] if picture.stopping else ["paused"] if picture.paused else []
    if picture.estimate is not None and picture.remaining[1]:
        parts.append(f"ends {_clock(picture.estimate)} ({_between(picture)})")
    if picture.stop_at is not None:
        parts.append(f"stops {format_clock(picture.stop_at)}")
    return " · ".join(parts)


def sequential_lines(picture: Progress) -> tuple[str, ...]:
    """Return the two lines of the sequential test of a match, or no lines if there is no test."""
    return sprt.sprt_lines(*picture.test) if picture.test else ()


def format_round(stage: Sequence[int]) -> str:
    """Format ``round 3 of 5``."""
    return f"round {stage[0]} of {stage[1]}"


def format_games(done: int, remaining: tuple[int, int]) -> str:
    """Format ``57 of 90-141 games``, with one number if the fewest and the most games are equal."""
    if sprt.is_open_ended(done, remaining):
        return f"{done} game{'s' * (done != 1)}, no game limit"
    fewest, most = (done + count for count in remaining)
    return f"{done} of {fewest if fewest == most else f'{fewest}-{most}'} games"


def _between(picture: Progress) -> str:
    """Format the earliest and the latest end, or the time to the end if they are equal."""
    first, last = (_clock(seconds) for seconds in picture.spread or (0.0, 0.0))
    if first == last or picture.remaining[0] == picture.remaining[1]:
        return f"in {format_duration(picture.estimate or 0.0)}"
    day = _clock(picture.estimate or 0.0)[:4]
    return f"{first.removeprefix(day)}-{last.removeprefix(day)}"


def live_table(picture: Progress, room: int = _MOST_SHOWN) -> Sheet:
    """Return the live table with at most `room` rows: score, rating with error, status and incidents."""
    columns = (
        *shared_columns("rank", "name"),
        Column("score", "score"),
        *([Column("unplayed", "byes")] if any(line.unplayed for line in picture.placed) else []),
        Column("elo", "Elo"),
        *shared_columns("plus", "minus"),
        Column("status", "", left=True),
        Column("incidents", "inc.", left=True),
    )
    rows = []
    shown = _seen(picture.placed, min(room, _MOST_SHOWN))
    for line in shown:
        rating, plus, minus = picture.elo.get(line.name, (None, None, None))
        incidents = picture.incidents.get(line.name, 0)
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
                "incidents": f"{incidents}!" if incidents else "",
            }
        )
    left = len(picture.placed) - len(shown)
    return Sheet(
        "", columns, tuple(rows), notes=(f"… {left} more (to list all: enginetour standings)",) if left else ()
    )


def _seen(placed: tuple[StandingsRow, ...], room: int) -> list[StandingsRow]:
    """Return all lines if they fit, otherwise the most interesting ones in table order.

    In the second case, one row is left for a note on the other lines.
    """
    if len(placed) <= room:
        return list(placed)
    order = sorted(range(len(placed)), key=lambda place: (_INTEREST.get(placed[place].status, 3), place))
    return [placed[place] for place in sorted(order[: max(1, room - 1)])]


def format_status(found: Mapping[str, Any]) -> str:
    """Format the JSON of `status` as text: progress, endings, games in progress and warnings."""
    fewest, most = found["remaining"]
    parts = [found["system"], found["tournament"], format_state(found)]
    parts += [format_round(found["round"])] if found.get("round") else []
    left = f"{fewest if fewest == most else f'{fewest}-{most}'} remaining"
    left = "no game limit" if sprt.is_open_ended(found["games_done"], (fewest, most)) else left
    done = found["games_done"]
    parts.append(f"{done} game{'s' * (done != 1)} done, {left}")
    parts += [f"concurrency {found['slots']}"] if found.get("slots", 1) > 1 else []
    if found["eta"] is not None and most:
        first, last = (format_duration(seconds) for seconds in found["eta_range"] or (found["eta"],) * 2)
        parts.append(f"about {format_duration(found['eta'])}" + (f" ({first} to {last})" if first != last else ""))
    if found.get("stop_at"):
        parts.append(f"stops {format_clock(datetime.fromisoformat(found['stop_at']).timestamp())}")
    parts.append(f"{found['incidents']} incident{'s' * (found['incidents'] != 1)}")
    lines = [safe_text(" · ".join(parts)), format_endings(found.get("endings", {}))]
    lines.append(playing_line(found["playing"]) if found["playing"] else "")
    if (starts := found.get("starts")) is not None:
        from enginetour.reports.starts import starts_lines

        lines += map(safe_text, starts_lines(starts))
    lines += forecast_lines(found["forecast"]) if "forecast" in found else []
    lines += [safe_text(Withdrawal(**one).note) for one in found.get("withdrawals", ())]
    lines += [safe_text(f"warning: {text}") for text in found.get("warnings", ())]
    return "\n".join(line for line in lines if line)


def format_state(found: Mapping[str, Any]) -> str:
    """Format the state in the JSON of `status`: ``running``, ``finished without a verdict``."""
    undecided = found["state"] == "finished" and "sprt" in found and not found["sprt"]["verdict"]
    return f"{found['state']}{' without a verdict' * undecided}"


def playing_line(games: Iterable[Mapping[str, Any]]) -> str:
    """Format ``now: Phalanx - HoiChess, opening balanced 29, move 34, +0.8``, for all games in progress."""
    parts = []
    for game in games:
        text = f"{game.get('white', '?')} - {game.get('black', '?')}"
        if game.get("opening"):
            text += f", opening {game['opening']}"
        if game.get("ply"):
            text += f", move {move_number(game.get('fen'), int(game['ply']))[0]}"
        if game.get("score") is not None:
            text += f", {_for_white(game)}"
        parts.append(safe_text(text))
    return f"now: {' | '.join(parts)}" if parts else "now: no game in progress"


def _for_white(game: Mapping[str, Any]) -> str:
    """Format the mover's score from White's side: ``+0.8``, ``-M5``."""
    _, white = move_number(game.get("fen"), int(game.get("ply", 1)))
    score = int(game["score"]) * (1 if white else -1)
    return format_score(score) if is_mate_score(score) else f"{clamp_score(score) / 100:+.1f}"


def _clock(seconds: float) -> str:
    return format_clock(time.time() + seconds)


def format_clock(at: float) -> str:
    """Format UTC seconds as local time: ``Sun 04:10``."""
    return time.strftime("%a %H:%M", time.localtime(at))


def recorded_progress(log: TournamentReader, format_: Any, state: Any) -> Progress:
    """Return the progress of a tournament that is not running. `state` is its state after all events of the log."""
    from enginetour.store.games import incident_counts  # imported here: a slot's progress needs no store

    scale = log.config.get("tournament", {}).get("rating_scale")
    picture = Progress(system=log.system, name=log.title, scale=scale)
    picture.stand(format_, state)
    picture.endings = log.endings()
    picture.done = picture.endings.total()
    picture.incidents = dict(incident_counts(log))
    picture.withdrawals = log.withdrawals()
    return picture


def status_json(picture: Progress, state: str) -> dict[str, Any]:
    """Return the JSON of `enginetour status`."""
    return {
        "tournament": picture.name,
        "system": picture.system,
        "state": state,
        "games_done": picture.done,
        "remaining": list(picture.remaining),
        "open_ended": picture.planned is None,
        **({"round": list(picture.stage)} if picture.stage else {}),
        "eta": picture.estimate,
        "eta_range": list(picture.spread) if picture.spread else None,
        "playing": list(picture.live.values()),
        "incidents": sum(picture.incidents.values()),
        "endings": dict(picture.endings),
        **({"withdrawals": [asdict(one) for one in picture.withdrawals]} if picture.withdrawals else {}),
        "warnings": [*filter(None, [picture.banner]), *picture.warnings, *(picture.starts or {}).get("warnings", ())],
        **({"stop_at": iso_timestamp(picture.stop_at)} if picture.stop_at is not None else {}),
        **({"starts": picture.starts} if picture.starts else {}),
        **({"sprt": sprt.sprt_json(*picture.test)} if picture.test else {}),
        **({"forecast": dict(picture.forecast)} if picture.forecast and picture.remaining[1] else {}),
    }
