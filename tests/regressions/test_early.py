"""What a bubble had promised to take, and did not."""

from __future__ import annotations

from enginetour.formats.bubble import Bubble, BubbleOptions
from enginetour.model.game import Added, Entrant, GameFinished, GameVoided, Outcome, Pairing

BEFORE = """1-4 2 1-0, 0-5 1 =, 3-5 5 =, 4-0 4 1-0, 2-4 8 0-1, 2-3 3 1-0, 5-1 9 0-1, 1-2 6 =, 0-3 7 1-0, 0-2 10 1-0,
3-1 11 1-0, 1-0 13 0-1"""
AFTER = "5-2 14 1-0, 4-5 12 0-1, 3-4 15 1-0"
OUTCOMES = {"1-0": Outcome.WHITE, "0-1": Outcome.BLACK, "=": Outcome.DRAW}


def told(words: str) -> GameFinished:
    """Who met, number of the encounter, outcome."""
    pair, number, outcome = words.split()
    white, black = (f"E{name}" for name in pair.split("-"))
    return GameFinished(Pairing(white, black, encounter=int(number)), OUTCOMES[outcome])


def test_one_promise_of_a_pair_is_enough() -> None:
    """A game begun before somebody joins and one is struck out comes in; nothing is begun early after that."""
    bubble = Bubble(BubbleOptions(size=6, min_matches=6, unpark_threshold=2))
    state = bubble.start(tuple(Entrant(f"E{number}") for number in reversed(range(11))))
    for words in BEFORE.split(","):
        state = bubble.step(state, told(words.strip()))
    begun = Pairing("E5", "E6", encounter=20, round=2)
    assert begun in bubble.ahead(state)
    first = told(BEFORE.split(",")[0])
    for event in (Added(Entrant("N1")), GameVoided(first.pairing, first.outcome), first):
        state = bubble.step(state, event)
        assert bubble.ahead(state) == ()
    for words in AFTER.split(","):
        state = bubble.step(state, told(words.strip()))
    state = bubble.step(state, GameFinished(begun, Outcome.WHITE))
    assert state.early.results[begun.key] is Outcome.WHITE
