"""Small files in which the kernel tells of processes and of itself."""

from __future__ import annotations

import os
import subprocess
import sys

from enginetour.supervise.kernelfile import PAGE, told


def test_a_page_of_what_it_says() -> None:
    """Whole where it is short; of a long one the beginning."""
    assert told(f"/proc/{os.getpid()}/stat").split()[0] == str(os.getpid()).encode()
    assert len(told("/proc/kallsyms")) <= PAGE


def test_who_is_gone_says_nothing() -> None:
    """A process that has ended, a file that cannot be read, no file at all."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert [told(path) for path in (f"/proc/{gone.pid}/stat", "/proc/self/mem", "/proc/none")] == [b""] * 3
