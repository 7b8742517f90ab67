"""Results of every ordered pair of engine versions as they are kept: rows for games played here, packed for files.

A tournament's counts change with every game. Those of an import never do: they are one column of its row, which is
read 25 times as fast as half a million rows (measured).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select

from enginetour.model.errors import StoreRefused
from enginetour.store.removals import removed
from enginetour.store.tables import IMPORTS, PAIR_COUNTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Sums = NDArray[np.signedinteger[Any]]  # five lines: White's version, Black's, White's wins, draws, losses

LINES = ("white", "black", "wins", "draws", "losses")
PACKED = "<i4"  # of a number in the file: little-endian, four bytes
MOST_VERSIONS = 10_000_000  # an array by version takes 80 MB then; numpy's bincount of 2**63 - 1 overwrites memory


def kept_counts(connection: Connection, tournaments: Collection[int] | None = None) -> dict[int, Sums]:
    """The counts by tournament, of all or of some; a pair whose games were struck out has zeros.

    Imports are among them but for those struck out.
    """
    import numpy as np

    rows = select(PAIR_COUNTS.c.tournament, *(PAIR_COUNTS.c[name] for name in LINES))
    packs = select(IMPORTS.c.tournament, IMPORTS.c.counts).where(IMPORTS.c.tournament.not_in(removed()))
    if tournaments is not None:
        rows = rows.where(PAIR_COUNTS.c.tournament.in_(tournaments))
        packs = packs.where(IMPORTS.c.tournament.in_(tournaments))
    cursor: Any = connection.execute(rows.order_by(PAIR_COUNTS.c.tournament)).cursor  # the driver's: no object a row
    table = np.fromiter(chain.from_iterable(cursor), np.int64).reshape(-1, 1 + len(LINES)).T
    events, starts = np.unique(table[0], return_index=True)
    parts = np.split(with_keys(table[1:]), starts[1:], axis=1)
    found: dict[int, Sums] = dict(zip(events.tolist(), parts, strict=False))  # of no rows there is one empty part
    for event, pack in connection.execute(packs):
        found[event] = unpacked(pack)
    return found


def packed(sums: Sums) -> bytes:
    """Counts as an import keeps them."""
    return sums.astype(PACKED).tobytes()


def unpacked(pack: bytes) -> Sums:
    """What an import kept, whether it stands or was struck out."""
    import numpy as np

    return with_keys(np.frombuffer(pack, PACKED).reshape(len(LINES), -1))


def with_keys(sums: Sums) -> Sums:
    """The same; StoreRefused for engine versions by numbers that none has: what counts by them would break down."""
    for key in (sums[:2].min(initial=1), sums[:2].max(initial=1)):
        if not 0 < key <= MOST_VERSIONS:
            what = f"pair counts are of an engine version {key}, which no store has"
            raise StoreRefused(what, step="enginetour db check tells more; put a backup in its place")
    return sums


def joined(parts: Iterable[Sums]) -> Sums:
    """Several counts side by side; a pair may be in more than one."""
    import numpy as np

    return np.concatenate([np.zeros((len(LINES), 0), np.int64), *parts], axis=1)


def engines_in(sums: Sums) -> set[int]:
    """The versions that have met somebody."""
    import numpy as np

    return set(np.flatnonzero(np.bincount(sums[:2].ravel())).tolist())


def by_pair(sums: Sums) -> dict[tuple[int, int], tuple[int, int, int]]:
    """White's wins, draws, losses for every two versions that have a result."""
    lines = zip(*sums.tolist(), strict=True)
    return {(white, black): (won, drawn, lost) for white, black, won, drawn, lost in lines if won or drawn or lost}


def added_up(
    counts: Iterable[tuple[tuple[int, int], tuple[int, int, int]]], names: Mapping[int, str]
) -> dict[tuple[str, str], tuple[int, int, int]]:
    """White's wins, draws, losses by the names of both; versions of one name together, without a name left out."""
    found: dict[tuple[str, str], tuple[int, int, int]] = {}
    for (white, black), (wins, draws, losses) in counts:
        if white in names and black in names:
            pair = names[white], names[black]
            before = found.get(pair, (0, 0, 0))
            found[pair] = before[0] + wins, before[1] + draws, before[2] + losses
    return dict(sorted(found.items()))
