"""Time odds in tournament reports, and everywhere a foreign round is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.interop import trf
from enginetour.interop.pairers import foreign
from enginetour.interop.trf import odds_in
from tests.touring import read, tour

GIVEN = ("--rounds", "3", "--set", "handicap={ per = 100, correction = 0 }")


def four(path: Path, ratings: tuple[int, ...] = (2000, 1800, 1750, 1500)) -> Path:
    file = path / "four.trf"
    lines = [trf.Entry(number, f"E{number}", rating).text() for number, rating in enumerate(ratings, 1)]
    file.write_text("\n".join(["142 3", *lines]))
    return file


def test_odds_are_told_and_the_stronger_has_white(tmp_path: Path) -> None:
    """As JSON, in the table, and written into the report as comments; 250 and 300 points, a band each hundred."""
    file, out = four(tmp_path), tmp_path / "out.trf"
    found = read(tmp_path, "pair", str(file), *GIVEN, "-o", str(out))
    pairs = {(one["white"], one["black"]): one.get("handicap") for one in found["pairs"]}
    assert pairs == {(1, 3): 2, (2, 4): 3}
    assert odds_in(trf.read(out.read_bytes())) == {(1, 1): (3, 2), (1, 2): (4, 3)}
    assert "handicap" in tour(tmp_path, "pair", str(file), *GIVEN).stdout
    assert "handicap" not in tour(tmp_path, "pair", str(file), "--rounds", "3").stdout


def test_odds_come_back_with_the_results(tmp_path: Path) -> None:
    """The colours of games at odds are nobody's in the next round; pairing a round anew forgets its odds."""
    file, out = four(tmp_path), tmp_path / "out.trf"
    read(tmp_path, "pair", str(file), *GIVEN, "-o", str(out))
    lines = out.read_bytes().decode().split("\r\n")
    done = [line + "  1" if line.endswith("w") else line + "  0" if line.endswith("b") else line for line in lines]
    done = [line.replace("w  1", "w 1").replace("b  0", "b 0") for line in done]
    out.write_text("\n".join(done))
    field = foreign(trf.read(out.read_bytes())).field
    assert [turn.handicap for turn in field.history[0]] == [2, 3, -2, -3]
    assert [field.balance(place) for place in range(4)] == [0, 0, 0, 0]
    read(tmp_path, "pair", str(out), "--rounds", "3", "--round", "1", "-o", str(out), "--overwrite")
    assert odds_in(trf.read(out.read_bytes())) == {}


@pytest.mark.parametrize("system", ["dutch", "swiss-gotha"])
def test_odds_by_rating_need_ratings(system: str, tmp_path: Path) -> None:
    """A line that names who has none."""
    file = tmp_path / "two.trf"
    file.write_text("\n".join(["142 1", *(trf.Entry(number, f"E{number}").text() for number in (1, 2))]))
    refused = tour(tmp_path, "pair", str(file), "--system", system, "--set", "handicap={}", expect=3)
    assert "the handicap goes by ratings and E1, E2 has none" in refused.stderr
