"""Tests of tables as markup."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from enginetour.formats.pairing.standings import CrossRow
from enginetour.model.game import Outcome
from enginetour.reports.html.page import read_asset
from enginetour.reports.html.tables import (
    CrossGames,
    Site,
    crosstable_markup,
    engine_link,
    game_link,
    list_address,
    list_parts,
    list_table,
    section_id,
)
from tests.support.databases import Page, reported_played

LARGEST = 2_000_000  # bytes of a page


def test_two_hundred_engines_are_one_readable_crosstable() -> None:
    """The crosstable of 200 engines is below the size limit, with a fixed head and first column."""
    names = [f"Engine number {n} of a long name {n % 7}.{n % 10}" for n in range(200)]
    cells = [
        [CrossGames(((1000 * r + c, 2), (1000 * c + r, 0))) if r != c else None for c in range(200)] for r in range(200)
    ]
    rows = [CrossRow(name, 199 * 2, 199 * 2, tuple(own)) for name, own in zip(names, cells, strict=True)]
    site = Site("x", (), {name: f"engine-{n}" for n, name in enumerate(names)})
    text = str(crosstable_markup(rows, site, "crosstable.html"))
    assert len(text.encode()) < LARGEST
    page = Page(text)
    assert sum(own.get("class") == "stick" for own in page.tags("th")) == 201
    assert page.said.count("10") >= 200 * 199
    css = read_asset("report.css")
    assert re.search(r"\.cross \.stick \{[^}]*position: sticky; left: 0", css)
    assert re.search(r"\.cross thead th \{[^}]*position: sticky; top: 0", css)


def test_crosstable_of_many_links_stays_small() -> None:
    """The largest crosstable with links is below the size limit."""
    names = [f"{n}" * 30 for n in range(1, 101)]
    numbers = iter(range(10**6))
    cells = [
        [CrossGames(((next(numbers), 2), (next(numbers), 0))) if r != c else None for c in range(100)]
        for r in range(100)
    ]
    rows = [CrossRow(name, 198, 198, tuple(own)) for name, own in zip(names, cells, strict=True)]
    text = str(crosstable_markup(rows, Site("x", ()), "crosstable.html"))
    assert '<a href="games/' in text
    assert len(text.encode()) < LARGEST


def test_long_lists_of_games_are_parted(tmp_path: Path) -> None:
    """A long list of games is split into pages below the size limit without losing a game."""
    store, log = reported_played(tmp_path / "db", ("Fruit", "Toga"), most=1)
    with store:
        (line,) = log.games()
    other = {"white": "W" * 100, "black": "<" * 50, "outcome": Outcome.WHITE}
    games = [line.model_copy(update=other | {"number": n}) for n in range(1, 20_001)]
    parts = list_parts(games)
    assert [one.number for part in parts for one in part] == list(range(1, 20_001))
    site = Site("x", ())
    sizes = [len(str(list_table(part, site, list_address(n))).encode()) for n, part in enumerate(parts[:2])]
    assert len(parts) > 2
    assert all(LARGEST / 2 < size < LARGEST * 0.95 for size in sizes), sizes


def test_addresses_of_a_site() -> None:
    """Links are correct from a directory, with a prefix and inside a single file."""
    site = Site("x", ())
    assert site.link("games/3.html", "index.html") == "games/3.html"
    assert site.link("index.html", "games/3.html") == "../index.html"
    assert replace(site, prefix="/t/autumn/").link("games/3.html", "games/4.html") == "/t/autumn/games/3.html"
    assert replace(site, single=True).link("games/3.html", "index.html") == "#games-3"
    assert section_id("index.html") == "index"


def test_engines_without_a_page_are_not_linked() -> None:
    """Engines and games without a page are not links."""
    site = Site("x", (), {"Fruit": "fruit"}, frozenset({3}))
    assert engine_link("Fruit", site, "index.html") == '<a href="engines/fruit.html"><bdi>Fruit</bdi></a>'
    assert engine_link("Toga", site, "index.html") == "<bdi>Toga</bdi>"
    assert [game_link(number, site, "index.html") for number in (3, 4)] == ['<a href="games/3.html">3</a>', "4"]


def test_long_names_are_not_cut() -> None:
    """Long names are not shortened, since they can differ in the last character only."""
    site, name = Site("x", ()), "engine-dev-20261122-a1b2c3d4" * 4
    assert str(engine_link(name, site, "index.html")) == f"<bdi>{name}</bdi>"
    assert str(engine_link("Fruit 2.1 <b>", site, "index.html")) == "<bdi>Fruit 2.1 &lt;b&gt;</bdi>"
    assert "ellipsis" not in read_asset("report.css")
