"""Laws of every notifier that has an example, for `pytest --pyargs enginetour.testing`."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.tournament.config.sections import ALL as KINDS
from enginetour.tournament.events import make_event
from enginetour.tournament.notify import NOTIFIERS, Channel, NotifyFailed

ALL = pytest.mark.parametrize(
    "channel",
    [pytest.param(channel, id=name) for name, channel in NOTIFIERS.items() if channel.example is not None],
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@st.composite
def events(draw: st.DrawFn) -> Mapping[str, object]:
    """Return an event of a kind that notifiers get, with any texts of engines in it."""
    about = {"engine": draw(texts), "cause": draw(texts), "game": draw(st.integers(1, 10**9))}
    return make_event(draw(st.sampled_from(KINDS)), draw(texts), draw(st.floats(0, 4e9)), about, draw(texts))


@ALL
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


@ALL
def test_settings_are_described(channel: Channel) -> None:
    """Each setting has a description, and the example is an instance of the model."""
    fields: Mapping[str, Any] = channel.settings.model_fields
    assert [name for name, field in fields.items() if not field.description] == []
    assert not fields or isinstance(channel.example, channel.settings)
