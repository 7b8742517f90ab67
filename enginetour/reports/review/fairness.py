"""Fairness of a tournament."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import erfc, exp, gamma, sqrt

from enginetour.model.game import GameFinished, Outcome
from enginetour.model.task import EngineSpec
from enginetour.openings.choice import stored_policy
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.reports.charts.curves import quantile
from enginetour.reports.sheet import Column, Sheet, format_count
from enginetour.store.games import TournamentReader
from enginetour.store.tables import GameConditions

# Whether games ended alike on all machines: Pearson's chi-square of machines by results.

_MIN_EXPECTED = 5.0  # expected games in each cell; below, chi-square says too much (W. G. Cochran, Biometrics 10, 1954)
_WARNING_CHANCE = 0.01  # chance below which it is told as a warning (our decision)
_RESULTS = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK)


@dataclass(frozen=True, slots=True)
class HostComparison:
    """Games that count, by machine. `chi_square`, `chance` are None where there are too few games to tell.

    `chance` is that of results at least as uneven from machines that are alike. Engines meet others on other machines:
    a small one asks for a look, and proves nothing.
    """

    games: tuple[tuple[str, int], ...]
    chi_square: float | None = None
    freedom: int = 0
    chance: float | None = None

    @property
    def words(self) -> str:
        """One line; "" for one machine."""
        if len(self.games) < 2:
            return ""
        told = ", ".join(f"{count} on {machine}" for machine, count in self.games)
        if self.chi_square is None or self.chance is None:
            return f"games by machine: {told}; too few to compare their results"
        test = f"chi-square {self.chi_square:.1f} with {self.freedom} degrees of freedom, p = {self.chance:.3f}"
        return f"games by machine: {told}; their results: {test}"


def machine_name(hardware: str) -> str:
    """Processor and host, without the speed, which is measured anew at each start."""
    return hardware.partition(", speed")[0] + (")" if ", speed" in hardware else "")


def _by_machine(games: Sequence[GameConditions]) -> dict[str, list[GameConditions]]:
    """In the order of their names."""
    found: dict[str, list[GameConditions]] = defaultdict(list)
    for game in games:
        found[machine_name(game.hardware)].append(game)
    return dict(sorted(found.items()))


def compare_hosts(games: Sequence[GameConditions]) -> HostComparison:
    """Games at odds left out by the caller."""
    cells = {machine: Counter(game.outcome for game in played) for machine, played in _by_machine(games).items()}
    rows = tuple((machine, counts.total()) for machine, counts in cells.items())
    totals = [sum(counts[result] for counts in cells.values()) for result in _RESULTS]
    seen = [(result, total) for result, total in zip(_RESULTS, totals, strict=True) if total]
    whole = len(games)
    expected = {(machine, result): count * total / whole for machine, count in rows for result, total in seen}
    freedom = (len(rows) - 1) * (len(seen) - 1)
    if min(len(rows), len(seen)) < 2 or min(expected.values()) < _MIN_EXPECTED:
        return HostComparison(rows)
    square = sum((cells[machine][result] - wish) ** 2 / wish for (machine, result), wish in expected.items())
    return HostComparison(rows, square, freedom, chi_square_tail(square, freedom))


def chi_square_tail(square: float, freedom: int) -> float:
    """The chance of a chi-square above `square`: the upper incomplete gamma function, a finite sum for whole halves.

    Source: Abramowitz and Stegun 26.4.4 and 26.4.5.
    """
    half, x = freedom / 2, square / 2
    order, total = (0.5, erfc(sqrt(x))) if freedom % 2 else (1.0, exp(-x))
    while order < half:
        total += x**order * exp(-x) / gamma(order + 1)
        order += 1
    return min(1.0, total)


# Was it fair: White's share, openings, the referee's own delays, the machine, and who lived on the margin.

_MIN_GAMES = (
    10  # games; below, the spread of a share is not told: the same few results say nothing of it (our decision)
)
_STOLEN = 1.0  # per cent of the machine's time given to others from which on it is told (our decision)


@dataclass(frozen=True, slots=True)
class WhiteShare:
    """White's share of the points over some games; `error` is 95 %, None where there are too few to tell."""

    games: int
    half_points: int
    error: float | None

    @property
    def share(self) -> float | None:
        """0 to 1, None without a game."""
        return self.half_points / (2 * self.games) if self.games else None


@dataclass(frozen=True, slots=True)
class _OpeningLine:
    """One opening of the suite and what White made of it."""

    name: str
    place: int
    white: WhiteShare
    draws: int


@dataclass(frozen=True, slots=True)
class Fairness:
    """Over all games that count. Delays are microseconds a game, empty where nothing was measured.

    `relay_us` has the median gap of each game, `worst_us` its largest; `own_us` is the referee's own share at flags.
    """

    white: WhiteShare
    openings: tuple[_OpeningLine, ...]
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
    hosts: HostComparison  # the machines, and whether games ended alike on them
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
    games: Sequence[GameConditions], specs: Mapping[str, EngineSpec], again: str = "", used_up: str = ""
) -> Fairness:
    """Games at odds count for the machine, not for White; `again` tells of games that came again (`over_again`)."""
    even = [game for game in games if not game.handicap]
    threads = max(map(_threads_of, specs.values()), default=1)
    hosts = compare_hosts(even)
    busy = tuple(game.number for game in games if game.busy)
    steal = tuple(game.steal_percent for game in games if game.steal_percent is not None)
    margins: Counter[str] = Counter()
    played: Counter[str] = Counter()
    for game in games:
        for name, side in zip((game.white, game.black), game.sides, strict=True):
            margins[name] += side.margin_uses
            played[name] += 1
    return Fairness(
        white=white_share(even),
        openings=tuple(_openings(even)),
        one_sided=_one_sided(even),
        relay_us=tuple(game.relay_gap_us[0] for game in games if game.relay_gap_us),
        worst_us=tuple(game.relay_gap_us[2] for game in games if game.relay_gap_us),
        own_us=tuple((game.number, game.referee_us) for game in games if game.referee_us is not None),
        load=tuple((game.number, game.load_average) for game in games if game.load_average is not None),
        steal=steal,
        cores=_cores(games),
        busy=busy,
        at_once=max_concurrent_games(games),
        threads=threads,
        margins=tuple((name, uses, played[name]) for name, uses in margins.most_common() if uses),
        warnings=(
            *((again,) if again else ()),
            *_warnings(_most_crowded(games, threads), threads, len(busy), len(games), steal, hosts),
        ),
        hosts=hosts,
        used_up=used_up,
    )


def reused_openings_note(log: TournamentReader) -> str:
    """Whether its openings came again; an empty text where they did not, or it is not known how many there are."""
    dealing = stored_policy(log.config)
    return (
        dealing.used_up(event.pairing for event in log.events() if isinstance(event, GameFinished)) if dealing else ""
    )


def repeated_games_note(repeated: int, games: int) -> str:
    """What to know of games that went as an earlier one; an empty text where none did."""
    if not repeated:
        return ""
    counted_so = "every figure counts them as new; a larger suite avoids it, or a clock"
    return f"{repeated} of {games} games are an earlier one over again, and {counted_so}"


def white_share(games: Sequence[GameConditions]) -> WhiteShare:
    """White's, with the error of the mean of its results."""
    points = [game.outcome.half_points(white=True) for game in games]
    number, total = len(points), sum(points)
    if number < _MIN_GAMES:
        return WhiteShare(number, total, None)
    mean = total / number
    spread = sum((one - mean) ** 2 for one in points) / (number - 1)
    return WhiteShare(number, total, NORMAL_95 * sqrt(spread / number) / 2 if spread else None)


def _threads_of(spec: EngineSpec) -> int:
    """As its options tell, 1 where they do not."""
    told = next((value for name, value in spec.options if name.lower() in ("threads", "cores", "max cpus")), "1")
    return int(told) if told.isascii() and told.isdigit() else 1


def max_concurrent_games(games: Sequence[GameConditions]) -> int:
    """Games that were in the air at one moment, at most; one that begins as another ends is not beside it."""
    moments = sorted([(game.started_unix, 1) for game in games] + [(game.ended_unix, -1) for game in games])
    flying = most = 0
    for _, change in moments:
        flying += change
        most = max(most, flying)
    return most


def _cores(games: Sequence[GameConditions]) -> tuple[int, ...]:
    return tuple(sorted({game.cores for game in games if game.cores is not None}))


def _most_crowded(games: Sequence[GameConditions], threads: int) -> tuple[int, int]:
    """Games at once and processors of the machine that lacked the most of these; 0, 0 where none lacked any."""
    crowds = (
        (max_concurrent_games(played), cores[0]) for played in _by_machine(games).values() if (cores := _cores(played))
    )
    lacking = [(at_once, cores) for at_once, cores in crowds if at_once * threads > cores]
    return max(lacking, key=lambda crowd: crowd[0] * threads - crowd[1], default=(0, 0))


def _openings(games: Sequence[GameConditions]) -> Iterator[_OpeningLine]:
    by_opening: dict[tuple[str, int], list[GameConditions]] = {}
    for game in games:
        by_opening.setdefault(game.numbered_opening, []).append(game)
    for (name, place), played in sorted(by_opening.items(), key=lambda one: (one[0][1], one[0][0])):
        draws = sum(game.outcome is Outcome.DRAW for game in played)
        yield _OpeningLine(name, place, white_share(played), draws)


def _one_sided(games: Sequence[GameConditions]) -> int:
    """Games whose opening their two have not played as often with the colours the other way round."""
    turns: Counter[tuple[str, str, tuple[str, int]]] = Counter((g.white, g.black, g.numbered_opening) for g in games)
    return sum(max(0, count - turns[black, white, opening]) for (white, black, opening), count in turns.items())


def _warnings(
    crowd: tuple[int, int], threads: int, busy: int, games: int, steal: Sequence[float], hosts: HostComparison
) -> Iterator[str]:
    at_once, cores = crowd
    if at_once:
        each = f" of {threads} threads" if threads > 1 else ""
        yield (
            f"up to {format_count(at_once, 'game')}{each} at once on {cores} processors:"
            " engines waited for each other, clocks and strengths may have suffered"
        )
    if busy:
        yield f"the machine was busy in {busy} of {games} games: more wanted to run than it has processors"
    if steal and max(steal) >= _STOLEN:
        often = sum(one >= _STOLEN for one in steal)
        yield f"its host gave {_STOLEN:.0f}% or more of the machine's time to others in {often} of {games} games"
    if hosts.chance is not None and hosts.chance < _WARNING_CHANCE:
        yield f"games did not end alike on all machines ({hosts.words})"


# The fairness page's tables: measures with their spread, openings, margins.

_MAX_OPENINGS = 1_000  # lines of the table of openings


def _share_words(share: WhiteShare) -> str:
    """``52.4 % ±3.1``; "too few games" where no error can be told."""
    if share.share is None:
        return ""
    words = f"{100 * share.share:.1f} %"
    return f"{words} ±{100 * share.error:.1f}" if share.error is not None else f"{words}, too few games"


def measures_sheet(found: Fairness) -> Sheet:
    """What was measured in each game, as its median, 99th percentile and largest."""
    columns = (
        Column("what", "measured in each game", left=True),
        Column("games", "games"),
        Column("median", "median"),
        Column("high", "99 %"),
        Column("largest", "largest"),
    )
    rows = tuple(_measures(found))
    return Sheet("measures", columns, rows)


def _measures(found: Fairness) -> Iterator[dict[str, object]]:
    gaps = ((found.relay_us, "relay gap, the game's median"), (found.worst_us, "relay gap, the game's largest"))
    for values, words in gaps:
        if values:
            yield _measure(f"{words}, ms", [value / 1000 for value in values], "{:.2f}")
    if found.own_us:
        yield _measure("referee's own share at a flag, ms", [value / 1000 for _, value in found.own_us], "{:.1f}")
    if found.load:
        yield _measure("load of the machine", [load for _, load in found.load], "{:.2f}")
    if found.steal:
        yield _measure("processor time its host gave to others, %", found.steal, "{:.2f}")


def _measure(words: str, values: Sequence[float], form: str) -> dict[str, object]:
    ordered = sorted(values)
    return {
        "what": words,
        "games": len(ordered),
        "median": form.format(quantile(ordered, 0.5)),
        "high": form.format(quantile(ordered, 0.99)),
        "largest": form.format(ordered[-1]),
    }


def openings_sheet(found: Fairness) -> Sheet:
    """White's points on each opening, the most one-sided first."""
    columns = (
        Column("place", "#"),
        Column("opening", "opening", left=True, flexible=True),
        Column("games", "games"),
        Column("share", "White", left=True),
        Column("draws", "draws"),
    )
    ordered = sorted(found.openings, key=lambda one: (-_share_one_sided(one.white), one.place))
    rows = tuple(
        {
            "place": line.place or None,
            "opening": line.name,
            "games": line.white.games,
            "share": _share_words(line.white),
            "draws": line.draws,
        }
        for line in ordered[:_MAX_OPENINGS]
    )
    more = len(ordered) - len(rows)
    return Sheet("openings", columns, rows, notes=(f"{more} more openings, nearer to even",) if more else ())


def _share_one_sided(share: WhiteShare) -> float:
    return abs((share.share or 0.0) - 0.5) * sqrt(share.games)  # in units of its own chance error


def margins_sheet(found: Fairness) -> Sheet:
    """Who moved after its time was up and was forgiven."""
    columns = (
        Column("engine", "engine", left=True),
        Column("uses", "moves within the margin"),
        Column("games", "games"),
    )
    rows = tuple({"engine": name, "uses": uses, "games": games} for name, uses, games in found.margins)
    return Sheet("margins", columns, rows)


def referee_share_sheet(found: Fairness) -> Sheet:
    """Flags, and how much of the late move the referee itself may have cost."""
    columns = (Column("game", "game"), Column("share", "own share, ms"))
    rows = tuple({"game": number, "share": f"{own / 1000:.1f}"} for number, own in found.own_us)
    return Sheet("own shares", columns, rows)
