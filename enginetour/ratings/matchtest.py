"""A sequential test of two engines over the games they have: counts, ratio, verdict, strength."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass

from enginetour.ratings.pentanomial import GAME_CLASSES, PAIR_CLASSES, MatchStatistics, statistics_of, tallies
from enginetour.ratings.sequential import Sprt, Walk, follow, reach
from enginetour.ratings.stopped import Estimate, estimate

OPEN_GAMES = 1_000_000  # most games of a test where nobody names a number: it ends by itself long before


@dataclass(frozen=True, slots=True)
class MatchTest:
    """What a test says of one engine against another, in the order of their games.

    `games` counts losses, draws, wins of the first engine; `pairs` those of its pairs, worst first, None where games
    did not come in pairs. The bayesian model walks over games even then; the statistics are by pairs all the same.
    """

    test: Sprt
    games: tuple[int, ...]
    pairs: tuple[int, ...] | None
    walk: Walk
    statistics: MatchStatistics
    after_stop: Estimate | None

    @property
    def lone(self) -> int:
        """Games whose partner on the same opening is missing, where the others came in pairs."""
        return 0 if self.pairs is None else sum(self.games) - 2 * sum(self.pairs)

    @property
    def walks_by_pairs(self) -> bool:
        """The test looked after each pair, not after each game."""
        return len(self.walk.counts) == PAIR_CLASSES

    def to_json(self) -> dict[str, object]:
        """Numbers only; None is what cannot be given."""
        losses, draws, wins = self.games
        statistics = asdict(self.statistics)
        after = self.after_stop
        return {
            "games": sum(self.games),
            "wins": wins,
            "draws": draws,
            "losses": losses,
            "pentanomial": None if self.pairs is None else list(self.pairs),
            "lone_games": self.lone,
            **statistics,
            "sprt": {
                **asdict(self.test),
                "by": "pairs" if self.walks_by_pairs else "games",
                "llr": self.walk.llr,
                "bounds": list(self.test.bounds),
                "decides_at": list(reach(self.test, self.walk)),
                "verdict": self.walk.verdict or None,
                "stopped_after": sum(self.walk.stopped) or None,
                "estimate": after and {"elo": after.elo, "low": after.low, "high": after.high},
            },
        }


def match_test(test: Sprt, games: Sequence[tuple[Hashable, int]]) -> MatchTest:
    """The test over games as (what the two games of a pair share, half points of the first engine), in order.

    By pairs where `tallies` has them. ValueError without a game.
    """
    won, pairs, couples = tallies(games)
    if pairs is not None and test.model != "bayesian":
        walk = follow(test, couples, PAIR_CLASSES)
    else:
        walk = follow(test, [half_points for _, half_points in games], GAME_CLASSES)
    return MatchTest(test, won, pairs, walk, statistics_of(pairs or won), estimate(test, walk))
