"""Result files of the European Go Federation (H9): a table with the games of each round.

    ; EV[name]     HA[h1]: handicaps, one less than the difference    PC, DT, KM, TM, CM: place, date, komi, time
    ; Pl Name               Rk Co Club  MMS  SOSSOSOS
       1 Bee Ann            3D FR Hive   31   59  120 0    2+/w0    3-/w0

A game has the line of the opponent, + - = or ? (no result yet), / or ! (forfeit), the color and the handicap. 0+, 0=
and 0- are rounds without a game, worth a win, half a win and nothing. Lines of tied entrants may lack the place, so
entrants are counted by line. At least four values precede the games. If the first value is a McMahon score, the
starting score is that score minus the points. Source: EGF, tournament results; OpenGotha 3.49.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from enginetour.formats.pairing import tiebreaks
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Field, Kind, Member, Turn
from enginetour.formats.pairing.mcmahon import mcmahon_points
from enginetour.interop.opengotha import MOST_ENTRANTS, NOT_PAIRED, SYSTEMS, GoTournament, rank_band
from enginetour.interop.trf import refuse_line
from enginetour.ratings import grades

LARGEST_FILE = 5_000_000  # bytes; a congress with 760 entrants has 0.1 million
_FEWEST_VALUES = 4  # EGF
_RESULTS = {"+": 2, "=": 1, "-": 0, "?": 0}
_MAIN = {"MMS": "SOSM", "NBW": "SOSW", "CAT": "SOSW"}  # main score -> the code of SOS
_GAME = re.compile(r"([0-9]{1,4})([-+=?])([/!]?)([wbWB?]?)([0-9]{0,2})", re.ASCII)
_VALUE = re.compile(r"-?[0-9]{1,7}([½¼¾œ]|[.,][0-9]{1,4})?|[½¼¾œ]", re.ASCII)
_LOST_HALF = re.compile(r"[0-9]{1,7}\?", re.ASCII)  # ISO 8859-15 does not have ½: OpenGotha writes 30? for 30½
_HEADER = re.compile(r";\s*([A-Z]{2})\[(.*)\]\s*")
_PARTS = {"½": Fraction(1, 2), "œ": Fraction(1, 2), "?": Fraction(1, 2), "¼": Fraction(1, 4), "¾": Fraction(3, 4)}
_LEAST_CORRECTION, _MOST_CORRECTION = -1, 2


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    member: Member
    values: tuple[Fraction, ...]
    games: tuple[re.Match[str], ...]


def read(content: bytes, place: str) -> GoTournament:
    """Read a result file; raise InputRefused at the first invalid line."""
    lines, headers, codes = _lines(content, place)
    if not 2 <= len(lines) <= MOST_ENTRANTS:
        refuse_line(place, 0, f"2 to {MOST_ENTRANTS} lines with entrants", len(lines))
    rounds = max(len(line.games) for line in lines)
    if not rounds:
        refuse_line(place, lines[0].number, "games such as 2+/w0", "none")
    names = Counter(line.member.name for line in lines)
    members = tuple(
        line.member if names[line.member.name] == 1 else replace(line.member, name=f"{line.member.name} ({at})")
        for at, line in enumerate(lines, 1)
    )
    history = tuple(tuple(_row(lines, count, place)) for count in range(rounds))
    paired = max((n for n, row in enumerate(history, 1) if any(turn.paired for turn in row)), default=0)
    open_ = {
        count: f"{members[at].name} in round {count}, line {line.number}"
        for at, line in reversed([*enumerate(lines)])
        for count, game in enumerate(line.games, 1)
        if game[2] == "?" and game[1] != "0"
    }
    main = codes[0] if codes else "MMS" if any(line.values and line.values[0] > rounds for line in lines) else "NBW"
    notes = [] if codes else [f"{place}: the line '; Pl Name ...' is missing, so the first value is used as {main}"]
    system = SYSTEMS.get(main, "swiss-gotha")
    settings: dict[str, object] = {"base": grades.GO, "chance": "names"} | ({"placement": codes} if codes else {})
    if system == "mcmahon":
        settings |= {"absence": "nothing"} | _starts(lines, members, history[:paired], place, notes)
    if system == "swiss-cat":
        settings["categories"] = _categories(lines, place, notes)
    handicap = re.fullmatch(r"h([0-9])", headers.get("HA", ""))
    if handicap and system != "swiss-gotha":
        settings["handicap"] = {"correction": int(handicap[1]), "ceiling": 9, "threshold": 0}
    return GoTournament(
        place,
        headers.get("EV", ""),
        rounds,
        members,
        history[:paired],
        system,
        settings,
        {count: _away(row) for count, row in enumerate(history[paired:], paired + 1)},
        unfinished=open_,
        notes=tuple(notes),
        values={code: tuple(line.values[at] for line in lines) for at, code in enumerate(codes)},
    )


def _away(row: Sequence[Turn]) -> frozenset[int]:
    return frozenset(at for at, turn in enumerate(row) if turn.kind is not Kind.BYE and turn.points)


def _lines(content: bytes, place: str) -> tuple[list[_Line], dict[str, str], tuple[str, ...]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("iso-8859-15")
    found: list[_Line] = []
    headers: dict[str, str] = {}
    codes: tuple[str, ...] = ()
    for number, line in enumerate(re.split("\r\n|\r|\n", text), 1):
        if line.lstrip().startswith(";"):
            if header := _HEADER.fullmatch(line.strip()):
                headers[header[1]] = header[2]
            elif re.match(r";\s*(Pl|Num)\b", line):
                codes = tuple(_codes(line, number, place))
        elif line.strip():
            found.append(_entrant(line.split(), number, place, len(codes)))
    return found, headers, codes


def _codes(line: str, number: int, place: str) -> Iterator[str]:
    """Yield the codes of the value columns: five characters each after the word Club, possibly without spaces."""
    _, club, rest = line.partition("Club")
    words = [rest[at : at + 5].strip() for at in range(0, len(rest.rstrip()), 5)] if club else []
    if any(" " in word for word in words):  # other programs separate them by spaces
        words = rest.split()
    main = words[0] if words else ""
    for word in filter(None, words):
        code = {"SOS": _MAIN.get(main, "SOSW"), "SOSOS": _MAIN.get(main, "SOSW").replace("SOS", "SOSOS")}.get(
            word, word
        )
        code = {"Rank": "RANK", "Rating": "RATING"}.get(code, code)
        if code not in tiebreaks.PLACEMENT_CODES:
            refuse_line(
                place,
                number,
                f"names of values such as MMS, NBW, SOS, SOSOS ({', '.join(tiebreaks.PLACEMENT_CODES)})",
                word,
            )
        yield code


def _entrant(words: list[str], number: int, place: str, values: int) -> _Line:
    games: list[re.Match[str]] = []
    while words and (game := _GAME.fullmatch(words[-1])):
        games.insert(0, game)
        words = words[:-1]
    numbers: list[Fraction] = []
    while (
        words
        and (_VALUE.fullmatch(words[-1]) or _LOST_HALF.fullmatch(words[-1]))
        and len(numbers) < max(values, _FEWEST_VALUES)
    ):
        numbers.insert(0, _fraction(words[-1]))
        words = words[:-1]
    while games and len(numbers) < max(values, _FEWEST_VALUES) and _LOST_HALF.fullmatch(games[0][0]):
        numbers.append(_fraction(games.pop(0)[0]))
    ranks = [at for at, word in enumerate(words) if at > 0 and rank_band(word) is not None and not word.isdecimal()]
    first = 1 if words and words[0].isdecimal() else 0
    if not ranks or ranks[-1] <= first or len(numbers) < values:
        refuse_line(
            place, number, "place, name, rank such as 5K, country, club, values, games such as 2+/w0", " ".join(words)
        )
    at = ranks[-1]
    grade = grades.parse(words[at])
    assert grade is not None
    behind = words[at + 1 :]
    country, club = (behind[0] if behind else ""), " ".join(behind[1:])
    name = " ".join(words[first:at])
    member = Member(
        name.replace("_", " "),
        grade.rating(),
        "" if club == "xxxx" else club,
        "" if country == "XX" else country,
        rank_band(words[at]),
        name.replace(" ", "").replace("_", " "),
    )
    return _Line(number, member, tuple(numbers), tuple(games))


def _fraction(word: str) -> Fraction:
    whole, part = (word[:-1], _PARTS[word[-1]]) if word[-1] in _PARTS else (word, Fraction(0))
    return (Fraction(whole.replace(",", ".")) if whole else Fraction(0)) + part


def _row(lines: Sequence[_Line], count: int, place: str) -> Iterator[Turn]:
    """Yield the turns of one round, and check both lines of each game; a single win without a game is the bye."""
    games = [line.games[count] if count < len(line.games) else None for line in lines]
    wins = sum(game is not None and game[1] == "0" and game[2] == "+" for game in games)
    for at, (line, game) in enumerate(zip(lines, games, strict=True)):
        if game is None or int(game[1]) == 0:
            points = 0 if game is None else _RESULTS[game[2]]
            kind = Kind.BYE if wins == 1 else Kind.FULL_BYE
            yield Turn(kind, points=2) if points == 2 else Turn(Kind.HALF_BYE, points=1) if points else NOT_PAIRED
            continue
        other = int(game[1]) - 1
        answer = games[other] if other < len(lines) else None
        if other == at or answer is None or not _agree(game, answer, at):
            there = "not found" if other >= len(lines) else "no game" if answer is None else answer[0]
            expected = f"the same game in line {other + 1} of the entrants"
            refuse_line(place, line.number, expected, f"{game[0]} in round {count + 1}, but {there} there")
        forfeit = "!" in (game[3], answer[3])
        color = {"w": WHITE, "b": BLACK}.get(game[4].lower()) or {"w": BLACK, "b": WHITE}.get(
            answer[4].lower(), NEITHER
        )
        stones = int(game[5] or answer[5] or 0)
        kind = Kind.FORFEIT if forfeit else Kind.PLAYED
        signed = stones if color == WHITE else -stones
        yield Turn(kind, other, color, _RESULTS[game[2]], signed, int(not forfeit))


def _agree(game: re.Match[str], answer: re.Match[str], at: int) -> bool:
    colors = {game[4].lower(), answer[4].lower()}
    one_sided = game[2] + answer[2] in ("+=", "=+", "-=", "=-", "?+", "+?", "?-", "-?", "?=", "=?")
    return (
        int(answer[1]) == at + 1
        and not one_sided
        and (not {"w", "b"} & colors or len(colors) > 1)
        and (game[5] or "0") == (answer[5] or "0")
    )


def _categories(lines: Sequence[_Line], place: str, notes: list[str]) -> list[float] | int:
    """Return the lowest rating of each category but the last; 1 if grades and categories do not match."""
    bands: dict[Fraction, list[int]] = {}
    for line in lines:
        bands.setdefault(line.values[0], []).append(line.member.band or 0)
    upper = sorted(bands)[:-1]
    limits = [min(bands[category]) for category in upper]
    if any(max(bands[below]) >= limit for limit, below in zip(limits, sorted(bands)[1:], strict=True)):
        notes.append(f"{place}: the categories do not match the grades, so all entrants are in one category")
        return 1
    return [grades.GO + grades.WIDTH * limit for limit in limits] or 1


def _starts(
    lines: Sequence[_Line],
    members: tuple[Member, ...],
    history: tuple[tuple[Turn, ...], ...],
    place: str,
    notes: list[str],
) -> dict[str, object]:
    field = Field(members, history, (), max(1, len(history)))
    mms = [2 * line.values[0] if line.values else Fraction(0) for line in lines]
    for whole in (True, False):
        gained = mcmahon_points(field, (0,) * len(members), absence=False, whole=whole)[-1]
        starts = [Fraction(one - more, 2) for one, more in zip(mms, gained, strict=True)]
        if all(start.denominator == 1 for start in starts):
            break
    else:
        notes.append(f"{place}: the McMahon scores do not match the games, so all starting scores follow the grades")
        return {"groups": "bands"}
    bands = [member.band or 0 for member in members]
    offsets = Counter(int(start) - band for start, band in zip(starts, bands, strict=True))
    zero = -max(offsets, key=lambda offset: (offsets[offset], -abs(offset)))
    begun = [int(start) + zero for start in starts]
    _, above, floor = min(
        (sum(start != min(max(band, low), high) for start, band in zip(begun, bands, strict=True)), -high, low)
        for high in {*begun, max(bands)}
        for low in {*begun, min(bands)}
        if low <= high
    )
    bar = -above
    more = [start - min(max(band, floor), bar) for start, band in zip(begun, bands, strict=True)]
    if not all(_LEAST_CORRECTION <= one <= _MOST_CORRECTION for one in more):
        notes.append(f"{place}: the starting scores do not match the grades, so all starting scores follow the grades")
        return {"groups": "bands", "whole": whole}
    named = {member.name: one for member, one in zip(members, more, strict=True) if one}
    settings: dict[str, object] = {"groups": "bands", "zero": zero, "bar": bar, "floor": floor, "whole": whole}
    return settings | ({"corrections": named} if named else {})
