"""What the codes of a table stand for, in words for its readers; how they are worked out is in codes.py."""

from __future__ import annotations

from collections.abc import Iterable

_SUMS = {
    "SOS": "sum of opponents' {}",
    "SODOS": "sum of defeated opponents' {}, half for a draw",
    "CUSS": "sum of own {} by rounds",
}
_OVER = {"": "scores", "W": "wins", "M": "McMahon scores"}
_CUT = {"": "", "-1": " without the lowest", "-2": " without the lowest two"}
NAMES = {
    **{
        f"{code}{over}{cut}": words.format(scores) + less
        for code, words in _SUMS.items()
        for over, scores in _OVER.items()
        for cut, less in (_CUT if code == "SOS" else {"": ""}).items()
    },
    **{f"SOSOS{over}": f"sum of opponents' SOS{over}" for over in _OVER},
    "PTS": "points",
    "NBW": "wins, a draw is half of one",
    "MMS": "McMahon score",
    "EXT": "exploits tried: wins of opponents from stronger bands",
    "EXR": "exploits: those of them that were won",
    "STS": "Strasbourg score",
    "SOSTS": "sum of opponents' Strasbourg scores",
    "CPS": "cup score",
    "DC": "direct confrontation",
    "SDC": "simple direct confrontation",
    "CAT": "category",
    "RANK": "band",
    "RATING": "rating",
    "LPR": "points without the game between the nearest ratings",
    "DE": "direct encounter",
    "BH": "Buchholz, sum of opponents' scores",
    "BH-C1": "Buchholz without the lowest",
    "BH-C2": "Buchholz without the lowest two",
    "BH-M1": "Buchholz without the lowest and the highest",
    "BH-M2": "Buchholz without the lowest two and the highest two",
    "KS": "Koya score, points against entrants with half of all points or more",
    "AOB": "average of opponents' Buchholz",
    "SB": "Sonneborn-Berger, scores of opponents beaten, half of those drawn with",
    "PS": "progressive score",
    "WIN": "wins",
    "WON": "wins over the board",
    "BPG": "games with Black",
    "ARO": "average rating of opponents",
    "TPR": "performance rating",
}


def legend(codes: Iterable[str]) -> tuple[str, ...]:
    """A line for the foot of a table that shows these codes; none where it shows none."""
    words = "; ".join(f"{code}: {NAMES[code]}" for code in codes)
    return (words,) if words else ()
