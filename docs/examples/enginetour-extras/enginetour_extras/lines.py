"""The notifier ``lines``: appends each event to a file as one line of JSON."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, Field

from enginetour.tournament.notify import Channel


class Settings(BaseModel):
    """Settings of the notifier."""

    file: str = Field(description="File that gets the events, relative to the configuration.")


def send(settings: Settings, event: Mapping[str, object], folder: Path) -> None:
    """Append an event. An OSError is reported as a failed notification."""
    with (folder / settings.file).open("a", encoding="utf-8") as sink:
        sink.write(json.dumps(event) + "\n")


CONTRACT = 1
PLUGIN = Channel(send, Settings, example=Settings(file="events.txt"))
