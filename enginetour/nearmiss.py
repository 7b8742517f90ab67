"""Which known word somebody may have meant who wrote another, as the end of a refusal; upper and lower case are one."""

from __future__ import annotations

from collections.abc import Iterable

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


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``, did you mean 'x'?`` when something known is close, else nothing."""
    close = nearest(word, known)
    return "" if close is None else f", did you mean {close!r}?"


def near(word: str, known: Iterable[str]) -> str:
    """As `did_you_mean`, with ``; known: ...`` when nothing is close."""
    names = sorted(set(known))
    return did_you_mean(word, names) or (f"; known: {', '.join(names)}" if names else "")
