"""What `enginetour init` writes can be played without changes, with any number of engines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from enginetour.formats.base import SYSTEMS
from enginetour.interop.files import bundled_directory
from enginetour.model.game import Entrant
from enginetour.model.renamed import RENAMED_KEYS
from enginetour.tournament.config.load import load
from enginetour.tournament.config.write import known_ratings, starter_text, uses_ratings
from enginetour.tournament.plan import prepare
from tests.support.tournaments import tour

ENGINES = tuple(f"wren{number}" for number in range(8, 0, -1))


@pytest.mark.parametrize(
    ("system", "count"),
    # gopair with two entrants needs a method, whatever the rounds
    [(s, n) for s in sorted(set(SYSTEMS) - {"match"}) for n in range(2, 9) if (s, n) != ("gopair", 2)],
)
def test_the_format_takes_as_many_as_were_named(system: str, count: int, tmp_path: Path) -> None:
    """The format accepts the number of rounds, and there are games to play."""
    path = tmp_path / "few.toml"
    path.write_text(starter_text("few", system, "1+0.1", ENGINES[:count], 2, {"variant": "standard", "openings": None}))
    config = load(path)
    format_ = config.make_format()
    state = format_.start(tuple(Entrant(name, rating=2000.0 - 100 * n) for n, name in enumerate(ENGINES[:count])))
    assert format_.offers(state)


def test_two_entrants_of_one_name_get_names_of_their_own(tmp_path: Path) -> None:
    """Entrants with one name get different names, and the configuration can be run."""
    (tmp_path / "engines").mkdir()
    for engine in ("a", "b"):
        copy = (
            (bundled_directory("engines") / "wren1.toml")
            .read_text()
            .replace("{here}", str(bundled_directory("engines")))
        )
        (tmp_path / "engines" / f"{engine}.toml").write_text(copy)
    named = [word for engine in ("a", "b", "a", "b", "wren2") for word in ("--engine", engine)]
    tour(tmp_path, "init", "five.toml", "--format", "roundrobin", *named)
    entrants = prepare(tmp_path / "five.toml", None).entrants
    assert [entrant.name for entrant in entrants] == ["Wren 1", "Wren 1 (b)", "Wren 1 (2)", "Wren 1 (b) (2)", "Wren 2"]


def test_rounds_are_fewer_only_where_opponents_lack() -> None:
    """With two engines McMahon has one round, and the line says why; with six it has its usual number."""
    options = {"variant": "standard", "openings": None}
    few = starter_text("few", "mcmahon", "1+0.1", ENGINES[:2], 2, options)
    assert "\nrounds = 1  # the largest number for 2 entrants\n" in few
    assert "\n# rounds = 5\n" in starter_text("six", "mcmahon", "1+0.1", ENGINES[:6], 2, options)


@pytest.mark.parametrize("system", sorted(SYSTEMS))
def test_a_starter_is_short_and_fits_its_format(system: str) -> None:
    """At most a dozen settings are comments, and only the text of a bubble depends on an order of strength."""
    text = starter_text("new", system, "1+0.1", ENGINES[:2], None, {"variant": "standard", "openings": None})
    assert sum(line.startswith("#") for line in text.splitlines()) <= 14
    assert "ranking" not in text and ("best first. A bubble" in text) == (system == "bubble")
    assert f"games_per_pairing = {1 if system in ('dutch', 'swiss') else 2}" in text
    assert not load_previous_keys(text)


def load_previous_keys(text: str) -> list[str]:
    """Return the previous keys that a text uses, in comments too."""
    words = "\n".join(line.removeprefix("# ") for line in text.splitlines())
    return [path[-1] for path in RENAMED_KEYS if re.search(rf"\b{path[-1]} =", words)]


def test_a_swiss_of_init_has_no_remark_in_each_round(tmp_path: Path) -> None:
    """Rounds of a Swiss by `init` have no remark about colors."""
    named = [word for number in (1, 2, 3, 4) for word in ("--engine", f"wren{number}")]
    tour(tmp_path, "init", "four.toml", "--format", "swiss", "--tc", "depth=1", *named)
    done = tour(tmp_path, "run", "four.toml")
    assert "round 2:" in done.stdout + done.stderr
    assert "not FIDE Dutch" not in done.stdout + done.stderr


def test_systems_that_start_by_ratings_get_them(tmp_path: Path) -> None:
    """Bundled engines get ratings; for others the user is asked until the answer is a number or a grade."""
    assert [system for system in ("mcmahon", "epm", "gopair", "swiss", "bubble") if uses_ratings(system)] == [
        "mcmahon",
        "epm",
        "gopair",
    ]
    ratings, lacking = known_ratings(ENGINES, tmp_path, None)
    assert list(ratings) == list(ENGINES) and not lacking
    options = {"variant": "standard", "openings": None}
    path = tmp_path / "rated.toml"
    path.write_text(starter_text("rated", "mcmahon", "1+0.1", ENGINES, 2, options, (ratings, lacking)))
    found = load(path)
    assert all(entrant.rating is not None for entrant in found.entrants)
    format_ = found.make_format()
    format_.start(tuple(Entrant(str(at), rating=entrant.rating) for at, entrant in enumerate(found.entrants)))
    answers = iter(["much", "6q", "6 kyu", "nan", "1e9", "2400", ""])
    strangers = ("wren1", "stockfish", "ethereal")
    ratings, lacking = known_ratings(strangers, tmp_path, lambda _: next(answers))
    assert ratings == {"wren1": '"6 kyu"', "stockfish": "2400"} and lacking == ("ethereal",)
    assert known_ratings(strangers, tmp_path, None) == ({}, strangers)
    written = starter_text("few", "mcmahon", "1+0.1", strangers, 2, options, (ratings, lacking))
    assert 'engine = "wren1"\nrating = "6 kyu"\n' in written and 'engine = "ethereal"\n# rating = ' in written
