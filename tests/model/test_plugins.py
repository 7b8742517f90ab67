"""Registries: built-in entries first, then plug-ins by entry points; a faulty one is rejected where it is used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from enginetour.model import plugins
from enginetour.model.plugins import PluginRefused, Registry, plugins_used, refuse_missing, stored_plugins

GROUP = "enginetour.formats"


def install(folder: Path, package: str, *names: str, module: str = "", group: str = GROUP) -> None:
    """Write a distribution with one module and these entry points."""
    about = folder / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    plain = package.replace("-", "_")
    (about / "entry_points.txt").write_text(f"[{group}]\n" + "".join(f"{name} = {plain}\n" for name in names))
    (folder / f"{plain}.py").write_text(module)
    sys.modules.pop(plain, None)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins._found.cache_clear()
    return tmp_path


def registry() -> Registry[int]:
    return Registry(GROUP, int, 1, {"one": 1}, reserved=("old",), fault_of=lambda n: "too large" if n > 9 else "")


def test_a_plug_in_is_an_entry_like_the_built_in_ones(site: Path) -> None:
    """A plug-in is found by name and in the list, and its package is known."""
    install(site, "more-numbers", "two", module="CONTRACT = 1\nPLUGIN = 2\n")
    numbers = registry()
    assert (numbers["one"], numbers["two"], "two" in numbers, "three" in numbers) == (1, 2, True, False)
    assert dict(numbers) == {"one": 1, "two": 2} and len(numbers) == 2
    assert plugins_used((numbers, "one"), (numbers, "two")) == {GROUP: {"two": "more-numbers 1.0"}}
    with pytest.raises(KeyError):
        numbers["three"]


def test_a_built_in_name_does_not_read_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry points are read only for a name that is not built in."""
    monkeypatch.setattr(plugins, "_found", lambda *_: pytest.fail("entry points were read"))
    assert registry()["one"] == 1 and "one" in registry()


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("import no_such_module", "cannot be imported (ModuleNotFoundError: No module named 'no_such_module')"),
        ("raise SystemExit(3)", "cannot be imported (SystemExit: 3)"),
        ("CONTRACT = 2\nPLUGIN = 2", "cannot be used: CONTRACT must be 1 (found 2)"),
        ("PLUGIN = 2", "cannot be used: CONTRACT must be 1 (found None)"),
        ("CONTRACT = 1\nPLUGIN = '2'", "cannot be used: PLUGIN must be a int (found str)"),
        ("CONTRACT = 1\nPLUGIN = 10", "cannot be used: too large"),
    ],
)
def test_a_faulty_plug_in_is_rejected_where_it_is_used(site: Path, module: str, told: str) -> None:
    """A faulty plug-in is one line with its package when it is used, and not in the list."""
    install(site, "odd", "odd", module=module)
    numbers = registry()
    assert "odd" in numbers and list(numbers) == ["one"]
    with pytest.raises(PluginRefused) as refusal:
        numbers["odd"]
    assert str(refusal.value).startswith(f"odd 1.0: the format 'odd' {told}. Hint: ")
    assert numbers.faults() == [str(refusal.value)]


def test_existing_names(site: Path) -> None:
    """A plug-in cannot have a built-in or reserved name, or the name of another plug-in."""
    install(site, "again", "one", "old", "two", module="CONTRACT = 1\nPLUGIN = 2\n")
    install(site, "also", "two", module="CONTRACT = 1\nPLUGIN = 3\n")
    numbers = registry()
    assert numbers["one"] == 1 and list(numbers) == ["one"] and "old" not in numbers
    with pytest.raises(PluginRefused, match="the format 'two' is also in the package"):
        numbers["two"]
    assert [fault.partition("'")[2].partition("'")[0] for fault in numbers.faults()] == ["old", "one", "two"]


def test_a_missing_package_is_named(site: Path) -> None:
    """A stored tournament names the package that is not installed, but no package that is."""
    install(site, "more-numbers", "two", module="CONTRACT = 1\nPLUGIN = 2\n")
    refuse_missing({GROUP: {"two": "more-numbers 1.0"}}, "night")
    with pytest.raises(PluginRefused) as refusal:
        refuse_missing({GROUP: {"two": "more-numbers 1.0", "six": "six 2.1"}}, "night")
    told = "night: the format 'six' is not installed; it is part of the package six 2.1. Hint: pip install six==2.1."
    assert str(refusal.value) == told


@pytest.mark.parametrize("stored", ["", "[1]", "not JSON", '{"plugins": 3}', [], None, {"plugins": {GROUP: ["x"]}}])
def test_a_damaged_definition_names_no_plug_in(stored: object) -> None:
    """A configuration that cannot be read names no plug-in, and an undamaged one names its packages."""
    assert stored_plugins(stored) == {}
    assert stored_plugins({"plugins": {GROUP: {"x": "pack 1.0"}}, "more": 1}) == {GROUP: {"x": "pack 1.0"}}
