"""Tests of writing reports."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.reports.html.page import GENERATOR_TAG
from enginetour.reports.review.write import KeyedPages, check_target, write_directory


def a_page(words: str) -> str:
    return f"<!doctype html><html><head>{GENERATOR_TAG}</head><body>{words}</body></html>"


def some(words: str) -> Iterator[tuple[str, Callable[[], str]]]:
    yield "index.html", lambda: a_page(words)
    yield "engines/fruit.html", lambda: a_page("Fruit")


def nothing() -> None:
    pass


def put(target: Path, words: str = "one") -> None:
    write_directory(target, some(words), {}, before_page=nothing)


def left(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_written_and_replaced(tmp_path: Path) -> None:
    """A report replaces the previous one completely and leaves no other files."""
    target = tmp_path / "deep" / "autumn-report"
    put(target)
    assert len(list(target.rglob("*.html"))) == 2
    (target / "games").mkdir()
    (target / "games" / "1.html").write_text("of a game that is not there any more")
    put(target, "two")
    assert "two" in (target / "index.html").read_text("utf-8")
    assert left(target) == ["assets", "engines", "index.html"]
    assert left(target.parent) == ["autumn-report"]


def test_equal_pages_of_another_program_are_kept_later(tmp_path: Path) -> None:
    """Pages with new keys and the same content are made once, and then kept."""
    made: list[str] = []

    def pages(addresses: Sequence[str]) -> Iterator[tuple[str, Callable[[], str]]]:
        made.extend(addresses)
        return ((address, lambda: a_page("moves")) for address in addresses)

    for key in ("old", "new", "new"):
        made.clear()
        write_directory(tmp_path / "report", some("one"), {}, keyed=KeyedPages({"games/1.html": key}, pages))
    assert made == []


def test_what_killed_reports_left_is_swept(tmp_path: Path) -> None:
    """Old temporary directories of killed reports are removed; locked, new and foreign ones are not."""
    killed, held, new, other = (tmp_path / f".report.{end}" for end in ("abcd_123", "efgh_123", "ijkl_123", "mnop_123"))
    for folder in (killed, held, new, other):
        (folder / "games").mkdir(parents=True)
    (other / "thesis.txt").write_text("mine")
    for folder in (killed, held, other):
        os.utime(folder, (1_700_000_000, 1_700_000_000))
    holding = os.open(held, os.O_RDONLY)
    fcntl.flock(holding, fcntl.LOCK_EX)
    put(tmp_path / "report")
    os.close(holding)
    assert left(tmp_path) == [held.name, new.name, other.name, "report"]


def test_readable_by_others(tmp_path: Path) -> None:
    """The directory has the usual rights, so that a web server can read it."""
    other = tmp_path / "other"
    other.mkdir()
    put(tmp_path / "report")
    assert (tmp_path / "report").stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize("stranger", ["notes.txt", "index.html", "src/main.c"])
def test_other_folders_are_refused(tmp_path: Path, stranger: str) -> None:
    """A directory with other files is not replaced."""
    target = tmp_path / "mine"
    (target / stranger).parent.mkdir(parents=True)
    (target / stranger).write_text("<html>mine</html>")
    with pytest.raises(UsageRefused) as refused:
        put(target)
    assert "\n" not in str(refused.value) and str(target) in str(refused.value)
    assert (target / stranger).read_text() == "<html>mine</html>"
    assert left(tmp_path) == ["mine"]


def test_files_of_a_tester_in_a_report_are_kept(tmp_path: Path) -> None:
    """A report with additional files is not replaced."""
    put(tmp_path / "report")
    (tmp_path / "report" / "notes.txt").write_text("mine")
    with pytest.raises(UsageRefused, match=r"contains notes\.txt"):
        put(tmp_path / "report", "two")


def test_files_and_links_are_refused(tmp_path: Path) -> None:
    """A file or a symbolic link is not replaced."""
    (tmp_path / "file").write_text("mine")
    put(tmp_path / "report")
    (tmp_path / "link").symlink_to(tmp_path / "report")
    for name in ("file", "link"):
        with pytest.raises(UsageRefused, match="is not a directory"):
            put(tmp_path / name)
    assert (tmp_path / "link").is_symlink()


def test_empty_folders_are_taken(tmp_path: Path) -> None:
    """An empty directory is used."""
    (tmp_path / "report").mkdir()
    put(tmp_path / "report")
    assert (tmp_path / "report" / "index.html").exists()


@pytest.mark.parametrize("when", ["page", "more", "before_page"])
def test_failures_leave_the_old_one(tmp_path: Path, when: str) -> None:
    """After a failure the previous report is unchanged, without temporary files."""
    put(tmp_path / "report")

    def broken() -> str:
        raise OSError(28, "No space left on device")

    def stopped() -> None:
        raise KeyboardInterrupt

    def pages() -> Iterator[tuple[str, Callable[[], str]]]:
        yield from some("two")
        if when == "more":
            broken()  # as where a game cannot be read
        yield "games/1.html", broken if when == "page" else lambda: "a game"

    with pytest.raises((OSError, KeyboardInterrupt)):
        write_directory(tmp_path / "report", pages(), {}, before_page=stopped if when == "before_page" else nothing)
    assert "one" in (tmp_path / "report" / "index.html").read_text("utf-8")
    assert left(tmp_path) == ["report"]


def test_failed_rename_puts_the_old_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a file cannot be moved to its place, the previous report is restored."""
    put(tmp_path / "report")
    replace = os.replace

    def failing(source: str, target: str) -> None:
        if target == str(tmp_path / "report" / "index.html") and "old" not in source:
            raise OSError(5, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="Input/output"):
        put(tmp_path / "report", "two")
    assert "one" in (tmp_path / "report" / "index.html").read_text("utf-8")
    assert left(tmp_path) == ["report"]


def test_refusal_comes_before_any_work(tmp_path: Path) -> None:
    """The target is checked before pages are made."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    with pytest.raises(UsageRefused):
        check_target(tmp_path / "mine")
