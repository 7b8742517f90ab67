"""The machines of a cluster in the manager's books: who gets the next game, and who gets none any more."""

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.tournament.cluster.machines import Found, Machines, Seen
from enginetour.tournament.cluster.place import address_of

ONE, TWO = "tcp://10.0.0.1:1", "tcp://10.0.0.2:1"
WORKERS = {ONE: Seen("one", "10.0.0.1", 2, 2), TWO: Seen("", "10.0.0.2", 2, 2)}


@pytest.fixture
def machines() -> Machines:
    """Two that are fit, with two seats each."""
    both = Machines()
    both.heed(WORKERS)
    both.look(ONE, Found("kallisto"))
    both.look(TWO, Found("io"))
    return both


def test_a_worker_gets_nothing_before_it_has_looked_or_where_it_lacks_something() -> None:
    """Joined, it has no seat; fit, it has those of its slots and threads, whichever are fewer."""
    machines = Machines()
    assert machines.heed({ONE: Seen("one", "h", 4, 3)}) == ([ONE], {})
    assert machines.seat_for(("A", "B", 1), 0) is None
    machines.look(ONE, Found("h", lacks=("tablebases",)))
    assert machines.seats == 0
    machines.look(ONE, Found("h"))
    assert machines.seats == 3


def test_a_machine_is_called_by_the_name_of_its_worker_else_by_its_host(machines: Machines) -> None:
    """An address says nothing to anybody, and changes at each start."""
    assert [row["machine"] for row in machines.rows()] == ["io", "one"]


def test_all_games_of_an_encounter_are_on_one_machine(machines: Machines) -> None:
    """The second leg waits for the machine of the first, though others are free; the next encounter does not."""
    first = machines.seat_for(("A", "B", 1), 0)
    assert first is not None
    others = [machines.seat_for(("A", "C", number), None) for number in range(3)]
    assert None not in others
    machines.free(next(seat for seat in others if seat is not None and seat[0] != first[0]))
    assert machines.seat_for(("A", "B", 1), 1) is None
    assert machines.seat_for(("B", "C", 1), 1) is not None


def test_a_slot_of_the_scheduler_finds_its_engines_where_they_wait(machines: Machines) -> None:
    """What prefers the same slot gets the same seat, also when others were free before it."""
    seat = machines.seat_for(("A", "B", 1), 3)
    assert seat is not None
    machines.free(seat)
    assert machines.seat_for(("C", "D", 1), 0) != seat
    assert machines.seat_for(("A", "C", 1), 3) == seat


def test_a_failed_game_goes_to_another_machine_where_there_is_one(machines: Machines) -> None:
    """Its own machine is taken again only when no other can play."""
    seat = machines.seat_for(("A", "B", 1), 0, frozenset({"one"}))
    assert seat is not None
    assert seat[0] == TWO
    assert machines.seat_for(("A", "B", 2), 0, frozenset({"one", "io"})) is not None


def test_three_failures_in_a_row_set_a_machine_aside(machines: Machines) -> None:
    """A finished game in between begins the count anew; `use` takes it back; a new start of its worker does not."""
    assert not machines.failed("one", "x")
    machines.went_well("one")
    assert [machines.failed("one", "x") for _ in range(3)] == [False, False, True]
    assert machines.fit() == [TWO]
    machines.heed({TWO: WORKERS[TWO]})
    machines.heed(WORKERS)
    machines.look(ONE, Found("kallisto"))
    assert machines.state(ONE) == "aside"
    assert machines.use("one")
    assert machines.state(ONE) == "fit"


def test_a_drained_machine_gets_no_new_games(machines: Machines) -> None:
    """Those in the air end; its encounters go on elsewhere; unknown names are refused."""
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
    """One line with what would be right."""
    with pytest.raises(UsageRefused, match="no place to play; say --place dask=tcp://HOST:8786"):
        try:
            address_of(words)
        except UsageRefused as refusal:
            raise UsageRefused(str(refusal)) from None
    assert address_of("dask=tls://kallisto:8786") == "tls://kallisto:8786"
