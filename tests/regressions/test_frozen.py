"""What a resume took for a change, or did not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from enginetour.model.errors import TourError
from enginetour.store.log import TournamentLog
from enginetour.tournament.plan import Plan, prepare
from enginetour.tournament.resume import grown_settings
from tests.touring import config


def _log(plan: Plan, **changes: Any) -> TournamentLog:
    stored = {**plan.config.frozen_part(), "suite": plan.suite.digest, **changes}
    return cast("TournamentLog", SimpleNamespace(config=stored, grown={}, title="trial"))


def test_settings_that_an_older_enginetour_did_not_have(tmp_path: Path) -> None:
    """A tournament begun before openings had more settings, or play a variant, goes on."""
    plan = prepare(config(tmp_path, ("wren1", "wren2")), tmp_path / "t.db")
    play = plan.config.frozen_part()["play"]
    older = {key: value for key, value in play.items() if key != "variant"}
    older["openings"] = {key: value for key, value in play["openings"].items() if key not in ("moves", "choice")}
    assert grown_settings(plan, _log(plan, play=older)) == {}


def test_a_suite_that_changed_is_another(tmp_path: Path) -> None:
    """The same name with other bytes would give other openings to the games still to come."""
    plan = prepare(config(tmp_path, ("wren1", "wren2")), tmp_path / "t.db")
    with pytest.raises(TourError, match="the openings of trial have changed since it began"):
        grown_settings(plan, _log(plan, suite="0"))


def test_a_tournament_begun_with_the_first_labels_of_our_suite_goes_on(tmp_path: Path) -> None:
    """They looked like codes of the encyclopaedia; the lines are the same. A suite of one's own is frozen as it was."""
    first = "858bde0be4a96838daf3e837b9d749dc"
    path = config(tmp_path, ("wren1", "wren2"))
    plan = prepare(path, tmp_path / "t.db")
    assert grown_settings(plan, _log(plan, suite=first)) == {}
    (tmp_path / "own.epd").write_text("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n")
    path.write_text(path.read_text().replace("[play]", '[play]\nopenings = { file = "own.epd" }'))
    with pytest.raises(TourError, match="have changed since it began"):
        grown_settings(other := prepare(path, tmp_path / "t.db"), _log(other, suite=first))
