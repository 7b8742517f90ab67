"""Where an engine lives: a scratch folder of its own (0700), its files, its working directory, and the wiping."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from enginetour.engines.strays import TAG, is_meant
from enginetour.model.errors import MachineFailure, StartFailed
from enginetour.model.task import EngineSpec

SCRATCH_ROOT = "ENGINETOUR_SCRATCH"  # environment: the folder in which a slot makes its engines' scratch folders
TAGGED = ".tag"  # in a scratch folder: a link that leads nowhere, but tells the tag of whoever the folder belongs to
PREFIX = "enginetour-"
KEPT_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
KEPT_LENGTH = 64  # as a slug (reliability spec 5)
SYSTEM_FOLDERS = ("/usr/", "/bin/", "/sbin/", "/lib", "/snap/", "/nix/")  # root may write there; an engine need not
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_scratch(tag: str = "") -> Path:
    """A fresh folder, ours alone; it tells the `tag` it belongs to, for `wipe_leftovers`.

    Raises MachineFailure: without room for it no engine can start.
    """
    own = os.environ.get(SCRATCH_ROOT)
    if own and not Path(own).exists():  # a cleaner of temporary folders, or somebody by hand, while we play
        _tagged(_new(Path(own)), os.environ.get(TAG, ""))
    return _tagged(_made(_root(), PREFIX), tag)


def _tagged(folder: Path, tag: str) -> Path:
    if tag:
        with contextlib.suppress(OSError):  # a disk without links, a tag too long for one: left over it would stay
            os.symlink(tag, folder / TAGGED)  # noqa: PTH211 - a tag, no path
    return folder


def retag(folder: Path, tag: str) -> None:
    """From now on the folder belongs to the `tag`."""
    with contextlib.suppress(OSError):
        (folder / TAGGED).unlink(missing_ok=True)
    _tagged(folder, tag)


def make_kept(name: str) -> Path:
    """A scratch folder that stays for whoever wants to look into it, named after its engine. Raises MachineFailure."""
    told = "".join(sign if sign in KEPT_SIGNS else "-" for sign in name.lower())[:KEPT_LENGTH]
    return _made(Path(os.environ.get("TMPDIR") or "/tmp"), f"enginetour-kept-{told}-")  # noqa: S108 - the usual fallback


def _made(root: Path, prefix: str) -> Path:
    return _new(root / f"{prefix}{os.urandom(6).hex()}")


def _new(folder: Path) -> Path:
    """One that nobody else has made: it is refused where there is something of that name."""
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise MachineFailure(f"cannot make a scratch folder in {folder.parent}: {error.strerror}") from error
    return folder


def leave_scratch() -> None:
    """Remove the folder the place made for the scratch folders of this slot, if nothing is left in it."""
    if root := os.environ.get(SCRATCH_ROOT):
        with contextlib.suppress(OSError):
            if os.listdir(root) == [TAGGED]:  # noqa: PTH208 - what stays keeps its tag
                Path(root, TAGGED).unlink()
            Path(root).rmdir()


def wipe_leftovers(tag: str) -> None:
    """Wipe the folders that killed runs of this tag left, as `end_tagged` ends them. This user's, never a link."""
    for folder in _root().glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, of no tag, or wiped in this moment
            about = folder.lstat()
            ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()
            if ours and is_meant(os.readlink(folder / TAGGED), (tag,)):  # noqa: PTH115 - a tag, no path
                wipe(folder)


def _root() -> Path:
    return Path(os.environ.get(SCRATCH_ROOT) or os.environ.get("TMPDIR") or "/tmp")  # noqa: S108 - the usual fallback


def fill(scratch: Path, spec: EngineSpec) -> None:
    """Write the generated files of an engine, ``{scratch}`` replaced; they stay inside the folder."""
    for name, text in spec.files:
        path = scratch / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise StartFailed(f"file {name!r} would lie outside the scratch folder")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(expand(text, scratch), encoding="utf-8")
        except OSError as error:
            raise MachineFailure(f"cannot write {path}: {error.strerror}") from error


def expand(text: str, scratch: Path) -> str:
    """``{scratch}`` replaced by the folder's path; nothing else is special."""
    return text.replace("{scratch}", str(scratch))


def working_directory(spec: EngineSpec, command: Sequence[str], scratch: Path) -> Path:
    """Reliability spec 4.1: as the engine file says; by default the program's own folder if we may write in it.

    Nets, books and configuration files lie beside the program, or beside the script that an interpreter runs.
    The distribution's folders never count as ours. `command` has no placeholders any more.
    """
    if spec.dir == "scratch":
        return scratch
    if spec.dir is not None:
        return Path(expand(spec.dir, scratch))
    program = next((word for word in command[1:] if Path(word).is_absolute() and Path(word).is_file()), command[0])
    home = Path(program).parent
    ours = Path(program).is_absolute() and not str(home.resolve()).startswith(SYSTEM_FOLDERS)
    return home if ours and f"{home.resolve()}/" not in SYSTEM_FOLDERS and os.access(home, os.W_OK) else scratch


def wipe(folder: Path) -> int:
    """Remove a folder and all in it; returns how many entries could not be removed (0: it is gone).

    By directory descriptors, never through a link, never on another device; folders without rights and
    odd names are no obstacle. Depth costs nothing: folders found inside are first moved up to the top.
    """
    try:
        top = os.open(folder, DIRECTORY)
    except OSError:
        return 0 if not os.path.lexists(folder) else 1
    try:
        os.fchmod(top, 0o700)
        _flatten(top)
        left = len(os.listdir(top))  # noqa: PTH208 - by descriptor
    except OSError:
        left = 1
    finally:
        os.close(top)
    with contextlib.suppress(OSError):
        folder.rmdir()
    return left


def _flatten(top: int) -> None:
    stuck: set[str] = set()
    while names := [name for name in os.listdir(top) if name not in stuck]:
        stuck.update(name for name in names if not _remove(name, top))


def _remove(name: str, top: int) -> bool:
    """One entry of the top folder goes; folders inside it come up beside it, for the next round."""
    try:
        if not _is_folder(name, top):
            os.unlink(name, dir_fd=top)
            return True
        _give_rights(name, top)
        folder = os.open(name, DIRECTORY, dir_fd=top)
    except OSError:
        return False
    try:
        if os.fstat(folder).st_dev == os.fstat(top).st_dev:
            for inner in os.listdir(folder):  # noqa: PTH208 - by descriptor
                if _is_folder(inner, folder):
                    _give_rights(inner, folder)  # a folder without rights cannot change its parent
                    os.rename(inner, f"up-{os.urandom(8).hex()}", src_dir_fd=folder, dst_dir_fd=top)
                else:
                    os.unlink(inner, dir_fd=folder)
        os.rmdir(name, dir_fd=top)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _give_rights(name: str, parent: int) -> None:
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{handle}", 0o700)  # noqa: PTH101 - by descriptor
    finally:
        os.close(handle)
