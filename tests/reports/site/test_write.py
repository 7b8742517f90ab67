"""The site of a league: what it contains, what a second call writes, and which directories it does not touch."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from enginetour.cli.main import cli
from enginetour.formats.league import Rules, first_season, next_season
from enginetour.model.errors import UsageRefused
from enginetour.model.game import GameVoided
from enginetour.reports.site import games, pages, write
from enginetour.reports.site.write import MANIFEST, write_site
from enginetour.store.address import slug_of
from enginetour.store.seasons import newest_season, seasons_of, write_season
from enginetour.store.tournaments import Store
from tests.support.databases import Page, leads_away, league_played, play_on, runs_strange

NAMES = ("Ada", "Bea", "Cid", "Dot", "Eve", "Fay", "Gus", "Hal")
HOSTILE = (
    "<script>alert(1)</script>", "../x", '"&\' onload=1', "\u202eevil\u2066", "x" * 90, "a\nb\x1b[31m", "%2e%2e/y",
    "H#1?",
)  # fmt: skip
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(autouse=True)
def small_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make scripts of a few games, so that a small league has several of them."""
    for module in (games, pages):
        monkeypatch.setattr(module, "GAMES_A_SCRIPT", 5)
        monkeypatch.setattr(module, "LINES_A_SCRIPT", 7)


def written(database: Path, target: Path, league: str = "Mini", base: str = "") -> int:
    """Write the site and return the number of files that have changed."""
    with Store.open(database, create=False) as store:
        return write_site(store, league, target, base=base).changed


def contents(target: Path) -> dict[str, bytes]:
    """Return all files of a site except the list of files, which has their times."""
    found = {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()}
    del found[MANIFEST]
    return found


def as_from_scratch(database: Path, target: Path) -> int:
    """Write the site, check that it is the site that is written into a new directory, and return the changed files."""
    changed, fresh = written(database, target), target.with_name(f"{target.name}-fresh")
    written(database, fresh)
    assert contents(target) == contents(fresh)
    for path in sorted(fresh.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    return changed


def unpacked(path: Path) -> list[dict[str, Any]]:
    """Return the games of a script."""
    found = re.fullmatch(r'siteGames\("([A-Za-z0-9+/=]*)"\);\n', path.read_text())
    assert found is not None
    games: list[dict[str, Any]] = json.loads(zlib.decompress(base64.b64decode(found[1])))
    return games


def all_games(target: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the games in the scripts by tournament."""
    return {
        folder.name: [game for path in sorted(folder.iterdir()) for game in unpacked(path)]
        for folder in sorted((target / "games").glob("*"))
    }


def broken_links(target: Path) -> Iterator[str]:
    """Yield the links that do not lead to a file, to a part of it, or to a game."""
    found = {path: Page(path.read_text("utf-8")) for path in target.rglob("*.html")}
    games, engines = all_games(target), {path.stem for path in (target / "engines").iterdir()}
    for path, page in found.items():
        assert leads_away(page) == [], path
        assert runs_strange(page) == [], path
        for link in page.links:
            address = urlsplit(link)
            to = (path.parent / unquote(address.path)).resolve() if address.path else path
            part = address.fragment
            if address.path and to.name == "game.html":
                slug, _, number = part.partition("/")
                right = any(game["number"] == int(number) for game in games.get(slug, ()))
            elif address.path and to.name == "games.html":
                asked = dict(each.split("=") for each in part.split("&") if each)
                right = asked.get("t") in (None, *games) and {asked.get("a"), asked.get("b")} <= {None, *engines}
            else:
                right = not part or (to in found and part in found[to].ids)
            if not (to.is_file() and right and to.is_relative_to(target.resolve())):
                yield f"{path.name}: {link}"


def test_a_season_that_has_not_begun(tmp_path: Path) -> None:
    """The first page names the tournaments that come next, and does not say that they are in progress."""
    league_played(tmp_path / "db", NAMES)
    with Store.open(tmp_path / "db") as store:
        book = newest_season(store, "Mini")
        assert book is not None
        write_season(store, "Mini", 2, {}, book.rules, next_season(book.rules, book.season, book.result(), NAMES))
    written(tmp_path / "db", tmp_path / "site")
    assert "Season 2: 0 games so far; next: Premier, First." in Page((tmp_path / "site/index.html").read_text()).said


def test_every_link_leads_to_its_target(tmp_path: Path) -> None:
    """All links of all pages lead to a file, a part of a page or a game, and no page asks another host."""
    league_played(tmp_path / "db", NAMES, 3, left=4)
    target = tmp_path / "site"
    written(tmp_path / "db", target)
    assert list(broken_links(target)) == []
    with Store.open(tmp_path / "db", create=False) as store:
        slug = store.tournament("Mini S1 Premier").slug
    assert [game["number"] for game in all_games(target)[slug]] == [*range(1, 13)]


def test_what_the_pages_show(tmp_path: Path) -> None:
    """The pages have zones, moves with reasons, playoffs, a forecast, places, and errors between divisions."""
    league_played(tmp_path / "db", NAMES, 3, left=4)
    target = tmp_path / "site"
    written(tmp_path / "db", target)
    newest = Page((target / "seasons/3.html").read_text())
    for text in ("promotion", "relegation", "4 games remain", "simulations", "Who moved, and why"):
        assert text in newest.said
    with Store.open(tmp_path / "db", create=False) as store:
        moves = seasons_of(store, "Mini")[2].season.moves
    assert {move.kind for move in moves} >= {"promoted", "relegated"}
    for move in moves:
        assert move.why in newest.said
        assert move.why in Page((target / f"engines/{slug_of(move.engine)}.html").read_text()).said
    assert re.search(r"(defeats|stays above)", Page((target / "seasons/2.html").read_text()).said)
    assert "Differences between divisions" in Page((target / "ratings.html").read_text()).said
    index = Page((target / "index.html").read_text())
    assert "Season 3: 16 games so far; in progress: Premier, First." in index.said
    assert any(own.get("class") == "chart" for own in index.tags("svg"))
    (chart,) = (own for own in index.tags("svg") if own.get("class") == "chart phone")
    assert chart["aria-label"] == "Place of each engine in the league by season"


def test_a_site_that_grew_is_the_site_from_scratch(tmp_path: Path) -> None:
    """After new games, an annulled game and a new season, the site has the same files as a new one."""
    database, target = tmp_path / "db", tmp_path / "site"
    league_played(database, NAMES, 2, left=6)
    assert as_from_scratch(database, target) == len(contents(target))
    assert written(database, target) == 0
    with Store.open(database, create=False) as store:
        log = store.tournament("Mini S2 First")
        old = {path: path.stat().st_mtime_ns for path in (target / "games" / log.slug).iterdir()}
        play_on(log, 1)
        number = log.last_number
    as_from_scratch(database, target)
    first, *_ = sorted(old)
    assert first.stat().st_mtime_ns == old[first]
    with Store.open(database, create=False) as store:
        log = store.tournament("Mini S2 First")
        game = log.game(2).game
        log.record_event(GameVoided(game.pairing, game.outcome, "dice"), (), why="dice")
    as_from_scratch(database, target)
    shown = all_games(target)[log.slug]
    assert [game["result"] for game in shown].count("*") == 1
    assert shown[1]["result"] == "*"
    assert number == len(shown)
    with Store.open(database, create=False) as store:
        for label in ("Premier", "First"):
            play_on(store.tournament(f"Mini S2 {label}"), 100)
    as_from_scratch(database, target)
    assert list(broken_links(target)) == []


def test_scripts_have_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Games that do not fit into a script are written without the lines of engines, or not at all."""
    league_played(tmp_path / "db", NAMES[:4])
    largest = [2_000_000]
    for place in range(3):
        most = 100 if place == 2 else largest[-1]
        monkeypatch.setattr(games, "MOST_BYTES", most - 1)
        target = tmp_path / f"site{place}"
        written(tmp_path / "db", target)
        largest.append(max(path.stat().st_size for path in (target / "games").rglob("*.js")))
        assert largest[-1] < most
    assert unpacked(next((target / "games").rglob("*.js"))) == []


def test_hostile_names(tmp_path: Path) -> None:
    """Names with markup, paths and control characters are texts on the pages, and files stay in the directory."""
    league, target = '../<b>"L&', tmp_path / "inside" / "site"
    league_played(tmp_path / "db", HOSTILE, 2, name=league)
    written(tmp_path / "db", target, league)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db", "inside"]
    assert list(broken_links(target)) == []
    for path in target.rglob("*.js"):
        assert "<script>" not in path.read_text("utf-8") or path.parent.name != "games"
    said = Page((target / "index.html").read_text("utf-8")).said
    assert "<script>alert(1)</script>" in said
    assert "\u202e" not in said
    ET.parse(target / "feed.xml")


def test_feeds(tmp_path: Path) -> None:
    """Both feeds can be parsed, their entries have different identifiers, and the identifiers do not change."""
    database, target = tmp_path / "db", tmp_path / "site"
    league_played(database, NAMES, 2, left=2)
    written(database, target, base="https://example.org/")
    before = json.loads((target / "feed.json").read_text())
    assert before["version"] == "https://jsonfeed.org/version/1.1"
    ids = [item["id"] for item in before["items"]]
    assert len(set(ids)) == len(ids) > 30
    assert all(item["url"].startswith("https://example.org/") for item in before["items"])
    feed = ET.parse(target / "feed.xml").getroot()
    entries = feed.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}id") for entry in entries] == ids
    for entry in (feed, *entries):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry.findtext(f"{ATOM}updated") or "")
        assert entry.findtext(f"{ATOM}title")
    with Store.open(database, create=False) as store:
        play_on(store.tournament("Mini S2 First"), 1)
    written(database, target, base="https://example.org/")
    after = [item["id"] for item in json.loads((target / "feed.json").read_text())["items"]]
    assert len(set(after) - set(ids)) == 1
    assert "url" not in json.dumps(without_base(database, tmp_path / "other"))


def without_base(database: Path, target: Path) -> object:
    """Return the JSON feed of a site whose address is not known."""
    written(database, target)
    return json.loads((target / "feed.json").read_text())


def test_files_of_others_stay(tmp_path: Path) -> None:
    """Other files in the directory stay, files of an earlier site are removed, and a file in the way is one line."""
    database, target = tmp_path / "db", tmp_path / "site"
    league_played(database, NAMES)
    league_played(database, NAMES[:4], name="Other")
    written(database, target)
    (target / "robots.txt").write_text("mine")
    (target / "engines" / "notes.txt").write_text("mine")
    edited = target / "tournaments" / next((target / "tournaments").iterdir()).name
    written(database, target, "Other")
    assert (target / "robots.txt").read_text() == (target / "engines" / "notes.txt").read_text() == "mine"
    assert not edited.exists()
    assert not any("mini" in str(path) for path in target.rglob("*"))
    (target / "seasons" / "2.html").write_text("mine")
    league_played(database, NAMES[:4], name="Other", first=2)
    with pytest.raises(UsageRefused, match=r"contains seasons/2.html, which enginetour did not write"):
        written(database, target, "Other")
    assert (target / "seasons" / "2.html").read_text() == "mine"


@pytest.mark.parametrize("files", [["notes.txt"], ["index.html"], ["assets/site.json.gz"]])
def test_other_directories_are_refused(tmp_path: Path, files: list[str]) -> None:
    """A directory that is not empty and not a site is one line, and nothing is written."""
    league_played(tmp_path / "db", NAMES[:4])
    target = tmp_path / "site"
    for name in files:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text('{"files": {"../db": ["", 1, 1]}}')
    with pytest.raises(UsageRefused, match="is not empty and is not the site of a league"):
        written(tmp_path / "db", target)
    assert [path.name for path in target.rglob("*") if path.is_file()] == [Path(name).name for name in files]
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(UsageRefused, match="is not a directory"):
        written(tmp_path / "db", tmp_path / "link")


def test_an_interrupted_site_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an error at any file, the next call writes what is missing."""
    database, target, replace = tmp_path / "db", tmp_path / "site", write._replace
    league_played(database, NAMES[:4], 2)
    left = [0]

    def failing(path: Path, data: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "no space left on device")
        replace(path, data)

    for count in (0, 1, 9, 20):
        left[0] = count
        with monkeypatch.context() as patch:
            patch.setattr(write, "_replace", failing)
            with pytest.raises(OSError, match="no space"):
                written(database, target)
    as_from_scratch(database, target)


def test_the_command(tmp_path: Path) -> None:
    """The command writes the site of the newest league next to the database, or into a directory."""
    league_played(tmp_path / "results.db", NAMES[:4])
    run = CliRunner()
    done = run.invoke(cli, ["site", "--db", str(tmp_path / "results.db")])
    assert done.exit_code == 0, done.output
    (made,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert f"site: {made / 'index.html'} (" in done.output
    again = run.invoke(cli, ["site", "--db", str(tmp_path / "results.db"), "--league", "Mini", "-o", str(made)])
    assert "(0 of " in again.output
    for words, line in ((["--url", "chess"], "is not a valid URL"), (["--league", "Maxi"], "not found")):
        found = run.invoke(cli, ["site", "--db", str(tmp_path / "results.db"), *words])
        assert isinstance(found.exception, UsageRefused)
        assert line in str(found.exception)


@pytest.mark.parametrize("qualifier", [False, True])
def test_a_league_before_its_first_game(tmp_path: Path, *, qualifier: bool) -> None:
    """A league that has not begun has a site with its divisions, or with the qualifier that decides them."""
    rules = Rules(("Premier", "First"), (2, 2), (1,), (0,))
    with Store.open(tmp_path / "db") as store:
        write_season(store, "Mini", 1, {}, rules, first_season(rules, NAMES[:5], qualifier=qualifier))
    as_from_scratch(tmp_path / "db", tmp_path / "site")
    assert list(broken_links(tmp_path / "site")) == []
    said = Page((tmp_path / "site/seasons/1.html").read_text()).said
    assert "not begun" in said
    assert ("Qualifier" in said) == qualifier
