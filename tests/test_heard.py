"""Signals of a run are counted one by one."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from enginetour.cli.output import Heard

LONG = 400_000  # rounds of a digest: a tenth of a second in C, in which Python calls no handler


@pytest.fixture(autouse=True)
def _noted() -> Iterator[None]:
    """What the tests' own parent ignores, as nohup does, is not noted: nothing is ignored here."""
    before = {
        number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    yield
    for number, action in before.items():
        signal.signal(number, action)


def sent(number: signal.Signals) -> None:
    """To this process, and delivered: the same one sent again before would be one to the kernel."""
    os.kill(os.getpid(), number)
    bit = 1 << (number - 1)
    while True:
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        if not int(lines["ShdPnd"], 16) & bit:
            return


@pytest.mark.parametrize(
    ("numbers", "hard"), [((signal.SIGINT,), False), ((signal.SIGINT,) * 2, True), ((signal.SIGHUP,), True)]
)
def test_every_one_counts_though_python_is_busy(numbers: tuple[signal.Signals, ...], hard: bool) -> None:
    """A second Ctrl-C during a long step in C is a second one; what was in force before is so again."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    heard, busy = Heard(), threading.Event()
    acts: list[int] = []
    heard.act = lambda: acts.append(len(heard.numbers))

    def send() -> None:
        busy.wait()
        for number in numbers:
            sent(number)

    with heard.noting():
        assert not heard
        sender = threading.Thread(target=send)
        sender.start()
        busy.set()
        hashlib.pbkdf2_hmac("sha256", b"", b"", LONG)
        sender.join()
    assert heard.numbers == list(numbers)
    assert heard.is_hard() is hard
    assert heard.code == 128 + numbers[-1]
    assert heard.name == numbers[-1].name
    assert acts[-1] == len(numbers)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert signal.set_wakeup_fd(-1) == -1
