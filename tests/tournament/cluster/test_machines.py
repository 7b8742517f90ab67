"""Tests of tournament/cluster/machines."""

from __future__ import annotations

import platform
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import get_worker

from enginetour.engines import machine
from enginetour.interop.files import file_digest
from enginetour.model.errors import UsageRefused
from enginetour.reports.review.fairness import compare_hosts
from enginetour.store.games import game_conditions
from enginetour.store.tournaments import Store
from enginetour.tournament.cluster import worker as worker_module
from enginetour.tournament.cluster.executor import address_of
from enginetour.tournament.cluster.machines import (
    Demand,
    ListedWorker,
    Machines,
    Origin,
    Worker,
    WorkerReport,
    demand_of,
    overcommitted,
)
from enginetour.tournament.plan import prepare
from tests.openings.test_polyglot import book
from tests.referee.test_tablebases import folder_with
from tests.support.network import near_cluster, place_of
from tests.support.tournaments import config, read, tour

# Which machine gets the next game.

ONE, TWO = "tcp://10.0.0.1:1", "tcp://10.0.0.2:1"
WORKERS = {ONE: ListedWorker("one", "10.0.0.1", 2, 2), TWO: ListedWorker("", "10.0.0.2", 2, 2)}


@pytest.fixture
def machines() -> Machines:
    """Make two usable machines with two slots each."""
    both = Machines()
    both.update(WORKERS)
    both.look(ONE, WorkerReport("kallisto"))
    both.look(TWO, WorkerReport("io"))
    return both


def test_a_worker_gets_nothing_before_it_has_looked_or_where_it_lacks_something() -> None:
    """A worker gets no games before it has reported; then it has its slots or threads, whichever is less."""
    machines = Machines()
    assert machines.update({ONE: ListedWorker("one", "h", 4, 3)}) == ([ONE], {})
    assert machines.seat_for(("A", "B", 1), 0) is None
    machines.look(ONE, WorkerReport("h", lacks=("tablebases",)))
    assert machines.seats == 0
    machines.look(ONE, WorkerReport("h"))
    assert machines.seats == 3


def test_a_machine_is_called_by_the_name_of_its_worker_else_by_its_host(machines: Machines) -> None:
    """A machine has the name of its worker, else of its host, and never an address."""
    assert [row["machine"] for row in machines.rows()] == ["io", "one"]


def test_all_games_of_an_encounter_are_on_one_machine(machines: Machines) -> None:
    """All games of an encounter are played on one machine, even if others are free."""
    first = machines.seat_for(("A", "B", 1), 0)
    assert first is not None
    others = [machines.seat_for(("A", "C", number), None) for number in range(3)]
    assert None not in others
    machines.free(next(seat for seat in others if seat is not None and seat[0] != first[0]))
    assert machines.seat_for(("A", "B", 1), 1) is None
    assert machines.seat_for(("B", "C", 1), 1) is not None


def test_a_slot_of_the_scheduler_finds_its_engines_where_they_wait(machines: Machines) -> None:
    """A slot of the scheduler always gets the same slot of a worker, where its engines are."""
    seat = machines.seat_for(("A", "B", 1), 3)
    assert seat is not None
    machines.free(seat)
    assert machines.seat_for(("C", "D", 1), 0) != seat
    assert machines.seat_for(("A", "C", 1), 3) == seat


def test_a_failed_game_goes_to_another_machine_where_there_is_one(machines: Machines) -> None:
    """A failed game goes to another machine if there is one."""
    seat = machines.seat_for(("A", "B", 1), 0, frozenset({"one"}))
    assert seat is not None
    assert seat[0] == TWO
    assert machines.seat_for(("A", "B", 2), 0, frozenset({"one", "io"})) is not None


def test_three_failures_in_a_row_set_a_machine_aside(machines: Machines) -> None:
    """Three failures in a row stop a machine until `use`; a finished game resets the count, a new worker does not."""
    assert not machines.failed("one", "x")
    machines.played("one")
    assert [machines.failed("one", "x") for _ in range(3)] == [False, False, True]
    assert machines.fit() == [TWO]
    machines.update({TWO: WORKERS[TWO]})
    machines.update(WORKERS)
    machines.look(ONE, WorkerReport("kallisto"))
    assert machines.state(ONE) == "aside"
    assert machines.use("one")
    assert machines.state(ONE) == "fit"


def test_a_drained_machine_gets_no_new_games(machines: Machines) -> None:
    """A drained machine finishes its games and gets no more; unknown names are rejected."""
    seat = machines.seat_for(("A", "B", 1), 0)
    assert seat is not None
    name = machines.workers[seat[0]].machine
    assert machines.drain(name)
    other = machines.seat_for(("A", "B", 1), 0)
    assert other is not None
    assert other[0] != seat[0]
    assert not machines.drain("europa")


@pytest.mark.parametrize(
    "words", ["dask", "dask=", "dask=host:1", "dask=tcp://:8786", "dask=tcp://h:x", "ray=tcp://h:1"]
)
def test_other_places_are_refused(words: str) -> None:
    """An invalid address is one line with the valid form."""
    with pytest.raises(UsageRefused, match=r"is not a valid executor. Hint: use dask=tcp://HOST:8786"):
        try:
            address_of(words)
        except UsageRefused as refusal:
            raise UsageRefused(str(refusal)) from None
    assert address_of("dask=tls://kallisto:8786") == "tls://kallisto:8786"


# Clocks on a cluster: each machine measures its own speed.

SPEEDS = {"quick": 2.0, "slow": 0.5, "slower": 0.1}
CLOCKS = {"2": "30+0.5,depth=1", "0.5": "120+2,depth=1"}


def current() -> object:
    """Return the worker in whose thread this is called; None elsewhere."""
    try:
        return get_worker()
    except ValueError:
        return None


@pytest.fixture
def _speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give workers speeds by name; the manager's machine is never measured."""
    monkeypatch.setattr(worker_module, "_speed", lambda _: SPEEDS[str(get_worker().name)])
    monkeypatch.setattr(platform, "node", lambda: getattr(current(), "name", "manager"))
    monkeypatch.setattr(machine, "measure_speed", lambda _=0: pytest.fail("nobody plays here"))


@pytest.mark.usefixtures("_speeds")
def test_each_game_has_the_clocks_of_its_machine(tmp_path: Path) -> None:
    """Each game records the clocks, host and speed of its machine; pages and lists can select machines."""
    tc = '60+1,depth=1"\nspeed = "measure"\n#'
    path = config(tmp_path, ("wren1", "wren2", "wren3"), "roundrobin", "games_per_pairing = 2", tc=tc)
    with near_cluster("quick", "slow") as cluster:
        done = tour(
            tmp_path,
            "run",
            str(path),
            "--executor",
            place_of(cluster),
            "--concurrency",
            "2",
            "--max-games",
            "3",
            expect=8,
        )
        done.stdout += tour(tmp_path, "run", str(path), "--executor", place_of(cluster), "--concurrency", "2").stdout
    assert "time controls are divided by the speed of the machine" in done.stdout
    assert "times are multiplied" not in done.stdout
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        log = store.tournament("trial")
        assert "machine" not in log.config
        games = [stored.game for stored in log.full_games()]
        hosts = compare_hosts(tuple(game_conditions(log)))
    speeds = {game.pairing.key: game.hardware.partition(", speed ")[2].rstrip(")") for game in games}
    assert len(games) == 6
    assert set(speeds.values()) == {"2", "0.5"}
    for game in games:
        assert {game.white_tc, game.black_tc} == {CLOCKS[speeds[game.pairing.key]]}
        assert game.white.speed == game.black.speed == float(speeds[game.pairing.key])
    counts = Counter("quick" if speed == "2" else "slow" for speed in speeds.values())
    assert {name.rpartition("(")[2].rstrip(")"): count for name, count in hosts.games} == counts
    assert hosts.text.endswith("too few to compare their results")
    for name, count in counts.items():
        rows = read(tmp_path, "ratings", "--all", "--hardware", f"*({name},*")["list"]
        assert sum(row["games"] for row in rows) == 2 * count


@pytest.mark.usefixtures("_speeds")
def test_a_machine_too_slow_for_a_clock_lacks_speed(tmp_path: Path) -> None:
    """A machine on which a stage would exceed a day gets no games; the others play."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "", tc='20000,depth=1"\nspeed = "measure"\n#')
    with near_cluster("quick", "slower") as cluster:
        done = tour(tmp_path, "run", str(path), "--executor", place_of(cluster))
    assert "slower lacks speed: 20000,depth=1 multiplied by 10 is longer than a day" in done.stdout
    assert {line["white_tc"] for line in read(tmp_path, "games")} == {"10000,depth=1"}


# Several workers on one machine.

FOUR = WorkerReport("kallisto", processors=4, affinity=frozenset(range(4)), memory_mb=1_000)


def workers(*slots: int, host: str = "10.0.0.1", found: WorkerReport = FOUR) -> list[Worker]:
    """Make workers of one host, named a, b, c."""
    machines = Machines()
    machines.update(
        {f"tcp://{name}": ListedWorker(name, host, each, each) for name, each in zip("abc", slots, strict=False)}
    )
    for address in machines.workers:
        machines.look(address, found)
    return list(machines.workers.values())


def test_together_they_want_too_much() -> None:
    """If the workers of a machine together need too much, one line names them all."""
    told = list(overcommitted(workers(2, 1), Demand((), processors=2, hash_mb=400)))
    assert told == [
        "a, b share 10.0.0.1, processors: 3 concurrent games need 6, found 4 (use fewer games, or --force)",
        "a, b share 10.0.0.1, memory: 3 concurrent games need 1200 MB for hash tables, found 1000 MB",
    ]


def test_what_is_enough_is_not_told() -> None:
    """No line is printed for enough resources, forced games, lacking workers, or workers of other machines."""
    demand = Demand((), processors=2)
    assert not list(overcommitted(workers(1, 1), demand))
    assert not list(overcommitted(workers(9), demand))
    assert not list(overcommitted(workers(2, 1), replace(demand, crowded=True)))
    assert not list(overcommitted(workers(2, 1, found=replace(FOUR, lacks=("book",))), demand))
    assert not list(overcommitted([*workers(2), *workers(2, host="10.0.0.2")], demand))


# The requirements of a plan.

OWN = '\n[[entrants]]\nname = "Own"\ncommand = ["/bin/cat"]\nprotocol = "uci"\noptions = { Hash = 64, Threads = 2 }\n'


def demand(folder: Path, play: str = "", more: str = OWN, *, force: bool = False) -> Demand:
    """Return the requirements of two bundled engines, one of them with an option, and further settings."""
    given = "\noptions = { Hash = 16, Ponder = false }" + more
    path = config(folder, ("wren1", "wren2"), "roundrobin", "", given, tc=f'60+1"\n{play}\n#')
    return demand_of(prepare(path, None), force=force)


def test_engines_with_their_files_and_what_a_game_takes(tmp_path: Path) -> None:
    """The game that needs most processors and the two largest hash tables count; a command has no engine file."""
    found = demand(tmp_path)
    assert [spec.name for spec in found.specs] == ["Wren 1", "Wren 2", "Own"]
    assert found.origins.get("Wren 1") == Origin("wren1")
    assert found.origins.get("Wren 2") == Origin("wren2", (("Hash", "16"), ("Ponder", "false")))
    assert found.origins.get("Own") is None
    assert (found.processors, found.hash_mb, found.crowded) == (2, 64 + 16, False)
    assert demand(tmp_path, force=True).crowded


def test_what_the_play_section_says(tmp_path: Path) -> None:
    """The number of starting engines is always sent; clocks only if each machine scales them."""
    usual = demand(tmp_path)
    assert (usual.start_parallel, usual.scaled, usual.clocks) == (4, False, ())
    own = '\n[[entrants]]\nengine = "wren3"\ntc = "30"\n'
    found = demand(tmp_path, 'start_parallel = 1\nspeed = "measure"', own)
    assert (found.start_parallel, found.scaled) == (1, True)
    assert [str(clock) for clock in found.clocks] == ["30", "60+1"]


def test_tables_and_books(tmp_path: Path) -> None:
    """Directories are sent with the number of their files, books with their digests."""
    (tmp_path / "tables").mkdir()
    folder = folder_with(tmp_path / "tables", "KQvK.rtbw", "KQvK.rtbz", "KRvK.rtbw")
    book(tmp_path / "book.bin")
    more = '\n[[entrants]]\nengine = "wren3"\nown_book = "book.bin"\n'
    found = demand(tmp_path, f'tablebases = {{ path = "{folder}" }}', more)
    assert (found.folders, found.tables) == ((folder,), 3)
    assert found.books == ((str(tmp_path / "book.bin"), file_digest(tmp_path / "book.bin")),)


@pytest.mark.parametrize("option", ['Hash = "much"', 'memory = "²"'])
def test_a_hash_that_is_no_number_counts_nothing(tmp_path: Path, option: str) -> None:
    """A Hash option that is not a number counts as nothing."""
    own = f'\n[[entrants]]\nname = "Own"\ncommand = ["/bin/cat"]\nprotocol = "uci"\noptions = {{ {option} }}\n'
    assert demand(tmp_path, more=own).hash_mb == 16


# Workers on the same processors.


@pytest.mark.parametrize("own", [({0, 1}, {2, 3}), ({0, 1, 2, 3}, {0, 1, 2, 3})])
def test_two_workers_with_half_a_machine_each(own: tuple[set[int], set[int]]) -> None:
    """Two workers with half of the processors each, by affinity or quota, are enough; one more game is too much."""
    for slots, lines in ((2, 0), (3, 1)):
        beside = workers(2, slots)
        for worker, affinity in zip(beside, own, strict=True):
            worker.found = replace(FOUR, processors=2, affinity=frozenset(affinity))
        assert len(list(overcommitted(beside, Demand(())))) == lines


def test_two_workers_of_one_container_have_its_quota_once() -> None:
    """Two workers of one container share its quota; another container has its own."""
    for groups, lines in ((("box", "box"), 1), (("box", "other"), 0)):
        beside = workers(2, 2)
        for worker, group in zip(beside, groups, strict=True):
            worker.found = replace(FOUR, processors=2, group=group)
        assert len(list(overcommitted(beside, Demand(())))) == lines
