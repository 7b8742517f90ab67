"""Options of cutechess-cli and fastchess beside engines and formats: books, tablebases, and what we do always."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from enginetour.draft import read_value
from enginetour.interop.peerline import Given

# What to do instead; "" where nothing needs to be done.
NEEDLESS: Mapping[str, str] = {
    "recover": "",
    "wait": "",
    "repeat": "",
    "ratinginterval": "",
    "scoreinterval": "",
    "outcomeinterval": "",
    "resultformat": "",
    "output": "",
    "report": "",
    "bookmode": "",
    "autosaveinterval": "",
    "testEnv": "",
    "show-latency": "",
    "check-mate-pvs": "",
    "force-concurrency": "say it to run: enginetour run FILE --force",
    "strict": "say it to run: enginetour run FILE --fail-on incidents",
    "pgnout": "the PGN grows in results/ beside the database; enginetour export pgn writes it elsewhere",
    "epdout": "the last position of each game is in its PGN",
    "crc32": "sum the PGN of results/ yourself, as by sha256sum",
    "site": "no tag of a place is written",
    "log": "a log of events is in results/, the traffic of abnormal games with their incidents",
    "debug": "the traffic of abnormal games is kept with their incidents: enginetour games --incidents",
    "config": "its games stay there: enginetour import takes their PGN; a run resumes by itself here",
}
VARIANTS: Mapping[str, str] = {"fischerandom": "chess960"}  # the others have one name here and there
_TAKEN = {"file", "format", "order", "plies", "start", "policy"}
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
        tables["pieces"] = read_value(given["tbpieces"])
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
