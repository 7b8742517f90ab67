"""Who leaves a section when its round robin is over, and who enters: rules 4 to 8, from the table's two ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from enginetour.formats.bubble_state import BubbleState, Entry

Reason = Literal["last_below_min_matches", "last_has_min_matches", "last_has_met_all_left"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings a choice depends on, counted in matches."""

    size: int
    min_matches: int
    threshold: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision: `leaver` is parked or drops out, `last` had played `matches`, `entry` comes in."""

    action: Literal["park", "drop"]
    leaver: str
    reason: Reason
    last: str
    matches: int
    entry: Entry


def choose(state: BubbleState, top: str, last: str, limits: Limits) -> Choice:
    """The decision for a complete round robin, list and parking not both empty."""
    matches = state.matches(last)
    reason: Reason = "last_below_min_matches"
    if matches >= limits.min_matches:  # rule 4
        reason = "last_has_min_matches"
    elif not state.old:
        back = state.replacement(without(state.section, top), limits.threshold)
        if back is not None and not back.to_play:  # rule 8
            reason = "last_has_met_all_left"
    parks = reason == "last_below_min_matches"  # rule 5
    leaver = top if parks else last
    entry = state.replacement(without(state.section, leaver), limits.threshold)
    assert entry is not None, "list and parking are not both empty"
    return Choice("park" if parks else "drop", leaver, reason, last, matches, entry)


def parted(state: BubbleState, choice: Choice) -> BubbleState:
    """The leaver is where the decision sends it; nobody has entered yet."""
    section = without(state.section, choice.leaver)
    if choice.action == "drop":
        return replace(state, section=section, new=(*state.new, choice.leaver))
    return replace(state, section=section, parked=(*state.parked, choice.leaver))


def without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The names but one, in their order."""
    return tuple(other for other in names if other != name)
