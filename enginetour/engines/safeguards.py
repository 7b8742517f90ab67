"""Which safeguards are in force on this machine, tried for real, in one line for the user."""

from __future__ import annotations

import os
import shutil
import sys

from enginetour.engines import launch, starting
from enginetour.engines.process import EngineProcess
from enginetour.engines.sandbox import BWRAP, BWRAP_PACKAGE, explain_no_landlock
from enginetour.model.errors import MachineFailure, StartFailed
from enginetour.model.task import EngineSpec

_TRUNCATE_ABI = 3  # of landlock, from which on no file can be emptied (Linux 6.2): landlock(7)


def describe_safeguards() -> str:
    """``engines run in: pid namespace; sandboxes: bwrap no (apt install bubblewrap), landlock yes; ...``."""
    why = _namespace_missing()
    own = f"no pid namespace ({why}), they die with us, what they left is looked for" if why else "pid namespace"
    wrapped = "yes" if shutil.which(BWRAP) else f"no (apt install {BWRAP_PACKAGE})"
    sandboxes = f"sandboxes: bwrap {wrapped}, landlock {_landlock()}"
    return f"engines run in: {own}, cgroup no (memory limits are watched by us); {sandboxes}"


def _namespace_missing() -> str:
    """Why engines get no PID namespace here, "" if they do; a process is started to see it."""
    try:
        EngineProcess(EngineSpec("trial", (sys.executable, "-I", "-S", "-c", ""), "uci", dir="scratch")).kill()
    except (MachineFailure, StartFailed) as failure:
        return str(failure)
    return starting.why_no_namespace()


def root_warning() -> str:
    """What somebody who runs as root should hear once, "" for everybody else."""
    if os.geteuid():
        return ""
    return (
        "running as root, and so do the engines: without a sandbox they can do anything to this machine; a sandbox "
        "takes their capabilities away, but they still own the system's files. Hint: use another user"
    )


def _landlock() -> str:
    if os.uname().machine not in launch.MACHINES:
        return f"no (no filter of system calls for {os.uname().machine})"
    try:
        return "yes" if launch.abi() >= _TRUNCATE_ABI else "yes, but an engine can empty files (Linux before 6.2)"
    except OSError as error:
        return f"no ({explain_no_landlock(error.errno)})"
