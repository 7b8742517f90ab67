"""Compliance checks for UCI and CECP: quit, signals, line ends, options, positions, search limits."""

from __future__ import annotations

import itertools
import re
import signal
from collections.abc import Callable
from functools import partial

import chess

from enginetour.engines.position import MAX_LINE, Position, read_move
from enginetour.engines.process import QUIT_WAIT, TERM_WAIT
from enginetour.model.errors import EngineCrashed, EngineFault, Unsupported
from enginetour.model.task import DeclaredOption
from enginetour.model.timecontrol import TimeControl
from enginetour.model.variants import CHESS960
from enginetour.referee.compliance import exam
from enginetour.referee.compliance.exam import Answer, EngineSession, NotSupported, Step, StepFault
from enginetour.referee.talk import run_scripts

# Checks for both protocols: the process must end after quit, end of input and SIGTERM, when idle and during a search.


def _begin(session: EngineSession, *, thinking: bool) -> None:
    """Start a new process. If `thinking` is true, also start an endless search."""
    session.drop()
    session.loose()
    if not thinking:
        return
    if session.spec.protocol == "uci":
        session.send("position startpos", "go infinite")
    else:
        session.send("new", "level 0 60 0", "go")
    session.pause(exam.THOUGHT_S)


def _quit(session: EngineSession, *, thinking: bool) -> str:
    _begin(session, thinking=thinking)
    session.send("quit")
    return _ended(session, QUIT_WAIT, "quit", code=True)


def _alone(session: EngineSession, *, thinking: bool) -> str:
    _begin(session, thinking=thinking)
    session.process.close_input()
    return _ended(session, QUIT_WAIT, "end of input")


def _signal(session: EngineSession, *, thinking: bool) -> str:
    _begin(session, thinking=thinking)
    session.process.signal(signal.SIGTERM)
    return _ended(session, TERM_WAIT, "SIGTERM")


def _ended(session: EngineSession, seconds: float, what: str, *, code: bool = False) -> str:
    try:
        gone = session.exits(seconds)
    except EngineCrashed:
        gone = True
    if not gone:
        raise StepFault(f"still running {seconds:g} s after {what}; enginetour ends it with a signal")
    status = session.process.exit_status()
    session.drop()
    if code and status not in ("exit 0", ""):
        raise StepFault(f"exit status after quit: {status} (no effect on games)")
    return status


def _silent(session: EngineSession) -> str:
    if lines := session.ready().process.stderr():
        raise StepFault(f"writes to stderr: {lines[-1][:80]!r} (enginetour stores stderr with incidents)")
    return ""


ENDING_STEPS: tuple[Step, ...] = (
    Step("stderr", "writes nothing to stderr", _silent, "warn"),
    Step("quit-idle", "exits after quit", partial(_quit, thinking=False), "warn"),
    Step("quit-thinking", "exits after quit during a search", partial(_quit, thinking=True), "warn"),
    Step("eof-idle", "exits at end of input", partial(_alone, thinking=False), "warn"),
    Step("eof-thinking", "exits at end of input during a search", partial(_alone, thinking=True), "warn"),
    Step("sigterm-idle", "exits after SIGTERM", partial(_signal, thinking=False), "warn"),
    Step("sigterm-thinking", "exits after SIGTERM during a search", partial(_signal, thinking=True), "warn"),
)


# Checks for both protocols: several lines in one write, a line in pieces, line ends, empty and unknown lines.

_numbers = itertools.count(1_001)  # ping numbers; the adapter uses smaller numbers
TOGETHER = 4  # number of pings in one write
_PIECE_S = 0.05  # s between two pieces of a line, so that the engine reads the first piece separately


def _ping_of(session: EngineSession) -> tuple[str, str]:
    """Return a ping and the expected answer. Raises NotSupported for a CECP engine that does not declare ping."""
    if session.spec.protocol == "uci":
        return "isready", "readyok"
    session.require_ping()
    number = next(_numbers)
    return f"ping {number}", f"pong {number}"


def answers_ping(session: EngineSession) -> bool:
    """Return whether the engine answers a ping now. For an engine without the feature ping, return True."""
    try:
        ping, pong = _ping_of(session)
    except NotSupported:
        session.pause(exam.ANSWER_S / 4)
        return True
    session.send(ping)
    return session.until(lambda line: line == pong, session.spec.quirks.ready_timeout) is not None


def _pong(session: EngineSession, pong: str, what: str) -> str:
    quirks = session.spec.quirks  # an engine with line_delay_ms may not have read all earlier lines yet
    seconds = quirks.ready_timeout if quirks.line_delay_ms else exam.ANSWER_S
    if session.until(lambda line: line == pong, seconds) is None:
        raise StepFault(f"no answer to a ping {what}".rstrip())
    return ""


def _together(session: EngineSession) -> str:
    session.loose()
    if session.spec.quirks.line_delay_ms:
        raise NotSupported(
            f"the engine file sets line_delay_ms = {session.spec.quirks.line_delay_ms}, so lines are sent one at a time"
        )
    asked = [_ping_of(session) for _ in range(TOGETHER)]
    session.send(*(ping for ping, _ in asked))
    for number, (_, pong) in enumerate(asked):
        if session.until(lambda line, pong=pong: line == pong, exam.ANSWER_S) is None:  # type: ignore[misc]  # bound at once
            session.write("\n")
            woken = session.until(lambda line, pong=pong: line == pong, exam.ANSWER_S) is not None  # type: ignore[misc]  # as above
            text = f"answers {number} of {TOGETHER} pings sent in one write"
            hints = (("quirks.line_delay_ms", 100),)  # the value of the surveyed engine that needs it (runner spec 7)
            raise StepFault(f"{text}{'; answers the next ping only after an empty line' if woken else ''}", hints=hints)
    return ""


def _pieces(session: EngineSession) -> str:
    session.loose()
    ping, pong = _ping_of(session)
    session.write(ping[:3])
    session.pause(_PIECE_S)
    session.write(f"{ping[3:]}\n")
    return _pong(session, pong, "sent in two pieces")


def _pinged(session: EngineSession, *before: str, what: str, end: str = "\n") -> str:
    """Send the lines `before` and then a ping. Wait for the answer to the ping and return it."""
    session.loose()
    ping, pong = _ping_of(session)
    session.send(*before, ping, end=end)
    _pong(session, pong, what)
    return pong


def _returns(session: EngineSession) -> str:
    _pinged(session, what="that ends with CR LF", end="\r\n")
    return ""


def _empty(session: EngineSession) -> str:
    _pinged(session, "", "", what="after empty lines")
    return ""


def _unknown(session: EngineSession) -> str:
    _pinged(session, "xyzzy plugh", what="after an unknown command")
    return f"answers {session.heard[0]!r}" if session.heard else "ignores it"


def _once(session: EngineSession) -> str:
    pong = _pinged(session, what="")
    more = [line for line in session.pause(0.1) if line == pong]
    if more:
        raise StepFault(f"answers a ping {len(more) + 1} times; enginetour waits 20 ms longer after each ping")
    return ""


LINE_STEPS: tuple[Step, ...] = (
    Step("lines-together", "answers several lines sent in one write", _together),
    Step("lines-pieces", "reads a line sent in two writes", _pieces, "warn"),
    Step("lines-crlf", "reads lines that end with CR LF", _returns, "warn"),
    Step("lines-empty", "ignores empty lines", _empty, "warn"),
    Step("lines-unknown", "continues after an unknown command", _unknown, "warn"),
    Step("ping-once", "answers a ping once", _once, "warn"),
)


# Checks for both protocols: options of each kind are set to their bounds and to their default.

# Upper bounds of sizes and of numbers of processors are not set, because they would test the machine, not the engine.
_EXPENSIVE = re.compile(r"hash|thread|memory|cores|cpu|cache|size|\bmb\b|tables?\b", re.IGNORECASE)
_FILES = re.compile(r"file|path|dir|log|book|net|learn", re.IGNORECASE)
_HARMLESS = re.compile(r"clear", re.IGNORECASE)
KINDS = {
    "check": ("check",),
    "spin": ("spin", "slider"),
    "combo": ("combo",),
    "string": ("string", "file", "path"),
    "button": ("button", "reset", "save"),
}
EMPTY = "<empty>"  # how UCI writes an empty string
_MOST_TRIED = 40  # options of one kind; an engine may declare ten thousand, and further options reveal no new faults


def _of_kind(session: EngineSession, kind: str) -> str:
    """Set each option of a kind to other values and then to its default. The engine must continue to answer pings."""
    engine = session.loose()
    tried = 0
    declared = [option for option in engine.declared if option.kind in KINDS[kind]]
    for option in declared[:_MOST_TRIED]:
        values = _values(option)
        for value in values:
            _set(session, option, value)
        tried += bool(values)
        if values and not answers_ping(session):
            raise StepFault(f"no answer to a ping after option {option.name!r} was set")
    if not tried:
        reason = f"options of this kind cannot be tested safely, for example {declared[0].name!r}" if declared else ""
        raise NotSupported(reason or "the engine does not declare an option of this kind")
    return f"{tried} of {len(declared)} options tried"


def _values(option: DeclaredOption) -> tuple[str, ...]:
    if option.kind == "check":
        usual = {"1": "true", "0": "false"}.get(option.default, option.default)
        return ("true", "false", usual) if usual in ("true", "false") else ("true", "false")
    if option.kind in KINDS["spin"]:
        if option.low is None or option.high is None or not _whole(option.default):
            return ()
        high = () if _EXPENSIVE.search(option.name) else (str(option.high),)
        return (str(option.low), *high, option.default)
    if option.kind == "combo":
        return (*option.choices, option.default) if option.default in option.choices else option.choices
    if option.kind in KINDS["string"]:
        return () if _FILES.search(option.name) else (option.default,)
    return ("",) if _HARMLESS.search(option.name) else ()


def _whole(text: str) -> bool:
    return text.lstrip("-").isdecimal()


def _set(session: EngineSession, option: DeclaredOption, value: str) -> None:
    button = option.kind in KINDS["button"]
    if session.spec.protocol == "uci":
        session.send(f"setoption name {option.name}{'' if button else f' value {value or EMPTY}'}")
        return
    text = {"true": "1", "false": "0"}.get(value, value) if option.kind == "check" else value
    session.send(f"option {option.name}{'' if button else f'={text}'}")


def _defaults(session: EngineSession) -> str:
    """Check that the default of each option is one of its declared values."""
    engine = session.ready()
    wrong = [option.name for option in engine.declared if not _fits(option)]
    if wrong:
        raise StepFault(f"the default is not a declared value: {', '.join(wrong[:3])}")
    odd = [text for kind, text in engine.notes.items() if kind.endswith("option")]
    if odd:
        raise StepFault(odd[0])
    return f"{len(engine.declared)} options declared"


def _fits(option: DeclaredOption) -> bool:
    if option.kind in KINDS["spin"] and _whole(option.default) and option.low is not None and option.high is not None:
        return option.low <= int(option.default) <= option.high
    if option.kind == "combo":
        return not option.default or option.default in option.choices
    return option.kind != "check" or option.default in ("", "true", "false", "0", "1")


OPTION_STEPS: tuple[Step, ...] = (
    Step("options-read", "declares options with valid defaults", _defaults, "warn"),
    *(
        Step(f"options-{kind}", f"accepts options of type {kind}", partial(_of_kind, kind=kind), "warn")
        for kind in KINDS
    ),
)


# Positions in which an engine must find a legal move: common positions, and positions in which engines often fail.

# Each entry is (key, description, FEN or "" for the start position, moves from there). In positions whose key contains
# "only", a single move or a single kind of move is legal.
PLACES: tuple[tuple[str, str, str, str], ...] = (
    ("start", "start position", "", ""),
    ("moves", "start position and moves", "", "e2e4 e7e5"),
    ("black", "Black to move, from the start position", "", "d2d4"),
    ("fen", "FEN, White to move", "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 4 8", ""),
    ("fen-black", "FEN, Black to move", "r1bqkbnr/pp1p1ppp/2n1p3/8/3NP3/8/PPP2PPP/RNBQKB1R b KQkq - 1 5", ""),
    (
        "fen-moves",
        "FEN and moves",
        "rnbqkb1r/pp2pppp/3p1n2/8/3NP3/8/PPP2PPP/RNBQKB1R w KQkq - 1 5",
        "b1c3 a7a6",
    ),
    ("castled", "castling in the move list", "", "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1g1 g8f6 d2d3 e8g8"),
    ("castled-long", "long castling in the move list", "", "d2d4 d7d5 b1c3 b8c6 c1f4 c8f5 d1d2 d8d7 e1c1 e8c8"),
    ("rights", "partial castling rights", "r3k2r/pppq1ppp/2npbn2/4p3/4P3/2NPBN2/PPPQ1PPP/R3K2R w Kq - 4 9", ""),
    ("passing", "en passant capture available", "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3", ""),
    ("passing-moves", "en passant in the move list", "", "e2e4 a7a6 e4e5 d7d5 e5d6"),
    ("passing-only", "en passant is the only answer to check", "1N6/3Q1R2/8/4k3/3Pp3/K1N4B/8/8 b - d3 0 1", ""),
    ("promoted", "promotion to a knight in the move list", "", "h2h4 g7g5 h4g5 h7h6 g5h6 a7a6 h6h7 a6a5 h7g8n"),
    ("promotion-only", "only promotions are legal", "8/P7/8/8/8/1q6/8/K6k w - - 0 1", ""),
    ("double-check", "double check", "r3k3/8/8/1B6/8/8/8/4R1K1 b q - 0 1", ""),
    ("pinned", "pinned piece and check", "4k3/8/4r3/8/7b/8/4B3/4K3 w - - 0 1", ""),
    ("one-move", "a single legal move", "7k/5Q2/8/8/p7/8/8/K7 b - - 0 1", ""),
    ("mate", "mate in one", "6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", ""),
    ("fifty", "one move before the fifty-move rule", "8/8/4k3/8/8/3QK3/8/8 w - - 98 120", ""),
    ("repeated", "position that occurred twice", "", "g1f3 g8f6 f3g1 f6g8"),
    ("crowded", "218 legal moves", "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1", ""),
)
# a Chess960 position with a single legal move: castling with a rook that is not in the corner
_ONLY_CASTLING = "k3r3/8/8/8/8/6p1/6P1/5KRB w K - 0 1"
# positions that are rare in games; a surveyed engine never answers in the first one
_RARE = frozenset({"passing-only", "crowded"})
# Black is to move and a queen ahead, so a score from White's point of view is negative
_WINNING_BLACK = "3qk3/8/8/8/8/8/3P4/4K3 b - - 0 1"
_TURN = 6_364_136_223_846_793_005  # multiplier of the random number generator MMIX (Knuth, TAOCP 2, 3.3.4)
_STEP = 1_442_695_040_888_963_407  # increment of the random number generator
_LONGEST_MOVE = 6  # bytes of the longest move and the space before it
_QUIET_PLIES = 90  # plies without a pawn move or capture, well before the fifty-move rule


def position(fen: str, moves: str = "") -> Position:
    """Return the position after `moves` (UCI, separated by spaces), which start from `fen` or the start position."""
    made = Position(fen or None)
    for text in moves.split():
        made.push(chess.Move.from_uci(text))
    return made


def long_game() -> Position:
    """Return a legal unfinished game whose `position` line is almost as long as allowed.

    The game is the same for every call. No position occurs twice, and the fifty-move rule never applies.
    """
    made, state, seen = Position(), 1, {chess.Board().epd()}
    while len(made.line) + _LONGEST_MOVE <= MAX_LINE:
        board = made.board
        moves = sorted(board.legal_moves, key=chess.Move.uci)
        state = (state * _TURN + _STEP) % 2**64
        start = (state >> 33) % len(moves)
        turned = [*moves[start:], *moves[:start]]
        wanted = board.halfmove_clock >= _QUIET_PLIES
        turned.sort(key=lambda move: _cost(board, move, wanted))
        for move in turned:
            board.push(move)
            fits = board.epd() not in seen and not board.is_game_over()
            board.pop()
            if fits:
                break
        else:
            break
        made.push(move)
        seen.add(board.epd())
    return made


def _cost(board: chess.Board, move: chess.Move, wanted: bool) -> int:  # noqa: FBT001
    """Return a high number if the move shortens the rest of the game.

    Captures cost most. Pawn moves cost less; if one is `wanted`, all other moves cost this instead. Checks cost least.
    """
    capture, zeroing = board.is_capture(move), board.is_zeroing(move)
    return 4 * capture + 2 * (zeroing != wanted) + board.gives_check(move)


# Checks for both protocols: moves in many positions and with every search limit, and the search output.

QUICK = TimeControl.parse("1+0.05")
CALM = TimeControl.parse("5")  # used to get search output; a surveyed engine moves at once with a base time of 1 s
# One time control of each kind. Fixed times are in whole seconds, which every surveyed CECP engine supports.
LIMITS = {
    "clock": ("limit-clock", "a clock of 2 s", "2"),
    "increment": ("limit-increment", "a clock with increment (1+0.05)", "1+0.05"),
    "stage": ("limit-stage", "a clock for 40 moves (40/5)", "40/5"),
    "hurry": ("limit-hurry", "a clock of 0.1 s (0.1+0.02)", "0.1+0.02"),
    "movetime": ("limit-movetime", "a fixed time of 1 s", "movetime=1"),
    "depth": ("limit-depth", "a depth limit of 3 plies", "depth=3"),
    "nodes": ("limit-nodes", "a node limit of 2000", "nodes=2000"),
}
_NUMBERED = re.compile(r"^\d+\.+")
_LATE_MS = 100  # ms; time margin of games with a fixed time per move (runner spec 3)
_NODES_TIMES = 50  # if the node count differs from the limit by a larger factor, the engine ignores the limit


def _place(session: EngineSession, fen: str, moves: str) -> str:
    try:
        found = session.move(position(fen, moves), QUICK)
    except Unsupported as cannot:
        if fen:
            raise NotSupported(f"position not supported: {cannot.detail}") from None
        raise
    return f"{found.move.uci()} in {found.elapsed_ms} ms"


def _long(session: EngineSession) -> str:
    if session.spec.protocol == "cecp" and session.spec.quirks.line_delay_ms:
        raise NotSupported("line_delay_ms makes a long list of moves too slow")
    game = long_game()
    try:
        found = session.move(game, QUICK)
    except EngineFault as fault:
        if session.spec.protocol == "uci":
            raise
        text = f"{len(game.moves)} plies sent at once: {fault.detail} (no game starts with this number of moves)"
        raise StepFault(text, "warn") from None
    return f"{found.move.uci()} after {len(game.moves)} plies, {len(game.line)} bytes"


def _castling(session: EngineSession) -> str:
    """Test Chess960 castling rights. Glaurung read KQkq as rooks on the files a and h, and lost by illegal moves."""
    try:
        found = session.move(Position(_ONLY_CASTLING, CHESS960), QUICK)
    except Unsupported as cannot:
        raise NotSupported(cannot.detail) from None
    return f"{found.move.uci()} in {found.elapsed_ms} ms"


def _clock(session: EngineSession, text: str) -> str:
    found = session.move(position(""), TimeControl.parse(text))
    return f"{found.move.uci()} in {found.elapsed_ms} ms"


def _limited(
    session: EngineSession, kind: str, text: str, look: Callable[[EngineSession, Answer, TimeControl], str]
) -> str:
    """Test a search limit that engines need not support. Only supported limits may be listed in the engine file."""
    tc = TimeControl.parse(text)
    try:
        patience_s = exam.PATIENCE_S if kind in session.limits else exam.SHORT_PATIENCE_S
        found = session.move(position(""), tc, patience_s)
        result = look(session, found, tc)
    except (StepFault, EngineFault) as trouble:
        fault = trouble if isinstance(trouble, StepFault) else StepFault(trouble.detail)
        if kind not in session.limits:
            session.drop()
            raise NotSupported(f"not supported, and not listed in `limits` of the engine file: {fault.words}") from None
        kept = tuple(sorted(session.limits - {kind}))
        raise StepFault(fault.words, fault.gravity, hints=fault.hints or (("limits", kept),)) from None
    return (
        result
        if kind in session.limits
        else f"{result}; supported, but {kind} is not listed in `limits` of the engine file"
    )


def _punctual(session: EngineSession, found: Answer, tc: TimeControl) -> str:
    late = found.elapsed_ms - (tc.movetime_ms or 0)
    text = f"{found.move.uci()} in {found.elapsed_ms} ms"
    margin = max(_LATE_MS, session.spec.quirks.movetime_margin_ms)
    if late > margin:
        wanted = -(-2 * late // 100) * 100
        hints = (("quirks.movetime_margin_ms", wanted),)
        raise StepFault(f"{text}: {late} ms late (time margin {margin} ms)", "warn", hints=hints)
    return text


def _shallow(session: EngineSession, found: Answer, tc: TimeControl) -> str:
    del session
    depth = found.info.depth
    if depth is not None and tc.depth is not None and depth > tc.depth:
        raise StepFault(f"searched to depth {depth} (limit {tc.depth})")
    return f"{found.move.uci()} in {found.elapsed_ms} ms"


def _few(session: EngineSession, found: Answer, tc: TimeControl) -> str:
    nodes, asked = found.info.nodes, tc.nodes or 0
    text = f"{found.move.uci()} in {found.elapsed_ms} ms"
    # a small number may come from an early line of output; a search with a larger limit shows whether it does
    if nodes is not None and nodes * _NODES_TIMES < asked:
        asked *= 10
        nodes = session.move(position(""), TimeControl.parse(f"nodes={asked}")).info.nodes
        if nodes is not None and nodes * _NODES_TIMES < asked:
            calm = session.move(position(""), CALM).info.nodes
            if calm is not None and calm * _NODES_TIMES < asked:
                return f"{text}, {nodes} nodes reported, as without a limit"
    if nodes is not None and not asked <= nodes * _NODES_TIMES <= asked * _NODES_TIMES**2:
        raise StepFault(f"searched {nodes} nodes (limit {asked})")
    return f"{text}, {nodes} nodes reported" if nodes is not None else text


def _second(session: EngineSession) -> str:
    session.move(position(""), QUICK)
    engine = session.ready()
    session.move(position("", "d2d4 d7d5"), QUICK)
    if session.ready() is not engine:
        raise StepFault("needs a new process for the second game", "warn", hints=(("quirks.restart", True),))
    return ""


def _stop(session: EngineSession) -> str:
    engine = session.think(position("", "e2e4 e7e5"), TimeControl.parse("600"), exam.THOUGHT_S)
    run_scripts({engine: engine.settle()}, session.link)
    if engine.spoiled:
        raise StepFault(f"{engine.spoiled}; the engine is restarted after a game that ends during its search")
    return "moves at once and answers a ping"


def _scored(session: EngineSession) -> str:
    found = session.move(position("", "e2e4 e7e5 g1f3 b8c6"), CALM)
    if found.info.score is None:
        raise StepFault("no score before the move; adjudication by score cannot end its games")
    depth = "no depth" if found.info.depth is None else f"depth {found.info.depth}"
    return f"score {found.info.score}, {depth}"


def _variation(session: EngineSession) -> str:
    start = position("", "e2e4 e7e5 g1f3 b8c6")
    found = session.move(start, CALM)
    board, plies = start.board.copy(), 0
    for word in found.info.pv.split():
        text = _NUMBERED.sub("", word) if session.spec.protocol == "cecp" else word
        if not text:
            continue
        move, _ = read_move(board, text)
        if move is None and (session.spec.protocol == "cecp" or (plies and not text[0].isalpha())):
            break  # CECP variations may contain numbers and remarks (runner spec 7)
        if move is None:
            raise StepFault(f"illegal move {text} in the variation {found.info.pv}")
        if not plies and move != found.move:
            raise StepFault(f"plays {found.move.uci()}, but the variation begins with {text}")
        board.push(move)
        plies += 1
    if not plies:
        raise NotSupported("no readable variation")
    return f"{plies} plies"


def _view(session: EngineSession) -> str:
    """Test that the score is from the point of view of the side to move. Black is to move and is a queen ahead."""
    try:
        found = session.move(position(_WINNING_BLACK), CALM)
    except Unsupported as cannot:
        raise NotSupported(f"position not supported: {cannot.detail}") from None
    score = found.info.score
    if score is None:
        raise NotSupported("no score")
    if score < 0:
        text = f"score {score} for the side to move, which is a queen ahead: scores are from White's point of view"
        hints = (("quirks.whitepov", not session.spec.quirks.whitepov),)
        raise StepFault(text, hints=hints)
    return f"+{score}"


def _limits() -> tuple[Step, ...]:
    looks = {"movetime": _punctual, "depth": _shallow, "nodes": _few}
    steps = []
    for kind, (key, what, text) in LIMITS.items():
        run = partial(_limited, kind=kind, text=text, look=looks[kind]) if kind in looks else partial(_clock, text=text)
        steps.append(Step(key, f"respects {what}", run, "warn" if kind == "hurry" else "FAIL"))
    return tuple(steps)


PLAY_STEPS: tuple[Step, ...] = (
    *(
        Step(
            f"position-{key}",
            f"plays a legal move: {what}",
            partial(_place, fen=fen, moves=moves),
            "warn" if key in _RARE else "FAIL",
        )
        for key, what, fen, moves in PLACES
    ),
    Step("position-long", "plays a legal move: longest `position` line", _long),
    Step("castling-960", "plays a legal move: Chess960, only castling is legal", _castling, "warn"),
    *_limits(),
    Step("second-game", "plays a second game in the same process", _second, "warn"),
    Step("score", "reports a score before the move", _scored, "warn"),
    Step("variation", "reports a legal variation that begins with the move", _variation, "warn"),
    Step("point-of-view", "reports scores from the point of view of the side to move", _view, "warn"),
    Step("stop", "ends a long search when asked", _stop, "warn"),
)
