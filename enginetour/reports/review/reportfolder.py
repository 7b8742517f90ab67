"""A report on the disk: a folder of pages, made beside its place and put there whole by a rename.

What stands there before is replaced only where it is a report; whoever looks at it meanwhile sees the old one or the
new one, never half of each.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from enginetour.interop.files import naming
from enginetour.model.errors import UsageRefused
from enginetour.reports.html.page import ASSETS, STATE, asset
from enginetour.reports.html.site import GENERATOR

FOLDERS = frozenset({"assets", "engines", "games"})
_RANDOM = 8  # signs that tempfile puts behind a prefix
_JUST_NOW_S = 60.0  # a folder is made before it is held
_HEAD = 2000  # signs of a page in which its maker is told
Pages = Iterable[tuple[str, Callable[[], str]]]


def refuse_other(target: Path) -> None:
    """UsageRefused where something stands that is neither a report nor an empty folder."""
    step = "name another folder with -o, or remove this one"
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise UsageRefused("is no folder", place=str(target), step="name another one with -o")
    if not target.is_dir() or not any(target.iterdir()):
        return
    strangers = sorted(one.name for one in target.iterdir() if not _is_ours(one))
    if strangers:
        raise UsageRefused(f"holds {strangers[0]}, which is of no report", place=str(target), step=step)
    if not _is_report(target / "index.html"):
        raise UsageRefused("holds other things than a report", place=str(target), step=step)


def write(target: Path, pages: Pages, assets: Mapping[str, str], *, heed: Callable[[], None]) -> int:
    """Make the report and put it in its place; return the number of its pages.

    `assets` are the texts of files that its pages use beside those of every report. `heed` is called before each page;
    what it raises ends the report, as an OSError of the disk does. Then nothing is left.
    """
    refuse_other(target)
    count = 0
    with naming(target), _beside(target) as folder:
        for address, make in pages:
            heed()
            put(folder / address, make())
            count += 1
        files = {**{name: asset(name) for name in ASSETS}, STATE: "/* no run has begun since */\n", **assets}
        for name, text in files.items():
            put(folder / "assets" / name, text)
        heed()
        _swap(folder, target)
    _sweep(target)
    return count


def mark_outdated(target: Path) -> None:
    """Every page of a report says that a run has begun since it was made, until another report replaces it."""
    with suppress(OSError):  # a page that lacks this is no harm to the run
        if _is_report(target / "index.html") and not target.is_symlink():
            put(target / "assets" / STATE, "/* a run has begun since */\n.outdated[hidden] { display: block; }\n")


def _is_ours(entry: Path) -> bool:
    """A page, or a folder of them."""
    return entry.name in FOLDERS if entry.is_dir() else entry.suffix == ".html" and not entry.is_symlink()


def _is_report(page: Path) -> bool:
    try:
        with page.open(encoding="utf-8", errors="replace") as source:
            return GENERATOR in source.read(_HEAD)
    except OSError:
        return False


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A new folder in the same place under another name, gone again unless it was moved."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # some file systems have no locks: there nobody sweeps either
            fcntl.flock(held, fcntl.LOCK_EX)
        mask = os.umask(0)
        os.umask(mask)
        folder.chmod(0o777 & ~mask)  # mkdtemp's is for its owner alone
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def _sweep(target: Path) -> None:
    """Remove what reports that were killed left beside this one: folders that nobody holds, none made just now."""
    for left in target.parent.glob(f".{escape(target.name)}.{'?' * _RANDOM}"):
        with suppress(OSError):
            fresh = left.lstat().st_mtime > time.time() - _JUST_NOW_S
            if fresh or left.is_symlink() or any(not _is_ours(one) and one.name != "old" for one in left.iterdir()):
                continue
            held = os.open(left, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(held)


def put(path: Path, text: str) -> None:
    """A file of the report."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _swap(folder: Path, target: Path) -> None:
    """The new folder into its place; the old one is put back if that fails, and removed if not."""
    if not target.exists():
        folder.rename(target)
        return
    with _beside(target) as grave:
        old = grave / "old"
        target.rename(old)
        try:
            folder.rename(target)
        except OSError:
            with suppress(OSError):
                old.rename(target)
            raise
