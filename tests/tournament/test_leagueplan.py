"""Plan of a league: simulated seasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.formats.base import make_format, options_model
from enginetour.formats.league import Rules
from enginetour.formats.simulation import SimulationModel, draw_population
from enginetour.tournament.leagueplan import LeagueModel, _Play
from tests.support.tournaments import league, read, tour


def model(promote: int, *, spread: float = 400.0, seed: int = 1) -> LeagueModel:
    """Return a league of three divisions of four engines, whose results are nearly certain with a large spread."""
    world = SimulationModel(spread=spread, noise=0.0)
    whole = make_format("roundrobin", options_model("roundrobin")(cycles=6))
    match = make_format("match", options_model("match")(games=4))
    rules = Rules(("A", "B", "C"), (4, 4, 4), (promote, promote), (0, 0), "bottom", 1)
    return LeagueModel(rules, (whole,) * 3, whole, match, None, draw_population(world, 13, str(seed)), 6)


def test_a_strong_engine_climbs_one_division_per_season() -> None:
    """A new engine enters the last division and reaches each division one season later than the one below."""
    found = [[model(2, seed=seed).play(tier).seasons for seed in range(8)] for tier in range(3)]
    waits = 2  # the engine without a place enters first
    assert [min(filter(None, times)) for times in found] == [waits + 2, waits + 1, waits]


def test_without_promotion_divisions_stay() -> None:
    """Without promotion, all engines of the upper divisions stay, and a new engine never leaves the last division."""
    course = model(0).play(0)
    assert course.kept[:2] == (1.0, 1.0)
    assert course.seasons is None
    assert course.games == (36.0, 36.0, 36.0)
    assert course.playoffs == 0.0


def test_divisions_of_different_engines_are_right() -> None:
    """Engines of nearly the same strength are in the wrong division more often than different engines."""
    equal, different = (
        [sum(model(1, spread=spread, seed=seed).play(2).belong) for seed in range(10)] for spread in (1.0, 400.0)
    )
    assert sum(equal) + 3 < sum(different)


def test_points_of_a_round_robin_have_their_expectation() -> None:
    """The points that are drawn for a whole round robin agree with those of single games."""
    played = model(1, spread=60.0)
    engines = [entrant.name for entrant in played.population.entrants[:4]]
    orders: dict[bool, int] = {}
    for drawn in (True, False):
        firsts = 0
        for number in range(300):
            season = _Play(played, played.population.strengths, number, lambda: None)
            whole = season.table(played.formats[0], engines)[0] if drawn else _by_games(season, played, engines)
            firsts += whole[0] == engines[0]
        orders[drawn] = firsts
    assert abs(orders[True] - orders[False]) < 50  # standard deviation 12


def _by_games(season: _Play, played: LeagueModel, engines: list[str]) -> tuple[str, ...]:
    state, _ = season.played(played.formats[0], engines)
    return tuple(line.name for line in played.formats[0].standings(state))


def test_the_command(tmp_path: Path) -> None:
    """`plan --league` shows each division, the same in one process and in two; other options are refused."""
    path = league(tmp_path, "playoff = { games = 4 }")
    words = ("plan", "--league", path.name, "--fields", "4", "--seasons", "3")
    found = read(tmp_path, *words, "--processes", "1")
    assert [row["name"] for row in found["divisions"]] == ["Premier", "First"]
    assert [row["games"] for row in found["divisions"]] == [3.0, 6.0]
    assert found["simulations"] == 4
    assert read(tmp_path, *words) == found
    assert "plan of Mini" in tour(tmp_path, *words).stdout
    for option in (
        ("--hours", "3"),
        ("--goal", "top=3"),
        ("--concurrency", "2"),
        ("--game-seconds", "5"),
        ("--db", "x.db"),
    ):
        told = tour(tmp_path, *words, *option, expect=2).stderr
        assert f"enginetour: {option[0]}: is not possible with --league" in told
    assert "--seasons: needs --league" in tour(tmp_path, "plan", "--hours", "1", "--seasons", "3", expect=2).stderr
    assert "needs a league file" in tour(tmp_path, "plan", "--league", expect=2).stderr
    assert "is missing" in tour(tmp_path, "plan", "--entrants", "4", expect=2).stderr


def test_games_between_divisions(tmp_path: Path) -> None:
    """The plan counts games between divisions, of a fixed scheme and of chosen games, and their hours."""
    words = ("plan", "--league", "league.toml", "--fields", "4", "--seasons", "1", "--processes", "1")
    league(tmp_path, "playoff = { games = 4 }")
    without = read(tmp_path, *words)
    assert without["cross_games"] is None
    league(tmp_path, "playoff = { games = 4 }\ncross = { engines = 2, games_per_pairing = 4 }")
    fixed = read(tmp_path, *words)
    assert fixed["cross_games"] == 2 * 2 * 4
    games = without["playoff_games"] + sum(row["games"] for row in without["divisions"])
    assert fixed["hours"] == pytest.approx(without["hours"] * (games + 16) / games)
    assert fixed["divisions"] == without["divisions"]
    wide, narrow = (
        read(tmp_path, *words)["cross_games"]
        for error in (400, 200)
        if league(tmp_path, f"playoff = {{ games = 4 }}\ncross = {{ error = {error} }}")
    )
    assert 0 < wide < narrow
    assert "games between divisions" in " ".join(tour(tmp_path, *words).stdout.split())


@pytest.mark.parametrize("names", [("Ada", "Bea", "Cid")])
def test_too_few_engines(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Too few engines are one clear line."""
    path = league(tmp_path, names=names)
    assert "the divisions need 6 engines (found 3)" in tour(tmp_path, "plan", "--league", path.name, expect=2).stderr
