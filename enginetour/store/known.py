"""Which games of a file the store has already: by digest from an import, or as games that were played here."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from enginetour.interop.gametags import Claim, Games
from enginetour.interop.tally import RESULTS
from enginetour.model.game import Outcome
from enginetour.store.database import Database
from enginetour.store.importlog import IMPORT
from enginetour.store.removals import removed, title_of
from enginetour.store.tables import GAMES, IMPORTS, TOURNAMENTS

LONGEST_TAG = 255  # what a PGN export keeps of a name (PGN standard 4)
_PLAYED = TOURNAMENTS.c.system != IMPORT
_ROUND = "."  # between the round and the number of a game in our exports


def titles(database: Database) -> frozenset[str]:
    """The Event tags of our own exports: those of every tournament that was played here."""
    with database.reading() as connection:
        rows = connection.execute(select(TOURNAMENTS.c.name, TOURNAMENTS.c.edition).where(_PLAYED)).fetchall()
    return frozenset(_tag(title_of(name, edition)) for name, edition in rows)


def fresh(
    connection: Connection, games: Games, identities: NDArray[np.uint64], wanted: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Those of the `wanted` places whose games the store does not have; each game once, in the order of the files.

    What an import brought that was struck out it does not have.
    """
    blobs = select(IMPORTS.c.digests).where(IMPORTS.c.tournament.not_in(removed())).order_by(IMPORTS.c.tournament)
    known = np.frombuffer(b"".join(connection.execute(blobs).scalars()), dtype="<u8").astype(np.uint64)
    if len(known) or len(games.ends) > 1:
        _, first = np.unique(np.concatenate([known, identities[wanted]]), return_index=True)
        found = wanted[np.sort(first[first >= len(known)]) - len(known)]
    else:
        found = wanted  # those of one file are all different
    own = _played_here(connection, games)
    return found[~np.isin(found, own)] if own else found


def _played_here(connection: Connection, games: Games) -> list[int]:
    """Places of the games that are in the store as games of our tournaments.

    A claim holds when number, names and result are those of the game, and date and start too where the file tells.
    """
    events = {claim.event for claim in games.claims}
    results = {code: raw.decode() for raw, code in RESULTS.items()}
    played: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for number, event, white, black, outcome, started in _stored(connection, events):
        start = datetime.fromtimestamp(started, UTC)
        when = (f"{start:%Y.%m.%d}", f"{start:%Y-%m-%dT%H:%M:%S}Z")
        played.setdefault((event, str(number)), set()).add((_tag(white), _tag(black), outcome, *when))
    return [
        claim.game
        for claim in games.claims
        if any(_is(claim, results.get(games.results[claim.game], ""), game) for game in played.get(_key(claim), ()))
    ]


def _stored(connection: Connection, events: set[str]) -> Iterable[tuple[int, str, str, str, str, float]]:
    own = select(TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition).where(_PLAYED)
    for key, name, edition in connection.execute(own).fetchall():
        if (title := _tag(title_of(name, edition))) in events:
            rows = select(*(GAMES.c[column] for column in ("number", "white", "black", "outcome", "started")))
            for number, *game in connection.execute(
                rows.where(GAMES.c.tournament == key, GAMES.c.outcome != Outcome.VOID.value)
            ):
                yield number, title, *game


def _is(claim: Claim, result: str, game: tuple[str, ...]) -> bool:
    white, black, outcome, date, start = game
    told = claim.date in ("", date) and claim.start in ("", start)
    return told and (claim.white, claim.black, result) == (white, black, outcome)


def _key(claim: Claim) -> tuple[str, str]:
    return claim.event, claim.round.rpartition(_ROUND)[2]


def _tag(words: str) -> str:
    """As a tag of our exports has it."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in words).split())[:LONGEST_TAG]
