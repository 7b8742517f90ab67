"""Tests of PGN and EPD."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import re
import shutil
import subprocess
import textwrap
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess.pgn
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.cli.output import Console
from enginetour.engines.uci_lines import last_search_info
from enginetour.interop import trf
from enginetour.interop.toml import toml_value
from enginetour.model.game import Game, GameVoided, MoveMade, Opening, Outcome, Pairing, SideRecord, Termination
from enginetour.reports import pgn as pgn_module
from enginetour.reports import progress
from enginetour.reports.pgn import UNFINISHED_LINE, PgnFile, export_pgn
from enginetour.reports.progress import Progress, playing_line
from enginetour.store.log import TournamentLog
from enginetour.tournament.config.load import load
from enginetour.tournament.config.sections import check_tags
from enginetour.tournament.scheduler import Watcher
from enginetour.tournament.watching import Broadcast, PgnExport, RunProgress, RunWatcher
from tests.support.databases import add_game, open_log, sound_log
from tests.support.databases import game as databases_game
from tests.support.tournaments import FOUR, THREE, config, ended, pgn_games, scheduler, tour
from tests.support.tournaments import read as tournaments_read

# PGN as other tools read it: python-chess and pgn-extract.

MATE = ("f2f3", "e7e5", "g2g4", "d8h4")
BLACK_FIRST = "4k3/8/8/8/8/8/4p3/4K3 b - - 0 37"


def moves_of(ucis: tuple[str, ...], fen: str | None = None) -> tuple[MoveMade, ...]:
    board = chess.Board(fen or chess.STARTING_FEN)
    made = []
    for number, uci in enumerate(ucis):
        move = chess.Move.from_uci(uci)
        made.append(MoveMade(uci, board.san(move), 104, 900, 31 - 60 * number, 18, book=not number))
        board.push(move)
    return tuple(made)


def game(**more: object) -> Game:
    settings: dict[str, object] = {
        "pairing": Pairing("Ada 1.0", "Bea"),
        "outcome": Outcome.BLACK,
        "termination": Termination.MATE,
        "cause": "Black mates",
        "moves": moves_of(MATE),
        "white_tc": "1+0.05",
        "black_tc": "1+0.05",
        "started_unix": 1_700_000_000.0,
        "ended_unix": 1_700_000_075.0,
    }
    return Game(**(settings | more))  # type: ignore[arg-type]


def read(text: str) -> list[chess.pgn.Game]:
    source, games = io.StringIO(text), []
    while found := chess.pgn.read_game(source):
        assert not found.errors
        games.append(found)
    return games


def test_a_game_reads_back_with_tags_moves_and_comments() -> None:
    """python-chess reads the moves that were played."""
    (found,) = read(pgn_module.game_pgn(game(), 7, "trial"))
    assert found.headers["White"] == "Ada 1.0"
    assert found.headers["Result"] == "0-1"
    assert found.headers["Termination"] == "normal"
    assert found.headers["PlyCount"] == "4"
    assert found.headers["GameDuration"] == "00:01:15"
    assert [move.uci() for move in found.mainline_moves()] == list(MATE)
    comments = [" ".join(node.comment.split()) for node in found.mainline()]
    assert comments == ["book", "-0.29/18 0.104s", "-0.89/18 0.104s", "-1.49/18 0.104s, Black mates"]


def test_a_comment_tells_more_when_asked() -> None:
    """Optional fields have a fixed order, and unknown values are left out."""
    move = MoveMade(
        "e2e4", "e4", 104, 900, 31, 18, 7_279, 'e2e4 e7e5 "x"', False, 20, 454_937, 3, 0, 213, ("info string {a}",)
    )
    asked = ("lines", "pv", "tbhits", "hashfull", "nps", "seldepth", "nodes", "latency", "timeleft")
    assert pgn_module.move_comments((move,), asked) == [
        "+0.31/18 0.104s, tl=0.900s, lat=0.000213s, n=7279, sd=20, nps=454937, hf=3, tb=0,"
        ' pv="e2e4 e7e5 \'x\'", line="info string (a)"'
    ]
    assert pgn_module.move_comments((MoveMade("e2e4", "e4", 104),), pgn_module.COMMENT_FIELDS) == ["0.104s"]
    assert pgn_module.move_comments((move,)) == ["+0.31/18 0.104s"]
    assert pgn_module.move_comments((MoveMade("e2e4", "e4", book=True),), pgn_module.COMMENT_FIELDS) == ["book"]


def test_a_long_comment_keeps_the_reason() -> None:
    """A long PV does not hide the cause of the result."""
    last = MoveMade("d8h4", "Qh4#", 1, 1, 31_999, 9, pv="d8h4 " * 200)
    (found,) = read(pgn_module.game_pgn(game(moves=(*moves_of(MATE)[:3], last)), 1, "trial", comments=("pv",)))
    assert list(found.mainline())[-1].comment.endswith(", Black mates")


def test_what_is_known_of_engines_and_machine_is_tagged() -> None:
    """Only rated engines have an Elo tag."""
    text = pgn_module.game_pgn(game(hardware="Ryzen 9"), 1, "trial", ratings={"Ada 1.0": 2_811.6})
    (found,) = read(text)
    assert found.headers["WhiteElo"] == "2812"
    assert "BlackElo" not in found.headers
    assert found.headers["Hardware"] == "Ryzen 9"


def test_every_tag_in_its_place() -> None:
    """The tags have a fixed order: roster, start, engines, conditions, course of the game."""
    start = chess.Board.from_chess960_pos(0).fen()
    opening = Opening("Back rank 0", 3, start, ("g2g3", "g7g6"), "A00", "chess960")
    one = game(
        opening=opening,
        moves=(),
        black_tc="5+0.05",
        white=SideRecord(own_name="Ada the Engine"),
        black=SideRecord(own_name="Bea"),
        pairing=Pairing("Ada 1.0", "Bea", round=2, encounter=5, leg=2, handicap=-1),
        hardware="Ryzen 9",
    )
    tags, _, _ = pgn_module.game_pgn(
        one, 7, "trial", more={"Site": "here"}, ratings={"Ada 1.0": 2_811.6, "Bea": 2_700.0}
    ).partition("\n\n")
    assert tags.splitlines() == [
        '[Event "trial"]',
        '[Site "here"]',
        '[Date "2023.11.14"]',
        '[Round "2.7"]',
        '[White "Ada 1.0"]',
        '[Black "Bea"]',
        '[Result "0-1"]',
        '[Variant "Chess960"]',
        '[SetUp "1"]',
        f'[FEN "{start}"]',
        '[WhiteElo "2812"]',
        '[BlackElo "2700"]',
        '[ECO "A00"]',
        '[Opening "Back rank 0"]',
        '[WhiteTimeControl "1+0.05"]',
        '[BlackTimeControl "5+0.05"]',
        '[Handicap "Black gives 1"]',
        '[PlyCount "0"]',
        '[Termination "normal"]',
        '[GameStartTime "2023-11-14T22:13:20Z"]',
        '[GameEndTime "2023-11-14T22:14:35Z"]',
        '[GameDuration "00:01:15"]',
        '[WhiteEngine "Ada the Engine"]',
        '[BlackEngine "Bea"]',
        '[Encounter "5"]',
        '[Leg "2"]',
        '[OpeningName "Back rank 0"]',
        '[OpeningNumber "3"]',
        '[OpeningPlies "2"]',
        '[Hardware "Ryzen 9"]',
    ]
    assert '[TimeControl "1+0.05"]' in pgn_module.game_pgn(game(), 7, "trial")
    glass = replace(game(), white_tc="hourglass=60", black_tc="hourglass=60")
    assert '[TimeControl "*60"]' in pgn_module.game_pgn(glass, 7, "trial")


def test_a_game_from_a_position_with_black_to_move_reads_back() -> None:
    """A game from a FEN has the tags FEN and SetUp, and its move numbers follow the FEN."""
    made = moves_of(("e8e7", "e1e2"), BLACK_FIRST)
    text = pgn_module.game_pgn(game(moves=made, opening=Opening("x", 1, BLACK_FIRST)), 1, "trial")
    assert "37... Ke7" in text
    (found,) = read(text)
    assert found.board().fen() == BLACK_FIRST
    assert [move.uci() for move in found.mainline_moves()] == ["e8e7", "e1e2"]


@pytest.mark.parametrize(
    ("termination", "words"),
    [
        (Termination.TIME, "time forfeit"),
        (Termination.ILLEGAL_MOVE, "rules infraction"),
        (Termination.FALSE_CLAIM, "rules infraction"),
        (Termination.CRASH, "abandoned"),
        (Termination.STALL, "abandoned"),
        (Termination.REPETITION, "normal"),
        (Termination.RESIGN, "normal"),
        (Termination.CLAIM, "normal"),
        (Termination.AGREEMENT, "normal"),
        (Termination.VARIANT, "normal"),
        (Termination.ADJUDICATION_DRAW, "adjudication"),
        (Termination.ADJUDICATION_RESIGN, "adjudication"),
        (Termination.ADJUDICATION_LENGTH, "adjudication"),
        (Termination.ADJUDICATION_TABLEBASE, "adjudication"),
    ],
)
def test_the_termination_tag_has_the_words_of_the_standard(termination: Termination, words: str) -> None:
    """The Termination tag has the values of the PGN standard 9.8.1."""
    (found,) = read(pgn_module.game_pgn(game(termination=termination), 1, "trial"))
    assert found.headers["Termination"] == words


@pytest.mark.parametrize(("outcome", "words"), [(Outcome.BLACK, "abandoned"), (Outcome.VOID, "unterminated")])
def test_a_game_given_up_is_unterminated_only_without_a_result(outcome: Outcome, words: str) -> None:
    """A game that an engine loses because it does not start is not unterminated."""
    (found,) = read(pgn_module.game_pgn(game(termination=Termination.ABORTED, outcome=outcome), 1, "Club"))
    assert found.headers["Termination"] == words


def test_a_pawn_is_dropped_by_its_letter() -> None:
    """Drops of pawns are written as ``P@e6``, as cutechess and xboard do."""
    text = pgn_module.game_pgn(game(moves=(MoveMade("P@e6", "@e6+", 1), MoveMade("N@f3", "N@f3", 1))), 1, "trial")
    assert re.findall(r"\S*@\S*", text) == ["P@e6+", "N@f3"]


def test_mate_scores_are_moves() -> None:
    """A score of 31995 is a mate in 5."""
    assert pgn_module.format_score(31995) == "+M5"
    assert pgn_module.format_score(-31998) == "-M2"
    assert pgn_module.format_score(-31) == "-0.31"


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=80))
def test_no_name_or_comment_can_break_the_file(name: str, cause: str, own: str) -> None:
    """Two games with hostile text are read as two games with the same tags."""
    hostile = game(pairing=Pairing(name, "Bea"), cause=cause, white=SideRecord(own))
    text = pgn_module.game_pgn(hostile, 1, name) + pgn_module.game_pgn(game(), 2, "trial")
    first, second = read(text)
    assert first.headers["Black"] == "Bea"
    assert [move.uci() for move in first.mainline_moves()] == list(MATE)
    assert second.headers["White"] == "Ada 1.0"


@pytest.mark.engine("pgn-extract")
def test_pgn_extract_reads_every_game(tmp_path: Path) -> None:
    """pgn-extract reads all games without complaints."""
    path = tmp_path / "games.pgn"
    path.write_text("".join(pgn_module.game_pgn(game(), number, "trial") for number in range(1, 4)), "utf-8")
    program = shutil.which("pgn-extract") or "/usr/games/pgn-extract"
    done = subprocess.run([program, "--quiet", "-r", str(path)], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""


@given(
    st.lists(st.text("ab{}.-", min_size=1, max_size=30) | st.sampled_from(["x" * 79, "x" * 80, "x" * 200]), max_size=60)
)
def test_lines_are_cut_as_by_textwrap(words: list[str]) -> None:
    """Lines have up to 80 characters and break between words."""
    usual = textwrap.wrap(" ".join(words), width=80, break_long_words=False, break_on_hyphens=False)
    assert pgn_module.wrap_movetext(" ".join(words)) == usual


# Exports, and the PGN file of a run.


@pytest.fixture
def log(tmp_path: Path) -> Any:
    store, made = open_log(tmp_path / "x.db")
    with store:
        yield made


def recorded(log: TournamentLog, number: int, outcome: Outcome = Outcome.WHITE) -> Game:
    one = databases_game(meeting=number, outcome=outcome)
    assert add_game(log, one) == number
    return one


def with_games(tmp_path: Path, log: TournamentLog, count: int) -> PgnFile:
    pgn = PgnFile(tmp_path / "x.pgn", log)
    pgn.mend()
    for number in range(1, count + 1):
        pgn.extend([(number, recorded(log, number))])
    return pgn


def is_whole(pgn: PgnFile) -> bool:
    """The file equals an export."""
    return pgn.path.read_text() == "".join(export_pgn(pgn.log))


def test_a_pgn_grows_with_the_log(tmp_path: Path, log: TournamentLog) -> None:
    """The file after each appended game equals an export, and python-chess reads it."""
    pgn = with_games(tmp_path, log, 3)
    assert is_whole(pgn)
    with pgn.path.open() as source:
        assert [game.headers["Round"] for game in iter(lambda: chess.pgn.read_game(source), None)] == [
            "1.1",
            "1.2",
            "1.3",
        ]


def test_games_that_do_not_count_are_in_no_pgn(tmp_path: Path, log: TournamentLog) -> None:
    """Void games are left out, and the other games keep their numbers."""
    pgn = with_games(tmp_path, log, 1)
    recorded(log, 2, Outcome.VOID)
    pgn.extend([(3, recorded(log, 3))])
    struck = log.game(1).game.pairing
    assert is_whole(pgn)
    assert pgn.path.read_text().count("[Event ") == 2
    log.record_event(GameVoided(struck, Outcome.WHITE), (), why="swapping")
    assert [line for line in "".join(export_pgn(log)).splitlines() if "Round" in line] == ['[Round "1.3"]']


def test_a_pgn_cut_anywhere_is_mended(tmp_path: Path, log: TournamentLog) -> None:
    """A file that was cut at any byte is repaired at the next start."""
    pgn = with_games(tmp_path, log, 2)
    whole = pgn.path.read_bytes()
    for end in range(len(whole) // 2, len(whole)):
        pgn.path.write_bytes(whole[:end])
        PgnFile(pgn.path, log).mend()
        assert pgn.path.read_bytes() == whole, end


def test_a_cut_that_was_written_over_is_mended(tmp_path: Path, log: TournamentLog) -> None:
    """A cut game before a complete one is detected and repaired."""
    pgn = with_games(tmp_path, log, 3)
    whole = pgn.path.read_bytes()
    second, third = (whole.index(b"[Event", at) for at in (1, whole.index(b"[Event", 1) + 1))
    for end in range(second, third):
        pgn.path.write_bytes(whole[:end] + whole[third:])
        PgnFile(pgn.path, log).mend()
        assert pgn.path.read_bytes() == whole, end


def numbers(pgn: PgnFile) -> list[str]:
    """Return the number of games that python-chess reads."""
    with pgn.path.open() as source:
        return [game.headers["Round"] for game in iter(lambda: chess.pgn.read_game(source), None)]


def test_a_pgn_that_a_run_writes_says_so_until_the_run_has_ended(tmp_path: Path, log: TournamentLog) -> None:
    """After a crash the last line says that games may be missing, and the next run removes it."""
    first = recorded(log, 1)
    pgn = PgnFile(tmp_path / "x.pgn", log, growing=True)
    pgn.mend()
    assert pgn.path.read_bytes().endswith(UNFINISHED_LINE)
    for number in (2, 3):
        pgn.extend([(number, recorded(log, number))])
        assert pgn.path.read_bytes().endswith(b"\n\n" + UNFINISHED_LINE)
        assert pgn.path.read_bytes().count(UNFINISHED_LINE) == 1
    assert numbers(pgn) == ["1.1", "1.2", "1.3"]
    assert first.outcome is Outcome.WHITE
    recorded(log, 4)  # killed before it was appended
    again = PgnFile(pgn.path, log, growing=True)
    again.mend()
    assert numbers(again) == ["1.1", "1.2", "1.3", "1.4"]
    assert again.path.read_bytes().endswith(UNFINISHED_LINE)
    again.finish()
    assert is_whole(again)
    again.finish()
    assert is_whole(again)


def test_a_change_completes_the_pgn_of_a_run_that_was_killed(tmp_path: Path, log: TournamentLog) -> None:
    """A repair without a run also removes the last line."""
    pgn = PgnFile(tmp_path / "x.pgn", log, growing=True)
    pgn.mend()
    pgn.extend([(1, recorded(log, 1))])
    PgnFile(pgn.path, log).mend()
    assert is_whole(pgn)


class Full(io.BytesIO):
    """A file on a disk that becomes full after a number of bytes."""

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
    """A partly written game is removed and is written with a later game."""
    pgn = with_games(tmp_path, log, 1)
    pgn = PgnFile(pgn.path, log, growing=growing)
    pgn.mend()
    before = pgn.path.read_text()
    for number in (2, 3):
        with monkeypatch.context() as patched:
            patched.setattr(type(pgn.path), "open", _opening(Full(pgn.path, room), Path.open))
            with pytest.raises(OSError, match="No space"):
                pgn.extend([(number, recorded(log, number))])
        assert pgn.path.read_text() == before
    pgn.extend([(4, recorded(log, 4))])
    pgn.finish()
    assert is_whole(pgn)


def test_a_pgn_that_could_not_be_written_is_tried_once_more_at_the_end(tmp_path: Path, log: TournamentLog) -> None:
    """The last game is written at the end if the disk was full before."""
    exports, loop = PgnExport(with_games(tmp_path, log, 2), Watcher()), scheduler(ended)
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
    """Games are written in the order of the database, the first one at once."""
    now = [0.0]
    exports, loop = PgnExport(with_games(tmp_path, log, 1), Watcher(), lambda: now[0]), scheduler(ended)
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
    """A file that was changed is repaired with the next game."""
    pgn = with_games(tmp_path, log, 2)
    log.record_event(GameVoided(databases_game(meeting=1).pairing, Outcome.WHITE))
    pgn.outdated()
    pgn.extend([(3, recorded(log, 3))])
    assert is_whole(pgn)
    assert pgn.path.read_text().count("[Event ") == 2


def test_a_game_struck_out_leaves_the_pgn_at_once(tmp_path: Path, log: TournamentLog) -> None:
    """A void game is removed at the next step of a run, also of a paused one."""
    exports, loop, picture = (
        PgnExport(with_games(tmp_path, log, 3), Watcher()),
        scheduler(ended),
        RunProgress(log, "roundrobin"),
    )
    watching = RunWatcher(picture, exports, Console(), Broadcast(picture))
    exports.progress(loop)
    log.record_event(GameVoided(databases_game(meeting=2).pairing, Outcome.WHITE))
    watching.changed()
    exports.progress(loop)
    assert is_whole(exports.pgn)
    assert exports.pgn.path.read_text().count("[Event ") == 2
    for number in (4, 5):
        exports.game(number, recorded(log, number), ())  # they are still due when one of them is struck out
    log.record_event(GameVoided(databases_game(meeting=5).pairing, Outcome.WHITE))
    watching.changed()
    exports.progress(loop)
    assert is_whole(exports.pgn)
    assert exports.pgn.path.read_text().count("[Event ") == 3


def test_a_busy_machine_is_warned_of_once(tmp_path: Path, log: TournamentLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure to write the file is reported once when it starts and once when it ends."""
    told = list[str]()
    screen, picture = Console(), RunProgress(log, "roundrobin")
    monkeypatch.setattr(screen, "trouble", told.append)
    watching = RunWatcher(picture, PgnExport(with_games(tmp_path, log, 1), Watcher()), screen, Broadcast(picture))
    loop = scheduler(ended)
    monkeypatch.setattr(progress, "BUSY_LINGER_S", 0.0)
    for crowded in (True, True, False, False):
        watching.event(0, "crowd", {"crowded": crowded, "share": 0.3, "load": 15.0, "processors": 2})
        watching.progress(loop)
    assert told == [f"warning: {BUSY}", "the machine is less busy: engines no longer wait long for a processor"]


def test_games_that_stay_are_as_they_were_written(tmp_path: Path, log: TournamentLog) -> None:
    """A game that becomes void does not change the comments of other games."""
    pgn = PgnFile(tmp_path / "x.pgn", log, comments=("nodes", "lines"))
    pgn.mend()
    for number in (1, 2, 3):
        pgn.extend([(number, recorded(log, number))])
    games = pgn.path.read_text().replace("1. e4", "1. e4 {of the run}").split("[Event ")[1:]
    pgn.path.write_text("".join(f"[Event {one}" for one in games))
    log.record_event(GameVoided(databases_game(meeting=2).pairing, Outcome.WHITE))
    PgnFile(pgn.path, log).mend()
    assert pgn.path.read_text() == f"[Event {games[0]}[Event {games[2]}"


def test_games_of_one_commit_are_in_the_pgn_once(tmp_path: Path, log: TournamentLog) -> None:
    """Games that were written by a repair are not appended again."""
    both = [(number, recorded(log, number)) for number in (1, 2)]
    pgn = PgnFile(tmp_path / "x.pgn", log)
    for number, one in both:
        pgn.extend([(number, one)])
    pgn.extend([(3, recorded(log, 3))])
    assert is_whole(pgn)


def test_a_look_forgets_no_game_that_found_no_room(
    tmp_path: Path, log: TournamentLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repair adds a game that could not be written before."""
    pgn = with_games(tmp_path, log, 1)
    with monkeypatch.context() as patched:
        patched.setattr(type(pgn.path), "open", _opening(Full(pgn.path, 0), Path.open))
        with pytest.raises(OSError, match="No space"):
            pgn.extend([(2, recorded(log, 2))])
    pgn.mend()
    assert is_whole(pgn)


def test_a_pgn_that_was_removed_comes_back(tmp_path: Path, log: TournamentLog) -> None:
    """A file that was removed is written again with all games."""
    pgn = with_games(tmp_path, log, 2)
    pgn.path.unlink()
    pgn.extend([(3, recorded(log, 3))])
    assert is_whole(pgn)


def test_a_pgn_that_cannot_be_written_is_told_as_an_error_of_files(tmp_path: Path, log: TournamentLog) -> None:
    """A directory with the name of the file is an OSError, and after its removal the file is written."""
    pgn = PgnFile(tmp_path / "x.pgn", log)
    pgn.path.mkdir()
    with pytest.raises(OSError, match="directory"):
        pgn.mend()
    with pytest.raises(OSError, match="directory"):
        pgn.extend([(1, recorded(log, 1))])
    pgn.path.rmdir()
    pgn.extend([(2, recorded(log, 2))])
    assert is_whole(pgn)


def test_only_what_is_missing_is_written(tmp_path: Path, log: TournamentLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the games after the last complete one are written again."""
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
    again.extend([(5, recorded(log, 5))])  # ended before anybody looked
    assert is_whole(again)


def test_a_run_in_a_hurry_leaves_the_pgn_to_the_next(tmp_path: Path, log: TournamentLog) -> None:
    """A run that stops leaves a long repair to the next run."""
    pgn = with_games(tmp_path, log, 3)
    old = pgn.path.read_text()[7:]
    pgn.path.write_text(old)
    with pytest.raises(InterruptedError, match="the run is stopping"):
        PgnFile(pgn.path, log, lambda: True).mend()
    assert pgn.path.read_text() == old
    assert [path.name for path in tmp_path.glob(".*")] == []
    PgnFile(pgn.path, log).mend()
    assert is_whole(pgn)


def test_games_that_do_not_say_when_they_began_are_ours(tmp_path: Path, log: TournamentLog) -> None:
    """Games of another database are recognized by their start times."""
    pgn = with_games(tmp_path, log, 3)
    lines = pgn.path.read_text().splitlines(keepends=True)
    bare = "".join(line for line in lines if not line.startswith("[GameStartTime "))
    assert len(bare) < sum(map(len, lines))
    pgn.path.write_text(bare)
    PgnFile(pgn.path, log).mend()
    assert pgn.path.read_text() == bare
    assert [path.name for path in tmp_path.glob("*.pgn")] == ["x.pgn"]


def test_two_databases_do_not_take_turns_at_one_pgn(tmp_path: Path) -> None:
    """Each of two runs renames the file of the other one at most once, then reports the conflict."""
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
                played = replace(databases_game(meeting=number), started_unix=1000.0 * began + number)
                assert add_game(pgn.log, played) == number
                try:
                    pgn.extend([(number, played)])
                except OSError as error:
                    failed.append(error.strerror)
        assert len(told) == len(list(tmp_path.glob("t.old-*.pgn"))) == 2
        assert failed == ["a run with another database also writes this file"] * 7, "from the second game on"
        assert [pgn.is_whole for pgn in runs] == [True, False]
        assert is_whole(runs[0])
        (tmp_path / "t.pgn").unlink()
        runs[1].mend()
        assert is_whole(runs[1])


def points(folder: Path) -> dict[str, float]:
    """The points of a report are those of its cells."""
    tour(folder, "export", "trf", "-o", "out.trf")
    return {entry.name: (entry.points or 0) / 2 for entry in trf.read((folder / "out.trf").read_bytes()).entries}


def table(folder: Path) -> dict[str, float]:
    return {line["name"]: line["points"] for line in tournaments_read(folder, "standings")["table"]}


def test_a_report_has_the_points_of_the_table(tmp_path: Path) -> None:
    """A game struck out after its round was won by both sides, a pending one was forfeited, so was one on top of a win.

    Struck out it still counts in the table: played, unrated. Called off it goes to whoever stayed.
    """
    path = config(tmp_path, FOUR, "dutch", "rounds = 3\ngames_per_pairing = 2")
    tour(tmp_path, "run", str(path), "--max-games", "5", expect=8)
    assert points(tmp_path) == table(tmp_path)
    running = (tmp_path / "out.trf").read_text()
    assert " + " not in running and "+\n" not in running
    tour(tmp_path, "void", "2")
    assert points(tmp_path) == table(tmp_path)
    entries = trf.read((tmp_path / "out.trf").read_bytes()).entries
    struck = [cell.result for entry in entries for cell in entry.cells if cell.result in "WDL"]
    assert sorted(struck) in (["D", "D"], ["L", "W"])
    tour(tmp_path, "withdraw", tournaments_read(tmp_path, "games")[4]["white"])
    assert points(tmp_path) == table(tmp_path)


@pytest.mark.parametrize("command", ["export pgn", "export csv", "ratings"])
def test_what_is_no_plain_file_is_written_into(tmp_path: Path, command: str) -> None:
    """A device or a named pipe as output is not replaced by a file."""
    path = config(tmp_path, FOUR[:2], "roundrobin", "")
    tour(tmp_path, "run", str(path))
    os.mkfifo(tmp_path / "pipe")
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    tour(tmp_path, *command.split(), "-o", "pipe")
    assert (tmp_path / "pipe").is_fifo()
    reader.join(20.0)
    assert "Wren 1" in heard[0]


def test_a_pipe_in_the_place_of_the_pgn_holds_up_no_run(tmp_path: Path) -> None:
    """A named pipe without a reader is reported once, and all games are played."""
    path = config(tmp_path, FOUR[:2], "roundrobin", "games_per_pairing = 2")
    (tmp_path / "results").mkdir()
    os.mkfifo(tmp_path / "results" / "trial.pgn")
    done = tour(tmp_path, "run", str(path))
    assert done.stderr.count("trial.pgn not written") == 1
    assert "trial.pgn (incomplete; enginetour export pgn -o FILE writes all games)" in done.stdout
    assert len(tournaments_read(tmp_path, "games")) == 2


def test_a_list_is_put_into_its_file_as_an_export_is(tmp_path: Path) -> None:
    """Two concurrent writers of a file do not mix their output, and links of others are kept."""
    (tmp_path / "results").mkdir()
    store, log = sound_log(tmp_path / "results" / "enginetour.db")
    with store:
        add_game(log, databases_game())
    beside = tmp_path / ".list.md.new"
    with beside.open("w") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        theirs.write("half")
        theirs.flush()
        tour(tmp_path, "ratings", "-o", "list.md", expect=7)
        assert beside.read_text() == "half"
    beside.unlink()
    beside.symlink_to("elsewhere")
    tour(tmp_path, "ratings", "-o", "list.md", expect=7)
    assert beside.is_symlink()
    assert not (tmp_path / "list.md").exists()


def test_a_pgn_of_another_database_is_put_aside(tmp_path: Path) -> None:
    """A PGN file of a removed database is renamed and kept."""
    path = config(tmp_path, THREE, "roundrobin", "games_per_pairing = 2")
    tour(tmp_path, "run", str(path), "--max-games", "3", expect=8)
    results = tmp_path / "results"
    whole = (results / "trial.pgn").read_text()
    for file in results.glob("enginetour.db*"):
        file.unlink()
    again = re.sub('GameStartTime "2', 'GameStartTime "1', whole)  # a second may be the same
    (results / "trial.pgn").write_text(again)
    done = tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    assert "trial.pgn contained games of another database and was renamed to trial.old-1.pgn" in done.stderr
    assert (results / "trial.old-1.pgn").read_text() == again
    assert (results / "trial.pgn").read_text() == tour(tmp_path, "export", "pgn").stdout
    assert pgn_games(results / "trial.pgn") == 1
    assert "old-2" not in tour(tmp_path, "run", str(path)).stderr


def test_a_single_game_is_as_an_export_has_it(tmp_path: Path) -> None:
    """The PGN of a match has the ratings of its engines."""
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    path.write_text(path.read_text().replace('engine = "wren1"', 'engine = "wren1"\nrating = 1510'))
    tour(tmp_path, "run", str(path))
    exported = tour(tmp_path, "export", "pgn").stdout
    first, second = (tour(tmp_path, "games", number).stdout for number in "12")
    assert '[WhiteElo "1510"]' in first and '[BlackElo "1510"]' in second
    assert exported.startswith(first[: first.rindex("}")])


# Unusual scores.


def test_a_score_beyond_every_mate_is_told_as_it_is() -> None:
    """Scores beyond the mate range are not shown as mates."""
    assert pgn_module.format_score(-99_994) == "-999.94"
    assert pgn_module.format_score(32_000) == "+M0"


@pytest.mark.parametrize(("score", "words"), [(2**63 - 1, "+1000.00"), (-(2**63), "-1000.00"), (100_001, "+1000.00")])
def test_a_score_that_no_engine_means_is_not_printed_as_it_came(score: int, words: str) -> None:
    """Scores and depths have a limit in comments, on pages and in status lines."""
    move = MoveMade("e2e4", "e4", score=score, depth=10**17, elapsed_ms=5)
    assert pgn_module.move_comments((move,)) == [f"{words}/999 0.005s"]
    made = Progress("match", "trial")
    made.event(0, "start", {"white": "A", "black": "B", "moves": []})
    made.event(0, "moves", [{"ply": 1, "uci": "e2e4", "score": score}])
    assert playing_line(made.live.values()).endswith(f", {words[:-1]}")


@pytest.mark.parametrize(("word", "bound"), [("lowerbound", 1), ("upperbound", -1)])
def test_a_bound_at_the_end_of_its_line_is_one(word: str, bound: int) -> None:
    """A score bound is not an exact score, also without text after it."""
    line = f"info depth 4 score cp 90 {word}".encode()
    assert last_search_info(line).bound == bound
    assert last_search_info(b"info depth 3 score cp 20\n" + line, bounds=False).score == 20


# Tags of the user.


def test_tags_of_the_user_round_trip(tmp_path: Path) -> None:
    """Site and other tags are in exports, in `games N` and in the PGN of a run; import finds the same games."""
    tags = {"Site": 'Room "7" \\ Berlin', "Annotator": "[Ann] {é}", "WhiteTeam": "Köln"}
    more = "\n[[entrants]]\nengine = 'wren1'\n[[entrants]]\nengine = 'wren3'"
    play = f"tags = {toml_value(tags)}"
    path = config(tmp_path, (), "match", "games = 2", more, play=play, strong=True)
    tour(tmp_path, "run", str(path))
    run = tmp_path / "results" / "trial.pgn"
    assert run.read_text() == tour(tmp_path, "export", "pgn").stdout
    for one in read(run.read_text()):
        assert (one.headers["Annotator"], one.headers["WhiteTeam"]) == ("[Ann] {é}", "Köln")
        assert list(one.headers)[:7] == ["Event", "Site", "Date", "Round", "White", "Black", "Result"]
    line = '[Site "Room \\"7\\" \\\\ Berlin"]'
    assert line in run.read_text() and line in tour(tmp_path, "games", "1").stdout
    assert "all 2 games are in the database already" in tour(tmp_path, "import", str(run), "--name", "again").stdout
    assert "2 games imported" in tour(tmp_path, "import", str(run), "--db", "other.db").stdout
    assert load(path).frozen_part()["play"]["tags"] == tags


def test_every_own_tag_is_reserved() -> None:
    """A user cannot set the tags that `game_pgn` writes, except Site."""
    start = Opening("Back rank 0", 3, chess.Board.from_chess960_pos(0).fen(), ("g2g3", "g7g6"), "A00", "chess960")
    pairing = Pairing("Ada 1.0", "Bea", encounter=5, leg=2, handicap=-1)
    sides = {"white": SideRecord(own_name="Ada"), "black": SideRecord(own_name="Bea")}
    one = game(opening=start, moves=(), pairing=pairing, hardware="Ryzen 9", **sides)
    text = "".join(
        pgn_module.game_pgn(replace(one, black_tc=tc), 1, "x", ratings={"Ada 1.0": 1.0, "Bea": 2.0})
        for tc in (one.white_tc, "5+0.05")
    )
    assert {*re.findall(r"^\[(\w+) ", text, re.MULTILINE)} == {*pgn_module.OWN_TAGS, "Site"}


@pytest.mark.parametrize(
    ("tags", "why"),
    [
        ({"Event": "x"}, "enginetour writes the tag Event itself"),
        ({"whiteelo": "1"}, "must be a capital letter"),
        ({"WHITEELO": "1"}, "enginetour writes the tag WHITEELO itself"),
        ({"TimeOdds": "1"}, "enginetour writes the tag TimeOdds itself"),
        ({"Site": ""}, "the value of Site must have 1 to 246 characters"),
        ({"Site": "x" * 250}, "the value of Site must have 1 to 246 characters"),
        ({"Site": "a\nb"}, "must be printable text"),
        ({"Site": "a", "SITE": "b"}, "two names differ only in case"),
        ({"A b": "1"}, "must be a capital letter"),
        ({f"T{n}": "1" for n in range(33)}, "at most 32 tags (found 33)"),
    ],
)
def test_tags_that_are_not_valid(tags: dict[str, str], why: str) -> None:
    """Tags of enginetour cannot be overwritten, and names and values must be valid in PGN."""
    with pytest.raises(ValueError, match=re.escape(why)):
        check_tags(tags)
