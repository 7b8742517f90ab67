"""What of a run was done while most of the program was not loaded yet."""

from __future__ import annotations

from typing import NamedTuple

from enginetour.cli.heard import Heard
from enginetour.headstart import HeadStart
from enginetour.plan import Plan


class Begun(NamedTuple):
    """The plan, the signals noted since, and what of the plan's games has begun, if anything."""

    plan: Plan
    signals: Heard
    ahead: HeadStart | None = None
