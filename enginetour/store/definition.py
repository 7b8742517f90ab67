"""Definition of a rating list (filter, rating system, anchors, prior) and its stored revisions."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from sqlalchemy import Connection, func, insert, select

from enginetour.interop.gamefilter import ENDINGS, EngineNames
from enginetour.model.errors import StoreRefused, UsageRefused, suggest
from enginetour.model.plugins import plugins_used
from enginetour.model.timecontrol import TIME_CLASSES
from enginetour.model.validation import plain_error
from enginetour.model.variants import STANDARD, variant_named
from enginetour.ratings.pentanomial import ELO_SCALE
from enginetour.ratings.priors import parse_loose_anchor, parse_prior
from enginetour.ratings.systems import SYSTEMS, known_system, settings_for
from enginetour.store.address import LONGEST_NAME
from enginetour.store.tables import EDITIONS, LISTS, ListRevision
from enginetour.store.tournaments import Store

_Globs = tuple[Annotated[str, Field(min_length=1)], ...]
_PLACE = "list options"  # of errors
_ML_ONLY = ("model", "prior", "advantage", "anchors", "loose", "average", "scale")


def _in_order(names: tuple[str, ...], what: str, known: Collection[str]) -> tuple[str, ...]:
    """Return names in the order of the known ones. Raise ValueError for an unknown name."""
    for name in names:
        if name not in known:
            raise ValueError(f"unknown {what} {name!r}{suggest(name, known)}")
    return tuple(name for name in known if name in names)


class ListDefinition(BaseModel):
    """Filter, rating system and settings of a list; by default, all games of the database by maximum likelihood.

    Globs have the syntax of a shell and are case-sensitive.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    system: str = Field(default="ml", description="rating system: ml, elo, gor, egf, egf2021, or that of a plug-in")
    settings: dict[str, Any] = Field(default={}, description="settings of the rating system, not for ml")
    model: Literal["logistic", "davidson", "raokupper"] = Field(default="logistic", description="draw model of ml")
    prior: str = Field(
        default="auto",
        description="prior of ml: auto, none, gaussian=SD (Elo around the average of the pool), draws=W (phantom "
        "draws) or virtual=P (as in BayesElo)",
    )
    advantage: float | Literal["fit"] = Field(default=0.0, description="advantage of White in rating points, or fit")
    anchors: dict[str, float] = Field(default={}, description="fixed ratings by engine")
    loose: dict[str, str] = Field(
        default={}, description="ratings by engine that are known approximately, as RATING+-SD"
    )
    average: float | None = Field(default=None, description="average rating of each pool; null: 0, or fixed by anchors")
    scale: float = Field(default=ELO_SCALE, gt=0, description="rating difference at odds of ten to one")
    tournaments: _Globs = Field(default=(), description="globs for the tournaments that count; empty: all")
    not_tournaments: _Globs = Field(default=(), description="globs for tournaments that do not count")
    engines: _Globs = Field(
        default=(), description="globs for names of engines with or without a version mark; empty: all"
    )
    not_engines: _Globs = Field(default=(), description="globs for names of engines that do not count")
    since: date | None = Field(default=None, description="first day of the games, UTC; null: no limit")
    until: date | None = Field(default=None, description="last day of the games, UTC; null: no limit")
    time_classes: tuple[str, ...] = Field(default=(), description="classes of time controls that count; empty: all")
    tc: _Globs = Field(default=(), description="globs for the time controls that count; empty: all")
    hardware: _Globs = Field(default=(), description="globs for the processors whose games count; empty: all")
    exclude_termination: tuple[str, ...] = Field(default=(), description="terminations of games that do not count")
    odds: bool = Field(default=False, description="true if games at time odds count")
    variant: str = Field(default=STANDARD, description="variant of the games")
    min_games: int = Field(default=0, ge=0, description="smallest number of games of an engine")
    best_of_family: bool = Field(default=False, description="true if the list has only the best engine of each family")
    by: Literal["version", "name"] = Field(
        default="version", description="whether versions of a name are rated separately"
    )
    aliases: dict[str, str] = Field(default={}, description="names in the list by other names of the same engines")

    @field_validator("time_classes")
    @classmethod
    def _known_classes(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return _in_order(names, "time class", TIME_CLASSES)

    @field_validator("exclude_termination")
    @classmethod
    def _known_endings(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return _in_order(names, "termination", tuple(ENDINGS))

    @field_validator("variant")
    @classmethod
    def _known_variant(cls, name: str) -> str:
        return variant_named(name).name

    @field_validator("prior")
    @classmethod
    def _known_prior(cls, prior: str) -> str:
        parse_prior(prior)
        return prior

    @field_validator("loose")
    @classmethod
    def _known_loose(cls, anchors: dict[str, str]) -> dict[str, str]:
        return {name: parse_loose_anchor(anchor).text for name, anchor in anchors.items()}

    @model_validator(mode="after")
    def _fits_together(self) -> ListDefinition:
        if self.since and self.until and self.until < self.since:
            raise ValueError(f"the date of until ({self.until}) is before the date of since ({self.since})")
        if (self.anchors or self.loose) and self.average is not None:
            raise ValueError("average cannot be combined with anchors, which define the rating level")
        if self.loose and self.prior not in ("auto", "none") and not self.prior.startswith("gaussian"):
            raise ValueError(f"loose anchors need the prior auto, none or gaussian=SD (found {self.prior})")
        if twice := sorted({*self.anchors} & {*self.loose}):
            raise ValueError(f"{twice[0]!r} is both a fixed and a loose anchor")
        if self.system == "ml" and self.settings:
            raise ValueError("settings are only valid for incremental rating systems, not for ml")
        if self.system != "ml":
            own = self.changed()
            if odd := [name for name in _ML_ONLY if name in own]:
                raise ValueError(f"{odd[0]} is only valid for the rating system ml (found {self.system})")
            if self.system in SYSTEMS:  # a stored list can be read without the plug-in of its system
                self.system_settings()
        EngineNames.check_aliases(self.aliases)
        return self

    def changed(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, ready for JSON."""
        now, default = self.model_dump(mode="json"), _DEFAULT
        return {name: value for name, value in now.items() if value != default[name]}

    def system_settings(self) -> BaseModel:
        """Return the settings of the incremental rating system. Raise ValueError for an unknown or invalid setting."""
        return settings_for(self.system, self.settings)


_DEFAULT: dict[str, Any] = {
    name: field.get_default(call_default_factory=True) for name, field in ListDefinition.model_fields.items()
}
_DEFAULT |= {name: list(value) for name, value in _DEFAULT.items() if isinstance(value, tuple)}


def parse_definition(values: Mapping[str, Any]) -> ListDefinition:
    """Validate plain values as the definition of a list. Raise UsageRefused for the first error."""
    known_system(str(values.get("system", "ml")))
    try:
        return ListDefinition.model_validate(dict(values))
    except ValidationError as error:
        raise UsageRefused(plain_error(error, ListDefinition, values, noun="field"), place=_PLACE) from None


class Revision(ListRevision):
    """One revision of a list with its definition."""

    definition: ListDefinition


@dataclass(frozen=True, slots=True)
class _ListSummary:
    """A summary of a list: its newest revision, and the number and time of its newest edition.

    The number is 0 and the time is None if the list has no edition.
    """

    revision: Revision
    edition: int
    published: float | None


def lists_of(store: Store) -> list[_ListSummary]:
    """Return all lists with their newest revision and edition, by name."""
    with store.database.reading() as connection:
        rows = connection.execute(select(LISTS).order_by(LISTS.c.name, LISTS.c.revision))
        newest = {row.name: row for row in rows}
        latest = select(EDITIONS.c.list, func.max(EDITIONS.c.number), func.max(EDITIONS.c.made_unix))
        editions = {row[0]: (row[1], row[2]) for row in connection.execute(latest.group_by(EDITIONS.c.list))}
    return [_ListSummary(_revision(row), *editions.get(name, (0, None))) for name, row in newest.items()]


def anchored_by(store: Store, names: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs (anchor, list) of all lists that have one of these names as a fixed or loose anchor."""
    found = ((one.revision.name, one.revision.definition) for one in lists_of(store))
    return [(anchor, name) for name, own in found for anchor in (*own.anchors, *own.loose) if anchor in names]


def revisions_of(store: Store, name: str) -> list[Revision]:
    """Return all revisions of a list, oldest first. Raise UsageRefused for an unknown list."""
    with store.database.reading() as connection:
        return revisions_in(connection, name)


def revisions_in(connection: Connection, name: str) -> list[Revision]:
    """Return the same as `revisions_of`, but read it in an open transaction."""
    found = connection.execute(select(LISTS).where(LISTS.c.name == name).order_by(LISTS.c.revision)).fetchall()
    if not found:
        known = sorted({row.name for row in connection.execute(select(LISTS.c.name))})
        step = "define a list with enginetour lists define NAME, or name a tournament with -t"
        raise UsageRefused(f"rating list {name!r} not found{suggest(name, known)}", step=step)
    return [_revision(row) for row in found]


def has_list(store: Store, name: str) -> bool:
    """Return whether a list has this name."""
    return store.database.scalar(select(LISTS.c.name).where(LISTS.c.name == name)) is not None


def define_list(store: Store, name: str, definition: ListDefinition) -> tuple[Revision, bool]:
    """Define a list. Return its newest revision, and whether this call wrote it.

    If the definition has not changed, no revision is written.
    """
    if not name.isprintable() or name != name.strip() or not 1 <= len(name) <= LONGEST_NAME or "#" in name:
        rule = f"1 to {LONGEST_NAME} printable characters, without # and without spaces at the ends"
        raise UsageRefused(f"{name!r} is not a valid list name", step=f"use {rule}")
    with store.database.writing() as connection:
        rows = select(LISTS).where(LISTS.c.name == name).order_by(LISTS.c.revision.desc())
        row = connection.execute(rows).first()
        before = None if row is None else _revision(row)
        if before is not None and before.definition == definition:
            return before, False
        why = "first" if before is None else "; ".join(definition_changes(before.definition, definition))
        number = 1 if before is None else before.revision + 1
        made: dict[str, Any] = {"name": name, "revision": number, "why": why, "made_unix": time.time()}
        used = {} if definition.system == "ml" else plugins_used((SYSTEMS, definition.system))
        stored = definition.model_dump(mode="json") | ({"plugins": used} if used else {})
        connection.execute(insert(LISTS), {**made, "definition": json.dumps(stored, ensure_ascii=False)})
    return Revision.model_construct(**made, definition=definition), True


def definition_changes(one: ListDefinition, other: ListDefinition) -> list[str]:
    """List the differences of two definitions as ``field: before -> after``."""
    before, after = one.model_dump(mode="json"), other.model_dump(mode="json")
    return [f"{key}: {_text(before[key])} -> {_text(after[key])}" for key in before if before[key] != after[key]]


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_text(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "all"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else str(value)


def describe_definition(definition: ListDefinition) -> dict[str, str]:
    """Format the fields of a definition that differ from the defaults."""
    return {key: _text(value) for key, value in definition.changed().items()}


def _revision(row: Any) -> Revision:
    try:
        stored = json.loads(row.definition)
        if isinstance(stored, dict):
            stored.pop("plugins", None)  # the packages, which `store.ratings.require_system` reads
        # As JSON, which has lists instead of tuples.
        definition = ListDefinition.model_validate_json(json.dumps(stored))
    except ValueError as error:
        why = plain_error(error, ListDefinition) if isinstance(error, ValidationError) else error
        what = f"revision {row.revision} cannot be read: {why}"
        raise StoreRefused(what, place=f"list {row.name}", step="use the enginetour version that wrote it") from None
    return Revision.model_construct(**{**row._mapping, "definition": definition})
