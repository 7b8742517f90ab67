"""Games one by one: their own bytes, places, days and controls; quick and careful reading agree about all of them."""

from __future__ import annotations

import gzip
from operator import add
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enginetour.interop import pgn
from enginetour.interop.gametags import Claim, Games
from enginetour.interop.pgn import read_games
from enginetour.interop.tally import RESULTS, text
from enginetour.model.errors import InputRefused

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
    """In the usual order; `more` are lines of tags behind the seven, `ends` is the result behind the moves."""
    first = '[Event "E"]\n[Site "?"]\n[Date "2024.02.01"]\n[Round "1"]\n'
    last = result if ends is None else ends
    return f'{first}[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n{more}\n{moves}{last}\n\n'


def read(path: Path, content: str | bytes, events: frozenset[str] = frozenset()) -> Games:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_games([path], events)


def careful(path: Path) -> Games:
    with patch.object(pgn, "_quick_game", lambda games, at, piece: False):
        return read_games([path], by_event=True)


def noticed(games: Games) -> tuple[object, ...]:
    """What is left out or told of results."""
    results = games.others, games.respelled, games.places, games.contradicted, games.contradicted_at
    return games.broken_games, *results


def told(games: Games) -> list[tuple[object, ...]]:
    """All that is known of every game."""
    names = [text(raw) for raw in games.names]
    controls = [raw.decode() for raw in games.controls]
    columns = (games.white, games.black, games.results, games.days, games.control, games.offsets)
    rows = zip(zip(*columns, strict=True), games.identities().tolist(), strict=True)
    return [
        (names[white], names[black], WORDS.get(result, "*"), day, controls[control], offset, identity, *more)
        for ((white, black, result, day, control, offset), identity), more in zip(rows, marked(games), strict=True)
    ]


def events(games: Games) -> list[bytes]:
    """The Event tag of each game."""
    tags = list(games.event_tags)
    return [tags[number] for number in games.event]


def marked(games: Games) -> list[tuple[object, ...]]:
    """What few games have."""
    notes = (games.terminations, games.odds, games.variants, games.black_control)
    return [tuple(each.get(number) for each in notes) for number in range(games.games)]


def test_a_game_has_a_day_a_control_and_a_place(tmp_path: Path) -> None:
    """The day of its Date tag, 0 where that does not say; the place is where its first tag stands."""
    odd = game(more='[TimeControl "40/60"]\n').replace("2024.02.01", "2024.??.??")
    late = (
        game().replace('[Date "2024.02.01"]\n', "").replace('[Result "1-0"]\n', '[Result "1-0"]\n[Date "1999.12.31"]\n')
    )
    content = "; words before\n\n" + game() + odd + late
    found = told(read(tmp_path / "g.pgn", content))
    assert [row[3] for row in found] == [20240201, 0, 19991231]
    assert [row[4] for row in found] == ["", "40/60", ""]
    assert [content.encode()[int(str(row[5])) :].startswith(b"[Event") for row in found] == [True] * 3
    assert told(careful(tmp_path / "g.pgn")) == found


def test_equal_games_are_told_apart_by_their_number(tmp_path: Path) -> None:
    """Games without moves keep their count; a file that has grown gives the same identities and new ones."""
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
    """Nor do a mark at the front, packing, or white space behind the last game."""
    content = "\n" + game() + game("C", moves="1. e4 {a\n\ncomment} e5\n2. d4 ") + game()
    wanted = read(tmp_path / "g.pgn", content).identities().tolist()
    for written in (content.replace("\n", end), "\ufeff" + content[1:], content.rstrip(), content + "\n \n"):
        assert read(tmp_path / "g.pgn", written).identities().tolist() == wanted
    assert read(tmp_path / "g.gz", gzip.compress(content.encode())).identities().tolist() == wanted


def test_places_count_the_bytes_of_the_file(tmp_path: Path) -> None:
    """With two bytes a line end, a mark, or both."""
    for content in (game() * 5, "\ufeff" + game() * 5, "\n\n\n" + game() + "\n" + game()):
        for end in ("\n", "\r\n"):
            raw = content.replace("\n", end).encode()
            for found in (read(tmp_path / "g.pgn", raw), careful(tmp_path / "g.pgn")):
                assert all(raw[at:].startswith(b"[Event") for at in found.offsets)
                assert len(set(found.offsets)) == content.count("[Event")


def test_any_other_byte_makes_another_game(tmp_path: Path) -> None:
    """A move, a tag, a result."""
    games = [
        game(),
        game(moves="1. d4 "),
        game(more='[ECO "B00"]\n'),
        game(result="0-1"),
        game().replace("Round", "Rnd"),
    ]
    assert len(np.unique(read(tmp_path / "g.pgn", "".join(games)).identities())) == 5


def test_broken_games_are_no_part_of_others(tmp_path: Path) -> None:
    """What stands behind them begins anew, and they are told as the scan does."""
    bad = game(white="?", moves="1. c4 ")
    alone = set(read(tmp_path / "g.pgn", game() + game("C")).identities().tolist())
    found = read(tmp_path / "g.pgn", game() + bad + game("C"))
    assert set(found.identities().tolist()) == alone
    assert found.broken == [(f"{tmp_path / 'g.pgn'}:11", "a game whose White has no name")]


def test_claims_are_games_of_our_events(tmp_path: Path) -> None:
    """Only of the events asked for, with what tells the game."""
    mine = game('Fruit \\"X\\"', "B", more='[GameStartTime "2024-02-01T10:00:00Z"]\n').replace('"E"', '"autumn #2"')
    content = game() + mine.replace('Round "1"', 'Round "3.17"') + game()
    claim = Claim(1, "autumn #2", "3.17", 'Fruit "X"', "B", "2024.02.01", "2024-02-01T10:00:00Z")
    assert read(tmp_path / "g.pgn", content, frozenset({"autumn #2"})).claims == [claim]
    assert read(tmp_path / "g.pgn", content, frozenset({"winter"})).claims == []
    with patch.object(pgn, "_quick_game", lambda games, at, piece: False):
        assert read_games([tmp_path / "g.pgn"], frozenset({"autumn #2"})).claims == [claim]


def test_a_game_over_many_pieces_is_one(tmp_path: Path) -> None:
    """A comment longer than what is held at once, and tags that end in another piece."""
    long = game("C", moves="1. e4 {" + "words [and] more\r\n\n " * 300 + "} e5 ")
    (tmp_path / "g.pgn").write_text(game() + long + game(more='[Foo "bar"]\n' * 99) + game("D"))
    whole = told(read_games([tmp_path / "g.pgn"]))
    assert len(whole) == 4
    for piece in (100, 257, 1000):
        with patch.object(pgn, "PIECE", piece), patch.object(pgn, "LONGEST_PIECE", 2 * piece):
            assert told(read_games([tmp_path / "g.pgn"])) == whole


def test_files_without_games_are_refused(tmp_path: Path) -> None:
    """As by the scan, whichever of the files it is."""
    (tmp_path / "a.pgn").write_text(game())
    (tmp_path / "b.pgn").write_text("nothing")
    with pytest.raises(InputRefused, match="no game in it"):
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


@SHARING
@given(files, st.sampled_from(["\n", "\r\n"]), st.sampled_from([60, 200, 1 << 19]))
def test_quick_and_careful_reading_agree(tmp_path: Path, content: str, end: str, piece: int) -> None:
    """In every column, whatever the file and however it is cut."""
    path = tmp_path / "g.pgn"
    path.write_bytes(content.replace("\n", end).encode())
    wanted = careful(path)
    with patch.object(pgn, "PIECE", piece):
        found = read_games([path], by_event=True)
    assert told(found) == told(wanted)
    assert events(found) == events(wanted)
    assert noticed(found) == noticed(wanted)
    assert found.games == pgn.scan([path]).games


@SHARING
@given(files, files)
def test_a_grown_file_keeps_its_games(tmp_path: Path, content: str, grown: str) -> None:
    """What was read before the end was appended to is found again, unless a comment swallowed the rest."""
    (tmp_path / "a.pgn").write_text(content)
    (tmp_path / "b.pgn").write_text(content + grown)
    before, after = (read_games([tmp_path / name]).identities().tolist() for name in ("a.pgn", "b.pgn"))
    assert set(before) <= set(after) or "{" in content
