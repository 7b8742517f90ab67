"""Bounds on files of others: the size of a whole one, and how far a packed one may unpack."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from enginetour.errors import InputRefused
from enginetour.interop.pgnscan import scan
from enginetour.suitefile import read_suite
from enginetour.wholefile import MOST_TIMES, UNPACKED_AT_LEAST, read_whole, refuse_bomb


def test_as_large_as_may_be(tmp_path: Path) -> None:
    """One byte more is refused by name, and a device that never ends too."""
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_whole(path, 100) == b"x" * 100
    for large, most in ((path, 99), (Path("/dev/zero"), 10_000)):
        with pytest.raises(InputRefused, match=f"{large}: more than {most:,} bytes"):
            read_whole(large, most)


def test_what_is_no_bomb() -> None:
    """What packs well is read if it is small, what is large if it packs as texts do."""
    refuse_bomb(Path("small"), 1, UNPACKED_AT_LEAST)
    refuse_bomb(Path("large"), 10**9, MOST_TIMES * 10**9)
    with pytest.raises(InputRefused, match="unpack it first"):
        refuse_bomb(Path("bomb"), 10**6, MOST_TIMES * 10**6 + 1)


def test_bombs(tmp_path: Path) -> None:
    """A thousand to one is found early by whoever unpacks; the way to read it all the same is told."""
    path = tmp_path / "bomb.pgn.gz"
    path.write_bytes(gzip.compress(b"\0" * 10_000_000) * 2)
    with pytest.raises(InputRefused, match="unpack it first"):
        scan([path])
    with pytest.raises(InputRefused, match="unpack it first"):
        list(read_suite(path))
