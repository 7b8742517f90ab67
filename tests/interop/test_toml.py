"""Lines of keys in TOML files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from enginetour.interop.toml import ConfigDraft, line_of_key, read_toml, validation_error
from enginetour.model.errors import InputRefused

TEXT = '''\
a = 1
[x.y]
b = """
c = 3 \\"""\\" """
"q r".s = [ # hi ]
  { engine = "x]", options = { Hash = 1 } },
  "]", [ 7,
    8 ],
]
[[e]]
n = 1
[e.sub]
k = 2000-01-01 00:00:00
[[e]]
'n' = 2
[e.sub]
z = 'x' # n = 3
[[e.deep]]
w = 1
'''


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("a",), 1),
        (("x",), 2),
        (("x", "y", "b"), 3),
        (("x", "y", "c"), 2),
        (("x", "y", "q r", "s"), 5),
        (("x", "y", "q r", "s", 0, "options", "Hash"), 6),
        (("x", "y", "q r", "s", 1), 7),
        (("x", "y", "q r", "s", 2, 1), 8),
        (("e",), 10),
        (("e", 0, "n"), 11),
        (("e", 1), 14),
        (("e", 1, "n"), 15),
        (("e", 1, "sub", "function-after[f()]", "z"), 17),
        (("e", 1, "deep", 0, "w"), 19),
        (("e", 1, "missing"), 14),
        (("nowhere",), 0),
    ],
)
def test_lines(keys: tuple[str | int, ...], line: int) -> None:
    """The line of a key is its first; a missing key has the line of its section."""
    tomllib.loads(TEXT)
    assert line_of_key(TEXT, keys) == line


@given(st.text(alphabet="ab=[]{}\",\n'#. 1", max_size=60))
def test_any_text(text: str) -> None:
    """Any text is scanned without an error, and every key of valid TOML is found."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        table = {}
    for key in table:
        assert line_of_key(text, (key,)) > 0


class _Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    slots: int = 1


class _Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    play: _Inner | None = None
    name: str


def _refused(text: str) -> str:
    with pytest.raises(ValidationError) as caught:
        _Outer.model_validate(tomllib.loads(text))
    return str(validation_error(caught.value, Path("t.toml"), text, _Outer))


def test_refusals() -> None:
    """An error names file and line, what was found, and a similar key."""
    assert _refused('name = "x"\n[play]\nslot = 1') == "t.toml:3: unknown key 'play.slot', did you mean 'slots'?"
    assert _refused("\n[play]\n") == "t.toml: name is missing"
    assert _refused('name = "x"\n[play]\nslots = true').endswith("(found true)"), "as in the file, not as in Python"
    assert _refused('name = "x"\n[play]\nslots = "2"').startswith("t.toml:3: play.slots: must be a whole number")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = 1\nb = [", "t.toml:2: not valid TOML"),
        ("a = 1\nb = @", "t.toml:2: not valid TOML"),
        ("a = 1\nb = 2\na = [\n3,\n]\nc = 4", "t.toml:3: not valid TOML: a is written twice, first in line 1"),
        ("[a]\n[b]\n[a]", "t.toml:3: not valid TOML: a is written twice, first in line 1"),
        ("[a]\nb = 1\n'b' = 2", "t.toml:3: not valid TOML: a.b is written twice, first in line 2"),
        ("x = 1\na = { b = 1, b = 2 }", "t.toml:2: not valid TOML: a.b is written twice"),
        ("[[e]]\nb = 1\n[[e]]\nb = 1\nb = 2\n", "t.toml:5: not valid TOML: e.2.b is written twice, first in line 4"),
        ("[[e]]\n[e.x]\n[[e]]\n[e.x]\n[e.x]\n", "t.toml:5: not valid TOML: e.2.x is written twice, first in line 4"),
        ("a.b = 1\n[a]\n", "t.toml:2: not valid TOML: a is written twice, first in line 1"),
        ("a = 1\n[a.b]\n", "t.toml:2: not valid TOML: a is written twice, first in line 1"),
        ("a = [1]\n[[a]]\n", "t.toml:2: not valid TOML: a is written twice, first in line 1"),
        ("a = 1\na.b = 2\n", "t.toml:2: not valid TOML: a is written twice, first in line 1"),
        ("[p]\nslots = 9223372036854775808", "t.toml:2: p.slots: must be at most 9223372036854775807"),
        ("[p]\nseeds = [1, -9223372036854775809]", "t.toml:2: p.seeds.2: must be at least -9223372036854775808"),
        ('[a]\nb = ["x", "y\\u0000"]', "t.toml:2: a.b.2: contains a null character (found 'y\\x00')"),
        ("options = { Key = 9223372036854775808 }", "(found 9223372036854775808). Hint: write it in quotes"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("#" * 1_000_001, "larger than 1,000,000 bytes"),
    ],
)
def test_hostile_files(tmp_path: Path, text: str, words: str) -> None:
    """Invalid, deep or large files raise an error of one line."""
    path = tmp_path / "t.toml"
    path.write_text(text)
    with pytest.raises(InputRefused) as caught:
        read_toml(path, "a configuration")
    assert words in str(caught.value)


def test_unreadable(tmp_path: Path) -> None:
    """A missing file, a directory and binary content have different errors."""
    (tmp_path / "latin").write_bytes(b'b = 1\na = "\xe9"')
    for name, words in (
        ("none", "file not found, expected an opening book. Hint: go"),
        (".", "a directory"),
        ("latin", r"latin:2: the text is not UTF-8 \(found byte 0xe9\). Hint: save the file as UTF-8"),
    ):
        with pytest.raises(InputRefused, match=words):
            read_toml(tmp_path / name, "an opening book", step="go")


def test_all_paths_of_a_configuration_in_another_directory(tmp_path: Path) -> None:
    """A draft for another directory has absolute paths, in each form in which the configuration may have a path."""
    (tmp_path / "hook.sh").touch()
    play = {"eco": "eco.tsv", "openings": {"file": "book.epd", "plies": 8}, "tablebases": {"path": ["six", "five"]}}
    entrants = ({"own_book": "own.bin"}, {"own_book": {"file": "own.bin"}, "command": ["./engine", "hook.sh"]})
    more: dict[str, dict[str, Any]] = {
        "defaults": {"dir": "work", "own_book": "own.bin"},
        "notify": {"command": ["./hook.sh", "now"], "on": ["stopped"]},
    }
    found = ConfigDraft({}, {}, entrants, play, more=more).anchored(tmp_path)
    at = str(tmp_path)
    assert found.play == {
        "eco": f"{at}/eco.tsv",
        "openings": {"file": f"{at}/book.epd", "plies": 8},
        "tablebases": {"path": [f"{at}/six", f"{at}/five"]},
    }
    assert found.entrants == (
        {"own_book": f"{at}/own.bin"},
        {"own_book": {"file": f"{at}/own.bin"}, "command": [f"{at}/engine", f"{at}/hook.sh"]},
    )
    assert found.more == {
        "defaults": {"dir": f"{at}/work", "own_book": f"{at}/own.bin"},
        "notify": {"command": [f"{at}/hook.sh", "now"], "on": ["stopped"]},
    }
    one = ConfigDraft({}, {}, (), {"tablebases": {"path": "six:five"}}, more={"notify": {"command": []}}).anchored(
        tmp_path
    )
    assert one.play == {"tablebases": {"path": f"{at}/six:{at}/five"}}
    assert one.more == {"notify": {"command": []}}
