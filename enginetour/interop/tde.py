"""TDE files of the American Go Association, as gopair reads them: register.tde and a file N.tde for each round.

register.tde  ``ID  Last, First  rating|grade  CLUB=x  BYE  DROP  # DROP3, DROP5``
directives    ``## HANDICAPS MIN|MAX``, ``## RULES ING``, ``## PAIR ROUND_ROBIN|BEST``, ``## NOEARLY``, ``## NORATS``,
              ``## ROUNDS N``
N.tde         ``WHITE_ID BLACK_ID RESULT HANDICAP KOMI``; results w, b, and d (an extension); others are unfinished

Case is ignored. BYE marks a candidate for the bye, and DROP an entrant that has left. Both are before the ``#``; DROP
can also be the whole comment. DROPn in the comment marks an entrant that misses round n. Other comments are ignored.
An id without letters gets the country USA, and zeros before its number are ignored: USA02122 is 2122.

1.0 is the weakest 1 dan and -1.0 the strongest 1 kyu. Ratings of enginetour do not have this gap of two: 1 dan begins
at 0, and a grade has 100 points. Source: gopair manual (Augustin 2005).
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from enginetour.formats.pairing.field import BLACK, WHITE, Kind, Member, Paired, Turn
from enginetour.interop.files import read_input
from enginetour.interop.foreign import ForeignTournament, SeparatedField, existing_round, plain_label
from enginetour.interop.trf import refuse_line
from enginetour.ratings import grades

_LARGEST_FILE = 1_000_000  # bytes; enough for 10,000 entrants
KOMI, _ING_KOMI = "6.5", "7.5"  # gopair manual: komi without handicap
ODDS_KOMI = "0.5"  # AGA: no draws in games with handicap either
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
_RESULTS = {"w": (2, 0), "b": (0, 2), "d": (1, 1)}  # half points of White and Black
_COUNTRY = "usa"  # Games::Go::AGATourn: country of ids without letters
_DECIMAL = re.compile(r"[-+]?[0-9]{1,3}\.[0-9]{1,9}", re.ASCII)
_WHOLE = re.compile(r"[-+]?[0-9]{1,3}", re.ASCII)
_FLAG = re.compile(r"BYE|DROP", re.IGNORECASE)
_MISSED = re.compile(r"DROP([1-9][0-9]{0,2})", re.IGNORECASE)
_LIKE_A_FLAG = re.compile(r"\W*(drop|bye)", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,2}")
UNPLAYED = "?"


@dataclass(frozen=True, slots=True)
class _ListedPlayer:
    """A line of the register; `drops` are missed rounds (0: all)."""

    id: str
    name: str
    rating: float
    club: str = ""
    bye: bool = False
    drops: frozenset[int] = frozenset()

    @property
    def key(self) -> str:
        return _key(self.id)

    def is_away(self, number: int) -> bool:
        return not self.drops.isdisjoint({0, number})


@dataclass(frozen=True, slots=True)
class Register:
    """Content of a register.tde.

    `settings` are by key of gopair, `ing` is true if Ing rules determine the komi, and `title` is the value of
    ``## TOURNEY``. `rounds` is None if the file does not have it. `notes` list text that looks like an instruction but
    is unknown, with its line.
    """

    path: Path
    listed: tuple[_ListedPlayer, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    ing: bool = False
    rounds: int | None = None
    notes: tuple[str, ...] = ()
    title: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Return one name for each line; a name that is on several lines is followed by the id."""
        often = Counter(one.name for one in self.listed)
        return tuple(one.name if often[one.name] == 1 else f"{one.name} ({one.id})" for one in self.listed)


def read(path: Path) -> Register:
    """Read a register; raise InputRefused at the first invalid line."""
    listed: dict[str, _ListedPlayer] = {}
    settings: dict[str, object] = {}
    notes: list[str] = []
    ing, rounds, title = False, None, ""
    for number, line in _lines(path):
        if line.startswith("##"):
            key, *words = line[2:].upper().split() or [""]
            value = " ".join(words)
            ing = ing or (key, value) == ("RULES", "ING")
            if (key, value) in DIRECTIVES:
                setting, meant = DIRECTIVES[key, value]
                settings[setting] = meant
            elif key == "TOURNEY":
                title = " ".join(line[2:].split()[1:])
            elif key == "ROUNDS":
                rounds = _rounds(value, number, path)
            elif key in {known for known, _ in DIRECTIVES}:
                known = ", ".join(f"## {' '.join(both)}".strip() for both in (*DIRECTIVES, ("RULES", "ING")))
                refuse_line(str(path), number, f"one of {known}", line)
            elif key != "RULES":
                notes.append(f"{path}:{number}: the unknown directive {line!r} is ignored")
        elif line.startswith("#"):
            first = line[1:].upper().split()[:1]
            if first and first[0] in {known for known, _ in DIRECTIVES} | {"RULES", "ROUNDS"}:
                notes.append(f"{path}:{number}: {line!r} is a comment and is ignored; a directive begins with ##")
        elif line:
            one = _listed(line, number, path, notes)
            if one.key in listed:
                refuse_line(str(path), number, "a different id for each entrant", f"{one.id} twice")
            listed[one.key] = one
    if not listed:
        refuse_line(str(path), 0, "lines with entrants", "none")
    return Register(path, tuple(listed.values()), settings, ing, rounds, tuple(notes), title)


def _rounds(value: str, number: int, path: Path) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,2}", value, re.ASCII):
        refuse_line(str(path), number, "## ROUNDS with a number from 1 to 999", value or "none")
    return int(value)


def _key(text: str) -> str:
    label = plain_label(text)
    return _COUNTRY + label if label.isdecimal() else label


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    content = read_input(path, _LARGEST_FILE)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    for number, line in enumerate(re.split("\r\n|\r|\n", text), 1):
        yield number, line.strip()


def _listed(line: str, number: int, path: Path, notes: list[str]) -> _ListedPlayer:
    entry, _, comment = line.partition("#")
    words = entry.split()
    clubs = [word[5:] for word in words[1:] if word.upper().startswith("CLUB=")]
    words = [word for word in words if not word.upper().startswith("CLUB=")]
    found = _find_rating(words)
    if found is None:
        refuse_line(str(path), number, "ID, name, rating such as 2.5 or 10k, then CLUB=x, BYE, DROP", repr(line))
    begin, end = found
    points = _points(" ".join(words[begin:end]))
    if points is None:
        refuse_line(str(path), number, "a rating of at least 1.0 or at most -1.0", " ".join(words[begin:end]))
    flags, missed = _flags(" ".join(words[end:]), f"{path}:{number}", notes)
    more, missed_more = _remark(comment, f"{path}:{number}", notes)
    drops = missed | missed_more | ({0} if "DROP" in flags | more else set())
    name = " ".join(words[1:begin])
    return _ListedPlayer(words[0], name, points, "".join(clubs[:1]), "BYE" in flags, frozenset(drops))


def _find_rating(words: list[str]) -> tuple[int, int] | None:
    """Return the range of words with the rating: the last grade or decimal, otherwise the last whole number.

    An id and a name come first. A grade may be two words, such as 1 dan.
    """
    for begin in range(len(words) - 1, 1, -1):
        for end in (begin + 2, begin + 1):
            text = " ".join(words[begin:end])
            if end <= len(words) and (grades.parse(text) is not None or _DECIMAL.fullmatch(text)):
                return begin, end
    whole = [at for at in range(2, len(words)) if _WHOLE.fullmatch(words[at])]
    after_a_name = [at for at in whole if not _FLAG.fullmatch(words[at - 1])]  # BYE 7 is not a rating
    return next(((at, at + 1) for at in reversed(after_a_name or whole)), None)


def _flags(text: str, place: str, notes: list[str]) -> tuple[set[str], set[int]]:
    """Return BYE and DROP between rating and comment, as whole words, and the rounds of each DROPn."""
    words = _words(text)
    missed = {int(found[1]) for word in words if (found := _MISSED.fullmatch(word))}
    if missed:
        notes.append(f"{place}: DROPn before the # is used, but gopair reads it only after the #")
    unknown = [word for word in words if not _FLAG.fullmatch(word) and not _MISSED.fullmatch(word)]
    if unknown:
        notes.append(
            f"{place}: {' '.join(unknown)!r} after the rating is unknown and ignored; "
            "use CLUB=x, BYE or DROP, and DROP3 after the # for round 3"
        )
    return {word.upper() for word in words if _FLAG.fullmatch(word)}, missed


def _remark(text: str, place: str, notes: list[str]) -> tuple[set[str], set[int]]:
    """Return the instructions in a comment: the rounds of each DROPn, and DROP if it is the whole comment."""
    words = _words(text)
    missed = {int(number) for number in re.findall(rf"\b{_MISSED.pattern}\b", text, re.IGNORECASE)}
    drop = {word.upper() for word in words} - {f"DROP{number}" for number in missed} == {"DROP"}
    like = [word for word in words if _LIKE_A_FLAG.match(word) and not _MISSED.fullmatch(word)]
    if like and not drop:
        notes.append(
            f"{place}: {' '.join(like)!r} in the comment is not an instruction of gopair; "
            "use DROP3 for round 3, and BYE or DROP before the #"
        )
    return {"DROP"} if drop else set(), missed


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,;.:!()]+", text) if word]


def _points(word: str) -> float | None:
    """Return the points of a rating or of the middle of a grade, or None for a number in the gap of the scale."""
    grade = grades.parse(word)
    if grade is not None:
        return grade.rating(grades.AGA)
    decimal = float(word)
    if -1 < decimal < 1:
        return None
    return round(grades.WIDTH * (decimal - 1 if decimal > 0 else decimal + 1), 2)


def written_rating(points: float) -> str:
    """Return the decimal of the AGA scale for these points, rounded to whole points."""
    scaled = round(points) / grades.WIDTH
    return f"{scaled + 1 if scaled >= 0 else scaled - 1:.2f}"


def rounds_paired(register: Register) -> int:
    """Return the number of consecutive rounds, from round 1, that have a file."""
    return next(n for n in itertools.count(0) if not (register.path.parent / f"{n + 1}.tde").exists())


def read_tournament(
    register: Register,
    *,
    number: int | None = None,
    rounds: int | None = None,
    unfinished_ok: bool = False,
    ended: bool = False,
) -> ForeignTournament:
    """Return the tournament before round `number`, or after the last round if `ended`.

    The default is the first round without a file. `rounds` is the total number of rounds, by default the number in the
    register; if the register does not have it, the round to be paired is the last. Raise InputRefused for a round that
    is missing or not finished.
    """
    folder = register.path.parent
    following = number or rounds_paired(register) + 1
    in_all = rounds or register.rounds or following - ended
    if following > in_all and not ended:
        found = "all rounds paired" if number is None else f"round {number}"
        expected = f"a round that is not paired yet, or --rounds above {in_all}"
        refuse_line(str(register.path), 0, expected, found)
    history = tuple(_round(register, folder / f"{n}.tde", unfinished_ok=unfinished_ok) for n in range(1, following))
    existing = None
    asked = {place: Kind.ABSENT for place, one in enumerate(register.listed) if one.is_away(following)}
    if following <= rounds_paired(register):
        row = _round(register, folder / f"{following}.tde", unfinished_ok=True)
        existing, _ = existing_round(row)
        idle = (at for at, turn in enumerate(row) if not turn.paired and turn.kind is not Kind.BYE)
        asked = dict.fromkeys(idle, Kind.ABSENT)
    members = tuple(
        Member(name, one.rating, one.club) for name, one in zip(register.names, register.listed, strict=True)
    )
    field_ = SeparatedField(
        members,
        history,
        tuple(place for place in range(len(members)) if place not in asked),
        in_all,
    )
    settings = dict(register.settings)
    named = tuple(zip(register.names, register.listed, strict=True))
    if marked := tuple(name for name, one in named if one.bye):
        settings["bye"] = marked
    later = {name: tuple(sorted(n for n in one.drops if n > following)) for name, one in named}
    if leaving := {name: drops for name, drops in later.items() if drops}:
        settings["drop"] = leaving
    notes = register.notes
    if not (rounds or register.rounds or ended):
        notes += (f"the number of rounds is unknown, so round {in_all} is taken as the last; use --rounds N",)
    labels = tuple(one.id for one in register.listed)
    return ForeignTournament(field_, labels, settings, asked, notes, grades.AGA, existing)


def _round(register: Register, path: Path, *, unfinished_ok: bool) -> tuple[Turn, ...]:
    """Return the turns of a round; if a single entrant neither has a line nor dropped out, it had the bye."""
    if not path.exists():
        refuse_line(str(path), 0, "the file of an earlier round", "none")
    places = {one.key: place for place, one in enumerate(register.listed)}
    count = int(path.stem)
    row = [Turn()] * len(register.listed)
    seen: set[int] = set()
    for number, line in _lines(path):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) not in (3, 4, 5):
            refuse_line(str(path), number, "WHITE_ID BLACK_ID RESULT HANDICAP KOMI", repr(line))
        for word in words[:2]:
            if _key(word) not in places:
                refuse_line(str(path), number, "an id of the register", word)
        white, black = (places[_key(word)] for word in words[:2])
        if white == black or {white, black} & seen:
            expected = "two entrants without another game in this round"
            refuse_line(str(path), number, expected, f"{words[0]} and {words[1]}")
        seen |= {white, black}
        stones = words[3] if len(words) > 3 else "0"
        if not _NUMBER.fullmatch(stones):
            refuse_line(str(path), number, "a handicap from 0 to 99", stones)
        result = words[2].lower()
        if result not in _RESULTS and not unfinished_ok:
            refuse_line(str(path), number, "w, b or d (or --unfinished-ok)", words[2])
        mine, theirs = _RESULTS.get(result, (0, 0))
        row[white] = Turn(Kind.PLAYED, black, WHITE, mine, int(stones), 1)
        row[black] = Turn(Kind.PLAYED, white, BLACK, theirs, -int(stones), 1)
    resting = [place for place, one in enumerate(register.listed) if place not in seen and not one.is_away(count)]
    if len(resting) == 1:
        row[resting[0]] = Turn(Kind.BYE, points=2)
    return tuple(row)


def round_files(register: Register, before: ForeignTournament, paired: Paired) -> dict[str, str]:
    """Return the contents of ``N.tde`` and of ``pairs_N.txt``, a list of pairs as text."""
    number = before.field.number
    ids, names = before.labels, [member.name for member in before.field.members]
    komi = _ING_KOMI if register.ing else KOMI
    lines = [f"# round {number}"]
    text = [f"Round {number}", ""]
    for count, board in enumerate(paired.boards, 1):
        lines.append(
            f"{ids[board.white]} {ids[board.black]} {UNPLAYED} {board.handicap} {ODDS_KOMI if board.handicap else komi}"
        )
        odds = f", handicap {board.handicap}" if board.handicap else ""
        text.append(f"{count:3}  White {names[board.white]} - Black {names[board.black]}{odds}")
    text += [f"     bye {names[place]}" for place in paired.byes]
    return {f"{number}.tde": _text(lines), f"pairs_{number}.txt": _text(text)}


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
