"""How much memory the processes of an engine hold, for those that have a limit: anonymous and resident.

Never the address space: mapped nets and tablebases count there, and belong to the page cache. A page shared by a
process and the child it forked is counted once, but only when it matters: the kernel walks all pages for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from enginetour.engines.kernelfile import told

EVERY_NS = 250_000_000  # four looks a second, reliability spec 4.1
MB = 1_000_000  # bytes
KILLED = "killed: "  # how the end of such an engine is told
GB = 1000  # MB, from which on a size is told in GB


def excess(pids: Sequence[int], limit_mb: int | None) -> str:
    """``killed: 1.9 GB over limit 1.5 GB`` where they hold more than their limit, else ""."""
    if limit_mb is None:
        return ""
    held = sum(_field(f"/proc/{pid}/status", b"RssAnon:") for pid in pids)
    if held > limit_mb * MB and len(pids) > 1:
        held = min(held, sum(_field(f"/proc/{pid}/smaps_rollup", b"Pss_Anon:") for pid in pids) or held)
    return f"{KILLED}{_size(held / MB)} over limit {_size(limit_mb)}" if held > limit_mb * MB else ""


def _field(path: str, key: bytes) -> int:
    """Bytes, from a line in kB of proc_pid_status(5) or proc_pid_smaps(5); 0 for a process that is gone."""
    begin = (text := told(path)).find(b"\n" + key) + 1  # after a line break: a process chooses its name, without one
    return int(text[begin + len(key) :].split(None, 1)[0]) * 1024 if begin else 0


def _size(megabytes: float) -> str:
    return f"{megabytes / GB:.1f} GB" if megabytes >= GB else f"{megabytes:.0f} MB"
