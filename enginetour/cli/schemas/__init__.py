"""The types of the JSON documents that commands print: `DOCUMENTS` has at least one for each command with ``--json``.

A document that the HTTP interface sends too has its type in `web.schemas`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import BaseModel

from enginetour.cli.schemas import beforehand, lists, tournaments

# Command with the arguments and options that select the document -> its type.
DOCUMENTS: Mapping[str, type[BaseModel]] = MappingProxyType(
    {**beforehand.DOCUMENTS, **tournaments.DOCUMENTS, **lists.DOCUMENTS}
)
