"""Certificates for tests, made as `services/tls.yaml` tells it: an authority and one machine that it vouches for."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import dask
import pytest

TOLD = Path(__file__).parents[1] / "services" / "tls.yaml"
COMMAND = "#   openssl "


def authority(folder: Path) -> Path:
    """Makes ``ca.pem``, ``host.pem`` and their keys in that folder, which is returned."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on this machine")
    folder.mkdir()
    for line in TOLD.read_text().splitlines():
        if line.startswith(COMMAND):
            subprocess.run(shlex.split(line.removeprefix("# ")), cwd=folder, check=True, capture_output=True)
    return folder


def settings(folder: Path) -> Any:
    """What Dask reads of that file where it lies beside its certificates, in this folder."""
    (folder / TOLD.name).write_text(TOLD.read_text().replace("/home/me/.config/dask", str(folder)))
    return dask.config.collect([str(folder)], {})
