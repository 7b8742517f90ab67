"""What a plan asks of every machine of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.interop.files import file_digest
from enginetour.tournament.cluster.machines import Demand, Origin, demand_of
from enginetour.tournament.plan import prepare
from tests.test_polyglot import book
from tests.test_tablebases import folder_with
from tests.touring import config

OWN = '\n[[entrants]]\nname = "Own"\ncommand = ["/bin/cat"]\nprotocol = "uci"\noptions = { Hash = 64, Threads = 2 }\n'


def demand(folder: Path, play: str = "", more: str = OWN, *, force: bool = False) -> Demand:
    """Of two shipped engines, the second with an option, and of more."""
    given = "\noptions = { Hash = 16, Ponder = false }" + more
    path = config(folder, ("wren1", "wren2"), "roundrobin", "", given, tc=f'60+1"\n{play}\n#')
    return demand_of(prepare(path, None), force=force)


def test_engines_with_their_files_and_what_a_game_takes(tmp_path: Path) -> None:
    """The hungriest game's processors, the two largest tables; a command of the configuration has no engine file."""
    found = demand(tmp_path)
    assert [spec.name for spec in found.specs] == ["Wren 1", "Wren 2", "Own"]
    assert found.origin("Wren 1") == Origin("wren1")
    assert found.origin("Wren 2") == Origin("wren2", (("Hash", "16"), ("Ponder", "false")))
    assert found.origin("Own") is None
    assert (found.processors, found.hash_mb, found.crowded) == (2, 64 + 16, False)
    assert demand(tmp_path, force=True).crowded


def test_what_the_play_section_says(tmp_path: Path) -> None:
    """How many engines start at once, always; clocks where each machine divides them by its speed."""
    usual = demand(tmp_path)
    assert (usual.start_parallel, usual.scaled, usual.clocks) == (4, False, ())
    own = '\n[[entrants]]\nengine = "wren3"\ntc = "30"\n'
    found = demand(tmp_path, 'start_parallel = 1\nspeed = "measure"', own)
    assert (found.start_parallel, found.scaled) == (1, True)
    assert [str(clock) for clock in found.clocks] == ["30", "60+1"]


def test_tables_and_books(tmp_path: Path) -> None:
    """Folders with the number of their files, books with their digests."""
    (tmp_path / "tables").mkdir()
    folder = folder_with(tmp_path / "tables", "KQvK.rtbw", "KQvK.rtbz", "KRvK.rtbw")
    book(tmp_path / "book.bin")
    more = '\n[[entrants]]\nengine = "wren3"\nown_book = "book.bin"\n'
    found = demand(tmp_path, f'tablebases = {{ path = "{folder}" }}', more)
    assert (found.folders, found.tables) == ((folder,), 3)
    assert found.books == ((str(tmp_path / "book.bin"), file_digest(tmp_path / "book.bin")),)


@pytest.mark.parametrize("option", ['Hash = "much"', 'memory = "²"'])
def test_a_hash_that_is_no_number_counts_nothing(tmp_path: Path, option: str) -> None:
    """An engine may call by that name what it likes."""
    own = f'\n[[entrants]]\nname = "Own"\ncommand = ["/bin/cat"]\nprotocol = "uci"\noptions = {{ {option} }}\n'
    assert demand(tmp_path, more=own).hash_mb == 16
