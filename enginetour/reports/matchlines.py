"""The lines cutechess-cli and fastchess print while they run, so that existing scripts keep working.

Facts of their wording: cutechess-cli 1.5.1 (`enginematch`, `tournament`), fastchess 1.8.2 (its two kinds of output).
Where they print ``inf`` or ``nan``, the line is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginetour.model import Game
from enginetour.ratings.pentanomial import MatchStatistics, statistics_of
from enginetour.reports.sheet import safe


def started(number: int, total: int, white: str, black: str) -> str:
    """``Started game 1 of 20 (A vs B)``."""
    return safe(f"Started game {number} of {max(number, total)} ({white} vs {black})")


def finished(number: int, game: Game) -> str:
    """``Finished game 5 (A vs B): 1-0 {White mates}``."""
    names = f"{game.pairing.white} vs {game.pairing.black}"
    return safe(f"Finished game {number} ({names}): {game.outcome} {{{game.cause}}}")


def score(first: str, second: str, wins: int, losses: int, draws: int) -> str:
    """``Score of A vs B: 3 - 1 - 2  [0.667] 6``, from the first one's view; only with a game."""
    games = wins + losses + draws
    share = (wins + draws / 2) / games
    return safe(f"Score of {first} vs {second}: {wins} - {losses} - {draws}  [{share:.3f}] {games}")


def strength(wins: int, losses: int, draws: int, pairs: Sequence[int] | None = None) -> Iterator[str]:
    """The Elo line of cutechess-cli and the pairs by points as fastchess has them.

    The error is that of the pairs where all games came in such, of single games otherwise.
    """
    games = wins + losses + draws
    if not games:
        return
    couples = 0 if pairs is None else sum(pairs)
    found = statistics_of(pairs if pairs is not None and 2 * couples == games else (losses, draws, wins))
    error = _error(found)
    if found.elo is not None and error is not None:
        yield (
            f"Elo difference: {round(found.elo, 1) or 0.0:.1f} +/- {error:.1f}, LOS: {100 * found.los:.1f} %, "
            f"DrawRatio: {100 * draws / games:.1f} %"
        )
    if pairs is not None and couples:
        yield f"Ptnml(0-2): [{', '.join(map(str, pairs))}]"


def _error(found: MatchStatistics) -> float | None:
    if found.error is not None or found.low is None or found.high is None:
        return found.error
    return (found.high - found.low) / 2
