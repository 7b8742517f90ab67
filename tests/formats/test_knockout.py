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
    """The first round."""
    format_ = knockout(seed, **settings)
    return pairs(format_, format_.start(entrants))


def play(format_: Rounds, state: RoundsState, results: dict[str, str]) -> RoundsState:
    """Games on offer now by pair: the winner's name, or = for a draw; who is not named loses to the first letter."""
    for game in format_.offers(state):
        won = results.get("".join(game.pair), min(game.pair))
        outcome = Outcome.DRAW if won == "=" else Outcome.WHITE if won == game.white else Outcome.BLACK
        state = format_.step(state, GameFinished(game, outcome))
    return state


def test_eight_by_seeds() -> None:
    """The best meet as late as they can; ranks and words say how far everybody came."""
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
    """As many as leaves are empty, to the top seeds or by lot, and every entrant is there once."""
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
    """First against second and so on, winners of neighbors next; families are not parted, and top seeds pass first."""
    format_ = knockout(seeding="list")
    state = format_.start(letters(8))
    assert format_.notes(state)[0].text == "round 1: B - A, D - C, F - E, H - G"
    assert format_.notes(play(format_, state, {}))[-1].text.startswith("round 2: C - A, G - E;")
    kin = tuple(replace(entrant, family="f") for entrant in letters(8))
    assert format_.notes(format_.start(kin))[0].text == format_.notes(state)[0].text
    few = format_.start(letters(5))
    assert format_.notes(few)[0].text.startswith("round 1: E - D; bye A, B, C")


def test_lots_depend_on_the_seed() -> None:
    """Same seed, same draw; another seed, another one."""
    draws = [drawn(seed, entrants=letters(16), seeding="lottery") for seed in (1, 1, 2, 3)]
    assert draws[0] == draws[1] and len({tuple(draw) for draw in draws}) == 3


def test_a_level_match_goes_on_until_it_is_decided() -> None:
    """Pairs with reversed colours, then one game in which a draw counts for Black, who is the higher seed."""
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
        ({"extra_pairs": 0, "sudden_death": False}, "=", "A beat D 0.5-0.5: the higher seed"),
        ({"extra_pairs": 0}, "==", "A beat D 1-1: a draw with Black in the last game"),
        ({"extra_pairs": 0}, "=D", "D beat A 1.5-0.5 in the last game"),
        ({"extra_pairs": 1}, "=D", "D beat A 2.5-0.5 after 2 more games"),
    ],
)
def test_the_story_tells_how_a_match_was_decided(settings: dict[str, Any], results: str, words: str) -> None:
    """In the note of the next round; drawn games are told by the score."""
    format_ = knockout(**settings)
    state = format_.start(letters(4))
    for result in results:
        state = play(format_, state, {"AD": result})
    while state.field.number == 1:
        state = play(format_, state, {"AD": "D"})
    assert words in format_.notes(state)[-1].text


def test_third_place() -> None:
    """Played for beside the final by those who lost the semi-finals."""
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
    """In different quarters where seeds of one tier can change places; not if it is not asked for."""
    kin = tuple(Entrant(e.name, family="kin" if e.name in "AHE" else "") for e in letters(8))
    assert drawn(part_families=False, entrants=kin) == ["AH", "BG", "CF", "DE"]
    assert [pair for pair in drawn(entrants=kin) if len(set(pair) & set("AHE")) > 1] == []


def test_who_meets_nobody_passes() -> None:
    """The opponent of a withdrawn goes on: in the match, or one round later without one."""
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
    """A finalist who leaves gives the other both points, which no game gave."""
    format_ = knockout(games_per_pairing=2)
    state = play(format_, format_.start(letters(4)), {"AD": "A", "BC": "B"})
    assert pairs(format_, state) == ["AB", "AB"]
    lines = format_.standings(format_.step(state, Withdrawn("B")))
    assert shown(lines[:2], "name half_points games unplayed") == ["A 8 2 4", "C 0 2 0"]


@pytest.mark.parametrize("seed", range(25))
def test_withdrawals_leave_true_bounds(seed: int) -> None:
    """However many go, and whenever: from the last one on the bounds were right, and nobody wins beside the winner."""
    dice = random.Random(seed)
    count = dice.randint(3, 14)
    format_ = knockout(
        games_per_pairing=2, extra_pairs=0, third_place=dice.random() < 0.5, passes=dice.choice(["top", "lot"])
    )
    state = played_out(format_, letters(count), dice, staying=2)
    assert [line.status for line in format_.standings(state)].count("winner") <= 1


def test_a_round_of_passes_alone_is_skipped() -> None:
    """Both semi-finals lose an entrant: the final is next."""
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
    """It is played again, and may end otherwise."""
    format_ = knockout()
    state = play(format_, format_.start(letters(3)), {})
    (final,) = format_.offers(state)
    state = play(format_, state, {})
    state = format_.step(state, GameVoided(final, Outcome.BLACK if final.black == "A" else Outcome.WHITE))
    assert told(format_, play(format_, state, {"AB": "B"}))["B"] == "1 winner"


def test_nobody_joins_a_cup() -> None:
    """Refused with the reason, as are more rounds and a field of one."""
    format_ = knockout()
    state = format_.start(letters(4))
    with pytest.raises(ValueError, match="after round 1 is paired"):
        format_.step(state, Added(Entrant("Z")))
    with pytest.raises(ValueError, match="number of entrants"):
        format_.step(state, Extended((("rounds", 9),)))
    with pytest.raises(ValueError, match="at least two"):
        format_.start(letters(1))


def test_the_final_is_told() -> None:
    """How the last round fell is on record as that of every round before it."""
    format_ = Rounds(SingleElimination(SingleEliminationOptions(games_per_pairing=1)))
    state = format_.start(tuple(map(Entrant, "AB")))
    state = format_.step(state, GameFinished(format_.offers(state)[0], Outcome.WHITE))
    assert format_.notes(state)[-1].kind == "end"
    assert "A" in format_.notes(state)[-1].text


@pytest.mark.parametrize("system", ["knockout", "double-elimination"])
def test_the_pairing_report_of_a_knockout(tmp_path: Path, system: str) -> None:
    """The report asked a knock-out for a setting it does not have, and failed with a trace."""
    tour(tmp_path, "run", str(config(tmp_path, ("wren1", "wren2", "wren3"), system, "")), "--max-games", "2", expect=8)
    rounds = read(tmp_path, "standings", "--pairing-report")["rounds"]
    assert rounds[0]["boards"] == 1 and rounds[-1]["round"] is None


def test_a_knockout_ends_with_its_last_round(tmp_path: Path) -> None:
    """Decided before the most rounds it could have needed, it was told as finished in round 3 of more."""
    short = "games_per_pairing = 1\nextra_pairs = 0"
    tour(tmp_path, "run", str(config(tmp_path, ("wren1", "wren4", "wren2"), "double-elimination", short)))
    number, rounds = read(tmp_path, "status")["round"]
    assert number == rounds
