"""Drawings of the pieces."""

from __future__ import annotations

import json

from enginetour.reports.html import game


def test_pieces_have_ids_and_no_styles() -> None:
    """All twelve, each drawn by attributes: a style would be refused by the page's policy."""
    drawn = game.drawn()
    assert set(drawn) == set(game.LETTERS)
    for letter, drawing in drawn.items():
        assert f'<g id="piece-{letter}"' in drawing
        assert "style=" not in drawing
        assert "class=" not in drawing
    assert 'fill="#000000"' in drawn["n"]


def test_the_script_brings_all_of_them() -> None:
    """As one object that `board.js` finds."""
    head, _, rest = game.script().partition(" = ")
    assert head == "window.chessPieces"
    assert json.loads(rest.rstrip().rstrip(";")) == dict(game.drawn())
