"""Steps of both protocols: moves in many positions, under every limit, and what is said about them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from enginetour.engines.position import Position, read_move
from enginetour.model.errors import EngineFault, Unsupported
from enginetour.model.timecontrol import TimeControl
from enginetour.model.variants import CHESS960
from enginetour.referee.compliance.exam import PATIENCE_S, SHORT_PATIENCE_S, Exam, Found, Step
from enginetour.referee.compliance.positions import ONLY_CASTLING, PLACES, RARE, WINNING_BLACK, long_game, position
from enginetour.referee.compliance.verdicts import Complaint, NotOffered
from enginetour.referee.converse import converse

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
THOUGHT_S = 0.1  # s until it is surely thinking
LATE_MS = 100  # beyond a fixed time, as the margin of such games (runner spec 3)
NODES_TIMES = 50  # more nodes than asked for, or fewer: the word is understood otherwise, or not at all


def _place(exam: Exam, fen: str, moves: str) -> str:
    try:
        found = exam.move(position(fen, moves), QUICK)
    except Unsupported as cannot:
        if fen:
            raise NotOffered(f"cannot be told: {cannot.detail}") from None
        raise
    return f"{found.move.uci()} in {found.elapsed_ms} ms"


def _long(exam: Exam) -> str:
    if exam.spec.protocol == "cecp" and exam.spec.quirks.line_delay_ms:
        raise NotOffered("a move is a line, and each has its pause")
    told = long_game()
    try:
        found = exam.move(told, QUICK)
    except EngineFault as fault:
        if exam.spec.protocol == "uci":
            raise
        exam.drop()
        raise Complaint(
            f"{len(told.moves)} plies told at once: {fault.detail}; no game begins so late", "warn"
        ) from None
    return f"{found.move.uci()} after {len(told.moves)} plies, {len(told.line)} bytes"


def _castling(exam: Exam) -> str:
    """Glaurung, told KQkq, took the right for one with the rook on a or h: its games were lost by illegal moves."""
    try:
        found = exam.move(Position(ONLY_CASTLING, CHESS960), QUICK)
    except Unsupported as cannot:
        raise NotOffered(cannot.detail) from None
    return f"{found.move.uci()} in {found.elapsed_ms} ms"


def _clock(exam: Exam, text: str) -> str:
    tc = TimeControl.parse(text)
    found = exam.move(position(""), tc)
    return f"{found.move.uci()} in {found.elapsed_ms} ms"


def _left_out(exam: Exam, kind: str) -> float:
    return PATIENCE_S if kind in exam.limits else SHORT_PATIENCE_S


def _limited(exam: Exam, kind: str, text: str, look: Callable[[Exam, Found, TimeControl], str]) -> str:
    """A move under a limit that an engine may lack: then its file must not list it."""
    tc = TimeControl.parse(text)
    try:
        found = exam.move(position(""), tc, _left_out(exam, kind))
        words = look(exam, found, tc)
    except (Complaint, EngineFault) as trouble:
        words = trouble.words if isinstance(trouble, Complaint) else trouble.detail
        if kind not in exam.limits:
            exam.drop()
            raise NotOffered(f"its file leaves {kind} out, rightly: {words}") from None
        kept = tuple(sorted(exam.limits - {kind}))
        gravity = trouble.gravity if isinstance(trouble, Complaint) else None
        hints = trouble.hints if isinstance(trouble, Complaint) and trouble.hints else (("limits", kept),)
        raise Complaint(words, gravity, hints=hints) from None
    return words if kind in exam.limits else f"{words}; obeyed, though its file leaves {kind} out"


def _punctual(exam: Exam, found: Found, tc: TimeControl) -> str:
    late = found.elapsed_ms - (tc.movetime_ms or 0)
    words = f"{found.move.uci()} in {found.elapsed_ms} ms"
    margin = max(LATE_MS, exam.spec.quirks.movetime_margin_ms)
    if late > margin:
        wanted = -(-2 * late // 100) * 100
        hints = (("quirks.movetime_margin_ms", wanted),)
        raise Complaint(f"{words}: {late} ms late, the margin is {margin}", "warn", hints=hints)
    return words


def _shallow(exam: Exam, found: Found, tc: TimeControl) -> str:
    del exam
    depth = found.thought.depth
    if depth is not None and tc.depth is not None and depth > tc.depth:
        raise Complaint(f"searched {depth} plies where {tc.depth} were asked")
    return f"{found.move.uci()} in {found.elapsed_ms} ms"


def _few(exam: Exam, found: Found, tc: TimeControl) -> str:
    nodes, asked = found.thought.nodes, tc.nodes or 0
    if nodes is not None and nodes * NODES_TIMES < asked:  # or it tells an early line alone: more show which
        asked *= 10
        nodes = exam.move(position(""), TimeControl.parse(f"nodes={asked}")).thought.nodes
    if nodes is not None and not asked <= nodes * NODES_TIMES <= asked * NODES_TIMES**2:
        raise Complaint(f"searched {nodes} nodes where {asked} were asked")
    return f"{found.move.uci()} in {found.elapsed_ms} ms{f', {nodes} nodes told' if nodes is not None else ''}"


def _second(exam: Exam) -> str:
    """Another game in the same process."""
    exam.move(position(""), QUICK)
    engine = exam.ready()
    exam.move(position("", "d2d4 d7d5"), QUICK)
    if exam.ready() is not engine:
        raise Complaint("a new process was needed", "warn", hints=(("quirks.restart", True),))
    return ""


def _stop(exam: Exam) -> str:
    """Told to move at once in a long search."""
    engine = exam.think(position("", "e2e4 e7e5"), TimeControl.parse("600"), THOUGHT_S)
    converse({engine: engine.settle()}, exam.link)
    if engine.spoiled:
        raise Complaint(f"{engine.spoiled}: after a lost game it is started anew")
    return "answers, and is ready"


def _scored(exam: Exam) -> str:
    found = exam.move(position("", "e2e4 e7e5 g1f3 b8c6"), CALM)
    if found.thought.score is None:
        raise Complaint("no score before its move: rules over scores never hold for it")
    depth = "no depth" if found.thought.depth is None else f"depth {found.thought.depth}"
    return f"score {found.thought.score}, {depth}"


def _variation(exam: Exam) -> str:
    """The last principal variation: legal, and beginning with the move that is played."""
    start = position("", "e2e4 e7e5 g1f3 b8c6")
    found = exam.move(start, CALM)
    board, told = start.board.copy(), 0
    for word in found.thought.pv.split():
        text = _NUMBERED.sub("", word) if exam.spec.protocol == "cecp" else word
        if not text:
            continue
        move, _ = read_move(board, text)
        if move is None and (exam.spec.protocol == "cecp" or (told and not text[0].isalpha())):
            break  # numbers and remarks stand in it (runner spec 7)
        if move is None:
            raise Complaint(f"an illegal move in its variation: {text} in {found.thought.pv}")
        if not told and move != found.move:
            raise Complaint(f"plays {found.move.uci()}, its variation begins with {text}")
        board.push(move)
        told += 1
    if not told:
        raise NotOffered("tells no variation that can be read")
    return f"{told} plies"


def _view(exam: Exam) -> str:
    """Whose side the score is from: Black moves and is a queen ahead."""
    try:
        found = exam.move(position(WINNING_BLACK), CALM)
    except Unsupported as cannot:
        raise NotOffered(f"cannot be told: {cannot.detail}") from None
    score = found.thought.score
    if score is None:
        raise NotOffered("no score")
    if score < 0:
        words = f"{score} for the side to move, which is a queen ahead: it tells scores from White's side"
        hints = (("quirks.whitepov", not exam.spec.quirks.whitepov),)
        raise Complaint(words, hints=hints)
    return f"+{score}"


def _positions() -> tuple[Step, ...]:
    return tuple(
        Step(
            f"position-{key}",
            f"a legal move: {what}",
            partial(_place, fen=fen, moves=moves),
            "warn" if key in RARE else "FAIL",
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


STEPS: tuple[Step, ...] = (
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
