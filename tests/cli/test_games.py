"""Tests of cli/games."""

from __future__ import annotations

import hashlib
import io
import re
import sys
from pathlib import Path

import chess.pgn
import pytest

from enginetour.referee.record import KEPT_LENGTH, KEPT_LINES, matching_lines
from enginetour.testing import PLAYING
from tests.openings.test_polyglot import book
from tests.support.engines import scripted
from tests.support.tournaments import config, entrant, left_running, read, tour

# `enginetour export`: PGN with more in its comments, final positions, checksums; and the settings of records.


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A tournament of two games in a workspace."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren4"), "roundrobin", "cycles = 2")
    tour(tmp_path, "run", str(path))
    return tmp_path


def test_what_is_exported(played: Path) -> None:
    """Exports have the requested comments, one final position per game, and the digest of sha256sum."""
    plain = tour(played, "export", "pgn").stdout
    more = tour(played, "export", "pgn", "--comments", "nodes,timeleft").stdout
    assert "n=" not in plain
    assert re.search(r"s, n=\d+", more)
    told = tour(played, "export", "pgn", "--comments", "all", "-o", str(played / "all.pgn")).stderr
    assert hashlib.sha256((played / "all.pgn").read_bytes()).hexdigest() in told
    ends = tour(played, "export", "epd").stdout.splitlines()
    assert len(ends) == plain.count("[Event ")
    for line in ends:
        chess.Board().set_epd(line)


def ends_of(pgn: str) -> list[str]:
    """Return the final position of each game, from its moves."""
    source = io.StringIO(pgn)
    return [found.end().board().fen() for found in iter(lambda: chess.pgn.read_game(source), None)]


def final_fens(epd: str) -> list[str]:
    """Return the position of each EPD line with its counters."""
    found = []
    for line in epd.splitlines():
        board, told = chess.Board.from_epd(line)
        assert (told["hmvc"], told["fmvn"]) == (board.halfmove_clock, board.fullmove_number)
        found.append(board.fen())
    return found


def test_final_positions_are_those_that_were_played(played: Path) -> None:
    """An EPD export has the final positions with their counters, and its digest is printed."""
    ends = ends_of(tour(played, "export", "pgn").stdout)
    assert len(ends) == 2
    assert final_fens(tour(played, "export", "epd").stdout) == ends
    told = tour(played, "export", "epd", "-o", "ends.epd").stderr
    digest = hashlib.sha256((played / "ends.epd").read_bytes()).hexdigest()
    assert told.splitlines()[-1] == f"ends.epd written, SHA-256 {digest}"


SCHOLAR = "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq -"
MATED = "r1bqkb1r/pppp1Qpp/2n2n2/4p3/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq -"


@pytest.mark.parametrize("native", ["", "1"])
def test_what_a_run_leaves_of_its_games(native: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PGN file has the ending, the configured comments and the ratings; wrong claims are reported."""
    monkeypatch.setenv("ENGINETOUR_NO_NATIVE", native)  # in the slots
    (tmp_path / "mate.epd").write_text(f"{SCHOLAR} hmvc 3; fmvn 3;\n")
    ada, bea = (
        scripted(moves="h5f7/g8f6", told=words).command
        for words in ("info depth 5 score cp 31 nodes 1234 hashfull 17", "info string nothing")
    )
    engines = f"{entrant('Ada', ada)}rating = 2811.6\n{entrant('Bea', bea)}"
    play = 'openings = { file = "mate.epd" }\npgn = ["latency", "nodes", "hashfull"]'
    path = config(tmp_path, (), "roundrobin", "cycles = 2", engines, play=play)
    said = tour(tmp_path, "run", path.name).stdout
    assert said.count("wrong claim: ") == 1
    assert "wrong claim: Bea: move 3: played g8f6 without reporting a score (no-score; shown once per engine)" in said
    counted = {line["name"]: line["claims_by_kind"] for line in read(tmp_path, "standings", "--engines")["engines"]}
    assert counted == {"Ada": {}, "Bea": {"no-score": 2}}
    pgn = (tmp_path / "results" / "trial.pgn").read_text()
    assert pgn == tour(tmp_path, "export", "pgn", "--comments", "hashfull,latency,nodes").stdout
    comments = [" ".join(words.split()) for words in re.findall(r"\{(.*?)\}", pgn, re.DOTALL)]
    lat = r"lat=\d+\.\d{6}s"
    forms = [
        r"\d+\.\d{3}s",
        rf"\+0\.31/5 \d+\.\d{{3}}s, {lat}, n=1234, hf=17, White mates",
        r"\+0\.31/5 \d+\.\d{3}s, n=1234, hf=17",
        rf"\d+\.\d{{3}}s, {lat}, White mates",
    ]
    assert [re.fullmatch(form, words) is not None for form, words in zip(forms, comments, strict=True)] == [True] * 4
    assert re.findall(r'^\[(\w+Elo) "(.*)"\]$', pgn, re.MULTILINE) == [("WhiteElo", "2812"), ("BlackElo", "2812")]
    assert final_fens(tour(tmp_path, "export", "epd").stdout) == ends_of(pgn) == [f"{MATED} 0 4"] * 2


def test_what_no_output_replaces(played: Path) -> None:
    """-o does not replace a database or a configuration."""
    engines = sorted(played.glob("engines/*.toml"))[:2]  # those that played
    kept = {path: path.read_bytes() for path in (*played.glob("*.toml"), *engines, *played.glob("*/*.db"))}
    assert len(kept) == 4
    for path in kept:
        for words in (("export", "pgn"), ("export", "json"), ("ratings", "--all"), ("rate", "results/trial.pgn")):
            told = tour(played, *words, "-o", str(path), expect=2).stderr
            assert told.splitlines()[-1].startswith(f"enginetour: --output: {path} is a ")
    assert {path: path.read_bytes() for path in kept} == kept
    tour(played, "export", "csv", "-o", "new.toml")  # nobody's file


def test_what_is_not_exported(played: Path) -> None:
    """An unknown name in --comments is an error with the valid names; --comments is only for PGN."""
    refused = tour(played, "export", "pgn", "--comments", "node", expect=2).stderr
    assert "'node'" in refused
    assert "must be 'all' or some of timeleft, latency, nodes," in refused
    tour(played, "export", "csv", "--comments", "nodes", expect=2)


@pytest.mark.parametrize("line", ['pgn = ["nodez"]', 'keep_lines = "("'])
def test_settings_of_records_are_checked(tmp_path: Path, line: str) -> None:
    """An unknown comment and an invalid pattern are errors with their place and the valid values."""
    path = config(tmp_path, ("wren1", "wren4"), "roundrobin", "cycles = 2", play=line)
    refused = tour(tmp_path, "check", str(path), expect=3).stderr
    assert re.search(r"trial\.toml:\d+: play\.(pgn|keep_lines)", refused)
    assert "nps" in refused or "regular expression" in refused


def test_lines_of_engines_are_kept_by_a_pattern() -> None:
    """The last lines are kept in their order, cut to a maximum; the pattern is matched against the cut line."""
    text = b"\n".join([b"info depth 1", *(b"info string WDL %d" % n for n in range(30)), b"x" * 400 + b"WDL", b""])
    found = matching_lines(text, re.compile("WDL"))
    assert len(found) == KEPT_LINES
    assert (found[0], found[-1]) == ("info string WDL 10", "info string WDL 29")
    (cut,) = matching_lines(b"WDL" + b"y" * 400, re.compile("WDL"))
    assert len(cut) == KEPT_LENGTH


# `enginetour games N --replay` through the command line.

BROKEN = """\
[[entrants]]
name = "broken"
command = ["{program}"]
protocol = "uci"
[[entrants]]
engine = "wren1"
"""


def broken(folder: Path, at: int = 2) -> Path:
    """A tournament of one game that a crash decides; the engine is a script beside it."""
    program = folder / "broken"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -E -S {PLAYING} --protocol uci --fault crash --at {at}\n")
    program.chmod(0o755)
    return config(folder, (), "roundrobin", "", BROKEN.format(program=program))


def test_a_crash_is_seen_again_and_nothing_is_written(tmp_path: Path) -> None:
    """Each replay prints a line, then a total; the database does not change, and no process remains."""
    tour(tmp_path, "run", str(broken(tmp_path)))
    database = tmp_path / "results" / "enginetour.db"
    before = database.read_bytes()
    said = tour(tmp_path, "games", "1", "--replay", "--times", "2", "--speed", "10").stdout
    assert "each replay: handshake, options, new game" in said
    assert said.count("reproduced: crashes: exit 3") == 2
    assert said.endswith("reproduced in 2 of 2 replays\n")
    alone = read(tmp_path, "games", "1", "--replay", "--last-search")
    assert (alone["again"], alone["runs"][0]["status"]) == (0, "")  # it counts its searches
    assert database.read_bytes() == before
    assert not left_running(tmp_path)


def test_moves_of_a_longer_book_are_no_opening(tmp_path: Path) -> None:
    """A replay repeats the searches between book moves: the engine crashes at its second search."""
    path = broken(tmp_path)
    book(tmp_path / "book.bin", {"g1f3 d7d5": 1, "e2e4 g8f6 e4e5": 1})
    (tmp_path / "start.pgn").write_text('[Event "the usual start"]\n\n*\n')
    text = path.read_text().replace("[report]", 'openings = { file = "start.pgn" }\n[report]')
    path.write_text(text + 'own_book = { file = "book.bin" }\n')
    tour(tmp_path, "run", str(path))
    said = tour(tmp_path, "games", "1", "--replay", "--speed", "10").stdout
    assert "reproduced: crashes: exit 3\n" in said, said


def test_refusals(tmp_path: Path) -> None:
    """A replay without a number, without an incident or with a changed program is an error with the next step."""
    path = broken(tmp_path)
    tour(tmp_path, "run", str(path))
    assert "needs the NUMBER" in tour(tmp_path, "games", "--replay", expect=2).stderr
    assert "need --replay" in tour(tmp_path, "games", "1", "--times", "3", expect=2).stderr
    said = tour(tmp_path, "games", "--termination", "tme", expect=2).stderr
    assert "--termination: must be one of adjudication, mate, stalemate, " in said
    assert "(found 'tme')" in said
    for words in (("--endings",), ("--engine", "wren1"), ("--termination", "time"), ("--replay", "--incidents")):
        assert "apply only to the list of games" in tour(tmp_path, "games", "1", *words, expect=2).stderr
    said = tour(tmp_path, "games", "1", "--replay", "--engine", "wren1", expect=2).stderr
    assert "no incident of wren1" in said
    broken(tmp_path, at=9)
    said = tour(tmp_path, "games", "1", "--replay", expect=4).stderr
    assert "have changed since the game" in said
    assert "--accept-change" in said
    accepted = tour(tmp_path, "games", "1", "--replay", "--accept-change").stdout
    assert "reproduced in 0 of 1 replays" in accepted
    (tmp_path / "broken").unlink()
    assert "cannot be read" in tour(tmp_path, "games", "1", "--replay", expect=4).stderr


def test_an_incident_is_told_readably(tmp_path: Path) -> None:
    """`games N` has the traffic in milliseconds from the question on."""
    tour(tmp_path, "run", str(broken(tmp_path)))
    said = tour(tmp_path, "games", "1").stdout
    assert "process ended: exit 3; memory up to" in said
    assert "         0.000 > go depth 1" in said
