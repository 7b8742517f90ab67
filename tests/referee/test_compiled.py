"""Tests of the compiled part: it is built where possible, and not needed elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import chess
import pytest

from enginetour.model.game import MoveMade
from enginetour.referee.record import RawPly
from tests.support.engines import ROOT, build_hook, built, loaded


@pytest.fixture
def build() -> Any:
    """Return the build function without its caller."""
    return build_hook()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree with the sources only."""
    shutil.copytree(ROOT / "enginetour" / "native", tmp_path / "enginetour" / "native")
    return tmp_path


def test_it_is_built_beside_the_package(build: Any, tree: Path) -> None:
    """The module has the name that this interpreter looks for, and no other file remains."""
    built = build.compiled(tree)
    assert built is not None
    assert sorted(path.name for path in (tree / "enginetour").iterdir()) == [built.name, "native"]
    assert built.read_bytes()[:4] == b"\x7fELF"


@pytest.mark.parametrize("compiler", ["false", "/nowhere/cc-of-nobody -x", "sh -c 'echo not today >&2; exit 3'"])
def test_a_compiler_that_fails_stops_nobody(
    compiler: str, build: Any, tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A compiler that fails gives one message with the reason, and no file remains."""
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setenv("PATH", "/usr/bin:/bin" if compiler[0] != "/" else "/nowhere")
    assert build.compiled(tree) is None
    assert "so it is slower" in capsys.readouterr().err
    assert [path.name for path in (tree / "enginetour").iterdir()] == ["native"]


def test_whoever_wants_none_gets_none(build: Any, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ENGINETOUR_NO_NATIVE prevents the build, as in the running program."""
    monkeypatch.setenv("ENGINETOUR_NO_NATIVE", "1")
    assert build.compiled(tree) is None


def test_bytes_are_read_alike_where_char_is_unsigned(tree: Path) -> None:
    """Bytes in a search line are read in the same way with signed and unsigned char."""
    found = {}
    for flag in ("-fsigned-char", "-funsigned-char"):
        native = loaded("_native", made := built(tree, f"-Werror {flag}"))
        found[flag] = [_reads(native, value) for value in range(256)]
        made.unlink()
    assert found["-funsigned-char"] == found["-fsigned-char"]
    assert [value for value in range(127, 256) if found["-funsigned-char"][value]] == []


def _reads(native: Any, value: int) -> bool:
    """Return whether the compiled part reads a scored line that contains this byte."""
    text = b"info depth 4 w%cd score cp 3 nodes 5\n" % value
    raw = RawPly(None, 50, 60, text)
    return native.Board(chess.Board()).write(MoveMade, raw, None, "e2e4") is not None
