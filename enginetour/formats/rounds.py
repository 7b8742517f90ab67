"""Formats that pair in rounds: a pairing system, which is a function of the field, made into a format.

The next round is paired when the last game of this one is in, so a round never depends on the order in which its games
ended. Whoever withdraws is absent from the next round on; its unplayed games of this one go to its opponents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from enginetour.formats.handicap import RatingHandicap
from enginetour.formats.leave import FEWEST, Leave
from enginetour.formats.pairing.docket import fair, legs, match_games, window
from enginetour.formats.pairing.field import Board, Field, Member, Paired, Turn, Unpairable
from enginetour.formats.pairing_system import PairingSystem, RoundsOptions
from enginetour.formats.rounds_state import NOBODY, RoundsState
from enginetour.model.game import (
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameVoided,
    Note,
    Outcome,
    Pairing,
    Placed,
    Replaced,
    Withdrawn,
)


class Rounds:
    """The format that plays a pairing system's rounds."""

    def __init__(self, system: PairingSystem, seed: int = 1) -> None:
        self.system = system
        self.options: RoundsOptions = system.options
        self.leave = Leave(self.options.absent, self.options.half_bye)
        self.version = system.version
        self.seed = seed
        self.win = 2 * (self.options.games_per_pairing if self.options.scoring == "games" else 1)

    def start(self, entrants: tuple[Entrant, ...]) -> RoundsState:
        """The first round on offer. ValueError: a name twice, or a field that cannot be paired."""
        names = [entrant.name for entrant in entrants]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"entrant {name} stands there twice")
        members = tuple(map(_member, entrants))
        self.system.check(members)
        handicap = getattr(self.options, "handicap", None)
        if isinstance(handicap, RatingHandicap):
            handicap.check({entrant.name: entrant.rating for entrant in entrants})
        rounds = self.system.rounds(members)
        self.leave.check(names, rounds)
        state = RoundsState(Field(members, (), tuple(range(len(members))), rounds, self.win, self.seed))
        for warning in self.system.warnings():
            state = state.noted("warning", warning)
        there = self._there(members, state.present, 1)
        for kind, text in self.system.foreword(replace(state.field, present=there)):
            state = state.noted(kind, text)
        return self._settled(state)

    def offers(self, state: RoundsState) -> tuple[Pairing, ...]:
        """Games of the running round, board by board."""
        return state.docket.open()

    def ahead(self, _: RoundsState) -> tuple[Pairing, ...]:
        """None: the next round is paired by the results of this one."""
        return ()

    def step(self, state: RoundsState, event: Event) -> RoundsState:
        """The state after one event; the last game of a round brings the next round."""
        match event:
            case GameFinished(pairing, outcome):
                wanted = state.docket.counts(pairing)
                if outcome is Outcome.VOID:
                    return state
                state = replace(state, docket=state.docket.finished(pairing, outcome))
                return self._settled(state) if wanted else state
            case GameVoided(pairing, outcome):
                was = state.docket.voidable(pairing)
                left = {state.field.members[place].name for place in state.gone}
                if was is None or not left.isdisjoint(pairing.pair):
                    return replace(state, docket=state.docket.struck_out(pairing, outcome))
                return replace(state, docket=state.docket.reopened(pairing))
            case Withdrawn(name):
                return self._settled(self._left(state, name))
            case Added(entrant):
                return self._settled(self._joined(state, entrant))
            case Replaced(name, entrant):
                return self._settled(self._left(self._joined(state, entrant), name))
            case Extended(grown):
                return self._settled(self._extended(state, dict(grown)))

    def remaining(self, state: RoundsState) -> tuple[int, int]:
        """Bounds in games, true unless somebody comes or goes."""
        left, each = state.docket.left, self.options.games_per_pairing
        if not left or not state.running:
            return left, left
        there = replace(state.field, present=state.present)
        fewest, most = self._boards_ahead(there)
        open_boards = len(state.paired.boards)
        return left + fewest * each, left + most * each + self.system.games_ahead(open_boards + most)

    def _boards_ahead(self, field: Field) -> tuple[int, int]:
        """After the running round; with leave each round by those who are there."""
        left = field.rounds - field.number
        if not self.leave:
            return self.system.boards_ahead(field, left)
        fewest = most = 0
        for number in range(field.number + 1, field.rounds + 1):
            passed = ((Turn(),) * len(field.members),) * (number - field.number - 1)
            there = self._there(field.members, field.present, number)
            bounds = self.system.boards_ahead(replace(field, history=(*field.history, *passed), present=there), 1)
            fewest, most = fewest + bounds[0], most + bounds[1]
        return fewest, most

    def _there(self, members: Sequence[Member], present: Iterable[int], number: int) -> tuple[int, ...]:
        """Those without leave in that round."""
        return tuple(place for place in present if not self.leave.takes(members[place].name, number))

    def likely(self, state: RoundsState) -> int:
        """The middle of the bounds."""
        fewest, most = self.remaining(state)
        return (fewest + most) // 2

    def stage(self, state: RoundsState) -> tuple[int, int]:
        """The round that is played, or the last that was, and how many there are in all, at most in a knock-out."""
        number = state.field.number - (not state.running)
        return number, number if state.over and not self.system.extensible else state.field.rounds

    def too_late(self, state: RoundsState) -> str:
        """Why who joins now would play no game; logs in which somebody did are read as they are."""
        number, rounds = self.stage(state)
        return f"round {number} of {rounds}, the last, is paired" if number >= rounds and self.system.late_entry else ""

    def standings(self, state: RoundsState) -> tuple[Placed, ...]:
        """By the system's own criteria, the running round as far as it is played; the withdrawn last."""
        now = state.field
        if state.running:
            now = replace(now, history=(*now.history, self._row(state)))
        ranked = self.system.table(now, state.present)
        gone = [
            Placed(None, now.members[m].name, now.scores[m], now.games(m), "withdrawn", unplayed=now.unplayed(m))
            for m in sorted(state.gone)
        ]
        return (*ranked, *gone)

    def notes(self, state: RoundsState) -> tuple[Note, ...]:
        """Kinds: end, warning, starts, round, withdraw, add, extend, stuck."""
        return state.notes

    def _settled(self, state: RoundsState) -> RoundsState:
        """When all games of the round are in and there is another, decide it and pair the next."""
        while not state.docket.left and not state.over:
            if state.running:
                state = self._further(state)
            number = state.field.number + state.running
            if state.docket.left or number > state.field.rounds or len(state.present) < FEWEST:
                return self._ended(state)
            if state.running:
                history = (*state.field.history, self._row(state))
                state = replace(state, field=replace(state.field, history=history), running=False)
            there = self._there(state.field.members, state.present, number)
            half = tuple(m for m in state.present if self.leave.halves(state.field.members[m].name, number))
            state = self._paired(replace(state, field=replace(state.field, present=there), half=half))
        return state

    def _ended(self, state: RoundsState) -> RoundsState:
        """The last round stays open: a game of it that is struck out is played again. A knock-out tells how it fell."""
        if state.docket.left or not state.running or self.system.extensible:
            return state
        history = (*state.field.history, self._row(state))
        return _told_end(state, self.system.pair(replace(state.field, history=history, present=state.present)))

    def _paired(self, state: RoundsState) -> RoundsState:
        number, there = state.field.number, state.field.present
        alone = len(there) < FEWEST  # the others are on leave
        try:
            paired = self.system.alone(state.field) if alone else self.system.paired(state.field)
        except Unpairable as error:
            text = f"round {number} cannot be paired: {error}"
            return replace(state, over=True, paired=NOBODY, games=()).noted("stuck", text, round=number)
        if not paired.boards and not alone:
            return _told_end(replace(state, over=True, paired=NOBODY, games=()), paired)
        each = self.options.games_per_pairing
        games: list[tuple[Pairing, ...]] = []
        encounters, met = state.encounters, state.met
        for board in paired.boards:
            earlier = met.get(board.pair, 0)
            games.append(tuple(self._games(state, board, each, encounters + 1, earlier)))
            met = met.set(board.pair, earlier + each // legs(each))
            encounters += each // legs(each)
        docket = state.docket.renewed((game for board in games for game in board), window(2 * each))
        state = replace(
            state, paired=paired, games=tuple(games), docket=docket, encounters=encounters, met=met, running=True
        )
        names = [member.name for member in state.field.members]
        pairs = [[names[board.white], names[board.black]] for board in paired.boards]
        byes = [names[place] for place in paired.byes]
        odds = [board.handicap for board in paired.boards]
        fields: dict[str, object] = {"odds": odds} if any(odds) else {}
        half = [names[place] for place in state.half]
        absent = [names[place] for place in state.present if place not in {*there, *state.half}]
        fields |= {key: who for key, who in (("half_byes", half), ("absent", absent)) if who}
        texts = [
            f"{' - '.join(pair)}{f' (odds {given})' * bool(given)}" for pair, given in zip(pairs, odds, strict=True)
        ]
        asides = [
            f"{word} {', '.join(who)}"
            for word, who in (("bye", byes), ("half-point bye", half), ("absent", absent))
            if who
        ]
        text = f"round {number}: " + "; ".join([", ".join(texts) or "nobody meets", *asides, *paired.remarks])
        fields |= {"guarantee": paired.guarantee, "remarks": [*paired.remarks]}
        return state.noted("round", text, round=number, pairs=pairs, byes=byes, **fields)

    def _games(self, state: RoundsState, board: Board, games: int, encounter: int, earlier: int) -> Iterator[Pairing]:
        names = state.field.members
        return match_games(
            names[board.white].name,
            names[board.black].name,
            games=games,
            encounter=encounter,
            number=state.field.number,
            earlier=earlier,
            handicap=board.handicap,
        )

    def _further(self, state: RoundsState) -> RoundsState:
        """The same round with more games on boards that must not end level; boards in order, so timing is nothing."""
        boards, encounters, met, docket = list(state.games), state.encounters, state.met, state.docket
        for number, board in enumerate(state.paired.boards):
            if not state.gone.isdisjoint(board.pair):
                continue
            points = state.result(number)[:2]
            count = fair(self.system.more(state.field, board, points, len(boards[number])))
            if count:
                earlier = met.get(board.pair, 0)
                added = tuple(self._games(state, board, count, encounters + 1, earlier))
                boards[number] += added
                docket = docket.extended(added)
                encounters += count // legs(count)
                met = met.set(board.pair, earlier + count // legs(count))
        return replace(state, games=tuple(boards), encounters=encounters, met=met, docket=docket)

    def _row(self, state: RoundsState) -> tuple[Turn, ...]:
        both = self.options.games_per_pairing > 1
        bye = self.system.bye_points(state.field)
        return state.row(bye=bye, both_colours=both, by_match=self.options.scoring == "match")

    def _left(self, state: RoundsState, name: str) -> RoundsState:
        place = state.place(name)
        docket, called_off = state.docket.without(name)
        text = f"{name} withdraws" + (f"; {len(called_off)} of its games go to the opponent" if called_off else "")
        state = replace(state, docket=docket, gone=state.gone | {place})
        return state.noted("withdraw", text, engine=name, called_off=len(called_off))

    def _joined(self, state: RoundsState, entrant: Entrant) -> RoundsState:
        if not self.system.late_entry:
            raise ValueError("nobody can join once the first round is paired")
        if entrant.name in {member.name for member in state.field.members}:
            raise ValueError(f"{entrant.name} is in this tournament already")
        members = (*state.field.members, _member(entrant))
        history = tuple((*row, Turn()) for row in state.field.history)
        state = replace(state, field=replace(state.field, members=members, history=history), over=False)
        text = f"{entrant.name} joins from the next round on"
        return state.noted("add", text, engine=entrant.name)

    def _extended(self, state: RoundsState, grown: dict[str, int]) -> RoundsState:
        rounds = grown.pop("rounds", state.field.rounds)
        if not self.system.extensible:
            raise ValueError("the number of rounds follows from the field")
        if grown or rounds <= state.field.rounds:
            raise ValueError(f"only more than {state.field.rounds} rounds can be added")
        text = f"{rounds} rounds instead of {state.field.rounds}"
        state = replace(state, field=replace(state.field, rounds=rounds))
        return state.noted("extend", text, rounds=rounds)


def _member(entrant: Entrant) -> Member:
    return Member(entrant.name, entrant.rating, entrant.family, entrant.origin)


def _told_end(state: RoundsState, after: Paired) -> RoundsState:
    """What a system says of its last round, once."""
    text = "; ".join(after.remarks)
    return state if not text or state.notes[-1].text == text else state.noted("end", text)
