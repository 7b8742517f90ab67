"""The moves of a game as they are stored: compressed JSON, column by column.

A slot packs the moves of its game, so that the scheduler, which may serve hundreds of slots, only passes them on.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import MISSING
from functools import partial
from itertools import repeat
from typing import Any

from enginetour.model.game import MoveMade

_LARGEST = 64 << 20  # unpacked bytes: 1200 plies with a line of 50 KB each; protects against malicious files
_DEFAULTS = {name: MoveMade._field_defaults.get(name, MISSING) for name in MoveMade._fields}
_ALWAYS = tuple(name for name, default in _DEFAULTS.items() if default is MISSING)
_move_of = partial(tuple.__new__, MoveMade)  # takes a third of the time of `_make`, which checks the length


class PackedMoves(tuple[MoveMade, ...]):
    """Moves that come from another process, where they were packed."""

    packed: bytes

    @classmethod
    def of_columns(cls, columns: Iterable[Sequence[Any]], packed: bytes) -> PackedMoves:
        """Make the moves from the values of their fields, a sequence for each field."""
        moves = cls(map(_move_of, zip(*columns, strict=True)))
        moves.packed = packed
        return moves


def pack_moves(moves: Sequence[MoveMade]) -> bytes:
    """Return the stored form of moves. It takes one eighth less space than moves that are stored row by row.

    Compression level 1 takes a fifth of the time of the default level.
    """
    if isinstance(moves, PackedMoves):
        return moves.packed
    columns: dict[str, tuple[Any, ...]] = dict.fromkeys(_ALWAYS, ())
    for (name, default), column in zip(_DEFAULTS.items(), zip(*moves, strict=True), strict=False):
        if default is MISSING or column.count(default) < len(column):
            columns[name] = column
    return zlib.compress(json.dumps(columns, separators=(",", ":")).encode(), 1)


def unpack_moves(blob: bytes) -> tuple[MoveMade, ...]:
    """Read moves from their stored form. Raise ValueError if it is invalid."""
    from pydantic_core import from_json  # imported here, because slots only pack

    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(blob, _LARGEST)
    except zlib.error as error:
        raise ValueError(f"moves cannot be unpacked: {error}") from error
    if unpacker.unconsumed_tail:
        raise ValueError(f"moves have more than {_LARGEST >> 20} MiB")
    found = from_json(text, cache_strings="none")  # takes half the time of `json.loads`
    if isinstance(found, list):  # row by row, as schemas before 6 stored them
        return tuple(MoveMade(*row) for row in found)
    lengths = {len(column) for column in found.values()}
    wrong = found.keys() - _DEFAULTS.keys() | set(_ALWAYS) - found.keys()
    if wrong:
        raise ValueError(f"moves have unknown or missing columns: {', '.join(sorted(wrong))}")
    if len(lengths) > 1:
        raise ValueError("the columns of the moves have different lengths")
    if "lines" in found:
        found["lines"] = map(tuple, found["lines"])
    # Columns are passed by position, which takes half the time of passing names for each move.
    columns = (found.get(name, repeat(default)) for name, default in _DEFAULTS.items())
    return tuple(map(_move_of, zip(*columns, strict=False)))
