"""What an inspection said that was not so."""

from __future__ import annotations

from sqlalchemy import text

from enginetour.store.address import Address
from enginetour.store.check import inspect
from enginetour.store.definition import ListDefinition, define
from enginetour.store.editions import publish
from tests.storing import add_game, game, sound_log


def test_what_cannot_be_read_hides_nothing(place: Address) -> None:
    """A server answers nothing more in a transaction in which a statement has failed: all after it had findings."""
    store, log = sound_log(place)
    with store:
        add_game(log, game())
        for name in ("one", "other"):
            define(store, name, ListDefinition())
            publish(store, name)
        with store.database.writing() as connection:
            connection.execute(text("UPDATE tournaments SET config = '{'"))
        found = {finding.place: finding.what for finding in inspect(store).findings if "edition" in finding.place}
    assert len(found) == 2
    assert len(set(found.values())) == 1, found
    assert not any("\n" in words or "SQL" in words for words in found.values())
