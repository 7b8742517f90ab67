"""The command line: fast start, one line per error, help with an example for every command."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import click
import pytest
from click.testing import CliRunner, Result

from enginetour import __version__
from enginetour.cli.main import COMMANDS, PREVIOUS_COMMANDS, SYNONYMS, cli
from enginetour.interop import compiled
from enginetour.testing import PLAYING
from enginetour.tournament import setbacks
from tests.support.tournaments import (
    audit,
    config,
    entrant,
    loaded_by,
    scripted,
    tour,
    try_engines_once,
    typed,
    unwrapped,
)

START = "from enginetour.__main__ import main; main()"
HEAVY = ("sqlalchemy", "pydantic", "numpy", "networkx", "chess", "rich", "jinja2", "matplotlib")


def invoke(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), standalone_mode=True)


def test_the_version_says_whether_plies_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version shows whether the move loop is compiled, because that changes the speed of fast games."""
    assert invoke("--version").output == f"enginetour {__version__} (move loop in C)\n"
    monkeypatch.setattr(compiled, "native", None)
    assert invoke("--version").output == f"enginetour {__version__} (move loop in Python)\n"


def test_help_loads_nothing_heavy() -> None:
    """`--help` loads no heavy module; this checks the modules instead of the time."""
    said, modules = loaded_by("--help")
    assert modules.isdisjoint(HEAVY)
    assert "Exit codes" in said


BEFORE_GAMES = """
import sys
from enginetour.__main__ import main
from enginetour.tournament.scheduler import Scheduler
def games(self):
    print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
    sys.exit(0)
Scheduler.run = games
sys.argv = ["enginetour", "match", "wren1", "wren2", "--openings", "plies=0"]
main()
"""


def test_the_first_game_of_a_match_waits_for_nothing_that_rates_or_reports(tmp_path: Path) -> None:
    """Before the first game of a match, no module for ratings or reports is loaded; slots load the rules of chess."""
    heavy = (
        *HEAVY[2:],
        "alembic",
        "enginetour.cli.changing",
        "enginetour.formats.rounds",
        "enginetour.formats.pairing.tiebreaks",
        "enginetour.interop.gametags",
        "enginetour.ratings.ratinglist",
        "enginetour.ratings.systems",
        "enginetour.store.editions",
        "enginetour.reports.review.tournament",
        "urllib.request",
    )
    code = BEFORE_GAMES.format(heavy=heavy)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    """Every command has help of at most 80 columns, with an example of that command; defaults have no parentheses."""
    done = invoke(command, "--help")
    assert done.exit_code == 0, done.output
    assert "default: (" not in " ".join(done.output.split())
    assert max(map(len, done.output.splitlines())) <= 80
    example = next(line for line in done.output.splitlines() if "Example: " in line)
    words = shlex.split(example.split("Example: ")[1])
    assert words[:2] == ["enginetour", command]
    examples = [line.strip() for line in done.output.splitlines() if "Example: " in line]
    assert all(line.startswith("Example: ") and line.count("Example: ") == 1 for line in examples)


def commands_of(group: click.Group, ctx: click.Context) -> Iterator[click.Command]:
    """Return all commands of a group and its subgroups."""
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from commands_of(command, ctx)


def test_every_example_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command has an example, and the arguments and options of each example are valid."""
    monkeypatch.chdir(tmp_path)
    with click.Context(cli) as top:
        for command in commands_of(cli, top):
            examples = [line for line in (command.help or "").splitlines() if "Example: " in line]
            assert examples, command.name
            for example in examples:
                ctx, found, words = top, cast("click.Command", cli), shlex.split(example.split("enginetour ", 1)[1])
                while isinstance(found, click.Group):
                    name, subcommand, words = found.resolve_command(ctx, words)
                    assert subcommand is not None
                    found = subcommand
                    if isinstance(found, click.Group):
                        ctx = click.Context(found, info_name=name, parent=ctx)
                found.make_context(found.name, words, parent=ctx).close()


@pytest.mark.parametrize("command", ["list", "find", "add", "check"])
def test_every_engines_command_has_help_with_an_example(command: str) -> None:
    """Each command of `engines` has help with an example."""
    done = invoke("engines", command, "--help")
    assert done.exit_code == 0
    example = next(line for line in done.output.splitlines() if "Example: " in line)
    assert shlex.split(example.split("Example: ")[1])[:3] == ["enginetour", "engines", command]


@pytest.mark.parametrize("group", ["engines", "chart", "lists", "db"])
def test_the_summaries_of_subcommands_are_complete(group: str) -> None:
    """The list of subcommands does not cut a summary off."""
    assert "..." not in invoke(group, "--help").output.partition("Commands:")[2]


@pytest.mark.parametrize("summary", [summary for *_, summary in COMMANDS.values()])
def test_a_summary_has_the_usual_form(summary: str) -> None:
    """A summary has at most 60 characters, starts with a capital letter and has no period."""
    assert len(summary) <= 60
    assert summary[0].isupper() and not summary.endswith(".")


def test_every_option_has_a_sentence() -> None:
    """The help of every option starts with a capital letter, ends with a period, and does not repeat the default."""
    with click.Context(cli) as ctx:
        params = [param for command in commands_of(cli, ctx) for param in command.params]
    for text in (param.help for param in params if isinstance(param, click.Option)):
        assert text and text[0].isupper() and text.endswith("."), text
        assert "default:" not in text.casefold(), text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("standing",), "enginetour: unknown command 'standing'. Hint: did you mean 'standings'?"),
        (("engines", "chek"), "enginetour: unknown command 'chek'. Hint: did you mean 'check'?"),
        (("run",), "enginetour: CONFIG is missing. Hint: see enginetour run --help."),
        (("run", "a", "b"), "enginetour: got unexpected extra argument (b). Hint: see enginetour run --help."),
        (("run", "a", "--concurrency", "0"), "enginetour: --concurrency: must be at least 1 (found 0). Hint: see "),
        (("match", "a", "--error", "0"), "enginetour: --error: must be between 0.1 and 1000 (found 0.0). Hint: see "),
        (("games", "x"), "enginetour: NUMBER: 'x' is not a valid number. Hint: see enginetour games --help."),
        (("export", "x"), "enginetour: FORMAT: must be one of pgn, epd, csv, json, trf, tde (found 'x'). Hint: see "),
        (("run", "a", "--fail-on"), "enginetour: option '--fail-on' requires an argument. Hint: see enginetour run "),
    ],
)
def test_usage_errors_of_click_have_the_form_of_all_errors(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """A usage error is one line: place, what is wrong, the value found, the next step."""
    error = tour(tmp_path, *words, expect=2).stderr
    assert error.startswith(said)
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (("ladder", "--help"), "note: ladder is now called bubble; the previous name still works"),
        (("slots", "--help"), "note: slots is now called concurrency; the previous name still works"),
        (("chart", "ladder", "--help"), "note: ladder is now called bubble; the previous name still works"),
        (
            ("run", "x", "--slots=2", "--help"),
            "note: --slots is now called --concurrency; the previous name still works",
        ),
        (("match", "x", "--slots", "2", "--help"), "note: --slots is now called --concurrency; the previous name"),
        (("run", "x", "--place", "dask", "--help"), "note: --place is now called --executor; the previous name still"),
    ],
)
def test_previous_names_still_work(tmp_path: Path, words: tuple[str, ...], note: str) -> None:
    """A previous name of a command or an option works, prints a note on stderr, and is not in the help."""
    done = tour(tmp_path, *words)
    assert done.stderr.startswith(note) and done.stderr.count("\n") == 1
    assert "--slots" not in done.stdout and "--place " not in done.stdout
    assert COMMANDS.keys().isdisjoint(PREVIOUS_COMMANDS)


def test_values_keep_words_that_are_previous_names(tmp_path: Path) -> None:
    """Words after `--` are not options, so they are not replaced."""
    done = tour(tmp_path, "run", "--", "--slots", expect=3)
    assert "note" not in done.stderr and "--slots" in done.stderr


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("resume", "'run' or 'unpause'"),
        ("Stop", "'finish'"),
        ("remove", "'withdraw' or 'void'"),
        ("elo", "'ratings'"),
        ("list", "'lists'"),
    ],
)
def test_a_word_of_other_programs_is_named(tmp_path: Path, word: str, meant: str) -> None:
    """The error for a word of other programs names the command of enginetour, as that for a misspelled command."""
    assert f"did you mean {meant}" in tour(tmp_path, word, expect=2).stderr
    assert SYNONYMS.keys().isdisjoint(COMMANDS)
    assert {name for names in SYNONYMS.values() for name in names} <= COMMANDS.keys()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("match", "a", "b", "-games", "2"), "unknown option -games. Hint: did you mean '--games'"),
        (("match", "a", "b", "-gam", "2"), "unknown option -gam. Hint: did you mean '--games'"),
        (("match", "a", "b", "--gamse", "2"), "unknown option --gamse. Hint: did you mean '--games'"),
    ],
)
def test_an_option_with_one_dash_is_named(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    """An option with one dash, as in other programs, is reported whole, not only its first letter."""
    assert told in tour(tmp_path, *words, expect=2).stderr


@pytest.mark.parametrize(("ignored", "code"), [(False, -signal.SIGINT), (True, 0)])
def test_an_interrupt_while_the_program_is_loaded_is_no_traceback(tmp_path: Path, ignored: bool, code: int) -> None:
    """Ctrl-C while modules load prints no traceback; a process that ignores it, as in the background, still does."""
    (tmp_path / "click.py").write_text("import os, signal, sys\nos.kill(os.getpid(), signal.SIGINT)\nsys.exit(0)\n")
    words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{START}"]
    handled = partial(signal.signal, signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL)
    done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=handled)
    assert (done.returncode, done.stderr) == (code, "")


def test_a_pipe_that_breaks_elsewhere_is_an_error(tmp_path: Path) -> None:
    """If a pipe breaks that is not the output, the command ends with an error."""
    breaks = """
import enginetour.cli.reading
def fail(**_):
    raise BrokenPipeError(32, "Broken pipe")
enginetour.cli.reading.status.callback = fail
"""
    done = subprocess.run(
        [sys.executable, "-c", breaks + START, "status"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (7, "enginetour: Broken pipe\n")


@pytest.mark.parametrize("words", ["--version", "rate --help", "rate games.pgn", "ratings --all --db x.db"])
def test_output_that_nobody_reads_is_no_error(tmp_path: Path, words: str) -> None:
    """If the reader of the output has ended, as in `| head`, the command ends without a message and with code 0."""
    (tmp_path / "games.pgn").write_text('[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 1-0\n\n')
    tour(tmp_path, "import", "games.pgn", "--name", "x", "--db", "x.db")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-c", START, *words.split()], cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_run_that_only_lacks_what_cannot_be_played_ends_with_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The games of the other engines are played, and the printed command resolves the situation."""
    monkeypatch.setattr(setbacks, "RETRY_S", (0.0, 0.0))
    once = "import os, sys; open(__file__ + '.been', 'x'); os.execv(sys.argv[1], sys.argv[1:])"
    (tmp_path / "once.py").write_text(once)
    python = [sys.executable, "-I", "-S"]
    unfit = entrant("Eve", [*python, str(tmp_path / "once.py"), *python, PLAYING])
    path = config(tmp_path, (), "roundrobin", "", unfit + scripted("Ada", "uci") + scripted("Bea", "uci"), tc="60")
    done = tour(tmp_path, "run", str(path), expect=4)
    assert "the remaining games cannot be played; repair the engine, then resume with enginetour run" in done.stderr
    assert audit(tmp_path) > 1
    words = shlex.split(done.stderr.splitlines()[-1])
    assert words == ["or", "withdraw", "it", "with", "enginetour", "withdraw", "-t", "trial", "Eve"]
    tour(tmp_path, "run", str(path), expect=4)
    tour(tmp_path, *words[5:])
    tour(tmp_path, "run", str(path))


def test_init_writes_a_configuration_that_runs(tmp_path: Path) -> None:
    """`init` writes a valid configuration for every format, and does not replace an existing file."""
    from enginetour.formats.base import SYSTEMS
    from enginetour.tournament.config.load import load

    for system in SYSTEMS:
        path = tmp_path / f"{system}.toml"
        assert invoke("init", str(path), "--format", system, "--tc", "5+0.05").exit_code == 0
        assert load(path).system == system
    before = path.read_bytes()
    again = tour(tmp_path, "init", str(path), expect=2)
    assert again.stderr.count("\n") == 1
    assert path.read_bytes() == before


def test_systems_tell_settings_defaults_and_sources() -> None:
    """`systems` shows all formats, or one with its settings, as text and JSON."""
    assert "Muller" in invoke("systems").output
    told = unwrapped(invoke("systems", "bubble", "--json").output)
    assert {setting["key"]: setting["default"] for setting in told["settings"]} == {
        "size": 10,
        "min_matches": 15,
        "unpark_threshold": 5,
        "games_per_pairing": 1,
    }


def test_systems_tell_what_no_setting_says() -> None:
    """`systems` shows the rules of a format that are not settings: tie-breaks, unplayed rounds, byes."""
    told = unwrapped(invoke("systems", "gopair", "--json").output)["own"]
    assert told["placement"] == "PTS, SOS, SODOS" and told["unplayed"] == "own" and "BYE" in told["bye"]
    assert "  placement: PTS, BH-C1, BH, SB, DE\n  unplayed: fide\n  bye: the lowest score" in (
        invoke("systems", "dutch").output
    )
    assert "bye" not in unwrapped(invoke("systems", "mcmahon", "--json").output)["own"]
    assert unwrapped(invoke("systems", "knockout", "--json").output)["own"] == {}


def test_engines_list_has_every_bundled_file() -> None:
    """`engines list` shows fourteen engines of Debian and the eight bundled engines."""
    rows = unwrapped(invoke("engines", "list", "--json").output)["engines"]
    assert len(rows) >= 22
    assert {"stockfish", "gnuchess-cecp", "fairymax", "wren1", "wren8"} <= {row["id"] for row in rows}


def test_engines_check_tells_each_step() -> None:
    """The bundled engines pass steps of both protocols."""
    done = invoke("engines", "check", "wren1", "wren2", "--step", "name", "--step", "limit-clock", "--json")
    assert done.exit_code == 0, done.output
    for found in unwrapped(done.output)["engines"]:
        assert found["fit"]
        assert [step["key"] for step in found["steps"]] == ["handshake", "name", "limit-clock"]


def test_engines_check_writes_what_an_engine_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed step gives exit code 4 and a hint; with the quirk in its engine file, the engine passes."""
    try_engines_once(monkeypatch)
    (tmp_path / "engines").mkdir()
    script = Path(__file__).parents[1] / "programs" / "examinee.py"
    command = [sys.executable, "-E", str(script), "--fault", "drops-lines"]
    file = tmp_path / "engines" / "odd.toml"
    file.write_text(f'name = "Odd"\ncommand = {json.dumps(command)}\nprotocol = "uci"\n')
    words = ("engines", "check", "odd", "--step", "lines-together")
    told = tour(tmp_path, *words, expect=4).stdout
    assert "  FAIL        answers several lines sent in one write: answers 1 of 4" in told
    assert "enginetour engines check odd --write" in told
    tour(tmp_path, *words, "--write", expect=4)
    assert file.read_text().endswith("[quirks]\nline_delay_ms = 100\n")
    assert "odd: can play" in tour(tmp_path, *words).stdout
    unknown = tour(tmp_path, "engines", "check", "odd", "--step", "nmae", expect=2)
    assert "did you mean 'name'" in unknown.stderr


def test_engines_add_detects_the_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with both protocols becomes a UCI engine; one with none is an error, and no file is written."""
    try_engines_once(monkeypatch)
    (tmp_path / "engines").mkdir()
    wren = Path(__file__).parents[2] / "engines" / "wren.py"
    tour(tmp_path, "engines", "add", "mine", sys.executable, str(wren))
    assert 'protocol = "uci"' in (tmp_path / "engines" / "mine.toml").read_text()
    refused = tour(tmp_path, "engines", "add", "cat", "/bin/true", expect=4)
    assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "engines" / "cat.toml").exists()


def test_options_of_an_engine_are_its_own(tmp_path: Path) -> None:
    """Options after the program belong to the engine."""
    (tmp_path / "engines").mkdir()
    wren = Path(__file__).parents[2] / "engines" / "wren.py"
    tour(tmp_path, "engines", "add", "mine", sys.executable, "-B", str(wren), "2", "--protocol", "cecp")
    written = (tmp_path / "engines" / "mine.toml").read_text()
    assert '"-B", ' in written
    assert 'protocol = "cecp"' in written


def test_the_plan_is_told_in_words(tmp_path: Path) -> None:
    """`check` shows the number of games and the longest duration in a suitable unit."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "", tc="1+0.1")
    told = tour(tmp_path, "check", path.name).stdout
    assert "games: 1\n" in told
    assert "time: at most 18 s, one game at a time, games of 80 moves\n" in told
    path.write_text(path.read_text().replace("[play]\n", "[play]\nmax_moves = 40\n"))
    told = tour(tmp_path, "check", path.name).stdout
    assert "time: at most 10 s, one game at a time, games of 40 moves\n" in told
    path.write_text(path.read_text().replace("[play]\n", "[play]\nspeed = 0.25\n"))  # a slow machine
    told = tour(tmp_path, "check", path.name).stdout
    assert "time: at most 40 s, one game at a time, games of 40 moves\n" in told


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("status",), 5, "enginetour.db"),
        (("standings", "-t", "x"), 5, "enginetour.db"),
        (("simulate", "--case", "nosuch.json"), 3, "nosuch.json"),
        (("run", "nosuch.toml"), 3, "nosuch.toml"),
        (("run",), 2, "CONFIG"),
        (("engines", "check", "nosuch"), 3, "nosuch"),
        (("systems", "nosuch"), 2, "nosuch"),
        (("init", "x.toml", "--format", "nosuch"), 2, "nosuch"),
        (("init", "x.toml", "--tc", "soon"), 2, "soon"),
        (("init", "x.toml", "--engine", "wern1"), 2, "engine 'wern1' not found, did you mean 'wren1'?"),
        (("withdraw", "X"), 5, "enginetour.db"),
    ],
)
def test_a_refusal_is_told_without_a_traceback(tmp_path: Path, words: tuple[str, ...], code: int, told: str) -> None:
    """An error names its place, has its exit code, and leaves no files."""
    assert told in tour(tmp_path, *words, expect=code).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_as_a_tester_sees_it(tmp_path: Path) -> None:
    """An error in a separate process has the same text and exit code."""
    assert "nosuch.toml" in typed(tmp_path, "run", "nosuch.toml", expect=3).stderr
    assert list(tmp_path.iterdir()) == []
