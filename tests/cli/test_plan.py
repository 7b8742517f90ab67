"""`enginetour plan`: a table of formats for a night, and the best one as a configuration that other commands accept."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from enginetour.cli.main import cli
from enginetour.model.errors import TourError
from enginetour.tournament.config.load import load
from tests.support.tournaments import unwrapped

QUICK = "--hours 0.04 --tc 1+0.01 --processes 1 --fields 2"
THREE = "--engine wren1 --engine wren2 --engine wren3"


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)


def plan(words: str) -> str:
    result = CliRunner().invoke(cli, ["plan", *shlex.split(words)], catch_exceptions=False, standalone_mode=False)
    assert not result.return_value
    return result.stdout


def refused(words: str) -> str:
    with pytest.raises(TourError) as refusal:
        plan(words)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_a_night_of_unknown_engines() -> None:
    """The table has a row for each format within 80 columns; the best row becomes a valid configuration."""
    text = plan(f"--entrants 6 --goal top=2 {QUICK} -o night.toml")
    lines = text.splitlines()
    assert lines[0] == "6 engines, 2 min, 1 concurrent game, 1+0.01, unknown ratings, ± 150"
    head = next(number for number, line in enumerate(lines) if line.startswith("system"))
    assert max(map(len, lines[head : head + 5])) <= 80
    assert "night.toml written" in text and "--engine ID" in text
    best = lines[head + 1].split()[0]
    made = load(Path("night.toml"))
    assert (made.system, made.tournament.name, made.play.tc) == (best, "night", "1+0.01")
    assert len(made.entrants) == 6
    assert CliRunner().invoke(cli, ["simulate", "night.toml", "--fields", "2"]).exit_code == 0


def test_numbers_for_programs() -> None:
    """JSON has the night, each proposal with its figures, and the settings of its format."""
    found = unwrapped(plan(f"{THREE} --goal error=30 --concurrency 2 {QUICK} --json"))
    assert found["night"]["entrants"] == 3
    assert found["night"]["games"] == int(0.04 * 3600 * 2 / found["night"]["game_seconds"])
    best, *others = found["proposals"]
    assert best["simulations"] == 2
    assert best["games_low"] <= best["games"] <= best["games_high"]
    assert best["hours"] == pytest.approx(best["games"] * found["night"]["game_seconds"] / 7200)
    assert all(best["figure"] <= other["figure"] for other in others)


def test_an_existing_configuration() -> None:
    """Entrants, ratings and other settings of the configuration stay; the format is new."""
    Path("old.toml").write_text(
        '[tournament]\nname = "old"\nrating_scale = "elo"\n[format]\nsystem = "bubble"\n[play]\ntc = "2+0.02"\n'
        "resign = { movecount = 4, score = 600 }\n[report]\nwrite = false\n"
        + "".join(f'[[entrants]]\nengine = "wren{n}"\nrating = {1800 + 50 * n}\n' for n in (5, 4, 3, 2)),
        "utf-8",
    )
    text = plan("old.toml --hours 0.04 --processes 1 --fields 2 --goal los=0.9 -o new.toml")
    assert text.startswith("4 engines, 2 min, 1 concurrent game, 2+0.02, ratings ± 50\n")
    assert "mcmahon" in text
    old, new = load(Path("old.toml")), load(Path("new.toml"))
    assert (new.tournament.name, new.play, new.report) == ("new", old.play, old.report)
    assert [one.rating for one in new.entrants] == [one.rating for one in old.entrants]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--hours 1", "needs exactly one of --entrants, --engine and CONFIG (found none). Hint: "),
        ("--hours 1 --entrants 3 --engine wren1", "found --entrants and --engine"),
        ("--hours 1 --engine wren1", "at least two engines (found 1)"),
        ("--hours 0.001 --entrants 3", "--hours: the hours are too short for one game, which takes about "),
        ("--hours 0.01 --entrants 12", "--hours: the hours allow 1 game, too few for any format. Hint: use at least "),
        ("--hours 1 --entrants 3 --goal best", "--goal: unknown goal 'best'. Hint: use top=3, los=0.95"),
        ("--hours 1 --entrants 3 --tc depth=1", "--tc: the duration of a game with depth=1 is unknown"),
        ("--hours 1 --engine wren1 --engine wren2 --ratings known", "the rating of Wren 1 is not known"),
        ("--hours 1 --entrants 3 --list year", "--list: has no effect without the names of engines"),
        (f"--hours 1 {THREE} --list year", "results/enginetour.db: "),
        ("--hours 1 --entrants 3 -o results/old.toml", "results/old.toml: already exists"),
    ],
)
def test_what_cannot_be_planned(words: str, told: str) -> None:
    """Each error is one line with the next step, before any simulation."""
    Path("results/old.toml").write_text("", "utf-8")
    assert told in refused(words)


def test_figures_do_not_depend_on_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes give the same figures as one."""
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # otherwise, the processes import pytest
    words = "--entrants 3 --hours 0.02 --tc 1+0.01 --fields 1 --json"
    assert plan(f"{words} --processes 2") == plan(f"{words} --processes 1")


def test_ratings_at_quantiles() -> None:
    """With known ratings, the entrants of the configuration have ratings around 2000, best first."""
    plan(f"--entrants 4 --ratings known --spread 100 {QUICK} -o night.toml")
    ratings = [entrant.rating or 0.0 for entrant in load(Path("night.toml")).entrants]
    assert ratings == sorted(ratings, reverse=True)
    assert sum(ratings) / 4 == pytest.approx(2000)
    assert re.search(r"^# Expected: \d+ games", Path("night.toml").read_text("utf-8"), re.MULTILINE)
