"""Grades of Go, and the rating scales that contain them.

grade     band                     Go scale (GoR, EGF, OpenGotha)     AGA scale (TDE files)
1 dan     0, plus 1 for each dan   2050 up to 2150, middle 2100       0 up to 100, middle 50
1 kyu     -1, minus 1 for each kyu 1950 up to 2050, middle 2000       -100 up to 0, middle -50
1 pro     the band of 7 dan: 6     2700, then 30 or 40 per grade      the same as 7 dan

A band has 100 points on both scales, so the scales differ only by a constant. The AGA writes its scale with a gap:
its files have 1.0 to 2.0 for 1 dan and -1.0 to -2.0 for 1 kyu.
Sources: Cieply 1998; Vuorinen 2010; gopair manual (Augustin 2005).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["kyu", "dan", "pro"]
Scale = Literal["elo", "go"]
"""Scale of start ratings: Elo, or the Go scale of this module's table."""
WIDTH = 100.0  # rating points per grade
GO = 2050.0  # Cieply 1998: lowest rating of 1 dan, whose middle is 2100
AGA = 0.0  # lowest rating of 1 dan on the scale of TDE files, without its gap
HIGHEST: dict[Kind, int] = {"kyu": 50, "dan": 9, "pro": 9}  # the AGA lists kyu grades below 30
FIRST_PRO = 2700.0  # Cieply 1998: equal to 7 dan
PRO_STEP = 30.0  # Vuorinen 2010: points per professional grade
ALLOWED = "a grade such as 6k, 6 kyu, 1d, 1 dan or 1 pro: 50 to 1 kyu, 1 to 9 dan, 1 to 9 pro"
_GRADE = re.compile(r"([1-9][0-9]?)[ \t_-]*(k|kyu|d|dan|p|pro)\.?", re.IGNORECASE | re.ASCII)
_KINDS: dict[str, Kind] = {"k": "kyu", "d": "dan", "p": "pro"}


@dataclass(frozen=True, slots=True)
class Grade:
    """One grade, for example 6 kyu: `number` 6, `kind` "kyu"."""

    number: int
    kind: Kind

    def __str__(self) -> str:
        return f"{self.number} {self.kind}"

    @property
    def band(self) -> int:
        """Return the grade as a whole number: 1 dan is 0, 1 kyu is -1; all professionals are in the band of 7 dan."""
        if self.kind == "pro":
            return int((FIRST_PRO - GO) // WIDTH)
        return self.number - 1 if self.kind == "dan" else -self.number

    def rating(self, begins: float = GO) -> float:
        """Return the middle of the grade on the scale on which 1 dan begins at `begins`: 2100 for 1 dan by default."""
        if self.kind == "pro":
            return begins - GO + FIRST_PRO + PRO_STEP * (self.number - 1)
        return begins + WIDTH * (self.band + 0.5)


def parse(text: str) -> Grade | None:
    """Parse "1 dan", "1d", "6K", "6 kyu", "2 pro", ...; return None if the text is not a grade. Case is ignored."""
    found = _GRADE.fullmatch(text.strip())
    if found is None:
        return None
    grade = Grade(int(found[1]), _KINDS[found[2][0].lower()])
    return grade if grade.number <= HIGHEST[grade.kind] else None


def rating(text: str, begins: float = GO) -> float:
    """Read a number or a grade as a rating on the scale on which 1 dan begins at `begins`.

    Raises:
        ValueError: the text is neither a decimal number nor a grade; the message lists the allowed values.
    """
    grade = parse(text)
    if grade is not None:
        return grade.rating(begins)
    if not re.fullmatch(r"[-+]?[0-9]{1,9}(\.[0-9]{1,9})?", text.strip(), re.ASCII):
        raise ValueError(f"{text!r} is not a valid rating: use a number, or {ALLOWED}")
    return float(text)
