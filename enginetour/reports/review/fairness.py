"""Was it fair: White's share, openings, the referee's own delays, the machine, and who lived on the margin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from enginetour.model.game import GameFinished, Outcome
from enginetour.model.task import EngineSpec
from enginetour.openings.choice import dealing_of
from enginetour.ratings.uncertainty import NORMAL_95
from enginetour.reports.review.hosts import ODD, Hosts, by_machine, hosts_of
from enginetour.reports.sheet import counted
from enginetour.store.games import Conditions, TournamentReader

FEW = 10  # games; below, the spread of a share is not told: the same few results say nothing of it (our decision)
STOLEN = 0.01  # share of the machine's time given to others from which on it is told (our decision)


@dataclass(frozen=True, slots=True)
class Share:
    """White's share of the points over some games; `error` is 95 %, None where there are too few to tell."""

    games: int
    half_points: int
    error: float | None

    @property
    def share(self) -> float | None:
        """0 to 1, None without a game."""
        return self.half_points / (2 * self.games) if self.games else None


@dataclass(frozen=True, slots=True)
class OpeningLine:
    """One opening of the suite and what White made of it."""

    name: str
    place: int
    white: Share
    draws: int


@dataclass(frozen=True, slots=True)
class Fairness:
    """Over all games that count. Delays are microseconds a game, empty where nothing was measured.

    `relay_us` has the median gap of each game, `worst_us` its largest; `own_us` is the referee's own share at flags.
    """

    white: Share
    openings: tuple[OpeningLine, ...]
    one_sided: int  # games on an opening that was played with one colour only by this pair
    relay_us: tuple[int, ...]
    worst_us: tuple[int, ...]
    own_us: tuple[tuple[int, int], ...]  # game, microseconds
    load: tuple[tuple[int, float], ...]  # game, load average of its machine
    steal: tuple[float, ...]
    cores: tuple[int, ...]  # of the machines, each number once, smallest first
    busy: tuple[int, ...]  # games with more wanting to run than processors
    at_once: int  # games in the air at one time, at most
    threads: int  # the most of an entrant
    margins: tuple[tuple[str, int, int], ...]  # engine, moves inside the margin, games; who has any
    warnings: tuple[str, ...]
    hosts: Hosts  # the machines, and whether games ended alike on them
    used_up: str = ""  # a sentence where all openings had been played and came again

    @property
    def one_opening(self) -> bool:
        """More games than two engines play on an opening, and all on the same one."""
        return len(self.openings) == 1 and self.openings[0].white.games > 2  # both colours

    @property
    def shared_cores(self) -> int | None:
        """Processors, where all machines have as many."""
        return self.cores[0] if len(self.cores) == 1 else None


def fairness_of(
    games: Sequence[Conditions], specs: Mapping[str, EngineSpec], again: str = "", used_up: str = ""
) -> Fairness:
    """Games at odds count for the machine, not for White; `again` tells of games that came again (`over_again`)."""
    even = [game for game in games if not game.handicap]
    threads = max(map(threads_of, specs.values()), default=1)
    hosts = hosts_of(even)
    busy = tuple(game.number for game in games if game.busy)
    steal = tuple(game.steal for game in games if game.steal is not None)
    margins: Counter[str] = Counter()
    played: Counter[str] = Counter()
    for game in games:
        for name, side in zip((game.white, game.black), game.sides, strict=True):
            margins[name] += side.margin_uses
            played[name] += 1
    return Fairness(
        white=share_of(even),
        openings=tuple(_openings(even)),
        one_sided=_one_sided(even),
        relay_us=tuple(game.relay_us[0] for game in games if game.relay_us),
        worst_us=tuple(game.relay_us[2] for game in games if game.relay_us),
        own_us=tuple((game.number, game.own_us) for game in games if game.own_us is not None),
        load=tuple((game.number, game.load) for game in games if game.load is not None),
        steal=steal,
        cores=_cores(games),
        busy=busy,
        at_once=most_at_once(games),
        threads=threads,
        margins=tuple((name, uses, played[name]) for name, uses in margins.most_common() if uses),
        warnings=(
            *((again,) if again else ()),
            *_warnings(_most_crowded(games, threads), threads, len(busy), len(games), steal, hosts),
        ),
        hosts=hosts,
        used_up=used_up,
    )


def used_up(log: TournamentReader) -> str:
    """Whether its openings came again; an empty text where they did not, or it is not known how many there are."""
    dealing = dealing_of(log.config)
    return (
        dealing.used_up(event.pairing for event in log.events() if isinstance(event, GameFinished)) if dealing else ""
    )


def over_again(repeated: int, games: int) -> str:
    """What to know of games that went as an earlier one; an empty text where none did."""
    if not repeated:
        return ""
    counted_so = "every figure counts them as new; a larger suite avoids it, or a clock"
    return f"{repeated} of {games} games are an earlier one over again, and {counted_so}"


def share_of(games: Sequence[Conditions]) -> Share:
    """White's, with the error of the mean of its results."""
    points = [game.outcome.half_points(white=True) for game in games]
    number, total = len(points), sum(points)
    if number < FEW:
        return Share(number, total, None)
    mean = total / number
    spread = sum((one - mean) ** 2 for one in points) / (number - 1)
    return Share(number, total, NORMAL_95 * sqrt(spread / number) / 2 if spread else None)


def threads_of(spec: EngineSpec) -> int:
    """As its options tell, 1 where they do not."""
    told = next((value for name, value in spec.options if name.lower() in ("threads", "cores", "max cpus")), "1")
    return int(told) if told.isascii() and told.isdigit() else 1


def most_at_once(games: Sequence[Conditions]) -> int:
    """Games that were in the air at one moment, at most; one that begins as another ends is not beside it."""
    moments = sorted([(game.started, 1) for game in games] + [(game.ended, -1) for game in games])
    flying = most = 0
    for _, change in moments:
        flying += change
        most = max(most, flying)
    return most


def _cores(games: Sequence[Conditions]) -> tuple[int, ...]:
    return tuple(sorted({game.cores for game in games if game.cores is not None}))


def _most_crowded(games: Sequence[Conditions], threads: int) -> tuple[int, int]:
    """Games at once and processors of the machine that lacked the most of these; 0, 0 where none lacked any."""
    crowds = ((most_at_once(played), cores[0]) for played in by_machine(games).values() if (cores := _cores(played)))
    lacking = [(at_once, cores) for at_once, cores in crowds if at_once * threads > cores]
    return max(lacking, key=lambda crowd: crowd[0] * threads - crowd[1], default=(0, 0))


def _openings(games: Sequence[Conditions]) -> Iterator[OpeningLine]:
    by_opening: dict[tuple[str, int], list[Conditions]] = {}
    for game in games:
        by_opening.setdefault(game.opening, []).append(game)
    for (name, place), played in sorted(by_opening.items(), key=lambda one: (one[0][1], one[0][0])):
        draws = sum(game.outcome is Outcome.DRAW for game in played)
        yield OpeningLine(name, place, share_of(played), draws)


def _one_sided(games: Sequence[Conditions]) -> int:
    """Games whose opening their two have not played as often with the colours the other way round."""
    turns: Counter[tuple[str, str, tuple[str, int]]] = Counter((g.white, g.black, g.opening) for g in games)
    return sum(max(0, count - turns[black, white, opening]) for (white, black, opening), count in turns.items())


def _warnings(
    crowd: tuple[int, int], threads: int, busy: int, games: int, steal: Sequence[float], hosts: Hosts
) -> Iterator[str]:
    at_once, cores = crowd
    if at_once:
        each = f" of {threads} threads" if threads > 1 else ""
        yield (
            f"up to {counted(at_once, 'game')}{each} at once on {cores} processors:"
            " engines waited for each other, clocks and strengths may have suffered"
        )
    if busy:
        yield f"the machine was busy in {busy} of {games} games: more wanted to run than it has processors"
    if steal and max(steal) >= STOLEN:
        often = sum(one >= STOLEN for one in steal)
        yield f"its host gave {STOLEN:.0%} or more of the machine's time to others in {often} of {games} games"
    if hosts.chance is not None and hosts.chance < ODD:
        yield f"games did not end alike on all machines ({hosts.words})"
