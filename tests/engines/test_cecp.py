"""Tests of engines/cecp."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import chess
import pytest

from enginetour.engines import cecp, cecp_lines
from enginetour.engines import protocol as base
from enginetour.engines.cecp import CecpEngine, edit_lines, feature_wishes, table_paths, time_lines
from enginetour.engines.cecp_lines import Features, read_option
from enginetour.engines.position import Position
from enginetour.engines.process import EngineProcess
from enginetour.engines.protocol import MOST_OPTIONS, Ask, Setup
from enginetour.engines.wire import LineBuffer, Message, MessageKind, SearchInfo
from enginetour.model.errors import InexpressiblePosition, StartFailed, Unsupported
from enginetour.model.game import Opening, Termination
from enginetour.model.task import DeclaredOption, EngineSpec, Quirks
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.link import Link
from enginetour.referee.startup import EnginePool
from enginetour.referee.talk import open_engine, run_scripts
from tests.support.engines import BOTH, Protocol, game, scripted, sound

# CECP: features, lines, positions.


def test_features_are_read_leniently() -> None:
    """Several features may be on one line, quoted or not; unknown names are reported separately."""
    features = Features()
    read = features.read('ping=1 setboard = 0 myname="Two Words" variants="normal,losers" wheel=3 ping=1 done=1')
    assert read == (["ping", "setboard", "myname", "variants", "done"], ["wheel"])
    assert features.on("ping")
    assert not features.on("setboard", default=True)
    assert features.on("time", default=True)
    assert features.values["myname"] == "Two Words"
    assert Features().read("myname=Fairy-Stockfish")[0] == ["myname"]


def test_features_may_be_parted_by_commas() -> None:
    """A comma after a feature value is ignored: `san=0,` was read as san=1, and the engine lost because it got SAN."""
    features = Features()
    assert features.read('ping=1, san=0, usermove=0; variants=normal,losers, myname="One, Two," done=1')[1] == []
    assert [features.on(name, default=True) for name in ("ping", "san", "usermove")] == [True, False, False]
    assert (features.values["variants"], features.values["myname"]) == ("normal,losers", "One, Two,")


def test_features_without_end_cost_nothing() -> None:
    """A very long word is skipped at once, and the number of options is limited."""
    features, begun = Features(), time.thread_time()
    assert features.read("x" * 60_000) == ([], [])
    for number in range(2 * MOST_OPTIONS):
        features.read(f'option="{number} -button"')
    assert len(features.options) == MOST_OPTIONS
    assert time.thread_time() - begun < 5  # of a processor, however many others wait for it


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("Hash -spin 16 1 1024", DeclaredOption("Hash", "spin", "16", 1, 1024)),
        ("Use -own book -check 1", DeclaredOption("Use -own book", "check", "1")),
        ("Use -check book -check 1", DeclaredOption("Use -check book", "check", "1")),
        ("Wipe -button now -button", DeclaredOption("Wipe -button now", "button")),
        ("Start -string --log -file x -check 1", DeclaredOption("Start", "string", "--log -file x -check 1")),
        (
            "Kind -combo -file /// *-path /// -spin",
            DeclaredOption("Kind", "combo", "-path", None, None, ("-file", "-path", "-spin")),
        ),
        ("Large -spin 0 0 " + "9" * 25, DeclaredOption("Large", "spin", "0", 0, int("9" * 25))),
        ("Level -combo Easy /// *Hard", DeclaredOption("Level", "combo", "Hard", None, None, ("Easy", "Hard"))),
        ("Wipe -button", DeclaredOption("Wipe", "button")),
        ("Book -file book.bin", DeclaredOption("Book", "file", "book.bin")),
        ("Odd -wheel 3", None),
        ("Odd -spin x 1 2", None),
        ("-spin 1 1 1", None),
    ],
)
def test_options_of_features(text: str, option: DeclaredOption | None) -> None:
    """The kind of an option is the first known word with a dash that gives a complete option."""
    assert read_option(text) == option


@pytest.mark.parametrize(
    ("line", "thought"),
    [
        ("12 +0 100 1370000 Nc3 Nc6 Nf3", SearchInfo(0, 12, 1370000, "Nc3 Nc6 Nf3")),
        ("5     15        4      16532 d2d4 d7d5", SearchInfo(15, 5, 16532, "d2d4 d7d5")),
        ("2 13 0 97 (-) 3. e4 e5 4. Bxa6 bxa6", SearchInfo(13, 2, 97, "(-) 3. e4 e5 4. Bxa6 bxa6")),
        ("8     7     95     93346  3.  d4 Nf6 4. Nf3  d6", SearchInfo(7, 8, 93346, "3. d4 Nf6 4. Nf3 d6")),
        ("17 +33 99 206671 e4 c5", SearchInfo(33, 17, 206671, "e4 c5")),
        ("13 71 100 116297 20 115718 0\t e2e3 e7e6", SearchInfo(71, 13, 116297, "e2e3 e7e6", 20, 115718, tbhits=0)),
        ("0 0 0 0 (book) e4", SearchInfo(0, 0, 0, "(book) e4")),
        ("9 1000000 5 7 Qh4", SearchInfo(1_000_000, 9, 7, "Qh4")),
        ("9 -999999 5 7 Qh4", SearchInfo(-999_999, 9, 7, "Qh4")),
        ("9 25 -1 7 Qh4", SearchInfo(25, 9, 7, "Qh4")),
        ("9 25 0.05 -294967296 Qh4", SearchInfo(25, 9, None, "Qh4")),
        ("9. -100003 5 7 Qh4", SearchInfo(-31_997, 9, 7, "Qh4")),
        ("9& 100003? 5 7 Qh4", SearchInfo(31_997, 9, 7, "Qh4", bound=-1)),
        ("9 50! 5 7 Qh4", SearchInfo(50, 9, 7, "Qh4", bound=1)),
        ("3. ... e7e5", None),
        ("move e2e4", None),
    ],
)
def test_thinking_lines_of_all_kinds(line: str, thought: SearchInfo | None) -> None:
    """Search output of all surveyed engines is read: signs, bounds, columns, TAB, mates."""
    assert cecp_lines.read_thinking(line) == thought


@pytest.mark.parametrize(
    ("line", "move"),
    [
        ("move e2e4", ("e2e4", False)),
        ("My move is : d7d5", ("d7d5", False)),
        ("My move is: O-O", ("O-O", False)),
        ("1. ... d7d5", ("d7d5", True)),
        ("1. e2e4", ("e2e4", True)),
        ("12. ...", None),
        ("moves are fun", None),
    ],
)
def test_lines_that_announce_a_move(line: str, move: tuple[str, bool] | None) -> None:
    """Moves are read in all forms; numbered lines are marked, because they may be echoes."""
    assert cecp_lines.read_move(line) == move


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("1-0 {White mates}", "1-0"),
        ("0-1", "0-1"),
        ("1/2-1/2{Draw}", "1/2-1/2"),
        ("* {aborted}", "*"),
        ("*", "*"),
        ("** debug **", ""),
        ("1-0-0", ""),
    ],
)
def test_result_lines(line: str, result: str) -> None:
    """The result of a line is read, and its comment is ignored."""
    assert cecp_lines.read_result(line) == result


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("Illegal move: e2e5", "e2e5"),
        ("Illegal move:e2e5", "e2e5"),
        ("Illegal move (game over): e2e5", "e2e5"),
        ("Illegal move (e2e5)", "e2e5"),
        ("Invalid move: sd 3", "sd 3"),
        ("Error (unkown command): nopost", "nopost"),
        ("Error (Illegal move or unknown command): e2e5", "e2e5"),
        ("tellics hello", None),
    ],
)
def test_error_lines(line: str, text: str | None) -> None:
    """An error line names what it complains about, in every wording of the survey."""
    assert cecp_lines.read_refusal(line) == text


@pytest.mark.parametrize(
    ("tc", "lines"),
    [
        ("60+0.05", ["level 0 1 0.05"]),
        ("40/90", ["level 40 1:30 0"]),
        ("0.5+0.1", ["level 0 0:01 0.1"]),
        ("3605", ["level 0 60:05 0"]),
        ("movetime=2", ["st 2"]),
        ("movetime=2,depth=4", ["st 2", "sd 4"]),
        ("depth=4", ["level 0 60 0", "sd 4"]),
        ("10,depth=4", ["level 0 0:10 0", "sd 4"]),
    ],
)
def test_time_controls_in_words(tc: str, lines: list[str]) -> None:
    """A base below a second is sent as one second, and only the first of several stages is sent."""
    assert [line.decode() for line in time_lines(TimeControl.parse(tc), Quirks(), nps=False)] == lines


def test_fractions_of_a_second_only_where_they_are_safe() -> None:
    """Fractions of a second are sent only to engines that accept them: one surveyed engine exits after `st 0.1`."""
    tc = TimeControl.parse("movetime=0.2")
    with pytest.raises(Unsupported, match="whole seconds"):
        time_lines(tc, Quirks(), nps=False)
    assert time_lines(tc, Quirks(st_fraction=True), nps=False) == [b"st 0.2"]
    assert time_lines(tc, Quirks(movetime="level"), nps=False) == [b"level 0 0:01 0.2"]


def test_nodes_need_nps() -> None:
    """N nodes are sent as one second at N nodes per second."""
    tc = TimeControl.parse("nodes=500")
    assert time_lines(tc, Quirks(), nps=True) == [b"nps 500", b"st 1"]
    assert time_lines(TimeControl.parse("nodes=500,depth=3"), Quirks(), nps=True) == [b"nps 500", b"st 1", b"sd 3"]
    with pytest.raises(Unsupported):
        time_lines(tc, Quirks(), nps=False)
    with pytest.raises(Unsupported):  # nodes are sent as one second, and this move has its own time
        time_lines(TimeControl.parse("movetime=2,nodes=500"), Quirks(), nps=True)


def test_a_position_by_edit() -> None:
    """With Black to move a White move is sent first, because `edit` keeps the side to move."""
    lines = [line.decode() for line in edit_lines(chess.Board("4k3/8/8/8/8/8/4P3/4K3 b - - 0 1"), b"a2a3")]
    assert lines == ["a2a3", "edit", "#", "Ke1", "Pe2", "c", "Ke8", "."]


@pytest.mark.parametrize(
    "fen",
    [
        "r3k2r/8/8/8/8/8/8/R3K2R w KQ - 0 1",
        "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3",
    ],
)
def test_what_edit_cannot_express(fen: str) -> None:
    """`edit` cannot express lost castling rights or en passant."""
    with pytest.raises(InexpressiblePosition):
        edit_lines(chess.Board(fen), b"a2a3")


def test_counters_are_the_referees() -> None:
    """A position with a move counter is sent like one without: enginetour itself applies the fifty-move rule."""
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - {} 20"
    assert edit_lines(chess.Board(fen.format(7)), b"") == edit_lines(chess.Board(fen.format(0)), b"")


def test_edit_in_the_engines_own_words() -> None:
    """The move that gives Black the turn has the usual form; castling rights without a rook do not matter."""
    lines = edit_lines(chess.Board("4k3/8/8/8/8/8/4P3/4K3 b KQkq - 0 1"), b"usermove a3")
    assert lines[:2] == [b"usermove a3", b"edit"]


def wishes(options: tuple[tuple[str, str], ...], features: str, **quirks: bool) -> tuple[object, ...]:
    declared = Features()
    declared.read(features)
    return feature_wishes(EngineSpec("e", ("/e",), "cecp", options=options, quirks=Quirks(**quirks)), declared)  # type: ignore[arg-type]


def test_memory_and_cores_stand_for_options() -> None:
    """Memory and cores replace options only if they are declared, and cores only if the engine survives it."""
    both = (("Hash", "64"), ("Threads", "1"), ("Style", "x"))
    assert wishes(both, "memory=1 smp=1") == ((("Style", "x"),), [b"memory 64", b"cores 1"], ())
    assert wishes(both, "memory=1 smp=1", no_cores=True) == ((("Style", "x"),), [b"memory 64"], ())
    assert wishes((("Threads", "1"),), "memory=1") == ((), [], ())
    _, lines, problems = wishes((("memory", "64"), ("cores", "4")), "")
    assert lines == []
    assert isinstance(problems, tuple)
    assert len(problems) == 2
    assert wishes((("Hash", "x"),), "memory=1")[2] == ("option 'Hash' must be a whole number above 0 (found 'x')",)
    assert wishes((("Hash", "8"),), 'memory=1 option="Hash -spin 1 1 9"') == ((("Hash", "8"),), [], ())


@pytest.mark.parametrize(
    ("features", "lines"),
    [('egt="nalimov, Syzygy"', [b"egtpath syzygy /tables"]), ('egt="nalimov"', []), ("ping=1", [])],
)
def test_tables_go_by_egtpath(features: str, lines: list[bytes]) -> None:
    """The path of tablebases is sent to engines that declare such tables."""
    declared = Features()
    declared.read(features)
    spec = EngineSpec("e", ("/e",), "cecp", offered=(("SyzygyPath", "/tables"),))
    assert table_paths(spec, declared) == lines


def cecp_engine(*features: str) -> CecpEngine:
    """Return an engine after its handshake that declares more than it did; it has ended, but still builds lines."""
    engine = open_engine(scripted("cecp"))
    assert isinstance(engine, CecpEngine)
    assert run_scripts({engine: engine.handshake()}, Link())[engine] is None
    for feature in features:
        engine.features.read(feature)
    return engine


def after(*moves: str) -> Position:
    position = Position()
    for text in moves:
        position.push(chess.Move.from_uci(text))
    return position


def test_moves_in_san_whenever_san_was_declared() -> None:
    """Features may come during a game; the next move is sent in the form that they request."""
    engine = cecp_engine()
    control = TimeControl.parse("10")
    lines = engine.go_lines(Ask(after("e2e4"), white=False, tc=control)).split(b"\n")
    assert b"usermove e2e4" in lines
    engine.features.read("san=1 usermove=0")
    lines = engine.go_lines(Ask(after("e2e4", "e7e5", "g1f3"), white=False, tc=control)).split(b"\n")
    assert b"Nf3" in lines
    engine.kill()


def told(engine: CecpEngine) -> list[str]:
    return [line.split(" > ", 1)[1] for line in engine.process.traffic(1000) if " > " in line]


@pytest.mark.parametrize("command", ["?", "computer", "result", "easy", "post"])
def test_what_is_sent_to_everybody_may_be_unknown(command: str) -> None:
    """An unknown standard command is not a warning: Fairy-Max, idle after a late move, rejected `?`."""
    engine = cecp_engine()
    engine.intake.feed(f"Error (unknown command): {command}\n".encode())
    engine.next_message()
    assert not engine.notes
    engine.intake.feed(b"Error (unknown command): sd 4\n")
    engine.next_message()
    assert set(engine.notes) == {"unsupported"}
    engine.kill()


def test_what_was_declared_is_sent_and_nothing_else() -> None:
    """Opponent's name, opening moves in SAN, offers and clocks are sent according to the declared features."""
    control = TimeControl.parse("10")
    engine = cecp_engine("name=1 san=1 draw=1 time=0 usermove=0")
    assert (
        run_scripts({engine: engine.new_game(Setup(after("g1f3"), control, "M\u00fcller\n 2"))}, Link())[engine] is None
    )
    assert {"name Mller 2", "Nf3"} <= set(told(engine))
    offered = Ask(after("g1f3"), white=False, tc=control, own_ms=5, other_ms=4, draw_offered=True)
    assert engine.go_lines(offered) == b"draw\ngo\n"
    engine.kill()
    plain = cecp_engine()
    assert run_scripts({plain: plain.new_game(Setup(after("g1f3"), control, "x"))}, Link())[plain] is None
    assert "usermove g1f3" in told(plain)
    assert not {"name x", "Nf3"} & set(told(plain))
    assert plain.go_lines(offered) == b"time 1\notim 1\ngo\n"
    plain.kill()


@pytest.mark.parametrize(("rook_castling", "told_as"), [(False, "O-O"), (True, "f1g1")])
def test_castling_where_back_ranks_are_shuffled(rook_castling: bool, told_as: str) -> None:
    """Castling is sent as letters, or as king takes rook if the engine needs that, in the opening and in the game."""
    control, fen = TimeControl.parse("10"), "4k3/8/8/8/8/8/8/5KR1 w K - 0 1"
    engine = cecp_engine('variants="normal,fischerandom"')
    engine.spec = replace(engine.spec, quirks=replace(engine.spec.quirks, rook_castling=rook_castling))
    position = Position(fen, "chess960")
    position.push(chess.Move.from_uci("f1g1"))
    assert run_scripts({engine: engine.new_game(Setup(position, control))}, Link())[engine] is None
    assert told(engine)[-2] == f"usermove {told_as}"
    engine._told = 0  # as if it had been played since then
    assert f"usermove {told_as}\n".encode() in engine.go_lines(Ask(position, white=False, tc=control))
    engine.kill()


def test_the_result_is_told() -> None:
    """Both engines get the result, because an engine that lives on would think that the game continues."""
    specs, pool = (scripted("cecp", name="one"), scripted("cecp", name="two")), EnginePool()
    game(*specs, pool=pool)
    for engine in pool.take(*specs):
        assert isinstance(engine, CecpEngine)
        assert told(engine)[-1] == "result 1/2-1/2 {Draw by 5-fold repetition}"
        pool.end(engine)


def test_a_new_game_forgets_the_moves_of_the_last() -> None:
    """A numbered move is an echo only of a move of the same game."""
    engine = cecp_engine()
    control = TimeControl.parse("10")
    engine.go_lines(Ask(after("g1f3"), white=False, tc=control))
    assert run_scripts({engine: engine.new_game(Setup(Position(), control))}, Link())[engine] is None
    engine.go(Ask(Position(), white=True, tc=control))
    engine.intake = LineBuffer()
    engine.intake.feed(b"1. g1f3\n")
    assert engine.next_message() is None
    held = engine.held_back_answer()
    assert held is not None
    assert held.text == "g1f3"
    engine.kill()


def test_a_refused_move_of_the_opening_is_no_ones_loss() -> None:
    """An engine that rejects a move of the opening does not support the position, whichever move it is."""
    engine = cecp_engine()
    script = engine.new_game(Setup(after("e2e4", "e7e5"), TimeControl.parse("10")))
    next(script)
    script.send(Message(MessageKind.PONG))
    engine.intake = LineBuffer()
    engine.intake.feed(b"Illegal move: e2e4\n")
    said = engine.next_message()
    with pytest.raises(Unsupported, match="rejects the opening"):
        script.send(said)
    engine.kill()


def test_an_unknown_feature_is_rejected_without_a_warning() -> None:
    """An unknown feature is rejected without a warning; known features are accepted by name."""
    engine = cecp_engine()
    assert {"accepted ping", "accepted myname", "accepted done"} <= set(told(engine))
    engine.intake.feed(b"feature wheel=3\n")
    engine.next_message()
    assert engine.process.traffic(1)[0].endswith("> rejected wheel")
    assert not engine.notes
    engine.kill()


def test_what_a_cecp_engine_hears() -> None:
    """A game has one `go`; clocks are sent before every move, memory and options before the first `new`."""
    options = (("memory", "8"), ("Depth", "4"), ("Book", "false"), ("level", "easy"), ("Wipe", ""))
    short = game(scripted("cecp", "illegal", at=2, options=options), sound("cecp"), white_tc="40/60+1")
    sent = [line.split(" > ", 1)[1] for line in short.incidents[-1].traffic if " > " in line]
    assert sent[:2] == ["xboard", "protover 2"]
    after = [line for line in sent[2:] if not line.startswith(("accepted", "ping"))]
    assert after[:5] == ["memory 8", "option Depth=4", "option Book=0", "option Level=Easy", "option Wipe"]
    assert after[5:11] == ["new", "force", "level 40 1 1", "post", "easy", "computer"]
    assert after[11:14] == ["time 6100", "otim 6000", "go"]
    assert [line.split()[0] for line in after[14:]] == ["time", "otim", "usermove"]
    pings = [int(line.split()[1]) for line in sent if line.startswith("ping")]
    assert pings == sorted(set(pings))


@pytest.mark.parametrize(
    ("opening", "levels"),
    [
        (Opening(moves=("g1f3", "g8f6", "f3g1", "f6g8")), ["level 2 0:30 0"]),
        (Opening(moves=("b1c3", "b8c6")), ["level 2 0:30 0", "level 3 0:30 0", "level 5 0:30 0"]),
        (Opening(fen="rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 6 4"), ["level 2 0:30 0"]),
    ],
)
def test_a_stage_ends_where_the_engine_was_told(opening: Opening, levels: list[str]) -> None:
    """Moves of the opening are not part of a stage; those of a position are counted from it."""
    played = game(scripted("cecp", "illegal", at=4), sound("cecp"), white_tc="2/30", opening=opening)
    assert (played.termination, played.culprit) == (Termination.ILLEGAL_MOVE, "illegal"), played.cause
    sent = [line.split(" > ", 1)[1] for line in played.incidents[-1].traffic if " > " in line]
    assert [line for line in sent if line.startswith("level")] == levels
    assert all(line.endswith(" 6 1") for line in sent if line.startswith("setboard"))


@pytest.mark.parametrize("ponder", [False, True])
def test_nobody_ponders_between_games(ponder: bool, pool: EnginePool) -> None:
    """No engine ponders between games: HoiChess and Sjaak II used a processor after `result`."""
    spec = replace(scripted("cecp", name="pondering"), ponder=ponder)
    played = game(spec, scripted(fault="illegal"), pool=pool)
    (engine,) = pool.take(spec)
    assert isinstance(engine, CecpEngine)
    assert told(engine)[-1 - ponder :] == [f"result 1-0 {{{played.cause}}}", *["easy"] * ponder]
    pool.end(engine)


@pytest.mark.parametrize("words", ["'g1f3'", '"g1f3".', "g1f3.", "usermove `g1f3'"])
def test_a_refused_move_in_quotes_is_that_move(words: str) -> None:
    """A rejected move in quotes is recognized; it was only a warning, and the opening then lost a game."""
    engine = cecp_engine()
    engine.go_lines(Ask(after("g1f3"), white=False, tc=TimeControl.parse("10")))
    engine.intake.feed(f"Illegal move: {words}\n".encode())
    said = engine.next_message()
    assert said is not None
    assert said.kind is MessageKind.REFUSED_MOVE
    engine.kill()


# Settings of an engine file act at the pipe of the engine.


def sent(spec: EngineSpec, games: int = 1) -> list[tuple[float, str]]:
    """Return the seconds and text of all lines that an engine got in its games."""
    pool = EnginePool()
    for _ in range(games):
        game(spec, sound(spec.protocol), pool=pool)
    engine = pool.take(spec)[0]
    assert engine is not None
    lines = [line.partition(" > ") for line in engine.process.traffic(1000)]
    pool.end(engine)
    return [(float(stamp), words) for stamp, mark, words in lines if mark]


@BOTH
def test_init_lines_come_once_before_the_first_game(protocol: Protocol) -> None:
    """Init lines are sent once, unchanged, in their order, after the options."""
    options = (("Hash", "8"),) if protocol == "uci" else (("Depth", "4"),)
    spec = scripted(protocol, name="initial", options=options, init=("book off", "log  on"))
    words = [line for _, line in sent(spec, games=2)]
    first, option, begun = words.index("book off"), "setoption name Hash value 8", "ucinewgame"
    if protocol == "cecp":
        option, begun = "option Depth=4", "new"
    assert words[first + 1] == "log  on"
    assert words.count("book off") == words.count("log  on") == 1
    assert words.index(option) < first < words.index(begun)
    assert words.count(begun) == 2


@BOTH
def test_lines_keep_their_distance(protocol: Protocol) -> None:
    """With `line_delay_ms` lines have that distance; without it they come together."""
    stamps = [stamp for stamp, _ in sent(scripted(protocol, name="apart", line_delay_ms=3))]
    assert min(after - before for before, after in pairwise(stamps)) >= 0.003 - 1e-6
    together = [stamp for stamp, _ in sent(scripted(protocol, name="together"))]
    assert len(set(together)) < len(together)


@BOTH
def test_a_silent_reader_of_single_lines_is_woken_once_a_wait(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine with the quirk gets one empty line when an answer is overdue; other engines never get one."""
    monkeypatch.setattr(base, "POKE_NS", 50 * base.MS)
    words = [line for _, line in sent(scripted(protocol, "wordless", line_delay_ms=1, seconds=0.2))]
    asked = [at for at, line in enumerate(words) if line.startswith(("go", "usermove"))]
    assert words[asked[1] + 1] == ""
    assert words[asked[1] + 2] != ""
    assert all(line for _, line in sent(scripted(protocol, "wordless", seconds=0.2)))
    fenced = [line for _, line in sent(scripted(protocol, "late-pong", line_delay_ms=1, seconds=0.2))]
    ping = "isready" if protocol == "uci" else "ping"
    assert "" in {after for before, after in pairwise(fenced) if before.startswith(ping)}


@BOTH
def test_a_game_is_no_longer_than_an_engine_survives(protocol: Protocol) -> None:
    """The shorter limit of two engines ends a game."""
    frail, frailer = scripted(protocol, name="frail", max_plies=6), scripted(protocol, name="frailer", max_plies=4)
    assert [game(frail, other).plies for other in (sound(protocol), frailer)] == [6, 4]
    assert game(frail, sound(protocol)).termination is Termination.ADJUDICATION_LENGTH


@BOTH
def test_limits_of_the_start_and_of_fences(protocol: Protocol) -> None:
    """A handshake has a minute from the start of the process, a fence in a game five seconds, or the file sets it."""
    engine = open_engine(scripted(protocol, handshake_timeout=2.5, ready_timeout=3.0))
    assert engine.handshake_deadline - engine.born_ns == 2_500 * base.MS
    assert engine.ready_ns == engine.game_fence_ns == 3_000 * base.MS
    engine.kill()
    plain = open_engine(replace(sound(protocol), quirks=Quirks()))
    assert plain.handshake_deadline - plain.born_ns == plain.ready_ns == 60_000 * base.MS
    assert plain.game_fence_ns == 5_000 * base.MS
    plain.kill()


ENDING = "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1"
# The fences up to the second search of a game: the write with the ping, and its limit in seconds.
FENCED: dict[Protocol, list[tuple[str, int]]] = {
    "uci": [
        ("setoption name Ponder value false\nsetoption name OwnBook value false\nisready\n", 30),
        ("ucinewgame\nisready\n", 30),
        (f"position fen {ENDING}\nisready\n", 5),
        (f"position fen {ENDING} moves a1a2 e8e7\nisready\n", 5),
    ],
    "cecp": [
        ("book off\nping 1\n", 30),
        ("new\nforce\nlevel 0 1 0\npost\neasy\ncomputer\nping 2\n", 30),
        (f"setboard {ENDING}\nping 3\n", 30),
        ("ping 4\n", 5),
        ("ping 5\n", 5),
    ],
}


@BOTH
def test_a_ping_goes_out_with_what_it_fences(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ping is in one write with the lines that it fences, so a stall is found before a clock runs."""
    limits, writes = list[int](), list[str]()
    fenced, write = base.Engine.fenced, EngineProcess.write

    def limited(engine: base.Engine, limit_ns: int, *lines: bytes) -> base.Script:
        if engine.spec.name == "fenced":
            limits.append(limit_ns // 10**9)
        return fenced(engine, limit_ns, *lines)

    def heard(process: EngineProcess, data: bytes) -> int:
        if process.spec.name == "fenced" and (b"isready" in data or b"ping " in data) and b"accepted" not in data:
            writes.append(data.decode())
        return write(process, data)

    monkeypatch.setattr(base.Engine, "fenced", limited)
    monkeypatch.setattr(EngineProcess, "write", heard)
    quirks: dict[str, Any] = {"fence": "wait", "ready_timeout": 30.0}
    if protocol == "cecp":
        quirks["init"] = ("book off",)
    white = scripted(protocol, "illegal", name="fenced", moves="a1a2", **quirks)
    game(white, scripted("uci", name="other", moves="e8e7"), opening=Opening(fen=ENDING))
    expected = FENCED[protocol]
    first = protocol == "uci"  # the ping of the handshake, which fences nothing
    assert list(zip(writes[first:], limits, strict=False))[: len(expected)] == expected


def greeted(spec: EngineSpec) -> tuple[CecpEngine, object]:
    """Return a CECP engine after its handshake, and its fault; its process has ended."""
    engine = open_engine(spec)
    assert isinstance(engine, CecpEngine)
    fault = run_scripts({engine: engine.handshake()}, Link())[engine]
    engine.kill()
    return engine, fault


def test_protover_comes_apart_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """`protover 2` is sent after `protover_delay_ms`, and repeated only until the first feature."""
    monkeypatch.setattr(cecp, "POKE_NS", 50 * base.MS)
    monkeypatch.setattr(cecp, "SILENT_NS", 500 * base.MS)
    engine, fault = greeted(scripted("cecp", "loses-protover", protover_delay_ms=20, tells_features=True))
    assert fault is None
    assert engine.features.on("ping") and not engine.notes
    told = [line.partition(" > ") for line in engine.process.traffic(100) if " > " in line]
    first, second, third = told[:3]
    assert (first[2], second[2], third[2]) == ("xboard", "protover 2", "protover 2")
    assert float(second[0]) - float(first[0]) >= 0.02 - 1e-6
    plain, _ = greeted(scripted("cecp", "loses-protover"))
    assert "no-features" in plain.notes
    assert sum(line.endswith(" > protover 2") for line in plain.process.traffic(100)) == 1


def test_silence_of_one_that_tells_features_is_a_failed_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that always sends features and is silent for its whole handshake has failed to start."""
    monkeypatch.setattr(cecp, "SILENT_NS", 50 * base.MS)
    _, fault = greeted(scripted("cecp", "no-features", handshake_timeout=0.5, tells_features=True))
    assert isinstance(fault, StartFailed)
    assert (fault.category, fault.detail[:34]) == ("start-timeout", "no feature line within 0.5 s; no o")
    engine, fault = greeted(scripted("cecp", "never-done", tells_features=True))
    assert fault is None
    assert engine.features.on("setboard")
