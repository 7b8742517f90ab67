"""The kinds of misbehaviour, in the order of section 2 of the reliability spec, with what must come of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from enginetour.model.game import Opening
from enginetour.model.task import Quirks
from tests.misbehaviour import Ends, Kind
from tests.playing import Protocol

BOTH: tuple[Protocol, ...] = ("uci", "cecp")
UCI: tuple[Protocol, ...] = ("uci",)
CECP: tuple[Protocol, ...] = ("cecp",)
SHORT = "0.3"  # s on the clock of who is going to lose on time
HASTY = Quirks(handshake_timeout=1.0, ready_timeout=1.0)  # of who is going to miss it
SLOW = Quirks(handshake_timeout=4.0)
FRACTIONS = Quirks(handshake_timeout=20.0, ready_timeout=20.0, st_fraction=True)
ANEW = Quirks(restart=True)  # a process for every game: its end comes before the next
PLAY: Ends = {("play", ""): 4}
ILLEGAL: Ends = {("loss", "illegal-move"): 4}
CRASH: Ends = {("loss", "crash"): 4}
TIME: Ends = {("loss", "time"): 4}
LATE_ONCE: Ends = {("loss", "time"): 1, ("play", ""): 3}  # fenced and kept: its process goes wrong once
RESIGNS_ONCE: Ends = {("loss", "resign"): 1, ("play", ""): 3}
FALSE_CLAIM: Ends = {("loss", "false-claim"): 4}
# Three failed starts in a row set it aside, one more try when nothing else is left (reliability 1).
FAILED: Ends = {("void", "start-failure"): 4}
TIMED_OUT: Ends = {("void", "start-timeout"): 4}
BLACK_FIRST = Opening("black first", fen="rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1")
WITH_MOVES = Opening("four moves", moves=("e2e3", "e7e6", "d2d3", "d7d6"))
PAWNS = Opening("pawns on the seventh", fen="1nbqkbnr/P5pp/8/8/8/8/p5PP/1NBQKBNR w Kk - 0 1")
BISHOPS = Opening("bishops beside the kings", fen="4k1n1/7p/8/7b/7B/8/7P/4K1N1 w - - 0 1")
ONE = ("protocol-warning",)


def under_limits(fault: str, ends: Ends) -> list[Kind]:
    """The fault under each control but a clock; CECP knows no nodes. Short for those that will not move."""
    tc = "movetime=0.2" if ends == TIME else "movetime=20"
    hang = 0.4 if ends == TIME else 60.0
    return [
        *kinds(fault, BOTH, ends, tc=tc, quirks=FRACTIONS, variant="movetime"),
        *kinds(fault, UCI, ends, tc="nodes=100", hang_limit=hang, variant="nodes"),
        *kinds(fault, BOTH, ends, tc="depth=3", hang_limit=hang, variant="depth"),
    ]


def kinds(fault: str, protocols: tuple[Protocol, ...], ends: Ends, **more: Any) -> list[Kind]:
    """One kind for each protocol."""
    return [Kind(fault, protocol, ends, **more) for protocol in protocols]


STARTS = [
    *kinds("exit-at-start", BOTH, FAILED, blocked=True, says="exit 7"),
    *kinds("exit-0-at-start", BOTH, FAILED, blocked=True, says="exit 0"),
    *kinds("kill-at-start", BOTH, FAILED, blocked=True, says="SIGKILL"),
    *kinds("dies-after-banner", BOTH, FAILED, blocked=True, says="SIGSEGV"),
    *kinds("sigill", BOTH, FAILED, blocked=True, at=1, says="another CPU"),
    *kinds(
        "vanishes", BOTH, {("play", ""): 1, ("void", "start-failure"): 4}, blocked=True,
        quirks=ANEW, says="is missing",
    ),
    *kinds("no-uciok", UCI, TIMED_OUT, blocked=True, quirks=HASTY, says="no uciok within 1 s"),
    *kinds("silent", UCI, TIMED_OUT, blocked=True, quirks=HASTY, says="does it flush"),
    *kinds("silent", CECP, TIMED_OUT, blocked=True, quirks=HASTY, says="no feature line within 1 s"),
    *kinds("done-0", CECP, TIMED_OUT, blocked=True, quirks=HASTY, says="no done=1 within 1 s"),
    *kinds("chatter", UCI, TIMED_OUT, blocked=True, quirks=HASTY, says="no uciok within 1 s"),
    *kinds("chatter", CECP, TIMED_OUT, blocked=True, quirks=HASTY, says="no feature line within 1 s"),
    *kinds("unflushed", UCI, TIMED_OUT, blocked=True, quirks=HASTY, says="does it flush"),
    *kinds("no-pong", BOTH, TIMED_OUT, blocked=True, quirks=HASTY),
    *kinds("line-by-line", UCI, TIMED_OUT, blocked=True, quirks=HASTY, says="set line_delay_ms"),
    *kinds("line-by-line", CECP, TIMED_OUT, blocked=True, quirks=SLOW, says="set line_delay_ms"),
    *kinds("line-by-line", BOTH, PLAY, quirks=Quirks(line_delay_ms=30), variant="with-the-quirk"),
    *kinds("slow-start", BOTH, PLAY, seconds=0.7),
    *kinds("banner", BOTH, PLAY),
    *kinds("long-banner", BOTH, PLAY),
    *kinds("odd-options", UCI, PLAY, warnings=("protocol-warning",) * 2),
    *kinds("many-options", BOTH, PLAY),
    *kinds("refuses-setboard", CECP, {("void", "unsupported"): 12}, blocked=True, opening=BLACK_FIRST,
           says="cannot set position"),
    *kinds("ignores-position", UCI, {("loss", "illegal-move"): 2, ("play", ""): 2}, opening=BLACK_FIRST,
           says="may have ignored the position", at=0),
    *kinds("ignores-position", CECP, ILLEGAL, opening=BLACK_FIRST, says="may have ignored the position"),
    *kinds("no-setboard", CECP, PLAY, opening=WITH_MOVES),
    *kinds("no-setboard", CECP, PLAY, opening=BLACK_FIRST, variant="edit"),
    *kinds("dies-at-second-game", BOTH, PLAY, restarts=3),
    *kinds("hangs-at-second-game", BOTH, PLAY, restarts=3, quirks=HASTY),
    *kinds("no-pong-between-games", BOTH, PLAY, restarts=3, quirks=HASTY),
    *kinds("plays-on", BOTH, {("play", ""): 2, ("loss", "illegal-move"): 2}),
    *kinds("late-pong", BOTH, PLAY, seconds=0.2),
    *kinds("no-pong-in-game", BOTH, {("loss", "stall"): 4}, quirks=replace(HASTY, fence="wait")),
    *kinds("double-pong", BOTH, PLAY),
    *kinds("early-pong", BOTH, PLAY),
]  # fmt: skip

CRASHES = [
    *kinds("crash", BOTH, CRASH, says="exit 3"),
    *kinds("crash", BOTH, CRASH, at=1, variant="first-search"),
    *under_limits("crash", CRASH),
    *kinds("exit-0", BOTH, CRASH, says="exit 0"),
    *kinds("abort-call", BOTH, CRASH, says="SIGABRT"),
    *kinds("segv", BOTH, CRASH, says="SIGSEGV"),
    *kinds("stack-overflow", BOTH, CRASH, says="SIGSEGV"),
    *kinds("sigfpe", BOTH, CRASH, says="SIGFPE"),
    *kinds("killed", BOTH, CRASH, says="SIGKILL"),
    *kinds("kills-its-group", BOTH, CRASH, says="SIGKILL"),
    *kinds("out-of-memory", BOTH, CRASH, says="exit 1"),
    *kinds("out-of-cpu", BOTH, CRASH, says="SIGXCPU"),
    *kinds("dies-with-a-child", BOTH, CRASH, says="exit 6"),
    *kinds("answer-die", BOTH, CRASH, says="exit 5"),
    *kinds("eof", BOTH, CRASH, says="closed its output"),
    *kinds("closes-input", BOTH, CRASH, says="closed its input"),
    *kinds("closes-input-and-thinks", BOTH, CRASH, says="closed its input"),
    *kinds("half", BOTH, CRASH, says="exit 5"),
    *kinds("half-move", BOTH, CRASH, says="exit 5"),
]

TIMES = [
    *kinds("hang", BOTH, TIME, tc=SHORT, says="after the flag"),
    *kinds("deaf", BOTH, TIME, tc=SHORT, says="after the flag"),
    *kinds("stopped", BOTH, TIME, tc=SHORT, says="after the flag"),
    *kinds("spins", BOTH, TIME, tc=SHORT, says="after the flag"),
    *kinds("flood", BOTH, TIME, tc=SHORT),
    *kinds("half-a-line", BOTH, TIME, tc=SHORT),
    *kinds("drips", BOTH, TIME, tc=SHORT),
    *kinds("endless-line", BOTH, TIME, tc=SHORT, warnings=ONE),
    *kinds("late", BOTH, LATE_ONCE, tc=SHORT, seconds=0.7, says="ms over, after stop"),
    *kinds("late-then-dies", BOTH, TIME, tc=SHORT, seconds=0.39),
    *kinds("late-and-illegal", BOTH, LATE_ONCE, tc=SHORT, seconds=0.6),
    *kinds("always-slow", BOTH, TIME, tc=SHORT, seconds=0.14),
    *under_limits("hang", TIME),
    *under_limits("deaf", TIME),
    *under_limits("flood", TIME),
    *kinds("flood-then-move", BOTH, PLAY),
    *kinds("flood-on-stderr", BOTH, PLAY),
    *kinds("flood-out-of-turn", BOTH, TIME, tc=SHORT),
]

ANSWERS = [
    *kinds("illegal", BOTH, ILLEGAL),
    *under_limits("illegal", ILLEGAL),
    *kinds("illegal-then-dies", BOTH, ILLEGAL),
    *kinds("other-side", BOTH, ILLEGAL),
    *kinds("wrong-geometry", BOTH, ILLEGAL),
    *kinds("into-check", BOTH, ILLEGAL, opening=BISHOPS, at=1),
    *kinds("empty-square", BOTH, ILLEGAL),
    *kinds("a1a1", BOTH, ILLEGAL),
    *kinds("garbage", BOTH, ILLEGAL),
    *kinds("none", BOTH, ILLEGAL),
    *kinds("null", BOTH, ILLEGAL),
    *kinds("null-word", BOTH, ILLEGAL),
    *kinds("null-capitals", BOTH, ILLEGAL),
    *kinds("no-move", UCI, ILLEGAL),
    *kinds("resign-word", UCI, ILLEGAL),
    *kinds("promotes-to-nothing", BOTH, ILLEGAL, opening=PAWNS),
    *kinds("promotes-to-nothing", BOTH, PLAY, opening=PAWNS, quirks=Quirks(lenient_promotion=True), warnings=ONE,
           variant="lenient"),
    *kinds("promotes-to-a-king", BOTH, ILLEGAL, opening=PAWNS),
    *kinds("promotes-capital", BOTH, PLAY, opening=PAWNS, warnings=ONE),
    *kinds("promotes-equals", BOTH, PLAY, opening=PAWNS, warnings=ONE),
    *kinds("promotes-san", BOTH, PLAY, opening=PAWNS, warnings=ONE),
    *kinds("promotes-bracket", BOTH, PLAY, opening=PAWNS, warnings=ONE),
    *kinds("upper", BOTH, PLAY, warnings=ONE),
    *kinds("san", BOTH, PLAY, warnings=ONE),
    *kinds("crlf", BOTH, PLAY),
    *kinds("spaces", BOTH, PLAY),
    *kinds("bad-utf8", BOTH, PLAY),
    *kinds("two", BOTH, PLAY, warnings=ONE),
    *kinds("stale-first", BOTH, PLAY, warnings=ONE),
    *kinds("speaks-after-its-answer", BOTH, PLAY),
    *kinds("ten-megabyte-line", BOTH, PLAY, warnings=ONE),
    *kinds("absurd", BOTH, PLAY),
    *kinds("mate-claim", BOTH, PLAY),
    *kinds("no-ping", CECP, PLAY),
    *kinds("no-features", CECP, PLAY, warnings=ONE),
    *kinds("late-features", CECP, PLAY, warnings=ONE),
    *kinds("numbered", CECP, PLAY, warnings=ONE),
    *kinds("my-move-is", CECP, PLAY),
    *kinds("echo", CECP, PLAY),
    *kinds("dotted-depth", CECP, PLAY),
]  # fmt: skip

CLAIMS = [
    *kinds("resign", CECP, RESIGNS_ONCE),
    *kinds("own-loss", CECP, RESIGNS_ONCE),
    *kinds("win", CECP, FALSE_CLAIM),
    *kinds("move-and-win", CECP, FALSE_CLAIM),
    *kinds("draw-silent", CECP, FALSE_CLAIM, tc=SHORT),
    *kinds("draw-move", CECP, PLAY),
    *kinds("blames", CECP, FALSE_CLAIM),
    *kinds("error-blames", CECP, FALSE_CLAIM),
    *kinds("abort", CECP, {("void", "engine-abort"): 8, ("loss", "engine-abort"): 4}),
    *kinds("offer", CECP, PLAY),
    *kinds("offer-and-move", CECP, PLAY),
    *kinds("unsupported", CECP, PLAY, warnings=ONE),
    *kinds("tells-users", CECP, PLAY, warnings=("protocol-warning",) * 2),
]

PROCESSES = [
    *kinds("ignores-quit", BOTH, PLAY, warnings=("shutdown-warning",), quirks=ANEW),
    *kinds("ignores-everything", BOTH, PLAY, warnings=("shutdown-warning",), quirks=ANEW),
    *kinds("holds-the-pipes", BOTH, PLAY),
    *kinds("leaves-a-child", BOTH, PLAY, warnings=("orphan-warning",), quirks=ANEW),
    *kinds("signals-its-group", BOTH, PLAY),
    *kinds("reads-the-terminal", BOTH, PLAY),
    *kinds("litters", BOTH, PLAY),
    *kinds("hostile-names", UCI, PLAY),
    *kinds("hostile-names", CECP, PLAY),
]

KINDS = [*STARTS, *CRASHES, *TIMES, *ANSWERS, *CLAIMS, *PROCESSES]
