"""Settings of incremental systems: from the configuration into the stored ratings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.model.errors import InputRefused
from enginetour.model.game import Entrant
from enginetour.store.ratings import history, ratings_of
from enginetour.store.tournaments import Store
from enginetour.tournament import run
from enginetour.tournament.config import load
from enginetour.tournament.config.sections import RatingsSection
from tests.storing import add_game, draft, game, spec

TOML = """\
[tournament]
name = "trial"
[format]
system = "bubble"
[ratings]
systems = ["ml", "elo", "gor", "egf", "egf2021"]
{}
[[entrants]]
engine = "wren1"
[[entrants]]
engine = "wren2"
"""


def section(folder: Path, words: str) -> RatingsSection:
    path = folder / "trial.toml"
    path.write_text(TOML.format(words), "utf-8")
    return load.load(path).ratings


@pytest.mark.parametrize(
    ("words", "line", "found"),
    [
        ('[ratings.elo]\nk_polcy = "fide"', 8, "did you mean 'k_policy'?"),
        ('[ratings.elo]\nmode = "batch"\nk_policy = "FIDE"', 9, "ratings.elo.k_policy"),
        ('[ratings.elo]\nk = "24"', 8, "ratings.elo.k"),
        ('[ratings.gor]\nvariant = "egf"', 8, "ratings.gor.variant"),
        ("[ratings.gor]\nstart_value = 50", 8, "greater than or equal to 100"),
        ("[ratings.gor]\neps = 0.01", 7, "eps and integer_steps belong to the EGF variant"),
        ("[ratings.egf2021]\nstart_value = 3300", 8, "less than 3300"),
        ("[ratings.glicko]\nk = 3", 7, "unknown key 'ratings.glicko'"),
    ],
)
def test_refusals_name_the_line(tmp_path: Path, words: str, line: int, found: str) -> None:
    """A slip in the settings is one line with its place and what is allowed."""
    with pytest.raises(InputRefused) as caught:
        section(tmp_path, words)
    assert f"trial.toml:{line}: " in str(caught.value)
    assert found in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings_of_a_system_that_is_not_shown(tmp_path: Path) -> None:
    """Settings that nothing would use are refused."""
    path = tmp_path / "trial.toml"
    path.write_text(TOML.format("[ratings.elo]\nk = 24").replace('"ml", "elo", "gor", "egf", "egf2021"', '"ml"'))
    with pytest.raises(InputRefused, match="settings for elo, which systems does not name"):
        load.load(path)


def test_settings_reach_the_ratings(tmp_path: Path) -> None:
    """What the file says decides K, variant and start; without a word what was said before holds."""
    words = '[ratings.elo]\nk_policy = "fide"\nstart_value = 1500\n[ratings.egf]\nstart_value = 2000\neps = 0.0'
    asked = section(tmp_path, words)
    with Store.open(tmp_path / "t.db") as store:
        log = store.create_tournament(replace(draft(), entrants=(Entrant("Fruit"), Entrant("Toga"))))
        add_game(log, game())
        run.rate(store, asked)
        assert ratings_of(store, "elo") == {"Fruit": (1520.0, 1), "Toga": (1480.0, 1)}
        assert ratings_of(store, "egf")["Fruit"] == (2013.5, 1)
        assert ratings_of(store, "gor")["Toga"] == (100.0, 1)
        run.rate(store, RatingsSection(systems=("elo",)))
        assert ratings_of(store, "elo")["Fruit"] == (1520.0, 1)


def test_ratings_brought_along(tmp_path: Path) -> None:
    """An entrant's rating is where it begins, in every system that knows such a rating."""
    with Store.open(tmp_path / "t.db") as store:
        log = store.create_tournament(
            replace(draft(), entrants=(Entrant("Fruit", rating=1800), Entrant("Toga", rating=2000), Entrant("Phalanx")))
        )
        add_game(log, game())
        add_game(log, game("Phalanx", "Toga"))
        run.rate(store, section(tmp_path, ""))
        for system, other in (("elo", 0.0), ("gor", 100.0), ("egf", 100.0), ("egf2021", 100.0)):
            begun = [history(store, system, name)[0].before for name in ("Fruit", "Toga", "Phalanx")]
            assert begun == [1800, 2000, other], system


def test_a_new_version_inherits(tmp_path: Path) -> None:
    """With `inherit` the events of a new build begin with the rating of the one before."""
    with Store.open(tmp_path / "t.db") as store:
        log = store.create_tournament(replace(draft(), entrants=(Entrant("Fruit"), Entrant("Toga"))))
        add_game(log, game())
        log.accept_change({"Fruit": spec("Fruit", "f2")})
        add_game(log, game(meeting=2))
        run.rate(store, section(tmp_path, "[ratings.elo]\ninherit = true"))
        first, second = history(store, "elo", "Fruit")
        assert (first.before, first.after, second.before) == (0, 8, 8)
        run.rate(store, section(tmp_path, "[ratings.elo]\ninherit = false"))
        assert history(store, "elo", "Fruit")[1].before == 0


def test_event_classes_go_by_tournament(tmp_path: Path) -> None:
    """An EGF event has the class of its tournament's name, or of one edition alone."""
    with Store.open(tmp_path / "t.db") as store:
        plan = replace(draft(), entrants=(Entrant("Fruit"), Entrant("Toga")))
        for _ in range(2):
            add_game(store.create_tournament(plan), game())
        run.rate(store, section(tmp_path, '[ratings.egf2021]\nclasses = { "autumn" = "C", "autumn #2" = "D" }'))
        halved, quartered = history(store, "egf2021", "Fruit")
        run.rate(store, section(tmp_path, "[ratings.egf2021]"))
        whole, after = history(store, "egf2021", "Fruit")
        assert halved.change == whole.change / 2
        assert quartered.weight < after.weight / 3
