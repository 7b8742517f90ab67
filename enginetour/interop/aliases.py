"""Other names of engines, from a file as Ordo's synonyms: one line an engine, the name to use first, quoted or not."""

from __future__ import annotations

import csv
from pathlib import Path

from enginetour.interop.wholefile import read_whole
from enginetour.model.errors import InputRefused

LARGEST_FILE = 10_000_000  # bytes, our choice: some 200,000 names
LONGEST_LINE = 65_536  # signs, as of a game file


def read_aliases(path: Path) -> dict[str, str]:
    """Alias to name. Empty lines and those that begin with ``#`` are skipped; InputRefused as file:line."""
    try:
        lines = read_whole(path, LARGEST_FILE).decode("utf-8-sig").splitlines()
    except OSError as error:
        raise InputRefused(f"cannot read: {error.strerror}", place=str(path)) from None
    except UnicodeDecodeError:
        raise InputRefused("is not UTF-8", place=str(path), step="save it as UTF-8") from None
    found: dict[str, str] = {}
    lines_of: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) > LONGEST_LINE:
            raise InputRefused(f"a line longer than {LONGEST_LINE:,} signs", place=f"{path}:{number}")
        if "\0" in line:
            raise InputRefused("no list of names: it holds NUL", place=f"{path}:{number}")
        try:
            name, *others = (cell.strip() for cell in next(csv.reader([line], skipinitialspace=True, strict=True)))
        except csv.Error as error:
            raise InputRefused(f"no list of names: {error}", place=f"{path}:{number}") from None
        if not name or not others or not all(others):
            raise InputRefused("a name and at least one alias are needed", place=f"{path}:{number}")
        lines_of.setdefault(name, number)
        for other in others:
            if found.setdefault(other, name) != name:
                raise InputRefused(f"{other!r} is also an alias of {found[other]!r}", place=f"{path}:{number}")
    for alias, name in found.items():
        if name in found and found[name] != name:
            step = f"write all of them in one line behind {found[name]!r}"
            raise InputRefused(f"{name!r} is itself an alias", place=f"{path}:{lines_of[name]}", step=step)
        if alias in lines_of and alias != name:
            raise InputRefused(f"{alias!r} is an alias of {name!r}", place=f"{path}:{lines_of[alias]}")
    return found
