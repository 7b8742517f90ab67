"""Texts made from the store, and a PGN that is never behind it for long."""

from __future__ import annotations

import errno
import io
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess.pgn
import pytest

from enginetour.cli.output import Voice
from enginetour.cli.screen import Broadcast
from enginetour.cli.watching import Exports, Picture, Watching
from enginetour.model.game import Game, GameVoided, Outcome
from enginetour.reports import progress
from enginetour.reports.pgn import UNFINISHED, PgnFile, games_text
from enginetour.store.log import TournamentLog
from enginetour.tournament.scheduler import Watcher
from tests.storing import add_game, game, open_log
from tests.test_scheduler import ended, scheduler


@pytest.fixture
def log(tmp_path: Path) -> Any:
    store, made = open_log(tmp_path / "x.db")
    with store:
        yield made


def recorded(log: TournamentLog, number: int, outcome: Outcome = Outcome.WHITE) -> Game:
    one = game(meeting=number, outcome=outcome)
    assert add_game(log, one) == number
    return one


def with_games(tmp_path: Path, log: TournamentLog, count: int) -> PgnFile:
    pgn = PgnFile(tmp_path / "x.pgn", log)
    pgn.mend()
    for number in range(1, count + 1):
        pgn.append(number, recorded(log, number))
    return pgn


def is_whole(pgn: PgnFile) -> bool:
    """The file is what the store would give."""
    return pgn.path.read_text() == "".join(games_text(pgn.log))


def test_a_pgn_grows_with_the_log(tmp_path: Path, log: TournamentLog) -> None:
    """Each game is appended; the file is that of an export, and python-chess reads it."""
    pgn = with_games(tmp_path, log, 3)
    assert is_whole(pgn)
    with pgn.path.open() as source:
        assert [game.headers["Round"] for game in iter(lambda: chess.pgn.read_game(source), None)] == [
            "1.1",
            "1.2",
            "1.3",
        ]


def test_games_that_do_not_count_are_in_no_pgn(tmp_path: Path, log: TournamentLog) -> None:
    """Void ones, and those struck out later; the numbers of the others stay."""
    pgn = with_games(tmp_path, log, 1)
    recorded(log, 2, Outcome.VOID)
    pgn.append(3, recorded(log, 3))
    struck = log.game(1).game.pairing
    assert is_whole(pgn)
    assert pgn.path.read_text().count("[Event ") == 2
    log.record_event(GameVoided(struck, Outcome.WHITE), (), why="swapping")
    assert [line for line in "".join(games_text(log)).splitlines() if "Round" in line] == ['[Round "1.3"]']


def test_a_pgn_cut_anywhere_is_mended(tmp_path: Path, log: TournamentLog) -> None:
    """After a kill or a power cut at any byte of its last games, the next start makes it whole."""
    pgn = with_games(tmp_path, log, 2)
    whole = pgn.path.read_bytes()
    for end in range(len(whole) // 2, len(whole)):
        pgn.path.write_bytes(whole[:end])
        PgnFile(pgn.path, log).mend()
        assert pgn.path.read_bytes() == whole, end


def test_a_cut_that_was_written_over_is_mended(tmp_path: Path, log: TournamentLog) -> None:
    """A cut game with another behind it, cut at any byte: the number of games may be right, the file is not."""
    pgn = with_games(tmp_path, log, 3)
    whole = pgn.path.read_bytes()
    second, third = (whole.index(b"[Event", at) for at in (1, whole.index(b"[Event", 1) + 1))
    for end in range(second, third):
        pgn.path.write_bytes(whole[:end] + whole[third:])
        PgnFile(pgn.path, log).mend()
        assert pgn.path.read_bytes() == whole, end


def numbers(pgn: PgnFile) -> list[str]:
    """The games that python-chess reads."""
    with pgn.path.open() as source:
        return [game.headers["Round"] for game in iter(lambda: chess.pgn.read_game(source), None)]


def test_a_pgn_that_a_run_writes_says_so_until_the_run_has_ended(tmp_path: Path, log: TournamentLog) -> None:
    """After a kill it still says that games may be missing; readers skip the line, and the next run removes it."""
    first = recorded(log, 1)
    pgn = PgnFile(tmp_path / "x.pgn", log, growing=True)
    pgn.mend()
    assert pgn.path.read_bytes().endswith(UNFINISHED)
    for number in (2, 3):
        pgn.append(number, recorded(log, number))
        assert pgn.path.read_bytes().endswith(b"\n\n" + UNFINISHED)
        assert pgn.path.read_bytes().count(UNFINISHED) == 1
    assert numbers(pgn) == ["1.1", "1.2", "1.3"]
    assert first.outcome is Outcome.WHITE
    recorded(log, 4)  # killed before it was appended
    again = PgnFile(pgn.path, log, growing=True)
    again.mend()
    assert numbers(again) == ["1.1", "1.2", "1.3", "1.4"]
    assert again.path.read_bytes().endswith(UNFINISHED)
    again.finish()
    assert is_whole(again)
    again.finish()
    assert is_whole(again)


def test_a_change_completes_the_pgn_of_a_run_that_was_killed(tmp_path: Path, log: TournamentLog) -> None:
    """Whoever brings it up to date without a run removes the line, too."""
    pgn = PgnFile(tmp_path / "x.pgn", log, growing=True)
    pgn.mend()
    pgn.append(1, recorded(log, 1))
    PgnFile(pgn.path, log).mend()
    assert is_whole(pgn)


class Full(io.BytesIO):
    """A file on a disk that is full after some bytes."""

    def __init__(self, path: Path, room: int) -> None:
        super().__init__()
        self.path, self.room = path, room

    def writelines(self, lines: Any) -> None:
        with self.path.open("r+b") as sink:
            sink.seek(self.tell())
            sink.write(b"".join(lines)[: self.room])
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("growing", [True, False])
@pytest.mark.parametrize("room", [0, 10, 100])
def test_a_full_disk_leaves_no_half_game(
    tmp_path: Path, log: TournamentLog, monkeypatch: pytest.MonkeyPatch, room: int, *, growing: bool
) -> None:
    """What was half written is taken back, and comes with the next game that finds room, without a restart."""
    pgn = with_games(tmp_path, log, 1)
    pgn = PgnFile(pgn.path, log, growing=growing)
    pgn.mend()
    before = pgn.path.read_text()
    for number in (2, 3):
        with monkeypatch.context() as patched:
            patched.setattr(type(pgn.path), "open", _opening(Full(pgn.path, room), Path.open))
            with pytest.raises(OSError, match="No space"):
                pgn.append(number, recorded(log, number))
        assert pgn.path.read_text() == before
    pgn.append(4, recorded(log, 4))
    pgn.finish()
    assert is_whole(pgn)


def test_a_pgn_that_could_not_be_written_is_tried_once_more_at_the_end(tmp_path: Path, log: TournamentLog) -> None:
    """A disk was full during the last game: nothing was to bring that game any more."""
    exports, loop = Exports(with_games(tmp_path, log, 2), Watcher()), scheduler(ended)
    exports.progress(loop)
    exports.pgn.path.rename(tmp_path / "kept")
    exports.pgn.path.mkdir()
    exports.game(3, recorded(log, 3), ())
    exports.progress(loop)
    told = [exports.pgn.is_whole]
    exports.finish()
    told.append(exports.pgn.is_whole)
    exports.pgn.path.rmdir()
    exports.finish()
    assert [*told, exports.pgn.is_whole] == [False, False, True]
    assert is_whole(exports.pgn)


def test_games_of_one_moment_are_appended_together(tmp_path: Path, log: TournamentLog) -> None:
    """The first at once, others a moment later or when the run ends, in the order of the store."""
    now = [0.0]
    exports, loop = Exports(with_games(tmp_path, log, 1), Watcher(), lambda: now[0]), scheduler(ended)
    there = []
    with exports:
        for number, moment in ((2, 0.0), (3, 0.1), (4, 0.2), (5, 0.3), (6, 0.4)):
            now[0] = moment
            exports.game(number, recorded(log, number), ())
            exports.progress(loop)
            there.append(exports.pgn.path.read_text().count("[Event "))
    assert there == [2, 2, 2, 5, 5]
    assert is_whole(exports.pgn)


BUSY = "load 15 on 2 processors: clocks are unreliable. Engines waited for a processor in 30% of the last moves"


def _opening(full: Full, usual: Any) -> Any:
    calls = iter([full])
    return lambda *args, **more: next(calls, None) or usual(*args, **more)


def test_a_game_struck_out_leaves_the_pgn(tmp_path: Path, log: TournamentLog) -> None:
    """With the next game the file is made anew."""
    pgn = with_games(tmp_path, log, 2)
    log.record_event(GameVoided(game(meeting=1).pairing, Outcome.WHITE))
    pgn.outdated()
    pgn.append(3, recorded(log, 3))
    assert is_whole(pgn)
    assert pgn.path.read_text().count("[Event ") == 2


def test_a_game_struck_out_leaves_the_pgn_at_once(tmp_path: Path, log: TournamentLog) -> None:
    """A run looks at it with its next turn, whether or not another game ends: paused runs have none for a while."""
    exports, loop, picture = (
        Exports(with_games(tmp_path, log, 3), Watcher()),
        scheduler(ended),
        Picture(log, "roundrobin"),
    )
    watching = Watching(picture, exports, Voice(), Broadcast(picture))
    exports.progress(loop)
    log.record_event(GameVoided(game(meeting=2).pairing, Outcome.WHITE))
    watching.changed()
    exports.progress(loop)
    assert is_whole(exports.pgn)
    assert exports.pgn.path.read_text().count("[Event ") == 2
    for number in (4, 5):
        exports.game(number, recorded(log, number), ())  # they are still due when one of them is struck out
    log.record_event(GameVoided(game(meeting=5).pairing, Outcome.WHITE))
    watching.changed()
    exports.progress(loop)
    assert is_whole(exports.pgn)
    assert exports.pgn.path.read_text().count("[Event ") == 3


def test_a_busy_machine_is_warned_of_once(tmp_path: Path, log: TournamentLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it begins and when it is over: on the screen and in the event log."""
    told = list[str]()
    screen, picture = Voice(), Picture(log, "roundrobin")
    monkeypatch.setattr(screen, "trouble", told.append)
    watching = Watching(picture, Exports(with_games(tmp_path, log, 1), Watcher()), screen, Broadcast(picture))
    loop = scheduler(ended)
    monkeypatch.setattr(progress, "LINGER_S", 0.0)
    for crowded in (True, True, False, False):
        watching.event(0, "crowd", {"crowded": crowded, "share": 0.3, "load": 15.0, "processors": 2})
        watching.progress(loop)
    assert told == [f"warning: {BUSY}", "the machine is less busy: engines no longer wait long for a processor"]


def test_games_that_stay_are_as_they_were_written(tmp_path: Path, log: TournamentLog) -> None:
    """Whoever strikes one out does not know with which comments the run wrote the others."""
    pgn = PgnFile(tmp_path / "x.pgn", log, comments=("nodes", "lines"))
    pgn.mend()
    for number in (1, 2, 3):
        pgn.append(number, recorded(log, number))
    games = pgn.path.read_text().replace("1. e4", "1. e4 {of the run}").split("[Event ")[1:]
    pgn.path.write_text("".join(f"[Event {one}" for one in games))
    log.record_event(GameVoided(game(meeting=2).pairing, Outcome.WHITE))
    PgnFile(pgn.path, log).mend()
    assert pgn.path.read_text() == f"[Event {games[0]}[Event {games[2]}"


def test_games_of_one_commit_are_in_the_pgn_once(tmp_path: Path, log: TournamentLog) -> None:
    """The first of them to be appended brings all that the store has; the next ones are there already."""
    both = [(number, recorded(log, number)) for number in (1, 2)]
    pgn = PgnFile(tmp_path / "x.pgn", log)
    for number, one in both:
        pgn.append(number, one)
    pgn.append(3, recorded(log, 3))
    assert is_whole(pgn)


def test_a_look_forgets_no_game_that_found_no_room(
    tmp_path: Path, log: TournamentLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is as it was left, and lacks a game."""
    pgn = with_games(tmp_path, log, 1)
    with monkeypatch.context() as patched:
        patched.setattr(type(pgn.path), "open", _opening(Full(pgn.path, 0), Path.open))
        with pytest.raises(OSError, match="No space"):
            pgn.append(2, recorded(log, 2))
    pgn.mend()
    assert is_whole(pgn)


def test_a_pgn_that_was_removed_comes_back(tmp_path: Path, log: TournamentLog) -> None:
    """With all its games, not only those after the removal."""
    pgn = with_games(tmp_path, log, 2)
    pgn.path.unlink()
    pgn.append(3, recorded(log, 3))
    assert is_whole(pgn)


def test_a_pgn_that_cannot_be_written_is_told_as_an_error_of_files(tmp_path: Path, log: TournamentLog) -> None:
    """A folder bears its name: OSError at the start and with each game; once it is gone the file is made whole."""
    pgn = PgnFile(tmp_path / "x.pgn", log)
    pgn.path.mkdir()
    with pytest.raises(OSError, match="directory"):
        pgn.mend()
    with pytest.raises(OSError, match="directory"):
        pgn.append(1, recorded(log, 1))
    pgn.path.rmdir()
    pgn.append(2, recorded(log, 2))
    assert is_whole(pgn)


def test_only_what_is_missing_is_written(tmp_path: Path, log: TournamentLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill between commit and PGN, or in the middle of a game's text: thousands of whole games are not made anew."""
    pgn = with_games(tmp_path, log, 3)
    whole = pgn.path.read_text()
    recorded(log, 4)
    monkeypatch.setattr("enginetour.reports.pgn.replace_file", None)  # would be called for all
    for left in (whole, whole[:-9]):
        pgn.path.write_text(left)
        PgnFile(pgn.path, log).mend()
        assert is_whole(pgn)
    pgn.path.write_text(whole)
    again = PgnFile(pgn.path, log)
    again.append(5, recorded(log, 5))  # ended before anybody looked
    assert is_whole(again)


def test_a_run_in_a_hurry_leaves_the_pgn_to_the_next(tmp_path: Path, log: TournamentLog) -> None:
    """No file made of thousands of games holds up a stop: the old one stays, and is mended later."""
    pgn = with_games(tmp_path, log, 3)
    old = pgn.path.read_text()[7:]
    pgn.path.write_text(old)
    with pytest.raises(InterruptedError, match="being stopped"):
        PgnFile(pgn.path, log, lambda: True).mend()
    assert pgn.path.read_text() == old
    assert [path.name for path in tmp_path.glob(".*")] == []
    PgnFile(pgn.path, log).mend()
    assert is_whole(pgn)


def test_games_that_do_not_say_when_they_began_are_ours(tmp_path: Path, log: TournamentLog) -> None:
    """Only another moment tells another database: somebody may have taken the tags out."""
    pgn = with_games(tmp_path, log, 3)
    lines = pgn.path.read_text().splitlines(keepends=True)
    bare = "".join(line for line in lines if not line.startswith("[GameStartTime "))
    assert len(bare) < sum(map(len, lines))
    pgn.path.write_text(bare)
    PgnFile(pgn.path, log).mend()
    assert pgn.path.read_text() == bare
    assert [path.name for path in tmp_path.glob("*.pgn")] == ["x.pgn"]


def test_two_databases_do_not_take_turns_at_one_pgn(tmp_path: Path) -> None:
    """Two runs put a file of the other aside once each at most; then it stays the one's, and the other says so."""
    told: list[str] = []
    failed: list[str | None] = []
    with ExitStack() as stack:
        runs: list[PgnFile] = []
        for name in ("one", "other"):
            store, log = open_log(tmp_path / f"{name}.db")
            stack.enter_context(store)
            runs.append(PgnFile(tmp_path / "t.pgn", log, tell=told.append))
        for number in range(1, 9):
            for began, pgn in enumerate(runs, 1):
                played = replace(game(meeting=number), started=1000.0 * began + number)
                assert add_game(pgn.log, played) == number
                try:
                    pgn.append(number, played)
                except OSError as error:
                    failed.append(error.strerror)
        assert len(told) == len(list(tmp_path.glob("t.old-*.pgn"))) == 2
        assert failed == ["a run of another database writes it too, which keeps it"] * 7, "from the second game on"
        assert [pgn.is_whole for pgn in runs] == [True, False]
        assert is_whole(runs[0])
        (tmp_path / "t.pgn").unlink()
        runs[1].mend()
        assert is_whole(runs[1])
