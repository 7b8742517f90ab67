"""Filters of `rate` by tags: the same games as those of lists in the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from enginetour.cli.main import cli
from enginetour.store.tournaments import Store
from tests.support.databases import enter
from tests.support.tournaments import unwrapped

GAMES = (
    ("A", "B", "1-0", '[Date "2026.01.05"]\n[TimeControl "60+0.5"]\n'),
    ("B", "A", "1/2-1/2", '[Date "2026.02.05"]\n[TimeControl "180+2"]\n'),
    ("A", "C", "0-1", '[Date "2026.03.??"]\n[TimeControl "180+2"]\n'),
    ("C", "B", "1-0", '[Date "2026.03.05"]\n[WhiteTimeControl "180+2"]\n[BlackTimeControl "60+0.5"]\n'),
    ("B", "C", "1-0", '[TimeControl "?"]\n'),
    ("A", "B", "1/2-1/2", '[Date "2026.04.05"]\n[TimeControl "180+2"]\n[Handicap "White gives 1"]\n'),
    ("C", "A", "*", '[Date "2026.04.05"]\n[TimeControl "180+2"]\n'),
    ("C", "A", "1/2-1/2", '[Date "2026.05.05"]\n[TimeControl "60+0.5"]\n'),
    ("B 2", "A", "1-0", '[Date "2026.05.06"]\n[TimeControl "40/300"]\n'),
    ("A", "B", "1-0", '[Termination "Time forfeit"]\n'),
    ("A", "C", "1-0", '[Termination "abandoned"]\n[TimeControl "180+2"]\n'),
    ("C", "A", "1-0", '[Termination "rules infraction"]\n'),
    ("C", "A", "1/2-1/2", '[Termination "adjudication"]\n'),
    ("A", "B", "0-1", '[Termination "stalled connection"]\n'),
    ("B", "A", "0-1", '[Termination "normal"]\n'),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "g.pgn"
    found.write_text(
        "".join(
            f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n{tags}\n1. e4 {result}\n\n'
            for white, black, result, tags in GAMES
        )
    )
    return found


def asked(*words: object) -> Any:
    done = CliRunner().invoke(cli, [*map(str, words), "--json"], standalone_mode=True)
    assert done.exit_code == 0, done.output
    return unwrapped(done.stdout)


@pytest.mark.parametrize(
    "words",
    [
        ("--since", "2026-02-01"),
        ("--until", "2026-03-04"),
        ("--since", "2026-01-05", "--until", "2026-05-05", "--tc", "60*"),
        ("--time-class", "blitz"),
        ("--time-class", "odds", "--time-class", "bullet"),
        ("--time-class", "unknown"),
        ("--tc", "180+2", "--tc", "60+0.5", "--odds"),
        ("--odds",),
        ("--exclude-termination", "time,crash"),
        ("--exclude-termination", "stall", "--exclude-termination", "illegal-move, adjudication"),
        ("--exclude-termination", "time,adjudication", "--since", "2026-01-01"),
        ("--alias", "B 2=B", "--engine", "[AB]"),
        ("--exclude", "B 2", "--min-games", "3"),
        ("--prior", "gaussian=100", "--advantage", "30", "--model", "davidson", "--average", "2500"),
        ("--prior", "draws=2", "--anchor", "A=2000", "--scale", "200"),
    ],
)
def test_as_the_store_filters(tmp_path: Path, path: Path, words: tuple[str, ...]) -> None:
    """Engines, ratings, intervals and games left out agree with the list of the database."""
    with Store.open(tmp_path / "x.db") as store:
        enter(store, path)
    ours, theirs = asked("rate", path, *words), asked("ratings", "--all", *words, "--db", tmp_path / "x.db")
    keys = ("name", "rating", "plus", "games", "wins", "los")
    assert [[row[key] for key in keys] for row in ours["list"]] == [
        [row[key] for key in keys] for row in theirs["list"]
    ]
    told = [line for line in theirs["caption"] if line.startswith("games left out")]
    assert ours["games"] == theirs["games"] > 0
    assert sum(ours["left_out"]["apart"].values()) == sum(
        int(part.split()[0])
        for line in told
        for part in line.removeprefix("games left out: ").split(", ")
        if part.split(" by ")[1] in ("odds", "date", "time class", "control", "termination")
    )


@pytest.mark.parametrize(
    ("day", "words", "fits"),
    [
        ("2026.13.45", "--since 2025-01-01", False),
        ("2026.02.29", "--until 2027-01-01", False),
        ("0000.05.01", "--until 2027-01-01", False),
        ("????.05.01", "--until 2027-01-01", False),
        ("2024.02.29", "--since 2024-02-29 --until 2024-02-29", True),
        ("2026.??.??", "--since 2025-01-01", True),
        ("2026.??.??", "--since 2026-01-01 --until 2026-12-31", True),
        ("2026.??.??", "--since 2026-01-02", False),
        ("2026.??.??", "--until 2026-12-30", False),
        ("2026.??.??", "--until 2027-01-01", True),
        ("2026.??.??", "--until 2025-12-31", False),
        ("2026.??.07", "--until 2026-12-31", True),
        ("2026.05.??", "--since 2025-01-01 --until 9999-12-31", True),
        ("2026.05.??", "--since 2026-05-01 --until 2026-05-31", True),
        ("2026.05.??", "--since 2026-05-02", False),
        ("2026.05.??", "--since 2026-06-01", False),
        ("2026.05.??", "--until 2026-05-30", False),
        ("2026.05.??", "--until 2026-04-30", False),
        ("2026.02.??", "--until 2026-02-28", True),
        ("2024.02.??", "--until 2024-02-28", False),
        ("2026.12.??", "--until 2026-12-31", True),
    ],
)
def test_a_partial_date_passes_if_all_its_days_pass(tmp_path: Path, day: str, words: str, fits: bool) -> None:
    """A date without day or month is a range of days; a date that does not exist is unknown. The database agrees."""
    path = tmp_path / "g.pgn"
    path.write_text(
        "".join(
            f'[White "{white}"]\n[Black "{black}"]\n[Result "1-0"]\n[Date "{date}"]\n\n1. e4 1-0\n\n'
            for white, black, date in (("A", "B", day), ("B", "A", words.split()[1].replace("-", ".")))
        )
    )
    with Store.open(tmp_path / "x.db") as store:
        enter(store, path)
    found = asked("rate", path, *words.split())
    assert found["games"] == asked("ratings", "--all", *words.split(), "--db", tmp_path / "x.db")["games"] == 1 + fits
    assert found["left_out"]["apart"] == ({} if fits else {"date": 1})


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ("time", 1),
        ("crash", 1),
        ("stall", 2),
        ("crash,stall", 2),
        ("illegal-move", 1),
        ("adjudication", 1),
        ("time,crash,stall,illegal-move,adjudication", 5),
        ("", 0),
    ],
)
def test_games_are_left_out_by_their_termination(path: Path, words: str, out: int) -> None:
    """Games are left out by the Termination values of tournament managers; normal games never."""
    found = asked("rate", path, "--exclude-termination", words)
    assert found["left_out"]["apart"].get("termination", 0) == out


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("--time-class", "blizt"), "did you mean 'blitz'"),
        (("--exclude-termination", "time,crsh"), "unknown termination 'crsh', did you mean 'crash'"),
        (("--since", "2026-03-01", "--until", "2026-02-01"), "before the date of --since"),
        (("--prior", "strong"), "gaussian=SD"),
        (("--tc", "5+*"), "no game to rate; left out"),
        (("--alias", "A=B", "--alias", "A=C"), "'A' has two values (found B and C)"),
    ],
)
def test_refusals(path: Path, words: tuple[str, ...], refusal: str) -> None:
    """Errors are one line with the allowed values."""
    done = CliRunner().invoke(cli, ["rate", str(path), *words], standalone_mode=True)
    assert refusal in f"{done.exception}{done.output}"


def test_words_that_take_back_are_nothing(path: Path) -> None:
    """An empty value is the default, as in lists."""
    empty = ("--since", "", "--tc", "", "--time-class", "", "--prior", "", "--average", "", "--anchor", "")
    assert asked("rate", path, *empty) == asked("rate", path)
