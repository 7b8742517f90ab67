"""What the laws of formats try: a random tournament of any registered format, and what it must keep at each event."""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

import pytest

from enginetour.formats.base import SYSTEMS, Format, make_format, options_model, replay
from enginetour.formats.match import MatchState
from enginetour.formats.rounds import RoundsState
from enginetour.model.game import (
    RESULTS,
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameKey,
    GameVoided,
    Outcome,
    Pairing,
    Replaced,
    Withdrawn,
)
from enginetour.ratings.sequential import MODELS

ALL = pytest.mark.parametrize("system", sorted(SYSTEMS))


def settings_of(system: str, dice: random.Random, entrants: int) -> dict[str, object]:
    """Return settings to test; a plug-in without examples has its defaults."""
    if examples := SYSTEMS[system].examples:
        return examples(dice, entrants)
    games = dice.choice([1, 1, 2, 4])
    return (_of_rounds if "rounds" in options_model(system).model_fields else _of_pairs)(system, dice, entrants, games)


def _of_pairs(system: str, dice: random.Random, entrants: int, games: int) -> dict[str, object]:
    """Return settings of a format that lists its pairs, of a knockout or of a match."""
    match system:
        case "bubble":
            size = dice.randint(2, 6)
            return {
                "size": size,
                "min_matches": dice.randint(0, 2 * size),
                "unpark_threshold": dice.randint(0, size - 1),
                "games_per_pairing": games,
            }
        case "roundrobin":
            order = dice.choice(["berger", "seats", "circle"])
            colors = "balanced" if order == "berger" else dice.choice(["balanced", "rows"])
            ring = [[f"E{number}", f"E{(number + 1) % entrants}"] for number in range(entrants - (entrants == 2))]
            pairs = ring if dice.random() < 0.3 else []
            given = {"cycles": dice.randint(1, 3), "games_per_pairing": games, "order": order, "colors": colors}
            return given | {"pairs": pairs}
        case "gauntlet":
            seeds = dice.randint(1, entrants - 1)
            return {"seeds": seeds, "seeds_meet": dice.random() < 0.5, "games_per_pairing": games}
        case "scheveningen":
            return {"team": dice.choice([None, dice.randint(1, entrants - 1)]), "games_per_pairing": games}
        case "knockout":
            return {
                "games_per_pairing": min(games, 2),
                "seeding": dice.choice(["fold", "lottery"]),
                "passes": dice.choice(["top", "lot"]),
                "extra_pairs": dice.randint(0, 2),
                "sudden_death": dice.random() < 0.5,
                "third_place": dice.random() < 0.5,
            }
        case "double-elimination":
            return {
                "games_per_pairing": min(games, 2),
                "seeding": dice.choice(["fold", "lottery"]),
                "bracket": dice.choice(["score", "fixed"]),
                "reset": dice.random() < 0.5,
                "extra_pairs": dice.randint(0, 2),
            }
        case "adaptive":
            goals = [{"error": dice.choice([60.0, 200.0])}, {"los": 0.8, "level": 20.0}, {"top": 1, "los": 0.8}]
            names, cut = [f"E{number}" for number in range(entrants)], dice.randint(1, entrants - 1)
            between = {"divisions": [names[:cut], *([name] for name in names[cut:])], "error": 90.0}
            goal = dice.choice([*goals, {"entrant": "E1", "error": 90.0}, between])
            floors = {"min_games": dice.randint(0, 8), "share": dice.choice([0.1, 0.25, 1.0])}
            return {
                "goal": goal,
                "games": games * dice.randint(1, 15),
                "games_per_pairing": games,
                "prior_error": dice.choice([None, 60.0]),
                "ahead": dice.randint(1, 9),
                "known": dice.choice([[], [["E0", "E1", 3, 1, 0], ["E1", "E0", 0, 0, 2]]]),
                **({} if goal is between else floors),
            }
        case "match":
            elo0 = dice.choice([-150.0, 0.0, 50.0])
            sprt = {"elo0": elo0, "elo1": elo0 + 150, "model": dice.choice(MODELS)}
            most = 2 * dice.randint(1, 40)
            return {"games": most, "games_per_pairing": min(games, 2), "sprt": dice.choice([None, sprt])}
    return {}


def _of_rounds(system: str, dice: random.Random, entrants: int, games: int) -> dict[str, object]:
    """Return settings of a format that pairs round by round."""

    def in_rounds() -> dict[str, object]:
        return {"rounds": dice.randint(1, min(4, entrants - 1 + entrants % 2)), "games_per_pairing": min(games, 2)}

    def bars() -> dict[str, object]:
        return {"forbid_family": dice.random() < 0.3, "strict": dice.random() < 0.3}

    match system:
        case "entropy" | "gor-drift" | "probe":
            own: dict[str, dict[str, object]] = {
                "entropy": {"model": dice.choice(["gor", "elo", "elo-draw"])},
                "gor-drift": {"change": dice.choice(["drift", "absolute"])},
                "probe": {"model": dice.choice(["gor", "elo"]), "from_round": dice.randint(2, 3)},
            }
            return {
                **in_rounds(),
                "scoring": dice.choice(["games", "match"]),
                "rerate": dice.random() < 0.8,
                "strict": dice.random() < 0.3,
                **own[system],
            }
        case "accelrat":
            return {
                **in_rounds(),
                "scoring": dice.choice(["games", "match"]),
                "bye": dice.choice(["thesis", "gopair"]),
                **bars(),
            }
        case "epm":
            return {
                **in_rounds(),
                "seeding": dice.choice(["fold", "slip", "split-random"]),
                "steps": dice.choice([3, 100_000]),
                **bars(),
            }
        case "godraw":
            return {
                **in_rounds(),
                "attempts": dice.choice([1, 100]),
                **bars(),
            }
        case "gopair":
            return {
                **in_rounds(),
                "handicaps": dice.choice(["max", "min"]),
                "method": dice.choice(["best", "round_robin"]),
                "window": dice.choice([None, 2, 4]),
                "bye": dice.choice([[], ["E1"]]),
                "drop": {"E0": [1, 3]} if entrants > 2 and dice.random() < 0.3 else {},
            }
        case "dutch" | "swiss":
            return {
                **in_rounds(),
                "scoring": dice.choice(["games", "match"]),
                "initial_color": dice.choice(["lot", "white", "black"]),
                "acceleration": dice.choice(["none", "baku"]),
                "strict": dice.random() < 0.3,
            }
        case _:
            return _of_gotha(system, dice, in_rounds() | {"scoring": dice.choice(["games", "match"])}, bars())


def _of_gotha(
    system: str, dice: random.Random, in_rounds: dict[str, object], bars: dict[str, object]
) -> dict[str, object]:
    """Return settings of a format with the criteria of OpenGotha."""
    given: dict[str, object] = {
        **in_rounds,
        "bye": dice.choice(["gotha", "thesis"]),
        "renumber": dice.random() < 0.3,
        **bars,
    }
    if not system.startswith("swiss"):
        given["groups"] = dice.choice(["table", "bands", 2])
    if system in ("mcmahon", "swiss-gotha"):
        rules = ["position", "sos-even", "godraw", "information", "compensate", "fide"]
        given |= {"float_rule": dice.choice(rules), "half_groups": dice.random() < 0.3}
    return given


def tournament(system: str, seed: int) -> tuple[Format[Any], tuple[Entrant, ...], random.Random]:
    """Return a format of a system and its field, always the same for a seed."""
    dice = random.Random(seed)
    count = 2 if system == "match" else dice.randint(2, 9)
    entrants = tuple(
        Entrant(
            f"E{number}",
            new=dice.random() < 0.2,
            rating=100.0 * dice.randint(12, 20),
            family=dice.choice(["", "f", "g"]),
        )
        for number in range(count)
    )
    model, given_settings = options_model(system), settings_of(system, dice, count)
    if "swap" in model.model_fields:
        given_settings |= {"swap": dice.random() < 0.7, "reverse": dice.random() < 0.3}
    if "handicap" in model.model_fields and not given_settings.get("reverse") and dice.random() < 0.3:
        given_settings["handicap"] = {"correction": dice.randint(0, 1), "ceiling": dice.randint(1, 4)}
    if (
        {"absent", "half_bye"} <= set(model.model_fields)
        and "rounds" in given_settings
        and count > 4
        and dice.random() < 0.3
    ):
        rounds = given_settings["rounds"]
        given_settings["absent"] = {"E1": [dice.randint(1, rounds)]}  # type: ignore[arg-type]
        given_settings["half_bye"] = {"E2": [dice.randint(1, rounds)]}  # type: ignore[arg-type]
    return make_format(system, model.model_validate(given_settings)), entrants, dice


def outcome_of(pairing: Pairing, seed: int) -> Outcome:
    """Return a result that depends on the game only."""
    return random.Random(f"{seed} {pairing.key} {pairing.white}").choice(RESULTS)


def extension(format_: Format[Any], state: Any) -> Extended:
    """Return an extension by a round, a cycle or two games, or one that the format rejects."""
    if isinstance(state, RoundsState):
        return Extended((("rounds", state.field.rounds + 1),))
    return Extended(
        (("games", state.most + 2) if hasattr(state, "most") else ("cycles", getattr(state, "cycles", 0) + 1),)
    )


def takes(format_: Format[Any], state: Any, event: Event) -> bool:
    """Whether the format can take another entrant."""
    try:
        format_.step(state, event)
    except ValueError:
        return False
    return True


def is_decided(state: Any) -> bool:
    """Whether a match has its verdict, after which it need not keep its offers."""
    return isinstance(state, MatchState) and bool(state.verdict)


def happenings(
    format_: Format[Any], state: Any, entrants: tuple[Entrant, ...], dice: random.Random
) -> Generator[Event, Any, None]:
    """Yield random events; the caller sends the resulting state."""
    present = [entrant.name for entrant in entrants]
    finished: list[tuple[Pairing, Outcome]] = []
    troubles = dice.choice([0, 0.02, 0.1])
    joined = longer = 0
    while offers := format_.offers(state):
        if dice.random() >= troubles:
            game, outcome = dice.choice(offers), dice.choice((*RESULTS, *RESULTS, Outcome.VOID))
            if outcome is not Outcome.VOID:
                finished.append((game, outcome))
            state = yield GameFinished(game, outcome)
            continue
        kind = dice.choice(["withdraw", "add", "replace", "void", "extend"])
        if kind == "withdraw" and present:
            state = yield Withdrawn(present.pop(dice.randrange(len(present))))
        elif kind == "void" and finished:
            state = yield GameVoided(*finished.pop(dice.randrange(len(finished))))
        elif kind == "extend" and longer < 2 and takes(format_, state, grown := extension(format_, state)):
            longer += 1
            state = yield grown
        elif kind in ("add", "replace") and present and joined < 3:
            joined += 1
            entrant = Entrant(f"N{joined}")
            place = dice.randrange(len(present))
            event: Event = Replaced(present[place], entrant) if kind == "replace" else Added(entrant)
            if not takes(format_, state, event):
                continue  # a match has two engines
            if kind == "replace":
                present.pop(place)
            present.append(entrant.name)
            state = yield event


_MIDDLES = (5, 40)  # numbers of events after which a tournament is replayed


def promises(system: str, seed: int) -> None:
    """Check a tournament with random results, voids, withdrawals and additions.

    Offers stay valid; no key is offered twice or after it was played, except after a void; notes are only appended;
    offers end exactly when nothing remains; everyone is in the table once; and a replay gives the same state, also a
    replay of the first events.
    """
    format_, entrants, dice = tournament(system, seed)
    state = format_.start(entrants)
    events: list[Event] = []
    names = {entrant.name for entrant in entrants}
    gone: set[str] = set()
    played: set[GameKey] = set()
    course = happenings(format_, state, entrants, dice)
    event: Event | None = next(course, None)
    while event is not None:
        before, notes = format_.offers(state), format_.notes(state)
        state = format_.step(state, event)
        events.append(event)
        if isinstance(event, GameFinished) and event.outcome is not Outcome.VOID:
            played.add(event.pairing.key)
        elif isinstance(event, GameVoided):
            played.discard(event.pairing.key)
        elif isinstance(event, Withdrawn):
            gone.add(event.name)
        elif isinstance(event, Added | Replaced):
            names.add(event.entrant.name)
            gone |= {event.old} if isinstance(event, Replaced) else set()
        after = format_.offers(state)
        kept = {game for game in before if game.key not in played and gone.isdisjoint(game.pair)}
        assert kept <= set(after) or (is_decided(state) and not after)
        keys = [game.key for game in after]
        assert len(keys) == len(set(keys)) and played.isdisjoint(keys)
        assert all(gone.isdisjoint(game.pair) and set(game.pair) <= names for game in after)
        assert format_.notes(state)[: len(notes)] == notes
        if len(events) in _MIDDLES:
            middle = replay(format_, entrants, events)
            assert middle == state and format_.offers(middle) == after
        fewest, most = format_.remaining(state)
        assert fewest <= format_.likely(state) <= most
        assert len(after) <= (most if system == "match" else fewest)  # a test can end before all offered games
        assert bool(after) == bool(most)
        table = format_.standings(state)
        assert sorted(line.name for line in table) == sorted(names)
        ranks = [line.rank for line in table if line.rank is not None]
        assert ranks == sorted(ranks) and [line.rank for line in table[: len(ranks)]] == ranks
        try:
            event = course.send(state)
        except StopIteration:
            event = None
    assert format_.offers(state) == ()
    again = replay(format_, entrants, events)
    assert again == state
    assert format_.notes(again) == format_.notes(state)


def any_order(system: str, seed: int) -> None:
    """Check that two orders of ends give the same games, numbers, decisions and table."""
    told = []
    for order in (0, 1):
        format_, entrants, _ = tournament(system, seed)
        dice = random.Random(seed + order)
        state, games = format_.start(entrants), set()
        while offers := format_.offers(state):
            game = offers[0] if order else dice.choice((*offers, *format_.ahead(state)))
            games.add(game)
            state = format_.step(state, GameFinished(game, outcome_of(game, seed)))
        stopped = is_decided(state)  # other games may have ended by then, but the decisions are the same
        told.append((None if stopped else (games, format_.standings(state)), format_.notes(state)))
    assert told[0] == told[1]
