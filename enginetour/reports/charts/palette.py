"""Colours by what they are for: CSS variables in a page, these values in a picture on its own.

The eight series are the colours of Okabe and Ito (Color Universal Design, 2008), made darker or lighter until each
stands at 3:1 from the paper (WCAG 2.2, 1.4.11) and text colours at 4.5:1 (1.4.3); a test counts it again.
"""

from __future__ import annotations

from types import MappingProxyType

LIGHT = MappingProxyType({
    "ink": "#1a1c20",
    "muted": "#5a5f68",
    "grid": "#d8dbe0",
    "paper": "#ffffff",
    "accent": "#0b5fa5",
    "accent-2": "#b24a00",
    "good": "#00734f",
    "bad": "#b3261e",
    "series-1": "#0072b2",
    "series-2": "#c75000",
    "series-3": "#008560",
    "series-4": "#b3548c",
    "series-5": "#8f6a00",
    "series-6": "#2a86bd",
    "series-7": "#4b3f9e",
    "series-8": "#6b6f76",
})  # fmt: skip

STRONGEST = 0.5  # of a shade with words on it: light and dark, the ink stands at 4.5:1 from it
SERIES = tuple(role for role in LIGHT if role.startswith("series-"))


def series(number: int) -> str:
    """The role of the line with this number, from 0; a ninth has the first colour again, and another dash."""
    return SERIES[number % len(SERIES)]
