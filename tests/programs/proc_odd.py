"""An engine process with a fault that its first argument names; run with ``python -I -S``."""

import ctypes
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from functools import partial

PR_SET_NAME = 15  # linux/prctl.h


def say(text: str) -> None:
    os.write(1, text.encode() + b"\n")


def until_quit() -> None:
    for line in sys.stdin:
        if line.strip() == "quit":
            return
        if line.startswith("kill "):
            os.kill(os.getpid(), int(line.split()[1]))
        say(f"heard {line.strip()}")


def fork_child(*, session: bool = False, bare: bool = False) -> None:
    """Start a child that outlives its parent and prints its own process id; return when it has done so."""
    said, saying = os.pipe()
    if os.fork():
        os.close(saying)
        os.read(said, 1)  # ends without data if the child executes another program
        os.close(said)
        return
    if session:
        os.setsid()
        between = os.getpid()
        if os.fork():
            os._exit(0)
        while os.getppid() == between:  # wait until the parent has ended
            time.sleep(0.001)
    if bare:
        os.execve(sys.executable, [sys.executable, "-I", "-S", __file__, "bare"], {})
    say(f"child {os.getpid()}")
    os.write(saying, b"\n")
    time.sleep(600)
    os._exit(0)


def report() -> None:
    signals = [n for n in signal.valid_signals() if signal.getsignal(n) is signal.SIG_IGN]
    with open("/proc/self/oom_score_adj") as file:
        oom = int(file.read())
    with open("/proc/self/status") as file:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    say(
        json.dumps(
            {
                "session": os.getsid(0) == os.getpid(),
                "blocked": fields["SigBlk"],
                # CPython ignores SIGPIPE and SIGXFSZ at its start; all other signals are inherited
                "ignored": sorted(set(signals) - {signal.SIGPIPE, signal.SIGXFSZ}),
                "core": resource.getrlimit(resource.RLIMIT_CORE),
                "oom": oom,
                "cwd": os.getcwd(),
                "environment": dict(os.environ),
                "descriptors": sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1],
                "arguments": sys.argv[2:],
            }
        )
    )


def tries(outside: str, port: int) -> None:
    """Print what it may do: write in TMPDIR and outside, connect, and its limits."""
    import socket

    def may(act) -> bool:  # type: ignore[no-untyped-def]
        try:
            act()
        except OSError:
            return False
        return True

    def write(path: str) -> None:
        with open(path, "w") as file:
            file.write("x")

    say(
        json.dumps(
            {
                "scratch": may(lambda: write(os.path.join(os.environ["TMPDIR"], "own"))),
                "outside": may(lambda: write(outside)),
                "null": may(lambda: write("/dev/null")),
                "tcp": may(lambda: socket.create_connection(("127.0.0.1", port), timeout=5).close()),
                "home": os.environ["HOME"] == os.environ["TMPDIR"],
                "files": resource.getrlimit(resource.RLIMIT_NOFILE),
                "file_size": resource.getrlimit(resource.RLIMIT_FSIZE),
                "nice": os.nice(0),
            }
        )
    )


def broken_out(victim: str, *listeners: str) -> list[str]:
    """Return every known way to act outside of a sandbox that succeeded.

    `victim` is a file of the user, `listeners` are Unix sockets (abstract ones begin with @). All are hexadecimal,
    because files in a command are visible in a sandbox.
    """
    import ctypes
    import socket

    libc = ctypes.CDLL(None, use_errno=True)
    victim, *places = (bytes.fromhex(word).decode() for word in (victim, *listeners))
    own = os.path.join(os.environ["TMPDIR"], "device")

    def connect(path: str) -> None:
        socket.socket(socket.AF_UNIX).connect(path.replace("@", "\0", 1))

    def call(name: str, *words: object) -> None:
        if getattr(libc, name)(*words) < 0:
            raise OSError(ctypes.get_errno(), name)

    def write_device() -> None:
        os.mknod(own, 0o60600, os.stat("/").st_dev)
        os.close(os.open(own, os.O_RDWR))

    remount, everything = 0x20, 0x10000000 | 0x00020000  # MS_REMOUNT; CLONE_NEWUSER, CLONE_NEWNS

    def in_namespaces() -> None:
        call("unshare", everything)
        call("mount", b"none", b"/", None, remount, None)
        open(victim, "a").close()

    ways: dict[str, Callable[[], object]] = {
        "write": lambda: open(victim, "a").close(),
        "truncate": lambda: os.truncate(victim, 0),
        "remove": lambda: os.unlink(victim),
        "rename": lambda: os.rename(victim, f"{victim}.old"),
        "link": lambda: os.link(victim, f"{victim}.link"),
        "rights": lambda: os.chmod(victim, 0o600),
        "owner": lambda: os.chown(victim, os.getuid(), os.getgid()),
        "times": lambda: os.utime(victim),
        "attribute": lambda: os.setxattr(victim, "user.enginetour", b"x"),
        **{path: partial(connect, path) for path in places},
    }
    if os.environ["HOME"] == os.environ["TMPDIR"]:  # only in a sandbox, because root would change this machine
        ways |= {
            "device": write_device,
            "remount": lambda: call("mount", b"none", b"/", None, remount, None),
            "namespaces": in_namespaces,
            "settings": lambda: open("/proc/sys/kernel/core_pattern", "r+").close(),
        }
    done = []
    for name, way in ways.items():
        try:
            way()
            done.append(name)
        except OSError:
            pass
    return done


def scribble(junk: bytes) -> None:
    """Write into every pipe of the first process without waiting."""
    for name in os.listdir("/proc/1/fd"):
        path = f"/proc/1/fd/{name}"
        try:
            if os.readlink(path).startswith("pipe:"):
                os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), junk)
        except OSError:
            pass


def main(mode: str) -> None:
    if mode == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        say("ready")
        while True:
            time.sleep(600)
    if mode == "bare":
        say(f"child {os.getpid()}")
        time.sleep(600)
    if mode == "report":
        report()
    if mode == "forks":  # ends, after a line if the second argument is "asked", and its child keeps its pipes open
        fork_child()
        if sys.argv[2:] == ["asked"]:
            sys.stdin.readline()
        os._exit(3)
    if mode == "escapes":
        fork_child(session=True)
    if mode == "renamed":  # also its child gets the name in the second argument (hexadecimal)
        ctypes.CDLL(None).prctl(PR_SET_NAME, bytes.fromhex(sys.argv[2]), 0, 0, 0)
        fork_child(session=True)
    if mode == "scribbles":  # after a line, writes into every pipe of the first process of its namespace
        sys.stdin.readline()  # the launcher has then reported that the engine is loaded
        scribble(bytes.fromhex(sys.argv[2]))
        say("scribbled")
    if mode == "escapes-bare":
        fork_child(session=True, bare=True)
    if mode == "endless":
        while True:
            os.write(1, b"x" * 65536)
    if mode == "chatter":
        while True:
            os.write(1, b"info depth 1\n" * 50)
    if mode == "complains":
        for _ in range(200):
            os.write(2, b"nonsense \x1b[31m\n" * 1000)
        os.write(2, b"the last words\n")
        say("done")
    if mode == "eats":  # allocates MB as in its second argument
        held = [bytearray(b"x") * 1_000_000 for _ in range(int(sys.argv[2]))]
        say(f"held {len(held)}")
    if mode == "tries":
        tries(sys.argv[2], int(sys.argv[3]))
    if mode == "breaks-out":
        say(json.dumps(broken_out(*sys.argv[2:])))
    if mode == "closes-stdin":
        os.close(0)
        say("closed")
        time.sleep(600)
    if mode == "unread":
        time.sleep(600)
    if mode == "crashes":
        os.write(2, b"about to fail\n")
        say("bestmove e2e4")
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "litters":
        os.makedirs("a/b/c")
        os.symlink("/etc", "a/link")
        with open("a/odd\nname", "w") as file:
            file.write("x")
        os.chmod("a/b", 0)
        say("littered")
    until_quit()


if __name__ == "__main__":
    main(sys.argv[1])
