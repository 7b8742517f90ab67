"""Tests of interop/xboard."""

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
from enginetour.interop.xboard import answer_xboard, xboard_game
from tests.conftest import find_program
from tests.support.tournaments import tour

# A Swiss that xboard itself plays on a screen nobody sees, paired by `enginetour pair --xboard`.

WREN = Path(__file__).parents[2] / "engines" / "wren.py"
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
    return xboard_game(
        lambda _: Dutch(DutchOptions(rounds=ROUNDS, initial_colour="white")), 4, results, number, rounds=ROUNDS
    )


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


# What xboard asks of a pairing program, and what it gets.


def make(_: object) -> Dutch:
    return Dutch(DutchOptions(rounds=3, initial_colour="white"))


def asked(*lines: str, rounds: int = 3) -> list[str]:
    return list(answer_xboard((f"{line}\n" for line in lines), make, rounds=rounds))


def test_a_swiss_of_four() -> None:
    """Games come board by board; the next round follows from the results, and a restart changes nothing."""
    assert asked("xboard", "protover 2", "results 4 ", "pairing 1", "results 4 +*", "pairing 2") == ["1-3", "4-2"]
    second = asked("results 4 +-*", "pairing 3", "results 4 +-+*", "pairing 4")
    assert sorted(sorted(one.split("-")) for one in second) == [["1", "2"], ["3", "4"]]
    assert asked("results 4 +-+ ", "pairing 3") == second[:1]
    third = asked("results 4 +-+=", "pairing 5", "quit", "pairing 6")
    assert len(third) == 1 and set(third[0].split("-")) in ({"1", "4"}, {"2", "3"})


def test_an_odd_field_rests_one_in_turn() -> None:
    """Five play two games a round; nobody rests twice."""
    resting = set()
    for number in (1, 3, 5):
        pairs = [xboard_game(make, 5, "+=-+"[: number - 1], at, rounds=3).split("-") for at in (number, number + 1)]
        resting |= set("12345") - {one for pair in pairs for one in pair}
    assert len(resting) == 3


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("results 4 +*", "pairing 3"), "round 1 is not finished, round 2 cannot be paired"),
        (("results 4 +", "pairing 3"), "round 1 is not finished"),
        (("results 4 +-+-+-", "pairing 7"), "game 7 is in round 4 of 3; start it with --rounds 4"),
        (("results 1 ", "pairing 1"), "no game 1 among 1 participants"),
        (("pairing 1",), "no game 1 among 0 participants"),
    ],
)
def test_what_cannot_be_answered_is_told_to_the_user(lines: tuple[str, ...], words: str) -> None:
    """By the command of engines that xboard shows in a window; the conversation goes on."""
    (answer,) = asked(*lines)
    assert answer.startswith("tellusererror enginetour: ") and words in answer
    assert asked(*lines, "results 4 ", "pairing 1")[1] == "1-3"


def test_the_command_answers_while_it_is_asked(tmp_path: Path) -> None:
    """Each answer comes before the next question, as xboard waits for it."""
    command = [sys.executable, "-m", "enginetour", "pair", "--xboard", "--rounds", "2", "--set", "initial_colour=black"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdin is not None and process.stdout is not None
        for question, answer in (("results 4 \npairing 1\n", "3-1"), ("results 4 +*\npairing 2\n", "2-4")):
            process.stdin.write(question)
            process.stdin.flush()
            assert process.stdout.readline().strip() == answer
        process.stdin.write("quit\n")
        process.stdin.flush()
        assert process.wait(timeout=60) == 0


def test_the_number_of_rounds_must_be_told(tmp_path: Path) -> None:
    """xboard does not say it."""
    assert "add --rounds N" in tour(tmp_path, "pair", "--xboard", expect=2).stderr
    assert "does not pair in rounds" in tour(tmp_path, "pair", "--xboard", "--system", "bubble", expect=2).stderr
