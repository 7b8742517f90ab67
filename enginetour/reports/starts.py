"""Who starts where: the starting groups of a tournament in rounds, and the expected differences of round 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from enginetour.model.game import format_fixed
from enginetour.ratings.elo import expected_score
from enginetour.ratings.gor import egf_expected

_MOST_PAIRS = 8  # pairs of round 1 that are listed; of more, only the most unequal ones
_UNEQUAL = 3  # most unequal pairs that are listed of a large round


def starts_json(format_: Any, state: Any, scale: str | None) -> dict[str, Any] | None:
    """Return the starting groups and the pairs of round 1, ready for JSON; None after round 1 or without rounds.

    Keys: `lines` (sentences on bands, bar, floor and groups), `groups` (name, points, entrants), `pairs` (white, black,
    gap, expected, odds), `byes`, and `warnings`. `gap` is the rating of White minus that of Black, `expected` the
    expected score of White without the advantage of the first move. Both are None if a rating is not known;
    `expected` is also None for a game at time odds. `scale` is the rating scale, ``elo``, ``go`` or None if unknown.
    """
    if not hasattr(format_, "stage") or format_.stage(state)[0] != 1 or not format_.offers(state):
        return None
    system, field, notes = format_.system, state.field, format_.notes(state)
    members, groups = field.members, system.starting_groups(field)
    by_go = scale == "go" or (scale is None and getattr(system, "model", "") == "gor")
    pairs = []
    for board in state.paired.boards:
        white, black = members[board.white], members[board.black]
        gap = expected = None
        if white.rating is not None and black.rating is not None:
            gap = white.rating - black.rating
            share = egf_expected(white.rating, black.rating, eps=0.0)[0] if by_go else expected_score(gap)
            expected = None if board.handicap else share
        pairs.append(
            {"white": white.name, "black": black.name, "gap": gap, "expected": expected, "odds": board.handicap}
        )
    lines = [note.text for note in notes if note.kind == "starts"]
    return {
        "lines": lines or [group.text(members) for group in groups],
        "groups": [
            {"name": group.name, "points": group.points, "entrants": [members[at].name for at in group.places]}
            for group in groups
        ],
        "pairs": pairs,
        "byes": [members[at].name for at in state.paired.byes],
        "warnings": [note.text for note in notes if note.is_warning],
    }


def starts_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on the starting groups, then on round 1."""
    return chain(found["lines"], round_one_lines(found))


def round_one_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on the pairs of round 1 of `starts_json`: all pairs, or a summary of a large round."""
    pairs, byes = found["pairs"], found["byes"]
    known = [pair for pair in pairs if pair["expected"] is not None]
    if known:
        gaps = [abs(pair["gap"]) for pair in known]
        shares = [max(pair["expected"], 1 - pair["expected"]) for pair in known]
        some = "" if len(known) == len(pairs) else f" of {len(known)} pairs with known ratings"
        yield (
            f"round 1: rating differences{some} are {sum(gaps) / len(gaps):.0f} on average, at most {max(gaps):.0f}; "
            f"the stronger entrant is expected to score {_percent(sum(shares) / len(shares))} on average, at "
            f"most {_percent(max(shares))}"
        )
    elif pairs:
        why = "the games are at time odds" if any(pair["odds"] for pair in pairs) else "ratings are not known"
        yield f"round 1: expected scores are not known, because {why}"
    shown = pairs if len(pairs) <= _MOST_PAIRS else sorted(known, key=lambda pair: -abs(pair["gap"]))[:_UNEQUAL]
    if shown:
        label = "round 1" if shown is pairs else f"the most unequal of {len(pairs)} pairs"
        yield f"{label}: {', '.join(map(_pair, shown))}"
    if byes:
        yield f"bye in round 1: {', '.join(byes)}"


def _pair(pair: Mapping[str, Any]) -> str:
    """Format ``Wren 4 - Wren 2 (+200, 76 %)``: the rating difference and the expected score of White."""
    gap, expected, odds = pair["gap"], pair["expected"], pair["odds"]
    known = [] if gap is None else [format_fixed(gap, 0, signed=True)]
    known += [] if expected is None else [_percent(expected)]
    known += [f"odds {odds}"] if odds else []
    return f"{pair['white']} - {pair['black']}" + (f" ({', '.join(known)})" if known else "")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
