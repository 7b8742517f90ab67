"""The part in C is built where that can be done, and nobody is stopped where it cannot."""

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
    """What builds it, without the builder that calls it."""
    return build_hook()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The sources, and nothing else."""
    shutil.copytree(ROOT / "enginetour" / "native", tmp_path / "enginetour" / "native")
    return tmp_path


def test_it_is_built_beside_the_package(build: Any, tree: Path) -> None:
    """Under the name by which this interpreter looks for it, and nothing else is left."""
    built = build.compiled(tree)
    assert built is not None
    assert sorted(path.name for path in (tree / "enginetour").iterdir()) == [built.name, "native"]
    assert built.read_bytes()[:4] == b"\x7fELF"


@pytest.mark.parametrize("compiler", ["false", "/nowhere/cc-of-nobody -x", "sh -c 'echo not today >&2; exit 3'"])
def test_a_compiler_that_fails_stops_nobody(
    compiler: str, build: Any, tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says that it is only slower, and why; nothing is left behind."""
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setenv("PATH", "/usr/bin:/bin" if compiler[0] != "/" else "/nowhere")
    assert build.compiled(tree) is None
    assert "which is slower" in capsys.readouterr().err
    assert [path.name for path in (tree / "enginetour").iterdir()] == ["native"]


def test_whoever_wants_none_gets_none(build: Any, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the running program."""
    monkeypatch.setenv("ENGINETOUR_NO_NATIVE", "1")
    assert build.compiled(tree) is None


def test_bytes_are_read_alike_where_char_is_unsigned(tree: Path) -> None:
    """Any byte in a search line leaves the same lines to Python, whether the platform's char is signed or unsigned."""
    found = {}
    for flag in ("-fsigned-char", "-funsigned-char"):
        native = loaded("_native", made := built(tree, f"-Werror {flag}"))
        found[flag] = [_reads(native, value) for value in range(256)]
        made.unlink()
    assert found["-funsigned-char"] == found["-fsigned-char"]
    assert [value for value in range(127, 256) if found["-funsigned-char"][value]] == []


def _reads(native: Any, value: int) -> bool:
    """Whether the compiled part reads a scored line that contains this byte."""
    text = b"info depth 4 w%cd score cp 3 nodes 5\n" % value
    raw = RawPly(chess.Move.from_uci("e2e4"), None, 50, 60, text)
    return native.Board(chess.Board()).write(MoveMade, raw, None, "e2e4") is not None
