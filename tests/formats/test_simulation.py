"""Tests of formats/simulation."""

from __future__ import annotations

from statistics import fmean, median, pstdev

import pytest

from enginetour.formats.base import SYSTEMS, make_format, options_model
from enginetour.formats.simulation import (
    Estimate,
    Population,
    SimulatedTournament,
    SimulationModel,
    accuracy,
    compare,
    draw_population,
    parse_system,
    population_of,
    simulate,
    simulate_many,
    tau,
)
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Entrant, GameFinished, Outcome, Pairing, StandingsRow

TRUTH = {"A": 300.0, "B": 100.0, "C": 0.0}
THREE = Population(tuple(map(Entrant, "ABC")), TRUTH, SimulationModel(white=0.0), "x")
GAMES = (
    (Pairing("A", "B"), Outcome.WHITE),
    (Pairing("C", "B"), Outcome.WHITE),
    (Pairing("A", "C"), Outcome.DRAW),
)


def course(*ranks: int | None) -> SimulatedTournament:
    table = tuple(StandingsRow(rank, name, 0, 2) for name, rank in zip("ABC", ranks, strict=True))
    return SimulatedTournament(GAMES, table, (3, 3))


@pytest.mark.parametrize(
    ("ranks", "expected", "best"),
    [
        ((1, 2, 3), 1.0, 1.0),
        ((3, 2, 1), -1.0, 0.0),
        ((1, 3, 2), 1 / 3, 1.0),
        ((1, 1, 3), 2 / 3, 0.5),
        ((2, 1, None), 1 / 3, 0.0),
    ],
)
def test_tables_against_the_truth(ranks: tuple[int | None, ...], expected: float, best: float) -> None:
    """Kendall's tau and the best engine are those computed by hand, also with shared ranks."""
    found = accuracy(course(*ranks), THREE)
    assert found.tau_table == pytest.approx(expected)
    assert found.best_table == best


def test_the_fit_looks_at_games_alone() -> None:
    """Fitted ratings depend on games only, not on the table."""
    found = accuracy(course(1, 2, 3), THREE)
    assert found.tau_fit == pytest.approx(tau({"A": 1.0, "B": 0.0, "C": 1.0}, TRUTH)) == 0
    assert found.games == 3
    assert found.gap == pytest.approx(((200**2 + 100**2 + 300**2) / 3) ** 0.5)


def test_standard_errors() -> None:
    """The mean of 1, 2, 3 is 2 with an error of 1/sqrt 3; one figure has no error."""
    assert Estimate.of([1.0, 2.0, 3.0]).error == pytest.approx(3**-0.5)
    assert (Estimate.of([5.0]).mean, Estimate.of([5.0]).error) == (5.0, 0.0)


def test_the_same_system_twice_differs_by_nothing() -> None:
    """A system compared to itself has no difference."""
    twice = [parse_system("entropy", 3), parse_system("entropy:rerate=true", 3)]
    one, other = compare(twice, SimulationModel(), entrants=8, count=4, seed=1)
    assert one.figures == other.figures
    assert {(figure.mean, figure.error) for figure in other.above.values()} == {(0.0, 0.0)}
    assert one.figures["games"].mean == 12


def test_more_games_tell_more() -> None:
    """A round robin is more accurate than two rounds of a Swiss."""
    pair = [parse_system("entropy:placement=['PTS']", 2), parse_system("roundrobin", 2)]
    rounds, everybody = compare(pair, SimulationModel(), entrants=10, count=20, seed=1)
    for key in ("tau_table", "tau_fit"):
        assert everybody.above[key].mean > 5 * everybody.above[key].error > 0
        assert everybody.above[key].mean == pytest.approx(everybody.figures[key].mean - rounds.figures[key].mean)


def test_told_field_by_field() -> None:
    """Progress is reported once per field."""
    told: list[int] = []
    compare([parse_system("roundrobin", 1)] * 2, SimulationModel(), entrants=3, count=5, seed=1, progress=told.append)
    assert told == [1] * 5


def test_fields_that_do_not_suit_a_system() -> None:
    """The error names the system that does not accept the field."""
    for words in ("entropy", "match"):
        with pytest.raises(UsageRefused, match=f"^{words}|{words}") as refusal:
            compare([parse_system(words, 6)], SimulationModel(), entrants=4, count=1, seed=1)
        assert str(refusal.value).startswith(f"{words}: ")


def test_a_format_rehearsed() -> None:
    """Simulated games are within the bounds, and the same seed gives the same figures."""
    options = options_model("bubble").model_validate({"size": 4, "min_matches": 6, "unpark_threshold": 2})
    entrants = [Entrant(f"E{place}", rating=1500.0 - 40 * place) for place in range(8)]

    def rehearsed(seed: int) -> object:
        return simulate_many(
            lambda number: make_format("bubble", options, number), entrants, SimulationModel(), count=8, seed=seed
        )

    found = simulate_many(
        lambda number: make_format("bubble", options, number), entrants, SimulationModel(), count=8, seed=1
    )
    assert found.fewest <= found.low <= found.figures["games"].mean <= found.high <= found.most
    assert rehearsed(1) == found != rehearsed(2)


@pytest.mark.parametrize(
    "words", ["mcmahon", pytest.param("mcmahon:base=2000:groups=bands:bar=2:floor=-2", marks=pytest.mark.night)]
)
@pytest.mark.parametrize(("noise", "better"), [(150.0, 1), (400.0, -1)])
def test_mcmahon_lives_on_good_ratings(words: str, noise: float, better: int) -> None:
    """McMahon is better than a Swiss with errors of 150 Elo, and worse with 400 Elo."""
    pair = [parse_system("swiss-gotha", 6), parse_system(words, 6)]
    lead = compare(pair, SimulationModel(noise=noise), entrants=32, count=24, seed=1)[1].above["tau_table"]
    assert better * lead.mean > 2 * lead.error


def test_usual_settings_and_own_ones() -> None:
    """Settings after the name replace the usual rounds and games."""
    plain = parse_system("entropy", 6).options
    assert (plain.rounds, plain.games_per_pairing, plain.model) == (6, 1, "elo")
    own = parse_system("entropy:model=gor:rounds=4:placement=['PTS','SOS']", 6).options
    assert (own.rounds, own.model, own.placement) == (4, "gor", ("PTS", "SOS"))
    assert not hasattr(parse_system("bubble:size=8", 6).options, "rounds")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("entropie", "unknown format 'entropie', did you mean 'entropy'?"),
        ("entropy:modle=gor", "unknown setting 'modle', did you mean 'model'?"),
        ("entropy:model=glicko", "model: must be 'gor'"),
        ("entropy:model", "a setting must have the form key=value (found 'model')"),
        ("gor-drift:eps=0.0", "eps must be above 0"),
    ],
)
def test_refusals(words: str, told: str) -> None:
    """Errors name the system, the value found and the valid values in one line."""
    with pytest.raises(UsageRefused) as refusal:
        parse_system(words, 6)
    assert told in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize("system", sorted(set(SYSTEMS) - {"match"}))
def test_every_format_comes_to_its_end(system: str) -> None:
    """Each format ends within its bounds, ranks all entrants and is reproducible."""
    field = draw_population(SimulationModel(), 12, "1/0")
    limit = {"games": 120} if system == "adaptive" else {}  # its goal needs thousands of games
    courses = [simulate(make_format(system, options_model(system)(**limit), 1), field) for _ in range(2)]
    fewest, most = courses[0].bounds
    assert fewest <= len(courses[0].games) <= most
    assert {line.name for line in courses[0].table} == set(field.strengths)
    assert courses[0] == courses[1]


def test_a_test_between_two_stops_at_its_verdict() -> None:
    """A match with a test plays no game after its verdict."""
    options = options_model("match").model_validate(
        {"games": 4000, "games_per_pairing": 2, "sprt": {"elo0": 0.0, "elo1": 50.0}}
    )
    format_, field = make_format("match", options, 1), draw_population(SimulationModel(spread=300), 2, "1/0")
    course = simulate(format_, field)
    assert len(course.games) < 4000
    shorter = format_.start(field.entrants)
    for number, (pairing, outcome) in enumerate(course.games):
        assert format_.offers(shorter), number
        shorter = format_.step(shorter, GameFinished(pairing, outcome))
    assert format_.offers(shorter) == ()


def test_chances_between_equals() -> None:
    """Equal engines draw 45 % without White's advantage; very unequal ones do not draw."""
    level = SimulationModel(white=0.0)
    assert level.chances(0, 0) == pytest.approx((0.275, 0.45, 0.275))
    won, drawn_, lost = SimulationModel().chances(100, 0)
    assert won + drawn_ / 2 == pytest.approx(1 / (1 + 10 ** (-120 / 400)))
    assert won + drawn_ + lost == pytest.approx(1)
    assert level.chances(4000, 0)[1] == pytest.approx(0, abs=1e-9)


def test_a_population_is_as_wide_as_its_world() -> None:
    """Random strengths and ratings have the configured spread, noise and median."""
    world = SimulationModel(spread=150, noise=90)
    crowd = draw_population(world, 2000, "crowd")
    truth = [crowd.strengths[entrant.name] for entrant in crowd.entrants]
    ratings = [entrant.rating or 0.0 for entrant in crowd.entrants]
    assert pstdev(truth) == pytest.approx(150, abs=5 * 150 / 4000**0.5)
    assert pstdev(r - t for r, t in zip(ratings, truth, strict=True)) == pytest.approx(90, abs=5 * 90 / 4000**0.5)
    assert ratings == sorted(ratings, reverse=True)
    assert median(ratings) == pytest.approx(2000)


def test_games_end_as_often_as_they_should() -> None:
    """The shares of 4,000 results match the probabilities."""
    pair = population_of(SimulationModel(noise=0.0), (Entrant("A", rating=1600.0), Entrant("B", rating=1500.0)), "pair")
    ends = [pair.outcome(Pairing("A", "B", meeting)) for meeting in range(1, 4001)]
    for outcome, chance in zip(
        (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK), pair.world.chances(1600, 1500), strict=True
    ):
        assert fmean(end is outcome for end in ends) == pytest.approx(chance, abs=5 * (chance / 4000) ** 0.5)


def test_luck_belongs_to_the_pair() -> None:
    """The same game has the same result, and without White's advantage also with reversed colors."""
    field = draw_population(SimulationModel(white=0.0), 8, "luck")
    for meeting in range(1, 40):
        once = field.outcome(Pairing("E1", "E2", meeting))
        again = field.outcome(Pairing("E2", "E1", meeting))
        assert once.half_points(white=True) == again.half_points(white=False)


def test_odds_cost_the_giver_what_a_doubling_of_time_is_assumed_to_be_worth() -> None:
    """A band costs the assumed value of its time odds, or that of the table of divisors."""
    rated = (Entrant("A", rating=1600.0), Entrant("B", rating=1500.0))
    pair = population_of(SimulationModel(noise=0.0), rated, "odds")
    leads = [pair.lead(Pairing("A", "B", handicap=bands)) for bands in (0, 1, 3, 9)]
    assert leads == pytest.approx([100, 0, -200, 100 - 350])
    assert pair.lead(Pairing("B", "A", handicap=-1)) == pytest.approx(0)
    doubled = population_of(SimulationModel(noise=0.0, odds=(2.0, 4.0)), rated, "odds")
    assert doubled.lead(Pairing("A", "B", handicap=2)) == pytest.approx(100 - 140)
    ends = [pair.outcome(Pairing("A", "B", meeting, handicap=3)) for meeting in range(1, 2001)]
    share = fmean(end.half_points(white=True) / 2 for end in ends)
    won, drawn_, _ = pair.world.chances(-200, 0)
    assert share == pytest.approx(won + drawn_ / 2, abs=5 * 0.5 / 2000**0.5)


def test_rated_entrants_are_as_strong_as_rated() -> None:
    """Without noise, strengths are the ratings; with an unrated entrant they are random."""
    rated = (Entrant("A", rating=1600.0), Entrant("B", rating=1500.0))
    assert population_of(SimulationModel(noise=0.0), rated, "x").strengths == {"A": 1600.0, "B": 1500.0}
    assert population_of(SimulationModel(noise=50.0), rated, "x").strengths["A"] != 1600.0
    some = population_of(SimulationModel(noise=0.0), (*rated, Entrant("C")), "x")
    assert some.strengths["A"] > some.strengths["B"] > some.strengths["C"]
    assert some.entrants[0].rating == 1600.0
