"""What goes from a running tournament to the pages that follow it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import pytest

from enginetour.web.room import BEAT_S, LINES, MOST_DUE, Listener, Room, framed
from tests.asgi import looped
from tests.serving import move, start

STATUS = {"ok": True, "tournament": "autumn", "state": "running", "games_done": 3, "remaining": [1, 2], "slots": 1}


def events(frames: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Frames as a browser takes them apart."""
    found = []
    for frame in frames.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def in_a_loop(scene: Callable[[Room, Listener], Awaitable[None]]) -> None:
    """A room with one page that looks on."""

    async def play() -> None:
        room, listener = Room("autumn"), Listener()
        room.begin(STATUS | {"playing": [start()]})
        room.attend(listener)
        await scene(room, listener)

    looped(play())


def test_a_page_is_told_all_then_what_changes() -> None:
    """First the whole picture, then a board for each beat, with the newest move only."""

    async def scene(room: Room, listener: Listener) -> None:
        ((name, whole),) = events(await listener.due(1))
        assert (name, whole["running"], list(whole["games"])) == ("all", True, ["0"])
        for ply in range(1, 6):
            room.take({"event": "move", **move(ply)})
        await asyncio.sleep(2 * BEAT_S)
        ((name, board),) = events(await listener.due(1))
        assert (name, board["slot"], board["ply"]) == ("board", 0, 5)

    in_a_loop(scene)


def test_games_incidents_and_notices_are_lines() -> None:
    """A finished game, an incident, what the journal says of the run; names and words are safe to show."""

    async def scene(room: Room, listener: Listener) -> None:
        await listener.due(1)
        room.take(
            {"event": "game", "number": 4, "white": "A\u202e", "black": "B", "result": "1-0", "cause": "\x1b[31m"}
        )
        room.take({"event": "incident", "game": 4, "engine": "A", "category": "crash", "cause": "signal 11"})
        room.take({"event": "suspended", "engine": "A", "text": "autumn: A is suspended: no such file"})
        room.take({"event": "finished", "text": "whatever comes later"})
        told = events(await listener.due(1))
        assert [name for name, _ in told] == ["game-line", "incident-line", "incident-line"]
        assert (told[0][1]["white"], told[0][1]["cause"]) == ("A", "[31m")
        assert told[1][1]["words"] == "crash: signal 11"
        assert told[2][1]["words"] == "A is suspended: no such file"

    in_a_loop(scene)


def test_a_change_without_a_game_makes_the_table_anew() -> None:
    """A game struck out and an engine withdrawn show in how far it is; the same told once more changes nothing."""

    async def scene(room: Room, listener: Listener) -> None:
        for far, stale in (({}, False), ({"games_done": 2}, True), ({"remaining": [1, 1]}, True)):
            room.stale = False
            room.take({**STATUS, **far, "event": "progress"})
            assert room.stale is stale

    in_a_loop(scene)


def test_a_page_that_does_not_read_is_told_all_anew() -> None:
    """However many events come meanwhile, what waits is bounded, and the whole picture takes the place of the rest."""

    async def scene(room: Room, listener: Listener) -> None:
        for number in range(10 * MOST_DUE):
            room.take(
                {"event": "game", "number": number, "white": "A", "black": "B", "result": "1-0", "cause": "mates"}
            )
        told = events(await listener.due(1))
        assert len(told) <= MOST_DUE + 1
        whole = [place for place, (name, _) in enumerate(told) if name == "all"][-1]
        lines = [line["number"] for line in told[whole][1]["lines"]] + [one["number"] for _, one in told[whole + 1 :]]
        assert lines[-LINES:] == list(range(10 * MOST_DUE - LINES, 10 * MOST_DUE))

    in_a_loop(scene)


def test_lines_of_the_log_go_before_those_told_live() -> None:
    """What came while the log was read is not told twice, and nothing before it is missing."""

    async def scene(room: Room, listener: Listener) -> None:
        for number in (5, 6):
            room.take({"event": "game", "number": number, "white": "A", "black": "B", "result": "1-0"})
        room.take({"event": "incident", "game": 6, "engine": "A", "category": "crash", "cause": "signal 11"})
        old = {"kind": "incident", "game": 2, "engine": "B", "words": "stall: no answer"}
        room.remember([{"number": number} for number in range(1, 6)], [old, dict(room.incidents[0])])
        assert [line["number"] for line in room.lines] == [1, 2, 3, 4, 5, 6]
        assert room.lines[4]["white"] == "A"
        assert [line["game"] for line in room.incidents] == [2, 6]

    in_a_loop(scene)


def test_a_game_struck_out_has_no_result_any_more() -> None:
    """Fewer games than before: the lines are read again, and what they say of a game goes before what was told live."""

    async def scene(room: Room, listener: Listener) -> None:
        for number in (4, 5):
            room.take(
                {"event": "game", "number": number, "white": "A", "black": "B", "result": "1-0", "cause": "mates"}
            )
        room.take({**STATUS, "event": "progress", "games_done": 5})
        room.whole = True
        room.take({**STATUS, "event": "progress", "games_done": 4})
        assert not room.whole
        room.remember([{"number": 4, "result": "*", "cause": "struck out, was 1-0: mates"}], ())
        assert [(line["result"], line["white"]) for line in room.lines] == [("*", "A"), ("1-0", "A")]
        assert events(await listener.due(1))[-1][1]["lines"][0]["cause"] == "struck out, was 1-0: mates"

    in_a_loop(scene)


def test_orders_have_lines_of_their_own() -> None:
    """A pause and an end that somebody asked for are shown although neither is a trouble."""

    async def scene(room: Room, listener: Listener) -> None:
        room.take({"event": "paused", "text": "autumn: paused as asked"})
        room.take({"event": "asked", "text": "autumn: stopping as asked"})
        assert [line["words"] for line in room.incidents] == ["paused as asked", "stopping as asked"]

    in_a_loop(scene)


def test_incidents_that_were_missed_stand_in_their_place() -> None:
    """A run that was not heard for a while: what the log has of it comes after what was told before, notices too."""

    async def scene(room: Room, listener: Listener) -> None:
        stall = {"event": "incident", "engine": "B", "category": "stall", "cause": "no answer"}
        room.take({"event": "game", "number": 2, "white": "A", "black": "B", "result": "1-0"})
        room.take({**stall, "game": 2})
        room.take({"event": "paused", "text": "autumn: paused"})
        room.end()
        room.begin(STATUS)
        room.take({**stall, "game": 9})
        missed = [{"kind": "incident", "game": game, "engine": "B", "words": "stall: no answer"} for game in (2, 5)]
        room.remember([], missed)
        assert [line["game"] for line in room.incidents] == [2, None, 5, 9]

    in_a_loop(scene)


def test_the_end_takes_the_boards_away() -> None:
    """Who looks on sees that it runs no more."""

    async def scene(room: Room, listener: Listener) -> None:
        await listener.due(1)
        room.end()
        ((name, whole),) = events(await listener.due(1))
        assert (name, whole["running"], whole["games"]) == ("all", False, {})
        assert (whole["progress"]["state"], whole["progress"]["eta"]) == ("stopped", None)

    in_a_loop(scene)


def test_the_end_with_nothing_left_is_no_stop() -> None:
    """The last game is in when the run goes: the page said "stopped" until the log was read again."""

    async def scene(room: Room, listener: Listener) -> None:
        await listener.due(1)
        room.take({**STATUS, "event": "progress", "remaining": [0, 0]})
        await listener.due(1)
        room.end()
        ((_, whole),) = events(await listener.due(1))
        assert whole["progress"]["state"] == "finished"

    in_a_loop(scene)


def test_many_boards_leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long to tell is told less often: a thousand boards once in some seconds, and in single frames."""
    clock = count(0.0, 1.5)
    monkeypatch.setattr("enginetour.web.room.thread_time", lambda: next(clock))

    async def scene(room: Room, listener: Listener) -> None:
        await listener.due(1)
        loop = asyncio.get_running_loop()
        for slot in range(1000):
            room.take({"event": "start", **start(slot)})
        await asyncio.sleep(0)  # the loop's turn, in which the boards are told
        assert [name for name, _ in events(await listener.due(1))] == ["board"] * 1000
        room.take({"event": "move", **move(1)})
        assert room._timer is not None and room._timer.when() - loop.time() > 3 * 1.5

    in_a_loop(scene)


def test_nobody_looking_on_costs_no_frame() -> None:
    """Events are taken, and nothing waits for anybody."""

    async def scene(room: Room, listener: Listener) -> None:
        room.audience.clear()
        await listener.due(1)
        for ply in range(1, 4):
            room.take({"event": "move", **move(ply)})
        assert room._timer is None
        assert room.snapshot()["games"]["0"]["ply"] == 3

    in_a_loop(scene)


def test_silence_is_broken_by_a_comment() -> None:
    """What keeps a line open is no event."""

    async def wait() -> bytes:
        return await Listener().due(0.01)

    frames = looped(wait())
    assert frames.startswith(b":")
    assert events(frames) == []


def test_a_closed_listener_waits_no_more() -> None:
    """Its stream ends at once."""

    async def wait() -> bytes:
        listener = Listener()
        listener.close()
        return await listener.due(3600)

    assert looped(wait()) == b""


def test_a_frame_is_one_line_whatever_is_in_it() -> None:
    """Line ends in names cannot make events of their own."""
    frame = framed("board", {"white": "a\n\nevent: all\ndata: {}", "black": "\r\r"})
    assert frame.count(b"\n") == 3
    assert frame.count(b"\r") == 0
    assert events(frame)[0][1]["white"].startswith("a\n")
