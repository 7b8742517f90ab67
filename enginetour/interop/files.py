"""Files: reading with limits, replacing by rename, and bundled directories."""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Literal

from enginetour.model.errors import InputRefused, TourError, UsageRefused

# Whole files: reading files of users within limits, packed or not, and replacing files by rename.

_NULL_DEVICE = (1, 3)  # major and minor number; Linux, Documentation/admin-guide/devices.txt
_UNPACKED_AT_LEAST = 10_000_000  # bytes; smaller unpacked sizes are harmless
# Measured compression factors: games of one night 5, their tags alone 27, one repeated game 238 (zstd -19); zeros 1,029
# with gzip and 32,000 with zstd.
_MOST_TIMES = 500
SQLITE_MAGIC = b"SQLite format 3\x00"  # SQLite file format 1.3


_FLAGGED = re.compile(r"(--?\w[\w-]*=)(.+)", re.DOTALL)


def split_flag(argument: str) -> tuple[str, str]:
    """Split ``--weights=net.pb`` into ``--weights=`` and ``net.pb``; for other arguments the first part is empty."""
    flagged = _FLAGGED.fullmatch(argument)
    return (flagged[1], flagged[2]) if flagged else ("", argument)


def one_line(text: str, longest: int | None = None) -> str:
    """Return at most `longest` characters of a text, on one line and without control characters."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())[:longest]


def refuse_special(path: Path, *, named: bool = False) -> None:
    """Raise InputRefused if a path is not a regular file, because reading a device or a pipe may never end.

    If `named`, the user gave the path on the command line and a pipe is allowed. The null device is an empty file.
    """
    found = path.stat()
    kind = found.st_mode
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind) or (named and stat.S_ISFIFO(kind)):
        return  # directories have their own error
    if stat.S_ISCHR(kind) and (os.major(found.st_rdev), os.minor(found.st_rdev)) == _NULL_DEVICE:
        return
    what = "a pipe" if stat.S_ISFIFO(kind) else "a socket" if stat.S_ISSOCK(kind) else "a device"
    raise InputRefused(
        f"found {what}, expected a regular file{' or a pipe' if named else ''}",
        place=str(path),
        step="save the content in a file and use that file",
    )


def open_regular(path: Path, *, named: bool = False) -> BufferedReader:
    """Open a file for reading; raise InputRefused as `refuse_special` does, and OSError if it cannot be opened."""
    refuse_special(path, named=named)
    return path.open("rb")


def read_whole(path: Path, largest: int, *, named: bool = True) -> bytes:
    """Return all bytes of a file; raise InputRefused if there are more than `largest` bytes.

    The function reads at most one byte more than `largest`, because the size of a pipe is unknown. Raise OSError if the
    file cannot be read.
    """
    with open_regular(path, named=named) as source:
        content = source.read(largest + 1)
    if len(content) > largest:
        what = f"the file is larger than {largest:,} bytes"
        raise InputRefused(what, place=str(path), step="check that this is the correct file")
    return content


def read_input(path: Path, largest: int) -> bytes:
    """Return `read_whole` for a file that the user named; raise InputRefused also if the file cannot be read."""
    try:
        return read_whole(path, largest)
    except OSError as error:
        raise InputRefused(f"cannot be read: {error.strerror}", place=str(path)) from None


def parse_json(content: str | bytes, place: str, **options: Any) -> Any:
    """Return the value of the JSON text of a user; `options` are those of `json.loads`. Raise InputRefused."""
    try:
        return json.loads(content, **options)
    except json.JSONDecodeError as fault:
        raise InputRefused(f"not valid JSON: {fault.msg}", place=f"{place}:{fault.lineno}") from None
    except UnicodeDecodeError as fault:
        raise InputRefused(f"the text is not UTF-8 (byte {fault.start})", place=place) from None
    except ValueError:  # Python does not convert numbers of more than 4,300 digits
        raise InputRefused("not valid JSON: a number has more than 4300 digits", place=place) from None
    except RecursionError:
        raise InputRefused("not valid JSON: nested too deeply", place=place) from None


def refuse_bomb(path: Path, packed: int, unpacked: int) -> None:
    """Raise InputRefused if a file unpacks to far more bytes than text can; both numbers are the bytes read so far."""
    if unpacked > _UNPACKED_AT_LEAST and unpacked > _MOST_TIMES * packed:
        what = f"the unpacked size is more than {_MOST_TIMES} times the file size"
        raise InputRefused(what, place=str(path), step="if the content is correct, unpack the file first")


# format -> its first bytes, and the command that unpacks it
_PACKERS = {
    "zip": (b"PK\3\4", "unzip"),
    "bzip2": (b"BZh", "bzip2 -dk"),
    "xz": (b"\xfd7zXZ", "xz -dk"),
    "7z": (b"7z\xbc\xaf", "7z x"),
    "rar": (b"Rar!", "unrar x"),
    "zstd": (b"\x28\xb5\x2f\xfd", "zstd -d"),  # RFC 8878
}


def refuse_packed(path: Path, start: bytes) -> None:
    """Raise InputRefused if the first bytes of a file are those of a packed file or of UTF-16 text."""
    for packer, (magic, command) in _PACKERS.items():
        if start.startswith(magic):
            step = f"unpack the file with {command} FILE"
            raise InputRefused(f"{packer} files are not supported", place=str(path), step=step)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        step = "convert it with iconv -f UTF-16 -t UTF-8 FILE > NEW"
        raise InputRefused("the text is UTF-16", place=str(path), step=step)


def file_digest(path: Path) -> str:
    """Return a 128-bit digest of the content of a file; 200 MB take 0.25 s of CPU time (measured)."""
    with open_regular(path) as source:
        return hashlib.file_digest(source, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def is_special(path: Path) -> bool:
    """Return whether the path is a device, pipe or socket, which must be written to and not replaced."""
    try:
        kind = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)


def refuse_valuable(path: Path, place: str) -> None:
    """Raise UsageRefused if output would replace a database, a configuration or an engine file.

    A file that cannot be read here causes an error when it is written.
    """
    what = "a configuration or an engine file" if path.suffix.lower() == ".toml" and path.is_file() else ""
    if not what and path.is_file():
        with suppress(OSError), path.open("rb") as source:
            what = "a database" if source.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC else ""
    if what:
        raise UsageRefused(f"{path} is {what}", place=place, step="choose another file name")


def write_new(path: Path, text: str) -> None:
    """Write a text file that does not exist yet, completely or not at all. Raise FileExistsError if it exists."""
    with named_errors(path), path.open("x", encoding="utf-8") as sink:
        try:
            sink.write(text)
            sink.flush()
        except BaseException:
            path.unlink()
            raise


def replace_file(path: Path, chunks: Iterable[str]) -> None:
    """Replace a text file as in `replace_bytes`; create its directory if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_bytes(path, (chunk.encode("utf-8") for chunk in chunks))


def replace_bytes(path: Path, chunks: Iterable[bytes]) -> None:
    """Write next to the file, sync, rename and sync the directory, so that readers see the old file or the new one.

    A special file (/dev/null, a named pipe) is written to directly.
    """
    if is_special(path):
        with named_errors(path), path.open("wb") as device:
            device.writelines(chunks)
        return
    with named_errors(path), replacement_file(path) as sink:
        sink.writelines(chunks)
        sink.flush()
        os.fsync(sink.fileno())
        Path(sink.name).replace(path)
    sync_directory(path.parent)


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Make errors name the requested file, if they name the temporary file or no file."""
    try:
        yield
    except OSError as error:
        if not error.filename or Path(os.fsdecode(error.filename)).name.startswith(f".{path.name}."):
            error.filename = str(path)
        raise


@contextmanager
def replacement_file(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Yield an empty file that can be renamed to `path`, with the rights of `mode` minus the umask.

    Its name is always the same, so a killed process leaves at most one file. It is removed unless it was renamed. Raise
    BlockingIOError while another process makes a file for the same path, because that process may be stopped. Raise
    OSError if the name is a link, because another program made the link.
    """
    name = path.with_name(f".{path.name}.new")
    while True:
        with open(name, "ab", opener=partial(_open_without_link, mode)) as sink:
            lock_file(sink.fileno(), wait=False)
            if not has_name(sink.fileno(), name):
                continue  # another process renamed it just now
            try:
                sink.truncate(0)
                yield sink
            finally:
                if has_name(sink.fileno(), name):  # otherwise the name may belong to the next process
                    name.unlink()
            return


def _open_without_link(mode: int, name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), mode)


def lock_file(fd: int, *, wait: bool) -> None:
    """Lock an open file for this process; raise OSError if this is not possible.

    If `wait` is false, BlockingIOError is raised while another process has the lock. Systems without flock do not lock.
    """
    with suppress(ImportError):
        import fcntl  # imported here: other systems than Linux do not have it

        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked_directory(folder: Path, *, wait: bool) -> Iterator[None]:
    """Lock a directory inside the block, as `lock_file` does; Windows cannot open directories and does not lock."""
    held = os.open(folder if hasattr(os, "O_DIRECTORY") else os.devnull, os.O_RDONLY)
    try:
        lock_file(held, wait=wait)
        yield
    finally:
        os.close(held)


def has_name(fd: int, path: Path) -> bool:
    """Return whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False


def sync_directory(folder: Path) -> None:
    """Sync a directory, so that new names in it survive a power failure."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot open directories
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# Directories bundled with the program (``engines``, ``configs``), in a checkout or an installed wheel.


def bundled_directory(folder: Literal["engines", "configs"]) -> Path:
    """Return the path of a bundled directory: inside the package of a wheel, next to it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "shipped" / folder, package.parent / folder):
        if place.is_dir():
            return place
    raise TourError(f"the bundled directory {folder} does not exist", place=str(package), step="reinstall enginetour")


def bundled_openings() -> Path:
    """Return the bundled opening book, used if a configuration does not name one."""
    return bundled_directory("configs") / "suite.pgn"
