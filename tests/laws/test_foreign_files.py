"""Any file is accepted or gives a one-line error with a place, without a traceback and without partial files."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.faults import DOORS, opened, spoilt


@pytest.mark.parametrize("name", DOORS)
def test_sound_files_are_taken(name: str, tmp_path: Path) -> None:
    """The files are valid before they are damaged."""
    door = DOORS[name]
    assert opened(door, door.content, tmp_path) == 0


@pytest.mark.parametrize("name", DOORS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_spoilt_files(name: str, seed: int) -> None:
    """Mutated files of each kind are read by their command."""
    door = DOORS[name]
    with tempfile.TemporaryDirectory() as folder:
        opened(door, spoilt(door.content, random.Random(seed)), Path(folder))


@pytest.mark.parametrize("name", DOORS)
@settings(max_examples=5, deadline=None)
@given(content=st.binary(max_size=300))
def test_any_bytes(name: str, content: bytes) -> None:
    """Random bytes are read by the same commands."""
    with tempfile.TemporaryDirectory() as folder:
        opened(DOORS[name], content, Path(folder))
