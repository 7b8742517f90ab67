"""Leagues: seasons from a file to the next season, stopped and resumed, and files that do not fit."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import pytest
from click.testing import CliRunner
from sqlalchemy import select

from enginetour.cli.changing import pause
from enginetour.cli.options import TournamentChoice
from enginetour.model.errors import TourError
from enginetour.store.database import lock_of
from enginetour.store.seasons import SeasonBook, Stage, newest_season, run_name, seasons_of
from enginetour.store.tables import ENGINES, RATING_EVENTS
from enginetour.store.tournaments import Store
from enginetour.tournament.api import Tournament
from enginetour.tournament.config.load import Config
from enginetour.tournament.control import refusal
from enginetour.tournament.league import LeagueRun, begin_season, read_league, shares
from enginetour.tournament.recorded import Dropped
from enginetour.tournament.scheduler import GameLimit, RunEnd
from tests.support.databases import pgn
from tests.support.tournaments import (
    BOOK,
    DIVISIONS,
    LONG_S,
    audited,
    entrant,
    league,
    quick,
    read,
    scripted,
    tour,
    try_engines_once,
    until,
)

NAMES = ("Ada", "Bea", "Cid", "Dot", "Eve", "Fay", "Gus", "Hal")


def book_of(folder: Path) -> SeasonBook:
    """Return the newest season."""
    store = Store.open(folder / "results" / "enginetour.db", create=False)
    book = newest_season(store, "Mini")
    assert book is not None
    return book


def tables(folder: Path) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return the tables of all tournaments of the newest season."""
    return [
        (stage.title, [(line.name, line.half_points) for line in stage.standings]) for stage in book_of(folder).stages()
    ]


RULES = "promote = 1\nparallel = 2\ncross = { engines = 1 }\nplayoff = { games = 2 }"


def test_two_seasons(tmp_path: Path) -> None:
    """A season plays its divisions, cross matches and playoffs; the next season follows from the tables alone."""
    path = league(tmp_path, RULES)
    done = tour(tmp_path, "run", "league.toml")
    assert "the season has ended; enginetour season next league.toml begins the next one" in done.stderr
    book = book_of(tmp_path)
    titles = ["Mini S1 Premier", "Mini S1 First", "Mini S1 Cross", "Mini S1 Playoff Premier"]
    assert [stage.title for stage in book.stages()] == titles
    assert [audited(stage.log) for stage in book.stages() if stage.log] == [3, 6, 2, 2]
    assert book.season.waiting == ("Gus",)
    path.write_text(path.read_text() + scripted("Hal", "uci"))
    told = tour(tmp_path, "season", "next", "league.toml").stdout
    assert "season 2 of Mini is ready" in told
    after = book_of(tmp_path).season
    upper, lower = book.tables
    assert lower[0] in after.divisions[0]
    assert upper[-1] in after.divisions[1]
    assert "Gus" in after.divisions[1]
    assert sorted(after.engines) == sorted(NAMES)
    for move in after.moves:
        assert move.why in told
    tour(tmp_path, "run", "league.toml", "--max-games", "1", expect=8)
    tour(tmp_path, "season", "next", "league.toml", expect=2)
    tour(tmp_path, "run", "league.toml")
    found = read(tmp_path, "season")
    assert (found["season"], found["finished"]) == (2, True)
    assert [len(one["table"]) for one in found["divisions"]] == [3, 3]
    assert read(tmp_path, "season", "show", "1")["season"] == 1
    assert "Mini, season 2" in tour(tmp_path, "season").stdout


def test_files_that_a_killed_run_left_behind_are_completed(tmp_path: Path) -> None:
    """The next run writes the report and the last games of a tournament that had ended when its run was killed."""
    path = league(tmp_path, divisions=DIVISIONS.replace("size = 3", 'size = 3\nplay = { pgn = ["timeleft"] }', 1))
    path.write_text(path.read_text().replace("write = false", "write = true"))
    tour(tmp_path, "run", "league.toml")
    results = tmp_path / "results"
    log = book_of(tmp_path).stages()[0].log
    assert log is not None
    games, report = results / f"{log.slug}.pgn", results / f"{log.slug}-report"
    whole = games.read_text()
    assert "tl=" in whole
    shutil.rmtree(report)
    games.write_text(whole[: whole.index("[Event ", 1)])
    os.utime(games, (0, 0))
    with lock_of(results / "enginetour.db", log.name):  # another run, which completes them itself
        assert "report" not in tour(tmp_path, "run", "league.toml").stderr
    done = tour(tmp_path, "run", "league.toml")
    assert f"Mini S1 Premier: report: {report}/index.html" in done.stderr
    assert games.read_text() == whole
    assert "report" not in tour(tmp_path, "run", "league.toml").stderr


def test_a_new_version_inherits_the_rating(tmp_path: Path) -> None:
    """A new version takes the place of its predecessor, and its Elo rating begins with that of the predecessor."""
    path = league(tmp_path, names=NAMES[:6])
    path.write_text(path.read_text() + '[ratings]\nsystems = ["elo"]\nelo = { inherit = true }\n')
    text = path.read_text().replace(old := scripted("Ada", "uci"), f'{old}family = "ada"\n')
    path.write_text(text)
    tour(tmp_path, "run", "league.toml")
    before = {row["name"]: row["rating"] for row in read(tmp_path, "ratings", "--all", "--system", "elo")["list"]}
    path.write_text(text.replace("[ratings]", scripted("Zoe", "uci") + 'replaces = "Ada"\n[ratings]'))
    told = tour(tmp_path, "season", "next", "league.toml").stdout
    assert "new version of Ada" in told
    tour(tmp_path, "run", "league.toml")
    assert "Ada" not in book_of(tmp_path).season.engines
    events = select(RATING_EVENTS.c.before).join(ENGINES, ENGINES.c.id == RATING_EVENTS.c.engine)
    events = events.where(ENGINES.c.name == "Zoe", RATING_EVENTS.c.system == "elo").order_by(RATING_EVENTS.c.position)
    first = book_of(tmp_path).store.database.scalar(events)
    assert first == pytest.approx(before["Ada"], abs=0.01) != 1500
    tour(tmp_path, "season", "next", "league.toml")
    assert "Ada" not in book_of(tmp_path).season.engines, "it is still in the file, but does not come back later"


def test_check_shows_what_comes(tmp_path: Path) -> None:
    """`check` shows the games of the first season, of an unfinished one, and the moves of the next one."""
    league(tmp_path, RULES)
    first = read(tmp_path, "check", "league.toml")
    assert (first["season"], first["begun"]) == (1, False)
    assert [(one["tournament"], one["most"]) for one in first["tournaments"]] == [
        ("Mini S1 Premier", 3),
        ("Mini S1 First", 6),
    ]
    assert (
        "after the divisions: 2 games between them, and 1 playoff of 2 games"
        in tour(tmp_path, "check", "league.toml").stdout
    )
    assert not (tmp_path / "results").exists()
    tour(tmp_path, "run", "league.toml", "--max-games", "1", expect=8)
    assert read(tmp_path, "check", "league.toml")["begun"]
    tour(tmp_path, "run", "league.toml")
    told = tour(tmp_path, "check", "league.toml").stdout
    assert "ready to begin: enginetour season next league.toml" in told
    found = read(tmp_path, "check", "league.toml")
    tour(tmp_path, "season", "next", "league.toml")
    by_engine = {move["engine"]: move for move in read(tmp_path, "season")["moves"]}
    assert by_engine == {move["engine"]: move for move in found["moves"]} != {}


def test_check_shows_the_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` shows the engines of each division, the reserves once, and those that wait."""
    path = league(tmp_path)
    path.write_text(f"{path.read_text()}{scripted('Sub', 'uci')}reserve = true\n")
    found = read(tmp_path, "check", "league.toml")
    engines = [(one["division"], one["name"], one["fit"]) for one in found["engines"]]
    divisions = dict(zip(NAMES[:6], ["Premier"] * 3 + ["First"] * 3, strict=True))
    assert engines == [*((division, name, True) for name, division in divisions.items()), ("", "Sub", True)]
    assert found["waiting"] == ["Gus"]
    told = tour(tmp_path, "check", "league.toml").stdout
    assert re.search(r"division +engine +can play", told)
    assert re.search(r"Premier +Ada +yes", told)
    assert re.search(r"reserve +Sub +yes", told)
    assert "waiting for a place: Gus" in told
    try_engines_once(monkeypatch)
    path.write_text(path.read_text().replace(scripted("Eve", "uci"), entrant("Eve", ["/bin/true"], "uci")))
    refused = tour(tmp_path, "check", "league.toml", expect=4)
    assert re.search(r"First +Eve +no", refused.stdout)


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ("", ""),
        ("cross = {}", "18 games between them"),
        ("cross = { engines = 9, games_per_pairing = 1 }", "9 games between them"),
        (
            "cross = { error = 30 }",
            "matches between them until each difference is known to ± 30 Elo (at most 10000 games)",
        ),
        ("playoff = { places = 1, games = 8, los = 0.9 }", "1 playoff of at most 8 games"),
    ],
)
def test_what_a_season_plays_after_its_divisions(tmp_path: Path, rules: str, line: str) -> None:
    """Numbers of games that are fixed are shown, and otherwise what ends the matches."""
    assert read_league(league(tmp_path, rules)).section.after_divisions() == line


def test_a_stopped_season_ends_like_any_other(tmp_path: Path) -> None:
    """A season has the same tables if it is stopped after every few games, or if its tournaments play together."""
    whole, often, together = (tmp_path / name for name in ("whole", "often", "together"))
    for folder in (whole, often, together):
        folder.mkdir()
        league(folder, RULES if folder is together else RULES.replace("parallel = 2", "parallel = 1"))
        (folder / "suite.epd").write_text(BOOK.partition("\n")[0])  # all games are draws
    tour(whole, "run", "league.toml")
    codes = Counter[int]()
    while not codes[0]:
        codes[tour(often, "run", "league.toml", "--max-games", "2", expect=None).returncode] += 1
    assert codes.keys() == {0, 8}
    assert tables(often) == tables(whole)
    tour(together, "run", "league.toml")
    assert tables(together) == tables(whole)
    with Store.open(often / "results" / "enginetour.db", create=False) as store:
        assert len(seasons_of(store)) == 1


def test_a_rating_list_decides_the_first_divisions(tmp_path: Path) -> None:
    """The first season can begin in the order of a published list."""
    path = league(tmp_path, 'start = "list:all"', names=NAMES[:6])
    games = [(NAMES[at + 1], NAMES[at], "1-0") for at in range(5)] * 3  # the last of the file is the best
    (tmp_path / "old.pgn").write_text(pgn(*games))
    tour(tmp_path, "import", "old.pgn", "--name", "old")
    tour(tmp_path, "lists", "define", "all")
    tour(tmp_path, "publish", "all")
    tour(tmp_path, "run", path.name, "--max-games", "1", expect=8)
    assert book_of(tmp_path).season.divisions == (("Fay", "Eve", "Dot"), ("Cid", "Bea", "Ada"))


def test_a_game_is_voided_after_the_playoff_began(tmp_path: Path) -> None:
    """A voided game of a division is played again; a playoff that has begun keeps its engines."""
    league(tmp_path, "playoff = { games = 2 }")
    tour(tmp_path, "run", "league.toml", "--max-games", "10", expect=8)
    (before,) = book_of(tmp_path).playoffs
    assert before.log is not None
    tour(tmp_path, "void", "1", "-t", "Mini S1 First", "--why", "test")
    assert [stage.label for stage in book_of(tmp_path).playable()] == ["First"]
    tour(tmp_path, "run", "league.toml")
    (after,) = book_of(tmp_path).playoffs
    assert after.is_finished
    assert after.entrants == before.entrants
    assert not book_of(tmp_path).playable()


def test_a_qualifier_decides_all_places(tmp_path: Path) -> None:
    """A first season can begin with a qualifier; the divisions are then its table in order."""
    league(tmp_path, 'start = "qualifier"', names=NAMES[:6])
    tour(tmp_path, "run", "league.toml")
    book = book_of(tmp_path)
    assert book.qualifier is not None
    assert [*book.season.divisions[0], *book.season.divisions[1]] == [*book.qualifier.ranked]
    assert {stage.log.last_number for stage in book.divisions if stage.log} == {3, 6}


def test_playoffs_by_a_test_and_by_likelihood(tmp_path: Path) -> None:
    """A playoff can be a sequential test for the lower engine, or a match until a likelihood is reached."""
    for name, playoff in (("test", "sprt = { elo0 = 0, elo1 = 200 }"), ("los", "los = 0.9")):
        folder = tmp_path / name
        folder.mkdir()
        league(folder, f"playoff = {{ games = 4, {playoff} }}\npromote = 0")
        tour(folder, "run", "league.toml")
        (match,) = book_of(folder).playoffs
        assert match.is_finished
        lower, upper = match.entrants
        assert lower in book_of(folder).tables[1]
        assert upper in book_of(folder).tables[0]


def test_a_failing_engine_is_replaced_once(tmp_path: Path) -> None:
    """A reserve takes the place of a failing engine in a division; both divisions share the reserves.

    The failing engines do not come back in later seasons, and the reserve stays in its division.
    """
    path = league(tmp_path, "parallel = 2\nentries = 1", names=NAMES[:7])
    (tmp_path / "suite.epd").write_text(BOOK.partition("\n")[0])
    text = path.read_text()
    for name in ("Bea", "Eve"):
        protocol = "cecp" if name == "Bea" else "uci"
        text = text.replace(scripted(name, protocol), scripted(name, protocol, "--fault", "crash", "--at", "2"))
    text += "".join(f"{scripted(name, 'uci')}reserve = true\n" for name in ("Sub", "Two", "Tri"))
    path.write_text(f"{text}\n[quality]\ncrashes = 0\n")
    done = tour(tmp_path, "run", "league.toml", "--fail-on", "incidents", expect=None)
    first = book_of(tmp_path)
    present = [name for table in first.tables for name in table]
    assert len(present) == len(set(present)) == 6
    assert {"Bea", "Eve"} == set(first.result().left)
    reserves = set(present) & {"Sub", "Two", "Tri"}
    assert reserves == {"Sub", "Two"}
    assert done.returncode == 6, "--fail-on incidents"
    assert "left: 1 crash in 1 game, limit 0 per 100" in tour(tmp_path, "season").stdout
    for stage in first.divisions:
        assert stage.log is not None
        audited(stage.log)
        games = {line.games for line in stage.standings if line.name in stage.ranked}
        assert games == {2 * (stage.number + 1)}, "games against an engine that left do not count"
    for number in (2, 3):
        tour(tmp_path, "season", "next", "league.toml")
        book = book_of(tmp_path)
        assert book.stored.number == number
        assert set(book.season.engines) == {*NAMES[:7], "Sub", "Two"} - {"Bea", "Eve"}
        tour(tmp_path, "run", "league.toml")


def test_an_engine_that_leaves_a_match_between_divisions_leaves_the_league(tmp_path: Path) -> None:
    """Its place in the table stays until the season has ended; then it is free, and the engine does not come back."""
    league(tmp_path, "cross = { engines = 1 }")
    tour(tmp_path, "run", "league.toml", "--max-games", "10", expect=8)
    book = book_of(tmp_path)
    assert book.cross is not None
    assert book.cross.log is not None
    (name,) = {one.name for one in book.cross.log.entrants} & {*book.tables[0]}
    tour(tmp_path, "withdraw", name, "-t", "Mini S1 Cross", "--why", "it stalls")
    tour(tmp_path, "run", "league.toml")
    assert book_of(tmp_path).tables == book.tables
    assert re.search(rf"Premier +\d +{name} .* leaves: it stalls", tour(tmp_path, "season").stdout)
    assert re.search(rf"{name} +leaves +Premier +it stalls", tour(tmp_path, "season", "next", "league.toml").stdout)
    for _ in range(2):
        assert name not in book_of(tmp_path).season.engines
        tour(tmp_path, "run", "league.toml")
        tour(tmp_path, "season", "next", "league.toml")


@pytest.mark.parametrize(
    ("rules", "divisions", "names", "line"),
    [
        ("", DIVISIONS, NAMES[:5], "the divisions need 6 engines (found 5)"),
        ("promote = 2", DIVISIONS.replace("size = 3", "size = 3"), NAMES, "2 engines of First may move up and 2"),
        ("promote = [1, 1]", DIVISIONS, NAMES, "promote must be a number, or a list of 1 numbers"),
        ("", DIVISIONS.replace('"First"', '"premier"'), NAMES, "the name 'Premier' is given twice"),
        ("", DIVISIONS.replace('"roundrobin" }', '"robin" }'), NAMES, "league.toml:8: unknown format 'robin'"),
        ("", DIVISIONS.replace("max_moves = 90", "max_move = 90"), NAMES, "did you mean 'max_moves'"),
        ('new = "top"', DIVISIONS, NAMES, "'bottom', 'qualifier' or 'rating'"),
        ("playoff = { sprt = { elo0 = 0, elo1 = 5 }, los = 0.9 }", DIVISIONS, NAMES, "sprt and los exclude each other"),
        (
            "playoff = { sprt = { elo0 = 5, elo1 = 0 } }",
            DIVISIONS,
            NAMES,
            "league.playoff.sprt: elo0 must be below elo1",
        ),
        ("", DIVISIONS, (*NAMES[:6], "Ada"), "two entrants have the name 'Ada'"),
        ('start = "list:old"', DIVISIONS, NAMES, "list not found"),
        ('start = "rating"', DIVISIONS, NAMES, "Ada does not have a rating"),
        ('start = "qualifier"', DIVISIONS.replace('"roundrobin" }', '"swiss", rounds = 9 }'), NAMES, "rounds"),
        ("size = 3", DIVISIONS, NAMES, "unknown key 'league.size'"),
        ("", DIVISIONS.replace('"First"', '"cross"'), NAMES, "'cross' is the name of another tournament of a season"),
        ("", DIVISIONS.replace('"First"', '"Playoff Premier"'), NAMES, "'Playoff Premier' is the name of another"),
        ("", DIVISIONS.replace("max_moves = 90", "concurrency = 2"), NAMES, "concurrency is for the whole league"),
        (
            "parallel = 2",
            DIVISIONS.replace("max_moves = 90", "affinity = true"),
            NAMES,
            "league.toml:14: affinity = true needs parallel = 1 (found 2)",
        ),
        (
            "",
            DIVISIONS.replace('"roundrobin" }', '"gauntlet", seeds = ["Ada"] }'),
            NAMES,
            "seeds cannot name engines, because the engines of a division change",
        ),
    ],
)
def test_bad_files(tmp_path: Path, rules: str, divisions: str, names: tuple[str, ...], line: str) -> None:
    """A file with rules that do not fit is one line with its place, and nothing is written."""
    league(tmp_path, rules, divisions, names)
    done = tour(tmp_path, "run", "league.toml", expect=3)
    assert line in done.stderr
    assert "league.toml:" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ('replaces = "Zoe"', "Zoe cannot replace itself"),
        ('replaces = "Ada"\nreserve = true', "Zoe is a reserve, which has no place in the league"),
        ('replaces = "Ada"', "Zoe replaces an engine in the first season"),
    ],
)
def test_versions_that_do_not_fit(tmp_path: Path, more: str, line: str) -> None:
    """A new version that cannot take a place is one line with its place."""
    path = league(tmp_path)
    path.write_text(f"{path.read_text()}{scripted('Zoe', 'uci')}{more}\n")
    done = tour(tmp_path, "run", "league.toml", expect=3)
    assert line in done.stderr
    assert re.match(r"enginetour: league.toml:\d+: ", done.stderr)
    assert done.stderr.count("\n") == 1


def test_other_errors(tmp_path: Path) -> None:
    """Commands for tournaments, options of tournaments, and missing leagues are one line each."""
    path = league(tmp_path)
    assert "describes a league" in tour(tmp_path, "simulate", "league.toml", expect=3).stderr
    assert "not possible for a league" in tour(tmp_path, "run", "league.toml", "--new", expect=2).stderr
    path.write_text(
        "league = 3\n" + path.read_text().replace("[league]", "[play.tags]").replace("[[league.", "[[play.")
    )
    assert "league must be a table" in tour(tmp_path, "season", "next", "league.toml", expect=3).stderr
    path.write_text('[play]\ntc = "1+1"\n')
    assert "is not a league file" in tour(tmp_path, "season", "next", "league.toml", expect=3).stderr
    plain = tmp_path / "plain.toml"
    plain.write_text(
        '[tournament]\nname = "x"\n[format]\nsystem = "roundrobin"\n' + scripted("A", "uci") + 'replaces = "B"\n'
    )
    assert "replaces is only for a league" in tour(tmp_path, "run", "plain.toml", expect=3).stderr


def test_an_engine_that_plays_must_stay_in_the_file(tmp_path: Path) -> None:
    """An engine that is removed from the file during a season is one clear line, and so are changed divisions."""
    path = league(tmp_path)
    tour(tmp_path, "run", "league.toml", "--max-games", "1", expect=8)
    text = path.read_text()
    path.write_text(text.replace('"Eve"', '"Eva"'))
    assert "'Eve' plays in season 1 but is not an entrant" in tour(tmp_path, "run", "league.toml", expect=3).stderr
    path.write_text(text.replace('name = "First"', 'name = "Second"'))
    assert "divisions of Mini, season 1 cannot change" in tour(tmp_path, "run", "league.toml", expect=3).stderr
    path.write_text(text)
    tour(tmp_path, "run", "league.toml")


def test_a_time_of_the_wall_clock_ends_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the time of --stop-at is reached, no game starts: in a division, nor of a tournament after it."""
    monkeypatch.setattr("enginetour.tournament.league._CLOCK_S", 0.01)
    path = league(tmp_path, "promote = 1", DIVISIONS.replace('"roundrobin" }', '"roundrobin", cycles = 500 }'))
    now, lines = [100.0], list[str]()

    def show(event: Mapping[str, object]) -> None:
        if event["event"] == "game":
            now[0] = 200.0

    run = LeagueRun(
        read_league(path), tmp_path / "league.db", show, lines.append, force=True, until=200.0, clock=lambda: now[0]
    )
    assert run.play() is RunEnd.STOPPED
    assert sum("--stop-at reached, no new games" in line for line in lines) == 1
    with Store.open(tmp_path / "league.db", create=False) as store:
        assert 1 <= store.tournament("Mini S1 Premier").last_number < 1500
        assert not store.has("Mini S1 First")


def test_a_stop_during_the_last_game(tmp_path: Path) -> None:
    """A run that is stopped during the last game of the season has finished the season."""
    path = league(tmp_path, "promote = 0\nparallel = 2", names=NAMES[:6])
    (tmp_path / "suite.epd").write_text(BOOK.partition("\n")[0])

    def stop(event: Mapping[str, object]) -> None:
        counts[str(event["event"])] += 1
        if counts["game"] == 9:
            run.stop()

    counts = Counter[str]()
    run = LeagueRun(read_league(path), tmp_path / "results" / "enginetour.db", stop, print, 2)
    assert run.play() is RunEnd.FINISHED
    assert counts["game"] == 9
    assert not book_of(tmp_path).playable()


def test_a_stop_before_the_first_season(tmp_path: Path) -> None:
    """A stop while the engines are started for the first time ends the run, and nothing is written."""
    path = league(tmp_path)
    database = tmp_path / "results" / "enginetour.db"

    def stop() -> None:
        run.stop()
        raise Dropped

    run = LeagueRun(read_league(path), database, print, print)
    with pytest.raises(Dropped):
        begin_season(run.league, database, print, stop)
    assert run.play() is RunEnd.STOPPED
    assert not (tmp_path / "results").exists()


def test_the_next_season_is_written_during_a_run(tmp_path: Path) -> None:
    """A run ends with its season, although another command has written the next one before the run ended."""
    path = league(tmp_path, "promote = 0", names=NAMES[:6])
    (tmp_path / "suite.epd").write_text(BOOK.partition("\n")[0])
    database, seasons = tmp_path / "results" / "enginetour.db", list[int]()

    def begin_next(event: Mapping[str, object]) -> None:
        if (event["event"], event["tournament"]) == ("finished", "Mini S1 First"):
            seasons.append(begin_season(read_league(path), database, print))

    assert LeagueRun(read_league(path), database, begin_next, print).play() is RunEnd.FINISHED
    assert seasons == [2]
    assert [stage.log for stage in book_of(tmp_path).divisions] == [None, None]


def test_more_games_than_processors(tmp_path: Path) -> None:
    """The concurrent games of all tournaments together are limited by the number of processors."""
    league(tmp_path, "parallel = 2")
    done = tour(tmp_path, "run", "league.toml", "--concurrency", "500", expect=2)
    assert "500 concurrent games on" in done.stderr
    assert not (tmp_path / "results").exists()


def test_more_games_than_processors_on_request(tmp_path: Path) -> None:
    """A checked or forced request for more concurrent games is for the tournaments that begin later, too."""
    path = league(tmp_path, "promote = 1\nparallel = 1")

    def show(event: Mapping[str, object]) -> None:
        if event["event"] == "game":
            run.resize(len(os.sched_getaffinity(0)) + 1)

    run = LeagueRun(read_league(path), tmp_path / "results" / "enginetour.db", show, lambda _: None, concurrency=1)
    assert run.play() is RunEnd.FINISHED


def test_a_tournament_has_the_name(tmp_path: Path) -> None:
    """A tournament whose name a season needs is one line, and the season is not written."""
    path = league(tmp_path)
    quick(tmp_path, "Mini S1 First", "roundrobin", "")
    tour(tmp_path, "run", "Mini S1 First.toml", "--max-games", "1", expect=8)
    for words in (("run", path.name), ("season", "next", path.name)):
        done = tour(tmp_path, *words, expect=2)
        assert "tournament 'Mini S1 First' already exists" in done.stderr
    assert "does not contain a league" in tour(tmp_path, "season", expect=2).stderr


def test_a_file_that_changes_during_a_season(tmp_path: Path) -> None:
    """Rules of a season decide its end, although the file has others; what the season needs cannot be removed."""
    rules = "promote = 1\nplayoff = { games = 2 }\ncross = { engines = 1 }"
    path = league(tmp_path, rules)
    (tmp_path / "suite.epd").write_text(BOOK.partition("\n")[0])  # all games are draws
    tour(tmp_path, "run", "league.toml", "--max-games", "1", expect=8)
    text = path.read_text()
    for key in ("playoff", "cross"):
        path.write_text("\n".join(line for line in text.splitlines() if not line.startswith(key)))
        done = tour(tmp_path, "run", "league.toml", expect=3)
        assert f"[league.{key}] is missing, but Mini, season 1 began with it" in done.stderr
    path.write_text(text.replace("60+1", "50+1"))
    for command in ("run", "check"):
        done = tour(tmp_path, command, "league.toml", expect=5)
        assert "restore the value, or change it before the next season" in done.stderr
    path.write_text(text)
    tour(tmp_path, "run", "league.toml")
    path.write_text(text.replace("promote = 1\nplayoff = { games = 2 }", "promote = 0").replace('"First"', '"Second"'))
    tour(tmp_path, "season", "next", "league.toml")
    found = {move["engine"]: (move["source"], move["target"]) for move in read(tmp_path, "season")["moves"]}
    assert found["Cid"] == ("Premier", "Second")
    assert found["Dot"] == ("First", "Premier")
    assert book_of(tmp_path).rules.promote == (0,)


def test_divisions_are_added_and_removed(tmp_path: Path) -> None:
    """The next season has the divisions of the file; a season that has begun keeps its own."""
    path = league(tmp_path, "promote = 1", names=NAMES)
    (tmp_path / "suite.epd").write_text(BOOK.partition("\n")[0])  # all games are draws
    tour(tmp_path, "run", "league.toml", "--max-games", "1", expect=8)
    two = path.read_text()
    three = two + '[[league.divisions]]\nname = "Second"\nsize = 2\nformat = { system = "roundrobin" }\n'
    path.write_text(three)
    assert "the divisions of Mini, season 1 cannot change" in tour(tmp_path, "run", "league.toml", expect=3).stderr
    path.write_text(two)
    tour(tmp_path, "run", "league.toml")
    path.write_text(three)
    told = tour(tmp_path, "season", "next", "league.toml").stdout
    assert "season 2 of Mini is ready" in told
    assert book_of(tmp_path).season.divisions[2] == ("Gus", "Hal")
    tour(tmp_path, "run", "league.toml")
    path.write_text(two)
    assert "its division has been removed" in tour(tmp_path, "season", "next", "league.toml").stdout
    after = book_of(tmp_path).season
    assert (tuple(map(len, after.divisions)), len(after.waiting)) == ((3, 3), 2)


def test_a_version_of_an_unknown_engine(tmp_path: Path) -> None:
    """A new version that replaces an engine that has never been in the league is one line with its place."""
    path = league(tmp_path, names=NAMES[:6])
    (tmp_path / "suite.epd").write_text(BOOK.partition("\n")[0])
    tour(tmp_path, "run", "league.toml")
    path.write_text(f'{path.read_text()}{scripted("Zoe", "uci")}replaces = "Adda"\n')
    for words in (("check", path.name), ("season", "next", path.name)):
        done = tour(tmp_path, *words, expect=3)
        assert "Zoe replaces 'Adda', which has not been in the league, did you mean 'Ada'?" in done.stderr
        assert "league.toml:" in done.stderr


def test_too_few_engines_for_the_next_season(tmp_path: Path) -> None:
    """`check` and `season next` name the engines that left, also in earlier seasons, and the line of the file."""
    path = league(tmp_path, "promote = 0", names=NAMES)
    (tmp_path / "suite.epd").write_text(BOOK.partition("\n")[0])  # all games are draws
    tour(tmp_path, "run", "league.toml", "--max-games", "1", expect=8)
    tour(tmp_path, "withdraw", "Ada", "-t", "Mini S1 Premier", "--why", "it stalls")
    tour(tmp_path, "run", "league.toml")
    tour(tmp_path, "season", "next", "league.toml")
    tour(tmp_path, "run", "league.toml")
    text = path.read_text().replace('"Bea"', '"Ben"').replace(scripted("Eve", "uci"), "")
    path.write_text(text.replace(scripted("Gus", "uci"), "").replace(scripted("Hal", "cecp"), 'replaces = "Bea"\n'))
    for words in (("check", path.name), ("season", "next", path.name)):
        told = tour(tmp_path, *words, expect=3).stderr
        assert told.startswith("enginetour: league.toml:5: the divisions need 6 engines (found 4): ")
        assert "Eve left First (it is not an entrant of the league any more)" in told
        assert "Gus left Fi" in told
        assert "Ada left the league in an earlier season" in told


def test_requests_without_a_name_are_for_all_tournaments_of_a_season(tmp_path: Path) -> None:
    """`pause`, `status`, `unpause` and `finish` are for all tournaments of a league that are running."""
    many = DIVISIONS.replace('"roundrobin" }', '"roundrobin", cycles = 500 }').replace("cycles = 2", "cycles = 500")
    path = league(tmp_path, "promote = 1\nparallel = 2", many)
    titles, seen = {"Mini S1 Premier", "Mini S1 First"}, set[str]()

    def show(event: Mapping[str, object]) -> None:
        if event["event"] == "game":
            seen.add(str(event["tournament"]))

    ends = list[RunEnd]()
    run = LeagueRun(read_league(path), tmp_path / "results" / "enginetour.db", show, lambda _: None, force=True)
    playing = Thread(target=lambda: ends.append(run.play()))
    playing.start()
    try:
        until(lambda: len(seen) == 2)
        told = tour(tmp_path, "pause").stdout
        assert {line.partition(":")[0] for line in told.splitlines()} == titles  # a line for each
        assert told.count(": paused: no new games start") == 2
        shown = tour(tmp_path, "status").stdout
        assert all(f"{title} · paused" in shown for title in titles)
        answer = tour(tmp_path, "concurrency", "5", "--force").stdout
        assert answer == "concurrency 5 instead of 2, of all tournaments of the league\n"
        until(lambda: sorted(read(tmp_path, "status", title)["slots"] for title in titles) == [2, 3])
        found = read(tmp_path, "status")
        assert {found["tournament"], *found["also_running"]} == titles
        assert read(tmp_path, "status", "Mini S1 First")["tournament"] == "Mini S1 First"
        ended = read(tmp_path, "unpause")
        assert {*ended["said"].splitlines()} == {f"{title}: pause ended: games start again" for title in titles}
        assert "also_running" not in read(tmp_path, "status", "Mini S1 First")
        assert tour(tmp_path, "finish").stdout.count("stopping: no new games start") == 2
    finally:
        run.stop(now=True)
        playing.join()
    assert ends == [RunEnd.STOPPED]


@pytest.mark.parametrize("command", ["concurrency", "finish"])
def test_a_request_between_two_tournaments_waits_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A request while no tournament of a league is open is carried out by the next tournament."""
    path = league(tmp_path, "promote = 1\nparallel = 1")
    database = tmp_path / "results" / "enginetour.db"
    between, asked, ends = Event(), Event(), list[RunEnd]()
    start, ask = LeagueRun._start, TournamentChoice.ask_running

    def start_later(run: LeagueRun, stage: Stage, config: Config) -> None:
        if stage.label == "First":
            between.set()
            assert asked.wait(LONG_S)
        start(run, stage, config)

    def ask_running(*args: Any, **given: Any) -> Any:
        answers = ask(*args, **given)
        assert asked.is_set() or not answers
        asked.set()
        return answers

    monkeypatch.setattr(LeagueRun, "_start", start_later)
    run = LeagueRun(read_league(path), database, lambda _: None, lambda _: None, force=True)
    playing = Thread(target=lambda: ends.append(run.play()))
    playing.start()
    try:
        assert between.wait(LONG_S)
        with monkeypatch.context() as patched:
            patched.setattr(TournamentChoice, "ask_running", ask_running)
            told = tour(tmp_path, *((command,) if command == "finish" else (command, "5", "--force")))
        playing.join()
    finally:
        asked.set()
        run.stop(now=True)
        playing.join()
    if command == "finish":
        assert "stopping: no new games start" in told.stdout
        assert ends == [RunEnd.STOPPED]
    else:
        assert told.stdout == "concurrency 5 instead of 2, of all tournaments of the league\n"
        assert (run.slots, ends) == (5, [RunEnd.FINISHED])
    assert (
        "Mini S1 First is not running" in tour(tmp_path, command, *["5"][: command == "concurrency"], expect=2).stderr
    )


def test_concurrency_after_the_newest_tournament(tmp_path: Path) -> None:
    """`concurrency` finds the tournament that still plays after one that began later has ended."""
    many = DIVISIONS.replace('"roundrobin" }', '"roundrobin", cycles = 500 }')
    path = league(tmp_path, "promote = 1\nparallel = 2", many)
    ended = Event()

    def show(event: Mapping[str, object]) -> None:
        if (event["event"], event["tournament"]) == ("finished", "Mini S1 First"):
            ended.set()

    run = LeagueRun(read_league(path), tmp_path / "results" / "enginetour.db", show, lambda _: None, force=True)
    playing = Thread(target=run.play)
    playing.start()
    try:
        assert ended.wait(LONG_S)
        until(lambda: [one.stage.label for one in run._running] == ["Premier"])
        told = tour(tmp_path, "concurrency", "5", "--force").stdout
        assert told == "concurrency 5 instead of 2, of all tournaments of the league\n"
        refused = tour(tmp_path, "pause", "-t", "Mini S1 First", expect=2).stderr
        assert "Mini S1 First is not running. Hint: omit -t, because league Mini is running." in refused
    finally:
        run.stop(now=True)
        playing.join()


def test_a_second_run_of_a_league(tmp_path: Path) -> None:
    """A second run of a league is one line with the league and what to do, also between two tournaments."""
    path = league(tmp_path)
    tour(tmp_path, "run", path.name, "--max-games", "1", expect=8)
    with lock_of(tmp_path / "results" / "enginetour.db", run_name("Mini")):
        done = tour(tmp_path, "run", path.name, expect=5)
    assert f"enginetour: league Mini is already running: pid {os.getpid()} on " in done.stderr
    assert "Hint: wait until its season has ended, or end it with enginetour finish." in done.stderr
    with lock_of(tmp_path / "results" / "enginetour.db", "Mini S1 Premier"):
        done = tour(tmp_path, "run", path.name, expect=5)
    assert f"Mini S1 Premier is already running: pid {os.getpid()} on " in done.stderr
    assert "end it with enginetour finish -t 'Mini S1 Premier'" in done.stderr


def test_a_rejection_does_not_hide_the_answers_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """If only some tournaments of a season carry out a request, those are printed, and the others are the error."""
    answers = {"S1 A": {"ok": True, "said": "paused"}, "S1 B": refusal("has ended", 5), "S1 C": refusal("busy", 5)}

    def ask_running(
        chosen: TournamentChoice, *_: object, **__: object
    ) -> list[tuple[dict[str, Any], TournamentChoice]]:
        return [(answer, replace(chosen, name=name)) for name, answer in answers.items()]

    monkeypatch.setattr(TournamentChoice, "ask_running", ask_running)
    done = CliRunner().invoke(pause, standalone_mode=False)
    assert done.stdout == "S1 A: paused\n"
    assert isinstance(done.exception, TourError)
    assert (str(done.exception), done.exception.exit_code) == ("S1 B: has ended; S1 C: busy", 5)
    told = CliRunner().invoke(pause, ["--json"], standalone_mode=False)
    assert json.loads(told.stdout) | {"schema": 1} == {
        "schema": 1, "ok": False, "error": "S1 B: has ended; S1 C: busy", "exit": 5, "said": "S1 A: paused"
    }  # fmt: skip


def test_a_pause_in_the_last_game_of_a_division_lasts(tmp_path: Path) -> None:
    """A request to pause is for the season: the tournament after the present one begins with a pause."""
    path = league(tmp_path, "promote = 1\nparallel = 1")
    games, ends = Counter[str](), list[RunEnd]()

    def show(event: Mapping[str, object]) -> None:
        if event["event"] == "game":
            games[str(event["tournament"])] += 1
            if games == {"Mini S1 Premier": 3}:  # as if the request had come during this game
                (only,) = run._running
                assert only.run._scheduler is not None
                only.run._scheduler.paused = True

    run = LeagueRun(read_league(path), tmp_path / "results" / "enginetour.db", show, lambda _: None, force=True)
    playing = Thread(target=lambda: ends.append(run.play()))
    playing.start()
    try:
        until(lambda: [one.stage.label for one in run._running if one.run.state == "paused"] == ["First"])
        assert games == {"Mini S1 Premier": 3}
        until(lambda: "Mini S1 First · paused" in tour(tmp_path, "status").stdout)  # when its socket is there
        tour(tmp_path, "unpause")
        playing.join()
    finally:
        run.stop(now=True)
        playing.join()
    assert ends == [RunEnd.FINISHED]
    assert games == {"Mini S1 Premier": 3, "Mini S1 First": 6}


class _Scripted:
    """A run whose games have these results, by the name of the tournament; it stops as a real run does."""

    results: Mapping[str, str] = {}
    alone: Callable[..., bool] = bool

    def __init__(
        self, tournament: Tournament, *, on_event: Callable[..., object], max_games: GameLimit, **_: Any
    ) -> None:
        self.tournament, self.on_event, self.limit = tournament, on_event, max_games
        self.paused, self.is_stopped, self.cause = False, False, ""
        self.grace: float | None = None

    def stop(self, *, cause: str = "", grace: float | None = None, **_: Any) -> None:
        self.is_stopped, self.cause, self.grace = True, cause, grace

    def resize(self, _: int) -> None:
        pass

    def play(self) -> str:
        for result in self.results[self.tournament.name]:
            if result == "|":
                until(self.alone)
                continue
            if self.is_stopped:
                return "stopped"
            if not self.limit.begin():
                return "enough"
            self.limit.end(counts=result != "*")
            self.on_event({"event": "game", "tournament": self.tournament.name, "result": result})
        return "finished"


@pytest.mark.parametrize(
    ("parallel", "results", "played"),
    [
        (1, {"Premier": "*11*1", "First": "1111"}, {"Premier": "*11*1", "First": "11"}),
        (2, {"Premier": "111", "First": "|11111111"}, {"Premier": "111", "First": "11"}),
    ],
)
def test_a_number_of_games_is_that_of_all_tournaments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parallel: int, results: dict[str, str], played: dict[str, str]
) -> None:
    """With --max-games 5, five games of all tournaments together are played; void games do not count."""
    path = league(tmp_path, f"parallel = {parallel}")
    found = dict.fromkeys(results, "")

    def show(event: Mapping[str, object]) -> None:
        found[str(event["tournament"]).removeprefix("Mini S1 ")] += str(event["result"])

    run = LeagueRun(read_league(path), tmp_path / "league.db", show, print, max_games=5, force=True)
    begin_season(run.league, run.database, print)
    monkeypatch.setattr("enginetour.tournament.league.Run", _Scripted)
    monkeypatch.setattr(_Scripted, "results", {f"Mini S1 {name}": text for name, text in results.items()})
    monkeypatch.setattr(_Scripted, "alone", lambda _: len(run._running) == 1)
    playable = iter([run._playable()] if parallel == 2 else [[one] for one in run._playable()])
    monkeypatch.setattr(run, "_playable", lambda: next(playable, []))
    run.play()
    assert found == played


def test_a_number_of_games_includes_those_in_progress_in_all_tournaments(tmp_path: Path) -> None:
    """With --max-games 3, two tournaments at a time do not start a fourth game while three are in progress."""
    league(tmp_path, "parallel = 2")
    tour(tmp_path, "run", "league.toml", "--max-games", "3", expect=8)
    assert sum(audited(stage.log) for stage in book_of(tmp_path).stages() if stage.log) == 3


def test_a_number_of_games_is_the_cause_of_every_stop(tmp_path: Path) -> None:
    """Also a tournament that ends because another one played the last game names --max-games as the cause."""
    league(tmp_path, "parallel = 2")
    done = tour(tmp_path, "run", "league.toml", "--max-games", "5", expect=8)
    stops = [line for line in done.stderr.splitlines() if ": stopped, " in line]
    assert stops
    assert all(line.endswith(": max_games was reached") for line in stops), done.stderr


def test_only_a_signal_limits_the_time_of_games_in_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time of --stop-at, games are played to their end; after Ctrl-C, they have the time of `grace`."""
    now = [100.0]
    run = LeagueRun(
        *(read_league(league(tmp_path)), tmp_path / "league.db", print, print),
        force=True,
        until=200.0,
        clock=lambda: now[0],
    )
    begin_season(run.league, run.database, print)
    monkeypatch.setattr("enginetour.tournament.league.Run", _Scripted)
    monkeypatch.setattr(_Scripted, "results", {"Mini S1 Premier": "1"})
    run._start(*run._playable()[0])
    (playing,) = run._running
    playing.thread.join()
    scripted = cast("_Scripted", playing.run)
    now[0] = 200.0
    assert run._is_over()
    assert (scripted.is_stopped, scripted.cause, scripted.grace) == (True, "--stop-at", None)
    run.stop(has_grace=True, cause="SIGINT")
    assert (scripted.cause, scripted.grace) == ("--stop-at", 60.0)


def test_a_tournament_that_begins_during_a_stop_has_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stop can come from the thread of another tournament while this one is being started."""
    run = LeagueRun(read_league(league(tmp_path)), tmp_path / "league.db", print, print, force=True)
    begin_season(run.league, run.database, print)
    monkeypatch.setattr("enginetour.tournament.league.Run", _Scripted)
    monkeypatch.setattr(_Scripted, "results", {"Mini S1 Premier": "1"})
    run.stop(cause="SIGINT")
    run._start(*run._playable()[0])
    (playing,) = run._running
    playing.thread.join()
    assert cast("_Scripted", playing.run).cause == "SIGINT"


def test_shares() -> None:
    """Concurrent games are divided by weight, each tournament has one, and all are used."""
    assert shares(60, [1.0] * 6) == [10] * 6
    assert shares(5, [1.0, 1.0]) == [3, 2]
    assert shares(4, [3.0, 1.0]) == [3, 1]
    assert shares(2, [5.0, 0.1]) == [1, 1]
    assert shares(1, []) == []


def test_the_json_of_a_season(tmp_path: Path) -> None:
    """The JSON of a season has the engines with their zones, before and after the first game."""
    league(tmp_path, "promote = 1")
    tour(tmp_path, "run", "league.toml", "--max-games", "1", expect=8)
    found: dict[str, Any] = json.loads(tour(tmp_path, "season", "--json").stdout)
    assert [one["state"] for one in found["divisions"]][1] == "not begun"
    tour(tmp_path, "run", "league.toml")
    found = json.loads(tour(tmp_path, "season", "--json").stdout)
    zones = [[row["zone"] for row in one["table"]] for one in found["divisions"]]
    assert zones == [["", "", "relegation"], ["promotion", "", ""]]
