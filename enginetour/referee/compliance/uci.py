"""Compliance checks for UCI (April 2006): name and author, infinite searches, pondering, info lines."""

from __future__ import annotations

import re
from functools import partial

from enginetour.engines.position import read_move
from enginetour.referee.compliance import exam
from enginetour.referee.compliance.common import CALM, position
from enginetour.referee.compliance.exam import EngineSession, NotSupported, Step, StepFault

# Words of `info` and how many numbers follow them; those after which everything may stand end the line.
_NUMBERS = {
    "depth": 1, "seldepth": 1, "time": 1, "nodes": 1, "multipv": 1, "currmovenumber": 1, "hashfull": 1, "nps": 1,
    "tbhits": 1, "sbhits": 1, "cpuload": 1, "wdl": 3, "cp": 1, "mate": 1, "score": 0, "lowerbound": 0, "upperbound": 0,
}  # fmt: skip
_TAILS = frozenset({"pv", "string", "refutation", "currline"})
_NUMBER = re.compile(r"[+-]?\d+")
_MOVE = re.compile(r"(?:[a-h][1-8]){2}[nbrqNBRQ]?|[PNBRQ]@[a-h][1-8]|0000")


def _odd_info(line: str) -> str:
    """What is not as the protocol has it in an ``info`` line; "" for nothing."""
    words = line.split()[1:]
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word in _TAILS:
            moves = words[at:] if word == "pv" else []
            return next((f"{text!r} in a variation" for text in moves if not _MOVE.fullmatch(text)), "")
        if word == "currmove":
            at += 1
            continue
        if word not in _NUMBERS:
            return f"the word {word!r}"
        for value in words[at : at + _NUMBERS[word]] or [""] * _NUMBERS[word]:
            if not _NUMBER.fullmatch(value):
                return f"{word} {value!r}"
        at += _NUMBERS[word]
    return ""


def _named(session: EngineSession, field: str, fault: str) -> str:
    name = str(getattr(session.ready(), field))
    if not name:
        raise StepFault(fault)
    return name


def _info(session: EngineSession) -> str:
    found = session.move(position("", "e2e4 c7c5"), CALM)
    told = [line for line in found.raw.decode("utf-8", "replace").splitlines() if line.split(None, 1)[:1] == ["info"]]
    for line in told:
        if odd := _odd_info(line):
            raise StepFault(f"{odd} in {line.strip()[:80]!r}")
    if not told:
        raise StepFault("no info line before its move")
    return f"{len(told)} lines"


def _none_early(session: EngineSession, when: str) -> None:
    early = [line for line in session.pause(exam.QUIET_S) if line.startswith("bestmove")]
    if early:
        raise StepFault(f"{early[0]!r} {when}")


def _endless(session: EngineSession) -> str:
    session.loose()
    session.send("position startpos", "go infinite")
    _none_early(session, "before stop")
    session.send("stop")
    session.expect("bestmove", f"{_stopped_not()}: after a lost game it is started anew", exam.OWED_S)
    return ""


def _stopped_not() -> str:
    return f"no bestmove within {exam.OWED_S:g} s of stop"


def _thinking_ping(session: EngineSession) -> str:
    session.loose()
    session.send("position startpos", "go infinite")
    session.pause(exam.THOUGHT_S)
    session.send("isready")
    session.expect("readyok", "no readyok while it thinks; it is never asked then")
    session.send("stop")
    if session.until(lambda line: line.startswith("bestmove"), exam.OWED_S) is None:
        session.drop()
    return ""


_STRANGE, _NO_READYOK = (
    ["setoption name No Such Option value 1", "isready"],
    "no readyok after an option it does not have",
)


def _answers(lines: list[str], wanted: str, fault: str, session: EngineSession) -> str:
    session.loose()
    session.send(*lines)
    session.expect(wanted, fault)
    return ""


def _idle_stop(session: EngineSession) -> str:
    _answers(["stop", "isready"], "readyok", "no readyok after stop without a search", session)
    late = [line for line in (*session.heard, *session.pause(0.1)) if line.startswith("bestmove")]
    if late:
        raise StepFault(f"{late[0]!r} where nothing was asked")
    return ""


def _news(session: EngineSession) -> str:
    session.loose()
    session.send("ucinewgame", "isready")
    limit = session.spec.quirks.ready_timeout
    hints = (("quirks.ready_timeout", min(600.0, 6 * limit)),)
    session.expect("readyok", f"no readyok within {limit:g} s of ucinewgame", limit, hints=hints)
    return ""


def _pondering(session: EngineSession) -> None:
    engine = session.loose()
    if not any(option.name.casefold() == "ponder" and option.kind == "check" for option in engine.declared):
        raise NotSupported("no option Ponder")
    session.send("setoption name Ponder value true", "position startpos moves e2e4 e7e5 g1f3")
    session.send("go ponder wtime 2000 btime 2000")
    _none_early(session, "while it ponders: kept, and taken at the hit")


def _hit(session: EngineSession) -> str:
    _pondering(session)
    session.send("ponderhit")
    line = session.expect("bestmove", f"no bestmove within {exam.MOVE_S:g} s of ponderhit", exam.MOVE_S)
    session.send("setoption name Ponder value false")
    words = line.split()
    board = position("", "e2e4 e7e5 g1f3").board
    move, _ = read_move(board, words[1] if len(words) > 1 else "")
    if move is None:
        raise StepFault(f"not a legal move: {line!r}")
    board.push(move)
    if len(words) > 3 and words[2] == "ponder" and read_move(board, words[3])[0] is None:
        raise StepFault(f"an illegal move to ponder on: {line!r}")
    return line.removeprefix("bestmove ")


def _missed(session: EngineSession) -> str:
    _pondering(session)
    session.send("stop")
    session.expect("bestmove", _stopped_not(), exam.OWED_S)
    session.send("setoption name Ponder value false")
    return ""


DECLARED: tuple[Step, ...] = (
    Step(
        "name", "it tells its name",
        partial(_named, field="own_name", fault="no id name: lists and records call it by its file's"), "warn",
    ),
    Step("author", "it tells its author", partial(_named, field="author", fault="no id author"), "warn"),
)  # fmt: skip
STEPS: tuple[Step, ...] = (
    Step("info", "info lines as the protocol has them", _info, "warn"),
    Step("new-game", "ready after ucinewgame", _news),
    Step("idle-stop", "stop without a search", _idle_stop, "warn"),
    Step("second-uci", "uci a second time", partial(_answers, ["uci"], "uciok", "no second uciok"), "warn"),
    Step("strange-option", "an option it does not have", partial(_answers, _STRANGE, "readyok", _NO_READYOK), "warn"),
    Step("endless", "go infinite, ended by stop", _endless, "warn"),
    Step("ping-thinking", "isready while it thinks", _thinking_ping, "warn"),
    Step("ponder-hit", "a ponder hit", _hit, "warn"),
    Step("ponder-miss", "a ponder miss", _missed, "warn"),
)
