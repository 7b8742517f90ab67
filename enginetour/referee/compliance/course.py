"""Run the compliance checks of an engine (`engines check`), in the order of its protocol."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import partial

import chess

from enginetour.engines import cecp_lines
from enginetour.engines.cecp_lines import Features
from enginetour.engines.position import read_move
from enginetour.engines.process import kill_running_engines
from enginetour.model.errors import EngineCrashed, EngineFault
from enginetour.model.task import ProbeTask
from enginetour.referee.compliance import common, exam
from enginetour.referee.compliance.common import CALM, answers_ping, position
from enginetour.referee.compliance.exam import (
    Compliance,
    ComplianceTask,
    EngineSession,
    HintValue,
    NotSupported,
    Step,
    StepFault,
    StepResult,
    Verdict,
)
from enginetour.referee.link import Link
from enginetour.referee.probe import probe

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


def _uci_named(session: EngineSession, field: str, fault: str) -> str:
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


def _uci_thinking_ping(session: EngineSession) -> str:
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


UCI_DECLARED: tuple[Step, ...] = (
    Step(
        "name", "it tells its name",
        partial(_uci_named, field="own_name", fault="no id name: lists and records call it by its file's"), "warn",
    ),
    Step("author", "it tells its author", partial(_uci_named, field="author", fault="no id author"), "warn"),
)  # fmt: skip
UCI_STEPS: tuple[Step, ...] = (
    Step("info", "info lines as the protocol has them", _info, "warn"),
    Step("new-game", "ready after ucinewgame", _news),
    Step("idle-stop", "stop without a search", _idle_stop, "warn"),
    Step("second-uci", "uci a second time", partial(_answers, ["uci"], "uciok", "no second uciok"), "warn"),
    Step("strange-option", "an option it does not have", partial(_answers, _STRANGE, "readyok", _NO_READYOK), "warn"),
    Step("endless", "go infinite, ended by stop", _endless, "warn"),
    Step("ping-thinking", "isready while it thinks", _uci_thinking_ping, "warn"),
    Step("ponder-hit", "a ponder hit", _hit, "warn"),
    Step("ponder-miss", "a ponder miss", _missed, "warn"),
)


# Run the compliance checks of an engine (`engines check`), in the order of its protocol.

LONG = "level 0 60 0"  # an hour: what it ends by itself it ends at once
_FRACTION_S = 0.5  # s a move by st; a quarter of it is a thought
FRESH = 5  # processes: one that dies of a line in two of five is missed by one course in thirteen
_MEMORY_MB = 32  # what the smallest of the surveyed takes at its default (engines spec 7)
LEVELS = {
    "moves": ("40 moves in 5 minutes", "level 40 5 0"),
    "seconds": ("minutes and seconds", "level 0 2:30 1"),
    "fraction": ("an increment of 0.05 s", "level 0 0:05 0.05"),
}


def _features_of(session: EngineSession) -> Features:
    return session.loose().features  # type: ignore[attr-defined, no-any-return]  # a CecpEngine


def _declares(session: EngineSession, name: str, without: str) -> str:
    if not _features_of(session).on(name):
        raise StepFault(f"{name}=0: {without}")
    return ""


def _named(session: EngineSession) -> str:
    name = _features_of(session).values.get("myname", "")
    if not name:
        raise StepFault("no myname: lists and records call it by its file's")
    return name


def _done(session: EngineSession) -> str:
    values = _features_of(session).values
    if not values:
        raise StepFault("no feature line: taken as protocol 1 after 2 s of silence at each start")
    if values.get("done") != "1":
        raise StepFault("no done=1 at the end of its features")
    return f"{len(values)} features"


def _variants(session: EngineSession) -> str:
    listed = _features_of(session).values.get("variants", "")
    names = [name.strip() for name in listed.split(",") if name.strip()]
    if names and "normal" not in names:
        raise StepFault(f"normal is not among its variants: {listed[:60]}")
    return ", ".join(names[:8])


def _begin(session: EngineSession, *moves: str, level: str = LONG) -> Features:
    features = _features_of(session)
    told = []
    board = chess.Board()
    for text in moves:
        move = chess.Move.from_uci(text)
        word = board.san(move) if features.on("san") else text
        told.append(f"usermove {word}" if features.on("usermove") else word)
        board.push(move)
    session.send("new", "force", level, "post", "easy", *told)
    return features


def _is_move(line: str) -> bool:
    return cecp_lines.read_move(line) is not None


def _is_error(line: str) -> bool:
    return cecp_lines.read_refusal(line) is not None


def _level(session: EngineSession, line: str) -> str:
    _begin(session, level=line)
    if not answers_ping(session):
        raise StepFault(f"no answer to a ping after {line!r}")
    refused = [said for said in session.heard if _is_error(said) and "level" in said]
    if refused:
        raise StepFault(f"says {refused[0]!r} to {line!r}")
    return ""


def _quiet_force(session: EngineSession) -> str:
    _begin(session, "e2e4", "e7e5", "g1f3", "b8c6")
    said = session.pause(exam.QUIET_S)
    moved = [line for line in said if (found := cecp_lines.read_move(line)) is not None and not found[1]]
    if moved:
        raise StepFault(f"moves in force mode: {moved[0]!r}", "FAIL")
    refused = [line for line in said if _is_error(line) and not any(word in line for word in ("post", "easy"))]
    if refused:
        raise StepFault(f"refuses a legal move: {refused[0]!r}", "FAIL")
    return ""


def _claims(session: EngineSession) -> str:
    _begin(session, *("g1f3 g8f6 f3g1 f6g8 " * 2).split())
    said = session.pause(exam.QUIET_S)
    claims = [line for line in said if cecp_lines.read_result(line)]
    if claims:
        raise StepFault(f"claims in force mode: {claims[0]!r}; passed over there")
    return ""


def _illegal(session: EngineSession) -> str:
    features = _begin(session, "e2e4")
    session.send("usermove e7e2" if features.on("usermove") else "e7e2")
    refused = session.until(_is_error, exam.ANSWER_S)
    if refused is None:
        raise StepFault("takes an illegal move without a word")
    if not answers_ping(session):
        raise StepFault(f"says {refused!r}, then answers no ping")
    return refused


def _thinking(session: EngineSession, *moves: str) -> list[str]:
    _begin(session, *moves)
    session.send("time 360000", "otim 360000", "go")
    return session.pause(exam.THOUGHT_S)


def _now(session: EngineSession) -> str:
    said = _thinking(session, "e2e4", "e7e5")
    if any(_is_move(line) for line in said):
        raise NotSupported(f"moves within {exam.THOUGHT_S * 1000:.0f} ms, whatever its clock")
    session.send("?")
    if session.until(_is_move, exam.OWED_S) is None:
        raise StepFault(f"no move within {exam.OWED_S:g} s of ?: after a lost game it is started anew")
    return ""


def _thinking_ping(session: EngineSession) -> str:
    _thinking(session, "e2e4", "e7e5")
    ping, pong = _ping_of_thinking(session)
    session.send(ping)
    if session.until(lambda line: line == pong, exam.ANSWER_S) is None:
        raise StepFault("no pong while it thinks; it is never asked then")
    session.drop()
    return ""


def _ping_of_thinking(session: EngineSession) -> tuple[str, str]:
    """A ping without a look at the engine, which would start another process for one that thinks."""
    if not session.declares("ping"):
        raise NotSupported("it does not declare ping")
    return "ping 999", "pong 999"


def _result(session: EngineSession, *, thinking: bool) -> str:
    if thinking:
        _thinking(session, "e2e4", "e7e5")
    else:
        _begin(session, "e2e4", "e7e5")
    ping, pong = _ping_of_thinking(session)
    session.send("result 1/2-1/2 {Draw by adjudication}", "force", ping)
    if session.until(lambda line: line == pong, exam.ANSWER_S) is None:
        raise StepFault(f"no pong within {exam.ANSWER_S:g} s of result: started anew after such an end")
    said = [line for line in session.heard if _is_error(line) and "result" in line]
    session.drop()
    return f"says {said[0]!r}, which is passed over" if said else ""


def _draw(session: EngineSession) -> str:
    if _features_of(session).values.get("draw") == "0":
        raise NotSupported("draw=0: no offer is ever sent")
    _thinking(session, "e2e4", "e7e5")
    session.send("draw")
    said = session.pause(exam.QUIET_S)
    session.drop()
    if any(_is_move(line) for line in said):
        raise StepFault("moves at once when a draw is offered")
    return said[-1][:60] if said and _is_error(said[-1]) else ""


def _command(session: EngineSession, feature: str, line: str, hint: str = "") -> str:
    if not _features_of(session).on(feature):
        raise NotSupported(f"{feature} is not declared, {line.split()[0]} never sent")
    if feature == "smp" and session.spec.quirks.no_cores:
        raise NotSupported("its file says no_cores")
    hints = ((f"quirks.{hint}", True),) if hint else ()
    session.loose()
    session.send(line)
    if session.exits(exam.QUIET_S):
        raise StepFault(f"{line!r} ends it, though it declares {feature}", "FAIL", hints=hints)
    if not answers_ping(session):
        raise StepFault(f"no answer to a ping after {line!r}", "FAIL", hints=hints)
    return ""


def _computer(session: EngineSession) -> str:
    """It is sent at the start of every game; the surveyed engine that dies of it does so in two of five processes."""
    if session.spec.quirks.no_computer:
        raise NotSupported("its file says no_computer")
    for _ in range(FRESH):
        session.drop()
        session.loose()
        session.send("new", "force", "computer")
        if session.exits(exam.QUIET_S) or not answers_ping(session):
            raise StepFault("'computer' ends it, or its answers", "FAIL", hints=(("quirks.no_computer", True),))
    return ""


def _ponder(session: EngineSession) -> str:
    session.loose()
    session.send("hard", "easy")
    if not answers_ping(session):
        raise StepFault("no answer to a ping after hard and easy")
    return ""


def _output(session: EngineSession) -> str:
    found = session.move(position("", "e2e4 c7c5"), CALM)
    lines = found.raw.decode("utf-8", "replace").splitlines()
    told = [line for line in lines if cecp_lines.read_thinking(line) is not None]
    if not told:
        shown = f", as {lines[-1].strip()[:60]!r}" if lines else ""
        raise StepFault(f"no line of thought that can be read{shown}")
    return f"{len(told)} of {len(lines)} lines, as {' '.join(told[-1].split())[:40]}"


def _fraction(session: EngineSession) -> str:
    if session.spec.quirks.movetime == "level":
        raise NotSupported("a fixed time is told by level, as its file says")
    _begin(session, "e2e4", "e7e5", level=f"st {_FRACTION_S}")
    session.send("go")
    begun = time.monotonic()
    moved = session.until(_is_move, _FRACTION_S * 4)
    elapsed = time.monotonic() - begun
    if moved is None or session.spec.quirks.st_fraction:
        session.drop()
    if moved is None:
        raise NotSupported("no move within 2 s of st 0.5: whole seconds only")
    if elapsed < _FRACTION_S / 4:
        raise NotSupported(f"moves after {elapsed * 1000:.0f} ms with st 0.5: whole seconds only")
    if not session.spec.quirks.st_fraction:
        session.hints["quirks.st_fraction"] = True
    return f"{elapsed * 1000:.0f} ms"


CECP_DECLARED: tuple[Step, ...] = (
    Step("features", "it declares features, done=1 at the end", _done, "warn"),
    Step("name", "it tells its name", _named, "warn"),
    Step("ping", "ping", partial(_declares, name="ping", without="200 ms of quiet serve as fence"), "warn"),
    Step(
        "setboard", "setboard", partial(_declares, name="setboard", without="openings need moves, or edit tells them"),
        "warn",
    ),
    Step("variants", "normal chess is among its variants", _variants),
    Step("computer", "computer, to a fresh process", _computer),
)  # fmt: skip
CECP_STEPS: tuple[Step, ...] = (
    *(Step(f"level-{key}", f"level: {what}", partial(_level, line=line)) for key, (what, line) in LEVELS.items()),
    Step("force", "silent in force mode", _quiet_force, "warn"),
    Step("force-claims", "no claims in force mode", _claims, "warn"),
    Step("illegal", "an illegal move is refused in words", _illegal, "warn"),
    Step("output", "lines of thought that can be read", _output, "warn"),
    Step("ponder", "hard and easy", _ponder, "warn"),
    Step("memory", "memory, where declared", partial(_command, feature="memory", line=f"memory {_MEMORY_MB}")),
    Step("cores", "cores, where declared", partial(_command, feature="smp", line="cores 1", hint="no_cores")),
    Step("opponent", "name, where declared", partial(_command, feature="name", line="name Somebody")),
    Step("result-idle", "result between moves", partial(_result, thinking=False), "warn"),
    Step("result-thinking", "result while it thinks", partial(_result, thinking=True), "warn"),
    Step("ping-thinking", "ping while it thinks", _thinking_ping, "warn"),
    Step("move-now", "? while it thinks", _now, "warn"),
    Step("draw", "a draw is offered", _draw, "warn"),
    Step("st-fraction", "half a second a move by st", _fraction, "warn"),
)


# Run the compliance checks of an engine (`engines check`), in the order of its protocol.

HANDSHAKE = "start, handshake, options, quit"
TRIES = 2  # of a step that went wrong


def steps_of(protocol: str) -> tuple[Step, ...]:
    """All steps after the handshake, in their order: as in a game first, line by line then, the ends last."""
    uses_uci = protocol == "uci"
    return (
        *(UCI_DECLARED if uses_uci else CECP_DECLARED),
        *common.PLAY_STEPS,
        *common.OPTION_STEPS,
        *common.LINE_STEPS,
        *(UCI_STEPS if uses_uci else CECP_STEPS),
        *common.ENDING_STEPS,
    )


def run_checks(task: ComplianceTask, link: Link) -> Compliance:
    """The whole course, or the steps named; nothing of the engine is alive afterwards.

    An event "step" comes before each: its number, the handshake's is 0, how many there are, and what it is.
    Raises MachineFailure when told to stop now.
    """
    steps = [step for step in steps_of(task.spec.protocol) if not task.only or step.key in task.only]
    link.tell("step", (0, len(steps), HANDSHAKE))
    first = probe(ProbeTask(task.spec), link)
    hints: dict[str, HintValue] = {}
    passed = [_begun(first.problems, first.handshake_ms, hints)]
    if not first.problems:
        session = EngineSession(task, link)
        try:
            passed += _taken(session, steps)
        except BaseException:
            kill_running_engines()
            raise
        session.drop()
        hints |= session.hints
    return Compliance(
        task.spec.name,
        task.spec.protocol,
        first.own_name,
        first.author,
        first.handshake_ms,
        tuple(passed),
        tuple(hints.items()),
    )


def _begun(problems: Sequence[str], handshake_ms: int, hints: dict[str, HintValue]) -> StepResult:
    if any("line_delay_ms" in problem for problem in problems):
        hints["quirks.line_delay_ms"] = 100  # runner spec 7, as for the surveyed one
    words = "; ".join(problems) or f"ready after {handshake_ms} ms"
    return StepResult("handshake", HANDSHAKE, "FAIL" if problems else "ok", words)


def _taken(session: EngineSession, steps: Sequence[Step]) -> list[StepResult]:
    """Every step; what went wrong is tried once more, for a busy machine is nobody's fault."""
    passed = []
    for number, step in enumerate(steps, 1):
        session.link.tell("step", (number, len(steps), step.what))
        verdict, words, hints = _tried(session, step)
        if verdict in ("warn", "FAIL") and TRIES > 1:
            session.drop()
            again, words_again, hints = _tried(session, step)
            if again == "ok":
                words, hints = f"only at the second try, at the first: {words}", {}
                verdict = "warn"
            else:
                verdict, words = again, words_again
        session.hints |= hints
        if verdict in ("warn", "FAIL"):
            session.drop()  # what it owes would be heard in the next step
        passed.append(StepResult(step.key, step.what, verdict, words))
    return passed


def _tried(session: EngineSession, step: Step) -> tuple[Verdict, str, dict[str, HintValue]]:
    try:
        return "ok", step.run(session), {}
    except NotSupported as missing:
        return "not offered", str(missing), {}
    except StepFault as complaint:
        return complaint.gravity or step.gravity, complaint.words, dict(complaint.hints)
    except EngineFault as fault:
        words = f"{fault.detail}{session.last_words()}"
        session.drop()
        return step.gravity, f"it ended: {words}" if isinstance(fault, EngineCrashed) else words, {}
