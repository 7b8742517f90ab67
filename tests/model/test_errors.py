"""Tests of the form of errors, and of the suggestions for unknown names."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.interop.files import bundled_directory
from enginetour.model.errors import InputRefused, closest_match, did_you_mean, match_name, no_match_hint, suggest
from tests.support.tournaments import config, tour


def test_every_hint_is_a_sentence() -> None:
    """A hint ends with a period, also if it is part of a message about a setting."""
    line = "a.toml:5: goal: error and los are different goals. Hint: remove one of them."
    assert (
        str(InputRefused("goal: error and los are different goals. Hint: remove one of them", place="a.toml:5")) == line
    )
    assert (
        str(InputRefused("goal: error and los are different goals", place="a.toml:5", step="remove one of them"))
        == line
    )


def test_a_message_has_one_hint() -> None:
    """The hint of the check of a setting is more precise than that of the place of the setting."""
    line = str(
        InputRefused("error and los are different goals. Hint: remove one of them", place="--goal", step="use top=3")
    )
    assert line == "--goal: error and los are different goals. Hint: remove one of them."


def test_a_number_at_an_open_limit(tmp_path: Path) -> None:
    """The text says that the limit itself is not allowed."""
    done = tour(tmp_path, "plan", "--entrants", "4", "--hours", "0", "--goal", "top=3", expect=2)
    assert "--hours: must be above 0 and at most 10000 (found 0.0)" in done.stderr


def test_a_long_place_does_not_hide_what_is_wrong() -> None:
    """The end of a long place is shown, because it has the name of the file and the line."""
    line = str(InputRefused("file not found", place=f"/{'x' * 4000}/a.toml:5"))
    assert line.startswith("...x")
    assert line.endswith("x/a.toml:5: file not found")
    assert len(line) < 250


def test_the_nearest_is_offered_as_it_is_written() -> None:
    """The closest name is suggested as it is written, whatever the case of the input."""
    assert closest_match("FRIUT 2.1", ("Toga II", "Fruit 2.1")) == "Fruit 2.1"
    assert did_you_mean("hush", ("Hash", "Ponder")) == ", did you mean 'Hash'?"


def test_of_two_that_differ_by_case_the_first_in_order_is_offered() -> None:
    """Of two names that differ only by case, the first in order is suggested."""
    assert closest_match("frut", ("fruit", "Fruit")) == closest_match("frut", ("Fruit", "fruit")) == "Fruit"


def test_what_is_like_nothing_is_told_what_there_is() -> None:
    """Without a close name, all known names are listed."""
    assert closest_match("crazy", ("hash", "ponder")) is None
    assert did_you_mean("crazy", ("hash", "ponder")) == ""
    assert suggest("crazy", ("ponder", "hash", "hash")) == "; known: hash, ponder"
    assert suggest("crazy", ()) == ""
    assert suggest("crazy", map(str, range(10))).startswith("; known: ")
    assert suggest("crazy", map(str, range(11))) == ""


def test_the_nearest_is_told_alone() -> None:
    """A close name is suggested alone, without the list of all names."""
    assert suggest("pondr", ("ponder", "hash")) == ", did you mean 'ponder'?"


def test_the_beginning_of_one_name_is_that_name() -> None:
    """The only name that begins with the input is suggested."""
    engines = ("Toga II 3.0", "Glaurung 2.2", "GNU Chess 6.2.7", "GNU Chess 6.2.7 (CECP)")
    assert suggest("toga", engines) == ", did you mean 'Toga II 3.0'?"
    assert suggest("GNU", engines).startswith("; known: ")  # two names begin so
    assert suggest("Gl", engines).startswith("; known: ")


ENGINES = ("Toga II 3.0", "Glaurung 2.2", "GNU Chess 6.2.7", "GNU Chess 6.2.7 (CECP)", "Ada", "ada")


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("Glaurung 2.2", "Glaurung 2.2"),
        ("glaurung 2.2", "Glaurung 2.2"),
        ("t", "Toga II 3.0"),
        ("GNU Chess 6.2.7", "GNU Chess 6.2.7"),
        ("gnu chess 6.2.7 (", "GNU Chess 6.2.7 (CECP)"),
        ("gnu chess 6.2.7", "GNU Chess 6.2.7"),
        ("GNU", None),
        ("G", None),
        ("ada", "ada"),
        ("ADA", None),
        ("a", None),
        ("2.2", None),
        ("", None),
    ],
)
def test_a_name_may_be_its_only_beginning(word: str, name: str | None) -> None:
    """An exact match is found first, then a match in another case, then the only name that begins so."""
    assert match_name(word, ENGINES) == name


def test_what_begins_several_names_is_told_so() -> None:
    """If several names begin so, at most three are listed; if none does, a close one is suggested."""
    assert no_match_hint("GNU", ENGINES) == "; several names begin with it: 'GNU Chess 6.2.7', 'GNU Chess 6.2.7 (CECP)'"
    assert no_match_hint("x", [f"x{n}" for n in range(5)]).endswith("'x0', 'x1', 'x2' and 2 more")
    assert no_match_hint("Tuga II 3.0", ENGINES) == ", did you mean 'Toga II 3.0'?"


def test_every_command_takes_the_beginning_of_a_name(tmp_path: Path) -> None:
    """Every command that takes a name also takes its beginning, with the same output."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "games_per_pairing = 2")
    named = (
        path.read_text()
        .replace('"wren1"', '"wren1"\nname = "Ada Lovelace"')
        .replace('"wren2"', '"wren2"\nname = "Bea"')
    )
    path.write_text(named)
    tour(tmp_path, "run", str(path))
    tour(tmp_path, "export", "pgn", "-o", "games.pgn")
    for words in (
        "games --engine {ada}",
        "history {ada} --json",
        "ratings --against {ada}",
        "ratings --anchor {ada}=2000",
        "ratings --loose-anchor {ada}=2000+-50",
        "ratings --all --anchor {ada}=2000",
        "ratings --sprt {ada} {bea} 0 5",
        "ratings --all --sprt {ada} {bea} 0 5",
        "rate games.pgn --anchor {ada}=2000",
        "rate games.pgn --against {ada}",
        "rate games.pgn --sprt {ada} {bea} 0 5",
        "chart opponents {ada} -o one.svg",
        "chart score {ada} -o one.svg",
    ):
        said = []
        for ada, bea in (("Ada Lovelace", "Bea"), ("ada", "b")):
            done = tour(tmp_path, *(word.format(ada=ada, bea=bea) for word in words.split()))
            picture = tmp_path / "one.svg"
            said.append((done.stdout, picture.read_text() if "one.svg" in words else ""))
        assert said[0] == said[1], words
        refused = tour(tmp_path, *(word.format(ada="Adb", bea="b") for word in words.split()), expect=2)
        assert "'Adb'" in refused.stderr, words
    assert "Wren 3 takes the place of Ada Lovelace" in tour(tmp_path, "replace", "ADA", "wren3").stdout
    assert "Bea withdraws" in tour(tmp_path, "withdraw", "b").stdout
    assert "several names begin with it" not in tour(tmp_path, "withdraw", "x", expect=2).stderr


def test_pairing_files_take_the_beginning_of_a_name(tmp_path: Path) -> None:
    """`pair --bye`, `--absent` and `--why` take the beginning of a name; a number is the number of an entrant."""
    lines = (f"001 {n:>4}      {name:<33}" for n, name in enumerate(("Ada", "Adele", "Bea", "Carl", "Dora"), 1))
    (tmp_path / "five.trf").write_text("012 Five\nXXR 3\n" + "".join(f"{line}\n" for line in lines))
    whole, part = (tour(tmp_path, "pair", "five.trf", "--bye", name, "--json").stdout for name in ("Carl", "ca"))
    assert whole == part
    refused = tour(tmp_path, "pair", "five.trf", "--absent", "Ad", expect=2)
    assert "entrant 'Ad' not found; several names begin with it: 'Ada', 'Adele'" in refused.stderr
    assert "entrant '12' not found" in tour(tmp_path, "pair", "five.trf", "--absent", "12", expect=2).stderr


def test_match_takes_the_beginning_of_a_name(tmp_path: Path) -> None:
    """The engine before the dot of a `match` option can be abbreviated; an unknown one means all engines."""
    (tmp_path / "engines").mkdir()
    file = (
        (bundled_directory("engines") / "wren2.toml").read_text().replace("{here}", str(bundled_directory("engines")))
    )
    (tmp_path / "engines" / "x1.toml").write_text(file.replace('"Wren 2"', '"Ada Lovelace"'))
    tour(tmp_path, "match", "wren1", "x1", "--games", "2", "--tc", "depth=1", "--entrant", "ada.rating=1234")
    (written,) = (tmp_path / "results").glob("*.toml")
    assert "rating = 1234" in written.read_text().partition('"x1"')[2]
