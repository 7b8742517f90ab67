"""How many processors games may have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from enginetour.engines.machine import Allowed, allowed

FOUR = {0, 1, 2, 3}


def group(folder: Path, path: str, **files: str) -> None:
    (folder / path).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / path / name.replace("__", ".", 1)).write_text(text)


def found(tmp_path: Path, own: str, monkeypatch: pytest.MonkeyPatch) -> Allowed:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: FOUR)
    (tmp_path / "own").write_text(own)
    return allowed(tmp_path / "own", tmp_path / "groups")


def test_affinity_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a quota it is those we are bound to; "max" is none, and so is a kernel without groups."""
    group(tmp_path / "groups", "a", cpu__max="max 100000\n")
    assert str(found(tmp_path, "0::/a\n", monkeypatch)) == "4 processors"
    assert allowed(tmp_path / "missing", tmp_path / "groups") == Allowed(4)


def test_the_smallest_quota_above_us_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group's quota holds for all groups below it; a part of a processor is none."""
    group(tmp_path / "groups", "outer/inner", cpu__max="300000 100000\n")
    group(tmp_path / "groups", "outer", cpu__max="250000 100000\n")
    assert str(found(tmp_path, "0::/outer/inner\n", monkeypatch)) == "2 processors (a quota of 2.5 of 4)"


def test_a_tiny_quota_is_one_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One slot is always possible; the root's own file is that of a container."""
    group(tmp_path / "groups", "", cpu__max="20000 100000\n")
    assert found(tmp_path, "0::/../..\n", monkeypatch).count == 1


def test_the_older_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1 has two files, and a hierarchy for each controller."""
    group(tmp_path / "groups", "cpu/box", cpu__cfs_quota_us="100000\n", cpu__cfs_period_us="50000\n")
    assert found(tmp_path, "7:memory:/box\n4:cpu,cpuacct:/box\n", monkeypatch).count == 2
    group(tmp_path / "groups", "cpu/box", cpu__cfs_quota_us="-1\n")
    assert found(tmp_path, "4:cpu,cpuacct:/box\n", monkeypatch).count == 4
