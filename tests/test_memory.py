"""Memory that is freed stays with a command that makes one list."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# Four megabytes are written and freed time and again: pages of each round are fetched anew, or those of the first one.
ROUNDS = """
import resource, sys
from enginetour.cli.memory import keep_memory
if sys.argv[1] == "kept":
    keep_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(40):
    blocks = [bytearray(1 << 20) for _ in range(4)]
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries have other rules")
def test_pages_are_fetched_once() -> None:
    """With it a tenth of the page faults at most."""
    kept, plain = (
        int(subprocess.run([sys.executable, "-c", ROUNDS, word], check=True, capture_output=True, text=True).stdout)
        for word in ("kept", "plain")
    )
    assert kept < plain / 10
