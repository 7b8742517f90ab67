"""Show which safeguards work on this machine, in one line; they are tried for real."""

from __future__ import annotations

import os
import shutil
import sys

from enginetour.engines import launch, starting
from enginetour.engines.process import EngineProcess
from enginetour.engines.sandbox import BWRAP, BWRAP_PACKAGE, explain_no_landlock
from enginetour.model.errors import MachineFailure, StartFailed
from enginetour.model.task import EngineSpec

_TRUNCATE_ABI = 3  # ABI of landlock from which on an engine cannot empty files (Linux 6.2): landlock(7)


def describe_safeguards() -> str:
    """Return ``engines run in: PID namespace; sandboxes: bwrap no (apt install bubblewrap), landlock yes; ...``."""
    why = _namespace_missing()
    own = f"no PID namespace ({why}), remaining processes are found by their tag" if why else "PID namespace"
    wrapped = "yes" if shutil.which(BWRAP) else f"no (apt install {BWRAP_PACKAGE})"
    sandboxes = f"sandboxes: bwrap {wrapped}, landlock {_landlock()}"
    return f"engines run in: {own}, cgroup no (enginetour checks memory limits); {sandboxes}"


def _namespace_missing() -> str:
    """Start a process, and return why it gets no PID namespace; "" if it does."""
    try:
        EngineProcess(EngineSpec("trial", (sys.executable, "-I", "-S", "-c", ""), "uci", dir="scratch")).kill()
    except (MachineFailure, StartFailed) as failure:
        return str(failure)
    return starting.why_no_namespace()


def root_warning() -> str:
    """Return a warning for the user root; "" for other users."""
    if os.geteuid():
        return ""
    return (
        "running as root, and so do the engines: without a sandbox they can do anything on this machine; a sandbox "
        "removes their capabilities, but they still own the system's files. Hint: use another user."
    )


def _landlock() -> str:
    if os.uname().machine not in launch.MACHINES:
        return f"no (there is no filter of system calls for {os.uname().machine})"
    try:
        return "yes" if launch.abi() >= _TRUNCATE_ABI else "yes, but an engine can empty files (Linux before 6.2)"
    except OSError as error:
        return f"no ({explain_no_landlock(error.errno)})"
