"""Tests of list definitions."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.ratings.priors import GaussianPrior, PhantomDraws, VirtualDraws, parse_prior
from enginetour.store.definition import ListDefinition, parse_definition


def test_comes_back_from_json() -> None:
    """A definition can be stored as JSON."""
    full = ListDefinition(
        model="davidson",
        prior="gaussian=200",
        anchors={"Fruit": 2784.0},
        tournaments=("autumn*",),
        since=date(2026, 1, 1),
        time_classes=("rapid", "blitz"),
        aliases={"Toga": "Toga II"},
    )
    assert ListDefinition.model_validate_json(full.model_dump_json()) == full
    assert full.time_classes == ("blitz", "rapid"), "in the order of their lengths"
    assert set(full.changed()) == {"model", "prior", "anchors", "tournaments", "since", "time_classes", "aliases"}
    assert ListDefinition().changed() == {}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"time_classes": ("blits",)}, "time_classes: unknown time class 'blits', did you mean 'blitz'"),
        ({"prior": "gaussian=0"}, "is not a valid prior; use auto, none, gaussian=SD"),
        ({"prior": "flat"}, "'flat'"),
        ({"scale": -400.0}, "scale: must be greater than 0 (found -400.0)"),
        (
            {"since": date(2026, 2, 1), "until": date(2026, 1, 1)},
            "the date of until (2026-01-01) is before the date of since (2026-02-01)",
        ),
        ({"anchors": {"A": 1.0}, "average": 0.0}, "average cannot be combined with anchors"),
        ({"system": "elo", "model": "davidson"}, "model is only valid for the rating system ml (found elo)"),
        ({"system": "elo", "settings": {"kay": 2}}, "unknown setting 'kay' of elo"),
        ({"system": "elo", "settings": {"k": -2}}, "k: must be greater than 0"),
        ({"system": "gor", "settings": {"variant": "egf"}}, "unknown setting 'variant' of gor"),
        ({"settings": {"k": 20}}, "settings are only valid for incremental rating systems"),
        ({"aliases": {"A": "B", "B": "C"}}, "'B', which is also an alias"),
    ],
)
def test_refused(values: dict[str, Any], told: str) -> None:
    """An invalid definition gives a one-line error with the allowed values."""
    with pytest.raises(UsageRefused) as refused:
        parse_definition(values)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_settings_of_a_system() -> None:
    """Settings that are not given have the defaults of the rating system."""
    settings = ListDefinition(system="elo", settings={"k": 24}).system_settings()
    assert settings.model_dump()["k"] == 24
    assert settings.model_dump()["mode"] == "sequential"
    assert ListDefinition(system="egf").system_settings().model_dump()["variant"] == "egf"


def test_priors() -> None:
    """A prior is written as its kind and its size."""
    assert parse_prior("none") == "none"
    assert parse_prior("gaussian=200") == GaussianPrior(200.0)
    assert parse_prior("draws=1.5") == PhantomDraws(1.5)
    assert parse_prior("virtual=2") == VirtualDraws(2.0)
