"""Tests of engines/strays: small files of the kernel about processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from enginetour.engines.strays import PAGE, read_proc


def test_a_process_is_told_of() -> None:
    """The line of a process begins with its number."""
    assert read_proc(f"/proc/{os.getpid()}/stat").split()[0] == str(os.getpid()).encode()


@pytest.mark.parametrize("size", [0, PAGE - 3, PAGE, PAGE + 1, 3 * PAGE - 7])
def test_a_long_list_is_read_to_its_end(tmp_path: Path, size: int) -> None:
    """A list of children longer than one page is read completely."""
    (tmp_path / "children").write_bytes(bytes(size))
    assert len(read_proc(str(tmp_path / "children"))) == size


def test_who_is_gone_says_nothing() -> None:
    """A process that has ended, an unreadable file and a missing file give no bytes."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert [read_proc(path) for path in (f"/proc/{gone.pid}/stat", "/proc/self/mem", "/proc/none")] == [b""] * 3
