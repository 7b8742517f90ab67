"""Skips tests whose engine is not here, by name; with ENGINETOUR_NO_SKIPS=1 such a skip is a failure."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

GAMES = "/usr/games:/usr/local/games"


def find_program(name: str) -> str | None:
    """A program in PATH or the usual games folders."""
    return shutil.which(name) or shutil.which(name, path=GAMES)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("engine"):
        for name in mark.args:
            if find_program(name) is None:
                reason = f"{name} is not on this machine"
                if os.environ.get("ENGINETOUR_NO_SKIPS"):
                    pytest.fail(reason)
                pytest.skip(reason)


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test reads the user's settings."""
    for name in ("ENGINETOUR_DB", "ENGINETOUR_PASS_ENV", "ENGINETOUR_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    yield
