"""Games as PGN, an export of the store, in the words other tools read.

Sources: the PGN standard of 1994; move comments and extra tags as cutechess and CCRL write them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from enginetour.model.game import Game, MoveMade, Outcome, Termination
from enginetour.model.timecontrol import pgn_control
from enginetour.model.variants import STANDARD, VARIANTS

if TYPE_CHECKING:
    from enginetour.openings.eco import OpeningNames


MATE_SCORE = 32000  # mate in n is +-(32000 - n)
MATE_RANGE = 1000
LARGEST_SCORE = 100_000  # centipawns that are shown
DEEPEST = 999  # plies that are shown
_ROSTER = {"Event", "Site", "Date", "Round", "White", "Black", "Result"}  # always there, PGN standard 8.1.1
_LINE = re.compile(r"(.{1,80}|[^ ]{81,})(?: |\Z)", re.DOTALL)  # a twentieth of the time of textwrap
LONGEST_TAG = 255  # PGN standard 4: lines and tokens up to 255 characters
# PGN standard 9.8.1 and the words in use for it.
_TERMINATIONS = {
    Termination.TIME: "time forfeit",
    Termination.ILLEGAL_MOVE: "rules infraction",
    Termination.FALSE_CLAIM: "rules infraction",
    Termination.CRASH: "abandoned",
    Termination.STALL: "abandoned",
    Termination.ABORTED: "abandoned",
}


LONGEST_PV = 2048  # bytes kept of a PV (runner spec 6)
NO_RATINGS: Mapping[str, float] = MappingProxyType({})

# What a comment may tell beside score, depth and time: by fastchess's names for it, in the order of runner spec 12.
_EXTRAS: Mapping[str, Callable[[MoveMade], str | None]] = MappingProxyType({
    "timeleft": lambda move: None if move.clock_ms is None else f"tl={move.clock_ms / 1000:.3f}s",
    "latency": lambda move: None if move.gap_us is None else f"lat={move.gap_us / 1_000_000:.6f}s",
    "nodes": lambda move: _named("n", move.nodes),
    "seldepth": lambda move: _named("sd", move.seldepth),
    "nps": lambda move: _named("nps", move.nps),
    "hashfull": lambda move: _named("hf", move.hashfull),
    "tbhits": lambda move: _named("tb", move.tbhits),
    "pv": lambda move: f'pv="{_inside(move.pv, LONGEST_PV)}"' if move.pv else None,
    "lines": lambda move: ", ".join(f'line="{_inside(line, LONGEST_LINE)}"' for line in move.lines) or None,
})  # fmt: skip
LONGEST_LINE = 300  # as they are kept
EXTRAS = tuple(_EXTRAS)


def text(
    game: Game,
    number: int,
    event: str,
    site: str = "?",
    *,
    comments: tuple[str, ...] = (),
    ratings: Mapping[str, float] = NO_RATINGS,
    names: OpeningNames | None = None,
) -> str:
    """One game with tags, comments and the blank line after it; `comments` are of `EXTRAS`, `ratings` by entrant.

    `names` call its opening where the suite, or nothing, did.
    """
    eco = (names.of(game) if names is not None else None) or (game.opening.eco, game.opening.name)
    return "\n".join((*_tags(game, number, event, site, ratings, eco), "", *_movetext(game, comments), "", ""))


def comment(move: MoveMade, extras: tuple[str, ...] = ()) -> str:
    """``+0.31/18 0.104s``: score in pawns from the mover's side, depth, time; ``book`` for opening moves.

    Then the `extras` that are known of the move: ``+0.31/18 0.104s, n=7279, sd=20``.
    """
    if move.book:
        return "book"
    first = _seconds(move.elapsed_ms)
    if move.score is not None:
        first = f"{score_words(move.score)}/{min(move.depth or 0, DEEPEST)} {first}"
    if not extras:
        return first
    told = (write(move) for name, write in _EXTRAS.items() if name in extras)
    return ", ".join([first, *filter(None, told)])


def _inside(words: str, longest: int) -> str:
    return clean(words, longest).replace('"', "'")


def _named(name: str, figure: int | None) -> str | None:
    return None if figure is None else f"{name}={figure}"


@lru_cache(4096)  # most are those of quick moves
def _seconds(elapsed_ms: int) -> str:
    return f"{elapsed_ms / 1000:.3f}s"


@lru_cache(4096)
def score_words(score: int) -> str:
    """Centipawns as pawns, mates as ``+M5`` (moves); at most 1,000 pawns."""
    if is_mate(score):
        return f"{'+' if score > 0 else '-'}M{MATE_SCORE - abs(score)}"
    return f"{plausible(score) / 100:+.2f}"


def plausible(score: int) -> int:
    """The score within 1,000 pawns: a faulty engine sends any number, HoiChess 99994 for a win."""
    return max(-LARGEST_SCORE, min(LARGEST_SCORE, score))


def moment(at: float) -> str:
    """UTC seconds as tags have them."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}Z"


def is_mate(score: int) -> bool:
    """A score that counts the moves to a mate. Beyond them engines have scales of their own, 99994 for a mate in 3."""
    return MATE_SCORE - MATE_RANGE <= abs(score) <= MATE_SCORE


def clean(words: str, longest: int = LONGEST_TAG) -> str:
    """Text from engines and people, safe inside a comment: printable, one line, no braces."""
    return _printable(words.replace("{", "(").replace("}", ")"), longest)


def _printable(words: str, longest: int = LONGEST_TAG) -> str:
    if not words.isprintable():
        words = "".join(sign if sign.isprintable() else " " for sign in words)
    return " ".join(words.split())[:longest]


def _quoted(words: str) -> str:
    """Inside a tag, where braces are as good as letters."""
    return _printable(words).replace("\\", "\\\\").replace('"', '\\"')


def _tags(
    game: Game, number: int, event: str, site: str, ratings: Mapping[str, float], eco: tuple[str, str]
) -> Iterator[str]:
    start = datetime.fromtimestamp(game.started, UTC)
    pairing = game.pairing
    tags = {
        "Event": event,
        "Site": site,
        "Date": f"{start:%Y.%m.%d}",
        "Round": f"{pairing.round}.{number}",
        "White": pairing.white,
        "Black": pairing.black,
        "Result": str(game.outcome),
    }
    opening = game.opening
    if opening.variant != STANDARD:
        tags["Variant"] = VARIANTS[opening.variant].tag
    if opening.fen:
        tags |= {"SetUp": "1", "FEN": opening.fen}
    for colour, name in (("White", pairing.white), ("Black", pairing.black)):
        if name in ratings:
            tags[f"{colour}Elo"] = str(round(ratings[name]))
    code, name = eco
    if code:
        tags |= {"ECO": code, "Opening": name if name != code else ""}
    white_tc, black_tc = pgn_control(game.white_tc), pgn_control(game.black_tc)
    if white_tc == black_tc:
        tags["TimeControl"] = white_tc or "?"
    else:
        tags |= {"WhiteTimeControl": white_tc, "BlackTimeControl": black_tc}
    if pairing.handicap:
        tags["Handicap"] = f"{'White' if pairing.handicap > 0 else 'Black'} gives {abs(pairing.handicap)}"
    tags |= {
        "PlyCount": str(game.plies),
        "Termination": "unterminated" if game.outcome is Outcome.VOID else termination_words(game.termination),
        "GameStartTime": moment(game.started),
        "GameEndTime": moment(game.ended),
        "GameDuration": _duration(game),
        "WhiteEngine": game.white.own_name,
        "BlackEngine": game.black.own_name,
        "Encounter": str(pairing.encounter),
        "Leg": str(pairing.leg),
        "OpeningName": opening.name,
        "OpeningNumber": str(opening.index or ""),
        "OpeningPlies": str(len(opening.moves) or ""),
        "Hardware": game.hardware,
    }
    for name, value in tags.items():
        if value or name in _ROSTER:
            yield f'[{name} "{_quoted(value) or "?"}"]'


def termination_words(termination: Termination) -> str:
    """The value of the Termination tag."""
    if termination.value.startswith("adjudication"):
        return "adjudication"
    return _TERMINATIONS.get(termination, "normal")


def _duration(game: Game) -> str:
    seconds = max(0, round(game.ended - game.started))
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _movetext(game: Game, extras: tuple[str, ...]) -> list[str]:
    number, white = _first_move(game.opening.fen)
    told: list[str] = [] if white or not game.moves else [f"{number}..."]
    for move in game.moves:
        if white:
            told.append(f"{number}.")
        else:
            number += 1
        white = not white
        san = move.san
        told.append(f"P{san}" if san[:1] == "@" else san)  # as cutechess and xboard write a pawn dropped
        told.append(f"{{{comment(move, extras)}}}")
    if game.cause:
        cause = clean(game.cause)
        told[-1:] = [f"{told[-1][:-1]}, {cause}}}"] if game.moves else [f"{{{cause}}}"]
    told.append(str(game.outcome) if game.outcome is not Outcome.VOID else "*")
    lines = wrapped(" ".join(told))
    # In column 1 a per cent sign hides its line from every reader (PGN standard 6); a bracket begins a tag for some.
    return [f"'{line}" if line.startswith(("%", "[")) else line for line in lines]


def wrapped(words: str) -> list[str]:
    """Lines of up to 80 signs (PGN standard 4.3), longer words on lines of their own; as textwrap cuts them."""
    return _LINE.findall(words)


def move_of(fen: str | None, ply: int) -> tuple[int, bool]:
    """Of the `ply`-th half-move of a game, from 1 on: the number of its move, and whether it is White's."""
    number, white = _first_move(fen)
    before = ply - 1 + (not white)
    return number + before // 2, before % 2 == 0


def _first_move(fen: str | None) -> tuple[int, bool]:
    if fen is None:
        return 1, True
    fields = fen.split()
    number = int(fields[-1]) if len(fields) > 5 and fields[-1].isdigit() else 1
    return max(1, number), fields[1:2] != ["b"]
