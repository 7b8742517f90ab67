"""Tests of the live state of a tournament."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.web.live import (
    MAX_LINES,
    MAX_PENDING,
    MAX_PV_LENGTH,
    SHOWN_MOVES,
    UPDATE_INTERVAL_S,
    Listener,
    LiveGame,
    LiveTournament,
    sse_frame,
)
from tests.support.network import looped, move, start

# A running game as a page shows it.


def played(*moves: str, **more: Any) -> LiveGame:
    game = LiveGame(start(**more))
    for ply, uci in enumerate(moves, 1):
        assert game.move(move(ply, uci=uci, pv="", score=None))
    return game


def test_board_and_moves_follow() -> None:
    """Placement, side to move, last move and movetext are those of the game."""
    told = played("e2e4", "e7e5", "e1e2").to_json()
    assert told["placement"] == "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPPKPPP/RNBQ1BNR"
    assert (told["turn"], told["last"], told["moves"], told["ply"]) == ("black", ["e1", "e2"], "1. e4 e5 2. Ke2", 3)
    assert told["clocks"] == [59_000, 58_500]


def test_a_score_is_whites_view() -> None:
    """Scores are from White's side, mates are counted in moves, and the curve is limited."""
    game = LiveGame(start())
    game.move(move(1, score=35))
    game.move(move(2, score=120))
    game.move(move(3, score=31_995))
    told = game.to_json(whole=True)
    assert [said["score"] for said in told["searches"]] == ["+M5", "-1.20"]
    assert told["graph"] == [35, -120, 1000]


def test_games_of_the_same_two_are_told_apart() -> None:
    """Two games of the same engines have different starts, so that a page does not draw one curve for both."""
    one, other = (LiveGame(start(at=at)) for at in (1000.0, 1060.0))
    for ply in range(1, 5):
        one.move(move(ply))
        other.move(move(ply))
    assert one.to_json()["begun"] == one.to_json(whole=True)["begun"] != other.to_json()["begun"]


def test_black_may_begin() -> None:
    """Move numbers, sides and scores are correct in a position with Black to move."""
    fen = chess.Board().fen().replace(" w ", " b ").replace(" 1", " 7")
    game = LiveGame(start(fen=fen))
    game.move(move(1, uci="e7e5", score=50))
    game.move(move(2, uci="e2e4", score=20))
    told = game.to_json(whole=True)
    assert told["moves"] == "7… e5 8. e4"
    assert (told["graph"], told["first"]) == ([-50, 20], "black")
    assert [said["score"] for said in told["searches"]] == ["+0.20", "-0.50"]


def test_a_game_joined_in_its_course_is_whole() -> None:
    """The answer to `status` has all moves so far, and known moves are not added again."""
    game = LiveGame(start() | move(2, uci="e7e5") | {"moves": ["e2e4", "e7e5"]})
    assert game.to_json()["moves"] == "1. e4 e5"
    assert not game.move(move(2))
    assert game.move(move(3, uci="g1f3"))
    assert game.to_json()["moves"] == "1. e4 e5 2. Nf3"


def test_missed_moves_leave_the_board_alone() -> None:
    """After a missing move the board stays, and the game is marked as incomplete."""
    game = played("e2e4", "e7e5")
    before = game.to_json()["placement"]
    assert game.move(move(5, uci="g1f3"))
    told = game.to_json()
    assert (told["placement"], told["incomplete"]) == (before, True)


def test_a_pv_is_san_from_before_its_move() -> None:
    """A PV is SAN as far as it is legal; free text of CECP engines is shown as it is, up to a limit."""
    game = LiveGame(start())
    game.move(move(1, uci="e2e4", pv="e2e4 e7e5 g1f3 a1a8"))
    game.move(move(2, uci="e7e5", pv="e5 Nf3 (hash) <b>" + "x" * 300))
    first, second = (said["pv"] for said in game.to_json()["searches"])
    assert first == "1. e4 e5 2. Nf3"
    assert second.startswith("e5 Nf3 (hash) <b>")
    assert len(second) == MAX_PV_LENGTH


@pytest.mark.parametrize(
    ("variant", "moves", "extra"),
    [
        ("crazyhouse", ("e2e4", "d7d5", "e4d5", "d8d5", "P@e4"), "in hand: –"),
        ("3check", ("e2e4", "e7e5", "d1h5", "e8e7", "h5e5"), "checks left: 2"),
        ("chess960", ("e2e4", "e7e5"), None),
    ],
)
def test_variants_show_what_lies_beside_the_board(variant: str, moves: tuple[str, ...], extra: str | None) -> None:
    """Pieces in hand and checks left are shown for the variants that have them."""
    told = played(*moves, variant=variant).to_json()
    assert not told["incomplete"]
    assert told["variant"] == variant
    assert (told["extra"] or [None])[0] == extra
    assert "~" not in told["placement"]


@pytest.mark.parametrize(("pv", "shown"), [("0000", "0000"), ("e2e4 0000 g1f3", "1. e4")])
def test_a_pass_ends_a_pv(pv: str, shown: str) -> None:
    """A PV ends before a null move."""
    game = LiveGame(start())
    game.move(move(1, uci="e2e4", pv=pv))
    assert game.to_json()["searches"][0]["pv"] == shown


def test_only_the_last_moves_are_told() -> None:
    """The data of a long game are not larger than those of a short one."""
    game = LiveGame(start())
    for ply in range(1, 301):
        game.move(move(ply))
    told = game.to_json()
    assert len([word for word in told["moves"].split() if not word.endswith(".")]) == SHOWN_MOVES
    assert len(json.dumps(told)) < 2000


FIELDS = st.fixed_dictionaries({}, optional=dict.fromkeys(("fen", "variant", "opening", "white"), st.text(max_size=30)))
UCI = st.text(max_size=6) | st.sampled_from(["e2e4", "e7e5", "0000"])


@given(fields=FIELDS, ucis=st.lists(UCI, max_size=5), pv=st.text(max_size=40) | st.lists(UCI).map(" ".join))
@settings(max_examples=60, deadline=None)
def test_whatever_is_said_the_page_has_something_to_show(fields: dict[str, Any], ucis: list[str], pv: str) -> None:
    """Invalid positions, moves and lines never fail, and the result is always JSON."""
    game = LiveGame(start(**fields))
    for ply, uci in enumerate(ucis, 1):
        game.move(move(ply, uci=uci, pv=pv))
    assert json.loads(json.dumps(game.to_json(whole=True)))["ply"] == len(ucis)


# What goes from a running tournament to the pages that follow it.

STATUS = {"ok": True, "tournament": "autumn", "state": "running", "games_done": 3, "remaining": [1, 2], "slots": 1}


def events(frames: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Frames as a browser takes them apart."""
    found = []
    for frame in frames.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def in_a_loop(scene: Callable[[LiveTournament, Listener], Awaitable[None]]) -> None:
    """A live tournament and one page that follows it."""

    async def play() -> None:
        live, listener = LiveTournament("autumn"), Listener()
        live.begin(STATUS | {"playing": [start()]})
        live.add_listener(listener)
        await scene(live, listener)

    looped(play())


def followed(scene: Callable[[LiveTournament, Listener], Awaitable[None]]) -> Callable[[], None]:
    """A test of a live tournament and one page that follows it."""

    def test() -> None:
        in_a_loop(scene)

    test.__doc__ = scene.__doc__
    return test


@followed
async def test_a_page_is_told_all_then_what_changes(live: LiveTournament, listener: Listener) -> None:
    """A page gets the whole state, then one board for each update interval."""
    ((name, whole),) = events(await listener.due(1))
    assert (name, whole["running"], list(whole["games"])) == ("all", True, ["0"])
    for ply in range(1, 6):
        live.take({"event": "move", **move(ply)})
    await asyncio.sleep(2 * UPDATE_INTERVAL_S)
    ((name, board),) = events(await listener.due(1))
    assert (name, board["slot"], board["ply"]) == ("board", 0, 5)


@followed
async def test_games_incidents_and_notices_are_lines(live: LiveTournament, listener: Listener) -> None:
    """Finished games, incidents and events of the run become lines with safe text."""
    await listener.due(1)
    live.take({"event": "game", "number": 4, "white": "A\u202e", "black": "B", "result": "1-0", "cause": "\x1b[31m"})
    live.take({"event": "incident", "game": 4, "engine": "A", "category": "crash", "cause": "signal 11"})
    live.take({"event": "suspended", "engine": "A", "text": "autumn: A is suspended: no such file"})
    live.take({"event": "finished", "text": "whatever comes later"})
    told = events(await listener.due(1))
    assert [name for name, _ in told] == ["game-line", "incident-line", "incident-line"]
    assert (told[0][1]["white"], told[0][1]["cause"]) == ("A", "[31m")
    assert told[1][1]["text"] == "crash: signal 11"
    assert told[2][1]["text"] == "A is suspended: no such file"


@followed
async def test_a_change_without_a_game_makes_the_table_anew(live: LiveTournament, listener: Listener) -> None:
    """A void game or a withdrawal makes the standings stale; a repeated event does not."""
    for far, stale in (({}, False), ({"games_done": 2}, True), ({"remaining": [1, 1]}, True)):
        live.stale = False
        live.take({**STATUS, **far, "event": "progress"})
        assert live.stale is stale


@followed
async def test_a_page_that_does_not_read_is_told_all_anew(live: LiveTournament, listener: Listener) -> None:
    """The pending events of a slow page are limited, and it gets the whole state instead."""
    for number in range(10 * MAX_PENDING):
        live.take({"event": "game", "number": number, "white": "A", "black": "B", "result": "1-0", "cause": "mates"})
    told = events(await listener.due(1))
    assert len(told) <= MAX_PENDING + 1
    whole = [place for place, (name, _) in enumerate(told) if name == "all"][-1]
    lines = [line["number"] for line in told[whole][1]["lines"]] + [one["number"] for _, one in told[whole + 1 :]]
    assert lines[-MAX_LINES:] == list(range(10 * MAX_PENDING - MAX_LINES, 10 * MAX_PENDING))


@followed
async def test_lines_of_the_log_go_before_those_told_live(live: LiveTournament, listener: Listener) -> None:
    """Lines of the event log are merged with live lines without repetition."""
    for number in (5, 6):
        live.take({"event": "game", "number": number, "white": "A", "black": "B", "result": "1-0"})
    live.take({"event": "incident", "game": 6, "engine": "A", "category": "crash", "cause": "signal 11"})
    old = {"kind": "incident", "game": 2, "engine": "B", "text": "stall: no answer"}
    live.merge_lines([{"number": number} for number in range(1, 6)], [old, dict(live.incidents[0])])
    assert [line["number"] for line in live.lines] == [1, 2, 3, 4, 5, 6]
    assert live.lines[4]["white"] == "A"
    assert [line["game"] for line in live.incidents] == [2, 6]


@followed
async def test_a_game_struck_out_has_no_result_any_more(live: LiveTournament, listener: Listener) -> None:
    """A line is updated if its game becomes void."""
    for number in (4, 5):
        live.take({"event": "game", "number": number, "white": "A", "black": "B", "result": "1-0", "cause": "mates"})
    live.take({**STATUS, "event": "progress", "games_done": 5})
    live.whole = True
    live.take({**STATUS, "event": "progress", "games_done": 4})
    assert not live.whole
    live.merge_lines([{"number": 4, "result": "*", "cause": "annulled, was 1-0: mates"}], ())
    assert [(line["result"], line["white"]) for line in live.lines] == [("*", "A"), ("1-0", "A")]
    assert events(await listener.due(1))[-1][1]["lines"][0]["cause"] == "annulled, was 1-0: mates"


@followed
async def test_orders_have_lines_of_their_own(live: LiveTournament, listener: Listener) -> None:
    """Requests to pause and to stop are shown as lines."""
    live.take({"event": "paused", "text": "autumn: paused by request"})
    live.take({"event": "asked", "text": "autumn: stopping by request"})
    assert [line["text"] for line in live.incidents] == ["paused by request", "stopping by request"]


@followed
async def test_incidents_that_were_missed_stand_in_their_place(live: LiveTournament, listener: Listener) -> None:
    """Incidents of the event log are sorted between those received live."""
    stall = {"event": "incident", "engine": "B", "category": "stall", "cause": "no answer"}
    live.take({"event": "game", "number": 2, "white": "A", "black": "B", "result": "1-0"})
    live.take({**stall, "game": 2})
    live.take({"event": "paused", "text": "autumn: paused"})
    live.end()
    live.begin(STATUS)
    live.take({**stall, "game": 9})
    missed = [{"kind": "incident", "game": game, "engine": "B", "text": "stall: no answer"} for game in (2, 5)]
    live.merge_lines([], missed)
    assert [line["game"] for line in live.incidents] == [2, None, 5, 9]


@followed
async def test_the_end_takes_the_boards_away(live: LiveTournament, listener: Listener) -> None:
    """At the end of a run its boards are removed."""
    await listener.due(1)
    live.end()
    ((name, whole),) = events(await listener.due(1))
    assert (name, whole["running"], whole["games"]) == ("all", False, {})
    assert (whole["progress"]["state"], whole["progress"]["eta"]) == ("stopped", None)


@followed
async def test_the_end_with_nothing_left_is_no_stop(live: LiveTournament, listener: Listener) -> None:
    """A run that ends without remaining games is finished, not stopped."""
    await listener.due(1)
    live.take({**STATUS, "event": "progress", "remaining": [0, 0]})
    await listener.due(1)
    live.end()
    ((_, whole),) = events(await listener.due(1))
    assert whole["progress"]["state"] == "finished"


def test_many_boards_leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Updates that take long are sent less often."""
    clock = count(0.0, 1.5)
    monkeypatch.setattr("enginetour.web.live.thread_time", lambda: next(clock))

    async def scene(live: LiveTournament, listener: Listener) -> None:
        await listener.due(1)
        loop = asyncio.get_running_loop()
        for slot in range(1000):
            live.take({"event": "start", **start(slot)})
        await asyncio.sleep(0)  # the loop's turn, in which the boards are told
        assert [name for name, _ in events(await listener.due(1))] == ["board"] * 1000
        live.take({"event": "move", **move(1)})
        assert live._timer is not None and live._timer.when() - loop.time() > 3 * 1.5

    in_a_loop(scene)


@followed
async def test_nobody_looking_on_costs_no_frame(live: LiveTournament, listener: Listener) -> None:
    """Without listeners no frames are made."""
    live.listeners.clear()
    await listener.due(1)
    for ply in range(1, 4):
        live.take({"event": "move", **move(ply)})
    assert live._timer is None
    assert live.snapshot()["games"]["0"]["ply"] == 3


def test_silence_is_broken_by_a_comment() -> None:
    """An idle stream gets a comment, which is not an event."""

    async def wait() -> bytes:
        return await Listener().due(0.01)

    frames = looped(wait())
    assert frames.startswith(b":")
    assert events(frames) == []


def test_a_closed_listener_waits_no_more() -> None:
    """The stream of a closed listener ends at once."""

    async def wait() -> bytes:
        listener = Listener()
        listener.close()
        return await listener.due(3600)

    assert looped(wait()) == b""


def test_a_frame_is_one_line_whatever_is_in_it() -> None:
    """Line breaks in names cannot create additional events."""
    frame = sse_frame("board", {"white": "a\n\nevent: all\ndata: {}", "black": "\r\r"})
    assert frame.count(b"\n") == 3
    assert frame.count(b"\r") == 0
    assert events(frame)[0][1]["white"].startswith("a\n")
