"""Systems as they are named for a comparison."""

from __future__ import annotations

import pytest

from enginetour.formats.simulation import contender
from enginetour.model.errors import UsageRefused


def test_usual_settings_and_own_ones() -> None:
    """Rounds and one game a match where there are such; what is written after the name goes first."""
    plain = contender("entropy", 6).options
    assert (plain.rounds, plain.games_per_pairing, plain.model) == (6, 1, "elo")
    own = contender("entropy:model=gor:rounds=4:placement=['PTS','SOS']", 6).options
    assert (own.rounds, own.model, own.placement) == (4, "gor", ("PTS", "SOS"))
    assert not hasattr(contender("bubble:size=8", 6).options, "rounds")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("entropie", "unknown format 'entropie', did you mean 'entropy'?"),
        ("entropy:modle=gor", "unknown setting 'modle', did you mean 'model'?"),
        ("entropy:model=glicko", "model: Input should be 'gor'"),
        ("entropy:model", "a setting is key=value, found 'model'"),
        ("gor-drift:eps=0.0", "nothing drifts"),
    ],
)
def test_refusals(words: str, told: str) -> None:
    """One line: which system, what was found, what there is."""
    with pytest.raises(UsageRefused) as refusal:
        contender(words, 6)
    assert told in str(refusal.value) and "\n" not in str(refusal.value)
