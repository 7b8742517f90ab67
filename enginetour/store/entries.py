"""Which tournaments a database has, by name and without counting anything: cheap enough to be asked every second."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from enginetour.store.importlog import IMPORT
from enginetour.store.tables import TOURNAMENTS
from enginetour.store.tournaments import Store

_COLUMNS = ("id", "name", "edition", "slug", "system", "created")
_PLAYED = (
    select(*(TOURNAMENTS.c[name] for name in _COLUMNS)).where(TOURNAMENTS.c.system != IMPORT).order_by(TOURNAMENTS.c.id)
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One edition; `created` is UTC seconds."""

    id: int
    name: str
    edition: int
    slug: str
    system: str
    created: float

    @property
    def title(self) -> str:
        """The name, with its edition from the second on."""
        return self.name if self.edition == 1 else f"{self.name} #{self.edition}"


def entries(store: Store) -> list[Entry]:
    """All editions that were played here, oldest first."""
    with store.database.reading() as connection:
        return [Entry(*row) for row in connection.execute(_PLAYED)]
