"""Laws of the boards behind the pages of games: python-chess is the judge of every square and every sign."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.model import Game
from enginetour.reports.html.expected import lines
from enginetour.reports.html.replay import replayed
from enginetour.variants import VARIANTS, board_of
from tests.boardwords import changed, games_with_lines, shown

USUAL = tuple(name for name, variant in VARIANTS.items() if variant.is_usual)
SPELLED = (*USUAL, "crazyhouse", "3check", "kingofthehill", "horde")  # others have laws of their own for what is legal


@settings(max_examples=60)
@given(games_with_lines())
def test_every_position_is_that_of_the_rules(drawn: tuple[Game, list[list[str]]]) -> None:
    """Changes played one after the other give the position of python-chess after each ply, in every variant."""
    game, _ = drawn
    replay = replayed(game)
    board = board_of(game.opening.variant, game.opening.fen)
    squares = shown(board)
    assert bytes(ord(sign) if sign != "-" else 0 for sign in squares) == replay.boards[0]
    assert len(replay.plies) == game.plies
    for ply, (_, words) in enumerate(replay.plies):
        board.push_uci(game.moves[ply].uci)
        squares = changed(squares, words)
        assert squares == shown(board)
        assert bytes(ord(sign) if sign != "-" else 0 for sign in squares) == replay.boards[ply + 1]


@settings(max_examples=60)
@given(st.lists(games_with_lines(SPELLED), min_size=1, max_size=3))
def test_lines_are_spelled_as_python_chess_spells_them(drawn: list[tuple[Game, list[list[str]]]]) -> None:
    """Lines of several games at once, said in UCI's words or SAN, by rules of chess and variants, but for the #."""
    found = lines([(replayed(game), game.moves) for game, _ in drawn])
    for (game, spoken), told in zip(drawn, found, strict=True):
        for line, wanted in zip(told, spoken, strict=True):
            assert line is not None
            assert not line.cut
            usual = game.opening.variant in USUAL
            ours, theirs = line.words.split(), wanted
            if usual:
                assert ours == [san.replace("#", "+") for san in theirs]
            else:  # where a variant ends a game python-chess writes a # whether it is check or not
                assert [san.rstrip("+#") for san in ours] == [san.rstrip("+#") for san in theirs]


@settings(max_examples=40)
@given(games_with_lines())
def test_the_changes_of_a_line_lead_where_it_leads(drawn: tuple[Game, list[list[str]]]) -> None:
    """A line in UCI's words or SAN, played by its changes, ends in the position the rules give it."""
    game, spoken = drawn
    board = board_of(game.opening.variant, game.opening.fen)
    [told] = lines([(replayed(game), game.moves)])
    for move, line, wanted in zip(game.moves, told, spoken, strict=True):
        assert line is not None
        squares, ahead = shown(board), board.copy(stack=False)
        assert len(line.changes.split()) == len(wanted)
        for words, san in zip(line.changes.split(), wanted, strict=True):
            ahead.push_san(san)
            squares = changed(squares, words)
        assert squares == shown(ahead)
        board.push_uci(move.uci)
