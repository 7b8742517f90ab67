"""Tests of engines/enginefile."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.engines.enginefile import (
    USUAL_LIMITS,
    EngineEntry,
    entry_text,
    file_model,
    override,
    read_entry,
    with_hints,
    write_entry,
    write_hints,
)
from enginetour.engines.registry import to_spec
from enginetour.model.errors import InputRefused
from enginetour.model.task import LimitName, Quirks, Resources
from tests.support.tournaments import config, read, tour

# Engine files: read, rejected with their place, written.

LEAST = 'name = "X"\ncommand = ["x"]\nprotocol = "uci"\n'


def _read(tmp_path: Path, text: str) -> EngineEntry:
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    return read_entry(tmp_path / "x.toml")


def test_every_key_has_a_description() -> None:
    """Each key of an engine file, its quirks and its resources has a description that is a sentence."""
    model = file_model()
    tables: list[Any] = [model, *(model.model_fields[name].annotation for name in ("quirks", "resources"))]
    keys = {name: field.description or "" for table in tables for name, field in table.model_fields.items()}
    assert {"command", "line_delay_ms", "memory"} < set(keys)
    assert [name for name, text in keys.items() if not (text[:1].isupper() and text.endswith("."))] == []


def test_least_file(tmp_path: Path) -> None:
    """Name, command and protocol are enough; limits are then the usual ones of the protocol."""
    entry = _read(tmp_path, LEAST)
    assert (entry.id, entry.name, entry.command, entry.folder) == ("x", "X", ("x",), tmp_path)
    assert entry.supported_limits == USUAL_LIMITS["uci"]
    assert _read(tmp_path, LEAST.replace("uci", "cecp")).supported_limits == {"clock", "movetime"}


def test_command_and_args(tmp_path: Path) -> None:
    """A command of one word may be plain text, and `args` are appended."""
    entry = _read(tmp_path, 'name = "X"\ncommand = "my engine"\nargs = ["-x", ""]\nprotocol = "uci"\n')
    assert entry.command == ("my engine", "-x", "")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('optoins = { Hash = "1" }', "x.toml:4: unknown key 'optoins', did you mean 'options'?"),
        ("[quirks]\nline_delay = 5", "x.toml:5: unknown key 'quirks.line_delay', did you mean 'line_delay_ms'?"),
        ("[quirks]\nline_delay_ms = -1", "x.toml:5: quirks.line_delay_ms: must be between 0 and 10000 (found -1)"),
        (
            "[quirks]\nready_timeout = 0",
            "x.toml:5: quirks.ready_timeout: must be greater than 0 and at most 600 (found 0)",
        ),
        ("[quirks]\nwhitepov = 1", "x.toml:5: quirks.whitepov: must be true or false (found 1)"),
        ('limits = ["clock", "time"]', "x.toml:4: limits"),
        ("limits = []", "x.toml:4: limits"),
        ('[files]\n"../x.ini" = "y"', "x.toml:5: files"),
        ('dir = "a\\nb"', "x.toml:4: dir"),
        ('[env]\n"A=B" = "1"', "x.toml:4: env: the name of a variable must not be empty or contain '=' (found 'A=B')"),
        ('[env]\n"A\\u0000" = "1"', "x.toml:5: env"),
        ('pass_env = ["A=B"]', "x.toml:4: pass_env"),
        ("options = { Hash = [1] }", "x.toml:4: options.Hash"),
        ("options = { hash = 1, HASH = 2 }", "x.toml:4: options: 'hash' and 'HASH' are the same option"),
        ('package = "x; rm"', "x.toml:4: package"),
    ],
)
def test_refusals(tmp_path: Path, line: str, words: str) -> None:
    """A rejected key is reported with file, line and the closest key."""
    with pytest.raises(InputRefused) as caught:
        _read(tmp_path, LEAST + line + "\n")
    assert str(caught.value).startswith(f"{tmp_path}/{words}")


def test_missing_and_wrong_basics(tmp_path: Path) -> None:
    """A file without protocol, with an empty command or with blanks around its name is rejected."""
    for text, words in (
        ('name = "X"\ncommand = ["x"]\n', "protocol is missing"),
        (LEAST.replace('["x"]', "[]"), "x.toml:2: command"),
        (LEAST.replace('"X"', '" X"'), "x.toml:1: name: a name must be printable"),
        (LEAST.replace('"uci"', '"usi"'), "x.toml:3: protocol"),
    ):
        with pytest.raises(InputRefused, match=words):
            _read(tmp_path, text)


def test_changed_quirks() -> None:
    """Quirks of a configuration replace those of the file; unknown and impossible ones are rejected."""
    quirks = Quirks(line_delay_ms=100)
    assert override(quirks, {"whitepov": True, "init": ["a"]}, "c:1") == replace(quirks, whitepov=True, init=("a",))
    with pytest.raises(InputRefused, match=r"c:1: unknown quirk 'whitpov', did you mean 'whitepov'"):
        override(quirks, {"whitpov": True}, "c:1")
    with pytest.raises(InputRefused, match=r"c:1: quirks.fence"):
        override(quirks, {"fence": "maybe"}, "c:1")


words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Cn", "Co"]), min_size=1, max_size=12)


@given(
    name=words.filter(lambda text: text.isprintable() and text == text.strip()),
    command=st.lists(words, min_size=1, max_size=3),
    options=st.dictionaries(words, st.one_of(words, st.integers(-(2**40), 2**40), st.booleans(), st.just(0.5))).filter(
        lambda options: len({name.strip().casefold() for name in options}) == len(options)  # else one option twice
    ),
    files=st.dictionaries(st.from_regex(r"[a-z][a-z0-9.]{0,8}", fullmatch=True), st.text(st.characters(codec="utf-8"))),
    limits=st.none() | st.sets(st.sampled_from(["clock", "movetime", "nodes", "depth"]), min_size=1),
    delay=st.integers(0, 10_000),
)
def test_written_and_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    command: list[str],
    options: dict[str, str | int | float | bool],
    files: dict[str, str],
    limits: set[LimitName] | None,
    delay: int,
) -> None:
    """An entry that is written is read back the same, whatever its texts are."""
    path = tmp_path_factory.getbasetemp() / "roundtrip.toml"
    entry = EngineEntry(
        "roundtrip",
        name,
        tuple(command),
        "cecp",
        folder=path.parent,
        path=path,
        options=options,
        files=files,
        limits=None if limits is None else frozenset(limits),
        quirks=Quirks(line_delay_ms=delay, init=tuple(command)),
        rating=2800.0,
        resources=Resources(memory=delay + 16, nice=delay % 20),
        sandbox="bwrap" if delay % 2 else "none",
        pass_env=("LICENCE",) * (delay % 3),
        keep_scratch=delay % 2 == 0,
    )
    path.write_text(entry_text(entry), encoding="utf-8", newline="")
    assert read_entry(path) == entry


def test_write_refuses_to_replace(tmp_path: Path) -> None:
    """An engine file is written once, readable for all, and never replaces another; no draft is left."""
    entry = EngineEntry("my-engine", "Mine", ("mine",), "uci")
    path = write_entry(tmp_path / "engines", entry)
    assert read_entry(path).name == "Mine"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    with pytest.raises(InputRefused, match=r"my-engine\.toml: engine file already exists"):
        write_entry(tmp_path / "engines", replace(entry, name="Other"))
    assert read_entry(path).name == "Mine"
    assert [one.name for one in path.parent.iterdir()] == ["my-engine.toml"]


@pytest.mark.parametrize("name", ["../x", ".x", "", "X", "a/b", "a" * 65])
def test_ids_are_file_names(tmp_path: Path, name: str) -> None:
    """An id that leaves the directory, or hides in it, is rejected."""
    with pytest.raises(InputRefused, match="is not a valid engine id"):
        write_entry(tmp_path, EngineEntry(name, "Mine", ("mine",), "uci"))
    assert list(tmp_path.iterdir()) == []


# Hints of compliance checks in an engine file: what they change, and that the rest stays.

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
    """Hints change or add lines at the top or in a section; comments and the rest stay."""
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
    """A missing section is added at the end; a new key of the file comes before its first section."""
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
        ('name = "Kite"\ncommand = ["{here}/cat"]\nprotocol = "cecp"\n', "refers to files in its own directory"),
    ],
)
def test_what_cannot_be_written_changes_nothing(tmp_path: Path, text: str, told: str) -> None:
    """If hints cannot be written, the file stays unchanged, and no other file remains."""
    path = tmp_path / "kite.toml"
    path.write_text(text)
    target = tmp_path / "engines" / "kite.toml" if "here" in text else path
    with pytest.raises(InputRefused, match=told):
        write_hints(path, target, {"quirks.restart": True})
    assert path.read_text() == text
    assert [file.name for file in tmp_path.iterdir()] == ["kite.toml"]


def test_hints_twice_are_hints_once() -> None:
    """Writing hints a second time gives the same text."""
    hints = {"limits": ("clock",), "quirks.restart": True}
    assert with_hints(with_hints(FILE, hints), hints) == with_hints(FILE, hints)


# An engine that is a script, as a tester would write it.

WREN = Path(__file__).parents[2] / "engines"


def test_a_script_is_found_from_the_folder_of_the_configuration(tmp_path: Path) -> None:
    """`command = ["python3", "mine/engine.py"]` plays, whatever the working directory of the engine is."""
    (tmp_path / "results").mkdir()
    (tmp_path / "mine").symlink_to(WREN)
    command = '["{python}", "mine/wren.py", "1"]'
    mine = f'\n[[entrants]]\nname = "Mine"\ncommand = {command}\nprotocol = "cecp"\nlimits = ["depth"]'
    path = config(tmp_path, ("wren1",), "roundrobin", "games_per_pairing = 2", mine)
    tour(tmp_path, "run", str(path))
    assert {row["name"] for row in read(tmp_path, "standings")["table"]} == {"Wren 1", "Mine"}


def test_only_words_that_name_a_file_there_are_changed(tmp_path: Path) -> None:
    """Only words that name an existing file are changed; flags, placeholders and other words stay."""
    (tmp_path / "net.bin").write_text("x")
    (tmp_path / "word").write_text("x")
    words = ("sh", "net.bin", "word", "--net.bin", "{scratch}/net.bin", "other/net.bin")
    spec = to_spec(EngineEntry("e", "E", words, "uci", folder=tmp_path))
    assert spec.command[1:] == (str(tmp_path / "net.bin"), *words[2:])
