"""What xboard asks of a pairing program, and what it gets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from enginetour.formats.dutch import Dutch, DutchOptions
from enginetour.interop.pairers import conversation, game
from tests.touring import tour


def make(_: object) -> Dutch:
    return Dutch(DutchOptions(rounds=3, initial_colour="white"))


def asked(*lines: str, rounds: int = 3) -> list[str]:
    return list(conversation((f"{line}\n" for line in lines), make, rounds=rounds))


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
        pairs = [game(make, 5, "+=-+"[: number - 1], at, rounds=3).split("-") for at in (number, number + 1)]
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
