"""What happened, in a few sentences: results, endings, the longest and the shortest game, who came and left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from enginetour.model.game import Note, Outcome
from enginetour.reports.endings import endings_counted, endings_words
from enginetour.reports.text import duration
from enginetour.store.games import GameLine

TOLD_NOTES = (
    "warning",
    "add",
    "withdraw",
    "extend",
    "known",
    "reopened",
    "undecided",
    "stuck",
    "verdict",
    "end",
    "finish",
)  # not single pairings


@dataclass(frozen=True, slots=True)
class Happened:
    """A sentence, and the number of the game it is about, if it is about one."""

    text: str
    number: int | None = None


def story_of(games: Sequence[GameLine], notes: Sequence[Note]) -> tuple[Happened, ...]:
    """From the games of the log and the decisions of its format."""
    return (*_games([game for game in games if game.counts]), *_void(games), *_notes(notes))


def _games(games: Sequence[GameLine]) -> Iterator[Happened]:
    if not games:
        yield Happened("No game has been finished yet.")
        return
    parts = [
        f"{word} {sum(game.outcome is outcome for game in games):,}"
        for word, outcome in (("White won", Outcome.WHITE), ("drawn", Outcome.DRAW), ("Black won", Outcome.BLACK))
    ]
    yield Happened(f"{len(games):,} game{'s' * (len(games) != 1)}: {', '.join(parts)}.")
    words = endings_words(endings_counted(games))
    yield Happened(f"{words[0].upper()}{words[1:]}.")
    spans = [game.ended - game.started for game in games]
    plies = sum(game.plies for game in games) / len(games)
    yield Happened(f"A game took {duration(sum(spans) / len(games))} and {plies / 2:.0f} moves on average.")
    longest = max(games, key=lambda game: game.plies)
    shortest = min(games, key=lambda game: game.plies)
    for word, game in (("Longest", longest), ("Shortest", shortest)):
        moves = (game.plies + 1) // 2
        yield Happened(f"{word}: {game.white} - {game.black} {game.outcome}, {moves} moves", game.number)


def _void(games: Sequence[GameLine]) -> Iterator[Happened]:
    void = sum(game.outcome is Outcome.VOID for game in games)
    struck = sum(game.voided and game.outcome is not Outcome.VOID for game in games)
    if void:
        yield Happened(f"{void} game{'s' * (void != 1)} did not count and went back on offer.")
    if struck:
        yield Happened(f"{struck} game{'s' * (struck != 1)} struck out afterwards.")


def _notes(notes: Sequence[Note]) -> Iterator[Happened]:
    for note in notes:
        if note.kind in TOLD_NOTES:
            yield Happened(note.text)
