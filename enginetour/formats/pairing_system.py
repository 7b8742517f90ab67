"""What a pairing system is: a function of the field, with the questions the format of rounds asks it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, field_validator, model_validator
from pydantic import Field as Setting

from enginetour.formats.handicap import BY_RATING, RatingHandicap, without_odds_colours
from enginetour.formats.leave import Asked
from enginetour.formats.owncolours import OwnColours
from enginetour.formats.pairing import choice, order
from enginetour.formats.pairing import terms as placement
from enginetour.formats.pairing.choice import Codes
from enginetour.formats.pairing.docket import MOST_EACH, fair
from enginetour.formats.pairing.field import Board, Field, Member, Paired
from enginetour.model.game import Placed

if TYPE_CHECKING:
    from enginetour.formats.pairing.costs import Numbers


@dataclass(frozen=True, slots=True)
class Reason:
    """One criterion of one pair: its worth and the most it can be, in units of the weight."""

    name: str
    worth: int
    most: int
    source: str


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """What a round makes as heavy as it can be: `weights[i, j]` of members[i] and members[j], an even number of them.

    `barred` is 0 for pairs that are free, else the higher the less wanted, as in `matching.relaxed_matching`.
    """

    members: tuple[int, ...]
    weights: Numbers
    barred: Numbers


class RoundsOptions(OwnColours):
    """Settings of every system that pairs in rounds."""

    colours_by = "the pairing system"

    rounds: int = Setting(default=5, ge=1, le=1000, description="rounds in all")
    games_per_pairing: int = Setting(
        default=1, ge=1, le=MOST_EACH, description="games of one match: 1 or an even number"
    )
    scoring: Literal["games", "match"] = Setting(
        default="games", description="points: those of all games, or 1, 1/2, 0 for a match"
    )
    placement: Codes = Setting(
        default=(), description="order of the table: up to six codes such as MMS, BH-C1, DE; empty: the system's own"
    )
    unplayed: Literal["preset", "own", "start", "zero", "fide", "fide-2023", "fide-2009"] = Setting(
        default="preset",
        description="what a round without a game adds to sums over opponents: own score, own start, nothing, "
        "by FIDE C.07 section 16 of 2026, of 2023, by FIDE's virtual opponent of 2009; preset: the system's own",
    )
    handicap: RatingHandicap | None = Setting(default=None, description=BY_RATING)
    bye_points: float | None = Setting(
        default=None, ge=0, description="points of a bye, in halves, from 0 to those of a won match; default: a win"
    )
    absent: Asked = Setting(
        default={}, description='rounds that entrants miss, by name: { "Wren 3" = [1, 2] }; they are not paired then'
    )
    half_bye: Asked = Setting(
        default={}, description="the same with half of what a match is worth: byes asked for (FIDE C.04, H in a TRF)"
    )

    @classmethod
    def most_rounds(cls, entrants: int) -> int:
        """In which everybody can meet somebody new; in an odd field each rests once."""
        return max(1, entrants - 1 + entrants % 2)

    @field_validator("games_per_pairing")
    @classmethod
    def _even(cls, games: int) -> int:
        return fair(games)

    @model_validator(mode="after")
    def _bye_worth(self) -> Self:
        win = self.won_match
        if self.bye_points is not None and (2 * self.bye_points % 1 or 2 * self.bye_points > win):
            raise ValueError(
                f"bye_points must be between 0 and {win / 2:g} in steps of 0.5 (found {self.bye_points:g})"
            )
        return self

    @property
    def won_match(self) -> int:
        """Half points of a won match."""
        return 2 * (self.games_per_pairing if self.scoring == "games" else 1)


BYE_RULES = {
    "gotha": "the smallest band + 2 * McMahon score + 1000 * byes, of equals the last (Gotha)",
    "thesis": "the last of the order among those with the fewest byes (Vuorinen 2010)",
    "gopair": "one marked BYE, else by lot of the middle 80 % with a loss and no missed round (gopair manual 2005)",
}


class PairingSystem(ABC):
    """Who meets whom in the next round, and the table. Subclasses give `pair`; the rest may stay."""

    version = 1
    codes: tuple[str, ...] = ("PTS",)
    unplayed: placement.Unplayed = "zero"
    evens_sos = False  # the pairing gives everybody a like SOS
    late_entry = True  # somebody may join in the middle
    extensible = True  # more rounds may follow than were meant
    bounded = True  # more rounds than opponents are refused
    score = "points"  # what `scores` is called
    bye = "thesis"  # who rests in an odd field: a key of BYE_RULES or the words, where there is no setting

    def __init__(self, options: Any) -> None:
        self.options = options

    @classmethod
    def own_decisions(cls, model: type[BaseModel]) -> dict[str, str]:
        """What holds where the settings of `model` say nothing, by their keys; `bye` if no setting says who rests."""
        if "placement" not in model.model_fields:
            return {}
        found = {"placement": ", ".join(cls.codes), "unplayed": cls.unplayed}
        who = model.model_fields.get("bye")
        if who is None or not isinstance(who.default, str):
            found["bye"] = BYE_RULES.get(cls.bye, cls.bye)
        return found

    def check(self, members: tuple[Member, ...]) -> None:
        """ValueError when such a field cannot be paired: by default, more rounds than opponents where `bounded`."""
        most = RoundsOptions.most_rounds(len(members))
        if self.bounded and self.options.rounds > most:
            raise ValueError(
                f"rounds {self.options.rounds} is more than {len(members)} entrants have: at most {most}, "
                "or everybody meets somebody twice; roundrobin has cycles"
            )

    def rounds(self, _members: tuple[Member, ...]) -> int:
        """How many there are at most; a round without boards is the end before."""
        return int(self.options.rounds)

    @abstractmethod
    def pair(self, field: Field) -> Paired:
        """The next round of those present; Unpairable when there is no legal one."""

    def paired(self, field: Field) -> Paired:
        """`pair` with the odds of the settings: colours of games at odds are nobody's, and the stronger has White."""
        handicap = getattr(self.options, "handicap", None)
        if handicap is None:
            return self.pair(field)
        found = self.pair(without_odds_colours(field))
        return handicap.seated(field, found) if isinstance(handicap, RatingHandicap) else found

    def alone(self, field: Field) -> Paired:
        """A round in which one entrant is present, or none: a bye."""
        return Paired((), field.present)

    def explain(self, _field: Field, _one: int, _other: int) -> tuple[Reason, ...]:
        """What each criterion finds in a pair of those present, in sum its weight; nothing where a rule decides."""
        return ()

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """What decided about two of those present beside the criteria, in sentences: here, who rests."""
        chosen = getattr(self.options, "bye", self.bye)
        rule = chosen if isinstance(chosen, str) else self.bye
        return tuple(
            f"{field.members[place].name} rests: {BYE_RULES.get(rule, rule)}"
            for place in (one, other)
            if place in paired.byes
        )

    def weighed(self, _field: Field) -> Weighed | None:
        """The weights behind the next round, without whoever rests; None where a rule decides."""
        return None

    @property
    def order(self) -> tuple[str, ...]:
        """The codes of the table: those chosen, else `codes`."""
        return self.options.placement or self.codes

    def chosen_unplayed(self) -> placement.Unplayed:
        """Return how rounds without a game count in sums over opponents: as chosen, else the system's own way."""
        chosen: placement.Unplayed | Literal["preset"] = self.options.unplayed
        return self.unplayed if chosen == "preset" else chosen

    def terms(self, _field: Field) -> placement.Terms:
        """What the table needs beside the field; a system with starting points adds them."""
        return placement.Terms(unplayed=self.chosen_unplayed())

    def table(self, field: Field, members: tuple[int, ...]) -> tuple[Placed, ...]:
        """Those members best first, by `order`."""
        return order.table(field, self.order, members, self.terms(field))

    def scores(self, field: Field) -> tuple[tuple[int, ...], ...]:
        """Return the scores that decide the pairing, before each round so far and now, in half points."""
        return field.points

    def foreword(self, _field: Field) -> tuple[tuple[str, str], ...]:
        """Return what is known before round 1 and not written in the settings, as (kind of note, sentence)."""
        return ()

    def warnings(self) -> tuple[str, ...]:
        """What the settings do to each other, to be told before the first round."""
        return choice.warnings(self.order, evens_sos=self.evens_sos)

    def doubts(self, _errors: Sequence[float]) -> tuple[str, ...]:
        """What must be told of ratings with these standard errors before the first round; by default they only seed."""
        return ()

    def bye_points(self, field: Field) -> int:
        """Half points that the bye of this round is worth."""
        chosen = getattr(self.options, "bye_points", None)
        return field.win if chosen is None else round(2 * chosen)

    def more(self, _field: Field, _board: Board, _points: tuple[int, int], _played: int) -> int:
        """Further games of a match that must not end level; `played` so far."""
        return 0

    def boards_ahead(self, field: Field, rounds_left: int) -> tuple[int, int]:
        """Fewest and most boards of that many rounds, if nobody comes or goes."""
        boards = len(field.present) // 2 * rounds_left
        return boards, boards

    def games_ahead(self, _boards: int) -> int:
        """Most games that `more` could add to so many boards."""
        return 0
