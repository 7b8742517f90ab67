"""Hints of an examination in an engine file: what they change, and that everything else stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.engines.enginefile import hinted, read_entry, write_hints
from enginetour.model.errors import InputRefused

FILE = """\
# mine
name = "Kite"  # the best
command = "/bin/cat"
protocol = "cecp"
limits = ["clock", "depth"]

[options]
Hash = 64

[quirks]  # why not
whitepov = true  # sic
"""


def test_hints_change_and_add_lines(tmp_path: Path) -> None:
    """At the top, in a section that is there; comments and the rest stay."""
    path = tmp_path / "kite.toml"
    path.write_text(FILE)
    write_hints(path, path, {"limits": ("clock",), "quirks.whitepov": False, "quirks.line_delay_ms": 100})
    entry = read_entry(path)
    assert entry.limits == frozenset({"clock"})
    assert not entry.quirks.whitepov
    assert entry.quirks.line_delay_ms == 100
    assert entry.options == {"Hash": 64}
    changed = [line for line in FILE.splitlines() if line not in path.read_text().splitlines()]
    assert changed == ['limits = ["clock", "depth"]', "whitepov = true  # sic"]


def test_a_section_that_lacks_is_made(tmp_path: Path) -> None:
    """Behind everything else; a new key of the file itself stands before its first section."""
    path = tmp_path / "kite.toml"
    path.write_text('name = "Kite"\ncommand = "cat"\nprotocol = "uci"\n\n[options]\nHash = 64\n')
    copy = tmp_path / "engines" / "kite.toml"
    write_hints(path, copy, {"limits": ("clock",), "quirks.restart": True})
    assert copy.read_text() == (
        'name = "Kite"\ncommand = "cat"\nprotocol = "uci"\nlimits = ["clock"]\n\n[options]\nHash = 64\n\n'
        "[quirks]\nrestart = true\n"
    )
    assert "restart" not in path.read_text()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (FILE.replace("[quirks]  # why not\nwhitepov = true  # sic\n", "[quirks.deep]\n"), "Kite|kite|quirks"),
        ('name = "Kite"\ncommand = "cat"\nprotocol = "cecp"\nquirks = { whitepov = true }\n', "by hand"),
        ('name = "Kite"\ncommand = ["{here}/cat"]\nprotocol = "cecp"\n', "names files beside it"),
    ],
)
def test_what_cannot_be_written_changes_nothing(tmp_path: Path, text: str, told: str) -> None:
    """The file stays as it was, and nothing is left beside it."""
    path = tmp_path / "kite.toml"
    path.write_text(text)
    target = tmp_path / "engines" / "kite.toml" if "here" in text else path
    with pytest.raises(InputRefused, match=told):
        write_hints(path, target, {"quirks.restart": True})
    assert path.read_text() == text
    assert [file.name for file in tmp_path.iterdir()] == ["kite.toml"]


def test_hints_twice_are_hints_once() -> None:
    """The same text again."""
    hints = {"limits": ("clock",), "quirks.restart": True}
    assert hinted(hinted(FILE, hints), hints) == hinted(FILE, hints)
