"""Limits for files of users, and replacement of files as a whole."""

from __future__ import annotations

import errno
import fcntl
import gzip
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enginetour.interop.files import (
    _MOST_TIMES,
    _UNPACKED_AT_LEAST,
    file_digest,
    named_errors,
    read_whole,
    refuse_bomb,
    replace_bytes,
    replace_file,
    write_new,
)
from enginetour.interop.pgn import scan
from enginetour.model.errors import InputRefused, storage_failure
from enginetour.openings.books import read_openings


def test_as_large_as_may_be(tmp_path: Path) -> None:
    """A file may have the maximum size; one byte more raises an error."""
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_whole(path, 100) == b"x" * 100
    with pytest.raises(InputRefused, match=f"{path}: the file is larger than 99 bytes"):
        read_whole(path, 99)


def test_devices_and_pipes_are_no_input(tmp_path: Path) -> None:
    """Only a pipe that the user named is read; the null device is an empty file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, named in ((Path("/dev/zero"), True), (Path("/dev/tty"), True), (pipe, False)):
        with pytest.raises(InputRefused, match=f"{path}: found a (device|pipe), expected a regular file"):
            read_whole(path, 100, named=named)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(InputRefused, match="expected a regular file"):
            file_digest(path)
    assert read_whole(Path(os.devnull), 100, named=False) == b""
    writer = threading.Thread(target=pipe.write_bytes, args=(b"x" * 100,))
    writer.start()
    assert read_whole(pipe, 100) == b"x" * 100
    writer.join()


def test_what_is_no_bomb() -> None:
    """Small files may unpack to any ratio, large ones to that of text."""
    refuse_bomb(Path("small"), 1, _UNPACKED_AT_LEAST)
    refuse_bomb(Path("large"), 10**9, _MOST_TIMES * 10**9)
    with pytest.raises(InputRefused, match="unpack the file first"):
        refuse_bomb(Path("bomb"), 10**6, _MOST_TIMES * 10**6 + 1)


def test_bombs(tmp_path: Path) -> None:
    """A ratio of a thousand raises an error early, with a hint."""
    path = tmp_path / "bomb.pgn.gz"
    path.write_bytes(gzip.compress(b"\0" * 10_000_000) * 2)
    with pytest.raises(InputRefused, match="unpack the file first"):
        scan([path])
    with pytest.raises(InputRefused, match="unpack the file first"):
        list(read_openings(path))


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    """A failed export leaves the old file and no temporary file."""
    path = tmp_path / "table.csv"
    replace_file(path, ["old"])

    def failing() -> Any:
        yield "new"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        replace_file(path, failing())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_exports_to_one_path_do_not_mix(tmp_path: Path) -> None:
    """A second export to the same file raises an error; the rest of a killed one does not."""
    path = tmp_path / "table.csv"
    beside = tmp_path / ".table.csv.new"
    beside.write_text("left by a kill")
    with beside.open("a") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            replace_file(path, ["second"])
        assert beside.read_text() == "left by a kill"
    replace_file(path, ["third"])
    assert path.read_text() == "third"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_renamed_in_the_moment_of_locking_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another export finishes just before the lock, its file is kept and then replaced."""
    path = tmp_path / "table.csv"
    flock = fcntl.flock

    def overtaken(sink: Any, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        (tmp_path / ".table.csv.new").replace(path)
        flock(sink, operation)

    monkeypatch.setattr(fcntl, "flock", overtaken)
    replace_file(path, ["ours"])
    assert path.read_text() == "ours"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_told_of_with_the_file(tmp_path: Path) -> None:
    """The error of a full disk names the file."""

    def chunks() -> Iterator[bytes]:
        with open("/dev/full", "wb", buffering=0) as full:
            yield b"x"
            full.write(b"x")

    for path in (Path("/dev/full"), tmp_path / "new"):
        with pytest.raises(OSError, match="No space left") as told:
            replace_bytes(path, chunks())
        assert told.value.filename == str(path)
    assert not any(tmp_path.iterdir())


def test_what_cannot_be_made_is_told_by_its_name(tmp_path: Path) -> None:
    """An error names the requested file, not the temporary one."""
    with pytest.raises(OSError) as caught:
        replace_bytes(tmp_path / "no" / "list.csv", [b"x"])
    assert caught.value.filename == str(tmp_path / "no" / "list.csv")


def test_a_new_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A name with half a character cannot be written, and leaves no empty file."""
    path = tmp_path / "x.toml"
    with pytest.raises(UnicodeEncodeError):
        write_new(path, "name = '\udcff'")
    assert not path.exists()
    write_new(path, "a = 1\n")
    with pytest.raises(FileExistsError):
        write_new(path, "a = 2\n")
    assert path.read_text() == "a = 1\n"


def test_a_full_disk_is_told_with_the_file() -> None:
    """Writing to a full disk fails when the file is flushed; the error names the file."""
    with pytest.raises(OSError, match="No space left") as told, named_errors(Path("x.csv")):
        Path("/dev/full").write_text("a")
    line = "x.csv: the disk is full. Hint: free disk space, then run the command again."
    assert str(storage_failure(told.value)) == line
