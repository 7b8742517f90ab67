"""Command lines of cutechess-cli and fastchess (manuals of 1.5.1 and 1.8.2), translated into a configuration.

theirs                                    ours
-sprt without model                       normalized (fastchess), logistic (cutechess)
-openings without order                   sequential
no timemargin=                            margin_ms = 0
a threshold of 0 that switches a rule off no rule
-rounds R -games G, two engines           R x G games of a match
-rounds R -games G, more engines          R cycles of G games a pairing
-games above 2 (fastchess)                is taken for -rounds, and the other way round
-repeat N (fastchess)                     -games N
-repeat N (cutechess)                     games on one opening; without it each game has a new one
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
from enginetour.interop.toml import ConfigDraft, absolute_if_exists, read_option, read_value, unique_names
from enginetour.model.errors import InputRefused, suggest
from enginetour.model.timecontrol import TimeControl
from enginetour.openings.choice import OpeningSettings
from enginetour.store.address import workspace_of
from enginetour.tournament.config.sections import LONGEST_NAME, EntrantSection, PlaySection
from enginetour.tournament.config.write import write_draft

_Program = Literal["cutechess-cli", "fastchess"]
_PLACE = "--from-command"
_PROGRAMS: tuple[tuple[str, _Program], ...] = (("cutechess-cli", "cutechess-cli"), ("fast-?chess", "fastchess"))
_CONTINUED = re.compile(r"[\\^`][ \t]*\n")  # of sh, cmd.exe and PowerShell
_REMARK = re.compile(r"^[ \t]*(?:#|rem\b|::).*$", re.MULTILINE | re.IGNORECASE)
_FOLDED = re.compile(r"\n(?=[ \t]*(?:-|[\w.]+=))")  # a line that goes on with an option or a setting
_WINDOWS = re.compile(r"\b[A-Za-z]:\\|(?:^|[\s=\"'])\.{1,2}\\\w|\\[^\s\\\"']*\.exe\b", re.IGNORECASE)
_SHELL = re.compile(r"\d*>{1,2}.*|\d*<.*|[|;&]{1,2}|#.*")  # where a command ends and its shell goes on
_OPTION = re.compile(r"--?[A-Za-z]")
_VARIABLE = re.compile(r"\$[A-Za-z_{(0-9@]|%[A-Za-z_0-9~]+%?|!\w+!")


@dataclass(frozen=True, slots=True)
class _PeerOption:
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


def _parse_command(text: str) -> tuple[_Program, tuple[_PeerOption, ...], tuple[str, ...]]:
    """The program, its options in order, and a line for what stands before it (nice, taskset) and behind it.

    The text may be a script: other lines than the command's are other commands.
    InputRefused: neither program, a quote that stays open, a variable that only a shell can fill in.
    """
    lines = _REMARK.sub("", _CONTINUED.sub(" ", text.replace("\r\n", "\n"))).strip()
    words = _words(_FOLDED.sub(" ", lines).replace("\n", " ; "))
    start, program = _start(words)
    rest = words[start + 1 :]
    end = next((n for n, word in enumerate(rest) if _SHELL.fullmatch(word)), len(rest))
    options: list[_PeerOption] = []
    for word in rest[:end]:
        if (unfilled := _VARIABLE.search(word)) is not None:
            step = "put echo in front of the command, run it, and give what it prints"
            raise InputRefused(f"a variable of a shell in {word!r}: {unfilled[0]!r}", place=_PLACE, step=step)
        if _OPTION.match(word):
            options.append(_PeerOption(word.lstrip("-"), ()))
        elif options:
            last = options.pop()
            options.append(_PeerOption(last.option, (*last.words, word)))
        else:
            raise InputRefused(f"expected an option such as -engine, found {word!r}", place=_PLACE)
    return program, tuple(options), tuple(_around(words[:start], rest[end:]))


def _words(text: str) -> list[str]:
    if _WINDOWS.search(text):  # its paths: only a quote is hidden by a backslash there
        text = re.sub(r'\\(?!")', r"\\\\", text)
    try:
        return shlex.split(text, posix=True)
    except ValueError as error:
        raise InputRefused(f"cannot be cut into words: {error}", place=_PLACE) from None


def _start(words: list[str]) -> tuple[int, _Program]:
    """Where the program stands: before an option, for a folder may have its name (cd fastchess && ...)."""
    found = [(n, program) for n, word in enumerate(words) if (program := _program(word))]
    for place, program in found:
        if _OPTION.match("".join(words[place + 1 : place + 2])):
            return place, program
    if found:
        return found[0]
    nearest = suggest(words[0], ("cutechess-cli", "fastchess")) if words else ""
    step = "give the whole command, the program in front"
    raise InputRefused(f"no command of cutechess-cli or fastchess{nearest}", place=_PLACE, step=step)


def _around(before: list[str], behind: list[str]) -> list[str]:
    said = []
    before, behind = (" ".join(words).strip("; ").split() for words in (before, behind))
    if before:
        said.append(f"{' '.join(before)}: before the command, left out; put it before enginetour init and run")
    if behind and not behind[0].startswith("#") and behind != ["&"]:
        said.append(f"{' '.join(behind)}: behind the command, left out; put it behind enginetour run")
    return said


def _program(word: str) -> _Program | None:
    name = (PureWindowsPath(word) if "\\" in word else PurePath(word)).name.lower()
    for pattern, program in _PROGRAMS:
        if re.match(pattern, name) and "=" not in name:
            return program
    return None


# Time controls as cutechess-cli and fastchess write them: ``40/1:30+0.5`` has minutes before the colon.

_CLOCK = re.compile(
    r"(?:(?P<moves>\d+|inf|infinite)/)?(?:(?P<minutes>\d+(?:\.\d+)?):)?(?P<seconds>\d*\.?\d+)s?"
    r"(?:\+(?P<increment>\d*\.?\d+)s?)?",
    re.IGNORECASE,
)


def parse_limits(*, tc: str = "", st: str = "", nodes: str = "", depth: str = "") -> TimeControl:
    """What an engine's limits mean together; ValueError in words for the user.

    ``tc=inf`` is no limit of its own and needs another one.
    """
    parts = []
    if st:
        parts.append(f"movetime={_seconds(st.removesuffix('s'))}")
    elif tc and tc.lower() not in ("inf", "infinite"):
        parts.append(_clock(tc))
    parts += [f"{word}={value}" for word, value in (("nodes", nodes), ("depth", depth)) if value.strip("0")]
    if not parts:
        raise ValueError("no limit: give tc, st, nodes or depth" + (f", found tc={tc}" if tc else ""))
    return TimeControl.parse(",".join(parts))


def _clock(tc: str) -> str:
    sand = tc.startswith("hg")  # cutechess-cli alone has it, and refuses moves or an increment beside it
    found = _CLOCK.fullmatch(tc.removeprefix("hg"))
    if found is None or (sand and (found["moves"] or found["increment"])):
        raise ValueError(f"cannot read tc={tc}; their form is moves/minutes:seconds+increment")
    count = found["moves"] or "0"
    moves = f"{int(count)}/" if count.isdecimal() and int(count) else ""  # inf and 0 are all of them
    seconds = float(found["minutes"] or 0) * 60 + float(found["seconds"])
    increment = f"+{_seconds(found['increment'])}" if found["increment"] and float(found["increment"]) else ""
    return f"{'hourglass=' * sand}{moves}{_seconds(seconds)}{increment}"


def _seconds(value: str | float) -> str:
    return f"{int(float(value) * 1000 + 1e-6) / 1000:.3f}".rstrip("0").rstrip(".")


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
class _PeerEngine:
    """One engine as they were given it; `said` is what could not be taken over, by name."""

    program: _Program
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
        given = self.given
        named = given.get("name") or given.get("conf")
        return named or (PureWindowsPath(self._words()[0]).stem if given.get("cmd") else "")

    @property
    def is_nameless(self) -> bool:
        return not (self.given.get("name") or self.given.get("conf"))

    def control(self) -> str:
        limits = {key: self.given.get(key, "") for key in _LIMITS}
        if limits["st"] and limits["tc"].lower() not in ("", "inf", "infinite"):
            self.said.append(
                f"tc={limits['tc']}: st= gives a fixed time a move, and there is one or the other; left out"
            )
        if self.program == "cutechess-cli" and re.search(r"\+.*s$", limits["tc"]):
            self.said.append(f"tc={limits['tc']}: cutechess-cli passes over an increment with an s; here it counts")
        try:
            return str(parse_limits(**limits))
        except ValueError as error:
            raise InputRefused(str(error), place=f"{_PLACE}, engine {self.name or '?'}") from None

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
                raise InputRefused(f"no protocol, found {protocol!r}", place=f"{_PLACE}, engine {name}", step=step)
            entrant["protocol"] = "uci" if protocol == "uci" else "cecp"
            told = [limit for limit in ("nodes", "depth") if given.get(limit, "").strip("0")]
            if told and protocol != "uci":  # of which the user says so that it obeys
                entrant["limits"] = ["clock", "movetime", *told]
        elif conf := given.get("conf"):
            known = find_id(conf)
            if known is None:
                step = "enginetour engines import engines.json brings in what cutechess knows"
                raise InputRefused(f"no engine file for conf={conf}", place=_PLACE, step=step)
            entrant["engine"] = known
            if self.arguments:
                step = "write them into the command of its engine file"
                self.said.append(f"arg={' '.join(self.arguments)}: {step}")
        else:
            raise InputRefused("an engine without cmd= or conf=", place=_PLACE, step="give its program by cmd=")
        if "dir" in given:
            entrant["dir"] = given["dir"]
        if self.options:
            # fastchess starts engines here, or where `dir` says.
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
                what = f"restart is on, off or auto, found {given['restart']!r}"
                raise InputRefused(what, place=f"{_PLACE}, engine {name}")
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


# Comments of fastchess's -pgnout, named as ours; in the order of the PGN.
_COMMENTS = ("timeleft", "latency", "nodes", "seldepth", "nps", "hashfull", "tbhits", "pv")
# What else it may be given, and why nothing comes of it.
_FILE = "the PGN grows in results/ beside the database; enginetour export pgn writes it elsewhere"
_OTHERWISE = {
    "append": "the PGN of a tournament is always its own file, and goes on with it",
    "min": "moves always have their comments",
    "fi": "a game that was broken off is played again, and only that is written",
}
_LOG = {
    "file": "a log of events is in results/ beside the PGN",
    "level": "the log has one level: all that happened",
    "append": "the log of a tournament goes on with it",
    "compress": "the log is not compressed",
    "realtime": "the log is written as things happen",
}


def _pgn_comments(given: _PeerOption, program: _Program, play: dict[str, Any], said: list[str]) -> None:
    """``-pgnout``: comments and patterns go to `play`, the rest is `said`; cutechess-cli's first word is the file."""
    words = given.words if program == "fastchess" else (f"file={given.first}", *given.words[1:])
    comments, patterns = set(play.get("pgn", ())), []
    for word in words:
        key, equals, value = word.partition("=")
        if key in _COMMENTS and value in ("true", "false"):
            (comments.add if value == "true" else comments.discard)(key)
        elif key == "match_line" and value:
            patterns.append(value)
        elif key == "file":
            said.append(f"-pgnout {value}: {_FILE}")
        elif key == "notation":
            if value != "san":
                said.append(f"-pgnout {word}: moves are written as PGN has them, in SAN")
        elif key in _OTHERWISE and (bool(equals) == (program == "fastchess")):
            if value != "false" or key == "append":
                said.append(f"-pgnout {word}: {_OTHERWISE[key]}")
        else:
            said.append(f"-pgnout {word}: not known here, left out")
    if patterns:
        play["keep_lines"] = patterns[0] if len(patterns) == 1 else "|".join(f"(?:{one})" for one in patterns)
        said.append("-pgnout match_line: a regular expression of Python here")
    found = [name for name in _COMMENTS if name in comments] + ["lines"] * bool(patterns)
    if found:
        play["pgn"] = found


def _log(given: _PeerOption, play: dict[str, Any], said: list[str]) -> None:
    """``-log``: what the engines say is a setting of ours, the rest is always so."""
    for key, value in given.values().items():
        if key == "engine":
            if value == "true":
                play["log_traffic"] = True
        else:
            said.append(f"-log {key}={value}: {_LOG.get(key, 'not known here, left out')}")


# Why nothing needs to be done, or what to do instead.
_ELSEWHERE: Mapping[str, str] = {
    "recover": "a crash is a loss, and the tournament goes on",
    "wait": "a game begins when its engines are ready",
    "ratinginterval": "of a match the strength is told every ten games; enginetour ratings tells it at any time",
    "scoreinterval": "of a match the score is told after each game; enginetour standings tells it at any time",
    "outcomeinterval": "enginetour status tells how the games ended, at any time",
    "resultformat": "enginetour standings and ratings have columns of their own, --csv and --json all of them",
    "output": "the lines of both programs are printed",
    "report": "pairs on one opening are always counted: Ptnml(0-2)",
    "bookmode": "a book is read where it lies",
    "autosaveinterval": "each game is safe on the disk before it is told",
    "testEnv": "lines are always single ones",
    "show-latency": "the time between an answer and the next go is kept with each game: enginetour games N",
    "check-mate-pvs": "PVs and mate scores are always checked: enginetour standings --engines",
    "force-concurrency": "say it to run: enginetour run FILE --force",
    "strict": "say it to run: enginetour run FILE --fail-on incidents",
    "epdout": "enginetour export epd writes the last position of each game",
    "crc32": "sum the PGN of results/ yourself, as by sha256sum",
    "site": "no tag of a place is written",
    "debug": "the traffic of abnormal games is kept with their incidents; log_traffic = true keeps that of all",
    "config": "its games stay there: enginetour import takes their PGN; a run resumes by itself here",
}
_SHOWN = ("version", "v", "help", "engines")  # print something and end
_VARIANTS: Mapping[str, str] = {"fischerandom": "chess960"}  # the others have one name here and there
_TAKEN = {"file", "format", "order", "plies", "start", "policy"}
_MOST_PIECES = 7  # there are no larger tables
_UNCUT = 1024  # cutechess's default of plies: no cut


def _openings(given: _PeerOption, said: list[str]) -> dict[str, Any]:
    values = given.values()
    suite: dict[str, Any] = {"order": values.get("order", "sequential")}
    if "file" in values:
        suite = {"file": values["file"], **suite}
    else:
        said.append("-openings without file=: the shipped suite is used")
    if (plies := read_value(values.get("plies", str(_UNCUT)))) != _UNCUT:
        suite["plies"] = plies
    if "start" in values and values["start"] != "1":
        suite["start"] = read_value(values["start"])
    if (policy := values.get("policy", "default")) != "default":
        suite["per"] = policy
    said += [f"-openings {key}={values[key]}: not known here, left out" for key in values if key not in _TAKEN]
    return suite


def _tablebases(given: Mapping[str, str], said: list[str]) -> dict[str, Any]:
    tables: dict[str, Any] = {"path": given["tb"].replace(";", os.pathsep)}  # cutechess parts them so everywhere
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
            said.append(f"-tbadjudicate {only}: one of BOTH, WIN_LOSS, DRAW; left out")
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
    """Of a command for so many `engines`: its `numbers` by option, as given; lines for the user go to `said`."""

    program: _Program
    engines: int
    numbers: Mapping[str, str]
    said: list[str]
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
                raise InputRefused(f"-{key} is 1 or more, found 0", place=_PLACE)

    def _swapped(self) -> None:
        games, rounds = self.rounds, self.games
        if games > 2:
            what = f"fastchess has 1 or 2 -games a round, found -games {self.games} -rounds {self.rounds}"
            raise InputRefused(what, place=_PLACE, step="say how many rounds there are by -rounds alone")
        self.said.append(
            f"-games {self.games}: fastchess takes more than 2 for rounds: {rounds}, of -games {games} each"
        )
        self.games, self.rounds = games, rounds

    def _number(self, option: str, default: int) -> int:
        text = self.numbers.get(option, str(default))
        if not text.isdecimal() or len(text) > 9:
            raise InputRefused(f"-{option} takes a whole number, found {text!r}", place=_PLACE)
        return int(text)

    def format(self) -> dict[str, Any]:
        """``[format]`` without a test."""
        kind = self.numbers.get("tournament", "round-robin")
        if kind not in _SYSTEMS:
            known = ", ".join(_SYSTEMS)
            raise InputRefused(f"unknown tournament {kind!r}; theirs: {known}", place=f"{_PLACE}, -tournament")
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
                theirs = "cutechess-cli gives a gauntlet's seed one colour for a whole round"
                self.said.append(f"-games 1: {theirs}, here it changes with each opponent")
        elif kind == "pyramid" and self.engines > 2:
            self.said.append("-tournament pyramid: the same pairs as a round robin, in its order")
        if "noswap" in self.numbers:
            settings["swap"] = False
            if settings["system"] == "roundrobin":
                self.said.append("-noswap: who of two has White is as in Berger's tables, not who is given first")
        if "reverse" in self.numbers:
            settings["reverse"] = True
        return settings

    def _knockout(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"system": "knockout", "games_per_pairing": max(2, self._even(self.games, "-games"))}
        seeds = self._number("seeds", 0)
        if not seeds:
            settings["seeding"] = "lottery"
        elif seeds < self.engines:
            self.said.append(f"-seeds {seeds}: all are seeded here, in the order in which they are given")
        self.said.append("-tournament knockout: `enginetour systems knockout` shows how a level match is decided")
        for option in ("noswap", "reverse"):
            if option in self.numbers:
                self.said.append(f"-{option}: ignored: in a knockout, both engines get the same colors")
        return settings

    def openings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """``openings`` with how long one lasts, `given` those of the command; empty without any."""
        suite = dict(given)
        if not suite:
            return suite
        policy = suite.pop("per", "default")
        per_pair, per_round = policy == "encounter", policy == "round" and self.program == "cutechess-cli"
        if self.engines == 2:
            games = self.rounds * self.games if per_pair else self.games if per_round else self.repeat
            if games > 2:
                suite["repeat"] = games
            return suite
        if self.program == "fastchess" and "file" in suite:
            why = "fastchess takes as many from the book as there are rounds, and these again"
            self.said.append(f"-openings: {why}; here each encounter has one of its own")
        suite["per"] = "round" if per_round else "encounter"
        games = self.games + self.games % 2 if self.games > 1 else 1
        repeat = games if per_pair else min(self.repeat, games)
        if not per_round and repeat != min(2, games):  # an encounter has two games here, on one opening
            suite["repeat"] = repeat
        return suite

    def _even(self, games: int, what: str) -> int:
        if games % 2 == 0:
            return games
        self.said.append(f"{what} {games}: an even number gives both the same colours, {games + 1} taken")
        return games + 1


_LONGEST_MARGIN = 60_000  # ms
_MOST_MOVES = 2_000
_ADDING = ("draw", "resign", "openings", "sprt")  # given again, fastchess adds to what it has


@dataclass(slots=True)
class _Translation:
    """What was understood so far."""

    program: _Program
    engines: list[_PeerEngine] = field(default_factory=list)
    each: list[str] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)  # -games, -rounds, ... as given
    tournament: dict[str, Any] = field(default_factory=dict)
    format: dict[str, Any] = field(default_factory=dict)
    play: dict[str, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    recovers: bool = False
    by_games: bool = False  # its test counts games, not pairs
    has_epd: bool = False  # its suite is said to be one
    srand: str = ""


def translate_command(
    text: str, name: str, find_id: Callable[[str], str | None]
) -> tuple[ConfigDraft, tuple[str, ...]]:
    """The configuration, and what was left out or is other than there, a line each.

    `name` is the tournament's without ``-event``; `find_id` gives our engine file of a name in their list.
    """
    program, options, around = _parse_command(text)
    reading = _Translation(program, said=list(around), by_games=program == "cutechess-cli")
    gathered: dict[str, tuple[str, ...]] = {}
    for given in options:
        if given.option in _ADDING:
            given = _PeerOption(given.option, (*gathered.get(given.option, ()), *given.words))
            gathered[given.option] = given.words
        _take(reading, given)
    for engine in reading.engines:
        engine.take(reading.each)
    if len(reading.engines) < 2:
        unsaid = f" ({reading.said[0]})" if reading.said else ""
        what = f"{len(reading.engines) or 'no'} engine, a match needs two{unsaid}"
        raise InputRefused(what, place=_PLACE, step="give -engine twice")
    _schedule(reading)
    entrants = _entrants(reading, find_id)
    _unsaid(reading)
    said = list(dict.fromkeys(reading.said))
    for engine in reading.engines:
        said += [line for line in engine.said if line not in said]
    tournament = {"name": name, "seed": 1, **reading.tournament}
    remarks = (f"from a command of {program}", *said)
    return ConfigDraft(tournament, reading.format, entrants, reading.play, remarks), tuple(said)


def _take(reading: _Translation, given: _PeerOption) -> None:
    """One option of either program; those that are spelt alike mean the same in both."""
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
        play["openings"] = _openings(given, reading.said)
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
            play["max_moves"] = _at_most(_MOST_MOVES, read_value(given.first), words, reading.said)
    elif option == "concurrency":
        play["slots"] = _slots(read_value(given.first), words, reading)
    elif option == "use-affinity":
        play["affinity"] = True
        if given.first:
            reading.said.append(
                f"{words}: cores are chosen here; taskset -c {given.first} enginetour run FILE limits them"
            )
    elif option == "srand":
        reading.srand = given.first
        reading.tournament["seed"] = int(given.first) % 2**63 if given.first.isdecimal() else 1
    elif option == "event":
        name = " ".join(given.words)
        if name:
            reading.tournament["name"] = name[:LONGEST_NAME].strip()
        if len(name) > LONGEST_NAME:
            reading.said.append(f"-event {name}: cut to {LONGEST_NAME} characters")
    elif option == "variant":
        if given.first != "standard":
            play["variant"] = _VARIANTS.get(given.first, given.first)
    elif option in ("startup-ms", "ping-ms", "ucinewgame-ms"):
        quirk = "handshake_timeout" if option == "startup-ms" else "ready_timeout"
        reading.said.append(f"-{option} {given.first}: set {quirk} under quirks of an entrant, in seconds")
    elif option == "quick":
        _quick(reading, given)
    elif option == "pgnout":
        _pgn_comments(given, reading.program, play, reading.said)
    elif option == "log":
        _log(given, play, reading.said)
    else:
        _leave_out(option, words, reading)


def _leave_out(option: str, words: str, reading: _Translation) -> None:
    if option in _ELSEWHERE:
        reading.said.append(f"{words}: {_ELSEWHERE[option]}")
        reading.recovers |= option == "recover"
        reading.by_games |= words in ("-report penta=false", "-output format=cutechess")
    elif option in _SHOWN:
        reading.said.append(f"{words}: it shows something and ends, left out")
    else:
        reading.said.append(f"{words}: no option of {reading.program} that is known here, left out")


def _rule(option: str, given: _PeerOption, reading: _Translation) -> dict[str, Any] | None:
    """``-draw`` or ``-resign`` as our setting, their defaults where a word is missing; None: off."""
    values, said = given.values(), reading.said
    known = ("movenumber", "movecount", "score") if option == "draw" else ("movecount", "score", "twosided")
    said += [f"-{option} {key}={values[key]}: not known here, left out" for key in values if key not in known]
    if option == "draw":
        named = {"after_move": ("movenumber", "0"), "moves": ("movecount", "1"), "score": ("score", "0")}
    else:
        named = {"moves": ("movecount", "1"), "score": ("score", "0")}
    rule: dict[str, Any] = {
        ours: int(_number(option, key, values.get(key, usual))) for ours, (key, usual) in named.items()
    }
    switch = "movenumber" if option == "draw" else "movecount"
    if reading.program == "cutechess-cli" and _number(option, switch, values.get(switch, "1")) == 0:
        said.append(f"-{option} {switch}=0: cutechess-cli does not judge then, and neither do we")
        return None
    if option == "resign":
        rule["two_sided"] = values.get("twosided", "false") == "true"
        if rule["score"] == 0:
            said.append("-resign score=0: 1 is the least here")
            rule["score"] = 1
    return rule


def _at_most(most: int, value: Any, words: str, said: list[str]) -> Any:
    """`value`, or the most there can be here, which is said."""
    if not isinstance(value, int) or value <= most:
        return value
    said.append(f"{words}: {most} is the most here")
    return most


def _slots(count: Any, words: str, reading: _Translation) -> Any:
    """As given; of fastchess 0 and below are counted down from all processors."""
    if reading.program != "fastchess" or not isinstance(count, int) or count > 0:
        return count
    slots = max(1, (os.cpu_count() or 1) + count)
    reading.said.append(f"{words}: {slots} on this machine")
    return slots


def _number(option: str, key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputRefused(f"{key} is a number, found {text!r}", place=f"{_PLACE}, -{option}") from None


def _quick(reading: _Translation, given: _PeerOption) -> None:
    """The short form of fastchess: 25 000 pairs at 10+0.1 from a book, draws adjudicated."""
    for word in given.words:
        key, _, value = word.partition("=")
        if key == "cmd":
            engine = _PeerEngine(reading.program)
            engine.take([word, "tc=10+0.1"])
            reading.engines.append(engine)
        elif key == "book":
            reading.play["openings"] = {"file": value, "order": "random"}
        else:
            reading.said.append(f"-quick {word}: not known here, left out")
    reading.numbers |= {"games": "2", "rounds": "25000"}
    reading.play["draw"] = {"after_move": 30, "moves": 8, "score": 8}
    reading.play["slots"] = _slots(-2, "-quick: all processors but two", reading)
    reading.recovers = True


def _schedule(reading: _Translation) -> None:
    schedule = _PeerSchedule(reading.program, len(reading.engines), reading.numbers, reading.said)
    sprt = reading.format.pop("sprt", None)
    reading.format = schedule.format()
    if sprt is not None and reading.format["system"] == "match":
        reading.format["sprt"] = sprt
        reading.said.append("-sprt: bounds are drawn in by how far a step jumps over them, a run tells both")
        in_pairs = reading.format["games_per_pairing"] == 2 and sprt["model"] != "bayesian"
        if in_pairs and reading.by_games:
            here = "here pairs of games on one opening, with pairs = false games"
            reading.said.append(f"-sprt: {reading.program} counts games so; {here}")
    elif sprt is not None:
        reading.said.append("-sprt: a test is between two engines, left out")
    if openings := schedule.openings(reading.play.get("openings", {})):
        reading.play["openings"] = openings
    if "tb" in reading.numbers:
        reading.play["tablebases"] = _tablebases(reading.numbers, reading.said)


def _unsaid(reading: _Translation) -> None:
    """What they do though no option says so, and is other than here."""
    play, said = reading.play, reading.said
    if "openings" not in play and "variant" not in play:
        said.append("without -openings they begin at the starting position; here the shipped suite is used")
    if not reading.recovers:
        said.append("without -recover they end with the first crash; here it is a loss, and the tournament goes on")
    if reading.program == "cutechess-cli" and any(engine.is_nameless for engine in reading.engines):
        said.append("without name= an engine has the name that it tells there, here that of its program")
    suite = play.get("openings", {})
    book = suite.get("file", "")
    if "max_moves" in play and reading.program == "fastchess" and book and not book.endswith(".epd"):
        said.append("-maxmoves: fastchess counts from the end of the opening, here its moves count")
    if reading.program == "cutechess-cli" and "draw" in play and (reading.has_epd or book.endswith(".epd")):
        said.append("-draw movenumber: cutechess-cli counts from the position of an EPD, here by its move numbers")
    if reading.program == "cutechess-cli" and ("draw" in play or "resign" in play):
        said.append("-draw, -resign: cutechess-cli takes bounds for scores, here exact scores alone count")
    if reading.srand and suite.get("order") == "random":
        said.append(f"-srand {reading.srand}: the order that it draws is another here")


def _entrants(reading: _Translation, find_id: Callable[[str], str | None]) -> tuple[Mapping[str, Any], ...]:
    engines = reading.engines
    names = unique_names([engine.name or f"engine {n}" for n, engine in enumerate(engines, 1)])
    entrants = [engine.entrant(name, find_id) for engine, name in zip(engines, names, strict=True)]
    shared: dict[str, list[Any]] = {
        "tc": [engine.control() for engine in engines],
        "margin_ms": [_margin(engine) for engine in engines],
    }
    if any(tc.startswith(("nodes", "depth")) for tc in shared["tc"]):
        reading.said.append("without a clock they wait for ever; here a move has 60 s, hang_limit under [play]")
    for key, values in shared.items():
        if all(value == values[0] for value in values):
            reading.play[key] = values[0]
            continue
        for entrant, value in zip(entrants, values, strict=True):
            entrant[key] = value
    return tuple(entrants)


def _margin(engine: _PeerEngine) -> int:
    margin = int(_number("engine", "timemargin", engine.given.get("timemargin", "0")))
    return int(_at_most(_LONGEST_MARGIN, margin, f"timemargin={margin}", engine.said))


def known_keys() -> dict[str, frozenset[str]]:
    """The keys this version has, by section."""
    return {
        "play": frozenset(PlaySection.model_fields),
        "openings": frozenset(OpeningSettings.model_fields),
        "entrants": frozenset(EntrantSection.model_fields),
    }


def from_command(text: str, file: Path, name: str | None) -> tuple[str, ...]:
    """Write the configuration that says what a command of cutechess-cli or fastchess says; what it could not say.

    Paths of the command begin here, in the folder where it would have been run.
    """
    registry = of_workspace(workspace_of(Path.cwd()))
    ids = {entry.name: entry.id for entry in reversed(registry.entries())} | {id_: id_ for id_ in registry.paths}
    draft, said = translate_command(text, name or file.stem, ids.get)
    if name:  # goes before -event
        draft = replace(draft, tournament={**draft.tournament, "name": name})
    draft, gone = draft.without_unknown(known_keys())
    said = (*said, *(f"{key}: this version has no such setting, left out" for key in gone))
    if file.parent.resolve() != Path.cwd().resolve():
        draft = draft.anchored(Path.cwd())
    write_draft(draft, file, {"*": _PLACE})
    return said
