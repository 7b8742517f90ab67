"""``-engine`` and ``-each`` of cutechess-cli and fastchess: the words of one engine, as an entrant of ours."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from typing import Any

from enginetour.interop.toml import found_here, read_option
from enginetour.model.errors import InputRefused
from enginetour.tournament.config.peerline import PLACE, Program
from enginetour.tournament.config.peertime import control_of

# What an engine may be given there: with us it is always so, or seen elsewhere.
_NEEDLESS = {
    "trust": "claims are always tested on the board",
    "stderr": "what an engine writes to stderr is kept with its incidents",
    "debug": "the traffic of abnormal games is kept with their incidents",
}
_LIMITS = ("tc", "st", "nodes", "depth")
_KNOWN = frozenset(
    "cmd conf name dir arg args proto initstr restart whitepov timemargin ponder book bookdepth tscale plies".split()  # noqa: SIM905
) | {*_NEEDLESS, *_LIMITS}


@dataclass(slots=True)
class PeerEngine:
    """One engine as they were given it; `said` is what could not be taken over, by name."""

    program: Program
    given: dict[str, str] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def take(self, words: Sequence[str]) -> None:
        """Words of ``-engine``, then those of ``-each``: of two with one key the later counts, as there."""
        for word in words:
            key, equals, value = word.partition("=")
            if key.startswith("option."):
                self.options[key.removeprefix("option.")] = read_option(value)
            elif key == "args":
                self.arguments = shlex.split(value)  # the last ones alone, as in fastchess
            elif key == "initstr":
                self.lines += [line for line in value.replace("\\n", "\n").split("\n") if line]
            elif re.fullmatch(r"arg\d*", key):
                self.arguments.append(value)
            elif key in _NEEDLESS:
                self.said.append(f"{key}: not needed, {_NEEDLESS[key]}")
            elif key in _KNOWN:
                self.given["depth" if key == "plies" else key] = value if equals else "true"
            else:
                self.said.append(f"{word}: not known here, left out; settings of an engine are option.NAME=VALUE")

    @property
    def name(self) -> str:
        """As given, else that of cutechess's engine list, else the program's without folder and suffix."""
        given = self.given
        named = given.get("name") or given.get("conf")
        return named or (PureWindowsPath(self._words()[0]).stem if given.get("cmd") else "")

    @property
    def is_nameless(self) -> bool:
        """Whether neither the command nor an engine list names it."""
        return not (self.given.get("name") or self.given.get("conf"))

    def control(self) -> str:
        """Its time control in our words; InputRefused naming the engine."""
        limits = {key: self.given.get(key, "") for key in _LIMITS}
        if limits["st"] and limits["tc"].lower() not in ("", "inf", "infinite"):
            self.said.append(
                f"tc={limits['tc']}: st= gives a fixed time a move, and there is one or the other; left out"
            )
        if self.program == "cutechess-cli" and re.search(r"\+.*s$", limits["tc"]):
            self.said.append(f"tc={limits['tc']}: cutechess-cli passes over an increment with an s; here it counts")
        try:
            return str(control_of(**limits))
        except ValueError as error:
            raise InputRefused(str(error), place=f"{PLACE}, engine {self.name or '?'}") from None

    def entrant(self, name: str, find_id: Callable[[str], str | None]) -> dict[str, Any]:
        """Its section without time control and margin; `find_id` is our engine file of a name of theirs."""
        given = self.given
        entrant: dict[str, Any] = {"name": name}
        if "cmd" in given:
            program, *more = self._words()
            entrant["command"] = [self._program(program), *more, *self.arguments]
            protocol = given.get("proto", "uci" if self.program == "fastchess" else "")
            if protocol not in ("uci", "xboard", "cecp"):
                step = "add proto=uci or proto=xboard"
                raise InputRefused(f"no protocol, found {protocol!r}", place=f"{PLACE}, engine {name}", step=step)
            entrant["protocol"] = "uci" if protocol == "uci" else "cecp"
            told = [limit for limit in ("nodes", "depth") if given.get(limit, "").strip("0")]
            if told and protocol != "uci":  # of which the user says so that it obeys
                entrant["limits"] = ["clock", "movetime", *told]
        elif conf := given.get("conf"):
            known = find_id(conf)
            if known is None:
                step = "enginetour engines import engines.json brings in what cutechess knows"
                raise InputRefused(f"no engine file for conf={conf}", place=PLACE, step=step)
            entrant["engine"] = known
            if self.arguments:
                step = "write them into the command of its engine file"
                self.said.append(f"arg={' '.join(self.arguments)}: {step}")
        else:
            raise InputRefused("an engine without cmd= or conf=", place=PLACE, step="give its program by cmd=")
        if "dir" in given:
            entrant["dir"] = given["dir"]
        if self.options:
            # fastchess starts engines here, or where `dir` says.
            starts_here = self.program == "fastchess" and "dir" not in given
            found = {name: found_here(value, Path.cwd()) for name, value in self.options.items()}
            entrant["options"] = found if starts_here else self.options
        quirks: dict[str, Any] = {"init": self.lines} if self.lines else {}
        if given.get("whitepov") == "true":
            quirks["whitepov"] = True
        if quirks:
            entrant["quirks"] = quirks
        if "restart" in given:
            if given["restart"] not in ("on", "off", "auto"):
                what = f"restart is on, off or auto, found {given['restart']!r}"
                raise InputRefused(what, place=f"{PLACE}, engine {name}")
            entrant["restart"] = given["restart"]
        if given.get("ponder") == "true":
            entrant["ponder"] = True
        if "book" in given:
            entrant["own_book"] = {"file": given["book"], **self._book_depth()}
        elif "bookdepth" in given:
            self.said.append(f"bookdepth={given['bookdepth']}: there is no book=, left out")
        if "tscale" in given:
            step = "set handshake_timeout and ready_timeout under quirks, in seconds"
            self.said.append(f"tscale={given['tscale']}: {step}")
        return entrant

    def _book_depth(self) -> dict[str, int]:
        """Their full moves as half moves."""
        depth = self.given.get("bookdepth", "")
        return {"plies": 2 * int(depth)} if depth.isdecimal() and len(depth) < 6 else {}

    def _words(self) -> list[str]:
        """A command is a program; older versions of cutechess-cli knew arguments behind it."""
        cmd = self.given["cmd"]
        is_file = any((Path(folder) / cmd).is_file() for folder in ("", self.given.get("dir", "")))
        if self.program == "fastchess" or is_file or "\\" in cmd:
            return [cmd]
        try:
            return shlex.split(cmd) or [cmd]
        except ValueError:
            return [cmd]

    def _program(self, program: str) -> str:
        """Where they look: in `dir`, and without it for a bare name here, when it is nowhere else."""
        folder = self.given.get("dir")
        inside = Path(folder or ".") / program
        if Path(program).is_absolute() or not inside.is_file():
            return program
        if folder is None and ("/" in program or shutil.which(program)):
            return program
        return str(inside) if inside.is_absolute() or "/" in str(inside) else f"./{inside}"
