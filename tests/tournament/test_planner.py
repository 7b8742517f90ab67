"""Tests of tournament/planner: ratings and durations from a database, and the time limit of the simulations."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from math import isfinite
from pathlib import Path

import pytest

from enginetour.formats.planning import fitting, play
from enginetour.model.errors import TourError
from enginetour.store.backup import upgrade_database
from enginetour.tournament.config.load import load
from enginetour.tournament.planner import Comparison, NightPlan, PlanRequest, plan_night, write_plan
from tests.support.databases import older

NAMES = ("Pebble 1", "Pebble 0", "Stone 1", "Stone 2")
CONFIG = '[tournament]\nname = "old"\n[format]\nsystem = "roundrobin"\n[play]\ntc = "5+0.05"\n' + "".join(
    f'[[entrants]]\nname = "{name}"\ncommand = ["true"]\nprotocol = "uci"\n' for name in NAMES
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    upgrade_database(older(tmp_path / "league.db", "league"))
    path = tmp_path / "old.toml"
    path.write_text(CONFIG, "utf-8")
    return path


def planned(config: Path, **settings: object) -> NightPlan:
    request = PlanRequest(0.005, "top=1", config=config, database=config.with_name("league.db"), **settings)  # type: ignore[arg-type]
    return plan_night(request, most=1)


def test_ratings_of_a_list(config: Path) -> None:
    """The ratings and errors of a list are used, and the configuration takes its order from the list."""
    made = planned(config, ratings_of="everything", game_seconds=0.5)
    ratings = [entrant.rating or 0.0 for entrant in made.night.entrants]
    assert made.night.rated
    assert ratings == sorted(ratings, reverse=True)
    assert 10 < made.night.world.noise < 500
    write_plan(made, config.with_name("new.toml"))
    assert load(config.with_name("new.toml")).tournament.order == "list:everything"


def test_previous_keys_of_a_configuration(config: Path) -> None:
    """The best format is written with current keys, also if the configuration has previous ones."""
    config.write_text(CONFIG.replace('tc = "5+0.05"', 'tc = "5+0.05"\nslots = 2'), "utf-8")
    write_plan(planned(config, game_seconds=0.5), config.with_name("new.toml"))
    assert load(config.with_name("new.toml")).play.concurrency == 2


def test_durations_of_measured_games(config: Path) -> None:
    """Games of the entrants with the same time control give the duration; otherwise the time control does."""
    made = planned(config)
    assert made.measured >= 20
    assert made.seconds < 1
    assert f"mean of {made.measured} games of the database" in made.basis()
    assert planned(config, tc="0.1+0.001").measured == 0


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"ratings_of": "monthly"}, "monthly"),
        ({"ratings_of": "everything", "ratings": "unknown"}, "--list: has no effect with unknown ratings"),
        ({"noise": 20.0}, "--noise: has no effect with unknown ratings"),
        ({"ratings_of": "everything", "spread": 20.0}, "--spread: has no effect, because all engines have ratings"),
    ],
)
def test_ratings_that_are_not_there(config: Path, settings: dict[str, object], told: str) -> None:
    """Each error is one line that names the option or the list."""
    with pytest.raises(TourError) as refusal:
        planned(config, **settings)
    assert told in str(refusal.value)


def test_an_engine_that_a_list_lacks(config: Path) -> None:
    """The error names the engine and the list."""
    config.write_text(CONFIG.replace("Stone 1", "Stone 7"), "utf-8")
    with pytest.raises(TourError, match="Stone 7 is not in the list 'everything'"):
        planned(config, ratings_of="everything")


def test_no_time_for_simulations(config: Path) -> None:
    """If the time is over before the first simulation, the plan is an error with the next step."""
    with pytest.raises(TourError, match="no simulation has finished"):
        plan_night(PlanRequest(1.0, "top=1", config=config), limit=0.0)


def test_unknown_ratings_are_infinite_noise(config: Path) -> None:
    """Without ratings, the order of the file means nothing."""
    made = planned(config)
    assert not made.night.rated
    assert not isfinite(made.night.world.noise)
    assert {entrant.rating for entrant in made.night.entrants} == {None}


def test_the_last_stage_simulates_the_best_format(config: Path) -> None:
    """Each task begins once. The second stage has the best candidate of each format, the last one the best of all."""
    night = planned(config, game_seconds=0.5).night
    candidates, _ = fitting(night)
    found, begun = Comparison(night, candidates, 20), list[tuple[int, int]]()
    stages = found.stages()

    def simulate(tasks: Iterable[tuple[int, int]]) -> list[int]:
        chosen = []
        for at, number in tasks:
            begun.append((at, number))
            chosen.append(at)
            if (result := play(candidates[at], night, number)) is not None:
                found.played.setdefault(at, {})[number] = result
        return chosen

    assert set(simulate(next(stages)[0])) == {*range(len(candidates))}
    kept = [candidates.index(one.candidate) for one in found.ranked()]
    assert {candidates[at].system for at in kept} == {one.system for one in candidates}
    assert simulate(islice(next(stages)[0], len(kept))) == kept
    last = next(stages)[0]
    for task in last:
        assert candidates[task[0]] == found.ranked()[0].candidate
        simulate([task])
    assert next(stages, None) is None
    assert len(begun) == len(set(begun))
    assert len(found.played[candidates.index(found.ranked()[0].candidate)]) == 20
