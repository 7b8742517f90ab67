"""What all sections share: strict models and the spelling of names and controls."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from enginetour.model.timecontrol import TimeControl

STRICT = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
Name = Annotated[str, Field(min_length=1, max_length=100)]
LARGEST_RATING = 100_000  # our choice: beyond every scale, and bands stay small
Rating = Annotated[float, Field(ge=-LARGEST_RATING, le=LARGEST_RATING)]


def printable(text: str | None) -> str | None:
    """A name for people, or ValueError."""
    if text is not None and (not text.isprintable() or text != text.strip()):
        raise ValueError("a name is printable text without blanks at its ends")
    return text


def control(text: str) -> str:
    """A time control in its usual spelling; ValueError in words for the user.

    A stage behind one that lasts for ever is a slip: cutechess-cli and fastchess have minutes before the colon.
    """
    parsed = TimeControl.parse(text)
    if any(not stage.moves for stage in parsed.stages[:-1]):
        why = "a stage without moves lasts to the end, so what is behind its ':' is never reached"
        raise ValueError(f"{why}; minutes are written in seconds, 1:30+1 as 90+1; found {text!r}")
    return str(parsed)


Control = Annotated[str, AfterValidator(control)]
