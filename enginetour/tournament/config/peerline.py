"""A command line of cutechess-cli or fastchess, cut into its options (their manuals of 1.5.1 and 1.8.2)."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePath, PureWindowsPath
from typing import Literal

from enginetour.model.errors import InputRefused, near

Program = Literal["cutechess-cli", "fastchess"]
PLACE = "--from-command"
_PROGRAMS: tuple[tuple[str, Program], ...] = (("cutechess-cli", "cutechess-cli"), ("fast-?chess", "fastchess"))
_CONTINUED = re.compile(r"[\\^`][ \t]*\n")  # of sh, cmd.exe and PowerShell
_REMARK = re.compile(r"^[ \t]*(?:#|rem\b|::).*$", re.MULTILINE | re.IGNORECASE)
_FOLDED = re.compile(r"\n(?=[ \t]*(?:-|[\w.]+=))")  # a line that goes on with an option or a setting
_WINDOWS = re.compile(r"\b[A-Za-z]:\\|(?:^|[\s=\"'])\.{1,2}\\\w|\\[^\s\\\"']*\.exe\b", re.IGNORECASE)
_SHELL = re.compile(r"\d*>{1,2}.*|\d*<.*|[|;&]{1,2}|#.*")  # where a command ends and its shell goes on
_OPTION = re.compile(r"--?[A-Za-z]")
_VARIABLE = re.compile(r"\$[A-Za-z_{(0-9@]|%[A-Za-z_0-9~]+%?|!\w+!")


@dataclass(frozen=True, slots=True)
class Given:
    """One option, without its dashes, and the words behind it."""

    option: str
    words: tuple[str, ...]

    @property
    def first(self) -> str:
        """Its only word; "" without one."""
        return self.words[0] if self.words else ""

    def values(self) -> dict[str, str]:
        """Its words as KEY=VALUE; a word without a sign of equality is a key with the value "true"."""
        parts = (word.partition("=") for word in self.words)
        return {key: value if equals else "true" for key, equals, value in parts}


def cut(text: str) -> tuple[Program, tuple[Given, ...], tuple[str, ...]]:
    """The program, its options in order, and a line for what stands before it (nice, taskset) and behind it.

    The text may be a script: other lines than the command's are other commands.
    InputRefused: neither program, a quote that stays open, a variable that only a shell can fill in.
    """
    lines = _REMARK.sub("", _CONTINUED.sub(" ", text.replace("\r\n", "\n"))).strip()
    words = _words(_FOLDED.sub(" ", lines).replace("\n", " ; "))
    start, program = _start(words)
    rest = words[start + 1 :]
    end = next((n for n, word in enumerate(rest) if _SHELL.fullmatch(word)), len(rest))
    options: list[Given] = []
    for word in rest[:end]:
        if (unfilled := _VARIABLE.search(word)) is not None:
            step = "put echo in front of the command, run it, and give what it prints"
            raise InputRefused(f"a variable of a shell in {word!r}: {unfilled[0]!r}", place=PLACE, step=step)
        if _OPTION.match(word):
            options.append(Given(word.lstrip("-"), ()))
        elif options:
            last = options.pop()
            options.append(Given(last.option, (*last.words, word)))
        else:
            raise InputRefused(f"expected an option such as -engine, found {word!r}", place=PLACE)
    return program, tuple(options), tuple(_around(words[:start], rest[end:]))


def _words(text: str) -> list[str]:
    if _WINDOWS.search(text):  # its paths: only a quote is hidden by a backslash there
        text = re.sub(r'\\(?!")', r"\\\\", text)
    try:
        return shlex.split(text, posix=True)
    except ValueError as error:
        raise InputRefused(f"cannot be cut into words: {error}", place=PLACE) from None


def _start(words: list[str]) -> tuple[int, Program]:
    """Where the program stands: before an option, for a folder may have its name (cd fastchess && ...)."""
    found = [(n, program) for n, word in enumerate(words) if (program := _program(word))]
    for place, program in found:
        if _OPTION.match("".join(words[place + 1 : place + 2])):
            return place, program
    if found:
        return found[0]
    nearest = near(words[0], ("cutechess-cli", "fastchess")) if words else ""
    step = "give the whole command, the program in front"
    raise InputRefused(f"no command of cutechess-cli or fastchess{nearest}", place=PLACE, step=step)


def _around(before: list[str], behind: list[str]) -> list[str]:
    said = []
    before, behind = (" ".join(words).strip("; ").split() for words in (before, behind))
    if before:
        said.append(f"{' '.join(before)}: before the command, left out; put it before enginetour init and run")
    if behind and not behind[0].startswith("#") and behind != ["&"]:
        said.append(f"{' '.join(behind)}: behind the command, left out; put it behind enginetour run")
    return said


def _program(word: str) -> Program | None:
    name = (PureWindowsPath(word) if "\\" in word else PurePath(word)).name.lower()
    for pattern, program in _PROGRAMS:
        if re.match(pattern, name) and "=" not in name:
            return program
    return None
