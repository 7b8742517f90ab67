"""What a validation found, in words for whoever wrote the file: no kind of Python, and all that a key may be."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


Keys = tuple[str | int, ...]
_LIST = frozenset({"tuple_type", "list_type"})
_KEY = frozenset({"extra_forbidden", "missing", "model_type"})  # findings about keys: never one of two kinds of value
_SHOULD = "input should be "


def telling(errors: Sequence[ErrorDetails]) -> ErrorDetails:
    """The first; of a table that lacks a key and has an unknown one, the unknown: it is the one in other words."""
    first = errors[0]
    table = first["loc"][:-1]
    unknown = (one for one in errors if one["type"] == "extra_forbidden" and one["loc"][:-1] == table)
    return next(unknown, first) if first["type"] == "missing" else first


def alternatives(
    errors: Sequence[ErrorDetails], first: ErrorDetails, under: Keys, known: Collection[Keys]
) -> tuple[Keys, tuple[ErrorDetails, ...]]:
    """The key that `first` is about, and all findings of what else it may be, where it may be of several kinds.

    pydantic tells one finding a kind, each with the kind's name behind the key; `known` are the keys of the file.
    """
    keys = (*under, *first["loc"])
    written = _written(keys, known)
    values = [one for one in errors if one["type"] not in _KEY]
    same = [one for one in values if _written((*under, *one["loc"]), known)[: len(written)] == written]
    if first["type"] in _KEY or len(written) == len(keys) or len(same) < 2:
        return keys, (first,)
    deepest = max(same, key=lambda one: len(_written((*under, *one["loc"]), known)))
    at = _written((*under, *deepest["loc"]), known)
    return (at, (deepest,)) if len(at) > len(written) else (written, tuple(same))


def _written(keys: Keys, known: Collection[Keys]) -> Keys:
    """The same without names of kinds and validators, which no file has."""
    path: Keys = ()
    for key in keys:
        if (*path, key) in known:
            path = (*path, key)
    return path


def words_of(findings: Sequence[ErrorDetails]) -> str:
    """What is allowed, all kinds in one."""
    first, *others = [_allowed(one) for one in findings]
    if not others and findings[0]["type"] in _LIST and isinstance(findings[0]["input"], str):
        return 'write a list: ["..."]'
    return " or ".join([first, *(words.removeprefix(_SHOULD) for words in others)])


def _allowed(finding: ErrorDetails) -> str:
    kind = finding["type"]
    if kind in _LIST:
        return f"{_SHOULD}a list"
    if kind == "dict_type":
        return f"{_SHOULD}a table: {{ name = ... }}"
    if kind == "bool_type":
        return f"{_SHOULD}true or false"
    words = finding["msg"]
    ours = words.removeprefix("Value error, ")  # may begin with a code or a name, which stays as it is
    return ours if ours != words else words[:1].lower() + words[1:]


def tells(words: str, found: str) -> bool:
    """Whether the words name what was found already: 0 is not told by "greater than or equal to 50"."""
    return re.search(rf"(?<![\w.]){re.escape(found)}(?![\w.])", words) is not None


def shown(value: object) -> str:
    """As Python writes it, at most 60 characters."""
    try:
        found = repr(value)
    except ValueError:  # Python writes no number of more than 4300 digits
        return "a number of thousands of digits"
    return found if len(found) <= 60 else f"{found[:57]}..."
