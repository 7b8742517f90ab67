"""The launcher: a program of its own that makes itself safe and then becomes the engine.

Run by path as ``python -I -S launch.py PARENT STATUS DIRECTORY PROGRAM ARGUMENT...`` in a session of its own; it
imports nothing of the package, because its start-up is part of every engine's start. `PARENT` is the expected parent's
process id, `STATUS` the descriptor of a pipe that closes at exec. On it: ``ready``, then nothing if the exec went well,
otherwise ``step number`` (``chdir`` or ``exec``, errno).
"""

import _signal as signal  # type: ignore[import-not-found]  # the plain module: its wrapper costs a third more
import os
import resource
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h
OOM_SCORE = "500"  # reliability spec 4.1: a lack of memory kills an engine, never us


def die_with_parent(parent: int) -> None:
    """SIGKILL at the death of the thread that started us; at once if that is already past."""
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the request: nobody would ever end us
        os._exit(1)


def forget_signals() -> None:
    """Default dispositions and an empty mask: a shell's ``&``, nohup and Python itself leave some ignored."""
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def main(arguments: list[str]) -> None:
    """Never returns: becomes the engine, or tells why not and exits."""
    parent, status, directory, *command = arguments
    die_with_parent(int(parent))
    forget_signals()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - pathlib would double the start-up
            file.write(OOM_SCORE)
    except OSError:  # no /proc, or a container that forbids it: a wish, not a condition
        pass
    report = int(status)
    os.set_inheritable(report, False)  # noqa: FBT003 - the signature of os
    os.write(report, b"ready")
    step = b"chdir"
    try:
        os.chdir(directory)
        step = b"exec"
        os.execvp(command[0], command)  # noqa: S606 - an argument list, never a shell
    except OSError as error:
        os.write(report, b" %s %d" % (step, error.errno or 0))
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
