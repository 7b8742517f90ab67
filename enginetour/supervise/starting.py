"""How an engine is started: its environment, the launcher's call, and words for a start that failed."""

from __future__ import annotations

import errno
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from enginetour.errors import MachineFailure, StartFailed
from enginetour.supervise import scratch as folders
from enginetour.supervise.strays import TAG
from enginetour.task import EngineSpec

LAUNCHER = str(Path(__file__).with_name("launch.py"))
FURTHER = "ENGINETOUR_PASS_ENV"  # comma separated names of further variables (reliability spec 4.1)
EXEC_LIMIT = 10.0  # s until the program is loaded; as the whole handshake (runner spec 6)
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"  # Debian's for users, if we have none
ELF_MACHINE = slice(18, 20)  # e_machine; System V ABI, ELF header


@dataclass(frozen=True, slots=True)
class Started:
    """A running engine's ends of its pipes, ours non-blocking."""

    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int
    pidfd: int


def environment(spec: EngineSpec, scratch: Path, tag: str) -> dict[str, str]:
    """Reliability spec 4.1: little, and the same everywhere; the engine file's own variables win but for the tag."""
    ours = os.environ
    kept = {"PATH": ours.get("PATH", PATH), "HOME": ours.get("HOME", str(scratch))}
    named = [name.strip() for name in ours.get(FURTHER, "").split(",")]
    kept |= {name: ours[name] for name in named if name in ours}
    kept |= {"TMPDIR": str(scratch), "LANG": "C.UTF-8"}
    kept |= {name: folders.expand(text, scratch) for name, text in spec.env}
    return kept | {TAG: tag}


def start(spec: EngineSpec, scratch: Path, tag: str) -> Started:
    """Launch and wait until the program is loaded (exec), some 10 ms; what it then says is the adapter's business.

    Call it from a thread that outlives the engine: the parent-death signal is bound to it.
    Raises StartFailed when the program cannot be run, MachineFailure when this machine cannot start any.
    """
    command = [folders.expand(word, scratch) for word in spec.command]
    if not command:
        raise StartFailed("no command")
    directory = folders.working_directory(spec, command, scratch)
    report, status = os.pipe2(os.O_CLOEXEC)
    call = [sys.executable, "-I", "-S", LAUNCHER, str(os.getpid()), str(status), str(directory), *command]
    try:
        process = subprocess.Popen(
            call,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(spec, scratch, tag),
            start_new_session=True,
            pass_fds=(status,),
        )
    except ValueError as error:  # an embedded null byte
        os.close(report)
        raise StartFailed(f"{command[0]!r} cannot be started: {error}") from error
    except OSError as error:
        os.close(report)
        raise MachineFailure(f"cannot start a process: {error.strerror}") from error
    finally:
        os.close(status)
    try:
        said = _hear(report)
    finally:
        os.close(report)
    if said != b"ready":
        process.kill()
        _, complaint = process.communicate()
        if said is None:
            raise StartFailed(f"{command[0]}: not loaded after {EXEC_LIMIT:.0f} s")
        if not said.startswith(b"ready "):
            last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise MachineFailure(f"the launcher failed (status {process.returncode}): {last}")
        step, number = said.split()[1:3]
        raise StartFailed(why(step.decode(), int(number), command[0], directory))
    return _ends(process)


def _hear(report: int) -> bytes | None:
    """All that comes on the status pipe up to its end; None if it is still open at the limit."""
    deadline = time.monotonic() + EXEC_LIMIT
    poll = select.poll()
    poll.register(report, select.POLLIN)
    said = b""
    while poll.poll(max(0.0, (deadline - time.monotonic()) * 1000)):
        chunk = os.read(report, 4096)
        if not chunk:
            return said
        said += chunk
    return None


def _ends(process: subprocess.Popen[bytes]) -> Started:
    assert process.stdin and process.stdout and process.stderr
    ends = (process.stdin.fileno(), process.stdout.fileno(), process.stderr.fileno())
    for end in ends:
        os.set_blocking(end, False)
    return Started(process, *ends, pidfd=os.pidfd_open(process.pid))


def why(step: str, number: int, program: str, directory: Path) -> str:
    """Why the program could not be run, in one line with what to do."""
    if step == "chdir":
        return f"its folder {directory} cannot be entered: {os.strerror(number)}"
    path = Path(program)
    if number == errno.ENOENT and path.is_file():
        return f"{program}: its interpreter {_interpreter(path)} is missing"
    if number in (errno.ENOENT, errno.ENOTDIR):
        return f"{program} is missing"
    if number == errno.EACCES:
        if path.is_dir():
            return f"{program} is a folder, not a program"
        return f"{program} is not executable (chmod +x {path.name}?)"
    if number == errno.ENOEXEC:
        return f"{program}: {_not_a_program(path)}"
    return f"{program} cannot be run: {os.strerror(number)}"


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(256)
    except OSError:
        return b""


def _interpreter(path: Path) -> str:
    head = _head(path)
    if head.startswith(b"#!"):
        words = head[2:].split(b"\n")[0].split()
        return words[0].decode("utf-8", "replace") if words else "(none named)"
    return "(its loader: is it built for another system?)"


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
