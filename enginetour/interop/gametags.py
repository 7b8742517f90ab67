"""Tags and columns of games: players, event, date, odds, variant.

What a game is here: a block of tags that holds White or Result. Blocks end at the first line of moves or the second
blank line; one blank line may stand between tags, but not before ``[Event``. A tag of the three that comes again
when all three are known begins a new game, so files without moves are read too. Tags inside a ``{}`` comment are
words, as are lines behind ``%`` (PGN standard 5, 6, 8.1). After Fiekas's reader in python-chess.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from enginetour.interop.tally import (
    MOST_TAGS,
    TERMINATORS,
    VARIANT,
    Tally,
    escaped,
    is_unnamed,
    result_code,
    tag_text,
    unescaped,
)
from enginetour.model.variants import STANDARD, VARIANTS, tag_fits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Tags that say a game was at odds: our own exports' Handicap, and what other programs call Odds.
#
# Such games are no even games: lists leave them out unless they are asked for.

HANDICAP = b"Handicap"  # "White gives 2", in bands: `reports.pgn`
_GIVES = re.compile(rb"(White|Black) gives ([1-9]\d{0,2})")
_EVEN = {b"", b"?", b"-", b"0", b"no", b"none"}  # values that mean there are none


def is_odds_tag(name: bytes) -> bool:
    """Handicap, Odds, or a tag of one kind of odds: TimeOdds, WhiteOdds."""
    return name == HANDICAP or name.endswith(b"Odds")


def _says_odds(value: bytes) -> bool:
    return value.strip().lower() not in _EVEN


def _handicap_bands(tags: Mapping[bytes, bytes]) -> int | None:
    """Bands that White gives, below 0 takes; None for odds whose size is not told in bands."""
    found = [(name, value) for name, value in tags.items() if is_odds_tag(name) and _says_odds(value)]
    if not found:
        return 0
    gives = _GIVES.fullmatch(tags.get(HANDICAP, b"").strip())
    if gives is None:
        return None
    return int(gives[2]) if gives[1] == b"White" else -int(gives[2])


# Reads White, Black and Result of any PGN, whatever the order of its tags, line by line: right first, then quick.

_TAG = rb'\[\s*([A-Za-z0-9][A-Za-z0-9_+#=:-]*)\s*"((?:[^"\\]|\\.)*)"\s*\]'
_EXACT = re.compile(rb"(?:" + _TAG + rb"\s*)+")
_EACH = re.compile(_TAG)
# Writers that escape nothing: the value ends at the last quote of the line.
_LOOSE = re.compile(rb'\[\s*([A-Za-z0-9][A-Za-z0-9_+#=:-]*)\s*"(.*)"\s*\]\s*', re.DOTALL)
_BRACES = re.compile(rb"[{};]")
_LONGEST_HEADER = 1 << 20  # bytes between the pieces where tags begin and where they still go on: no game has so many
_LONGEST_LINE = 65536  # bytes of a line of tags; the standard's readers need 255 (PGN standard 4.3)
_WANTED = (b"White", b"Black", b"Result")
_TELLING = (b"White", b"Result")  # without one of them it is not a game
_ANY_CASE = {name.lower(): name for name in _WANTED}
_TELLS = re.compile(rb"\[\s*(Event|%b)[\s\"]" % b"|".join(_WANTED), re.IGNORECASE)
_FIRST_MOVE = re.compile(rb"1\.+\s*[a-hKQRBNO]")


def tags_of(line: bytes) -> list[tuple[bytes, bytes]]:
    """Names and raw values of the tags of a line; nothing when it is no line of tags."""
    if len(line) > _LONGEST_LINE:
        return []
    if _EXACT.fullmatch(line):
        return _EACH.findall(line)
    loose = _LOOSE.fullmatch(line)
    return [(loose[1], escaped(unescaped(loose[2])))] if loose else []


def contradicts(result: bytes, line: bytes) -> bool:
    """Whether the last line of a game's moves ends with another result than its tag says.

    A line with a semicolon may end with a comment, so nothing is known of it.
    """
    if b";" in line or line[:1] in (b"%", b"["):
        return False
    said = line.split()[-1:]
    return bool(said) and said[0] in TERMINATORS and TERMINATORS[said[0]] != result_code(result)


class TagReader:
    """Fed with lines, counts into a tally. `place` says where a line is, from the offset fed and its number there."""

    def __init__(self, tally: Tally, place: Callable[[int, int], str]) -> None:
        self._tally = tally
        self._place = place
        self._tags: dict[bytes, bytes] = {}
        self._named = False  # is it a game: did White or Result show, readable or not
        self._header = False
        self._number = 0  # of tags so far
        self._broken: tuple[str, str] | None = None  # place and reason of a block whose other tags are skipped
        self._odds, self._variant = False, b""  # the raw tag of another variant
        self._blanks = 1  # blank lines since the last tag or move
        self._begun = (0, 0)
        self._comment = False
        self._opened = (0, 0)
        self._hidden = False  # behind a semicolon
        self._cut = ""  # what goes on in the next feed: moves, or words that mean nothing
        self._partial = bytearray()  # a tag that continues on the next line; it began in line `_partial_at`
        self._partial_at = (0, 0)
        self._moved = True  # since the last tags: moves that begin again are a game without tags
        self._result: tuple[bytes, tuple[int, int]] | None = None  # of the last game that counts, and where it began
        self._last = b""  # line of moves behind it

    def feed(self, offset: int, lines: bytes, *, whole: bool = True) -> None:
        """Read on; not `whole`: the last line may go on in the next feed."""
        rows = lines.splitlines()
        for number, line in enumerate(rows):
            here = (offset, number)
            if number == 0 and self._cut:
                if self._cut == "moves":
                    self._moves(line, here)
                continue
            if self._partial and self._goes_on(line):
                continue
            if self._comment:
                if b"}" in line:
                    self._moves(line, here)
            elif line[:1] == b"[" or (line[:1] in (b" ", b"\t") and tags_of(line.lstrip())):
                line = line.lstrip()
                if not self._skipped(line, here):
                    self._bracket(line, here)
            elif not line or line.isspace():
                self._blanks += 1
                if self._blanks > 1:
                    self._end()
            elif line[:1] != b"%" and not (self._header and line[:1] == b";"):
                self._end()
                if self._moved and self._blanks and _FIRST_MOVE.match(line):
                    self._untagged(here)
                self._blanks, self._moved = 0, True
                self._moves(line, here)
            elif not self._header:
                self._last = b""
        if whole or lines[-1:] in (b"\n", b"\r"):
            self._cut = ""
        elif len(rows) > 1 or not self._cut:
            first = rows[-1][:1]
            words = (first == b"[" and self._header) or first in (b"%", b";") or self._hidden
            self._cut = "words" if words and not self._comment else "moves"
            self._tally.break_at(self._place(offset, len(rows) - 1), "a line without end", games=0)

        if self._header and offset - self._begun[0] > _LONGEST_HEADER:
            self._break("tags without end")

    def _break(self, why: str) -> None:
        self._broken = self._broken or (self._place(*self._begun), why)

    def _skipped(self, line: bytes, here: tuple[int, int], *, whole: bool = False) -> bool:
        """Skip a line of tags of a broken game, unless it begins another one or is missing before one can begin."""
        if self._broken is None:
            return False
        if found := _TELLS.search(line):
            known = found[1].capitalize() in (*self._tags, b"Event") and len(self._tags) < len(_WANTED)
            if self._blanks or not known or line.count(b"[") > 1:
                return False
        if not whole and b"]" not in line and len(line) <= _LONGEST_LINE:
            self._partial, self._partial_at = bytearray(line), here
        else:
            self._blanks = 0
        return True

    def settle(self) -> bool:
        """At the start of another game: count the last one. False inside a comment, where no game can start."""
        self._close_tag()
        if self._comment:
            return False
        self._end()
        self._judge()
        self._blanks = 1
        return True

    def finish(self) -> None:
        """At the end of the file."""
        self._close_tag()
        self._end()
        self._judge()
        if self._comment:
            why = "a comment that never ends: games behind it do not count"
            self._tally.break_at(self._place(*self._opened), why, games=0)

    def _goes_on(self, line: bytes) -> bool:
        """The line continues the tag before it; else that tag is broken, and the line is read for itself."""
        if line[:1] == b"[" or not line.strip() or len(self._partial) + len(line) > _LONGEST_LINE:
            self._close_tag()
            return False
        self._partial += b" " + line
        if b"]" in line:
            self._close_tag()
        return True

    def _close_tag(self) -> None:
        """A tag of several lines is read as if it stood in one."""
        if self._partial:
            line, self._partial = bytes(self._partial), bytearray()
            if not self._skipped(line, self._partial_at, whole=True):
                self._bracket(line, self._partial_at, whole=True)

    def _untagged(self, here: tuple[int, int]) -> None:
        self._judge()
        self._tally.break_untagged(self._place(*here))

    def _judge(self) -> None:
        if self._result is not None and contradicts(self._result[0], self._last):
            self._tally.contradict(self._place(*self._result[1]))
        self._result = None

    def _bracket(self, line: bytes, here: tuple[int, int], *, whole: bool = False) -> None:
        """A line of tags, or of moves that begins like one; `whole`: no tag of it goes on in the next line."""
        tags = tags_of(line)
        if not tags and not self._header and not self._blanks:
            self._moves(line, here)
            return
        if not whole and not tags and b"]" not in line and len(line) <= _LONGEST_LINE:
            self._partial, self._partial_at = bytearray(line), here
            return
        if self._header and self._blanks and (line.startswith(b'[Event "') or (tags and tags[0][0] == b"Event")):
            self._end()
        self._moved = False
        if not self._header:
            self._header, self._begun = True, here
        tags = [(_ANY_CASE.get(name.lower(), name), value) for name, value in tags]
        for name, value in tags:
            if name in _WANTED:
                if len(self._tags) == len(_WANTED) or (self._blanks and name in self._tags):
                    self._end()
                    self._header, self._begun = True, here
                self._tags[name] = value
            self._number += 1
            if self._number > MOST_TAGS:
                self._break(f"more than {MOST_TAGS:,} tags")
            elif name == HANDICAP:
                self._odds = _says_odds(value)
            elif name == VARIANT:
                self._variant = b"" if _is_standard(value) else value
        self._blanks = 0
        if line.startswith(b'[White "') or b"[Result" in line or any(name in _TELLING for name, _ in tags):
            self._named = True

    def _moves(self, line: bytes, here: tuple[int, int]) -> None:
        """Follow comments; the rest of a line behind a semicolon is one too."""
        self._hidden, self._last = False, line
        if b";" in line:
            for found in _BRACES.finditer(line):
                if found[0] == b";" and not self._comment:
                    self._hidden = True
                    return
                if found[0] != b";":
                    self._brace(here, opens=found[0] == b"{", after=self._comment)
        elif b"{" in line or b"}" in line:
            # An opening brace inside a comment is a letter of it: the last sign of a line decides.
            inside = self._comment and b"}" not in line
            self._brace(here, opens=line.rfind(b"{") > line.rfind(b"}"), after=inside)

    def _brace(self, here: tuple[int, int], *, opens: bool, after: bool) -> None:
        """A comment opens, unless it goes on after one that did, or ends."""
        if opens and not after:
            self._opened = here
        self._comment = opens

    def _end(self) -> None:
        if not self._header:
            return
        self._judge()
        if self._broken:
            self._tally.break_at(*self._broken, games=int(self._named))
        elif self._named:
            missing = [name.decode() for name in _WANTED if name not in self._tags]
            blank = [name.decode() for name in _WANTED[:2] if is_unnamed(self._tags.get(name, b"x"))]
            if missing:
                self._tally.break_at(self._place(*self._begun), f"a game without a readable {missing[0]} tag")
            elif blank:
                self._tally.break_at(self._place(*self._begun), f"a game whose {blank[0]} has no name")
            else:
                white, black, result = (self._tags[name] for name in _WANTED)
                if not self._tally.add([white], [black], [result], self._place(*self._begun)):
                    self._tally.break_at(self._place(*self._begun), "a game with a name of endless length")
                else:
                    self._result, self._last = (result, self._begun), b""
                    if self._odds or self._variant:
                        self._tally.set_aside(odds=self._odds, variant=self._variant)
        self._forget()

    def _forget(self) -> None:
        self._tags, self._named, self._header, self._odds, self._variant = {}, False, False, False, b""
        self._number, self._broken = 0, None


# Games one by one, as columns: who, what, when, where in the file, opening, and a digest of the game's own bytes.
#
# A game's own bytes go from its first tag to the next game's, without its first bracket, without white space at the
# end; a line ends in any way. Equal games of one file are told apart by their number among themselves, so that a file
# that is read again, or has grown, gives the same identities and those of the new games.

DIGEST = 8  # bytes; among a million games two share one in 37 million cases
_GAMMA = 0x9E3779B97F4A7C15  # odd, and its small multiples are far apart: SplitMix, Steele, Lea and Flood 2014
TERMINATION = b"Termination"
WHITE_TC, BLACK_TC = b"WhiteTimeControl", b"BlackTimeControl"
_DAY = re.compile(rb"(\d{4})\.(\d\d)\.(\d\d)")


@dataclass(frozen=True, slots=True)
class ClaimedGame:
    """A game that says it belongs to one of the events asked for; texts are "" where the tag is missing."""

    game: int  # place in the columns
    event: str
    round: str
    white: str
    black: str
    date: str
    start: str


class _Days(dict[bytes, int]):
    """Dates as YYYYMMDD, 0 where one does not say (PGN standard 8.1.1.3)."""

    def __missing__(self, raw: bytes) -> int:
        found = _DAY.fullmatch(raw)
        day = self[raw] = int(b"".join(found.groups())) if found else 0
        return day


class _Controls(dict[bytes, int]):
    """Values of a tag, as TimeControl, by number; 0 is that of a game without one."""

    def __init__(self) -> None:
        super().__init__({b"": 0})

    def __missing__(self, raw: bytes) -> int:
        number = self[raw] = len(self)
        return number


@dataclass(slots=True)
class GameColumns(Tally):
    """A tally that keeps the games apart. `events` are titles of ours: games that name one are among the `claims`.

    Few games are at odds, of a variant or have two controls: `odds` has the bands that White gives (None: of unknown
    size), `variants` raw tags of other variants, and `black_control` the control of Black, by the game's place.
    """

    events: frozenset[str] = frozenset()
    by_event: bool = False  # the Event tags are kept
    event: array[int] = field(default_factory=lambda: array("i"))  # number in `event_tags`, where they are kept
    event_tags: _Controls = field(default_factory=_Controls)
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
    claims: list[ClaimedGame] = field(default_factory=list)
    by_day: _Days = field(default_factory=_Days)
    controls: _Controls = field(default_factory=_Controls)

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
        bands = _handicap_bands(tags)
        if bands != 0:
            self.odds[game] = bands
        if VARIANT in tags and not _is_standard(tags[VARIANT]):
            self.variants[game] = tags[VARIANT]

    def set_aside(self, *, odds: bool, variant: bytes) -> None:
        """Nothing: a game at odds or of a variant is kept as one."""

    def claim(self, game: int, tags: dict[bytes, bytes]) -> None:
        """Note a game that says it is of one of the events."""
        names = (b"Event", b"Round", b"White", b"Black", b"Date", b"GameStartTime")
        event, *others = (tag_text(tags.get(name, b"")) for name in names)
        if event in self.events:
            self.claims.append(ClaimedGame(game, event, *others))

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
            part[order] += before.astype(np.uint64) * np.uint64(_GAMMA)
        return found


def tags_in(header: bytes) -> dict[bytes, bytes]:
    """All tags of the lines of a header; the last of a name holds."""
    return {name: value for line in header.splitlines() for name, value in tags_of(line)}


# What Variant tags of files say: a list is of one variant, and a game without the tag is of standard chess.

_VARIANT_TAG = re.compile(rb"\[\s*Variant\s")
_VALUE = re.compile(rb'\n\[Variant "([^"\r\n]*)"')


@lru_cache(maxsize=1024)  # a file has few variants
def variant_matches(raw: bytes, variant: str) -> bool:
    """The raw value of a Variant tag means this variant."""
    return tag_fits(tag_text(raw), variant)


def _is_standard(raw: bytes) -> bool:
    """The raw value of a Variant tag means standard chess, or says nothing."""
    return variant_matches(raw, STANDARD)


def has_other_variant(header: bytes) -> bool:
    """One of these lines is a Variant tag of something else than standard chess, or has unusual blanks."""
    found = _VALUE.findall(header)
    return len(_VARIANT_TAG.findall(header)) != len(found) or not all(map(_is_standard, set(found)))


def games_by_variant(tags: Mapping[bytes, int]) -> dict[str, int]:
    """Games by raw tags as games by variants, the most first: by our names, or by the tag where that means none."""
    found = Counter[str]()
    for raw, games in tags.items():
        found[next((name for name in VARIANTS if variant_matches(raw, name)), tag_text(raw))] += games
    return dict(found.most_common())
