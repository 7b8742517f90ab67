"""Tests of store/imports."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from enginetour.cli.main import cli
from enginetour.interop.gamefilter import EngineNames
from enginetour.model.errors import StorageFailed, UsageRefused
from enginetour.model.game import Outcome
from enginetour.ratings.gor import CzechSettings, begin
from enginetour.ratings.incremental import RatedGame, rate
from enginetour.ratings.pentanomial import pair_half_points
from enginetour.reports.pgn import export_pgn
from enginetour.store import sqlite
from enginetour.store.definition import ListDefinition, define_list
from enginetour.store.games import head_to_head
from enginetour.store.imports import imports_of
from enginetour.store.lists import rate_selection
from enginetour.store.ratings import ratings_of, update_ratings
from enginetour.store.selection import select_games
from enginetour.store.tournaments import Store
from tests.support.databases import add_game, counted_pairs, draft, enter, game, meddled, open_log, record, rows
from tests.support.databases import invoke as databases_invoke
from tests.support.databases import pgn as databases_pgn

# Games of files in the store: all or none, each once, under the right engines; what commands make of an import.

TABLES = ("engines", "tournaments", "imports", "imported_games", "pair_counts")


FIELD = databases_pgn(
    ("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "1/2-1/2"), ("Fruit", "Rebel", "0-1"), ("Toga", "Toga", "1-0")
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ccrl.pgn"
    path.write_text(FIELD)
    return path


def test_games_enter_as_one_event(tmp_path: Path, file: Path) -> None:
    """With engines, counts, day and place of each, and every reference leads somewhere."""
    with Store.open(tmp_path / "x.db") as store:
        found = enter(store, file)
        assert (found.edition, found.games, found.duplicates, found.engines, found.new_engines) == (1, 3, 0, 3, 3)
        assert counted_pairs(store) == {
            ("Fruit", "Rebel"): (0, 0, 1),
            ("Fruit", "Toga"): (1, 0, 0),
            ("Toga", "Fruit"): (0, 1, 0),
        }
        assert list(store.database.integrity()) == []
        [line] = imports_of(store.database)
        assert (line.name, line.edition, line.games, line.engines, line.files) == ("CCRL", 1, 3, 3, (str(file),))
    games = rows(tmp_path / "x.db", "imported_games")
    assert [row[4:8] for row in games] == [
        (2, 20240201, "", 0),
        (1, 20240202, "", 0),
        (0, 20240203, "", 0),
    ]
    assert all(FIELD[row[8] :].startswith("[Event") for row in games)


def test_a_game_enters_once(tmp_path: Path, file: Path) -> None:
    """The same file brings nothing, a grown one the new games only, another name or packing does not matter."""
    with Store.open(tmp_path / "x.db") as store:
        enter(store, file)
        before = {table: rows(tmp_path / "x.db", table) for table in TABLES}
        again = enter(store, file, "other")
        assert (again.edition, again.games, again.duplicates) == (0, 0, 3)
        assert {table: rows(tmp_path / "x.db", table) for table in TABLES} == before
        file.write_bytes((FIELD + databases_pgn(("Rebel", "Toga", "1-0"))).replace("\n", "\r\n").encode())
        grown = enter(store, file)
        assert (grown.edition, grown.games, grown.duplicates, grown.new_engines) == (2, 1, 3, 0)
        assert sum(map(sum, counted_pairs(store).values())) == 4


def test_games_without_moves_keep_their_number(tmp_path: Path) -> None:
    """Three equal games are three; a file with five of them later brings two."""
    three = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n'
    path = tmp_path / "g.pgn"
    with Store.open(tmp_path / "x.db") as store:
        path.write_text(three * 3)
        assert enter(store, path).games == 3
        path.write_text(three * 5)
        found = enter(store, path)
    assert (found.games, found.duplicates) == (2, 3)


def test_our_own_exports_are_known(tmp_path: Path) -> None:
    """A game that was played here is not counted again; one of another machine under the same title is."""
    store, log = open_log(tmp_path / "x.db")
    path = tmp_path / "autumn.pgn"
    with store:
        for meeting, outcome in enumerate((Outcome.WHITE, Outcome.DRAW, Outcome.BLACK), 1):
            add_game(log, game(outcome=outcome, meeting=meeting))
        text = "".join(export_pgn(log))
        path.write_text(text)
        assert (enter(store, path).games, enter(store, path).duplicates) == (0, 3)
        path.write_text(text.replace("[Date", '[Annotator "x"]\n[Date'))
        assert enter(store, path).games == 0, "the moves and other tags may have been edited"
        path.write_text(text.replace('1.1"]', '1.9"]') + text.replace('GameStartTime "1970', 'GameStartTime "1971'))
        assert enter(store, path).games == 4


def test_names_and_aliases(tmp_path: Path, file: Path) -> None:
    """An imported name is a version of its own beside a fingerprinted one, and plain where it is alone."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game())
        enter(store, file, naming=EngineNames({"Rebel": "Rebel 6"}, exclude=["T*"]))
        assert counted_pairs(store) == {("Fruit [f1]", "Toga"): (1, 0, 0), ("Fruit [imported]", "Rebel 6"): (0, 0, 1)}
        assert store.tournament("CCRL").config["aliases"] == {"Rebel": "Rebel 6"}


@pytest.mark.parametrize("pages", [0, 3])
def test_a_full_disk_leaves_nothing(tmp_path: Path, pages: int) -> None:
    """Neither engines nor a part of the games; the same command brings all when there is room."""
    path = tmp_path / "g.pgn"
    path.write_text(databases_pgn(*[(f"E{number}", "B", "1-0") for number in range(500)]))
    with Store.open(tmp_path / "x.db") as store:
        with store.database.writing() as connection:
            most = int(connection.exec_driver_sql("PRAGMA page_count").scalar_one()) + pages
            connection.exec_driver_sql(f"PRAGMA max_page_count={most}")
        with pytest.raises(StorageFailed, match="disk is full"):
            enter(store, path)
        assert [rows(tmp_path / "x.db", table) for table in TABLES] == [[]] * len(TABLES)
        with store.database.writing() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1000000")
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
        assert enter(store, path).games == 500


def test_ctrl_c_leaves_nothing(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop in the middle of the rows is as if nothing had been asked."""

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with Store.open(tmp_path / "x.db") as store:
        monkeypatch.setattr(sqlite, "_statements", stopped)
        with pytest.raises(KeyboardInterrupt):
            enter(store, file)
        monkeypatch.undo()
        assert [rows(tmp_path / "x.db", table) for table in TABLES] == [[]] * len(TABLES)
        assert enter(store, file).games == 3


def test_rows_over_many_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is written once and in order, whatever their number."""
    monkeypatch.setattr(sqlite, "_ROWS_A_BLOCK", 2 * sqlite.ROWS_A_STATEMENT)
    connection = sqlite3.connect(":memory:")
    for count in (0, 1, 49, 50, 51, 230):
        connection.execute("CREATE TABLE t (a, b, c)")
        numbers = list(range(count))
        sqlite.fill(connection, "t", {"a": numbers, "b": 7, "c": [str(number) for number in numbers]})
        assert connection.execute("SELECT * FROM t ORDER BY rowid").fetchall() == [(n, 7, str(n)) for n in numbers]
        connection.execute("DROP TABLE t")
    connection.close()


def test_incremental_ratings_take_imports_in_their_place(tmp_path: Path, file: Path) -> None:
    """After the games that had been played by then, before those that came later."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game("Phalanx", "HoiChess"))
        enter(store, file)
        add_game(log, game("HoiChess", "Phalanx", meeting=2))
        assert update_ratings(store, "elo") == 10
        assert ratings_of(store, "elo")["Rebel"][1] == 1
        assert update_ratings(store, "elo") == 0
    events = rows(tmp_path / "x.db", "rating_events")
    assert [(bool(row[5]), bool(row[11])) for row in events] == [(True, False)] * 2 + [(False, True)] * 6 + [
        (True, False)
    ] * 2


def test_a_sequential_test_counts_imports_alone(tmp_path: Path, file: Path) -> None:
    """Where their file tells no opening no two of them make a pair, and there is nothing to be said of it."""
    with Store.open(tmp_path / "x.db") as store:
        enter(store, file)
        met = head_to_head(store.database, "Fruit", "Toga")
    assert [points for _, points in met.games] == [2, 1]
    assert (pair_half_points(met.games), dict(met.unopened)) == ([], {})


def test_names_of_tournaments_and_imports_are_apart(tmp_path: Path, file: Path) -> None:
    """An import takes no tournament's name, a tournament no import's; the newest tournament is never an import."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        with pytest.raises(UsageRefused, match="played here"):
            enter(store, file, "autumn")
        enter(store, file)
        with pytest.raises(UsageRefused, match="is an import"):
            store.create_tournament(draft("CCRL"))
        assert store.tournament().title == log.title
        assert not store.has("CCRL")
        assert [summary.name for summary in store.tournaments()] == ["autumn"]


def test_import_and_imports(tmp_path: Path, file: Path) -> None:
    """Told in one line, as JSON, and listed afterwards; a dry run writes nothing at all."""
    dry = databases_invoke(tmp_path, "import", file, "--dry-run")
    assert "ccrl: 3 games would be imported, 0 are there already; 3 engines, 3 of them new" in dry.output
    assert not (tmp_path / "x.db").exists()
    done = databases_invoke(tmp_path, "import", file)
    assert "ccrl: 3 games imported, 0 were there already; 3 engines, 3 of them new" in done.output
    assert "games left out: 1 of an engine against itself" in done.output
    again = databases_invoke(tmp_path, "import", file)
    assert (again.exit_code, "nothing new: all 3 games" in again.output) == (0, True)
    file.write_text(FIELD + databases_pgn(("New", "Toga", "1-0")))
    told = json.loads(databases_invoke(tmp_path, "import", file, "--dry-run", "--json").stdout)
    assert (told["games"], told["duplicates"], told["dry_run"], told["left_out"]["alone"]) == (1, 3, True, 1)
    listed = json.loads(databases_invoke(tmp_path, "imports", "--json").stdout)
    assert [(line["name"], line["games"], line["files"]) for line in listed] == [("ccrl", 3, [str(file)])]
    assert "ccrl" in databases_invoke(tmp_path, "imports").output


def test_an_import_notes_what_rate_notes(tmp_path: Path) -> None:
    """Results left out with a line, unusual spellings, contradictions and names in two Unicode forms."""
    cases = Path(__file__).parents[1] / "cases" / "lists"
    text = databases_invoke(tmp_path, "import", cases / "results.pgn").stdout.replace(f"{cases}/", "")
    assert "results: 9 games imported" in text
    assert "1 with result 0-0 (results.pgn:61)" in text
    assert "1 '1:0' (results.pgn:71)" in text
    found = json.loads(databases_invoke(tmp_path, "import", cases / "mismatch.pgn", "--json").stdout)
    assert (found["games"] + found["duplicates"], found["contradicted"]) == (2, 3)
    assert found["left_out"]["others"] == {"*": 1}
    assert "Müller 1.0" in databases_invoke(tmp_path, "import", cases / "nfd.pgn").stdout
    assert "2 games imported" in databases_invoke(tmp_path, "import", cases / "multiline_tag.pgn").stdout
    assert "2 games imported" in databases_invoke(tmp_path, "import", cases / "space.pgn").stdout
    names = {
        line["name"] for line in json.loads(databases_invoke(tmp_path, "ratings", "--all", "--json").stdout)["list"]
    }
    assert names == {"A", "B", "M\N{LATIN SMALL LETTER U WITH DIAERESIS}ller 1.0"}


def test_each_event_is_a_tournament(tmp_path: Path) -> None:
    """In the order of their first games; games without an Event tag are of the file's name. None is counted again."""
    path = tmp_path / "club.pgn"
    spring, autumn = (
        databases_pgn(("A", "B", "1-0"), ("B", "A", "1-0"), event="spring"),
        databases_pgn(("A", "C", "0-1"), event="autumn  2"),
    )
    nameless = databases_pgn(("C", "B", "1/2-1/2"), event="?")
    path.write_text(autumn + spring + nameless + autumn.replace("2024.02.01", "2024.02.03"))
    dry = databases_invoke(tmp_path, "import", path, "--by-event", "--dry-run").stdout
    assert "autumn 2: 2 games would be imported, 0 are there already; 2 engines, 2 of them new" in dry
    assert "spring: 2 games would be imported, 0 are there already; 2 engines, 1 of them new" in dry
    told = json.loads(databases_invoke(tmp_path, "import", path, "--by-event", "--json").stdout)
    assert [(one["name"], one["edition"], one["games"]) for one in told["events"]] == [
        *(("autumn 2", 1, 2), ("spring", 1, 2), ("club", 1, 1))
    ]
    again = databases_invoke(tmp_path, "import", path, "--by-event").stdout
    assert [line.split(":")[0] for line in again.splitlines()] == ["autumn 2", "spring", "club"]
    assert again.count("nothing new") == 3
    path.write_text(autumn + databases_pgn(("A", "B", "0-1"), event="spring"))
    assert "spring #2: 1 game imported" in databases_invoke(tmp_path, "import", path, "--by-event").stdout


def test_a_tournament_is_rated_with_the_ratings_before_it(tmp_path: Path) -> None:
    """All its games count with them, wherever they are in the file; an import of one event is rated as a whole."""
    games = [("A", "B", "1-0", "x"), ("B", "C", "1-0", "y"), ("A", "C", "1-0", "x"), ("A", "B", "0-1", "y")]
    path = tmp_path / "club.pgn"
    path.write_text("".join(databases_pgn(game[:3], event=game[3]) for game in games))
    points = {"1-0": 2, "0-1": 0}
    for words, event in ((("--by-event",), None), ((), "all")):
        db = tmp_path / (event or "each")
        db.mkdir()
        databases_invoke(db, "import", path, *words)
        found = json.loads(databases_invoke(db, "ratings", "--all", "--system", "gor", "--json").stdout)["list"]
        rated = [
            RatedGame(white, black, points[result], number, event or own)
            for number, (white, black, result, own) in enumerate(games, 1)
        ]
        wanted = {one.engine: one.after for one in rate(rated, begin(CzechSettings(), {}))}
        assert {row["name"]: row["rating"] for row in found} == pytest.approx(wanted, abs=1e-6), words


def test_events_that_cannot_be_tournaments(tmp_path: Path, played: Path) -> None:
    """Nothing is written where one has the name of a tournament that was played here; long names are cut."""
    played.write_text(
        databases_pgn(("A", "B", "1-0"), event="cup") + databases_pgn(("Fruit", "Toga", "1-0"), event="club")
    )
    assert "'club' is a tournament that was played here" in str(
        databases_invoke(tmp_path, "import", played, "--by-event").exception
    )
    assert json.loads(databases_invoke(tmp_path, "imports", "--json").stdout) == []
    played.write_text(
        databases_pgn(("A", "B", "1-0"), event="x" * 99) + databases_pgn(("A", "B", "0-1"), event="a\x07b")
    )
    told = json.loads(databases_invoke(tmp_path, "import", played, "--by-event", "--json").stdout)
    assert [one["name"] for one in told["events"]] == ["x" * 64, "a b"]
    assert databases_invoke(tmp_path, "import", "--list", "--by-event").exit_code == 2


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A store where Fruit and Toga played, with a list that Toga anchors, and a file with their names."""
    with Store.open(tmp_path / "x.db") as store:
        log = store.create_tournament(draft("club", ("Fruit", "Toga"), "f1"))
        record(log, "Fruit", "Toga")
        record(log, "Toga", "Fruit")
        define_list(store, "main", ListDefinition(anchors={"Toga": 2700.0}))
    path = tmp_path / "more.pgn"
    path.write_text(databases_pgn(("Fruit", "Toga", "1-0"), ("Rebel", " Toga", "1/2-1/2")))
    return path


def test_names_of_engines_that_are_there_are_warned_of(tmp_path: Path, played: Path) -> None:
    """And anchors that are ambiguous by them, by a dry run too; a second import creates no engine."""
    for words in (("--dry-run",), ()):
        done = databases_invoke(tmp_path, "import", played, *words)
        assert "warning: other engines of this store have the same name" in done.stderr
        assert "versions: Fruit, Toga. Hint: --match-names" in done.stderr
        assert "warning: the anchor Toga of the list main is now ambiguous" in done.stderr
    assert "Toga' has several versions" in str(databases_invoke(tmp_path, "ratings", "main").exception)
    told = json.loads(databases_invoke(tmp_path, "import", played, "--name", "again", "--json").stdout)
    assert (told["namesakes"], told["anchors"]) == ([], [])


def test_match_names_merges_names(tmp_path: Path, played: Path) -> None:
    """The games count for the engine that is there: no second version, no ambiguous anchor, nothing twice."""
    told = json.loads(databases_invoke(tmp_path, "import", played, "--match-names", "--json").stdout)
    assert (told["new_engines"], told["namesakes"], told["matched"]) == (1, [], ["Fruit", "Toga"])
    found = json.loads(databases_invoke(tmp_path, "ratings", "main", "--json").stdout)
    assert {row["name"]: row["games"] for row in found["list"]} == {"Fruit": 3, "Toga": 4, "Rebel": 1}
    assert found["anchors"] == {"Toga": 2700}
    assert "nothing new" in databases_invoke(tmp_path, "import", played, "--match-names").stdout
    assert "has the name: Fruit" not in databases_invoke(tmp_path, "import", played).stdout
    with Store.open(tmp_path / "x.db") as store:
        record(store.create_tournament(draft("cup", ("Fruit", "Toga"), "f2")), "Fruit", "Toga")
    played.write_text(databases_pgn(("Toga", "Fruit", "0-1")))
    done = databases_invoke(tmp_path, "import", played, "--match-names")
    assert "several engines of this store have the name, so these are counted apart: Fruit, Toga" in done.stderr
    assert databases_invoke(tmp_path, "import", "--list", "--match-names").exit_code == 2


def test_lists_count_imports(tmp_path: Path, file: Path) -> None:
    """The whole store's list and the import's own; with an anchor, and by an incremental system."""
    databases_invoke(tmp_path, "import", file)
    for words in (
        ("--all",),
        ("-t", "ccrl"),
        ("-t", "ccrl", "--anchor", "Toga=2500"),
        ("-t", "ccrl", "--system", "elo"),
    ):
        found = json.loads(databases_invoke(tmp_path, "ratings", *words, "--json").stdout)
        assert {row.get("name") or row["engine"] for row in found["list"]} == {"Fruit", "Toga", "Rebel"}


@pytest.mark.parametrize(
    "words",
    [("status",), ("standings",), ("crosstable",), ("ladder",), ("games",), ("export", "pgn"), ("withdraw", "Fruit")],
)
def test_what_an_import_has_not_is_refused(tmp_path: Path, file: Path, words: tuple[str, ...]) -> None:
    """In one line that names the command for what it has."""
    databases_invoke(tmp_path, "import", file, "--name", "my games")
    done = CliRunner().invoke(cli, [*words, "-t", "my games", "--db", str(tmp_path / "x.db")])
    assert isinstance(done.exception, UsageRefused)
    assert "enginetour ratings -t 'my games'" in str(done.exception)


def test_refusals_leave_no_database(tmp_path: Path, file: Path) -> None:
    """A pattern nobody answers to, a file without a game that counts, an empty name."""
    (tmp_path / "open.pgn").write_text(databases_pgn(("A", "B", "*")))
    for words in ((file, "--include", "Frit*"), (tmp_path / "open.pgn",), (file, "--name", " ")):
        done = databases_invoke(tmp_path, "import", *words)
        assert done.exception is not None
        assert not (tmp_path / "x.db").exists()


def test_best_versions_of_imported_names(tmp_path: Path) -> None:
    """Files tell no families: the name without its version is one, and the list says so."""
    path = tmp_path / "g.pgn"
    path.write_text(databases_pgn(*[("Toga II 1.4", "Rebel 6", "1-0"), ("Rebel 6", "Toga II 3.0", "1/2-1/2")] * 3))
    with Store.open(tmp_path / "x.db") as store:
        enter(store, path)
        found = rate_selection(store, select_games(store, ListDefinition(best_of_family=True)))
    assert [row.name for row in found.rows] == ["Toga II 1.4", "Rebel 6"]
    assert "the name without its version" in found.caption[-1]


def test_a_store_of_imports_alone_says_where_its_games_are(tmp_path: Path, file: Path) -> None:
    """Whoever imported a collection and asks for the table is not told that nothing is there."""
    with Store.open(tmp_path / "t.db") as store:
        enter(store, file)
        with pytest.raises(UsageRefused, match="no tournament yet") as refused:
            store.tournament()
    assert "enginetour ratings --all" in str(refused.value)


# Pairs of imported games on one opening: beside tournaments, over several imports, and where none were kept.

BOOK = "1. e4 {book} c5 {book} 2. Nf3 {+0.1/9 1s}"
WORDS = ("ratings", "--all", "--sprt", "Fruit", "Toga", "0", "5")


def pgn(*games: tuple[str, str, str]) -> str:
    """White, Black, result a game, all on one opening, each with a round of its own."""
    return "".join(
        f'[Event "E"]\n[Round "{number}"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n'
        f"{BOOK} {result}\n\n"
        for number, (white, black, result) in enumerate(games)
    )


def invoke(folder: Path, *words: object) -> Result:
    line = [*map(str, words), "--db", str(folder / "x.db")]
    return CliRunner().invoke(cli, line, catch_exceptions=False)


def pairs_in(folder: Path) -> tuple[list[int], dict[str, int]]:
    with Store.open(folder / "x.db", readonly=True) as store:
        met = head_to_head(store.database, "Fruit", "Toga")
    return pair_half_points(met.scheduled), dict(met.unopened)


def test_pairs_of_a_file_that_grows_and_goes(tmp_path: Path) -> None:
    """The partner may come with a later import; one that is struck out takes its games along."""
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("Fruit", "Toga", "1-0")))
    invoke(tmp_path, "import", path)
    assert pairs_in(tmp_path)[0] == []
    path.write_text(pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "1/2-1/2"), ("Toga", "Fruit", "1-0")))
    invoke(tmp_path, "import", path)
    assert pairs_in(tmp_path)[0] == [3]
    invoke(tmp_path, "import", "--remove", "g #1")
    assert pairs_in(tmp_path)[0] == []
    assert "1 game imported" in invoke(tmp_path, "import", path).output
    assert pairs_in(tmp_path)[0] == [3]


def test_pairs_beside_a_tournament(tmp_path: Path) -> None:
    """Games of a tournament are pairs by their schedule, those of files among themselves."""
    store, log = open_log(tmp_path / "x.db")
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "0-1")))
    with store:
        for meeting in (1, 2):
            add_game(log, game("Fruit", "Toga", Outcome.BLACK, meeting=meeting, leg=1))
        invoke(tmp_path, "import", path)
        add_game(log, game("Toga", "Fruit", Outcome.DRAW, meeting=1, leg=2))
    assert pairs_in(tmp_path)[0] == [1, 4]


def test_an_import_that_kept_no_openings_is_told(tmp_path: Path) -> None:
    """Of a database of before: its games stand alone, and the note says what brings their pairs."""
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "0-1")))
    invoke(tmp_path, "import", path, "--name", "my games")
    assert "counted one by one" not in invoke(tmp_path, *WORDS).output
    meddled(tmp_path / "x.db", "UPDATE imported_games SET opening_key = NULL")
    assert pairs_in(tmp_path) == ([], {"my games": 2})
    told = " ".join(invoke(tmp_path, *WORDS).output.split())
    assert "2 games of my games counted one by one: no openings were kept then" in told
    assert json.loads(invoke(tmp_path, *WORDS, "--json").stdout)["openings_not_kept"] == {"my games": 2}
    invoke(tmp_path, "import", "--remove", "my games")
    invoke(tmp_path, "import", path, "--name", "my games")
    assert pairs_in(tmp_path) == ([4], {})


def test_pairs_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    """As a test of the file looks at them: the pair that is complete first, though the other one began before it."""
    path = tmp_path / "g.pgn"
    outer = pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "0-1"))
    middle = outer.rindex("[Event")
    inner = pgn(("Fruit", "Toga", "0-1"), ("Toga", "Fruit", "1-0")).replace("c5", "e5")
    path.write_text(outer[:middle] + inner + outer[middle:])
    invoke(tmp_path, "import", path)
    assert pairs_in(tmp_path)[0] == [0, 4]
