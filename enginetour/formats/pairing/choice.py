"""What somebody may choose as the order of a table: what cannot be is refused, what works against itself is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from enginetour.formats.pairing.codes import CODES, EVENED
from enginetour.model.errors import did_you_mean

MOST = 6  # Gotha's number of placement criteria
FIRST = ("PTS", "NBW", "MMS", "STS", "CPS", "CAT", "RANK", "RATING")  # what a table can be about; the rest break ties


def checked(codes: Sequence[str]) -> tuple[str, ...]:
    """The same, at most `MOST`, each known and there once; ValueError says what to write instead."""
    for number, code in enumerate(codes):
        if code not in CODES:
            meant = did_you_mean(code, CODES) or f"; known: {', '.join(CODES)}"
            raise ValueError(f"unknown code {code!r}{meant}")
        if code in codes[:number]:
            raise ValueError(f"{code} stands there twice")
    if len(codes) > MOST:
        raise ValueError(f"{len(codes)} codes are too many: at most {MOST}")
    return tuple(codes)


def _listed(value: object) -> object:
    if isinstance(value, str):
        raise ValueError(f"a list of codes is wanted, as [{value!r}]")
    return tuple(value) if isinstance(value, list) else value


Codes = Annotated[tuple[str, ...], BeforeValidator(_listed), AfterValidator(checked)]
"""The setting `placement` of a format; empty for the format's own order."""


def warnings(codes: Sequence[str], *, evens_sos: bool = False) -> tuple[str, ...]:
    """A sentence for each pair of aims that cancel; `evens_sos`: the pairing gives everybody a like SOS."""
    by_basis = {basis: [code for code in codes if CODES[code].basis == basis] for basis in ("wins", "mms")}
    found = []
    if codes and codes[0] not in FIRST:
        found.append(f"placement begins with {codes[0]}, a tie-break: points come first if PTS or NBW does")
    if by_basis["wins"] and by_basis["mms"]:
        wins, mms = ", ".join(by_basis["wins"]), ", ".join(by_basis["mms"])
        found.append(f"placement mixes codes over wins ({wins}) with codes over McMahon scores ({mms})")
    if {"DC", "SDC"} <= set(codes):
        found.append("placement has both DC and SDC, two answers to the same question")
    if evens_sos and (sums := [code for code in codes if code.startswith(EVENED)]):
        found.append(f"the pairing evens SOS and placement then splits by {', '.join(sums)}: the two aims cancel")
    return tuple(found)
