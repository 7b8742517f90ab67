"""bubblewrap around an engine: a read-only system, a /tmp of its own, no network; it writes in its scratch folder only.

Hidden are /tmp, /run with the sockets of the user's session, and the results of the tournament with its own socket. The
engine's folder, and files that its command or options name, stay readable where they lie in these. Source: bwrap(1).
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from enginetour.errors import StartFailed
from enginetour.supervise import scratch as folders
from enginetour.supervise.refusals import why
from enginetour.task import EngineSpec

PROGRAM = "bwrap"
PACKAGE = "bubblewrap"  # Debian's, Fedora's and Arch's name of it
HIDDEN = (Path("/tmp"), Path("/run"))  # noqa: S108 - where everybody's files and sockets are
SETTINGS = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")  # of the system, which root may write
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
    for folder in _hidden():
        own += ["--tmpfs", str(folder)]
    for path in _needed(spec, command, directory, scratch):
        own += ["--ro-bind", path, path]
    own += ["--bind", str(scratch), str(scratch)]
    for folder in _hidden():
        own += ["--remount-ro", str(folder)] if folder != HIDDEN[0] else []
    own += ["--chdir", str(directory), "--die-with-parent"]
    own += ["--unshare-net", "--unshare-ipc", *([] if in_namespace else ["--unshare-pid"])]
    return [program, *own, "--", *command]


def _unusable(program: str) -> int | None:
    """The error number that running it would give, as far as that can be told beforehand."""
    path = Path(program)
    if not path.exists():
        return errno.ENOENT
    return None if path.is_file() and os.access(path, os.X_OK) else errno.EACCES


def _hidden() -> list[Path]:
    """The folders that are empty inside, outermost first; links lead to what they name."""
    results = os.environ.get(RESULTS, "")
    named = (*HIDDEN, Path(results)) if results.startswith("/") else HIDDEN
    found = {path.resolve() for path in named if path.is_dir()}
    return sorted(path for path in found if path != Path("/") and not found & set(path.parents))


def _needed(spec: EngineSpec, command: Sequence[str], directory: Path, scratch: Path) -> list[str]:
    """What lies in the hidden folders and is named, outermost first; nothing for the scratch folder, which is bound."""
    texts = [*command, *(folders.expand(text, scratch) for _, text in (*spec.options, *spec.offered)), str(directory)]
    parts = [part for text in texts for part in (text, *text.split(os.pathsep))]  # folders as in PATH too
    named = {Path(text) for text in parts if text.startswith("/") and "\0" not in text}
    named.add(Path(command[0]).parent)
    named |= {Path(sys.prefix), Path(sys.base_prefix)}  # of the interpreter that bundled engines run in
    named |= {path.resolve() for path in named}
    folders_ = _hidden()
    hidden = {path for path in named if path.exists() and any(folder in path.parents for folder in folders_)}
    bound: list[Path] = [scratch]
    for path in sorted(hidden):
        if not any(path.is_relative_to(one) for one in bound):
            bound.append(path)
    return [str(path) for path in bound[1:]]
