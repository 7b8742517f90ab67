"""Steps of both protocols: how lines may come: together, in pieces, with other ends, empty, unknown."""

from __future__ import annotations

import itertools

from enginetour.referee.compliance.exam import ANSWER_S, Exam, Step
from enginetour.referee.compliance.verdicts import Complaint, NotOffered

_numbers = itertools.count(1_001)  # of pings: above those of the adapter
TOGETHER = 4  # pings in one write
PIECE_S = 0.05  # between two pieces of a line: a reader takes the first before the second comes


def ping_of(exam: Exam) -> tuple[str, str]:
    """A ping and its pong, for an engine that is there already. NotOffered for a CECP engine without."""
    if exam.spec.protocol == "uci":
        return "isready", "readyok"
    if not exam.declares("ping"):
        raise NotOffered("it does not declare ping")
    number = next(_numbers)
    return f"ping {number}", f"pong {number}"


def pinged(exam: Exam) -> bool:
    """Whether it answers a ping now; True for an engine without ping that lives."""
    try:
        ping, pong = ping_of(exam)
    except NotOffered:
        exam.pause(ANSWER_S / 4)
        return True
    exam.send(ping)
    return exam.until(lambda line: line == pong, exam.spec.quirks.ready_timeout) is not None


def _pong(exam: Exam, pong: str, what: str) -> str:
    quirks = exam.spec.quirks  # what it was told before may still wait in front of it, where lines go one by one
    seconds = quirks.ready_timeout if quirks.line_delay_ms else ANSWER_S
    if exam.until(lambda line: line == pong, seconds) is None:
        raise Complaint(f"no answer to a ping {what}".rstrip())
    return ""


def _together(exam: Exam) -> str:
    exam.loose()
    if exam.spec.quirks.line_delay_ms:
        raise NotOffered(f"reads one line at a time, as its file says: {exam.spec.quirks.line_delay_ms} ms between two")
    asked = [ping_of(exam) for _ in range(TOGETHER)]
    exam.send(*(ping for ping, _ in asked))
    for number, (_, pong) in enumerate(asked):
        if exam.until(lambda line, pong=pong: line == pong, ANSWER_S) is None:  # type: ignore[misc]  # bound at once
            exam.write("\n")
            woken = exam.until(lambda line, pong=pong: line == pong, ANSWER_S) is not None  # type: ignore[misc]  # as above
            words = f"answers {number} of {TOGETHER} pings in one write"
            hints = (("quirks.line_delay_ms", 100),)  # runner spec 7, as for the surveyed one
            raise Complaint(f"{words}{', the next after an empty line' if woken else ''}", hints=hints)
    return ""


def _pieces(exam: Exam) -> str:
    exam.loose()
    ping, pong = ping_of(exam)
    exam.write(ping[:3])
    exam.pause(PIECE_S)
    exam.write(f"{ping[3:]}\n")
    return _pong(exam, pong, "that came in two pieces")


def _returns(exam: Exam) -> str:
    exam.loose()
    ping, pong = ping_of(exam)
    exam.send(ping, end="\r\n")
    return _pong(exam, pong, "that ended with CR LF")


def _empty(exam: Exam) -> str:
    exam.loose()
    ping, pong = ping_of(exam)
    exam.send("", "", ping)
    return _pong(exam, pong, "after empty lines")


def _unknown(exam: Exam) -> str:
    exam.loose()
    ping, pong = ping_of(exam)
    exam.send("xyzzy plugh", ping)
    _pong(exam, pong, "after an unknown command")
    return f"says {exam.heard[0]!r}" if exam.heard else "passes it over"


def _once(exam: Exam) -> str:
    exam.loose()
    ping, pong = ping_of(exam)
    exam.send(ping)
    _pong(exam, pong, "")
    more = [line for line in exam.pause(0.1) if line == pong]
    if more:
        raise Complaint(f"answers it {len(more) + 1} times: they are counted, and each game waits 20 ms longer")
    return ""


STEPS: tuple[Step, ...] = (
    Step("lines-together", "several lines in one write", _together),
    Step("lines-pieces", "a line in two writes", _pieces, "warn"),
    Step("lines-crlf", "lines that end with CR LF", _returns, "warn"),
    Step("lines-empty", "empty lines", _empty, "warn"),
    Step("lines-unknown", "a command nobody knows", _unknown, "warn"),
    Step("ping-once", "one answer to one ping", _once, "warn"),
)
