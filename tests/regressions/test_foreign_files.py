"""What files, names and words of others once broke: each was a traceback, a hang, gigabytes, or a file overwritten."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from enginetour.interop import tde, trf
from enginetour.interop.bubblecase import read_case
from enginetour.interop.files import MOST_TAGS
from enginetour.interop.gamefilter import Naming, ratable, read_aliases
from enginetour.interop.gametags import tags_of
from enginetour.interop.pairers import foreign, settings
from enginetour.interop.pgn import GameReader, read_games, scan
from enginetour.interop.toml import read_toml
from enginetour.model.errors import InputRefused
from enginetour.openings.positions import Bad
from enginetour.openings.suites import MOST_PLIES, read_suite
from enginetour.reports.sheet import Column, Sheet, render
from enginetour.store.address import Address
from enginetour.store.definition import ListDefinition
from enginetour.store.imports import import_games, titles
from enginetour.store.selection import selected
from enginetour.store.tournaments import Store
from enginetour.tournament.config.load import load
from enginetour.tournament.config.sections import EntrantSection
from tests.mangled import TRF
from tests.touring import config, tour

DIGITS = "9" * 5000  # Python reads and writes numbers up to 4300 (int_max_str_digits)
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"
SECONDS = 10  # of processor: each took minutes, or would have; now they are hundredths


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"a = {DIGITS}", "thousands of digits"),
        (f"b = 1\na = 0x{'f' * 5000}", ":2: a whole number beyond 64 bits"),
        (f"b = 1\na = [1, {2**63}]", ":2: a whole number beyond 64 bits"),
        ("b = 1\n" + ".".join(["a"] * 400_000) + " = 1", ":2: a key of more than 32 parts"),
        ("[" + " . ".join(['"a b"'] * 40) + "]", ":1: a key of more than 32 parts"),
        ("a = " + "[" * 40 + "]" * 40, "nested too deeply"),
        ("a" * 999_000, "not TOML"),
        ("a = " + "'" * 999_000, "not TOML"),
        ("a" + " " * 999_000, "not TOML"),
    ],
)
def test_toml_that_hung_or_broke(tmp_path: Path, text: str, words: str) -> None:
    """Numbers, keys and depths that no person writes."""
    path = tmp_path / "t.toml"
    path.write_text(text)
    began = time.process_time()
    with pytest.raises(InputRefused, match=words):
        read_toml(path, "a configuration")
    assert time.process_time() - began < SECONDS


def test_dots_that_are_no_keys(tmp_path: Path) -> None:
    """Words with dots between them are text; line ends of other systems are line ends."""
    path = tmp_path / "t.toml"
    path.write_bytes(b"# " + b"." * 99 + b'\r\na.b.c = "' + b"x . " * 99 + b'"\r\nn = [1.5, 2.5]\r\n')
    assert read_toml(path, "a configuration")[0]["n"] == [1.5, 2.5]


def test_a_list_where_the_name_of_a_format_belongs(tmp_path: Path) -> None:
    """It was an unhashable type."""
    path = tmp_path / "t.toml"
    path.write_text('[tournament]\nname = "x"\n[format]\nsystem = ["ml", "elo"]\n[[entrants]]\nengine = "x"\n')
    with pytest.raises(InputRefused, match=r"t.toml:4: unknown format \['ml', 'elo'\]"):
        load(path)


def test_settings_that_are_no_toml() -> None:
    """Typed for `pair --set`: too many digits, too many brackets; a word then, which the system refuses."""
    assert settings([f"rounds={DIGITS}", "k=" + "[" * 5000]) == {"rounds": DIGITS, "k": "[" * 5000}


@pytest.mark.parametrize("counters", [f"0 {DIGITS}", f"{DIGITS} 1", f"hmvc {DIGITS};", f"fmvn {'9' * 4000};"])
def test_move_counters_of_thousands_of_digits(tmp_path: Path, counters: str) -> None:
    """In EPD and FEN lines, and in the FEN tag of a game."""
    (tmp_path / "s.epd").write_text(f"{START} {counters}\n")
    (found,) = read_suite(tmp_path / "s.epd")
    assert isinstance(found, Bad)
    assert "more than 4 digits" in found.why
    (tmp_path / "s.pgn").write_text(f'[FEN "{START} {counters}"]\n\n1. e4 *\n')
    (found,) = read_suite(tmp_path / "s.pgn")
    assert isinstance(found, Bad)


@pytest.mark.parametrize("rest", ['c0 "x";' + " " * 65_000, " a" * 32_000, ' "' * 32_000, "a " * 32_000 + '"'])
def test_blanks_in_a_position_that_count_squared(tmp_path: Path, rest: str) -> None:
    """An operation of EPD begins at a word: blanks before it are not tried one by one."""
    (tmp_path / "s.epd").write_text(f"{START} {rest}\n")
    began = time.process_time()
    assert len(list(read_suite(tmp_path / "s.epd"))) == 1
    assert time.process_time() - began < SECONDS


def test_a_game_of_endless_moves_or_tags(tmp_path: Path) -> None:
    """What is held of a game of a suite has an end: 50 MB of moves took 1.7 GB."""
    path = tmp_path / "s.pgn"
    path.write_text("1. e4 e5\n" * MOST_PLIES + "*\n\n1. d4 *\n")
    bad, good = read_suite(path)
    assert isinstance(bad, Bad)
    assert "plies" in bad.why
    assert not isinstance(good, Bad)
    path.write_text(many(3 * MOST_TAGS) + "\n1. d4 *\n\n1. e4 *\n")
    bad, good = read_suite(path)
    assert isinstance(bad, Bad)
    assert bad.why == "more than 1,000 tags"
    assert not isinstance(good, Bad)


def test_a_suite_that_begins_with_blank_lines(tmp_path: Path) -> None:
    """They are not kept while its kind is looked for: 50 MB of them took 2.9 GB."""
    (tmp_path / "suite").write_text("\n" * 1000 + "1. e4 *\n")
    (found,) = read_suite(tmp_path / "suite")
    assert not isinstance(found, Bad)
    assert found.moves == ("e2e4",)


def test_tags_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told and let go, by `rate` and `import` alike; the games behind them count."""
    game = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1-0\n\n'
    path = tmp_path / "g.pgn"
    for name, size in (("pgnscan.PIECE", 1000), ("pgnscan.LONGEST_PIECE", 8000), ("pgntags.LONGEST_HEADER", 8000)):
        monkeypatch.setattr(f"enginetour.interop.{name}", size)
    path.write_text(game + '[White "C"]\n' + f'[X "{"x" * 100}"]\n' * 900 + '[Black "D"]\n\n1. e4 *\n\n' + game)
    counted, read = scan([path]), read_games([path])
    assert counted.games == read.games == 2
    assert counted.broken == read.broken == [(f"{path}:7", "tags without end")]
    assert counted.broken_games == read.broken_games == 1


NAMES = '[White "C"]\n[Black "D"]\n[Result "1-0"]\n'


def many(number: int) -> str:
    """Lines of tags."""
    return "".join(f'[T{n} "x"]\n' for n in range(number))


TAGS = {
    "behind the names": (NAMES, many(MOST_TAGS - 3)),
    "before the names": (many(MOST_TAGS - 3), NAMES),
    "on both sides of a blank line": (NAMES + many(MOST_TAGS // 2), "\n" + many(MOST_TAGS // 2 - 3)),
    "in one line": (NAMES, '[T"x"]' * (MOST_TAGS - 3) + "\n"),
    "all alike": (NAMES, '[T "x"]\n' * (MOST_TAGS - 3)),
}


@pytest.mark.parametrize("pieces", [(1 << 17, 1 << 20), (1000, 8000)], ids=["quick", "careful"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("tags", TAGS.values(), ids=TAGS)
def test_a_game_of_too_many_tags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tags: tuple[str, str], ends: str, pieces: tuple[int, int]
) -> None:
    """`rate` and `import` note it as one broken game, however it is written, and read the games around it."""
    monkeypatch.setattr("enginetour.interop.pgn.PIECE", pieces[0])
    monkeypatch.setattr("enginetour.interop.pgn.LONGEST_PIECE", pieces[1])
    game = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1-0\n\n'
    first, second = tags
    for more, games, broken in (("", 3, 0), ('[One "more"]\n', 2, 1), (many(60_000), 2, 1)):
        path = tmp_path / "g.pgn"
        path.write_text(game + first + more + second + "\n1. e4 1-0\n\n" + game, newline=ends)
        for found in (scan([path]), read_games([path])):
            assert (found.games, found.broken_games) == (games, broken)
            assert found.broken == [(f"{path}:7", "more than 1,000 tags")] * broken


def test_more_tags_than_a_game_may_have_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Millions of them took minutes. Of a file without moves the next game is found by its names."""
    read = 0

    def counted(line: bytes) -> list[tuple[bytes, bytes]]:
        nonlocal read
        read += 1
        return tags_of(line)

    monkeypatch.setattr("enginetour.interop.gametags.tags_of", counted)
    path = tmp_path / "g.pgn"
    for lines in (many(200_000), '[White "x"]\n' * 200_000, '[Event "x"]\n' * 200_000, '[T "x\n' * 200_000):
        read = 0
        path.write_text('[White "C"]\n' + many(MOST_TAGS) + lines + NAMES + '[White "E"]\n[Black "F"]\n[Result "*"]\n')
        found = scan([path])
        assert (found.games, found.broken_games) == (1, 1)
        assert read < MOST_TAGS + 20


def test_little_of_an_endless_game_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tag, a line, a comment or blanks of 100 MB were held as a whole by `import`, or copied once for each MB."""
    sizes = {"pgnscan.PIECE": 1000, "pgnscan.LONGEST_PIECE": 4000, "pgntags.LONGEST_HEADER": 8000}
    for name, size in (sizes | {"pgntags.LONGEST_LINE": 2000, "gamereader.LONGEST_OPENING": 2000}).items():
        monkeypatch.setattr(f"enginetour.interop.{name}", size)
    held = 0
    feed = GameReader.feed

    def watched(reader: GameReader, offset: int, lines: bytes, *, whole: bool = True) -> None:
        nonlocal held
        feed(reader, offset, lines, whole=whole)
        own = reader._open
        held = max(held, len(reader._bytes) + len(reader._partial) + (len(own._held) + len(own.front) if own else 0))

    monkeypatch.setattr(GameReader, "feed", watched)
    game = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'
    long = "x" * 200_000
    endless = (
        *(f'[Annotator "{long}"]\n\n1. e4', f"\n{long}", "\n1. e4 {" + "x\n" * 100_000 + "}", many(30_000)),
        *("\n1. e4" + "\n" * 200_000, "\n1. e4" + " \r\n" * 50_000, "\n" + "(\n" * 100_000, "\n1. e4" + " " * 200_000),
    )
    path = tmp_path / "g.pgn"
    for words in endless:
        path.write_text(f"{game}{NAMES}{words} 1-0\n\n{game}", newline="")
        held = 0
        read_games([path])
        assert 0 < held < 20_000, words[:30]


def test_a_register_with_numbers_of_any_length(tmp_path: Path) -> None:
    """Drops and ratings of hundreds of digits."""
    path = tmp_path / "register.tde"
    path.write_text(f"A1 Ada 2.5\nB1 Bea 5k # DROP{DIGITS}\n")
    assert tde.read(path).listed[1].drops == frozenset()
    path.write_text(f"A1 Ada {'9' * 400}\n")
    with pytest.raises(InputRefused, match=r"register.tde:1: expected ID, name, rating"):
        tde.read(path)


def test_a_report_that_says_too_much() -> None:
    """Few letters that mean millions of pairs, rounds or lines."""
    entries = "".join(f"001 {n:4d}      {'E':33} 2000\r\n" for n in range(1, 1001)).encode()
    everybody = " ".join(str(n) for n in range(1, 1001)).encode()
    for line, words in (
        (b"XXP " + everybody, "pairs that must not meet"),
        (b"XXA    1" + b" 1.0" * 100_001, "virtual points"),
        (b"250      1.0  001 999    1 1000", "virtual points"),
    ):
        with pytest.raises(InputRefused, match=words):
            foreign(trf.read(b"XXR 9\r\n" + line + b"\r\n" + entries))
    with pytest.raises(InputRefused, match="at most 999 rounds"):
        trf.read(TRF.replace(b"   2 w 1", b"0000 - Z  " * 1001))
    with pytest.raises(InputRefused, match="at most 100,000 lines"):
        trf.read(b"x\n" * 250_000)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (f'{{"format": {DIGITS}}}', "thousands of digits"),
        ('{"format": "enginetour-bubble-case/1", "params": {}, "results": [], "ranking": ' + "%s}", "at most 2,000"),
        ("{" + ",".join(f'"k{n}": 1' for n in range(60_000)) + "}", "format"),
    ],
)
def test_cases_that_hung_or_broke(case: str, words: str) -> None:
    """Numbers, names and fields by the thousand."""
    began = time.process_time()
    with pytest.raises(InputRefused, match=words):
        read_case(case.replace("%s", json.dumps([str(n) for n in range(50_000)])))
    assert time.process_time() - began < SECONDS


def test_an_endless_line_of_aliases(tmp_path: Path) -> None:
    """It is refused where it stands."""
    path = tmp_path / "names.csv"
    path.write_text("a,b\n" + "c," * 40_000)
    with pytest.raises(InputRefused, match=r"names.csv:2: a line longer than"):
        read_aliases(path)


def test_a_name_of_any_length_is_cut_in_no_time() -> None:
    """Sign by sign it took 8 s for 70,000 of them."""
    columns = (Column("name", "engine", left=True, flexible=True),)
    began = time.process_time()
    for name in ("A" * 300_000, "½" * 300_000):
        lines = render(Sheet("", columns, ({"name": name},)), 80).splitlines()
        assert max(map(len, lines)) == 80
        assert lines[1].endswith("…")
    assert time.process_time() - began < SECONDS


def test_a_refusal_has_an_end(tmp_path: Path) -> None:
    """Whatever it quotes: the name of a key was printed whole."""
    (tmp_path / "case.json").write_text(json.dumps({"format": "enginetour-bubble-case/1", "x" * 100_000: 1}))
    (line,) = tour(tmp_path, "simulate", "--case", "case.json", expect=3).stderr.splitlines()
    assert len(line) == 2000


def test_what_no_terminal_can_show(tmp_path: Path) -> None:
    """Halves of surrogate pairs in names of a case are told by their numbers."""
    case = {
        "format": "enginetour-bubble-case/1", "params": {"size": 2, "min_matches": 1, "unpark_threshold": 1},
        "ranking": ["A\ud800", "B"], "results": [["-1", "0-"]],
    }  # fmt: skip
    (tmp_path / "case.json").write_text(json.dumps(case))
    assert "A\\ud800" in tour(tmp_path, "simulate", "--case", "case.json").stdout
    assert "A\ud800" in json.loads(tour(tmp_path, "simulate", "--case", "case.json", "--json").stdout)["ranking"]


def test_xboard_that_says_no_text() -> None:
    """A line that is not UTF-8 is no command of the pairing program."""
    words = [sys.executable, "-m", "enginetour", "pair", "--xboard", "--rounds", "3"]
    said = b"\xff\xfe\nresults 4\npairing 1\nquit\n"
    done = subprocess.run(words, input=said, capture_output=True, check=True, env={"PYTHONIOENCODING": "utf-8:strict"})
    assert done.stdout.count(b"-") == 1
    assert not done.stderr


def test_a_name_that_is_none(tmp_path: Path) -> None:
    """`add --name` is refused in words, as in a configuration."""
    tour(tmp_path, "run", config(tmp_path, ("wren1", "wren2"), "roundrobin", "", tc="depth=1").name)
    for words in (("add", "wren3", "--name", "a\x1bb"), ("add", "wren3", "--name", ""), ("add", "")):
        done = tour(tmp_path, *words, expect=2)
        assert done.stderr.count("enginetour: ") == 1


def test_nul_comes_into_no_store(place: Address, tmp_path: Path) -> None:
    """A server takes none in a text; what a file made a database with could be copied to none either."""
    path = tmp_path / "games.pgn"
    tags = '[Event "x"]\n[White "Fr\0uit"]\n[Black "Toga"]\n[Result "1-0"]\n[TimeControl "4\0/9"]\n\n1. e4 1-0\n\n'
    path.write_text(tags)
    with Store.open(place) as store:
        games = read_games([path], titles(store.database))
        assert import_games(store.database, "x", games, ratable(games, Naming()), [str(path)]).games == 1
        assert selected(store, ListDefinition()).names == ("Fr?uit", "Toga")
    path.write_text('Fruit,"Fr\0uit"\n')
    with pytest.raises(InputRefused, match="NUL"):
        read_aliases(path)
    for field in ("family", "origin"):
        with pytest.raises(ValueError, match="printable"):
            EntrantSection.model_validate({"engine": "wren1", field: "x\0y"})


def test_a_broken_engine_file_stops_only_who_names_it(tmp_path: Path) -> None:
    """One slip in one file and `engines list`, `find` and `check`, and every `match`, were refused."""
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "bad.toml").write_text('name = "x\n')
    listed = tour(tmp_path, "engines", "list")
    assert "wren1" in listed.stdout
    assert listed.stderr.startswith("passed over: ") and "bad.toml:1: not TOML" in listed.stderr
    tour(tmp_path, "engines", "check", "wren1", "--step", "name")
    tour(tmp_path, "match", "wren1", "Wren 3", "--tc", "depth=1", "--write-only")
    for words in (("engines", "check", "bad"), ("match", "wren1", "bad")):
        assert "bad.toml:1: not TOML" in tour(tmp_path, *words, expect=3).stderr
