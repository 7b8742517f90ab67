"""Processes that escaped from an engine: find and kill them.

No other process is ever signalled (reliability spec 4.3). A process id may be given to another process between looking
and killing. So the pidfd is opened first, then the process is compared with what was seen, then it is killed.
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

PAGE = 4096  # bytes: nearly every file needs one read of this size; a file object costs half as much again (measured)


def read_proc(path: str) -> bytes:
    """Return the content of a file in /proc; b"" if there is no such file, or the process is gone."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        text = piece = os.read(file, PAGE)
        while len(piece) > PAGE // 2:  # one read of a list returns a page, or the part of it that ends in one
            piece = os.read(file, PAGE)
            text += piece
    except OSError:  # it went meanwhile
        return b""
    finally:
        os.close(file)
    return text


TAG = "ENGINETOUR_TAG"  # environment of everything that enginetour starts; unique per run (reliability spec 4.1)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_PASSES = 5  # a stray may fork during the search
MOST_PROCESSES = 64  # processes of an engine that are examined in a game: one that forks without end must not block it
_KILL_WAIT = 1.0  # s; SIGKILL takes time only for a process deep in the kernel (a dead network disk)

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
    """Return one process from /proc, None if it is gone."""
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
    """Return the children of a process from the kernel's list: proc_pid_task(5). `threads`: their number, if known."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        tasks = [pid] if threads == 1 else os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - quicker, asked for in games
        for task in tasks:
            found += [int(word) for word in read_proc(f"/proc/{pid}/task/{task}/children").split()]
    return found


def process_tree(pid: int) -> list[int]:
    """Return a process and its descendants, itself first; at most MOST_PROCESSES."""
    found, seen = [pid], 0
    while seen < len(found) < MOST_PROCESSES:
        found += children(found[seen])
        seen += 1
    return found


def process_tag(pid: int) -> str:
    """Return the tag in the environment of a living process of this user, or ""."""
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
    """Return why a process may be an engine, or started by one; "" for one that the user started.

    The answer depends on what the kernel reports of it and of its ancestors. Slots carry the tag and adopt whatever
    their engines leave behind, so that the ancestors of an engine always include a slot.
    """
    for kind in ("pid", "user"):
        try:
            theirs, ours = (os.stat(f"/proc/{one}/ns/{kind}").st_ino for one in (pid, "self"))  # noqa: PTH116 - quicker
        except OSError:  # gone, or it hides its namespaces
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
    """Return a process and its ancestors, up to this process or the first of all; None if they change all the time."""
    for _ in range(_PASSES):
        found: list[ProcessInfo] = []
        seen = process_info(pid)
        while seen is not None and seen.pid not in (1, os.getpid()):
            found.append(seen)
            if not seen.parent:  # the first one that is visible
                break
            seen = process_info(seen.parent)
        whole = seen is not None and all((now := process_info(one.pid)) and _same(now, one) for one in found)
        if whole:  # none ended or got another parent meanwhile
            return found
    return None


def _same(now: ProcessInfo, then: ProcessInfo) -> bool:
    return (now.started, now.parent) == (then.started, then.parent)


def tag_matches(tag: str, tags: Iterable[str]) -> bool:
    """Return whether a tag is one of these tags or below one (``tag/...``)."""
    return any(tag == one or tag.startswith(f"{one}/") for one in tags)


def kill_tagged(tags: Iterable[str]) -> list[tuple[ProcessInfo, str]]:
    """Kill every other process whose tag matches; return those found and their tags, dead or not."""
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


def kill_processes(strays: Iterable[ProcessInfo]) -> list[ProcessInfo]:
    """Kill processes that were seen before, all at once; return those that did not die."""
    watched: list[tuple[ProcessInfo, int]] = []
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
        watched.append((seen, handle))
    alive = wait_for_exit([handle for _, handle in watched], time.monotonic_ns() + int(_KILL_WAIT * 1e9))
    for _, handle in watched:
        os.close(handle)
    return [seen for seen, handle in watched if handle in alive]


def wait_for_exit(handles: Iterable[int], deadline_ns: int) -> set[int]:
    """Wait until the processes of these pidfds have ended; return the pidfds of those still alive at the deadline."""
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
    """Make orphans of all descendants children of this process from now on (reliability spec 4.3).

    Only for a process that starts nothing but engines, because any other child would look like an orphan.
    """
    global _adopting  # global like the flag of the kernel, which belongs to the process
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _adopting = True


def kill_orphans(living: Mapping[int, str]) -> list[ProcessInfo]:
    """Kill and reap orphans that became children of this process; `living` are engines, with tags, to be left alone.

    An orphan of a living engine (a daemon it started) still has the session or tag of that engine. Does nothing before
    `adopt_orphans`.
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
    """Request this signal for this process when the thread that started it ends. Source: prctl(2)."""
    _prctl(_PR_SET_PDEATHSIG, number)


def _prctl(request: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(request, value, 0, 0, 0)
