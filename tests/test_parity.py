from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from enginetour.ratings.likelihood import Fit, fit
from tests.bench.parity import BAYESELO_PRIOR, CASES, ORDO_SCALE, Case, digest

WHITE_WITHIN = 0.005  # Ordo says White's advantage with two digits behind the point

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.peer}-{case.name}")


@cache
def told(case_name: str) -> dict[str, Any]:
    case = next(case for case in CASES if case.path.stem == case_name)
    found: dict[str, Any] = json.loads(case.path.read_text("utf-8"))
    return found


@every_case
def test_games_are_those_of_the_golden_numbers(case: Case) -> None:
    """The corpus is still the one the peer was given."""
    assert digest(case.corpus) == told(case.path.stem)["games"]


@every_case
def test_every_rating_is_the_peers(case: Case) -> None:
    """By the same terms every engine has the rating the peer gave it, to what the peer leaves open."""
    theirs, found = told(case.path.stem), case.ours()
    ratings = {row.name: row.rating for row in found.rows}
    assert ratings.keys() == theirs["ratings"].keys()
    assert max(abs(ratings[name] - rating) for name, rating in theirs["ratings"].items()) <= case.within
    if "white_advantage" in theirs:
        assert found.white_advantage == pytest.approx(theirs["white_advantage"], abs=WHITE_WITHIN)


@every_case
def test_no_ratings_are_likelier(case: Case) -> None:
    """Where ours and the peer's ratings differ, the games are at least as likely by ours: the peer stopped early."""
    fitted = fitted_like(case)
    theirs = np.array([told(case.path.stem)["ratings"][name] for name in fitted.names])
    there = fitted.at.copy()
    there[:-2] = theirs / (fitted.unit * fitted.point)
    assert fitted.problem.height(fitted.at) >= fitted.problem.height(there) - 1e-9 * abs(fitted.problem.height(there))
    assert fitted.residual <= 1e-8


def fitted_like(case: Case) -> Fit:
    terms = {name: value for name, value in case.terms.items() if name != "mean"}
    if case.peer == "ordo":
        return fit(case.corpus.counts(), **{"scale": ORDO_SCALE, **terms})
    return fit(case.corpus.counts(), model="raokupper", prior=BAYESELO_PRIOR, **terms)
