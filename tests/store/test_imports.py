"""Tests of importing games."""

from __future__ import annotations

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
from tests.support.tournaments import tour, unwrapped, usage_error

# Games of files and the commands for imports.

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
    """An import stores engines, counts, date and place of each game, with valid references."""
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
    """Games that are already imported are skipped, whatever the file's name or compression."""
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


@pytest.mark.parametrize("cut", [-5, -11, -12])
def test_a_copied_part_of_a_file_counts_no_game_twice(tmp_path: Path, file: Path, cut: int) -> None:
    """A last game that breaks off is left out with a message, and counts when the whole file is imported."""
    part = tmp_path / "part.pgn"
    part.write_text(databases_pgn(("Fruit", "Toga", "1-0"), ("Toga", "Rebel", "1-0"))[:cut])
    found = invoke(tmp_path, "import", part)
    assert found.exit_code == 0, found.output
    assert "1 game imported" in found.stdout and "games left out: 1 broken" in found.stdout
    assert f"{part}: the last game breaks off before its result" in found.stderr
    part.write_text(databases_pgn(("Fruit", "Toga", "1-0"), ("Toga", "Rebel", "1-0")))
    whole = invoke(tmp_path, "import", part)
    assert "1 game imported, 1 duplicate;" in whole.stdout


@pytest.mark.parametrize("end", ["1-0", "1-0\n\x1a", "1/2 {agreed}\n", "* ; adjourned", "1-0 {a\nb}\n% more follows\n"])
def test_a_file_with_its_last_result_is_whole(tmp_path: Path, end: str) -> None:
    """A result ends a file, also before a comment or a line with a percent sign."""
    path = tmp_path / "g.pgn"
    moves = f"1. e4 {{+0.3/9 1s}} e5 {end}"
    path.write_text(databases_pgn(("Fruit", "Toga", "1-0")) + f'[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n{moves}')
    found = invoke(tmp_path, "import", path)
    assert "2 games imported" in found.stdout, found.output
    assert "broken" not in found.output


def test_a_file_without_results_after_the_moves_is_whole(tmp_path: Path) -> None:
    """Some programs write the result only as a tag, after all games of a file."""
    path = tmp_path / "g.pgn"
    path.write_text("".join(f'[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. {move} e5\n\n' for move in ("e4", "d4")))
    found = invoke(tmp_path, "import", path)
    assert "2 games imported" in found.stdout, found.output


@pytest.mark.parametrize(
    ("end", "games"), [("1. e4 e5\n", 1), ("1. e4 e5\r\n\r\n", 1), ("1. e4 e5\n\x1a", 1), ("1. e4 e", 0)]
)
def test_a_single_game_without_a_result_is_whole_if_its_last_line_ends(tmp_path: Path, end: str, games: int) -> None:
    """No other game shows how its program ends games. A cut file ends within a line, except in one of 80 cases."""
    path = tmp_path / "g.pgn"
    path.write_text(f'[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n{end}', newline="")
    found = tour(tmp_path, "import", str(path), expect=0 if games else 3)
    assert ("1 game imported" in found.stdout) == bool(games)
    hint = "import the file again when it is complete, or add its result after the moves"
    assert (hint in found.stderr) == (not games)


def test_games_without_moves_keep_their_number(tmp_path: Path) -> None:
    """Equal games without moves are counted: five after three bring two."""
    three = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n'
    path = tmp_path / "g.pgn"
    with Store.open(tmp_path / "x.db") as store:
        path.write_text(three * 3)
        assert enter(store, path).games == 3
        path.write_text(three * 5)
        found = enter(store, path)
    assert (found.games, found.duplicates) == (2, 3)


def test_our_own_exports_are_known(tmp_path: Path) -> None:
    """An exported game of this database is a duplicate; a game of another machine with the same title is not."""
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
    """An imported name is a separate version; it has no mark if it is the only one with games."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        add_game(log, game())
        enter(store, file, naming=EngineNames({"Rebel": "Rebel 6"}, exclude=["T*"]))
        assert counted_pairs(store) == {("Fruit [f1]", "Toga"): (1, 0, 0), ("Fruit [imported]", "Rebel 6"): (0, 0, 1)}
        assert store.tournament("CCRL").config["aliases"] == {"Rebel": "Rebel 6"}


@pytest.mark.parametrize("pages", [0, 3])
def test_a_full_disk_leaves_nothing(tmp_path: Path, pages: int) -> None:
    """A failed import writes nothing, and can be repeated."""
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
    """An interrupted import writes nothing."""

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with Store.open(tmp_path / "x.db") as store:
        monkeypatch.setattr(sqlite, "_parameters", stopped)
        with pytest.raises(KeyboardInterrupt):
            enter(store, file)
        monkeypatch.undo()
        assert [rows(tmp_path / "x.db", table) for table in TABLES] == [[]] * len(TABLES)
        assert enter(store, file).games == 3


def test_rows_over_many_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is written once and in order, whatever their number is."""
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
    """Imported games are rated after the games before them and before later games."""
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
    """Without openings in the file, imported games form no pairs."""
    with Store.open(tmp_path / "x.db") as store:
        enter(store, file)
        met = head_to_head(store.database, "Fruit", "Toga")
    assert [points for _, points in met.games] == [2, 1]
    assert (pair_half_points(met.games), dict(met.unopened)) == ([], {})


def test_names_of_tournaments_and_imports_are_apart(tmp_path: Path, file: Path) -> None:
    """Tournaments and imports cannot share a name; the newest tournament is never an import."""
    store, log = open_log(tmp_path / "x.db")
    with store:
        with pytest.raises(UsageRefused, match="a tournament 'autumn' already exists"):
            enter(store, file, "autumn")
        enter(store, file)
        with pytest.raises(UsageRefused, match="an import 'CCRL' already exists"):
            store.create_tournament(draft("CCRL"))
        assert store.tournament().title == log.title
        assert not store.has("CCRL")
        assert [summary.name for summary in store.tournaments()] == ["autumn"]


def test_import_and_imports(tmp_path: Path, file: Path) -> None:
    """The result is one line or JSON, `imports` lists it, and a dry run writes nothing."""
    dry = databases_invoke(tmp_path, "import", file, "--dry-run")
    assert "ccrl: 3 games would be imported, 0 duplicates; 3 engines, 3 of them new" in dry.output
    assert not (tmp_path / "x.db").exists()
    done = databases_invoke(tmp_path, "import", file)
    assert "ccrl: 3 games imported, 0 duplicates; 3 engines, 3 of them new" in done.output
    assert "games left out: 1 of an engine against itself" in done.output
    again = databases_invoke(tmp_path, "import", file)
    assert (again.exit_code, "nothing new: all 3 games" in again.output) == (0, True)
    file.write_text(FIELD + databases_pgn(("New", "Toga", "1-0")))
    told = unwrapped(databases_invoke(tmp_path, "import", file, "--dry-run", "--json").stdout)
    assert (told["games"], told["duplicates"], told["dry_run"], told["left_out"]["alone"]) == (1, 3, True, 1)
    listed = unwrapped(databases_invoke(tmp_path, "imports", "--json").stdout)
    assert [(line["name"], line["games"], line["files"]) for line in listed] == [("ccrl", 3, [str(file)])]
    assert "ccrl" in databases_invoke(tmp_path, "imports").output


def test_an_import_notes_what_rate_notes(tmp_path: Path) -> None:
    """An import reports skipped results, unusual spellings and contradictions as `rate` does."""
    cases = Path(__file__).parents[1] / "cases" / "lists"
    text = databases_invoke(tmp_path, "import", cases / "results.pgn").stdout.replace(f"{cases}/", "")
    assert "results: 9 games imported" in text
    assert "1 with result 0-0 (results.pgn:61)" in text
    assert "1 '1:0' (results.pgn:71)" in text
    found = unwrapped(databases_invoke(tmp_path, "import", cases / "mismatch.pgn", "--json").stdout)
    assert (found["games"] + found["duplicates"], found["contradicted"]) == (2, 3)
    assert found["left_out"]["others"] == {"*": 1}
    assert "Müller 1.0" in databases_invoke(tmp_path, "import", cases / "nfd.pgn").stdout
    assert "2 games imported" in databases_invoke(tmp_path, "import", cases / "multiline_tag.pgn").stdout
    assert "2 games imported" in databases_invoke(tmp_path, "import", cases / "space.pgn").stdout
    names = {
        line["name"] for line in unwrapped(databases_invoke(tmp_path, "ratings", "--all", "--json").stdout)["list"]
    }
    assert names == {"A", "B", "M\N{LATIN SMALL LETTER U WITH DIAERESIS}ller 1.0"}


def test_each_event_is_a_tournament(tmp_path: Path) -> None:
    """With --by-event, each Event tag is a tournament; games without the tag get the name of the file."""
    path = tmp_path / "club.pgn"
    spring, autumn = (
        databases_pgn(("A", "B", "1-0"), ("B", "A", "1-0"), event="spring"),
        databases_pgn(("A", "C", "0-1"), event="autumn  2"),
    )
    nameless = databases_pgn(("C", "B", "1/2-1/2"), event="?")
    path.write_text(autumn + spring + nameless + autumn.replace("2024.02.01", "2024.02.03"))
    dry = databases_invoke(tmp_path, "import", path, "--by-event", "--dry-run").stdout
    assert "autumn 2: 2 games would be imported, 0 duplicates; 2 engines, 2 of them new" in dry
    assert "spring: 2 games would be imported, 0 duplicates; 2 engines, 1 of them new" in dry
    told = unwrapped(databases_invoke(tmp_path, "import", path, "--by-event", "--json").stdout)
    assert [(one["name"], one["edition"], one["games"]) for one in told["events"]] == [
        *(("autumn 2", 1, 2), ("spring", 1, 2), ("club", 1, 1))
    ]
    again = databases_invoke(tmp_path, "import", path, "--by-event").stdout
    assert [line.split(":")[0] for line in again.splitlines()] == ["autumn 2", "spring", "club"]
    assert again.count("nothing new") == 3
    path.write_text(autumn + databases_pgn(("A", "B", "0-1"), event="spring"))
    assert "spring #2: 1 game imported" in databases_invoke(tmp_path, "import", path, "--by-event").stdout


def test_a_tournament_is_rated_with_the_ratings_before_it(tmp_path: Path) -> None:
    """An event is rated as a whole with the ratings before it."""
    games = [("A", "B", "1-0", "x"), ("B", "C", "1-0", "y"), ("A", "C", "1-0", "x"), ("A", "B", "0-1", "y")]
    path = tmp_path / "club.pgn"
    path.write_text("".join(databases_pgn(game[:3], event=game[3]) for game in games))
    points = {"1-0": 2, "0-1": 0}
    for words, event in ((("--by-event",), None), ((), "all")):
        db = tmp_path / (event or "each")
        db.mkdir()
        databases_invoke(db, "import", path, *words)
        found = unwrapped(databases_invoke(db, "ratings", "--all", "--system", "gor", "--json").stdout)["list"]
        rated = [
            RatedGame(white, black, points[result], number, event or own)
            for number, (white, black, result, own) in enumerate(games, 1)
        ]
        wanted = {one.engine: one.after for one in rate(rated, begin(CzechSettings(), {}))}
        assert {row["name"]: row["rating"] for row in found} == pytest.approx(wanted, abs=1e-6), words


def test_events_that_cannot_be_tournaments(tmp_path: Path, played: Path) -> None:
    """An event with the name of a played tournament is an error; long names are cut."""
    played.write_text(
        databases_pgn(("A", "B", "1-0"), event="cup") + databases_pgn(("Fruit", "Toga", "1-0"), event="club")
    )
    assert "a tournament 'club' already exists" in str(
        databases_invoke(tmp_path, "import", played, "--by-event").exception
    )
    assert unwrapped(databases_invoke(tmp_path, "imports", "--json").stdout) == []
    played.write_text(
        databases_pgn(("A", "B", "1-0"), event="x" * 99) + databases_pgn(("A", "B", "0-1"), event="a\x07b")
    )
    told = unwrapped(databases_invoke(tmp_path, "import", played, "--by-event", "--json").stdout)
    assert [one["name"] for one in told["events"]] == ["x" * 64, "a b"]
    assert usage_error(databases_invoke(tmp_path, "import", "--list", "--by-event"))


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A database with games of Fruit and Toga, a list with Toga as anchor, and a file with the same names."""
    with Store.open(tmp_path / "x.db") as store:
        log = store.create_tournament(draft("club", ("Fruit", "Toga"), "f1"))
        record(log, "Fruit", "Toga")
        record(log, "Toga", "Fruit")
        define_list(store, "main", ListDefinition(anchors={"Toga": 2700.0}))
    path = tmp_path / "more.pgn"
    path.write_text(databases_pgn(("Fruit", "Toga", "1-0"), ("Rebel", " Toga", "1/2-1/2")))
    return path


def test_names_of_engines_that_are_there_are_warned_of(tmp_path: Path, played: Path) -> None:
    """Names of known engines and ambiguous anchors give warnings, in a dry run too."""
    for words in (("--dry-run",), ()):
        done = databases_invoke(tmp_path, "import", played, *words)
        assert "warning: new engines have the same name as engines in the database" in done.stderr
        assert "versions: Fruit, Toga. Hint: use --match-names" in done.stderr
        assert "warning: the anchor Toga of the list main is now ambiguous" in done.stderr
    assert "Toga' has several versions" in str(databases_invoke(tmp_path, "ratings", "main").exception)
    told = unwrapped(databases_invoke(tmp_path, "import", played, "--name", "again", "--json").stdout)
    assert (told["namesakes"], told["anchors"]) == ([], [])


def test_match_names_merges_names(tmp_path: Path, played: Path) -> None:
    """With --match-names, the games count for the known engine."""
    told = unwrapped(databases_invoke(tmp_path, "import", played, "--match-names", "--json").stdout)
    assert (told["new_engines"], told["namesakes"], told["matched"]) == (1, [], ["Fruit", "Toga"])
    found = unwrapped(databases_invoke(tmp_path, "ratings", "main", "--json").stdout)
    assert {row["name"]: row["games"] for row in found["list"]} == {"Fruit": 3, "Toga": 4, "Rebel": 1}
    assert found["anchors"] == {"Toga": 2700}
    assert "nothing new" in databases_invoke(tmp_path, "import", played, "--match-names").stdout
    assert "has the name: Fruit" not in databases_invoke(tmp_path, "import", played).stdout
    with Store.open(tmp_path / "x.db") as store:
        record(store.create_tournament(draft("cup", ("Fruit", "Toga"), "f2")), "Fruit", "Toga")
    played.write_text(databases_pgn(("Toga", "Fruit", "0-1")))
    done = databases_invoke(tmp_path, "import", played, "--match-names")
    assert (
        "counted as new engines, because several engines in the database have the same name: Fruit, Toga" in done.stderr
    )
    assert usage_error(databases_invoke(tmp_path, "import", "--list", "--match-names"))


def test_lists_count_imports(tmp_path: Path, file: Path) -> None:
    """Imports count in lists of the database and have their own list."""
    databases_invoke(tmp_path, "import", file)
    for words in (
        ("--all",),
        ("-t", "ccrl"),
        ("-t", "ccrl", "--anchor", "Toga=2500"),
        ("-t", "ccrl", "--system", "elo"),
    ):
        found = unwrapped(databases_invoke(tmp_path, "ratings", *words, "--json").stdout)
        assert {row.get("name") or row["engine"] for row in found["list"]} == {"Fruit", "Toga", "Rebel"}


@pytest.mark.parametrize(
    "words",
    [("status",), ("standings",), ("crosstable",), ("bubble",), ("games",), ("export", "pgn"), ("withdraw", "Fruit")],
)
def test_what_an_import_has_not_is_refused(tmp_path: Path, file: Path, words: tuple[str, ...]) -> None:
    """Commands that need a played tournament give an error with the command for imports."""
    databases_invoke(tmp_path, "import", file, "--name", "my games")
    done = CliRunner().invoke(cli, [*words, "-t", "my games", "--db", str(tmp_path / "x.db")])
    assert isinstance(done.exception, UsageRefused)
    assert "enginetour ratings -t 'my games'" in str(done.exception)


def test_refusals_leave_no_database(tmp_path: Path, file: Path) -> None:
    """An import without games or with an invalid name creates no database."""
    (tmp_path / "open.pgn").write_text(databases_pgn(("A", "B", "*")))
    for words in ((file, "--include", "Frit*"), (tmp_path / "open.pgn",), (file, "--name", " ")):
        done = databases_invoke(tmp_path, "import", *words)
        assert done.exception is not None
        assert not (tmp_path / "x.db").exists()


def test_best_versions_of_imported_names(tmp_path: Path) -> None:
    """The family of an imported engine is its name without the version, and the list says so."""
    path = tmp_path / "g.pgn"
    path.write_text(databases_pgn(*[("Toga II 1.4", "Rebel 6", "1-0"), ("Rebel 6", "Toga II 3.0", "1/2-1/2")] * 3))
    with Store.open(tmp_path / "x.db") as store:
        enter(store, path)
        found = rate_selection(store, select_games(store, ListDefinition(best_of_family=True)))
    assert [row.name for row in found.rows] == ["Toga II 1.4", "Rebel 6"]
    assert "its name without the version" in found.caption[-1]


def test_a_store_of_imports_alone_says_where_its_games_are(tmp_path: Path, file: Path) -> None:
    """The error for a database with imports only names the command that rates them."""
    with Store.open(tmp_path / "t.db") as store:
        enter(store, file)
        with pytest.raises(UsageRefused, match="does not contain a tournament") as refused:
            store.tournament()
    assert "enginetour ratings --all" in str(refused.value)


# Pairs of imported games with the same opening.

BOOK = "1. e4 {book} c5 {book} 2. Nf3 {+0.1/9 1s}"
WORDS = ("ratings", "--all", "--sprt", "Fruit", "Toga", "0", "5")


def pgn(*games: tuple[str, str, str]) -> str:
    """Make games of White, Black and result with the same opening, each in its own round."""
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
    """The second game of a pair can be in a later import; a removed import takes its games away."""
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
    path.write_text(pgn(("Fruit", "Toga", "1-0")))
    assert "nothing new: the game is in the database already" in invoke(tmp_path, "import", path).output


def test_pairs_beside_a_tournament(tmp_path: Path) -> None:
    """Games of tournaments form pairs by their schedule, imported games by their openings."""
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
    """Games of an import without stored openings form no pairs, and a note says so."""
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "0-1")))
    invoke(tmp_path, "import", path, "--name", "my games")
    assert "not counted as game pairs" not in invoke(tmp_path, *WORDS).output
    meddled(tmp_path / "x.db", "UPDATE imported_games SET opening_key = NULL")
    assert pairs_in(tmp_path) == ([], {"my games": 2})
    told = " ".join(invoke(tmp_path, *WORDS).output.split())
    assert "2 games of my games not counted as game pairs, because the import has no openings" in told
    assert unwrapped(invoke(tmp_path, *WORDS, "--json").stdout)["openings_not_kept"] == {"my games": 2}
    invoke(tmp_path, "import", "--remove", "my games")
    invoke(tmp_path, "import", path, "--name", "my games")
    assert pairs_in(tmp_path) == ([4], {})


def test_pairs_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Pairs are in the order in which they are complete in the file."""
    path = tmp_path / "g.pgn"
    outer = pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "0-1"))
    middle = outer.rindex("[Event")
    inner = pgn(("Fruit", "Toga", "0-1"), ("Toga", "Fruit", "1-0")).replace("c5", "e5")
    path.write_text(outer[:middle] + inner + outer[middle:])
    invoke(tmp_path, "import", path)
    assert pairs_in(tmp_path)[0] == [0, 4]
