"""The launcher: a program of its own that makes itself safe and then becomes the engine.

Called with ``PARENT REPORT DIRECTORY [KEY=VALUE ...] -- PROGRAM ARGUMENT...`` in a session of its own; it imports
little, because its start-up is part of every engine's start. `PARENT` is the expected parent's process id, `REPORT` the
descriptor of a pipe on which it tells, a line each:

    init PID              in a PID namespace: the first process in it, by its number outside
    ready                 all but the last step is done
    failed STEP ERRNO     it gives up
    running               in a namespace: the program is loaded; else the end of the pipe means this
    stray PID NAME        in a namespace: a process in another session that the engine left behind; its name in hex

An engine in a namespace can write into this pipe: the reader heeds whole lines of these forms alone.

key         value                                                             source
namespace   ``pid``, or ``off``: only the parent's death is answered          reliability spec 4.2
files       most open files                                                   setrlimit(2)
file_size   bytes of the largest file                                         setrlimit(2)
nice        added to the niceness                                             nice(2)
cpus        the only processors it may run on, comma separated                sched_setaffinity(2)
landlock    the only folder in which it may write; no capabilities, sockets   landlock(7), seccomp(2)
"""

import _signal as signal  # type: ignore[import-not-found]  # the plain module: its wrapper costs a third more
import os
import resource

from enginetour.engines import libc

PR_SET_PDEATHSIG = 1  # linux/prctl.h
OOM_SCORE = "500"  # reliability spec 4.1: a lack of memory kills an engine, never us


def die_with_parent(parent: int) -> None:
    """SIGKILL at the death of the thread that started us; at once if that is already past."""
    libc.call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the request: nobody would ever end us
        os._exit(1)


def forget_signals() -> None:
    """Default dispositions and an empty mask: a shell's ``&``, nohup and Python itself leave some ignored."""
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def limit(settings: dict[str, str]) -> None:
    """What it may use; OSError or ValueError where it asks for more than we have ourselves."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for key, kind in (("files", resource.RLIMIT_NOFILE), ("file_size", resource.RLIMIT_FSIZE)):
        if key in settings:
            resource.setrlimit(kind, (int(settings[key]), int(settings[key])))
    if "nice" in settings:
        os.nice(int(settings["nice"]))


def yield_memory() -> None:
    """First to go when memory lacks."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - pathlib would double the start-up
            file.write(OOM_SCORE)
    except OSError:  # no /proc, or a container that forbids it: a wish, not a condition
        pass


def main(arguments: list[str]) -> None:
    """Never returns: becomes the engine, or tells why not and exits."""
    parent, number, directory, *rest = arguments
    cut = rest.index("--")
    settings, command = dict(word.split("=", 1) for word in rest[:cut]), rest[cut + 1 :]
    die_with_parent(int(parent))
    forget_signals()
    yield_memory()
    report = int(number)
    os.set_inheritable(report, False)  # noqa: FBT003 - the signature of os
    step = b"namespace"
    try:
        if settings["namespace"] == "pid":
            from enginetour.engines import namespace

            namespace.enter()
            namespace.divide(report)
        step = b"limits"
        limit(settings)
        step = b"affinity"
        if "cpus" in settings:
            os.sched_setaffinity(0, [int(word) for word in settings["cpus"].split(",")])
        os.write(report, b"ready\n")
        step = b"chdir"
        os.chdir(directory)
        if "landlock" in settings:
            from enginetour.engines import landlock

            step = b"landlock"
            landlock.restrict(settings["landlock"])
            from enginetour.engines import confine

            step = b"filter"
            confine.drop_capabilities()
            confine.forbid_calls()
        step = b"exec"
        os.execvp(command[0], command)  # noqa: S606 - an argument list, never a shell
    except (OSError, ValueError) as error:
        os.write(report, b"failed %s %d\n" % (step, getattr(error, "errno", None) or 0))
    os._exit(1)
