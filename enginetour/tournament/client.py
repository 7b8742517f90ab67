"""The asking side: one question and its answer, or events as long as the tournament runs."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from enginetour.model.errors import StoreRefused
from enginetour.tournament.address import LONGEST_REQUEST, PATIENCE_S, candidates, is_ours, line_of, peer_is_us

LONGEST_ANSWER = 16 << 20  # bytes; a client reads no more


class HungUp(StoreRefused):
    """The run ended before it answered. It did nothing, or what it did is in the log: the request can be repeated."""


def _connect(path: Path, timeout: float) -> socket.socket | None:
    """A connection to whoever listens for this path, if it is this user."""
    for place in candidates(path):
        if place.parent != path.parent and not is_ours(place.parent):
            continue
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
        try:
            connection.connect(os.fspath(place))
            if peer_is_us(connection):
                return connection
        except OSError:
            pass
        connection.close()
    return None


def _lines(connection: socket.socket) -> Iterator[dict[str, Any]]:
    """Answers and events as they come, until the server hangs up; TimeoutError as the socket is set."""
    received = bytearray()
    while data := connection.recv(LONGEST_REQUEST):
        received += data
        *lines, received = received.split(b"\n")
        for line in lines:
            yield json.loads(line)
        if len(received) > LONGEST_ANSWER:
            raise ValueError("an answer without end")


def ask(path: Path, request: Mapping[str, Any], timeout: float = 10.0) -> dict[str, Any] | None:
    """The running tournament's answer, None if nobody listens; HungUp if it hangs up, StoreRefused if it is silent.

    `path` is that of `socket_path`; `timeout` in seconds, for each step of the talk.
    """
    connection = _connect(path, timeout)
    if connection is None:
        return None
    with connection:
        try:
            with contextlib.suppress(BrokenPipeError):  # a refusal may be there before the question
                connection.sendall(line_of(request))
            for answer in _lines(connection):
                return answer
        except TimeoutError:
            what = f"the running tournament did not answer within {timeout:g} s"
            raise StoreRefused(what, step="see what became of it: enginetour status") from None
        except (OSError, ValueError):
            pass
    raise HungUp("the running tournament ended before it answered", step="see what became of it: enginetour status")


def subscribe(path: Path) -> Iterator[dict[str, Any]] | None:
    """Live events of the running tournament until it ends, None if nobody listens; StoreRefused if it has no room."""
    connection = _connect(path, PATIENCE_S)
    if connection is None:
        return None
    lines = _lines(connection)
    try:
        with contextlib.suppress(BrokenPipeError):  # as above
            connection.sendall(line_of({"do": "subscribe"}))
        answer = next(lines, {})
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    if not answer.get("ok"):
        connection.close()
        raise StoreRefused(str(answer.get("error", "the running tournament hung up before it answered")))
    return _events(connection, lines)


def _events(connection: socket.socket, lines: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    with connection, contextlib.suppress(ConnectionError):
        yield from lines
