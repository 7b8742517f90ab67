"""What an engine in a sandbox may ask of the kernel: no capability of root's, and with landlock no socket either.

Landlock watches files, not sockets: a socket leads to the user's session bus, to agents and to the running tournament,
which act for whoever asks. It does not watch who owns a file or may read it either. A filter of system calls refuses
both (seccomp(2)). Part of the launcher: imports nothing of the package but `libc`.
"""

import os

from enginetour.engines import libc

PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_CAP_AMBIENT = 38, 24, 28, 47  # linux/prctl.h
PR_CAP_AMBIENT_CLEAR_ALL = 4
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LAST_CAPABILITY = 63  # more than any kernel has: those it does not know it refuses
# linux/securebits.h, NOROOT to NO_CAP_AMBIENT: no capability by being root, none kept or raised, and all of it locked.
SECURE_BITS = 0b1110_1111
CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h
NEW_USERS = 0x10000000  # CLONE_NEWUSER of clone(2)

# By architecture as the kernel numbers it (linux/audit.h), the calls that are refused as forbidden: socket and whatever
# else makes one (socketcall, io_uring); rights, owners, attributes and times of files; mounts, namespaces, devices
# (asm/unistd_64.h, asm/unistd_32.h, asm-generic/unistd.h). Those from 424 on have one number everywhere.
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
# Number of the architecture: its calls, and its clone.
_ARCHITECTURES = {
    0xC000003E: (_X86_64, 56),
    0x40000003: (_I386, 120),
    0xC00000B7: (_GENERIC, 220),  # aarch64
    0xC00000F3: (_GENERIC, 220),  # riscv64
}
MACHINES = ("x86_64", "aarch64", "riscv64")  # as uname names those whose processes are all in the table
_CLONE3 = 435
_X32 = 0x40000000  # bit of the second set of numbers of x86_64
_FORBIDDEN, _UNKNOWN, _ALLOWED = 0x00050000 | 1, 0x00050000 | 38, 0x7FFF0000  # SECCOMP_RET_ERRNO of EPERM and ENOSYS
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # linux/filter.h
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data, its lower halves


def drop_capabilities() -> None:
    """From now on neither this process nor what it starts has, or gets, any right beyond its user's. Raises OSError.

    For root that is: a user who owns the files of the system, and can do nothing else that others cannot.
    """
    libc.call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    try:
        for number in range(LAST_CAPABILITY + 1):
            libc.call("prctl", PR_CAPBSET_DROP, number, 0, 0, 0)
    except OSError:  # the first that the kernel does not know, or no right to it: then there is none to be had
        pass
    try:
        libc.call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
        libc.call("prctl", PR_SET_SECUREBITS, SECURE_BITS, 0, 0, 0)
    except PermissionError:  # as above
        pass
    header = CAPABILITY_VERSION_3.to_bytes(4, "little") + bytes(4)
    libc.call("capset", header, bytes(24))


def forbid_calls() -> None:
    """No socket, no change of rights, owners or times of files, no mount, no namespace. Raises OSError."""
    if os.uname().machine not in MACHINES:
        raise OSError(95, "no table of system calls for this machine")  # EOPNOTSUPP
    program = b"".join(
        code.to_bytes(2, "little") + bytes((then, otherwise)) + value.to_bytes(4, "little")
        for code, then, otherwise, value in _program()
    )
    import ctypes  # here alone: an address has to be in a structure

    held = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: how many instructions, and where they are
    where = (len(program) // 8).to_bytes(8, "little") + ctypes.addressof(held).to_bytes(8, "little")
    libc.call("prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, where, 0, 0)


def _program() -> list[tuple[int, int, int, int]]:
    """Instructions: code, how many to skip where it holds, how many where not, value."""
    whole = [(_LOAD, 0, 0, _ARCHITECTURE)]
    for architecture, (calls, clone) in _ARCHITECTURES.items():
        checks = [*calls, *_LATER]
        part = [(_LOAD, 0, 0, _NUMBER), (_AT_LEAST, len(checks) + 5, 0, _X32)]
        part += [(_EQUAL, len(checks) + 4 - done, 0, number) for done, number in enumerate(checks)]
        part += [
            (_EQUAL, 5, 0, _CLONE3),
            (_EQUAL, 0, 2, clone),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_ANY_BIT, 1, 0, NEW_USERS),
            (_RETURN, 0, 0, _ALLOWED),
            (_RETURN, 0, 0, _FORBIDDEN),
            (_RETURN, 0, 0, _UNKNOWN),  # of clone3, whose flags a filter cannot see: the library takes clone instead
        ]
        whole += [(_EQUAL, 0, len(part), architecture), *part]
    return [*whole, (_RETURN, 0, 0, _FORBIDDEN)]
