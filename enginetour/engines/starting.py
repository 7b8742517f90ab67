"""The start of an engine: the call of the launcher, its reports, and the reasons of failed starts."""

from __future__ import annotations

import itertools
import os
import re
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from enginetour.engines import sandbox
from enginetour.engines.machine import CPUS
from enginetour.engines.sandbox import explain_failure
from enginetour.engines.strays import TAG
from enginetour.model.errors import MachineFailure, StartFailed
from enginetour.model.task import EngineSpec, Resources

_ROOT = Path(__file__).resolve().parents[2]  # directory of the package `enginetour`, which contains the launcher
# -I and -S skip the user's files and site-packages, which would double the start-up time.
LAUNCHER = (
    *(sys.executable, "-I", "-S", "-c"),
    f"import sys; sys.path.append({str(_ROOT)!r}); from enginetour.engines.launch import main; main(sys.argv[1:])",
)
_FURTHER = "ENGINETOUR_PASS_ENV"  # comma-separated names of further variables (reliability spec 4.1)
_NAMESPACE = "ENGINETOUR_NAMESPACE"  # "off": no PID namespace, for engines that do not run in one
_EXEC_LIMIT = 10.0  # s until the program is loaded; the same as for the whole handshake (runner spec 6)
# default PATH of Debian's users; used if the environment has no PATH
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
_MB = 1_000_000  # bytes
# first words of the launcher's records
_FAILED, _RUNNING, STRAY, _INIT, _READY = b"failed", b"running", b"stray", b"init", b"ready"
RECORD = re.compile(
    rb"ready|running|init [1-9][0-9]{0,6}|failed [a-z]{1,20} [0-9]{1,4}|stray [0-9]{1,7} ([0-9a-f]{2}){0,64}"
)
# bytes; capacity of a pipe, pipe(7); limited because an engine may write into the report pipe
_MOST_REPORTED = 64 * 1024

_numbers = itertools.count(1)
_forbidden = ""  # why this machine does not allow PID namespaces; "" until a start fails for this reason


@dataclass(frozen=True, slots=True)
class StartedProcess:
    """A running engine and enginetour's ends of its pipes, which are non-blocking.

    With a PID namespace, `init` is the first process in it, and the pipe `report` receives a record of each process
    that the engine leaves behind. `early` has the records that were read during the start.
    """

    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int
    pidfd: int
    report: int | None = None
    init: int | None = None
    init_fd: int | None = None
    early: bytes = b""


def launcher_records(message: bytes) -> list[list[bytes]]:
    """Return the words of each complete line with the form of a launcher's record; other lines come from an engine."""
    return [line.split(b" ") for line in message.split(b"\n")[:-1] if RECORD.fullmatch(line)]


def why_no_namespace() -> str:
    """Return why engines get no PID namespace, or "" as long as no start has failed for this reason."""
    return f"{_NAMESPACE}=off" if os.environ.get(_NAMESPACE) == "off" else _forbidden


def _environment(spec: EngineSpec, scratch: Path, tag: str) -> dict[str, str]:
    """Return a small environment that is the same on every machine.

    Variables set in the engine file take precedence, except over the tag.
    """
    outer = os.environ
    home = str(scratch) if spec.sandbox != "none" else outer.get("HOME", str(scratch))
    kept = {"PATH": outer.get("PATH", _PATH), "HOME": home}
    named = [*spec.pass_env, *(name.strip() for name in outer.get(_FURTHER, "").split(","))]
    kept |= {name: outer[name] for name in named if name in outer}
    kept |= {"TMPDIR": str(scratch), "LANG": "C.UTF-8"}
    kept |= {name: sandbox.expand_scratch(text, scratch) for name, text in spec.env}
    return kept | {TAG: tag}


class Launch:
    """The start of an engine's program. The launcher runs at once; `started` waits for the program (about 10 ms).

    Several programs may start at the same time. Meanwhile no engine may be ended, because a launcher looks like an
    orphan. Create the object in a thread that outlives the engine, because the parent-death signal is bound to that
    thread. The constructor and `started` raise StartFailed if the program cannot be run, and MachineFailure if this
    machine cannot start any program.
    """

    def __init__(self, spec: EngineSpec, tag: str = "") -> None:
        base = tag or os.environ.get(TAG, "") or "enginetour"
        self.spec = spec
        self.tag = f"{base}/{os.getpid()}.{next(_numbers)}"
        self.scratch: Path = sandbox.make_kept_scratch(spec.name) if spec.keep_scratch else sandbox.make_scratch()
        try:
            sandbox.write_files(self.scratch, spec)
            self._command = [sandbox.expand_scratch(word, self.scratch) for word in spec.command]
            if not self._command:
                raise StartFailed("no command")
            self._directory = sandbox.working_directory(spec, self._command, self.scratch)
            self._process, self._report = self._call()
        except BaseException:
            sandbox.remove_scratch(self.scratch)
            raise

    def started(self) -> StartedProcess:
        """Wait until the program runs, and return its process. The caller reads its output."""
        global _forbidden  # global because it is the same for all later starts on this machine
        try:
            try:
                return self._loaded()
            except _NoNamespace as refused:
                _forbidden = os.strerror(refused.number) if refused.number else "the kernel forbids it"
                self._process, self._report = self._call()
                return self._loaded()
        except BaseException:
            sandbox.remove_scratch(self.scratch)
            raise

    def drop(self) -> None:
        """End the program if it is no longer needed, and remove its scratch directory."""
        self._process.kill()
        self._process.communicate()
        os.close(self._report)
        sandbox.remove_scratch(self.scratch)

    def _call(self) -> tuple[subprocess.Popen[bytes], int]:
        inside = not why_no_namespace()
        settings = [f"namespace={'pid' if inside else 'off'}", *_limits(self.spec.resources)]
        if processors := os.environ.get(CPUS):
            settings.append(f"cpus={processors}")
        if self.spec.sandbox == "landlock":
            settings.append(f"landlock={self.scratch}")
        program = self._command
        if self.spec.sandbox == "bwrap":
            program = sandbox.wrap_command(self.spec, program, self._directory, self.scratch, in_namespace=inside)
        report, status = os.pipe2(os.O_CLOEXEC)
        call = [*LAUNCHER, str(os.getpid()), str(status), str(self._directory), *settings, "--", *program]
        try:
            process = subprocess.Popen(
                call,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(self.spec, self.scratch, self.tag),
                start_new_session=True,
                pass_fds=(status,),
            )
        except ValueError as error:  # an embedded null byte
            os.close(report)
            raise StartFailed(f"{self._command[0]!r} cannot be started: {error}") from error
        except OSError as error:
            os.close(report)
            raise MachineFailure(f"cannot start a process: {error.strerror}") from error
        finally:
            os.close(status)
        return process, report

    def _loaded(self) -> StartedProcess:
        process, report = self._process, self._report
        try:
            text = _read_report(report)
            records = None if text is None else launcher_records(text)
            kinds = [record[0] for record in records or ()]
            if _READY not in kinds or _FAILED in kinds:
                raise _failure(process, records, self._command[0], self._directory, self.spec.resources)
            return _ends(process, report, text or b"")
        except BaseException:
            os.close(report)
            raise


class _NoNamespace(Exception):
    """The launcher could not make a PID namespace."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _limits(resources: Resources) -> list[str]:
    """Return the launcher's settings for the limits of an engine, without memory, which another process monitors."""
    size = None if resources.file_size is None else resources.file_size * _MB
    named = {"files": resources.files, "file_size": size, "nice": resources.nice or None}
    return [f"{key}={value}" for key, value in named.items() if value is not None]


def _read_report(report: int) -> bytes | None:
    """Read the report pipe up to its end or to the record of success or failure; None if the time limit is reached."""
    deadline = time.monotonic() + _EXEC_LIMIT
    poll = select.poll()
    poll.register(report, select.POLLIN)
    text = b""
    while len(text) < _MOST_REPORTED and poll.poll(max(0.0, (deadline - time.monotonic()) * 1000)):
        chunk = os.read(report, 4096)
        text += chunk
        if not chunk or any(record[0] in (_FAILED, _RUNNING) for record in launcher_records(text)):
            return text
    return None


def _failure(
    process: subprocess.Popen[bytes],
    records: list[list[bytes]] | None,
    program: str,
    directory: Path,
    resources: Resources,
) -> Exception:
    process.kill()
    _, complaint = process.communicate()
    if records is None:
        return StartFailed(f"{program}: the program was not loaded within {_EXEC_LIMIT:.0f} s")
    kinds = [record[0] for record in records]
    if _FAILED not in kinds:
        last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return MachineFailure(f"the launcher failed (status {process.returncode}): {last}")
    step, number = (word.decode() for word in records[kinds.index(_FAILED)][1:])
    is_ready = _READY in kinds[: kinds.index(_FAILED)]  # after that, the engine may have written the record
    if step == "namespace" and not is_ready:
        return _NoNamespace(int(number))
    if step == "affinity" and not is_ready:
        return MachineFailure(f"processors {os.environ.get(CPUS)} are not available: {os.strerror(int(number))}")
    return StartFailed(explain_failure(step, int(number), program, directory, resources))


def _ends(process: subprocess.Popen[bytes], report: int, text: bytes) -> StartedProcess:
    assert process.stdin and process.stdout and process.stderr
    ends = (process.stdin.fileno(), process.stdout.fileno(), process.stderr.fileno())
    for end in (*ends, report):
        os.set_blocking(end, False)
    pidfd = os.pidfd_open(process.pid)
    records = launcher_records(text)
    named = [int(record[1]) for record in records if record[0] == _INIT]
    if not named:
        os.close(report)
        return StartedProcess(process, *ends, pidfd)
    early = b"".join(b" ".join(record) + b"\n" for record in records if record[0] == STRAY)
    try:
        return StartedProcess(process, *ends, pidfd, report, named[0], os.pidfd_open(named[0]), early)
    except ProcessLookupError:  # it has already ended, with everything in its namespace
        return StartedProcess(process, *ends, pidfd, report, early=early)
