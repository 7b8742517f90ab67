"""The security table of the reliability spec (5), row by row: the attack as listed, and what is shown for it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import chess.pgn
import click
import pytest

from enginetour.cli.main import COMMANDS, cli
from enginetour.engines.sandbox import wipe
from enginetour.tournament.events import Journal
from enginetour.tournament.notify import by_command
from tests import hostile
from tests.hostile import BIDI, ESCAPES, FORMULA, TITLES
from tests.storing import meddled
from tests.touring import config, tour

UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff]"
)
ODD = "\x1b[31m\u202eodd\x9b"
# Every command that prints what others named, as testers type it; {t} is each tournament in turn.
READING = (
    *("status -t {t}", "status -t {t} --json", "standings -t {t}", "standings -t {t} --json", "standings -t {t} --csv"),
    *(f"standings -t {{t}} --format {kind}" for kind in ("markdown", "bbcode", "html")),
    *("crosstable -t {t}", "crosstable -t {t} --json", "crosstable -t {t} --csv"),
    *("ladder -t {t}", "ladder -t {t} --json", "ladder -t {t} --csv", "ladder -t {t} --step 1"),
    *("ladder -t {t} --step 99", "games -t {t}", "games -t {t} --json", "games -t {t} --csv"),
    *("games 1 -t {t}", "games 1 -t {t} --json"),
    *("games 999 -t {t}", "games -t {t} --engine {odd}", "games -t {t} --termination {odd}"),
    *("standings -t {t} --pairing-report", "ratings -t {t}", "ratings -t {t} --csv", "ratings -t {t} --json"),
    *("ratings -t {t} --system elo", "ratings -t {t} --system gor --csv", "ratings -t {t} --anchor {odd}=3"),
    *("export pgn -t {t}", "export csv -t {t}", "export json -t {t}", "export trf -t {t}"),
    *("export tde -t {t} -o {odd}", "export pgn -t {t} -o {odd}"),
)  # fmt: skip
ONCE = (
    *("status", "status -t {odd}", "games", "ratings --all", "ratings --all --json", "ratings --all --csv"),
    *("ratings --all --columns all", "ratings --all --columns all --csv", "ratings {odd}", "ratings --engine {odd}"),
    *("ratings --all --matrix los", "ratings --all --matrix score --csv", "ratings --all --matrix diff --json"),
    *("ratings --all --head-to-head all", "ratings --all --head-to-head {formula} --csv", "ratings --time-class {odd}"),
    *("ratings --all --layout ordo", "ratings --all --layout ordo --csv", "ratings --all --layout ccrl"),
    *("ratings --all --layout bayeselo", "ratings --all --sprt {escapes} {formula} 0 5", "ratings --hardware {odd}"),
    *("ratings --all --sprt {escapes} {formula} 0 5 --csv", "ratings --all --sprt {odd} {formula} 0 5"),
    *("lists define {odd}", "lists define l --engine * --anchor {formula}=2000"),
    *("lists define l --alias {escapes}={odd}", "lists define l --hardware {odd}", "lists define l --hardware {none}"),
    *("lists", "lists --json", "lists --csv", "lists show l", "lists show l --json", "lists show l --csv"),
    *("publish l --note {odd}", "publish l --again --json", "publish l --again --csv", "publish {odd}"),
    *("editions", "editions --json", "editions --csv", "editions l 1", "editions l 1 --csv", "editions {odd}"),
    *("diff l", "diff l --json", "diff l --csv", "diff l 1 2", "diff {odd}", "import games.pgn --include {odd}"),
    *("import games.pgn --dry-run", "import games.pgn --dry-run --json", "import games.pgn --name {odd}"),
    *("import {odd}.pgn", "import games.pgn --name club", "imports", "imports --json", "imports --csv"),
    *("import --list", "import --list --json", "import --list --csv", "import --remove {odd}", "diff l"),
    *("history {escapes}", "history {formula} --json", "history {bidi} --csv", "history {bidi} --csv events"),
    *("history {bidi} --csv editions", "history {odd}", "history {bidi} --list l"),
    *("rate games.pgn", "rate games.pgn --json", "rate games.pgn --csv", "rate games.pgn --layout ordo"),
    *("rate games.pgn --matrix los", "rate games.pgn --head-to-head all --csv", "rate games.pgn -o {odd}.json"),
    *("rate games.pgn --layout ordo --csv", "rate {odd}.pgn", "rate no{odd}.pgn", "rate games.pgn --min-games 99"),
    *("rate games.pgn --anchor {odd}=1", "rate games.pgn --aliases bad.csv", "rate games.pgn --include {odd}"),
    *("pair club.trf", "pair club.trf --json", "pair club.trf --csv", "pair club.trf --why 1 2"),
    *("pair club.trf --why 1 2 --json", "pair club.trf -o {odd}.trf", "pair club.trf --absent {odd}", "pair bad.trf"),
    *("pair register.tde", "pair register.tde --why A1{odd} B1", "pair register.tde --json"),
    *("pair club.trf --set {odd}=1", "simulate --case case.json", "simulate --case case.json --json"),
    *("simulate --case bad.json", "simulate {odd}.toml"),
    *("simulate --compare {odd}", "simulate --compare dutch:{odd}=1", "simulate c.toml"),
    *("check c.toml", "check o.toml", "run c.toml", "run o.toml", "init {odd}.toml", "init i.toml --name {odd}"),
    *("init j.toml --engine {odd}", "systems {odd}", "systems", "{odd}", "engines list", "engines list --csv"),
    *("engines check {odd}", "engines check odd", "engines add x {odd}", "engines find --dry-run"),
    *("withdraw {odd}", "withdraw {escapes} --why {odd}", "withdraw {formula} --json", "void 1 --why {odd}"),
    *("void 999", "add {odd}", "add wren1 --name {odd}", "replace {bidi} {odd}", "demo {odd}"),
    *("match {odd} {escapes}", "match wren1 wren2 --tc {odd}", "match wren1 wren2 --openings no{odd}"),
    *("chart list -t {odd} -o l.svg", "chart crosstable -t {escapes} -o {odd}.svg", "chart {odd} -o c.png"),
    *("machines", "machines --drain {odd}"),
    *("report {odd}", "report -t {odd}", "report -o {odd}.html", "report l -o engines", "report -o {odd}/{bidi}"),
    *("slots 3", "pause -t {odd}", "unpause --json", "finish", "serve --token {odd}"),
    *("serve --db {odd}.db", "serve --host {odd}", "serve --host {odd} --token 0123456789abcdef"),
    *("db check", "db check --json", "db backup {odd}.db", "db upgrade", "db check --db {odd}.db"),
)  # fmt: skip


def typed(words: str, **more: str) -> list[str]:
    """The words of a line with the names put in."""
    names = {"odd": ODD, "formula": FORMULA, "escapes": ESCAPES, "bidi": BIDI, "none": "", **more}
    return [re.sub(r"\{(\w+)\}", lambda found: names[found[1]], word) for word in words.split(" ")]


LINES = [typed(words, t=title) for title in TITLES.values() for words in READING] + [typed(words) for words in ONCE]


@pytest.fixture(autouse=True)
def _as_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Click takes escapes away from what is piped, but not from what a terminal gets."""
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "results").mkdir()
    hostile.store(folder / "results" / "enginetour.db")
    return folder


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Iterator[Path]:
    """The hostile store of its own, and files of the same kind around it."""
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    hostile.games(tmp_path / "games.pgn")
    shutil.copy(tmp_path / "games.pgn", tmp_path / f"{ODD}.pgn")
    entry = "001 {:4}      {:33} {:4} CZE {:11} {:10}  0.0 {:4}"
    trf = ["012 t\x1b", "XXR 3", *(entry.format(n, f"E{n}{ODD}", 2000, n, "", n) for n in range(1, 5))]
    (tmp_path / "club.trf").write_bytes("\r\n".join(trf).encode())
    (tmp_path / "bad.trf").write_bytes("\r\n".join(trf).replace("2000", "\x9b\u202e00").encode())
    (tmp_path / "register.tde").write_text(f"A1{ODD} N {ODD} 2.5\nB1 Other 3d\n")
    (tmp_path / "bad.csv").write_text(f"{ODD}\n")
    case = {
        "format": "enginetour-bubble-case/1", "params": {"size": 2, "min_matches": 1, "unpark_threshold": 1},
        "ranking": [ODD, "\ud800", "="], "results": [["-10", "0-1", "10-"]],
    }  # fmt: skip
    (tmp_path / "case.json").write_text(json.dumps(case))
    (tmp_path / "bad.json").write_text(json.dumps({ODD + "\ud800": 1}))
    (tmp_path / "c.toml").write_text('[tournament]\nname = "x\\u202e"\n[format]\nsystem = "\\u009b"\n')
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "", name="o")
    path.write_text(path.read_text().replace('tc = "depth=1"', 'openings = { file = "\\u009b\\u202e" }'))
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "odd.toml").write_text('name = "odd"\ncommand = "/none\\u202e"\nprotocol = "uci"\n')
    yield tmp_path


def test_terminal_escapes(folder: Path) -> None:
    """No command passes on what moves a cursor, renames a window, or turns a line round; markup stays text."""
    driven = set()
    for words in LINES:
        done = tour(folder, *words, expect=None)
        assert done.returncode in (0, 2, 3, 4, 5, 7), (words, done.stderr)
        for told in (done.stdout, done.stderr):
            found = UNSAFE.search(told.replace("\r\n", "\n"))  # as TRF ends its lines
            assert found is None, (words, told[max(0, found.start() - 60) : found.end() + 20])
        driven.add(words[0])
    assert driven >= set(COMMANDS), "a command that is not driven"
    assert "[red]markup[/red]" in tour(folder, "ratings", "--all").stdout


def _with_csv(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if any("--csv" in option.opts for option in command.params):
        yield path
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from _with_csv(inner, (*path, name))


def test_csv_has_names_unchanged(folder: Path) -> None:
    """No --csv puts a sign before a name that begins like a formula; every command that has one is asked."""
    commands = set(_with_csv(cli, ())) - {("simulate",), ("engines", "check")}  # the names there are our own
    asked = set()
    making = ("lists", "publish", "import")
    for words in LINES:
        if "--csv" not in words and words[0] not in making:
            continue
        done = tour(folder, *words, expect=None)
        if "--csv" not in words or done.returncode:
            continue
        asked |= {path for path in commands if tuple(words[: len(path)]) == path}
        for cell in (cell for row in csv.reader(io.StringIO(done.stdout)) for cell in row):
            assert not cell.startswith(("'=", "'+", "\t", "\r")), (words, cell)
        if words[:2] == ["ratings", "--all"] and len(words) == 3:
            assert FORMULA in [row[1] for row in csv.reader(io.StringIO(done.stdout))]
    assert asked == commands


def _games_in(text: str) -> list[chess.pgn.Game]:
    source, found = io.StringIO(text), []
    while game := chess.pgn.read_game(source):
        found.append(game)
    return found


def _unescaped(value: str) -> str:
    """As PGN 7 has it; python-chess leaves that to its users."""
    return re.sub(r'\\(["\\])', r"\1", value)


@pytest.mark.engine("pgn-extract")
def test_pgn_header_and_comment_injection(folder: Path) -> None:
    """Reading back gives the same games and tags, by python-chess and by pgn-extract."""
    path = folder / "out.pgn"
    tour(folder, "export", "pgn", "-t", TITLES["roundrobin"], "-o", str(path))
    played = json.loads(tour(folder, "games", "-t", TITLES["roundrobin"], "--json").stdout)
    program = shutil.which("pgn-extract") or "/usr/games/pgn-extract"
    again = subprocess.run([program, "-s", str(path)], capture_output=True, text=True, check=True)
    assert again.stderr == ""
    for text in (path.read_text("utf-8"), again.stdout):
        read = _games_in(text)
        assert [one.headers["Result"] for one in read] == [one["result"] for one in played]
        assert all(not one.errors and one.headers["Event"] != "no" for one in read)
        whites = [" ".join("".join(c if c.isprintable() else " " for c in one["white"]).split()) for one in played]
        assert [_unescaped(one.headers["White"]) for one in read] == whites


def test_report_injection(folder: Path) -> None:
    """The name of a tournament begins no line of a TRF: it has the entrants it has."""
    lines = tour(folder, "export", "trf", "-t", TITLES["dutch"]).stdout.splitlines()
    assert sum(line.startswith("001") for line in lines) == len(hostile.NAMES)


def test_log_forging(tmp_path: Path) -> None:
    """One event is one JSON line, whatever is in it."""
    said: list[str] = []
    journal = Journal(tmp_path / "log.jsonl", said.append)
    for name in hostile.NAMES:
        journal({"event": "game", "text": f'{name}\n{{"event": "forged"}}\r\n\x85\u2028'})
    lines = (tmp_path / "log.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["game"] * len(hostile.NAMES)
    assert not said


def test_sql_and_integers_beyond_64_bits(folder: Path) -> None:
    """The tables are still there, names with quotes are found, no number is too large to be refused."""
    evil = hostile.SQL
    for words in (("history", evil), ("games", "--engine", evil), ("standings", "-t", TITLES["roundrobin"])):
        tour(folder, *words)
    huge = str(2**64)
    for line in ("status --edition", "games", "void", "editions l", "diff l", "ratings --all --as-of game"):
        typed_in = [*line.split(" "), huge] if not line.endswith("game") else [*line.split(" ")[:-1], f"game {huge}"]
        assert tour(folder, *typed_in, expect=2).stderr.count("enginetour: ") <= 1
    tour(folder, "db", "check")


def test_words_that_are_no_text(folder: Path) -> None:
    """Bytes that are not UTF-8: names are refused, files are read and told."""
    for words in (
        ("standings", "-t", "\udcff"),
        ("history", "\udcff"),
        ("publish", "\udcff"),
        ("lists", "show", "\udcff"),
    ):
        assert tour(folder, *words, expect=2).stderr.count("\n") == 1
    shutil.copy(folder / "games.pgn", folder / "\udcff.pgn")
    assert json.loads(tour(folder, "rate", "\udcff.pgn", "--json").stdout)["files"] == ["\udcff.pgn"]


def test_format_strings_and_shell_text(folder: Path, tmp_path: Path) -> None:
    """Names with %s, {0} and $(...) come out as they are, and nothing is run."""
    assert "%s %n {0}" in tour(folder, "standings", "-t", TITLES["roundrobin"]).stdout
    keep = "import os, sys; open('heard', 'w').write(os.environ['ENGINETOUR_TEXT'] + repr(sys.argv))"
    (tmp_path / "tell").write_text(f"#!{sys.executable}\n{keep}\n")
    (tmp_path / "tell").chmod(0o755)
    event = {"event": "incident", "tournament": "t", "text": "$(touch run) `touch run`; touch run %s {0}"}
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        by_command(("./tell",), event, tmp_path)
    finally:
        os.chdir(here)
    heard = (tmp_path / "heard").read_text()
    assert heard.startswith(event["text"])
    assert "touch" not in heard.removeprefix(event["text"])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("engine", ["../odd", "../../etc/passwd", "/etc/passwd", "engines/odd", "odd.toml"])
def test_path_traversal_by_the_id_of_an_engine(folder: Path, engine: str) -> None:
    """An id is a name among those in the folder, never a path."""
    path = config(folder, (engine, "wren1"), "roundrobin", "", name="walk")
    assert "unknown engine" in tour(folder, "check", path.name, expect=3).stderr


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/b", "..", "", "a\nb"])
def test_path_traversal_by_generated_files(folder: Path, name: str) -> None:
    """What is generated for an engine lies in its scratch folder."""
    text = f'name = "odd"\ncommand = "true"\nprotocol = "uci"\n[files]\n{json.dumps(name)} = "x"\n'
    (folder / "engines" / "odd.toml").write_text(text)
    assert "files" in tour(folder, "engines", "check", "odd", expect=3).stderr


def test_names_become_slugs(folder: Path) -> None:
    """A tournament's name is no path: what it writes lies beside the database."""
    path = config(folder, ("wren1", "wren2"), "roundrobin", "", name="up")
    path.write_text(path.read_text().replace('name = "up"', 'name = "../../up"'))
    before = set(folder.parent.iterdir())
    tour(folder, "run", path.name, "--plain")
    assert set(folder.parent.iterdir()) == before
    made = {file.name for file in (folder / "results").iterdir()}
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,127}", name) for name in made), made


@pytest.mark.parametrize("words", ["rate games.pgn -o made", "export csv -o made", "pair club.trf -o made"])
def test_links_beside_exports(folder: Path, words: str) -> None:
    """A link that waits where a file is written beside is not written through; nor is one in its place."""
    victim = folder / "victim"
    victim.write_text("precious")
    (folder / ".made.new").symlink_to(victim)
    assert tour(folder, *words.split(" "), expect=7).stderr.count("enginetour: ") == 1
    (folder / ".made.new").unlink(missing_ok=True)
    (folder / "made").symlink_to(victim)
    tour(folder, *words.split(" "), *(["--overwrite"] if "pair" in words else []))
    assert victim.read_text() == "precious"
    assert not (folder / "made").is_symlink()


def test_scratch_wiping(tmp_path: Path) -> None:
    """Links, mode 000, odd names: all go, what they point at stays."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("precious")
    inner = tmp_path / "scratch" / "-rf" / "a\nb" / os.fsdecode(b"\xff\xfe")
    inner.mkdir(parents=True)
    (inner / "out").symlink_to(tmp_path / "kept")
    (inner / "file").symlink_to(tmp_path / "kept" / "file")
    (tmp_path / "scratch" / "-rf").chmod(0)
    assert wipe(tmp_path / "scratch") == 0
    assert not (tmp_path / "scratch").exists()
    assert (tmp_path / "kept" / "file").read_text() == "precious"


def _page(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[2 * 4096 : 6 * 4096] = b"\x55" * (4 * 4096)
    path.write_bytes(bytes(whole))


FOREIGN: dict[str, Callable[[Path], None]] = {
    "trigger": lambda path: meddled(path, "CREATE TRIGGER t AFTER INSERT ON games BEGIN DELETE FROM games; END"),
    "view": lambda path: meddled(path, "CREATE VIEW v AS SELECT * FROM games"),
    "page": _page,
    "application": lambda path: meddled(path, "PRAGMA application_id=7"),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("words", ["standings", "games --json", "ratings --all", "import games.pgn", "void 1"])
def test_databases_of_others(folder: Path, kind: str, words: str) -> None:
    """A trigger, a view, torn pages, another application: exit 5, one line, not a byte changed."""
    path = folder / "results" / "enginetour.db"
    FOREIGN[kind](path)
    before = path.read_bytes()
    done = tour(folder, *words.split(" "), expect=5)
    assert done.stderr.count("enginetour: ") == 1
    assert path.read_bytes() == before
