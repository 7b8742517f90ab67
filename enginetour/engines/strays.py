"""Processes that escaped from an engine: find and kill them.

No other process ever gets a signal (reliability spec 4.3). The system may give a process id to another process between
the search and the kill. So the pidfd is opened first, then the process is compared with the one found, and then it is
killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE = 4096  # bytes; one read is enough for nearly every file in /proc; a file object takes 50 % longer (measured)


def read_proc(path: str) -> bytes:
    """Return the content of a file in /proc, or b"" if the file or its process does not exist."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        text = piece = os.read(file, PAGE)
        while len(piece) > PAGE // 2:  # a read of a long file returns about one page
            piece = os.read(file, PAGE)
            text += piece
    except OSError:  # the process ended meanwhile
        return b""
    finally:
        os.close(file)
    return text


TAG = "ENGINETOUR_TAG"  # environment variable of all started processes; unique per run (reliability spec 4.1)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_PASSES = 5  # searches, because a stray may fork during a search
MOST_PROCESSES = 64  # per engine, examined during a game; limited because an engine may fork endlessly
_KILL_WAIT = 1.0  # s; SIGKILL takes long only if the process waits in the kernel, such as for a dead network disk

_adopting = False


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A process in the process table. `started` (clock ticks since boot) distinguishes reused process ids."""

    pid: int
    name: str
    state: str
    parent: int
    group: int
    session: int
    started: int


def process_info(pid: int) -> ProcessInfo | None:
    """Return one process from /proc, or None if it does not exist."""
    text = read_proc(f"/proc/{pid}/stat")
    if not text:
        return None
    name = text[text.index(b"(") + 1 : text.rindex(b")")].decode("utf-8", "replace")
    fields = text[text.rindex(b")") + 2 :].split()
    state, parent, group, session = fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3])
    return ProcessInfo(pid, name, state, parent, group, session, int(fields[19]))


def process_table() -> list[ProcessInfo]:
    """Return all visible processes."""
    return [
        seen for folder in Path("/proc").iterdir() if folder.name.isdigit() and (seen := process_info(int(folder.name)))
    ]


def descendants(root: int, processes: Iterable[ProcessInfo]) -> list[ProcessInfo]:
    """Return the children of `root`, their children, and so on, without `root`."""
    children: dict[int, list[ProcessInfo]] = {}
    for seen in processes:
        children.setdefault(seen.parent, []).append(seen)
    found: list[ProcessInfo] = []
    front = [root]
    while front:
        below = children.pop(front.pop(), [])
        found += below
        front += [seen.pid for seen in below]
    return found


def children(pid: int, threads: int = 0) -> list[int]:
    """Return the children of a process from the kernel's list, see proc_pid_task(5).

    `threads` is the number of its threads, or 0 if it is not known.
    """
    found: list[int] = []
    with contextlib.suppress(OSError):
        tasks = [pid] if threads == 1 else os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - quicker; runs in games
        for task in tasks:
            found += [int(word) for word in read_proc(f"/proc/{pid}/task/{task}/children").split()]
    return found


def process_tree(pid: int) -> list[int]:
    """Return a process and its descendants, beginning with the process; the search ends at MOST_PROCESSES."""
    found, seen = [pid], 0
    while seen < len(found) < MOST_PROCESSES:
        found += children(found[seen])
        seen += 1
    return found


def process_tag(pid: int) -> str:
    """Return the tag in the environment of a running process of this user, or "" if there is none."""
    folder = Path(f"/proc/{pid}")
    try:
        if folder.stat().st_uid != os.getuid():
            return ""
        environment = (folder / "environ").read_bytes()
    except OSError:
        return ""
    entries = [entry for entry in environment.split(b"\0") if entry.startswith(f"{TAG}=".encode())]
    return os.fsdecode(entries[0].partition(b"=")[2]) if entries else ""


def origin_trouble(pid: int) -> str:
    """Return why a process may be an engine or be started by an engine, or "" if the user started it.

    The result is derived from the kernel's information about the process and its ancestors. Slots have the tag and
    adopt all processes that their engines leave behind, so the ancestors of an engine always include a slot.
    """
    for kind in ("pid", "user"):
        try:
            theirs, ours = (os.stat(f"/proc/{one}/ns/{kind}").st_ino for one in (pid, "self"))  # noqa: PTH116 - quicker
        except OSError:  # the process ended, or its namespaces are hidden
            return "its namespaces cannot be read"
        if theirs != ours:
            return f"it runs in another {kind} namespace"
    if not os.access(f"/proc/{pid}/environ", os.R_OK):
        return "its environment cannot be read"
    above = _above(pid)
    if above is None:
        return "its ancestors cannot be determined"
    own = os.environ.get(TAG, "")
    if any({process_tag(seen.pid), process_tag(seen.session)} - {"", own} for seen in above):
        return "an engine or a slot started it"
    return ""


def _above(pid: int) -> list[ProcessInfo] | None:
    """Return a process and its ancestors, up to this process or process 1.

    Return None if the process ended, or if the ancestors changed during every attempt.
    """
    for _ in range(_PASSES):
        found: list[ProcessInfo] = []
        seen = process_info(pid)
        while seen is not None and seen.pid not in (1, os.getpid()):
            found.append(seen)
            if not seen.parent:  # its parent is not visible here
                break
            seen = process_info(seen.parent)
        whole = seen is not None and all((now := process_info(one.pid)) and _same(now, one) for one in found)
        if whole:  # no process ended or got another parent meanwhile
            return found
    return None


def _same(now: ProcessInfo, then: ProcessInfo) -> bool:
    return (now.started, now.parent) == (then.started, then.parent)


def tag_matches(tag: str, tags: Iterable[str]) -> bool:
    """Return whether a tag is one of `tags`, or begins with one of them and a slash (``tag/...``)."""
    return any(tag == one or tag.startswith(f"{one}/") for one in tags)


def kill_tagged(tags: Iterable[str]) -> list[tuple[ProcessInfo, str]]:
    """Kill every process with a matching tag except this process; return the processes found and their tags.

    The result also has the processes that did not die.
    """
    whole = tuple(tags)
    found: dict[tuple[int, int], tuple[ProcessInfo, str]] = {}
    for _ in range(_PASSES):
        fresh = []
        for seen in process_table():
            tag = "" if seen.state == "Z" or seen.pid == os.getpid() else process_tag(seen.pid)
            if tag and tag_matches(tag, whole):
                fresh.append((seen, tag))
        if not fresh:
            break
        found.update({(seen.pid, seen.started): (seen, tag) for seen, tag in fresh})
        kill_processes(seen for seen, _ in fresh)
    return list(found.values())


def kill_processes(strays: Iterable[ProcessInfo]) -> None:
    """Kill the processes found by a search, all at once, and wait up to 1 s for their end."""
    watched: list[int] = []
    for seen in strays:
        try:
            handle = os.pidfd_open(seen.pid)
        except OSError:
            continue
        again = process_info(seen.pid)
        if again is None or again.started != seen.started:
            os.close(handle)
            continue
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        watched.append(handle)
    wait_for_exit(watched, time.monotonic_ns() + int(_KILL_WAIT * 1e9))
    for handle in watched:
        os.close(handle)


def wait_for_exit(handles: Iterable[int], deadline_ns: int) -> set[int]:
    """Wait until the processes of these pidfds end; return the pidfds of the processes still running at the deadline.

    `deadline_ns` is a time of CLOCK_MONOTONIC in nanoseconds.
    """
    alive = set(handles)
    poll = select.poll()
    for handle in alive:
        poll.register(handle, select.POLLIN)
    while alive:
        left = deadline_ns - time.monotonic_ns()
        for handle, _ in poll.poll(max(0, -(-left // 1_000_000))):
            poll.unregister(handle)
            alive.discard(handle)
        if left <= 0:
            break
    return alive


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def adopt_orphans() -> None:
    """Make this process the parent of all descendants that lose their parent from now on (reliability spec 4.3).

    This is only for a process that starts nothing but engines, because any other child would look like an orphan.
    """
    global _adopting  # global because the kernel's flag also belongs to the process
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _adopting = True


def kill_orphans(living: Mapping[int, str]) -> list[ProcessInfo]:
    """Kill and reap the orphans that became children of this process; return the killed ones.

    `living` maps the process ids of running engines to their tags. These engines are not killed, and neither are
    processes with their session or tag, such as daemons that they started. Before `adopt_orphans`, the function does
    nothing.
    """
    if not _adopting:
        return []
    orphans = []
    for seen in process_table():
        if seen.parent != os.getpid() or seen.pid in living:
            continue
        if seen.state == "Z":
            _reap(seen.pid)
        elif seen.session not in living and process_tag(seen.pid) not in living.values():
            orphans.append(seen)
    kill_processes(orphans)
    for seen in orphans:
        _reap(seen.pid)
    return orphans


def set_parent_death_signal(number: int) -> None:
    """Make the kernel send this signal to this process when the thread that started it ends. Source: prctl(2)."""
    _prctl(_PR_SET_PDEATHSIG, number)


def _prctl(request: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(request, value, 0, 0, 0)
