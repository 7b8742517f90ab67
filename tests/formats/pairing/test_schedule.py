"""Tests of formats/pairing/schedule."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.pairing.schedule import (
    LONGEST_WINDOW,
    Colors,
    GameSchedule,
    Order,
    berger,
    match_games,
    rounds_of,
    slide,
    window_size,
)
from enginetour.model.game import Outcome, Pairing
from tests.support.databases import shown

GAMES = tuple(Pairing("A", name, encounter=n) for n, name in enumerate("BCDEF", 1))


def schedule() -> GameSchedule:
    return GameSchedule().renewed(GAMES, 2)


def test_a_window_is_offered_and_moves_on() -> None:
    """The earliest open games are offered, as many as the window holds."""
    day = schedule()
    assert day.open() == GAMES[:2]
    day = day.finished(GAMES[1], Outcome.DRAW)
    assert day.open() == (GAMES[0], GAMES[2])
    for game in (GAMES[0], *GAMES[2:]):
        assert day.open()
        day = day.finished(game, Outcome.WHITE)
    assert (day.open(), day.left) == ((), 0)


def test_a_voided_game_comes_back_and_nothing_else_goes() -> None:
    """A void game is offered again, and no other game leaves the window."""
    day = schedule().finished(GAMES[0], Outcome.DRAW)
    assert day.voidable(GAMES[0]) is Outcome.DRAW
    again = day.reopened(GAMES[0])
    assert again.open() == (GAMES[0], *day.open())
    assert again.left == 5


def test_called_off_games_may_still_come_in_once() -> None:
    """A canceled game in progress is accepted once and does not count."""
    day, called_off = schedule().without("B")
    assert called_off == GAMES[:1] and day.open() == GAMES[1:3] and day.left == 4
    assert not day.counts(GAMES[0])
    day = day.finished(GAMES[0], Outcome.BLACK)
    assert day.left == 4
    with pytest.raises(ValueError, match="already finished"):
        day.counts(GAMES[0])
    assert day.voidable(GAMES[0]) is None


def test_what_cannot_have_happened_is_refused() -> None:
    """Unknown games, other colors, repeated results and invalid voids are errors."""
    day = schedule()
    with pytest.raises(ValueError, match="was not scheduled"):
        day.counts(Pairing("A", "Z"))
    with pytest.raises(ValueError, match="other colors"):
        day.counts(Pairing("B", "A"))
    with pytest.raises(ValueError, match="not a finished game"):
        day.voidable(GAMES[0])
    day = day.finished(GAMES[0], Outcome.DRAW)
    with pytest.raises(ValueError, match="already finished"):
        day.counts(GAMES[0])
    later = day.renewed(())
    assert later.voidable(GAMES[0]) is None
    with pytest.raises(ValueError, match="not a finished game"):
        later.annulled(GAMES[0], Outcome.DRAW).voidable(GAMES[0])


def test_a_match_is_played_in_encounters_of_two_legs() -> None:
    """Four games are two openings with both colors each."""
    games = list(match_games("A", "B", games=4, encounter=7, number=3))
    assert shown(games, "white meeting leg encounter round") == ["A 1 1 7 3", "B 1 2 7 3", "A 2 1 8 3", "B 2 2 8 3"]
    assert [(g.meeting, g.leg) for g in match_games("A", "B", games=1, encounter=1, number=1)] == [(1, 1)]


def test_two_idle_entrants_leave_room_in_the_window() -> None:
    """The window is larger than all games of two entrants, up to its maximum."""
    assert window_size(99) > 2 * 99
    assert window_size(10**6) == LONGEST_WINDOW


def test_a_thousand_slots_have_something_to_do() -> None:
    """A round robin of a hundred offers two games for each of a thousand slots."""
    names = [f"E{n}" for n in range(100)]
    pairs = [(a, b) for a in names for b in names if a < b]
    games = [game for n, pair in enumerate(pairs) for game in match_games(*pair, games=2, encounter=n, number=1)]
    assert len({game.pair for game in GameSchedule().renewed(games, window_size(200)).open()}) > 1000


def test_more_games_fill_the_window() -> None:
    """Added games are offered if the window has room."""
    more = tuple(replace(game, meeting=2) for game in GAMES)
    assert GameSchedule().renewed(GAMES[:1], 3).extended(more).open() == (GAMES[0], *more[:2])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 150), st.lists(st.tuples(st.sampled_from("fffffhrxwn"), st.integers(0, 10**6)), max_size=250))
def test_what_is_open_is_what_is_reached_and_not_played(width: int, acts: list[tuple[str, int]]) -> None:
    """The open games are complete and in playing order after any events."""
    names = [f"E{n}" for n in range(10)]
    rounds = [Pairing(a, b, meeting) for meeting in range(1, 6) for a in names for b in names if a < b]
    day = GameSchedule().renewed(rounds[:150], width)
    for act, number in acts:
        if act == "w":
            day = day.without(names[number % len(names)])[0]
            continue
        hidden = [game for game in day.games[day.reach :] if day.scheduled(game.key)]
        played = [game for game in day.games if game.key in day.played]
        some = {"f": day.open(), "h": hidden, "r": played, "x": rounds[150:], "n": day.open()}[act]
        if some:
            day = changed(day, act, some[number % len(some)], number)
        assert day.open() == tuple(game for game in day.games[: day.reach] if game.key not in day.played)


def changed(day: GameSchedule, act: str, game: Pairing, number: int) -> GameSchedule:
    if act == "r":
        return day.reopened(game)
    if act == "n":
        return day.renumbered([replace(game, encounter=number)])
    if act == "x":
        return day if game.key in day.place else day.extended([game])
    return day.finished(game, Outcome.DRAW)


SEATED: tuple[Order, ...] = ("seats", "circle")


def colors_of(order: Order, colors: Colors, entrants: int) -> list[str]:
    """Return the colors of each entrant, round by round."""
    found = [""] * entrants
    for pairs in rounds_of(order, colors, entrants):
        for white, black in pairs:
            found[white] += "w"
            found[black] += "b"
    return found


def widest(order: Order, colors: Colors, parity: int) -> int:
    """Return the largest color difference in fields of up to 24."""
    found = [run for count in range(2 + parity, 25, 2) for run in colors_of(order, colors, count)]
    return max(abs(run.count("w") - run.count("b")) for run in found)


def test_seats_as_printed() -> None:
    """The first three rounds of ten entrants are those of the source."""
    printed = ["1-6 2-7 3-8 4-9 5-10", "1-7 6-8 2-9 3-10 4-5", "1-8 7-9 6-10 2-5 3-4"]  # Vuorinen 2010, 3.1
    wanted = [[frozenset(map(int, pair.split("-"))) for pair in line.split()] for line in printed]
    found = [[frozenset(seat + 1 for seat in pair) for pair in pairs] for pairs in rounds_of("seats", "balanced", 10)]
    assert found[:3] == wanted


def circle(seats: int) -> Iterator[list[set[int]]]:
    """Return the rounds of the circle method: the first stays, and the last moves to second place."""
    order = list(range(seats + seats % 2))
    for _ in range(len(order) - 1 if seats > 1 else 0):
        pairs = ({order[i], order[-1 - i]} for i in range(len(order) // 2))
        yield [pair for pair in pairs if max(pair) < seats]
        order.insert(1, order.pop())


def test_circle_is_the_circle_method() -> None:
    """The order circle is the circle method, and berger is Berger's table."""
    for count in range(13):
        assert [[set(pair) for pair in pairs] for pairs in rounds_of("circle", "balanced", count)] == list(
            circle(count)
        )
        assert rounds_of("berger", "balanced", count) == berger(count)


@pytest.mark.parametrize("colors", ["balanced", "rows"])
@pytest.mark.parametrize("order", ["berger", *SEATED])
def test_everybody_meets_once(order: Order, colors: Colors) -> None:
    """All pairs meet once, in the fewest rounds."""
    for count in range(13):
        rounds = rounds_of(order, colors, count)
        assert len(rounds) == (0 if count < 2 else count - 1 + count % 2)
        assert sorted(tuple(sorted(pair)) for pairs in rounds for pair in pairs) == list(combinations(range(count), 2))
        for pairs in rounds:
            assert len({seat for pair in pairs for seat in pair}) == 2 * len(pairs) == count - count % 2


@pytest.mark.parametrize("order", SEATED)
def test_colors_are_as_told(order: Order) -> None:
    """Color differences are within the documented limits."""
    assert [widest(order, "balanced", parity) for parity in (0, 1)] == [1, 2]
    assert [widest(order, "rows", parity) for parity in (0, 1)] == [3, 4]
    runs = [run for count in range(2, 25, 2) for run in colors_of(order, "balanced", count)]
    assert not any("www" in run or "bbb" in run for run in runs)


def test_rows_take_turns() -> None:
    """With rows, the upper and the lower row have White in turn."""
    first, second = rounds_of("seats", "rows", 6)[:2]
    assert first == ((0, 3), (1, 4), (2, 5))
    assert second == ((4, 0), (5, 3), (2, 1))


def test_berger_six_as_printed() -> None:
    """The table for six is that of the handbook."""
    printed = "1-6 2-5 3-4 | 6-4 5-3 1-2 | 2-6 3-1 4-5 | 6-5 1-4 2-3 | 3-6 4-2 5-1"  # FIDE C.05 annex 1
    assert " | ".join(" ".join(f"{w + 1}-{b + 1}" for w, b in pairs) for pairs in berger(6)) == printed


@pytest.mark.parametrize("seats", range(2, 25))
def test_berger_colors_are_fair(seats: int) -> None:
    """Berger colors differ by at most one and never repeat three times."""
    colors: dict[int, str] = dict.fromkeys(range(seats), "")
    for boards in berger(seats):
        for white, black in boards:
            colors[white] += "w"
            colors[black] += "b"
    for run in colors.values():
        assert abs(run.count("w") - run.count("b")) == (1 - seats % 2)
        assert "www" not in run and "bbb" not in run


@pytest.mark.parametrize(("front", "back"), [(0, 3), (1, 5), (3, 5), (5, 3), (4, 4), (2, 0)])
def test_rows_slide_past_each_other(front: int, back: int) -> None:
    """Each of one row meets each of the other row once."""
    rounds = slide(front, back)
    met = Counter(pair for boards in rounds for pair in boards)
    assert met == Counter((a, b) for a in range(front) for b in range(back))
    for boards in rounds:
        assert len({a for a, _ in boards}) == len({b for _, b in boards}) == len(boards)
