"""Where everybody stands in a bubble: list, section, parking, new ranking; and the moves between them.

Lists run bottom to top, as in the article. Nothing here decides; `bubble` does. Source: H.G. Muller, WinBoard
forum, 19 June 2007.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from immutables import Map

from enginetour.formats.bubble_early import Early
from enginetour.formats.pairing.docket import Docket, legs, match_games, window
from enginetour.formats.pairing.standings import Grid, Scored, with_game
from enginetour.formats.pairing.tiebreaks import against
from enginetour.model.game import Note, Outcome, Pairing

Origin = Literal["start", "list", "parked"]


@dataclass(frozen=True, slots=True)
class Due:
    """A withdrawal planned for the moment when `after_games` games are finished."""

    engine: str
    after_games: int


@dataclass(frozen=True, slots=True)
class Entry:
    """An engine on its way into the section; `rule` is the step of the article, `met` counts members it has met."""

    engine: str
    origin: Origin
    rule: int
    met: int
    to_play: int

    def told(self) -> dict[str, object]:
        """JSON-ready, with the keys of the trace."""
        return {
            "engine": self.engine,
            "from": self.origin,
            "rule": self.rule,
            "met": self.met,
            "to_play": self.to_play,
        }


@dataclass(frozen=True, slots=True)
class BubbleState:
    """A moment of an edition; immutable, and cheap to carry on in long tournaments.

    `place` is the place in the starting list (higher is better), `met` holds opponents of finished matches,
    `balance` is Whites minus Blacks over scheduled games. `listed` and `returned` count the matches that entries
    from the list and from parking brought, for the forecast. `withdrawn` are out and not ranked; `gone` are all
    that withdrew. `early` are games of the next round robin that were certain before it began.
    """

    pair_games: int
    place: Map[str, int] = field(default_factory=Map)
    old: tuple[str, ...] = ()
    section: tuple[str, ...] = ()
    parked: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    gone: frozenset[str] = frozenset()
    docket: Docket = field(default_factory=Docket)
    early: Early = field(default_factory=Early)
    undisturbed: bool = True  # nobody joined or left by an event, and no game was struck out
    grid: Grid = field(default_factory=Map)
    met: Map[str, frozenset[str]] = field(default_factory=Map)
    balance: Map[str, int] = field(default_factory=Map)
    finished: int = 0
    encounters: int = 0
    number: int = 1
    listed: int = 0
    returned: int = 0
    due: tuple[Due, ...] = ()
    notes: tuple[Note, ...] = ()
    ended: bool = False

    def matches(self, name: str) -> int:
        """Matches of this edition an engine has finished, against whomever."""
        return len(self.met.get(name, frozenset()))

    def met_among(self, name: str, others: Iterable[str]) -> int:
        """How many of the others it has met."""
        return len(self.met.get(name, frozenset()).intersection(others))

    def noted(self, kind: str, text: str, **fields: object) -> BubbleState:
        """The same moment with one decision more on record."""
        note = Note(kind, text, (("step", self.number), *fields.items()))
        return replace(self, notes=(*self.notes, note))

    def replacement(self, remaining: Iterable[str], threshold: int) -> Entry | None:
        """Who enters beside the remaining members by rules 6 and 7; None if list and parking are empty."""
        rest = frozenset(remaining)
        met = {name: self.met_among(name, rest) for name in self.parked}
        if self.old:
            for parked in self.parked:
                if met[parked] < threshold:
                    return Entry(parked, "parked", 4, met[parked], len(rest) - met[parked])
            return Entry(self.old[0], "list", 5, 0, len(rest))
        if self.parked:
            fewest = min(self.parked, key=lambda parked: met[parked])  # of equals the longest parked
            return Entry(fewest, "parked", 8, met[fewest], len(rest) - met[fewest])
        return None

    def entered(self, entry: Entry) -> BubbleState:
        """It stands in the section and its matches against unmet members are scheduled, lowest opponent first."""
        name = entry.engine
        met = self.met.get(name, frozenset())
        unmet = [(name, other) for other in self.section if other not in met]
        parked = entry.origin == "parked"
        state = replace(
            self,
            old=self.old if parked else tuple(other for other in self.old if other != name),
            parked=tuple(other for other in self.parked if other != name) if parked else self.parked,
            section=tuple(sorted((*self.section, name), key=lambda member: self.place[member])),
            listed=self.listed + (0 if parked else entry.to_play),
            returned=self.returned + (entry.to_play if parked else 0),
        )
        return state.scheduled(unmet)

    def scheduled(self, pairs: Iterable[tuple[str, str]]) -> BubbleState:
        """Matches added to the docket in this order, with their colours.

        One game: White is who has had fewer Whites minus Blacks, of equals the lower in the list. More: the lower
        has White in the first, then they alternate. A match that was begun early stays as it was promised, and its
        results count from now on.
        """
        balance, encounters = self.balance, self.encounters
        games: list[Pairing] = []
        for pair in pairs:
            low, high = sorted(pair, key=lambda name: self.place[name])
            white, black = low, high
            if self.pair_games == 1 and balance.get(high, 0) < balance.get(low, 0):
                white, black = high, low
            match = tuple(
                match_games(white, black, games=self.pair_games, encounter=encounters + 1, number=self.number)
            )
            encounters += self.pair_games // legs(self.pair_games)
            for game in self.early.match(match[0].pair) if self.early.is_begun(match[0].pair) else match:
                balance = _shifted(balance, game, 1)
                games.append(game)
        state = replace(self, docket=self.docket.extended(games), balance=balance, encounters=encounters)
        for game in games:
            outcome = self.early.results.get(game.key)
            if outcome is not None:
                state = replace(state, early=state.early.released(game.key)).recorded(game, outcome)
        return state

    def next_round_robin(self, size: int) -> BubbleState:
        """An empty docket for the step after this one."""
        width = window((size - 1) * self.pair_games)
        return replace(self, docket=self.docket.renewed((), width), number=self.number + 1)

    def withdrawn_from_section(self, name: str) -> BubbleState:
        """A member leaves; its unplayed games are called off and give their colours back."""
        docket, called_off = self.docket.without(name)
        balance = self.balance
        for game in called_off:
            balance = _shifted(balance, game, -1)
        section = tuple(member for member in self.section if member != name)
        return replace(self, docket=docket, balance=balance, section=section)

    def without_early(self, name: str) -> BubbleState:
        """No game of that name is promised any more; those in the air may still come in, and count for nothing."""
        early, gone = self.early.without(name)
        return replace(self, early=early, docket=self.docket.set_aside(gone))

    def as_promised(self, pairing: Pairing) -> BubbleState:
        """Where a match was promised with other colours or numbers than it has now, and came in so: as promised."""
        scheduled = self.docket.scheduled(pairing.key)
        if scheduled is None or scheduled == pairing or self.early.promised.get(pairing.key) != pairing:
            return self
        balance = self.balance
        match = self.early.match(pairing.pair)
        for game in match:
            was = self.docket.scheduled(game.key)
            if was is not None:
                balance = _shifted(_shifted(balance, was, -1), game, 1)
        return replace(self, docket=self.docket.renumbered(match), balance=balance)

    def recorded(self, pairing: Pairing, outcome: Outcome) -> BubbleState:
        """One counting game more; the pair has met when all games of its match are finished."""
        white, black = pairing.white, pairing.black
        grid = with_game(self.grid, Scored(white, black, outcome))
        met = self.met
        if against(grid, white, black).games == self.pair_games:
            met = met.set(white, met.get(white, frozenset()) | {black})
            met = met.set(black, met.get(black, frozenset()) | {white})
        docket = self.docket.finished(pairing, outcome)
        return replace(self, docket=docket, grid=grid, met=met, finished=self.finished + 1)

    def erased(self, pairing: Pairing, outcome: Outcome) -> BubbleState:
        """A game of this round robin that was `outcome` is to be played again."""
        white, black = pairing.white, pairing.black
        grid = with_game(self.grid, Scored(white, black, outcome), -1)
        met = self.met.set(white, self.met.get(white, frozenset()) - {black})
        met = met.set(black, met.get(black, frozenset()) - {white})
        docket = self.docket.reopened(pairing)
        return replace(self, docket=docket, grid=grid, met=met, finished=self.finished - 1)


def _shifted(balance: Map[str, int], game: Pairing, sign: int) -> Map[str, int]:
    balance = balance.set(game.white, balance.get(game.white, 0) + sign)
    return balance.set(game.black, balance.get(game.black, 0) - sign)
