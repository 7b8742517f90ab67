"""What a machine of a cluster has of what a tournament needs, and what is told where it lacks something."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from enginetour.engines import identity
from enginetour.model.task import EngineSpec
from enginetour.tournament.cluster.machines import Demand, NotHere, Origin, here, lacking

ENGINE = "print('uciok')\n"
FILE = 'name = "Owl"\ncommand = ["{python}", "{here}/owl.py"]\nprotocol = "uci"\n'


def owl(folder: Path) -> EngineSpec:
    """An engine of one script, as the manager knows it."""
    folder.mkdir(parents=True)
    (folder / "owl.py").write_text(ENGINE)
    spec = EngineSpec("Owl", (sys.executable, str(folder / "owl.py")), "uci")
    return replace(spec, fingerprint=identity.fingerprint(spec))


@pytest.fixture
def there(tmp_path: Path) -> EngineSpec:
    """On the manager's machine, whose folders this one has not got."""
    spec = owl(tmp_path / "manager")
    (tmp_path / "manager" / "owl.py").unlink()
    return spec


def workspace(folder: Path, script: str) -> Path:
    """Where a worker is started, with an engine file of its own."""
    (folder / "engines").mkdir(parents=True)
    (folder / "engines" / "owl.toml").write_text(FILE)
    (folder / "engines" / "owl.py").write_text(script)
    return folder


def test_the_engine_file_of_a_machine_says_where_its_engine_is(tmp_path: Path, there: EngineSpec) -> None:
    """Another path, the same content: the same engine; options and limits stay the manager's."""
    start = workspace(tmp_path / "worker", ENGINE)
    asked = replace(there, options=(("Hash", "16"),))
    asked = replace(asked, fingerprint="")
    found = here(asked, Origin("owl"), start)
    assert found.command == (sys.executable, str(start / "engines" / "owl.py"))
    assert found.options == asked.options
    assert here(there, Origin("owl"), start).command == found.command


def test_another_build_is_no_such_engine(tmp_path: Path, there: EngineSpec) -> None:
    """Both fingerprints are told, and whose file it was."""
    start = workspace(tmp_path / "worker", ENGINE + "# changed\n")
    with pytest.raises(NotHere, match=f"another build: .* not {there.fingerprint}"):
        here(there, Origin("owl"), start)


def test_without_an_engine_file_the_manager_s_path_counts(tmp_path: Path) -> None:
    """A shared folder, or the same package; nothing at the path is told with the path."""
    spec = owl(tmp_path / "shared")
    assert here(spec, None, tmp_path) == spec
    gone = replace(spec, command=("/no/such/owl",))
    with pytest.raises(NotHere, match="no program /no/such/owl"):
        here(gone, None, tmp_path)


def test_a_shipped_engine_is_found_by_its_id(tmp_path: Path) -> None:
    """Wherever enginetour is installed its own engines are."""
    gone = EngineSpec("Wren 1", ("/no/such/python", "wren.py", "1"), "uci")
    assert here(gone, Origin("wren1"), tmp_path).command[0] == sys.executable


def test_all_that_is_missing_is_told(tmp_path: Path) -> None:
    """Tables, books, processors and memory, each in a few words; nothing where nothing is missing."""
    book = tmp_path / "book.bin"
    book.write_bytes(b"0" * 16)
    empty = tmp_path / "tables"
    empty.mkdir()
    much = Demand(
        (),
        folders=(str(empty),),
        tables=5,
        books=((str(book), "other"), ("/no/book", "")),
        processors=1_000,
        hash_mb=10**9,
    )
    told = lacking(much, 2, tmp_path, 1.0)
    assert [words.partition(":")[0] for words in told] == ["tablebases", "book", "book", "processors", "memory"]
    assert "0 of 5 files" in told[0]
    assert "is another one" in told[1]
    assert "no file /no/book" in told[2]
    assert lacking(replace(much, folders=("/no/tables",)), 1, tmp_path, 1.0)[0] == "tablebases: no folder /no/tables"
    assert lacking(Demand(()), 1, tmp_path, 1.0) == ()
    assert lacking(Demand((), processors=1_000, crowded=True), 1, tmp_path, 1.0) == ()
