"""Write the reference pages that come from the code: ``python docs/reference.py``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from pydantic.json_schema import models_json_schema

import enginetour
from enginetour.engines.enginefile import file_model
from enginetour.formats.base import SYSTEMS, own_decisions
from enginetour.interop.toml import toml_value
from enginetour.tournament.config.league import LeagueSection
from enginetour.tournament.config.reference import ENGINE_TABLES, json_schema

FOLDER = Path(__file__).with_name("reference")

_BEGIN, _END = "<!-- generated: python docs/reference.py -->\n", "<!-- end -->\n"
_SECTIONS = {
    "tournament": "",
    "format": "The other keys of this section depend on the format: see [Formats](formats.md).",
    "play": "",
    "quality": "An engine that exceeds a limit is replaced by a [reserve](../howto/failing-engines.md), or withdrawn. "
    "A limit of 3 allows 3 failures in the first 100 games of the engine, and 3 per 100 games afterwards.",
    "ratings": "",
    "notify": "",
    "report": "",
    "defaults": "Settings of all entrants, such as `options = { Hash = 64, Threads = 1 }` and `timemargin = 100`. They "
    "have priority over an engine file, and the keys of an entrant have priority over them. The keys of the tables "
    "`options`, `env`, `quirks` and `resources` are combined. An option that an engine does not have is left out, and "
    "`check` and `run` print a note. In an engine file or an `[[entrants]]` table, such an option is an error.",
    "entrants": "One `[[entrants]]` table for each engine. An entrant also takes the keys of an "
    "[engine file](engine-files.md), and they have priority over those of the file.",
}


_OTHERS = {  # names of other packages
    "enginetour.models": "The tables of the database as SQLModel classes, such as `models.Game` and `models.Engine`. "
    "[Database](../schema.md) describes the columns.",
    "enginetour.select": "Make a query for a session: `select` of SQLModel.",
}


def pages() -> dict[str, str]:
    """Return the text of each page by its name, with the part between the two comments made again."""
    made = {
        "configuration": _configuration(),
        "formats": _formats(),
        "engine-files": _engine_files(),
        "http": _http(),
        "json": _json(),
        "python": _python(),
    }
    return {f"{name}.md": _filled((FOLDER / f"{name}.md").read_text("utf-8"), part) for name, part in made.items()}


def _filled(page: str, part: str) -> str:
    before, rest = page.split(_BEGIN)
    return f"{before}{_BEGIN}\n{part.strip()}\n\n{_END}{rest.split(_END)[1]}"


def _python() -> str:
    """Return a section for each name of `enginetour.__all__`: functions, then classes with their public members."""
    found = {name: getattr(enginetour, name) for name in enginetour.__all__}
    ordered = sorted(found.items(), key=lambda item: (isinstance(item[1], type), item[0]))
    return "\n".join(_documented(f"## {name}", f"enginetour.{name}", value) for name, value in ordered)


def _documented(heading: str, path: str, value: Any) -> str:
    signature = path
    if callable(value) and not isinstance(value, type):
        words = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))  # annotations are texts
        words = words.replace("(self, ", "(").replace("(cls, ", "(").replace("(self)", "()")
        signature = f"{path}{re.sub(r'<function .*?>', '...', words)}"
    text = _OTHERS.get(path) or inspect.getdoc(value.fget if isinstance(value, property) else value) or ""
    lines = [f"{heading}\n", f"```text\n{signature}\n```\n", f"{_markdown(text)}\n"]
    own = (
        value.__module__ == "enginetour.tournament.api" or value.__name__ == "RatingList"
        if isinstance(value, type)
        else False
    )
    for name, member in list(vars(value).items()) if own else ():
        member = getattr(member, "__func__", member)  # of a class method
        if _is_public(value, name) and inspect.getdoc(member) and _is_shown(member):
            shown = f"{value.__name__}(...)" if name == "__init__" else f"{value.__name__}.{name}"
            lines.append(_documented(f"### {shown}", shown.replace("(...)", ""), member))
    return "\n".join(lines)


def _is_public(owner: type, name: str) -> bool:
    """Return whether a member is for users: `Run` is the only class that they make themselves."""
    return (
        name == "__init__" if name.startswith("_") and owner.__name__ == "Run" else not name.startswith(("_", "model_"))
    )


def _is_shown(member: Any) -> bool:
    return isinstance(member, property) or inspect.isfunction(member)


def _markdown(doc: str) -> str:
    """Return a docstring in Google's style as Markdown: its sections become lists."""
    made: list[str] = []
    for line in doc.splitlines():
        if re.fullmatch(r"(Args|Raises|Attributes):", line):
            made += [f"{line}\n".replace("Args", "Arguments")]
        elif found := re.fullmatch(r"    (\w+): (.*)", line):
            made.append(f"* `{found[1]}`: {found[2]}")
        else:
            made.append(re.sub(r"^        ", "  ", line))
    return "\n".join(made).replace("``", "`")


# The keys of a configuration, from its JSON Schema.


class ConfigKey(NamedTuple):
    """A key of a configuration or of an engine file.

    Attributes:
        key: Path with dots, such as ``play.draw.movecount``.
        type: ``string``, ``integer``, ``number``, ``boolean``, ``table``, ``list of string``; several joined by "or".
        default: Default as TOML, or "" if there is none.
        allowed: Allowed values or range; "" if every value of the type is allowed.
        required: Whether the key must be given in its table.
        description: Description in one or two sentences.
        systems: The formats that have the key; empty outside of ``[format]``.
    """

    key: str
    type: str
    default: str
    allowed: str
    required: bool
    description: str
    systems: tuple[str, ...] = ()


def list_keys() -> list[ConfigKey]:
    """List all keys of a configuration file, section by section. Formats with the same key share an item."""
    schema = json_schema()
    found: list[ConfigKey] = []
    for section, properties in schema["properties"].items():
        if section != "format":
            found += _keys_of(_alternatives(properties, schema)[0], schema, section)
            continue
        shared: dict[ConfigKey, list[str]] = {}
        for made in properties["oneOf"]:
            for key in _keys_of(made, schema, section):
                if key.key != "format.system":
                    shared.setdefault(key, []).append(made["properties"]["system"]["const"])
        names = ", ".join(toml_value(name) for name in SYSTEMS)
        found.append(ConfigKey("format.system", "string", "", names, required=True, description="Tournament format."))
        found += [key._replace(systems=tuple(systems)) for key, systems in shared.items()]
    return found


def list_league_keys() -> list[ConfigKey]:
    """List all keys of the section ``[league]`` of a league file."""
    schema = LeagueSection.model_json_schema()
    return list(_keys_of(schema, schema, "league"))


def list_engine_keys() -> list[ConfigKey]:
    """List all keys of an engine file."""
    schema = file_model().model_json_schema()
    return list(_keys_of(schema, schema, ""))


def _keys_of(table: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[ConfigKey]:
    for name, entry in table["properties"].items():
        key, kinds = f"{path}.{name}" if path else name, _alternatives(entry, schema)
        default = entry.get("default")
        yield ConfigKey(
            key=key,
            type=" or ".join(dict.fromkeys(_value_type(kind, schema) for kind in kinds)),
            default="" if default is None or isinstance(default, dict) else toml_value(default),
            allowed=" or ".join(filter(None, map(_allowed, kinds))),
            required=name in table.get("required", ()),
            description=entry.get("description", ""),
        )
        for kind in kinds:
            if "properties" in kind and not (path in ("defaults", "entrants") and name in ENGINE_TABLES):
                yield from _keys_of(kind, schema, key)


def _alternatives(entry: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the kinds of value that an entry allows, except null. For a list of tables, return the table."""
    if "$ref" in entry:
        return _alternatives(schema["$defs"][entry["$ref"].rpartition("/")[2]], schema)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in entry:
            return [kind for each in entry[key] for kind in _alternatives(each, schema)]
    if entry.get("type") == "array" and "properties" in (item := _items(entry, schema)[0]):
        return [item]
    return [] if entry.get("type") == "null" else [entry]


def _items(entry: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    items = entry.get("prefixItems", [entry["items"]] if "items" in entry else [{}])
    return [kind for item in items for kind in _alternatives(item, schema)]


def _value_type(kind: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "enum" in kind or "const" in kind:
        return "string"
    found: str | list[str] = kind.get("type", "any")
    if found == "array":
        return f"list of {' or '.join(dict.fromkeys(_value_type(item, schema) for item in _items(kind, schema)))}"
    return " or ".join(found) if isinstance(found, list) else "table" if found == "object" else found


def _allowed(kind: Mapping[str, Any]) -> str:
    if kind.get("type") == "array":
        return _allowed(kind.get("items", {}))
    if "enum" in kind or "const" in kind:
        return ", ".join(toml_value(value) for value in kind.get("enum", [kind.get("const")]))
    low, above = kind.get("minimum"), kind.get("exclusiveMinimum")
    high, below = kind.get("maximum"), kind.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f"{_number(low)} to {_number(high)}"
    ends = (("at least", low), ("above", above), ("at most", high), ("below", below))
    return ", ".join(f"{words} {_number(end)}" for words, end in ends if end is not None)


def _number(value: float) -> str:
    return f"{value:g}" if abs(value) < 10**6 else str(value)


# The pages.


def _configuration() -> str:
    parts = []
    for section, keys in groupby(list_keys(), lambda key: key.key.split(".")[0]):
        title = "[[entrants]]" if section == "entrants" else f"[{section}]"
        shown = [key for key in keys if not key.systems]
        about = [f"{_SECTIONS[section]}\n"] if _SECTIONS[section] else []
        parts.append("\n".join([f"## {title}\n", *about, *_table(shown, section), ""]))
    about = (
        "Only in a league file, instead of `[tournament]` and `[format]`: see [Run a league](../howto/run-a-league.md)."
    )
    return "\n".join([*parts, "## [league]\n", f"{about}\n", *_table(list_league_keys(), "league"), ""])


def _formats() -> str:
    keys, parts = list_keys(), []
    for name, system in SYSTEMS.items():
        own = [f"* {key}: {decision}" for key, decision in own_decisions(name).items()]
        rows = _table([key for key in keys if name in key.systems], "format")
        lines = [
            f"## {name}\n",
            f"{system.summary[:1].upper()}{system.summary[1:]}. Source: {system.source}.\n",
            *rows,
            "",
        ]
        parts.append("\n".join([*lines, *(["Without other settings:\n", *own, ""] if own else [])]))
    return "\n".join(parts)


def _engine_files() -> str:
    keys = list_engine_keys()
    tables = {"Quirks": "quirks", "Resources": "resources"}
    parts = ["## Keys\n", *_table([key for key in keys if "." not in key.key], "")]
    for title, table in tables.items():
        parts += [f"\n## {title}\n", f"These keys are under `[{table}]`.\n"]
        parts += _table([key for key in keys if key.key.startswith(f"{table}.")], table)
    return "\n".join(parts)


def _table(keys: Iterable[ConfigKey], section: str) -> Iterator[str]:
    yield "| key | type | default | meaning |"
    yield "|---|---|---|---|"
    for key in keys:
        kind = key.type + (f": {key.allowed}" if key.allowed else "")
        default = "required" if key.required else f"`{key.default}`" if key.default else ""
        name = key.key.removeprefix(f"{section}.")
        yield f"| `{name}` | {_cell(kind)} | {_cell(default)} | {_cell(key.description)} |"


def _http() -> str:
    """Return the paths of the OpenAPI document, which needs neither a database nor a server."""
    from enginetour.web import API_PREFIX
    from enginetour.web.api import Api

    document = Api(*[None] * 3).openapi
    parts = ["## Paths\n", f"All paths begin with `{API_PREFIX}`.\n"]
    for path, item in document["paths"].items():
        made = item["get"]["responses"]["200"]["content"]
        kind, form = next(iter(made.items()))
        answer = _type(form["schema"], "json.md") if kind == "application/json" else f"`{kind}`"
        parts += [f"### {path}\n", f"{item['get']['description']} Answer: {answer}.\n"]
        if rows := item["get"].get("parameters", []):
            parts += ["| parameter | type | default | meaning |", "|---|---|---|---|"]
            for row in rows:
                default = row["schema"].get("default")
                shown = "required" if row["required"] else f"`{str(default).lower()}`" if default is not None else ""
                parts.append(f"| `{row['name']}` | {_type(row['schema'])} | {shown} | {row.get('description', '')} |")
            parts.append("")
    return "\n".join(parts)


def _json() -> str:
    """Return the document of each command, and the types of all documents of commands and of the HTTP interface."""
    from enginetour.cli.schemas import DOCUMENTS
    from enginetour.web.api import Api

    pairs = [(DOCUMENTS[command], "serialization") for command in DOCUMENTS]
    types = models_json_schema(pairs, ref_template="#/components/schemas/{model}")[1]["$defs"]
    del types[_ANY]
    types |= Api(*[None] * 3).openapi["components"]["schemas"]
    parts = ["## Commands\n", "| command | document | content |", "|---|---|---|"]
    for command, kind in DOCUMENTS.items():
        name = kind.__name__
        parts.append(f"| `{command}` | [{name}](#{name.lower()}) | {types[name]['description']} |")
    parts.append("\n## Types\n")
    for name, schema in sorted(types.items()):
        about = f"{schema['description']}\n" if "description" in schema else ""
        if "enum" in schema:
            parts += [
                f"### {name}\n",
                *filter(None, [about]),
                f"{', '.join(f'`{value}`' for value in schema['enum'])}\n",
            ]
            continue
        parts += [f"### {name}\n", *filter(None, [about]), "| key | type | meaning |", "|---|---|---|"]
        for key, field in schema["properties"].items():
            parts.append(f"| `{key}` | {_type(field)} | {_cell(field.get('description', ''))} |")
        parts.append("")
    return "\n".join(parts)


_ANY = "JsonValue"  # pydantic's name of the type of any value


def _type(schema: dict[str, Any], page: str = "") -> str:
    """Return the type of a value: a link to a type on a page, by default the same page, or words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name == _ANY:
            return "any value"
        return f"[{name}]({page}#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one, page) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema.get("type", "any value")
    if kind == "array":
        items = schema.get("prefixItems") or [schema["items"]]
        two = "2 " if schema.get("maxItems") == 2 and "items" in schema else ""
        return f"list of {two}{', '.join(map(_type, items))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    limits = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    return " ".join([{"date-time": "time"}.get(schema.get("format", ""), kind), *limits])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
