"""Requests that commands send to a running tournament: a model for each, parsed from messages of its socket.

A request contains the id of an engine file, and the run itself reads the file. Command lines, environments and values
of options are never sent through the socket.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from enginetour.model.errors import UsageRefused
from enginetour.model.validation import plain_error

_MOST_SLOTS = 1024  # as in a configuration
_LARGEST_NUMBER = (1 << 63) - 1  # the largest number of a game in a database


def _encodable(text: str) -> str:
    if "\0" in text:
        raise ValueError("contains a null character")
    text.encode()  # half a surrogate pair raises ValueError; a database cannot store it
    return text


_Words = Annotated[str, Field(max_length=4096), AfterValidator(_encodable)]
_Name = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_encodable)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True, allow_inf_nan=False)


class Withdraw(_Request):
    """Withdraw an entrant."""

    do: Literal["withdraw"] = "withdraw"
    engine: _Name
    why: _Words = ""


class _Joining(_Request):
    id: _Name
    name: _Name | None = None
    fingerprint: _Words = ""  # of the checked engine; the run accepts only this one
    lacking: Annotated[list[_Name], Field(max_length=1000)] = []  # options of [defaults] that the engine does not have
    why: _Words = ""


class Add(_Joining):
    """Add the engine of an engine file, under its own name or another one."""

    do: Literal["add"] = "add"


class Replace(_Joining):
    """Replace an entrant by the engine of an engine file."""

    do: Literal["replace"] = "replace"
    engine: _Name


class Void(_Request):
    """Void a game."""

    do: Literal["void"] = "void"
    game: Annotated[int, Field(ge=1, le=_LARGEST_NUMBER)]
    why: _Words = ""


class Slots(_Request):
    """Change the number of concurrent games; `force` allows more than there are processors."""

    do: Literal["slots"] = "slots"
    slots: Annotated[int, Field(ge=1, le=_MOST_SLOTS)]
    force: bool = False


class Machines(_Request):
    """List the machines of a cluster, after draining one of them or using it again."""

    do: Literal["machines"] = "machines"
    drain: _Name | None = None
    use: _Name | None = None


class Plain(_Request):
    """A request without arguments."""

    do: Literal["pause", "unpause", "finish", "status", "stop"]


Request = Withdraw | Add | Replace | Void | Slots | Machines | Plain
KINDS = ("withdraw", "add", "replace", "void", "slots", "machines", "pause", "unpause", "finish", "status", "stop")
_REQUEST: TypeAdapter[Request] = TypeAdapter(
    Annotated[Request, Field(discriminator="do")], config=ConfigDict(defer_build=True)
)


def parsed(message: Mapping[str, Any]) -> Request:
    """Parse a message, which may be any JSON object. Raise UsageRefused with the first error."""
    do = message.get("do")
    if do not in KINDS:
        shown = repr(do[:40]) if isinstance(do, str) else "no text"
        raise UsageRefused(f"unknown request (found {shown})", step=f"requests are {', '.join(KINDS)}")
    try:
        return _REQUEST.validate_python(message)
    except ValidationError as error:
        raise UsageRefused(plain_error(error, skip=1), place=f"{do}") from None
