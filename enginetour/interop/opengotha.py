"""Tournaments of OpenGotha (XML): entrants, games, byes, and the settings of pairing and placement.

element                     attributes
Tournament                  dataVersion: up to version 200 ratings are lower by 2050
Player                      name, firstName, rank, grade, rating, club, country, smmsCorrection, participating (0 for
                            each round missed), registeringStatus (other than FIN: not paired)
Game                        roundNumber, whitePlayer, blackPlayer, handicap, result, knownColor
ByePlayer                   roundNumber, player
GeneralParameterSet         numberOfRounds, genMMBar, genMMFloor, genMMZero, values of byes and absences
HandicapParameterSet, PlacementCriterion, PairingParameterSet, Category, ClubsGroup

Games refer to players by name and first name without spaces, in capitals; older files also without accents. The grade
determines the starting score, the rating only the order. Ties are broken by name, so players are sorted by name.
Entities of a document type are never expanded. Source: OpenGotha 3.48 to 3.51 and its tournament.dtd.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import NoReturn
from xml.parsers import expat

from enginetour.formats.pairing import tiebreaks
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Kind, Member, Turn
from enginetour.interop.foreign import ForeignTournament, SeparatedField, existing_round
from enginetour.interop.trf import refuse_line
from enginetour.ratings import grades

LARGEST_FILE = 20_000_000  # bytes; a congress with 760 entrants and ten rounds has 0.6 million
_DEEPEST = 20  # nested elements; the format needs 6
MOST_ENTRANTS = 5000
_MOST_ROUNDS = 20  # OpenGotha
_OLD_SHIFT = 2050  # rating points to add in files up to version 200
_LAST_OLD = 200
_RATINGS = (-900, 2949)  # OpenGotha: lowest and highest rating
_BANDS = (-30, 8)  # 30 kyu to 9 dan
_RESULTS: Mapping[str, tuple[int, int] | None] = MappingProxyType(
    {  # half points of White and Black
        "UNKNOWN": None,
        "WHITEWINS": (2, 0),
        "BLACKWINS": (0, 2),
        "EQUAL": (1, 1),
        "BOTHLOSE": (0, 0),
        "BOTHWIN": (2, 2),
    }
)
SYSTEMS = {"MMS": "mcmahon", "NBW": "swiss-gotha", "CAT": "swiss-cat"}  # by the first placement criterion
_CODES = {"Rank": "RANK", "Rating": "RATING"}
_SEEDINGS = {"SPLITANDRANDOM": "split-random", "SPLITANDFOLD": "fold", "SPLITANDSLIP": "slip"}
_FLOATS = {"TOP": "top", "MID": "middle", "BOT": "bottom"}
_WEIGHTS = {  # setting of the systems -> attribute and OpenGotha's default
    "random": ("paiBaRandom", 0),
    "color_weight": ("paiBaBalanceWB", 1000),
    "score_weight": ("paiMaMinimizeScoreDifference", 10**11),
    "seeding_weight": ("paiMaMaximizeSeeding", 5 * 10**6),
    "family_weight": ("paiSeAvoidSameGeo", 10**11),
}
_OF_CATEGORIES = {
    "category_weight": ("paiMaAvoidMixingCategories", 2 * 10**13),
    "handicap_weight": ("paiSeMinimizeHandicap", 0),
}
_HEAVIEST = 10**14
_FLOAT_SHARES = 5  # OpenGotha: the weight of floats is divided into five units


@dataclass(frozen=True, slots=True)
class GoTournament:
    """A tournament of another program up to its last paired round.

    `history` has a row for each round with games. By number of the round, `away` has the absent places, `fixed` the
    byes of rounds without games, and `unfinished` the first game without a result. `system` and `settings` are used to
    pair the next round; `values` are the columns of the table in the file, by code.
    """

    place: str
    name: str
    rounds: int
    members: tuple[Member, ...]
    history: tuple[tuple[Turn, ...], ...]
    system: str
    settings: Mapping[str, object]
    away: Mapping[int, frozenset[int]] = field(default_factory=dict)
    fixed: Mapping[int, int] = field(default_factory=dict)
    unfinished: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    values: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict)

    def foreign(
        self, *, number: int | None = None, rounds: int | None = None, unfinished_ok: bool = False, ended: bool = False
    ) -> ForeignTournament:
        """Return the tournament before round `number`, or after the last round if `ended`.

        The default is the first round without games.

        Raises:
            InputRefused: the round does not exist, or a game of an earlier round has no result.
        """
        in_all = rounds or self.rounds
        following = len(self.history) + 1 if number is None or ended else number
        if following > in_all and number is None and not ended:
            expected = f"a round that is not paired yet, or --rounds above {in_all}"
            refuse_line(self.place, 0, expected, "all rounds paired")
        last = min(in_all, len(self.history) + 1)
        if not ended and not 1 <= following <= last:
            refuse_line(self.place, 0, f"a round from 1 to {last}", following)
        for count in range(1, following):
            if count in self.unfinished and not unfinished_ok:
                refuse_line(self.place, 0, "a result for each game (or --unfinished-ok)", self.unfinished[count])
        away = self.away.get(following, frozenset())
        existing, colorless = None, frozenset[tuple[int, int]]()
        if following <= len(self.history):
            row = self.history[following - 1]
            away = frozenset(at for at, turn in enumerate(row) if not turn.paired and turn.kind is not Kind.BYE)
            existing, colorless = existing_round(row)
        bye = self.fixed.get(following) if following > len(self.history) else None
        there = tuple(at for at in range(len(self.members)) if at not in away and at != bye)
        field_ = SeparatedField(self.members, self.history[: following - 1], there, in_all, bye=bye)
        labels = tuple(str(at + 1) for at in range(len(self.members)))
        asked = dict.fromkeys(away, Kind.ABSENT)
        return ForeignTournament(
            field_, labels, self.settings, asked, self.notes, grades.GO, existing=existing, colorless=colorless
        )


def read(content: bytes, place: str) -> GoTournament:
    """Read an XML file of OpenGotha; raise InputRefused at the first invalid line."""
    return _Reader(_elements(content, place), place).tournament()


@dataclass(frozen=True, slots=True)
class _Element:
    tag: str
    inside: str  # the parent element
    values: Mapping[str, str]
    line: int


def _elements(content: bytes, place: str) -> list[_Element]:
    """Return all elements in order, without their text; no entity is expanded and no other file is opened."""
    found: list[_Element] = []
    stack: list[str] = []
    parser = expat.ParserCreate()

    def start(tag: str, values: dict[str, str]) -> None:
        found.append(_Element(tag, stack[-1] if stack else "", values, parser.CurrentLineNumber))
        stack.append(tag)
        if len(stack) > _DEEPEST:
            refuse_line(place, parser.CurrentLineNumber, f"at most {_DEEPEST} nested elements", len(stack))

    def entity(name: str, *_: object) -> NoReturn:
        refuse_line(place, parser.CurrentLineNumber, "a document type without entities", f"the entity {name!r}")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(content, True)  # noqa: FBT003  # expat's parameter: this is the last piece
    except expat.ExpatError as error:
        refuse_line(place, error.lineno, "an XML file of OpenGotha", _what(error.code, cut=bool(found)))
    except (ValueError, LookupError) as error:  # unknown encoding
        refuse_line(place, 1, "an XML file of OpenGotha", str(error))
    if not found or found[0].tag != "Tournament":
        refuse_line(place, 1, "the element Tournament of OpenGotha", found[0].tag if found else "none")
    return found


def _what(code: int, *, cut: bool) -> str:
    """Describe an error of expat, which calls the end of a file a missing element or an unclosed token."""
    told = expat.errors.messages.get(code, "another format")
    if told in (expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN):
        return "the end of the file inside an element" if cut else "an empty file"
    return told


class _Reader:
    def __init__(self, elements: Sequence[_Element], place: str) -> None:
        self.elements, self.place = elements, place
        self.old = self._number(elements[0], "dataVersion", 200, 0, 10**6) <= _LAST_OLD
        self.notes: list[str] = []
        self.keys: dict[str, int] = {}
        self.plain: dict[str, int] = {}

    def tournament(self) -> GoTournament:
        general = self._only("GeneralParameterSet")
        rounds = self._number(general, "numberOfRounds", 5, 1, _MOST_ROUNDS)
        players = self._players(rounds)
        members = tuple(member for member, _, _ in players)
        settings, system = self._settings(general, [correction for _, _, correction in players], members)
        mms = system == "mcmahon"
        absent = self._number(general, "genMMS2ValueAbsent" if mms else "genNBW2ValueAbsent", 0, 0, 2)
        bye = self._number(general, "genMMS2ValueBye" if mms else "genNBW2ValueBye", 0, 0, 2)
        games, unfinished = self._games(rounds)
        byes = {count: at for count, at in self._byes(rounds) if at not in games.get(count, {})}
        paired = max(games, default=0)
        away = {n: frozenset(at for at, (_, gone, _) in enumerate(players) if n in gone) for n in range(1, rounds + 1)}
        history = []
        for count in range(1, paired + 1):
            row = [_idle(absent, mms=mms) if at in away[count] else NOT_PAIRED for at in range(len(members))]
            for at, turn in games.get(count, {}).items():
                row[at] = turn
            if count in byes:
                row[byes[count]] = Turn(Kind.BYE, points=bye)
            history.append(tuple(row))
        if mms:
            settings["absence"] = "standings" if absent == 1 else "nothing"
        if any(element.tag == "Team" for element in self.elements):
            self.notes.append(f"{self.place}: teams are ignored: entrants are paired individually")
        return GoTournament(
            self.place,
            general.values.get("name", ""),
            rounds,
            members,
            tuple(history),
            system,
            settings,
            away,
            {count: at for count, at in byes.items() if count > paired},
            unfinished,
            tuple(self.notes),
        )

    def _only(self, tag: str) -> _Element:
        """Return the first element with this tag, or an empty element if there is none."""
        return next((one for one in self.elements if one.tag == tag), _Element(tag, "", {}, 0))

    def _number(self, element: _Element, key: str, usual: int, low: int, high: int) -> int:
        text = element.values.get(key, str(usual)).strip()
        if not re.fullmatch(r"[-+]?[0-9]{1,18}", text, re.ASCII) or not low <= int(text) <= high:
            refuse_line(self.place, element.line, f"{key} from {low} to {high}", repr(text))
        return int(text)

    def _flag(self, element: _Element, key: str, *, usual: bool) -> bool:
        return element.values.get(key, str(usual)).strip().lower() == "true"

    def _band(self, element: _Element, key: str, usual: str) -> int:
        found = rank_band(element.values.get(key) or usual)
        if found is None:
            refuse_line(self.place, element.line, f"{key} such as 5K, 1D or 2P", repr(element.values.get(key)))
        return found

    def _rank(self, element: _Element) -> int:
        """Return the rank, or the grade if the rank is unknown (99K), or else 30 kyu."""
        for key in ("rank", "grade"):
            found = rank_band(element.values.get(key, "30K" if key == "rank" else ""))
            if found is not None and _BANDS[0] <= found <= _BANDS[1]:
                return found
        name = element.values.get("name", "")
        what = f"{name} does not have a valid rank or grade and counts as 30 kyu"
        self.notes.append(f"{self.place}:{element.line}: {what}")
        return _BANDS[0]

    def _players(self, rounds: int) -> list[tuple[Member, frozenset[int], int]]:
        """Return the players, sorted by name, with their missed rounds and corrections.

        Players whose registration is not final are left out, unless they were paired.
        """
        named = [one.values.get(key, "") for one in self.elements for key in ("whitePlayer", "blackPlayer", "player")]
        paired = {word for name in named if name for word in (_key(name), _plain(_key(name)))}
        found = []
        for element in (one for one in self.elements if one.tag == "Player"):
            name, first = (" ".join(element.values.get(key, "").split()) for key in ("name", "firstName"))
            if not name:
                refuse_line(self.place, element.line, "the name of a player", "none")
            rating = self._number(element, "rating", _RATINGS[0], -(10**6), 10**6) + _OLD_SHIFT * self.old
            band = self._rank(element)
            member = Member(
                f"{name} {first}".strip(),
                float(min(max(rating, _RATINGS[0]), _RATINGS[1])),
                element.values.get("club", "").strip(),
                element.values.get("country", "").strip(),
                band,
                name + first,
            )
            there = element.values.get("participating", "")
            final = element.values.get("registeringStatus", "FIN") == "FIN"
            if not final and not {_key(name + first), _plain(_key(name + first))} & paired:
                continue
            away = frozenset(n for n in range(1, rounds + 1) if there[n - 1 : n] == "0" or not final)
            correction = self._number(element, "smmsCorrection", 0, -1, 2)
            found.append(((name, first), element.line, member, away, correction))
        if not 2 <= len(found) <= MOST_ENTRANTS:
            refuse_line(self.place, 0, f"2 to {MOST_ENTRANTS} players", len(found))
        found.sort(key=lambda one: one[0])
        for at, ((name, first), line, member, _, _) in enumerate(found):
            key = _key(name + first)
            if key in self.keys:
                refuse_line(self.place, line, "a different name for each player", f"{member.name} twice")
            self.keys[key] = at
            self.plain.setdefault(_plain(key), at)
        return [(member, away, correction) for _, _, member, away, correction in found]

    def _player(self, element: _Element, key: str) -> int:
        text = _key(element.values.get(key, ""))
        found = self.keys.get(text, self.plain.get(_plain(text)))
        if found is None:
            refuse_line(self.place, element.line, f"a player of the file in {key}", repr(element.values.get(key, "")))
        return found

    def _games(self, rounds: int) -> tuple[dict[int, dict[int, Turn]], dict[int, str]]:
        found: dict[int, dict[int, Turn]] = {}
        unfinished: dict[int, str] = {}
        for element in (one for one in self.elements if one.tag == "Game"):
            count = self._number(element, "roundNumber", 1, 1, _MOST_ROUNDS)
            if count > rounds:
                continue
            white, black = self._player(element, "whitePlayer"), self._player(element, "blackPlayer")
            row = found.setdefault(count, {})
            names = f"{element.values.get('whitePlayer')} - {element.values.get('blackPlayer')}"
            if white == black or white in row or black in row:
                refuse_line(self.place, element.line, f"two players without another game in round {count}", names)
            word = element.values.get("result", "RESULT_UNKNOWN").removeprefix("RESULT_")
            kind = Kind.FORFEIT if word.endswith("_BYDEF") else Kind.PLAYED
            result = word.removesuffix("_BYDEF")
            if result not in _RESULTS:
                known = ", ".join(f"RESULT_{one}" for one in _RESULTS)
                refuse_line(self.place, element.line, f"one of {known}, or one of these with _BYDEF", repr(word))
            points = _RESULTS[result]
            if points is None:
                unfinished.setdefault(count, f"{names} in round {count}, line {element.line}")
            row[white], row[black] = _played(
                white,
                black,
                points,
                kind,
                handicap=self._number(element, "handicap", 0, 0, 50),
                known=self._flag(element, "knownColor", usual=True),
            )
        return found, unfinished

    def _byes(self, rounds: int) -> list[tuple[int, int]]:
        found = []
        for element in (one for one in self.elements if one.tag == "ByePlayer"):
            count = self._number(element, "roundNumber", 1, 1, _MOST_ROUNDS)
            if count <= rounds:
                found.append((count, self._player(element, "player")))
        return found

    def _settings(
        self, general: _Element, corrections: list[int], members: tuple[Member, ...]
    ) -> tuple[dict[str, object], str]:
        codes = self._codes()
        system = SYSTEMS.get(codes[0], "") if codes else "mcmahon"
        if not system:
            system = "mcmahon" if "MMS" in codes else "swiss-gotha"
            self.notes.append(f"{self.place}: the first placement criterion is {codes[0]}, so {system} pairs the round")
        pairing = self._only("PairingParameterSet")
        settings: dict[str, object] = {"base": grades.GO, "placement": codes} if codes else {"base": grades.GO}
        settings |= self._weights(pairing, _WEIGHTS)
        unit = self._number(pairing, "paiMaDUDDWeight", 10**8, 0, _FLOAT_SHARES * _HEAVIEST) // _FLOAT_SHARES
        settings |= {
            "chance": "names" if self._flag(pairing, "paiBaDeterministic", usual=True) else "seed",
            "float_weight": unit,
            "compensate": self._flag(pairing, "paiMaCompensateDUDD", usual=True),
            "float_down": self._word(pairing, "paiMaDUDDUpperMode", "MID", _FLOATS),
            "float_up": self._word(pairing, "paiMaDUDDLowerMode", "MID", _FLOATS),
            "seeding": self._word(pairing, "paiMaSeedSystem1", "SPLITANDRANDOM", _SEEDINGS),
            "seeding_later": self._word(pairing, "paiMaSeedSystem2", "SPLITANDFOLD", _SEEDINGS),
            "seeding_rounds": self._number(pairing, "paiMaLastRoundForSeedSystem1", 2, 0, 1000),
            "family_worth": float(self._number(pairing, "paiSePreferMMSDiffRatherThanSameClub", 3, 0, 100)),
            "origin_worth": float(self._number(pairing, "paiSePreferMMSDiffRatherThanSameCountry", 1, 0, 100)),
        }
        if groups := self._clubs():
            settings["families"] = groups
        if self._flag(general, "genCountNotPlayedGamesAsHalfPoint", usual=False):
            settings["absence_in_sos"] = True
        if system == "mcmahon":
            settings |= self._starts(general, corrections, members)
        elif system == "swiss-cat":
            settings |= self._by_category(general, pairing)
        if system != "swiss-gotha" and (handicap := self._handicap()) is not None:
            settings["handicap"] = handicap
        return settings, system

    def _codes(self) -> tuple[str, ...]:
        """Return the placement codes of individuals in order; teams have a separate list of the same elements."""
        inside = False
        found = {}
        for element in self.elements:
            if element.tag in ("PlacementParameterSet", "TeamPlacementParameterSet"):
                inside = element.tag == "PlacementParameterSet"
            if inside and element.tag == "PlacementCriterion":
                name = element.values.get("name", "NULL")
                code = _CODES.get(name, name)
                if code != "NULL" and code not in tiebreaks.PLACEMENT_CODES:
                    refuse_line(
                        self.place, element.line, f"one of NULL, {', '.join(tiebreaks.PLACEMENT_CODES)}", repr(name)
                    )
                found[self._number(element, "number", 1, 1, 6)] = code
        return tuple(dict.fromkeys(found[number] for number in sorted(found) if found[number] != "NULL"))

    def _weights(self, pairing: _Element, wanted: Mapping[str, tuple[str, int]]) -> dict[str, object]:
        return {key: self._number(pairing, name, usual, 0, _HEAVIEST) for key, (name, usual) in wanted.items()}

    def _word(self, element: _Element, key: str, usual: str, words: Mapping[str, str]) -> str:
        text = element.values.get(key, usual)
        if text not in words:
            refuse_line(self.place, element.line, f"{key}: one of {', '.join(words)}", repr(text))
        return words[text]

    def _clubs(self) -> list[list[str]]:
        groups: list[list[str]] = []
        for element in self.elements:
            if element.tag == "ClubsGroup":
                groups.append([])
            elif element.tag == "Club" and element.inside == "ClubsGroup" and element.values.get("name"):
                groups[-1].append(element.values["name"])
        return [group for group in groups if group]

    def _starts(self, general: _Element, corrections: list[int], members: tuple[Member, ...]) -> dict[str, object]:
        bar, floor = self._band(general, "genMMBar", "4D"), self._band(general, "genMMFloor", "20K")
        found: dict[str, object] = {
            "groups": "bands",
            "bar": max(bar, floor),
            "floor": floor,
            "zero": self._band(general, "genMMZero", "30K"),
            "whole": self._flag(general, "genRoundDownNBWMMS", usual=True),
        }
        named = {member.name: more for member, more in zip(members, corrections, strict=True) if more}
        return found | ({"corrections": named} if named else {})

    def _by_category(self, general: _Element, pairing: _Element) -> dict[str, object]:
        count = self._number(general, "numberOfCategories", 1, 1, 100)
        limits = {
            self._number(element, "number", 1, 1, 100): grades.GO
            + grades.WIDTH * self._band(element, "lowerLimit", "30K")
            for element in self.elements
            if element.tag == "Category"
        }
        falling = [limits[number] for number in sorted(limits) if number < count]
        return self._weights(pairing, _OF_CATEGORIES) | {
            "categories": falling or 1,
            "bar": self._band(general, "genMMBar", "9D"),
            "floor": self._band(general, "genMMFloor", "30K"),
            "exempt_wins": self._flag(pairing, "paiSeNbWinsThresholdActive", usual=True),
            "exempt_band": self._band(pairing, "paiSeRankThreshold", "4D"),
        }

    def _handicap(self) -> dict[str, object] | None:
        element = self._only("HandicapParameterSet")
        ceiling = self._number(element, "hdCeiling", 9, 0, 50)
        if not ceiling:
            return None
        if not self._flag(element, "hdBasedOnMMS", usual=True):
            self.notes.append(
                f"{self.place}: the file sets handicaps by grade, but enginetour sets them by McMahon score"
            )
        return {
            "correction": self._number(element, "hdCorrection", 1, 0, 50),
            "ceiling": ceiling,
            "threshold": self._band(element, "hdNoHdRankThreshold", "1D"),
        }


NOT_PAIRED = Turn(Kind.HALF_BYE)  # present, but without a game and without the bye: no points


def _idle(absent: int, *, mms: bool) -> Turn:
    if absent == 0 or (mms and absent == 1):
        return Turn()
    return Turn(Kind.FULL_BYE if absent == 2 else Kind.HALF_BYE, points=absent)


def _played(
    white: int, black: int, points: tuple[int, int] | None, kind: Kind, *, handicap: int, known: bool
) -> tuple[Turn, Turn]:
    """Return the turns of White and Black in a game; without a result both get no points."""
    mine, theirs = points or (0, 0)
    games, first = int(kind is Kind.PLAYED), WHITE if known else NEITHER
    return (
        Turn(kind, black, first, mine, handicap, games),
        Turn(kind, white, BLACK if known else NEITHER, theirs, -handicap, games),
    )


def rank_band(text: str) -> int | None:
    """Return the band of a grade such as 5K, 1D or 2P, or None if it is not valid.

    OpenGotha has three bands of professionals.
    """
    grade = grades.parse(f"{text}k" if text.strip().isdecimal() else text)
    if grade is None:
        return None
    return 6 + (grade.number - 1) // 3 if grade.kind == "pro" else grade.band


def _key(name: str) -> str:
    return name.replace(" ", "").upper()


def _plain(key: str) -> str:
    """Return the letters of a name without accents, as in the player names of files up to version 200."""
    return re.sub("[^A-Z]", "", unicodedata.normalize("NFKD", key).encode("ascii", "ignore").decode("ascii").upper())
