"""Games scheduled ahead."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.pairing.schedule import LONGEST_WINDOW, Docket, match_games, window
from enginetour.model.game import Outcome, Pairing

GAMES = tuple(Pairing("A", name, encounter=n) for n, name in enumerate("BCDEF", 1))


def docket() -> Docket:
    return Docket().renewed(GAMES, 2)


def test_a_window_is_offered_and_moves_on() -> None:
    """As many open games as the window is wide, the earliest first."""
    day = docket()
    assert day.open() == GAMES[:2]
    day = day.finished(GAMES[1], Outcome.DRAW)
    assert day.open() == (GAMES[0], GAMES[2])
    for game in (GAMES[0], *GAMES[2:]):
        assert day.open()
        day = day.finished(game, Outcome.WHITE)
    assert (day.open(), day.left) == ((), 0)


def test_a_voided_game_comes_back_and_nothing_else_goes() -> None:
    """Showing it again takes no other game out of the window."""
    day = docket().finished(GAMES[0], Outcome.DRAW)
    assert day.voidable(GAMES[0]) is Outcome.DRAW
    again = day.reopened(GAMES[0])
    assert again.open() == (GAMES[0], *day.open())
    assert again.left == 5


def test_called_off_games_may_still_come_in_once() -> None:
    """A game in the air when its engine left is no error, and does not count; twice is an error."""
    day, called_off = docket().without("B")
    assert called_off == GAMES[:1] and day.open() == GAMES[1:3] and day.left == 4
    assert not day.counts(GAMES[0])
    day = day.finished(GAMES[0], Outcome.BLACK)
    assert day.left == 4
    with pytest.raises(ValueError, match="finished already"):
        day.counts(GAMES[0])
    assert day.voidable(GAMES[0]) is None


def test_what_cannot_have_happened_is_refused() -> None:
    """Unknown games, other colours, doubles, and voids of what is not finished or void already."""
    day = docket()
    with pytest.raises(ValueError, match="never on offer"):
        day.counts(Pairing("A", "Z"))
    with pytest.raises(ValueError, match="other colours"):
        day.counts(Pairing("B", "A"))
    with pytest.raises(ValueError, match="not a finished game"):
        day.voidable(GAMES[0])
    day = day.finished(GAMES[0], Outcome.DRAW)
    with pytest.raises(ValueError, match="finished already"):
        day.counts(GAMES[0])
    later = day.renewed(())
    assert later.voidable(GAMES[0]) is None
    with pytest.raises(ValueError, match="not a finished game"):
        later.struck_out(GAMES[0], Outcome.DRAW).voidable(GAMES[0])


def test_a_match_is_played_in_encounters_of_two_legs() -> None:
    """Four games are two openings with both colours each."""
    games = list(match_games("A", "B", games=4, encounter=7, number=3))
    assert [(g.white, g.meeting, g.leg, g.encounter, g.round) for g in games] == [
        ("A", 1, 1, 7, 3),
        ("B", 1, 2, 7, 3),
        ("A", 2, 1, 8, 3),
        ("B", 2, 2, 8, 3),
    ]
    assert [(g.meeting, g.leg) for g in match_games("A", "B", games=1, encounter=1, number=1)] == [(1, 1)]


def test_two_idle_entrants_leave_room_in_the_window() -> None:
    """The window is wider than all games of two entrants, up to its longest."""
    assert window(99) > 2 * 99
    assert window(10**6) == LONGEST_WINDOW


def test_a_thousand_slots_have_something_to_do() -> None:
    """A round robin of a hundred offers an encounter of two games for each of them, also in its only cycle."""
    names = [f"E{n}" for n in range(100)]
    pairs = [(a, b) for a in names for b in names if a < b]
    games = [game for n, pair in enumerate(pairs) for game in match_games(*pair, games=2, encounter=n, number=1)]
    assert len({game.pair for game in Docket().renewed(games, window(200)).open()}) > 1000


def test_more_games_fill_the_window() -> None:
    """Games that come later show up as far as there is room."""
    more = tuple(replace(game, meeting=2) for game in GAMES)
    assert Docket().renewed(GAMES[:1], 3).extended(more).open() == (GAMES[0], *more[:2])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 150), st.lists(st.tuples(st.sampled_from("fffffhrxwn"), st.integers(0, 10**6)), max_size=250))
def test_what_is_open_is_what_is_reached_and_not_played(width: int, acts: list[tuple[str, int]]) -> None:
    """Whatever became of the games, in whatever order, the open ones stand in playing order, none is lost or double."""
    names = [f"E{n}" for n in range(10)]
    rounds = [Pairing(a, b, meeting) for meeting in range(1, 6) for a in names for b in names if a < b]
    day = Docket().renewed(rounds[:150], width)
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


def changed(day: Docket, act: str, game: Pairing, number: int) -> Docket:
    if act == "r":
        return day.reopened(game)
    if act == "n":
        return day.renumbered([replace(game, encounter=number)])
    if act == "x":
        return day if game.key in day.place else day.extended([game])
    return day.finished(game, Outcome.DRAW)
