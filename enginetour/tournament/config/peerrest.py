"""Options of cutechess-cli and fastchess beside engines and formats: books, tablebases, and what we do always."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from enginetour.interop.toml import read_value
from enginetour.tournament.config.peerline import Given

# Why nothing needs to be done, or what to do instead.
ELSEWHERE: Mapping[str, str] = {
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
SHOWN = ("version", "v", "help", "engines")  # print something and end
VARIANTS: Mapping[str, str] = {"fischerandom": "chess960"}  # the others have one name here and there
_TAKEN = {"file", "format", "order", "plies", "start", "policy"}
_MOST_PIECES = 7  # there are no larger tables
_UNCUT = 1024  # cutechess's default of plies: no cut


def openings(given: Given, said: list[str]) -> dict[str, Any]:
    """``-openings``; the format is seen from the file itself."""
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


def tablebases(given: Mapping[str, str], said: list[str]) -> dict[str, Any]:
    """``-tb`` and what belongs to it."""
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
