"""Checks of the fairness of a tournament."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import erfc, exp, gamma, sqrt

from enginetour.model.game import RESULTS, GameFinished, Outcome
from enginetour.model.task import EngineSpec
from enginetour.openings.choice import stored_policy
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.reports.charts.curves import quantile
from enginetour.reports.sheet import Column, Sheet, format_count
from enginetour.store.games import TournamentReader
from enginetour.store.tables import GameConditions

# Results by machine: Pearson's chi-square test.

# Games expected in each cell; with fewer the test is not valid (W. G. Cochran, Biometrics 10, 1954).
_MIN_EXPECTED = 5.0
_WARNING_CHANCE = 0.01  # a smaller p-value causes a warning (chosen by enginetour)


@dataclass(frozen=True, slots=True)
class HostComparison:
    """The games that count, by machine, and a test of whether the results differ between machines.

    `chance` is the p-value. A small p-value is a reason to check the machines, but not a proof, because engines meet
    different opponents on different machines. `chi_square` and `chance` are None if there are too few games.
    """

    games: tuple[tuple[str, int], ...]
    chi_square: float | None = None
    freedom: int = 0
    chance: float | None = None

    @property
    def text(self) -> str:
        """Return the comparison in one sentence, or an empty text if there is only one machine."""
        if len(self.games) < 2:
            return ""
        counts = ", ".join(f"{count} on {machine}" for machine, count in self.games)
        if self.chi_square is None or self.chance is None:
            return f"games by machine: {counts}; too few to compare their results"
        test = f"chi-square {self.chi_square:.1f} with {self.freedom} degrees of freedom, p = {self.chance:.3f}"
        return f"games by machine: {counts}; comparison of their results: {test}"


def machine_name(hardware: str) -> str:
    """Return the processor and the host without the speed, because it is measured again at each start."""
    return hardware.partition(", speed")[0] + (")" if ", speed" in hardware else "")


def _by_machine(games: Sequence[GameConditions]) -> dict[str, list[GameConditions]]:
    by_hardware: dict[str, list[GameConditions]] = defaultdict(list)
    for game in games:
        by_hardware[game.hardware].append(game)
    found: dict[str, list[GameConditions]] = defaultdict(list)
    for hardware, played in by_hardware.items():
        found[machine_name(hardware)] += played
    return dict(sorted(found.items()))


def compare_hosts(games: Sequence[GameConditions]) -> HostComparison:
    """Compare the results of all machines. The games must not be at time odds."""
    cells = {machine: Counter(game.outcome for game in played) for machine, played in _by_machine(games).items()}
    rows = tuple((machine, counts.total()) for machine, counts in cells.items())
    totals = [sum(counts[result] for counts in cells.values()) for result in RESULTS]
    seen = [(result, total) for result, total in zip(RESULTS, totals, strict=True) if total]
    whole = len(games)
    expected = {(machine, result): count * total / whole for machine, count in rows for result, total in seen}
    freedom = (len(rows) - 1) * (len(seen) - 1)
    if min(len(rows), len(seen)) < 2 or min(expected.values()) < _MIN_EXPECTED:
        return HostComparison(rows)
    square = sum((cells[machine][result] - wish) ** 2 / wish for (machine, result), wish in expected.items())
    return HostComparison(rows, square, freedom, chi_square_tail(square, freedom))


def chi_square_tail(square: float, freedom: int) -> float:
    """Return the probability of a chi-square above `square`.

    It is the upper incomplete gamma function, a finite sum for half-integers (Abramowitz and Stegun 26.4.4 and 26.4.5).
    """
    half, x = freedom / 2, square / 2
    order, total = (0.5, erfc(sqrt(x))) if freedom % 2 else (1.0, exp(-x))
    while order < half:
        total += x**order * exp(-x) / gamma(order + 1)
        order += 1
    return min(1.0, total)


# Fairness.

_MIN_GAMES = 10  # with fewer games a share has no confidence interval (chosen by enginetour)
_STOLEN = 1.0  # percent of the processor time; a warning is given if the host took at least this (enginetour's choice)


@dataclass(frozen=True, slots=True)
class WhiteShare:
    """White's share of the points; `error` is the 95 % interval, or None if there are too few games."""

    games: int
    half_points: int
    error: float | None

    @property
    def share(self) -> float | None:
        """Return the share, 0 to 1, or None without games."""
        return self.half_points / (2 * self.games) if self.games else None


@dataclass(frozen=True, slots=True)
class _OpeningLine:
    """One opening of the book, and White's score with it."""

    name: str
    place: int
    white: WhiteShare
    draws: int


@dataclass(frozen=True, slots=True)
class Fairness:
    """Figures on the fairness of all games that count. Latencies are in microseconds.

    `relay_us` contains the median latency of each game, `worst_us` its maximum, and `own_us` the latency of enginetour
    in each move that lost on time. They are empty without measurements.
    """

    white: WhiteShare
    openings: tuple[_OpeningLine, ...]
    one_sided: int  # games without a game of the same engines on the same opening with reversed colors
    relay_us: tuple[int, ...]
    worst_us: tuple[int, ...]
    own_us: tuple[tuple[int, int], ...]  # number of the game, microseconds
    load: tuple[tuple[int, float], ...]  # number of the game, load average of its machine
    steal: tuple[float, ...]
    cores: tuple[int, ...]  # the different numbers of processors of the machines, smallest first
    busy: tuple[int, ...]  # numbers of the games in which the load was higher than the number of processors
    at_once: int  # the largest number of concurrent games
    threads: int  # the largest number of threads of an entrant
    margins: tuple[tuple[str, int, int], ...]  # engine, its moves within the time margin, its games
    warnings: tuple[str, ...]
    hosts: HostComparison
    used_up: str = ""  # a sentence if the opening book was used up

    @property
    def one_opening(self) -> bool:
        """Return whether all games used one opening. The result is false for one game pair, which is usual."""
        return len(self.openings) == 1 and self.openings[0].white.games > 2  # one game with each color

    @property
    def shared_cores(self) -> int | None:
        """Return the number of processors if it is the same for all machines."""
        return self.cores[0] if len(self.cores) == 1 else None


def fairness_of(
    games: Sequence[GameConditions], specs: Mapping[str, EngineSpec], repeated: str = "", used_up: str = ""
) -> Fairness:
    """Return figures on the fairness of games. Games at time odds count for the machine, but not for White's share.

    `repeated` is the warning on repeated games, and `used_up` is the note on a used-up opening book.
    """
    even = [game for game in games if not game.handicap]
    threads = max(map(_threads_of, specs.values()), default=1)
    hosts = compare_hosts(even)
    gaps = [game.relay_gap_us for game in games if game.relay_gap_us]
    busy = tuple(game.number for game in games if game.busy)
    steal = tuple(game.steal_percent for game in games if game.steal_percent is not None)
    played = Counter(chain.from_iterable([(game.white, game.black) for game in games]))
    margins = Counter(dict.fromkeys(played, 0))
    for game in games:
        if game.white_side.margin_uses or game.black_side.margin_uses:
            margins[game.white] += game.white_side.margin_uses
            margins[game.black] += game.black_side.margin_uses
    return Fairness(
        white=white_share([game.outcome for game in even]),
        openings=tuple(_openings(even)),
        one_sided=_one_sided(even),
        relay_us=tuple([gap[0] for gap in gaps]),
        worst_us=tuple([gap[2] for gap in gaps]),
        own_us=tuple((game.number, game.referee_us) for game in games if game.referee_us is not None),
        load=tuple((game.number, game.load_average) for game in games if game.load_average is not None),
        steal=steal,
        cores=_cores(games),
        busy=busy,
        at_once=max_concurrent_games(games),
        threads=threads,
        margins=tuple((name, uses, played[name]) for name, uses in margins.most_common() if uses),
        warnings=(
            *((repeated,) if repeated else ()),
            *_warnings(_most_crowded(games, threads), threads, len(busy), len(games), steal, hosts),
        ),
        hosts=hosts,
        used_up=used_up,
    )


def reused_openings_note(log: TournamentReader) -> str:
    """Return a note if openings were used again.

    Return an empty text if they were not, or if the size of the opening book is unknown.
    """
    dealing = stored_policy(log.config)
    return (
        dealing.used_up(event.pairing for event in log.events() if isinstance(event, GameFinished)) if dealing else ""
    )


def repeated_games_note(repeated: int, games: int) -> str:
    """Return a note on games that are identical to an earlier game, or an empty text if there are none."""
    if not repeated:
        return ""
    advice = "To avoid repeated games, use a larger opening book or a time control with a clock"
    hint = f"they count like all other games. {advice}"
    return f"{repeated} of {games} games are identical to an earlier game; {hint}"


def white_share(outcomes: Sequence[Outcome]) -> WhiteShare:
    """Return White's share with the standard error of its mean as a 95 % interval."""
    points = [(outcome.half_points(white=True), count) for outcome, count in Counter(outcomes).items()]
    number, total = len(outcomes), sum(half * count for half, count in points)
    if number < _MIN_GAMES:
        return WhiteShare(number, total, None)
    mean = total / number
    spread = sum(count * (half - mean) ** 2 for half, count in points) / (number - 1)
    return WhiteShare(number, total, NORMAL_95 * sqrt(spread / number) / 2 if spread else None)


def _threads_of(spec: EngineSpec) -> int:
    threads = next((value for name, value in spec.options if name.lower() in ("threads", "cores", "max cpus")), "1")
    return int(threads) if threads.isascii() and threads.isdigit() else 1


def max_concurrent_games(games: Sequence[GameConditions]) -> int:
    """Return the largest number of concurrent games. A game that starts when another ends is not concurrent with it."""
    starts, ends = sorted([game.started_unix for game in games]), sorted([game.ended_unix for game in games])
    return max([begun - bisect_right(ends, start) for begun, start in enumerate(starts, 1)], default=0)


def _cores(games: Sequence[GameConditions]) -> tuple[int, ...]:
    return tuple(sorted({game.cores for game in games if game.cores is not None}))


def _most_crowded(games: Sequence[GameConditions], threads: int) -> tuple[int, int]:
    """Return the concurrent games and the processors of the machine that lacks the most processors.

    Return 0 and 0 if every machine has enough processors.
    """
    crowds = (
        (max_concurrent_games(played), cores[0]) for played in _by_machine(games).values() if (cores := _cores(played))
    )
    lacking = [(at_once, cores) for at_once, cores in crowds if at_once * threads > cores]
    return max(lacking, key=lambda crowd: crowd[0] * threads - crowd[1], default=(0, 0))


def _openings(games: Sequence[GameConditions]) -> Iterator[_OpeningLine]:
    by_opening: dict[tuple[str, int], list[Outcome]] = {}
    for game in games:
        by_opening.setdefault(game.numbered_opening, []).append(game.outcome)
    for (name, place), outcomes in sorted(by_opening.items(), key=lambda one: (one[0][1], one[0][0])):
        yield _OpeningLine(name, place, white_share(outcomes), outcomes.count(Outcome.DRAW))


def _one_sided(games: Sequence[GameConditions]) -> int:
    """Count games whose engines have not played the opening as often with reversed colors."""
    turns = Counter([(game.white, game.black, game.numbered_opening) for game in games])
    return sum(max(0, count - turns[black, white, opening]) for (white, black, opening), count in turns.items())


def _warnings(
    crowd: tuple[int, int], threads: int, busy: int, games: int, steal: Sequence[float], hosts: HostComparison
) -> Iterator[str]:
    at_once, cores = crowd
    if at_once:
        each = f" of {threads} threads" if threads > 1 else ""
        yield (
            f"up to {format_count(at_once, 'concurrent game')}{each} on {cores} processors:"
            " engines waited for each other, so clocks and results may be unreliable"
        )
    if busy:
        yield f"the machine was busy in {busy} of {games} games: its load was higher than its number of processors"
    if steal and max(steal) >= _STOLEN:
        often = sum(one >= _STOLEN for one in steal)
        share = f"{_STOLEN:.0f} % or more of the machine's processor time"
        yield f"in {often} of {games} games, {share} was taken by its host"
    if hosts.chance is not None and hosts.chance < _WARNING_CHANCE:
        yield f"results differ between machines ({hosts.text})"


# Tables of the fairness page.

_MAX_OPENINGS = 1_000  # rows of the table of openings


def _share_words(share: WhiteShare) -> str:
    """Format ``52.4 % ±3.1``. The error is left out if there are too few games."""
    if share.share is None:
        return ""
    return f"{100 * share.share:.1f} %" + ("" if share.error is None else f" ±{100 * share.error:.1f}")


def measures_sheet(found: Fairness) -> Sheet:
    """Return median, 99th percentile and maximum of each measurement."""
    columns = (
        Column("what", "measurement per game", left=True),
        Column("games", "games"),
        Column("median", "median"),
        Column("high", "99 %"),
        Column("largest", "maximum"),
    )
    measures: tuple[tuple[str, Iterable[float], int], ...] = (  # what, values, decimals
        ("latency, median of the game, ms", (gap / 1000 for gap in found.relay_us), 2),
        ("latency, maximum of the game, ms", (gap / 1000 for gap in found.worst_us), 2),
        ("latency in a time loss, ms", (own / 1000 for _, own in found.own_us), 1),
        ("load of the machine", (load for _, load in found.load), 2),
        ("processor time taken by the host, %", found.steal, 2),
    )
    rows = []
    for what, values, decimals in measures:
        if ordered := sorted(values):
            shown = {"median": quantile(ordered, 0.5), "high": quantile(ordered, 0.99), "largest": ordered[-1]}
            figures = {key: f"{value:.{decimals}f}" for key, value in shown.items()}
            rows.append({"what": what, "games": len(ordered), **figures})
    return Sheet("measures", columns, tuple(rows))


def openings_sheet(found: Fairness) -> Sheet:
    """Return a table of White's score with each opening. The most uneven opening is first."""
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
    notes = [f"{more} more openings with a more even score are not shown"] if more else []
    if any(line.white.games and line.white.error is None for line in ordered):
        notes.append(f"shares of fewer than {_MIN_GAMES} games have no confidence interval")
    return Sheet("openings", columns, rows, notes=tuple(notes))


def _share_one_sided(share: WhiteShare) -> float:
    return abs((share.share or 0.0) - 0.5) * sqrt(share.games)  # proportional to the number of standard errors


def margins_sheet(found: Fairness) -> Sheet:
    """Return the engines that moved after their time was up, but within the time margin."""
    columns = (
        Column("engine", "engine", left=True),
        Column("uses", "moves within the time margin"),
        Column("games", "games"),
    )
    rows = tuple({"engine": name, "uses": uses, "games": games} for name, uses, games in found.margins)
    return Sheet("margins", columns, rows)


def referee_share_sheet(found: Fairness) -> Sheet:
    """Return a table of the latency of enginetour in each move that lost on time."""
    columns = (Column("game", "game"), Column("share", "latency, ms"))
    rows = tuple({"game": number, "share": f"{own / 1000:.1f}"} for number, own in found.own_us)
    return Sheet("latency in time losses", columns, rows)
