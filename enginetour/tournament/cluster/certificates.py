"""TLS on the manager's side: the certificates that Dask's own configuration names, looked at before anybody is called.

Scheduler and workers have theirs from the same kind of file, or from ``--tls-ca-file``, ``--tls-cert``, ``--tls-key``.
"""

from __future__ import annotations

from pathlib import Path

from distributed import Security

from enginetour.model.errors import UsageRefused

TLS = "tls://"
WHERE = "~/.config/dask/tls.yaml"  # Dask reads every YAML file of that folder (its documentation, "Configuration")


def refuse_without(address: str) -> None:
    """UsageRefused for a ``tls://`` address where this machine has no certificates that could be used."""
    if not address.startswith(TLS):
        return
    found = Security()
    told = found.get_tls_config_for_role("client")
    named = {"ca-file": told["ca_file"], "client.cert": told["cert"], "client.key": told["key"]}
    missing = [key for key, value in named.items() if value is None]
    if missing:
        what = f"{address} needs certificates, and no {' and no '.join(missing)} of this machine is named"
        raise UsageRefused(what, place="--place", step=f"name them under distributed.comm.tls in {WHERE}")
    for key, value in named.items():
        if "\n" not in value and not Path(value).is_file():  # the text itself may stand there instead of a path
            raise UsageRefused(f"there is no {value}", place=f"distributed.comm.tls.{key}", step=f"see {WHERE}")
    try:
        found.get_connection_args("client")
    except OSError as error:  # ssl.SSLError is one
        what = f"the certificates of this machine cannot be used: {error}"
        raise UsageRefused(what, place="distributed.comm.tls", step=f"see {WHERE}") from None
