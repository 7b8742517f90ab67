"""The log: what goes in comes out, all or nothing, once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from enginetour.model.errors import StorageFailed, UsageRefused
from enginetour.model.game import (
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameVoided,
    Note,
    Outcome,
    Pairing,
    Replaced,
    SideRecord,
    Withdrawn,
)
from enginetour.store.address import Address
from enginetour.store.database import Database
from enginetour.store.log import TournamentLog
from enginetour.store.tournaments import Store
from tests.storing import NAMES, add_game, counts_are_kept, draft, full_game, game, open_log, spec

KEY = ("Fruit", "Toga", 1, 1)


@pytest.fixture
def store(place: Address) -> Iterator[Store]:
    with Store.open(place) as opened:
        yield opened


@pytest.fixture
def log(store: Store) -> TournamentLog:
    return store.create_tournament(draft())


def test_whole_game(log: TournamentLog) -> None:
    """A game comes back as it was handed in, to the last field and the oddest text."""
    handed_in = full_game()
    assert add_game(log, handed_in) == 1
    stored = log.game(1)
    assert (stored.number, stored.game, stored.voided) == (1, handed_in, False)


def test_unprintable_cause(log: TournamentLog) -> None:
    """Text that UTF-8 cannot hold does not stop a game from being stored."""
    add_game(log, replace(game(), cause="\ud800 died", white=SideRecord("\udfff")))
    assert log.game(1).game.cause == "? died"


def test_recorded_once(log: TournamentLog) -> None:
    """A game handed in twice is in the log once, whatever the second one says."""
    assert add_game(log, game(), [Note("round", "round 1")]) == 1
    before = log.pair_counts(), list(log.events()), log.notes()
    assert add_game(log, game(outcome=Outcome.BLACK), [Note("round", "again")]) is None
    assert add_game(log, game("Toga", "Fruit", Outcome.DRAW)) is None, "the key does not ask who had White"
    assert (log.pair_counts(), list(log.events()), log.notes()) == before


def test_games_in_one_transaction(tmp_path: Path) -> None:
    """The log of games that came together is that of the same games one by one, what comes twice left out."""
    other = game("Phalanx", "HoiChess", Outcome.DRAW)
    void = game("Fruit", "Phalanx", Outcome.VOID)
    again = replace(void, outcome=Outcome.BLACK, replay=1)
    games = [(game(), [Note("round", "one")]), (other, []), (game(), []), (void, [Note("a", "b"), Note("c", "d")])]
    games += [(again, []), (full_game(), [Note("round", "two")])]
    stored = []
    for name, together in (("one", False), ("all", True)):
        with Store.open(tmp_path / f"{name}.db") as store:
            log = store.create_tournament(draft())
            parts = [games] if together else [[one] for one in games]
            numbers = [number for part in parts for number in log.record_games(part)]
            assert numbers == [1, 2, None, 3, 4, 5]
            assert add_game(log, game("Toga", "Phalanx")) == 6
            found = [replace(one.game, started=0.0) for one in log.full_games()]
            stored.append((found, list(log.events()), log.notes(), log.pair_counts(), log.replays(void.pairing.key)))
    assert stored[0] == stored[1]


def test_one_of_several_fails(log: TournamentLog) -> None:
    """Then none of them is there, and the next ones go on as if nothing had been."""
    with pytest.raises(KeyError):
        log.record_games([(game(), []), (game("Fruit", "Stranger"), [])])
    assert (list(log.events()), log.games(), log.last_position, log.pair_counts()) == ([], [], 0, {})
    assert log.record_games([(game(), []), (game("Phalanx", "Toga"), [])]) == [1, 2]


def test_unknown_side(log: TournamentLog) -> None:
    """A game of somebody who is no entrant leaves nothing behind."""
    with pytest.raises(KeyError):
        add_game(log, game("Fruit", "Stranger"))
    assert (list(log.events()), log.games(), log.last_position) == ([], [], 0)


def test_events_in_order(log: TournamentLog) -> None:
    """Events come back as they went in, in their order."""
    add_game(log, game())
    newcomer = Entrant("Arasan", new=True, family="arasan", origin="US")
    other = Entrant("Crafty", rating=2500.5)
    events: list[Event] = [
        Withdrawn("HoiChess"),
        Added(newcomer),
        Replaced("Phalanx", other),
        GameVoided(game().pairing, Outcome.WHITE, "wrong book"),
        Extended((("cycles", 3),)),
        Extended((("cycles", 5),)),
    ]
    specs = {"Arasan": spec("Arasan"), "Crafty": spec("Crafty", hash="64")}
    for position, event in enumerate(events, 2):
        joins = event.entrant.name if isinstance(event, Added | Replaced) else ""
        assert log.record_event(event, spec=specs.get(joins)) == position
    assert list(log.events()) == [GameFinished(game().pairing, Outcome.WHITE), *events]
    assert log.last_position == 7
    assert log.grown == {"cycles": 5}
    assert log.entrants == draft().entrants, "a replay starts from the list as it was"
    assert log.specs == {**draft().specs, **specs}


def test_notes_with_their_event(log: TournamentLog) -> None:
    """Decisions lie beside the event that caused them, in their order."""
    parked = Note("parked", "Toga is parked", (("engine", "Toga"), ("section", ("Fruit", "Phalanx"))))
    add_game(log, game(), [parked, Note("round", "round 2 ½")])
    log.record_event(Withdrawn("Toga"), [Note("left", "Toga leaves")])
    assert log.notes() == [(1, parked), (1, Note("round", "round 2 ½")), (2, Note("left", "Toga leaves"))]


def test_notes_before_the_first_event(store: Store) -> None:
    """What a format decides before any game is kept too."""
    log = store.create_tournament(draft(), [Note("round", "round 1")])
    assert log.notes() == [(0, Note("round", "round 1"))]


def test_void_game_is_replayed(log: TournamentLog) -> None:
    """A void game is in the log, counts for nothing, and its key takes another game."""
    assert log.replays(KEY) == 0
    add_game(log, game(outcome=Outcome.VOID))
    assert log.replays(KEY) == 1
    assert log.pair_counts() == {}
    assert add_game(log, game(outcome=Outcome.DRAW, replay=1)) == 2
    assert log.replays(KEY) == 1
    assert log.pair_counts() == {("Fruit", "Toga"): (0, 1, 0)}


def test_struck_out_game(log: TournamentLog) -> None:
    """A game struck out leaves the counts in the same moment, and may be played again."""
    add_game(log, game())
    log.record_event(GameVoided(game().pairing, Outcome.WHITE), why="wrong net")
    assert log.pair_counts() == {}
    assert log.game(1).voided
    assert log.replays(KEY) == 1
    add_game(log, game(outcome=Outcome.BLACK, replay=1))
    assert log.pair_counts() == {("Fruit", "Toga"): (0, 0, 1)}
    assert counts_are_kept(log)


@pytest.mark.parametrize(
    "pairing, outcome",
    [
        (Pairing("Fruit", "Toga"), Outcome.BLACK),
        (Pairing("Toga", "Fruit"), Outcome.WHITE),
        (Pairing("Fruit", "Toga", meeting=2), Outcome.WHITE),
        (Pairing("Fruit", "Stranger"), Outcome.WHITE),
    ],
)
def test_nothing_to_strike_out(log: TournamentLog, pairing: Pairing, outcome: Outcome) -> None:
    """Only a game that is there, as it is there, can be struck out."""
    add_game(log, game())
    with pytest.raises(UsageRefused, match="no game"):
        log.record_event(GameVoided(pairing, outcome))
    assert log.last_position == 1


def test_struck_out_once(log: TournamentLog) -> None:
    """A game is struck out at most once."""
    add_game(log, game())
    log.record_event(GameVoided(game().pairing, Outcome.WHITE))
    with pytest.raises(UsageRefused):
        log.record_event(GameVoided(game().pairing, Outcome.WHITE))
    assert counts_are_kept(log)


def test_who_left_cannot_leave(log: TournamentLog) -> None:
    """Withdrawing needs somebody who is there; names are never used twice."""
    log.record_event(Withdrawn("Toga"))
    for event in (Withdrawn("Toga"), Withdrawn("Stranger"), Replaced("Toga", Entrant("New"))):
        with pytest.raises(UsageRefused):
            log.record_event(event, spec=spec("New"))
    for known in (Added(Entrant("Toga")), Replaced("Fruit", Entrant("Phalanx"))):
        with pytest.raises(UsageRefused, match="already"):
            log.record_event(known, spec=spec("Toga"))
    assert log.last_position == 1


def test_joining_needs_a_way_to_start(log: TournamentLog) -> None:
    """An entrant without a way to start it is our own mistake and leaves nothing."""
    with pytest.raises(TypeError):
        log.record_event(Added(Entrant("New")))
    assert log.last_position == 0


def test_lines_of_games(log: TournamentLog) -> None:
    """Games are listed without their moves, by engine, ending, incident or from the last."""
    add_game(log, full_game())
    add_game(log, game("Phalanx", "Toga", Outcome.DRAW))
    add_game(log, game("Phalanx", "Fruit", Outcome.VOID))
    add_game(log, game("HoiChess", "Fruit"))
    log.record_event(GameVoided(game("HoiChess", "Fruit").pairing, Outcome.WHITE))

    def numbers(**filters: object) -> list[int]:
        return [line.number for line in log.games(**filters)]

    assert numbers() == [1, 2, 3, 4]
    assert numbers(engine="Toga") == [1, 2]
    assert numbers(engine="Toga", opponent="Phalanx") == [2]
    assert numbers(engine="Toga' OR 1=1 --") == []
    assert numbers(termination="crash") == [1]
    assert numbers(termination="cra") == []
    assert numbers(outcome=Outcome.DRAW) == [2]
    assert numbers(incidents=True) == [1]
    assert numbers(counting=True) == [1, 2]
    assert numbers(first=3) == [3, 4]
    assert numbers(limit=2) == [3, 4]
    line = log.games()[0]
    assert (line.plies, line.incidents, line.culprit, line.voided, line.counts) == (4, 2, "Fruit", False, True)
    assert log.games()[3].voided
    assert [(number, incident.category) for number, incident in log.incidents()] == [
        (1, "crash"),
        (1, "protocol-warning"),
    ]


def test_many_games_stream(log: TournamentLog) -> None:
    """Whole games stream in order over the pages, from any number on."""
    for meeting in range(1, 231):
        add_game(log, game(meeting=meeting))
    assert [stored.game.pairing.meeting for stored in log.full_games()] == list(range(1, 231))
    assert [stored.number for stored in log.full_games(first=200)] == list(range(200, 231))
    with pytest.raises(UsageRefused, match="no game 231"):
        log.game(231)


def test_editions(store: Store) -> None:
    """The same name again is the next edition; the newest one is meant unless another is named."""
    first, second = store.create_tournament(draft()), store.create_tournament(draft())
    store.create_tournament(draft("spring"))
    assert (first.edition, second.edition, second.title) == (1, 2, "autumn #2")
    assert store.tournament().name == "spring"
    assert store.tournament("autumn").edition == 2
    assert store.tournament("autumn", 1).id == first.id
    add_game(first, game())
    assert [(line.name, line.edition, line.entrants, line.games) for line in store.tournaments()] == [
        ("autumn", 1, 4, 1),
        ("autumn", 2, 4, 0),
        ("spring", 1, 4, 0),
    ]
    assert (store.has("autumn"), store.has("winter")) == (True, False)
    first.record_event(GameVoided(game().pairing, game().outcome), (), why="swapping")
    assert [line.games for line in store.tournaments()] == [0, 0, 0]


def test_unknown_tournament(store: Store) -> None:
    """A name that is not there is answered with those that are."""
    with pytest.raises(UsageRefused, match="no tournament yet"):
        store.tournament()
    store.create_tournament(draft())
    with pytest.raises(UsageRefused, match="did you mean 'autumn'") as refused:
        store.tournament("autmun")
    assert "known: autumn" in str(refused.value)
    with pytest.raises(UsageRefused, match="no edition 5"):
        store.tournament("autumn", 5)


def test_configuration_comes_back(log: TournamentLog) -> None:
    """The frozen configuration, seed and entrants are those of the start."""
    assert (log.config, log.seed, log.system, log.format_version) == ({"format": {"cycles": 2}}, 7, "roundrobin", 1)
    assert log.entrants == draft().entrants


def test_accepted_change(log: TournamentLog) -> None:
    """A changed binary is another engine version from then on; the entrant's own counts stay together."""
    add_game(log, game())
    log.accept_change({"Fruit": spec("Fruit", "f2")})
    log.accept_change({"Fruit": spec("Fruit", "f3")})
    add_game(log, game(meeting=2))
    assert log.specs["Fruit"].fingerprint == "f3"
    assert log.pair_counts() == {("Fruit", "Toga"): (2, 0, 0)}
    assert counts_are_kept(log)
    log.record_event(Replaced("Fruit", Entrant("Fruit")), spec=spec("Fruit", "f4"))
    assert log.specs["Fruit"].fingerprint == "f4"


def test_own_name_is_learnt(store: Store, log: TournamentLog) -> None:
    """What an engine calls itself is known after its first game."""
    add_game(log, replace(game(), white=SideRecord("Fruit 2.1 " + "x" * 200)))
    with store.database.reading() as connection:
        own_name = connection.execute(text("SELECT own_name FROM engines WHERE name = 'Fruit'")).scalar_one()
    assert own_name.startswith("Fruit 2.1 x")
    assert len(own_name) == 100


def test_full_disk(tmp_path: Path) -> None:
    """A game that does not fit leaves nothing of itself, and the log goes on when there is room."""
    store, log = open_log(tmp_path / "t.db")
    add_game(log, game())
    with store.database.writing() as connection:  # the one that writes, kept for the next write
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    huge = game(meeting=2)
    noise = "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz", k=200_000))
    huge = replace(huge, moves=(huge.moves[0]._replace(pv=noise),))
    with pytest.raises(StorageFailed, match="disk is full"):
        add_game(log, huge, [Note("round", "lost")])
    assert ([line.number for line in log.games()], log.last_position, log.notes()) == ([1], 1, [])
    with store.database.writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    assert add_game(log, huge) == 2
    assert counts_are_kept(log)
    store.close()


WRITER = textwrap.dedent("""
    import sys
    from enginetour.model.game import Note, Outcome
    from enginetour.store.tournaments import Store
    from tests.storing import game
    with Store.open(sys.argv[1]) as store:
        log = store.tournament()
        played = log.last_position
        while True:
            outcome = list(Outcome)[played % 4]
            number = log.record_games([(game(outcome=outcome, meeting=played + 1), [Note("n", str(played + 1))])])[0]
            played += 1
            print(number, flush=True)
""")


@pytest.mark.parametrize("kills", [6, pytest.param(300, marks=pytest.mark.night)])
def test_killed_writer(tmp_path: Path, kills: int) -> None:
    """Whatever was announced before a SIGKILL is there afterwards, once, with its notes and counts."""
    path = tmp_path / "t.db"
    store, _ = open_log(path)
    store.close()
    dice = random.Random(20070619)
    root = Path(__file__).parent.parent
    for _ in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, os.fspath(path)], stdout=subprocess.PIPE, text=True, cwd=root
        ) as writer:
            assert writer.stdout is not None
            wanted = dice.randrange(1, 60)
            announced = [int(writer.stdout.readline()) for _ in range(wanted)]
            writer.send_signal(signal.SIGKILL)
            announced += [int(line) for line in writer.stdout.read().splitlines()]
        with Store.open(path) as store:
            log = store.tournament()
            numbers = [line.number for line in log.games()]
            assert set(announced) <= set(numbers)
            assert numbers == list(range(1, len(numbers) + 1))
            assert len(numbers) - announced[-1] in (0, 1), "at most the one game that was not announced yet"
            assert [event.pairing.meeting for event in log.events() if isinstance(event, GameFinished)] == numbers
            assert [(position, note.text) for position, note in log.notes()] == [(n, str(n)) for n in numbers]
            assert all(stored.game.moves for stored in log.full_games())
            assert counts_are_kept(log)
            assert store.database.quick_check() == ()


def test_two_connections(tmp_path: Path) -> None:
    """A command may write beside an open log, and its event is seen."""
    store, log = open_log(tmp_path / "t.db")
    with Database.open(tmp_path / "t.db") as other:
        Store(other).tournament().record_event(Withdrawn("Toga"))
    add_game(log, game("Fruit", "Phalanx"))
    assert next(log.events()) == Withdrawn("Toga")
    assert log.last_position == 2
    store.close()


def test_read_only(tmp_path: Path) -> None:
    """A reader sees everything and can write nothing."""
    store, log = open_log(tmp_path / "t.db")
    add_game(log, game())
    with Store.open(tmp_path / "t.db", readonly=True) as reader:
        assert len(reader.tournament().games()) == 1
        with pytest.raises(StorageFailed):
            add_game(reader.tournament(), game(meeting=2))
    store.close()


def test_draft_without_a_way_to_start(store: Store) -> None:
    """Every entrant of a draft needs its own name and a way to start it."""
    for broken in (replace(draft(), specs={}), replace(draft(), entrants=(Entrant("Fruit"), Entrant("Fruit")))):
        with pytest.raises(ValueError):
            store.create_tournament(broken)
    assert store.tournaments() == []
    assert {entrant.name for entrant in store.create_tournament(draft()).entrants} == set(NAMES)
