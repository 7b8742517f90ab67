"""Translate command lines of cutechess-cli (1.5.1) and fastchess (1.8.2) into a configuration.

The table shows the differences according to the manuals of both programs.

their command                             configuration
-sprt without model                       normalized (fastchess), logistic (cutechess)
-openings without order                   sequential
no timemargin=                            timemargin = 0
a threshold of 0 that disables a rule     no rule
-rounds R -games G, two engines           R x G games of a match
-rounds R -games G, more engines          R cycles of G games per pairing
-games above 2 (fastchess)                -rounds and -games exchanged
-repeat N (fastchess)                     -games N
-repeat N (cutechess)                     games on one opening; by default each game has a new one
policy=encounter, policy=round            one opening for all games of a pair, or of a round
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any, Literal

from enginetour.engines.registry import of_workspace
from enginetour.interop.fastchess import read_fastchess
from enginetour.interop.toml import ConfigDraft, absolute_if_exists, read_option, read_value, unique_names
from enginetour.model.errors import InputRefused, suggest
from enginetour.model.timecontrol import TimeControl
from enginetour.reports.sheet import format_count
from enginetour.store.address import workspace_of
from enginetour.tournament.config.sections import LONGEST_NAME
from enginetour.tournament.config.write import write_draft

_Program = Literal["cutechess-cli", "fastchess"]
_PLACE = "--from-command"
_PROGRAMS: tuple[tuple[str, _Program], ...] = (("cutechess-cli", "cutechess-cli"), ("fast-?chess", "fastchess"))
_CONTINUED = re.compile(r"[\\^`][ \t]*\n")  # line continuation in sh, cmd.exe and PowerShell
_REMARK = re.compile(r"^[ \t]*(?:#|rem\b|::).*$", re.MULTILINE | re.IGNORECASE)
_FOLDED = re.compile(r"\n(?=[ \t]*(?:-|[\w.]+=))")  # end of a line, if the next line starts with an option or a setting
_WINDOWS = re.compile(r"\b[A-Za-z]:\\|(?:^|[\s=\"'])\.{1,2}\\\w|\\[^\s\\\"']*\.exe\b", re.IGNORECASE)
_SHELL = re.compile(r"\d*>{1,2}.*|\d*<.*|[|;&]{1,2}|#.*")  # shell syntax after the command
_OPTION = re.compile(r"--?[A-Za-z]")
_VARIABLE = re.compile(r"\$[A-Za-z_{(0-9@]|%[A-Za-z_0-9~]+%?|!\w+!")


@dataclass(frozen=True, slots=True)
class _PeerOption:
    """An option of the command: its name without dashes, and its arguments."""

    option: str
    words: tuple[str, ...]

    @property
    def first(self) -> str:
        """The first argument, or "" if there is none."""
        return self.words[0] if self.words else ""

    def values(self) -> dict[str, str]:
        """Return the arguments as KEY=VALUE; an argument without "=" is a key with the value "true"."""
        parts = (word.partition("=") for word in self.words)
        return {key: value if equals else "true" for key, equals, value in parts}


def _parse_command(text: str) -> tuple[_Program, tuple[_PeerOption, ...], tuple[str, ...]]:
    """Return the program, its options in order, and notes about text before the command (nice, taskset) or after it.

    The text may be a script with other commands on other lines. Raise InputRefused if neither program is found, a quote
    is unbalanced, or a shell variable is used.
    """
    lines = _REMARK.sub("", _CONTINUED.sub(" ", text.replace("\r\n", "\n"))).strip()
    words = _words(_FOLDED.sub(" ", lines).replace("\n", " ; "))
    start, program = _start(words)
    rest = words[start + 1 :]
    end = next((n for n, word in enumerate(rest) if _SHELL.fullmatch(word)), len(rest))
    options: list[_PeerOption] = []
    for word in rest[:end]:
        if (unfilled := _VARIABLE.search(word)) is not None:
            step = "put echo before the command, run it, and use what it prints"
            raise InputRefused(f"contains the shell variable {unfilled[0]!r} (found {word!r})", place=_PLACE, step=step)
        if _OPTION.match(word):
            options.append(_PeerOption(word.lstrip("-"), ()))
        elif options:
            last = options.pop()
            options.append(_PeerOption(last.option, (*last.words, word)))
        else:
            raise InputRefused(f"expected an option such as -engine (found {word!r})", place=_PLACE)
    return program, tuple(options), tuple(_around(words[:start], rest[end:]))


def _words(text: str) -> list[str]:
    if _WINDOWS.search(text):  # in Windows paths, a backslash escapes only a quote
        text = re.sub(r'\\(?!")', r"\\\\", text)
    try:
        return shlex.split(text, posix=True)
    except ValueError as error:
        raise InputRefused(f"is not a valid command line: {error}", place=_PLACE) from None


def _start(words: list[str]) -> tuple[int, _Program]:
    """Return the program and its position.

    A directory may have the same name, but only a program precedes an option.
    """
    found = [(n, program) for n, word in enumerate(words) if (program := _program(word))]
    for place, program in found:
        if _OPTION.match("".join(words[place + 1 : place + 2])):
            return place, program
    if found:
        return found[0]
    nearest = suggest(words[0], ("cutechess-cli", "fastchess")) if words else ""
    step = "give the whole command, including the program"
    raise InputRefused(f"is not a command of cutechess-cli or fastchess{nearest}", place=_PLACE, step=step)


def _around(before: list[str], behind: list[str]) -> list[str]:
    notes = []
    before, behind = (" ".join(words).strip("; ").split() for words in (before, behind))
    if before:
        notes.append(f"{' '.join(before)}: ignored; put it before enginetour init and enginetour run")
    if behind and not behind[0].startswith("#") and behind != ["&"]:
        notes.append(f"{' '.join(behind)}: ignored; put it after enginetour run")
    return notes


def _program(word: str) -> _Program | None:
    name = (PureWindowsPath(word) if "\\" in word else PurePath(word)).name.lower()
    for pattern, program in _PROGRAMS:
        if re.match(pattern, name) and "=" not in name:
            return program
    return None


# Time controls of cutechess-cli and fastchess: ``40/1:30+0.5`` has minutes before the colon.

_CLOCK = re.compile(
    r"(?:(?P<moves>\d+|inf|infinite)/)?(?:(?P<minutes>\d+(?:\.\d+)?):)?(?P<seconds>\d*\.?\d+)s?"
    r"(?:\+(?P<increment>\d*\.?\d+)s?)?",
    re.IGNORECASE,
)


def parse_limits(*, tc: str = "", st: str = "", nodes: str = "", depth: str = "") -> TimeControl:
    """Return the time control of an engine's limits; raise ValueError if they are not valid.

    ``tc=inf`` is not a limit, so another limit must be given.
    """
    parts = []
    if st:
        parts.append(f"movetime={_seconds(st.removesuffix('s'))}")
    elif tc and tc.lower() not in ("inf", "infinite"):
        parts.append(_clock(tc))
    parts += [f"{word}={value}" for word, value in (("nodes", nodes), ("depth", depth)) if value.strip("0")]
    if not parts:
        raise ValueError("no search limit: give tc, st, nodes or depth" + (f" (found tc={tc})" if tc else ""))
    return TimeControl.parse(",".join(parts))


def _clock(tc: str) -> str:
    sand = tc.startswith("hg")  # an hourglass; cutechess-cli does not allow moves or an increment with it
    found = _CLOCK.fullmatch(tc.removeprefix("hg"))
    if found is None or (sand and (found["moves"] or found["increment"])):
        raise ValueError(f"tc={tc} is not a valid time control; the form is moves/minutes:seconds+increment")
    count = found["moves"] or "0"
    moves = f"{int(count)}/" if count.isdecimal() and int(count) else ""  # inf and 0 mean all moves
    seconds = float(found["minutes"] or 0) * 60 + float(found["seconds"])
    increment = f"+{_seconds(found['increment'])}" if found["increment"] and float(found["increment"]) else ""
    return f"{'hourglass=' * sand}{moves}{_seconds(seconds)}{increment}"


def _seconds(value: str | float) -> str:
    return f"{int(float(value) * 1000 + 1e-6) / 1000:.3f}".rstrip("0").rstrip(".")


# Engine settings that need no translation, and why.
_NEEDLESS = {
    "trust": "results are always checked on the board",
    "stderr": "incidents always include what an engine writes to stderr",
    "debug": "incidents always include the engine log",
}
_LIMITS = ("tc", "st", "nodes", "depth")
_KNOWN = frozenset(
    "cmd conf name dir arg args proto initstr restart whitepov timemargin ponder book bookdepth tscale plies".split()  # noqa: SIM905
) | {*_NEEDLESS, *_LIMITS}


@dataclass(slots=True)
class _PeerEngine:
    """An engine of the command. `notes` are notes about settings that are not translated."""

    program: _Program
    given: dict[str, str] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, words: Sequence[str]) -> None:
        """Read settings of ``-engine`` or ``-each``. A later value of the same key replaces an earlier one."""
        for word in words:
            key, equals, value = word.partition("=")
            if key.startswith("option."):
                self.options[key.removeprefix("option.")] = read_option(value)
            elif key == "args":
                self.arguments = shlex.split(value)  # fastchess keeps only the last ones
            elif key == "initstr":
                self.lines += [line for line in value.replace("\\n", "\n").split("\n") if line]
            elif re.fullmatch(r"arg\d*", key):
                self.arguments.append(value)
            elif key in _NEEDLESS:
                self.notes.append(f"{key}: not needed, {_NEEDLESS[key]}")
            elif key in _KNOWN:
                self.given["depth" if key == "plies" else key] = value if equals else "true"
            else:
                self.notes.append(f"{word}: unsupported, ignored; write engine options as option.NAME=VALUE")

    @property
    def name(self) -> str:
        given = self.given
        named = given.get("name") or given.get("conf")
        return named or (PureWindowsPath(self._words()[0]).stem if given.get("cmd") else "")

    @property
    def is_nameless(self) -> bool:
        return not (self.given.get("name") or self.given.get("conf"))

    def control(self) -> str:
        limits = {key: self.given.get(key, "") for key in _LIMITS}
        if limits["st"] and limits["tc"].lower() not in ("", "inf", "infinite"):
            self.notes.append(f"tc={limits['tc']}: ignored, because st= gives a fixed time per move")
        if self.program == "cutechess-cli" and re.search(r"\+.*s$", limits["tc"]):
            self.notes.append(f"tc={limits['tc']}: cutechess-cli ignores an increment with an s; enginetour uses it")
        try:
            return str(parse_limits(**limits))
        except ValueError as error:
            raise InputRefused(str(error), place=f"{_PLACE}, engine {self.name or '?'}") from None

    def entrant(self, name: str, find_id: Callable[[str], str | None]) -> dict[str, Any]:
        """Return the engine's section without time control and margin; `find_id` returns the engine id for conf=."""
        given = self.given
        entrant: dict[str, Any] = {"name": name}
        if "cmd" in given:
            program, *more = self._words()
            entrant["command"] = [self._program(program), *more, *self.arguments]
            protocol = given.get("proto", "uci" if self.program == "fastchess" else "")
            if protocol not in ("uci", "xboard", "cecp"):
                step = "add proto=uci or proto=xboard"
                what = f"proto must be uci or xboard (found {protocol!r})"
                raise InputRefused(what, place=f"{_PLACE}, engine {name}", step=step)
            entrant["protocol"] = "uci" if protocol == "uci" else "cecp"
            told = [limit for limit in ("nodes", "depth") if given.get(limit, "").strip("0")]
            if told and protocol != "uci":  # the user states that this CECP engine supports them
                entrant["limits"] = ["clock", "movetime", *told]
        elif conf := given.get("conf"):
            known = find_id(conf)
            if known is None:
                step = "import the engines of cutechess: enginetour engines import engines.json"
                raise InputRefused(f"engine file for conf={conf} not found", place=_PLACE, step=step)
            entrant["engine"] = known
            if self.arguments:
                step = "add the arguments to the command in the engine file"
                self.notes.append(f"arg={' '.join(self.arguments)}: {step}")
        else:
            raise InputRefused("an engine has neither cmd= nor conf=", place=_PLACE, step="give its program with cmd=")
        if "dir" in given:
            entrant["dir"] = given["dir"]
        if self.options:
            # fastchess starts engines in the current directory, or in `dir`.
            starts_here = self.program == "fastchess" and "dir" not in given
            found = {name: absolute_if_exists(value, Path.cwd()) for name, value in self.options.items()}
            entrant["options"] = found if starts_here else self.options
        quirks: dict[str, Any] = {"init": self.lines} if self.lines else {}
        if given.get("whitepov") == "true":
            quirks["whitepov"] = True
        if quirks:
            entrant["quirks"] = quirks
        if "restart" in given:
            if given["restart"] not in ("on", "off", "auto"):
                what = f"restart must be on, off or auto (found {given['restart']!r})"
                raise InputRefused(what, place=f"{_PLACE}, engine {name}")
            entrant["restart"] = given["restart"]
        if given.get("ponder") == "true":
            entrant["ponder"] = True
        if "book" in given:
            entrant["own_book"] = {"file": given["book"], **self._book_depth()}
        elif "bookdepth" in given:
            self.notes.append(f"bookdepth={given['bookdepth']}: ignored, because there is no book=")
        if "tscale" in given:
            step = "set handshake_timeout and ready_timeout under quirks, in seconds"
            self.notes.append(f"tscale={given['tscale']}: {step}")
        return entrant

    def _book_depth(self) -> dict[str, int]:
        depth = self.given.get("bookdepth", "")
        return {"plies": 2 * int(depth)} if depth.isdecimal() and len(depth) < 6 else {}

    def _words(self) -> list[str]:
        """Split the value of cmd= into words, because older versions of cutechess-cli allowed arguments in it."""
        cmd = self.given["cmd"]
        is_file = any((Path(folder) / cmd).is_file() for folder in ("", self.given.get("dir", "")))
        if self.program == "fastchess" or is_file or "\\" in cmd:
            return [cmd]
        try:
            return shlex.split(cmd) or [cmd]
        except ValueError:
            return [cmd]

    def _program(self, program: str) -> str:
        """Return the program's path as the other program finds it: in `dir`, in PATH, in the current directory."""
        folder = self.given.get("dir")
        inside = Path(folder or ".") / program
        if Path(program).is_absolute() or not inside.is_file():
            return program
        if folder is None and ("/" in program or shutil.which(program)):
            return program
        return str(inside) if inside.is_absolute() or "/" in str(inside) else f"./{inside}"


# Comments that -pgnout of fastchess selects, in the order of the PGN; enginetour uses the same names.
_COMMENTS = ("timeleft", "latency", "nodes", "seldepth", "nps", "hashfull", "tbhits", "pv")
_FILE = "the PGN is written to results/, next to the database; enginetour export pgn writes it elsewhere"
# Other settings of -pgnout and -log, and why they are ignored.
_OTHERWISE = {
    "append": "a tournament always continues its own PGN file",
    "min": "PGN moves always have comments",
    "fi": "an interrupted game is replayed, and only the replay is written",
}
_LOG = {
    "file": "the event log is written to results/, next to the PGN",
    "level": "the event log has one level",
    "append": "a tournament always continues its own event log",
    "compress": "the event log is not compressed",
    "realtime": "the event log is always written at once",
}


def _pgn_comments(given: _PeerOption, program: _Program, play: dict[str, Any], notes: list[str]) -> None:
    """Translate ``-pgnout`` into settings of `play`, and add notes about the rest to `notes`."""
    words = given.words if program == "fastchess" else (f"file={given.first}", *given.words[1:])
    comments, patterns = set(play.get("pgn", ())), []
    for word in words:
        key, equals, value = word.partition("=")
        if key in _COMMENTS and value in ("true", "false"):
            (comments.add if value == "true" else comments.discard)(key)
        elif key == "match_line" and value:
            patterns.append(value)
        elif key == "file":
            notes.append(f"-pgnout {value}: {_FILE}")
        elif key == "notation":
            if value != "san":
                notes.append(f"-pgnout {word}: the PGN always has moves in SAN")
        elif key in _OTHERWISE and (bool(equals) == (program == "fastchess")):
            if value != "false" or key == "append":
                notes.append(f"-pgnout {word}: {_OTHERWISE[key]}")
        else:
            notes.append(f"-pgnout {word}: unsupported, ignored")
    if patterns:
        play["keep_lines"] = patterns[0] if len(patterns) == 1 else "|".join(f"(?:{one})" for one in patterns)
        notes.append("-pgnout match_line: read as a Python regular expression")
    found = [name for name in _COMMENTS if name in comments] + ["lines"] * bool(patterns)
    if found:
        play["pgn"] = found


def _log(given: _PeerOption, play: dict[str, Any], notes: list[str]) -> None:
    """Translate ``-log`` into settings of `play`, and add notes about the rest to `notes`."""
    for key, value in given.values().items():
        if key == "engine":
            if value == "true":
                play["engine_log"] = True
        else:
            notes.append(f"-log {key}={value}: {_LOG.get(key, 'unsupported, ignored')}")


# Options that have no key in a configuration: why they are not needed, or what to use instead.
_ELSEWHERE: Mapping[str, str] = {
    "recover": "a crash is always a loss, and the tournament continues",
    "wait": "a game starts when its engines are ready",
    "ratinginterval": "a match prints the strength every ten games; enginetour ratings shows it at any time",
    "scoreinterval": "a match prints the score after each game; enginetour standings shows it at any time",
    "outcomeinterval": "enginetour status shows how the games ended",
    "resultformat": "enginetour standings and ratings have their own columns; --csv and --json have all of them",
    "output": "enginetour prints the output lines of both programs",
    "report": "game pairs are always counted: Ptnml(0-2)",
    "bookmode": "enginetour chooses how to read a book",
    "autosaveinterval": "each game is saved before it is reported",
    "testEnv": "each line of output is complete",
    "show-latency": "the latency of each game is stored; enginetour games N shows it",
    "check-mate-pvs": "PVs and mate scores are always checked; enginetour standings --engines shows the results",
    "force-concurrency": "use enginetour run FILE --force",
    "strict": "use enginetour run FILE --fail-on incidents",
    "epdout": "enginetour export epd writes the last position of each game",
    "crc32": "compute a checksum of the PGN in results/ with another program, such as sha256sum",
    "debug": "incidents always include the engine log; engine_log = true writes it for all games",
    "config": "enginetour run resumes a tournament by itself; enginetour import reads earlier games from their PGN",
}
_SHOWN = ("version", "v", "help", "engines")  # options that print something and end
_VARIANTS: Mapping[str, str] = {"fischerandom": "chess960"}  # all others have the same name
_TAKEN = {"file", "format", "order", "plies", "start", "policy"}
_MOST_PIECES = 7  # Syzygy tables have at most 7 pieces
_UNCUT = 1024  # cutechess's default of plies: lines are not cut


def _openings(given: _PeerOption, notes: list[str]) -> dict[str, Any]:
    values = given.values()
    openings: dict[str, Any] = {"order": values.get("order", "sequential")}
    if "file" in values:
        openings = {"file": values["file"], **openings}
    else:
        notes.append("-openings without file=: the bundled openings are used")
    if (plies := read_value(values.get("plies", str(_UNCUT)))) != _UNCUT:
        openings["plies"] = plies
    if "start" in values and values["start"] != "1":
        openings["start"] = read_value(values["start"])
    if (policy := values.get("policy", "default")) != "default":
        openings["per"] = policy
    notes += [f"-openings {key}={values[key]}: unsupported, ignored" for key in values if key not in _TAKEN]
    return openings


def _tablebases(given: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    # cutechess-cli separates directories with semicolons on all systems.
    tables: dict[str, Any] = {"path": given["tb"].replace(";", os.pathsep)}
    if "tbpieces" in given:
        pieces = read_value(given["tbpieces"])
        tables["pieces"] = min(pieces, _MOST_PIECES) if isinstance(pieces, int) else pieces
    if "tbignore50" in given:
        tables["fifty"] = False
    only = given.get("tbadjudicate", "BOTH")
    if only != "BOTH":
        words = {"WIN_LOSS": "wins", "DRAW": "draws"}
        if only in words:
            tables["only"] = words[only]
        else:
            notes.append(f"-tbadjudicate {only}: must be BOTH, WIN_LOSS or DRAW; ignored")
    return tables


_SYSTEMS = {
    "round-robin": "roundrobin",
    "roundrobin": "roundrobin",
    "gauntlet": "gauntlet",
    "pyramid": "roundrobin",
    "knockout": "knockout",
}


@dataclass(slots=True)
class _PeerSchedule:
    """The schedule of a command. `numbers` contains the given values by option; `engines` is the number of engines."""

    program: _Program
    engines: int
    numbers: Mapping[str, str]
    notes: list[str]
    rounds: int = 1
    games: int = 1
    repeat: int = 1  # games on one opening

    def __post_init__(self) -> None:
        usual = 2 if self.program == "fastchess" else 1
        self.rounds, self.games = self._number("rounds", usual), self._number("games", usual)
        self.repeat = self._number("repeat", 1)
        if self.program == "fastchess":
            if self.games > 2:
                self._swapped()
            self.repeat = self.games
        for key, count in (("rounds", self.rounds), ("games", self.games), ("repeat", self.repeat)):
            if not count:
                raise InputRefused(f"-{key} must be at least 1 (found 0)", place=_PLACE)

    def _swapped(self) -> None:
        games, rounds = self.rounds, self.games
        if games > 2:
            what = f"fastchess allows 1 or 2 -games per round (found -games {self.games} -rounds {self.rounds})"
            raise InputRefused(what, place=_PLACE, step="give the number of rounds with -rounds alone")
        self.notes.append(
            f"-games {self.games}: fastchess reads more than 2 as the number of rounds: "
            f"{rounds} rounds of {games} games each"
        )
        self.games, self.rounds = games, rounds

    def _number(self, option: str, default: int) -> int:
        text = self.numbers.get(option, str(default))
        if not text.isdecimal() or len(text) > 9:
            raise InputRefused(f"-{option} must be a whole number (found {text!r})", place=_PLACE)
        return int(text)

    def format(self) -> dict[str, Any]:
        """Return ``[format]`` without a sequential test."""
        kind = self.numbers.get("tournament", "round-robin")
        if kind not in _SYSTEMS:
            known = ", ".join(_SYSTEMS)
            raise InputRefused(f"unknown tournament {kind!r}; known: {known}", place=f"{_PLACE}, -tournament")
        if kind == "knockout":
            return self._knockout()
        settings: dict[str, Any]
        if self.engines == 2:
            pairs, total = self.repeat > 1, self.rounds * self.games
            total = self._even(total, "games") if pairs else total
            settings = {"system": "match", "games": total, "games_per_pairing": 2 if pairs else 1}
        else:
            pairing = self.games if self.games == 1 else self._even(self.games, "-games")
            settings = {"system": _SYSTEMS[kind], "cycles": self.rounds, "games_per_pairing": pairing}
        if settings["system"] == "gauntlet":
            settings["seeds"] = max(1, min(self._number("seeds", 1), self.engines - 1))
            if self.program == "fastchess" and settings["seeds"] > 1:
                settings["seeds_meet"] = True
            if self.program == "cutechess-cli" and self.games == 1 and "noswap" not in self.numbers:
                theirs = "cutechess-cli gives the gauntlet engine one color for a whole round"
                self.notes.append(f"-games 1: {theirs}; enginetour changes it with each opponent")
        elif kind == "pyramid" and self.engines > 2:
            self.notes.append("-tournament pyramid: played as a round robin, which has the same pairs")
        if "noswap" in self.numbers:
            settings["swap"] = False
            if settings["system"] == "roundrobin":
                self.notes.append("-noswap: the colors follow the Berger tables, not the order of the engines")
        if "reverse" in self.numbers:
            settings["reverse"] = True
        return settings

    def _knockout(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"system": "knockout", "games_per_pairing": max(2, self._even(self.games, "-games"))}
        seeds = self._number("seeds", 0)
        if not seeds:
            settings["seeding"] = "lottery"
        elif seeds < self.engines:
            self.notes.append(f"-seeds {seeds}: enginetour seeds all engines, in the given order")
        self.notes.append("-tournament knockout: to see how a drawn match is decided, run enginetour systems knockout")
        for option in ("noswap", "reverse"):
            if option in self.numbers:
                self.notes.append(f"-{option}: ignored, because both engines play both colors in a knockout")
        return settings

    def openings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``openings`` with the number of games per opening, or {} if the command has no openings."""
        openings = dict(given)
        if not openings:
            return openings
        policy = openings.pop("per", "default")
        per_pair, per_round = policy == "encounter", policy == "round" and self.program == "cutechess-cli"
        if self.engines == 2:
            games = self.rounds * self.games if per_pair else self.games if per_round else self.repeat
            if games > 2:
                openings["repeat"] = games
            return openings
        if self.program == "fastchess" and "file" in openings:
            why = "fastchess uses one opening per round, the same for all pairs"
            self.notes.append(f"-openings: {why}; in enginetour each encounter has its own opening")
        openings["per"] = "round" if per_round else "encounter"
        games = self.games + self.games % 2 if self.games > 1 else 1
        repeat = games if per_pair else min(self.repeat, games)
        if not per_round and repeat != min(2, games):  # by default, an encounter has two games on one opening
            openings["repeat"] = repeat
        return openings

    def _even(self, games: int, what: str) -> int:
        if games % 2 == 0:
            return games
        why = "an even number gives both sides the same colors"
        self.notes.append(f"{what} {games}: enginetour uses {games + 1}, because {why}")
        return games + 1


_LONGEST_MARGIN = 60_000  # ms
_MOST_MOVES = 2_000
_ADDING = ("draw", "resign", "openings", "sprt")  # fastchess adds the settings of a repeated option to the earlier ones


@dataclass(slots=True)
class _Translation:
    """The settings and notes that have been translated so far."""

    program: _Program
    engines: list[_PeerEngine] = field(default_factory=list)
    each: list[str] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)  # -games, -rounds, ... as given
    tournament: dict[str, Any] = field(default_factory=dict)
    format: dict[str, Any] = field(default_factory=dict)
    play: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    recovers: bool = False
    by_games: bool = False  # true: the sequential test counts games, not pairs
    has_epd: bool = False  # true: the opening book is an EPD file
    srand: str = ""


def translate_command(
    text: str, name: str, find_id: Callable[[str], str | None]
) -> tuple[ConfigDraft, tuple[str, ...]]:
    """Translate a command. Return the configuration, and notes about ignored options and differences.

    `name` is the name of the tournament if ``-event`` is not given. `find_id` returns the id of the engine file for a
    name in the engine list of cutechess.
    """
    program, options, around = _parse_command(text)
    return _translated(program, options, around, name, find_id)


def _translated(
    program: _Program,
    options: Sequence[_PeerOption],
    around: Sequence[str],
    name: str,
    find_id: Callable[[str], str | None],
    source: str = "a command",
) -> tuple[ConfigDraft, tuple[str, ...]]:
    reading = _Translation(program, notes=list(around), by_games=program == "cutechess-cli")
    gathered: dict[str, tuple[str, ...]] = {}
    for given in options:
        if given.option in _ADDING:
            given = _PeerOption(given.option, (*gathered.get(given.option, ()), *given.words))
            gathered[given.option] = given.words
        _take(reading, given)
    for engine in reading.engines:
        engine.take(reading.each)
    if len(reading.engines) < 2:
        first_note = f" ({reading.notes[0]})" if reading.notes else ""
        what = f"a match needs at least two engines (found {len(reading.engines) or 'none'}){first_note}"
        raise InputRefused(what, place=_PLACE, step="give -engine twice")
    _schedule(reading)
    entrants = _entrants(reading, find_id)
    _note_differences(reading)
    notes = list(dict.fromkeys(reading.notes))
    for engine in reading.engines:
        notes += [line for line in engine.notes if line not in notes]
    tournament = {"name": name, "seed": 1, **reading.tournament}
    remarks = (f"from {source} of {program}", *notes)
    return ConfigDraft(tournament, reading.format, entrants, reading.play, remarks), tuple(notes)


def _take(reading: _Translation, given: _PeerOption) -> None:
    """Translate one option; an option that both programs have means the same in both."""
    option, play = given.option, reading.play
    words = " ".join((f"-{option}", *given.words))
    if option == "engine":
        engine = _PeerEngine(reading.program)
        engine.take(given.words)
        reading.engines.append(engine)
    elif option == "each":
        reading.each += given.words
    elif option == "repeat" and reading.program == "fastchess":
        reading.numbers["games"] = given.first if len(given.words) == 1 and given.first.isdecimal() else "2"
    elif option in ("games", "rounds", "repeat", "seeds", "tbpieces"):
        reading.numbers[option] = given.first or "2"
    elif option in ("noswap", "reverse", "tbignore50", "tournament", "tb", "tbadjudicate"):
        reading.numbers[option] = given.first or "true"
    elif option == "openings":
        play["openings"] = _openings(given, reading.notes)
        reading.has_epd = given.values().get("format") == "epd"
    elif option in ("draw", "resign"):
        rule = _rule(option, given, reading)
        if rule is not None:
            play[option] = rule
    elif option == "sprt":
        model = "normalized" if reading.program == "fastchess" else "logistic"
        numbers = {key: _number("sprt", key, value) for key, value in given.values().items() if key != "model"}
        reading.format["sprt"] = {**numbers, "model": given.values().get("model", model)}
    elif option == "maxmoves":
        if given.first != "0":
            play["max_moves"] = _at_most(_MOST_MOVES, read_value(given.first), words, reading.notes)
    elif option == "concurrency":
        play["concurrency"] = _concurrency(read_value(given.first), words, reading)
    elif option == "use-affinity":
        play["affinity"] = True
        if given.first:
            step = f"to choose the cores, use taskset -c {given.first} enginetour run FILE"
            reading.notes.append(f"{words}: enginetour chooses the cores; {step}")
    elif option == "srand":
        reading.srand = given.first
        reading.tournament["seed"] = int(given.first) % 2**63 if given.first.isdecimal() else 1
    elif option == "event":
        name = " ".join(given.words)
        if name:
            reading.tournament["name"] = name[:LONGEST_NAME].strip()
        if len(name) > LONGEST_NAME:
            reading.notes.append(f"-event {name}: cut to {LONGEST_NAME} characters")
    elif option == "site":
        play["tags"] = {"Site": " ".join(given.words)}
    elif option == "variant":
        if given.first != "standard":
            play["variant"] = _VARIANTS.get(given.first, given.first)
    elif option in ("startup-ms", "ping-ms", "ucinewgame-ms"):
        quirk = "handshake_timeout" if option == "startup-ms" else "ready_timeout"
        reading.notes.append(f"-{option} {given.first}: set {quirk} under quirks of an entrant, in seconds")
    elif option == "quick":
        _quick(reading, given)
    elif option == "pgnout":
        _pgn_comments(given, reading.program, play, reading.notes)
    elif option == "log":
        _log(given, play, reading.notes)
    else:
        _leave_out(option, words, reading)


def _leave_out(option: str, words: str, reading: _Translation) -> None:
    if option in _ELSEWHERE:
        reading.notes.append(f"{words}: {_ELSEWHERE[option]}")
        reading.recovers |= option == "recover"
        reading.by_games |= words in ("-report penta=false", "-output format=cutechess")
    elif option in _SHOWN:
        reading.notes.append(f"{words}: ignored, because it only prints information")
    else:
        reading.notes.append(f"{words}: unsupported {reading.program} option, ignored")


def _rule(option: str, given: _PeerOption, reading: _Translation) -> dict[str, Any] | None:
    """Translate ``-draw`` or ``-resign`` with the defaults of the program. Return None if the rule is off."""
    values, notes = given.values(), reading.notes
    known = ("movenumber", "movecount", "score") if option == "draw" else ("movecount", "score", "twosided")
    notes += [f"-{option} {key}={values[key]}: unsupported, ignored" for key in values if key not in known]
    if option == "draw":
        named = {"movenumber": "0", "movecount": "1", "score": "0"}
    else:
        named = {"movecount": "1", "score": "0"}
    rule: dict[str, Any] = {key: int(_number(option, key, values.get(key, usual))) for key, usual in named.items()}
    switch = "movenumber" if option == "draw" else "movecount"
    if reading.program == "cutechess-cli" and _number(option, switch, values.get(switch, "1")) == 0:
        notes.append(f"-{option} {switch}=0: this turns the rule off, as in cutechess-cli")
        return None
    if option == "resign":
        rule["twosided"] = values.get("twosided", "false") == "true"
        if rule["score"] == 0:
            notes.append("-resign score=0: enginetour uses 1, the smallest allowed value")
            rule["score"] = 1
    return rule


def _at_most(most: int, value: Any, words: str, notes: list[str]) -> Any:
    """Return `value`, or the largest allowed value with a note."""
    if not isinstance(value, int) or value <= most:
        return value
    notes.append(f"{words}: enginetour uses {most}, the largest allowed value")
    return most


def _concurrency(count: Any, words: str, reading: _Translation) -> Any:
    """Return the number of concurrent games. In fastchess, -2 means the number of processors minus 2."""
    if reading.program != "fastchess" or not isinstance(count, int) or count > 0:
        return count
    games = max(1, (os.cpu_count() or 1) + count)
    reading.notes.append(f"{words}: {format_count(games, 'concurrent game')} on this machine")
    return games


def _number(option: str, key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputRefused(f"{key} must be a number (found {text!r})", place=f"{_PLACE}, -{option}") from None


def _quick(reading: _Translation, given: _PeerOption) -> None:
    """Translate ``-quick`` of fastchess: 25,000 pairs at 10+0.1 from a book, with draw adjudication."""
    for word in given.words:
        key, _, value = word.partition("=")
        if key == "cmd":
            engine = _PeerEngine(reading.program)
            engine.take([word, "tc=10+0.1"])
            reading.engines.append(engine)
        elif key == "book":
            reading.play["openings"] = {"file": value, "order": "random"}
        else:
            reading.notes.append(f"-quick {word}: unsupported, ignored")
    reading.numbers |= {"games": "2", "rounds": "25000"}
    reading.play["draw"] = {"movenumber": 30, "movecount": 8, "score": 8}
    reading.play["concurrency"] = _concurrency(-2, "-quick: all processors but two", reading)
    reading.recovers = True


def _schedule(reading: _Translation) -> None:
    schedule = _PeerSchedule(reading.program, len(reading.engines), reading.numbers, reading.notes)
    sprt = reading.format.pop("sprt", None)
    reading.format = schedule.format()
    if sprt is not None and reading.format["system"] == "match":
        reading.format["sprt"] = sprt
        reading.notes.append(
            "-sprt: enginetour narrows the bounds by the expected overshoot; a run prints both pairs of bounds"
        )
        in_pairs = reading.format["games_per_pairing"] == 2 and sprt["model"] != "bayesian"
        if in_pairs and reading.by_games:
            here = "enginetour counts game pairs; pairs = false counts games"
            reading.notes.append(f"-sprt: {reading.program} counts games, {here}")
    elif sprt is not None:
        reading.notes.append("-sprt: ignored, because a test needs exactly two engines")
    if openings := schedule.openings(reading.play.get("openings", {})):
        reading.play["openings"] = openings
    if "tb" in reading.numbers:
        reading.play["tablebases"] = _tablebases(reading.numbers, reading.notes)


def _note_differences(reading: _Translation) -> None:
    """Add notes about defaults of the programs that differ from those of enginetour."""
    play, notes = reading.play, reading.notes
    if "openings" not in play and "variant" not in play:
        theirs = f"without -openings, {reading.program} starts from the initial position"
        notes.append(f"{theirs}; enginetour uses its bundled openings")
    if not reading.recovers:
        theirs = f"without -recover, {reading.program} stops at the first crash"
        notes.append(f"{theirs}; enginetour counts it as a loss and continues")
    if reading.program == "cutechess-cli" and any(engine.is_nameless for engine in reading.engines):
        theirs = "without name=, cutechess-cli uses the name that the engine sends"
        notes.append(f"{theirs}; enginetour uses the file name of the engine's program")
    openings = play.get("openings", {})
    book = openings.get("file", "")
    if "max_moves" in play and reading.program == "fastchess" and book and not book.endswith(".epd"):
        notes.append("-maxmoves: fastchess counts from the end of the opening; enginetour also counts opening moves")
    if reading.program == "cutechess-cli" and "draw" in play and (reading.has_epd or book.endswith(".epd")):
        notes.append(
            "-draw movenumber: cutechess-cli counts from the EPD position; enginetour uses the position's move number"
        )
    if reading.program == "cutechess-cli" and ("draw" in play or "resign" in play):
        notes.append(
            "-draw, -resign: cutechess-cli accepts lowerbound and upperbound scores; enginetour uses exact scores only"
        )
    if reading.srand and openings.get("order") == "random":
        notes.append(f"-srand {reading.srand}: the random order of the openings is different in enginetour")


def _entrants(reading: _Translation, find_id: Callable[[str], str | None]) -> tuple[Mapping[str, Any], ...]:
    engines = reading.engines
    names = unique_names([engine.name or f"engine {n}" for n, engine in enumerate(engines, 1)])
    entrants = [engine.entrant(name, find_id) for engine, name in zip(engines, names, strict=True)]
    shared: dict[str, list[Any]] = {
        "tc": [engine.control() for engine in engines],
        "timemargin": [_margin(engine) for engine in engines],
    }
    if any(tc.startswith(("nodes", "depth")) for tc in shared["tc"]):
        here = "in enginetour, hang_limit under [play] allows 60 s per move"
        reading.notes.append(f"without a clock, {reading.program} waits forever; {here}")
    for key, values in shared.items():
        if all(value == values[0] for value in values):
            reading.play[key] = values[0]
            continue
        for entrant, value in zip(entrants, values, strict=True):
            entrant[key] = value
    return tuple(entrants)


def _margin(engine: _PeerEngine) -> int:
    margin = int(_number("engine", "timemargin", engine.given.get("timemargin", "0")))
    return int(_at_most(_LONGEST_MARGIN, margin, f"timemargin={margin}", engine.notes))


def from_command(text: str, file: Path, name: str | None) -> tuple[str, ...]:
    """Write the configuration of a cutechess-cli or fastchess command; return notes about what differs.

    Relative paths of the command start in the current directory.
    """
    return _write(translate_command(text, name or file.stem, _engine_ids()), file, name, _PLACE)


def from_file(source: Path, file: Path, name: str | None) -> tuple[str, ...]:
    """Write the configuration of a config.json of fastchess; return notes about what differs.

    Relative paths in the file start in the current directory, as in fastchess.
    """
    config = read_fastchess(source)
    options = [_PeerOption(option, words) for option, words in config.options()]
    try:
        made = _translated("fastchess", options, (), name or file.stem, _engine_ids(), source.name)
        return _write(made, file, name, str(source))
    except InputRefused as error:
        error.place = error.place.replace(_PLACE, str(source))
        raise


def _engine_ids() -> Callable[[str], str | None]:
    registry = of_workspace(workspace_of(Path.cwd()))
    ids = {entry.name: entry.id for entry in reversed(registry.entries())} | {id_: id_ for id_ in registry.paths}
    return ids.get


def _write(made: tuple[ConfigDraft, tuple[str, ...]], file: Path, name: str | None, place: str) -> tuple[str, ...]:
    draft, notes = made
    if name:  # the given name has priority over the name of the event
        draft = replace(draft, tournament={**draft.tournament, "name": name})
    if file.parent.resolve() != Path.cwd().resolve():
        draft = draft.anchored(Path.cwd())
    write_draft(draft, file, {"*": place})
    return notes
