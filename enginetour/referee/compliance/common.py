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

# Steps of both protocols: how it ends, asked to, left alone, or told by a signal, idle and thinking.


def _begin(session: EngineSession, *, thinking: bool) -> None:
    """A process of its own, in a search without end if asked."""
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
    return _ended(session, QUIT_WAIT, "the end of its input")


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
        raise StepFault(f"alive {seconds:g} s after {what}: ended by a signal, nothing is left behind")
    status = session.process.exit_status()
    session.drop()
    if code and status not in ("exit 0", ""):
        raise StepFault(f"ends by {status}; after quit that is no event")
    return status


def _silent(session: EngineSession) -> str:
    if told := session.ready().process.stderr():
        raise StepFault(f"writes to stderr: {told[-1][:80]!r}; kept with incidents")
    return ""


ENDING_STEPS: tuple[Step, ...] = (
    Step("stderr", "nothing on stderr", _silent, "warn"),
    Step("quit-idle", "quit", partial(_quit, thinking=False), "warn"),
    Step("quit-thinking", "quit while it thinks", partial(_quit, thinking=True), "warn"),
    Step("eof-idle", "the end of its input", partial(_alone, thinking=False), "warn"),
    Step("eof-thinking", "the end of its input while it thinks", partial(_alone, thinking=True), "warn"),
    Step("sigterm-idle", "SIGTERM", partial(_signal, thinking=False), "warn"),
    Step("sigterm-thinking", "SIGTERM while it thinks", partial(_signal, thinking=True), "warn"),
)


# Steps of both protocols: how lines may come: together, in pieces, with other ends, empty, unknown.

_numbers = itertools.count(1_001)  # of pings: above those of the adapter
TOGETHER = 4  # pings in one write
_PIECE_S = 0.05  # between two pieces of a line: a reader takes the first before the second comes


def _ping_of(session: EngineSession) -> tuple[str, str]:
    """A ping and its pong, for an engine that is there already. NotOffered for a CECP engine without."""
    if session.spec.protocol == "uci":
        return "isready", "readyok"
    if not session.declares("ping"):
        raise NotSupported("it does not declare ping")
    number = next(_numbers)
    return f"ping {number}", f"pong {number}"


def answers_ping(session: EngineSession) -> bool:
    """Whether it answers a ping now; True for an engine without ping that lives."""
    try:
        ping, pong = _ping_of(session)
    except NotSupported:
        session.pause(exam.ANSWER_S / 4)
        return True
    session.send(ping)
    return session.until(lambda line: line == pong, session.spec.quirks.ready_timeout) is not None


def _pong(session: EngineSession, pong: str, what: str) -> str:
    quirks = session.spec.quirks  # what it was told before may still wait in front of it, where lines go one by one
    seconds = quirks.ready_timeout if quirks.line_delay_ms else exam.ANSWER_S
    if session.until(lambda line: line == pong, seconds) is None:
        raise StepFault(f"no answer to a ping {what}".rstrip())
    return ""


def _together(session: EngineSession) -> str:
    session.loose()
    if session.spec.quirks.line_delay_ms:
        raise NotSupported(
            f"reads one line at a time, as its file says: {session.spec.quirks.line_delay_ms} ms between two"
        )
    asked = [_ping_of(session) for _ in range(TOGETHER)]
    session.send(*(ping for ping, _ in asked))
    for number, (_, pong) in enumerate(asked):
        if session.until(lambda line, pong=pong: line == pong, exam.ANSWER_S) is None:  # type: ignore[misc]  # bound at once
            session.write("\n")
            woken = session.until(lambda line, pong=pong: line == pong, exam.ANSWER_S) is not None  # type: ignore[misc]  # as above
            words = f"answers {number} of {TOGETHER} pings in one write"
            hints = (("quirks.line_delay_ms", 100),)  # runner spec 7, as for the surveyed one
            raise StepFault(f"{words}{', the next after an empty line' if woken else ''}", hints=hints)
    return ""


def _pieces(session: EngineSession) -> str:
    session.loose()
    ping, pong = _ping_of(session)
    session.write(ping[:3])
    session.pause(_PIECE_S)
    session.write(f"{ping[3:]}\n")
    return _pong(session, pong, "that came in two pieces")


def _pinged(session: EngineSession, *before: str, what: str, end: str = "\n") -> str:
    """A ping behind these lines is answered; its pong."""
    session.loose()
    ping, pong = _ping_of(session)
    session.send(*before, ping, end=end)
    _pong(session, pong, what)
    return pong


def _returns(session: EngineSession) -> str:
    _pinged(session, what="that ended with CR LF", end="\r\n")
    return ""


def _empty(session: EngineSession) -> str:
    _pinged(session, "", "", what="after empty lines")
    return ""


def _unknown(session: EngineSession) -> str:
    _pinged(session, "xyzzy plugh", what="after an unknown command")
    return f"says {session.heard[0]!r}" if session.heard else "passes it over"


def _once(session: EngineSession) -> str:
    pong = _pinged(session, what="")
    more = [line for line in session.pause(0.1) if line == pong]
    if more:
        raise StepFault(f"answers it {len(more) + 1} times: they are counted, and each game waits 20 ms longer")
    return ""


LINE_STEPS: tuple[Step, ...] = (
    Step("lines-together", "several lines in one write", _together),
    Step("lines-pieces", "a line in two writes", _pieces, "warn"),
    Step("lines-crlf", "lines that end with CR LF", _returns, "warn"),
    Step("lines-empty", "empty lines", _empty, "warn"),
    Step("lines-unknown", "a command nobody knows", _unknown, "warn"),
    Step("ping-once", "one answer to one ping", _once, "warn"),
)


# Steps of both protocols: an option of each kind, at its default and its bounds.

# Sizes and numbers of processors at their upper bound are a test of the machine, not of the engine.
_DEAR = re.compile(r"hash|thread|memory|cores|cpu|cache|size|\bmb\b|tables?\b", re.IGNORECASE)
_PLACES = re.compile(r"file|path|dir|log|book|net|learn", re.IGNORECASE)
_HARMLESS = re.compile(r"clear", re.IGNORECASE)
KINDS = {
    "check": ("check",),
    "spin": ("spin", "slider"),
    "combo": ("combo",),
    "string": ("string", "file", "path"),
    "button": ("button", "reset", "save"),
}
EMPTY = "<empty>"  # how UCI writes a string without a sign
_MOST_TRIED = 40  # options of one kind; ten thousand are tolerated, and tell nothing more


def _of_kind(session: EngineSession, kind: str) -> str:
    """Each option of a kind told other values and its default again; the engine lives and answers."""
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
        raise NotSupported("no such option" if not declared else f"none that can be tried: {declared[0].name!r}")
    return f"{tried} of {len(declared)} tried"


def _values(option: DeclaredOption) -> tuple[str, ...]:
    if option.kind == "check":
        usual = {"1": "true", "0": "false"}.get(option.default, option.default)
        return ("true", "false", usual) if usual in ("true", "false") else ("true", "false")
    if option.kind in KINDS["spin"]:
        if option.low is None or option.high is None or not _whole(option.default):
            return ()
        high = () if _DEAR.search(option.name) else (str(option.high),)
        return (str(option.low), *high, option.default)
    if option.kind == "combo":
        return (*option.choices, option.default) if option.default in option.choices else option.choices
    if option.kind in KINDS["string"]:
        return () if _PLACES.search(option.name) else (option.default,)
    return ("",) if _HARMLESS.search(option.name) else ()


def _whole(text: str) -> bool:
    return text.lstrip("-").isdecimal()


def _set(session: EngineSession, option: DeclaredOption, value: str) -> None:
    button = option.kind in KINDS["button"]
    if session.spec.protocol == "uci":
        session.send(f"setoption name {option.name}{'' if button else f' value {value or EMPTY}'}")
        return
    told = {"true": "1", "false": "0"}.get(value, value) if option.kind == "check" else value
    session.send(f"option {option.name}{'' if button else f'={told}'}")


def _defaults(session: EngineSession) -> str:
    """Defaults within what is allowed by the same line."""
    engine = session.ready()
    wrong = [option.name for option in engine.declared if not _fits(option)]
    if wrong:
        raise StepFault(f"a default that is not allowed: {', '.join(wrong[:3])}")
    odd = [words for kind, words in engine.notes.items() if kind.endswith("option")]
    if odd:
        raise StepFault(odd[0])
    return f"{len(engine.declared)} declared"


def _fits(option: DeclaredOption) -> bool:
    if option.kind in KINDS["spin"] and _whole(option.default) and option.low is not None and option.high is not None:
        return option.low <= int(option.default) <= option.high
    if option.kind == "combo":
        return not option.default or option.default in option.choices
    return option.kind != "check" or option.default in ("", "true", "false", "0", "1")


OPTION_STEPS: tuple[Step, ...] = (
    Step("options-read", "every option can be read, and its default is allowed", _defaults, "warn"),
    *(Step(f"options-{kind}", f"options of the kind {kind}", partial(_of_kind, kind=kind), "warn") for kind in KINDS),
)


# Positions an engine must find a legal move in: common ones, and those in which move generators have erred.

# (key, what it is, FEN or "" for the start position, moves behind it). In those called "only" there is one move, or
# one kind of move.
PLACES: tuple[tuple[str, str, str, str], ...] = (
    ("start", "the start position", "", ""),
    ("moves", "after a list of moves", "", "e2e4 e7e5"),
    ("black", "Black to move, from the start", "", "d2d4"),
    ("fen", "a FEN, White to move", "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 4 8", ""),
    ("fen-black", "a FEN, Black to move", "r1bqkbnr/pp1p1ppp/2n1p3/8/3NP3/8/PPP2PPP/RNBQKB1R b KQkq - 1 5", ""),
    (
        "fen-moves",
        "a FEN and moves behind it",
        "rnbqkb1r/pp2pppp/3p1n2/8/3NP3/8/PPP2PPP/RNBQKB1R w KQkq - 1 5",
        "b1c3 a7a6",
    ),
    ("castled", "castling among the moves", "", "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1g1 g8f6 d2d3 e8g8"),
    ("castled-long", "long castling among the moves", "", "d2d4 d7d5 b1c3 b8c6 c1f4 c8f5 d1d2 d8d7 e1c1 e8c8"),
    ("rights", "some castling rights only", "r3k2r/pppq1ppp/2npbn2/4p3/4P3/2NPBN2/PPPQ1PPP/R3K2R w Kq - 4 9", ""),
    ("passing", "a capture en passant is there", "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3", ""),
    ("passing-moves", "en passant among the moves", "", "e2e4 a7a6 e4e5 d7d5 e5d6"),
    ("passing-only", "only en passant parries the check", "1N6/3Q1R2/8/4k3/3Pp3/K1N4B/8/8 b - d3 0 1", ""),
    ("promoted", "a promotion to a knight among the moves", "", "h2h4 g7g5 h4g5 h7h6 g5h6 a7a6 h6h7 a6a5 h7g8n"),
    ("promotion-only", "only promotions are legal", "8/P7/8/8/8/1q6/8/K6k w - - 0 1", ""),
    ("double-check", "a double check", "r3k3/8/8/1B6/8/8/8/4R1K1 b q - 0 1", ""),
    ("pinned", "a pinned piece and a check", "4k3/8/4r3/8/7b/8/4B3/4K3 w - - 0 1", ""),
    ("one-move", "one legal move, a step from stalemate", "7k/5Q2/8/8/p7/8/8/K7 b - - 0 1", ""),
    ("mate", "a mate in one", "6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", ""),
    ("fifty", "one move before the fifty-move rule", "8/8/4k3/8/8/3QK3/8/8 w - - 98 120", ""),
    ("repeated", "a position that has occurred twice", "", "g1f3 g8f6 f3g1 f6g8"),
    ("crowded", "218 legal moves", "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1", ""),
)
# In Chess960: one legal move, castling with a rook that is not in the corner.
_ONLY_CASTLING = "k3r3/8/8/8/8/6p1/6P1/5KRB w K - 0 1"
_RARE = frozenset({"passing-only", "crowded"})  # a surveyed engine never answers in the first: once in many games
_WINNING_BLACK = "3qk3/8/8/8/8/8/3P4/4K3 b - - 0 1"  # a queen ahead: a score from White's side has the wrong sign
_TURN = 6_364_136_223_846_793_005  # multiplier of the generator MMIX (Knuth, TAOCP 2, 3.3.4)
_STEP = 1_442_695_040_888_963_407  # its increment
_LONGEST_MOVE = 6  # bytes of a move with its blank
_QUIET_PLIES = 90  # then a pawn move or capture, long before the fifty-move rule


def position(fen: str, moves: str = "") -> Position:
    """A position with the moves that led to it."""
    made = Position(fen or None)
    for text in moves.split():
        made.push(chess.Move.from_uci(text))
    return made


def long_game() -> Position:
    """A legal game that is not over, as long as one line may tell; always the same one.

    No position of it comes twice, and no fifty moves pass without a pawn move or capture.
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
    """How much of the game's length a move takes: captures most, then pawn moves; checks force them."""
    capture, zeroing = board.is_capture(move), board.is_zeroing(move)
    return 4 * capture + 2 * (zeroing != wanted) + board.gives_check(move)


# Steps of both protocols: moves in many positions, under every limit, and what is said about them.

QUICK = TimeControl.parse("1+0.05")
CALM = TimeControl.parse("5")  # for what it says: one surveyed engine moves without a thought at a base of 1 s
# One control of each kind; whole seconds a move are what every CECP engine takes (survey).
LIMITS = {
    "clock": ("limit-clock", "a clock: 2 s", "2"),
    "increment": ("limit-increment", "a clock with increment: 1+0.05", "1+0.05"),
    "stage": ("limit-stage", "a clock for 40 moves: 40/5", "40/5"),
    "hurry": ("limit-hurry", "a clock of a tenth of a second: 0.1+0.02", "0.1+0.02"),
    "movetime": ("limit-movetime", "a fixed time: 1 s", "movetime=1"),
    "depth": ("limit-depth", "a depth: 3 plies", "depth=3"),
    "nodes": ("limit-nodes", "a number of nodes: 2 000", "nodes=2000"),
}
_NUMBERED = re.compile(r"^\d+\.+")
_LATE_MS = 100  # beyond a fixed time, as the margin of such games (runner spec 3)
_NODES_TIMES = 50  # more nodes than asked for, or fewer: the word is understood otherwise, or not at all


def _place(session: EngineSession, fen: str, moves: str) -> str:
    try:
        found = session.move(position(fen, moves), QUICK)
    except Unsupported as cannot:
        if fen:
            raise NotSupported(f"cannot be told: {cannot.detail}") from None
        raise
    return f"{found.move.uci()} in {found.elapsed_ms} ms"


def _long(session: EngineSession) -> str:
    if session.spec.protocol == "cecp" and session.spec.quirks.line_delay_ms:
        raise NotSupported("a move is a line, and each has its pause")
    told = long_game()
    try:
        found = session.move(told, QUICK)
    except EngineFault as fault:
        if session.spec.protocol == "uci":
            raise
        words = f"{len(told.moves)} plies told at once: {fault.detail}; no game begins so late"
        raise StepFault(words, "warn") from None
    return f"{found.move.uci()} after {len(told.moves)} plies, {len(told.line)} bytes"


def _castling(session: EngineSession) -> str:
    """Glaurung, told KQkq, took the right for one with the rook on a or h: its games were lost by illegal moves."""
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
    """A move under a limit that an engine may lack: then its file must not list it."""
    tc = TimeControl.parse(text)
    try:
        patience_s = exam.PATIENCE_S if kind in session.limits else exam.SHORT_PATIENCE_S
        found = session.move(position(""), tc, patience_s)
        words = look(session, found, tc)
    except (StepFault, EngineFault) as trouble:
        fault = trouble if isinstance(trouble, StepFault) else StepFault(trouble.detail)
        if kind not in session.limits:
            session.drop()
            raise NotSupported(f"its file leaves {kind} out, rightly: {fault.words}") from None
        kept = tuple(sorted(session.limits - {kind}))
        raise StepFault(fault.words, fault.gravity, hints=fault.hints or (("limits", kept),)) from None
    return words if kind in session.limits else f"{words}; obeyed, though its file leaves {kind} out"


def _punctual(session: EngineSession, found: Answer, tc: TimeControl) -> str:
    late = found.elapsed_ms - (tc.movetime_ms or 0)
    words = f"{found.move.uci()} in {found.elapsed_ms} ms"
    margin = max(_LATE_MS, session.spec.quirks.movetime_margin_ms)
    if late > margin:
        wanted = -(-2 * late // 100) * 100
        hints = (("quirks.movetime_margin_ms", wanted),)
        raise StepFault(f"{words}: {late} ms late, the margin is {margin}", "warn", hints=hints)
    return words


def _shallow(session: EngineSession, found: Answer, tc: TimeControl) -> str:
    del session
    depth = found.thought.depth
    if depth is not None and tc.depth is not None and depth > tc.depth:
        raise StepFault(f"searched {depth} plies where {tc.depth} were asked")
    return f"{found.move.uci()} in {found.elapsed_ms} ms"


def _few(session: EngineSession, found: Answer, tc: TimeControl) -> str:
    nodes, asked = found.thought.nodes, tc.nodes or 0
    if nodes is not None and nodes * _NODES_TIMES < asked:  # or it tells an early line alone: more show which
        asked *= 10
        nodes = session.move(position(""), TimeControl.parse(f"nodes={asked}")).thought.nodes
    if nodes is not None and not asked <= nodes * _NODES_TIMES <= asked * _NODES_TIMES**2:
        raise StepFault(f"searched {nodes} nodes where {asked} were asked")
    return f"{found.move.uci()} in {found.elapsed_ms} ms{f', {nodes} nodes told' if nodes is not None else ''}"


def _second(session: EngineSession) -> str:
    session.move(position(""), QUICK)
    engine = session.ready()
    session.move(position("", "d2d4 d7d5"), QUICK)
    if session.ready() is not engine:
        raise StepFault("a new process was needed", "warn", hints=(("quirks.restart", True),))
    return ""


def _stop(session: EngineSession) -> str:
    engine = session.think(position("", "e2e4 e7e5"), TimeControl.parse("600"), exam.THOUGHT_S)
    run_scripts({engine: engine.settle()}, session.link)
    if engine.spoiled:
        raise StepFault(f"{engine.spoiled}: after a lost game it is started anew")
    return "answers, and is ready"


def _scored(session: EngineSession) -> str:
    found = session.move(position("", "e2e4 e7e5 g1f3 b8c6"), CALM)
    if found.thought.score is None:
        raise StepFault("no score before its move: rules over scores never hold for it")
    depth = "no depth" if found.thought.depth is None else f"depth {found.thought.depth}"
    return f"score {found.thought.score}, {depth}"


def _variation(session: EngineSession) -> str:
    start = position("", "e2e4 e7e5 g1f3 b8c6")
    found = session.move(start, CALM)
    board, told = start.board.copy(), 0
    for word in found.thought.pv.split():
        text = _NUMBERED.sub("", word) if session.spec.protocol == "cecp" else word
        if not text:
            continue
        move, _ = read_move(board, text)
        if move is None and (session.spec.protocol == "cecp" or (told and not text[0].isalpha())):
            break  # numbers and remarks stand in it (runner spec 7)
        if move is None:
            raise StepFault(f"an illegal move in its variation: {text} in {found.thought.pv}")
        if not told and move != found.move:
            raise StepFault(f"plays {found.move.uci()}, its variation begins with {text}")
        board.push(move)
        told += 1
    if not told:
        raise NotSupported("tells no variation that can be read")
    return f"{told} plies"


def _view(session: EngineSession) -> str:
    """Whose side the score is from: Black moves and is a queen ahead."""
    try:
        found = session.move(position(_WINNING_BLACK), CALM)
    except Unsupported as cannot:
        raise NotSupported(f"cannot be told: {cannot.detail}") from None
    score = found.thought.score
    if score is None:
        raise NotSupported("no score")
    if score < 0:
        words = f"{score} for the side to move, which is a queen ahead: it tells scores from White's side"
        hints = (("quirks.whitepov", not session.spec.quirks.whitepov),)
        raise StepFault(words, hints=hints)
    return f"+{score}"


def _positions() -> tuple[Step, ...]:
    return tuple(
        Step(
            f"position-{key}",
            f"a legal move: {what}",
            partial(_place, fen=fen, moves=moves),
            "warn" if key in _RARE else "FAIL",
        )
        for key, what, fen, moves in PLACES
    )


def _limits() -> tuple[Step, ...]:
    looks = {"movetime": _punctual, "depth": _shallow, "nodes": _few}
    steps = []
    for kind, (key, what, text) in LIMITS.items():
        run = partial(_limited, kind=kind, text=text, look=looks[kind]) if kind in looks else partial(_clock, text=text)
        steps.append(Step(key, f"a move under {what}", run, "warn" if kind == "hurry" else "FAIL"))
    return tuple(steps)


PLAY_STEPS: tuple[Step, ...] = (
    *_positions(),
    Step("position-long", "a legal move: a game as long as a line may tell", _long),
    Step("castling-960", "a legal move: only castling, in Chess960", _castling, "warn"),
    *_limits(),
    Step("second-game", "a second game in the same process", _second, "warn"),
    Step("score", "a score before its move", _scored, "warn"),
    Step("variation", "the variation it tells is legal and begins with its move", _variation, "warn"),
    Step("point-of-view", "its score is from the side to move", _view, "warn"),
    Step("stop", "told to move now in a long search", _stop, "warn"),
)
