"""Errors of validation as one plain line for users: the key, what is allowed, and the value found.

The texts of pydantic name Python types, and they list the alternatives of a value one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, time
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, PydanticUserError, ValidationError

from enginetour.model.errors import suggest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

KeyPath = tuple[str | int, ...]
Meant = Callable[[KeyPath, Collection[str]], str]
"""Returns the end of the line about an unknown key, from the key and the known keys; "" for the usual suggestion."""

# Types of errors about keys, which do not have alternatives.
_KEY = frozenset({"extra_forbidden", "missing", "model_type", "model_attributes_type"})
_LIST = frozenset({"tuple_type", "list_type"})
_LIMITS = frozenset({"greater_than_equal", "greater_than", "less_than_equal"})
_MUST = "must be "
_TEXTS = {
    **dict.fromkeys(_LIST, f"{_MUST}a list"),
    **dict.fromkeys(("bool_type", "bool_parsing"), f"{_MUST}true or false"),
    "dict_type": f"{_MUST}a table: {{ name = ... }}",
    "int_parsing_size": f"{_MUST}a smaller number",
}
_WORDS = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid string": "text",
}
_FEW_KEYS = 8  # largest number of keys of a table that an error lists


def plain_error(
    error: ValidationError | Sequence[ErrorDetails],
    model: type[BaseModel] | None = None,
    given: object = None,
    *,
    under: KeyPath = (),
    skip: int = 0,
    noun: str = "key",
    table: str = "a table",
) -> str:
    """Return one line about the first error of data that is not a TOML file.

    Args:
        error: the error of pydantic.
        model: the model of the data, for the names of known keys.
        given: the validated data; without it, all keys of the error belong to the data.
        under: the keys of the place of the data, which the line names, too.
        skip: number of parts at the beginning of the key that the line does not name.
        noun: what a key of the data is called.
        table: what a group of keys in the data is called.
    """
    errors = error.errors(include_url=False) if isinstance(error, ValidationError) else error
    if skip:
        errors = [{**one, "loc": one["loc"][skip:]} for one in errors]
    written = None if given is None else {*_paths(given, under), *(under[:length] for length in range(len(under)))}
    return first_error(errors, model, written, under=under, noun=noun, table=table)[1]


def first_error(
    errors: Sequence[ErrorDetails],
    model: type[BaseModel] | None,
    written: Collection[KeyPath] | None,
    *,
    under: KeyPath = (),
    noun: str = "key",
    table: str = "a table",
    meant: Meant = lambda _, __: "",
) -> tuple[KeyPath, str]:
    """Return the key of the first error and a line about it; list items in the line count from 1.

    `written` has all keys of the data, because pydantic adds names of types and validators. None: all keys count.
    """
    first = _main_error(errors)
    keys, found = _alternatives(errors, first, under, written)
    name = dotted(keys)
    more = f" (and {len(errors) - len(found)} more)" if len(errors) > len(found) else ""
    own = keys[len(under) :]
    if first["type"] == "extra_forbidden":
        known = known_keys(model, own[:-1])
        return keys, f"unknown {noun} {name!r}{meant(keys, known) or suggest(str(keys[-1]), known)}{more}"
    if first["type"] == "missing":
        return keys, f"{name} is missing{more}"
    value, before = found[0]["input"], f"{name}: " if name else ""
    if first["type"] in _KEY:
        known = known_keys(model, own)
        of = f" of {', '.join(known)}" if 0 < len(known) <= _FEW_KEYS else ""
        return keys, f"{before}{_MUST}{table}{of} (found {short_repr(value)}){more}"
    text = _range_of(found, model, own) or _describe(found)
    parts = value if isinstance(value, list | tuple) else ()
    told = found[0]["type"] == "value_error" and any(_mentions(text, short_repr(one)) for one in (value, *parts))
    there = "" if told or isinstance(value, dict) else f" (found {short_repr(value)})"
    return keys, f"{before}{text}{there}{more}"


def dotted(keys: KeyPath) -> str:
    """Return keys as text, for messages; list items count from 1."""
    return ".".join(str(key + 1 if isinstance(key, int) else key) for key in keys)


def _paths(given: object, under: KeyPath) -> Iterator[KeyPath]:
    yield under
    inside: Any = given.items() if isinstance(given, Mapping) else ()
    for key, value in enumerate(given) if isinstance(given, list | tuple) else inside:
        yield from _paths(value, (*under, key))


def _main_error(errors: Sequence[ErrorDetails]) -> ErrorDetails:
    """Return the first error, or the first unknown key if a key is missing: it is often another name of that key."""
    first = errors[0]
    table = first["loc"][:-1]
    unknown = (one for one in errors if one["type"] == "extra_forbidden" and one["loc"][:-1] == table)
    return next(unknown, first) if first["type"] == "missing" else first


def _alternatives(
    errors: Sequence[ErrorDetails], first: ErrorDetails, under: KeyPath, written: Collection[KeyPath] | None
) -> tuple[KeyPath, tuple[ErrorDetails, ...]]:
    """Return the key of `first`, and all its errors if it allows several types.

    pydantic reports one error per type, with the name of the type after the key.
    """
    keys = (*under, *first["loc"])
    if first["type"] in ("extra_forbidden", "missing"):
        return (*_written(keys[:-1], written), keys[-1]), (first,)
    own = _written(keys, written)
    values = [one for one in errors if one["type"] not in _KEY]
    same = [one for one in values if _written((*under, *one["loc"]), written)[: len(own)] == own]
    if first["type"] in _KEY or len(own) == len(keys) or len(same) < 2:
        return own, (first,)
    deepest = max(same, key=lambda one: len(_written((*under, *one["loc"]), written)))
    at = _written((*under, *deepest["loc"]), written)
    return (at, (deepest,)) if len(at) > len(own) else (own, tuple(same))


def _written(keys: KeyPath, written: Collection[KeyPath] | None) -> KeyPath:
    """Return the keys without names of types and validators, which are not in the data."""
    path: KeyPath = ()
    for key in keys:
        if not str(key).startswith("function-") and (written is None or (*path, key) in written):
            path = (*path, key)
    return path


def _describe(findings: Sequence[ErrorDetails]) -> str:
    """Describe what is allowed, with all alternatives."""
    texts = dict.fromkeys(map(_allowed, findings))
    if f"{_MUST}a number" in texts:
        texts.pop(f"{_MUST}a whole number", None)
    first, *others = texts
    if not others and findings[0]["type"] in _LIST and isinstance(findings[0]["input"], str):
        return f'{_MUST}a list: ["..."]'
    return " or ".join([first, *(text.removeprefix(_MUST) for text in others)])


def _allowed(finding: ErrorDetails) -> str:
    kind, text = finding["type"], finding["msg"]
    if kind in _TEXTS:
        return _TEXTS[kind]
    own = text.removeprefix("Value error, ")
    if own != text:
        return own  # may begin with a code or a name, so its case is kept
    if kind.endswith("_parsing") or kind == "int_from_float":
        text = text.partition(", ")[0]
    text = re.sub(r"^\w+ should ", "must ", text)
    text = re.sub(r" after validation, not .*", "", text)
    for theirs, ours in _WORDS.items():
        text = text.replace(theirs, ours)
    return text[:1].lower() + text[1:]


def _range_of(findings: Sequence[ErrorDetails], model: type[BaseModel] | None, keys: KeyPath) -> str:
    """Return both limits of a number that is outside of them, or "" if it does not have two."""
    if model is None or len(findings) > 1 or findings[0]["type"] not in _LIMITS:
        return ""
    try:
        whole = model.model_json_schema()
    except PydanticUserError:  # settings of a plugin can have types without a JSON schema
        return ""
    for schema in _schemas_at(whole, keys):
        least, above, most = (schema.get(name) for name in ("minimum", "exclusiveMinimum", "maximum"))
        if most is not None and least is not None:
            return f"{_MUST}between {least} and {most}"
        if most is not None and above is not None:
            return f"{_MUST}greater than {above} and at most {most}"
    return ""


def _schemas_at(whole: Mapping[str, Any], keys: KeyPath) -> list[Mapping[str, Any]]:
    """Return the parts of a JSON schema that describe the value at `keys`, one for each allowed type."""
    found = _types_of(whole, whole)
    for key in keys:
        inside = [schema.get("properties", {}).get(key) or schema.get("additionalProperties") for schema in found]
        if isinstance(key, int):
            inside = [schema.get("items") for schema in found]
        found = [one for schema in inside if isinstance(schema, Mapping) for one in _types_of(whole, schema)]
    return found


def _types_of(whole: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the alternatives of a schema, without references."""
    if "$ref" in schema:
        return _types_of(whole, whole["$defs"][schema["$ref"].rpartition("/")[2]])
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    return [one for each in alternatives for one in _types_of(whole, each)] if alternatives else [schema]


def _mentions(text: str, found: str) -> bool:
    """Return whether the text contains the value that was found."""
    return re.search(rf"(?<![\w.]){re.escape(found)}(?![\w.])", text) is not None


def short_repr(value: object) -> str:
    """Return the Python notation of a value, at most 60 characters, but true, false, dates and lists as in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date | time):
        return value.isoformat()
    try:
        found = repr(list(value) if isinstance(value, tuple) else value)
    except ValueError:  # Python does not convert numbers of more than 4,300 digits
        return "a number of more than 4300 digits"
    return found if len(found) <= 60 else f"{found[:57]}..."


def known_keys(model: type[BaseModel] | None, keys: KeyPath) -> list[str]:
    """Return the field names of the model that `keys` lead to, through sections, optional values and lists."""
    inner = _model_at(model, keys)
    return list(inner.model_fields) if inner else []


def _model_at(model: type[BaseModel] | None, keys: KeyPath) -> type[BaseModel] | None:
    for key in keys:
        if isinstance(key, int) or model is None:
            continue
        field = model.model_fields.get(key)
        model = _model_in(field.annotation) if field else None
    return model


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in getattr(annotation, "__args__", ()) if (found := _model_in(part))), None)
