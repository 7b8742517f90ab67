"""Laws of game pages: texts of engines and users are never markup."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.model.game import Game, Incident, MoveMade, Opening, Outcome, Pairing, SideRecord, Termination
from enginetour.model.variants import VARIANTS
from enginetour.reports.html.game import GamePage, game_page
from enginetour.reports.html.tables import Site
from tests.support.databases import Page, runs_strange

HOSTILE = st.one_of(
    st.text(max_size=60),
    st.sampled_from([
        "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", '" onmouseover="alert(1)', "'><b>",
        "<!--", "]]>", "</title>", "&lt;&#60;", "\u202e evil", "x" * 100, "{{ 7 * 7 }}", "javascript:alert(1)",
        "\x1b[2J", "</ol></details>", "e2e4\u2028</li>", "\ud800",
    ]),
)  # fmt: skip


def tags(page: Page) -> list[tuple[str, tuple[str, ...]]]:
    """Return the tags that a text cannot remove, with the names of their attributes.

    A text can be empty after control characters were removed; then its fact and description may be missing.
    """
    return [(tag, tuple(own)) for tag, own in page.elements if tag not in ("dt", "dd")]


def said(word: str, name: str, other: str) -> GamePage:
    """Make a game in which all texts of engines and users are this text."""
    moves = (
        MoveMade("e2e4", "e4", book=True),
        MoveMade("c7c5", word or "c5", 120, 59_980, -15, 14, 10**25, f"c7c5 g1f3 {word}"),
        MoveMade("g1f3", "Nf3", 90, 1000, 31_997, None, None, word),
        MoveMade(word, word, 30, 59_900, 0, 9, 0, word, lines=(word,)),
    )
    side = SideRecord(word, 2, 150, warnings=(word,), claims=(("pv-illegal", 2, word),), effort=(("depth", 2, 23),))
    incident = Incident(name, word, word, 3, (f"1.5 < {word}",), (word,), word, 9, 77, 1.5, 8)
    game = Game(
        Pairing(name, other, 2, 2, 5, 3), Outcome.BLACK, Termination.CRASH, word, name, word,
        Opening(word, 17, None, ("e2e4",), word), moves, side, side, word, word, word, 1.7e9, 1.7e9 + 60,
        incidents=(incident,), hardware=word, load_average=9.0, cores=2,
    )  # fmt: skip
    return GamePage(12, game, voided=False, before=11, after=13)


SITE = Site("title", (("index.html", "Overview"),))
PLAIN = Page(game_page(said("word", "A", "B"), SITE))


@settings(max_examples=60)
@given(HOSTILE.filter(lambda word: word.strip() != ""), HOSTILE, HOSTILE)
def test_words_never_become_markup(word: str, name: str, other: str) -> None:
    """The page has the same tags and attributes as for plain text, and no new links."""
    row = said(word, name, f"{other}2")
    page = game_page(row, replace(SITE, title=word))
    assert page.encode()  # no lone surrogate, because the file is UTF-8
    found = Page(page)
    assert tags(found) == tags(PLAIN)
    assert runs_strange(found) == []
    for address in found.links:
        assert address.startswith(("../", "#", "data:application/x-chess-pgn;base64,"))
    assert not set(page) & set("\u202e\u200f\u2028\x1b\x00")


@settings(max_examples=40)
@given(HOSTILE)
def test_what_the_script_is_told_has_no_word_of_an_engine(word: str) -> None:
    """The JSON for the script only has a position, moves and numbers."""
    row = said(word, "A", "B")
    page = game_page(replace(row, game=replace(row.game, opening=replace(row.game.opening, fen=word))), SITE)
    start = page.index('<script type="application/json">') + len('<script type="application/json">')
    told = json.loads(page[start : page.index("</script>", start)])
    assert set(told) == {"variant", "fen", "white", "number", "plies", "clocks"}
    assert told["variant"] in VARIANTS
    assert set(told["fen"] + told["plies"]) <= set("abcdefgh0123456789KQRBNPkqrbnpw/- ")
    assert all(clock is None or isinstance(clock, int) for clock in told["clocks"])


@settings(max_examples=40)
@given(HOSTILE)
def test_the_game_can_be_taken_along(word: str) -> None:
    """The PGN in the link is that of the game."""
    page = game_page(said(word, "A", "B"), SITE)
    start = page.index("base64,") + len("base64,")
    assert base64.b64decode(page[start : page.index('"', start)]).decode().startswith('[Event "')
