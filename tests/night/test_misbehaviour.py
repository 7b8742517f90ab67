"""A whole tournament with every kind of faulty engine, including the promised times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faults import KINDS, MARGIN_MS, SHORT, Course, Kind, course, judge, title

pytestmark = pytest.mark.night

# Seconds (reliability 6); the first is from the fault to the end of the game, including the end of the engine.
CRASH_SEEN_S, FORFEIT_S, READY_S, END_S = 0.2, 0.2, 3.0, 5.0
BUSY_S = 0.5  # additional time for a busy machine
STAMP = re.compile(r"(\d+\.\d+) > (.*)")
DEATHS = {"crash", "exit-0", "segv", "killed", "sigfpe", "eof", "kills-its-group", "dies-with-a-child"}
SILENCES = {
    "hang",
    "deaf",
    "stopped",
    "spins",
    "half-a-line",
    "drips",
}  # a flood of lines displaces `go` from the stored engine log


@pytest.mark.parametrize("kind", KINDS, ids=title)
def test_a_tournament_with_a_misbehaving_engine(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Verdicts are right, no process is left, and every promised time is kept."""
    found = course(kind, tmp_path, monkeypatch)
    judge(found)
    times = {"end": ([found.gone_s], END_S), "ready": (list(waits(found)), READY_S)}
    if kind.fault in DEATHS:
        times["crash seen"] = (list(seen(found)), CRASH_SEEN_S)
        assert times["crash seen"][0]
    if kind.fault in SILENCES and kind.tc == SHORT:
        times["forfeit"] = (list(forfeits(found)), FORFEIT_S)
        assert times["forfeit"][0]
    words = [f"{what} {max(each):.3f} s" for what, (each, _) in times.items() if each]
    with capsys.disabled():
        print(f"\n{kind.title}: {dict(found.ends)}, {', '.join(words)}, +{found.grown_kb} kB, "
              f"slot +{found.slot_grown_kb} kB")  # fmt: skip
    for what, (each, limit) in times.items():
        assert max(each, default=0.0) < limit + BUSY_S, what


def seen(found: Course) -> Iterator[float]:
    """Return the seconds from each fault to the end of its game as the slot reports it."""
    for mark in found.marks:
        yield next(stamp for stamp, name in found.stamps if name == "end" and stamp > mark) - mark


def waits(found: Course) -> Iterator[float]:
    """Return the seconds between two games with both engines ready, without pauses."""
    if not any(word == "void" for word, _ in found.kind.ends):
        for (before, last), (after, name) in zip(found.stamps, found.stamps[1:], strict=False):
            if (last, name) == ("end", "start"):
                yield after - before


def forfeits(found: Course) -> Iterator[float]:
    """Return the seconds from the flag and the time margin to `stop`, from the stamps of the engine log."""
    for incident in found.incidents:
        sent = [match.groups() for line in incident.traffic if (match := STAMP.match(line))]
        if incident.is_warning or not sent:
            continue
        stops = [float(stamp) for stamp, word in sent if word in ("stop", "?")]
        if stops:
            begun = max(float(stamp) for stamp, word in sent if float(stamp) < stops[-1])
            yield stops[-1] - begun - float(SHORT) - MARGIN_MS / 1000
