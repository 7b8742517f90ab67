"""`enginetour engines`: list, find, add, check."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginetour.cli.common import output_options, say, show
from enginetour.errors import EngineRefused, InputRefused

if TYPE_CHECKING:
    from enginetour.registry import EngineEntry, Registry
    from enginetour.task import Probe
    from enginetour.timecontrol import TimeControl

# One short search under each declared limit: enough to see that it is obeyed, quick enough for fourteen engines.
TRIED = {"clock": "2+0.05", "movetime": "movetime=1", "depth": "depth=3", "nodes": "nodes=500"}


@click.group()
def engines() -> None:
    """The engines we know: files in engines/, and those that come along.

    Example: enginetour engines find
    """


@engines.command("list", short_help="Every engine file; is its program here?")
@output_options
def list_(as_json: bool, as_csv: bool) -> None:
    """Every engine file, and whether its program is on this machine.

    Example: enginetour engines list
    """
    from enginetour.reports.sheet import Column, Sheet

    columns = (
        Column("id", "id", left=True),
        Column("name", "name", left=True, flexible=True),
        Column("protocol", "protocol", left=True),
        Column("limits", "limits", left=True, flexible=True),
        Column("here", "here", left=True),
    )
    entries = _registry().entries()
    rows = tuple(_row(entry) for entry in entries)
    shown = tuple(
        {"here": "yes" if _is_here(entry) else "no", "limits": " ".join(sorted(entry.obeyed))} for entry in entries
    )
    show(Sheet("", columns, rows, shown), as_json=as_json, as_csv=as_csv, value={"engines": list(rows)})


@engines.command(short_help="Find known engines here and write their files.")
@click.option("--dry-run", is_flag=True, help="Only tell what was found.")
def find(dry_run: bool) -> None:
    """Find known engines on this machine and write their files into engines/.

    Example: enginetour engines find --dry-run
    """
    from enginetour import registry
    from enginetour.workspace import workspace_of

    folder = workspace_of(Path.cwd()) / "engines"
    found = registry.find(folder)
    for entry in found:
        if not dry_run:
            registry.write_entry(folder, entry)
        say(f"{entry.id:<26}{entry.protocol:<6}{shlex.join(entry.command)}")
    verb = "would be written" if dry_run else "written"
    say(f"{len(found)} engine files {verb} to {folder}" if found else "no engine that has no file yet")


@engines.command(short_help="Write an engine file for a command.", context_settings={"ignore_unknown_options": True})
@click.argument("engine")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--protocol", type=click.Choice(["uci", "cecp"]), help="Default: detected.")
def add(engine: str, command: tuple[str, ...], protocol: str | None) -> None:
    """Write engines/ENGINE.toml for COMMAND; the protocol is detected.

    Example: enginetour engines add my-engine ./my-engine --own-flag
    """
    from enginetour import registry
    from enginetour.enginefile import EngineEntry
    from enginetour.probing import detect
    from enginetour.workspace import workspace_of

    folder = workspace_of(Path.cwd()) / "engines"
    if (folder / f"{engine}.toml").exists():
        raise InputRefused("there is an engine file of this name", place=str(folder / f"{engine}.toml"))
    spec, probe = detect(command, protocol, Path.cwd())
    name = probe.own_name or engine
    entry = EngineEntry(engine, name, spec.command, spec.protocol, author=probe.author)
    path = registry.write_entry(folder, entry)
    say(f"{path} written: {name}, {spec.protocol}; enginetour engines check {engine} tries it")


@engines.command("import", short_help="Take over the engines of Cute Chess.")
@click.argument("file", type=click.Path(path_type=Path))
def import_(file: Path) -> None:
    """Write an engine file for every engine in engines.json of Cute Chess.

    It is in ~/.config/cutechess. Those of which there is a file stay as they are.

    Example: enginetour engines import ~/.config/cutechess/engines.json
    """
    from enginetour.interop.enginesjson import read_engines
    from enginetour.registry import load, write_entry
    from enginetour.workspace import workspace_of

    folder = workspace_of(Path.cwd()) / "engines"
    found, skipped = read_engines(file)
    there, written = load([folder]).paths, 0
    for engine in found:
        if engine.entry.id in there:
            say(f"{engine.entry.id}: there is an engine file of this name, left as it is", err=True)
            continue
        write_entry(folder, engine.entry)
        written += 1
        say(f"{engine.entry.id:<26}{engine.entry.protocol:<6}{shlex.join(engine.entry.command)}")
        for words in engine.said:
            say(f"{engine.entry.id}: {words}", err=True)
    for words in skipped:
        say(f"left out, {words}", err=True)
    say(f"{written} engine files written to {folder}")


@engines.command(short_help="Try engines under all their limits.")
@click.argument("engine", nargs=-1, required=True)
@output_options
def check(engine: tuple[str, ...], as_json: bool, as_csv: bool) -> int:
    """Try engines: handshake, options, a move under each declared limit, a second game, quit.

    ENGINE is an id of `engines list`, or all. Exit 4 if one is not fit.

    Example: enginetour engines check stockfish fairymax
    """
    from enginetour.probing import probe_all
    from enginetour.registry import to_spec
    from enginetour.supervise.inforce import in_force
    from enginetour.task import Side
    from enginetour.timecontrol import TimeControl

    registry = _registry()
    if engine == ("all",):
        rows = [entry for entry in registry.entries() if _is_here(entry)]
    else:
        rows = [_by_id_or_name(name) for name in engine]
    control = TimeControl.parse(TRIED["clock"])
    sides = {entry.id: Side(to_spec(entry), control) for entry in rows}
    found = probe_all(sides, {entry.id: _tried(entry) for entry in rows})
    if as_json or as_csv:
        from enginetour.reports import text

        steps = {name: [list(step) for step in probe.steps] for name, probe in found.items()}
        sheet = text.probes(found)
        value = {"engines": [{**row, "steps": steps[str(row["name"])]} for row in sheet.rows]}
        show(sheet, as_json=as_json, as_csv=as_csv, value=value)
    else:
        for name, probe in found.items():
            _tell(name, probe)
        click.echo(in_force())
    return EngineRefused.exit_code if any(probe.problems for probe in found.values()) else 0


def _registry() -> Registry:
    from enginetour.plan import registry_of
    from enginetour.workspace import workspace_of

    return registry_of(workspace_of(Path.cwd()))


def _row(entry: EngineEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "name": entry.name,
        "protocol": entry.protocol,
        "limits": sorted(entry.obeyed),
        "here": _is_here(entry),
    }


def _is_here(entry: EngineEntry) -> bool:
    from enginetour.registry import to_spec

    try:
        to_spec(entry)
    except EngineRefused:
        return False
    return True


def _by_id_or_name(word: str) -> EngineEntry:
    registry = _registry()
    for entry in registry.entries():
        if word in (entry.id, entry.name):
            return entry
    return registry.get(word)


def _tried(entry: EngineEntry) -> tuple[TimeControl, ...]:
    from enginetour.timecontrol import TimeControl

    return tuple(TimeControl.parse(control) for limit, control in TRIED.items() if limit in entry.obeyed)


def _tell(name: str, probe: Probe) -> None:
    from enginetour.reports.sheet import safe

    verdict = "not fit" if probe.problems else "fit"
    click.echo(safe(f"{name}: {verdict} · {probe.own_name or 'no name'} · ready after {probe.handshake_ms} ms"))
    for what, good, words in probe.steps:
        click.echo(safe(f"  {'ok  ' if good else 'FAIL'} {what}{': ' + words if words else ''}"))
    for problem in probe.problems:
        click.echo(safe(f"  {problem}"))
