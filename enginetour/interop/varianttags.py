"""What Variant tags of files say: a list is of one variant, and a game without the tag is of standard chess."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from enginetour.interop.tally import text
from enginetour.model.variants import STANDARD, VARIANTS, tag_fits

_TAG = re.compile(rb"\[\s*Variant\s")
_VALUE = re.compile(rb'\n\[Variant "([^"\r\n]*)"')


@lru_cache(maxsize=1024)  # a file has few variants
def fits(raw: bytes, variant: str) -> bool:
    """The raw value of a Variant tag means this variant."""
    return tag_fits(text(raw), variant)


def is_standard(raw: bytes) -> bool:
    """The raw value of a Variant tag means standard chess, or says nothing."""
    return fits(raw, STANDARD)


def names_another(header: bytes) -> bool:
    """One of these lines is a Variant tag of something else than standard chess, or has unusual blanks."""
    found = _VALUE.findall(header)
    return len(_TAG.findall(header)) != len(found) or not all(map(is_standard, set(found)))


def by_name(tags: Mapping[bytes, int]) -> dict[str, int]:
    """Games by raw tags as games by variants, the most first: by our names, or by the tag where that means none."""
    found = Counter[str]()
    for raw, games in tags.items():
        found[next((name for name in VARIANTS if fits(raw, name)), text(raw))] += games
    return dict(found.most_common())
