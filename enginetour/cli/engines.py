"""`enginetour engines`: list, find, add, import and check engines."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginetour.cli.options import PATH, many_option
from enginetour.cli.printing import echo, is_live_terminal, output_form, output_options, print_sheet
from enginetour.model.errors import EngineRefused, InputRefused, UsageRefused, match_name, suggest
from enginetour.reports.sheet import Column, Sheet, format_count, format_yes, safe_text
from enginetour.store.address import workspace_of

if TYPE_CHECKING:
    from enginetour.engines.enginefile import EngineEntry
    from enginetour.engines.registry import Registry


@click.group()
def engines() -> None:
    """List, find, add and check engines.

    The file of a known engine is in engines/ of the workspace, or is bundled
    with enginetour.

    Example: enginetour engines find
    """


@engines.command("list")
@output_options
def list_() -> None:
    """List the engine files.

    The column "here" shows whether the program is on this machine.

    Example: enginetour engines list
    """
    columns = (
        Column("id", "id", left=True),
        Column("name", "name", left=True, flexible=True),
        Column("protocol", "protocol", left=True),
        Column("limits", "limits", left=True, flexible=True, form=" ".join),
        Column("here", "here", left=True, form=format_yes),
    )
    rows = tuple(
        {
            "id": entry.id,
            "name": entry.name,
            "protocol": entry.protocol,
            "limits": sorted(entry.supported_limits),
            "here": _is_here(entry),
        }
        for entry in _registry().entries(_report_broken)
    )
    print_sheet(Sheet("", columns, rows), {"engines": rows})


@engines.command()
@click.option("--dry-run", is_flag=True, help="List the engines, but write no files.")
def find(dry_run: bool) -> None:
    """Find known engines on this machine and write their files.

    Each engine is started once. Its file in engines/ contains the name that
    the engine reports.

    Example: enginetour engines find --dry-run
    """
    from enginetour.engines import registry
    from enginetour.engines.enginefile import write_entry
    from enginetour.model.task import Side
    from enginetour.model.timecontrol import TimeControl
    from enginetour.tournament.probing import probe_all

    folder = _folder()
    found = registry.find(folder)
    sides = {entry.id: Side(registry.to_spec(entry, name=entry.id), TimeControl.parse("1+0")) for entry in found}
    probes = probe_all(sides)
    taken = [entry.name for entry in registry.load([folder]).entries()]
    for entry in registry.named(found, {engine: probe.own_name for engine, probe in probes.items()}, taken):
        if not dry_run:
            write_entry(folder, entry)
        echo(f"{entry.id:<26}{entry.protocol:<6}{entry.name}: {shlex.join(entry.command)}")
        if problems := probes[entry.id].problems:
            echo(f"{entry.id} cannot start, so its name may be wrong: {problems[0]}", err=True)
    verb = "would be written" if dry_run else "written"
    echo(f"{len(found)} engine files {verb} to {folder}" if found else "all engines found have an engine file already")


@engines.command(context_settings={"ignore_unknown_options": True})
@click.argument("engine")
@click.argument("command", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--protocol", type=click.Choice(["uci", "cecp"]), show_default="detected", help="Protocol of the engine.")
def add(engine: str, command: tuple[str, ...], protocol: str | None) -> None:
    """Write an engine file for a command.

    The file is engines/ENGINE.toml. Options after the program are passed to
    the engine.

    Example: enginetour engines add my-engine ./my-engine --own-flag
    """
    from enginetour.engines.enginefile import EngineEntry, write_entry
    from enginetour.tournament.probing import detect_each

    folder = _folder()
    if (folder / f"{engine}.toml").exists():
        raise InputRefused("already exists", place=str(folder / f"{engine}.toml"), step="choose another name")
    ((spec, probe),) = detect_each((command,), protocol, Path.cwd())
    name = probe.own_name or engine
    entry = EngineEntry(engine, name, spec.command, spec.protocol, author=probe.author)
    path = write_entry(folder, entry)
    echo(f"{path} written: {name}, {spec.protocol}; enginetour engines check {engine} checks it")


@engines.command("import")
@click.argument("file", type=PATH)
def import_(file: Path) -> None:
    """Import the engines of Cute Chess from engines.json.

    Writes an engine file for each engine. Existing engine files do not
    change.

    Example: enginetour engines import ~/.config/cutechess/engines.json
    """
    from enginetour.engines.enginefile import write_entry
    from enginetour.engines.registry import load, read_engines

    folder = _folder()
    found, skipped = read_engines(file)
    there, written = load([folder]).paths, 0
    for engine in found:
        if engine.entry.id in there:
            echo(f"{engine.entry.id}: engine file already exists, not changed", err=True)
            continue
        write_entry(folder, engine.entry)
        written += 1
        echo(f"{engine.entry.id:<26}{engine.entry.protocol:<6}{shlex.join(engine.entry.command)}")
        for remark in engine.notes:
            echo(f"{engine.entry.id}: {remark}", err=True)
    for remark in skipped:
        echo(f"left out, {remark}", err=True)
    echo(f"{format_count(written, 'engine file')} written to {folder}")


@engines.command()
@click.argument("engine", metavar="ENGINE...", nargs=-1, required=True)
@click.option("--write", is_flag=True, help="Write the quirks of an engine into its engine file.")
@many_option("--step", "only", metavar="KEY", help="Run only this step.")
@click.option("--verbose", is_flag=True, help="Also print the steps that are ok.")
@output_options
def check(engine: tuple[str, ...], write: bool, only: tuple[str, ...], verbose: bool) -> int:
    """Check that engines follow their protocol.

    Runs about sixty steps of UCI or CECP: the handshake, options, legal moves
    in unusual positions, search limits, pondering and the end. The result of
    a step is ok, warn, FAIL or not offered. The exit code is 4 if a step
    failed.

    ENGINE is an id or a name in `engines list`, or the beginning of one. The
    word `all` checks every engine whose program is on this machine.

    Example: enginetour engines check stockfish fairymax --verbose
    """
    from enginetour.engines.enginefile import write_hints
    from enginetour.engines.process import describe_safeguards
    from enginetour.engines.registry import to_spec
    from enginetour.referee.compliance.course import steps_of
    from enginetour.reports.games import compliance_lines, compliance_sheet
    from enginetour.tournament.probing import examine_each

    keys = {step.key for protocol in ("uci", "cecp") for step in steps_of(protocol)}
    for key in only:
        if key not in keys:
            raise UsageRefused(f"unknown step {key!r}{suggest(key, keys)}", place="--step")
    if engine == ("all",):
        rows = [entry for entry in _registry().entries(_report_broken) if _is_here(entry)]
    else:
        rows = [_by_id_or_name(name) for name in engine]
    theirs = {step.key for protocol in {entry.protocol for entry in rows} for step in steps_of(protocol)}
    for key in only:
        if rows and key not in theirs:
            protocols = " and ".join(sorted({entry.protocol for entry in rows}))
            raise UsageRefused(f"{key!r} is not a step of {protocols}, the protocol of the engine", place="--step")
    found, table_only = [], output_form() != "text"
    progress = StepLine([entry.id for entry in rows])
    courses = examine_each((to_spec(entry) for entry in rows), only, progress.step)
    for entry, course in zip(rows, courses, strict=True):
        progress.clear()
        found.append((entry.id, course))
        if not table_only:
            for line in compliance_lines(entry.id, course, verbose=verbose):
                echo(line)
        if write and course.hints:
            assert entry.path is not None  # every entry of the registry has a file
            target = _folder() / entry.path.name  # in the workspace; a bundled file is copied there
            write_hints(entry.path, target, dict(course.hints))
            echo(f"{target} written", err=table_only)
        elif course.hints and not table_only:
            echo(f"  enginetour engines check {entry.id} --write writes these quirks into its engine file")
    sheet, value = compliance_sheet(found)
    if table_only:
        print_sheet(sheet, value)
    else:
        if len(found) > 1:
            click.echo("")
            print_sheet(sheet)
        click.echo(describe_safeguards())
    return 0 if all(course.fit for _, course in found) else EngineRefused.exit_code


def _folder() -> Path:
    return workspace_of(Path.cwd()) / "engines"


def _registry() -> Registry:
    from enginetour.engines.registry import of_workspace

    return of_workspace(workspace_of(Path.cwd()))


def _is_here(entry: EngineEntry) -> bool:
    from enginetour.engines.registry import to_spec

    try:
        to_spec(entry)
    except EngineRefused:
        return False
    return True


def _by_id_or_name(word: str) -> EngineEntry:
    """Return the engine file whose id or name is `word`, or the only engine file whose id or name begins with it."""
    registry = _registry()
    if word in registry.paths:
        return registry.get(word)
    entries = registry.entries()
    name = match_name(word, [entry.name for entry in entries])
    named = next((entry for entry in entries if entry.name == name), None)
    return named or registry.get(match_name(word, registry.ids) or word)


def _report_broken(error: InputRefused) -> None:
    echo(f"skipped: {error}", err=True)


ERASE = "\r\x1b[K"  # move to the beginning of the line and erase it: ECMA-48, EL


class StepLine:
    """The progress line of compliance checks on stderr, if it is a terminal. `names`: the engines in their order."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._shown = False
        self._is_live = is_live_terminal(err=True)

    def step(self, number: int, count: int, what: str) -> None:
        """Show the current step of the engine that is being checked."""
        if self._is_live:
            text = safe_text(f"{self._names[0]}: step {number} of {count}, {what}")
            self._write(text[: shutil.get_terminal_size((80, 24)).columns - 1])
            self._shown = True

    def clear(self) -> None:
        """Erase the line of an engine whose check has ended; the next steps belong to the next engine."""
        self._names.pop(0)
        if self._shown:
            self._write("")
            self._shown = False

    def _write(self, text: str) -> None:
        sys.stderr.write(f"{ERASE}{text}")
        sys.stderr.flush()
