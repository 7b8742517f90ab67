"""Tags and columns of games: players, event, date, odds, variant.

A game is a block of tags that contains White or Result. A block ends at the first line of moves or at the second
blank line; one blank line may be between tags, but not before ``[Event``. If White, Black and Result are known and one
of them appears again, a new game starts, so files without moves can be read too. Tags inside a ``{}`` comment and
lines after ``%`` are text (PGN standard 5, 6, 8.1). Based on Fiekas's reader in python-chess.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from itertools import dropwhile
from typing import TYPE_CHECKING, Self

from enginetour.interop.tally import (
    MOST_TAGS,
    TERMINATORS,
    UNFINISHED,
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


# Tags of games at odds: Handicap in enginetour's exports, and Odds of other programs. Lists leave such games out
# unless they are requested.

HANDICAP = b"Handicap"  # tag that `reports.pgn` writes, for example "White gives 2" (bands)
_GIVES = re.compile(rb"(White|Black) gives ([1-9]\d{0,2})")
_EVEN = {b"", b"?", b"-", b"0", b"no", b"none"}  # values that mean no odds


def is_odds_tag(name: bytes) -> bool:
    """Return whether the tag is Handicap, Odds, or one kind of odds such as TimeOdds or WhiteOdds."""
    return name == HANDICAP or name.endswith(b"Odds")


def _has_odds(value: bytes) -> bool:
    return value.strip().lower() not in _EVEN


def _handicap_bands(tags: Mapping[bytes, bytes]) -> int | None:
    """Return the bands that White gives, negative if White receives them, or None for odds of unknown size."""
    found = [(name, value) for name, value in tags.items() if is_odds_tag(name) and _has_odds(value)]
    if not found:
        return 0
    gives = _GIVES.fullmatch(tags.get(HANDICAP, b"").strip())
    if gives is None:
        return None
    return int(gives[2]) if gives[1] == b"White" else -int(gives[2])


# The careful reader reads White, Black and Result of any PGN file line by line, in any order of tags.

_TAG = rb'\[\s*([A-Za-z0-9][A-Za-z0-9_+#=:-]*)\s*"((?:[^"\\]|\\.)*)"\s*\]'
_EXACT = re.compile(rb"(?:" + _TAG + rb"\s*)+")
_EACH = re.compile(_TAG)
# For programs that do not escape quotes: the value ends at the last quote of the line.
_LOOSE = re.compile(rb'\[\s*([A-Za-z0-9][A-Za-z0-9_+#=:-]*)\s*"(.*)"\s*\]\s*', re.DOTALL)
_BRACES = re.compile(rb"[{};]")
_COMMENTS = re.compile(rb"\{[^}]*\}|;.*")
_LONGEST_HEADER = 1 << 20  # bytes of one block of tags; real games have fewer
_LONGEST_LINE = 65536  # bytes of a line of tags; the PGN standard requires 255 (4.3)
_WANTED = (b"White", b"Black", b"Result")
_TELLING = (b"White", b"Result")  # a game has at least one of them
_ANY_CASE = {name.lower(): name for name in _WANTED}
_TELLS = re.compile(rb"\[\s*(Event|%b)[\s\"]" % b"|".join(_WANTED), re.IGNORECASE)
_FIRST_MOVE = re.compile(rb"1\.+\s*[a-hKQRBNO]")


def tags_of(line: bytes) -> list[tuple[bytes, bytes]]:
    """Return names and raw values of the tags of a line, or an empty list if it is not a line of tags."""
    if len(line) > _LONGEST_LINE:
        return []
    if _EXACT.fullmatch(line):
        return _EACH.findall(line)
    loose = _LOOSE.fullmatch(line)
    return [(loose[1], escaped(unescaped(loose[2])))] if loose else []


def contradicts(result: bytes, line: bytes) -> bool:
    """Return whether the last line of a game's moves ends with another result than the Result tag.

    A line with a semicolon may end with a comment, so it never contradicts.
    """
    if b";" in line or line[:1] in (b"%", b"["):
        return False
    last = line.split()[-1:]
    return bool(last) and last[0] in TERMINATORS and TERMINATORS[last[0]] != result_code(result)


class TagReader:
    """Count the games of lines in a tally.

    `place` returns the place of a line in the file, from the offset of a piece and the number of the line in the piece.
    """

    def __init__(self, tally: Tally, place: Callable[[int, int], str]) -> None:
        self._tally = tally
        self._place = place
        self._tags: dict[bytes, bytes] = {}
        self._named = False  # whether White or Result was found, even if not readable
        self._header = False
        self._number = 0  # number of tags so far
        self._broken: tuple[str, str] | None = None  # place and reason of a block whose other tags are skipped
        self._odds, self._variant = False, b""  # whether the game has odds, and the raw tag of another variant
        self._blanks = 1  # blank lines since the last tag or move
        self._begun = (0, 0)
        self._comment = False
        self._opened = (0, 0)
        self._hidden = False  # whether a semicolon hides the rest of the line
        self._cut = ""  # content that continues in the next piece: "moves", or "text" that is skipped
        self._partial = bytearray()  # tag that continues on the next line; it began at `_partial_at`
        self._partial_at = (0, 0)
        self._moved = True  # whether moves followed the last tags; move 1 then starts a game without tags
        self._result: tuple[bytes, tuple[int, int]] | None = None  # result of the last counted game, and its place
        self._last = b""  # last line of its moves

    def feed(self, offset: int, lines: bytes, *, whole: bool = True) -> None:
        """Read the next lines; if not `whole`, the last line may continue in the next call."""
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
            text = (first == b"[" and self._header) or first in (b"%", b";") or self._hidden
            self._cut = "text" if text and not self._comment else "moves"
            self._tally.break_at(self._place(offset, len(rows) - 1), "the line is too long", games=0)

        if self._header and offset - self._begun[0] > _LONGEST_HEADER:
            self._break("the tags of the game are too long")

    def _break(self, why: str) -> None:
        self._broken = self._broken or (self._place(*self._begun), why)

    def _skipped(self, line: bytes, here: tuple[int, int], *, whole: bool = False) -> bool:
        """Skip a tag of a broken game; return False if it starts another game or is needed to detect one."""
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
        """Count the last game before a piece that may start a game; return False if it may not.

        No game starts inside a comment, and the next tags may belong to tags without White, Black or Result.
        """
        self._close_tag()
        if self._comment or (self._header and len(self._tags) < len(_WANTED)):
            return False
        self._end()
        self._judge()
        self._blanks = 1
        return True

    def finish(self) -> None:
        """Count the last game at the end of the file."""
        self._close_tag()
        self._end()
        self._judge()
        if self._comment:
            why = "a comment is not closed; games after it are not counted"
            self._tally.break_at(self._place(*self._opened), why, games=0)

    def _goes_on(self, line: bytes) -> bool:
        """Return whether the line continues the tag before it; otherwise that tag is broken."""
        if line[:1] == b"[" or not line.strip() or len(self._partial) + len(line) > _LONGEST_LINE:
            self._close_tag()
            return False
        self._partial += b" " + line
        if b"]" in line:
            self._close_tag()
        return True

    def _close_tag(self) -> None:
        """Read a tag of several lines as if it were on one line."""
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
        """Read a line of tags, or of moves that look like one; with `whole` no tag continues on the next line."""
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
                self._break(f"the game has more than {MOST_TAGS:,} tags")
            elif name == HANDICAP:
                self._odds = _has_odds(value)
            elif name == VARIANT:
                self._variant = b"" if _is_standard(value) else value
        self._blanks = 0
        if line.startswith(b'[White "') or b"[Result" in line or any(name in _TELLING for name, _ in tags):
            self._named = True

    def _moves(self, line: bytes, here: tuple[int, int]) -> None:
        """Keep track of comments; a semicolon hides the rest of its line."""
        self._hidden, self._last = False, line
        if b";" in line:
            for found in _BRACES.finditer(line):
                if found[0] == b";" and not self._comment:
                    self._hidden = True
                    return
                if found[0] != b";":
                    self._brace(here, opens=found[0] == b"{", after=self._comment)
        elif b"{" in line or b"}" in line:
            # An opening brace inside a comment is only text: the last brace of a line decides.
            inside = self._comment and b"}" not in line
            self._brace(here, opens=line.rfind(b"{") > line.rfind(b"}"), after=inside)

    def _brace(self, here: tuple[int, int], *, opens: bool, after: bool) -> None:
        """Start a comment, unless one is open already, or end it."""
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
                self._tally.break_at(self._place(*self._begun), f"the game does not have a readable {missing[0]} tag")
            elif blank:
                self._tally.break_at(self._place(*self._begun), f"the game has an empty {blank[0]} tag")
            else:
                white, black, result = (self._tags[name] for name in _WANTED)
                if not self._tally.add([white], [black], [result], self._place(*self._begun)):
                    self._tally.break_at(self._place(*self._begun), "the game has a name that is too long")
                else:
                    self._result, self._last = (result, self._begun), b""
                    if self._odds or self._variant:
                        self._tally.set_aside(odds=self._odds, variant=self._variant)
        self._forget()

    def _forget(self) -> None:
        self._tags, self._named, self._header, self._odds, self._variant = {}, False, False, False, b""
        self._number, self._broken = 0, None


# Games one by one, as columns: players, result, date, position in the file, opening, and a digest of the game's
# bytes. These bytes are from the game's first tag to the next game, without the first bracket and white space at the
# end; all line ends count as LF. Equal games of one file are distinguished by their number, so that a file gives the
# same identities when it is read again or has grown.

DIGEST = 8  # bytes; among a million games two have the same digest in one of 37 million cases
_GAMMA = 0x9E3779B97F4A7C15  # odd, with small multiples that are far apart: SplitMix, Steele, Lea and Flood 2014
TERMINATION = b"Termination"
WHITE_TC, BLACK_TC = b"WhiteTimeControl", b"BlackTimeControl"
_DAY = re.compile(rb"(\d{4})\.(\d\d|\?\?)\.(\d\d|\?\?)")


@dataclass(frozen=True, slots=True)
class ClaimedGame:
    """A game whose tags name one of the requested events; missing tags are ""."""

    game: int  # index in the columns
    event: str
    round: str
    white: str
    black: str
    date: str
    start: str


class _Days(dict[bytes, int]):
    """Map dates to the number YYYYMMDD (PGN standard 8.1.1.3), with 00 for an unknown month or day.

    The number is 0 if the year is unknown, or if the date does not exist.
    """

    def __missing__(self, raw: bytes) -> int:
        self[raw] = number = self._number(raw)
        return number

    @staticmethod
    def _number(raw: bytes) -> int:
        if not (found := _DAY.fullmatch(raw)):
            return 0
        year, month, day = (int(part) if part.isdigit() else 0 for part in found.groups())
        day = day if month else 0
        try:
            date(year, month or 1, day or 1)
        except ValueError:
            return 0
        return year * 10_000 + month * 100 + day


class _Controls(dict[bytes, int]):
    """Map the values of a tag such as TimeControl to consecutive numbers; 0 means that the tag is missing."""

    def __init__(self) -> None:
        super().__init__({b"": 0})

    def __missing__(self, raw: bytes) -> int:
        number = self[raw] = len(self)
        return number


@dataclass(slots=True)
class GameColumns(Tally):
    """A tally that keeps single games; games whose tags name one of `events` are also in `claims`.

    Exceptions are kept by index of the game: `odds` has the bands that White gives (None: unknown size), `variants` the
    raw tags of other variants, and `black_control` the time control of Black if it differs.
    """

    events: frozenset[str] = frozenset()
    by_event: bool = False  # whether Event tags are kept
    complete: bool = False  # whether the last game of a file is left out if it breaks off
    tail: tuple[int, bytes] = (0, b"")  # offset and bytes of the last part of the file
    event: array[int] = field(default_factory=lambda: array("i"))  # number in `event_tags`, if Event tags are kept
    event_tags: _Controls = field(default_factory=_Controls)
    days: array[int] = field(default_factory=lambda: array("i"))
    # number in `controls`; White's number if the controls differ
    control: array[int] = field(default_factory=lambda: array("i"))
    black_control: dict[int, int] = field(default_factory=dict)
    odds: dict[int, int | None] = field(default_factory=dict)
    variants: dict[int, bytes] = field(default_factory=dict)
    terminations: dict[int, bytes] = field(default_factory=dict)  # Termination tags other than "normal"
    offsets: array[int] = field(default_factory=lambda: array("q"))  # bytes from the start of the unpacked file
    digests: bytearray = field(default_factory=bytearray)
    openings: array[int] = field(default_factory=lambda: array("q"))  # numbers of openings, see `opening_of`
    claims: list[ClaimedGame] = field(default_factory=list)
    by_day: _Days = field(default_factory=_Days)
    controls: _Controls = field(default_factory=_Controls)

    def keep(self, tags: dict[bytes, bytes], offset: int, digest: bytes, opening: int) -> None:
        """Store all values of a game other than players and result."""
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
        """Store the Termination tag of a game, unless it is normal."""
        if termination not in (b"", b"normal"):
            self.terminations[game] = termination

    def note(self, game: int, tags: dict[bytes, bytes]) -> None:
        """Store odds, another variant, and different time controls of both sides."""
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

    def end_file(self, path: str) -> None:
        """Leave out the last game of a file if it breaks off: its bytes, and so its digest, are not complete."""
        if not self.complete or not self.games or self.results[-1] == UNFINISHED:
            return
        at, tail = self.tail
        last, before = (max(0, place - at) for place in (self.offsets[-1], self.offsets[-2:][0]))
        words, earlier = _words_of_moves(tail[last:]), _words_of_moves(tail[before:last])
        if words is None or any(map(_is_result, words)):
            return
        # The game before it shows whether this program writes moves, and results after them. In a file of one game,
        # only the end of the last line shows that it is whole.
        cut = words and not earlier and (self.games > 1 or not tail.rstrip(b"\x1a").endswith((b"\n", b"\r")))
        if any(map(_is_result, earlier or ())) or cut:
            self.results[-1] = UNFINISHED
            step = "import the file again when it is complete, or add its result after the moves"
            self.break_at(path, f"the last game breaks off before its result; {step}")

    def join(self, other: Self) -> None:
        """Append the games of other columns."""
        import numpy as np

        before, self.tail = self.games, other.tail
        controls = np.array([self.controls[raw] for raw in other.controls], dtype=np.intc)
        events = np.array([self.event_tags[raw] for raw in other.event_tags], dtype=np.intc)
        self.control.frombytes(controls[np.array(other.control, dtype=np.intc)].tobytes())
        self.event.frombytes(events[np.array(other.event, dtype=np.intc)].tobytes())
        self.black_control |= {before + game: int(controls[number]) for game, number in other.black_control.items()}
        self.odds |= {before + game: bands for game, bands in other.odds.items()}
        self.variants |= {before + game: raw for game, raw in other.variants.items()}
        self.terminations |= {before + game: raw for game, raw in other.terminations.items()}
        self.claims += [replace(claim, game=before + claim.game) for claim in other.claims]
        self.days += other.days
        self.offsets += other.offsets
        self.digests += other.digests
        self.openings += other.openings
        # slots=True makes a new class, which super() without arguments does not know (dataclasses)
        Tally.join(self, other)

    def set_aside(self, *, odds: bool, variant: bytes) -> None:
        """Do nothing: games at odds or of a variant are kept as columns."""

    def claim(self, game: int, tags: dict[bytes, bytes]) -> None:
        """Add the game to `claims` if its tags name one of the events."""
        names = (b"Event", b"Round", b"White", b"Black", b"Date", b"GameStartTime")
        event, *others = (tag_text(tags.get(name, b"")) for name in names)
        if event in self.events:
            self.claims.append(ClaimedGame(game, event, *others))

    @staticmethod
    def day_numbers(since: date | None, until: date | None) -> tuple[int, int, tuple[int, ...]]:
        """Return the lowest and the highest value of `days` that is in a range, and exceptions between them.

        The exceptions are dates with an unknown month or day that can be later than `until`. 0 is in no range.
        """
        from calendar import monthrange

        lowest, highest, later = 1, 99_99_99_99, list[int]()
        if since:
            lowest = int(f"{since:%Y%m%d}") - (since.day == 1) - 100 * (since.month == since.day == 1)
        if until:
            highest, year = int(f"{until:%Y%m%d}"), until.year * 10_000
            if until.day < monthrange(until.year, until.month)[1]:
                later = [year, year + until.month * 100]
            elif until.month < 12:
                later = [year]
        return lowest, highest, tuple(later)

    def identities(self) -> NDArray[np.uint64]:
        """Return one number per game, unique in its file: the digest, increased for each equal game before it."""
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


def _words_of_moves(text: bytes) -> list[bytes] | None:
    """Return the words after the tags of a game, without comments; None if the tags of another game follow."""
    lines = [line for line in _COMMENTS.sub(b"", text).splitlines() if line[:1] != b"%"]
    moves = list(dropwhile(lambda line: not line.strip() or line[:1] == b"[", lines))
    if any(map(tags_of, moves)):
        return None
    return b" ".join(moves).replace(b"\x1a", b"").split()  # Ctrl-Z ends a text in DOS


def _is_result(word: bytes) -> bool:
    return word in TERMINATORS or result_code(word) != UNFINISHED


def tags_in(header: bytes) -> dict[bytes, bytes]:
    """Return all tags of the lines of a header; if a name occurs several times, the last value counts."""
    return {name: value for line in header.splitlines() for name, value in tags_of(line)}


# Variant tags: a list contains games of one variant, and games without the tag are standard chess.

_VARIANT_TAG = re.compile(rb"\[\s*Variant\s")
_VALUE = re.compile(rb'\n\[Variant "([^"\r\n]*)"')


@lru_cache(maxsize=1024)  # a file has few variants
def variant_matches(raw: bytes, variant: str) -> bool:
    """Return whether the raw value of a Variant tag is this variant."""
    return tag_fits(tag_text(raw), variant)


def _is_standard(raw: bytes) -> bool:
    """Return whether the raw value of a Variant tag is standard chess or empty."""
    return variant_matches(raw, STANDARD)


def has_other_variant(header: bytes) -> bool:
    """Return whether a Variant tag in these lines is not standard chess, or has unusual white space."""
    found = _VALUE.findall(header)
    return len(_VARIANT_TAG.findall(header)) != len(found) or not all(map(_is_standard, set(found)))


def games_by_variant(tags: Mapping[bytes, int]) -> dict[str, int]:
    """Convert numbers of games by raw tag to numbers by variant, largest first; unknown variants keep their tag."""
    found = Counter[str]()
    for raw, games in tags.items():
        found[next((name for name in VARIANTS if variant_matches(raw, name)), tag_text(raw))] += games
    return dict(found.most_common())
