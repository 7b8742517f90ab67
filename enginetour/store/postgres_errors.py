"""PostgreSQL's errors in the user's words: away, refused, full, unwritable or busy; all others are our own mistakes."""

from __future__ import annotations

import re

import psycopg

from enginetour.model.errors import StorageFailed, StoreRefused, TourError
from enginetour.store.serveraddress import ServerAddress
from enginetour.store.trouble import StoreAway, StoreBusy

# SQLSTATE codes and classes (PostgreSQL, "Error Codes").
# Shut down, starting, cut off, too many; and what its owner or itself has cancelled, which is tried again likewise.
_AWAY = ("08", "57P01", "57P02", "57P03", "57P05", "25P03", "53300", "57014", "40001", "40P01")
_BUSY = "55P03"
_READ_ONLY = "25006"
_NO_RIGHTS = "42501"
_FULL = "53100"
_DAMAGED = ("XX001", "XX002")
_STORAGE = ("53", "58")
# What a server says at the door has no code in libpq: its words, which are English in the message of a new server.
_SOON = re.compile(r"starting up|shutting down|recovery mode|not yet accepting|too many clients|slots", re.IGNORECASE)
_SEVERE = re.compile(r"FATAL:\s*(.+)")
_LAST_FAILURE = re.compile(r"failed: (?!FATAL)(.+)")
_PASSWORD = re.compile(r"password|SCRAM|pg_hba|authentication", re.IGNORECASE)


def translated(error: BaseException, address: ServerAddress) -> TourError | None:
    """What the user reads for an error of the driver in use; None for those that are our own mistakes."""
    if not isinstance(error, psycopg.Error):
        return None
    place, state = str(address), error.sqlstate
    if state is None:
        gone = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        return _away("the server hung up", place) if gone else None
    words = _first_line(error)
    if state.startswith(_AWAY):
        return _away(f"the server is away ({words})", place)
    if state.startswith(_BUSY):
        return StoreBusy("is locked by another program", place=place, step="try again when it has finished")
    if state == _FULL:
        return StorageFailed("the server's disk is full", place=place, step="make room there and run again")
    if state == _READ_ONLY:
        what = "can only be read (a standby, or default_transaction_read_only)"
        return StorageFailed(what, place=place, step="name the primary server with --db")
    if state == _NO_RIGHTS:
        return StorageFailed(f"lacks a right: {words}", place=place, step="its owner can grant it")
    if state.startswith(_DAMAGED):
        return StoreRefused(f"is damaged ({words})", place=place, step="put a backup in its place")
    if state.startswith(_STORAGE):
        return StorageFailed(f"the server fails ({words})", place=place, step="see to the server and run again")
    return None


def not_connected(error: psycopg.Error, address: ServerAddress, *, known: bool) -> TourError:
    """Why there is no connection. A server that was `known` to let us in is only away, whatever it says now."""
    place, words = str(address), str(error)
    said = _SEVERE.findall(words)
    if said and not known and not _SOON.search(words):
        step = "check the address, PGPASSWORD or ~/.pgpass" if _PASSWORD.search(said[-1]) else "check the address"
        if "does not exist" in said[-1] and "database" in said[-1]:
            step = "createdb makes it"
        return StoreRefused(f"the server refuses: {said[-1].strip()}", place=place, step=step)
    found = said or _LAST_FAILURE.findall(words) or [words.splitlines()[0] if words else "no answer"]
    return _away(f"the server cannot be reached ({found[-1].strip()})", place)


def _away(what: str, place: str) -> StoreAway:
    return StoreAway(what, place=place, step="see that it runs and listens there, then run again")


def _first_line(error: psycopg.Error) -> str:
    return error.diag.message_primary or (str(error).splitlines() or [""])[0]
