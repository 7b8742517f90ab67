"""Tables and lines of incidents, game endings, averages, matchups and protocol checks."""

from __future__ import annotations

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from enginetour.interop.toml import toml_value
from enginetour.model.game import Game, Incident, SideRecord, Termination
from enginetour.reports.sheet import Column, Sheet, format_yes, iso_timestamp, percent_format, safe_text, shared_columns

if TYPE_CHECKING:
    from enginetour.referee.compliance.exam import Compliance, Verdict
    from enginetour.store.games import GameLine

# Incidents.

_NARROWEST = 64  # columns; an engine log is not readable in fewer columns
_LINE = re.compile(r"(\d+\.\d+) ([<>]) (.*)")


def incident_lines(incident: Incident, width: int) -> Iterator[str]:
    """Yield the lines that describe an incident: what happened, measurements, engine log and stderr.

    Lines have at most `width` columns.
    """
    width = max(width, _NARROWEST)
    yield from wrap_lines("incident: ", f"{incident.at_fault}, {incident.category} at ply {incident.ply}", width)
    yield from wrap_lines("  ", incident.cause, width)
    facts = "; ".join(_facts(incident))
    if facts:
        yield from wrap_lines("  ", facts, width)
    if incident.traffic:
        since = "the search started" if incident.last_go_us is not None else "the engine started"
        yield f"  engine log (> sent, < received), ms since {since}:"
        for line in incident.traffic:
            yield from _log_lines(line, incident.last_go_us or 0, width)
    for line in incident.stderr:
        yield from wrap_lines("  stderr: ", line, width)


def claim_lines(game: Game, width: int) -> Iterator[str]:
    """Yield lines about the engines' claims in a game that proved wrong. `referee.record` defines the kinds."""
    for name, record in ((game.pairing.white, game.white), (game.pairing.black, game.black)):
        for kind, number, text in record.claims:
            more = f", {number} times, first at" if number > 1 else ","
            yield from wrap_lines("claim: ", f"{name}, {kind}{more} {text}", max(width, _NARROWEST))


def _facts(incident: Incident) -> Iterator[str]:
    if incident.status:
        yield f"process ended: {incident.status}"
    if incident.memory_kb is not None:
        yield f"memory up to {incident.memory_kb / 1024:.0f} MiB"
    if incident.load_average is not None:
        yield f"load {incident.load_average:.1f}"
    if incident.referee_us is not None:
        yield f"latency of enginetour up to {incident.referee_us / 1000:.1f} ms"


def _log_lines(line: str, asked_us: int, width: int) -> Iterator[str]:
    found = _LINE.fullmatch(line)
    if found is None:
        yield from wrap_lines("    ", line, width)
        return
    stamp, direction, text = found.groups()
    after_us = round(float(stamp) * 1e6) - asked_us  # rounded to an integer, so that 0 is not shown as -0.000
    yield from wrap_lines(f"{after_us / 1000:14.3f} {direction} ", text, width)


def wrap_lines(first: str, text: str, width: int) -> Iterator[str]:
    """Yield `first` and a text in lines of at most `width` columns. Later lines are indented to the text."""
    text, room = safe_text(text), width - len(first)
    lines = [text] if len(text) <= room else textwrap.wrap(text, room, break_on_hyphens=False)
    for number, line in enumerate(lines):
        yield f"{first if number == 0 else ' ' * len(first)}{line}".rstrip()


# Game endings.

_ORDER = {str(termination): place for place, termination in enumerate(Termination)}


def count_endings(games: Iterable[GameLine]) -> Counter[str]:
    """Return the number of games for each termination. Void games are not counted."""
    return Counter(game.termination for game in games if game.counts)


def endings_sheet(title: str, names: Sequence[str], games: Iterable[GameLine]) -> Sheet:
    """Return a table with a row for each engine and termination, with the numbers of games won, drawn, lost, void."""
    kinds, results = ("won", "drawn", "lost", "void"), ("lost", "drawn", "won")
    rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for game in games:
        points = game.outcome.half_points(white=True) if game.counts else None
        rows[game.white, game.termination]["void" if points is None else results[points]] += 1
        rows[game.black, game.termination]["void" if points is None else results[2 - points]] += 1
    places = {name: place for place, name in enumerate(names)}
    columns = (
        Column("name", "engine", left=True, flexible=True),
        Column("termination", "ended by", left=True),
        *(Column(kind, kind) for kind in kinds),
    )
    ordered = sorted(rows, key=lambda row: (places.get(row[0], len(places)), row[0], _ORDER[row[1]]))
    cells = tuple(
        {"name": name, "termination": ending, **{kind: rows[name, ending][kind] for kind in kinds}}
        for name, ending in ordered
    )
    shown = tuple(
        {
            "name": "" if place and ordered[place - 1][0] == name else name,
            **{kind: "" for kind in kinds if not rows[name, ending][kind]},
        }
        for place, (name, ending) in enumerate(ordered)
    )
    return Sheet(title, columns, cells, shown)


def format_endings(found: Mapping[str, int]) -> str:
    """Return for example ``ended by: 12 mate, 5 repetition``, or an empty text if there are no games."""
    parts = [f"{found[ending]} {ending}" for ending in sorted(found, key=_ORDER.__getitem__)]
    return f"ended by: {', '.join(parts)}" if parts else ""


# Averages of each engine over a tournament.


def _short(figure: float | None) -> str:
    """Format a number with few digits: ``12.3``, ``1234``, ``454k`` or ``1.21M``."""
    if figure is None:
        return ""
    if figure >= 1_000_000:
        return f"{figure / 1_000_000:.2f}M"
    return f"{figure / 1000:.0f}k" if figure >= 10_000 else f"{figure:.1f}" if figure < 1000 else f"{figure:.0f}"


def _unless_0(number: float) -> str:
    return str(number or "")


_COLUMNS = (
    *shared_columns("name", "games"),
    Column("moves", "moves", continues=True),
    Column("depth", "depth", continues=True, form=_short),
    Column("seldepth", "seld.", continues=True, form=_short),
    Column("nps", "nps", continues=True, form=_short),
    Column("ms", "ms/move", continues=True, form=_short),
    Column("longest_ms", "max ms", continues=True),
    # An engine without tablebases always reports 0, so 0 is not shown.
    Column("tbhits", "TB hits", continues=True, rare=True, form=lambda hits: _short(hits or None)),
    Column("margin_uses", "late", continues=True, rare=True, form=_unless_0),
    Column("ponder_hits", "ponder", continues=True, rare=True, form=percent_format(0)),
    Column("warnings", "warn.", continues=True, rare=True, form=_unless_0),
    Column("claims", "claims", continues=True, rare=True, form=_unless_0),
)
_SEARCH_FIGURES = ("depth", "seldepth", "nodes", "nodes_ms", "nps", "hashfull", "tbhits")
_AVERAGES_NOTES = (
    "averages over moves with search output, without book moves; nps: nodes divided by the measured time,"
    " or the reported value for times below 1 ms",
    "late: moves within the time margin; ponder: share of correct predictions; claims: reported PVs or mates that"
    " proved wrong",
)


def averages_sheet(title: str, names: Sequence[str], sides: Iterable[tuple[str, SideRecord]]) -> Sheet:
    """Return a table with the averages of each engine that has played, in the order of `names`.

    Figures that the engine never reported are None.
    """
    records: dict[str, list[SideRecord]] = {}
    for name, record in sides:
        records.setdefault(name, []).append(record)
    ordered = [*(name for name in names if name in records), *sorted(records.keys() - set(names))]
    rows = tuple({"name": name, **_figures(records[name])} for name in ordered)
    return Sheet(title, _COLUMNS, rows, (), _AVERAGES_NOTES)


def _figures(records: Sequence[SideRecord]) -> dict[str, object]:
    """Return the figures of one engine. The keys are those of JSON and CSV."""
    numbers, sums = dict.fromkeys(_SEARCH_FIGURES, 0), dict.fromkeys(_SEARCH_FIGURES, 0)
    claims: Counter[str] = Counter()
    for record in records:
        for name, reported, total in record.effort:
            numbers[name] = numbers.get(name, 0) + reported
            sums[name] = sums.get(name, 0) + total
        for kind, number, _ in record.claims:
            claims[kind] += number
    effort = {name: (number, sums[name]) for name, number in numbers.items()}
    moves = sum([record.moves for record in records])
    ponders = sum([record.ponders or 0 for record in records])
    return {
        "games": len(records),
        "moves": moves,
        **{name: _mean(*effort[name]) for name in ("depth", "seldepth", "nodes", "hashfull", "tbhits")},
        "nps": mean_nps(effort),
        "ms": _mean(moves, sum([record.think_ms for record in records])),
        "longest_ms": max([record.longest_ms for record in records]),
        "margin_uses": sum([record.margin_uses for record in records]),
        "ponder_hits": sum([record.ponder_hits or 0 for record in records]) / ponders if ponders else None,
        "warnings": sum([len(record.warnings) for record in records]),
        "claims": claims.total(),
        "claims_by_kind": dict(claims),
    }


def mean_nps(effort: Mapping[str, tuple[int, int]]) -> float | None:
    """Return nodes per second from the measured time, or the mean of the reported nps if no time was measured.

    `effort` contains the number of moves and the sum for each figure.
    """
    nothing = (0, 0)
    measured = effort.get("nodes_ms", nothing)[1]
    return round(1000 * effort["nodes"][1] / measured) if measured else _mean(*effort.get("nps", nothing))


def _mean(number: int, total: int) -> float | None:
    return total / number if number else None


# Measurements of the machine and of the referee.


def machine_lines(game: Game) -> Iterator[str]:
    """Yield lines about the machine's load and the referee's latency in one game, as far as they were measured."""
    if game.load_average is not None and game.cores is not None:
        busy = (
            ": the load is higher than the number of processors, so clocks are unreliable"
            if game.load_average > game.cores
            else ""
        )
        stolen = f", {game.steal_percent:.1f} % of their time taken by the host" if game.steal_percent else ""
        yield f"machine: load {game.load_average:.1f} on {game.cores} processors{stolen}{busy}"
    if game.relay_gap_us is not None:
        median, high, largest = (f"{gap / 1000:.1f}" for gap in game.relay_gap_us)
        yield f"latency: median {median} ms, 99 % up to {high} ms, maximum {largest} ms"
    waits = [
        f"{name} {record.waited_ms} ms"
        for name, record in ((game.pairing.white, game.white), (game.pairing.black, game.black))
        if record.waited_ms is not None
    ]
    if waits:
        yield f"wait for a processor: {', '.join(waits)} in the whole game"
    if game.referee_us is not None:
        yield f"late move: the latency of enginetour was at most {game.referee_us / 1000:.1f} ms"


# Matchups.

_Couple = tuple[str, str]

_PAIRING_COLUMNS = (
    Column("engine", "engine", left=True, flexible=True),
    Column("opponent", "opponent", left=True, flexible=True),
    *shared_columns("games", "wins", "draws", "losses", "score"),
    Column("pentanomial", "Ptnml(0-2)", left=True),
)
_PAIRING_NOTES = ("Ptnml(0-2): numbers of game pairs in which the first engine scored 0, 1/2, 1, 3/2, 2 points",)


def pairings_sheet(
    title: str,
    names: Sequence[str],
    counts: Mapping[_Couple, tuple[int, int, int]],
    pairs: Mapping[_Couple, Sequence[int]],
) -> Sheet:
    """Return a table with a row for each matchup. The first engine of a row is the engine that is first in `names`.

    `counts` are White's wins, draws and losses by (White, Black). `pairs` are the numbers of game pairs in which the
    first engine of the key scored 0, 1/2, 1, 3/2 and 2 points.
    """
    place = {name: number for number, name in enumerate(names)}
    met = {_ordered(couple, place) for couple in counts}
    rows = []
    for one, other in sorted(met, key=lambda couple: [place.get(name, len(place)) for name in couple]):
        with_white, with_black = counts.get((one, other), (0, 0, 0)), counts.get((other, one), (0, 0, 0))
        wins, losses = with_white[0] + with_black[2], with_white[2] + with_black[0]
        draws = with_white[1] + with_black[1]
        games = wins + draws + losses
        if not games:
            continue
        found = pairs.get((one, other)) or tuple(reversed(pairs.get((other, one), ()))) or None
        rows.append({
            "engine": one, "opponent": other, "games": games, "wins": wins, "draws": draws, "losses": losses,
            "score": (wins + draws / 2) / games,
            "pentanomial": None if found is None else list(found),
        })  # fmt: skip
    return Sheet(title, _PAIRING_COLUMNS, tuple(rows), (), _PAIRING_NOTES)


def _ordered(couple: _Couple, place: Mapping[str, int]) -> _Couple:
    one, other = sorted(couple, key=lambda name: (place.get(name, len(place)), name))
    return one, other


# Protocol checks.

_VERDICTS: tuple[Verdict, ...] = ("ok", "warn", "FAIL", "not offered")


def compliance_lines(name: str, result: Compliance, *, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of a compliance check: the verdict, the steps that are not ok, and keys for the engine file.

    If `verbose` is true, yield all steps.
    """
    counts = ", ".join(f"{result.count(verdict)} {verdict}" for verdict in _VERDICTS if result.count(verdict))
    verdict = "can play" if result.fit else "cannot play"
    yield f"{name}: {verdict} · {result.own_name or 'no name'} · {result.protocol} · {counts}"
    for step in result.steps:
        if verbose or step.verdict != "ok":
            text = f": {step.words}" if step.words else ""
            yield f"  {step.verdict:<12}{step.what}{text}   [{step.key}]"
    for key, value in result.hints:
        yield f"  hint        {key} = {toml_value(value)}"


def compliance_sheet(found: Sequence[tuple[str, Compliance]]) -> tuple[Sheet, dict[str, Any]]:
    """Return a table of compliance checks with a row for each engine, and a value for JSON with all steps."""
    columns = (
        Column("name", "engine", left=True, flexible=True),
        Column("fit", "can play", left=True, form=format_yes),
        Column("protocol", "protocol", left=True),
        *(Column(verdict.replace(" ", "_"), verdict) for verdict in _VERDICTS),
        Column("own_name", "reported name", left=True, flexible=True),
        Column("handshake_ms", "start ms"),
    )
    rows = tuple(
        {
            "name": name,
            "fit": result.fit,
            "protocol": result.protocol,
            **{verdict.replace(" ", "_"): result.count(verdict) for verdict in _VERDICTS},
            "own_name": result.own_name,
            "handshake_ms": result.handshake_ms,
        }
        for name, result in found
    )
    value = [
        {
            **row,
            "author": result.author,
            "problems": [step.words for step in result.steps if step.verdict == "FAIL"],
            "steps": [
                {"key": step.key, "what": step.what, "verdict": step.verdict, "words": step.words}
                for step in result.steps
            ],
            "hints": dict(result.hints),
        }
        for row, (_, result) in zip(rows, found, strict=True)
    ]
    return Sheet("", columns, rows), {"engines": value}


def game_row(line: GameLine) -> dict[str, object]:
    """Return the JSON of a game in a list."""

    def own(names: str) -> dict[str, object]:
        return {name: getattr(line, name) for name in names.split()}

    return {
        **own("number white black"),
        "result": "*" if line.voided else str(line.outcome),
        **own("termination cause plies load_average cores busy referee_us handicap white_tc black_tc"),
        "started": iso_timestamp(line.started_unix),
        "ended": iso_timestamp(line.ended_unix),
        "incident": bool(line.incidents),
    }
