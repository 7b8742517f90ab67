"""The version of what a slot and its place say to each other, which neither needs before they do."""

from __future__ import annotations

import zlib
from dataclasses import fields, is_dataclass

from enginetour import __version__, model, task, timecontrol


def _version() -> str:
    """Ours, and a digest of the fields of all that goes over the pipes: a pickle of others is read without an error."""
    kinds = (kind for module in (timecontrol, model, task) for kind in vars(module).values())
    told = [
        (kind.__name__, [(one.name, str(one.type)) for one in fields(kind)])
        for kind in kinds
        if isinstance(kind, type) and is_dataclass(kind)
    ]
    return f"{__version__} ({zlib.crc32(repr(told).encode()):08x})"


VERSION = _version()  # taken when this process began, whatever is installed since
