"""The file name of each engine's page, never two with the same one."""

from __future__ import annotations

from collections.abc import Iterable

from enginetour.store.address import slug_of


def slugs_of(names: Iterable[str]) -> dict[str, str]:
    """As `slug_of`; where a name reads like another's with its digest, a number tells them apart."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        if name not in found:
            slug, again = slug_of(name), 1
            while slug in taken:
                again += 1
                slug = slug_of(name, again)
            taken.add(slug)
            found[name] = slug
    return found
