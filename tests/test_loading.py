"""Loading without looks for garbage."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from enginetour.cli.loading import loading
from tests.touring import entrant

USUAL = '[tournament]\nname = "t"\n[format]\nsystem = "roundrobin"\n[play]\ntc = "1+1"\nopenings = {plies = 0}\n'
PREPARED = "import sys; from pathlib import Path; from enginetour.plan import prepare; prepare(Path('t.toml'), None)"


def test_garbage_is_looked_for_once_all_is_loaded() -> None:
    """Not before, and what was loaded is looked through no more."""
    try:
        with loading() as loaded:
            assert not gc.isenabled()
            loaded()
            assert gc.isenabled()
            assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_a_refusal_while_something_is_loaded_changes_nothing() -> None:
    """A configuration that cannot be read, in a process that lives on."""
    with pytest.raises(ValueError, match="refused"), loading():
        raise ValueError("refused")
    assert gc.isenabled()


def test_a_plan_of_games_from_the_usual_start_needs_no_board(tmp_path: Path) -> None:
    """The rules of chess are loaded by the slots meanwhile; their tables are a tenth of the way to the first game."""
    (tmp_path / "t.toml").write_text(USUAL + "".join(entrant(name, ["/bin/cat"]) for name in "AB"))
    words = [sys.executable, "-c", f"{PREPARED}; sys.exit('chess' in sys.modules)"]
    assert subprocess.run(words, cwd=tmp_path, check=False).returncode == 0
