"""What may befall a database in use, apart from what it is: somebody else holds it, or it is out of reach."""

from __future__ import annotations

from enginetour.model.errors import StorageFailed, StoreRefused


class StoreBusy(StoreRefused):
    """Another program holds the database, or what is asked of it."""


class StoreAway(StorageFailed):
    """The server does not answer, or hung up: what was under way may be written or not."""


class LockLost(StoreAway):
    """The tournament's lock went with its connection: nothing is written without it."""
