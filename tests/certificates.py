"""Certificates for tests, made by openssl: an authority and one machine that it vouches for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
DAYS = ("-days", "2")


def authority(folder: Path) -> Path:
    """Makes ``ca.pem`` with its key and ``host.pem`` with its key in that folder, which is returned."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on this machine")
    folder.mkdir()
    _openssl(folder, "req", "-x509", *CURVE, "-keyout", "ca.key", "-out", "ca.pem", *DAYS, "-subj", "/CN=night")
    _openssl(folder, "req", *CURVE, "-keyout", "host.key", "-out", "host.csr", "-subj", "/CN=kallisto")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "host.pem")
    _openssl(folder, "x509", "-req", "-in", "host.csr", *signed, *DAYS)
    return folder


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
