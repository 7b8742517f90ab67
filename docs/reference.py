"""Write the reference pages that come from the code: ``python docs/reference.py``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from enginetour.formats.base import SYSTEMS, own_decisions
from enginetour.tournament.config.reference import ConfigKey, list_engine_keys, list_keys

FOLDER = Path(__file__).with_name("reference")

_BEGIN, _END = "<!-- generated: python docs/reference.py -->\n", "<!-- end -->\n"
_SECTIONS = {
    "tournament": "",
    "format": "The other keys of this section depend on the format: see [Formats](formats.md).",
    "play": "",
    "ratings": "",
    "notify": "",
    "report": "",
    "entrants": "One `[[entrants]]` table for each engine. An entrant also takes the keys of an "
    "[engine file](engine-files.md), and they have priority over those of the file.",
}


def pages() -> dict[str, str]:
    """Return the text of each page by its name, with the part between the two comments made again."""
    made = {"configuration": _configuration(), "formats": _formats(), "engine-files": _engine_files()}
    return {f"{name}.md": _filled((FOLDER / f"{name}.md").read_text("utf-8"), part) for name, part in made.items()}


def _filled(page: str, part: str) -> str:
    before, rest = page.split(_BEGIN)
    return f"{before}{_BEGIN}\n{part.strip()}\n\n{_END}{rest.split(_END)[1]}"


def _configuration() -> str:
    parts = []
    for section, keys in groupby(list_keys(), lambda key: key.key.split(".")[0]):
        title = "[[entrants]]" if section == "entrants" else f"[{section}]"
        shown = [key for key in keys if not key.systems]
        about = [f"{_SECTIONS[section]}\n"] if _SECTIONS[section] else []
        parts.append("\n".join([f"## {title}\n", *about, *_table(shown, section), ""]))
    return "\n".join(parts)


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
        default = "required" if key.required else f"`{key.default.replace('{  }', '{}')}`" if key.default else ""
        name = key.key.removeprefix(f"{section}.")
        yield f"| `{name}` | {_cell(kind)} | {_cell(default)} | {_cell(key.description)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
