"""A Swiss that xboard itself plays on a screen nobody sees, paired by `enginetour pair --xboard`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import chess.pgn
import pytest

from enginetour.formats.dutch import Dutch, DutchOptions
from enginetour.interop.pairers import game
from tests.conftest import find_program

WREN = Path(__file__).parent.parent / "engines" / "wren.py"
ROUNDS, NAMES = 3, [f"Wren {level}" for level in (1, 2, 3, 4)]
SIGNS = {"1-0": "+", "1/2-1/2": "=", "0-1": "-"}
# The results come last: xboard writes them over themselves, from the end of its file.
TOURNEY = """\
-participants {{{names}
}}
-seedBase 1
-tourneyType -1
-tourneyCycles {rounds}
-defaultMatchGames 1
-syncAfterRound true
-syncAfterCycle true
-saveGameFile "games.pgn"
-ponderNextMove false
-mps 40
-tc 1
-inc 0
-results ""
"""


@contextmanager
def screen(folder: Path) -> Iterator[str]:
    """A display of its own number."""
    told, number = os.pipe()
    command = [find_program("Xvfb") or "", "-displayfd", str(number), "-screen", "0", "1024x768x24", "-nolisten", "tcp"]
    with (folder / "screen.txt").open("wb") as log:
        process = subprocess.Popen(command, pass_fds=[number], stdout=log, stderr=log)
    os.close(number)
    try:
        with open(told, encoding="ascii") as answer:
            yield f":{answer.readline().strip()}"
    finally:
        process.terminate()  # it tidies up its socket and its lock
        process.wait(timeout=60)


def told_by_us(results: str, number: int) -> str:
    return game(lambda _: Dutch(DutchOptions(rounds=ROUNDS, initial_colour="white")), 4, results, number, rounds=ROUNDS)


@pytest.mark.engine("xboard", "Xvfb")
def test_xboard_plays_a_swiss_of_four(tmp_path: Path) -> None:
    """To its end, six different pairs in three rounds, each game between those the pairing program named."""
    engine = f"{sys.executable} {WREN}"
    known = "\n".join(f'"{name}" -fcp "{engine} {name[-1]}" -fd "{tmp_path}"' for name in NAMES)
    (tmp_path / "settings").write_text(f"-firstChessProgramNames {{{known}\n}}\n")
    (tmp_path / "swiss.trn").write_text(TOURNEY.format(names="\n".join(NAMES), rounds=ROUNDS))
    pairing = f"{sys.executable} -m enginetour pair --xboard --rounds {ROUNDS} --set initial_colour=white"
    command = [find_program("xboard") or "", "-ini", "settings", "-saveSettingsOnExit", "false"]
    command += ["-fcp", f"{engine} 1", "-scp", f"{engine} 2", "-pairingEngine", pairing, "-tf", "swiss.trn", "-mm"]
    command += ["-matchPause", "10", "-xpopup", "-xexit", "-depth", "1", "-adjudicateDrawMoves", "15"]
    command += ["-soundProgram", "", "-xanimate", "-timeDelay", "0"]
    with screen(tmp_path) as display, (tmp_path / "said.txt").open("wb") as said:
        surroundings = os.environ | {"DISPLAY": display, "HOME": str(tmp_path), "NO_AT_BRIDGE": "1"}
        surroundings["PYTHONPATH"] = str(WREN.parent.parent)
        xboard = subprocess.Popen(command, cwd=tmp_path, env=surroundings, stdout=said, stderr=said)
        try:
            ended = xboard.wait(timeout=120)
        finally:
            xboard.kill()  # it does not heed SIGTERM
            xboard.wait()
    assert ended == 0, (tmp_path / "said.txt").read_text()
    with (tmp_path / "games.pgn").open() as file:
        heads = [read.headers for read in iter(lambda: chess.pgn.read_game(file), None)]
    signs = "".join(SIGNS[head["Result"]] for head in heads)
    assert f'-results "{signs}"' in (tmp_path / "swiss.trn").read_text()
    played = [f"{NAMES.index(head['White']) + 1}-{NAMES.index(head['Black']) + 1}" for head in heads]
    assert played == [told_by_us(signs[: number - 1], number) for number in range(1, 7)]
    assert len({frozenset(pair) for pair in played}) == 6
