"""Tests of ratings/priors."""

from math import log, log10
from pathlib import Path

import numpy as np
import pytest

from enginetour.model.errors import InputRefused
from enginetour.model.game import Outcome
from enginetour.ratings.likelihood import fit
from enginetour.ratings.pairs import pairs_of
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.ratings.priors import (
    GaussianPrior,
    LooseAnchor,
    PhantomDraws,
    VirtualDraws,
    describe_prior,
    loose_anchor_prior,
    parse_loose_anchor,
    pool_prior,
    with_virtual_draws,
)
from enginetour.ratings.ratinglist import rating_list
from enginetour.store.tournaments import Store
from tests.support.databases import draft, record, row
from tests.support.tournaments import tour, unwrapped

MATCH = {("A", "B"): (30, 40, 15)}


DOUBT = "errors are relative to the pool average, without the uncertainty of the loose anchors"
MATCH_SD = 27.455981  # of the difference


@pytest.mark.parametrize("words", ["2784+-15", "2784±15", " 2784.0 +/- 15 ", "2784 ± 15"])
def test_words(words: str) -> None:
    """All notations of plus-minus give the same anchor, and its text can be read again."""
    assert parse_loose_anchor(words) == LooseAnchor(2784, 15)
    assert parse_loose_anchor(parse_loose_anchor(words).text) == parse_loose_anchor(words)


@pytest.mark.parametrize(
    "words", ["", "2784", "2784+-", "2784+-0.5", "x+-5", "2784+-1e3", "9999999+-5", "1.2.3+-4", "5+-nan"]
)
def test_words_that_are_none(words: str) -> None:
    """An invalid loose anchor raises an error with the allowed form."""
    with pytest.raises(ValueError, match=r"not a valid loose anchor; use RATING\+-SD"):
        parse_loose_anchor(words)


def test_one_loose_anchor_gives_the_level() -> None:
    """One loose anchor keeps its rating and fixes the level; errors are those of the games, with a note."""
    made = rating_list(MATCH, loose={"A": LooseAnchor(2784, 15)})
    assert row(made, "A").rating == pytest.approx(2784, abs=1e-6)
    assert row(made, "B").rating == pytest.approx(2784 - 400 * log10(50 / 35), abs=1e-6)
    assert [each.plus for each in made.rows] == pytest.approx([NORMAL_95 * MATCH_SD / 2] * 2, abs=1e-5)
    assert (made.level, made.caption) == ("A = 2784 ± 15", (DOUBT,))


def test_two_loose_anchors_give_way_to_the_games() -> None:
    """Two loose anchors move by their score deviation times their variance."""
    made = rating_list(MATCH, loose={"A": LooseAnchor(2700, 20), "B": LooseAnchor(2700, 40)})
    high, low = row(made, "A").rating, row(made, "B").rating
    excess = (50 - 85 / (1 + 10 ** ((low - high) / 400))) * log(10) / 400
    assert excess == pytest.approx((high - 2700) / 20**2, abs=1e-9)
    assert -excess == pytest.approx((low - 2700) / 40**2, abs=1e-9)
    assert high - low < 400 * log10(50 / 35)


def test_loose_anchors_on_both_sides_link_groups() -> None:
    """Loose anchors connect components, even if one lost all games."""
    made = rating_list({("A", "B"): (9, 0, 0)}, loose={"A": LooseAnchor(2700, 50), "B": LooseAnchor(2600, 50)})
    assert row(made, "A").remarks[0] == "unbeaten: rating depends on the prior (2700 ± 50)"
    assert not any("no finite maximum" in each for each in made.caption)


@pytest.mark.parametrize("level", [3000, 10_000, 100_000])
@pytest.mark.parametrize("sd", [1, 10, 1000])
def test_a_high_level_is_found_by_those_between(level: float, sd: float) -> None:
    """Engines without a prior start at the average of the others, even at a high level."""
    chain = {("A", "B"): (30, 40, 15), ("B", "C"): (20, 40, 25), ("C", "D"): (30, 20, 35)}
    high, low = (
        rating_list(chain, loose={"A": LooseAnchor(at, sd), "D": LooseAnchor(at + 100, sd)}) for at in (level, 0)
    )
    assert high.residual < 1e-8
    assert [row(high, name).rating - level for name in "ABCD"] == pytest.approx(
        [row(low, name).rating for name in "ABCD"], abs=1e-6
    )


def test_who_is_unbeaten_beside_a_loose_anchor_is_told() -> None:
    """An unbeaten engine gets the default prior around the loose anchors; without a prior it is not rated."""
    counts = {**MATCH, ("C", "A"): (4, 0, 0)}
    made = rating_list(counts, loose={"A": LooseAnchor(2784, 15)})
    assert row(made, "C").remarks[0] == "unbeaten: rating depends on the prior (2784 ± 350)"
    assert "standard deviation 350 around the loose anchors" in made.caption[0]
    apart = rating_list(counts, prior="none", loose={"A": LooseAnchor(2784, 15)})
    assert [each.name for each in apart.unrated] == ["C"]
    assert row(apart, "A").rating == pytest.approx(2784, abs=1e-6)


def test_pools_without_one_keep_their_average() -> None:
    """A loose anchor has no effect on pools that it is not in."""
    made = rating_list({**MATCH, ("X", "Y"): (20, 40, 20)}, loose={"A": LooseAnchor(2784, 15)})
    assert row(made, "X").rating == pytest.approx(0, abs=1e-6)


def test_a_spread_for_all_leaves_the_anchors_theirs() -> None:
    """The prior of the other engines is around the anchors' mean weighted by precision."""
    prior = loose_anchor_prior(("A", "B", "C"), {"A": LooseAnchor(100, 10), "B": LooseAnchor(200, 20)}, 300)
    assert prior == GaussianPrior({"A": 10, "B": 20, "C": 300}, {"A": 100, "B": 200, "C": 120})
    made = rating_list(MATCH, loose={"A": LooseAnchor(100, 10)}, prior=GaussianPrior(300))
    assert row(made, "B").rating > row(rating_list(MATCH, loose={"A": LooseAnchor(100, 10)}), "B").rating
    assert made.caption == ("a Gaussian prior is used: standard deviation 300 around the loose anchors", DOUBT)


def test_beliefs_that_contradict() -> None:
    """Loose anchors with another level, another prior, or unknown engines raise an error."""
    own = {"A": LooseAnchor(0, 10)}
    for terms in ({"mean": 5.0}, {"prior": PhantomDraws()}, {"anchors": {"A": 1.0}}, {"prior": GaussianPrior(5, 5)}):
        with pytest.raises(InputRefused):
            rating_list(MATCH, loose=own, **terms)
    with pytest.raises(InputRefused, match="Fruit is not an engine of this list"):
        rating_list(MATCH, loose={"Fruit": LooseAnchor(0, 10)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a workspace with games of two engines, and the same games as a file."""
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
    """Lists of files, tournaments and the database take loose anchors in the same form and show the level."""
    words = (*command, "--loose-anchor", "Toga=2600+-30")
    found = unwrapped(tour(folder, *words, "--json").stdout)
    assert {each["name"]: round(each["rating"], 6) for each in found["list"]}["Toga"] == 2600
    assert "maximum likelihood (logistic), Toga = 2600 ± 30; 4 games" in tour(folder, *words).stdout


def test_a_list_keeps_its_loose_anchors(folder: Path) -> None:
    """Loose anchors are part of a list's definition: shown, revised, published and withdrawn."""
    tour(folder, "lists", "define", "blitz", "--loose-anchor", "Toga=2600+-30")
    assert "Toga = 2600 ± 30" in tour(folder, "lists", "show", "blitz").stdout
    tour(folder, "publish", "blitz")
    edition = unwrapped(tour(folder, "editions", "blitz", "1", "--json").stdout)
    assert {each["name"]: round(each["rating"], 6) for each in edition["list"]}["Toga"] == 2600
    assert "Toga = 2600 ± 30" in tour(folder, "editions", "blitz", "1").stdout
    told = tour(folder, "lists", "define", "blitz", "--loose-anchor", "").stdout
    assert "loose: Toga = 2600 ± 30 -> none" in told
    assert unwrapped(tour(folder, "history", "Toga", "--json").stdout)["rating"] < 0


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--loose-anchor", "Toga=2600"), "use RATING+-SD, for example 2784+-15"),
        (("--loose-anchor", "Togo=2600+-30"), "did you mean 'Toga'"),
        (("--loose-anchor", "Toga=2600+-30", "--average", "5"), "cannot be combined with anchors"),
        (("--loose-anchor", "Toga=2600+-30", "--anchor", "Toga=5"), "fixed and a loose anchor"),
        (("--loose-anchor", "Toga=2600+-30", "--prior", "draws=1"), "loose anchors"),
    ],
)
@pytest.mark.parametrize("command", [("rate", "games.pgn"), ("ratings", "--all")])
def test_words_that_do_not_fit(folder: Path, command: tuple[str, ...], words: tuple[str, ...], what: str) -> None:
    """The error is one line with the allowed values."""
    done = tour(folder, *command, *words, expect=None)
    assert done.returncode in (2, 3)
    assert what in " ".join(done.stderr.split())


def test_phantom_draws_are_draws_against_a_fixed_engine() -> None:
    """One phantom draw per engine is equivalent to one real draw against an anchor at 0."""
    phantom = fit({("A", "B"): (3, 0, 0)}, prior=PhantomDraws()).by_name()
    real = fit({("A", "B"): (3, 0, 0), ("A", "0"): (0, 1, 0), ("0", "B"): (0, 1, 0)}, anchors={"0": 0.0}).by_name()
    assert phantom == pytest.approx({"A": real["A"], "B": real["B"]}, abs=1e-7)


def test_phantom_draws_hold_the_level() -> None:
    """Phantom draws fix the level at their rating, and two have twice the effect."""
    one, two, high = (
        fit({("A", "B"): (3, 0, 0)}, prior=prior)
        for prior in (PhantomDraws(), PhantomDraws(2.0), PhantomDraws(1, 2000))
    )
    assert 0 < two.ratings[0] < one.ratings[0]
    assert high.ratings == pytest.approx(one.ratings + 2000, abs=1e-7)
    assert not one.level_free


def test_virtual_draws() -> None:
    """BayesElo's draws are P/4 (n_ij/n_i + n_ij/n_j) in each color."""
    counts = with_virtual_draws(pairs_of({("A", "B"): (3, 0, 0), ("B", "A"): (0, 0, 1), ("C", "B"): (0, 1, 3)}), 2.0)
    rows = {
        (counts.names[white], counts.names[black]): (won, drawn, lost)
        for white, black, won, drawn, lost in zip(
            counts.white, counts.black, counts.wins, counts.draws, counts.losses, strict=True
        )
    }
    assert rows == {
        ("A", "B"): (3, 0.75, 0),  # 2/4 (4/4 + 4/8)
        ("B", "A"): (0, 0.75, 1),
        ("B", "C"): (0, 0.75, 0),
        ("C", "B"): (0, 1.75, 3),
    }


def test_virtual_draws_bound_a_rating() -> None:
    """Virtual draws limit the rating of an unbeaten engine; its record is unchanged."""
    fitted = fit({("A", "B"): (10, 0, 0)}, prior=VirtualDraws())
    assert fitted.ratings[0] - fitted.ratings[1] == pytest.approx(400 * log10(11), abs=1e-7)
    assert fitted.pairs.record[1].tolist() == [0, 0]


@pytest.mark.parametrize(
    "prior", [VirtualDraws(0), PhantomDraws(-1.0), PhantomDraws(1, float("nan")), GaussianPrior(-5)]
)
def test_priors_that_cannot_be(prior: PhantomDraws | VirtualDraws | GaussianPrior) -> None:
    """Weights and standard deviations must be above 0, and ratings finite."""
    with pytest.raises(ValueError, match=r"prior|phantom"):
        fit(MATCH, prior=prior)


@pytest.mark.parametrize(
    "prior", [GaussianPrior(200), GaussianPrior({"A": 50.0, "C": 90.0}, 30.0), PhantomDraws(2, 60)]
)
def test_pull_and_stiffness_are_the_derivatives(prior: PhantomDraws | GaussianPrior) -> None:
    """Gradient and curvature of a prior are the derivatives of its log likelihood."""
    belief, h = pool_prior(("A", "B", "C"), prior, 400 / log(10)), 1e-4
    ratings = np.array([0.5, -0.8, 2.0])
    lift = belief.weights**2 / belief.weights.sum() if belief.floating else np.zeros(3)
    for place in range(3):
        nudge = h * np.eye(3)[place]
        rise = belief.log_likelihood(ratings + nudge) - belief.log_likelihood(ratings - nudge)
        assert belief.pull(ratings)[place] == pytest.approx(rise / (2 * h), abs=1e-7)
        bent = (belief.pull(ratings - nudge) - belief.pull(ratings + nudge))[place] / (2 * h)
        assert (belief.stiffness(ratings) - lift)[place] == pytest.approx(bent, abs=1e-7)


def test_what_a_rating_rests_on() -> None:
    """Each prior is described with its values in shown points."""
    assert describe_prior(GaussianPrior(), "A", 12.04, 1.0) == "the prior (12 ± 350)"
    assert describe_prior(GaussianPrior(100, 50), "A", 0, 0.5) == "the prior (50 ± 50)"
    assert describe_prior(PhantomDraws(3), "A", 0, 1.0) == "phantom draws (3)"
    assert describe_prior(VirtualDraws(), "A", 0, 1.0) == "virtual draws (2)"
