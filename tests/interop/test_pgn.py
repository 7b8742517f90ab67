"""Tests of interop/pgn."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from operator import add
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import chess.pgn
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from enginetour.interop import pgn as pgn_module
from enginetour.interop import tde, trf
from enginetour.interop.bubblecase import read_case
from enginetour.interop.compiled import native
from enginetour.interop.gamefilter import EngineNames, ratable_games, read_aliases
from enginetour.interop.gametags import ClaimedGame, GameColumns, TagReader, tags_of
from enginetour.interop.pairers import parse_settings, read_tournament
from enginetour.interop.pgn import GameReader, game_start, read_games, scan
from enginetour.interop.tally import MOST_TAGS, RESULTS, UNFINISHED, Tally, escaped, result_code, tag_text, unescaped
from enginetour.interop.toml import read_toml
from enginetour.model.errors import InputRefused
from enginetour.openings.books import MOST_PLIES, read_openings
from enginetour.openings.positions import BadOpening
from enginetour.reports.sheet import Column, Sheet, render
from enginetour.store.address import Address
from enginetour.store.definition import ListDefinition
from enginetour.store.imports import export_titles, import_games
from enginetour.store.selection import select_games
from enginetour.store.tournaments import Store
from enginetour.tournament.config.load import load
from enginetour.tournament.config.sections import EntrantSection
from tests.support.faults import TRF
from tests.support.tournaments import config, tour, unwrapped

# Games one by one: bytes, offsets, dates and time controls; both readers agree.

WORDS = {code: raw.decode() for raw, code in RESULTS.items()}
SHARING = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def game(
    white: str = "A",
    black: str = "B",
    result: str = "1-0",
    more: str = "",
    moves: str = "1. e4 ",
    ends: str | None = None,
) -> str:
    """Return a game with tags in the usual order; `more` are further lines of tags, `ends` is the final result."""
    first = '[Event "E"]\n[Site "?"]\n[Date "2024.02.01"]\n[Round "1"]\n'
    last = result if ends is None else ends
    return f'{first}[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n{more}\n{moves}{last}\n\n'


def read(path: Path, content: str | bytes, events: frozenset[str] = frozenset()) -> GameColumns:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_games([path], events)


def careful(path: Path) -> GameColumns:
    with patch.object(pgn_module, "_quick", lambda games, at, piece: False):
        return read_games([path], by_event=True)


def noticed(games: Tally) -> tuple[object, ...]:
    """Return games left out and notes about results."""
    results = games.others, games.respelled, games.places, games.contradicted, games.contradicted_at
    return games.broken_games, *results


def told(games: GameColumns) -> list[tuple[object, ...]]:
    """Return all columns of every game."""
    names = [tag_text(raw) for raw in games.names]
    controls = [raw.decode() for raw in games.controls]
    columns = (games.white, games.black, games.results, games.days, games.control, games.offsets)
    rows = zip(zip(*columns, strict=True), games.identities().tolist(), strict=True)
    return [
        (names[white], names[black], WORDS.get(result, "*"), day, controls[control], offset, identity, *more)
        for ((white, black, result, day, control, offset), identity), more in zip(rows, marked(games), strict=True)
    ]


def events(games: GameColumns) -> list[bytes]:
    """Return the Event tag of each game."""
    tags = list(games.event_tags)
    return [tags[number] for number in games.event]


def marked(games: GameColumns) -> list[tuple[object, ...]]:
    """Return the exceptions by game."""
    notes = (games.terminations, games.odds, games.variants, games.black_control)
    return [tuple(each.get(number) for each in notes) for number in range(games.games)]


def test_a_game_has_a_day_a_control_and_a_place(tmp_path: Path) -> None:
    """The day is that of the Date tag, with 0 for unknown parts; the offset is that of the first tag."""
    odd = game(more='[TimeControl "40/60"]\n').replace("2024.02.01", "2024.??.??")
    late = (
        game().replace('[Date "2024.02.01"]\n', "").replace('[Result "1-0"]\n', '[Result "1-0"]\n[Date "1999.12.31"]\n')
    )
    content = "; words before\n\n" + game() + odd + late
    found = told(read(tmp_path / "g.pgn", content))
    assert [row[3] for row in found] == [20240201, 20240000, 19991231]
    assert [row[4] for row in found] == ["", "40/60", ""]
    assert [content.encode()[int(str(row[5])) :].startswith(b"[Event") for row in found] == [True] * 3
    assert told(careful(tmp_path / "g.pgn")) == found


def test_each_game_keeps_its_date_beside_games_without_one(tmp_path: Path) -> None:
    """A date is read before and after the names, also if other games of the file have no date."""
    three = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n'
    content = game() + f"{three}\n1-0\n\n" + f'{three}[Date "2025.03.02"]\n\n1-0\n\n'
    assert list(read(tmp_path / "g.pgn", content).days) == [20240201, 0, 20250302]


def test_equal_games_are_told_apart_by_their_number(tmp_path: Path) -> None:
    """Equal games keep their number; a file that has grown gives the same identities and new ones."""
    three = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n'
    few = set(read(tmp_path / "g.pgn", three * 3).identities().tolist())
    more = set(read(tmp_path / "g.pgn", three * 2 + game() + three * 3).identities().tolist())
    assert (len(few), len(more)) == (3, 6)
    assert few < more


def test_files_are_counted_apart(tmp_path: Path) -> None:
    """The same file twice has the same identities twice."""
    (tmp_path / "g.pgn").write_text(game() * 2 + game("C"))
    found = read_games([tmp_path / "g.pgn", tmp_path / "g.pgn"]).identities()
    assert found[:3].tolist() == found[3:].tolist()
    assert len(np.unique(found)) == 3


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_make_no_other_game(tmp_path: Path, end: str) -> None:
    """Line ends, a byte order mark, packing and final white space do not change identities."""
    content = "\n" + game() + game("C", moves="1. e4 {a\n\ncomment} e5\n2. d4 ") + game()
    wanted = read(tmp_path / "g.pgn", content).identities().tolist()
    for written in (content.replace("\n", end), "\ufeff" + content[1:], content.rstrip(), content + "\n \n"):
        assert read(tmp_path / "g.pgn", written).identities().tolist() == wanted
    assert read(tmp_path / "g.gz", gzip.compress(content.encode())).identities().tolist() == wanted


def test_places_count_the_bytes_of_the_file(tmp_path: Path) -> None:
    """Offsets count line ends of two bytes and the byte order mark."""
    for content in (game() * 5, "\ufeff" + game() * 5, "\n\n\n" + game() + "\n" + game()):
        for end in ("\n", "\r\n"):
            raw = content.replace("\n", end).encode()
            for found in (read(tmp_path / "g.pgn", raw), careful(tmp_path / "g.pgn")):
                assert all(raw[at:].startswith(b"[Event") for at in found.offsets)
                assert len(set(found.offsets)) == content.count("[Event")


def test_any_other_byte_makes_another_game(tmp_path: Path) -> None:
    """A changed move, tag or result changes the identity."""
    games = [
        game(),
        game(moves="1. d4 "),
        game(more='[ECO "B00"]\n'),
        game(result="0-1"),
        game().replace("Round", "Rnd"),
    ]
    assert len(np.unique(read(tmp_path / "g.pgn", "".join(games)).identities())) == 5


def test_broken_games_are_no_part_of_others(tmp_path: Path) -> None:
    """Broken games do not change the games after them, and are counted as in the scan."""
    bad = game(white="?", moves="1. c4 ")
    alone = set(read(tmp_path / "g.pgn", game() + game("C")).identities().tolist())
    found = read(tmp_path / "g.pgn", game() + bad + game("C"))
    assert set(found.identities().tolist()) == alone
    assert found.broken == [(f"{tmp_path / 'g.pgn'}:11", "the game has an empty White tag")]


def test_claims_are_games_of_our_events(tmp_path: Path) -> None:
    """Claims contain the games of the requested events only."""
    mine = game('Fruit \\"X\\"', "B", more='[GameStartTime "2024-02-01T10:00:00Z"]\n').replace('"E"', '"autumn #2"')
    content = game() + mine.replace('Round "1"', 'Round "3.17"') + game()
    claim = ClaimedGame(1, "autumn #2", "3.17", 'Fruit "X"', "B", "2024.02.01", "2024-02-01T10:00:00Z")
    assert read(tmp_path / "g.pgn", content, frozenset({"autumn #2"})).claims == [claim]
    assert read(tmp_path / "g.pgn", content, frozenset({"winter"})).claims == []
    with patch.object(pgn_module, "_quick", lambda games, at, piece: False):
        assert read_games([tmp_path / "g.pgn"], frozenset({"autumn #2"})).claims == [claim]


def test_a_game_over_many_pieces_is_one(tmp_path: Path) -> None:
    """A game with very long comments or tags in several pieces is one game."""
    long = game("C", moves="1. e4 {" + "words [and] more\r\n\n " * 300 + "} e5 ")
    (tmp_path / "g.pgn").write_text(game() + long + game(more='[Foo "bar"]\n' * 99) + game("D"))
    whole = told(read_games([tmp_path / "g.pgn"]))
    assert len(whole) == 4
    for piece in (100, 257, 1000):
        with patch.object(pgn_module, "PIECE", piece), patch.object(pgn_module, "LONGEST_PIECE", 2 * piece):
            assert told(read_games([tmp_path / "g.pgn"])) == whole


def test_files_without_games_are_refused(tmp_path: Path) -> None:
    """A file without games raises an error, also among others."""
    (tmp_path / "a.pgn").write_text(game())
    (tmp_path / "b.pgn").write_text("nothing")
    with pytest.raises(InputRefused, match="no games found"):
        read_games([tmp_path / "a.pgn", tmp_path / "b.pgn"])


# --- laws

lines = st.sampled_from(
    ["1. e4", "{", "}", "{ a comment }", "; rest {", "% escaped", "[%eval 1]", "(1. d4 d5)", "", "1-0"]
)
fakes = st.sampled_from(
    ['[White "X"]\n[Black "Y"]\n[Result "1-0"]', '[Result "0-1"]', '[Event "E"]', '\n[Event "E"]\n']
)
comments = st.lists(fakes | lines, max_size=3).map(lambda parts: "{" + "\n".join(parts).replace("}", "") + "}")
moves = st.lists(lines.filter(bool) | comments, max_size=4).map(lambda parts: "\n".join([*parts, ""]))
names = st.text(st.sampled_from('Ab1 ?{}"\\é'), min_size=1, max_size=4)
results = st.sampled_from(["1-0", "0-1", "1/2-1/2", "*"] * 2 + ["1/2", " 1-0 ", "0:1", "1-O"])
ends = st.sampled_from([None] * 9 + ["1-0", "0-1", "*", ""])
more = st.lists(
    st.sampled_from(
        [
            '[TimeControl "60"]\n',
            '[Termination "time forfeit"]\n',
            '[Termination\t"abandoned"]\n',
            '[ Variant "atomic"]\n',
            '[Variant "chess"]\n',
            '[WhiteOdds\n"pawn"]\n',
            '[Handicap  "White gives 1"]\n',
            '[Event "F"]\n',
        ]
    ),
    max_size=2,
).map("".join)
usual = st.builds(game, names, names, results, st.just("") | more, moves, ends)
spaced = usual.map(lambda words: words.replace("[Black", "[ Black").replace("[Site ", "[Site\n"))
three = st.builds('[White "{}"]\n[Black "{}"]\n[Result "1-0"]\n\n'.format, names, names)
odd = st.builds('[Event "E"]\n[Black "{}"]\n[White "{}"]\n\n[Result "0-1"]\n\n{}\n\n'.format, names, names, moves)
indented = usual.map(lambda words: words.replace("[", "  [")) | usual.map(
    lambda words: words.replace("[Date", " [Date")
)
tagged = usual | three | odd | spaced | indented | usual.map(lambda words: "\n" + words)
files = st.builds(add, tagged, st.lists(tagged | st.just("1. e4 e5 0-1\n\n"), max_size=5).map("".join))


# A brace in a tag closes the comment before it, so the tags after it belong to the next game.
CLOSED_BY_A_TAG = "".join(
    (
        game(moves="{\n"),
        '[White "A"]\n[Black "}"]\n[Result "1-0"]\n\n',
        '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n',
        game(),
    )
)


@SHARING
@given(files, st.sampled_from(["\n", "\r\n"]), st.sampled_from([60, 200, 1 << 19]))
@example(CLOSED_BY_A_TAG, "\n", 60)
def test_quick_and_careful_reading_agree(tmp_path: Path, content: str, end: str, piece: int) -> None:
    """Both readers agree in every column, for any file and any pieces."""
    path = tmp_path / "g.pgn"
    path.write_bytes(content.replace("\n", end).encode())
    wanted = careful(path)
    with patch.object(pgn_module, "PIECE", piece):
        found = read_games([path], by_event=True)
    assert told(found) == told(wanted)
    assert events(found) == events(wanted)
    assert noticed(found) == noticed(wanted)
    assert found.games == scan([path]).games


@SHARING
@given(files, files)
def test_a_grown_file_keeps_its_games(tmp_path: Path, content: str, grown: str) -> None:
    """A file that has grown has the same games, unless a comment hides the rest."""
    (tmp_path / "a.pgn").write_text(content)
    (tmp_path / "b.pgn").write_text(content + grown)
    before, after = (read_games([tmp_path / name]).identities().tolist() for name in ("a.pgn", "b.pgn"))
    assert set(before) <= set(after) or "{" in content


# The scan of PGN files: counts, places of errors, and agreement of both readers.


def scanned(path: Path, content: bytes | str) -> Tally:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return scan([path])


def games(tally: Tally) -> Counter[tuple[str, str, str]]:
    """Return White, Black and result of every game; unknown results are ``*``."""
    names = [tag_text(raw) for raw in tally.names]
    rows = zip(tally.white, tally.black, tally.results, strict=True)
    return Counter((names[white], names[black], WORDS.get(result, "*")) for white, black, result in rows)


def short(white: str = "A", black: str = "B", result: str = "1-0", moves: str = "1. e4 e5") -> str:
    return f'[Event "E"]\n[Site "?"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n{moves} {result}\n\n'


def scanned_carefully(path: Path) -> Tally:
    """Scan only with the careful reader."""
    with patch.object(pgn_module, "_quick", lambda games, at, piece: False):
        return scan([path])


def quick_pieces(path: Path) -> list[bool]:
    """Return whether each piece was read by the fast reader."""
    plain, seen = pgn_module._quick, []

    def noted(tally: Tally, at: int, piece: bytes) -> bool:
        seen.append(plain(tally, at, piece))
        return seen[-1]

    with patch.object(pgn_module, "_quick", noted):
        scan([path])
    return seen


# --- what is counted


def test_games_are_counted_by_names_and_result(tmp_path: Path) -> None:
    """Usual files are read by the fast reader, and unfinished games are counted separately."""
    found = scanned(
        tmp_path / "g.pgn", short() * 2 + short("B", "A", "1/2-1/2") + short("B", "C", "*") + short("C", "A", "0-1")
    )
    assert games(found) == {("A", "B", "1-0"): 2, ("B", "A", "1/2-1/2"): 1, ("B", "C", "*"): 1, ("C", "A", "0-1"): 1}
    assert found.others == {"*": 1}
    assert not found.broken_games
    (tmp_path / "g.pgn").write_text((short() * 2 + short("B", "A", "1/2-1/2") + short("C", "A", "0-1")) * 9)
    with patch.object(pgn_module, "PIECE", 500):
        assert all(quick_pieces(tmp_path / "g.pgn"))
        (tmp_path / "g.pgn").write_bytes((tmp_path / "g.pgn").read_bytes().replace(b"\n", b"\r\n"))
        assert all(quick_pieces(tmp_path / "g.pgn"))


def test_the_first_game_with_an_unusual_result_is_read_with_care(tmp_path: Path) -> None:
    """The first game with an unusual result has a place, and later ones are only counted."""
    path = tmp_path / "g.pgn"
    path.write_text((short() * 9 + short(result="*") + short() * 9 + short(result="1:0")) * 9)
    with patch.object(pgn_module, "PIECE", 500):
        found = scan([path])
        assert quick_pieces(path).count(False) == 2
    assert (found.others, found.respelled) == ({"*": 9}, {"1:0": 9})
    assert found.places == {"*": f"{path}:73", "1:0": f"{path}:153"}


@pytest.mark.parametrize(
    ("written", "code"),
    [
        *((result, 0) for result in ("1-0", " 1-0 ", "1 - 0", "1:0", "1\N{EN DASH}0", "1\N{MINUS SIGN}0")),
        *(
            (result, 1)
            for result in ("1/2", "½", "½-½", "½ : ½", "1/2 - 1/2", "0.5-0.5", "0,5-0,5", "1\u20442-1\u20442")
        ),
        *((result, 2) for result in ("0-1", "0\N{EM DASH}1", "0\N{NON-BREAKING HYPHEN}1")),
        *((result, UNFINISHED) for result in ("0-0", "*", "?", "-", "1", "1-O", "", "+/-", "1-0 forfeit", "1-1", "10")),
        ("1-0" + " " * 99, 0),
        ("1-0" + "0" * 99, UNFINISHED),
    ],
)
def test_results_are_read_in_usual_spellings(tmp_path: Path, written: str, code: int) -> None:
    """Results with dashes, colons, spaces and halves are read; other texts are left out."""
    found = scanned(tmp_path / "g.pgn", short() + short(result=written))
    assert list(found.results) == [0, code]
    assert list(scanned_carefully(tmp_path / "g.pgn").results) == [0, code]


def test_dashes_of_windows_are_dashes(tmp_path: Path) -> None:
    """Results with dashes or halves of code page 1252 are read."""
    content = short() + short(result="0\N{EN DASH}1") + short(result="½-½")
    assert list(scanned(tmp_path / "g.pgn", content.encode("cp1252")).results) == [0, 2, 1]


@pytest.mark.parametrize(
    ("moves", "contradicted"),
    [
        ("1. e4 0-1", 1),
        ("1. e4 *", 1),
        ("1/2-1/2", 1),
        ("1. e4 1-0", 0),
        ("1. e4", 0),
        ("", 0),
        ("1. e4 {wins} 0-1 ", 1),
        ("1. e4 ; 0-1", 0),
        ("1. e4 1-0 {not 0-1}", 0),
        ("1. e4\n% 0-1", 0),
        ("1. e4 11-0-1", 0),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_moves_that_contradict_the_tag_are_noticed(tmp_path: Path, moves: str, contradicted: int, end: str) -> None:
    """A game whose moves contradict its tag is counted, with the place of the first."""
    path = tmp_path / "g.pgn"
    odd = f'[Event "E"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n{moves}\n\n'
    for content, at in ((short() + odd + short(), 9), (short() * 2 + odd, 17), (odd + short(), 1), (odd * 2, 1)):
        found = scanned(path, content.replace("\n", end))
        assert found.contradicted == content.count(odd) * contradicted
        assert found.contradicted_at == (f"{path}:{at}" if contradicted else "")
        assert games(found) == {("A", "B", "1-0"): content.count("Result")}


@pytest.mark.parametrize(
    "content",
    [
        short().replace("\n", "\r\n"),
        short().replace("\n", "\r"),
        "\ufeff" + short(),
        short().rstrip("\n"),
        '[White "A"]\n[Black "B"]\n[Result "1-0"]\n',
        '[White "A"]\n[Black "B"]\n[Result "1-0"]',
        '[Result "1-0"]\n[Black "B"]\n[Event "x"]\n[White "A"]\n\n*\n',
        '[White   "A"]\n[Black\t"B"]  \n[Result "1-0" ]\n\n1. e4\n',
        '[White "A"][Black "B"] [Result "1-0"]\n\n1. e4\n',
        '[Event "E"][White "A"][Black "B"][Result "1-0"]\n\n1. e4\n',
        '[White "  A "]\n[Black "B"]\n\n[Result "1-0"]\n\n1. e4\n',
        "% [White nobody]\n; a comment\n\n\n" + short(),
        short(moves="1. e4 {a [comment] with } e5 ; {not one\n2. d4"),
        short(moves='{\n[White "X"]\n[Black "Y"]\n[Result "0-1"]\n\n1. d4\n\n[Event "E"]\n} 1. e4'),
        short(moves='1. e4\n%{ an escaped line\n{ a { b\n[White "X"]\n[Black "Y"]\n[Result "0-1"]\n}'),
        short(moves="1. e4 (1. d4 {\n}) ; }\n{Result: [Result 1-0]}"),
        short("A", "B").replace("[Site", '[White "Z"]\n[Site'),
        short().replace('[White "A"]', '[ White  "A" ]'),
        short().replace('[White "A"]', '[White\n"A"]'),
        short().replace('[Result "1-0"]', '[Result\t"1-0"\n]'),
        short().replace('[Result "1-0"]', '[ Result " 1-0 "]'),
        short().replace("[Event", "[ Event"),
    ],
)
def test_one_game_however_it_is_written(tmp_path: Path, content: str) -> None:
    """One game is read in any notation: line ends, marks, spaces, order of tags, comments."""
    found = scanned(tmp_path / "g.pgn", content)
    assert games(found) == {("A", "B", "1-0"): 1}
    assert not found.broken_games


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (rb"Foo \"Bar\" 1", 'Foo "Bar" 1'),
        (rb'Foo "Bar" 1', 'Foo "Bar" 1'),
        (rb"back\\slash", "back\\slash"),
        (rb"back\slash", "back\\slash"),
        (rb"ends\\", "ends\\"),
        ("Zoë".encode(), "Zoë"),
        ("Zoë".encode("latin-1"), "Zoë"),
        (rb"x\"][Black \"y", 'x"][Black "y'),
        (b"] { [", "] { ["),
    ],
)
def test_names_come_as_they_were_meant(tmp_path: Path, written: bytes, name: str) -> None:
    """Names with escapes, unescaped quotes, UTF-8 and Latin-1 are read."""
    found = scanned(tmp_path / "g.pgn", short(white="@").encode().replace(b"@", written) * 2)
    assert games(found) == {(name, "B", "1-0"): 2}
    assert not found.broken_games


def test_names_that_are_not_utf8_are_told(tmp_path: Path) -> None:
    """Names that are not UTF-8 are read as Latin-1 and counted."""
    assert scanned(tmp_path / "g.pgn", short(white="Zoë").encode("latin-1") + short().encode()).latin == 1


def test_files_without_moves_are_read_the_quick_way(tmp_path: Path) -> None:
    """Files of three tags per game without moves are read by the fast reader."""
    content = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n' * 50
    with patch.object(pgn_module, "PIECE", 200):
        found = scanned(tmp_path / "g.pgn", content)
        assert games(found) == {("A", "B", "1-0"): 50}
        assert set(quick_pieces(tmp_path / "g.pgn")[:-1]) == {True}


def test_an_odd_game_costs_one_piece(tmp_path: Path) -> None:
    """After a piece for the careful reader, the fast reader continues."""
    odd = '[Event "E"]\n[ Black "B"]\n[White "A"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'
    (tmp_path / "g.pgn").write_text(short() * 30 + odd + short() * 30)
    with patch.object(pgn_module, "PIECE", 500):
        assert games(scan([tmp_path / "g.pgn"])) == {("A", "B", "1-0"): 61}
        assert quick_pieces(tmp_path / "g.pgn").count(False) == 1


def test_files_put_together_with_different_line_ends(tmp_path: Path) -> None:
    """Games with both kinds of line ends in one file count, with or without moves."""
    for one in (short(), short(moves=""), '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n', LOWER):
        for unix, dos in ((1, 1), (1, 2), (2, 1), (3, 3)):
            ends = one * unix, one.replace("\n", "\r\n") * dos
            for content in ("".join(ends), "".join(ends[::-1]), "".join(ends * 2)):
                found = scanned(tmp_path / "g.pgn", content.encode())
                assert games(found) == {("A", "B", "1-0"): content.lower().count("result")}, content
                assert not found.broken_games and not found.contradicted


@pytest.mark.parametrize(
    "odd",
    [
        '[White "A"]\n[ECO "A"] [Result "0-1"]\n',
        '[White "A"]\n[Black "C"]\n1. d4 *\n',
        '[Annotator "x\ny"]\n[Result "0-1"]\n[Event "E"]\n',
        '[ White "A" ]\n[Black "C"]\n[result "1/2-1/2"]\n',
        " \n1. d4 0-1\n\n",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_odd_tags_before_a_usual_game_are_read_with_care(tmp_path: Path, odd: str, end: str) -> None:
    """Unusual tags before a usual game are read by the careful reader."""
    path = tmp_path / "g.pgn"
    for content in (odd + short(), short() + odd + short(), short() * 2 + odd + short("C", "D", "0-1") * 2):
        found, whole = scanned(path, content.replace("\n", end)), scanned_carefully(path)
        assert (games(found), found.broken, noticed(found)) == (games(whole), whole.broken, noticed(whole))


TIGHT = '[Event"E"]\n[White"A"]\n[Black"B"]\n[Result"1-0"]\n\n1. e4 1-0\n\n'
LOWER = '[event "E"]\n[white "A"]\n[black "B"]\n[result "1-0"]\n\n1. e4 1-0\n\n'


@pytest.mark.parametrize("odd", [short().replace("[", "  ["), short().replace("[", "\t["), TIGHT, LOWER])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tags_with_unusual_blanks_and_case_are_read(tmp_path: Path, odd: str, end: str) -> None:
    """Tags with unusual spaces or in lower case are read anywhere in the file."""
    for content in (odd * 2, short() + odd, odd + short(), short() + odd + short()):
        found = scanned(tmp_path / "g.pgn", content.replace("\n", end))
        assert games(found) == {("A", "B", "1-0"): content.lower().count("result")}
        assert not found.broken_games and not found.contradicted


# --- what cannot be counted


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("1. e4 e5 0-1\n\n" + short(), [1]),
        (short() + "1. e4 e5 0-1\n\n1.d4 *\n\n" + short(), [9, 11]),
        (short() + "1.e4\n\n", [9]),
        (short().replace("\n\n1.", "\n\n\n1.") * 2, []),
        (short(moves="1. e4 {on\n\n1. d4 is met by}") + short(moves="1. e4\n\n2. d4"), []),
    ],
)
def test_games_without_tags_are_told(tmp_path: Path, content: str, lines: list[int], end: str) -> None:
    """Moves without tags after a game are left out with their line."""
    path = tmp_path / "g.pgn"
    found = scanned(path, content.replace("\n", end))
    assert found.broken == [(f"{path}:{line}", "the game does not have tags") for line in lines]
    assert games(found) == {("A", "B", "1-0"): content.count("Result")} and not found.contradicted


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('[Event "E"]\n[White "A"]\n[Black "B"]\n\n1. e4 1-0\n\n', "does not have a readable Result tag"),
        ('[Event "E"]\n[White "A"]\n[Result "1-0"]\n\n1-0\n\n', "does not have a readable Black tag"),
        ('[Event "E"]\n[White "A]\n[Black "B"]\n[Result "1-0"]\n\n1-0\n\n', "does not have a readable White tag"),
        (short(white="?"), "has an empty White tag"),
        (short(black=" "), "has an empty Black tag"),
        (short(white="A" * 5000), "a name that is too long"),
        (short(white="A" * 70000), "does not have a readable White tag"),
    ],
)
def test_broken_games_are_told_with_file_and_line(tmp_path: Path, bad: str, why: str) -> None:
    """Broken games are noted with file and line, and the games around them count."""
    path = tmp_path / "g.pgn"
    found = scanned(path, short() + bad + short())
    assert games(found) == {("A", "B", "1-0"): 2}
    [(place, said)] = found.broken
    assert place == f"{path}:9"
    assert why in said


def test_a_file_that_breaks_off(tmp_path: Path) -> None:
    """In a truncated file the last game counts if its tags are complete; an open comment is noted."""
    path = tmp_path / "g.pgn"
    whole = short() + short("B", "A")
    assert games(scanned(path, whole[:-12])).total() == 2
    cut = scanned(path, whole[: whole.rindex("[Result") + 12])
    assert games(cut).total() == 1
    assert cut.broken == [(f"{path}:9", "the game does not have a readable Result tag")]
    found = scanned(path, short(moves="1. e4 e5\n{ no end") + short())
    assert games(found).total() == 1
    assert found.broken[0][0] == f"{path}:8"
    assert "comment" in found.broken[0][1]


def test_lines_are_right_far_into_a_file(tmp_path: Path) -> None:
    """Line numbers are correct far into plain and packed files."""
    content = (short() * 300 + short(white="?") + short() * 300 + short(black="?")).encode()
    packed = tmp_path / "g.pgn.gz"
    packed.write_bytes(gzip.compress(content))
    with patch.object(pgn_module, "PIECE", 700):
        plain = scanned(tmp_path / "g.pgn", content)
        assert [place for place, _ in plain.broken] == [f"{tmp_path}/g.pgn:2401", f"{tmp_path}/g.pgn:4809"]
        assert [place for place, _ in scan([packed]).broken] == [f"{packed}:2401", f"{packed}:4809"]


def test_an_endless_line_costs_one_message(tmp_path: Path) -> None:
    """A very long line gives one message, and the games around it count."""
    path = tmp_path / "g.pgn"
    path.write_text(short() + short(moves="x" * 100_000 + " {").replace("{", "}") + short())
    with patch.object(pgn_module, "PIECE", 1000), patch.object(pgn_module, "LONGEST_PIECE", 5000):
        found = scan([path])
    assert games(found) == {("A", "B", "1-0"): 3}
    assert [why for _, why in found.broken] == ["the line is too long"]
    assert not found.broken_games


def test_tags_longer_than_what_is_held_are_one_game(tmp_path: Path) -> None:
    """A block of tags may be in several pieces."""
    path = tmp_path / "g.pgn"
    path.write_text(short() + short().replace("[Black", '[Foo "bar"]\n' * 100 + "[Black") + short())
    with patch.object(pgn_module, "PIECE", 100), patch.object(pgn_module, "LONGEST_PIECE", 200):
        found = scan([path])
    assert games(found) == {("A", "B", "1-0"): 3}
    assert not found.broken_games


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no games found"),
        (b"\x00\x01\x02" * 99, "no games found"),
        (b"1. e4 e5 1-0\n", "no games found"),
        ("\ufeffx".encode("utf-16-le"), "UTF-16"),
        (b"PK\x03\x04" + bytes(99), "zip files are not supported"),
        (bz2.compress(short().encode()), "bzip2 files are not supported"),
        (lzma.compress(short().encode()), "xz files are not supported"),
        (gzip.compress(short().encode() * 99)[:-20], "cannot be unpacked"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "cannot be unpacked"),
    ],
)
def test_what_is_no_pgn_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    """A file that is not PGN raises an error with its name."""
    with pytest.raises(InputRefused) as refused:
        scanned(tmp_path / "g.pgn", content)
    assert words in refused.value.what
    assert "g.pgn" in refused.value.place
    if "not supported" in words:
        assert (
            refused.value.step
            == {
                "zip": "unpack the file with unzip FILE",
                "bzip2": "unpack the file with bzip2 -dk FILE",
                "xz": "unpack the file with xz -dk FILE",
            }[words.split()[0]]
        )


@pytest.mark.parametrize("name", ["missing.pgn", "."])
def test_unreadable_files_are_refused(tmp_path: Path, name: str) -> None:
    """A directory or a missing file raises an error."""
    with pytest.raises(InputRefused, match="cannot be read"):
        scan([tmp_path / name])


# --- ways in


def test_packed_and_piped_files_are_the_same(tmp_path: Path) -> None:
    """Packed files and pipes give the same games."""
    content = (short() * 40 + short("C", "B", "0-1")).encode()
    plain = games(scanned(tmp_path / "g.pgn", content))
    assert games(scanned(tmp_path / "packed", gzip.compress(content))) == plain
    ours, theirs = os.pipe()
    os.write(theirs, content)
    os.close(theirs)
    assert games(scan([Path(f"/dev/fd/{ours}")])) == plain
    os.close(ours)


def test_zstd_is_unpacked_or_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """zstd files are unpacked by the standard library or its backport, otherwise an error is raised."""
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    content = (short() * 40 + short("C", "B", "0-1")).encode()
    path = tmp_path / "g.pgn.zst"
    assert games(scanned(path, zstd.compress(content))) == games(scanned(tmp_path / "g.pgn", content))
    for damaged in (zstd.compress(content)[:-9], zstd.compress(content)[:20] + b"x" * 99):
        with pytest.raises(InputRefused, match="cannot be unpacked"):
            scanned(path, damaged)
    monkeypatch.setattr(pgn_module, "_zstd", lambda: None)
    with pytest.raises(InputRefused, match="extra zst") as refused:
        scanned(path, zstd.compress(content))
    assert "enginetour[zst]" in refused.value.step


def test_files_add_up(tmp_path: Path) -> None:
    """Names are the same in all files."""
    (tmp_path / "a.pgn").write_text(short("A", "B"))
    (tmp_path / "b.pgn").write_text(short("B", "C") + short("A", "B"))
    assert games(scan([tmp_path / "a.pgn", tmp_path / "b.pgn"])) == {("A", "B", "1-0"): 2, ("B", "C", "1-0"): 1}


def test_progress_tells_all_bytes(tmp_path: Path) -> None:
    """Progress counts all bytes once."""
    (tmp_path / "g.pgn").write_text(short() * 99)
    told: list[int] = []
    with patch.object(pgn_module, "PIECE", 300):
        scan([tmp_path / "g.pgn"], told.append)
    assert sum(told) == (tmp_path / "g.pgn").stat().st_size


@pytest.fixture
def by_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pgn_module, "WORTH_TWO", 1)
    monkeypatch.setattr(pgn_module, "START", 0)
    monkeypatch.setattr(pgn_module, "PIECE", 600)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # another test's thread may still be running


@pytest.mark.usefixtures("by_two")
def test_two_processes_count_the_same(tmp_path: Path) -> None:
    """Two processes count the same games as one, with places, and both end."""
    path = tmp_path / "g.pgn"
    path.write_text("".join(short(f"E{number % 7}", "B") for number in range(200)) + short(white="?"))
    born: list[int] = []
    usual = os.fork

    def fork() -> int:
        born.append(usual())
        return born[-1]

    with patch.object(os, "fork", fork):
        found = scan([path])
    assert born
    assert games(found) == games(scanned_carefully(path))
    assert games(found).total() == 200
    assert found.broken == [(f"{path}:1601", "the game has an empty White tag")]
    for pid in born:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@pytest.mark.usefixtures("by_two")
def test_two_processes_read_the_same_columns(tmp_path: Path) -> None:
    """The columns of two processes are those of one: names, time controls, events, exceptions and claims."""
    extra = ('[TimeControl "60"]\n', '[Termination "abandoned"]\n', '[Variant "atomic"]\n', '[WhiteOdds "pawn"]\n')
    controls = ('[WhiteTimeControl "9"]\n[BlackTimeControl "8"]\n', '[TimeControl "5+1"]\n', "")
    more = [*extra, *controls]
    content = "".join(
        game(f"E{number % 7}", f"D{number % 5}", more=more[number * number % 7 if number < 100 else -number % 7])
        .replace("2024.02.01", f"2024.02.{1 + number % 28:02}")
        .replace('Event "E"', f'Event "{number // 9}"')
        for number in range(200)
    )
    wanted = {}
    for processors in ({0}, {0, 1}):
        with patch.object(os, "sched_getaffinity", lambda _, found=processors: found):
            for name in ("g.pgn", "h.pgn"):
                (tmp_path / name).write_text(content)
            found = read_games([tmp_path / "g.pgn", tmp_path / "h.pgn"], frozenset({"3", "19"}), by_event=True)
        wanted[len(processors)] = (told(found), events(found), noticed(found), found.claims, found.ends)
    assert wanted[1] == wanted[2]
    assert wanted[1][-1] == [200, 400] and len(wanted[1][-2]) == 36


@pytest.mark.usefixtures("by_two")
def test_a_middle_inside_a_comment_is_no_start(tmp_path: Path) -> None:
    """If the second half begins in a comment, one process reads everything."""
    path = tmp_path / "g.pgn"
    path.write_text(short() * 5 + short(moves="1. e4 { all of this is a comment\n\n" + short("X", "Y") * 40))
    assert games(scan([path])) == {("A", "B", "1-0"): 6}


@pytest.mark.usefixtures("by_two")
def test_a_second_process_that_is_killed_costs_nothing(tmp_path: Path) -> None:
    """If the second process is killed, the first reads its half."""
    path = tmp_path / "g.pgn"
    path.write_text(short() * 200)
    with patch("enginetour.interop.pgn.pickle.dump", side_effect=OSError):
        assert games(scan([path])).total() == 200


# --- laws

letters = st.text(st.sampled_from('AbC 1"\\[]{};%?.é'), min_size=1, max_size=8).filter(lambda name: name.strip(" ?"))
line_ends = st.sampled_from(["\n", "\r\n"])
scanned_fakes = st.sampled_from(
    [
        '[White "X"]\n[Black "Y"]\n[Result "1-0"]',
        '[Result "0-1"]',
        '[Event "E"]\n',
        "1-0\n\n[White",
        "{",
        ";",
        "[%eval 1]",
    ]
)
scanned_comments = st.lists(scanned_fakes | st.just("text"), max_size=4).map(lambda parts: "{" + "\n".join(parts) + "}")
scanned_moves = st.lists(
    scanned_comments
    | st.sampled_from(["1. e4", "e5", "2. Nf3\n", "; rest {\n", "\n% { escaped\n", "(1. d4 d5)", "$1", "\n"]),
    max_size=6,
).map(" ".join)


RESULT_WORDS = [*WORDS.values(), "*"]
UNUSUAL = ["1/2", " 1-0 ", "0:1", "½-½", "1-O", "", "?"]
TAGS = ['[{} "{}"]\n'] * 9 + ['[ {}\t"{}" ]\n', '[{}\n"{}"]\n']


ASIDE = [("Variant", "atomic"), ("Handicap", "White gives 1")]


class Written(NamedTuple):
    tags: tuple[tuple[str, str], ...]
    moves: str
    usual: bool
    form: str  # form of its tags


@st.composite
def written(draw: st.DrawFn) -> Written:
    """Draw a game with hostile names, and tags that may be shuffled or missing."""
    usual = draw(st.booleans())
    tags = [
        ("White", draw(letters)),
        ("Black", draw(letters)),
        ("Result", result := draw(st.sampled_from(RESULT_WORDS * 2 + UNUSUAL))),
    ]
    if not usual:
        tags = draw(st.permutations([*tags, ("WhiteElo", "2000"), ("Annotator", draw(letters))]))
        tags = tags[draw(st.integers(0, 1)) :]
    tags = [*tags, *draw(st.lists(st.sampled_from(ASIDE), max_size=1))]
    # A blank line in the moves ends a game for some readers only.
    said = "\n".join(line for line in draw(scanned_moves).splitlines() if line.strip())
    said += draw(st.sampled_from([f" {result}"] * 5 + ["", " ", *(f"\n{word}" for word in RESULT_WORDS)]))
    return Written((("Event", "E"), *tags), said.strip() or "*", usual, draw(st.sampled_from(TAGS)))


def pgn(all_written: list[Written], end: str, *, plain: bool = False) -> bytes:
    """Return the PGN of games; `plain` uses only standard tags without variants and odds."""
    blocks = []
    for one in all_written:
        form = TAGS[0] if plain else one.form
        kept = [tag for tag in one.tags if not plain or tag not in ASIDE]
        tags = "".join(form.format(name, escaped(value.encode()).decode()) for name, value in kept)
        blocks.append(f"{tags}\n{one.moves}\n\n")
    return "".join(blocks).replace("\n", end).encode()


def by_python_chess(content: bytes) -> Counter[tuple[str, str, str]]:
    """Return White, Black and result of the games with all three tags and names."""
    found: Counter[tuple[str, str, str]] = Counter()
    source = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", errors="replace")
    while (headers := chess.pgn.read_headers(source)) is not None:
        white, black = (unescaped(headers.get(side, "?").encode()).decode().strip() for side in ("White", "Black"))
        if {white, black}.isdisjoint(("", "?")):
            result = headers.get("Result", "*")
            found[white, black, WORDS.get(result_code(result.encode()), "*")] += 1
    return found


@pytest.mark.parametrize("compiled", [True, False])
@SHARING
@given(st.lists(written(), min_size=1, max_size=12), line_ends, st.integers(120, 2000))
def test_quick_and_careful_scans_agree(
    tmp_path: Path, compiled: bool, wrote: list[Written], end: str, piece: int
) -> None:
    """Both readers agree on any file in any pieces: the same games and the same broken games."""
    path = tmp_path / "g.pgn"
    content = pgn(wrote, end)
    for length in (len(content), len(content) * 2 // 3):
        path.write_bytes(b'[Event "0"]\n[White "0"]\n[Black "1"]\n[Result "*"]\n\n*\n\n' + content[:length])
        whole = scanned_carefully(path)
        used = native if compiled else None
        with (
            patch.object(pgn_module, "PIECE", piece),
            patch.object(pgn_module, "LONGEST_PIECE", piece),
            patch.object(pgn_module, "native", used),
        ):
            found = scan([path])
        assert games(found) == games(whole)
        assert noticed(found) == noticed(whole)
        assert [broken for broken in found.broken if "too long" not in broken[1]] == whole.broken


# Lines of games, most of them usual, so that much of the text is accepted.
usual_tags = ['[Event "E"]', '[White "A"]', '[Black "B"]', '[Result "1-0"]']
odd_lines = st.sampled_from(
    [
        *usual_tags,
        *(
            '[Result "*"]',
            '[Result "0-1"]',
            '[Result "1/2"]',
            '[White "?"]',
            '[White ""]',
            '[Black "\\"]',
            '[Black "a\\\\b"]',
        ),
        *(
            '[white "C"]',
            '[BLACK "D"]',
            '[event "F"]',
            '[White "C',
            '[White "a"b"]',
            '[White "A"] [Black "B"]',
            ' [White "C"]',
        ),
        *(
            '[Date "?"]',
            '[A_b "1"]',
            '[_a "1"]',
            '[A-b "1"]',
            '[A  "1"]',
            '[A"1"]',
            "[]",
            "[",
            '["]',
            '[ "',
            '[A ""]',
            '[A "x"] ',
        ),
        *('[Variant "atomic"]', '[Variant "Standard"]', '[Handicap "White gives 1"]', "[%clk 1]", " [%clk 1]", "\t[a"),
        *(
            "",
            "",
            " ",
            "\x0b",
            "\r",
            "\x0b[White",
            "1. e4",
            "1.e4 {",
            "}",
            "{",
            "{}",
            "} 1-0",
            "{ 0-1",
            "; {",
            ";",
            "% }",
            "%",
        ),
        *("1-0", "0-1", "*", "1/2-1/2", "1-0 ", "1-0;", "2. d4 0-1", "1-0 }", "[%a] 0-1", "é", "\x00", "1. d4\r"),
    ]
)
# An installation without a C compiler has no compiled part. In CI it is built, and a skip is a failure.
COMPILED = pytest.mark.skipif(native is None, reason="the compiled part was not built")
moves_lines = st.lists(
    st.sampled_from(["1. e4 {a}", "{[%clk 1]", "[%clk 1]}", "e5", "{", "}", "1-0", ""]) | odd_lines, max_size=4
)
usual_game = st.builds(
    lambda tags, more, moves, last: [*tags, *more, "", *moves, last, ""],
    st.permutations(usual_tags).filter(lambda tags: tags[0][1] in "EW"),
    st.just([]) | st.lists(odd_lines, max_size=1),
    st.just(["1. e4 e5"]) | moves_lines,
    st.sampled_from(["1-0"] * 5 + ["", "0-1"]),
)
hostile_text = st.lists(usual_game | st.lists(odd_lines, max_size=2), max_size=4).map(
    lambda blocks: [line for block in blocks for line in block]
)


@COMPILED
@settings(max_examples=300, deadline=None)
@given(hostile_text, st.lists(line_ends, min_size=1, max_size=3), st.booleans())
def test_compiled_and_careful_scans_agree(lines: list[str], ends: list[str], whole: bool) -> None:
    """The compiled reader refuses a text, or counts the games of the careful reader with the same names in order."""
    text = "".join(line + ends[number % len(ends)] for number, line in enumerate(lines))
    text = text if whole else text.rstrip("\r\n")
    found, wanted = Tally(), Tally()
    reader = TagReader(wanted, lambda offset, number: str(number))
    reader.feed(0, text.encode())
    settled = reader.settle()
    assert native is not None
    counted = native.usual_games(text.encode(), found.names)
    if counted is not None:
        found.places = {"*": wanted.places.get("*", "")}
        assert settled
        assert found.append(*counted)
        assert list(found.names) == list(wanted.names)
        assert (found.white, found.black, found.results) == (wanted.white, wanted.black, wanted.results)
        assert found.others == wanted.others
        assert not (wanted.broken_games or wanted.broken or wanted.respelled or wanted.contradicted)


@COMPILED
def test_usual_games_are_read_by_the_compiled_part() -> None:
    """The compiled part reads comments, line ends of both kinds, tags in any order and games without moves."""
    assert native is not None
    last = short(moves="1. e4 {[%clk 1]\n[%eval 2]} e5 {a\n\nb}\n(1. d4)")
    swapped = '[White "A"]\n[Result "1/2-1/2"]\n[Black "C"]\n[ECO "A00"]\n\n'
    for end in ("\n", "\r\n"):
        text = (short() + swapped + last + short("C", result="*")).replace("\n", end).encode()
        columns = native.usual_games(text, Tally().names)
        assert columns is not None
        white, black, results = columns
        assert (np.frombuffer(white, "i").tolist(), np.frombuffer(black, "i").tolist()) == ([0, 0, 0, 2], [1, 2, 1, 1])
        assert list(results) == [0, 1, 0, 3]


@SHARING
@given(st.lists(written(), min_size=1, max_size=12), line_ends)
def test_counted_as_python_chess_does(tmp_path: Path, wrote: list[Written], end: str) -> None:
    """The games agree with those of python-chess, also in truncated files."""
    path = tmp_path / "g.pgn"
    content = pgn(wrote, end, plain=True)
    for length in (len(content), len(content) * 2 // 3):
        path.write_bytes(b'[White "0"]\n[Black "1"]\n[Result "1-0"]\n\n*\n\n' + content[:length])
        tally = scan([path])
        theirs = by_python_chess(path.read_bytes())
        ours = games(tally)
        assert ours - theirs == Counter()
        unresulted = theirs - ours
        assert all(result == "*" for _, _, result in unresulted)
        assert unresulted.total() <= tally.broken_games


@given(st.binary(max_size=40))
def test_escapes_turn_back(value: bytes) -> None:
    """Escaping and unescaping are inverse."""
    assert unescaped(escaped(value)) == value
    line = b'[White "' + escaped(value) + b'"]'
    if not {10, 13} & set(value):
        assert tags_of(line) == [(b"White", escaped(value))]


@given(
    st.lists(st.sampled_from(["\n", "\r\n", "[White", ' "A"]', '[Event "', "%", ";", "1-0", " "]), max_size=30).map(
        "".join
    )
)
def test_a_game_starts_behind_a_blank_line(piece: str) -> None:
    """A game starts at a bracket after a blank line."""
    raw = piece.encode()
    if cut := game_start(raw):
        assert raw[cut : cut + 1] == b"["
        assert raw[:cut].endswith((b"\n\n", b"\n\r\n"))


def test_the_tally_of_nothing_joins() -> None:
    """An empty tally can be joined."""
    tally = Tally()
    tally.join(Tally())
    assert tally.games == 0
    assert UNFINISHED not in tally.results


# Hostile files, names and texts: each caused a traceback, a very long run, gigabytes of memory, or a lost file.

DIGITS = "9" * 5000  # Python converts numbers of at most 4,300 digits (int_max_str_digits)
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"
SECONDS = 10  # of CPU time; each took minutes, now hundredths of a second


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"a = {DIGITS}", "more than 4300 digits"),
        (f"b = 1\na = 0x{'f' * 5000}", ":2: a: must be at most 9223372036854775807 "),
        (f"b = 1\na = [1, {2**63}]", ":2: a.2: must be at most 9223372036854775807 "),
        ("b = 1\n" + ".".join(["a"] * 400_000) + " = 1", ":2: a key has more than 32 parts"),
        ("[" + " . ".join(['"a b"'] * 40) + "]", ":1: a key has more than 32 parts"),
        ("a = " + "[" * 40 + "]" * 40, "nested too deeply"),
        ("a" * 999_000, "not valid TOML"),
        ("a = " + "'" * 999_000, "not valid TOML"),
        ("a" + " " * 999_000, "not valid TOML"),
    ],
)
def test_toml_that_hung_or_broke(tmp_path: Path, text: str, words: str) -> None:
    """Very long numbers, keys and nesting raise an error."""
    path = tmp_path / "t.toml"
    path.write_text(text)
    began = time.process_time()
    with pytest.raises(InputRefused, match=words):
        read_toml(path, "a configuration")
    assert time.process_time() - began < SECONDS


def test_dots_that_are_no_keys(tmp_path: Path) -> None:
    """Dots in strings are not keys, and all line ends count."""
    path = tmp_path / "t.toml"
    path.write_bytes(b"# " + b"." * 99 + b'\r\na.b.c = "' + b"x . " * 99 + b'"\r\nn = [1.5, 2.5]\r\n')
    assert read_toml(path, "a configuration")[0]["n"] == [1.5, 2.5]


def test_a_list_where_the_name_of_a_format_belongs(tmp_path: Path) -> None:
    """A list instead of the name of a format raises an error."""
    path = tmp_path / "t.toml"
    path.write_text('[tournament]\nname = "x"\n[format]\nsystem = ["ml", "elo"]\n[[entrants]]\nengine = "x"\n')
    with pytest.raises(InputRefused, match=r"t.toml:4: unknown format \['ml', 'elo'\]"):
        load(path)


def test_settings_that_are_no_toml() -> None:
    """Settings with very long numbers or deep nesting are read as text."""
    assert parse_settings([f"rounds={DIGITS}", "k=" + "[" * 5000]) == {"rounds": DIGITS, "k": "[" * 5000}


@pytest.mark.parametrize("counters", [f"0 {DIGITS}", f"{DIGITS} 1", f"hmvc {DIGITS};", f"fmvn {'9' * 4000};"])
def test_move_counters_of_thousands_of_digits(tmp_path: Path, counters: str) -> None:
    """Very long move counters are invalid, in EPD, FEN and tags."""
    (tmp_path / "s.epd").write_text(f"{START} {counters}\n")
    (found,) = read_openings(tmp_path / "s.epd")
    assert isinstance(found, BadOpening)
    assert "more than 4 digits" in found.why
    (tmp_path / "s.pgn").write_text(f'[FEN "{START} {counters}"]\n\n1. e4 *\n')
    (found,) = read_openings(tmp_path / "s.pgn")
    assert isinstance(found, BadOpening)


@pytest.mark.parametrize("rest", ['c0 "x";' + " " * 65_000, " a" * 32_000, ' "' * 32_000, "a " * 32_000 + '"'])
def test_blanks_in_a_position_that_count_squared(tmp_path: Path, rest: str) -> None:
    """Spaces in EPD are read in linear time."""
    (tmp_path / "s.epd").write_text(f"{START} {rest}\n")
    began = time.process_time()
    assert len(list(read_openings(tmp_path / "s.epd"))) == 1
    assert time.process_time() - began < SECONDS


def test_a_game_of_endless_moves_or_tags(tmp_path: Path) -> None:
    """The memory for a game of a book is limited: 50 MB of moves took 1.7 GB."""
    path = tmp_path / "s.pgn"
    path.write_text("1. e4 e5\n" * MOST_PLIES + "*\n\n1. d4 *\n")
    bad, good = read_openings(path)
    assert isinstance(bad, BadOpening)
    assert "plies" in bad.why
    assert not isinstance(good, BadOpening)
    path.write_text(many(3 * MOST_TAGS) + "\n1. d4 *\n\n1. e4 *\n")
    bad, good = read_openings(path)
    assert isinstance(bad, BadOpening)
    assert bad.why == "the game has more than 1,000 tags"
    assert not isinstance(good, BadOpening)


def test_a_book_that_begins_with_blank_lines(tmp_path: Path) -> None:
    """Blank lines at the start of a book are not kept: 50 MB of them took 2.9 GB."""
    (tmp_path / "book").write_text("\n" * 1000 + "1. e4 *\n")
    (found,) = read_openings(tmp_path / "book")
    assert not isinstance(found, BadOpening)
    assert found.moves == ("e2e4",)


def test_tags_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tags without an end are noted and skipped by `rate` and `import`."""
    game = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1-0\n\n'
    path = tmp_path / "g.pgn"
    for name, size in (("pgn.PIECE", 1000), ("pgn.LONGEST_PIECE", 8000), ("gametags._LONGEST_HEADER", 8000)):
        monkeypatch.setattr(f"enginetour.interop.{name}", size)
    path.write_text(game + '[White "C"]\n' + f'[X "{"x" * 100}"]\n' * 900 + '[Black "D"]\n\n1. e4 *\n\n' + game)
    counted, read = scan([path]), read_games([path])
    assert counted.games == read.games == 2
    assert counted.broken == read.broken == [(f"{path}:7", "the tags of the game are too long")]
    assert counted.broken_games == read.broken_games == 1


NAMES = '[White "C"]\n[Black "D"]\n[Result "1-0"]\n'


def many(number: int) -> str:
    """Return this many lines of tags."""
    return "".join(f'[T{n} "x"]\n' for n in range(number))


MANY_TAGS = {
    "behind the names": (NAMES, many(MOST_TAGS - 3)),
    "before the names": (many(MOST_TAGS - 3), NAMES),
    "on both sides of a blank line": (NAMES + many(MOST_TAGS // 2), "\n" + many(MOST_TAGS // 2 - 3)),
    "in one line": (NAMES, '[T"x"]' * (MOST_TAGS - 3) + "\n"),
    "all alike": (NAMES, '[T "x"]\n' * (MOST_TAGS - 3)),
}


@pytest.mark.parametrize("pieces", [(1 << 17, 1 << 20), (1000, 8000)], ids=["quick", "careful"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("tags", MANY_TAGS.values(), ids=MANY_TAGS)
def test_a_game_of_too_many_tags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tags: tuple[str, str], ends: str, pieces: tuple[int, int]
) -> None:
    """`rate` and `import` note a game with too many tags as one broken game."""
    monkeypatch.setattr("enginetour.interop.pgn.PIECE", pieces[0])
    monkeypatch.setattr("enginetour.interop.pgn.LONGEST_PIECE", pieces[1])
    game = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1-0\n\n'
    first, second = tags
    for more, games, broken in (("", 3, 0), ('[One "more"]\n', 2, 1), (many(60_000), 2, 1)):
        path = tmp_path / "g.pgn"
        path.write_text(game + first + more + second + "\n1. e4 1-0\n\n" + game, newline=ends)
        for found in (scan([path]), read_games([path])):
            assert (found.games, found.broken_games) == (games, broken)
            assert found.broken == [(f"{path}:7", "the game has more than 1,000 tags")] * broken


def test_more_tags_than_a_game_may_have_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More tags than allowed are skipped quickly, also without moves between games."""
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
    """A tag, line, comment or white space of 100 MB is not held in memory."""
    sizes = {"pgn.PIECE": 1000, "pgn.LONGEST_PIECE": 4000, "gametags._LONGEST_HEADER": 8000}
    for name, size in (sizes | {"gametags._LONGEST_LINE": 2000, "pgn.LONGEST_OPENING": 2000}).items():
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
    """A register with very long numbers raises an error."""
    path = tmp_path / "register.tde"
    path.write_text(f"A1 Ada 2.5\nB1 Bea 5k # DROP{DIGITS}\n")
    assert tde.read(path).listed[1].drops == frozenset()
    path.write_text(f"A1 Ada {'9' * 400}\n")
    with pytest.raises(InputRefused, match=r"register.tde:1: expected ID, name, rating"):
        tde.read(path)


def test_a_report_that_says_too_much() -> None:
    """A report with too many pairs, rounds or lines raises an error."""
    entries = "".join(f"001 {n:4d}      {'E':33} 2000\r\n" for n in range(1, 1001)).encode()
    everybody = " ".join(str(n) for n in range(1, 1001)).encode()
    for line, words in (
        (b"XXP " + everybody, "pairs that must not meet"),
        (b"XXA    1" + b" 1.0" * 100_001, "virtual points"),
        (b"250      1.0  001 999    1 1000", "virtual points"),
    ):
        with pytest.raises(InputRefused, match=words):
            read_tournament(trf.read(b"XXR 9\r\n" + line + b"\r\n" + entries))
    with pytest.raises(InputRefused, match="at most 999 rounds"):
        trf.read(TRF.replace(b"   2 w 1", b"0000 - Z  " * 1001))
    with pytest.raises(InputRefused, match="at most 100,000 lines"):
        trf.read(b"x\n" * 250_000)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (f'{{"format": {DIGITS}}}', "more than 4300 digits"),
        ('{"format": "enginetour-bubble-case/1", "params": {}, "results": [], "ranking": ' + "%s}", "at most 2,000"),
        ("{" + ",".join(f'"k{n}": 1' for n in range(60_000)) + "}", "format"),
    ],
)
def test_cases_that_hung_or_broke(case: str, words: str) -> None:
    """A case with too many numbers, names or fields raises an error."""
    began = time.process_time()
    with pytest.raises(InputRefused, match=words):
        read_case(case.replace("%s", json.dumps([str(n) for n in range(50_000)])))
    assert time.process_time() - began < SECONDS


def test_an_endless_line_of_aliases(tmp_path: Path) -> None:
    """A very long line of aliases raises an error with its line."""
    path = tmp_path / "names.csv"
    path.write_text("a,b\n" + "c," * 40_000)
    with pytest.raises(InputRefused, match=r"names.csv:2: the line is longer than"):
        read_aliases(path)


def test_a_name_of_any_length_is_cut_in_no_time() -> None:
    """A name of any length is cut quickly: 70,000 characters took 8 s."""
    columns = (Column("name", "engine", left=True, flexible=True),)
    began = time.process_time()
    for name in ("A" * 300_000, "½" * 300_000):
        lines = render(Sheet("", columns, ({"name": name},)), 80).splitlines()
        assert max(map(len, lines)) == 80
        assert lines[1].endswith("…")
    assert time.process_time() - began < SECONDS


def test_a_refusal_has_an_end(tmp_path: Path) -> None:
    """An error message is short, even if the key is long."""
    (tmp_path / "case.json").write_text(json.dumps({"format": "enginetour-bubble-case/1", "x" * 100_000: 1}))
    (line,) = tour(tmp_path, "simulate", "--case", "case.json", expect=3).stderr.splitlines()
    assert len(line) == 2000


def test_what_no_terminal_can_show(tmp_path: Path) -> None:
    """Lone surrogates in names are shown by their numbers."""
    case = {
        "format": "enginetour-bubble-case/1", "params": {"size": 2, "min_matches": 1, "unpark_threshold": 1},
        "ranking": ["A\ud800", "B"], "results": [["-1", "0-"]],
    }  # fmt: skip
    (tmp_path / "case.json").write_text(json.dumps(case))
    assert "A\\ud800" in tour(tmp_path, "simulate", "--case", "case.json").stdout
    assert "A\ud800" in unwrapped(tour(tmp_path, "simulate", "--case", "case.json", "--json").stdout)["ranking"]


def test_xboard_that_says_no_text() -> None:
    """A line that is not UTF-8 is not a command of xboard."""
    words = [sys.executable, "-m", "enginetour", "pair", "--xboard", "--rounds", "3"]
    said = b"\xff\xfe\nresults 4\npairing 1\nquit\n"
    done = subprocess.run(words, input=said, capture_output=True, check=True, env={"PYTHONIOENCODING": "utf-8:strict"})
    assert done.stdout.count(b"-") == 1
    assert not done.stderr


def test_a_name_that_is_none(tmp_path: Path) -> None:
    """`add --name` rejects an invalid name like a configuration."""
    tour(tmp_path, "run", config(tmp_path, ("wren1", "wren2"), "roundrobin", "", tc="depth=1").name)
    for words in (("add", "wren3", "--name", "a\x1bb"), ("add", "wren3", "--name", ""), ("add", "")):
        done = tour(tmp_path, *words, expect=2)
        assert done.stderr.count("enginetour: ") == 1


def test_nul_comes_into_no_store(place: Address, tmp_path: Path) -> None:
    """NUL characters are rejected in texts for any database."""
    path = tmp_path / "games.pgn"
    tags = '[Event "x"]\n[White "Fr\0uit"]\n[Black "Toga"]\n[Result "1-0"]\n[TimeControl "4\0/9"]\n\n1. e4 1-0\n\n'
    path.write_text(tags)
    with Store.open(place) as store:
        games = read_games([path], export_titles(store.database))
        (made,) = import_games(store.database, "x", games, ratable_games(games, EngineNames()), [str(path)])
        assert made.games == 1
        assert select_games(store, ListDefinition()).names == ("Fr?uit", "Toga")
    path.write_text('Fruit,"Fr\0uit"\n')
    with pytest.raises(InputRefused, match="NUL"):
        read_aliases(path)
    for field in ("family", "origin"):
        with pytest.raises(ValueError, match="printable"):
            EntrantSection.model_validate({"engine": "wren1", field: "x\0y"})


def test_a_broken_engine_file_stops_only_who_names_it(tmp_path: Path) -> None:
    """An invalid engine file affects only commands that use it."""
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "bad.toml").write_text('name = "x\n')
    listed = tour(tmp_path, "engines", "list")
    assert "wren1" in listed.stdout
    assert listed.stderr.startswith("skipped: ") and "bad.toml:1: not valid TOML" in listed.stderr
    tour(tmp_path, "engines", "check", "wren1", "--step", "name")
    tour(tmp_path, "match", "wren1", "Wren 3", "--tc", "depth=1", "--write-only")
    for words in (("engines", "check", "bad"), ("match", "wren1", "bad")):
        assert "bad.toml:1: not valid TOML" in tour(tmp_path, *words, expect=3).stderr
