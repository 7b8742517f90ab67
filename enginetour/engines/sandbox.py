"""Bubblewrap, scratch directory, why a program cannot run."""

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

# Why a program could not be run: one line, with what to do.

_ELF_MACHINE = slice(18, 20)  # e_machine; System V ABI, ELF header


def explain_failure(step: str, number: int, program: str, directory: Path, resources: Resources) -> str:
    """What the launcher failed at, by its word for the step and the error number (0: none)."""
    if step == "chdir":
        return f"its folder {directory} cannot be entered: {os.strerror(number)}"
    if step == "limits":
        return f"its [resources] cannot be had: files = {resources.files}; this machine allows {_most_files()}"
    if step == "landlock":
        return f'sandbox = "landlock" cannot be had: {explain_no_landlock(number)}; say "bwrap" or "none"'
    if step == "filter":
        return f'sandbox = "landlock" is not available: no filter of system calls ({os.strerror(number)}); use "bwrap"'
    path = Path(program)
    if number == errno.ENOENT and path.is_file():
        return f"{program}: {_without_interpreter(path)}"
    if number in (errno.ENOENT, errno.ENOTDIR):
        return f"{program} is missing"
    if number == errno.EACCES:
        return explain_not_runnable(path)
    if number == errno.ENOEXEC:
        return f"{program}: {_not_a_program(path)}"
    return f"{program} cannot be run: {os.strerror(number)}"


def explain_not_runnable(path: Path) -> str:
    """Of what is there and is no program as it stands."""
    if path.is_dir():
        return f"{path} is a folder, not a program"
    return f"{path} is not executable (chmod +x {path.name}?)"


def _most_files() -> int:
    import resource

    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def explain_no_landlock(number: int | None) -> str:
    """In the kernel's own words for it: landlock(7), ENOSYS and EOPNOTSUPP."""
    if number == errno.ENOSYS:
        return "this kernel is built without it"
    if number == errno.EOPNOTSUPP:
        return "it is switched off at boot (kernel parameter lsm=)"
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
        return "its interpreter (its loader: is it built for another system?) is missing"
    line = head[2:].split(b"\n")[0]
    words = line.split()
    if line.endswith(b"\r") and len(words) == 1:  # the kernel takes the CR for a part of the name
        return "its lines end as on Windows, in CR LF, so no interpreter is found (dos2unix helps)"
    return f"its interpreter {words[0].decode('utf-8', 'replace') if words else '(none named)'} is missing"


def _not_a_program(path: Path) -> str:
    head = _head(path)
    if head.startswith(b"\x7fELF"):
        mine = _head(Path("/proc/self/exe"))
        if head[_ELF_MACHINE] != mine[_ELF_MACHINE]:
            return "built for another processor architecture"
        return "a damaged program file"
    if head.startswith(b"MZ"):
        return "a Windows program: start it through wine"
    return "neither a program nor a script with an interpreter (#!) in its first line"


# Where an engine lives: a scratch folder of its own (0700), its files, its working directory, and the wiping.

SCRATCH_ROOT = "ENGINETOUR_SCRATCH"  # environment: the folder in which a slot makes its engines' scratch folders
TAG_LINK = ".tag"  # in a scratch folder: a link that leads nowhere, but tells the tag of whoever the folder belongs to
_PREFIX = "enginetour-"
_KEPT_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_KEPT_LENGTH = 64  # as a slug (reliability spec 5)
_SYSTEM_FOLDERS = ("/usr/", "/bin/", "/sbin/", "/lib", "/snap/", "/nix/")  # root may write there; an engine need not
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_scratch(tag: str = "") -> Path:
    """A fresh folder, ours alone; it tells the `tag` it belongs to, for `wipe_leftovers`.

    Raises MachineFailure: without room for it no engine can start.
    """
    own = os.environ.get(SCRATCH_ROOT)
    if own and not Path(own).exists():  # a cleaner of temporary folders, or somebody by hand, while we play
        _tagged(_new(Path(own)), os.environ.get(TAG, ""))
    return _tagged(_made(_root(), _PREFIX), tag)


def _tagged(folder: Path, tag: str) -> Path:
    if tag:
        with contextlib.suppress(OSError):  # a disk without links, a tag too long for one: left over it would stay
            os.symlink(tag, folder / TAG_LINK)  # noqa: PTH211 - a tag, no path
    return folder


def retag(folder: Path, tag: str) -> None:
    """From now on the folder belongs to the `tag`."""
    with contextlib.suppress(OSError):
        (folder / TAG_LINK).unlink(missing_ok=True)
    _tagged(folder, tag)


def make_kept_scratch(name: str) -> Path:
    """A scratch folder that stays for whoever wants to look into it, named after its engine. Raises MachineFailure."""
    told = "".join(sign if sign in _KEPT_SIGNS else "-" for sign in name.lower())[:_KEPT_LENGTH]
    return _made(Path(os.environ.get("TMPDIR") or "/tmp"), f"enginetour-kept-{told}-")  # noqa: S108 - the usual fallback


def _made(root: Path, prefix: str) -> Path:
    return _new(root / f"{prefix}{os.urandom(6).hex()}")


def _new(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise MachineFailure(f"cannot make a scratch folder in {folder.parent}: {error.strerror}") from error
    return folder


def remove_scratch_root() -> None:
    """Remove the folder the place made for the scratch folders of this slot, if nothing is left in it."""
    if root := os.environ.get(SCRATCH_ROOT):
        with contextlib.suppress(OSError):
            if os.listdir(root) == [TAG_LINK]:  # noqa: PTH208 - what stays keeps its tag
                Path(root, TAG_LINK).unlink()
            Path(root).rmdir()


def remove_leftover_scratch(tag: str) -> None:
    """Wipe the folders that killed runs of this tag left, as `end_tagged` ends them. This user's, never a link."""
    for folder in _root().glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, of no tag, or wiped in this moment
            about = folder.lstat()
            ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()
            if ours and tag_matches(os.readlink(folder / TAG_LINK), (tag,)):  # noqa: PTH115 - a tag, no path
                remove_scratch(folder)


def _root() -> Path:
    return Path(os.environ.get(SCRATCH_ROOT) or os.environ.get("TMPDIR") or "/tmp")  # noqa: S108 - the usual fallback


def write_files(scratch: Path, spec: EngineSpec) -> None:
    """Write the generated files of an engine, ``{scratch}`` replaced; they stay inside the folder."""
    for name, text in spec.files:
        path = scratch / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise StartFailed(f"file {name!r} would lie outside the scratch folder")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(expand_scratch(text, scratch), encoding="utf-8")
        except OSError as error:
            raise MachineFailure(f"cannot write {path}: {error.strerror}") from error


def expand_scratch(text: str, scratch: Path) -> str:
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
        return Path(expand_scratch(spec.dir, scratch))
    program = next((word for word in command[1:] if Path(word).is_absolute() and Path(word).is_file()), command[0])
    home = Path(program).parent
    ours = Path(program).is_absolute() and not str(home.resolve()).startswith(_SYSTEM_FOLDERS)
    return home if ours and f"{home.resolve()}/" not in _SYSTEM_FOLDERS and os.access(home, os.W_OK) else scratch


def remove_scratch(folder: Path) -> int:
    """Remove a folder and all in it; returns how many entries could not be removed (0: it is gone).

    By directory descriptors, never through a link, never on another device; folders without rights and
    odd names are no obstacle. Depth costs nothing: folders found inside are first moved up to the top.
    """
    try:
        top = os.open(folder, _DIRECTORY)
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
        folder = os.open(name, _DIRECTORY, dir_fd=top)
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


# bubblewrap around an engine: a read-only system, a /tmp of its own, no network; it writes in its scratch folder only.
#
# Hidden are /tmp, /run with the sockets of the user's session, and the results of the tournament with its own socket.
# The engine's folder, and files that its command or options name, stay readable where they lie in these. Source:
# bwrap(1).

BWRAP = "bwrap"
BWRAP_PACKAGE = "bubblewrap"  # Debian's, Fedora's and Arch's name of it
HIDDEN = (Path("/tmp"), Path("/run"))  # noqa: S108 - where everybody's files and sockets are
_SYSTEM_SETTINGS = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")  # of the system, which root may write
_SESSION = "XDG_RUNTIME_DIR"  # environment: sockets of the user's session, if they are not in /run
_SYSTEM_PROGRAMS = (Path("/run/current-system"),)  # where NixOS has all programs
HIDDEN_RESULTS = "ENGINETOUR_HIDDEN"  # environment of a slot: the folder of the tournament's results
SHELL_SIGNAL = 128  # bwrap ends as a shell does: 128 + signal


def wrap_command(
    spec: EngineSpec, command: Sequence[str], directory: Path, scratch: Path, *, in_namespace: bool
) -> list[str]:
    """The command in its sandbox. StartFailed when bwrap, or the program itself, is not there."""
    program = shutil.which(BWRAP)
    if program is None:
        raise StartFailed(f'sandbox = "bwrap" needs the program {BWRAP}: apt install {BWRAP_PACKAGE}')
    if (number := _unusable(command[0])) is not None:  # inside, nobody could tell it from an engine's own end
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
    """The error number that running it would give, as far as that can be told beforehand."""
    path = Path(program)
    if not path.exists():
        return errno.ENOENT
    return None if path.is_file() and os.access(path, os.X_OK) else errno.EACCES


def _hidden(homes: Set[Path] = frozenset()) -> list[Path]:
    """The folders that are empty inside, without those in another one; links lead to what they name.

    The results stay where they are one of `homes`, in which the engine lives: what lies beside it may be its own.
    """
    named = [Path(text) for name in (HIDDEN_RESULTS, _SESSION) if (text := os.environ.get(name, "")).startswith("/")]
    found = {path.resolve() for path in HIDDEN if path.is_dir()}
    found |= {path.resolve() for path in named if path.is_dir() and path.resolve() not in homes}
    return sorted(path for path in found if path != Path("/") and not found & set(path.parents))


def _needed(
    spec: EngineSpec, command: Sequence[str], directory: Path, scratch: Path, folders_: Sequence[Path]
) -> list[str]:
    """What lies in the hidden folders and is named, outermost first; nothing for the scratch folder, which is bound."""
    texts = [*command, *(expand_scratch(text, scratch) for _, text in (*spec.options, *spec.offered)), str(directory)]
    parts = [part for text in texts for part in (text, *text.split(os.pathsep))]  # folders as in PATH too
    named = {Path(text) for text in parts if text.startswith("/") and "\0" not in text}
    named.add(Path(command[0]).parent)
    named |= {
        Path(sys.prefix),
        Path(sys.base_prefix),
        *_SYSTEM_PROGRAMS,
    }  # of the interpreter that bundled engines run in
    named |= {path.resolve() for path in named}
    hidden = {path for path in named if path.exists() and any(folder in path.parents for folder in folders_)}
    bound: list[Path] = [scratch]
    for path in sorted(hidden):
        if not any(path.is_relative_to(one) for one in bound):
            bound.append(path)
    return [str(path) for path in bound[1:]]
