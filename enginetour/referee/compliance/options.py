"""Steps of both protocols: an option of each kind, at its default and its bounds."""

from __future__ import annotations

import re
from functools import partial

from enginetour.model.task import Declared
from enginetour.referee.compliance.exam import Exam, Step
from enginetour.referee.compliance.lines import pinged
from enginetour.referee.compliance.verdicts import Complaint, NotOffered

# Sizes and numbers of processors at their upper bound are a test of the machine, not of the engine.
_DEAR = re.compile(r"hash|thread|memory|cores|cpu|cache|size|\bmb\b|tables?\b", re.IGNORECASE)
_PLACES = re.compile(r"file|path|dir|log|book|net|learn", re.IGNORECASE)
_HARMLESS = re.compile(r"clear", re.IGNORECASE)
KINDS = {
    "check": ("check",),
    "spin": ("spin", "slider"),
    "combo": ("combo",),
    "string": ("string", "file", "path"),
    "button": ("button", "reset", "save"),
}
EMPTY = "<empty>"  # how UCI writes a string without a sign
MOST_TRIED = 40  # options of one kind; ten thousand are tolerated, and tell nothing more


def _of_kind(exam: Exam, kind: str) -> str:
    """Each option of a kind told other values and its default again; the engine lives and answers."""
    engine = exam.loose()
    tried = 0
    declared = [option for option in engine.declared if option.kind in KINDS[kind]]
    for option in declared[:MOST_TRIED]:
        values = _values(option)
        for value in values:
            _set(exam, option, value)
        tried += bool(values)
        if values and not pinged(exam):
            raise Complaint(f"no answer to a ping after option {option.name!r} was set")
    if not tried:
        raise NotOffered("no such option" if not declared else f"none that can be tried: {declared[0].name!r}")
    return f"{tried} of {len(declared)} tried"


def _values(option: Declared) -> tuple[str, ...]:
    if option.kind == "check":
        usual = {"1": "true", "0": "false"}.get(option.default, option.default)
        return ("true", "false", usual) if usual in ("true", "false") else ("true", "false")
    if option.kind in KINDS["spin"]:
        if option.low is None or option.high is None or not _whole(option.default):
            return ()
        high = () if _DEAR.search(option.name) else (str(option.high),)
        return (str(option.low), *high, option.default)
    if option.kind == "combo":
        return (*option.choices, option.default) if option.default in option.choices else option.choices
    if option.kind in KINDS["string"]:
        return () if _PLACES.search(option.name) else (option.default,)
    return ("",) if _HARMLESS.search(option.name) else ()


def _whole(text: str) -> bool:
    return text.lstrip("-").isdecimal()


def _set(exam: Exam, option: Declared, value: str) -> None:
    button = option.kind in KINDS["button"]
    if exam.spec.protocol == "uci":
        exam.send(f"setoption name {option.name}{'' if button else f' value {value or EMPTY}'}")
        return
    told = {"true": "1", "false": "0"}.get(value, value) if option.kind == "check" else value
    exam.send(f"option {option.name}{'' if button else f'={told}'}")


def _defaults(exam: Exam) -> str:
    """Defaults within what is allowed by the same line."""
    engine = exam.ready()
    wrong = [option.name for option in engine.declared if not _fits(option)]
    if wrong:
        raise Complaint(f"a default that is not allowed: {', '.join(wrong[:3])}")
    odd = [words for kind, words in engine.notes.items() if kind.endswith("option")]
    if odd:
        raise Complaint(odd[0])
    return f"{len(engine.declared)} declared"


def _fits(option: Declared) -> bool:
    if option.kind in KINDS["spin"] and _whole(option.default) and option.low is not None and option.high is not None:
        return option.low <= int(option.default) <= option.high
    if option.kind == "combo":
        return not option.default or option.default in option.choices
    return option.kind != "check" or option.default in ("", "true", "false", "0", "1")


STEPS: tuple[Step, ...] = (
    Step("options-read", "every option can be read, and its default is allowed", _defaults, "warn"),
    *(Step(f"options-{kind}", f"options of the kind {kind}", partial(_of_kind, kind=kind), "warn") for kind in KINDS),
)
