"""`enginetour pair`: pair the next round of a tournament that another program runs."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginetour.cli.options import PATH, count_option, many_option, output_path_option, refuse_output, refuse_unused
from enginetour.cli.printing import echo, output_form, output_options, print_result, print_sheet, refuse_tables
from enginetour.formats.pairing.field import Kind, Unpairable
from enginetour.interop.files import read_input, replace_bytes
from enginetour.model.errors import (
    PAIRINGS_DIFFER,
    InputRefused,
    TourError,
    UsageRefused,
    no_match_hint,
    suggest,
    usage_errors,
)
from enginetour.model.renamed import system_name
from enginetour.reports.standings import (
    CheckedRound,
    checked_rounds,
    round_json,
    round_sheet,
    scores_json,
    why_json,
    why_lines,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from enginetour.formats.pairing.field import Field, Paired
    from enginetour.formats.pairing.tiebreaks import Unplayed
    from enginetour.formats.rounds import PairingSystem
    from enginetour.interop.foreign import ForeignTournament
    from enginetour.interop.pairers import FinalTable
    from enginetour.interop.tde import Register

    Write = Callable[[ForeignTournament, Paired, Path], list[Path]]
    Table = Callable[[tuple[str, ...] | None, Unplayed | None], FinalTable]


@click.command()
@click.argument("file", metavar="[FILE]", type=PATH, required=False)
@click.option(
    "--system",
    metavar="NAME",
    show_default="dutch for TRF, gopair for TDE, else as in the file",
    help="Pairing system.",
)
@many_option("--set", "words", metavar="KEY=VALUE", help="Setting of the pairing system.")
@count_option("--rounds", show_default="as in the file", help="Number of rounds.")
@count_option("--round", "number", show_default="next", help="Round to pair.")
@many_option("--absent", metavar="ENTRANT", help="Number, id or name of an entrant that is absent.")
@click.option("--bye", metavar="ENTRANT", help="Number, id or name of the entrant that has the bye.")
@click.option("--seed", default=1, show_default=True, metavar="N", help="Random seed.")
@output_path_option("Output: a TRF file with the new round, or a directory for the AGA file N.tde.", metavar="PATH")
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@click.option(
    "--unfinished-ok", is_flag=True, help="Count games without a result as played, with 0 points (not for TRF)."
)
@click.option("--check-all", is_flag=True, help="Pair every round of FILE again and show differences.")
@click.option("--why", nargs=2, metavar="A B", help="Explain why entrants A and B are paired or not paired.")
@click.option("--xboard", is_flag=True, help="Act as xboard's -pairingEngine, with commands on standard input.")
@output_options
def pair(
    file: Path | None,
    system: str | None,
    words: tuple[str, ...],
    rounds: int | None,
    number: int | None,
    absent: tuple[str, ...],
    bye: str | None,
    seed: int,
    output: Path | None,
    overwrite: bool,
    unfinished_ok: bool,
    check_all: bool,
    why: tuple[str, str] | None,
    xboard: bool,
) -> None:
    """Pair the next round of a file of another program.

    FILE is a TRF, OpenGotha XML or H9 file, or a register.tde. For McMahon
    systems, bands, bar, floor and starting scores are printed, too.

    JSON has round, system, pairs (board, white, black, handicap with time
    odds), bye, certified, guarantee and warnings; for McMahon also MMS,
    starts (both by entrant) and starting_list.

    With --check-all, the exit code is 10 if a round differs.

    Example: enginetour pair club.trf --rounds 7 -o round5.trf

    Example: enginetour pair club.trf --check-all
    """
    from enginetour.interop.foreign import next_round
    from enginetour.interop.pairers import make_pairing_system, on_rating_scale, parse_settings

    given = parse_settings(words)
    one_round = {"--round": number, "--absent": absent, "--bye": bye, "-o": output, "--why": why}
    unused = {"FILE": file, "--check-all": check_all, **one_round, "--json": output_form() == "json"}
    refuse_unused("--xboard" if xboard else "", unused)
    refuse_unused("--why" if why else "", {"-o": output})
    refuse_unused("--check-all" if check_all else "", one_round)
    if overwrite and output is None:
        raise UsageRefused("needs --output", place="--overwrite", step="add -o PATH, or omit --overwrite")
    if xboard:
        _serve(system_name(system or "dutch"), given, rounds, seed)
        return
    if file is None:
        raise UsageRefused("FILE is missing", step="use enginetour pair FILE.trf, or --xboard")
    outside = open_tournament_file(file, rounds, overwrite=overwrite, unfinished_ok=unfinished_ok)
    name = system_name(system) if system else outside.system
    if check_all:
        _check_all(outside, file, name, given, seed)
        return
    foreign = _without(_by_setting(outside.before(number), given, seed), absent)
    foreign = _with_bye(foreign, bye, forced=name != "gopair")
    made, remarks = make_pairing_system(name, foreign, given)
    foreign = on_rating_scale(made, foreign)
    field, labels = foreign.field, foreign.labels
    try:
        paired = next_round(made, field)
    except Unpairable as error:
        raise InputRefused(f"round {field.number}: {error}", place=str(file)) from None
    if why is not None:
        refuse_tables("--why")
        _explain(made, foreign, paired, why)
        return
    starts = tuple(text for kind, text in made.starting_notes(field) if kind == "starts")
    warnings = (*foreign.warnings, *remarks, *(text for kind, text in made.starting_notes(field) if kind == "warning"))
    scores = made.scores(field)
    title = f"round {field.number} of {field.rounds} · {name}"
    sheet = round_sheet(title, field, labels, paired, (*starts, *warnings), (made.score, scores[-1]))
    value = round_json(name, field, labels, paired, warnings) | scores_json(made.score, scores, labels, starts)
    if output is not None:
        for path in outside.write(foreign, paired, output):
            echo(f"{path} written", err=True)
    print_sheet(sheet, value)


@dataclass(frozen=True, slots=True)
class TournamentFile:
    """A tournament file of another program."""

    before: Callable[[int | None], ForeignTournament]  # the tournament before a round; None: before the next round
    paired: int  # number of rounds that are paired already
    system: str  # the pairing system that the file is for
    write: Write  # writes the file with a new round
    table: Table  # the standings for tie-break codes and a rule for unplayed rounds
    by_lot: bool = True  # a lot or an arbiter decides the bye, and the colors of entrants with equal color balances


def open_tournament_file(
    file: Path, rounds: int | None = None, *, overwrite: bool = False, unfinished_ok: bool = False
) -> TournamentFile:
    """Open a TRF, a register.tde of the AGA, an OpenGotha XML file or an H9 file of the EGF.

    The ending of the file selects the format. Raise InputRefused if the file cannot be read or is invalid.
    """
    from enginetour.interop import h9, opengotha, tde, trf
    from enginetour.interop.pairers import rank_by_system, rank_report, read_tournament, rounds_paired, with_round

    kind = file.suffix.lower()
    if file.is_dir() or kind == ".tde":
        register: Register = tde.read(file / "register.tde" if file.is_dir() else file)

        def write_tde(before: ForeignTournament, paired: Paired, folder: Path) -> list[Path]:
            texts = tde.round_files(register, before, paired)
            return _written({folder / name: text.encode() for name, text in texts.items()}, overwrite=overwrite)

        def table_tde(codes: tuple[str, ...] | None, unplayed: Unplayed | None) -> FinalTable:
            ended = tde.read_tournament(register, rounds=rounds, unfinished_ok=True, ended=True)
            return rank_by_system("gopair", register.title or str(register.path.parent), ended, {}, codes, unplayed)

        return TournamentFile(
            lambda number: tde.read_tournament(register, number=number, rounds=rounds, unfinished_ok=unfinished_ok),
            tde.rounds_paired(register),
            "gopair",
            write_tde,
            table_tde,
        )
    if kind in (".xml", ".h9"):
        read, largest = (h9.read, h9.LARGEST_FILE) if kind == ".h9" else (opengotha.read, opengotha.LARGEST_FILE)
        tournament = read(read_input(file, largest), str(file))

        def write_none(_before: ForeignTournament, _paired: Paired, path: Path) -> list[Path]:
            step = "omit -o, or use --json"
            raise UsageRefused(f"{kind} files cannot be written", place=str(path), step=step)

        def table(codes: tuple[str, ...] | None, unplayed: Unplayed | None) -> FinalTable:
            ended = tournament.foreign(rounds=rounds, unfinished_ok=True, ended=True)
            title = tournament.name or str(file)
            return rank_by_system(tournament.system, title, ended, tournament.values, codes, unplayed)

        return TournamentFile(
            lambda number: tournament.foreign(number=number, rounds=rounds, unfinished_ok=unfinished_ok),
            len(tournament.history),
            tournament.system,
            write_none,
            table,
        )
    refuse_unused("a TRF file", {"--unfinished-ok": unfinished_ok})
    report = trf.read(read_input(file, trf.LARGEST_FILE), str(file))
    return TournamentFile(
        lambda number: read_tournament(report, number=number, rounds=rounds),
        rounds_paired(report),
        "dutch",
        lambda before, paired, path: _written(
            {path: with_round(report, before, paired).content()}, overwrite=overwrite
        ),
        lambda codes, unplayed: rank_report(report, codes, unplayed or "fide"),
        by_lot=False,
    )


def _check_all(outside: TournamentFile, file: Path, name: str, given: Mapping[str, object], seed: int) -> None:
    """Compare each round of the file with the round that the system pairs; exit with PAIRINGS_DIFFER if one differs."""
    from enginetour.interop.foreign import is_as_heavy, next_round
    from enginetour.interop.pairers import make_pairing_system, on_rating_scale

    found, notes = [], []
    for number in range(1, outside.paired + 1):
        at = _by_setting(outside.before(number), given, seed)
        system, remarks = make_pairing_system(name, at, given)
        at = on_rating_scale(system, at)
        notes += [*at.warnings, *remarks]
        stood = at.existing
        if stood is None or not stood.boards:
            continue
        if outside.by_lot and len(stood.byes) == 1:
            at = replace(at, field=at.field.resting(stood.byes[0]))
            notes.append("the bye of each round is taken from the file")
        if outside.by_lot:
            balance = at.field.balance
            level = {(one.white, one.black) for one in stood.boards if balance(one.white) == balance(one.black)}
            at = replace(at, colorless=at.colorless | level)
        try:
            paired = next_round(system, at.field)
            notes += [f"round {number}: {remark}" for remark in paired.remarks]
            expected, instead = at.differing(paired)
            if {board.pair for board in paired.boards} != {board.pair for board in stood.boards} and is_as_heavy(
                system, at.field, paired, stood
            ):
                notes.append(f"round {number}: the file has a different round of the same weight")
                expected, instead = (), ()
            found.append(CheckedRound(number, len(stood.boards), expected, instead))
        except Unpairable as error:
            found.append(CheckedRound(number, len(stood.boards), (), (), str(error)))
    if not found:
        raise InputRefused("no round is paired yet", place=str(file), step=f"run enginetour pair {file}")
    print_sheet(*checked_rounds(name, found, at.labels, list(dict.fromkeys(notes))))
    if any(one.differs for one in found):
        click.get_current_context().exit(PAIRINGS_DIFFER)


def _by_setting(foreign: ForeignTournament, given: Mapping[str, object], seed: int) -> ForeignTournament:
    """Return the tournament with the user's random seed, without virtual points if the user sets the acceleration."""
    field = replace(foreign.field, seed=seed)
    return replace(foreign, field=replace(field, virtual=()) if "acceleration" in given else field)


def _written(texts: dict[Path, bytes], *, overwrite: bool) -> list[Path]:
    """Write the files. Raise UsageRefused before anything is written if a file exists and `overwrite` is false."""
    for path in texts:
        refuse_output(path)
        if path.exists() and not overwrite:
            raise UsageRefused("already exists", place=str(path), step="replace it with --overwrite")
    for path, text in texts.items():
        replace_bytes(path, [text])
    return list(texts)


def _without(foreign: ForeignTournament, absent: tuple[str, ...]) -> ForeignTournament:
    away = {_place(foreign, label, "--absent") for label in absent}
    asked = dict(foreign.asked) | {place: Kind.ABSENT for place in away if place not in foreign.asked}
    present = tuple(place for place in foreign.field.present if place not in away)
    bye = None if foreign.field.bye in away else foreign.field.bye
    return replace(foreign, field=replace(foreign.field, present=present, bye=bye), asked=asked)


def _with_bye(foreign: ForeignTournament, bye: str | None, *, forced: bool) -> ForeignTournament:
    """Give the bye to entrant `bye`; if `forced` is false, only if the number of entrants is odd."""
    if bye is None:
        return foreign
    place = _place(foreign, bye, "--bye")
    if place not in foreign.field.present and place != foreign.field.bye:
        raise UsageRefused(f"{foreign.field.members[place].name} is absent from this round", place="--bye")
    there = len({*foreign.field.present, place})
    if not forced and there % 2 == 0:
        remark = f"--bye has no effect with gopair: {there} entrants are present, an even number"
        return replace(foreign, warnings=(*foreign.warnings, remark))
    return replace(foreign, field=foreign.field.resting(place))


def _place(foreign: ForeignTournament, label: str, option: str) -> int:
    place = foreign.place(label)
    if place is None:
        known = [*foreign.labels, *(member.name for member in foreign.field.members)]
        hint = no_match_hint(label, known) or suggest(label, foreign.labels)
        raise UsageRefused(f"entrant {label!r} not found{hint}", place=option)
    return place


def _explain(system: PairingSystem, foreign: ForeignTournament, paired: Paired, pair: tuple[str, str]) -> None:
    from enginetour.interop.roundfiles import explain_pair

    one, other = (_place(foreign, label, "--why") for label in pair)
    if one == other:
        raise UsageRefused(f"needs two different entrants (found {pair[0]!r} twice)", place="--why")
    with usage_errors("--why"):
        found = explain_pair(system, foreign.field, paired, one, other)
    print_result(why_json(found, foreign.field, foreign.labels), why_lines(found, foreign.field))


def _serve(system: str, given: dict[str, object], rounds: int | None, seed: int) -> None:
    from enginetour.interop.foreign import ForeignTournament, SeparatedField
    from enginetour.interop.pairers import answer_xboard, check_system, make_pairing_system

    check_system(system)
    if rounds is None:
        raise UsageRefused("needs --rounds, because xboard does not send it", place="--xboard", step="add --rounds N")

    def make(field: Field) -> PairingSystem:
        blank = SeparatedField(field.members, (), field.present, field.rounds, seed=seed)
        labels = tuple(member.name for member in field.members)
        try:
            return make_pairing_system(system, ForeignTournament(blank, labels, {}, {}), given)[0]
        except TourError as error:
            raise ValueError(str(error)) from None

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a line that is not UTF-8 is an unknown command
    for answer in answer_xboard(iter(sys.stdin.readline, ""), make, rounds=rounds, seed=seed):
        click.echo(answer)
        sys.stdout.flush()
