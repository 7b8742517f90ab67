"""bubblewrap around an engine: a read-only system, a /tmp of its own, no network; it writes in its scratch folder only.

Hidden are /tmp, /run with the sockets of the user's session, and the results of the tournament with its own socket. The
engine's folder, and files that its command or options name, stay readable where they lie in these. Source: bwrap(1).
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Sequence, Set
from pathlib import Path

from enginetour.engines import scratch as folders
from enginetour.engines.refusals import why
from enginetour.model.errors import StartFailed
from enginetour.model.task import EngineSpec

PROGRAM = "bwrap"
PACKAGE = "bubblewrap"  # Debian's, Fedora's and Arch's name of it
HIDDEN = (Path("/tmp"), Path("/run"))  # noqa: S108 - where everybody's files and sockets are
SETTINGS = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")  # of the system, which root may write
SESSION = "XDG_RUNTIME_DIR"  # environment: sockets of the user's session, if they are not in /run
PROGRAMS = (Path("/run/current-system"),)  # where NixOS has all programs
RESULTS = "ENGINETOUR_HIDDEN"  # environment of a slot: the folder of the tournament's results
SHELL_SIGNAL = 128  # bwrap ends as a shell does: 128 + signal


def wrapped(
    spec: EngineSpec, command: Sequence[str], directory: Path, scratch: Path, *, in_namespace: bool
) -> list[str]:
    """The command in its sandbox. StartFailed when bwrap, or the program itself, is not there."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise StartFailed(f'sandbox = "bwrap" needs the program {PROGRAM}: apt install {PACKAGE}')
    if (number := _unusable(command[0])) is not None:  # inside, nobody could tell it from an engine's own end
        raise StartFailed(why("exec", number, command[0], directory, spec.resources))
    own = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--cap-drop", "ALL"]
    for name in SETTINGS:
        own += ["--ro-bind-try", name, name]
    hidden = _hidden({Path(command[0]).parent.resolve(), directory.resolve()})
    for folder in hidden:
        own += ["--tmpfs", str(folder)]
    for path in _needed(spec, command, directory, scratch, hidden):
        own += ["--ro-bind", path, path]
    own += ["--bind", str(scratch), str(scratch)]
    for folder in hidden:
        own += ["--remount-ro", str(folder)] if folder != HIDDEN[0] else []
    if (results := os.environ.get(RESULTS, "")) and Path(results).resolve() not in hidden:
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
    named = [Path(text) for name in (RESULTS, SESSION) if (text := os.environ.get(name, "")).startswith("/")]
    found = {path.resolve() for path in HIDDEN if path.is_dir()}
    found |= {path.resolve() for path in named if path.is_dir() and path.resolve() not in homes}
    return sorted(path for path in found if path != Path("/") and not found & set(path.parents))


def _needed(
    spec: EngineSpec, command: Sequence[str], directory: Path, scratch: Path, folders_: Sequence[Path]
) -> list[str]:
    """What lies in the hidden folders and is named, outermost first; nothing for the scratch folder, which is bound."""
    texts = [*command, *(folders.expand(text, scratch) for _, text in (*spec.options, *spec.offered)), str(directory)]
    parts = [part for text in texts for part in (text, *text.split(os.pathsep))]  # folders as in PATH too
    named = {Path(text) for text in parts if text.startswith("/") and "\0" not in text}
    named.add(Path(command[0]).parent)
    named |= {Path(sys.prefix), Path(sys.base_prefix), *PROGRAMS}  # of the interpreter that bundled engines run in
    named |= {path.resolve() for path in named}
    hidden = {path for path in named if path.exists() and any(folder in path.parents for folder in folders_)}
    bound: list[Path] = [scratch]
    for path in sorted(hidden):
        if not any(path.is_relative_to(one) for one in bound):
            bound.append(path)
    return [str(path) for path in bound[1:]]
