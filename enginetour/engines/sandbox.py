"""Sandboxes: bubblewrap, the scratch directory of an engine, and reasons why a program cannot run."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Sequence, Set
from pathlib import Path

from enginetour.engines.strays import TAG, tag_matches
from enginetour.model.errors import MachineFailure, StartFailed
from enginetour.model.task import EngineSpec, Resources

# Reasons why a program could not run. Each is one line that also states what to do, if that is known.

_ELF_MACHINE = slice(18, 20)  # e_machine; System V ABI, ELF header


def explain_failure(step: str, number: int, program: str, directory: Path, resources: Resources) -> str:
    """Return why the launcher failed; `step` is the step that failed, and `number` its error number or 0."""
    if step == "chdir":
        return f"the directory {directory} of the engine cannot be entered: {os.strerror(number)}"
    if step == "limits":
        import resource

        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        return f"[resources] files = {resources.files} is too high; this machine allows at most {most}"
    if step == "landlock":
        return f'sandbox = "landlock" is not available: {explain_no_landlock(number)}; use "bwrap" or "none"'
    if step == "filter":
        reason = f"system calls cannot be filtered ({os.strerror(number)})"
        return f'sandbox = "landlock" is not available: {reason}; use "bwrap"'
    path = Path(program)
    if number == errno.ENOENT and path.is_file():
        return f"{program}: {_without_interpreter(path)}"
    if number in (errno.ENOENT, errno.ENOTDIR):
        return f"{program} does not exist"
    if number == errno.EACCES:
        return explain_not_runnable(path)
    if number == errno.ENOEXEC:
        return f"{program}: {_not_a_program(path)}"
    return f"{program} cannot be run: {os.strerror(number)}"


def explain_not_runnable(path: Path) -> str:
    """Return why an existing path cannot run as a program."""
    if path.is_dir():
        return f"{path} is a directory, not a program"
    return f"{path} is not executable (use chmod +x {path.name})"


def explain_no_landlock(number: int | None) -> str:
    """Return why Landlock is not available. `number` is the kernel's error number, see landlock(7)."""
    if number == errno.ENOSYS:
        return "this kernel is built without it"
    if number == errno.EOPNOTSUPP:
        return "it is disabled at boot (kernel parameter lsm=)"
    return os.strerror(number or 0)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(256)
    except OSError:
        return b""


def _without_interpreter(path: Path) -> str:
    head = _head(path)
    if not head.startswith(b"#!"):
        return "its dynamic loader is missing (the program may be built for another system)"
    line = head[2:].split(b"\n")[0]
    words = line.split()
    if line.endswith(b"\r") and len(words) == 1:  # the kernel reads the CR as part of the name
        return "its lines end with CR LF, so its interpreter is not found (convert it with dos2unix)"
    return f"its interpreter {words[0].decode('utf-8', 'replace') if words else '(none named)'} is missing"


def _not_a_program(path: Path) -> str:
    head = _head(path)
    if head.startswith(b"\x7fELF"):
        mine = _head(Path("/proc/self/exe"))
        if head[_ELF_MACHINE] != mine[_ELF_MACHINE]:
            return "the program was built for another processor architecture"
        return "the program file is damaged"
    if head.startswith(b"MZ"):
        return "this is a Windows program; start it with wine"
    return "the file is neither a program nor a script with an interpreter (#!) in its first line"


# The directories of an engine: its own scratch directory (0700), its files, its working directory, and their removal.

# environment variable: the directory in which a slot makes the scratch directories of its engines
SCRATCH_ROOT = "ENGINETOUR_SCRATCH"
TAG_LINK = ".tag"  # dangling link in a scratch directory; its target is the tag of the owner
_PREFIX = "enginetour-"
_KEPT_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_KEPT_LENGTH = 64  # characters; the same limit as for slugs (reliability spec 5)
# directories that do not count as writable, even for root
_SYSTEM_FOLDERS = ("/usr/", "/bin/", "/sbin/", "/lib", "/snap/", "/nix/")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_scratch(tag: str = "") -> Path:
    """Make a new directory that only this user can access; `remove_leftover_scratch` finds it by its `tag`.

    Raises MachineFailure if this is not possible, because no engine can start without the directory.
    """
    own = os.environ.get(SCRATCH_ROOT)
    if own and not Path(own).exists():  # the user or a cleaner of temporary files removed it during play
        _tagged(_new(Path(own)), os.environ.get(TAG, ""))
    return _tagged(_made(_root(), _PREFIX), tag)


def _tagged(folder: Path, tag: str) -> Path:
    if tag:
        retag(folder, tag)
    return folder


def retag(folder: Path, tag: str) -> None:
    """Set or replace the tag of a scratch directory in one step, so that a kill leaves no directory without a tag."""
    new = folder / f"{TAG_LINK}-new"
    # fails on a disk without links or with a very long tag; then nothing removes the directory after a crash
    with contextlib.suppress(OSError):
        new.unlink(missing_ok=True)  # a kill may have left it
        os.symlink(tag, new)  # noqa: PTH211 - a tag, not a path
        new.replace(folder / TAG_LINK)


def make_kept_scratch(name: str) -> Path:
    """Make a scratch directory that remains for inspection; its name contains the engine's `name`.

    Raises MachineFailure if this is not possible.
    """
    kept = "".join(char if char in _KEPT_CHARACTERS else "-" for char in name.lower())[:_KEPT_LENGTH]
    return _made(Path(os.environ.get("TMPDIR") or "/tmp"), f"enginetour-kept-{kept}-")  # noqa: S108 - the usual fallback


def _made(root: Path, prefix: str) -> Path:
    return _new(root / f"{prefix}{os.urandom(6).hex()}")


def _new(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise MachineFailure(f"cannot make a scratch directory in {folder.parent}: {error.strerror}") from error
    return folder


def remove_scratch_root() -> None:
    """Remove the parent of this slot's scratch directories if it is empty."""
    if root := os.environ.get(SCRATCH_ROOT):
        with contextlib.suppress(OSError):
            if os.listdir(root) == [TAG_LINK]:  # noqa: PTH208 - otherwise the tag stays
                Path(root, TAG_LINK).unlink()
            Path(root).rmdir()


def remove_leftover_scratch(tag: str) -> None:
    """Remove the scratch directories that killed runs with this `tag` left behind.

    Links are never followed, and directories of other users are ignored.
    """
    for folder in _root().glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # it belongs to another user, has no tag, or was just removed
            about = folder.lstat()
            ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()
            if ours and tag_matches(os.readlink(folder / TAG_LINK), (tag,)):  # noqa: PTH115 - a tag, not a path
                remove_scratch(folder)


def _root() -> Path:
    return Path(os.environ.get(SCRATCH_ROOT) or os.environ.get("TMPDIR") or "/tmp")  # noqa: S108 - the usual fallback


def write_files(scratch: Path, spec: EngineSpec) -> None:
    """Write the generated files of an engine into its scratch directory, with ``{scratch}`` replaced."""
    for name, text in spec.files:
        path = scratch / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise StartFailed(f"file {name!r} would be outside the scratch directory")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(expand_scratch(text, scratch), encoding="utf-8")
        except OSError as error:
            raise MachineFailure(f"cannot write {path}: {error.strerror}") from error


def expand_scratch(text: str, scratch: Path) -> str:
    """Replace ``{scratch}`` in a text by the path of the directory; all other text stays."""
    return text.replace("{scratch}", str(scratch))


def working_directory(spec: EngineSpec, command: Sequence[str], scratch: Path) -> Path:
    """Return the directory in which an engine starts.

    This is the directory set in the engine file, else the directory of the program if it is writable, else the scratch
    directory. Nets, books and configuration files are usually next to the program, or next to the script that an
    interpreter runs. Directories of the Linux distribution never count as writable (reliability spec 4.1). In
    `command`, all placeholders have been replaced.
    """
    if spec.dir == "scratch":
        return scratch
    if spec.dir is not None:
        return Path(expand_scratch(spec.dir, scratch))
    program = next((word for word in command[1:] if Path(word).is_absolute() and Path(word).is_file()), command[0])
    home = Path(program).parent
    ours = Path(program).is_absolute() and not str(home.resolve()).startswith(_SYSTEM_FOLDERS)
    return home if ours and f"{home.resolve()}/" not in _SYSTEM_FOLDERS and os.access(home, os.W_OK) else scratch


def remove_scratch(folder: Path) -> int:
    """Remove a directory and everything in it; return how many entries could not be removed.

    The function uses directory descriptors and never follows a link or enters another device. Directories without
    permissions and unusual names do not prevent the removal. The depth is not limited, because inner directories are
    first moved to the top.
    """
    try:
        top = os.open(folder, _DIRECTORY)
    except OSError:
        return 0 if not os.path.lexists(folder) else 1
    try:
        os.fchmod(top, 0o700)
        stuck: set[str] = set()
        while names := [name for name in os.listdir(top) if name not in stuck]:  # noqa: PTH208 - by descriptor
            stuck.update(name for name in names if not _remove(name, top))
        left = len(os.listdir(top))  # noqa: PTH208 - by descriptor
    except OSError:
        left = 1
    finally:
        os.close(top)
    with contextlib.suppress(OSError):
        folder.rmdir()
    return left


def _remove(name: str, top: int) -> bool:
    """Remove one entry of the top directory; return False if that fails.

    Directories inside the entry are moved to the top directory and removed in the next round.
    """
    try:
        if not _is_folder(name, top):
            os.unlink(name, dir_fd=top)
            return True
        _give_rights(name, top)
        folder = os.open(name, _DIRECTORY, dir_fd=top)
    except OSError:
        return False
    try:
        if os.fstat(folder).st_dev == os.fstat(top).st_dev:
            for inner in os.listdir(folder):  # noqa: PTH208 - by descriptor
                if _is_folder(inner, folder):
                    _give_rights(inner, folder)  # without permissions, a directory cannot be moved
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


# The sandbox of bubblewrap: the system is read-only, /tmp is private, there is no network, and an engine can write only
# in its scratch directory.
#
# The engine cannot see /tmp, /run (with the sockets of the user's session) and the results of the tournament (with its
# socket). Inside them, only the engine's directory and the files in its command or options remain readable.
# Source: bwrap(1).

BWRAP = "bwrap"
BWRAP_PACKAGE = "bubblewrap"  # its name in Debian, Fedora and Arch
HIDDEN = (Path("/tmp"), Path("/run"))  # noqa: S108 - with files and sockets of all users
# system settings that root could change
_SYSTEM_SETTINGS = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
_SESSION = "XDG_RUNTIME_DIR"  # environment variable: the directory of the sockets of the user's session
_SYSTEM_PROGRAMS = (Path("/run/current-system"),)  # all programs of NixOS
HIDDEN_RESULTS = "ENGINETOUR_HIDDEN"  # environment variable of a slot: the directory of the tournament's results
SHELL_SIGNAL = 128  # after a signal, bwrap has the exit status 128 + signal, like a shell


def wrap_command(
    spec: EngineSpec, command: Sequence[str], directory: Path, scratch: Path, *, in_namespace: bool
) -> list[str]:
    """Return the command in its sandbox. Raises StartFailed if bwrap, or the program itself, does not exist."""
    program = shutil.which(BWRAP)
    if program is None:
        raise StartFailed(f'sandbox = "bwrap" needs the program {BWRAP}; run apt install {BWRAP_PACKAGE}')
    # inside the sandbox, a missing program would look like an engine that ended
    if (number := _unusable(command[0])) is not None:
        raise StartFailed(explain_failure("exec", number, command[0], directory, spec.resources))
    own = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--cap-drop", "ALL"]
    for name in _SYSTEM_SETTINGS:
        own += ["--ro-bind-try", name, name]
    hidden = _hidden({Path(command[0]).parent.resolve(), directory.resolve()})
    for folder in hidden:
        own += ["--tmpfs", str(folder)]
    for path in _needed(spec, command, directory, scratch, hidden):
        own += ["--ro-bind", path, path]
    own += ["--bind", str(scratch), str(scratch)]
    for folder in hidden:
        own += ["--remount-ro", str(folder)] if folder != HIDDEN[0] else []
    if (results := os.environ.get(HIDDEN_RESULTS, "")) and Path(results).resolve() not in hidden:
        for listener in Path(results).glob("*.sock"):
            own += ["--ro-bind-try", "/dev/null", str(listener)]
    own += ["--chdir", str(directory), "--die-with-parent"]
    own += ["--unshare-net", "--unshare-ipc", *([] if in_namespace else ["--unshare-pid"])]
    return [program, *own, "--", *command]


def _unusable(program: str) -> int | None:
    """Return the error number that a start of the program would give, or None if no error is expected."""
    path = Path(program)
    if not path.exists():
        return errno.ENOENT
    return None if path.is_file() and os.access(path, os.X_OK) else errno.EACCES


def _hidden(homes: Set[Path] = frozenset()) -> list[Path]:
    """Return the directories that the sandbox shows as empty, without directories inside another one.

    Links are resolved. `homes` has the directories of the engine. The directory of the results stays visible if it is
    one of them, because it may contain files of the engine.
    """
    named = [Path(text) for name in (HIDDEN_RESULTS, _SESSION) if (text := os.environ.get(name, "")).startswith("/")]
    found = {path.resolve() for path in HIDDEN if path.is_dir()}
    found |= {path.resolve() for path in named if path.is_dir() and path.resolve() not in homes}
    return sorted(path for path in found if path != Path("/") and not found & set(path.parents))


def _needed(
    spec: EngineSpec, command: Sequence[str], directory: Path, scratch: Path, folders_: Sequence[Path]
) -> list[str]:
    """Return the paths in hidden directories (`folders_`) that the engine needs, without paths inside another one.

    The scratch directory is not included, because it is mounted separately.
    """
    texts = [*command, *(expand_scratch(text, scratch) for _, text in (*spec.options, *spec.offered)), str(directory)]
    parts = [part for text in texts for part in (text, *text.split(os.pathsep))]  # lists such as PATH too
    named = {Path(text) for text in parts if text.startswith("/") and "\0" not in text}
    named.add(Path(command[0]).parent)
    named |= {Path(sys.prefix), Path(sys.base_prefix), *_SYSTEM_PROGRAMS}  # the interpreter of bundled engines
    named |= {path.resolve() for path in named}
    hidden = {path for path in named if path.exists() and any(folder in path.parents for folder in folders_)}
    bound: list[Path] = [scratch]
    for path in sorted(hidden):
        if not any(path.is_relative_to(one) for one in bound):
            bound.append(path)
    return [str(path) for path in bound[1:]]
