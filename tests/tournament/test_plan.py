"""Tests of tournament/plan: starting lists, scales of ratings, limits of the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from enginetour.engines.machine import ProcessorAllowance
from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.model.game import Outcome
from enginetour.model.task import EngineSpec, Quirks, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.reports.progress import format_status, status_json
from enginetour.store.definition import ListDefinition, define_list
from enginetour.store.editions import publish
from enginetour.store.replay import fold
from enginetour.store.tournaments import Store
from enginetour.tournament import plan as plan_module
from enginetour.tournament.plan import Plan, ordered, prepare, scale_doubts
from enginetour.tournament.watching import RunProgress
from tests.support.databases import draft, record, spec
from tests.support.tournaments import config, read, tour

WRENS = ("Wren 1", "Wren 2", "Wren 3")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Publish edition 1 of "wrens" (Wren 3, Wren 2, Wren 1), then let Wren 1 win without a new edition."""
    (tmp_path / "results").mkdir()
    monkeypatch.setattr("enginetour.store.replay.last_standings", nothing)
    with Store.open(tmp_path / "results" / "enginetour.db") as opened:
        log = opened.create_tournament(draft("spring", WRENS))
        for white, black in (("Wren 3", "Wren 2"), ("Wren 2", "Wren 1")):
            record(log, white, black)
            record(log, black, white, Outcome.DRAW)
        define_list(opened, "wrens", ListDefinition())
        publish(opened, "wrens")
        for _ in range(9):
            record(log, "Wren 1", "Wren 3")
        yield opened


def nothing(_store: Store, _name: str) -> list[str]:
    """Fail if the last standings are used."""
    raise AssertionError


def plan(folder: Path, order: str, system: str = "roundrobin", settings: str = "cycles = 1") -> Plan:
    """Prepare four engines in the order of their numbers, one of them not in the list."""
    path = config(folder, ("wren1", "wren4", "wren2", "wren3"), system, settings)
    path.write_text(path.read_text().replace("seed = 4", f'seed = 4\norder = "{order}"'))
    return prepare(path, None)


def test_newest_edition(store: Store, tmp_path: Path) -> None:
    """The newest edition gives the order; engines that are not in it come last as new, and the edition is stored."""
    said: list[str] = []
    found = ordered(plan(tmp_path, "list:wrens"), store, said.append)
    assert [(entrant.name, entrant.new) for entrant in found.entrants] == [
        ("Wren 3", False),
        ("Wren 2", False),
        ("Wren 1", False),
        ("Wren 4", True),
    ]
    assert said == ["starting list: list:wrens#1"]
    assert found.config.as_stored()["tournament"]["order"] == "list:wrens#1"


def test_edition_by_number(store: Store, tmp_path: Path) -> None:
    """The given edition counts, and of several revisions the newest."""
    log = store.tournament("spring")
    log.accept_change({"Wren 3": spec("Wren 3", "abcdef0123")})
    for _ in range(9):
        record(log, "Wren 1", "Wren 3")
    record(log, "Wren 3", "Wren 2", Outcome.DRAW)
    publish(store, "wrens")

    def names(order: str) -> list[str]:
        return [entrant.name for entrant in ordered(plan(tmp_path, order), store, print).entrants]

    assert names("list:wrens#1") == ["Wren 3", "Wren 2", "Wren 1", "Wren 4"]
    assert names("list:wrens")[0] == "Wren 1"
    assert names("list:wrens") == names("list:wrens#2")


def test_an_edition_brings_ratings_along(store: Store, tmp_path: Path) -> None:
    """A format in rounds that needs ratings takes them from the edition; engines without one are named."""
    with pytest.raises(InputRefused, match="Wren 4"):
        ordered(plan(tmp_path, "list:wrens", "accelrat", "rounds = 2"), store, print)
    with pytest.raises(InputRefused, match="Wren 1, Wren 4"):
        plan(tmp_path, "file", "accelrat", "rounds = 2")
    record(store.tournament("spring"), "Wren 1", "Wren 2")
    found = ordered(plan(tmp_path, "list:wrens", "swiss", "rounds = 2"), store, print)
    assert [entrant.rating is not None for entrant in found.entrants] == [True, True, True, False]


def test_mcmahon_doubts_uncertain_ratings(store: Store, tmp_path: Path) -> None:
    """Uncertain ratings raise a warning for narrow McMahon bands, but not for wide ones or a Swiss."""

    def told(system: str, settings: str) -> str:
        said: list[str] = []
        found = plan(tmp_path, "list:wrens#1", system, f"rounds = 2\n{settings}")
        entrants = tuple(replace(one, rating=1.0) if one.name == "Wren 4" else one for one in found.entrants)
        ordered(replace(found, entrants=entrants), store, said.append)
        return "; ".join(said)

    assert "warning: the ratings of 3 of 3 entrants are uncertain by more than a band of 100" in told("mcmahon", "")
    assert "uncertain" not in told("mcmahon", "width = 2000.0")
    assert "uncertain" not in told("swiss", "")


@pytest.mark.parametrize(
    ("scale", "system", "systems", "told"),
    [
        ("", "mcmahon", '["gor"]', "is used as its McMahon band and as its first gor rating"),
        ("", "swiss", '["elo", "egf2021"]', "is used as its first Elo rating and as its first egf2021 rating"),
        ("", "mcmahon", '["ml", "elo"]', ""),
        ("", "swiss", '["gor"]', ""),
        ('rating_scale = "go"', "mcmahon", '["gor"]', ""),
        ('rating_scale = "elo"', "mcmahon", '["gor"]', ""),
        ('rating_scale = "elo"', "gor-drift", '["ml"]', "gor-drift uses ratings on the Go scale"),
    ],
)
def test_one_number_on_two_scales(scale: str, system: str, systems: str, told: str, tmp_path: Path) -> None:
    """A rating that is used on two scales raises a warning until its scale is stated."""
    entrants = ("wren1", "wren4", "wren2", "wren3")
    path = config(tmp_path, (), system, "rounds = 2", "".join(
        f'\n[[entrants]]\nengine = "{engine}"\nrating = {2000 + at}' for at, engine in enumerate(entrants)
    ))  # fmt: skip
    text = path.read_text().replace("seed = 4", f"seed = 4\n{scale}")
    path.write_text(text.replace("[report]", f"[ratings]\nsystems = {systems}\n[report]"))
    found = scale_doubts(prepare(path, None))
    assert bool(found) is bool(told) and told in "".join(found)


def test_starts_are_told_before_the_first_game(tmp_path: Path) -> None:
    """check and run show bands, bar, floor and starting scores, and that one group makes a Swiss."""
    grades = {"wren4": "1 dan", "wren3": "2 kyu", "wren2": "9k", "wren1": "11k"}
    entrants = "".join(f'\n[[entrants]]\nengine = "{name}"\nrating = "{one}"' for name, one in grades.items())
    path = config(tmp_path, (), "mcmahon", "rounds = 1", entrants)
    lines = [
        "bands of 100 rating points, band 0 begins at 2050: bar -2, floor -9",
        "start 1 (bands -2 to 0): Wren 4, Wren 3",
        "start 0 (bands -11 to -9): Wren 2, Wren 1",
    ]
    assert "\n".join(lines) in tour(tmp_path, "check", str(path)).stdout
    assert read(tmp_path, "check", str(path))["starts"] == lines
    done = tour(tmp_path, "run", str(path), "--plain")
    assert all(line in done.stdout + done.stderr for line in lines)
    path.write_text(path.read_text().replace("rounds = 1", "rounds = 1\nbar = -11").replace('"trial"', '"alike"'))
    for command in ("check", "run"):
        done = tour(tmp_path, command, str(path))
        assert "warning: all entrants start equal, as in a Swiss" in done.stdout + done.stderr


def test_an_order_by_rating_states_the_scale(store: Store, tmp_path: Path) -> None:
    """Ratings that all come from the database are Elo; they cannot be mixed with the Go scale."""
    made = plan(tmp_path, "rating", "swiss", "rounds = 2")
    assert ordered(made, store, print).config.as_stored()["tournament"]["rating_scale"] == "elo"
    own = replace(made, entrants=(replace(made.entrants[0], rating=1.0), *made.entrants[1:]))
    assert ordered(own, store, print).config.tournament.rating_scale is None
    text = made.config.path.read_text()
    made.config.path.write_text(text.replace("seed = 4", 'seed = 4\nrating_scale = "go"'))
    with pytest.raises(InputRefused, match=r'uses the Elo rating of Wren [123], but rating_scale is "go"'):
        ordered(prepare(made.config.path, None), store, print)


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("list:wren", ":4: rating list 'wren' not found, did you mean 'wrens'?"),
        ("list:wrens#4", ":4: edition 4 of the list 'wrens' does not exist"),
        ("list:empty", ":4: the list 'empty' has no edition yet"),
        ("list:strangers", ":4: no entrant is in edition 1 of the list 'strangers'"),
    ],
)
def test_a_list_that_is_not_there(store: Store, tmp_path: Path, order: str, told: str) -> None:
    """A missing list is one line with file and line, and the known lists."""
    log = store.create_tournament(draft("summer", ("Fruit", "Toga")))
    record(log, "Fruit", "Toga")
    define_list(store, "empty", ListDefinition())
    define_list(store, "strangers", ListDefinition(tournaments=("summer",)))
    publish(store, "strangers")
    with pytest.raises(InputRefused) as refused:
        ordered(plan(tmp_path, order), store, print)
    assert told in str(refused.value)


@pytest.mark.parametrize("order", ["list:", "list:wrens#0", "list:wrens#x", "ratings"])
def test_no_order_at_all(tmp_path: Path, order: str) -> None:
    """The error for an invalid order lists the valid ones."""
    with pytest.raises(InputRefused, match=r":4: tournament\.order: must be file, rating, standings, list:NAME"):
        plan(tmp_path, order)


def test_a_fresh_database_has_no_list(tmp_path: Path) -> None:
    """A tournament that needs a list is refused without a database, before any engine starts."""
    plan(tmp_path, "list:wrens")
    done = tour(tmp_path, "run", "trial.toml", expect=3)
    assert "trial.toml:4: list not found" in done.stderr
    assert not (tmp_path / "results" / "enginetour.db").exists()


def side(name: str, *, ponder: bool = False, **options: str) -> Side:
    spec = EngineSpec(name, ("/x",), "uci", options=tuple(options.items()), ponder=ponder, quirks=Quirks())
    return Side(spec, TimeControl.parse("1"))


@pytest.mark.parametrize(
    ("sides", "slots", "wanted"),
    [
        ((side("a"), side("b")), 1, 1),
        ((side("a"), side("b")), 3, 3),
        ((side("a", Threads="4"), side("b")), 2, 8),
        ((side("a", ponder=True), side("b")), 1, 2),
        ((side("a", ponder=True), side("b", ponder=True)), 2, 4),
        ((side("a", cores="2", ponder=True), side("b", Threads="3", ponder=True), side("c")), 1, 5),
        ((side("a", Threads="many"), side("b")), 1, 1),
    ],
)
def test_the_hungriest_pair_times_slots(sides: tuple[Side, ...], slots: int, wanted: int) -> None:
    """One side thinks, and the other too if it may ponder; an invalid number of threads is ignored here."""
    assert plan_module.processors_wanted(sides, slots) == wanted
    (words,) = plan_module.processor_shortage(sides, slots, wanted - 1)
    assert f" need {wanted} processors" in words
    assert ("pondering" in words) == any(one.spec.ponder for one in sides)
    assert not list(plan_module.processor_shortage(sides, slots, wanted))


def test_more_slots_than_processors_are_refused_unless_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU quota limits the number like the processors themselves, and the error shows it."""
    monkeypatch.setattr(plan_module, "allowed_processors", lambda: ProcessorAllowance(2, " (a quota of 2 of 8)"))
    plan_module.refuse_overload(2, force=False)
    plan_module.refuse_overload(3, force=True)
    with pytest.raises(UsageRefused, match=r"3 concurrent games on 2 processors \(a quota of 2 of 8\)"):
        plan_module.refuse_overload(3, force=False)


def test_a_run_with_too_many_slots_does_not_begin(tmp_path: Path) -> None:
    """Too many concurrent games are an error of one line with exit code 2; nothing is written."""
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    slots = len(os.sched_getaffinity(0)) + 1
    refused = tour(tmp_path, "run", str(path), "--concurrency", str(slots), expect=2)
    assert f"{slots} concurrent games on " in refused.stderr
    assert "--force" in refused.stderr
    assert not (tmp_path / "results").exists()


def test_games_that_want_more_than_there_is_are_doubted_in_the_morning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --force, a warning is shown before the first game and again with the results."""
    monkeypatch.setattr(plan_module, "allowed_processors", lambda: ProcessorAllowance(1))
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    done = tour(tmp_path, "run", str(path), "--concurrency", "2", "--force")
    words = "warning: 2 concurrent games with threads need 2 processors"
    assert words in done.stderr
    assert done.stdout.index("Finished game 2") < done.stdout.index(words) < done.stdout.index("state: finished")


def test_status_tells_the_warning_of_as_many_slots_as_there_are(tmp_path: Path) -> None:
    """The warning is computed again only when the number of slots of a run changes."""
    asked: list[int] = []

    def crowd(slots: int) -> list[str]:
        asked.append(slots)
        return [f"too many: {slots}"] if slots > 1 else []

    tour(tmp_path, "run", str(config(tmp_path, ("wren1", "wren2"), "match", "games = 2")), "--max-games", "1", expect=8)
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        log = store.tournament("trial")
        format_, state = fold(log)
        picture = RunProgress(log, "match", crowd)
        told = []
        for slots in (1, 1, 2, 2, 1):
            running = SimpleNamespace(
                format=format_, state=state, slots=slots, paused=False, stopping="", flying={}, estimate=lambda: None
            )
            picture.take(running)
            told.append(status_json(picture, "running")["warnings"])
    assert told == [[], [], ["too many: 2"], ["too many: 2"], []]
    assert asked == [1, 2, 1]
    picture.warnings = ("too many: 2",)
    assert format_status(status_json(picture, "running")).endswith("\nwarning: too many: 2")
