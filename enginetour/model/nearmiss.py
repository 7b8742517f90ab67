"""Which known word somebody may have meant who wrote another, as the end of a refusal; upper and lower case are one."""

from __future__ import annotations

from collections.abc import Iterable

MOST_NAMED = 3  # of several names that begin so
BEGINNING = 3  # letters of a word that may be the beginning of another


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like it, or the only one that begins so, as it is written; None if none is."""
    from difflib import get_close_matches  # here: slots start quicker without it

    names = {name.casefold(): name for name in sorted(known, reverse=True)}  # of two, the first in order
    close = get_close_matches(word.casefold(), names, n=1)
    if not close and len(word) >= BEGINNING:  # "Toga" for "Toga II 3.0"
        longer = [name for name in names if name.startswith(word.casefold())]
        close = longer if len(longer) == 1 else []
    return names[close[0]] if close else None


def called(word: str, names: Iterable[str]) -> str | None:
    """The name that a user means by a word: that very name, or the only one that begins so; case may differ.

    None where it is none of them, or the beginning of several.
    """
    known, folded = list(dict.fromkeys(names)), word.casefold()
    if word in known:
        return word
    alike = [name for name in known if name.casefold() == folded]
    begun = alike or [name for name in known if folded and name.casefold().startswith(folded)]
    return begun[0] if len(begun) == 1 else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``, did you mean 'x'?`` when something known is close, else nothing."""
    close = nearest(word, known)
    return "" if close is None else f", did you mean {close!r}?"


def near(word: str, known: Iterable[str]) -> str:
    """As `did_you_mean`, with ``; known: ...`` when nothing is close."""
    names = sorted(set(known))
    return did_you_mean(word, names) or (f"; known: {', '.join(names)}" if names else "")


def not_called(word: str, names: Iterable[str]) -> str:
    """The end of a refusal of a word that `called` finds no name for: those that begin so, a close one, or nothing."""
    begun = sorted({name for name in names if word and name.casefold().startswith(word.casefold())})
    if len(begun) > 1:
        more = f" and {len(begun) - MOST_NAMED} more" if len(begun) > MOST_NAMED else ""
        return f"; it is the beginning of {', '.join(map(repr, begun[:MOST_NAMED]))}{more}"
    return did_you_mean(word, names)
