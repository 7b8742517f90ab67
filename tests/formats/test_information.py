"""Tests of formats/information."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2

import pytest
from pydantic import ValidationError

from enginetour.formats.information import (
    UNIT,
    Drift,
    DriftOptions,
    Entropy,
    EntropyOptions,
    Information,
    Probe,
    ProbeOptions,
    entropy,
)
from enginetour.formats.pairing.field import Field, Member, Unpairable
from enginetour.ratings import grades
from enginetour.ratings.gor import con
from tests.support.databases import field_of


def rating_of(grade: str) -> float:
    """Return the middle of a grade on the Go scale."""
    found = grades.parse(grade)
    assert found is not None
    return found.rating()


SIX = {"A": 509.0, "B": 902.0, "C": 464.0, "D": 800.0, "E": 340.0, "F": 646.0}  # Vuorinen 2010, table 2.2
THESIS = Entropy(EntropyOptions(model="gor", integer_steps=True))


def field(ratings: dict[str, float], *rounds: str, families: str = "") -> Field:
    """Return a field; `rounds` name winners and losers, "AB CD" means A beat B with White."""
    members = tuple(Member(name, ratings[name], family="kin" if name in families else "") for name in ratings)
    return field_of(members, *(" ".join("1".join(pair) for pair in games.split()) for games in rounds))


def met(system: Information, before: Field) -> str:
    names = [member.name for member in before.members]
    boards = system.pair(before).boards
    return " ".join(sorted("".join(sorted(names[place] for place in board.pair)) for board in boards))


def all_rounds(names: str) -> Iterator[list[str]]:
    if not names:
        yield []
    for other in names[1:]:
        for rest in all_rounds(names[1:].replace(other, "")):
            yield [names[0] + other, *rest]


def bits(pairs: list[str]) -> float:
    return sum(entropy(THESIS.results(SIX[pair[0]], SIX[pair[1]])) for pair in pairs)


def heaviest(system: Information, before: Field, forbidden: str) -> str:
    """Return the heaviest round by trying all rounds."""
    worth, _ = system.worth(before, system.ratings(before))
    names = "".join(member.name for member in before.members)
    free = [pairs for pairs in all_rounds(names) if not set(forbidden.split()) & set(pairs)]
    return " ".join(max(free, key=lambda pairs: sum(worth(*map(names.index, pair)) for pair in pairs)))


def test_the_six_of_the_thesis() -> None:
    """The example of the thesis has 2.7625 bits, the next best round 2.64196."""
    best, second, *_ = sorted(all_rounds("ABCDEF"), key=bits, reverse=True)
    assert (best, second) == (["AF", "BD", "CE"], ["AE", "BD", "CF"])
    assert bits(best) == pytest.approx(2.7625, abs=5e-5)
    assert bits(second) == pytest.approx(2.64196, abs=5e-6)
    assert met(THESIS, field(SIX)) == "AF BD CE"


def test_the_slip_of_the_thesis() -> None:
    """The printed value of B against F uses the width of E (188) instead of F's (173)."""
    low, high = THESIS.results(SIX["B"], SIX["F"])
    assert (high, low) == pytest.approx((0.81454, 0.18546), abs=6e-6)
    assert 1 / (2.718281828459045 ** (-(SIX["B"] - SIX["F"]) / 188) + 1) == pytest.approx(0.79604, abs=6e-6)


def test_continuous_width_is_the_rule() -> None:
    """Only the printed tables round the width to whole points."""
    rule = Entropy(EntropyOptions(model="gor"))
    assert rule.results(509, 902)[0] != pytest.approx(0.10126, abs=6e-6)
    assert rule.pair(field(SIX)).guarantee == "maximum weight, certified"


def test_each_round_from_fresh_ratings() -> None:
    """Updated ratings change the next round."""
    ratings = {"A": 1900.0, "B": 1800.0, "C": 1700.0, "D": 1600.0}
    before = field(ratings, "DA CB")
    assert met(Entropy(EntropyOptions(rerate=False)), before) == "AB CD"
    moved = Entropy(EntropyOptions()).ratings(before)
    assert moved[0] < 1_900_000 and moved[3] > 1_600_000
    for system in (Entropy(EntropyOptions()), Entropy(EntropyOptions(model="gor"))):
        assert met(system, before) == heaviest(system, before, forbidden="AD BC")


def test_draws_are_a_third_result() -> None:
    """Draws add entropy; without draws the models agree."""
    drawing = Entropy(EntropyOptions(model="elo-draw"))
    chances = drawing.results(1500, 1500)
    assert chances == pytest.approx((0.275, 0.45, 0.275))
    assert entropy(chances) == pytest.approx(-2 * 0.275 * log2(0.275) - 0.45 * log2(0.45))
    assert entropy(Entropy(EntropyOptions(model="elo-draw", draw_rate=0.0)).results(1500, 1600)) == pytest.approx(
        entropy(Entropy(EntropyOptions()).results(1600, 1500))
    )


def test_drift_pairs_for_points_injected() -> None:
    """700 against 454 adds 1.378774 points; eps = 0 is an error."""
    drift = Drift(DriftOptions())
    there = field({"A": 700.0, "B": 454.0, "C": 700.0})
    worth, most = drift.worth(there, drift.ratings(there))
    assert worth(0, 1) / UNIT == pytest.approx(1.378774, abs=1e-6)
    assert worth(1, 0) == worth(0, 1) > worth(0, 2)
    assert worth(0, 1) < most
    with pytest.raises(ValidationError, match="eps must be above 0"):
        DriftOptions(eps=0.0)


def test_absolute_change_pairs_equals() -> None:
    """With absolute change, neighbors by rating meet."""
    system = Drift(DriftOptions(change="absolute", eps=0.0))
    there = field({"A": 2000.0, "B": 1500.0, "C": 2000.0, "D": 1500.0})
    worth, most = system.worth(there, system.ratings(there))
    assert worth(0, 2) / UNIT == pytest.approx(con(2000))
    assert met(system, there) == "AC BD"
    assert most >= worth(1, 3)


def test_probing_aims_above_the_strongest_beaten() -> None:
    """From round 3, winners aim 250 points above the beaten, losers below."""
    ratings = {name: 2000.0 - 100 * place for place, name in enumerate("ABCDEFGH")}
    fixed = Probe(ProbeOptions(rerate=False))
    assert met(fixed, field(ratings)) == "AB CD EF GH"
    before = field(ratings, "AB CD EF GH", "AC BD EG FH")
    worth, most = fixed.worth(before, fixed.ratings(before))
    # E beat F (1500) and G (1400) and aims at 1750; D lost to C (1800) and B (1900) and aims at 1550.
    assert worth(4, 3) == -(abs(1_700_000 - 1_750_000) + abs(1_600_000 - 1_550_000)) < most == 0
    best = heaviest(fixed, before, forbidden="AB CD EF GH AC BD EG FH")
    assert met(fixed, before) == best == "AE BC DH FG"  # F and G, B and C are level and near
    early = Probe(ProbeOptions(rerate=False, from_round=4))
    assert early.worth(before, early.ratings(before))[0](4, 3) == -200_000


GRADES = dict(zip("ABCDEFGHIJ", ["6k", "6k", "5k", "5k", "4k", "3k", "1k", "9k", "4k", "1k"], strict=True))


def test_probing_takes_losses_into_account() -> None:
    """A loss limits the aim to the middle between the beaten and the winner."""
    ratings = {name: rating_of(grade) for name, grade in GRADES.items()}
    fixed = Probe(ProbeOptions(rerate=False))
    rounds = ["AB", "AC", "AD"]

    def aimed(*rounds: str) -> float:
        before = field(ratings, *rounds)
        return fixed.aims(before, fixed.ratings(before))[0] / 1000

    assert rating_of("3k") <= aimed(*rounds) <= rating_of("2k")
    assert "AF" in met(fixed, field(ratings, *rounds))
    assert aimed(*rounds, "FA") == rating_of("4k")
    assert "AE" in met(fixed, field(ratings, *rounds, "FA"))
    assert aimed(*rounds, "GA") == rating_of("5k") + 200  # the middle of 5 and 1 kyu is nearer than 250 points
    assert aimed("BA", "CA", "DA") == rating_of("6k") - 250
    assert aimed("BA", "CA", "DA", "AH") == rating_of("8k") + 50  # the middle of 6 and 9 kyu
    assert aimed("BA", "CA", "AE", "AF") == rating_of("6k")


def test_families_and_rematches() -> None:
    """Families are avoided at equal weight, or always if forbidden; strict stops at a rematch."""
    level = dict.fromkeys("ABCD", 1500.0)
    assert met(Entropy(EntropyOptions()), field(level, families="AB")) in {"AC BD", "AD BC"}
    apart = {"A": 1900.0, "B": 1890.0, "C": 1500.0, "D": 1490.0}
    assert met(Entropy(EntropyOptions()), field(apart, families="AB")) == "AB CD"
    assert "AB" not in met(Entropy(EntropyOptions(forbid_family=True)), field(apart, families="AB"))
    before = field({"A": 1500.0, "B": 1500.0}, "AB")
    assert "rematch of round 1" in Entropy(EntropyOptions()).pair(before).remarks[0]
    with pytest.raises(Unpairable, match="strict = false"):
        Entropy(EntropyOptions(strict=True)).pair(before)


def test_reasons_add_up_to_the_weight() -> None:
    """The reasons of a pair add up to its weight and stay below their maximum."""
    there = field(SIX, families="AF")
    for system in (THESIS, Drift(DriftOptions()), Drift(DriftOptions(change="absolute")), Probe(ProbeOptions())):
        weighed = system.weighed(there)
        for row, one in enumerate(weighed.members):
            for column, other in enumerate(weighed.members):
                if row != column:
                    reasons = system.explain(there, one, other)
                    assert sum(reason.worth for reason in reasons) == weighed.weights[row, column]
                    assert all(reason.worth <= reason.most for reason in reasons)


def test_the_table_is_by_rating_and_the_last_of_it_rests() -> None:
    """The table shows current ratings, and the lowest rated without a bye gets it."""
    three = {"A": 1700.0, "B": 1600.0, "C": 1500.0}
    system = Entropy(EntropyOptions(rounds=3))
    assert system.pair(field(three)).byes == (2,)
    table = system.table(field(three, "BA"), (0, 1, 2))
    assert [line.name for line in table] == ["B", "A", "C"]
    assert dict(table[0].tiebreaks)["RATING"] > 1600


@pytest.mark.parametrize(
    ("system", "ratings", "words"),
    [
        (Entropy(EntropyOptions(rounds=1)), (1500.0, None), "no rating: E1"),
        (Entropy(EntropyOptions(rounds=1, model="gor")), (None, None), "no rating: E0, E1"),
        (Drift(DriftOptions(rounds=1)), (1500.0, 99.0), "too low: E1"),
        (Probe(ProbeOptions(rounds=2)), (1500.0, 1500.0), "at most 1"),
    ],
)
def test_fields_that_cannot_be(system: Information, ratings: tuple[float | None, ...], words: str) -> None:
    """The error names the entrants and the key, or the maximum of rounds."""
    with pytest.raises(ValueError, match=words):
        system.check(tuple(Member(f"E{number}", rating) for number, rating in enumerate(ratings)))


def test_a_field_without_any_rating() -> None:
    """Elo accepts a field without ratings, with no remarks."""
    members = tuple(Member(name) for name in "ABCD")
    system = Entropy(EntropyOptions(rounds=3))
    system.check(members)
    assert system.pair(Field(members, (), (0, 1, 2, 3), 3)).remarks == ()
