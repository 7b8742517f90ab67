"""Which ground an address has: the one place where a file and a server are told apart."""

from __future__ import annotations

from enginetour.store.ground import Ground, Lock
from enginetour.store.serveraddress import Address, ServerAddress, address_of
from enginetour.store.sqlite_file import SqliteFile


def ground_of(address: Address | str) -> Ground:
    """The file, or the server's database; nothing is opened yet. UsageRefused without the driver a server needs."""
    if isinstance(address, str):
        address = address_of(address)
    if isinstance(address, ServerAddress):
        from enginetour.store.postgres import PostgresDatabase

        return PostgresDatabase(address)
    return SqliteFile(address)


def lock_of(address: Address | str, slug: str) -> Lock:
    """The lock of a tournament, whatever its database stands on."""
    return ground_of(address).lock(slug)
