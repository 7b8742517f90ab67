"""``[tournament]``: what it is called, its chance, and the order of the starting list."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from enginetour.model.errors import near
from enginetour.ratings.grades import Scale
from enginetour.tournament.config.spelling import STRICT, printable

ORDERS = ("file", "rating", "standings")


def listed_order(order: str | None) -> tuple[str, int | None] | None:
    """List and edition of ``list:NAME`` or ``list:NAME#3``, None for another order or a word that is none."""
    found = re.fullmatch(r"list:([^#]+)(?:#([1-9]\d{0,8}))?", order or "")
    return None if found is None else (found[1], int(found[2]) if found[2] else None)


class TournamentSection(BaseModel):
    """``[tournament]``: its name, the seed of all chance, and the order of the starting list."""

    model_config = STRICT
    name: Annotated[str, Field(min_length=1, max_length=64)]
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    order: str | None = None
    rating_scale: Scale | None = None  # of the ratings of entrants; None: not stated
    _name = field_validator("name")(printable)

    @field_validator("order")
    @classmethod
    def _known_order(cls, words: str | None) -> str | None:
        if words is None or words in ORDERS or listed_order(words):
            return words
        raise ValueError(f"an order is {', '.join(ORDERS)}, list:NAME or list:NAME#EDITION{near(words, ORDERS)}")
