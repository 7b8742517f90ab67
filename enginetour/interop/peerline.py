"""A command line of cutechess-cli or fastchess, cut into its options (their manuals of 1.5.1 and 1.8.2)."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePath, PureWindowsPath
from typing import Literal

from enginetour.errors import InputRefused
from enginetour.tomlplace import near

Program = Literal["cutechess-cli", "fastchess"]
PLACE = "--from-command"
_PROGRAMS: tuple[tuple[str, Program], ...] = (("cutechess-cli", "cutechess-cli"), ("fast-?chess", "fastchess"))
_CONTINUED = re.compile(r"[\\^][ \t]*\r?\n")
_SHELL = re.compile(r"\d*>{1,2}.*|\d*<.*|[|;&]{1,2}|#.*")  # where a command ends and its shell goes on
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


def cut(text: str) -> tuple[Program, tuple[Given, ...]]:
    """The program and its options in order; what stands before the program (nice, timeout) is passed over.

    InputRefused: neither program, a quote that stays open, a variable that only a shell can fill in.
    """
    try:
        words = shlex.split(_CONTINUED.sub(" ", text).replace("\n", " "), posix=True)
    except ValueError as error:
        raise InputRefused(f"cannot be cut into words: {error}", place=PLACE) from None
    found = next(((n, program) for n, word in enumerate(words) if (program := _program(word))), None)
    if found is None:
        nearest = near(words[0], ("cutechess-cli", "fastchess")) if words else ""
        step = "give the whole command, the program in front"
        raise InputRefused(f"no command of cutechess-cli or fastchess{nearest}", place=PLACE, step=step)
    start, program = found
    rest = words[start + 1 :]
    end = next((n for n, word in enumerate(rest) if _SHELL.fullmatch(word)), len(rest))
    options: list[Given] = []
    for word in rest[:end]:
        if (unfilled := _VARIABLE.search(word)) is not None:
            step = "put echo in front of the command, run it, and give what it prints"
            raise InputRefused(f"a variable of a shell in {word!r}: {unfilled[0]!r}", place=PLACE, step=step)
        if re.match(r"--?[A-Za-z]", word):
            options.append(Given(word.lstrip("-"), ()))
        elif options:
            last = options.pop()
            options.append(Given(last.option, (*last.words, word)))
        else:
            raise InputRefused(f"expected an option such as -engine, found {word!r}", place=PLACE)
    return program, tuple(options)


def _program(word: str) -> Program | None:
    name = (PureWindowsPath(word) if "\\" in word else PurePath(word)).name.lower()
    for pattern, program in _PROGRAMS:
        if re.match(pattern, name) and "=" not in name:
            return program
    return None
