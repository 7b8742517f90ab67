"""What the course of a protocol has shown of engines: step by step for one, a line each for several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from enginetour.interop.toml import toml_value
from enginetour.referee.compliance.exam import Compliance, Verdict
from enginetour.reports.sheet import Column, Sheet

_VERDICTS: tuple[Verdict, ...] = ("ok", "warn", "FAIL", "not offered")


def story(name: str, told: Compliance, *, verbose: bool = False) -> Iterator[str]:
    """The verdict, the steps (those that are not ok, or all), and what to write into the engine file."""
    counts = ", ".join(f"{told.count(verdict)} {verdict}" for verdict in _VERDICTS if told.count(verdict))
    yield f"{name}: {'fit' if told.fit else 'not fit'} · {told.own_name or 'no name'} · {told.protocol} · {counts}"
    for step in told.steps:
        if verbose or step.verdict != "ok":
            words = f": {step.words}" if step.words else ""
            yield f"  {step.verdict:<12}{step.what}{words}   [{step.key}]"
    for key, value in told.hints:
        yield f"  hint        {key} = {toml_value(value)}"


def table(found: Sequence[tuple[str, Compliance]]) -> tuple[Sheet, dict[str, Any]]:
    """A line for each engine; the JSON has every step."""
    columns = (
        Column("name", "engine", left=True, flexible=True),
        Column("fit", "fit", left=True),
        Column("protocol", "protocol", left=True),
        *(Column(verdict.replace(" ", "_"), verdict) for verdict in _VERDICTS),
        Column("own_name", "calls itself", left=True, flexible=True),
        Column("handshake_ms", "start ms"),
    )
    rows = tuple(
        {
            "name": name,
            "fit": told.fit,
            "protocol": told.protocol,
            **{verdict.replace(" ", "_"): told.count(verdict) for verdict in _VERDICTS},
            "own_name": told.own_name,
            "handshake_ms": told.handshake_ms,
        }
        for name, told in found
    )
    value = [
        {
            **row,
            "author": told.author,
            "problems": [step.words for step in told.steps if step.verdict == "FAIL"],
            "steps": [
                {"key": step.key, "what": step.what, "verdict": step.verdict, "words": step.words}
                for step in told.steps
            ],
            "hints": dict(told.hints),
        }
        for row, (_, told) in zip(rows, found, strict=True)
    ]
    shown = tuple({"fit": "yes" if told.fit else "no"} for _, told in found)
    return Sheet("", columns, rows, shown), {"engines": value}
