"""`[notify]` of a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.model.errors import InputRefused
from enginetour.tournament.config.load import load
from enginetour.tournament.config.sections import ALL, NotifySection
from tests.touring import config


def written(folder: Path, text: str) -> Path:
    return config(folder, ("wren1", "wren2"), "roundrobin", "", f"\n[notify]\n{text}\n")


def test_read(tmp_path: Path) -> None:
    """All channels, all events unless some are named; none without the section."""
    path = written(tmp_path, 'command = ["./tell", "me"]\nwebhook = "https://x.org:8/y?z=1"\napprise = ["ntfy://x"]')
    found = load(path).notify
    assert found.channels() == ("command", "webhook", "apprise")
    assert found.on == ALL
    assert load(written(tmp_path, 'on = ["finished"]')).notify.on == ("finished",)
    assert load(config(tmp_path, ("wren1", "wren2"))).notify == NotifySection()


@pytest.mark.parametrize(
    "text, words",
    [
        ('webhook = "file:///etc/passwd"', "http"),
        ('webhook = "https://"', "http"),
        ('webhook = "http://x.org:99999/"', "http"),
        ('webhook = "http://x.org/a b"', "http"),
        ('command = "rm -r x"', "write a list"),
        ('command = [""]', "notify"),
        ('on = ["finish"]', "finished"),
        ('hook = "http://x.org"', "hook"),
    ],
)
def test_refused(tmp_path: Path, text: str, words: str) -> None:
    """One line with file and line, and what is allowed."""
    with pytest.raises(InputRefused, match=words) as refused:
        load(written(tmp_path, text))
    assert "trial.toml:" in str(refused.value)


def test_addresses_are_not_stored(tmp_path: Path) -> None:
    """They are often secrets, and may change on resume."""
    path = written(tmp_path, 'webhook = "https://x.org/secret"')
    assert "secret" not in str(load(path).as_stored())
