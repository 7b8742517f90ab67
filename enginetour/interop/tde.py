"""TDE files of the American Go Association, as gopair reads them: register.tde and a file N.tde for each round.

register.tde  ``ID  Last, First  rating|grade  CLUB=x  BYE  # DROP DROP3``
directives    ``## HANDICAPS MIN|MAX``, ``## RULES ING``, ``## PAIR ROUND_ROBIN|BEST``, ``## NOEARLY``, ``## NORATS``
N.tde         ``WHITE_ID BLACK_ID RESULT HANDICAP KOMI``; results w, b, and d, our extension; others are unfinished

Capitals mean nothing. 1.0 is the weakest 1 dan and -1.0 the strongest 1 kyu, so the scale has a gap of two, which our
ratings close: 0 begins 1 dan, a grade is 100 points. Source: gopair manual (Augustin 2005).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from enginetour import grades
from enginetour.errors import InputRefused
from enginetour.field import BLACK, WHITE, Kind, Member, Paired, Turn
from enginetour.interop.foreign import Foreign, Separated
from enginetour.interop.trf import refuse
from enginetour.wholefile import read_whole

LARGEST_FILE = 1_000_000  # bytes: ten thousand entrants
KOMI, ING_KOMI = "6.5", "7.5"  # gopair manual: without handicaps
ODDS_KOMI = "0.5"  # AGA: games with a handicap have no draws either
DIRECTIVES: Mapping[tuple[str, str], tuple[str, object]] = MappingProxyType(
    {
        ("HANDICAPS", "MIN"): ("handicaps", "min"),
        ("HANDICAPS", "MAX"): ("handicaps", "max"),
        ("PAIR", "ROUND_ROBIN"): ("method", "round_robin"),
        ("PAIR", "BEST"): ("method", "best"),
        ("NOEARLY", ""): ("early", "off"),
        ("NORATS", ""): ("rerate", False),
    }
)
RESULTS = {"w": (2, 0), "b": (0, 2), "d": (1, 1)}  # half points of White and Black
_DECIMAL = re.compile(r"[-+]?[0-9]{1,3}(\.[0-9]{1,9})?", re.ASCII)
_DROP = re.compile(r"DROP([0-9]{0,3})", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,2}")
UNPLAYED = "?"


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of the register. `drops` are rounds missed, 0 stands for all."""

    id: str
    name: str
    rating: float
    club: str = ""
    bye: bool = False
    drops: frozenset[int] = frozenset()

    def is_away(self, number: int) -> bool:
        """From that round."""
        return not self.drops.isdisjoint({0, number})


@dataclass(frozen=True, slots=True)
class Register:
    """A register.tde; `settings` by gopair's keys, `ing` for the komi of the rules of Ing."""

    path: Path
    listed: tuple[Listed, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    ing: bool = False


def read(path: Path) -> Register:
    """A register; InputRefused at the first broken line."""
    listed: list[Listed] = []
    settings: dict[str, object] = {}
    ing = False
    for number, line in _lines(path):
        if line.startswith("##"):
            key, *words = line[2:].upper().split() or [""]
            value = " ".join(words)
            ing = ing or (key, value) == ("RULES", "ING")
            if key == "RULES":
                continue
            if (key, value) not in DIRECTIVES:
                known = ", ".join(f"## {' '.join(both)}".strip() for both in (*DIRECTIVES, ("RULES", "ING")))
                refuse(str(path), number, f"one of {known}", line)
            setting, meant = DIRECTIVES[key, value]
            settings[setting] = meant
        elif line and not line.startswith("#"):
            one = _listed(line, number, path)
            if one.id.lower() in {other.id.lower() for other in listed}:
                refuse(str(path), number, "an id of its own", f"{one.id} once more")
            listed.append(one)
    if not listed:
        refuse(str(path), 0, "lines with entrants", "none")
    return Register(path, tuple(listed), settings, ing)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        content = read_whole(path, LARGEST_FILE)
    except OSError as error:
        raise InputRefused(f"cannot read: {error.strerror}", place=str(path)) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    for number, line in enumerate(re.split("\r\n|\r|\n", text), 1):
        yield number, line.strip()


def _listed(line: str, number: int, path: Path) -> Listed:
    said, _, remark = line.partition("#")
    words = said.split()
    club, bye = "", False
    while words and (words[-1].upper() == "BYE" or words[-1].upper().startswith("CLUB=")):
        last = words.pop()
        bye = bye or last.upper() == "BYE"
        club = last[5:] if last.upper() != "BYE" else club
    if len(words) < 3 or not _is_rating(words[-1]):
        refuse(str(path), number, "ID, name, rating such as 2.5 or 10k, then CLUB=x, BYE", repr(line))
    points = _points(words[-1])
    if points is None:
        refuse(str(path), number, "a rating from 1.0 up or from -1.0 down", words[-1])
    drops = frozenset(int(drop[1] or 0) for word in remark.split() if (drop := _DROP.fullmatch(word)))
    return Listed(words[0], " ".join(words[1:-1]), points, club, bye, drops)


def _is_rating(word: str) -> bool:
    return grades.parse(word) is not None or _DECIMAL.fullmatch(word) is not None


def _points(word: str) -> float | None:
    """A grade counts as its middle; None for what lies in the gap of the scale."""
    grade = grades.parse(word)
    if grade is not None:
        return grade.rating(grades.AGA)
    decimal = float(word)
    if -1 < decimal < 1:
        return None
    return round(grades.WIDTH * (decimal - 1 if decimal > 0 else decimal + 1), 2)


def written_rating(points: float) -> str:
    """The decimal that reads as these points, to the nearest of them."""
    scaled = round(points) / grades.WIDTH
    return f"{scaled + 1 if scaled >= 0 else scaled - 1:.2f}"


def foreign(
    register: Register, *, number: int | None = None, rounds: int | None = None, unfinished_ok: bool = False
) -> Foreign:
    """Before round `number`, by default the first without a file. InputRefused: a round missing or not finished.

    `rounds` in all must be told; by default the round to be paired is the last.
    """
    folder = register.path.parent
    following = number or next(n for n in itertools.count(1) if not (folder / f"{n}.tde").exists())
    in_all = rounds or following
    if following > in_all:
        refuse(str(register.path), 0, f"a round from 1 to {in_all}", following)
    history = tuple(_round(register, folder / f"{n}.tde", unfinished_ok=unfinished_ok) for n in range(1, following))
    asked = {place: Kind.ABSENT for place, one in enumerate(register.listed) if one.is_away(following)}
    members = tuple(Member(one.name, one.rating, one.club) for one in register.listed)
    field_ = Separated(
        members,
        history,
        tuple(place for place in range(len(members)) if place not in asked),
        in_all,
    )
    settings = dict(register.settings)
    if marked := tuple(one.name for one in register.listed if one.bye):
        settings["bye"] = marked
    warnings = () if rounds else (f"round {in_all} is taken for the last: --rounds N",)
    return Foreign(field_, tuple(one.id for one in register.listed), settings, asked, warnings)


def _round(register: Register, path: Path, *, unfinished_ok: bool) -> tuple[Turn, ...]:
    """What everybody did; if one alone is in no line without having dropped out, it had the bye."""
    if not path.exists():
        refuse(str(path), 0, "the file of an earlier round", "none")
    places = {one.id.lower(): place for place, one in enumerate(register.listed)}
    count = int(path.stem)
    row = [Turn()] * len(register.listed)
    seen: set[int] = set()
    for number, line in _lines(path):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) not in (3, 4, 5):
            refuse(str(path), number, "WHITE_ID BLACK_ID RESULT HANDICAP KOMI", repr(line))
        for word in words[:2]:
            if word.lower() not in places:
                refuse(str(path), number, "an id of the register", word)
        white, black = (places[word.lower()] for word in words[:2])
        if white == black or {white, black} & seen:
            refuse(str(path), number, "two who have no other game in this round", f"{words[0]} and {words[1]}")
        seen |= {white, black}
        stones = words[3] if len(words) > 3 else "0"
        if not _NUMBER.fullmatch(stones):
            refuse(str(path), number, "a handicap from 0 to 99", stones)
        result = words[2].lower()
        if result not in RESULTS and not unfinished_ok:
            refuse(str(path), number, "w, b or d (or --unfinished-ok)", words[2])
        mine, theirs = RESULTS.get(result, (0, 0))
        row[white] = Turn(Kind.PLAYED, black, WHITE, mine, int(stones), 1)
        row[black] = Turn(Kind.PLAYED, white, BLACK, theirs, -int(stones), 1)
    resting = [place for place, one in enumerate(register.listed) if place not in seen and not one.is_away(count)]
    if len(resting) == 1:
        row[resting[0]] = Turn(Kind.BYE, points=2)
    return tuple(row)


def round_files(register: Register, before: Foreign, paired: Paired) -> dict[str, str]:
    """``N.tde`` and a list to read, ``pairs_N.txt``."""
    number = before.field.number
    ids, names = before.labels, [member.name for member in before.field.members]
    komi = ING_KOMI if register.ing else KOMI
    lines = [f"# round {number}"]
    told = [f"Round {number}", ""]
    for count, board in enumerate(paired.boards, 1):
        lines.append(
            f"{ids[board.white]} {ids[board.black]} {UNPLAYED} {board.handicap} {ODDS_KOMI if board.handicap else komi}"
        )
        odds = f", handicap {board.handicap}" if board.handicap else ""
        told.append(f"{count:3}  White {names[board.white]} - Black {names[board.black]}{odds}")
    told += [f"     bye {names[place]}" for place in paired.byes]
    return {f"{number}.tde": _text(lines), f"pairs_{number}.txt": _text(told)}


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
