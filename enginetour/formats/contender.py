"""A format as people name it for a comparison: ``mcmahon``, ``entropy:model=gor``, ``bubble:size=8:min_matches=16``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from enginetour.formats.base import SYSTEMS, Format, make_format, options_model
from enginetour.model.errors import UsageRefused, did_you_mean


@dataclass(frozen=True, slots=True)
class Contender:
    """A system of the registry with its validated settings; `words` as it was named."""

    words: str
    system: str
    options: Any

    def format(self, seed: int) -> Format[Any]:
        """Fresh, with chance of its own."""
        return make_format(self.system, self.options, seed)


def contender(words: str, rounds: int) -> Contender:
    """As named. So many rounds and one game a match, where it has such settings and `words` give no other.

    UsageRefused for systems and settings there are not.
    """
    system, *pairs = words.split(":")
    if system not in SYSTEMS:
        raise UsageRefused(
            f"unknown format {system!r}{did_you_mean(system, list(SYSTEMS))}", step="enginetour systems lists them"
        )
    model = options_model(system)
    given = dict(_setting(pair, words) for pair in pairs)
    usual = {"rounds": rounds, "games_per_pairing": 1}
    settings = {key: value for key, value in usual.items() if key in model.model_fields} | given
    try:
        return Contender(words, system, model.model_validate(settings))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        what = f"{key}: {first['msg']}" if key else first["msg"]
        if first["type"] == "extra_forbidden":
            what = f"unknown setting {key!r}{did_you_mean(key, list(model.model_fields))}"
        raise UsageRefused(what, place=words, step=f"enginetour systems {system} lists its settings") from None


def _setting(pair: str, words: str) -> tuple[str, object]:
    """``key=value``, the value as in a configuration; a bare word is text."""
    key, equals, value = pair.partition("=")
    if not equals or not key:
        raise UsageRefused(f"a setting is key=value, found {pair!r}", place=words)
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):  # no TOML, a number of thousands of digits, brackets in brackets
        return key, value
