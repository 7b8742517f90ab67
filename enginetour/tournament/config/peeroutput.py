"""What cutechess-cli and fastchess write while they play, ``-pgnout`` and ``-log``, in our settings."""

from __future__ import annotations

from typing import Any

from enginetour.tournament.config.peerline import Given, Program

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


def pgn_comments(given: Given, program: Program, play: dict[str, Any], said: list[str]) -> None:
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


def log(given: Given, play: dict[str, Any], said: list[str]) -> None:
    """``-log``: what the engines say is a setting of ours, the rest is always so."""
    for key, value in given.values().items():
        if key == "engine":
            if value == "true":
                play["log_traffic"] = True
        else:
            said.append(f"-log {key}={value}: {_LOG.get(key, 'not known here, left out')}")
