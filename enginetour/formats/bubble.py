"""Bubble format of H.G. Muller: rules, options, and the texts that explain its decisions.

An edition ranks all engines with a fraction of the games of a full round robin. `games` counts games; all other
numbers count matches. Comments cite the rules by these numbers:

1  start
2  table
3  finish
4  drop
5  park
6  replacement from parking or from the list
7  replacement when the list is empty
8  drop of an engine that has met all remaining engines

Source: H.G. Muller, WinBoard forum, 19 June 2007, "New tournament form".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from enginetour.formats.base import Format, check_present, refuse_twice
from enginetour.formats.bubble_state import (
    BubbleOptions,
    BubbleState,
    Choice,
    Entry,
    PlannedWithdrawal,
    certain_games,
    choose_change,
    final_table,
    interim_table,
    remaining_bounds,
    remove_leaver,
    table_fields,
    without,
)
from enginetour.formats.pairing.schedule import rounds_of
from enginetour.model.game import (
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameVoided,
    Outcome,
    Pairing,
    Replaced,
    StandingsRow,
    Withdrawn,
)


def _entry_text(who: Entry, threshold: int) -> str:
    everybody = who.met + who.to_play
    if who.origin == "parked":
        met = f"has met {who.met} of the {everybody} remaining engines"
        why = (
            f", fewer than {threshold}"
            if who.rule == 4
            else ", fewer than any other parked engine, and the list is empty"
        )
        return f"{who.engine} returns from parking: it {met}{why}; {_matches(who.to_play)} to play"
    return f"{who.engine} enters from the list; {_matches(who.to_play)} to play"


def _decision_text(choice: Choice, minimum: int) -> str:
    """Describe which engine leaves the section and why.

    The text does not contain the place of the engine, because entrants that join later can change it.
    """
    played = _matches(choice.matches)
    if choice.reason == "last_below_min_matches":
        few = f"has played {played} and can drop out only after {minimum}"
        return f"{choice.leaver} (first) is parked, because {choice.last} (last) {few}"
    if choice.reason == "last_has_min_matches":
        return f"{choice.leaver} (last) drops out, because it has played {played} (minimum: {minimum})"
    few = f"has met all remaining engines in {played}, fewer than the minimum of {minimum}"
    return f"{choice.leaver} (last) drops out: it {few}"


def _withdrawal_text(name: str, was: str, replacement: Entry | None) -> str:
    if was == "ranked":
        return f"{name} withdraws; it keeps its place in the ranking"
    where = {"active": "the section", "parked": "parking", "listed": "the list"}[was]
    if replacement is None:
        return f"{name} withdraws from {where}"
    origin = "parking" if replacement.origin == "parked" else "the list"
    todo = _matches(replacement.to_play)
    return f"{name} withdraws from {where}; {replacement.engine} enters from {origin} instead; {todo} to play"


def _matches(count: int) -> str:
    return "1 match" if count == 1 else f"{count} matches"


class Bubble(Format[BubbleState]):
    """Format of the bubble. `due` has planned withdrawals, which take effect before a decision at the same time.

    A withdrawal event takes effect at its place in the log, after the decision that the game before it caused. Notes
    have the kinds enter, unpark, park, drop, finish, withdraw and add. They have the same fields as the trace, but
    scores are in half points and Sonneborn-Berger in quarter points. All pairs of the `active` engines of a decision
    have met once, so the games among them form the crosstable of the decision.
    """

    version = 1
    departure = ("drop", "drops out")

    def __init__(self, options: BubbleOptions, *, due: Iterable[PlannedWithdrawal] = ()) -> None:
        self.options = options
        self.due = tuple(due)

    def start(self, entrants: tuple[Entrant, ...]) -> BubbleState:
        """Return the state with the first section.

        Raises ValueError for a repeated name or an invalid planned withdrawal.
        """
        best_first = [e.name for e in entrants if not e.new] + [e.name for e in entrants if e.new]
        old = tuple(reversed(best_first))
        refuse_twice(old, "entrant")
        refuse_twice([due.engine for due in self.due], "withdrawal")
        place = {name: number for number, name in enumerate(old)}
        for due in self.due:
            if due.engine not in place:
                raise ValueError(f"the planned withdrawal of {due.engine} is not possible: it is not an entrant")
        state = BubbleState(self.options.games_per_pairing, old=old, due=self.due, number=0)
        state = replace(state.next_round_robin(self.options.size), place=place)
        state = self._due_withdrawals(state)
        members = state.old[: self.options.size]
        entries = [Entry(name, "start", 1, 0, len(members) - 1) for name in members]
        state = replace(state, old=state.old[self.options.size :], section=members)
        pairs = [(members[a], members[b]) for boards in rounds_of("circle", "rows", len(members)) for a, b in boards]
        state = state.scheduled(pairs)
        if members:
            text = f"The lowest {len(members)} of the list form the section: {', '.join(members)}"
            state = state.noted("enter", text, entered=[entry.as_json() for entry in entries])
        return self._settled(state)

    def offers(self, state: BubbleState) -> tuple[Pairing, ...]:
        """Return the unplayed games of the current round robin, in playing order."""
        return state.schedule.open()

    def ahead(self, state: BubbleState) -> tuple[Pairing, ...]:
        """Return the games of the next round robin that do not depend on the missing results of this one.

        The result is empty after an entrant joined or left or a game was voided. Promised games may be in progress
        then, and a second promise of the same pair could have other colors.
        """
        return certain_games(state, self.options) if state.undisturbed else ()

    def step(self, state: BubbleState, event: Event) -> BubbleState:
        """Return the state after one event; after the last game of a round robin, it includes the decision."""
        if isinstance(event, GameVoided) and event.pairing.key in state.early.results:
            return replace(state, early=state.early.released(event.pairing.key))
        # games that were certain before this event may already be in progress, so they are promised
        if not isinstance(event, GameFinished):
            state = replace(state, early=state.early.promising(self.ahead(state)), undisturbed=False)
        match event:
            case GameFinished(pairing, outcome):
                if not state.schedule.knows(pairing.key):
                    return self._held_back(state, pairing, outcome)
                state = state.as_promised(pairing)
                wanted = state.schedule.counts(pairing)
                if outcome is Outcome.VOID:
                    return state
                if not wanted:
                    return replace(state, schedule=state.schedule.finished(pairing, outcome))
                return self._settled(state.recorded(pairing, outcome))
            case GameVoided(pairing, outcome):
                was = state.schedule.voidable(pairing)
                if was is None or not state.gone.isdisjoint(pairing.pair):
                    return replace(state, schedule=state.schedule.annulled(pairing, outcome))
                return state.erased(pairing, was)
            case Withdrawn(name):
                return self._settled(self._withdrawn(state, name))
            case Added(entrant):
                return self._filled(self._added(state, entrant.name))
            case Replaced(name, entrant):
                return self._settled(self._filled(self._withdrawn(self._added(state, entrant.name, name), name)))
            case Extended():
                raise ValueError("a bubble cannot be extended. Hint: start the next edition with run --new")

    def remaining(self, state: BubbleState) -> tuple[int, int]:
        """Return bounds of the number of remaining games; they are valid unless an entrant withdraws or joins."""
        return remaining_bounds(state, self.options.size)

    def likely(self, state: BubbleState) -> int:
        """Return an estimate of the remaining games, which uses the frequency of returns from parking so far."""
        fewest, most = self.remaining(state)
        size, games = self.options.size, self.options.games_per_pairing
        rho = (state.returned + 40.5) / (state.listed + 90)  # prior for Muller's values: returns add 45 %
        entries = len(state.old) * (size - 1) * (1 + rho)
        returns = len(state.parked) * (size - self.options.unpark_threshold)
        return max(
            fewest, min(most, round(state.schedule.left + games * (entries + returns)) - len(state.early.results))
        )

    def standings(self, state: BubbleState) -> tuple[StandingsRow, ...]:
        """Return the interim ranking, best first; each row has a status, half points, and games of this edition."""
        return interim_table(state)

    def _settled(self, state: BubbleState) -> BubbleState:
        while not state.ended:
            state = self._due_withdrawals(state)
            if state.schedule.left:
                break
            state = self._decided(state)
        return state

    def _decided(self, state: BubbleState) -> BubbleState:
        lines = final_table(state)
        record = table_fields(state, lines)
        if not state.old and not state.parked:  # rule 3
            return self._finished(state, [line.name for line in lines], record)
        choice = choose_change(state, lines[0].name, lines[-1].name, self.options)
        left = remove_leaver(state, choice)
        text = _decision_text(choice, self.options.min_matches)
        parked = [name for name in left.parked if name != choice.entry.engine]
        record |= {"parked": parked, "action": choice.action, "engine": choice.leaver, "reason": choice.reason}
        left = left.noted(choice.action, text, **record, last=choice.last, last_matches=choice.matches)
        return self._entered(left.next_round_robin(self.options.size), choice.entry)

    def _finished(self, state: BubbleState, best_first: list[str], record: dict[str, object]) -> BubbleState:
        champion = best_first[0] if best_first else None
        done = replace(state, new=(*state.new, *reversed(best_first)), section=(), ended=True)
        record |= {"parked": [], "action": "finish", "engine": champion, "reason": "list_and_parking_empty"}
        text = f"{champion} wins the edition: list and parking are empty after {state.finished} games"
        if champion is None:
            text = "The edition ends: no engine is left"
        done = done.noted("finish", text, **record, ranking=list(done.new), withdrawn=list(done.withdrawn))
        return replace(done, schedule=done.schedule.renewed(()))

    def _entered(self, state: BubbleState, entry: Entry) -> BubbleState:
        kind = "unpark" if entry.origin == "parked" else "enter"
        text = _entry_text(entry, self.options.unpark_threshold)
        return state.entered(entry).noted(kind, text, entered=[entry.as_json()])

    def _filled(self, state: BubbleState) -> BubbleState:
        while len(state.section) < self.options.size:
            entry = state.replacement(state.section, self.options.unpark_threshold)
            if entry is None:
                break
            state = self._entered(state, entry)
        return state

    def _held_back(self, state: BubbleState, pairing: Pairing, outcome: Outcome) -> BubbleState:
        """Store the result of an early game. Raises ValueError if it was not certain or is already finished."""
        if pairing.key in state.early.results:
            raise ValueError(f"{pairing.white} - {pairing.black} is already finished")
        for games in (state.early.match(pairing.pair), self.ahead(state)):
            if pairing in games:
                if outcome is Outcome.VOID:
                    return state
                match = [game for game in games if game.pair == pairing.pair]
                return replace(state, early=state.early.held_back(match, pairing.key, outcome))
        raise ValueError(f"{pairing.white} - {pairing.black} was not scheduled")

    def _due_withdrawals(self, state: BubbleState) -> BubbleState:
        now = [due for due in state.due if due.after_games <= state.finished]
        if now:
            state = replace(state, due=tuple(due for due in state.due if due.after_games > state.finished))
            for due in now:
                if due.engine not in state.gone:
                    state = self._withdrawn(state, due.engine)
        return state

    def _withdrawn(self, state: BubbleState, name: str) -> BubbleState:
        check_present(name, state.place, state.gone)
        state = replace(state, gone=state.gone | {name}).without_early(name)
        entry: Entry | None = None
        if name in state.new:
            was = "ranked"
        elif name in state.section:
            was = "active"
            state = state.withdrawn_from_section(name)
            entry = state.replacement(state.section, self.options.unpark_threshold)
        elif name in state.parked:
            was = "parked"
            state = replace(state, parked=without(state.parked, name))
        else:
            was = "listed"
            state = replace(state, old=without(state.old, name))
        if was != "ranked":
            state = replace(state, withdrawn=(*state.withdrawn, name))
        if entry is not None:
            state = state.entered(entry)
        return state.noted(
            "withdraw",
            _withdrawal_text(name, was, entry),
            engine=name,
            after_games=state.finished,
            was=was,
            replacement=entry.as_json() if entry else None,
        )

    def _added(self, state: BubbleState, name: str, instead: str | None = None) -> BubbleState:
        if state.ended:
            raise ValueError(f"{name} cannot join: the edition has ended. Hint: start the next one with run --new")
        if name in state.place:
            raise ValueError(f"{name} is already in this tournament")
        if instead is not None and instead not in state.place:
            raise ValueError(f"{instead} is not in this tournament")
        old, spot = (name, *state.old), min(state.place.values(), default=0) - 1
        if instead is not None:
            spot = state.place[instead]
            if instead in state.old:
                at = state.old.index(instead)
                old = (*state.old[:at], name, *state.old[at:])
        state = replace(state, old=old, place={**state.place, name: spot})
        text = f"{name} joins at the bottom of the list" if instead is None else f"{name} takes the place of {instead}"
        return state.noted("add", text, engine=name, instead=instead)
