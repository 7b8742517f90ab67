"""A game in words: how it ended, how long it took, what there is to know of it besides its moves."""

from __future__ import annotations

from collections.abc import Iterator

from enginetour.model.game import Game, Outcome, SideRecord, Termination
from enginetour.model.variants import STANDARD, VARIANTS
from enginetour.reports.averages import nps
from enginetour.reports.fairness import machine_lines
from enginetour.reports.html.gamerow import GameRow
from enginetour.reports.html.graphs import seconds
from enginetour.reports.text import duration

SHOWN_WARNINGS = 20  # of one engine in one game
LONGEST_WARNING = 300  # signs
_RESULTS = {Outcome.WHITE: "1\u20130", Outcome.DRAW: "½\u2013½", Outcome.BLACK: "0\u20131", Outcome.VOID: "void"}
_ENDINGS = {
    Termination.MATE: "Checkmate",
    Termination.STALEMATE: "Stalemate",
    Termination.REPETITION: "Threefold repetition",
    Termination.FIFTY: "Fifty-move rule",
    Termination.MATERIAL: "Insufficient material",
    Termination.ADJUDICATION_DRAW: "Adjudicated a draw by the engines' scores",
    Termination.ADJUDICATION_RESIGN: "Adjudicated a win by the engines' scores",
    Termination.ADJUDICATION_LENGTH: "Adjudicated a draw by its length",
    Termination.ADJUDICATION_TABLEBASE: "Adjudicated by tablebases",
    Termination.TIME: "Lost on time",
    Termination.ILLEGAL_MOVE: "Illegal move",
    Termination.CRASH: "An engine crashed",
    Termination.STALL: "An engine did not answer any more",
    Termination.RESIGN: "Resignation",
    Termination.CLAIM: "An engine claimed the end, rightly",
    Termination.FALSE_CLAIM: "An engine claimed an end that was none",
    Termination.AGREEMENT: "Draw by agreement",
    Termination.VARIANT: "End by the rules of the variant",
    Termination.ABORTED: "Not finished",
}


def result(row: GameRow) -> str:
    """``1–0``; ``void`` for what does not count, struck out afterwards too."""
    return _RESULTS[Outcome.VOID if row.voided else row.game.outcome]


def ending(row: GameRow) -> str:
    """How it ended, as the record says it; what there is for a record that says nothing comes from its code."""
    game = row.game
    told = f"{game.cause[0].upper()}{game.cause[1:]}" if game.cause else _ENDINGS[game.termination]
    if row.voided:
        return f"Struck out afterwards; it had ended {game.outcome}. {told}"
    return f"{told}. It does not count and is played again." if game.outcome is Outcome.VOID else told


def control(game: Game) -> str:
    """The time control, or both."""
    if game.white_tc == game.black_tc:
        return game.white_tc
    return f"White {game.white_tc or '?'}, Black {game.black_tc or '?'}"


def opening(game: Game) -> str:
    """``E00 Catalan, number 25 of the suite, 10 plies``."""
    started = game.opening
    name = started.name if started.name.startswith(started.eco) else f"{started.eco} {started.name}"
    parts = [name.strip(), f"number {started.index} of the suite" if started.index else ""]
    if started.moves:
        parts.append(f"{len(started.moves)} {'ply' if len(started.moves) == 1 else 'plies'}")
    return ", ".join(filter(None, parts)) or ("from a set position" if started.fen else "")


def facts(row: GameRow) -> Iterator[tuple[str, str]]:
    """Labels and words; what is not known is left out."""
    game, pairing = row.game, row.game.pairing
    yield "time control", control(game)
    if pairing.handicap:
        yield "time odds", f"{'White' if pairing.handicap > 0 else 'Black'} gives {abs(pairing.handicap)}"
    if game.opening.variant != STANDARD:
        yield "variant", VARIANTS[game.opening.variant].tag
    yield "opening", opening(game)
    yield "length", f"{game.plies} plies in {duration(max(0.0, game.ended - game.started))}"
    replayed = f", replay {game.replay}" if game.replay else ""
    yield "place", f"round {pairing.round}, encounter {pairing.encounter}, leg {pairing.leg}{replayed}"
    yield "hardware", game.hardware
    for words in machine_lines(game):
        label, _, rest = words.partition(": ")
        yield label, rest


def used(record: SideRecord) -> Iterator[tuple[str, str]]:
    """What one engine did in the game."""
    yield "calls itself", record.own_name
    if record.moves:
        mean, longest = seconds(record.think_ms // record.moves), seconds(record.longest_ms)
        yield "thought", f"{seconds(record.think_ms)} for {record.moves} moves, {mean} a move, longest {longest}"
    if record.least_clock_ms is not None:
        yield "least time left", seconds(record.least_clock_ms)
    if record.margin_uses:
        yield "needed the margin", _times(record.margin_uses)
    if record.cpu_ms is not None:
        yield "processor time", seconds(record.cpu_ms)
    if record.ponders:
        yield "pondered", f"{_times(record.ponders)}, guessed right {record.ponder_hits or 0}"
    told = {name: (moves, total) for name, moves, total in record.effort if moves}
    if "depth" in told:
        yield "depth, mean", f"{told['depth'][1] / told['depth'][0]:.1f}"
    if speed := nps(told):
        yield "nps, mean", f"{speed:,.0f}"
    for words in record.warnings[:SHOWN_WARNINGS]:
        yield "warning", words[:LONGEST_WARNING]
    if len(record.warnings) > SHOWN_WARNINGS:
        yield "warnings", f"and {len(record.warnings) - SHOWN_WARNINGS} more"
    for kind, count, first in record.claims:
        yield "claim", f"{kind}, {count} times, first at {first}" if count > 1 else f"{kind}, {first}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
