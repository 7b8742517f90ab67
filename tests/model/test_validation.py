"""Errors of validation as lines for users."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from enginetour.model.validation import known_keys, plain_error


class _Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    nodes: int = Field(default=1, ge=1, le=9)


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    slots: int | None = Field(default=None, ge=1, le=1024)
    share: float = Field(default=0.5, gt=0, lt=1)
    moves: int = Field(default=1, ge=1)
    speed: Literal["measure"] | Annotated[float, Field(ge=0.05)] = 1.0
    model: Literal["gor", "elo"] = "gor"
    day: date | None = None
    names: Annotated[list[str], Field(min_length=1, max_length=2)] = ["A"]
    quick: bool = True
    inner: list[_Inner] = []
    odds: dict[str, list[int]] = {}

    @field_validator("names")
    @classmethod
    def _known(cls, names: list[str]) -> list[str]:
        if "Z" in names:
            raise ValueError("'Z' is not an engine")
        return names


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"slots": 0}, "slots: must be between 1 and 1024 (found 0)"),
        ({"slots": "x"}, "slots: must be a whole number (found 'x')"),
        ({"slots": 1.5}, "slots: must be a whole number (found 1.5)"),
        ({"slots": "9" * 5000}, f"slots: must be a smaller number (found '{'9' * 56}...)"),
        ({"share": 1}, "share: must be less than 1 (found 1)"),
        ({"share": float("nan")}, "share: must be a finite number (found nan)"),
        ({"moves": -1}, "moves: must be at least 1 (found -1)"),
        ({"speed": "fast"}, "speed: must be 'measure' or a number (found 'fast')"),
        ({"speed": 0}, "speed: must be 'measure' or at least 0.05 (found 0)"),
        ({"model": "x"}, "model: must be 'gor' or 'elo' (found 'x')"),
        ({"day": "x"}, "day: must be a valid date or datetime (found 'x')"),
        ({"moves": date(2020, 1, 2)}, "moves: must be a whole number (found 2020-01-02)"),
        ({"names": []}, "names: must have at least 1 item (found [])"),
        ({"names": ["A", 5]}, "names.2: must be text (found 5)"),
        ({"names": "A"}, "names: must be a list: [\"...\"] (found 'A')"),
        ({"names": ["Z"]}, "names: 'Z' is not an engine"),
        ({"names": ("A", "A", "A")}, "names: must have at most 2 items (found ['A', 'A', 'A'])"),
        ({"quick": "maybe"}, "quick: must be true or false (found 'maybe')"),
        ({"inner": [{}, {"nodes": 0}]}, "inner.2.nodes: must be between 1 and 9 (found 0)"),
        ({"inner": [{"node": 0}]}, "unknown key 'inner.1.node', did you mean 'nodes'?"),
        ({"inner": [4]}, "inner.1: must be a table of nodes (found 4)"),
        ({"odds": 1}, "odds: must be a table: { name = ... } (found 1)"),
        ({"slots": 0, "moves": 0}, "slots: must be between 1 and 1024 (found 0) (and 1 more)"),
    ],
)
def test_a_line_has_the_key_the_allowed_values_and_the_value_found(given: dict[str, Any], line: str) -> None:
    """No text of pydantic is shown, and items of lists count from 1."""
    with pytest.raises(ValidationError) as caught:
        _Settings.model_validate(given)
    assert plain_error(caught.value, _Settings, given) == line


def test_a_model_without_a_json_schema() -> None:
    """Settings of a plugin can have types without a JSON schema; the line then has one limit."""

    class Foreign(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        span: slice = slice(1)
        count: int = Field(default=1, ge=1, le=9)

    with pytest.raises(ValidationError) as raised:
        Foreign.model_validate({"count": 0})
    assert plain_error(raised.value, Foreign, {"count": 0}) == "count: must be at least 1 (found 0)"


def test_places_around_the_data() -> None:
    """Keys around the data are named, and the names of alternatives are not."""
    given = {"inner": [{"nodes": "x"}]}
    with pytest.raises(ValidationError) as caught:
        _Settings.model_validate(given)
    around = plain_error(caught.value, _Settings, given, under=("play", "old"))
    assert around == "play.old.inner.1.nodes: must be a whole number (found 'x')"
    assert plain_error(caught.value, skip=1) == "1.nodes: must be a whole number (found 'x')"
    assert known_keys(_Settings, ("inner", 3)) == ["nodes"]
