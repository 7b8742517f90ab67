"""Compliance checks for CECP (XBoard 4.9): features, forms of level, force mode, errors, claims."""

from __future__ import annotations

import time
from functools import partial

import chess

from enginetour.engines import cecp_lines
from enginetour.engines.cecp_lines import Features
from enginetour.referee.compliance import exam
from enginetour.referee.compliance.common import CALM, answers_ping, position
from enginetour.referee.compliance.exam import EngineSession, NotSupported, Step, StepFault

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


DECLARED: tuple[Step, ...] = (
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
STEPS: tuple[Step, ...] = (
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
