"""The decisions of a bubble as sentences, with their reasons."""

from __future__ import annotations

from collections.abc import Sequence

from enginetour.formats.bubble_state import Entry


def start(members: Sequence[str]) -> str:
    """The first section, lowest first."""
    return f"The lowest {len(members)} of the list form the section: {', '.join(members)}"


def entry(who: Entry, threshold: int) -> str:
    """Who comes in, from where, and why this one."""
    everybody = who.met + who.to_play
    if who.origin == "parked":
        met = f"has met {who.met} of the {everybody} remaining"
        why = f", fewer than {threshold}" if who.rule == 4 else ", of all parked the fewest, and the list is used up"
        return f"{who.engine} returns from parking: it {met}{why}; {_matches(who.to_play)} to play"
    return f"{who.engine} enters from the list; {_matches(who.to_play)} to play"


def decision(reason: str, leaver: str, last: str, matches: int, minimum: int, place: int) -> str:
    """Who leaves the section and why; `place` counts from the bottom of the new ranking."""
    if reason == "last_below_min_matches":
        few = f"has played {_matches(matches)} and may not drop out below {minimum}"
        return f"{leaver} is parked from the top: {last}, the last, {few}"
    where = f"{leaver} drops out as number {place} from below"
    if reason == "last_has_min_matches":
        return f"{where}: it is last and has played {_matches(matches)}, with {minimum} asked"
    return f"{where}: it is last and has met everybody still in, after {_matches(matches)} of {minimum}"


def finish(champion: str | None, games: int) -> str:
    """The end."""
    if champion is None:
        return "Nobody is left: the edition ends"
    return f"{champion} wins the edition: list and parking are empty, {games} games were played"


def withdrawal(name: str, was: str, replacement: Entry | None) -> str:
    """Who left from where, and who came instead."""
    if was == "ranked":
        return f"{name} withdraws; its place in the ranking stands"
    where = {"active": "the section", "parked": "parking", "listed": "the list"}[was]
    if replacement is None:
        return f"{name} withdraws from {where}"
    origin = "parking" if replacement.origin == "parked" else "the list"
    todo = _matches(replacement.to_play)
    return f"{name} withdraws from {where}; {replacement.engine} enters instead from {origin}; {todo} to play"


def addition(name: str, instead: str | None) -> str:
    """Who joined, and where it stands."""
    return f"{name} joins at the bottom of the list" if instead is None else f"{name} takes the place of {instead}"


def _matches(count: int) -> str:
    return "1 match" if count == 1 else f"{count} matches"
