"""Keys as other programs call them, or written in a section that is not theirs: how they are written here.

Words of cutechess-cli, fastchess and xboard by their manuals.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

_FORMAT = "it under [format]"
_LIMIT = 'tc = "10+0.1", "movetime=0.1", "nodes=1000" or "depth=8"'
_OPTION = "options = {{ {} = ... }} of an entrant"
_WORDS: Mapping[str, Mapping[str, str]] = {
    "": dict.fromkeys(("engine", "engines", "player", "players"), "'entrants'"),
    "tournament": {
        **dict.fromkeys(("format", "system"), "[format] with system = ..."),
        **dict.fromkeys(("cycles", "games", "games_per_pairing", "rounds"), _FORMAT),
    },
    "format": {"games": "'games_per_pairing'", "rounds": "'cycles'"},
    "play": {
        "concurrency": "'slots'",
        **dict.fromkeys(("book", "epd", "pgnin", "polyglot"), "'openings'"),
        **dict.fromkeys(("egtb", "syzygy", "syzygypath", "tb"), "'tablebases'"),
        **dict.fromkeys(("depth", "inc", "movetime", "nodes", "st", "time", "time_control", "timecontrol"), _LIMIT),
        **dict.fromkeys(("cycles", "games", "games_per_pairing", "rounds"), _FORMAT),
        "hash": _OPTION.format("Hash"),
        **dict.fromkeys(("cores", "threads"), _OPTION.format("Threads")),
    },
    "entrants": {
        "args": "command = [PROGRAM, ARGUMENT, ...]",
        **dict.fromkeys(("depth", "inc", "movetime", "nodes", "st", "time", "time_control", "timecontrol"), _LIMIT),
        "cmd": "'command'",
        "proto": "'protocol'",
        "hash": _OPTION.format("Hash"),
        "threads": _OPTION.format("Threads"),
        **dict.fromkeys(("author", "files", "max_copies", "package", "version"), "it in engines/*.toml"),
    },
}


def meant(path: tuple[str | int, ...], known: Collection[str], sections: Mapping[str, Collection[str]]) -> str:
    """The end of a refusal of the key at `path`, nothing without an idea.

    `known` are the keys of its section, `sections` those of all.
    """
    *place, key = [part for part in path if isinstance(part, str)]
    if len(place) > 1:  # keys within keys have words of their own
        return ""
    section = "".join(place)
    words = _WORDS.get(section, {}).get(key.lower(), "")
    if words.strip("'") in known or " " in words:
        return f", did you mean {words}?"
    if section == "entrants" and key[:1].isupper():  # as engines' own options begin, by custom
        return f", did you mean {_OPTION.format(key)}?"
    theirs = [name for name, keys in sections.items() if key in keys and name != section]
    if theirs == ["entrants"] and not section:
        return f", did you mean {key} = ... of an entrant, behind its [[entrants]]?"
    return f", did you mean it under [{theirs[0]}]?" if theirs else ""
