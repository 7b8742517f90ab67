"""King of the hill: who is the king after each match. The laws of all formats are in enginetour.testing."""

from enginetour.formats.base import make_format, options_model, replay
from enginetour.model.game import Entrant, GameFinished, Outcome, Withdrawn


def test_the_winner_is_the_king() -> None:
    """The winner of a match is the king; a drawn match does not change the king."""
    format_ = make_format("hill", options_model("hill")(games_per_pairing=1))
    state = format_.start(tuple(map(Entrant, "ABCD")))
    kings = []
    for outcome in (Outcome.BLACK, Outcome.DRAW, Outcome.WHITE):
        (game,) = format_.offers(state)
        kings.append(game.white)
        state = format_.step(state, GameFinished(game, outcome))
    assert kings == ["A", "B", "B"]
    assert [line.name for line in format_.standings(state)] == ["B", "D", "C", "A"]


def test_the_challenger_replaces_a_king_that_withdraws() -> None:
    """If the king withdraws, the challenger is the king, and the next entrant plays against it."""
    format_ = make_format("hill", options_model("hill")())
    state = replay(format_, tuple(map(Entrant, "ABC")), [Withdrawn("A")])
    assert {game.pair for game in format_.offers(state)} == {("B", "C")}
