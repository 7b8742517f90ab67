"""Names of tournaments as names of files: ``[a-z0-9._-]{1,64}``, never two tournaments with the same one."""

from __future__ import annotations

import hashlib
import re

LONGEST_NAME = 64  # signs of a tournament's name, and of a list's: a slug fits into a file's name
_UNFIT = re.compile(r"[^a-z0-9._-]+")
_LONGEST = 48  # leaves room below 64 for the digest and the edition
_EDITION = re.compile(r"\.\d+$")


def slug_of(name: str, edition: int = 1) -> str:
    """The name where it is fit as it stands; else what is left of it and six digits of its digest.

    Later editions end in ``.2``, ``.3``; a name that ends so itself gets the digest too.
    """
    fit = _UNFIT.sub("-", name.lower())[:_LONGEST].strip(".-")
    if not fit or fit != name or _EDITION.search(name):
        fit = f"{fit or 'tournament'}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"
    return fit if edition == 1 else f"{fit}.{edition}"
