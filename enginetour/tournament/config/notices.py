"""``[notify]`` of a configuration: who is told of what becomes of a run, and how."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

Notice = Literal["finished", "stopped", "incident", "suspended", "withdrawn", "disk-low"]
ALL: tuple[Notice, ...] = ("finished", "stopped", "incident", "suspended", "withdrawn", "disk-low")
Word = Annotated[str, Field(min_length=1)]


class NotifySection(BaseModel):
    """A command (argument list, never a shell), a webhook, services of apprise; `on` which events."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    command: tuple[Word, ...] = ()
    webhook: str | None = None
    apprise: tuple[Word, ...] = ()
    on: tuple[Notice, ...] = ALL

    @field_validator("command", "apprise", "on", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        if isinstance(value, str):
            raise ValueError('write a list: ["..."]')
        return tuple(value) if isinstance(value, list) else value

    @field_validator("webhook")
    @classmethod
    def _address(cls, url: str | None) -> str | None:
        if url is None:
            return None
        try:
            parts = urlsplit(url)
            fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            fits = False
        if not fits or not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError('a webhook is an address "http://..." or "https://..."')
        return url

    def channels(self) -> tuple[str, ...]:
        """The ways that are given."""
        return tuple(name for name in ("command", "webhook", "apprise") if getattr(self, name))
