"""Nothing to clean by hand after everything was killed at once: 44 such kills in a night had left 13 folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from enginetour.places import end_leftovers
from enginetour.supervise.scratch import make_scratch


def test_scratch_folders_of_a_killed_run_are_wiped_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of its own tag with all in them; folders of others, links and files of the same name stay."""
    monkeypatch.setenv("ENGINETOUR_SCRATCH", str(tmp_path))
    mine, other, untagged = make_scratch("db:one"), make_scratch("db:two"), make_scratch()
    (mine / "deep").mkdir()
    (mine / "deep" / "file").write_text("x")
    link = mine.with_name(f"{mine.name}0")
    link.symlink_to(other)
    assert end_leftovers("db:one") == ()
    assert not mine.exists()
    assert other.is_dir()
    assert untagged.is_dir()
    assert link.is_symlink()
    assert len(os.listdir(tmp_path)) == 3
