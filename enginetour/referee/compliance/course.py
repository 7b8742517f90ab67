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

# Keywords of `info` with the number of values after each. After a keyword in _TAILS, any text may follow.
_NUMBERS = {
    "depth": 1, "seldepth": 1, "time": 1, "nodes": 1, "multipv": 1, "currmovenumber": 1, "hashfull": 1, "nps": 1,
    "tbhits": 1, "sbhits": 1, "cpuload": 1, "wdl": 3, "cp": 1, "mate": 1, "score": 0, "lowerbound": 0, "upperbound": 0,
}  # fmt: skip
_TAILS = frozenset({"pv", "string", "refutation", "currline"})
_NUMBER = re.compile(r"[+-]?\d+")
_RESTARTED = "; the engine is restarted after a game that ends during its search"
_MOVE = re.compile(r"(?:[a-h][1-8]){2}[nbrqNBRQ]?|[PNBRQ]@[a-h][1-8]|0000")


def _odd_info(line: str) -> str:
    """Return a description of what violates the UCI protocol in an ``info`` line, or "" if the line is valid."""
    words = line.split()[1:]
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word in _TAILS:
            moves = words[at:] if word == "pv" else []
            return next((f"invalid move {text!r} in a variation" for text in moves if not _MOVE.fullmatch(text)), "")
        if word == "currmove":
            at += 1
            continue
        if word not in _NUMBERS:
            return f"unknown keyword {word!r}"
        for value in words[at : at + _NUMBERS[word]] or [""] * _NUMBERS[word]:
            if not _NUMBER.fullmatch(value):
                return f"invalid value {value!r} of {word}"
        at += _NUMBERS[word]
    return ""


def _uci_named(session: EngineSession, field: str, fault: str) -> str:
    name = str(getattr(session.ready(), field))
    if not name:
        raise StepFault(fault)
    return name


def _info(session: EngineSession) -> str:
    found = session.move(position("", "e2e4 c7c5"), CALM)
    lines = [line for line in found.raw.decode("utf-8", "replace").splitlines() if line.split(None, 1)[:1] == ["info"]]
    for line in lines:
        if odd := _odd_info(line):
            raise StepFault(f"{odd} in {line.strip()[:80]!r}")
    if not lines:
        raise StepFault("no info line before the move")
    return f"{len(lines)} info lines"


def _none_early(session: EngineSession, when: str) -> None:
    early = [line for line in session.pause(exam.QUIET_S) if line.startswith("bestmove")]
    if early:
        raise StepFault(f"{early[0]!r} {when}")


def _endless(session: EngineSession) -> str:
    session.loose()
    session.send("position startpos", "go infinite")
    _none_early(session, "before stop")
    session.send("stop")
    session.expect("bestmove", f"{_stopped_not()}{_RESTARTED}", exam.OWED_S)
    return ""


def _stopped_not() -> str:
    return f"no bestmove within {exam.OWED_S:g} s after stop"


def _uci_thinking_ping(session: EngineSession) -> str:
    session.loose()
    session.send("position startpos", "go infinite")
    session.pause(exam.THOUGHT_S)
    session.send("isready")
    session.expect("readyok", "no readyok during a search (enginetour does not send isready then)")
    session.send("stop")
    if session.until(lambda line: line.startswith("bestmove"), exam.OWED_S) is None:
        session.drop()
    return ""


_STRANGE, _NO_READYOK = (
    ["setoption name No Such Option value 1", "isready"],
    "no readyok after an unknown option",
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
        raise StepFault(f"{late[0]!r} without a search")
    return ""


def _news(session: EngineSession) -> str:
    session.loose()
    session.send("ucinewgame", "isready")
    limit = session.spec.quirks.ready_timeout
    hints = (("quirks.ready_timeout", min(600.0, 6 * limit)),)
    session.expect("readyok", f"no readyok within {limit:g} s after ucinewgame", limit, hints=hints)
    return ""


def _pondering(session: EngineSession) -> None:
    engine = session.loose()
    if not any(option.name.casefold() == "ponder" and option.kind == "check" for option in engine.declared):
        raise NotSupported("the engine does not declare the option Ponder")
    session.send("setoption name Ponder value true", "position startpos moves e2e4 e7e5 g1f3")
    session.send("go ponder wtime 2000 btime 2000")
    _none_early(session, "during pondering (in a game, it is used after ponderhit)")


def _hit(session: EngineSession) -> str:
    _pondering(session)
    session.send("ponderhit")
    line = session.expect("bestmove", f"no bestmove within {exam.MOVE_S:g} s after ponderhit", exam.MOVE_S)
    session.send("setoption name Ponder value false")
    words = line.split()
    board = position("", "e2e4 e7e5 g1f3").board
    move, _ = read_move(board, words[1] if len(words) > 1 else "")
    if move is None:
        raise StepFault(f"illegal move: {line!r}")
    board.push(move)
    if len(words) > 3 and words[2] == "ponder" and read_move(board, words[3])[0] is None:
        raise StepFault(f"illegal ponder move: {line!r}")
    return line.removeprefix("bestmove ")


def _missed(session: EngineSession) -> str:
    _pondering(session)
    session.send("stop")
    session.expect("bestmove", _stopped_not(), exam.OWED_S)
    session.send("setoption name Ponder value false")
    return ""


UCI_DECLARED: tuple[Step, ...] = (
    Step(
        "name", "reports its name",
        partial(_uci_named, field="own_name", fault="no id name; tables use the name of the engine file"), "warn",
    ),
    Step("author", "reports its author", partial(_uci_named, field="author", fault="no id author"), "warn"),
)  # fmt: skip
UCI_STEPS: tuple[Step, ...] = (
    Step("info", "sends valid info lines", _info, "warn"),
    Step("new-game", "is ready after ucinewgame", _news),
    Step("idle-stop", "accepts stop without a search", _idle_stop, "warn"),
    Step(
        "second-uci",
        "answers uci a second time",
        partial(_answers, ["uci"], "uciok", "no uciok after a second uci"),
        "warn",
    ),
    Step("strange-option", "ignores an unknown option", partial(_answers, _STRANGE, "readyok", _NO_READYOK), "warn"),
    Step("endless", "ends go infinite after stop", _endless, "warn"),
    Step("ping-thinking", "answers isready during a search", _uci_thinking_ping, "warn"),
    Step("ponder-hit", "moves after ponderhit", _hit, "warn"),
    Step("ponder-miss", "ends pondering after stop", _missed, "warn"),
)


# Checks for CECP engines.

LONG = "level 0 60 0"  # one hour, so that no search ends because of the clock
_FRACTION_S = 0.5  # s per move with `st`; an engine that supports fractions thinks for at least a quarter of this time
FRESH = 5  # number of new processes; an engine that crashes in two of five starts passes with probability 1/13
_MEMORY_MB = 32  # MB; the smallest default of the surveyed engines (engines spec 7)
LEVELS = {
    "moves": ("40 moves in 5 minutes", "level 40 5 0"),
    "seconds": ("minutes and seconds", "level 0 2:30 1"),
    "fraction": ("increment of 0.05 s", "level 0 0:05 0.05"),
}


def _features_of(session: EngineSession) -> Features:
    return session.loose().features  # type: ignore[attr-defined, no-any-return]  # a CecpEngine


def _declares(session: EngineSession, name: str, without: str) -> str:
    if not _features_of(session).on(name):
        raise StepFault(f"{name} is not declared; {without}")
    return ""


def _named(session: EngineSession) -> str:
    name = _features_of(session).values.get("myname", "")
    if not name:
        raise StepFault("no myname; tables use the name of the engine file")
    return name


def _done(session: EngineSession) -> str:
    values = _features_of(session).values
    if not values:
        raise StepFault("no feature line; each start takes 2 s longer, and protocol 1 is assumed")
    if values.get("done") != "1":
        raise StepFault("the features do not end with done=1")
    return f"{len(values)} features"


def _variants(session: EngineSession) -> str:
    listed = _features_of(session).values.get("variants", "")
    names = [name.strip() for name in listed.split(",") if name.strip()]
    if names and "normal" not in names:
        raise StepFault(f"normal is missing in the feature variants: {listed[:60]}")
    return ", ".join(names[:8])


def _begin(session: EngineSession, *moves: str, level: str = LONG) -> Features:
    features = _features_of(session)
    lines = []
    board = chess.Board()
    for text in moves:
        move = chess.Move.from_uci(text)
        word = board.san(move) if features.on("san") else text
        lines.append(f"usermove {word}" if features.on("usermove") else word)
        board.push(move)
    session.send("new", "force", level, "post", "easy", *lines)
    return features


def _is_move(line: str) -> bool:
    return cecp_lines.read_move(line) is not None


def _is_error(line: str) -> bool:
    return cecp_lines.read_refusal(line) is not None


def _level(session: EngineSession, line: str) -> str:
    _begin(session, level=line)
    if not answers_ping(session):
        raise StepFault(f"no answer to a ping after {line!r}")
    refused = [text for text in session.heard if _is_error(text) and "level" in text]
    if refused:
        raise StepFault(f"answers {refused[0]!r} to {line!r}")
    return ""


def _quiet_force(session: EngineSession) -> str:
    _begin(session, "e2e4", "e7e5", "g1f3", "b8c6")
    lines = session.pause(exam.QUIET_S)
    moved = [line for line in lines if (found := cecp_lines.read_move(line)) is not None and not found[1]]
    if moved:
        raise StepFault(f"moves in force mode: {moved[0]!r}", "FAIL")
    refused = [line for line in lines if _is_error(line) and not any(word in line for word in ("post", "easy"))]
    if refused:
        raise StepFault(f"rejects a legal move: {refused[0]!r}", "FAIL")
    return ""


def _claims(session: EngineSession) -> str:
    _begin(session, *("g1f3 g8f6 f3g1 f6g8 " * 2).split())
    lines = session.pause(exam.QUIET_S)
    claims = [line for line in lines if cecp_lines.read_result(line)]
    if claims:
        raise StepFault(f"claims a result in force mode: {claims[0]!r} (ignored)")
    return ""


def _illegal(session: EngineSession) -> str:
    features = _begin(session, "e2e4")
    session.send("usermove e7e2" if features.on("usermove") else "e7e2")
    refused = session.until(_is_error, exam.ANSWER_S)
    if refused is None:
        raise StepFault("accepts an illegal move without an error message")
    if not answers_ping(session):
        raise StepFault(f"answers {refused!r}, but not the next ping")
    return refused


def _thinking(session: EngineSession, *moves: str) -> list[str]:
    _begin(session, *moves)
    session.send("time 360000", "otim 360000", "go")
    return session.pause(exam.THOUGHT_S)


def _now(session: EngineSession) -> str:
    lines = _thinking(session, "e2e4", "e7e5")
    if any(_is_move(line) for line in lines):
        raise NotSupported(f"moves within {exam.THOUGHT_S * 1000:.0f} ms even with an hour on the clock")
    session.send("?")
    if session.until(_is_move, exam.OWED_S) is None:
        raise StepFault(f"no move within {exam.OWED_S:g} s after ?{_RESTARTED}")
    return ""


def _thinking_ping(session: EngineSession) -> str:
    _thinking(session, "e2e4", "e7e5")
    ping, pong = _ping_of_thinking(session)
    session.send(ping)
    if session.until(lambda line: line == pong, exam.ANSWER_S) is None:
        raise StepFault("no pong during a search (enginetour does not send ping then)")
    session.drop()
    return ""


def _ping_of_thinking(session: EngineSession) -> tuple[str, str]:
    """Return a ping and the expected answer, without calling `loose`, which would end a process that is thinking."""
    session.require_ping()
    return "ping 999", "pong 999"


def _result(session: EngineSession, *, thinking: bool) -> str:
    if thinking:
        _thinking(session, "e2e4", "e7e5")
    else:
        _begin(session, "e2e4", "e7e5")
    ping, pong = _ping_of_thinking(session)
    session.send("result 1/2-1/2 {Draw by adjudication}", "force", ping)
    if session.until(lambda line: line == pong, exam.ANSWER_S) is None:
        raise StepFault(f"no pong within {exam.ANSWER_S:g} s after result{_RESTARTED}")
    errors = [line for line in session.heard if _is_error(line) and "result" in line]
    session.drop()
    return f"answers {errors[0]!r} (ignored)" if errors else ""


def _draw(session: EngineSession) -> str:
    if _features_of(session).values.get("draw") == "0":
        raise NotSupported("the engine declares draw=0; enginetour never sends it a draw offer")
    _thinking(session, "e2e4", "e7e5")
    session.send("draw")
    lines = session.pause(exam.QUIET_S)
    session.drop()
    if any(_is_move(line) for line in lines):
        raise StepFault("moves at once after a draw offer")
    return lines[-1][:60] if lines and _is_error(lines[-1]) else ""


def _command(session: EngineSession, feature: str, line: str, hint: str = "") -> str:
    if not _features_of(session).on(feature):
        raise NotSupported(f"{feature} is not declared; enginetour never sends {line.split()[0]}")
    if feature == "smp" and session.spec.quirks.no_cores:
        raise NotSupported("no_cores is set in the engine file")
    hints = ((f"quirks.{hint}", True),) if hint else ()
    session.loose()
    session.send(line)
    if session.exits(exam.QUIET_S):
        raise StepFault(f"exits after {line!r}, although it declares {feature}", "FAIL", hints=hints)
    if not answers_ping(session):
        raise StepFault(f"no answer to a ping after {line!r}", "FAIL", hints=hints)
    return ""


def _computer(session: EngineSession) -> str:
    """Send `computer` to several new processes. A surveyed engine crashes after it in two of five starts."""
    if session.spec.quirks.no_computer:
        raise NotSupported("no_computer is set in the engine file")
    for _ in range(FRESH):
        session.drop()
        session.loose()
        session.send("new", "force", "computer")
        if session.exits(exam.QUIET_S) or not answers_ping(session):
            raise StepFault("exits or stops answering after 'computer'", "FAIL", hints=(("quirks.no_computer", True),))
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
    readable = [line for line in lines if cecp_lines.read_thinking(line) is not None]
    if not readable:
        shown = f"; last line: {lines[-1].strip()[:60]!r}" if lines else ""
        raise StepFault(f"no readable search output{shown}")
    return f"{len(readable)} of {len(lines)} lines readable, for example {' '.join(readable[-1].split())[:40]}"


def _fraction(session: EngineSession) -> str:
    if session.spec.quirks.movetime == "level":
        raise NotSupported('movetime = "level" is set in the engine file')
    _begin(session, "e2e4", "e7e5", level=f"st {_FRACTION_S}")
    session.send("go")
    begun = time.monotonic()
    moved = session.until(_is_move, _FRACTION_S * 4)
    elapsed = time.monotonic() - begun
    if moved is None or session.spec.quirks.st_fraction:
        session.drop()
    if moved is None:
        raise NotSupported("no move within 2 s after st 0.5; accepts whole seconds only")
    if elapsed < _FRACTION_S / 4:
        raise NotSupported(f"moves after {elapsed * 1000:.0f} ms with st 0.5; accepts whole seconds only")
    if not session.spec.quirks.st_fraction:
        session.hints["quirks.st_fraction"] = True
    return f"{elapsed * 1000:.0f} ms"


CECP_DECLARED: tuple[Step, ...] = (
    Step("features", "declares features that end with done=1", _done, "warn"),
    Step("name", "reports its name", _named, "warn"),
    Step(
        "ping", "declares ping",
        partial(_declares, name="ping", without="enginetour waits for 200 ms of silence instead"), "warn",
    ),
    Step(
        "setboard", "declares setboard",
        partial(_declares, name="setboard", without="openings must be moves, or positions that `edit` can express"),
        "warn",
    ),
    Step("variants", "lists normal chess in its variants", _variants),
    Step("computer", "accepts computer in a new process", _computer),
)  # fmt: skip
CECP_STEPS: tuple[Step, ...] = (
    *(
        Step(f"level-{key}", f"accepts level: {what}", partial(_level, line=line))
        for key, (what, line) in LEVELS.items()
    ),
    Step("force", "does not move in force mode", _quiet_force, "warn"),
    Step("force-claims", "claims no result in force mode", _claims, "warn"),
    Step("illegal", "rejects an illegal move", _illegal, "warn"),
    Step("output", "sends readable search output", _output, "warn"),
    Step("ponder", "accepts hard and easy", _ponder, "warn"),
    Step("memory", "accepts memory, if declared", partial(_command, feature="memory", line=f"memory {_MEMORY_MB}")),
    Step("cores", "accepts cores, if declared", partial(_command, feature="smp", line="cores 1", hint="no_cores")),
    Step("opponent", "accepts name, if declared", partial(_command, feature="name", line="name Somebody")),
    Step("result-idle", "accepts result between moves", partial(_result, thinking=False), "warn"),
    Step("result-thinking", "accepts result during a search", partial(_result, thinking=True), "warn"),
    Step("ping-thinking", "answers ping during a search", _thinking_ping, "warn"),
    Step("move-now", "moves at once after ?", _now, "warn"),
    Step("draw", "accepts a draw offer", _draw, "warn"),
    Step("st-fraction", "accepts half a second per move with st", _fraction, "warn"),
)


HANDSHAKE = "start, handshake, options, quit"
TRIES = 2  # attempts for a check that fails


def steps_of(protocol: str) -> tuple[Step, ...]:
    """Return all checks of a protocol that follow the handshake, in the order in which they run.

    Checks with moves come first, then checks of single lines, then checks that end the process.
    """
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
    """Run all checks of an engine, or only the checks named in the task. All engine processes are ended afterwards.

    Before each check, an event "step" is sent with its number (0 for the handshake), the number of checks, and its
    description. Raises MachineFailure if a stop is requested.
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
        task.spec.protocol,
        first.own_name,
        first.author,
        first.handshake_ms,
        tuple(passed),
        tuple(hints.items()),
    )


def _begun(problems: Sequence[str], handshake_ms: int, hints: dict[str, HintValue]) -> StepResult:
    if any("line_delay_ms" in problem for problem in problems):
        hints["quirks.line_delay_ms"] = 100  # the value of the surveyed engine that needs it (runner spec 7)
    text = "; ".join(problems) or f"ready after {handshake_ms} ms"
    return StepResult("handshake", HANDSHAKE, "FAIL" if problems else "ok", text)


def _taken(session: EngineSession, steps: Sequence[Step]) -> list[StepResult]:
    """Run every check. A failed check is repeated once, because a busy machine can also cause a failure."""
    passed = []
    for number, step in enumerate(steps, 1):
        session.link.tell("step", (number, len(steps), step.what))
        verdict, text, hints = _tried(session, step)
        if verdict in ("warn", "FAIL") and TRIES > 1:
            session.drop()
            again, text_again, hints = _tried(session, step)
            if again == "ok":
                text, hints = f"passed only on the second attempt; first attempt: {text}", {}
                verdict = "warn"
            else:
                verdict, text = again, text_again
        session.hints |= hints
        if verdict in ("warn", "FAIL"):
            session.drop()  # late answers of this process would disturb the next check
        passed.append(StepResult(step.key, step.what, verdict, text))
    return passed


def _tried(session: EngineSession, step: Step) -> tuple[Verdict, str, dict[str, HintValue]]:
    try:
        return "ok", step.run(session), {}
    except NotSupported as missing:
        return "not offered", str(missing), {}
    except StepFault as complaint:
        return complaint.gravity or step.gravity, complaint.words, dict(complaint.hints)
    except EngineFault as fault:
        text = f"{fault.detail}{session.last_words()}"
        session.drop()
        return step.gravity, f"process ended: {text}" if isinstance(fault, EngineCrashed) else text, {}
