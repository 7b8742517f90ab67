"""Features of the CECP: parsed leniently, at any time (protocol spec of XBoard 4.9, section "feature")."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice

from enginetour.engines.options import MOST_OPTIONS, MOST_TYPES, NUMBERS, PRESSED
from enginetour.engines.said import exact
from enginetour.model.task import Declared

# Also several a line, quoted or not, with blanks around: NAME=VALUE, NAME="two words".
# It begins at the start of a word only: a line of letters would cost its square otherwise.
_PAIR = re.compile(r"(?<!\w)([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?:\"([^\"]*)\"?|'([^']*)'?|(\S*))")
_KIND = re.compile(r"\s-(check|spin|combo|string|file|path|slider|button|save|reset)(?=\s|$)")
CHECKS = ("0", "1", "false", "true")
KNOWN = frozenset(
    """analyze colors cores debug done draw egt exclude highlight ics memory myname name nps option pause ping playother
    reuse san setboard setscore sigint sigterm sjef smp time usermove variant variants xedit""".split()  # noqa: SIM905
)


@dataclass(slots=True)
class Features:
    """What a CECP engine declared so far; the defaults are the protocol's, but for `draw` (runner spec 7)."""

    values: dict[str, str] = field(default_factory=dict)
    options: dict[str, Declared] = field(default_factory=dict)

    def on(self, name: str, default: bool = False) -> bool:  # noqa: FBT001, FBT002 - a feature's default
        """Whether a 0/1 feature is on; `default` when it was never declared."""
        value = self.values.get(name)
        return default if value is None else value not in ("0", "")

    def read(self, line: str) -> tuple[list[str], list[str]]:
        """Take one ``feature`` line; the names to accept and those nobody knows, each once, in order."""
        accepted: list[str] = []
        unknown: list[str] = []
        for found in _PAIR.finditer(line):
            name = found[1].lower()
            quoted = found[2] if found[2] is not None else found[3]
            value = (quoted if quoted is not None else found[4].rstrip(",;")).strip()
            if name not in KNOWN:
                unknown.append(name)
                continue
            if name not in accepted:
                accepted.append(name)
            if name == "option":
                option = read_option(value)
                if option is not None and len(self.options) < MOST_OPTIONS:
                    self.options.setdefault(option.name.casefold(), option)
            else:
                self.values[name] = value
        return accepted, unknown


def read_option(text: str) -> Declared | None:
    """``NAME -KIND ARGUMENTS`` of an ``option=`` feature; None when it cannot be used.

    Names and values may contain the words of other kinds: the first kind whose arguments are complete counts.
    """
    found = None
    for at in islice(_KIND.finditer(text), MOST_TYPES):
        name, kind, rest = text[: at.start()].strip(), at[1], text[at.end() :].strip()
        found = _option(name, kind, rest) if name else None
        if found is not None and not (rest and kind in PRESSED) and (kind != "check" or rest in CHECKS):
            break
    return found


def _option(name: str, kind: str, rest: str) -> Declared | None:
    if kind in NUMBERS:
        numbers = [exact(word) for word in rest.split()[:3]]
        if len(numbers) < 3 or None in numbers:
            return None
        return Declared(name, kind, str(numbers[0]), numbers[1], numbers[2])
    if kind == "combo":
        choices = [choice.strip() for choice in rest.split("///")]
        default = next((choice[1:] for choice in choices if choice.startswith("*")), choices[0])
        return Declared(name, kind, default, None, None, tuple(choice.removeprefix("*") for choice in choices))
    return Declared(name, kind, rest)
