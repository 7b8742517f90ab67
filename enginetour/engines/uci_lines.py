"""UCI lines: read info lines and declared options, write `go` (UCI protocol, April 2006)."""

from __future__ import annotations

import re
from itertools import islice
from operator import attrgetter

from enginetour.engines.protocol import MOST_TYPES, Ask
from enginetour.engines.wire import (
    LONGEST_PV,
    PV_PLIES,
    SearchInfo,
    clamp_int64,
    mate_score,
    parse_clamped_int,
    parse_int,
)
from enginetour.model.task import DeclaredOption
from enginetour.model.timecontrol import TimeControl

# Escape sequences of terminals for colors and titles, and characters such as NUL, backspace and byte order mark.
_UNSEEN = re.compile(
    r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])|[\x00-\x08\x0e-\x1f\x7f\ufeff]"
)
_TYPE = re.compile(r"\stype\s+(check|spin|combo|button|string)(?=\s|$)")
_NAME = re.compile(r"option\s+name\s+")
_FIGURES = ("depth", "seldepth", "nodes", "nps", "hashfull", "tbhits")  # keywords of `info` and fields of a SearchInfo
# Numbers with at most 18 digits always fit into 64 bits.
_USUAL = re.compile(
    rb"info depth (?P<depth>\d{1,18})(?: seldepth (?P<seldepth>\d{1,18}))?(?: multipv 1)?"
    rb" score (?P<kind>cp|mate) (?P<score>-?\d{1,18})(?: nodes (?P<nodes>\d{1,18}))?(?: nps (?P<nps>\d{1,18}))?"
    rb"(?: hashfull (?P<hashfull>\d{1,18}))?(?: tbhits (?P<tbhits>\d{1,18}))?(?: time \d+)?(?: pv(?P<pv> [ -~]*[!-~]))?"
    rb"[ \r\n]*"
)
_figures = attrgetter(*_FIGURES)
_WORDS = tuple((name, b" %b " % name.encode()) for name in _FIGURES)
_BOUNDS = {"lowerbound": 1, "upperbound": -1}


def plain_line(line: bytes) -> str:
    """Return a line as text without escape sequences, control characters and superfluous blanks."""
    return " ".join(split_words(line))


def split_words(line: bytes) -> list[str]:
    """Return the words of a line, without escape sequences and control characters."""
    text = line.decode("utf-8", "replace")
    if not text.isprintable():
        text = _UNSEEN.sub("", text)
    return text.split()


def read_option(line: str) -> DeclaredOption | None:
    """Return the option in an ``option name ...`` line, or None if it cannot be used.

    This is so for unknown types and for a spin option without numbers. Names and values may contain any keyword, so the
    first type with which the line is complete counts.
    """
    start = _NAME.match(line)
    if start is None:
        return None
    found = None
    for at in islice(_TYPE.finditer(line, start.end()), MOST_TYPES):
        name, kind, words = line[start.end() : at.start()].strip(), at[1], line[at.end() :].split()
        found = _option(name, kind, words) if name else None
        if found is not None and _is_complete(found, words):
            break
    return found


def _option(name: str, kind: str, words: list[str]) -> DeclaredOption | None:
    if kind == "spin":
        first = dict(reversed(_valued(words, ("default", "min", "max"), empty=True)))
        low, high = parse_int(first.get("min", "")), parse_int(first.get("max", ""))
        return None if low is None or high is None else DeclaredOption(name, kind, first.get("default", ""), low, high)
    if kind == "combo":
        return _combo(name, words)
    has_default = words[:1] == ["default"]  # the value of a string is the rest of the line, even keywords
    return DeclaredOption(name, kind, " ".join(words[1:] if kind == "string" else words[1:2]) if has_default else "")


def _combo(name: str, words: list[str]) -> DeclaredOption:
    """Return a combo option from the words after its type.

    A word after a keyword is a value, even if it is a keyword. The other reading is used if only it has the default
    among the choices.
    """
    readings = []
    for empty in (False, True):
        values = _valued(words, ("default", "var"), empty=empty)
        choices = tuple(value for word, value in values if word == "var")
        default = next((value for word, value in values if word == "default"), "")
        if default in choices:
            return DeclaredOption(name, "combo", default, None, None, choices)
        readings.append(DeclaredOption(name, "combo", default, None, None, choices))
    return readings[readings[0].default.split()[:1] == ["var"]]


def _valued(words: list[str], keys: tuple[str, ...], *, empty: bool) -> list[tuple[str, str]]:
    """Return each key with its value. Only ``var`` may be repeated. With `empty`, a value may be empty."""
    values: list[tuple[str, list[str]]] = []
    open_keys = set(keys)
    for word in words:
        if word in open_keys and (not values or empty or values[-1][1]):
            values.append((word, []))
            open_keys -= {word} - {"var"}
        elif values:
            values[-1][1].append(word)
    return [(key, " ".join(value)) for key, value in values]


def _is_complete(option: DeclaredOption, words: list[str]) -> bool:
    """Return whether the words after the type have the form that this type requires."""
    if option.kind == "button":
        return not words
    if option.kind == "check":
        return len(words) == 2 and option.default in ("true", "false")
    if option.kind == "combo":
        return bool(option.choices) and words[0] in ("default", "var")
    return words[:1] in ([], ["default"]) or (option.kind == "spin" and words[0] in ("min", "max"))


def last_search_info(text: bytes, *, bounds: bool = True) -> SearchInfo:
    """Return the last ``info`` line of a search that has a score; only principal variation 1 counts.

    Without `bounds`, lines with a lower or upper bound are ignored.
    """
    end = len(text)
    while (hit := text.rfind(b" score ", 0, end)) >= 0:
        start = text.rfind(b"\n", 0, hit) + 1
        stop = text.find(b"\n", hit)
        info = _thought(text[start : stop if stop >= 0 else len(text)])
        if info is not None and (bounds or not info.bound):
            return info
        end = start
    return SearchInfo()


def complete_info(info: SearchInfo, text: bytes) -> SearchInfo:
    """Return the info, with missing figures taken from other lines.

    This is necessary because older engines send the score and other figures in separate lines.
    """
    if None not in info:
        return info
    found = {}
    for (name, word), figure in zip(_WORDS, _figures(info), strict=True):
        if figure is None and word in text and (last := _last_figure(text, word)) is not None:
            found[name] = last
    return info._replace(**found) if found else info  # type: ignore[arg-type]


def _last_figure(text: bytes, word: bytes) -> int | None:
    end = len(text)
    while (hit := text.rfind(word, 0, end)) >= 0:
        start = text.rfind(b"\n", 0, hit) + 1
        line = text[start : hit + 40]
        if line.lstrip().startswith(b"info") and not {b"string", b"multipv", b"pv"} & set(text[start:hit].split()):
            return parse_clamped_int(line[hit - start + len(word) :].split()[0].decode("utf-8", "replace"))
        end = hit
    return None


def _thought(line: bytes) -> SearchInfo | None:
    return read_usual_info(line) or read_any_info(line)


def read_usual_info(line: bytes) -> SearchInfo | None:
    """Parse a line in the word order of Stockfish, which most engines use; return None for any other line.

    This takes half the time of `read_any_info`.
    """
    found = _USUAL.fullmatch(line)
    if found is None or ((pv := found["pv"]) and b" string" in pv):
        return None
    kind, score = found["kind"], int(found["score"])
    figures = [None if digits is None else int(digits) for digits in found.group(*_FIGURES)]
    depth, seldepth, nodes, nps, hashfull, tbhits = figures
    words = " ".join(pv.decode("utf-8", "replace").split()[:PV_PLIES])[:LONGEST_PV] if pv else ""
    score = score if kind == b"cp" else mate_score(score)
    return SearchInfo(score, depth, nodes, words, seldepth, nps, hashfull, tbhits)


def read_any_info(line: bytes) -> SearchInfo | None:
    """Parse a line that contains a score, with its words in any order; return None for other lines."""
    words = line.decode("utf-8", "replace").split()
    if "string" in words:
        words = words[: words.index("string")]  # the rest of the line is text (UCI protocol, "info string")
    if words[:1] != ["info"] or "score" not in words:
        return None
    score = None
    figures: dict[str, int | None] = {}
    bound, pv = 0, ""
    at = 1
    while at < len(words):
        word, value = words[at], words[at + 1] if at + 1 < len(words) else ""
        at += 2
        if word in _BOUNDS:
            bound = _BOUNDS[word]
            at -= 1
        elif word in _FIGURES and value:
            figures[word] = parse_clamped_int(value)
        elif word == "score":
            number = parse_clamped_int(words[at]) if at < len(words) else None
            at += 1
            if number is not None and value == "cp":
                score = number
            elif number is not None and value == "mate":
                score = mate_score(number)
        elif word == "multipv" and value not in ("1", ""):
            return None
        elif word == "pv":
            pv = " ".join(words[at - 1 : at - 1 + PV_PLIES])[:LONGEST_PV]
            break
    return None if score is None else SearchInfo(clamp_int64(score), pv=pv, bound=bound, **figures)


def go_command(ask: Ask, command: str = "go") -> str:
    """Return `go` with the limits of this move; if the opponent has no clock, its time is the same as the engine's."""
    tc, words = ask.tc, command
    if ask.own_ms is not None:
        other_ms = ask.own_ms if ask.other_ms is None else ask.other_ms
        white, black = (ask.own_ms, other_ms) if ask.white else (other_ms, ask.own_ms)
        own, other = ask.own_increment_ms, ask.other_increment_ms
        white_increment, black_increment = (own, other) if ask.white else (other, own)
        words += f" wtime {white} btime {black} winc {white_increment} binc {black_increment}"
        if ask.moves_to_go:
            words += f" movestogo {ask.moves_to_go}"
    return words + go_limits(tc)


def go_limits(tc: TimeControl) -> str:
    """Return the words after the clocks in a `go` command, with a leading blank; "" if there are none."""
    words = ""
    if tc.movetime_ms is not None:
        words += f" movetime {tc.movetime_ms}"
    if tc.nodes is not None:
        words += f" nodes {tc.nodes}"
    if tc.depth is not None:
        words += f" depth {tc.depth}"
    return words
