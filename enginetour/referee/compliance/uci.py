"""Compliance checks for UCI (April 2006): name and author, infinite searches, pondering, info lines."""

from __future__ import annotations

import re

from enginetour.engines.position import read_move
from enginetour.referee.compliance.common import CALM, position
from enginetour.referee.compliance.exam import ANSWER_S, QUIET_S, EngineSession, NotSupported, Step, StepFault

OWED_S = 1.0  # s for the answer to `stop` (runner spec 5.2)
THOUGHT_S = 0.1  # s until it is surely thinking
MOVE_S = 5.0  # s for a move after ponderhit with a clock of 2 s: its clock, and room for a busy machine
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


def _name(exam: EngineSession) -> str:
    engine = exam.ready()
    if not engine.own_name:
        raise StepFault("no id name: lists and records call it by its file's")
    return engine.own_name


def _author(exam: EngineSession) -> str:
    engine = exam.ready()
    if not engine.author:
        raise StepFault("no id author")
    return engine.author


def _info(exam: EngineSession) -> str:
    found = exam.move(position("", "e2e4 c7c5"), CALM)
    told = [line for line in found.raw.decode("utf-8", "replace").splitlines() if line.split(None, 1)[:1] == ["info"]]
    for line in told:
        if odd := _odd_info(line):
            raise StepFault(f"{odd} in {line.strip()[:80]!r}")
    if not told:
        raise StepFault("no info line before its move")
    return f"{len(told)} lines"


def _endless(exam: EngineSession) -> str:
    exam.loose()
    exam.send("position startpos", "go infinite")
    early = [line for line in exam.pause(QUIET_S) if line.startswith("bestmove")]
    if early:
        raise StepFault(f"{early[0]!r} before stop")
    exam.send("stop")
    if exam.until(lambda line: line.startswith("bestmove"), OWED_S) is None:
        exam.drop()
        raise StepFault(f"no bestmove within {OWED_S:g} s of stop: after a lost game it is started anew")
    return ""


def _thinking_ping(exam: EngineSession) -> str:
    exam.loose()
    exam.send("position startpos", "go infinite")
    exam.pause(THOUGHT_S)
    exam.send("isready")
    answered = exam.until(lambda line: line == "readyok", ANSWER_S) is not None
    exam.send("stop")
    stopped = exam.until(lambda line: line.startswith("bestmove"), OWED_S) is not None
    if not stopped:
        exam.drop()
    if not answered:
        raise StepFault("no readyok while it thinks; it is never asked then")
    return ""


def _idle_stop(exam: EngineSession) -> str:
    exam.loose()
    exam.send("stop", "isready")
    if exam.until(lambda line: line == "readyok", ANSWER_S) is None:
        raise StepFault("no readyok after stop without a search")
    late = [line for line in (*exam.heard, *exam.pause(0.1)) if line.startswith("bestmove")]
    if late:
        raise StepFault(f"{late[0]!r} where nothing was asked")
    return ""


def _again(exam: EngineSession) -> str:
    exam.loose()
    exam.send("uci")
    if exam.until(lambda line: line == "uciok", ANSWER_S) is None:
        raise StepFault("no second uciok")
    return ""


def _strange_option(exam: EngineSession) -> str:
    exam.loose()
    exam.send("setoption name No Such Option value 1", "isready")
    if exam.until(lambda line: line == "readyok", ANSWER_S) is None:
        raise StepFault("no readyok after an option it does not have")
    return ""


def _news(exam: EngineSession) -> str:
    exam.loose()
    exam.send("ucinewgame", "isready")
    if exam.until(lambda line: line == "readyok", exam.spec.quirks.ready_timeout) is None:
        limit = exam.spec.quirks.ready_timeout
        raise StepFault(
            f"no readyok within {limit:g} s of ucinewgame", hints=(("quirks.ready_timeout", min(600.0, 6 * limit)),)
        )
    return ""


def _pondering(exam: EngineSession) -> None:
    engine = exam.loose()
    if not any(option.name.casefold() == "ponder" and option.kind == "check" for option in engine.declared):
        raise NotSupported("no option Ponder")
    exam.send("setoption name Ponder value true", "position startpos moves e2e4 e7e5 g1f3")
    exam.send("go ponder wtime 2000 btime 2000")
    early = [line for line in exam.pause(QUIET_S) if line.startswith("bestmove")]
    if early:
        raise StepFault(f"{early[0]!r} while it ponders: kept, and taken at the hit")


def _hit(exam: EngineSession) -> str:
    _pondering(exam)
    exam.send("ponderhit")
    line = exam.until(lambda line: line.startswith("bestmove"), MOVE_S)
    exam.send("setoption name Ponder value false")
    if line is None:
        exam.drop()
        raise StepFault(f"no bestmove within {MOVE_S:g} s of ponderhit")
    words = line.split()
    board = position("", "e2e4 e7e5 g1f3").board
    move, _ = read_move(board, words[1] if len(words) > 1 else "")
    if move is None:
        raise StepFault(f"not a legal move: {line!r}")
    board.push(move)
    if len(words) > 3 and words[2] == "ponder" and read_move(board, words[3])[0] is None:
        raise StepFault(f"an illegal move to ponder on: {line!r}")
    return line.removeprefix("bestmove ")


def _missed(exam: EngineSession) -> str:
    _pondering(exam)
    exam.send("stop")
    line = exam.until(lambda line: line.startswith("bestmove"), OWED_S)
    exam.send("setoption name Ponder value false")
    if line is None:
        exam.drop()
        raise StepFault(f"no bestmove within {OWED_S:g} s of stop")
    return ""


DECLARED: tuple[Step, ...] = (
    Step("name", "it tells its name", _name, "warn"),
    Step("author", "it tells its author", _author, "warn"),
)
STEPS: tuple[Step, ...] = (
    Step("info", "info lines as the protocol has them", _info, "warn"),
    Step("new-game", "ready after ucinewgame", _news),
    Step("idle-stop", "stop without a search", _idle_stop, "warn"),
    Step("second-uci", "uci a second time", _again, "warn"),
    Step("strange-option", "an option it does not have", _strange_option, "warn"),
    Step("endless", "go infinite, ended by stop", _endless, "warn"),
    Step("ping-thinking", "isready while it thinks", _thinking_ping, "warn"),
    Step("ponder-hit", "a ponder hit", _hit, "warn"),
    Step("ponder-miss", "a ponder miss", _missed, "warn"),
)
