"""Tests of rating lists as tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from enginetour.ratings.likelihood import ModelName
from enginetour.ratings.ratinglist import rating_list
from enginetour.reports.ratinglist import likelihood_sheet
from enginetour.reports.review.lists import history_of
from enginetour.reports.sheet import render
from enginetour.store.ratings import update_ratings
from enginetour.store.tournaments import Store
from tests.support.tournaments import config, read, tour


def test_an_anchor_has_no_error_and_nothing_is_minus_zero() -> None:
    """An anchor has no error and no remark about too few games."""
    found = rating_list({("A", "B"): (5, 0, 5), ("C", "A"): (3, 1, 4)}, anchors={"A": -0.2})
    text = render(likelihood_sheet("t", found))
    line = next(line for line in text.splitlines() if " A " in line)
    assert line.split()[:3] == [line.split()[0], "A", "0"]
    assert "too few" not in line
    assert "-0 " not in text


THREE = ("wren1", "wren2", "wren3")


def test_anchors_that_met_nobody_of_their_group() -> None:
    """Two anchors without games between them are rated without a division by zero."""
    counts = {("A", "B"): (1, 0, 0), ("B", "C"): (0, 0, 1), ("A", "D"): (1, 1, 1)}
    made = rating_list(counts, prior="none", anchors={"A": 0.0, "C": 0.0})
    json.dumps(made.to_json(), allow_nan=False)
    assert [row.name for row in made.rows] == ["A", "D"]
    assert [(each.name, each.why.partition(":")[0]) for each in made.unrated] == [("C", "unbeaten"), ("B", "winless")]
    del counts["A", "D"]
    assert rating_list(counts, prior="none", anchors={"A": 0.0, "C": 0.0}).rows == ()


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_draws_beside_a_clean_score(model: ModelName) -> None:
    """The draw parameter is bounded if all pairs but one only draw."""
    counts = {("A", "B"): (0, 1000, 0), ("A", "F"): (0, 0, 30), ("B", "F"): (0, 1000, 0)}
    found = rating_list(counts, model=model)
    assert [row.name for row in found.rows] == ["F", "B", "A"]
    assert any("do not determine the draw parameter" in text for text in found.caption)


def test_a_tournament_lists_all_its_engines_by_incremental_systems(tmp_path: Path) -> None:
    """Versions of an engine with the same name are all listed by incremental systems."""
    first = config(tmp_path, THREE, "roundrobin", 'games_per_pairing = 1\n[ratings]\nsystems = ["elo"]', name="first")
    tour(tmp_path, "run", str(first))
    other = config(tmp_path, THREE, "roundrobin", 'games_per_pairing = 1\n[ratings]\nsystems = ["elo"]', name="other")
    other.write_text(other.read_text().replace('"wren2"', '"wren2"\noptions = { Seed = 9 }'))
    done = tour(tmp_path, "run", str(other)).stdout
    assert all(name in done.rpartition("Elo, incremental")[2] for name in ("Wren 1", "Wren 2", "Wren 3"))
    assert "computed from all tournaments" in done
    for name in ("first", "other"):
        found = read(tmp_path, "ratings", "-t", name, "--system", "elo")["list"]
        games = {line["name"]: line["games"] for line in found}
        assert games == {"Wren 1": 4, "Wren 2": 2, "Wren 3": 4}


def test_a_report_shows_no_ratings_of_an_earlier_state(tmp_path: Path) -> None:
    """Ratings of an incremental system are shown only if it has rated all games of the tournament."""
    path = config(tmp_path, THREE, "roundrobin", "games_per_pairing = 1")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        update_ratings(store, "elo")
        names = [f"Wren {number}" for number in (1, 2, 3)]
        log = store.tournament("trial")
        assert {path.system for path in history_of(store, log.id, names).paths} == {"elo"}
    tour(tmp_path, "run", str(path))
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        assert not history_of(store, log.id, names).paths
        update_ratings(store, "elo")
        assert len(history_of(store, log.id, names).paths) == 3
