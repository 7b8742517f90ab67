"""`run --place`: the machines of a cluster are looked over before the first game, and told as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.reports.sheet import counted

if TYPE_CHECKING:
    from enginetour.tournament.cluster.place import DaskPlace
    from enginetour.tournament.plan import Plan


@contextmanager
def machines_of(
    place: str | None, plan: Plan, slots: int, *, force: bool, heed: Callable[[], None], tell: Callable[[str], None]
) -> Iterator[DaskPlace | None]:
    """The cluster named by ``dask=ADDRESS``, looked over; None without a name, where this machine is the place.

    UsageRefused where there is none, or the extra is not installed; InputRefused where no machine of it can play.
    """
    if place is None:
        yield None
        return
    try:
        from enginetour.tournament.cluster.machines import demand_of
        from enginetour.tournament.cluster.place import DaskPlace, address_of
        from enginetour.tournament.cluster.worker import refuse_without
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("distributed", "dask"):
            raise
        raise UsageRefused(
            "Dask is not installed", place="--place", step="pip install 'enginetour[dask]', here and on every machine"
        ) from None
    address, demand = address_of(place), demand_of(plan, force=force)
    refuse_without(address)
    cluster = DaskPlace(address, slots, demand)
    try:
        rows: Sequence[Mapping[str, Any]] = cluster.look_round(heed)
        for line in lines(rows):
            tell(line)
        for words in cluster.shared(demand):
            tell(f"warning: {words}")
        if demand.scaled:
            tell("times are divided by the speed of the machine that a game is played on")
        seats = sum(int(row["slots"]) for row in rows if row["state"] == "fit")
        if not seats:
            step = "start one: dask worker ADDRESS --nthreads 4 --resources slot=4"
            what = "no machine of the cluster can play" if rows else "the cluster has no worker"
            raise InputRefused(what, place=address, step="see the table" if rows else step)
        if seats < slots:
            tell(f"warning: {slots} slots, {seats} on the machines that can play: others wait for machines to join")
        yield cluster
    finally:
        cluster.close()


def lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line a worker, then what is missing where."""
    for row in rows:
        if row["state"] == "gone":
            yield f"{row['machine']}: gone, {_games(row)}" + (f" ({row['why']})" if row["why"] else "")
            continue
        speed = f", speed {row['speed']:g}" if row["speed"] else ""
        told = {"aside": f"set aside: {row['why']}", "drained": "drained", "fit": counted(row["slots"], "slot")}
        state = told.get(row["state"], "gets no games" if row["state"] == "lacking" else "looks what it has")
        yield f"{row['machine']} ({row['processor'] or row['address']}{speed}): {state}, {_games(row)}"
        for words in row["lacks"]:
            yield f"  {row['machine']} lacks {words}"


def _games(row: Mapping[str, Any]) -> str:
    busy = f", {row['busy']} in the air" if row.get("busy") else ""
    return f"{counted(row['played'], 'game')} played{busy}"
