"""Games one by one, as columns: who, what, when, where in the file, opening, and a digest of the game's own bytes.

A game's own bytes go from its first tag to the next game's, without its first bracket, without white space at the end;
a line ends in any way. Equal games of one file are told apart by their number among themselves, so that a file that
is read again, or has grown, gives the same identities and those of the new games.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from enginetour.interop.oddstags import bands_in
from enginetour.interop.pgntags import tags_of
from enginetour.interop.tally import VARIANT, Tally, text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIGEST = 8  # bytes; among a million games two share one in 37 million cases
GAMMA = 0x9E3779B97F4A7C15  # odd, and its small multiples are far apart: SplitMix, Steele, Lea and Flood 2014
TERMINATION = b"Termination"
WHITE_TC, BLACK_TC = b"WhiteTimeControl", b"BlackTimeControl"
_DAY = re.compile(rb"(\d{4})\.(\d\d)\.(\d\d)")


@dataclass(frozen=True, slots=True)
class Claim:
    """A game that says it belongs to one of the events asked for; texts are "" where the tag is missing."""

    game: int  # place in the columns
    event: str
    round: str
    white: str
    black: str
    date: str
    start: str


class Days(dict[bytes, int]):
    """Dates as YYYYMMDD, 0 where one does not say (PGN standard 8.1.1.3)."""

    def __missing__(self, raw: bytes) -> int:
        """Of a date that was not met yet."""
        found = _DAY.fullmatch(raw)
        day = self[raw] = int(b"".join(found.groups())) if found else 0
        return day


class Controls(dict[bytes, int]):
    """Values of a tag, as TimeControl, by number; 0 is that of a game without one."""

    def __init__(self) -> None:
        super().__init__({b"": 0})

    def __missing__(self, raw: bytes) -> int:
        """The next number for a new one."""
        number = self[raw] = len(self)
        return number


@dataclass(slots=True)
class Games(Tally):
    """A tally that keeps the games apart. `events` are titles of ours: games that name one are among the `claims`.

    Few games are at odds, of a variant or have two controls: `odds` has the bands that White gives (None: of unknown
    size), `variants` raw tags of other variants, and `black_control` the control of Black, by the game's place.
    """

    events: frozenset[str] = frozenset()
    by_event: bool = False  # the Event tags are kept
    event: array[int] = field(default_factory=lambda: array("i"))  # number in `event_tags`, where they are kept
    event_tags: Controls = field(default_factory=Controls)
    days: array[int] = field(default_factory=lambda: array("i"))
    control: array[int] = field(default_factory=lambda: array("i"))  # number in `controls`, White's if there are two
    black_control: dict[int, int] = field(default_factory=dict)
    odds: dict[int, int | None] = field(default_factory=dict)
    variants: dict[int, bytes] = field(default_factory=dict)
    terminations: dict[int, bytes] = field(default_factory=dict)  # the tags of games that did not end as usual
    offsets: array[int] = field(default_factory=lambda: array("q"))  # bytes from the front of the unpacked file
    digests: bytearray = field(default_factory=bytearray)
    openings: array[int] = field(default_factory=lambda: array("q"))  # as `gameopenings` numbers them
    ends: list[int] = field(default_factory=list)  # games by the end of each file
    claims: list[Claim] = field(default_factory=list)
    by_day: Days = field(default_factory=Days)
    controls: Controls = field(default_factory=Controls)

    def keep(self, tags: dict[bytes, bytes], offset: int, digest: bytes, opening: int) -> None:
        """What is known of a game beyond its count."""
        self.days.append(self.by_day[tags.get(b"Date", b"")])
        self.control.append(self.controls[tags.get(b"TimeControl", b"")])
        if self.by_event:
            self.event.append(self.event_tags[tags.get(b"Event", b"")])
        self.offsets.append(offset)
        self.digests += digest[:DIGEST]
        self.openings.append(opening)
        self.end(len(self.days) - 1, tags.get(TERMINATION, b""))
        self.note(len(self.days) - 1, tags)
        self.claim(len(self.days) - 1, tags)

    def end(self, game: int, termination: bytes) -> None:
        """The Termination tag of a game."""
        if termination not in (b"", b"normal"):
            self.terminations[game] = termination

    def note(self, game: int, tags: dict[bytes, bytes]) -> None:
        """Odds, another variant, and the controls of both sides where they are told apart."""
        if WHITE_TC in tags and BLACK_TC in tags:
            white, black = self.controls[tags[WHITE_TC]], self.controls[tags[BLACK_TC]]
            self.control[game] = white
            if black != white:
                self.black_control[game] = black
        bands = bands_in(tags)
        if bands != 0:
            self.odds[game] = bands
        if VARIANT in tags:
            from enginetour.interop.varianttags import is_standard  # it knows chess: most files have no such tag

            if not is_standard(tags[VARIANT]):
                self.variants[game] = tags[VARIANT]

    def set_aside(self, *, odds: bool, variant: bytes) -> None:
        """Nothing: a game at odds or of a variant is kept as one."""

    def claim(self, game: int, tags: dict[bytes, bytes]) -> None:
        """Note a game that says it is of one of the events."""
        names = (b"Event", b"Round", b"White", b"Black", b"Date", b"GameStartTime")
        event, *others = (text(tags.get(name, b"")) for name in names)
        if event in self.events:
            self.claims.append(Claim(game, event, *others))

    def identities(self) -> NDArray[np.uint64]:
        """One number a game, another for every game of a file: its digest, raised for equal ones that came before."""
        import numpy as np

        found = np.frombuffer(bytes(self.digests), dtype="<u8").astype(np.uint64)
        for start, end in zip([0, *self.ends], self.ends, strict=False):
            part = found[start:end]
            ordered = np.sort(part)
            if (ordered[1:] != ordered[:-1]).all():
                continue
            order = np.argsort(part, kind="stable")
            places = np.arange(len(part))
            first = np.append(True, ordered[1:] != ordered[:-1])
            before = places - np.maximum.accumulate(np.where(first, places, 0))
            part[order] += before.astype(np.uint64) * np.uint64(GAMMA)
        return found


def tags_in(header: bytes) -> dict[bytes, bytes]:
    """All tags of the lines of a header; the last of a name holds."""
    return {name: value for line in header.splitlines() for name, value in tags_of(line)}
