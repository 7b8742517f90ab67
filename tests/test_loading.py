"""Loading without looks for garbage."""

from __future__ import annotations

import gc

import pytest

from enginetour.cli.loading import loading


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
