"""Tests of formats/dutch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enginetour.formats.base import make_format, options_model
from enginetour.formats.dutch import BREACH, EVEN, Dutch, DutchOptions, explain, pair_dutch
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Board, Field, Kind, Member, Paired, Turn, Unpairable
from enginetour.formats.rounds import Rounds
from enginetour.model.game import Withdrawn
from tests.support.databases import entered, field_of, letters, played, unmet, white_wins
from tests.support.tournaments import config, tour

FOUR = letters(4)


def whites(seed: int = 1, **settings: Any) -> list[tuple[str, str]]:
    """Return the entrants with White in round 1."""
    format_ = make_format("dutch", options_model("dutch")(rounds=3, **settings), seed)
    return [(game.white, game.black) for game in format_.offers(format_.start(FOUR))]


def test_the_initial_color() -> None:
    """The initial color is chosen, or random from the seed."""
    assert whites(initial_color="white") == [("A", "C"), ("D", "B")]
    assert whites(initial_color="black") == [("C", "A"), ("B", "D")]
    lots = [whites(seed)[0][0] for seed in range(1, 9)]
    assert lots == [whites(seed)[0][0] for seed in range(1, 9)]
    assert set(lots) == {"A", "C"}


def test_swiss_is_dutch() -> None:
    """swiss and dutch are one system."""
    swiss, dutch = (make_format(name, options_model(name)(rounds=3)) for name in ("swiss", "dutch"))
    assert swiss.offers(swiss.start(FOUR)) == dutch.offers(dutch.start(FOUR))


def test_baku_separates_the_halves() -> None:
    """The upper half is paired within itself in the accelerated rounds."""
    assert whites(acceleration="baku", initial_color="white") == [("A", "B"), ("C", "D")]


def test_both_colors_in_a_match_are_told() -> None:
    """If matches have both colors, color rules do not apply and a remark says that this is not FIDE Dutch."""
    format_ = make_format("dutch", options_model("dutch")(rounds=3, games_per_pairing=2))
    state = format_.start(FOUR)
    fields = dict(format_.notes(state)[0].fields)
    assert EVEN in str(fields["guarantee"]) and fields["remarks"] == [EVEN]
    assert state.field.win == 4


def test_the_table_is_by_fide_tie_breaks() -> None:
    """The table orders by points, BH-C1, BH, SB and DE."""
    format_ = make_format("dutch", options_model("dutch")(rounds=1))
    state = played(format_, format_.start(FOUR))
    assert [code for code, _ in format_.standings(state)[0].tiebreaks] == ["BH-C1", "BH", "SB", "DE"]


def test_a_strict_tournament_may_end_early() -> None:
    """A strict tournament can end early, and its bounds allow that."""
    format_ = make_format("dutch", options_model("dutch")(rounds=3, strict=True))
    assert format_.remaining(format_.start(FOUR)) == (2, 6)
    with pytest.raises(Unpairable, match="no legal round exists for E1, E2, E3, E4"):
        pair_dutch(unmet(4, ()), strict=True)


def met_again(*rounds: tuple[tuple[int, int], ...]) -> Field:
    """Return four entrants that have met in these rounds, with drawn games and no colors."""
    field = entered(4, 9)
    for pairs in rounds:
        row = [Turn()] * 4
        for one, other in pairs:
            row[one], row[other] = Turn(Kind.PLAYED, other, points=1), Turn(Kind.PLAYED, one, points=1)
        field = replace(field, history=(*field.history, tuple(row)))
    return field


def test_the_least_recent_rematches() -> None:
    """If all have met, the pairs of round 1 meet again, with remarks."""
    field = met_again(((0, 3), (1, 2)), ((0, 1), (2, 3)), ((0, 2), (1, 3)))
    paired = pair_dutch(field)
    assert {board.pair for board in paired.boards} == {(0, 3), (1, 2)}
    assert paired.guarantee.startswith(BREACH)
    assert paired.remarks == ("E1 - E4 is a rematch of round 1", "E2 - E3 is a rematch of round 1")


def test_fewest_rematches_come_before_the_least_recent() -> None:
    """One recent rematch is better than two old ones."""
    field = met_again(((0, 1), (2, 3)), ((0, 2),), ((1, 2),), ((0, 3),))
    assert {board.pair for board in pair_dutch(field).boards} == {(0, 2), (1, 3)}


def test_a_third_color_comes_before_a_rematch() -> None:
    """A color clash is better than a rematch."""
    paired = pair_dutch(field_of(entered(4, 9).members, "A=C B=D", "A=D B=C", total=9))
    assert {board.pair for board in paired.boards} == {(0, 1), (2, 3)}
    assert paired.remarks == (
        "E1 and E2 have the same absolute color preference",
        "E3 and E4 have the same absolute color preference",
    )


def test_a_second_bye_comes_before_a_rematch() -> None:
    """A second bye is better than a rematch."""
    byes = replace(entered(3, 9), history=((Turn(Kind.BYE, points=2),) * 3,))
    paired = pair_dutch(byes)
    assert paired.boards == (Board(0, 1),) and paired.byes == (2,)
    assert paired.remarks == ("E3 gets the bye, but already had a bye or a win without a game (C2)",)


def test_a_third_color_comes_before_a_second_bye() -> None:
    """A color clash is better than a second bye."""
    met = field_of(entered(5, 9).members, "A=D B=E", "A=E B=D", total=9)
    given = (*[Turn(Kind.FULL_BYE, points=2)] * 2, *[Turn()] * 3)
    paired = pair_dutch(replace(met, history=(*met.history, given), present=(0, 1, 2)))
    assert paired.byes == (2,)
    assert paired.remarks == ("E1 and E2 have the same absolute color preference",)


def test_families_apart() -> None:
    """Forbidden families meet only if necessary, with a remark."""
    field = entered(4, 9)
    kin = tuple(replace(member, family="f" if place in (0, 2) else "") for place, member in enumerate(field.members))
    field = replace(field, members=kin)
    assert {board.pair for board in pair_dutch(field).boards} == {(0, 2), (1, 3)}
    assert {board.pair for board in pair_dutch(field, forbid_family=True).boards} == {(0, 3), (1, 2)}
    alone = replace(field, present=(0, 2))
    assert pair_dutch(alone, forbid_family=True).remarks == ("E1 and E3 belong to the same family",)


def test_the_criteria_of_a_pair() -> None:
    """The criteria of a pair are reported with whether they are met."""
    field = field_of(entered(4, 3).members, "A1C B1D", total=3)
    told = {name: met for name, met, _ in explain(field, 1, 0)}
    assert told["not met before"] and told["inside the same score group"] and told["no color three times in a row"]
    assert not told["color preferences"]
    across = {name: met for name, met, _ in explain(field, 0, 2)}
    assert not across["not met before"] and not across["inside the same score group"] and across["color preferences"]


@pytest.mark.parametrize("points", [0.0, 0.5, 1.0])
def test_nobody_rests_twice_whatever_a_bye_is_worth(points: float) -> None:
    """Byes go to different entrants and give the configured points."""
    format_ = Rounds(Dutch(DutchOptions(rounds=4, bye_points=points)))
    state = played(format_, format_.start(letters(7)), judge=white_wins)
    byes = [str(dict(note.fields)["byes"]) for note in state.notes if note.kind == "round"]
    assert len(set(byes)) == 4
    turns = [turn for row in state.field.history for turn in row if turn.kind is Kind.BYE]
    assert [turn.points for turn in turns] == [2 * points] * 3  # the last round stays open


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bye_points": 1.5}, "bye_points must be between 0 and 1 in steps of 0.5 .found 1.5."),
        ({"bye_points": 0.3}, "in steps of 0.5"),
        ({"bye_points": -1}, "greater than or equal to 0"),
        ({"bye_points": 1.5, "games_per_pairing": 2, "scoring": "match"}, "between 0 and 1"),
    ],
)
def test_a_bye_is_worth_no_more_than_a_win(settings: dict[str, object], words: str) -> None:
    """A bye gives at most the points of a won match."""
    with pytest.raises(ValueError, match=words):
        DutchOptions.model_validate(settings)
    assert DutchOptions(bye_points=2, games_per_pairing=2).won_match == 4


def test_a_round_without_a_legal_pairing_says_so_itself() -> None:
    """The remark belongs to the round that breaks a rule."""
    away = {name: [1, 2, 3, 4] for name in "DE"}
    format_ = Rounds(Dutch(DutchOptions.model_validate({"rounds": 4, "bye_points": 0, "absent": away})))
    state = played(format_, format_.start(letters(5)), judge=white_wins)
    rounds = [dict(note.fields) for note in state.notes if note.kind == "round"]
    assert [bool(one["remarks"]) for one in rounds] == [False, False, False, True]
    assert [BREACH in str(one["guarantee"]) for one in rounds] == [False, False, False, True]


def test_who_is_left_alone_has_no_second_bye_in_silence() -> None:
    """A second bye of the last entrant gives a remark each time."""
    format_ = Rounds(Dutch(DutchOptions.model_validate({"rounds": 3, "absent": {"B": [2, 3]}})))
    state = played(format_, format_.step(format_.start(letters(3)), Withdrawn("C")), judge=white_wins)
    rounds = [dict(note.fields) for note in state.notes if note.kind == "round"]
    assert [one["byes"] for one in rounds] == [["C"], ["A"], ["A"]]
    assert [one["remarks"] for one in rounds[:2]] == [[], []]
    assert rounds[2]["remarks"] == ["A gets the bye, but already had a bye or a win without a game (C2)"]


def test_a_first_round_without_a_legal_pairing_says_so(tmp_path: Path) -> None:
    """`check` and `run` show the remarks of round 1 before the first game."""
    path = config(tmp_path, ("wren1", "wren2", "wren3", "wren4"), "dutch", "rounds = 2\nforbid_family = true")
    told = tour(tmp_path, "check", str(path)).stdout
    assert told.count("warning: round 1: ") == 2 and "Wren 1 and Wren 3 belong to the same family" in told
    shown = tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    first = next(line for line in (shown.stdout + shown.stderr).splitlines() if "round 1: " in line)
    assert "Wren 1 and Wren 3 belong to the same family" in first


FILES = sorted((Path(__file__).parents[1] / "golden" / "trf").glob("*.trf"))
COLORS = {"w": WHITE, "b": BLACK}
POINTS = {"1": 2, "+": 2, "U": 2, "F": 2, "=": 1, "H": 1}
UNPLAYED = {"U": Kind.BYE, "H": Kind.HALF_BYE, "F": Kind.FULL_BYE}


def turn_of(text: str) -> Turn:
    """Read the ten columns of a round: opponent, color, result."""
    opponent, color, result = text[:4].strip(" 0"), text[5:6], text[7:8]
    if not opponent:
        return Turn(UNPLAYED.get(result, Kind.ABSENT), points=POINTS.get(result, 0))
    kind = Kind.FORFEIT if result in "+-" else Kind.PLAYED
    return Turn(kind, int(text[:4]) - 1, COLORS.get(color, NEITHER), POINTS.get(result, 0))


def rounds_of(path: Path) -> Iterator[tuple[Field, int, set[Board], tuple[int, ...]]]:
    """Return field and initial color before each round, then its boards and bye."""
    lines = [line[91:] for line in path.read_text().splitlines() if line.startswith("001")]
    rounds = max(-(-len(line) // 10) for line in lines)
    history = tuple(tuple(turn_of(line[10 * r : 10 * r + 10]) for line in lines) for r in range(rounds))
    members = tuple(Member(f"{number}") for number in range(1, len(lines) + 1))
    whole = Field(members, history, rounds=rounds)
    there = whole.before(1).present
    count, first = next((n, history[0][m]) for n, m in enumerate(there, 1) if history[0][m].paired)
    initial = first.color if count % 2 else -first.color
    for number, row in enumerate(history, 1):
        boards = {Board(m, t.opponent) for m, t in enumerate(row) if t.opponent is not None and t.color == WHITE}
        yield whole.before(number), initial, boards, tuple(m for m, t in enumerate(row) if t.kind is Kind.BYE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_round_as_recorded(path: Path) -> None:
    """Each recorded round has the same pairs, colors and bye."""
    for field, initial, boards, byes in rounds_of(path):
        paired = pair_dutch(field, initial_color=initial)
        assert (set(paired.boards), paired.byes) == (boards, byes), f"round {field.number}"
        assert paired == Paired(paired.boards, byes, "maximum weight, certified")


def test_there_are_rounds_to_compare() -> None:
    """The recorded files have 139 rounds with 2018 pairs and 73 byes."""
    rounds = [case for path in FILES for case in rounds_of(path)]
    assert len(rounds) == 139
    assert sum(len(boards) for _, _, boards, _ in rounds) == 2018
    assert sum(len(byes) for *_, byes in rounds) == 73


def pairs(count: int, *left: str) -> list[str]:
    """Return the round if only these pairs of letters have not met."""
    places = [(ord(pair[0]) - ord("a"), ord(pair[1]) - ord("a")) for pair in left]
    found = pair_dutch(unmet(count, places))
    return ["".join(chr(ord("a") + place) for place in board.pair) for board in found.boards]


def test_the_first_round() -> None:
    """Round 1 pairs the upper with the lower half, colors alternate, and the last has the bye."""
    paired = pair_dutch(entered(7, 5), initial_color=WHITE)
    assert paired.boards == (Board(0, 3), Board(4, 1), Board(2, 5))
    assert paired.byes == (6,)


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ("ae bd cf", "ad bf ce"),  # the first gets the highest opponent it can
        ("ab ce df", "ad be cf"),  # nobody leaves the upper half if nobody has to
        ("ad bc ef", "af bc de"),  # whoever comes up is the highest: d, not e
        ("ae bc df", "ac be df"),  # the same exchange, and the first has the highest opponent
        ("ab cf de gh", "ab ce dg fh"),
        ("ae bf cg dh ij", "ac bg dh ei fj"),  # f for c rather than i for e: the numbers on top are smaller
        ("ad be cf gi hj", "ad be cg fh ij"),  # f and i come up rather than g and h: their numbers add up alike
    ],
)
def test_the_better_of_two(worse: str, better: str) -> None:
    """Of two possible rounds the better one by the rules is chosen."""
    assert pairs(2 * len(better.split()), *worse.split(), *better.split()) == better.split()
