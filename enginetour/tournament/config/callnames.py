"""What engines are called that were given as commands: by their programs, and by what tells two of one name apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import abspath
from pathlib import Path

from enginetour.engines.registry import find_program

LONGEST = 64  # characters of a name
SHORT = 24  # characters, above which a name with words behind it has only those that the others lack
# What runs a program that is told behind it.
_INTERPRETER = re.compile(
    r"(python|pypy|perl|ruby|lua|node|java|mono|dotnet|wine|bash|sh|env)[\d.]*|(io)?nice|taskset|chrt|numactl|stdbuf|timeout"
)
_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z]{1,5}$")  # of a file's kind: the end of stockfish-16.1 is none


@dataclass(frozen=True, slots=True)
class Callname:
    """The `short` name, the words behind the program, and the folders that lead to it, the nearest first.

    `file` is the program's whole name, where it has one: the short one is without the end that tells its kind.
    """

    short: str
    words: str = ""
    folders: tuple[str, ...] = ()
    file: str = ""


def callname(command: Sequence[str], base: Path) -> Callname:
    """That of a command typed in `base`: its program, or what an interpreter, `nice` or the like is told to run."""
    place = 0
    if len(command) > 1 and _INTERPRETER.fullmatch(Path(command[0]).name):
        files = (number for number, word in enumerate(command) if number and (base / word).is_file())
        plain = [number for number, word in enumerate(command) if number and not re.match("-|.*=", word)]
        programs = (number for number in plain if _is_program(command[number], base))  # not the 5 of nice -n 5
        place = next(files, next(programs, next(iter(plain), 0)))
    file = Path(command[place])
    found = None if place else find_program(command[0], base)
    parents = Path(found or abspath(base / file)).parents  # noqa: PTH100 - links stay, as they were typed
    words = " ".join(" ".join(command[place + 1 :]).split())
    short = _SUFFIX.sub("", file.name)[:LONGEST]
    return Callname(short, words, tuple(parent.name for parent in parents), file.name[:LONGEST])


def _is_program(word: str, base: Path) -> bool:
    return _INTERPRETER.fullmatch(word) is None and find_program(word, base) is not None


def full_names(names: Sequence[Callname]) -> list[str]:
    """Of one short name, each by its file, ``sf.old`` and ``sf.new``, and with its words.

    Of one with these too, ``sf (old)`` and ``sf (new)`` by their folders. Long words are shortened: from
    ``sf --net nets/a.nnue --threads 4`` and ``sf --net nets/b.nnue --threads 4`` to ``sf a.nnue`` and ``sf b.nnue``.
    """
    files = {name.short: {one.file for one in names if one.short == name.short} for name in names}
    shown = [(name.file if len(files[name.short]) > 1 else "") or name.short for name in names]
    count = Counter(shown)
    groups = {word: [one for one, other in zip(names, shown, strict=True) if other == word] for word in shown}
    full = [
        _with_words(word, name, groups[word]) if count[word] > 1 else word
        for word, name in zip(shown, names, strict=True)
    ]
    return [
        _cut(text, _folder(name, [one for one, called in zip(names, full, strict=True) if called == text]))
        for name, text in zip(names, full, strict=True)
    ]


def _with_words(shown: str, name: Callname, alike: Sequence[Callname]) -> str:
    whole = f"{shown} {name.words}".strip()
    if len(whole) <= SHORT:
        return whole
    others = [set(one.words.split()) for one in alike if one.words != name.words]
    own = [word for word in name.words.split() if not all(word in other for other in others)]
    return f"{shown} {' '.join(_last_part(word) for word in own)}"[: max(SHORT, len(shown))].strip()


def _last_part(word: str) -> str:
    """``a.nnue`` of ``--net=/home/nets/a.nnue``."""
    return word.rstrip("/").rpartition("/")[2] or word


def _folder(name: Callname, alike: Sequence[Callname]) -> str:
    """The nearest of its folders that is not that of all, "" if it does not tell all these places apart."""
    places = {one.folders for one in alike}
    for level, nearest in enumerate(zip(*places, strict=False)):
        if len(set(nearest)) > 1:
            return name.folders[level] if len(set(nearest)) == len(places) else ""
    return ""


def _cut(name: str, folder: str) -> str:
    mark = f" ({folder})" if folder else ""
    return (name[: max(0, LONGEST - len(mark))].strip() + mark)[:LONGEST].strip()
