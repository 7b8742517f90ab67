"""Forecast of a stored or planned tournament: from its log to JSON, to a table and to lines of text."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from enginetour.model.errors import UsageRefused
from enginetour.model.timecontrol import TimeControl, expected_seconds
from enginetour.reports.sheet import Column, Sheet, format_count, format_duration, percent_format, safe_text

if TYPE_CHECKING:
    from enginetour.formats.base import Counts, Format
    from enginetour.formats.forecast import GameLengths, Prospect
    from enginetour.store.games import TournamentReader

# From a tournament to its forecast.


def estimated_lengths(controls: Mapping[str, Sequence[TimeControl]]) -> GameLengths | None:
    """Estimate how long games take from the time controls of each entrant; None if one of them has no time limit."""
    from enginetour.formats.forecast import GameLengths  # imported here: `status` needs only the texts, not numpy

    means: dict[str, float] = {}
    for name, own in controls.items():
        seconds = expected_seconds(own)
        if seconds is None:
            return None
        means[name] = seconds
    return GameLengths(means, sum(means.values()) / len(means)) if means else None


FEWEST = 20  # simulations; with fewer, a quantile of 10 % has no meaning


def limit_cpu(seconds: float, *, fewest: int = FEWEST, times: int = 3) -> Callable[[int], bool]:
    """Return a function that ends a forecast after `seconds` of processor time and `fewest` simulations.

    After `times` times the time, it ends the forecast in any case.
    """
    begun = time.process_time()

    def going_on(finished: int) -> bool:
        spent = time.process_time() - begun
        return spent < seconds or (finished < fewest and spent < times * seconds)

    return going_on


def prospect_of(log: TournamentReader, slots: int | None = None) -> Prospect:
    """Read everything that the forecast of a stored tournament depends on. Raise UsageRefused if it has ended.

    `slots` is the number of concurrent games, by default that of the configuration.
    """
    from enginetour.store.replay import fold

    format_, state = fold(log)
    if not format_.offers(state):
        what, step = "has ended, so there is nothing to forecast", shlex.join(["enginetour", "standings", log.name])
        raise UsageRefused(what, place=log.title, step=f"see {step}")
    return prospect_at(log, format_, state, slots)


def prospect_at(
    log: TournamentReader, format_: Format[Any], state: Any, slots: int | None = None, counts: Counts | None = None
) -> Prospect:
    """Return `prospect_of` for an event log that was replayed to `state`, in which at least one game remains.

    `counts` are `log.pair_counts()`, which are read if the caller does not have them.
    """
    from enginetour.formats.forecast import Belief, GameLengths, Prospect, prior_ratings  # imported here, as above
    from enginetour.store.games import game_durations

    play, durations = log.config.get("play", {}), game_durations(log)
    odds, is_elo = play.get("odds"), log.config.get("tournament", {}).get("rating_scale") != "go"
    ratings = log.known_ratings if is_elo else {}
    counts = log.pair_counts() if counts is None else counts
    names = list(dict.fromkeys([*(one.name for one in log.entrants), *(one.name for one in format_.standings(state))]))
    return Prospect(
        log.title,
        log.system,
        format_,
        state,
        Belief.of(names, counts, prior_ratings(format_, names, ratings), format_.earlier),
        games_done=sum(number for number, _, _ in durations.values()),
        lengths=GameLengths.of(durations) or estimated_lengths(_controls(log)),
        slots=slots or int(play.get("concurrency", 1)),
        odds=None if odds is None else tuple(odds),
    )


def _controls(log: TournamentReader) -> dict[str, list[TimeControl]]:
    sides: Mapping[str, Any] = log.config.get("sides", {})
    return {
        name: [TimeControl.parse(side["tc"]), TimeControl.parse(side.get("black", side)["tc"])]
        for name, side in sides.items()
    }


# Documents and texts.


_LIKELY = 3  # places that are listed for each entrant
_LEAST = 0.005  # probability; places below it are not listed
_percent = percent_format(0)


def forecast_sheet(found: Mapping[str, Any]) -> Sheet:
    """Return the document of a forecast as a table with a row for each entrant."""
    leaving = found["leaving"]
    columns = (
        Column("name", "engine", left=True, flexible=True),
        Column("wins", "wins", form=_percent),
        Column("range", "places"),
        Column("likely", "most likely places", left=True),
        *([Column("leaves_next", f"{leaving} next", form=_percent)] if leaving else []),
    )
    rows = tuple(
        {
            "name": one["name"],
            "wins": one["wins"],
            "range": _range(one["places"]),
            "likely": _likely(one["places"]),
            **({"leaves_next": one["leaves_next"]} if leaving else {}),
        }
        for one in found["entrants"]
    )
    title = f"forecast · {safe_text(found['tournament'])} · after {format_count(found['games_done'], 'game')}"
    return Sheet(title, columns, rows, notes=tuple(_notes(found)))


def _notes(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"remaining: {_remaining(found)}"
    if verdicts := found["verdicts"]:
        yield f"verdict: {_verdicts(verdicts)}"
    yield (
        f"{found['simulations']} simulations; the ranges contain 80 % of them; engines that share first place share "
        "the win"
    )


def forecast_lines(found: Mapping[str, Any]) -> list[str]:
    """Format the document of a forecast in two lines: what remains, and who wins or what a test decides."""
    done = format_count(found["games_done"], "game")
    lines = [f"forecast after {done}: {_remaining(found)}"]
    if verdicts := found["verdicts"]:
        return [*lines, f"verdict: {_verdicts(verdicts)}"]
    first = sorted(found["entrants"], key=lambda one: -one["wins"])[:_LIKELY]
    wins = ", ".join(f"{one['name']} {_percent(one['wins'])}" for one in first if one["wins"] >= _LEAST)
    parts = [f"wins: {wins}"] if wins else []
    if leaving := found["leaving"]:
        last = max(found["entrants"], key=lambda one: one["leaves_next"])
        if last["leaves_next"] >= _LEAST:
            parts.append(f"{leaving} next: {last['name']} {_percent(last['leaves_next'])}")
    return [*lines, safe_text(" · ".join(parts))] if parts else lines


def _remaining(found: Mapping[str, Any]) -> str:
    games, hours = found["remaining_games"], found["remaining_hours"]
    low, middle, high = (f"{round(games[key]):,}" for key in ("p10", "p50", "p90"))
    text = f"{middle} game{'s' * (middle != '1')}" + (f" ({low} to {high})" if low != high else "")
    if hours is None:
        return text
    low, middle, high = (format_duration(3600 * hours[key]) for key in ("p10", "p50", "p90"))
    return f"{text}, {middle}" + (f" ({low} to {high})" if low != high else "")


def _verdicts(verdicts: Mapping[str, float]) -> str:
    return ", ".join(f"{word} {_percent(share)}" for word, share in verdicts.items())


def _range(places: Mapping[str, float]) -> str:
    """Format the places that are exceeded in 10 and in 90 % of the simulations: ``3-7``."""
    total, ends = sum(places.values()), list[str]()
    for share in (0.1, 0.9):
        below = 0.0
        for place, chance in places.items():
            below += chance
            if below >= share * total - 1e-9:
                ends.append(place)
                break
    return "-".join(dict.fromkeys(ends))


def _likely(places: Mapping[str, float]) -> str:
    found = sorted(places.items(), key=lambda one: (-one[1], int(one[0])))[:_LIKELY]
    return ", ".join(f"{place}: {_percent(chance)}" for place, chance in found if chance >= _LEAST)
