"""A match that was refused named a line of a file that was gone by then, and left a lock for a match that never was."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.cli.run import Run
from tests.touring import tour

PAIR = ("match", "wren1", "wren2", "--games", "2", "--max-moves", "20")
ONLY_CLOCK = ("--entrant", "wren2.limits=clock,depth")


def here(folder: Path) -> list[Path]:
    """Everything but the two files that SQLite keeps beside a database that is open."""
    return sorted(path for path in folder.rglob("*") if path.suffix not in (".db-shm", ".db-wal"))


def refused(folder: Path, *words: str, code: int = 3) -> str:
    """What is said on stderr; stdout is silent, and the folder as it was."""
    before = here(folder)
    done = tour(folder, *PAIR, *words, expect=code)
    assert done.stdout == ""
    assert here(folder) == before
    assert ".toml" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--tc", "nodes=1000", *ONLY_CLOCK), "enginetour: --tc: Wren 2 does not obey nodes (nodes=1000)"),
        (("--entrant", "2.tc=nodes=1000", *ONLY_CLOCK), "enginetour: --entrant: Wren 2 does not obey nodes"),
        (("--white-tc", "nodes=9", *ONLY_CLOCK), "enginetour: --white-tc: Wren 2 does not obey nodes"),
        (("--tc", "depth=1", "--openings", "no.epd"), "named in --openings"),
        (("--tc", "depth=1", "--entrant", "wren1.margin_ms=-1"), "enginetour: --entrant: "),
        (("--tc", "depth=1", "--entrant", "2.family= x"), "enginetour: --entrant: "),
        (("--entrant", "wren2.limits=clock"), ""),
        (("--draw", "40"), "--draw: play.draw: expected a table of after_move, moves, score, found 40"),
        (("--tablebases", "/syzygy"), "--tablebases: play.tablebases: expected a table of path, pieces"),
        (("--draw", "movenumber=40 movecount=8 score=10"), "'play.draw.movenumber'; known: after_move, moves, score"),
        (("--sprt", "elo0=0 elo_1=5"), "'format.sprt.elo_1', did you mean 'elo1'?"),
        (("--sprt", "elo0=-.5 elo1=5. alpha=.05"), "elo1: input should be a valid number, found '5.'"),
        (("--sprt", "elo0=-.5 elo1=.5 alpha=.05"), ""),
    ],
)
def test_a_refusal_names_what_was_typed(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    """The option, not a line; no folder is left either."""
    if told:
        assert told in refused(tmp_path, *words)
    else:
        tour(tmp_path, *PAIR, *words, "--write-only")


def test_no_lock_of_a_match_that_never_was(tmp_path: Path) -> None:
    """Its engines are tried under the lock, for there is a database: the file goes with it."""
    tour(tmp_path, *PAIR, "--tc", "depth=1")
    assert not list(tmp_path.rglob("*.lock"))
    said = refused(tmp_path, "--tc", "depth=1", "--name", "bad", "--option", "wren1.Hsh=3")
    assert "engine Wren 1: unknown option 'Hsh'" in said


def test_a_match_that_was_stopped_before_it_began_has_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while its engines were tried ended with 5, for its result was looked up: with and without a database."""
    for name in ("one", "two"):
        with monkeypatch.context() as patch:
            patch.setattr(Run, "go", lambda *_, **__: 130)
            done = tour(tmp_path, *PAIR, "--tc", "depth=1", "--name", name, expect=130)
            assert done.stderr == ""
        if name == "one":
            tour(tmp_path, *PAIR, "--tc", "depth=1")
