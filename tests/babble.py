"""Games against engines that babble: whatever they print, the game ends with a verdict that fits."""

from __future__ import annotations

import random
import resource
import sys
from pathlib import Path

from enginetour.model.game import Game, Outcome
from enginetour.model.task import EngineSpec, Quirks
from tests.playing import Protocol, game, sound

SCRIPT = str(Path(__file__).parent / "engines" / "babbling.py")
QUICK = Quirks(handshake_timeout=0.6, ready_timeout=0.4)  # s: one that lost a line is not waited for long
CLOCK = "0.3"  # s: one that lost its move loses the game soon
MEMORY_KB = 20_000  # may be added under any fault (reliability spec 6)


def babbler(protocol: Protocol, seed: int) -> EngineSpec:
    """Its dice, the line from which they fall, and how often."""
    dice = random.Random(seed)
    words: tuple[str, ...] = (sys.executable, "-E", "-S", SCRIPT, "--protocol", protocol, "--seed", str(seed))
    words += ("--calm", str(dice.choice([0, 3, 8, 12, 16])), "--rate", str(dice.choice([1, 2, 4, 8])))
    return EngineSpec("babbler", words, protocol, dir="scratch", quirks=QUICK)


def babbled(protocol: Protocol, seed: int) -> Game:
    """One game of at most six moves, the colour by the seed; all that must hold of it is looked at."""
    odd, other = babbler(protocol, seed), sound("cecp" if protocol == "uci" else "uci")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if seed % 2:
        played = game(odd, other, white_tc=CLOCK, max_moves=6)
    else:
        played = game(other, odd, black_tc=CLOCK, max_moves=6)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_KB
    assert played.culprit in ("", "babbler"), played
    assert played.cause
    if played.outcome in (Outcome.WHITE, Outcome.BLACK):
        winner = played.pairing.white if played.outcome is Outcome.WHITE else played.pairing.black
        assert winner == "sound", played
    told = (played.cause, *(line for incident in played.incidents for line in (*incident.traffic, *incident.stderr)))
    assert all(line.isprintable() for line in told)
    assert len(played.white.own_name) <= 103 and len(played.black.own_name) <= 103
    return played
