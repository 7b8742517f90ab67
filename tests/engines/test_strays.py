"""Small files in which the kernel tells of processes and of itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from enginetour.engines.strays import PAGE, read_proc


def test_a_process_is_told_of() -> None:
    """Its own line begins with its number."""
    assert read_proc(f"/proc/{os.getpid()}/stat").split()[0] == str(os.getpid()).encode()


@pytest.mark.parametrize("size", [0, PAGE - 3, PAGE, PAGE + 1, 3 * PAGE - 7])
def test_a_long_list_is_read_to_its_end(tmp_path: Path, size: int) -> None:
    """An engine may have more children than stand on one page."""
    (tmp_path / "children").write_bytes(bytes(size))
    assert len(read_proc(str(tmp_path / "children"))) == size


def test_who_is_gone_says_nothing() -> None:
    """A process that has ended, a file that cannot be read, no file at all."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert [read_proc(path) for path in (f"/proc/{gone.pid}/stat", "/proc/self/mem", "/proc/none")] == [b""] * 3
