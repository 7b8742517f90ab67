"""The units that we give along: systemd takes them as they are, and so does Dask what stands in them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

SERVICES = Path(__file__).parents[1] / "services"
SETTINGS = {"${HOST}": "10.0.0.1", "${SCHEDULER}": "tcp://10.0.0.1:8786", "${SLOTS}": "4", "%H": "kallisto"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("scheduler", {"host": "10.0.0.1", "port": "8786", "dashboard": False}),
        (
            "worker",
            {
                "scheduler": "tcp://10.0.0.1:8786",
                "name": "kallisto",
                "nthreads": 4,
                "resources": "slot=4",
                "nanny": False,
            },
        ),
    ],
)
def test_dask_takes_the_command(kind: str, expected: dict[str, object]) -> None:
    """Every option is known, and means what it should."""
    lines = (SERVICES / f"dask-{kind}.service").read_text().splitlines()
    command = next(line.removeprefix("ExecStart=") for line in lines if line.startswith("ExecStart="))
    for name, value in SETTINGS.items():
        command = command.replace(name, value)
    program, word, *words = shlex.split(command)
    assert (program, word) == ("%h/chess/.venv/bin/dask", kind)
    context = import_module(f"distributed.cli.dask_{kind}").main.make_context("dask", words)
    assert {key: context.params[key] for key in expected} == expected


@pytest.mark.parametrize("kind", ["scheduler", "worker"])
def test_systemd_takes_the_unit(tmp_path: Path, kind: str) -> None:
    """No key is unknown to it; each is enabled by the command in its head, and comes again whatever ended it."""
    unit = SERVICES / f"dask-{kind}.service"
    text = unit.read_text()
    assert f"systemctl --user enable --now {unit.stem}" in text
    assert "\nRestart=always\n" in text
    program = tmp_path / "chess" / ".venv" / "bin" / "dask"
    program.parent.mkdir(parents=True)
    program.symlink_to("/bin/true")
    analyze = shutil.which("systemd-analyze")
    if analyze is not None:  # a container may have no systemd
        home = os.environ | {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
        done = subprocess.run(
            [analyze, "--user", "verify", unit], env=home, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
