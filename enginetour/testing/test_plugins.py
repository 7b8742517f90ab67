"""Laws of every reader of opening books and every notifier, for `pytest --pyargs enginetour.testing`."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening
from enginetour.model.variants import board_of
from enginetour.openings.choice import READERS, OpeningSettings, load_opening_book
from enginetour.tournament.config.sections import ALL as KINDS
from enginetour.tournament.events import make_event
from enginetour.tournament.notify import NOTIFIERS, Channel, NotifyFailed

# Readers of opening books.

# Files of the built-in readers. A Polyglot book has 16 bytes for each move, here d2d4 and e2e4.
_START = bytes.fromhex("463b96181691fc9c")
_EXAMPLES = {
    "pgn": b'[Event "a"]\n[Opening "Open"]\n\n1. e4 e5 2. Nf3 *\n\n[Event "b"]\n\n1. d4 {best} d5 *\n',
    "epd": b'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - id "e4";\n8/8/4k3/8/8/4K3/4P3/8 w - - hmvc 0;\n',
    "fen": b"rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n8/8/4k3/8/8/4K3/4P3/8 w - - 0 1\n",
    "bin": b"".join(_START + move + b"\0\1\0\0\0\0" for move in (b"\x02\xdb", b"\x03\x1c")),
}
READER = pytest.mark.parametrize(
    ("kind", "example"),
    [
        pytest.param(kind, example, id=kind)
        for kind, example in (*_EXAMPLES.items(), *((kind, reader.example) for kind, reader in READERS.items()))
        if example
    ],
)


def openings_in(kind: str, content: bytes, *, skip_bad: bool) -> list[Opening]:
    """Return the first openings in a file of this kind. Raise InputRefused as for a configuration."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"book.{kind}")
        path.write_bytes(content)
        if kind in READERS:
            with suppress(OSError, ValueError):  # the only errors that a reader may raise
                deque(READERS[kind].read(path), maxlen=0)
        try:
            chosen = OpeningSettings(file=path.name, skip_bad=skip_bad)
            book = load_opening_book(chosen, seed=1, legs=2, folder=Path(folder))
            return list(book.openings[: min(len(book.openings), 20)])
        except InputRefused as error:
            assert error.place.startswith(str(path)) and len(str(error).splitlines()) == 1, str(error)
            raise


def damaged(content: bytes, cuts: list[tuple[int, int, bytes]]) -> bytes:
    """Replace some parts of a file by other bytes."""
    for start, length, other in cuts:
        place = start % (len(content) + 1)
        content = content[:place] + other + content[place + length :]
    return content


@READER
def test_a_valid_file_gives_the_same_openings_each_time(kind: str, example: bytes) -> None:
    """The example has openings with numbers from 1, and a second reading gives the same ones."""
    found = openings_in(kind, example, skip_bad=False)
    assert found and found == openings_in(kind, example, skip_bad=False)
    assert [opening.index for opening in found] == list(range(1, len(found) + 1))


@READER
@settings(max_examples=40, deadline=None)
@given(
    cuts=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 60), st.binary(max_size=20)), min_size=1, max_size=4),
    skip_bad=st.booleans(),
)
def test_any_file_gives_legal_openings_or_one_line(
    kind: str, example: bytes, cuts: list[tuple[int, int, bytes]], skip_bad: bool
) -> None:
    """A damaged file gives openings with legal moves, or one error that begins with the file."""
    try:
        found = openings_in(kind, damaged(example, cuts), skip_bad=skip_bad)
    except InputRefused:
        return
    for opening in found:
        board = board_of(opening.variant, opening.fen)
        for move in opening.moves:
            board.push_uci(move)
        assert board.is_valid()


# Notifiers.

NOTIFIER = pytest.mark.parametrize(
    "channel",
    [pytest.param(channel, id=name) for name, channel in NOTIFIERS.items() if channel.example is not None],
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@st.composite
def events(draw: st.DrawFn) -> Mapping[str, object]:
    """Return an event of a kind that notifiers get, with any texts of engines in it."""
    about = {"engine": draw(texts), "cause": draw(texts), "game": draw(st.integers(1, 10**9))}
    return make_event(draw(st.sampled_from(KINDS)), draw(texts), draw(st.floats(0, 4e9)), about, draw(texts))


@NOTIFIER
@settings(max_examples=10, deadline=None)
@given(event=events())
def test_an_event_is_sent_or_the_failure_is_named(channel: Channel, event: Mapping[str, object]) -> None:
    """An event with any text is sent or raises an error with a text, in another thread, and it is not changed."""
    before, raised = json.dumps(event), list[BaseException]()

    def send(folder: Path) -> None:
        try:
            channel.send(channel.example, event, folder)
        except BaseException as error:
            raised.append(error)

    with TemporaryDirectory() as folder:
        thread = threading.Thread(target=send, args=(Path(folder),))
        thread.start()
        thread.join()
    assert json.dumps(event) == before
    for error in raised:
        assert isinstance(error, NotifyFailed | OSError | ValueError) and str(error), repr(error)


@NOTIFIER
def test_settings_are_described(channel: Channel) -> None:
    """Each setting has a description, and the example is an instance of the model."""
    fields: Mapping[str, Any] = channel.settings.model_fields
    assert [name for name, field in fields.items() if not field.description] == []
    assert not fields or isinstance(channel.example, channel.settings)
