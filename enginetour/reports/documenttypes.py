"""How the type of a JSON document is made from the columns of the database and the fields of the nouns it contains.

The modules `web.schemas` and `cli.schemas` contain the types themselves.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from enginetour.reports.sheet import SCHEMA
from enginetour.store.games import GameLine
from enginetour.store.tables import EditionHead, EditionLine, GameRow, IncidentRow

Fields = dict[str, Any]  # the type and the `Field` of each key
_ABOUT = {
    name: field.description
    for row in (EditionLine, EditionHead, IncidentRow, GameLine, GameRow)
    for name, field in row.model_fields.items()
}


def columns(row: type[BaseModel], names: str = "") -> Fields:
    """Return the columns of a row with their types and descriptions: those in `names`, or all."""
    found = {name: row.model_fields[name] for name in names.split() or row.model_fields}
    return {
        name: (Annotated[one.annotation, *one.metadata, Field(description=one.description)], ...)
        for name, one in found.items()
    }


def parts(noun: type, without: str = "", **about: str) -> Fields:
    """Return the fields of a dataclass or a named tuple with their types.

    `about` describes fields that have no column, or another meaning than the column of this name.
    """
    hints, texts = get_type_hints(noun), {**_ABOUT, **about}
    own = getattr(noun, "__dataclass_fields__", None) or noun._fields  # type: ignore[attr-defined]
    return {name: (hints[name], Field(description=texts.get(name))) for name in own if name not in without.split()}


def about(kind: object, text: str) -> tuple[object, Any]:
    """Return the type and the description of a key."""
    return kind, Field(description=text)


def list_of(kind: Any, text: str) -> tuple[object, Any]:
    """Return the type of a list, whose values have the type `kind`."""
    return list[kind], Field(description=text)


def two(kind: Any, text: str) -> tuple[object, Any]:
    """Return the type of a list of two values, such as those of White and Black."""
    return list[kind], Field(description=text, min_length=2, max_length=2)


def if_any(kind: Any, text: str) -> tuple[object, Any]:
    """Return the type and the field of an optional key. The key is missing if it has no value."""
    return kind, Field(default=None, description=text)


def make_type(
    name: str, doc: str = "", base: type[BaseModel] | None = None, /, **fields: tuple[object, Any]
) -> type[BaseModel]:
    """Return the type of an object. It has no other keys, except those of `base`."""
    own = None if base else ConfigDict(extra="forbid")
    made: type[BaseModel] = create_model(name, __config__=own, __base__=base, __doc__=doc or None, **fields)  # type: ignore[call-overload]
    return made


def document(name: str, doc: str, /, **fields: tuple[object, Any]) -> type[BaseModel]:
    """Return the type of a whole document, which has the version of the form in its key `schema`."""
    schema = Field(alias="schema", description="version of the form of all JSON documents")
    return make_type(name, doc, schema_version=(Literal[SCHEMA], schema), **fields)
