"""Every setting of every system changes something: a pairing, a color, a table, a note, or an error."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from functools import lru_cache
from itertools import tee, zip_longest
from typing import Any, Literal, get_args, get_origin

import pytest

from enginetour.formats.base import SYSTEMS, Format, make_format, options_model, own_decisions
from enginetour.formats.pairing.field import Field, Kind, Unpairable
from enginetour.formats.rounds import Rounds
from enginetour.model.game import RESULTS, Entrant, GameFinished
from tests.support.databases import random_field

Settings = dict[str, Any]
TRIALS = 150
BANDS: Settings = {"groups": "bands"}
FAMILIES: Settings = {"family_weight": 10**11}
SPRT: Settings = {"elo0": -100.0, "elo1": 100.0}
ADAPTIVE: Settings = {"games": 60, "goal": {"error": 200.0}}

# Values to test for settings that are neither booleans nor choices.
OTHERS: dict[str, list[Any]] = {
    "absent": [{"E1": [1]}],
    "ahead": [1],
    "aim": [900.0],
    "attempts": [1],
    "bar": [19],
    "base": [50.0],
    "bonus": [{"E1": 5.0}],
    "bye": [["E1"]],
    "categories": [1, [1700.0, 1300.0]],
    "category_weight": [0],
    "color_weight": [0],
    "corrections": [{"E1": 2}],
    "cycles": [2],
    "draw_rate": [1.0],
    "drop": [{"E1": [1]}],
    "eps": [0.5],
    "exempt_above": [12],
    "exempt_band": [12],
    "extra_pairs": [0],
    "families": [[["f", "g"]]],
    "family": [20.0],
    "family_weight": [0, 10**9],
    "family_worth": [0.0],
    "float_weight": [0],
    "floor": [13],
    "from_round": [2],
    "games": [4],
    "games_per_pairing": [1, 2],
    "goal": [{"los": 0.8}],
    "groups": ["bands", 1],
    "half_bye": [{"E1": [1]}],
    "handicap": [{"correction": 0}],
    "handicap.ceiling": [1],
    "handicap.correction": [3],
    "handicap.per": [250.0],
    "handicap.threshold": [12],
    "handicap_weight": [0],
    "hours": [0.1],
    "known": [[["E0", "E1", 30, 0, 0]]],
    "min_games": [20],
    "min_matches": [3],
    "min_opponents": [0],
    "mismatch": [20.0],
    "origin": [20.0],
    "origin_worth": [0.0],
    "bye_points": [0.5],
    "prior": [50.0],
    "prior_error": [40.0],
    "pairs": [[["E0", "E1"], ["E2", "E3"]]],
    "placement": [["RATING"], ["NBW", "CUSS"]],
    "random": [10**9],
    "rounds": [2],
    "score_weight": [0],
    "seeding_rounds": [0],
    "seeding_weight": [0],
    "seeds": [2, ["E1"]],
    "share": [1.0],
    "size": [3],
    "error": [200.0],
    "sprt": [SPRT],
    "sprt.alpha": [0.4],
    "sprt.beta": [0.4],
    "sprt.elo0": [-400.0],
    "sprt.elo1": [400.0],
    "sprt.model": ["normalized", "bayesian"],
    "sprt.pairs": [False],
    "steps": [1],
    "team": [1, ["E1"]],
    "unpark_threshold": [1],
    "width": [333.0],
    "window": [2],
    "zero": [10],
}

SOS: Settings = {"placement": ["NBW", "SOS", "SOSOS"]}
RATED: Settings = {"handicap": {"correction": 0, "per": 50.0}}
LIMITED_BANDS: Settings = {"bar": 19, "floor": 15, "groups": "bands"}
GIVEN: Settings = {"handicap": {"correction": 0}, **LIMITED_BANDS}
BY_SCORE = ("mcmahon", "gerlach", "gotha-2005", "swiss-cat")
SECTION: Settings = {"size": 4, "min_matches": 5, "unpark_threshold": 2}
ONE_KIND: Settings = {"categories": 1, "handicap_weight": 0, "family_weight": 0}
LIGHT = (
    "score_weight",
    "float_weight",
    "float_rule",
    "compensate",
    "half_groups",
    "seeding_weight",
    "seeding",
    "color_weight",
)
POSITION: Settings = {"float_rule": "position"}

# Other settings, by key or by system and key, that a setting needs to have an effect.
WITH: dict[str, Settings] = {
    "scoring": {"games_per_pairing": 2},
    "unplayed": SOS,
    "roundrobin.swap": {"cycles": 2},
    "absence_in_sos": SOS,
    "float_down": POSITION,
    "float_up": POSITION,
    "families": FAMILIES,
    "family_worth": FAMILIES,
    "origin_worth": FAMILIES,
    "chance": {"random": 10**9},
    "entropy.model": {"draw_rate": 1.0},
    "zero": BANDS,
    "strict": {"rounds": 3},
    "size": SECTION,
    "min_matches": SECTION,
    "unpark_threshold": SECTION,
    "seeds_meet": {"seeds": 2},
    "seeding_later": {"seeding_rounds": 1},
    "swiss-gotha.seeding_rounds": {"seeding_later": "fold"},
    "bar": BANDS,
    "floor": BANDS,
    "groups": {"bar": 19, "floor": 15},
    "cup_top_group": {"placement": ["STS"], **LIMITED_BANDS},
    "colors": {"order": "seats"},
    "draw_rate": {"model": "elo-draw"},
    "integer_steps": {"model": "gor"},
    "sudden_death": {"extra_pairs": 0},
    **{f"adaptive.{key}": ADAPTIVE for key in ("ahead", "forbid_family", "hours", "known", "min_games")},
    **{f"adaptive.{key}": ADAPTIVE for key in ("games", "games_per_pairing", "prior", "prior_error", "share")},
    "adaptive.goal": {"games": 40},
    "adaptive.min_opponents": {"games": 40, "goal": {"entrant": "E0", "error": 20.0}, "min_games": 0},
    **{f"sprt.{part}": {"sprt": SPRT} for part in ("elo0", "elo1", "alpha", "beta", "model", "pairs")},
    **{f"handicap.{part}": RATED for part in ("per", "correction", "ceiling", "threshold")},
    **{f"{name}.handicap.{part}": GIVEN for name in BY_SCORE for part in ("correction", "ceiling", "threshold")},
    **{f"swiss-cat.{part}": ONE_KIND for part in LIGHT},
    **{f"swiss-cat.{part}": {**ONE_KIND, **POSITION} for part in ("float_down", "float_up")},
    "swiss-cat.seeding_later": {**ONE_KIND, "seeding_rounds": 1},
}


def keys(system: str) -> list[str]:
    """Return the keys of all settings of a system, also in tables, such as ``handicap.ceiling``."""
    model = options_model(system)
    found = []
    for key, field in model.model_fields.items():
        found.append(key)
        for part in get_args(field.annotation):
            if hasattr(part, "model_fields"):
                found += [f"{key}.{inner}" for inner in part.model_fields]
    return found


def others(system: str, key: str) -> list[Any]:
    """Return values for a setting that differ from its default."""
    outer, _, inner = key.partition(".")
    if inner:
        return OTHERS[key]
    field = options_model(system).model_fields[outer]
    default = field.get_default(call_default_factory=True)
    if isinstance(default, bool):
        return [not default]
    if get_origin(field.annotation) is Literal:
        own = own_decisions(system).get(key)
        return [word for word in get_args(field.annotation) if word not in (default, own)]
    own = own_decisions(system).get(key)
    return [value for value in OTHERS[key] if value != default and value != [own]]


def course(format_: Format[Any], seed: int) -> Iterator[object]:
    """Yield everything that is visible of a tournament with fixed results."""
    dice = random.Random(seed)
    entrants = tuple(
        Entrant(
            f"E{n}",
            rating=float(2000 - 90 * n + dice.randint(0, 80)),
            family=dice.choice("fgh"),
            origin=dice.choice(["", "x", "y"]),
        )
        for n in range(2 if type(format_).__name__ == "Match" else 4 + seed % 6)
    )
    try:
        state = format_.start(entrants)
    except ValueError as error:
        yield str(error)
        return
    while offers := format_.offers(state):
        game = offers[0]
        yield game.white, game.black, game.round, game.meeting, game.leg, game.handicap
        luck = random.Random(f"{seed}{game.key}").random() + (game.white < game.black) * 0.4 - 0.2
        state = format_.step(state, GameFinished(game, RESULTS[min(2, max(0, int(3 * luck)))], 30_000))
    yield format_.notes(state)
    yield format_.standings(state)


def forfeited(field: Field) -> Field:
    """Make every third decisive game a forfeit."""
    dice, history = random.Random(field.seed), []
    for row in field.history:
        off = {
            frozenset((at, turn.opponent)) for at, turn in enumerate(row) if turn.points != 1 and dice.random() < 0.3
        }
        history.append(
            tuple(
                replace(turn, kind=Kind.FORFEIT, games=0)
                if turn.met and frozenset((at, turn.opponent)) in off
                else turn
                for at, turn in enumerate(row)
            )
        )
    return replace(field, history=tuple(history))


def looked_at(format_: Format[Any], seed: int) -> Iterator[object]:
    """Yield the next round and the table of a system in rounds for the field of another system."""
    if not isinstance(format_, Rounds) or not hasattr(format_.system.options, "placement"):
        return
    field = forfeited(replace(random_field(seed, 4 + seed % 6, 1 + seed % 4), seed=seed))
    system = format_.system
    try:
        system.check(field.members)
        yield system.paired(field)
    except (Unpairable, ValueError) as error:
        yield str(error)
        return
    yield system.table(field, field.present)


def shown(system: str, given: Settings, seed: int) -> Iterator[object]:
    """Yield everything that is visible, one part after the other, so that a difference is found early."""
    try:
        options = options_model(system).model_validate(given)
    except ValueError as error:
        yield str(error)
        return
    format_ = make_format(system, options, seed)
    yield from looked_at(format_, seed)
    yield from course(format_, seed)


def merged(given: Settings, key: str, value: Any) -> Settings:
    """Return the settings with one change."""
    outer, _, inner = key.partition(".")
    return {**given, outer: {**given.get(outer, {}), inner: value}} if inner else {**given, outer: value}


@lru_cache(maxsize=2 * TRIALS)
def unchanged(system: str, given: str, seed: int) -> Iterator[object]:
    """Yield what `shown` yields; most settings of a system are compared with the same ones, which copies share."""
    return tee(shown(system, json.loads(given), seed), 1)[0]


@pytest.fixture(scope="module", autouse=True)
def _no_generators_at_the_exit() -> Iterator[None]:
    yield
    unchanged.cache_clear()


def differ(system: str, given: Settings, changed: Settings, seed: int) -> bool:
    """Whether anything visible differs between two settings."""
    before = copy(unchanged(system, json.dumps(given), seed))
    seen = zip_longest(before, shown(system, changed, seed), fillvalue="the end")
    return any(first != second for first, second in seen)


@pytest.mark.parametrize(("system", "key"), [(system, key) for system in sorted(SYSTEMS) for key in keys(system)])
def test_every_setting_changes_something(system: str, key: str) -> None:
    """Each choice and each tested value has an effect in at least one of some random fields."""
    model = options_model(system)
    besides = WITH.get(f"{system}.{key}", WITH.get(key, {}))
    given = {name: value for name, value in besides.items() if name in model.model_fields}
    model.model_validate(given)
    for value in others(system, key):
        changed = merged(given, key, value)
        model.model_validate(changed)
        assert any(differ(system, given, changed, seed) for seed in range(TRIALS)), f"{key} = {value!r} changes nothing"


def test_what_is_tried_is_a_setting() -> None:
    """Both tables only name existing settings."""
    known = {key for system in SYSTEMS for key in keys(system)}
    known |= {f"{system}.{key}" for system in SYSTEMS for key in keys(system)}
    assert set(OTHERS) | set(WITH) <= known
