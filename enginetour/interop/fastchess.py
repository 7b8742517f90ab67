"""Read the file config.json of fastchess: its settings as options of a command, and its results as games.

The format is that of fastchess 1.8 (`saveJson` in tournament.cpp, and the headers in app/src/types). Times are in ms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginetour.interop.files import parse_json, read_input
from enginetour.model.errors import InputRefused
from enginetour.model.validation import dotted

Options = tuple[tuple[str, tuple[str, ...]], ...]  # options without dashes, each with its arguments

_EVENT, _SITE = "Fastchess Tournament", "?"  # defaults of fastchess
_RANDOM, _GAUNTLET, _CHESS960 = 0, 1, 1  # values of OrderType, TournamentType and VariantType
_NOTATIONS = ("san", "lan", "uci")
_TRACKED = ("nodes", "seldepth", "nps", "hashfull", "tbhits", "timeleft", "latency", "pv", "min")
_MOST_GAMES = 10_000_000  # games of one file; a choice of enginetour that limits the time of an import
# Kinds of pairs by their name: half points of the first engine in both games.
_PAIRS = {"LL": (0, 0), "LD": (0, 1), "WL": (2, 0), "DD": (1, 1), "WD": (2, 1), "WW": (2, 2)}
_LARGEST_FILE = 20_000_000  # bytes; a choice of enginetour: results of 10,000 pairs of engines have 5 million
_GAMES = {"wins": 2, "draws": 1, "losses": 0}
_RESULTS = ("0-1", "1/2-1/2", "1-0")  # by half points of White


@dataclass(frozen=True, slots=True)
class FastchessConfig:
    """The content of a config.json. The methods raise InputRefused with the key of an invalid value."""

    path: Path
    values: Mapping[str, Any]

    @property
    def event(self) -> str:
        """The name of the event, or "" if it is the default of fastchess."""
        name = self._text("pgn", "event_name")
        return "" if name == _EVENT else name

    def options(self) -> Options:
        """Return the options of a fastchess command with the same settings."""
        return tuple((words[0], tuple(words[1:])) for words in (*self._engines(), *self._general()))

    def games(self) -> Iterator[tuple[str, str, str, str, str]]:
        """Yield each game of the results: White, Black, result, number of the round, and its pair ("" without one).

        The file contains counts only. The colors are chosen: each pair has both, and the engine that has White in the
        better game alternates.
        """
        stats, number = self.values.get("stats") or {}, 0
        self._require(isinstance(stats, Mapping), "stats", "a table", stats)
        for match, counts in stats.items():
            first, versus, second = match.partition(" vs ")
            self._require(bool(versus and first and second), "stats", "a table with keys NAME vs NAME", match)
            pairs = {kind: self._count("stats", match, f"penta_{kind}") for kind in _PAIRS}
            lone = {key: self._count("stats", match, key) for key in _GAMES}
            for key, half_points in _GAMES.items():
                lone[key] -= sum(count * _PAIRS[kind].count(half_points) for kind, count in pairs.items())
                self._require(lone[key] >= 0, f"stats.{match}", f"counts with at least the {key} of all pairs", counts)
            number += 2 * sum(pairs.values()) + sum(lone.values())
            self._require(number <= _MOST_GAMES, "stats", f"counts of at most {_MOST_GAMES:,} games", number)
            for kind, count in pairs.items():
                for n in range(1, count + 1):
                    halves = _PAIRS[kind] if n % 2 else _PAIRS[kind][::-1]
                    yield first, second, _RESULTS[halves[0]], f"{kind}.{n}.1", f"{match} {kind}.{n}"
                    yield second, first, _RESULTS[2 - halves[1]], f"{kind}.{n}.2", f"{match} {kind}.{n}"
            for key, count in lone.items():
                for n in range(1, count + 1):
                    white, black = (first, second) if n % 2 else (second, first)
                    result = _RESULTS[_GAMES[key] if n % 2 else 2 - _GAMES[key]]
                    yield white, black, result, f"{key}.{n}", ""

    def write_games(self, path: Path) -> None:
        """Write the games of the results as PGN without moves, so that they can be imported."""
        empty = True
        with path.open("w", encoding="utf-8") as sink:
            for white, black, result, round_, pair in self.games():
                empty = False
                tags = {"Event": self.event or "?", "Site": _SITE, "Date": "????.??.??", "Round": round_}
                tags |= {"White": white, "Black": black, "Result": result, **({"Encounter": pair} if pair else {})}
                for name, value in tags.items():
                    safe = " ".join(value.split()).replace("\\", "\\\\").replace('"', '\\"')
                    sink.write(f'[{name} "{safe}"]\n')
                sink.write(f"\n{result}\n\n")
        if empty:
            raise InputRefused("contains no results under stats", place=str(self.path))

    def _engines(self) -> Iterator[list[str]]:
        for number in range(len(self.values["engines"])):
            at = ("engines", number)
            words = [f"{key}={text}" for key in ("cmd", "name", "dir", "args") if (text := self._text(*at, key))]
            pairs = self._value(list, [], *at, "options")
            for pair in pairs:
                fits = isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, str) for each in pair)
                self._require(fits, f"engines.{number + 1}.options", "a list of [NAME, VALUE]", pair)
                words.append(f"option.{pair[0]}={pair[1]}")
            if self._flag(*at, "restart"):
                words.append("restart=on")
            yield ["engine", *words, *self._limits(*at, "limit"), "proto=uci"]

    def _limits(self, *at: str | int) -> Iterator[str]:
        moves, time, increment, fixed, margin = (
            self._count(*at, "tc", key) for key in ("moves", "time", "increment", "fixed_time", "timemargin")
        )
        if fixed:
            yield f"st={fixed / 1000:g}"
        elif time or increment:
            plus = f"+{increment / 1000:.12g}" if increment else ""
            yield f"tc={f'{moves}/' if moves else ''}{time / 1000:.12g}{plus}"
        for key, count in (("timemargin", margin), ("nodes", self._count(*at, "nodes"))):
            if count:
                yield f"{key}={count}"
        if plies := self._count(*at, "plies"):
            yield f"depth={plies}"

    def _general(self) -> Iterator[list[str]]:
        if file := self._text("opening", "file"):
            order = "random" if self._value(int, 1, "opening", "order") == _RANDOM else "sequential"
            plies, start = self._value(int, -1, "opening", "plies"), self._value(int, 1, "opening", "start")
            more = [f"plies={plies}"] * (plies > 0) + [f"start={start}"] * (start > 1)
            yield ["openings", f"file={file}", f"order={order}", *more]
        yield from self._rules()
        if self._flag("sprt", "enabled"):
            numbers = [
                f"{key}={self._value(float, 0.0, 'sprt', key):.12g}" for key in ("elo0", "elo1", "alpha", "beta")
            ]
            yield ["sprt", *numbers, f"model={self._text('sprt', 'model') or 'normalized'}"]
        for key in ("games", "rounds", "concurrency"):
            if count := self._value(int, 0, key):
                yield [key, str(count)]
        if self._value(int, 0, "type") == _GAUNTLET:
            yield ["tournament", "gauntlet"]
            yield ["seeds", str(self._value(int, 1, "gauntlet_seeds"))]
        if self._value(int, 0, "variant") == _CHESS960:
            yield ["variant", "fischerandom"]
        switches = {"noswap": "noswap", "reverse": "reverse", "recover": "recover", "affinity": "use-affinity"}
        yield from ([option] for key, option in switches.items() if self._flag(key))
        if self._value(int, 0, "seed"):
            yield ["srand", str(self._value(int, 0, "seed"))]
        if self.event:
            yield ["event", self.event]
        if (site := self._text("pgn", "site")) not in ("", _SITE):
            yield ["site", site]
        yield from self._outputs()

    def _rules(self) -> Iterator[list[str]]:
        names = {"movenumber": "move_number", "movecount": "move_count", "score": "score"}
        for rule, keys in (("draw", tuple(names)), ("resign", ("movecount", "score"))):
            if self._flag(rule, "enabled"):
                words = [f"{key}={self._count(rule, names[key])}" for key in keys]
                yield [rule, *words, *(["twosided=true"] if rule == "resign" and self._flag(rule, "twosided") else [])]
        if self._flag("maxmoves", "enabled"):
            yield ["maxmoves", str(self._count("maxmoves", "move_count"))]
        if self._flag("tb_adjudication", "enabled"):
            yield ["tb", self._text("tb_adjudication", "syzygy_dirs")]
            if pieces := self._count("tb_adjudication", "max_pieces"):
                yield ["tbpieces", str(pieces)]
            if self._flag("tb_adjudication", "ignore_50_move_rule"):
                yield ["tbignore50"]

    def _outputs(self) -> Iterator[list[str]]:
        if file := self._text("pgn", "file"):
            words = [f"{key}=true" for key in _TRACKED if self._flag("pgn", "min" if key == "min" else f"track_{key}")]
            patterns = self._value(list, [], "pgn", "additional_lines_rgx")
            notation = self._value(int, 0, "pgn", "notation")
            named = [f"notation={_NOTATIONS[notation]}"] if 0 < notation < len(_NOTATIONS) else []
            yield ["pgnout", f"file={file}", *named, *words, *(f"match_line={pattern}" for pattern in patterns)]
        if file := self._text("epd", "file"):
            yield ["epdout", f"file={file}"]
        if self._flag("log", "engine_coms"):
            yield ["log", "engine=true"]
        if "report_penta" in self.values and not self._flag("report_penta"):
            yield ["report", "penta=false"]

    def _text(self, *keys: str | int) -> str:
        found: str = self._value(str, "", *keys)
        return found

    def _flag(self, *keys: str | int) -> bool:
        return self._value(bool, None, *keys) is True

    def _count(self, *keys: str | int) -> int:
        found: int = self._value(int, 0, *keys)
        self._require(found >= 0, dotted(keys), "at least 0", found)
        return found

    def _value(self, kind: type, usual: Any, *keys: str | int) -> Any:
        found: Any = self.values
        for key in keys:
            inside = found[key] if isinstance(found, list) and isinstance(key, int) else None
            found = found.get(key) if isinstance(found, Mapping) else inside
            if found is None:
                return usual
        fits = isinstance(found, (int, float) if kind is float else kind)
        names = {str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}
        whole = fits and isinstance(found, bool) == (kind is bool)
        self._require(whole, dotted(keys), names[kind], found)
        return found

    def _require(self, fits: bool, key: str, allowed: str, found: object) -> None:  # noqa: FBT001
        if not fits:
            shown = json.dumps(found)
            shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
            raise InputRefused(f"{key}: must be {allowed} (found {shown})", place=str(self.path))


def read_fastchess(path: Path) -> FastchessConfig:
    """Read a config.json. Raise InputRefused if it cannot be read, or if fastchess did not write it."""
    step = "use the file that fastchess writes at its end, usually config.json"
    values = parse_json(read_input(path, _LARGEST_FILE), str(path))
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputRefused("a text has half of a character of two \\u codes", place=str(path)) from None
    engines = values.get("engines") if isinstance(values, Mapping) else None
    if not isinstance(engines, list) or not all(isinstance(one, Mapping) and one.get("cmd") for one in engines):
        raise InputRefused("is not a config.json of fastchess: engines with cmd not found", place=str(path), step=step)
    return FastchessConfig(path, values)
