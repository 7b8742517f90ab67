"""Real Syzygy tables for tests: those that the source distribution of python-chess brings along, fetched by pip.

ENGINETOUR_TABLES names a folder of tables instead. What was fetched stays in pytest's cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

SOURCE = "chess==1.11.2"  # 3 and 4 pieces, WDL and DTZ, 4.4 MB
LONGEST = 120  # s, for six megabytes


def tables(config: pytest.Config) -> Path:
    """Their folder; the test is skipped where they cannot be had."""
    named = os.environ.get("ENGINETOUR_TABLES")
    if named:
        return Path(named)
    if config.pluginmanager.has_plugin("cacheprovider"):
        folder = config.cache.mkdir("syzygy")
    else:
        pytest.skip("no Syzygy tables: there is no cache to keep them in")
    if not (folder / "KQvK.rtbw").exists():
        _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    fetch = [
        sys.executable,
        "-m",
        "pip",
        "download",
        SOURCE,
        "--no-binary",
        "chess",
        "--no-deps",
        "-q",
        "-d",
        str(folder),
    ]
    try:
        subprocess.run(fetch, check=True, capture_output=True, timeout=LONGEST)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"Syzygy tables cannot be fetched: {error}")
    (archive,) = folder.glob("chess-*.tar.gz")
    with tarfile.open(archive) as packed:
        for member in packed:
            if member.isfile() and "/syzygy/regular/" in member.name and member.name.endswith((".rtbw", ".rtbz")):
                member.name = Path(member.name).name
                packed.extract(member, folder, filter="data")
    archive.unlink()
