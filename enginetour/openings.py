"""Which opening a game starts from: a pure function of the seed and the pairing's numbers, never of timing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from enginetour.errors import InputRefused
from enginetour.model import Opening, Pairing
from enginetour.shipped import shipped_suite
from enginetour.suitefile import Bad, read_suite

Per = Literal["pairing", "round", "encounter"]
MOST_TOLD = 1000  # bad openings that are remembered; all are counted


class OpeningSettings(BaseModel):
    """``[play.openings]``. Without `file` our own suite is used.

    `per`: the n-th encounter of *every* pair has the same opening (``pairing``), all of a round have
    (``round``), or each encounter has a fresh one (``encounter``). Unset it is ``pairing`` when encounters
    have two legs or more; with single games it is ``encounter``, for one opening without colours swapped
    would measure the opening. `repeat` is games per opening, by default all legs of an encounter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    file: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    order: Literal["random", "sequential"] = "random"
    start: Annotated[int, Field(ge=1, le=10**9)] = 1
    plies: Annotated[int, Field(ge=0, le=200)] | None = None
    per: Per | None = None
    repeat: Annotated[int, Field(ge=1, le=10**6)] | None = None
    skip_bad: bool = False


@dataclass(frozen=True, slots=True)
class OpeningSuite:
    """Checked openings and the rule by which they are dealt; `skipped` says what `skip_bad` left out, as file:line."""

    openings: Sequence[Opening]
    seed: int = 0
    order: Literal["random", "sequential"] = "sequential"
    start: int = 1
    per: Per = "pairing"
    legs: int = 2
    repeat: int = 2
    source: str = ""
    skipped: tuple[str, ...] = ()

    def pick(self, pairing: Pairing) -> Opening:
        """The opening of one game."""
        turn = self._turn(pairing)
        cycle, place = turn // len(self.openings), (turn + self.start - 1) % len(self.openings)
        if self.order == "random":
            place = shuffled(self.seed, cycle, len(self.openings))[place]
        return self.openings[place]

    def uses(self, pairing: Pairing) -> int:
        """How often the suite had been used up before this game; above 0 openings come again."""
        return self._turn(pairing) // len(self.openings)

    @property
    def bare_positions(self) -> tuple[Opening, ...]:
        """Openings that do not begin at the usual starting position: not every engine can be told them."""
        return tuple(opening for opening in self.openings if opening.fen is not None)

    def _turn(self, pairing: Pairing) -> int:
        """How many openings the games before this one have taken, by the policy's count."""
        counts = {"pairing": pairing.meeting, "round": pairing.round, "encounter": pairing.encounter}
        return ((counts[self.per] - 1) * self.legs + pairing.leg - 1) // self.repeat


@lru_cache(maxsize=8)
def shuffled(seed: int, cycle: int, size: int) -> tuple[int, ...]:
    """The places 0..size-1 in an order of their own for each seed and pass.

    Sorted by a digest, so that neither Python's version nor its hash seed has a say.
    """

    def key(place: int) -> bytes:
        return hashlib.blake2b(f"{seed}:{cycle}:{place}".encode(), digest_size=16).digest()

    return tuple(sorted(range(size), key=key))


def load(settings: OpeningSettings, *, seed: int, legs: int, folder: Path) -> OpeningSuite:
    """Read and check the whole suite; a relative `file` belongs to `folder`, the configuration's.

    `legs` is games per encounter. Raises InputRefused naming file and line of the first bad opening.
    """
    path = (folder / Path(settings.file).expanduser()) if settings.file else shipped_suite()
    good: list[Opening] = []
    bad: list[Bad] = []
    count = 0
    for found in read_suite(path, settings.plies):
        if isinstance(found, Opening):
            good.append(found)
            continue
        if not settings.skip_bad:
            step = "mend it, or leave bad openings out with skip_bad = true"
            raise InputRefused(f"bad opening, {found.why}", place=f"{path}:{found.line}", step=step)
        count += 1
        if len(bad) < MOST_TOLD:
            bad.append(found)
    if not good:
        more = f", {count} bad ones" if bad else ""
        raise InputRefused(f"no openings in it{more}", place=str(path), step="give PGN games, EPD or FEN lines")
    return OpeningSuite(
        tuple(good),
        seed=seed,
        order=settings.order,
        start=(settings.start - 1) % len(good) + 1,
        per=settings.per or ("pairing" if legs > 1 else "encounter"),
        legs=legs,
        repeat=settings.repeat or legs,
        source=str(path),
        skipped=tuple(f"{path}:{one.line}: {one.why}" for one in bad),
    )
