"""The compiled part, built as a test wants it."""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).parent.parent


def build_hook() -> Any:
    """The module `hatch_build` without the builder that calls it."""
    interface = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object  # type: ignore[attr-defined]
    with mock.patch.dict(sys.modules, {interface.__name__: interface}):
        return loaded("hatch_build", ROOT / "hatch_build.py")


def built(root: Path, flags: str) -> Path:
    """Build the sources under `root` in place there, with these flags as well."""
    with mock.patch.dict(os.environ, {"CC": f"cc {flags}"}):
        made = build_hook().compiled(root)
    assert made is not None
    return Path(made)


def loaded(name: str, path: Path) -> Any:
    """A module of this file, which nothing else imports by its name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
