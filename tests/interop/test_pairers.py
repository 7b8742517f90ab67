"""Tests of interop/pairers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import chess.pgn
import pytest

from enginetour.formats.dutch import Dutch, DutchOptions
from enginetour.formats.pairing.field import BLACK, WHITE, Board, Kind, Paired, Unpairable
from enginetour.interop.foreign import ForeignTournament, next_round
from enginetour.interop.pairers import answer_xboard, read_tournament, with_round, xboard_game
from enginetour.interop.trf import TrfCell, read
from enginetour.model.errors import InputRefused
from tests.conftest import find_program
from tests.interop.test_trf import entry
from tests.support.databases import add_game, full_game, game, meddled, sound_log
from tests.support.tournaments import tour

# Fields from tournament report files, and new rounds written to them.

SMALL = sorted((Path(__file__).parents[1] / "golden" / "trf").glob("*_n[0-9]_*.trf")) + sorted(
    (Path(__file__).parents[1] / "golden" / "trf").glob("*_n1[0-9]_*.trf")
)


def before(*lines: str, number: int | None = None, rounds: int | None = 9) -> ForeignTournament:
    return read_tournament(read("\n".join(lines), "f.trf"), number=number, rounds=rounds)


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_every_recorded_round_is_written_as_it_stood(path: Path) -> None:
    """Every recorded round is paired again as recorded by the Dutch system."""
    report = read(path.read_bytes(), str(path))
    rounds = max(len(one.cells) for one in report.entries)
    for number in range(1, rounds + 1):
        found = read_tournament(report, number=number)
        system = Dutch(DutchOptions.model_validate({"rounds": rounds, **found.settings}))
        fresh = with_round(report, found, next_round(system, found.field))
        for old, new in zip(report.entries, fresh.entries, strict=True):
            stood = old.cells[number - 1] if number <= len(old.cells) else TrfCell()
            written = new.cells[number - 1]
            assert (written.opponent, written.color) == (stood.opponent, stood.color)
            assert written.opponent or written.result == stood.result.replace(" ", "Z")
            assert new.cells[: number - 1] == tuple((*old.cells, *[TrfCell()] * number)[: number - 1])
        assert found.warnings == ()


def test_letters_become_turns() -> None:
    """Letters of results become turns: games, unrated games, forfeits and all byes, also in old notation."""
    found = before(
        entry(1, "   2 w W", "   2 b +", "0000 - F", "0000 - +", points="4.0"),
        entry(2, "   1 b L", "   1 w -", "0000 - H", "0000 - =", points="1.0"),
        entry(3, "0000 - U", "0000 - Z", "        ", "   4 w D", points="1.5"),
        entry(4, "        ", "0000 - -", "0000   Z", "   3 b D", points="0.5"),
    )
    kinds = [[(turn.kind, turn.points) for turn in found.field.turns(place)] for place in range(4)]
    full, half, away = (Kind.FULL_BYE, 2), (Kind.HALF_BYE, 1), (Kind.ABSENT, 0)
    assert kinds[0] == [(Kind.PLAYED, 2), (Kind.FORFEIT, 2), full, full]
    assert kinds[1] == [(Kind.PLAYED, 0), (Kind.FORFEIT, 0), half, half]
    assert kinds[2] == [(Kind.BYE, 2), away, away, (Kind.PLAYED, 1)]
    assert kinds[3] == [away, away, away, (Kind.PLAYED, 1)]
    first = found.field.turns(0)
    assert [turn.color for turn in first[:2]] == [WHITE, BLACK] and [turn.games for turn in first[:2]] == [1, 0]
    assert found.field.number == 5 and found.field.present == (0, 1, 2, 3) and found.warnings == ()


def test_other_points() -> None:
    """Other points are read: three for a win, one for a draw, and those of absences and byes."""
    found = before(
        "162  W 3.0    D 1.0    A 0.5    P 2.0",
        entry(1, "   2 w 1", "0000 - U", points="5.0"),
        entry(2, "   1 b 0", "0000 - H", points="1.0"),
        entry(3, "0000 - Z", "   4 w 1", points="3.5"),
        entry(4, "0000 - Z", "   3 b 0", points="0.5"),
    )
    assert found.field.win == 6 and found.field.scores == (10, 2, 7, 1) and found.warnings == ()


def test_who_is_there() -> None:
    """Requested byes of the next round make entrants absent; a late entrant is present."""
    lines = (
        "142 5", "240 H 002    1", "240 Z 003    2",
        entry(1, "   2 w 1", points="1.0"), entry(2, "   1 b 0"), entry(3), entry(4, "        ", "0000 - Z"),
    )  # fmt: skip
    found = before(*lines, rounds=None)
    assert found.field.number == 2 and found.field.rounds == 5 and found.field.present == (1, 2)
    assert found.asked == {0: Kind.HALF_BYE, 3: Kind.ABSENT}
    written = with_round(read("\n".join(lines)), found, Paired((Board(1, 2),)))
    assert [one.cells[1].text() for one in written.entries] == ["0000 - H", "   3 w  ", "   2 b  ", "0000 - Z"]


def test_who_is_away_from_the_next_round() -> None:
    """A line XXZ applies only to the round to be paired, and is then written in its column."""
    lines = ("XXR 5", "XXZ 1 3", entry(1, "   2 w 1", points="1.0"), entry(2, "   1 b 0"), entry(3), entry(4))
    found = before(*lines, rounds=None)
    assert found.field.present == (1, 3) and found.asked == {0: Kind.ABSENT, 2: Kind.ABSENT}
    assert before(*lines, rounds=5, number=1).field.present == (0, 1)
    written = with_round(read("\n".join(lines)), found, Paired((Board(1, 3),)))
    assert [one.cells[1].text() for one in written.entries] == ["0000 - Z", "   4 w  ", "0000 - Z", "   2 b  "]
    assert "XXZ" not in written.text() and "XXR 5" in written.text()


def test_points_of_an_absence() -> None:
    """BBZ has the points of a requested absence, BBF those of a forfeit loss; by default they are equal."""
    lines = [entry(1, "0000 - Z", "   2 w -"), entry(2, "0000 - U", "   1 b +")]
    for said, points in ((("BBZ  0.5",), (1, 0)), (("BBF  0.5",), (1, 1)), (("BBF  0.5", "BBZ  0.0"), (0, 1))):
        history = before(*said, *lines, rounds=3).field.history
        assert (history[0][0].points, history[1][0].points) == points


def test_the_settings_of_a_file() -> None:
    """The initial color and acceleration are those of the file, or of the first round with games."""
    assert before("152 B", entry(1), entry(2)).settings == {"initial_color": "black"}
    late = before(entry(1), entry(2, "   3 b 1", points="1.0"), entry(3, "   2 w 0"))
    assert late.settings == {"initial_color": "black"}
    second = before(
        entry(1, "   2 - -", "   3 b 1", points="1.0"), entry(2, "   1 - +"), entry(3, "        ", "   1 w 0"), rounds=3
    )
    assert second.settings == {"initial_color": "black"}
    baku = before("192 FIDE_DUTCH_2025_BAKU", entry(1), entry(2))
    assert baku.settings == {"acceleration": "baku"} and baku.warnings == ()
    assert before("192 FIDE_DUBOV", entry(1), entry(2)).warnings == ("f.trf: pairing system FIDE_DUBOV is ignored",)


def test_virtual_points_are_data() -> None:
    """Virtual points of lines 250 and XXA are used as written, with any acceleration."""
    blank = [entry(number) for number in range(1, 5)]
    given = before("192 FIDE_DUTCH_2025_BAKU", "250       1.5 001 002    1    2", *blank, rounds=7)
    assert given.field.virtual == ((3, 3, 0, 0),) and given.settings == {}
    played = [entry(1, "   2 w 1", points="1.0"), entry(2, "   1 b 0"), entry(3, "   4 w ="), entry(4, "   3 b =")]
    assert before("XXA    2  0.5  1.0", *played, rounds=7).field.virtual == ((0, 1, 0, 0), (0, 2, 0, 0))
    assert before(*played, rounds=7).field.virtual == ()


def test_a_bye_alone_in_the_round_is_fixed() -> None:
    """One U in a round without opponents is a fixed bye; the others are present."""
    first = (entry(1, "   2 w 1", points="1.0"), entry(2, "   1 b 0"))
    third = entry(3, "0000 - U", "", points="1.0")
    fixed = before(entry(1, "   2 w 1", "0000 - U", points="1.0"), first[1], third).field
    assert (fixed.number, fixed.bye, fixed.present) == (2, 0, (1, 2))
    done = before(
        entry(1, "   2 w 1", "0000 - U", points="2.0"), entry(2, "   1 b 0", "0000 - Z"), entry(3, "0000 - U", "")
    )
    assert (done.field.number, done.field.bye, done.field.present) == (3, None, (0, 1, 2))


def test_several_byes_before_the_round_is_paired_are_refused() -> None:
    """Several byes in a round without games raise an error."""
    lines = [entry(number, *["0000 - U"] * (number < 3)) for number in range(1, 6)]
    with pytest.raises(InputRefused, match=r"at most one bye in round 1, which has no games .found byes of 1, 2"):
        before(*lines)
    gone = [entry(number, "0000 - Z") for number in range(3, 6)]
    assert before(*lines[:2], *gone).field.number == 2


def test_who_rests_by_decision() -> None:
    """A requested bye comes with the round; a second bye and an odd number are noted."""
    system = Dutch(DutchOptions(rounds=3, initial_color="white"))
    blank = before("152 W", *[entry(number) for number in range(1, 6)], rounds=3).field
    paired = next_round(system, blank.resting(0))
    assert (paired.boards, paired.byes) == ((Board(3, 1), Board(2, 4)), (0,))
    played = [entry(1, "   2 w 1", points="1.0"), entry(2, "   1 b 0"), entry(3, "0000 - U", points="1.0")]
    again = next_round(system, before(*played, rounds=3).field.resting(2).parted(2, 1))
    assert again.byes == (2,) and again.remarks[-1].startswith("E3 gets the requested bye, but already had a bye")
    with pytest.raises(Unpairable, match="E1 has the bye, and 3 entrants remain, but their number must be even"):
        next_round(system, replace(blank, present=(0, 1, 2, 3)).resting(0))


def test_pairing_numbers_may_go_by_the_order_of_lines() -> None:
    """With XXC rank entrants are in the order of lines (JaVaFo's manual), with their numbers as labels."""
    lines = [entry(number)[:85] + f"{5 - number:4d}  " for number in (3, 1, 4, 2)]
    assert before("XXC rank", *lines).labels == ("3", "1", "4", "2")
    assert before(*lines).labels == ("1", "2", "3", "4")


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        (
            "   2 w 1",
            "   3 b 0",
            "f.trf:1: expected an opponent whose line names 1 in round 1 of entrant 1 .found 3 in line 2",
        ),
        ("   2 w 1", "        ", "an opponent whose line names 1 in round 1 of entrant 1 .found none in line 2"),
        (
            "   2 w 1",
            "   1 w 0",
            "w on one side and b on the other in round 1 of entrant 1 .found w here and w in line 2",
        ),
        ("   2 - 1", "   1 - 0", "found - here and - in line 2"),
        ("   2 w 1", "   1 b 1", "results that agree in round 1 of entrant 1 .found 1 here and 1 in line 2"),
        ("   2 w 1", "   1 b =", "results that agree"),
        ("   2 w 1", "   1 b -", "results that agree"),
        ("   2 w H", "   1 b 0", "the result of a game in round 1 of entrant 1 .found H with opponent 2"),
        ("   9 w 1", "   1 b 0", "the number of another entrant in round 1 of entrant 1 .found 9"),
        ("   1 w 1", "   1 b 0", "the number of another entrant in round 1 of entrant 1 .found 1"),
        ("0000 - 1", "0000 - Z", "an opponent in round 1 of entrant 1 .found the result 1 without an opponent"),
        ("   2 w  ", "   1 b  ", "a result in round 1 of entrant 1 .found none: the round is not finished"),
    ],
)
def test_lines_that_contradict(one: str, two: str, words: str) -> None:
    """Contradicting lines raise an error with file, line, round and entrant."""
    with pytest.raises(InputRefused, match=words):
        before(entry(1, one), entry(2, two), entry(3, "   4 w =", points="0.5"), entry(4, "   3 b =", points="0.5"))


def test_points_that_do_not_add_up_are_a_warning() -> None:
    """Points that differ from the sum of the rounds are noted."""
    found = before(entry(1, "   2 w 1", points="2.0"), entry(2, "   1 b 0"))
    assert found.warnings == ("f.trf:1: entrant 1 has 2 points, but the sum of its rounds is 1; the rounds are used",)
    assert found.field.scores == (2, 0)
    half = (entry(2, "   3 w =", "0000 - Z", points="0.5"), entry(3, "   2 b =", "0000 - Z", points="0.5"))
    twice = before(entry(1, "0000 - U", "0000 - U", points="2.0"), *half)
    assert twice.warnings == ("entrant 1 has two allocated byes",)


@pytest.mark.parametrize(
    ("number", "rounds", "words"),
    [
        (None, None, r"the number of rounds in line 142 or --rounds .found none"),
        (None, 1, "a round that is not paired, or --rounds above 1 .found all paired"),
        (3, 9, "a round from 1 to 2 .found 3"),
    ],
)
def test_rounds_that_cannot_be(number: int | None, rounds: int | None, words: str) -> None:
    """An unknown number of rounds, no round left, and a round too far raise an error."""
    with pytest.raises(InputRefused, match=words):
        before(entry(1, "   2 w 1", points="1.0"), entry(2, "   1 b 0"), number=number, rounds=rounds)


# Rows of a database changed by other programs: each caused an internal error or ended the process.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a game and the rating events of Elo."""
    (tmp_path / "results").mkdir()
    store, log = sound_log(tmp_path / "results" / "enginetour.db")
    with store:
        add_game(log, replace(full_game(), pairing=game().pairing, replay=0))
    tour(tmp_path, "ratings", "--all", "--system", "elo")
    tour(tmp_path, "lists", "define", "all")
    return tmp_path


@pytest.mark.parametrize(
    ("statement", "words", "told"),
    [
        # numpy's bincount wrote outside of its memory
        ("UPDATE pair_counts SET black_engine = 9223372036854775807", "ratings --all", "which does not exist"),
        ("UPDATE games SET white_engine = 9223372036854775807", "ratings --all --tc *", "which does not exist"),
        (
            'UPDATE games SET relay_gap_us = \'{"median":"7","p99":1,"max":2}\' WHERE number = 1',
            "games 1",
            "relay_gap_us.1: must be a whole number",
        ),
        (
            "DELETE FROM rating_revisions",
            "ratings --all --system elo",
            "rating events of elo do not belong to a revision",
        ),
        ("UPDATE rating_revisions SET settings = '7'", "ratings --all --system elo", "ratings: cannot be read"),
        ("UPDATE lists SET made_unix = 'x'", "lists show all", "row 1 of lists: invalid made_unix 'x'"),
        ("UPDATE tournaments SET config = '7'", "standings", "tournament autumn: cannot be read"),
    ],
)
def test_told_in_a_line(folder: Path, statement: str, words: str, told: str) -> None:
    """The error names the row, its content, and the next step."""
    meddled(folder / "results" / "enginetour.db", statement)
    done = tour(folder, *words.split(), expect=5)
    assert told in done.stderr and done.stderr.count("enginetour: ") == 1 and "db check" in done.stderr
    tour(folder, "db", "check", expect=5)


# A Swiss that xboard plays on a virtual screen, paired by `enginetour pair --xboard`.

WREN = Path(__file__).parents[2] / "engines" / "wren.py"
ROUNDS, NAMES = 3, [f"Wren {level}" for level in (1, 2, 3, 4)]
SIGNS = {"1-0": "+", "1/2-1/2": "=", "0-1": "-"}
# The results come last, because xboard overwrites them from the end of its file.
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
    """Yield a display with a free number."""
    told, number = os.pipe()
    command = [find_program("Xvfb") or "", "-displayfd", str(number), "-screen", "0", "1024x768x24", "-nolisten", "tcp"]
    with (folder / "screen.txt").open("wb") as log:
        process = subprocess.Popen(command, pass_fds=[number], stdout=log, stderr=log)
    os.close(number)
    try:
        with open(told, encoding="ascii") as answer:
            yield f":{answer.readline().strip()}"
    finally:
        process.terminate()  # it removes its socket and lock
        process.wait(timeout=60)


def told_by_us(results: str, number: int) -> str:
    return xboard_game(
        lambda _: Dutch(DutchOptions(rounds=ROUNDS, initial_color="white")), 4, results, number, rounds=ROUNDS
    )


@pytest.mark.engine("xboard", "Xvfb")
def test_xboard_plays_a_swiss_of_four(tmp_path: Path) -> None:
    """xboard plays six different pairs in three rounds, with the games of the pairing program."""
    engine = f"{sys.executable} {WREN}"
    known = "\n".join(f'"{name}" -fcp "{engine} {name[-1]}" -fd "{tmp_path}"' for name in NAMES)
    (tmp_path / "settings").write_text(f"-firstChessProgramNames {{{known}\n}}\n")
    (tmp_path / "swiss.trn").write_text(TOURNEY.format(names="\n".join(NAMES), rounds=ROUNDS))
    pairing = f"{sys.executable} -m enginetour pair --xboard --rounds {ROUNDS} --set initial_color=white"
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
            xboard.kill()  # it ignores SIGTERM
            xboard.wait()
    assert ended == 0, (tmp_path / "said.txt").read_text()
    with (tmp_path / "games.pgn").open() as file:
        heads = [read.headers for read in iter(lambda: chess.pgn.read_game(file), None)]
    signs = "".join(SIGNS[head["Result"]] for head in heads)
    assert f'-results "{signs}"' in (tmp_path / "swiss.trn").read_text()
    played = [f"{NAMES.index(head['White']) + 1}-{NAMES.index(head['Black']) + 1}" for head in heads]
    assert played == [told_by_us(signs[: number - 1], number) for number in range(1, 7)]
    assert len({frozenset(pair) for pair in played}) == 6


# Requests of xboard to a pairing program, and their answers.


def make(_: object) -> Dutch:
    return Dutch(DutchOptions(rounds=3, initial_color="white"))


def asked(*lines: str, rounds: int = 3) -> list[str]:
    return list(answer_xboard((f"{line}\n" for line in lines), make, rounds=rounds))


def test_a_swiss_of_four() -> None:
    """Games come board by board; the next round depends on the results, also after a restart."""
    assert asked("xboard", "protover 2", "results 4 ", "pairing 1", "results 4 +*", "pairing 2") == ["1-3", "4-2"]
    second = asked("results 4 +-*", "pairing 3", "results 4 +-+*", "pairing 4")
    assert sorted(sorted(one.split("-")) for one in second) == [["1", "2"], ["3", "4"]]
    assert asked("results 4 +-+ ", "pairing 3") == second[:1]
    third = asked("results 4 +-+=", "pairing 5", "quit", "pairing 6")
    assert len(third) == 1 and set(third[0].split("-")) in ({"1", "4"}, {"2", "3"})


def test_an_odd_field_rests_one_in_turn() -> None:
    """Five entrants play two games a round, and nobody has two byes."""
    resting = set()
    for number in (1, 3, 5):
        pairs = [xboard_game(make, 5, "+=-+"[: number - 1], at, rounds=3).split("-") for at in (number, number + 1)]
        resting |= set("12345") - {one for pair in pairs for one in pair}
    assert len(resting) == 3


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("results 4 +*", "pairing 3"), "round 1 is not finished, so round 2 cannot be paired"),
        (("results 4 +", "pairing 3"), "round 1 is not finished"),
        (("results 4 +-+-+-", "pairing 7"), "game 7 is in round 4 of 3; use --rounds 4"),
        (("results 1 ", "pairing 1"), "game 1 of 1 participants does not exist"),
        (("pairing 1",), "game 1 of 0 participants does not exist"),
    ],
)
def test_what_cannot_be_answered_is_told_to_the_user(lines: tuple[str, ...], words: str) -> None:
    """Errors are shown to xboard's user, and later requests are answered."""
    (answer,) = asked(*lines)
    assert answer.startswith("tellusererror enginetour: ") and words in answer
    assert asked(*lines, "results 4 ", "pairing 1")[1] == "1-3"


def test_the_command_answers_while_it_is_asked(tmp_path: Path) -> None:
    """Each answer is sent before the next request."""
    command = [sys.executable, "-m", "enginetour", "pair", "--xboard", "--rounds", "2", "--set", "initial_color=black"]
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
    """The number of rounds is required, because xboard does not send it."""
    assert "add --rounds N" in tour(tmp_path, "pair", "--xboard", expect=2).stderr
    assert "does not pair in rounds" in tour(tmp_path, "pair", "--xboard", "--system", "bubble", expect=2).stderr
