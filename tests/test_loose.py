import json
from math import log, log10
from pathlib import Path

import pytest

from enginetour.model.errors import InputRefused
from enginetour.model.game import Outcome
from enginetour.ratings.models import GaussianPrior, Near, PhantomDraws, held, near
from enginetour.ratings.ratinglist import rating_list
from enginetour.ratings.uncertainty import NORMAL_95
from enginetour.store.tournaments import Store
from tests.listing_games import record, row
from tests.storing import draft
from tests.touring import tour

MATCH = {("A", "B"): (30, 40, 15)}
DOUBT = "errors are against the pool average: what is unsure of the loose anchors comes on top"
MATCH_SD = 27.455981  # of the difference


@pytest.mark.parametrize("words", ["2784+-15", "2784±15", " 2784.0 +/- 15 ", "2784 ± 15"])
def test_words(words: str) -> None:
    """However plus and minus are typed it is one belief, and what is told reads back."""
    assert near(words) == Near(2784, 15)
    assert near(near(words).told) == near(words)


@pytest.mark.parametrize(
    "words", ["", "2784", "2784+-", "2784+-0.5", "x+-5", "2784+-1e3", "9999999+-5", "1.2.3+-4", "5+-nan"]
)
def test_words_that_are_none(words: str) -> None:
    """What cannot be read, or holds nothing, is told with what can be written."""
    with pytest.raises(ValueError, match=r"write RATING\+-SD"):
        near(words)


def test_one_loose_anchor_gives_the_level() -> None:
    """It stands where it is believed, the other as far off as by the games; errors are those of the games, and told."""
    made = rating_list(MATCH, loose={"A": Near(2784, 15)})
    assert row(made, "A").rating == pytest.approx(2784, abs=1e-6)
    assert row(made, "B").rating == pytest.approx(2784 - 400 * log10(50 / 35), abs=1e-6)
    assert [each.plus for each in made.rows] == pytest.approx([NORMAL_95 * MATCH_SD / 2] * 2, abs=1e-5)
    assert (made.level, made.caption) == ("A = 2784 ± 15", (DOUBT,))


def test_two_loose_anchors_give_way_to_the_games() -> None:
    """Each is pulled by its games as hard as it is held: points in excess, over the spread squared."""
    made = rating_list(MATCH, loose={"A": Near(2700, 20), "B": Near(2700, 40)})
    high, low = row(made, "A").rating, row(made, "B").rating
    excess = (50 - 85 / (1 + 10 ** ((low - high) / 400))) * log(10) / 400
    assert excess == pytest.approx((high - 2700) / 20**2, abs=1e-9)
    assert -excess == pytest.approx((low - 2700) / 40**2, abs=1e-9)
    assert high - low < 400 * log10(50 / 35)


def test_loose_anchors_on_both_sides_link_groups() -> None:
    """Two engines that both are believed somewhere need no further prior, even when one lost all games."""
    made = rating_list({("A", "B"): (9, 0, 0)}, loose={"A": Near(2700, 50), "B": Near(2600, 50)})
    assert row(made, "A").remarks[0] == "unbeaten: rests on the prior (2700 ± 50)"
    assert not any("no finite maximum" in each for each in made.caption)


@pytest.mark.parametrize("level", [3000, 10_000, 100_000])
@pytest.mark.parametrize("sd", [1, 10, 1000])
def test_a_high_level_is_found_by_those_between(level: float, sd: float) -> None:
    """Engines of which nothing is believed were begun at 0, so far off that their games told no direction."""
    chain = {("A", "B"): (30, 40, 15), ("B", "C"): (20, 40, 25), ("C", "D"): (30, 20, 35)}
    high, low = (rating_list(chain, loose={"A": Near(at, sd), "D": Near(at + 100, sd)}) for at in (level, 0))
    assert high.residual < 1e-8
    assert [row(high, name).rating - level for name in "ABCD"] == pytest.approx(
        [row(low, name).rating for name in "ABCD"], abs=1e-6
    )


def test_who_is_unbeaten_beside_a_loose_anchor_is_told() -> None:
    """The usual prior holds it, about the loose anchors; without a prior it has no rating."""
    counts = {**MATCH, ("C", "A"): (4, 0, 0)}
    made = rating_list(counts, loose={"A": Near(2784, 15)})
    assert row(made, "C").remarks[0] == "unbeaten: rests on the prior (2784 ± 350)"
    assert "sd 350 about the loose anchors" in made.caption[0]
    apart = rating_list(counts, prior="none", loose={"A": Near(2784, 15)})
    assert [each.name for each in apart.unrated] == ["C"]
    assert row(apart, "A").rating == pytest.approx(2784, abs=1e-6)


def test_pools_without_one_keep_their_average() -> None:
    """A loose anchor says nothing of a pool it is not in."""
    made = rating_list({**MATCH, ("X", "Y"): (20, 40, 20)}, loose={"A": Near(2784, 15)})
    assert row(made, "X").rating == pytest.approx(0, abs=1e-6)


def test_a_spread_for_all_leaves_the_anchors_theirs() -> None:
    """Others stand about the average of the anchors, weighed by how sure they are."""
    prior = held(("A", "B", "C"), {"A": Near(100, 10), "B": Near(200, 20)}, 300)
    assert prior == GaussianPrior({"A": 10, "B": 20, "C": 300}, {"A": 100, "B": 200, "C": 120})
    made = rating_list(MATCH, loose={"A": Near(100, 10)}, prior=GaussianPrior(300))
    assert row(made, "B").rating > row(rating_list(MATCH, loose={"A": Near(100, 10)}), "B").rating
    assert made.caption == ("a Gaussian prior is used: sd 300 about the loose anchors", DOUBT)


def test_beliefs_that_contradict() -> None:
    """Loose anchors beside another level, another belief, or of strangers, are refused."""
    own = {"A": Near(0, 10)}
    for terms in ({"mean": 5.0}, {"prior": PhantomDraws()}, {"anchors": {"A": 1.0}}, {"prior": GaussianPrior(5, 5)}):
        with pytest.raises(InputRefused):
            rating_list(MATCH, loose=own, **terms)
    with pytest.raises(InputRefused, match="Fruit is not among the rated"):
        rating_list(MATCH, loose={"Fruit": Near(0, 10)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with games of two engines, and the same games as a file."""
    (tmp_path / "results").mkdir()
    with Store.open(tmp_path / "results" / "enginetour.db") as store:
        log = store.create_tournament(draft())
        for outcome in (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK, Outcome.WHITE):
            record(log, "Fruit", "Toga", outcome)
    results = ("1-0", "1/2-1/2", "0-1", "1-0")
    tags = (f'[White "Fruit"]\n[Black "Toga"]\n[Result "{result}"]\n\n{result}\n\n' for result in results)
    (tmp_path / "games.pgn").write_text("".join(tags))
    return tmp_path


@pytest.mark.parametrize("command", [("rate", "games.pgn"), ("ratings",), ("ratings", "--all")])
def test_every_list_takes_loose_anchors(folder: Path, command: tuple[str, ...]) -> None:
    """Of files, of a tournament, of the store: the same words, the same list, and the level is told."""
    words = (*command, "--loose-anchor", "Toga=2600+-30")
    found = json.loads(tour(folder, *words, "--json").stdout)
    assert {each["name"]: round(each["rating"], 6) for each in found["list"]}["Toga"] == 2600
    assert "maximum likelihood (logistic), Toga = 2600 ± 30; 4 games" in tour(folder, *words).stdout


def test_a_list_keeps_its_loose_anchors(folder: Path) -> None:
    """They are part of its definition: shown, revised, published and taken back."""
    tour(folder, "lists", "define", "blitz", "--loose-anchor", "Toga=2600+-30")
    assert "Toga = 2600 ± 30" in tour(folder, "lists", "show", "blitz").stdout
    tour(folder, "publish", "blitz")
    edition = json.loads(tour(folder, "editions", "blitz", "1", "--json").stdout)
    assert {each["name"]: round(each["rating"], 6) for each in edition["list"]}["Toga"] == 2600
    assert "Toga = 2600 ± 30" in tour(folder, "editions", "blitz", "1").stdout
    told = tour(folder, "lists", "define", "blitz", "--loose-anchor", "").stdout
    assert "loose: Toga = 2600 ± 30 -> none" in told
    assert json.loads(tour(folder, "history", "Toga", "--json").stdout)["rating"] < 0


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--loose-anchor", "Toga=2600"), "write RATING+-SD, as 2784+-15"),
        (("--loose-anchor", "Togo=2600+-30"), "did you mean 'Toga'"),
        (("--loose-anchor", "Toga=2600+-30", "--average", "5"), "leave out"),
        (("--loose-anchor", "Toga=2600+-30", "--anchor", "Toga=5"), "fixed and a loose anchor"),
        (("--loose-anchor", "Toga=2600+-30", "--prior", "draws=1"), "loose anchors go with"),
    ],
)
@pytest.mark.parametrize("command", [("rate", "games.pgn"), ("ratings", "--all")])
def test_words_that_do_not_fit(folder: Path, command: tuple[str, ...], words: tuple[str, ...], what: str) -> None:
    """One line that says what is allowed."""
    done = tour(folder, *command, *words, expect=None)
    assert done.returncode in (2, 3)
    assert what in " ".join(done.stderr.split())
