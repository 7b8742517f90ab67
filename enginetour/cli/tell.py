"""What a tournament is told as, at the end of a run and afterwards: its story, its crosstable, how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from enginetour.cli.common import width
from enginetour.formats.pairing.standings import Scored, cross, table
from enginetour.formats.pairing.standings import crosstable as standings_crosstable
from enginetour.model.errors import UsageRefused
from enginetour.model.game import GameFinished, GameKey, GameVoided, Note, Placed
from enginetour.reports import ladder, sprt, standings
from enginetour.reports.sheet import render
from enginetour.store.replay import fold, format_of

if TYPE_CHECKING:
    from enginetour.reports.progress import Progress
    from enginetour.reports.sheet import Sheet
    from enginetour.store.log import TournamentLog


def story(log: TournamentLog, *, most: int | None = None) -> str:
    """The ladder of a bubble (its last `most` round robins, or all), the table of everything else."""
    format_, state = fold(log)
    placed = format_.standings(state)
    if log.system != "bubble":
        told = render(standings.standings(f"standings · {log.title}", placed, log.odds_by_entrant()), width())
        if found := sprt.under_test(format_, state):
            told += "\n" + render(sprt.story(f"test · {log.title}", *found), width())
        return told
    from enginetour.reports.review.tournament import rating_order  # here: a table does without what ratings need

    return ladder.text(f"ladder · {log.title}", format_.notes(state), placed, rating_order(log, placed), most=most)


def round_robin(log: TournamentLog, number: int) -> tuple[dict[str, Any], Sheet, tuple[Placed, ...]]:
    """Round robin `number` of a bubble as its decision left it, or as it stands: its story, crosstable, ranking."""
    format_, games = format_of(log), dict[GameKey, Scored]()
    state = format_.start(log.entrants)
    for event in log.events():
        if (found := _told(format_.notes(state), number)) and found["decision"]:
            break
        state = format_.step(state, event)
        if isinstance(event, GameFinished):
            games[event.pairing.key] = Scored(event.pairing.white, event.pairing.black, event.outcome)
        elif isinstance(event, GameVoided) and event.pairing.key in {p.key for p in format_.offers(state)}:
            games.pop(event.pairing.key, None)  # what was struck out later had decided by then, and stays
    step = _told(format_.notes(state), number)
    if step is None:
        last = ladder.steps(format_.notes(state))[-1]["step"]
        raise UsageRefused(f"there is no round robin {number} in {log.title}, the last is {last}", step="--step")
    placed = format_.standings(state)
    active = [line.name for line in placed if line.status == "active"]
    lines = _members(step) if step["decision"] else table(active, cross(games.values()), ("SB",))
    names = [line.name for line in lines]
    cells = _cells(names, games.values())
    step["table"] = [
        {
            "engine": line.name,
            "points": line.half_points / 2,
            "sonneborn_berger": standings.tiebreaks(line)["SB"],
            "against": _against(line.name, names, cells),
        }
        for line in lines
    ]
    step["parked"] = [line.name for line in reversed(placed) if line.status == "parked"]
    step["ranking"] = [{"rank": line.rank, "name": line.name, "status": line.status} for line in placed]
    return step, standings.crosstable(f"round robin {number}", names, cells, lines, ("SB",)), placed


def _told(notes: Sequence[Note], number: int) -> dict[str, Any] | None:
    return next((step for step in ladder.steps(notes) if step["step"] == number), None)


def _members(step: dict[str, Any]) -> tuple[Placed, ...]:
    """The lines of the table by which it was decided."""
    return tuple(
        Placed(rank, row["engine"], round(row["points"] * 2), 0, "", (("SB", round(row["sonneborn_berger"] * 4)),))
        for rank, row in enumerate(step["table"], 1)
    )


def _cells(names: Sequence[str], games: Iterable[Scored]) -> dict[tuple[str, str], str]:
    """Row and column to ``1=0``, for those who met."""
    rows = standings_crosstable(names, games)
    met = ((row.name, name, cell) for row in rows for name, cell in zip(names, row.cells, strict=True))
    return {(one, other): cell.text for one, other, cell in met if cell and cell.text}


def _against(one: str, names: Sequence[str], cells: Mapping[tuple[str, str], str]) -> dict[str, str]:
    return {other: cells[one, other] for other in names if (one, other) in cells}


def crosstable(log: TournamentLog) -> tuple[Sheet, dict[str, Any]]:
    """Everybody against everybody, in the order of the table; the JSON names the opponents."""
    format_, state = fold(log)
    placed = format_.standings(state)
    names = [line.name for line in placed]
    games = [Scored(game.white, game.black, game.outcome) for game in log.games(counting=True)]
    cells = _cells(names, games)
    rows = [
        {"rank": n, "name": line.name, "points": line.half_points / 2, "against": _against(line.name, names, cells)}
        for n, line in enumerate(placed, 1)
    ]
    sums = {row.name: row.half_points for row in standings_crosstable(names, games)}
    notes = standings.apart(placed, sums, by_match=log.config.get("format", {}).get("scoring") == "match")
    return standings.crosstable(f"crosstable · {log.title}", names, cells, placed, notes=notes), {"table": rows}


def status(picture: Progress, state: str) -> dict[str, Any]:
    """The JSON of `status`."""
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
        "warnings": [*filter(None, [picture.banner]), *picture.warnings],
        **({"stop_at": standings.moment(picture.stop_at)} if picture.stop_at is not None else {}),
        **({"sprt": sprt.status(*picture.test)} if picture.test else {}),
    }
