"""`enginetour report`, and the report that a run writes at its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.reports.html.page import MAX_FILE_BYTES
from enginetour.store.definition import ListDefinition, define_list
from enginetour.store.editions import publish
from tests.support.databases import Page, leads_away, reported_played
from tests.support.tournaments import config, tour

FOUR = ("Fruit 2.1", "Toga II", "Phalanx XXV", "HoiChess")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a workspace with a finished tournament and a list with two editions."""
    (tmp_path / "results").mkdir()
    store, _ = reported_played(tmp_path / "results" / "enginetour.db", FOUR, options={"cycles": 2})
    with store:
        define_list(store, "blitz", ListDefinition())
        publish(store, "blitz")
        publish(store, "blitz", again=True)
    return tmp_path


def test_report_stands_beside_the_database(folder: Path) -> None:
    """Without -o, the report is next to the database, and the command prints its first page."""
    said = tour(folder, "report").stdout
    assert said == f"report: {folder / 'results' / 'autumn-report' / 'index.html'}\n"
    assert (folder / "results" / "autumn-report" / "games" / "1.html").is_file()


def test_other_folders_are_refused_in_one_line(folder: Path) -> None:
    """A directory that is not a report is not replaced; the error is one line."""
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.tex").touch()
    refused = tour(folder, "report", "-t", "autumn", "-o", "mine", expect=2)
    assert refused.stderr == (
        "enginetour: mine: contains thesis.tex, which is not part of an enginetour report."
        " Hint: choose another directory with -o.\n"
    )


def test_one_file_has_everything_in_it(folder: Path) -> None:
    """-o FILE.html writes one file without external files, with valid links and hashed scripts."""
    tour(folder, "report", "-o", "autumn.html")
    text = (folder / "autumn.html").read_text("utf-8")
    page = Page(text)
    assert leads_away(page) == []
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert len(set(page.ids)) == len(page.ids)
    assert sum(tag == "h1" for tag, _ in page.elements) == 1
    assert "games-12" in page.ids and "left-out" not in page.ids
    (policy,) = (own["content"] for own in page.tags("meta") if own.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and "unsafe" not in policy and policy.count("'sha256-") == 4
    assert not any(name.startswith("on") or name == "style" for _, own in page.elements for name in own)
    assert sorted(path.name for path in folder.iterdir()) == ["autumn.html", "results"]


def test_one_file_says_what_was_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single file that is too large leaves out games without incidents first, and reports their number."""
    monkeypatch.setattr("enginetour.reports.review.write.MAX_FILE_BYTES", 190_000)
    tour(folder, "report", "-o", "autumn.html")
    text = (folder / "autumn.html").read_text("utf-8")
    page = Page(text)
    assert len(text.encode()) < 190_000 < MAX_FILE_BYTES
    there = {int(one.removeprefix("games-")) for one in page.ids if one.startswith("games-")}
    assert 7 in there and len(there) < 12  # every seventh has a time forfeit, unless it was drawn
    assert f"{12 - len(there)} games are left out" in page.said
    assert "use enginetour report -t autumn --edition 1" in page.said
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_one_file_of_too_many_pages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the pages do not fit into one file, less important ones are left out, and links lead to a note."""
    monkeypatch.setattr("enginetour.reports.review.write.MAX_FILE_BYTES", 80_000)
    tour(folder, "report", "-o", "autumn.html")
    page = Page((folder / "autumn.html").read_text("utf-8"))
    assert "2 MB, so 12 games" in page.said and "the pages of the engines" in page.said
    assert not any(one.startswith(("games-", "engines-")) for one in page.ids)
    assert "index" in page.ids
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_list_has_a_report(folder: Path) -> None:
    """The report of a list has the list, comparisons, editions and a page for each engine."""
    said = tour(folder, "report", "blitz").stdout
    made = folder / "results" / "blitz-list-report"
    assert said == f"report: {made / 'index.html'}\n"
    pages = {str(path.relative_to(made)): Page(path.read_text("utf-8")) for path in made.rglob("*.html")}
    assert {"index.html", "superiority.html", "history.html"} < set(pages)
    assert len(pages) == 3 + len(FOUR)
    for here, page in pages.items():
        assert leads_away(page) == []
        assert all(((made / here).parent / link).is_file() for link in page.links if not link.startswith("#")), here
    tour(folder, "report", "blitz", "-o", "blitz.html")
    page = Page((folder / "blitz.html").read_text("utf-8"))
    assert {link[1:] for link in page.links} <= set(page.ids)


def test_lists_nobody_knows_are_refused(folder: Path) -> None:
    """An unknown list, or a list with a tournament, is an error, and nothing is written."""
    tour(folder, "report", "bullet", expect=2)
    tour(folder, "report", "blitz", "-t", "autumn", expect=2)
    assert sorted(path.name for path in folder.iterdir()) == ["results"]
    assert not list((folder / "results").glob("*report"))


def test_imports_have_no_report(folder: Path) -> None:
    """An import has no moves in the database, so its report is an error, and nothing is written."""
    (folder / "old.pgn").write_text('[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 1-0\n')
    tour(folder, "import", "old.pgn", "--name", "old", expect=None)
    refused = tour(folder, "report", "-t", "old", expect=2)
    assert "is an import" in refused.stderr


def test_run_leaves_a_report(tmp_path: Path) -> None:
    """A run prints the place of its report as the last line; with [report] write = false there is none."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "games_per_pairing = 2", tc="depth=1")
    assert "report:" not in tour(tmp_path, "run", str(path)).stderr
    assert not (tmp_path / "results" / "trial-report").exists()
    path.write_text(path.read_text().replace("write = false", "write = true"))
    last = tour(tmp_path, "run", str(path)).stderr.splitlines()[-1]
    assert last == f"report: {tmp_path / 'results' / 'trial-report' / 'index.html'}"
    page = Page((tmp_path / "results" / "trial-report" / "index.html").read_text("utf-8"))
    assert "enginetour run trial.toml --new" in page.said or f"enginetour run {path} --new" in page.said


def test_report_that_fails_harms_no_run(tmp_path: Path) -> None:
    """If the report cannot be written, the run prints that and keeps its exit code."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "games_per_pairing = 2", tc="depth=1")
    path.write_text(path.read_text().replace("write = false", "write = true"))
    (tmp_path / "results" / "trial-report").mkdir(parents=True)
    (tmp_path / "results" / "trial-report" / "notes.txt").touch()
    last = tour(tmp_path, "run", str(path)).stderr.splitlines()[-1]
    assert last.startswith("no report was written: ") and "contains notes.txt" in last
