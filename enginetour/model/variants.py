"""Chess variants: their names in UCI, CECP and PGN, their boards and start positions; Chess960 starts.

name             rules
standard         FIDE Laws of Chess
chess960         FIDE Laws of Chess, guidelines II: one of 960 back ranks
double-chess960  the same, but each side has its own back rank
all others       the boards of chess.variant, by their UCI names
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, overload

from enginetour.model.errors import did_you_mean
from enginetour.model.game import Opening

if TYPE_CHECKING:
    import chess  # not imported at run time, because rating lists use only the names of variants


STANDARD = "standard"
CHESS960 = "chess960"
_DOUBLE_CHESS960 = "double-chess960"
BACK_RANKS = 960  # FIDE Laws of Chess, guidelines II


@dataclass(frozen=True, slots=True)
class _Variant:
    """A variant with its names in UCI and CECP; an engine gets the first name that it declares."""

    name: str
    tag: str  # name in PGN
    uci: tuple[str, ...] = ("chess",)  # values of UCI_Variant
    cecp: tuple[str, ...] = ("normal",)
    any_rank: bool = False  # back ranks are shuffled: castling is sent as king takes rook
    fifty: bool = True  # fifty moves without a capture or pawn move are a draw

    @property
    def is_usual(self) -> bool:
        """Return whether the variant has FIDE's rules and board, so that fast code for them can be used."""
        return self.name in (STANDARD, CHESS960, _DOUBLE_CHESS960)


_SHUFFLED = ("fischerandom", "chess960", "fischerrandom")  # the first is in the protocol spec; engines use all
VARIANTS: Mapping[str, _Variant] = {
    variant.name: variant
    for variant in (
        _Variant(STANDARD, "Standard"),
        _Variant(CHESS960, "Chess960", cecp=_SHUFFLED, any_rank=True),
        _Variant(_DOUBLE_CHESS960, "Chess960", cecp=_SHUFFLED, any_rank=True),
        _Variant("crazyhouse", "Crazyhouse", ("crazyhouse",), ("crazyhouse",), fifty=False),
        _Variant("atomic", "Atomic", ("atomic",), ("atomic",)),
        _Variant("antichess", "Antichess", ("antichess",), ("antichess", "giveaway")),
        _Variant("giveaway", "Giveaway", ("giveaway",), ("giveaway",)),
        _Variant("suicide", "Suicide", ("suicide",), ("suicide",)),
        _Variant("kingofthehill", "King of the Hill", ("kingofthehill",), ("kingofthehill", "king-of-the-hill")),
        _Variant("racingkings", "Racing Kings", ("racingkings",), ("racingkings",)),
        _Variant("horde", "Horde", ("horde",), ("horde",)),
        _Variant("3check", "Three-check", ("3check",), ("3check",)),
    )
}
_USUAL_START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
_TAGS_OF_STANDARD = frozenset({"", "?", "standard", "chess", "classical", "normal", "from position"})
_TAGS_OF_960 = frozenset({"chess960", "chess 960", "fischerandom", "fischerrandom", "fischer random"})


def variant_named(name: str) -> _Variant:
    """Return a variant by name; raise ValueError, with the closest name, if it is unknown."""
    if name not in VARIANTS:
        raise ValueError(f"unknown variant {name!r}{did_you_mean(name, VARIANTS)}; known: {', '.join(VARIANTS)}")
    return VARIANTS[name]


def board_of(name: str, fen: str | None = None) -> chess.Board:
    """Return a board with the variant's rules in the position `fen`, by default the initial position.

    Raise ValueError if `fen` is not a valid position.
    """
    import chess

    variant = VARIANTS[name]
    if variant.is_usual:
        return chess.Board(fen or chess.STARTING_FEN, chess960=variant.any_rank)
    from chess.variant import find_variant

    board = find_variant(variant.tag)
    return board() if fen is None else board(fen)


def describe_start(name: str) -> str:
    """Describe the start of games without an opening book; "" for standard chess, which has bundled openings."""
    if VARIANTS[name].any_rank:
        return "back ranks by number"
    return "" if name == STANDARD else f"the initial position of {name}"


@cache
def start_fen(name: str) -> str:
    """Return the initial position of a variant."""
    # The usual position is known, because pages and positions of standard chess do not need python-chess otherwise.
    return _USUAL_START if VARIANTS[name].is_usual else board_of(name).fen()


def tag_fits(tag: str, name: str) -> bool:
    """Return whether the Variant tag of a PGN game means this variant; several spellings are accepted."""
    plain = tag.strip().casefold()
    variant = VARIANTS[name]
    if variant.any_rank:
        return plain in _TAGS_OF_960
    if name == STANDARD:
        return plain in _TAGS_OF_STANDARD
    if plain in _TAGS_OF_STANDARD or plain in _TAGS_OF_960:
        return False
    from chess.variant import find_variant

    try:
        return find_variant(plain) is find_variant(variant.tag)
    except ValueError:
        return False


def shuffled_fen(white: int, black: int) -> str:
    """Return the start with back ranks by Scharnagl's numbers, 0 to 959; 518 is the standard back rank.

    Castling rights are written as in X-FEN.
    """
    import chess

    first, second = (chess.Board.from_chess960_pos(number) for number in (white, black))
    board = chess.Board(None, chess960=True)
    for square in chess.SQUARES:
        rank = chess.square_rank(square)
        piece = (second if rank > 3 else first).piece_at(square)
        if piece is not None:
            board.set_piece_at(square, piece)
    board.castling_rights = board.rooks
    return board.fen()


# Lazy sequences of openings.


class LazyOpenings(Sequence[Opening]):
    """Openings that are created, read or checked on access."""

    @abstractmethod
    def _at(self, number: int) -> Opening:
        """Return the opening at a place, from 0."""

    @overload
    def __getitem__(self, place: int) -> Opening: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Opening]: ...
    def __getitem__(self, place: int | slice) -> Opening | Sequence[Opening]:
        numbers = range(len(self))[place]
        return self._at(numbers) if isinstance(numbers, int) else [self._at(one) for one in numbers]


# Chess960 starts by number (Scharnagl, 0 to 959); double Chess960 by White's number * 960 + Black's.


def start_count(variant: str) -> int:
    """Return the number of starts of a variant."""
    return BACK_RANKS**2 if variant == _DOUBLE_CHESS960 else BACK_RANKS


class BackRanks(LazyOpenings):
    """Chess960 starts, all or some of them, created on access."""

    def __init__(self, variant: str, numbers: Sequence[int] | None = None) -> None:
        self._variant = variant
        self._numbers = range(start_count(variant)) if numbers is None else numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def _at(self, number: int) -> Opening:
        start = self._numbers[number]
        white, black = divmod(start, BACK_RANKS) if self._variant == _DOUBLE_CHESS960 else (start, start)
        name = f"SP {white} v {black}" if self._variant == _DOUBLE_CHESS960 else f"SP {start}"
        return Opening(name, number + 1, shuffled_fen(white, black), variant=self._variant)
