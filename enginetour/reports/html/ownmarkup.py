"""The one door past the escaping: markup of our own, in which every word that is not ours has been escaped."""

from __future__ import annotations

from markupsafe import Markup


def own(text: str) -> Markup:
    """For whoever writes thousands of cells, where a format for each would cost seconds."""
    return Markup(text)  # noqa: S704  # laws send hostile words through every caller
