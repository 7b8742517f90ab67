"""The launcher, a program that prepares its process and then becomes the engine: namespace, limits, landlock.

The launcher becomes three processes: the *outer* process, which enginetour started and watches; *init*, the first
process of the namespace; and the engine, in its own session. The engine cannot be init itself, because signals with
default action do not reach init, and an `abort` of init looks like a segmentation fault (reliability spec 4.2). Init
passes SIGTERM on to the engine, reaps processes, sends the engine's exit status to the outer process and exits. Then
the kernel ends all remaining processes of the namespace, and the outer process exits with the status of the engine.
This module does not import other modules of the package.
"""

import _signal as signal  # type: ignore[import-not-found]  # not `signal`, whose import takes a third longer
import ctypes
import os

_library = ctypes.CDLL(None, use_errno=True)  # the libraries that are already loaded: dlopen(3)


def call(name: str, *arguments: int | bytes | None) -> int:
    """Call a C function and return its result. Raise OSError if it returns -1.

    Integers are passed as C int, bytes as a pointer to them, and None as NULL.
    """
    result: int = getattr(_library, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


# The launcher program.
#
# It is called with ``PARENT REPORT DIRECTORY [KEY=VALUE ...] -- PROGRAM ARGUMENT...`` in its own session. It imports
# few modules, because its start is part of the start of every engine. `PARENT` is the process id of the expected
# parent. `REPORT` is the descriptor of a pipe to which it writes these lines:
#
#     init PID              in a namespace: the first process of the namespace, with its process id outside
#     ready                 all steps except the last are done
#     failed STEP ERRNO     a step has failed, and the launcher exits
#     running               in a namespace: the program is loaded (without a namespace, the pipe is closed instead)
#     stray PID NAME        in a namespace: a process in another session that is left over; its name is in hex
#
# An engine in a namespace can write to this pipe, so the reader accepts only whole lines of these forms.
#
# key         value                                                                source
# namespace   ``pid``, or ``off``: only the end of the parent ends the engine      reliability spec 4.2
# files       maximum number of open files                                         setrlimit(2)
# file_size   maximum size of a file in bytes                                      setrlimit(2)
# nice        number that is added to the niceness                                 nice(2)
# cpus        the processors on which it may run, separated by commas              sched_setaffinity(2)
# landlock    the only directory with write access; no capabilities, no sockets    landlock(7), seccomp(2)

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PR_SET_NO_NEW_PRIVS = 38  # linux/prctl.h; without it, only root may use landlock and seccomp
_OOM_SCORE = "500"  # reliability spec 4.1: if memory runs out, the kernel kills an engine and not enginetour


def _die_with_parent(parent: int) -> None:
    """Request SIGKILL for this process when the parent thread ends; exit at once if it has already ended."""
    call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the request, so nothing else would end this process
        os._exit(1)


def _forget_signals() -> None:
    """Set the default action of all signals, and an empty mask, because ``&``, nohup and Python ignore some signals."""
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _limit(settings: dict[str, str]) -> None:
    import resource  # imported here: other systems than Linux do not have it

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for key, kind in (("files", resource.RLIMIT_NOFILE), ("file_size", resource.RLIMIT_FSIZE)):
        if key in settings:
            resource.setrlimit(kind, (int(settings[key]), int(settings[key])))
    if "nice" in settings:
        os.nice(int(settings["nice"]))


def _yield_memory() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - pathlib would double the start-up
            file.write(_OOM_SCORE)
    except OSError:  # without /proc, or in a container that forbids it; the score is optional
        pass


def main(arguments: list[str]) -> None:
    """Become the engine. If a step fails, report it and exit. This function never returns."""
    parent, number, directory, *rest = arguments
    cut = rest.index("--")
    settings, command = dict(word.split("=", 1) for word in rest[:cut]), rest[cut + 1 :]
    _die_with_parent(int(parent))
    _forget_signals()
    _yield_memory()
    report = int(number)
    os.set_inheritable(report, False)  # noqa: FBT003 - the signature of os
    step = b"namespace"
    try:
        if settings["namespace"] == "pid":
            _enter()
            _divide(report)
        step = b"limits"
        _limit(settings)
        step = b"affinity"
        if "cpus" in settings:
            os.sched_setaffinity(0, [int(word) for word in settings["cpus"].split(",")])
        os.write(report, b"ready\n")
        step = b"chdir"
        os.chdir(directory)
        if "landlock" in settings:
            step = b"landlock"
            call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            _restrict(settings["landlock"])
            step = b"filter"
            _drop_capabilities()
            _forbid_calls()
        step = b"exec"
        os.execvp(command[0], command)  # noqa: S606 - an argument list, never a shell
    except (OSError, ValueError) as error:
        os.write(report, b"failed %s %d\n" % (step, getattr(error, "errno", None) or 0))
    os._exit(1)


# A PID namespace for an engine. When the first process of a namespace ends, the kernel ends all other processes in it.

_CLONE_NEWNS = 0x00020000  # linux/sched.h
_CLONE_NEWUSER = 0x10000000  # linux/sched.h
_CLONE_NEWPID = 0x20000000  # linux/sched.h
_MS_PRIVATE_MOUNT = 0x2 | 0x4 | 0x8  # MS_NOSUID, MS_NODEV, MS_NOEXEC; linux/mount.h
# MS_REC, MS_SLAVE; linux/mount.h: disks mounted later are visible, changes stay inside
_MS_SLAVE_ALL = 0x4000 | 0x80000


def _enter() -> None:
    """Make the next child process the first process of a new PID namespace. Raise OSError if this is forbidden.

    If the user may not create such a namespace, also create a user namespace, in which the user keeps its number.
    """
    try:
        call("unshare", _CLONE_NEWPID | _CLONE_NEWNS)
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
        call("unshare", _CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNS)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
        call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # new credentials may clear it


def _divide(report: int) -> None:
    """Start init and the engine. This function returns only in the process that becomes the engine."""
    alive, living = os.pipe()  # if this pipe ends, the outer process has ended
    heard, status = os.pipe()
    signal.signal(
        signal.SIGTERM, lambda *_: None
    )  # so that a signal before the other handlers are set does not end the process
    init = os.fork()
    if init:
        _step_aside()
        os.close(status)
        os.write(report, b"init %d\n" % init)
        os.close(report)
        os.write(living, b"!")
        _end_like(init, heard)
    os.close(living)
    call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if not os.read(alive, 1):  # the outer process ended before the request, so nothing else would end this process
        os._exit(1)
    sees_own = _own_proc()
    begun, beginning = os.pipe()  # the engine's copy closes at exec
    engine = os.fork()
    if not engine:
        os.setsid()  # so that a signal from the engine to its whole group does not reach init
        return
    os.close(beginning)
    _step_aside()
    _look_after(engine, begun, report, status, tells=sees_own)


def _end_like(init: int, heard: int) -> None:
    """Act as the outer process: pass SIGTERM on; when the namespace is empty, exit with the status of the engine."""
    signal.signal(signal.SIGTERM, lambda *_: os.kill(init, signal.SIGTERM))
    status = os.read(heard, 4)
    os.waitpid(init, 0)  # returns when the whole namespace is empty
    how = int.from_bytes(status, "big") if len(status) == 4 else signal.SIGKILL
    number = how & 0x7F  # the signal that ended the engine: wait(2)
    if not number:
        os._exit(how >> 8 & 0xFF)
    try:
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    except (OSError, ValueError):  # the status may be invalid, because an engine can write to this pipe
        pass
    os._exit(1)


def _look_after(engine: int, begun: int, report: int, status: int, *, tells: bool) -> None:
    """Act as init: reap processes until the engine ends, report the processes that it left behind, and exit.

    The kernel then ends these processes. `tells` is whether /proc can show them.
    """

    def pass_on(*_: object) -> None:
        try:  # noqa: SIM105 - contextlib would lengthen the start-up
            os.killpg(engine, signal.SIGTERM)
        except ProcessLookupError:  # the engine has ended, or is not the leader of its group yet
            pass

    signal.signal(signal.SIGTERM, pass_on)
    os.read(begun, 1)  # returns at the end of the pipe: the program is loaded, or has failed and reported it
    os.set_blocking(report, False)
    _send_line(report, b"running\n")
    ended, how = os.wait()
    while ended != engine:
        ended, how = os.wait()
    if tells and _has_children():
        _tell_strays(engine, report)
    os.write(status, how.to_bytes(4, "big"))
    os._exit(0)


def _send_line(report: int, line: bytes) -> None:
    """Write a line if the pipe has room, because an engine that fills the pipe must not block init."""
    try:  # noqa: SIM105 - contextlib would lengthen the start-up
        os.write(report, line)
    except OSError:
        pass


def _has_children() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _tell_strays(session: int, report: int) -> None:
    """Report processes outside the session of the engine, which would not end with its process group."""
    for name in os.listdir("/proc"):  # noqa: PTH208 - as below
        if not name.isdigit() or name == "1":
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - pathlib would double the start-up
                text = file.read()
        except OSError:
            continue
        name_bytes, fields = text[text.index(b"(") + 1 : text.rindex(b")")], text[text.rindex(b")") + 2 :].split()
        if fields[0] != b"Z" and int(fields[3]) != session:
            _send_line(report, b"stray %s %s\n" % (name.encode(), name_bytes.hex().encode()))


def _own_proc() -> bool:
    """Mount a /proc for this namespace, for engines that read it. Return False if it is forbidden (some containers)."""
    try:
        call("mount", b"none", b"/", None, _MS_SLAVE_ALL, None)
        call("mount", b"proc", b"/proc", b"proc", _MS_PRIVATE_MOUNT, None)
    except OSError:
        return False
    return True


def _step_aside() -> None:
    """Close the engine's pipes in this process, so that enginetour is notified when the engine closes them."""
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123 - pathlib would double the start-up
        file.write(text)


# Landlock: the engine may write only in its scratch directory, and may not open TCP connections (landlock(7), header).
#
# A right is restricted only if the version of the kernel's interface (the ABI) supports it; others remain allowed.

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, the same on every architecture
_VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION: the system call returns the ABI
_PATH_BENEATH = 1  # LANDLOCK_RULE_PATH_BENEATH
_WRITE_FILE = 1 << 1
_CHANGES = _WRITE_FILE | 0x1FF0  # write, remove and create files and directories of all kinds
_DEVICES = 1 << 6 | 1 << 11  # create character and block devices; not allowed in any directory
_REFER, _TRUNCATE = 1 << 13, 1 << 14  # move between directories (ABI 2), shorten files (ABI 3)
_IOCTL_DEV = 1 << 15  # commands to devices (ABI 5)
_TCP = 1 | 2  # bind, connect (ABI 4)
_SCOPES = 1 | 2  # connect to abstract Unix sockets of other processes, send signals to other processes (ABI 6)
_NEVER_FILES = ("/dev/null", "/dev/zero", "/dev/full")  # writing to these devices changes nothing


def abi() -> int:
    """Return the version of the kernel's Landlock interface (1 or higher). Raise OSError if it is not supported."""
    return call("syscall", _CREATE_RULESET, None, 0, _VERSION)


def _restrict(folder: str) -> None:
    """Allow this process and its children to write only below `folder`. Raise OSError if this fails."""
    version = abi()
    rights = _CHANGES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    devices = _IOCTL_DEV if version >= 5 else 0
    words = [rights | devices, *([_TCP] if version >= 4 else []), *([_SCOPES] if version >= 6 else [])]
    wanted = b"".join(word.to_bytes(8, "little") for word in words)
    rules = call("syscall", _CREATE_RULESET, wanted, len(wanted), 0)
    try:
        _allow(rules, folder, rights & ~_DEVICES)
        for path in _NEVER_FILES:
            if os.path.exists(path):  # noqa: PTH110 - pathlib would double the start-up
                _allow(rules, path, _WRITE_FILE | (rights & _TRUNCATE) | devices)
        call("syscall", _RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH)
    try:
        # struct landlock_path_beneath_attr is packed: 64 bits of rights, 32 of the descriptor
        rule = rights.to_bytes(8, "little") + place.to_bytes(4, "little")
        call("syscall", _ADD_RULE, rules, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)


# Restrictions of an engine in a sandbox: no capabilities of root, and with landlock also no sockets.
#
# Landlock restricts files, but not sockets. With a socket, an engine could send requests to the user's session bus, to
# agents and to the running tournament, which serve any program. Landlock does not restrict changes of the owner and the
# permissions of files either. A filter of system calls forbids both (seccomp(2)).

_PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT = 24, 28, 47  # linux/prctl.h
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_LAST_CAPABILITY = 63  # higher than in any kernel; a kernel rejects numbers that it does not support
# linux/securebits.h, NOROOT to NO_CAP_AMBIENT: root gets no capabilities, none are kept or raised, all bits are locked.
_SECURE_BITS = 0b1110_1111
_CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h

# The forbidden system calls of each architecture (asm/unistd_64.h, asm/unistd_32.h, asm-generic/unistd.h): calls that
# create sockets (socket, socketcall, io_uring), and calls for permissions, owners, attributes and times of files, for
# mounts, namespaces and devices. Calls with numbers from 424 on have the same number in every architecture.
_LATER = (425, 428, 429, 430, 431, 432, 433, 442, 452, 463, 466, 467, 469)
_I386 = (
    *(359, 102, 15, 94, 306, 182, 95, 16, 298, 212, 207, 198, 226, 227, 228, 235, 236, 237, 30, 271, 299, 320, 412),
    *(21, 22, 52, 217, 310, 346, 26, 348),
)
_X86_64 = (
    *(41, 90, 91, 268, 92, 93, 94, 260, 188, 189, 190, 197, 198, 199, 132, 235, 261, 280),
    *(165, 166, 155, 272, 308, 101, 311),
)
_GENERIC = (198, 52, 53, 55, 54, 5, 6, 7, 14, 15, 16, 88, 40, 39, 41, 97, 268, 117, 271)
# number of the architecture (linux/audit.h) -> its forbidden calls, and the number of its call clone
_ARCHITECTURES = {
    0xC000003E: (_X86_64, 56),
    0x40000003: (_I386, 120),
    0xC00000B7: (_GENERIC, 220),  # aarch64
    0xC00000F3: (_GENERIC, 220),  # riscv64
}
MACHINES = ("x86_64", "aarch64", "riscv64")  # machines (as in uname) whose architectures are all in the table
_CLONE3 = 435
_X32 = 0x40000000  # bit in the numbers of the x32 calls, the second set of calls of x86_64
_FORBIDDEN, _UNKNOWN, _ALLOWED = 0x00050000 | 1, 0x00050000 | 38, 0x7FFF0000  # SECCOMP_RET_ERRNO of EPERM and ENOSYS
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # linux/filter.h
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; lower half of the argument


def _drop_capabilities() -> None:
    """Remove all capabilities from this process and its children. Raise OSError if this fails.

    This matters only for root. An engine of root still owns the files of the system, but has no other special rights.
    """
    try:
        for number in range(_LAST_CAPABILITY + 1):
            call("prctl", _PR_CAPBSET_DROP, number, 0, 0, 0)
    except OSError:  # the kernel does not have this capability, or the process has none to drop
        pass
    try:
        call("prctl", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
        call("prctl", _PR_SET_SECUREBITS, _SECURE_BITS, 0, 0, 0)
    except PermissionError:  # the process has no capabilities
        pass
    header = _CAPABILITY_VERSION_3.to_bytes(4, "little") + bytes(4)
    call("capset", header, bytes(24))


def _forbid_calls() -> None:
    if os.uname().machine not in MACHINES:
        raise OSError(95, "no table of system calls for this machine")  # EOPNOTSUPP
    program = b"".join(
        code.to_bytes(2, "little") + bytes((then, otherwise)) + value.to_bytes(4, "little")
        for code, then, otherwise, value in _program()
    )
    held = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of instructions, and their address
    where = (len(program) // 8).to_bytes(8, "little") + ctypes.addressof(held).to_bytes(8, "little")
    call("prctl", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, where, 0, 0)


def _program() -> list[tuple[int, int, int, int]]:
    """Return the instructions of the filter: code, instructions to skip if true and if false, value."""
    whole = [(_LOAD, 0, 0, _ARCHITECTURE)]
    for architecture, (calls, clone) in _ARCHITECTURES.items():
        checks = [*calls, *_LATER]
        part = [(_LOAD, 0, 0, _NUMBER), (_AT_LEAST, len(checks) + 5, 0, _X32)]
        part += [(_EQUAL, len(checks) + 4 - done, 0, number) for done, number in enumerate(checks)]
        part += [
            (_EQUAL, 5, 0, _CLONE3),
            (_EQUAL, 0, 2, clone),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_ANY_BIT, 1, 0, _CLONE_NEWUSER),
            (_RETURN, 0, 0, _ALLOWED),
            (_RETURN, 0, 0, _FORBIDDEN),
            (_RETURN, 0, 0, _UNKNOWN),  # clone3: a filter cannot read its flags; after ENOSYS, the C library uses clone
        ]
        whole += [(_EQUAL, 0, len(part), architecture), *part]
    return [*whole, (_RETURN, 0, 0, _FORBIDDEN)]
