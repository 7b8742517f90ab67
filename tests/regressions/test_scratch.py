"""Nothing to clean by hand after everything was killed at once: 44 such kills in a night had left 13 folders."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from enginetour.engines.sandbox import SCRATCH_ROOT, TAGGED, leave_scratch, make_scratch
from enginetour.engines.strays import TAG
from enginetour.model.errors import MachineFailure
from enginetour.tournament.places import end_leftovers
from tests.forked import Forked, quick
from tests.lives import everybody, kill_everybody, send, temporary


def test_scratch_folders_of_a_killed_run_are_wiped_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of its slots with all in them; folders of others, links and files of the name stay."""
    monkeypatch.setenv(SCRATCH_ROOT, str(tmp_path))
    mine = [make_scratch("db:one"), make_scratch("db:one/12-1")]
    kept = [make_scratch(tag) for tag in ("db:two", "db:one2", "")]
    for folder in (*mine, *kept):
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("x")
    link = tmp_path / "enginetour-link"
    link.symlink_to(make_scratch("db:one"))
    mine.append(link.readlink())
    link.with_name("enginetour-file").touch()
    faked = link.with_name("enginetour-fake")
    faked.mkdir()
    (faked / ".tag").write_text("db:one")
    assert end_leftovers("db:one") == ()
    assert not any(folder.exists() for folder in mine)
    assert all((folder / "deep" / "file").exists() for folder in kept)
    assert len(os.listdir(tmp_path)) == len(kept) + 3


def test_folders_of_another_user_are_let_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a /tmp of all everybody may name a folder as they like, and its tag."""
    monkeypatch.setenv(SCRATCH_ROOT, str(tmp_path))
    folder = make_scratch("db:one")
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    end_leftovers("db:one")
    assert folder.exists()


def test_a_folder_that_cannot_tell_its_tag_is_one_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database in a very long path is played for."""
    monkeypatch.setenv(SCRATCH_ROOT, str(tmp_path))
    assert make_scratch("x" * 5_000).is_dir()


def test_a_slot_leaves_its_folder_only_with_nothing_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left in it keeps its tag, for the next run to find."""
    monkeypatch.setenv(SCRATCH_ROOT, str(tmp_path))
    folders = [make_scratch("db:one"), make_scratch("db:one")]
    (folders[0] / "left").touch()
    for folder in folders:
        monkeypatch.setenv(SCRATCH_ROOT, str(folder))
        leave_scratch()
    assert [os.path.lexists(folder / ".tag") for folder in folders] == [True, False]
    assert [folder.exists() for folder in folders] == [True, False]


def test_a_run_wipes_what_was_left_when_all_were_killed(tmp_path: Path) -> None:
    """Scheduler, slots and engines die at once: their folders stay, until the same command has ended."""
    (tmp_path / "results").mkdir()
    words = ["run", str(quick(tmp_path)), "--slots", "2"]
    first = Forked(tmp_path, words, tmp_path / "first")
    first.first_game()
    send(everybody(tmp_path), signal.SIGSTOP)  # a slot whose scheduler dies would tidy up
    kill_everybody(tmp_path)
    assert first.ended()[0] == 137
    assert len(os.listdir(temporary(tmp_path))) == 2
    second = Forked(tmp_path, words, tmp_path / "second")
    assert second.ended()[0] == 0
    assert os.listdir(temporary(tmp_path)) == []


def test_a_slot_whose_folder_was_tidied_up_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cleaner of temporary folders had removed it: no engine could start in that slot any more, all night long."""
    root = make_scratch("db:one")
    monkeypatch.setenv(SCRATCH_ROOT, str(root))
    monkeypatch.setenv(TAG, "db:one/12")
    shutil.rmtree(root)
    made = make_scratch()
    assert made.parent == root
    assert os.readlink(root / TAGGED) == "db:one/12"
    assert root.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(root)
    root.symlink_to(tmp_path)  # somebody else's idea of it
    tmp_path.rename(tmp_path.with_name("elsewhere"))
    with pytest.raises(MachineFailure, match="cannot make a scratch folder"):
        make_scratch()
    root.unlink()
