"""What of a run was done while most of the program was not loaded yet."""

from __future__ import annotations

from typing import NamedTuple

from enginetour.cli.heard import Heard
from enginetour.headstart import HeadStart
from enginetour.plan import Plan


class Begun(NamedTuple):
    """The plan, the signals noted since, what of the plan's games has begun, and where they are played."""

    plan: Plan
    signals: Heard
    ahead: HeadStart | None = None
    place: str | None = None  # as --place has it; None: on this machine
