"""Why a program could not be run: one line, with what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from enginetour.model.task import Resources

ELF_MACHINE = slice(18, 20)  # e_machine; System V ABI, ELF header


def why(step: str, number: int, program: str, directory: Path, resources: Resources) -> str:
    """What the launcher failed at, by its word for the step and the error number (0: none)."""
    if step == "chdir":
        return f"its folder {directory} cannot be entered: {os.strerror(number)}"
    if step == "limits":
        return f"its [resources] cannot be had: files = {resources.files}; this machine allows {_most_files()}"
    if step == "landlock":
        return f'sandbox = "landlock" cannot be had: {no_landlock(number)}; say "bwrap" or "none"'
    if step == "filter":
        return f'sandbox = "landlock" is not available: no filter of system calls ({os.strerror(number)}); use "bwrap"'
    path = Path(program)
    if number == errno.ENOENT and path.is_file():
        return f"{program}: {_without_interpreter(path)}"
    if number in (errno.ENOENT, errno.ENOTDIR):
        return f"{program} is missing"
    if number == errno.EACCES:
        return not_runnable(path)
    if number == errno.ENOEXEC:
        return f"{program}: {_not_a_program(path)}"
    return f"{program} cannot be run: {os.strerror(number)}"


def not_runnable(path: Path) -> str:
    """Of what is there and is no program as it stands."""
    if path.is_dir():
        return f"{path} is a folder, not a program"
    return f"{path} is not executable (chmod +x {path.name}?)"


def _most_files() -> int:
    import resource

    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def no_landlock(number: int | None) -> str:
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
        if head[ELF_MACHINE] != mine[ELF_MACHINE]:
            return "built for another processor architecture"
        return "a damaged program file"
    if head.startswith(b"MZ"):
        return "a Windows program: start it through wine"
    return "neither a program nor a script with an interpreter (#!) in its first line"
