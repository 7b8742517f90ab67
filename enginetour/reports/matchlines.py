"""The lines cutechess-cli and fastchess print while they run, so that existing scripts keep working.

Facts of their wording: cutechess-cli 1.5.1 (`enginematch`, `tournament`), fastchess 1.8.2 (its two kinds of output).
Where they print ``inf`` or ``nan``, the line or the part of it is left out. Figures are ours: strength and error are
those of the complete pairs where games come in such, as in the line of a test beside them, of single games otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from enginetour.model.game import Game, fixed
from enginetour.ratings.pentanomial import MatchStatistics, statistics_of
from enginetour.ratings.sequential import MatchTest
from enginetour.reports.sheet import safe

RULE = "-" * 50  # around the block of fastchess
VERDICTS = {"H0": " - H0 was accepted", "H1": " - H1 was accepted", "": ""}

Results = tuple[int, int, int]  # wins, draws, losses of the first engine


@dataclass(frozen=True, slots=True)
class MatchScore:
    """Two engines so far: the first one's results with White and with Black.

    `pairs` on one opening by the points of the first, worst first, `drawn` of them with two draws; `terms` are the
    words in brackets behind the names: control, threads, hash, suite.
    """

    first: str
    second: str
    white: Results
    black: Results
    pairs: tuple[int, ...] | None = None
    drawn: int = 0
    terms: str = ""

    @property
    def results(self) -> Results:
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


def terms(both: Sequence[tuple[Mapping[str, Any], Mapping[str, str]]], suite: str) -> str:
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


def started(number: int, total: int | None, white: str, black: str) -> str:
    """``Started game 1 of 20 (A vs B)``; without the 20 where nobody said how many there are."""
    of_all = "" if total is None else f" of {max(number, total)}"
    return safe(f"Started game {number}{of_all} ({white} vs {black})")


def finished(number: int, game: Game) -> str:
    """``Finished game 5 (A vs B): 1-0 {White mates}``."""
    names = f"{game.pairing.white} vs {game.pairing.black}"
    return safe(f"Finished game {number} ({names}): {game.outcome} {{{game.cause}}}")


def score(match: MatchScore) -> str:
    """``Score of A vs B: 3 - 1 - 2  [0.667] 6``, from the first one's view; only with a game."""
    return safe(f"Score of {match.first} vs {match.second}: {_counts(match.results)}")


def interval(match: MatchScore, test: MatchTest | None = None) -> Iterator[str]:
    """The lines of cutechess-cli, then the block of fastchess; nothing without a game."""
    if not match.games:
        return
    wins, draws, losses = match.results
    found = statistics_of(match.pairs if match.pairs and match.is_paired else (losses, draws, wins))
    for line in (*_as_cutechess(match, found, test), RULE, *_as_fastchess(match, found, test), RULE):
        yield safe(line)


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
        told = f"SPRT: llr {_short(test.walk.llr)} ({fixed(100 * test.walk.llr / high, 1)}%)"
        yield f"{told}, lbound {_short(low)}, ubound {_short(high)}{VERDICTS[test.walk.verdict]}"


def _as_fastchess(match: MatchScore, found: MatchStatistics, test: MatchTest | None) -> Iterator[str]:
    wins, draws, losses = match.results
    yield f"Results of {match.first} vs {match.second} ({match.terms}):"
    error, nelo, spread = _error(found), found.nelo, found.nelo_error
    if found.elo is not None and error is not None and nelo is not None and spread is not None:
        yield f"Elo: {fixed(found.elo, 2)} +/- {error:.2f}, nElo: {fixed(nelo, 2)} +/- {spread:.2f}"
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
        yield f"LLR: {fixed(llr, 2)} ({fixed(100 * share, 1)}%) ({low:.2f}, {high:.2f}) {elos}"


def _counts(results: Results) -> str:
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
