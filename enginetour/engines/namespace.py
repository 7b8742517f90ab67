"""A PID namespace around an engine: when its first process dies, nothing that was ever started in it survives.

The launcher becomes three processes: the *outer* one, which we started and watch; *init*, the first of the namespace;
and the engine, in a session of its own. Signals with default action do not reach an init, and its `abort` looks like a
segmentation fault (reliability spec 4.2): hence an init that is not the engine. It passes SIGTERM on, reaps, hands the
status to the outer one and goes, and the kernel ends whatever is left. The outer one then ends as the engine did.
Part of the launcher: imports nothing of the package but `libc`.
"""

import _signal as signal  # type: ignore[import-not-found]  # the plain module: its wrapper costs a third more
import os

from enginetour.engines import libc

CLONE_NEWNS = 0x00020000  # linux/sched.h
CLONE_NEWUSER = 0x10000000  # linux/sched.h
CLONE_NEWPID = 0x20000000  # linux/sched.h
MS_PRIVATE_MOUNT = 0x2 | 0x4 | 0x8  # MS_NOSUID, MS_NODEV, MS_NOEXEC; linux/mount.h
MS_SLAVE_ALL = 0x4000 | 0x80000  # MS_REC, MS_SLAVE; linux/mount.h: disks mounted later are seen, nothing goes out
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def enter() -> None:
    """The next child is the first process of a new namespace. Raises OSError where this is forbidden.

    Without the right to it, through a user namespace in which everybody keeps his number.
    """
    try:
        libc.call("unshare", CLONE_NEWPID | CLONE_NEWNS)
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
        libc.call("unshare", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
        libc.call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # new credentials may forget it


def divide(report: int) -> None:
    """Returns in the process that is to become the engine; the other two never return."""
    alive, living = os.pipe()  # its end tells init that the outer one is dead
    heard, status = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: None)  # none may get lost before its handler stands
    init = os.fork()
    if init:
        _step_aside()
        os.close(status)
        os.write(report, b"init %d\n" % init)
        os.close(report)
        os.write(living, b"!")
        _end_like(init, heard)
    os.close(living)
    libc.call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if not os.read(alive, 1):  # it died before the request: nobody would ever end us
        os._exit(1)
    sees_own = _own_proc()
    begun, beginning = os.pipe()  # the engine's copy closes at exec
    engine = os.fork()
    if not engine:
        os.setsid()  # a signal to its whole group hits only itself
        return
    os.close(beginning)
    _step_aside()
    _look_after(engine, begun, report, status, tells=sees_own)


def _end_like(init: int, heard: int) -> None:
    """The outer one: pass SIGTERM on, and end as the engine did when nothing of it is left."""
    signal.signal(signal.SIGTERM, lambda *_: os.kill(init, signal.SIGTERM))
    told = os.read(heard, 4)
    os.waitpid(init, 0)  # returns when the whole namespace is empty
    how = int.from_bytes(told, "big") if len(told) == 4 else signal.SIGKILL
    number = how & 0x7F  # of the signal that ended it: wait(2)
    if not number:
        os._exit(how >> 8 & 0xFF)
    try:
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    except (OSError, ValueError):  # an engine can write into this pipe too
        pass
    os._exit(1)


def _look_after(engine: int, begun: int, report: int, status: int, *, tells: bool) -> None:
    """Init: reap everybody until the engine ends, tell what it leaves behind if it can, and take that along."""

    def pass_on(*_: object) -> None:
        try:  # noqa: SIM105 - contextlib would lengthen the start-up
            os.killpg(engine, signal.SIGTERM)
        except ProcessLookupError:  # dead, or not yet leader of its group
            pass

    signal.signal(signal.SIGTERM, pass_on)
    os.read(begun, 1)  # nothing but its end ever comes: the program is loaded, or failed and said so
    os.set_blocking(report, False)
    _tell(report, b"running\n")
    ended, how = os.wait()
    while ended != engine:
        ended, how = os.wait()
    if tells and _anybody():
        _tell_strays(engine, report)
    os.write(status, how.to_bytes(4, "big"))
    os._exit(0)


def _tell(report: int, line: bytes) -> None:
    """A line on the pipe, if there is room: an engine that writes there itself must not hold us up."""
    try:  # noqa: SIM105 - contextlib would lengthen the start-up
        os.write(report, line)
    except OSError:
        pass


def _anybody() -> bool:
    """Whether there is still somebody else in the namespace."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _tell_strays(session: int, report: int) -> None:
    """Those in another session than the engine's, whose group would not have died with it."""
    for name in os.listdir("/proc"):  # noqa: PTH208 - as below
        if not name.isdigit() or name == "1":
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - pathlib would double the start-up
                text = file.read()
        except OSError:
            continue
        told, fields = text[text.index(b"(") + 1 : text.rindex(b")")], text[text.rindex(b")") + 2 :].split()
        if fields[0] != b"Z" and int(fields[3]) != session:
            _tell(report, b"stray %s %s\n" % (name.encode(), told.hex().encode()))


def _own_proc() -> bool:
    """A /proc with the numbers of this namespace, for engines that look themselves up; some containers forbid it."""
    try:
        libc.call("mount", b"none", b"/", None, MS_SLAVE_ALL, None)
        libc.call("mount", b"proc", b"/proc", b"proc", MS_PRIVATE_MOUNT, None)
    except OSError:
        return False
    return True


def _step_aside() -> None:
    """Let go of the engine's pipes: their ends are to be seen when the engine closes them."""
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123 - pathlib would double the start-up
        file.write(text)
