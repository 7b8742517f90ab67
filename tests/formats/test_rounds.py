"""Tests of formats/rounds, with a pairing system that takes the first legal pairs."""

from __future__ import annotations

from typing import Any

import pytest

from enginetour.formats.pairing.field import Board, Field, Kind, Paired, Unpairable
from enginetour.formats.rounds import PairingSystem, Rounds, RoundsOptions, RoundsState
from enginetour.model.game import (
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameVoided,
    Outcome,
    Replaced,
    Withdrawn,
)
from tests.support.databases import letters, played, white_wins

FOUR = letters(4)


class FirstLegal(PairingSystem):
    """Pairs each entrant with the first unmet one in entry order; the last without a bye gets it."""

    def pair(self, field: Field) -> Paired:
        there = list(field.present)
        byes: tuple[int, ...] = ()
        if len(there) % 2:
            byes = (min(there, key=lambda member: (field.byes(member), -member)),)
            there.remove(byes[0])
        boards = self._rest(field, there)
        if boards is None:
            raise Unpairable("everybody has met everybody")
        return Paired(tuple(boards), byes)

    def _rest(self, field: Field, there: list[int]) -> list[Board] | None:
        if not there:
            return []
        for other in there[1:]:
            if not field.met(there[0], other):
                rest = self._rest(field, [member for member in there[1:] if member != other])
                if rest is not None:
                    return [Board(there[0], other), *rest]
        return None


class Decided(FirstLegal):
    """Adds two games to tied matches, up to four."""

    def more(self, _field: Field, _board: Board, points: tuple[int, int], played: int) -> int:
        return 2 if points[0] == points[1] and played < 4 else 0

    def games_ahead(self, boards: int) -> int:
        return 3 * boards


def rounds(system: type[PairingSystem] = FirstLegal, **settings: Any) -> Rounds:
    return Rounds(system(RoundsOptions(**{"rounds": 3, **settings})))


def after(format_: Rounds, state: RoundsState, *events: Event) -> RoundsState:
    for event in events:
        state = format_.step(state, event)
    return state


def all_white(format_: Rounds, state: RoundsState, games: int) -> RoundsState:
    return played(format_, state, games, white_wins)


def pairs(format_: Rounds, state: RoundsState) -> list[str]:
    return [f"{game.white}{game.black}" for game in format_.offers(state)]


def test_rounds_follow_each_other() -> None:
    """The next round is offered when the last game of the round is finished."""
    format_ = rounds()
    state = format_.start(FOUR)
    assert pairs(format_, state) == ["AB", "CD"]
    assert format_.remaining(state) == (6, 6)
    state = all_white(format_, state, 1)
    assert pairs(format_, state) == ["CD"]
    state = all_white(format_, state, 1)
    assert pairs(format_, state) == ["AC", "BD"]
    assert [line.half_points for line in format_.standings(state)] == [2, 2, 0, 0]
    state = all_white(format_, state, 4)
    assert format_.offers(state) == () and format_.remaining(state) == (0, 0)
    assert [note.text for note in format_.notes(state)] == [
        "round 1: A - B, C - D",
        "round 2: A - C, B - D",
        "round 3: A - D, B - C",
    ]


def test_a_match_of_two_games() -> None:
    """Both games use one opening with both colors, and `scoring` decides their points."""
    for scoring, expected in (("games", [2, 2]), ("match", [1, 1])):
        format_ = rounds(rounds=1, games_per_pairing=2, scoring=scoring)
        state = format_.start(FOUR[:2])
        assert pairs(format_, state) == ["AB", "BA"]
        state = all_white(format_, state, 2)
        assert [line.half_points for line in format_.standings(state)] == expected
        assert [line.games for line in format_.standings(state)] == [2, 2]


def test_a_bye_scores_a_win() -> None:
    """The bye of an odd field gives the points of a won match."""
    format_ = rounds(games_per_pairing=2)
    state = format_.start(FOUR[:3])
    first = format_.standings(state)[0]
    assert (first.name, first.half_points, first.games, first.unplayed) == ("C", 4, 0, 4)
    assert "bye C" in format_.notes(state)[0].text


def test_who_withdraws_forfeits_its_unplayed_games() -> None:
    """The opponent of a withdrawn entrant wins its unplayed games."""
    format_ = rounds()
    state = all_white(format_, format_.start(FOUR), 1)
    state = after(format_, state, Withdrawn("D"))
    assert state.field.history[0][2].kind is Kind.FORFEIT and state.field.history[0][2].points == 2
    assert not state.field.met(2, 3)
    assert "D" not in "".join(pairs(format_, state))
    assert format_.standings(state)[-1].rank is None


def test_both_gone_is_a_forfeit_of_both() -> None:
    """If both entrants withdraw, neither gets points."""
    format_ = rounds()
    state = after(format_, format_.start(FOUR), Withdrawn("C"), Withdrawn("D"))
    state = all_white(format_, state, 1)
    assert [turn.points for turn in state.field.history[0]] == [2, 0, 0, 0]


def test_half_a_match_counts_as_played() -> None:
    """A match with one played and one canceled game counts as a meeting."""
    format_ = rounds(games_per_pairing=2)
    state = format_.start(FOUR)
    state = format_.step(state, GameFinished(format_.offers(state)[0], Outcome.BLACK))
    state = after(format_, state, Withdrawn("B"))
    state = all_white(format_, state, 2)
    turn = state.field.history[0][0]
    assert (turn.kind, turn.points, turn.games) == (Kind.PLAYED, 2, 1)


def test_voids() -> None:
    """A void game of the current round is played again; earlier rounds stay decided."""
    format_ = rounds(rounds=2)
    state = format_.start(FOUR)
    first = format_.offers(state)[0]
    state = after(format_, all_white(format_, state, 1), GameVoided(first, Outcome.WHITE))
    assert pairs(format_, state) == ["AB", "CD"]
    state = after(format_, all_white(format_, state, 2), GameVoided(first, Outcome.WHITE))
    assert state.field.scores == (2, 0, 2, 0)
    last = format_.offers(state)[0]
    state = all_white(format_, state, 2)
    assert format_.offers(state) == ()
    assert format_.offers(after(format_, state, GameVoided(last, Outcome.WHITE))) == (last,)


def test_newcomers_play_from_the_next_round() -> None:
    """Late entrants and replacements play from the next round on."""
    format_ = rounds()
    state = after(format_, format_.start(FOUR), Added(Entrant("E")), Replaced("B", Entrant("F")))
    state = all_white(format_, state, 1)
    assert [turn.kind for turn in state.field.history[0]][4:] == [Kind.ABSENT] * 2
    assert sorted("".join(pairs(format_, state))) == ["A", "C", "D", "E"]  # F has the bye
    with pytest.raises(ValueError, match="already"):
        format_.step(state, Added(Entrant("B")))


def test_more_rounds() -> None:
    """Rounds can be added, also after the last, but not removed."""
    format_ = rounds(rounds=1)
    state = all_white(format_, format_.start(FOUR), 2)
    longer = after(format_, state, Extended((("rounds", 2),)))
    assert pairs(format_, longer) == ["AC", "BD"]
    for wrong in ((("rounds", 1),), (("cycles", 3),)):
        with pytest.raises(ValueError, match="rounds"):
            format_.step(state, Extended(wrong))


def test_no_legal_round_is_told() -> None:
    """Without a legal round the tournament ends with a note; a new entrant continues it."""
    format_ = rounds(rounds=3)
    state = after(format_, format_.start(FOUR), Withdrawn("C"), Withdrawn("D"))
    state = all_white(format_, state, 1)
    assert format_.notes(state)[-1].text == "round 2 cannot be paired: everybody has met everybody"
    assert format_.remaining(state) == (0, 0)
    assert pairs(format_, after(format_, state, Added(Entrant("E")), Added(Entrant("F")))) == ["AE", "BF"]


def test_level_matches_go_on_where_a_system_wants_it() -> None:
    """Extra games are added when all games of the round are finished."""
    format_ = rounds(Decided, rounds=1)
    state = format_.start(FOUR)
    for outcome in (Outcome.DRAW, Outcome.WHITE):
        state = format_.step(state, GameFinished(format_.offers(state)[0], outcome))
    assert pairs(format_, state) == ["AB", "BA"]
    assert format_.offers(state)[0].meeting == 2
    state = format_.step(state, GameFinished(format_.offers(state)[0], Outcome.DRAW))
    state = format_.step(state, GameFinished(format_.offers(state)[0], Outcome.DRAW))
    assert pairs(format_, state) == ["AB", "BA"]
    state = all_white(format_, state, 2)
    assert format_.offers(state) == ()


def test_more_rounds_than_opponents() -> None:
    """Too many rounds are an error that names the maximum."""
    with pytest.raises(ValueError, match="at most 3"):
        rounds(rounds=4).start(FOUR)
    with pytest.raises(ValueError, match="twice"):
        rounds(rounds=1).start((*FOUR, FOUR[0]))


def test_the_order_of_the_table_is_a_setting() -> None:
    """The codes of `placement` replace the order of the system."""
    format_ = rounds(rounds=2, placement=["PTS", "BH", "WON"], unplayed="fide")
    state = all_white(format_, format_.start(FOUR[:3]), 2)
    lines = format_.standings(state)
    assert [(line.name, line.half_points) for line in lines] == [("A", 4), ("B", 2), ("C", 2)]
    assert lines[0].tiebreaks == (("BH", 4), ("WON", 2))
    assert lines[1].tiebreaks == (("BH", 4 + 2), ("WON", 0))


def test_what_cannot_order_a_table_is_refused() -> None:
    """Invalid codes are errors with the nearest valid code."""
    for wrong, told in (
        (["BHC1"], "did you mean 'BH-C1'"),
        (["Q"], "use PTS, NBW"),
        ("BH", "a list of codes"),
        (["PTS", "PTS"], "twice"),
        (["PTS", "SOSW", "SOSOSW", "CUSSW", "DE", "SB", "BH"], "at most 6"),
    ):
        with pytest.raises(ValueError, match=told):
            RoundsOptions(placement=wrong)  # type: ignore[arg-type]


def test_aims_that_cancel_are_told_before_the_first_round() -> None:
    """Contradicting codes, and codes that the pairing equalizes, give warnings."""

    class Even(FirstLegal):
        evens_sos = True

    format_ = rounds(Even, placement=["NBW", "SOSM", "DC", "SDC"])
    notes = format_.notes(format_.start(FOUR))
    assert [note.kind for note in notes] == ["warning"] * 3 + ["round"]
    assert notes[0].text == "placement mixes codes based on wins (NBW) with codes based on McMahon scores (SOSM)"
    assert "DC and SDC" in notes[1].text and "ranking by SOSM" in notes[2].text
    assert rounds(Even).system.warnings() == ()
    assert rounds(placement=["SB"]).system.warnings() == (
        "placement begins with the tie-break SB. Hint: put PTS or NBW first to rank by points",
    )
