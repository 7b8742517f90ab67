"""Quick games on one processor: which games, and who is bound for how long."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.model.game import Opening, Pairing
from enginetour.model.task import DrawRule, EngineSpec, GameTask, ProbeTask, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import quickgames
from enginetour.referee.game import play
from enginetour.referee.quickgames import TOGETHER, Together
from enginetour.referee.startup import EngineShelf
from enginetour.referee.talk import Link
from enginetour.tournament.places import LocalPlace
from tests.playing import LONG, scripted
from tests.test_cores import KEPT
from tests.test_gathering import ALL, FIRST, masks
from tests.touring import config, tour

EVER = 1 << 62
WIDE = {",".join(map(str, sorted(ALL)))}
NARROW = {str(FIRST)}  # the same where there is but one


# What a slot goes by.


@pytest.fixture
def rule(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Those of a slot whose clock is ours; a game takes so long and so many plies, and `done` is what it did."""
    now, done, claimed = SimpleNamespace(ns=1), list[Any](), list[int]()
    claims = [3, 4]  # those that are free, the usual one first
    monkeypatch.setenv(TOGETHER, "1")
    monkeypatch.setattr(quickgames, "time", SimpleNamespace(monotonic_ns=lambda: now.ns))

    def claim(but: int | None = None) -> Any:
        free = sorted(claims, key=lambda one: one == but)
        claimed.extend(free[:1])
        return SimpleNamespace(processor=free[0], close=lambda: done.append("leave"), is_owned=False) if free else None

    def gathered(processor: int, engines: Any) -> Any:
        done.append(processor)
        again, part = lambda: done.append("again"), lambda: done.append("part")
        return SimpleNamespace(again=again, part=part, engines=engines)

    monkeypatch.setattr(quickgames, "claim", claim)
    monkeypatch.setattr(quickgames, "Gathered", gathered)
    slot, engines = Together(), [SimpleNamespace(process=name, games=2) for name in ("one", "other")]

    def play(
        each_ms: float, *, plies: int = 40, slow: bool = False, ends: int = 2, closes: bool = True, **seats: Any
    ) -> bool:
        slot.begin([_seat(name, engine, seats) for name, engine in zip("AB", engines, strict=True)], 10)
        was = slot.quick_ns > 0
        now.ns += int(each_ms * 1e6 * plies)
        if slow:
            slot.part()
        for late in range(ends):
            slot.end(10 + plies + late)
            assert slot.quick_ns == 0
        if closes:
            slot.close()
        return was

    return SimpleNamespace(play=play, now=now, done=done, slot=slot, claims=claims, claimed=claimed, engines=engines)


def _seat(name: str, engine: Any, seats: Any) -> Any:
    """`seats` has settings of both, and of one by its name and an underscore."""
    said = {"limit_ms": 60_000, "threads": 1, "tc": "nodes=1"} | seats
    said |= {key[2:]: value for key, value in seats.items() if key.startswith(f"{name}_")}
    clock = SimpleNamespace(limit_ms=said["limit_ms"], tc=TimeControl.parse(said["tc"]))
    side = SimpleNamespace(spec=SimpleNamespace(threads=said["threads"]))
    return SimpleNamespace(name=name, clock=clock, engine=engine, side=side)


def test_the_game_behind_a_quick_one_is_played_together(rule: Any) -> None:
    """The first one is to compare with. A game that is not quick leaves the processor to others."""
    assert [rule.play(0.2), rule.play(0.1), rule.play(0.25)] == [False, True, True]
    assert rule.done == [3, "part", "again", "part"]
    assert rule.claimed == [3]
    rule.done.clear()
    assert [rule.play(0.2, tc="nodes=9"), rule.play(2, tc="nodes=99")] == [False, False]
    assert rule.done == ["part", "leave"]  # who was left behind
    assert [rule.play(9, tc="nodes=99"), rule.play(0.1)] == [False, True]


def test_quick_is_half_a_millisecond_a_ply(rule: Any) -> None:
    """On the average, our own part and all."""
    assert [rule.play(0.51), rule.play(0.1), rule.play(0.1)] == [False, False, True]
    assert [rule.play(0.49, tc="nodes=2"), rule.play(0.1, tc="nodes=2")] == [False, True]
    assert quickgames.SLOW_NS == 10_000_000 == quickgames.LEAST_MS * 1000  # a thousandth of what it may cost


@pytest.mark.parametrize("colour", ["", "A_", "B_"])
def test_who_wants_more_than_turns_is_not_bound(rule: Any, colour: str) -> None:
    """Threads, or a flag beside which a moment is something, of whichever colour; and the processor is for others."""
    assert [rule.play(0.1, limit_ms=10_000) for _ in range(2)] == [False, True]
    rule.done.clear()
    for word, value in (("threads", 2), ("limit_ms", 9_999)):
        assert [rule.play(0.1, **{colour + word: value}) for _ in range(3)] == [False] * 3
    assert rule.done == ["part", "leave"]


def test_the_first_game_of_a_process_is_played_apart(rule: Any) -> None:
    """Some engines look at its first `go` how many processors there are; of a new process they do."""
    for engine in rule.engines:
        rule.play(0.1)
        engine.games = 1
        assert not rule.play(0.1)
        engine.games = 2
        assert rule.play(0.1)
    rule.engines[0].process = "a third one"
    rule.done.clear()
    assert rule.play(0.1)
    assert rule.done == ["part", 3, "part"]  # the others are let go, wherever they are


def test_a_game_apart_that_is_slow_is_believed(rule: Any) -> None:
    """Whatever an earlier one of the same two was like: here two in a pause."""
    assert [rule.play(0.1), rule.play(0.2), rule.play(0.1), rule.play(2)] == [False, True, False, False]
    rule.now.ns += 1_000_000_000
    assert [rule.play(0.1), rule.play(0.1)] == [False, True]


@pytest.mark.parametrize("closes", [True, False])
def test_a_game_that_broke_off_says_nothing(rule: Any, closes: bool) -> None:
    """Not even when a game behind it, of which nothing is to be learned, ends in its place."""
    rule.play(0.1, ends=0, closes=closes)
    rule.play(0.1, threads=2)
    assert [rule.play(0.1), rule.play(0.1, ends=0), rule.play(0.1)] == [False, True, True]
    assert rule.done == [3, "part", "again", "part"]


def test_a_few_plies_say_nothing(rule: Any) -> None:
    """Neither that a game was quick nor that it paid."""
    assert [rule.play(0.1, plies=7), rule.play(0.1, plies=8), rule.play(9, plies=7), rule.play(0.1)] == [
        False, False, True, True
    ]  # fmt: skip


def test_where_it_does_not_pay_they_stay_apart_for_a_while(rule: Any) -> None:
    """Each time twice as long, as long as it goes on so, and then on another processor; at last a minute."""
    rule.play(0.1)
    for at, wait_ms in enumerate((1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 64_000)):
        rule.done.clear()
        assert rule.play(0.2)
        assert rule.done == [3 + at % 2, "part", "part", "leave"]
        rule.now.ns += (wait_ms - 20) * 1_000_000
        assert [rule.play(0.1), rule.play(0.1)] == [False] * 2  # the one to compare with, and one in the pause
        rule.now.ns += 100_000_000
    assert [rule.play(0.1), rule.play(0.2)] == [True] * 2
    rule.now.ns += 990_000_000
    assert [rule.play(0.1), rule.play(0.1)] == [False] * 2
    rule.now.ns += 10_000_000
    assert rule.play(0.1)


@pytest.mark.parametrize("wrong", [{"slow": True}, {"plies": 7}])
def test_slow_answers_in_a_row_are_no_chance(rule: Any, wrong: Any) -> None:
    """A processor that somebody else has looks like that; what is well in between begins the count anew."""
    rule.play(0.1)
    games: list[dict[str, Any]] = [wrong, wrong, {"plies": 8}, wrong, wrong, wrong, {}]
    assert [rule.play(0.1, **how) for how in games] == [True] * 6 + [False]
    rule.now.ns += 1_100_000_000
    assert [rule.play(0.1, **wrong) for _ in range(4)] == [True] * 3 + [False]


def test_what_is_compared_with_is_measured_anew(rule: Any) -> None:
    """The first game may have been the coldest: every 65th is apart, and by it the next are judged."""
    rule.play(0.45)
    assert [rule.play(0.3) for _ in range(64)] == [True] * 64
    assert [rule.play(0.1), rule.play(0.3), rule.play(0.3)] == [False, True, False]


def test_pairs_are_not_told_apart_without_end(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so many it is known how quick they are."""
    monkeypatch.setattr(quickgames, "MOST_PAIRS", 2)
    for nodes in (1, 2, 3):
        assert not rule.play(0.1, tc=f"nodes={nodes}")
    assert [rule.play(0.1, tc="nodes=3"), rule.play(0.1, tc="nodes=1")] == [True, False]


def test_without_a_processor_they_are_apart(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are taken, or an engine cannot be bound."""

    def refuse(*_: object) -> None:
        raise PermissionError

    rule.play(0.1)
    rule.claims.clear()
    assert not rule.play(0.1)
    rule.claims.append(3)
    assert not rule.play(0.1)
    rule.now.ns += 10_000_000_000
    with monkeypatch.context() as patch:
        patch.setattr(quickgames, "Gathered", refuse)
        rule.done.clear()
        assert [rule.play(0.1) for _ in range(3)] == [False] * 3
        assert rule.done == ["leave"]  # the others were in a pause
    rule.now.ns += 10_000_000_000
    assert rule.play(0.1)


def test_a_core_that_is_somebodys_now_is_left(rule: Any) -> None:
    """From the next game on."""
    rule.play(0.1)
    rule.play(0.1)
    rule.slot._claim.is_owned = True
    rule.claims.remove(3)
    rule.done.clear()
    assert rule.play(0.1)
    assert rule.done == ["part", "leave", 4, "part"]


def test_a_slot_must_be_told(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a place was not told, its slots do not do."""
    monkeypatch.delenv(TOGETHER)
    slot = Together()
    for _ in range(3):
        slot.begin([_seat(name, engine, {}) for name, engine in zip("AB", rule.engines, strict=True)], 0)
        assert slot.quick_ns == 0
        slot.end(40)


# Games.


def played(shelf: EngineShelf, white: EngineSpec | None = None, **rules: Any) -> list[set[str]]:
    """What the engines of a game told of their processors, by ply."""
    specs = white or scripted("uci", "tells-processors", name="A"), scripted("uci", "tells-processors", name="B")
    one, other = (Side(spec, TimeControl.parse(LONG)) for spec in specs)
    task = GameTask(Pairing("A", "B"), one, other, Opening(), Rules(**{"repetition": 5} | rules), keep_lines=KEPT)
    return [{line.split()[-1] for line in move.lines} for move in play(task, Link(), shelf).moves]


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineShelf]:
    """Of a slot that takes every game for a quick one, on the first of our processors."""
    monkeypatch.setenv(TOGETHER, "1")
    for name in ("QUICK_NS", "WORSE", "SLOW_NS"):
        monkeypatch.setattr(quickgames, name, EVER)
    free = SimpleNamespace(processor=FIRST, close=lambda: None, is_owned=False)
    monkeypatch.setattr(quickgames, "claim", lambda **_: free)
    shelf = EngineShelf()
    yield shelf
    shelf.close_all()
    left = os.sched_getaffinity(0)
    os.sched_setaffinity(0, ALL)
    assert left == ALL


def test_engines_of_a_quick_game_share_ours(shelf: EngineShelf) -> None:
    """In each of its plies, and we with them; not between two games."""
    assert [played(shelf) for _ in range(2)] == [[WIDE] * 16] * 2
    for _ in range(2):
        assert os.sched_getaffinity(0) == ALL
        assert played(shelf) == [NARROW] * 16
        assert all(masks(engine.process.engine_pid) == {frozenset(ALL)} for engine in shelf._engines)


def test_a_slow_answer_sets_them_free(shelf: EngineShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is waited for: from then on the game is played as if nothing had been, and the next one together."""
    slow = scripted("uci", "wordless", name="A", at=20, seconds=0.5)  # in its fourth search of the third game
    for _ in range(2):
        assert played(shelf, slow)[1::2] == [WIDE] * 8
    monkeypatch.setattr(quickgames, "SLOW_NS", 250_000_000)
    assert played(shelf, slow)[1::2] == [NARROW] * 3 + [WIDE] * 5
    monkeypatch.setattr(quickgames, "SLOW_NS", EVER)
    assert played(shelf, slow)[1::2] == [NARROW] * 8


def test_what_is_not_plain_sets_them_free(shelf: EngineShelf) -> None:
    """A ply of Python's may take any time; the plain ones behind it are played apart."""
    talks = scripted("uci", "two", name="A", at=20)  # as above
    for _ in range(2):
        played(shelf, talks)
    assert played(shelf, talks)[1::2] == [NARROW] * 3 + [WIDE] * 5


@pytest.mark.parametrize("fault", ["crash", "illegal"])
def test_an_engine_that_fails_leaves_nobody_bound(shelf: EngineShelf, fault: str) -> None:
    """Neither us nor the other one, which waits for its next game."""
    fails = scripted("uci", fault, name="A", at=20)
    for _ in range(2):
        played(shelf, fails)
    assert played(shelf, fails)[1::2] == [NARROW] * 3
    assert masks(os.getpid()) == {frozenset(ALL)}


def test_an_adjudicated_end_sets_us_free(shelf: EngineShelf) -> None:
    """The relay has it decided by Python, and nothing is read behind it."""
    rule = DrawRule(after_move=1, moves=6, score=1000)
    for told in (WIDE, WIDE, NARROW):
        assert played(shelf, draw=rule) == [told] * 12
        assert os.sched_getaffinity(0) == ALL


def test_a_game_that_breaks_off_sets_us_free(shelf: EngineShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever broke it off, and whatever cannot be closed then."""
    for _ in range(2):
        played(shelf)

    def fail(*_: object) -> None:
        assert os.sched_getaffinity(0) == {FIRST}
        raise RuntimeError

    monkeypatch.setattr("enginetour.referee.relay.Relay._watch", fail)
    monkeypatch.setattr("enginetour.referee.books.Books.release", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        played(shelf)
    assert os.sched_getaffinity(0) == ALL


def test_a_game_that_breaks_off_leaves_its_processor(shelf: EngineShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot begins anew behind it, and would be in its own way."""
    left = list[int]()
    free = SimpleNamespace(processor=FIRST, close=lambda: left.append(FIRST), is_owned=False)
    monkeypatch.setattr(quickgames, "claim", lambda **_: free)
    for _ in range(3):
        played(shelf)
    left.clear()
    monkeypatch.setattr("enginetour.referee.relay.Relay._watch", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        played(shelf)
    assert left == [FIRST] * (len(ALL) > 1)


# The setting.


@pytest.mark.parametrize(("setting", "may"), [("", True), ('affinity = "quick"', True), ("affinity = false", False)])
def test_affinity_says_whether(tmp_path: Path, setting: str, may: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of [play]; "quick" if nothing is said."""
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 4")
    path.write_text(path.read_text().replace("[play]\n", f"[play]\n{setting}\n"))
    told = list[bool]()
    usual = LocalPlace.reassign

    def reassign(place: LocalPlace, *words: Any, together: bool, **named: Any) -> None:
        told.append(together)
        usual(place, *words, together=together, **named)

    monkeypatch.setattr(LocalPlace, "reassign", reassign)
    tour(tmp_path, "run", str(path))
    assert told == [may]


@pytest.mark.parametrize("may", [True, False])
def test_a_slot_is_told_whether_it_may(may: bool) -> None:
    """In its environment."""
    with LocalPlace(1, together=may) as place:
        place.submit(ProbeTask(scripted())).result(60)
        environment = Path(f"/proc/{place._slots[0].process.pid}/environ").read_bytes().split(b"\0")
        assert (f"{TOGETHER}=1".encode() in environment) == may


def test_a_match_says_it_on_its_line(tmp_path: Path) -> None:
    """Either way, or not at all."""
    for words, told in (((), None), (("--affinity",), "affinity = true"), (("--no-affinity",), "affinity = false")):
        name = f"m{len(words)}{told}".replace(" = ", "-")
        tour(tmp_path, "match", "wren1", "wren2", *words, "--name", name, "--write-only")
        text = next((tmp_path / "results").glob(f"{name.lower()}*.toml")).read_text()
        assert ("affinity" in text) == (told is not None)
        assert told is None or told in text
