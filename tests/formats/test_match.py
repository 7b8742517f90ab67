"""Tests of formats/match: schedule, stopping rules, void games and withdrawals."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from enginetour.formats.base import replay
from enginetour.formats.match import WINDOW, Match, MatchOptions, MatchState
from enginetour.formats.roundrobin import RoundRobin, RoundRobinOptions
from enginetour.model.errors import InputRefused
from enginetour.model.game import (
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameVoided,
    Outcome,
    Pairing,
    Replaced,
    Withdrawn,
)
from enginetour.ratings.pentanomial import class_counts, error_of, statistics_of
from enginetour.ratings.sequential import Sprt, Walk, _follow, step
from enginetour.reports.sprt import current_test, sprt_json, sprt_lines, sprt_sheet
from tests.support.databases import shown
from tests.support.tournaments import config, read, tour

TWO = (Entrant("New"), Entrant("Base"))
SHORT = {"elo0": 0.0, "elo1": 100.0}
BY_FIRST = (Outcome.BLACK, Outcome.DRAW, Outcome.WHITE)  # by half points of White


def match(**settings: object) -> Match:
    return Match(MatchOptions.model_validate({"games": 400, "sprt": SHORT} | settings))


def ended(pairing: Pairing, half_points: int) -> GameFinished:
    """Return a finished game in which New scores `half_points`."""
    return GameFinished(pairing, BY_FIRST[half_points if pairing.white == "New" else 2 - half_points])


def played(
    format_: Match, state: MatchState, scores: Iterable[int], dice: random.Random | None = None
) -> tuple[MatchState, list[GameFinished]]:
    """Play games in offered or random order until either ends; New scores `scores` in them."""
    known, events = list(scores), list[GameFinished]()
    while offers := [game for game in format_.offers(state) if state.number(game) < len(known)]:
        for game in [dice.choice(offers)] if dice else offers:
            events.append(ended(game, known[state.number(game)]))
            state = format_.step(state, events[-1])
            if state.is_over:
                break
    return state, events


def luck(seed: int) -> list[int]:
    dice = random.Random(seed)
    return [dice.choice([0, 1, 1, 2, 2]) for _ in range(400)]


def test_both_play_each_opening_with_both_colors() -> None:
    """Each encounter has two games with both colors; with one game per opening, colors alternate."""
    pairs = match(games=4).offers(match(games=4).start(TWO))
    assert shown(pairs, "white meeting leg encounter") == ["New 1 1 1", "Base 1 2 1", "New 2 1 2", "Base 2 2 2"]
    singles = match(games=4, games_per_pairing=1)
    games = shown(singles.offers(singles.start(TWO)), "white meeting leg")
    assert games == ["New 1 1", "Base 2 1", "New 3 1", "Base 4 1"]


def test_without_a_test_all_games_are_played() -> None:
    """A match without a test plays a known number of games and makes no decision."""
    format_ = match(games=6, sprt=None)
    state = format_.start(TWO)
    assert format_.remaining(state) == (6, 6)
    state, _ = played(format_, state, [2, 1, 0, 2, 2, 1])
    assert format_.remaining(state) == (0, 0)
    assert shown(format_.standings(state)) == ["1 New 8 6", "2 Base 4 6"]
    assert [note.kind for note in format_.notes(state)] == ["schedule"]
    assert format_.tested(state) is None
    assert format_.expected_games() is None


@pytest.mark.parametrize("field", [1, 3])
def test_a_match_has_two_entrants(field: int) -> None:
    """Any other number of entrants is an error that names a suitable format."""
    with pytest.raises(InputRefused, match="needs exactly two entrants"):
        match().start(tuple(Entrant(f"E{n}") for n in range(field)))


@pytest.mark.parametrize("model", ["logistic", "normalized", "bayesian"])
@pytest.mark.parametrize(("legs", "asked"), [(1, True), (2, True), (2, False)])
def test_the_verdict_is_that_of_the_walk(model: str, legs: int, asked: bool) -> None:
    """The test evaluates each complete unit in scheduled order."""
    format_, scores = match(games_per_pairing=legs, sprt=SHORT | {"model": model, "pairs": asked}), luck(3)
    state, events = played(format_, format_.start(TWO), scores)
    pairs = legs == 2 and asked and model != "bayesian"
    units = [scores[n] + scores[n + 1] for n in range(0, 400, 2)] if pairs else scores
    walk = _follow(Sprt(0, 100, model), units, 5 if pairs else 3)  # type: ignore[arg-type]
    assert state.verdict == walk.verdict == "H1"
    assert state.walk is not None
    assert state.walk.stopped == walk.stopped
    assert len(events) == sum(walk.stopped) * (2 if pairs else 1)
    fields = dict(format_.notes(state)[-1].fields)
    assert fields["verdict"] == "H1"
    assert fields["counts"] == list(walk.stopped)


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_finishing_does_not_move_the_verdict(seed: int) -> None:
    """The order in which games end does not change the verdict, also with void games."""
    format_, scores, dice = match(), luck(seed), random.Random(seed)
    straight, _ = played(format_, format_.start(TWO), scores)
    state, events = format_.start(TWO), list[Event]()
    while offers := format_.offers(state):
        game = dice.choice(offers[:16])  # as with sixteen slots
        event = ended(game, scores[state.number(game)])
        events += [GameFinished(game, Outcome.VOID), event] if dice.random() < 0.05 else [event]
        state = format_.step(state, event)
    assert straight.verdict
    assert state.notes == straight.notes
    assert state.walk == straight.walk
    assert replay(format_, TWO, events) == state


def worst(counts: Sequence[int]) -> float:
    """Return the error, also with half an outcome more of each kind; infinite if it is unknown."""
    return max(error_of(counts) or 999, error_of([count + 0.5 for count in counts]) or 999)


def test_an_error_to_reach_ends_it() -> None:
    """The match ends at the first unit, in scheduled order, at which the error is small enough."""
    format_, scores = match(games=400, sprt=None, error=40.0), luck(3)
    assert format_.remaining(format_.start(TWO)) == (2, 400)
    state, events = played(format_, format_.start(TWO), scores)
    counts = class_counts((scores[n] + scores[n + 1] for n in range(0, len(events), 2)), 5)
    last = scores[len(events) - 2] + scores[len(events) - 1]
    before = [count - (place == last) for place, count in enumerate(counts)]
    assert worst(counts) <= 40 < worst(before)
    assert format_.offers(state) == () and format_.remaining(state) == (0, 0)
    note = format_.notes(state)[-1]
    shown = "-".join(map(str, counts))
    assert (note.kind, note.text) == ("known", f"error {error_of(counts):.1f} Elo after {sum(counts)} pairs ({shown})")
    other, _ = played(format_, format_.start(TWO), scores, random.Random(1))
    assert other.notes == state.notes
    assert replay(format_, TWO, events) == state
    opened = format_.step(state, GameVoided(state.pairing(0), events[0].outcome))
    assert format_.notes(opened)[-1].text.startswith(
        "the decision (an error of 40 Elo) is withdrawn: a game of encounter 1 is void"
    )
    assert format_.offers(opened)[0] == state.pairing(0)
    with pytest.raises(ValueError, match="is decided: error"):
        format_.step(state, Extended((("games", 402),)))


def test_equal_results_are_not_certainty() -> None:
    """Twenty nearly equal pairs do not reach a small error."""
    format_ = match(games=400, sprt=None, error=20.0)
    state, _ = played(format_, format_.start(TWO), [1] * 38 + [2, 1])
    assert (error_of(state.seen) or 99) < 17
    assert not state.known
    drawn, events = played(format_, format_.start(TWO), [1] * 400)
    assert drawn.known and 40 < len(events) < 100


@pytest.mark.parametrize(("worst", "known"), [(0, True), (2, False)])
def test_a_side_that_wins_nearly_all(worst: int, known: bool) -> None:
    """Far from equality the likelihood interval counts; without a lost point there is none."""
    format_ = match(games=1000, sprt=None, error=90.0)
    scores = [2 if n % 50 else worst for n in range(1, 1001)]
    state, events = played(format_, format_.start(TWO), scores)
    assert state.known is known
    assert format_.offers(state) == ()
    if known:
        told = statistics_of(state.seen)
        assert told.by_profile and told.high is not None and told.low is not None
        assert (told.high - told.low) / 2 == pytest.approx(error_of(state.seen))
        assert len(events) < 1000


def test_an_error_that_is_not_reached() -> None:
    """If the error is not reached, all games are played and the error is noted."""
    format_ = match(games=40, sprt=None, error=5.0)
    state, _ = played(format_, format_.start(TWO), luck(3)[:40])
    assert format_.notes(state)[-1].kind == "undecided"
    assert (
        format_.notes(state)[-1].text.startswith("error ") and " after all 20 pairs (" in format_.notes(state)[-1].text
    )
    longer = format_.step(state, Extended((("games", 42),)))
    assert len(format_.offers(longer)) == 2


def test_the_likely_length_until_an_error() -> None:
    """The expected length is within a tenth of simulations, and closer with each pair."""
    format_, dice = match(games=1000, sprt=None, error=28.0), random.Random(5)
    lengths = [len(played(format_, format_.start(TWO), dice.choices([0, 1, 1, 2], k=1000))[1]) for _ in range(20)]
    mean = sum(lengths) / len(lengths)
    assert format_.likely(format_.start(TWO)) == pytest.approx(mean, rel=0.1)
    state, _ = played(format_, format_.start(TWO), dice.choices([0, 1, 1, 2], k=100))
    assert format_.likely(state) == pytest.approx(mean - 100, rel=0.1)


def decided(format_: Match) -> tuple[MatchState, tuple[Pairing, ...]]:
    """Return a match at its verdict, and the games that were on offer just before it."""
    state, scores = format_.start(TWO), luck(3)
    while True:
        offers = format_.offers(state)
        after = format_.step(state, ended(offers[0], scores[state.number(offers[0])]))
        if after.verdict:
            return after, offers[1:]
        state = after


def test_a_decided_match_offers_nothing_and_takes_what_is_in_the_air() -> None:
    """Games in progress at the verdict count for the table and the rating difference only."""
    format_ = match()
    state, flying = decided(format_)
    assert format_.offers(state) == ()
    assert format_.remaining(state) == (0, 0)
    assert format_.likely(state) == 0
    before = format_.tested(state)
    after = state
    for game in flying[:4]:
        after = format_.step(after, ended(game, 0))
    told = format_.tested(after)
    assert told is not None
    assert before is not None
    assert after.notes == state.notes
    assert told.walk.verdict == before.walk.verdict
    assert told.after_stop == before.after_stop
    assert told.pairs is not None
    assert before.pairs is not None
    assert told.pairs[0] == before.pairs[0] + 2
    assert sum(told.games or ()) == sum(before.games or ()) + 4
    assert format_.standings(after)[1].half_points == format_.standings(state)[1].half_points + 8
    for wrong in (flying[0], Pairing("New", "Base", 400, 1)):
        with pytest.raises(ValueError, match=r"already finished|was not scheduled"):
            format_.step(after, ended(wrong, 0))
    assert format_.step(after, GameFinished(flying[5], Outcome.VOID)) == after


def test_a_void_game_of_the_walk_takes_the_verdict_back() -> None:
    """Voiding an evaluated game withdraws the verdict and offers all open games again."""
    format_ = match()
    state, flying = decided(format_)
    game, scores = state.pairing(7), luck(3)
    after = format_.step(state, GameVoided(game, ended(game, scores[7]).outcome))
    assert after.verdict == ""
    assert format_.notes(after)[-1].kind == "reopened"
    assert format_.offers(after) == (game, *flying)
    assert format_.remaining(after)[0] == 1
    again = format_.step(after, ended(game, scores[7]))
    assert again.walk == state.walk
    assert format_.notes(again)[-1] == format_.notes(state)[-1]


def test_a_void_game_beyond_the_verdict_only_leaves_the_counts() -> None:
    """A game after the verdict can be voided once and is not offered again."""
    format_ = match()
    state, flying = decided(format_)
    over = format_.step(state, ended(flying[0], 0))
    assert format_.step(over, GameVoided(flying[0], ended(flying[0], 0).outcome)) == state
    with pytest.raises(ValueError, match="not a finished game"):
        format_.step(state, GameVoided(flying[0], Outcome.DRAW))


def test_a_long_game_makes_the_look_wait() -> None:
    """Later games are not evaluated before an earlier unit, and the offers stay within the window."""
    format_ = match(games=1000)
    state = format_.start(TWO)
    long = format_.offers(state)[0]
    while offers := [game for game in format_.offers(state) if game != long]:
        state = format_.step(state, ended(offers[0], 2))
    assert len(state.outcomes) == WINDOW - 1
    assert state.verdict == ""
    assert format_.step(state, ended(long, 2)).verdict == "H1"


def test_games_may_run_out_before_the_test_knows() -> None:
    """The test can end undecided; more games or a void game reopen it."""
    format_ = match(games=4)
    state, _ = played(format_, format_.start(TWO), [1] * 4)
    assert [note.kind for note in format_.notes(state)] == ["schedule", "undecided"]
    assert format_.remaining(state) == (0, 0)
    longer = format_.step(state, Extended((("games", 8),)))
    assert format_.remaining(longer) == (2, 4)
    assert [game.meeting for game in format_.offers(longer)] == [3, 3, 4, 4]
    opened = format_.step(state, GameVoided(state.pairing(0), Outcome.DRAW))
    assert format_.notes(opened)[-1].kind == "reopened"
    assert len(format_.offers(opened)) == 1


def test_two_it_stays() -> None:
    """Entrants of a match cannot be added or replaced, and a decided match cannot be extended."""
    format_ = match()
    state, _ = decided(format_)
    for event in (Added(Entrant("Third")), Replaced("Base", Entrant("Third")), Extended((("games", 402),))):
        with pytest.raises(ValueError, match=r"cannot be added|is decided"):
            format_.step(state, event)
    for games in (398, 401):
        with pytest.raises(ValueError, match="even number greater than 400"):
            format_.step(format_.start(TWO), Extended((("games", games),)))


@pytest.mark.parametrize("games", [1, 3, 7])
def test_an_odd_number_has_each_game_on_an_opening_of_its_own(games: int) -> None:
    """With one game per opening, any number of games alternates colors and can be extended."""
    format_ = match(games=games, games_per_pairing=1, sprt=None)
    state, events = played(format_, format_.start(TWO), [2] * games)
    assert [event.pairing.meeting for event in events] == list(range(1, games + 1))
    assert [event.pairing.white for event in events] == [("New", "Base")[n % 2] for n in range(games)]
    assert format_.offers(state) == ()
    assert format_.remaining(state) == (0, 0)
    longer = format_.step(state, Extended((("games", games + 1),)))
    assert [game.white for game in format_.offers(longer)] == [("New", "Base")[games % 2]]
    with pytest.raises(ValueError, match=f"games must be a number greater than {games}"):
        format_.step(state, Extended((("games", games),)))


def test_who_leaves_breaks_the_match_off() -> None:
    """A withdrawal ends the match; a game in progress counts for ratings only."""
    format_ = match()
    state, _ = played(format_, format_.start(TWO), [2, 2])
    flying = format_.offers(state)[0]
    state = format_.step(state, Withdrawn("New"))
    assert format_.offers(state) == ()
    assert format_.notes(state)[-1].text == "New withdraws, the match ends"
    assert format_.notes(format_.step(decided(format_)[0], Withdrawn("New")))[-1].text == "New withdraws"
    late = format_.step(state, ended(flying, 2))
    assert format_.standings(late) == format_.standings(state)
    assert shown(format_.standings(late), "rank name half_points") == ["1 Base 0", "None New 4"]
    with pytest.raises(ValueError, match="already finished"):
        format_.step(late, ended(flying, 2))
    assert format_.step(late, GameVoided(flying, ended(flying, 2).outcome)) == state


def test_the_likely_length_is_that_of_simulated_tests() -> None:
    """The expected length is within a fifth of the mean of 150 simulated tests."""
    format_, test = match(games=4000), Sprt(0, 100)
    dice, lengths = random.Random(5), []
    for _ in range(150):
        walk = Walk((0,) * 5)
        while not walk.verdict:
            walk = step(test, walk, sum(dice.choices([0, 1, 2], [0.1785, 0.5, 0.3215], k=2)))  # 50 Elo: score 0.5715
        lengths.append(2 * sum(walk.stopped))
    mean = sum(lengths) / len(lengths)
    assert format_.likely(format_.start(TWO)) == pytest.approx(mean, rel=0.2)
    told = format_.expected_games()
    assert told is not None
    assert told["middle"] == pytest.approx(mean, rel=0.2)
    assert told["elo0"] < told["middle"] > told["elo1"]


def test_what_is_told_while_it_runs() -> None:
    """The progress shows the SPRT line of cutechess, the rating difference, and the JSON of `status`."""
    format_ = match()
    state, _ = played(format_, format_.start(TWO), luck(3)[:20])
    found = format_.tested(state)
    assert found is not None
    line, strength = sprt_lines(("New", "Base"), found)
    assert line == "SPRT: llr 2.47 (87.5%), lbound -2.94, ubound 2.82"
    assert strength.startswith("New - Base · W 12 D 6 L 2 · pairs 0-0-3-4-3 · Elo +190.8 (")
    assert "LOS" in strength
    final = current_test(format_, decided(format_)[0])
    assert final is not None
    line = sprt_lines(*final)[0]
    ratio, share, _, upper = (float(number) for number in re.findall(r"-?\d+\.\d+", line))
    assert line.endswith(" - H1 was accepted") and ratio >= upper and share >= 100  # the bound that decided
    told = json.loads(json.dumps(sprt_json(*final), allow_nan=False))
    assert told["engines"] == ["New", "Base"]
    state, flying = decided(format_)
    for game in flying[:2]:
        state = format_.step(state, ended(game, 1))
    over = current_test(format_, state)
    assert over is not None
    assert {"what": "after the verdict", "value": "1 game pair, not part of the test"} in sprt_sheet("", *over).rows
    assert told["verdict"] == "H1"
    assert told["estimate"]["low"] < told["estimate"]["elo"] < told["estimate"]["high"]
    assert sum(told["pentanomial"]) * 2 == told["games"]
    robin = RoundRobin(RoundRobinOptions())
    assert current_test(robin, robin.start(TWO)) is None
    assert current_test(format_, format_.start(TWO)) is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("games = 101", "games must be even with games_per_pairing = 2 (found 101)"),
        ("sprt = { elo0 = 5, elo1 = 0 }", "elo0 must be below elo1 (found 5 and 0)"),
        ('sprt = { elo0 = 0, elo1 = 5, model = "elo" }', "'logistic', 'normalized' or 'bayesian'"),
        ("sprt = { elo0 = 0, elo1 = 5, alhpa = 0.1 }", "did you mean 'alpha'"),
        ("sprt = true", "write sprt = {"),
        ("error = 5\nsprt = { elo0 = 0, elo1 = 5 }", "sprt and error exclude each other"),
        ("error = 0", "error"),
        ("error = inf", "error"),
        ("error = 1e-200", "error"),
        ("games_per_pairing = 4", "games_per_pairing"),
    ],
)
def test_a_match_that_cannot_be_is_refused_with_its_line(tmp_path: Path, line: str, told: str) -> None:
    """Invalid settings are one-line errors with file and line."""
    path = config(tmp_path, ("wren1", "wren2"), "match", line)
    error = tour(tmp_path, "check", str(path), expect=3).stderr
    assert "trial.toml:6: " in error
    assert told in error
    assert error.count("\n") == 1


def test_a_match_is_played_decided_and_told(tmp_path: Path) -> None:
    """A match that is stopped and resumed has one verdict in all outputs."""
    settings = "games = 40\nsprt = { elo0 = 0, elo1 = 150 }"
    path = config(tmp_path, ("wren8", "wren1"), "match", settings, strong=True)
    tour(tmp_path, "run", str(path), "--concurrency", "2", "--max-games", "4", expect=None)
    done = tour(tmp_path, "run", str(path), "--concurrency", "2")
    assert "H1 after " in done.stdout
    found = read(tmp_path, "status")
    assert found["state"] == "finished"
    assert found["remaining"] == [0, 0]
    assert found["games_done"] < 40
    assert found["sprt"]["verdict"] == "H1"
    assert found["sprt"]["engines"] == ["Wren 8", "Wren 1"]
    assert "test · trial" in done.stdout
    assert "at the moment of the verdict" in " ".join(done.stdout.split())
    told = read(tmp_path, "ratings", "--sprt", "Wren 8", "Wren 1", "0", "150")
    assert told["sprt"]["verdict"] == "H1"
    assert f"H1 after {told['sprt']['stopped_after']} game pairs" in done.stdout


def scores_of(pairs: Sequence[int]) -> list[int]:
    """Return the games of pairs with these scores."""
    return [points for pair in pairs for points in (min(pair, 2), max(pair - 2, 0))]


def test_an_even_match_accepts_the_lower_bound() -> None:
    """Draws lead to H0, described with the first entrant and the error probability."""
    format_ = match()
    state, _ = played(format_, format_.start(TWO), scores_of([2] * 200))
    assert state.verdict == "H0"
    assert format_.notes(state)[-1].text.endswith("New is less than 100 Elo stronger (error rate 5 %)")


def test_check_tells_how_long_a_test_lasts(tmp_path: Path) -> None:
    """`check` shows the average length of a test for three true differences."""
    path = config(tmp_path, ("wren2", "wren1"), "match", "sprt = { elo0 = 0, elo1 = 40 }")
    told = tour(tmp_path, "check", str(path)).stdout
    assert "average games until the test ends: elo0 " in told
    assert "(Wald's formula, with half of the games drawn)" in told
    plain = config(tmp_path, ("wren2", "wren1"), "match", "games = 10", name="plain")
    assert "verdict" not in tour(tmp_path, "check", str(plain)).stdout


def test_a_third_entrant_is_refused_with_its_line(tmp_path: Path) -> None:
    """A third entrant is an error before any engine starts."""
    path = config(tmp_path, ("wren1", "wren2", "wren3"), "match", "games = 10")
    error = tour(tmp_path, "run", str(path), expect=3).stderr
    line = path.read_text().splitlines().index('engine = "wren3"')
    assert f"trial.toml:{line}: a match needs exactly two entrants (found 3" in error
    assert not (tmp_path / "results" / "enginetour.db").exists()


def test_the_line_of_the_test_comes_with_the_progress(tmp_path: Path) -> None:
    """The SPRT line is printed every ten games."""
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 10\nsprt = { elo0 = 0, elo1 = 1 }")
    assert "\nSPRT: llr " in tour(tmp_path, "run", str(path)).stdout


@pytest.mark.parametrize(
    ("settings", "whites"),
    [({}, "abab"), ({"swap": False}, "aaaa"), ({"reverse": True}, "baba"), ({"swap": False, "reverse": True}, "bbbb")],
)
def test_colors_can_stay_or_begin_the_other_way(settings: dict[str, bool], whites: str) -> None:
    """Without `swap` the first engine always has White; with `reverse` the second one starts."""
    match = Match(MatchOptions.model_validate({"games": 4, **settings}))
    assert "".join(pairing.white for pairing in match.offers(match.start((Entrant("a"), Entrant("b"))))) == whites
