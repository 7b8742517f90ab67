"""A report that replaces an older one has the same pages as a report from scratch, whatever happened since."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from itertools import count
from os.path import samestat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enginetour.model.game import Added, Entrant, GameVoided, Withdrawn
from enginetour.reports.review.write import write_report
from enginetour.store.log import TournamentLog
from tests.support.databases import meddled, play_on, reported_played, spec

NAMES = ("A", "B", "C", "D", "E")
MANIFEST = Path("assets", "pages.json")
Act = Callable[[TournamentLog, Path, random.Random], None]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of every file except the manifest, which has the times of the files."""
    found = {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}
    del found[str(MANIFEST)]
    return found


def more_games(log: TournamentLog, report: Path, dice: random.Random) -> None:
    play_on(log, dice.randrange(1, 4), dice.randrange(99))


def void(log: TournamentLog, report: Path, dice: random.Random) -> None:
    if standing := [line.number for line in log.games(counting=True)]:
        game = log.game(dice.choice(standing)).game
        log.record_event(GameVoided(game.pairing, game.outcome), why="wrong book")


def withdraw(log: TournamentLog, report: Path, dice: random.Random) -> None:
    if len(present := sorted(log.specs.keys() - log.gone)) > 2:
        log.record_event(Withdrawn(dice.choice(present)))


def add(log: TournamentLog, report: Path, dice: random.Random) -> None:
    name = f"New {len(log.specs)}"
    log.record_event(Added(Entrant(name, rating=dice.choice([None, 2500.0]))), spec=spec(name))


def edit(log: TournamentLog, report: Path, dice: random.Random) -> None:
    page = dice.choice(sorted(report.rglob("*.html")))
    if page.name != "index.html":
        page.write_text(page.read_text().replace("e", "E", 1))


def delete(log: TournamentLog, report: Path, dice: random.Random) -> None:
    dice.choice([one for one in sorted(report.rglob("*.html")) if one.name != "index.html"]).unlink()


def link(log: TournamentLog, report: Path, dice: random.Random) -> None:
    page = dice.choice(sorted((report / "games").iterdir()))
    page.rename(report.parent / "moved")
    page.symlink_to(report.parent / "moved")


def damage(log: TournamentLog, report: Path, dice: random.Random) -> None:
    content = (report / MANIFEST).read_bytes()
    place = dice.randrange(len(content))
    damaged = [
        b"", b"null", b"[[]]", b"[" * 99_999, b"\xff", b'{"games/1.html": 7, "games/2.html": ["", 1, 2]}',
        content[:place], content[:place] + bytes([dice.randrange(256)]) + content[place + 1 :],
    ]  # fmt: skip
    (report / MANIFEST).write_bytes(dice.choice(damaged))


def nothing(log: TournamentLog, report: Path, dice: random.Random) -> None:
    """Only write the report again."""


ACTS: tuple[Act, ...] = (more_games, more_games, void, withdraw, add, edit, delete, link, damage, nothing)


def as_from_scratch(log: TournamentLog, report: Path) -> None:
    """Write the report again; every file equals that of a report in a new directory."""
    scratch = report.with_name("scratch")
    for folder in (report, scratch):
        write_report(log, folder)
    assert contents(report) == contents(scratch)
    shutil.rmtree(scratch)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(ACTS), min_size=1, max_size=4), st.integers(0, 999))
def test_a_report_is_that_from_scratch(acts: list[Act], seed: int) -> None:
    """After any events and any damage, every file equals that of a report in a new directory."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = folder / "report"
        store, log = reported_played(folder / "t.db", NAMES, options={"games_per_pairing": 2}, most=12, seed=seed)
        with store:
            write_report(log, report)
            for act in acts:
                act(log, report, dice)
                as_from_scratch(log, report)


def test_reports_of_other_tournaments_and_options_share_a_directory(tmp_path: Path) -> None:
    """Pages of another tournament with the same name, of another database or with other tags are not kept."""
    report, stores = tmp_path / "report", []
    for number, (seed, title) in enumerate(((1, "autumn"), (2, "autumn"), (2, "winter"), (1, "autumn"))):
        store, log = reported_played(tmp_path / f"{number}.db", NAMES, most=8, seed=seed, name=title)
        stores.append(store)
        as_from_scratch(log, report)
    for store in stores:
        store.close()


def test_only_pages_that_changed_are_written(tmp_path: Path) -> None:
    """After one more game, the pages of all games except the last two are the same files as before."""
    store, log = reported_played(tmp_path / "t.db", NAMES, most=6)
    with store:
        write_report(log, tmp_path / "report")
        before = {one.name: one.stat() for one in (tmp_path / "report" / "games").iterdir()}
        play_on(log, 1)
        write_report(log, tmp_path / "report")
        after = {one.name: one.stat() for one in (tmp_path / "report" / "games").iterdir()}
    kept = {name for name, found in after.items() if name in before and samestat(found, before[name])}
    assert sorted(after) == [f"{number}.html" for number in range(1, 8)]
    assert kept == {f"{number}.html" for number in range(1, 6)}
    assert all(found.st_nlink == 1 for found in after.values())


def test_a_game_that_has_lost_its_moves_has_no_page(tmp_path: Path) -> None:
    """The other pages are written and kept as usual."""
    store, log = reported_played(tmp_path / "t.db", NAMES, most=6)
    with store:
        meddled(tmp_path / "t.db", "DELETE FROM moves WHERE game = (SELECT id FROM games WHERE number = 3)")
        for _ in range(2):
            write_report(log, tmp_path / "report")
            assert sorted(one.name for one in (tmp_path / "report" / "games").iterdir()) == [
                f"{number}.html" for number in (1, 2, 4, 5, 6)
            ]
        play_on(log, 1)
        as_from_scratch(log, tmp_path / "report")


@pytest.mark.parametrize("stopped_at", [1, 2, 5, 9])
def test_an_interrupted_report_leaves_the_old_one(tmp_path: Path, stopped_at: int) -> None:
    """If writing stops at any page, the old report is unchanged, and the next one is that from scratch."""
    pages = count(1)

    def stop() -> None:
        if next(pages) == stopped_at:
            raise KeyboardInterrupt

    store, log = reported_played(tmp_path / "t.db", NAMES, most=6)
    with store:
        write_report(log, tmp_path / "report")
        before = contents(tmp_path / "report")
        play_on(log, 2)
        with pytest.raises(KeyboardInterrupt):
            write_report(log, tmp_path / "report", before_page=stop)
        assert contents(tmp_path / "report") == before
        assert sorted(one.name for one in tmp_path.iterdir() if "t.db" not in one.name) == ["report"]
        as_from_scratch(log, tmp_path / "report")


@pytest.mark.parametrize("failing", ["a rename", "everything after it"])
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("stopped_at", [1, 2, 6, 13])
def test_files_that_cannot_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_at: int, links: bool, failing: str
) -> None:
    """If a file cannot be moved to its place, the old report is restored; after a kill, the next report is complete."""
    store, log = reported_played(tmp_path / "t.db", NAMES, most=6)
    with store:
        write_report(log, tmp_path / "report")
        (tmp_path / "report" / "games" / "999.html").write_text("of another tournament")
        before, moves = contents(tmp_path / "report"), count(1)
        play_on(log, 2)

        def moved(source: str, target: str) -> None:
            if (number := next(moves)) == stopped_at or (number > stopped_at and failing != "a rename"):
                raise PermissionError(1, "Operation not permitted")
            rename(source, target)

        rename = os.replace
        with monkeypatch.context() as patched:
            patched.setattr("os.rename", moved)
            patched.setattr("os.replace", moved)
            if not links:
                patched.setattr("os.link", refused)
            with pytest.raises(PermissionError):
                write_report(log, tmp_path / "report")
        if failing == "a rename":
            assert contents(tmp_path / "report") == before
        assert sorted(one.name for one in tmp_path.iterdir() if "t.db" not in one.name) == ["report"]
        as_from_scratch(log, tmp_path / "report")


def test_strange_entries_of_a_report(tmp_path: Path) -> None:
    """Directories among the pages and links to directories are replaced, and what a link leads to is not changed."""
    store, log = reported_played(tmp_path / "t.db", NAMES, most=6)
    with store:
        write_report(log, tmp_path / "report")
        (tmp_path / "report" / "games" / "1.html").unlink()
        (tmp_path / "report" / "games" / "1.html" / "inside").mkdir(parents=True)
        (tmp_path / "report" / "engines").rename(tmp_path / "mine")
        (tmp_path / "report" / "engines").symlink_to(tmp_path / "mine")
        (tmp_path / "mine" / "a.html").write_text("mine")
        as_from_scratch(log, tmp_path / "report")
        assert (tmp_path / "mine" / "a.html").read_text() == "mine"


def test_pages_with_other_rights(tmp_path: Path) -> None:
    """A page that has other rights than a new page is written again."""
    store, log = reported_played(tmp_path / "t.db", NAMES, most=6)
    with store:
        write_report(log, tmp_path / "report")
        page = tmp_path / "report" / "games" / "1.html"
        rights = page.stat().st_mode
        page.chmod(0o600)
        write_report(log, tmp_path / "report")
        assert page.stat().st_mode == rights


def refused(*_: object, **__: object) -> None:
    raise PermissionError(1, "Operation not permitted")
