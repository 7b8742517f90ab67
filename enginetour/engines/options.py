"""Engine options: what an engine declares against what the user wants, checked before anything is sent.

Three surveyed engines abort on a bad value, so a wrong one is refused by name, with the range (runner spec 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from enginetour.engines.wire import escape_text, parse_int
from enginetour.model.errors import did_you_mean
from enginetour.model.task import DeclaredOption

# Sent to every engine that declares them; defaults are not to be relied on (runner spec 6).
_STANDARD_SETTINGS = (
    ("Ponder", "false"),
    ("OwnBook", "false"),
    ("UCI_Chess960", "false"),
    ("UCI_AnalyseMode", "false"),
    ("UCI_Variant", "chess"),
)
MOST_OPTIONS = 20_000  # kept of one engine: ten thousand are tolerated (reliability 2.1), memory has an end
MOST_TYPES = 16  # words in one declaration that may be the type: each costs one reading of the line
_TEXTS = frozenset({"string", "file", "path"})
PRESSED = frozenset({"button", "save", "reset"})
NUMBERS = frozenset({"spin", "slider"})
_TRUE = {"true": "true", "1": "true", "on": "true", "yes": "true"}
_FALSE = {"false": "false", "0": "false", "off": "false", "no": "false"}
# An engine may declare ten thousand options; the message names the start of its list at most.
_NAMED = 8

Setting = tuple[DeclaredOption, str]


def check_settings(
    declared: Sequence[DeclaredOption], wanted: Iterable[tuple[str, str]]
) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
    """What to send, in the order wanted and in the declared spelling; and a sentence for each wrong wish.

    A check value becomes ``true`` or ``false``, a combo value the declared spelling, a button "" (pressed once).
    """
    known = {option.name.casefold(): option for option in reversed(declared)}
    settings: dict[str, Setting] = {}
    problems: list[str] = []
    for name, value in wanted:
        option = known.get(name.casefold())
        if option is None:
            problems.append(_unknown(name, declared))
            continue
        text, problem = _value(option, value.strip())
        if problem:
            problems.append(problem)
        elif text is not None:
            settings[option.name] = (option, text)
    return tuple(settings.values()), tuple(problems)


def standard_settings(
    declared: Sequence[DeclaredOption], wanted: Iterable[tuple[str, str]], offered: Iterable[tuple[str, str]] = ()
) -> tuple[tuple[str, str], ...]:
    """The settings of STANDARD, and those offered, that this engine has, can take, and that the user did not decide."""
    decided = {name.casefold() for name, _ in wanted}
    known = {option.name.casefold(): option for option in reversed(declared)}
    chosen = []
    for name, value in (*_STANDARD_SETTINGS, *offered):
        option = known.get(name.casefold())
        if option is not None and name.casefold() not in decided and not _value(option, value)[1]:
            chosen.append((option.name, value))
    return tuple(chosen)


def _unknown(name: str, declared: Sequence[DeclaredOption]) -> str:
    if not declared:
        return f"unknown option {name!r}: it declares no options"
    if meant := did_you_mean(name, [escape_text(option.name) for option in declared]):
        return f"unknown option {name!r}{meant}"
    shown = ", ".join(escape_text(option.name) for option in declared[:_NAMED])
    more = f" and {len(declared) - _NAMED} more" if len(declared) > _NAMED else ""
    return f"unknown option {name!r}; it has {shown}{more}"


def _value(option: DeclaredOption, value: str) -> tuple[str | None, str]:
    """The text to send (None: nothing to send) and the problem, one of them."""
    if option.kind in NUMBERS:
        return _number(option, value)
    if option.kind == "check":
        text = _TRUE.get(value.casefold()) or _FALSE.get(value.casefold())
        return text, "" if text else f"option {option.name!r} is true or false, found {value!r}"
    if option.kind == "combo":
        alike = {choice.casefold(): choice for choice in option.choices}
        spelled = value if value in option.choices else alike.get(value.casefold())
        allowed = ", ".join(escape_text(choice) for choice in option.choices)
        return spelled, "" if spelled is not None else f"option {option.name!r} is one of {allowed}; found {value!r}"
    if option.kind in PRESSED:
        if value.casefold() in _FALSE:
            return None, ""
        fits = not value or value.casefold() in _TRUE
        return "" if fits else None, "" if fits else f"option {option.name!r} is a button without a value"
    if option.kind in _TEXTS:
        fits = value.isascii() and (value.isprintable() or not value)
        return value if fits else None, "" if fits else f"option {option.name!r} takes one line of printable ASCII text"
    return None, f"option {option.name!r} is of the unknown kind {option.kind!r} and cannot be set"


def _number(option: DeclaredOption, value: str) -> tuple[str | None, str]:
    number = parse_int(value)
    low, high = option.low, option.high
    if number is not None and (low is None or number >= low) and (high is None or number <= high):
        return str(number), ""
    bounds = f"from {low if low is not None else 'any'} to {high if high is not None else 'any'}"
    return None, f"option {option.name!r} is a whole number {bounds}, found {value!r}"
