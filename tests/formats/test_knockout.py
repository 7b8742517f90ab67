"""Tests of formats/knockout."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enginetour.formats.knockout import SingleElimination, SingleEliminationOptions
from enginetour.formats.rounds import Rounds, RoundsState
from enginetour.model.game import Added, Entrant, Extended, GameFinished, GameVoided, Outcome, Withdrawn
from tests.support.databases import letters, pairs, played_out, shown, told
from tests.support.tournaments import config, read, tour


def knockout(seed: int = 1, **settings: Any) -> Rounds:
    return Rounds(SingleElimination(SingleEliminationOptions(**{"games_per_pairing": 1, **settings})), seed)


def drawn(seed: int = 1, *, entrants: tuple[Entrant, ...], **settings: Any) -> list[str]:
    """Return the pairs of round 1."""
    format_ = knockout(seed, **settings)
    return pairs(format_, format_.start(entrants))


def play(format_: Rounds, state: RoundsState, results: dict[str, str]) -> RoundsState:
    """Play the offered games with these winners or draws; by default the first letter wins."""
    for game in format_.offers(state):
        won = results.get("".join(game.pair), min(game.pair))
        outcome = Outcome.DRAW if won == "=" else Outcome.WHITE if won == game.white else Outcome.BLACK
        state = format_.step(state, GameFinished(game, outcome))
    return state


def test_eight_by_seeds() -> None:
    """The best seeds meet as late as possible, and the table shows how far each entrant came."""
    format_ = knockout()
    state = format_.start(letters(8))
    assert pairs(format_, state) == ["AH", "BG", "CF", "DE"]
    assert format_.remaining(state) == (7, 7 + 5 * 7)
    state = play(format_, state, {"CF": "F"})
    assert pairs(format_, state) == ["AD", "BF"]
    assert told(format_, state)["F"] == "1 in the semi-final"
    state = play(format_, play(format_, state, {}), {"AB": "B"})
    assert format_.offers(state) == () and format_.remaining(state) == (0, 0)
    assert told(format_, state) == {
        "B": "1 winner",
        "A": "2 lost the final",
        "D": "3 lost the semi-final",
        "F": "3 lost the semi-final",
        "C": "5 lost the quarter-final",
        "E": "5 lost the quarter-final",
        "G": "5 lost the quarter-final",
        "H": "5 lost the quarter-final",
    }
    assert format_.standings(state)[0].tiebreaks == (("CPS", 2 * (4 + 2 + 1)),)
    assert (
        format_.notes(state)[1].text == "round 2: D - A, B - F; A beat H 1-0; D beat E 1-0; B beat G 1-0; F beat C 1-0"
    )


@pytest.mark.parametrize("count", range(2, 17))
def test_passes(count: int) -> None:
    """Empty leaves give passes to the top seeds or random entrants."""
    tree = 1 << (count - 1).bit_length()
    for passes in ("top", "lot"):
        for seeding in ("fold", "lottery", "list"):
            format_ = knockout(passes=passes, seeding=seeding)
            state = format_.start(letters(count))
            assert len(format_.offers(state)) == count - tree // 2
            byes = state.paired.byes
            assert len(byes) == tree - count and (passes == "lot" or byes == tuple(range(tree - count)))
            assert sorted([*byes, *(place for board in state.paired.boards for place in board.pair)]) == [*range(count)]


def test_the_list_can_be_the_draw() -> None:
    """seeding = list pairs neighbors in list order and does not separate families."""
    format_ = knockout(seeding="list")
    state = format_.start(letters(8))
    assert format_.notes(state)[0].text == "round 1: B - A, D - C, F - E, H - G"
    assert format_.notes(play(format_, state, {}))[-1].text.startswith("round 2: C - A, G - E;")
    kin = tuple(replace(entrant, family="f") for entrant in letters(8))
    assert format_.notes(format_.start(kin))[0].text == format_.notes(state)[0].text
    few = format_.start(letters(5))
    assert format_.notes(few)[0].text.startswith("round 1: E - D; bye A, B, C")


def test_lots_depend_on_the_seed() -> None:
    """The same seed gives the same draw."""
    draws = [drawn(seed, entrants=letters(16), seeding="lottery") for seed in (1, 1, 2, 3)]
    assert draws[0] == draws[1] and len({tuple(draw) for draw in draws}) == 3


def test_a_level_match_goes_on_until_it_is_decided() -> None:
    """A tied match gets extra pairs, then a game in which a draw counts for Black."""
    format_ = knockout(games_per_pairing=2, extra_pairs=1)
    state = format_.start(letters(2))
    assert [(game.white, game.black) for game in format_.offers(state)] == [("B", "A"), ("A", "B")]
    level = {"AB": "="}
    state = play(format_, play(format_, state, level), level)
    (last,) = format_.offers(state)
    assert (last.white, last.meeting, last.leg) == ("B", 3, 1)
    assert told(format_, state) == {"A": "1 in the final", "B": "1 in the final"}
    drawn = play(format_, state, level)
    assert format_.offers(drawn) == () and told(format_, drawn) == {"A": "1 winner", "B": "2 lost the final"}
    assert told(format_, play(format_, state, {"AB": "B"}))["B"] == "1 winner"


@pytest.mark.parametrize(
    ("settings", "results", "words"),
    [
        ({"extra_pairs": 0, "sudden_death": False}, "=", "A beat D 0.5-0.5 as the higher seed"),
        ({"extra_pairs": 0}, "==", "A beat D 1-1 by a draw with Black in the last game"),
        ({"extra_pairs": 0}, "=D", "D beat A 1.5-0.5 in the last game"),
        ({"extra_pairs": 1}, "=D", "D beat A 2.5-0.5 after 2 more games"),
    ],
)
def test_the_story_tells_how_a_match_was_decided(settings: dict[str, Any], results: str, words: str) -> None:
    """The note of the next round describes how a match was decided."""
    format_ = knockout(**settings)
    state = format_.start(letters(4))
    for result in results:
        state = play(format_, state, {"AD": result})
    while state.field.number == 1:
        state = play(format_, state, {"AD": "D"})
    assert words in format_.notes(state)[-1].text


def test_third_place() -> None:
    """The losers of the semi-finals play for third place."""
    format_ = knockout(third_place=True)
    state = format_.start(letters(4))
    assert format_.remaining(state)[0] == 4
    state = play(format_, state, {})
    assert pairs(format_, state) == ["AB", "CD"]
    assert told(format_, state)["C"] == "3 in the match for third place"
    state = play(format_, state, {"CD": "D"})
    assert told(format_, state) == {"A": "1 winner", "B": "2 lost the final", "D": "3 third", "C": "4 fourth"}
    three = knockout(third_place=True)
    state = play(three, three.start(letters(3)), {})
    assert pairs(three, state) == ["AB"]  # one semi-final was a pass: its loser is third without a match


def test_families_meet_late() -> None:
    """Families are in different quarters where seeds of one tier allow it."""
    kin = tuple(Entrant(e.name, family="kin" if e.name in "AHE" else "") for e in letters(8))
    assert drawn(part_families=False, entrants=kin) == ["AH", "BG", "CF", "DE"]
    assert [pair for pair in drawn(entrants=kin) if len(set(pair) & set("AHE")) > 1] == []


def test_who_meets_nobody_passes() -> None:
    """The opponent of a withdrawn entrant advances."""
    format_ = knockout(games_per_pairing=2)
    state = format_.start(letters(4))
    first = next(game for game in format_.offers(state) if "A" in game.pair)
    state = format_.step(state, GameFinished(first, Outcome.WHITE if first.white == "A" else Outcome.BLACK))
    inside = play(format_, format_.step(state, Withdrawn("A")), {})
    assert pairs(format_, inside) == ["BD", "BD"]
    assert "D advances, A withdrew" in format_.notes(inside)[-1].text
    whole = play(format_, state, {"BC": "="})
    later = format_.step(whole, Withdrawn("A"))
    later = play(format_, later, {"BC": "C"})
    assert format_.offers(later) == () and told(format_, later)["C"] == "1 winner"
    assert told(format_, later)["D"] == "2 lost the semi-final"


def test_points_of_a_match_that_nobody_played_stand_apart() -> None:
    """Points of unplayed games are shown separately."""
    format_ = knockout(games_per_pairing=2)
    state = play(format_, format_.start(letters(4)), {"AD": "A", "BC": "B"})
    assert pairs(format_, state) == ["AB", "AB"]
    lines = format_.standings(format_.step(state, Withdrawn("B")))
    assert shown(lines[:2], "name half_points games unplayed") == ["A 8 2 4", "C 0 2 0"]


@pytest.mark.parametrize("seed", range(25))
def test_withdrawals_leave_true_bounds(seed: int) -> None:
    """With any withdrawals the bounds hold and there is at most one winner."""
    dice = random.Random(seed)
    count = dice.randint(3, 14)
    format_ = knockout(
        games_per_pairing=2, extra_pairs=0, third_place=dice.random() < 0.5, passes=dice.choice(["top", "lot"])
    )
    state = played_out(format_, letters(count), dice, staying=2)
    assert [line.status for line in format_.standings(state)].count("winner") <= 1


def test_a_round_of_passes_alone_is_skipped() -> None:
    """If both semi-finals lose an entrant, the final is next."""
    format_ = knockout()
    state = format_.start(letters(8))
    for game in format_.offers(state)[:-1]:
        state = format_.step(state, GameFinished(game, Outcome.WHITE if game.white in "ABD" else Outcome.BLACK))
    for name in "AB":
        state = format_.step(state, Withdrawn(name))
    state = play(format_, state, {})
    assert pairs(format_, state) == ["CD"]
    assert told(format_, play(format_, state, {}))["C"] == "1 winner"


def test_the_final_stays_open_to_a_voided_game() -> None:
    """A void game of the final is played again."""
    format_ = knockout()
    state = play(format_, format_.start(letters(3)), {})
    (final,) = format_.offers(state)
    state = play(format_, state, {})
    state = format_.step(state, GameVoided(final, Outcome.BLACK if final.black == "A" else Outcome.WHITE))
    assert told(format_, play(format_, state, {"AB": "B"}))["B"] == "1 winner"


def test_nobody_joins_a_cup() -> None:
    """Late entrants, added rounds and a field of one are errors."""
    format_ = knockout()
    state = format_.start(letters(4))
    with pytest.raises(ValueError, match="after round 1 is paired"):
        format_.step(state, Added(Entrant("Z")))
    with pytest.raises(ValueError, match="number of entrants"):
        format_.step(state, Extended((("rounds", 9),)))
    with pytest.raises(ValueError, match="at least two"):
        format_.start(letters(1))


def test_the_final_is_told() -> None:
    """The result of the final is noted."""
    format_ = Rounds(SingleElimination(SingleEliminationOptions(games_per_pairing=1)))
    state = format_.start(tuple(map(Entrant, "AB")))
    state = format_.step(state, GameFinished(format_.offers(state)[0], Outcome.WHITE))
    assert format_.notes(state)[-1].kind == "end"
    assert "A" in format_.notes(state)[-1].text


@pytest.mark.parametrize("system", ["knockout", "double-elimination"])
def test_the_pairing_report_of_a_knockout(tmp_path: Path, system: str) -> None:
    """The pairing report works for knockouts."""
    tour(tmp_path, "run", str(config(tmp_path, ("wren1", "wren2", "wren3"), system, "")), "--max-games", "2", expect=8)
    rounds = read(tmp_path, "standings", "--pairing-report")["rounds"]
    assert rounds[0]["boards"] == 1 and rounds[-1]["round"] is None


def test_a_knockout_ends_with_its_last_round(tmp_path: Path) -> None:
    """A decided knockout is shown as finished in its last round."""
    short = "games_per_pairing = 1\nextra_pairs = 0"
    tour(tmp_path, "run", str(config(tmp_path, ("wren1", "wren4", "wren2"), "double-elimination", short)))
    number, rounds = read(tmp_path, "status")["round"]
    assert number == rounds
