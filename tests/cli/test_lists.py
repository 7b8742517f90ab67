"""Commands of rating lists in the database."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import sys
from collections import Counter
from contextlib import chdir
from dataclasses import replace
from itertools import combinations, count, permutations
from pathlib import Path
from typing import Any

import pytest

from enginetour.cli.main import main
from enginetour.model.game import GameVoided, Outcome, Termination
from enginetour.store.definition import ListDefinition, define_list
from enginetour.store.tournaments import Store
from enginetour.tournament.plan import prepare
from tests.support.databases import add_game, draft, game, open_log, record, sound_log
from tests.support.tournaments import read, tour

# Lists on the command line.

MEETINGS = (("Fruit", "Toga"), ("Toga", "Phalanx"), ("Phalanx", "Fruit"), ("HoiChess", "Fruit"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a workspace with blitz games of four engines and one slow game."""
    (tmp_path / "results").mkdir()
    with Store.open(tmp_path / "results" / "enginetour.db") as store:
        log = store.create_tournament(draft())
        for white, black in MEETINGS:
            record(log, white, black)
            record(log, white, black, Outcome.BLACK)
        record(log, "Fruit", "Toga", tc="5400+30", day="2026-11-09", hardware="Xeon E5")
    return tmp_path


def play(folder: Path, white: str, black: str, **about: Any) -> None:
    with Store.open(folder / "results" / "enginetour.db") as store:
        record(store.tournament(), white, black, **about)


def test_define_and_show(folder: Path) -> None:
    """A list is defined, changed and shown; other options keep their values, an empty value restores the default."""
    assert "no rating list yet" in tour(folder, "lists").stdout
    assert (
        "list blitz defined"
        in tour(folder, "lists", "define", "blitz", "--time-class", "blitz", "--min-games", "2").stdout
    )
    assert "no change, the newest revision is 1" in tour(folder, "lists", "define", "blitz", "--min-games", "2").stdout
    told = tour(
        folder, "lists", "define", "blitz", "--min-games", "3", "--time-class", "", "--anchor", "Toga=2700"
    ).stdout
    assert "revision 2: anchors: none -> Toga = 2700; time_classes: blitz -> all; min_games: 2 -> 3" in told
    (line,) = read(folder, "lists")
    assert (line["name"], line["revision"], line["edition"]) == ("blitz", 2, None)
    revisions = read(folder, "lists", "show", "blitz")["revisions"]
    assert [one["definition"]["min_games"] for one in revisions] == [2, 3]
    assert "anchors: Toga = 2700" in tour(folder, "lists", "show", "blitz").stdout
    tour(folder, "lists", "define", "blitz", "--reset", "--tc", "180*")
    assert read(folder, "lists")[0]["definition"] == {"tc": "180*"}


def test_database_of_the_surroundings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ENGINETOUR_DB selects the database of all subcommands; --db must follow the subcommand."""
    monkeypatch.setenv("ENGINETOUR_DB", str(folder / "results" / "enginetour.db"))
    assert "list all defined" in tour(folder / "results", "lists", "define", "all").stdout
    assert (
        "lists show: options must follow the subcommand"
        in tour(folder, "lists", "--db", "x.db", "show", "all", expect=2).stderr
    )


def test_ratings_of_a_list_and_ad_hoc(folder: Path) -> None:
    """A named list equals the same filters on the command line; options change a named list for one call."""
    tour(folder, "lists", "define", "blitz", "--time-class", "blitz", "--model", "davidson")
    typed = read(folder, "ratings", "--time-class", "blitz", "--model", "davidson")
    assert read(folder, "ratings", "blitz") == typed
    assert (typed["games"], typed["skipped"], typed["model"]) == (8, 1, "davidson")
    changed = tour(folder, "ratings", "blitz", "--not-engine", "Hoi*").stdout
    assert "blitz, revision 1, changed by options" in changed
    assert "HoiChess" not in changed
    assert "time classes: blitz (180 to 480 s for 40 moves)" in changed


def test_every_filter_is_typed(folder: Path) -> None:
    """A filter without -t selects games of the whole database; terms alone keep the newest tournament."""
    for words, games in (
        (("--since", "2026-11-02"), 1),
        (("--until", "2026-11-01"), 8),
        (("--hardware", "Xeon*"), 1),
        (("--engine", "Fruit", "--engine", "Toga"), 3),
        (("--tournaments", "winter*"), 0),
        (("--as-of", "game 4"), 4),
        (("--alias", "HoiChess=Toga", "--by", "name", "--tc", "180*"), 8),
        (("--model", "davidson", "--prior", "gaussian=100", "--advantage", "fit", "--scale", "403.5"), 9),
        (("-t", "autumn", "--min-games", "3"), 7),
    ):
        assert read(folder, "ratings", *words)["games"] == games, words
    assert "tournament autumn" in tour(folder, "ratings", "--model", "davidson").stderr
    assert "all tournaments" in tour(folder, "ratings", "--min-games", "1").stdout
    best = read(folder, "ratings", "--system", "elo", "--setting", "k=40", "--tc", "180*", "--best-of-family")
    assert {row["plus"] for row in best["list"]} == {None}


def test_aliases_of_the_command_line_name_engines_of_the_database(folder: Path) -> None:
    """An unknown name in --alias is a usage error; a file of aliases and a definition can have unknown names."""
    for words in (("ratings", "--all"), ("ratings", "-t", "autumn"), ("next", "--all")):
        told = tour(folder, *words, "--alias", "HoiChes=Toga", expect=2).stderr
        assert "--alias: no games of 'HoiChes' found, did you mean 'HoiChess'?" in told
    (folder / "names.csv").write_text("Toga,HoiChes\n")
    tour(folder, "ratings", "--all", "--aliases", "names.csv", "--alias", "HoiChess=Hoi")
    tour(folder, "lists", "define", "later", "--alias", "HoiChes=Toga")
    tour(folder, "ratings", "later")


def test_lists_leave_out_games_by_their_termination(tmp_path: Path) -> None:
    """--exclude-termination leaves out games by their ending, and is kept in the definition of a list."""
    (tmp_path / "results").mkdir()
    store, log = open_log(tmp_path / "results" / "enginetour.db")
    endings = (Termination.TIME, Termination.CRASH, Termination.FALSE_CLAIM, Termination.ADJUDICATION_DRAW)
    with store:
        for number, ending in enumerate((*endings, Termination.MATE, Termination.MATE), 1):
            add_game(log, replace(game("Fruit", "Toga", meeting=number), termination=ending))
    for words, games in (("time,crash", 4), ("illegal-move", 5), ("adjudication", 5), ("stall", 6)):
        assert read(tmp_path, "ratings", "--all", "--exclude-termination", words)["games"] == games, words
    tour(tmp_path, "lists", "define", "clean", "--exclude-termination", "time,crash")
    assert read(tmp_path, "ratings", "clean")["games"] == 4
    assert "games left out: 2 by termination" in tour(tmp_path, "ratings", "clean").stdout
    assert read(tmp_path, "ratings", "clean", "--exclude-termination", "")["games"] == 6
    told = tour(tmp_path, "lists", "define", "clean", "--exclude-termination", "tme", expect=2).stderr
    assert "unknown termination 'tme', did you mean 'time'" in told


def test_publish_and_editions(folder: Path) -> None:
    """An edition is shown as it was published, although games were added later."""
    tour(folder, "lists", "define", "all")
    made = read(folder, "publish", "all", "--note", "first snow")
    assert tour(folder, "publish", "all", expect=2).stderr.count("\n") == 1
    play(folder, "HoiChess", "Toga")
    assert read(folder, "editions", "all", "1") == made
    assert [row["rating"] for row in made["list"]] == [
        row["rating"] for row in read(folder, "ratings", "all", "--as-of", "game 9")["list"]
    ]
    tour(folder, "publish", "all")
    assert [(row["edition"], row["note"]) for row in read(folder, "editions")] == [(1, "first snow"), (2, "")]
    assert "first snow" in tour(folder, "editions", "all", "1").stdout
    assert tour(folder, "editions", "all", "2", "--csv").stdout.startswith("rank,name,rating,plus,minus,difference")
    assert "choose an edition from 1 to 2" in tour(folder, "editions", "all", "7", expect=2).stderr


def test_into_a_file_and_errors_for_some(folder: Path) -> None:
    """The ending of -o selects the format; --errors-for needs a list with errors and a matching pattern."""
    tour(folder, "lists", "define", "all")
    for words in (("all",), ("--all",), ("-t", "autumn"), ("--all", "--system", "elo"), ("all", "--system", "gor")):
        for name in ("list.json", "list.csv", "list.txt"):
            told = tour(folder, "ratings", *words, "-o", name)
            assert not told.stdout and f"{name} written: 4 engines" in told.stderr
        assert len(json.loads((folder / "list.json").read_text())["list"]) == 4
        assert (folder / "list.csv").read_text().count("\n") == 5
    for words in (("all",), ("--all",), ("-t", "autumn")):
        assert read(folder, "ratings", *words, "--errors-for", "F*")["games"] == 9
        assert "no engine matches 'X*'" in tour(folder, "ratings", *words, "--errors-for", "X*", expect=2).stderr
    assert "need --system ml" in tour(folder, "ratings", "--system", "elo", "--errors-for", "F*", expect=2).stderr
    assert "is a directory" in tour(folder, "ratings", "--all", "-o", ".", expect=2).stderr


def test_one_list_at_a_time_called_by_its_system(folder: Path) -> None:
    """--all cannot be combined with -t; the heading names an incremental rating system."""
    for other in (("-t", "autumn"), ("--edition", "1")):
        assert (
            "--all: cannot be combined with -t and --edition"
            in tour(folder, "ratings", "--all", *other, expect=2).stderr
        )
    for system, called in (("elo", "Elo, incremental"), ("gor", "GoR, Czech 1998")):
        for words in ("", "--since 2000-01-01", "--min-games 1"):
            said = tour(folder, "ratings", "--all", "--system", system, *words.split()).stdout
            assert said.startswith(f"{called} · all tournaments\n")
    assert tour(folder, "ratings", "--all", "--since", "2000-01-01").stdout.startswith("ratings · all tournaments\n")


def test_as_of_an_edition_is_that_edition(folder: Path) -> None:
    """--as-of 'edition N' gives exactly the published numbers, whatever happened later."""
    tour(folder, "lists", "define", "all", "--time-class", "blitz")
    made = read(folder, "publish", "all")["list"]
    tour(folder, "lists", "define", "all", "--time-class", "", "--model", "davidson")
    play(folder, "HoiChess", "Toga")
    with Store.open(folder / "results" / "enginetour.db") as store:
        log = store.tournament()
        stored = log.game(2)
        log.record_event(GameVoided(stored.game.pairing, stored.game.outcome, "swapping"))
    again = read(folder, "ratings", "all", "--as-of", "edition 1")["list"]
    assert [[row[key] for key in ("name", "rating", "plus", "games", "los")] for row in again] == [
        [row[key] for key in ("name", "rating", "plus", "games", "los")] for row in made
    ]
    assert "revision 1, as of edition 1" in tour(folder, "ratings", "all", "--as-of", "edition 1").stdout
    for words, refusal in (
        (("ratings", "all", "--as-of", "edition 2"), "edition 2 of the list 'all' does not exist"),
        (("ratings", "--as-of", "edition 1"), "needs the name of a rating list"),
    ):
        assert refusal in tour(folder, *words, expect=2).stderr


def test_as_of_a_game_counts_as_the_tournament_does(folder: Path) -> None:
    """--as-of 'game N' counts games of the tournament with -t, else of the whole database."""
    with Store.open(folder / "results" / "enginetour.db") as store:
        record(store.create_tournament(draft("spring")), "Fruit", "Toga", day="2026-12-01")
    assert read(folder, "ratings", "-t", "spring", "--as-of", "game 1")["games"] == 1
    assert read(folder, "ratings", "--as-of", "game 1")["games"] == 1
    assert read(folder, "ratings", "--as-of", "game 10")["games"] == 10
    refused = tour(folder, "ratings", "-t", "spring", "--as-of", "game 2", expect=2).stderr
    assert "game 2 does not exist in this tournament; the newest is game 1" in refused


def test_next_writes_a_configuration_that_plays_the_encounters(tmp_path: Path) -> None:
    """The encounters of `next -o` are those of the table; only engines that can play here are chosen."""
    (tmp_path / "results").mkdir()
    with Store.open(tmp_path / "results" / "enginetour.db") as store:
        log = store.create_tournament(draft(names=("Wren 1", "Wren 2", "Wren 3", "Absent")))
        for white, black in permutations(("Wren 1", "Wren 2", "Wren 3", "Absent"), 2):
            record(log, white, black, tc="0.1+0.01")
    found = read(tmp_path, "next", "-o", "next.toml", "--games", "4")
    assert (found["engines"], found["games"], found["control"]) == (4, 12, "0.1+0.01")
    pairs = [(one["engine"], one["opponent"]) for one in found["encounters"]]
    assert {frozenset(pair) for pair in pairs} == set(map(frozenset, combinations(("Wren 1", "Wren 2", "Wren 3"), 2)))
    plan = prepare(tmp_path / "next.toml", None)
    games = plan.format.offers(plan.format.start(plan.entrants))
    assert Counter(frozenset(game.pair) for game in games) == dict.fromkeys(map(frozenset, pairs), 4)
    assert {str(side.tc) for side in plan.sides.values()} == {"0.1+0.01"}
    told = tour(tmp_path, "next", "--all", "-o", "all.toml", "--control", "depth=1")
    assert "differ from the versions in the list" in told.stderr
    assert "left out 1 engine that cannot play" in told.stderr and 'tc = "depth=1"' in (
        tmp_path / "all.toml"
    ).read_text("utf-8")
    told = tour(tmp_path, "next", "--games", "4")
    assert "Absent" in told.stdout and "mean error of 4 engines" in told.stdout
    rows = csv.DictReader(io.StringIO(tour(tmp_path, "next", "--games", "4", "--csv").stdout))
    assert all(all(row.values()) for row in rows)
    assert "already exists" in tour(tmp_path, "next", "-o", "next.toml", expect=2).stderr
    assert "directory does not exist" in tour(tmp_path, "next", "-o", "none/next.toml", expect=2).stderr
    assert "must be an even number" in tour(tmp_path, "next", "--games", "3", expect=2).stderr
    assert "does not have errors" in tour(tmp_path, "next", "--system", "elo", expect=2).stderr
    assert "is not a valid" in tour(tmp_path, "next", "--control", "often", expect=2).stderr


def test_diff(folder: Path) -> None:
    """`diff` explains the largest changes; CSV has all of them."""
    tour(folder, "lists", "define", "all")
    tour(folder, "publish", "all")
    play(folder, "HoiChess", "Toga")
    found = read(folder, "diff", "all")
    assert (found["before"], found["after"], found["new_games"], len(found["moves"])) == (1, 0, 1, 4)
    text = tour(folder, "diff", "all", "--most", "1").stdout
    assert "edition 1 to now" in text
    assert "3 smaller changes are not shown" in text
    assert tour(folder, "diff", "all", "--csv", "--most", "1").stdout.count("\n") == 5


def test_history(folder: Path) -> None:
    """`history` shows opponents, editions and rating events as text, JSON and CSV."""
    tour(folder, "lists", "define", "all")
    tour(folder, "publish", "all")
    tour(folder, "ratings", "--system", "elo")
    text = tour(folder, "history", "Fruit").stdout
    assert "Fruit · rating" in text
    assert "2026-11-01 to 2026-11-09" in text
    found = read(folder, "history", "Fruit")
    assert (len(found["opponents"]), len(found["published"]), len(found["events"])) == (3, 1, 7)
    assert tour(folder, "history", "Fruit", "--csv").stdout.startswith("name,games,wins,draws,losses,score,rating")
    assert tour(folder, "history", "Fruit", "--csv", "events").stdout.count("\n") == 8
    assert "did you mean 'Fruit'" in tour(folder, "history", "Friut", expect=2).stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ratings", "none"), "rating list 'none' not found"),
        (("ratings", "--time-class", "blits"), "did you mean 'blitz'"),
        (("ratings", "--since", "2026-13-01"), "must be a date such as 2026-11-01"),
        (("ratings", "--anchor", "Toga"), "must be NAME=RATING"),
        (("ratings", "--anchor", "Toga=nan"), "with a finite number"),
        (("ratings", "--all", "--anchor", "Crafty=2700"), "'Crafty' has no games in this list"),
        (("ratings", "--prior", "flat"), "use auto, none, gaussian=SD"),
        (("ratings", "--as-of", "soon"), "'soon' is not a valid time"),
        (
            ("ratings", "x", "--all"),
            "-t and --all cannot be combined with LIST, because a list defines its tournaments",
        ),
        (("ratings", "--system", "elo", "--setting", "kay=3"), "unknown setting 'kay' of elo"),
        (("ratings", "--system", "elo", "--anchor", "Toga=2700"), "--anchor: needs --system ml"),
        (("lists", "define", "a#b"), "is not a valid list name"),
        (("lists", "--json", "show", "x"), "lists show: options must follow the subcommand"),
        (("publish", "x"), "rating list 'x' not found"),
        (("diff", "x"), "rating list 'x' not found"),
    ],
)
def test_refused(folder: Path, words: tuple[str, ...], told: str) -> None:
    """Invalid options are usage errors with the valid values, and write nothing."""
    assert told in tour(folder, *words, expect=2).stderr


# What a command had read stayed in its view while somebody paged through it: a running tournament's log only grew.

NUMBERS = count(1)


class Pager(io.StringIO):
    """A standard output that writes to the database and checkpoints it while it is written to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.held: list[bool] = []

    def write(self, text: str) -> int:
        with Store.open(self.path, create=False) as store:
            define_list(store, f"list {next(NUMBERS)}", ListDefinition())
        with sqlite3.connect(self.path, timeout=0) as raw:
            self.held.append(bool(raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]))
        raw.close()
        return super().write(text)


@pytest.fixture(scope="module")
def paging_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a workspace with a tournament of one game and a list of it."""
    made = tmp_path_factory.mktemp("paged")
    (made / "results").mkdir()
    store, log = sound_log(made / "results" / "enginetour.db")
    with store:
        add_game(log, game())
    tour(made, "lists", "define", "all")
    tour(made, "publish", "all")
    return made


@pytest.mark.parametrize(
    "words",
    [
        *("standings", "crosstable --json", "games", "games 1", "games 1 --json", "lists", "diff all"),
        *("ratings --all --sprt Fruit Toga 0 5", "editions all 1", "imports --csv", "history Fruit"),
        *("export pgn", "export json"),
    ],
)
def test_whoever_reads_slowly_holds_nobody_up(paging_folder: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The view of the database ends before the output is written."""
    pager = Pager(paging_folder / "results" / "enginetour.db")
    monkeypatch.setattr(sys, "argv", ["enginetour", *words.split()])
    monkeypatch.setattr(sys, "stdout", pager)
    with chdir(paging_folder), pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (None, 0)
    assert pager.held
    assert not any(pager.held)
