"""A cluster by TLS, with certificates made as `services/tls.yaml` says: who has none of its authority is told so."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Security

from enginetour.model.errors import UsageRefused
from enginetour.tournament.cluster.worker import refuse_without
from tests.nearcluster import near_cluster, place_of
from tests.touring import config, read, tour

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


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return authority(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def place(ours: Path) -> Iterator[str]:
    """A scheduler and a worker that talk to those of our authority alone."""
    with told(ours):
        security = Security()  # type: ignore[no-untyped-call]
    with near_cluster("a", security=security) as cluster:
        yield place_of(cluster)


def told(folder: Path, **other: str) -> Any:
    """As that file tells every machine where it lies beside its certificates, in this folder."""
    (folder / TOLD.name).write_text(TOLD.read_text().replace("/home/me/.config/dask", str(folder)))
    found = dask.config.merge(dask.config.config, dask.config.collect([str(folder)], {}))
    own = {f"distributed.comm.tls.{key}": value for key, value in other.items()}
    return dask.config.set({"distributed": found["distributed"]} | own)


def test_games_are_played_by_tls(tmp_path: Path, ours: Path, place: str) -> None:
    """With the certificates that Dask's configuration names."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    assert place.startswith("dask=tls://")
    with told(ours):
        tour(tmp_path, "run", str(path), "--place", place)
    assert len(read(tmp_path, "games")) == 1


def test_another_authority_is_refused(tmp_path: Path, place: str) -> None:
    """On either side; nothing is written."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    with told(authority(tmp_path / "theirs")):
        refused = tour(tmp_path, "run", str(path), "--place", place, expect=2)
    assert "TLS certificate does not match" in refused.stderr
    assert refused.stderr.strip().endswith("dask scheduler --protocol tls, with certificates of the same authority")
    refused = tour(tmp_path, "run", str(path), "--place", place.replace("tls://", "tcp://"), expect=2)
    assert "no scheduler of Dask answers at tcp://" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert list((tmp_path / "results").iterdir()) == []


def test_without_certificates(ours: Path, place: str) -> None:
    """None named, a file that is not there, a key of another certificate; without TLS nothing is asked for."""
    address = place.removeprefix("dask=")
    with pytest.raises(UsageRefused, match=r"no ca-file and no client.cert and no client.key of this machine is named"):
        refuse_without(address)
    with (
        told(ours, **{"client.key": "/no/key"}),
        pytest.raises(UsageRefused, match=r"client\.key: there is no /no/key"),
    ):
        refuse_without(address)
    with told(ours, **{"client.key": f"{ours}/ca.key"}), pytest.raises(UsageRefused, match="MISMATCH"):
        refuse_without(address)
    refuse_without("tcp://kallisto:8786")
