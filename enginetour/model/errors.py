"""Errors with their exit codes, and "did you mean" suggestions for unknown names.

Exit codes, as in the README:
0 all played · 1 internal error · 2 usage error · 3 invalid configuration or input · 4 engine cannot play ·
5 database busy or unusable · 6 incidents with ``--fail-on`` · 7 storage full · 8 stopped by request ·
9 games excluded from a list with ``rate --strict`` · 10 pairings differ with ``pair --check-all`` ·
129 / 130 / 143 stopped by SIGHUP / SIGINT / SIGTERM.

::

    TourError                an error for the user: one line with a hint
    ├── UsageRefused    2
    ├── InputRefused    3    configuration, openings, cases, files of other programs
    ├── EngineRefused   4    an engine cannot play, found before game 1
    ├── StoreRefused    5    the database is busy, of another program, too new, or its log does not fit
    │   ├── AlreadyRunning       another run plays the tournament
    │   └── SchemaOutdated       the database has an older schema
    └── StorageFailed   7    the disk is full or cannot be written
    EngineFault              an engine failed: the slot converts this to a result
    ├── StartFailed          the engine cannot start: the game is void, and the engine is suspended
    ├── Unsupported          the engine does not support this position or limit: the game is void
    │   └── InexpressiblePosition  `edit` cannot express the starting position: another opening is used if possible
    ├── EngineCrashed        the engine's output or process ended during a game
    └── EngineStalled        the engine did not respond when a response was required
    TaskFailed               a slot returns no result
    ├── MachineFailure       the host failed: the game is replayed
    └── InternalFailure      internal error in one game: three attempts, then the game stays open
"""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

GAMES_LEFT_OUT = 9  # exit code of ``rate --strict``; the list is printed nevertheless
PAIRINGS_DIFFER = 10  # exit code of ``pair --check-all``


_LONGEST_PLACE = 200  # characters of a place that a message shows


class TourError(Exception):
    """An error for the user: where it is, what is wrong, and a hint about what to do."""

    exit_code = 1

    def __init__(self, what: str, *, place: str = "", step: str = "") -> None:
        self.what = what
        self.place = place
        self.step = step
        super().__init__(what)

    def __str__(self) -> str:
        """Format as ``place: what is wrong. Hint: what to do.``, always on a single line."""
        place = self.place if len(self.place) <= _LONGEST_PLACE else f"...{self.place[3 - _LONGEST_PLACE :]}"
        line = f"{place}: {self.what}" if place else self.what
        if ". Hint: " in line:  # from the check of a setting
            line = _sentence(line)
        elif self.step:
            line = f"{_sentence(line)} Hint: {_sentence(self.step)}"
        return " ".join(line.split())


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


class UsageRefused(TourError):
    """The command line is not valid."""

    exit_code = 2


@contextmanager
def usage_errors(place: str) -> Iterator[None]:
    """Turn a ValueError about the value of the option `place` into UsageRefused."""
    try:
        yield
    except ValueError as error:
        raise UsageRefused(str(error), place=place) from None


class InputRefused(TourError):
    """A configuration, case, opening or game file is not valid."""

    exit_code = 3


class LeagueFound(InputRefused):
    """A file describes a league where a tournament was expected."""


class EngineRefused(TourError):
    """An engine cannot play in this tournament; this was found before game 1."""

    exit_code = 4


class StoreRefused(TourError):
    """The database is busy, belongs to another program, has a newer schema, or does not fit the configuration."""

    exit_code = 5


class AlreadyRunning(StoreRefused):
    """Another run plays the tournament."""

    def __init__(self, name: str, holder: str) -> None:
        """`holder` describes the run; "" if it is not known."""
        step = f"wait until it has ended, or end it with {shlex.join(['enginetour', 'finish', '-t', name])}"
        super().__init__(f"{name} is already running{f': {holder}' if holder else ''}", step=step)


class SchemaOutdated(StoreRefused):
    """The database at `address` has an older schema; `enginetour db upgrade` upgrades it."""

    def __init__(self, what: str, *, address: object, step: str = "") -> None:
        super().__init__(what, place=str(address), step=step)
        self.address = address


class StorageFailed(TourError):
    """The disk is full or cannot be written."""

    exit_code = 7


_FREE = "the disk is full", "free disk space, then run the command again"
_DISK = {
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.EROFS: ("the disk is read-only", "choose a directory on another disk, or make this disk writable"),
}


def os_reason(error: OSError) -> str:
    """Return the reason of a failure of the operating system in plain words."""
    known = _DISK.get(error.errno or 0)
    return known[0] if known else error.strerror or str(error)


def storage_failure(error: OSError, path: object = "", doing: str = "", step: str = "") -> StorageFailed:
    """Return the error for the user about a file that cannot be written.

    If the disk is full or read-only, the error says only that and what to do. For other reasons, `doing` says what
    failed, such as ``cannot be locked``, and `step` what to do. The file is `path`, by default that of `error`.
    """
    place, why = str(path or error.filename or ""), os_reason(error)
    if known := _DISK.get(error.errno or 0):
        return StorageFailed(why, place=place, step=known[1])
    return StorageFailed(f"{doing}: {why}" if doing else why, place=place, step=step)


class EngineFault(Exception):
    """An engine failed; the referee converts this to a result. `detail` is one line for the incident."""

    def __init__(self, detail: str, *, category: str = "") -> None:
        self.detail = detail
        self.category = category or self.default_category
        super().__init__(detail)

    default_category = "engine-fault"


class StartFailed(EngineFault):
    """The engine did not start, or did not finish its handshake; `category` distinguishes the two."""

    default_category = "start-failure"


class Unsupported(EngineFault):
    """The engine does not support this position, variant or limit; it never loses a game because of this."""

    default_category = "unsupported"


class InexpressiblePosition(Unsupported):
    """A CECP engine does not support setboard, and `edit` cannot express the position."""


class EngineCrashed(EngineFault):
    """The engine's output or process ended during a game."""

    default_category = "crash"


class EngineStalled(EngineFault):
    """The engine runs, but does not answer a ping."""

    default_category = "stall"


class TaskFailed(Exception):
    """A slot returns no result, so there is no game. `step` is a hint for the user if the task is not tried again."""

    step = ""


class MachineFailure(TaskFailed):
    """The host failed, not an engine: the game is replayed."""

    step = "check the machine, then try again"


class InternalFailure(TaskFailed):
    """An internal error in a game: neither an engine nor the host is at fault."""

    step = "please report this"


# Suggestions for an unknown name, ignoring case.

_MOST_NAMED = 3  # number of names with the same beginning that an error lists
_MOST_KNOWN = 10  # largest number of known names that an error lists
_BEGINNING = 3  # number of letters from which a word counts as the beginning of a name


def closest_match(word: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `word`, or the only one that begins with it, or None if there is none."""
    from difflib import get_close_matches  # imported here, because slots start faster without it

    # If names differ only in case, the first is kept.
    names = {name.casefold(): name for name in sorted(known, reverse=True)}
    close = get_close_matches(word.casefold(), names, n=1)
    if not close and len(word) >= _BEGINNING:  # "Toga" for "Toga II 3.0"
        longer = [name for name in names if name.startswith(word.casefold())]
        close = longer if len(longer) == 1 else []
    return names[close[0]] if close else None


def match_name(word: str, names: Iterable[str]) -> str | None:
    """Return the name that equals `word` or is the only one that begins with it; case may differ.

    Return None if no name matches, or if several names begin with it.
    """
    known, folded = list(dict.fromkeys(names)), word.casefold()
    if word in known:
        return word
    alike = [name for name in known if name.casefold() == folded]
    begun = alike or [name for name in known if folded and name.casefold().startswith(folded)]
    return begun[0] if len(begun) == 1 else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``, did you mean 'x'?`` if a known name is close, otherwise an empty text."""
    close = closest_match(word, known)
    return "" if close is None else f", did you mean {close!r}?"


def suggest(word: str, known: Iterable[str]) -> str:
    """Return the text of `did_you_mean`, or ``; known: ...`` with all names if none is close.

    The names are listed only if there are ten or fewer.
    """
    names = sorted(set(known))
    return did_you_mean(word, names) or (f"; known: {', '.join(names)}" if 0 < len(names) <= _MOST_KNOWN else "")


def no_match_hint(word: str, names: Iterable[str]) -> str:
    """Return a hint for a word that `match_name` did not match.

    The hint lists the names that begin with the word, or a close name; it is empty if there are none.
    """
    begun = sorted({name for name in names if word and name.casefold().startswith(word.casefold())})
    if len(begun) > 1:
        more = f" and {len(begun) - _MOST_NAMED} more" if len(begun) > _MOST_NAMED else ""
        return f"; several names begin with it: {', '.join(map(repr, begun[:_MOST_NAMED]))}{more}"
    return did_you_mean(word, names)
