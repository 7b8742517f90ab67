"""The one place that knows which class speaks which protocol."""

from __future__ import annotations

from enginetour.adapters.base import Engine
from enginetour.adapters.cecp import CecpEngine
from enginetour.adapters.uci import UciEngine
from enginetour.task import EngineSpec


def open_engine(spec: EngineSpec, tag: str = "") -> Engine:
    """Start an engine; its handshake is a script still to be run. Raises StartFailed."""
    return UciEngine(spec, tag) if spec.protocol == "uci" else CecpEngine(spec, tag)
