"""The scan of PGN files: what it counts, where it says it could not, and that quick and careful reading agree."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import chess.pgn
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enginetour.interop import files
from enginetour.interop import pgn as pgnscan
from enginetour.interop.gametags import tags_of
from enginetour.interop.pgn import game_start, scan
from enginetour.interop.tally import RESULTS, UNFINISHED, Tally, escaped, result_code, text, unescaped
from enginetour.model.errors import InputRefused

WORDS = {code: raw.decode() for raw, code in RESULTS.items()}
SHARING = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(path: Path, content: bytes | str) -> Tally:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return scan([path])


def games(tally: Tally) -> Counter[tuple[str, str, str]]:
    """White, Black and result of every game; results that are none as ``*``."""
    names = [text(raw) for raw in tally.names]
    rows = zip(tally.white, tally.black, tally.results, strict=True)
    return Counter((names[white], names[black], WORDS.get(result, "*")) for white, black, result in rows)


def game(white: str = "A", black: str = "B", result: str = "1-0", moves: str = "1. e4 e5") -> str:
    return f'[Event "E"]\n[Site "?"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n{moves} {result}\n\n'


def noticed(tally: Tally) -> tuple[object, ...]:
    """What is told of results."""
    return tally.others, tally.respelled, tally.places, tally.contradicted, tally.contradicted_at


def careful(path: Path) -> Tally:
    """The scan with nothing read the quick way."""
    with patch.object(pgnscan, "_quick", lambda piece, tally: False):
        return scan([path])


def quick_pieces(path: Path) -> list[bool]:
    """Whether each piece was read the quick way."""
    plain, seen = pgnscan._quick, []

    def noted(piece: bytes, tally: Tally) -> bool:
        seen.append(plain(piece, tally))
        return seen[-1]

    with patch.object(pgnscan, "_quick", noted):
        scan([path])
    return seen


# --- what is counted


def test_games_are_counted_by_names_and_result(tmp_path: Path) -> None:
    """Usual files are read the quick way, and unfinished games are counted apart."""
    found = read(
        tmp_path / "g.pgn", game() * 2 + game("B", "A", "1/2-1/2") + game("B", "C", "*") + game("C", "A", "0-1")
    )
    assert games(found) == {("A", "B", "1-0"): 2, ("B", "A", "1/2-1/2"): 1, ("B", "C", "*"): 1, ("C", "A", "0-1"): 1}
    assert found.others == {"*": 1}
    assert not found.broken_games
    (tmp_path / "g.pgn").write_text((game() * 2 + game("B", "A", "1/2-1/2") + game("C", "A", "0-1")) * 9)
    with patch.object(pgnscan, "PIECE", 500):
        assert all(quick_pieces(tmp_path / "g.pgn"))


def test_the_first_game_with_an_unusual_result_is_read_with_care(tmp_path: Path) -> None:
    """It has a place, and later games with the same result only count."""
    path = tmp_path / "g.pgn"
    path.write_text((game() * 9 + game(result="*") + game() * 9 + game(result="1:0")) * 9)
    with patch.object(pgnscan, "PIECE", 500):
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
    """Dashes, colons, blanks and halves are read; anything else is left out."""
    found = read(tmp_path / "g.pgn", game() + game(result=written))
    assert list(found.results) == [0, code]
    assert list(careful(tmp_path / "g.pgn").results) == [0, code]


def test_dashes_of_windows_are_dashes(tmp_path: Path) -> None:
    """Files in the code page 1252 have results with an en dash or halves too."""
    content = game() + game(result="0\N{EN DASH}1") + game(result="½-½")
    assert list(read(tmp_path / "g.pgn", content.encode("cp1252")).results) == [0, 2, 1]


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
    """The tag counts, the game is counted as contradicted, and the first has a place, in the middle and at the end."""
    path = tmp_path / "g.pgn"
    odd = f'[Event "E"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n{moves}\n\n'
    for content, at in ((game() + odd + game(), 9), (game() * 2 + odd, 17), (odd + game(), 1), (odd * 2, 1)):
        found = read(path, content.replace("\n", end))
        assert found.contradicted == content.count(odd) * contradicted
        assert found.contradicted_at == (f"{path}:{at}" if contradicted else "")
        assert games(found) == {("A", "B", "1-0"): content.count("Result")}


@pytest.mark.parametrize(
    "content",
    [
        game().replace("\n", "\r\n"),
        game().replace("\n", "\r"),
        "\ufeff" + game(),
        game().rstrip("\n"),
        '[White "A"]\n[Black "B"]\n[Result "1-0"]\n',
        '[White "A"]\n[Black "B"]\n[Result "1-0"]',
        '[Result "1-0"]\n[Black "B"]\n[Event "x"]\n[White "A"]\n\n*\n',
        '[White   "A"]\n[Black\t"B"]  \n[Result "1-0" ]\n\n1. e4\n',
        '[White "A"][Black "B"] [Result "1-0"]\n\n1. e4\n',
        '[Event "E"][White "A"][Black "B"][Result "1-0"]\n\n1. e4\n',
        '[White "  A "]\n[Black "B"]\n\n[Result "1-0"]\n\n1. e4\n',
        "% [White nobody]\n; a comment\n\n\n" + game(),
        game(moves="1. e4 {a [comment] with } e5 ; {not one\n2. d4"),
        game(moves='{\n[White "X"]\n[Black "Y"]\n[Result "0-1"]\n\n1. d4\n\n[Event "E"]\n} 1. e4'),
        game(moves='1. e4\n%{ an escaped line\n{ a { b\n[White "X"]\n[Black "Y"]\n[Result "0-1"]\n}'),
        game(moves="1. e4 (1. d4 {\n}) ; }\n{Result: [Result 1-0]}"),
        game("A", "B").replace("[Site", '[White "Z"]\n[Site'),
        game().replace('[White "A"]', '[ White  "A" ]'),
        game().replace('[White "A"]', '[White\n"A"]'),
        game().replace('[Result "1-0"]', '[Result\t"1-0"\n]'),
        game().replace('[Result "1-0"]', '[ Result " 1-0 "]'),
        game().replace("[Event", "[ Event"),
    ],
)
def test_one_game_however_it_is_written(tmp_path: Path, content: str) -> None:
    """Line ends, marks, blanks, tags in any order and in one line, comments that look like tags."""
    found = read(tmp_path / "g.pgn", content)
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
    """Escapes, quotes that nobody escaped, UTF-8 and Latin-1."""
    found = read(tmp_path / "g.pgn", game(white="@").encode().replace(b"@", written) * 2)
    assert games(found) == {(name, "B", "1-0"): 2}
    assert not found.broken_games


def test_names_that_are_not_utf8_are_told(tmp_path: Path) -> None:
    """Read as Latin-1, and their number said."""
    assert read(tmp_path / "g.pgn", game(white="Zoë").encode("latin-1") + game().encode()).latin == 1


def test_files_without_moves_are_read_the_quick_way(tmp_path: Path) -> None:
    """Three tags a game and no Event: pieces still end between games."""
    content = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n' * 50
    with patch.object(pgnscan, "PIECE", 200):
        found = read(tmp_path / "g.pgn", content)
        assert games(found) == {("A", "B", "1-0"): 50}
        assert set(quick_pieces(tmp_path / "g.pgn")[:-1]) == {True}


def test_an_odd_game_costs_one_piece(tmp_path: Path) -> None:
    """Behind a piece that needed care reading is quick again."""
    odd = '[Event "E"]\n[Black "B"]\n[White "A"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'
    (tmp_path / "g.pgn").write_text(game() * 30 + odd + game() * 30)
    with patch.object(pgnscan, "PIECE", 500):
        assert games(scan([tmp_path / "g.pgn"])) == {("A", "B", "1-0"): 61}
        assert quick_pieces(tmp_path / "g.pgn").count(False) == 1


def test_files_put_together_with_different_line_ends(tmp_path: Path) -> None:
    """Games in lines of both kinds count, whichever come first, with moves or without."""
    for one in (game(), game(moves=""), '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n', LOWER):
        for unix, dos in ((1, 1), (1, 2), (2, 1), (3, 3)):
            ends = one * unix, one.replace("\n", "\r\n") * dos
            for content in ("".join(ends), "".join(ends[::-1]), "".join(ends * 2)):
                found = read(tmp_path / "g.pgn", content.encode())
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
    """In its block or before it: games and broken games are those of the careful reader."""
    path = tmp_path / "g.pgn"
    for content in (odd + game(), game() + odd + game(), game() * 2 + odd + game("C", "D", "0-1") * 2):
        found, whole = read(path, content.replace("\n", end)), careful(path)
        assert (games(found), found.broken, noticed(found)) == (games(whole), whole.broken, noticed(whole))


TIGHT = '[Event"E"]\n[White"A"]\n[Black"B"]\n[Result"1-0"]\n\n1. e4 1-0\n\n'
LOWER = '[event "E"]\n[white "A"]\n[black "B"]\n[result "1-0"]\n\n1. e4 1-0\n\n'


@pytest.mark.parametrize("odd", [game().replace("[", "  ["), game().replace("[", "\t["), TIGHT, LOWER])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tags_with_unusual_blanks_and_case_are_read(tmp_path: Path, odd: str, end: str) -> None:
    """Blanks before the bracket, none before the value, lower case: such a game counts wherever it stands."""
    for content in (odd * 2, game() + odd, odd + game(), game() + odd + game()):
        found = read(tmp_path / "g.pgn", content.replace("\n", end))
        assert games(found) == {("A", "B", "1-0"): content.lower().count("result")}
        assert not found.broken_games and not found.contradicted


# --- what cannot be counted


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("1. e4 e5 0-1\n\n" + game(), [1]),
        (game() + "1. e4 e5 0-1\n\n1.d4 *\n\n" + game(), [9, 11]),
        (game() + "1.e4\n\n", [9]),
        (game().replace("\n\n1.", "\n\n\n1.") * 2, []),
        (game(moves="1. e4 {on\n\n1. d4 is met by}") + game(moves="1. e4\n\n2. d4"), []),
    ],
)
def test_games_without_tags_are_told(tmp_path: Path, content: str, lines: list[int], end: str) -> None:
    """Moves that begin behind the end of a game are left out with their line, and change nothing of that game."""
    path = tmp_path / "g.pgn"
    found = read(path, content.replace("\n", end))
    assert found.broken == [(f"{path}:{line}", "a game without tags") for line in lines]
    assert games(found) == {("A", "B", "1-0"): content.count("Result")} and not found.contradicted


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('[Event "E"]\n[White "A"]\n[Black "B"]\n\n1. e4 1-0\n\n', "without a readable Result tag"),
        ('[Event "E"]\n[White "A"]\n[Result "1-0"]\n\n1-0\n\n', "without a readable Black tag"),
        ('[Event "E"]\n[White "A]\n[Black "B"]\n[Result "1-0"]\n\n1-0\n\n', "without a readable White tag"),
        (game(white="?"), "White has no name"),
        (game(black=" "), "Black has no name"),
        (game(white="A" * 5000), "a name of endless length"),
        (game(white="A" * 70000), "without a readable White tag"),
    ],
)
def test_broken_games_are_told_with_file_and_line(tmp_path: Path, bad: str, why: str) -> None:
    """One line each, at the first line of the game; the games around it count."""
    path = tmp_path / "g.pgn"
    found = read(path, game() + bad + game())
    assert games(found) == {("A", "B", "1-0"): 2}
    [(place, said)] = found.broken
    assert place == f"{path}:9"
    assert why in said


def test_a_file_that_breaks_off(tmp_path: Path) -> None:
    """The last game counts when its tags are whole, else it is told; an open comment is told where it began."""
    path = tmp_path / "g.pgn"
    whole = game() + game("B", "A")
    assert games(read(path, whole[:-12])).total() == 2
    cut = read(path, whole[: whole.rindex("[Result") + 12])
    assert games(cut).total() == 1
    assert cut.broken == [(f"{path}:9", "a game without a readable Result tag")]
    found = read(path, game(moves="1. e4 e5\n{ no end") + game())
    assert games(found).total() == 1
    assert found.broken[0][0] == f"{path}:8"
    assert "comment" in found.broken[0][1]


def test_lines_are_right_far_into_a_file(tmp_path: Path) -> None:
    """Places are counted from the file's first line, in plain and packed files."""
    content = (game() * 300 + game(white="?") + game() * 300 + game(black="?")).encode()
    packed = tmp_path / "g.pgn.gz"
    packed.write_bytes(gzip.compress(content))
    with patch.object(pgnscan, "PIECE", 700):
        plain = read(tmp_path / "g.pgn", content)
        assert [place for place, _ in plain.broken] == [f"{tmp_path}/g.pgn:2401", f"{tmp_path}/g.pgn:4809"]
        assert [place for place, _ in scan([packed]).broken] == [f"{packed}:2401", f"{packed}:4809"]


def test_an_endless_line_costs_one_message(tmp_path: Path) -> None:
    """A line of many pieces is not held whole, and the games around it count."""
    path = tmp_path / "g.pgn"
    path.write_text(game() + game(moves="x" * 100_000 + " {").replace("{", "}") + game())
    with patch.object(pgnscan, "PIECE", 1000), patch.object(pgnscan, "LONGEST_PIECE", 5000):
        found = scan([path])
    assert games(found) == {("A", "B", "1-0"): 3}
    assert [why for _, why in found.broken] == ["a line without end"]
    assert not found.broken_games


def test_tags_longer_than_what_is_held_are_one_game(tmp_path: Path) -> None:
    """A block of tags is read on over any number of pieces."""
    path = tmp_path / "g.pgn"
    path.write_text(game() + game().replace("[Black", '[Foo "bar"]\n' * 100 + "[Black") + game())
    with patch.object(pgnscan, "PIECE", 100), patch.object(pgnscan, "LONGEST_PIECE", 200):
        found = scan([path])
    assert games(found) == {("A", "B", "1-0"): 3}
    assert not found.broken_games


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no game in it"),
        (b"\x00\x01\x02" * 99, "no game in it"),
        (b"1. e4 e5 1-0\n", "no game in it"),
        ("\ufeffx".encode("utf-16-le"), "UTF-16"),
        (gzip.compress(game().encode() * 99)[:-20], "cannot be unpacked"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "cannot be unpacked"),
    ],
)
def test_what_is_no_pgn_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    """With the file's name and words, not with an empty list."""
    with pytest.raises(InputRefused) as refused:
        read(tmp_path / "g.pgn", content)
    assert words in refused.value.what
    assert "g.pgn" in refused.value.place


@pytest.mark.parametrize("name", ["missing.pgn", "."])
def test_unreadable_files_are_refused(tmp_path: Path, name: str) -> None:
    """No traceback for a folder or a missing file."""
    with pytest.raises(InputRefused, match="cannot read"):
        scan([tmp_path / name])


# --- ways in


def test_packed_and_piped_files_are_the_same(tmp_path: Path) -> None:
    """A packed file is known by its first bytes; a pipe is read once, from the front."""
    content = (game() * 40 + game("C", "B", "0-1")).encode()
    plain = games(read(tmp_path / "g.pgn", content))
    assert games(read(tmp_path / "packed", gzip.compress(content))) == plain
    ours, theirs = os.pipe()
    os.write(theirs, content)
    os.close(theirs)
    assert games(scan([Path(f"/dev/fd/{ours}")])) == plain
    os.close(ours)


def test_zstd_is_unpacked_or_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the standard library or its backport; a damaged file is refused, and so is any where neither is there."""
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    content = (game() * 40 + game("C", "B", "0-1")).encode()
    path = tmp_path / "g.pgn.zst"
    assert games(read(path, zstd.compress(content))) == games(read(tmp_path / "g.pgn", content))
    for damaged in (zstd.compress(content)[:-9], zstd.compress(content)[:20] + b"x" * 99):
        with pytest.raises(InputRefused, match="cannot be unpacked"):
            read(path, damaged)
    monkeypatch.setattr(files, "_zstd", lambda: None)
    with pytest.raises(InputRefused, match="extra zst") as refused:
        read(path, zstd.compress(content))
    assert "enginetour[zst]" in refused.value.step


def test_files_add_up(tmp_path: Path) -> None:
    """Names are the same in all files, whatever their order there."""
    (tmp_path / "a.pgn").write_text(game("A", "B"))
    (tmp_path / "b.pgn").write_text(game("B", "C") + game("A", "B"))
    assert games(scan([tmp_path / "a.pgn", tmp_path / "b.pgn"])) == {("A", "B", "1-0"): 2, ("B", "C", "1-0"): 1}


def test_progress_tells_all_bytes(tmp_path: Path) -> None:
    """Once each."""
    (tmp_path / "g.pgn").write_text(game() * 99)
    told: list[int] = []
    with patch.object(pgnscan, "PIECE", 300):
        scan([tmp_path / "g.pgn"], told.append)
    assert sum(told) == (tmp_path / "g.pgn").stat().st_size


@pytest.fixture
def by_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pgnscan, "WORTH_TWO", 1)
    monkeypatch.setattr(pgnscan, "START", 0)
    monkeypatch.setattr(pgnscan, "PIECE", 600)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # another test's thread may still be ending


@pytest.mark.usefixtures("by_two")
def test_two_processes_count_the_same(tmp_path: Path) -> None:
    """The halves join at the start of a game, places included, and no process stays."""
    path = tmp_path / "g.pgn"
    path.write_text("".join(game(f"E{number % 7}", "B") for number in range(200)) + game(white="?"))
    born: list[int] = []
    usual = os.fork

    def fork() -> int:
        born.append(usual())
        return born[-1]

    with patch.object(os, "fork", fork):
        found = scan([path])
    assert born
    assert games(found) == games(careful(path))
    assert games(found).total() == 200
    assert found.broken == [(f"{path}:1601", "a game whose White has no name")]
    for pid in born:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@pytest.mark.usefixtures("by_two")
def test_a_middle_inside_a_comment_is_no_start(tmp_path: Path) -> None:
    """What looks like games in the second half is a comment begun in the first."""
    path = tmp_path / "g.pgn"
    path.write_text(game() * 5 + game(moves="1. e4 { all of this is a comment\n\n" + game("X", "Y") * 40))
    assert games(scan([path])) == {("A", "B", "1-0"): 6}


@pytest.mark.usefixtures("by_two")
def test_a_second_process_that_is_killed_costs_nothing(tmp_path: Path) -> None:
    """Its half is read by the first one."""
    path = tmp_path / "g.pgn"
    path.write_text(game() * 200)
    with patch("enginetour.interop.pgn.pickle.dump", side_effect=OSError):
        assert games(scan([path])).total() == 200


# --- laws

letters = st.text(st.sampled_from('AbC 1"\\[]{};%?.é'), min_size=1, max_size=8).filter(lambda name: name.strip(" ?"))
line_ends = st.sampled_from(["\n", "\r\n"])
fakes = st.sampled_from(
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
comments = st.lists(fakes | st.just("text"), max_size=4).map(lambda parts: "{" + "\n".join(parts) + "}")
moves = st.lists(
    comments | st.sampled_from(["1. e4", "e5", "2. Nf3\n", "; rest {\n", "\n% { escaped\n", "(1. d4 d5)", "$1", "\n"]),
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
    form: str  # of its tags


@st.composite
def written(draw: st.DrawFn) -> Written:
    """A game with hostile names; its tags usual or shuffled, one of them perhaps missing."""
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
    # A blank line in the moves ends a game for some readers and not for others.
    said = "\n".join(line for line in draw(moves).splitlines() if line.strip())
    said += draw(st.sampled_from([f" {result}"] * 5 + ["", " ", *(f"\n{word}" for word in RESULT_WORDS)]))
    return Written((("Event", "E"), *tags), said.strip() or "*", usual, draw(st.sampled_from(TAGS)))


def pgn(all_written: list[Written], end: str, *, plain: bool = False) -> bytes:
    """All tags in the form of the standard, and none that sets a game aside, if `plain`."""
    blocks = []
    for one in all_written:
        form = TAGS[0] if plain else one.form
        kept = [tag for tag in one.tags if not plain or tag not in ASIDE]
        tags = "".join(form.format(name, escaped(value.encode()).decode()) for name, value in kept)
        blocks.append(f"{tags}\n{one.moves}\n\n")
    return "".join(blocks).replace("\n", end).encode()


def by_python_chess(content: bytes) -> Counter[tuple[str, str, str]]:
    """White, Black and result of the games that have all three tags and names."""
    found: Counter[tuple[str, str, str]] = Counter()
    source = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", errors="replace")
    while (headers := chess.pgn.read_headers(source)) is not None:
        white, black = (unescaped(headers.get(side, "?").encode()).decode().strip() for side in ("White", "Black"))
        if {white, black}.isdisjoint(("", "?")):
            result = headers.get("Result", "*")
            found[white, black, WORDS.get(result_code(result.encode()), "*")] += 1
    return found


@SHARING
@given(st.lists(written(), min_size=1, max_size=12), line_ends, st.integers(120, 2000))
def test_quick_and_careful_reading_agree(tmp_path: Path, wrote: list[Written], end: str, piece: int) -> None:
    """On any file, in pieces of any size, cut anywhere: the same games, the same broken ones in the same lines."""
    path = tmp_path / "g.pgn"
    content = pgn(wrote, end)
    for length in (len(content), len(content) * 2 // 3):
        path.write_bytes(b'[Event "0"]\n[White "0"]\n[Black "1"]\n[Result "*"]\n\n*\n\n' + content[:length])
        whole = careful(path)
        with patch.object(pgnscan, "PIECE", piece), patch.object(pgnscan, "LONGEST_PIECE", piece):
            found = scan([path])
        assert games(found) == games(whole)
        assert noticed(found) == noticed(whole)
        assert [broken for broken in found.broken if "without end" not in broken[1]] == whole.broken


@SHARING
@given(st.lists(written(), min_size=1, max_size=12), line_ends)
def test_counted_as_python_chess_does(tmp_path: Path, wrote: list[Written], end: str) -> None:
    """The same games of whole and of truncated files; missing results are ``*`` there and broken here."""
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
    """What is escaped comes back, in a tag line too."""
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
    """Every start is the newline before a bracket, with nothing in the line before it."""
    raw = piece.encode()
    if cut := game_start(raw):
        assert raw[cut : cut + 2] == b"\n["
        assert raw[:cut].rstrip(b"\r").endswith(b"\n")


def test_the_tally_of_nothing_joins() -> None:
    """An empty half is no special case."""
    tally = Tally()
    tally.join(Tally())
    assert tally.games == 0
    assert UNFINISHED not in tally.results
