"""Tests of tournament/config/load."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import chess.pgn
import pytest

from enginetour.model.errors import InputRefused
from enginetour.model.renamed import RENAMED_KEYS
from enginetour.tournament.config import load
from enginetour.tournament.league import read_league
from enginetour.tournament.plan import prepare
from tests.openings.test_polyglot import book
from tests.support.databases import meddled
from tests.support.tournaments import FOUR, config, read, tour, unwrapped

# Loading and validation.

GOOD = """\
[tournament]
name = "trial"
[format]
system = "bubble"
size = 3
unpark_threshold = 2
[play]
tc = "1+0.01"
[[entrants]]
engine = "wren1"
[[entrants]]
engine = "wren2"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "trial.toml"
    path.write_text(text, "utf-8")
    return path


def refused(folder: Path, text: str) -> str:
    with pytest.raises(InputRefused) as caught:
        load.load(written(folder, text))
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    """Names, format options and the time control are validated."""
    read = load.load(written(tmp_path, GOOD))
    assert read.tournament.name == "trial"
    assert read.system == "bubble"
    assert read.format_options.size == 3
    assert [entrant.engine for entrant in read.entrants] == ["wren1", "wren2"]


def test_entrants_under_another_name_are_told_with_their_line(tmp_path: Path) -> None:
    """Entrants under another section name are reported with a suggestion and their line."""
    told = refused(tmp_path, GOOD.replace("[[entrants]]", "[[engine]]"))
    assert told.endswith("trial.toml:9: unknown key 'engine', did you mean 'entrants'?")


def test_a_format_named_under_tournament_is_told_where_it_belongs(tmp_path: Path) -> None:
    """A format under [tournament] is reported with the right place."""
    told = refused(tmp_path, '[tournament]\nname = "trial"\nformat = "swiss"\n[[entrants]]\nengine = "wren1"\n')
    assert told.endswith("trial.toml:3: unknown key 'tournament.format', did you mean [format] with system = ...?")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("size = 3", "sise = 3", 5, "did you mean 'size'"),
        ("size = 3", 'size = "3"', 5, "format.size"),
        ("size = 3", "size = true", 5, "format.size"),
        ("size = 3", "size = 1", 5, "must be at least 2"),
        ("unpark_threshold = 2", "unpark_threshold = 3", 6, "unpark_threshold"),
        ("unpark_threshold = 2", "unpark_threshold = 2\ngames_per_pairing = 3", 7, "games_per_pairing"),
        ('system = "bubble"', 'system = "buble"', 4, "did you mean 'bubble'"),
        ('tc = "1+0.01"', 'tc = "fast"', 8, "play.tc"),
        ('tc = "1+0.01"', "tc = 10", 8, "play.tc"),
        ('tc = "1+0.01"', 'tc = "5:00+3"', 8, "write minutes in seconds"),
        ('tc = "1+0.01"', 'tc = "1+0.01"\nconcurency = 2', 9, "did you mean 'concurrency'"),
        ("[play]", "[pley]", 7, "did you mean 'play'"),
        ('name = "trial"', "name = 7", 2, "tournament.name"),
        ('name = "trial"', 'name = ""', 2, "tournament.name"),
        ('engine = "wren1"', 'engin = "wren1"', 10, "did you mean 'engine'"),
        ('engine = "wren1"', 'engine = "wren1"\nHash = 64', 11, "did you mean options = { Hash = ... } of an entrant?"),
        ('engine = "wren1"', 'engine = "wren1"\nargs = ["-u"]', 11, "did you mean command = [PROGRAM, ARGUMENT, ...]?"),
        ('engine = "wren1"', 'engine = "wren1"\nmax_copies = 1', 11, "did you mean this key in engines/*.toml?"),
        ('engine = "wren1"', 'engine = "wren1"\nxyz = 1', 11, "unknown key 'entrants.1.xyz'"),
        ('tc = "1+0.01"', "nodes = 100", 8, 'did you mean tc = "10+0.1", "movetime=0.1", "nodes=1000" or "depth=8"?'),
        ('tc = "1+0.01"', "games = 2", 8, "did you mean this key under [format]?"),
        ('tc = "1+0.01"', "seed = 2", 8, "did you mean this key under [tournament]?"),
        ("size = 3", "games = 2", 5, "did you mean 'games_per_pairing'?"),
        ("size = 3", "rounds = 2", 5, "known: games_per_pairing, min_matches"),
        ("size = 3", "concurrency = 2", 5, "did you mean this key under [play]?"),
        ('name = "trial"', 'name = "trial"\nTC = "1+0.01"', 3, "known: name, order, rating_scale, seed"),
        ('name = "trial"', 'name = "trial"\ntc = "1+0.01"', 3, "did you mean this key under [play]?"),
        ('engine = "wren1"', 'engine = "wren1"\ncommand = ["x"]', 9, "one of engine, command, glob"),
        ('engine = "wren1"', 'command = ["x"]', 9, "name and protocol"),
        ('engine = "wren1"', 'glob = "wren*"', 10, "order"),
        ("[play]", '[play]\nopenings = { ordre = "random" }', 8, "did you mean 'order'"),
        (
            "[play]",
            "[play]\nspeed = 0",
            8,
            "play.speed: must be 'measure' or at least 0.05 (found 0)",
        ),
        (
            "[play]",
            '[play]\nspeed = "fast"',
            8,
            "play.speed: must be 'measure' or a number (found 'fast')",
        ),
        ("[play]", "[play]\nfifty = 0", 8, "play.fifty: must be between 50 and 75 (found 0)"),
        ("[play]", '[play]\npgn = "nodes"', 8, "play.pgn: must be a list: [\"...\"] (found 'nodes')"),
        ("[play]", "[play]\nodds = 5", 8, "play.odds: must be a list (found 5)"),
        ("[play]", '[play]\nponder = "yes"', 8, "play.ponder: must be true or false (found 'yes')"),
        ("[play]", "[openings]\n[play]", 7, "unknown key 'openings', did you mean this key under [play]?"),
        ("[play]", '[rating]\nsystems = ["ml"]\n[play]', 7, "unknown key 'rating', did you mean 'ratings'?"),
        (
            "[play]",
            "[options]\n[play]",
            7,
            "did you mean options = ... under [defaults], or of an entrant, after its [[entrants]]?",
        ),
        ('engine = "wren1"', 'engine = "wren1"\nnodes = 100', 11, 'did you mean tc = "10+0.1"'),
        (
            'engine = "wren1"',
            'engine = "wren1"\noptions = ["Hash=1"]',
            11,
            "options: must be a table: { name = ... }",
        ),
        (
            'engine = "wren1"',
            'engine = "wren1"\noptions = { hash = 1, Hash = 2 }',
            11,
            "'hash' and 'Hash' are the same option",
        ),
        (
            'engine = "wren1"',
            'engine = "wren1"\nenv = { "A=B" = "1" }',
            11,
            "entrants.1.env: the name of a variable must not be empty or contain '=' (found 'A=B')",
        ),
        ('engine = "wren1"', 'engine = "wren1"\nenv = { "" = "1" }', 11, "or contain '=' (found '')"),
        (
            'engine = "wren1"',
            'engine = "wren1"\noptions = { Hash = [1] }',
            11,
            "entrants.1.options.Hash: must be text or",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    """An error has file and line, the value found, and what is allowed."""
    told = refused(tmp_path, GOOD.replace(old, new, 1))
    assert f"trial.toml:{line}:" in told
    assert words in told


@pytest.mark.parametrize(
    ("format_", "words"),
    [
        ('system = "gauntlet"\nseeds = "A"', "format.seeds: must be a whole number or a list (found 'A')"),
        ('system = "gauntlet"\nseeds = [1]', "format.seeds.1: must be text (found 1)"),
        ('system = "swiss"\nplacement = ["PTS", "PTS"]', "format.placement: code PTS is listed twice"),
        ('system = "swiss"\nabsent = { A = 1 }', "format.absent.A: must be a list (found 1)"),
    ],
)
def test_what_a_setting_may_be_is_told_whole(tmp_path: Path, format_: str, words: str) -> None:
    """Errors of format settings name all allowed types and keep the case of values."""
    text = GOOD[: GOOD.index("[format]")] + f"[format]\n{format_}\n" + GOOD[GOOD.index("[play]") :]
    assert words in refused(tmp_path, text)


def graded(folder: Path, *ratings: str, tournament: str = "", system: str = "mcmahon") -> Path:
    """Write a configuration with these ratings, as TOML."""
    entrants = "".join(f'\n[[entrants]]\nengine = "wren{at}"\nrating = {one}' for at, one in enumerate(ratings, 1))
    path = folder / "graded.toml"
    head = f'[tournament]\nname = "graded"\n{tournament}\n[format]\nsystem = "{system}"\nrounds = 2\n'
    path.write_text(f'{head}[play]\ntc = "depth=1"\n[ratings]\nsystems = ["ml", "gor"]\n{entrants}\n')
    return path


def test_ratings_may_be_grades(tmp_path: Path) -> None:
    """A grade is converted to its middle on the Go scale, McMahon bands become grades, and the scale is stored."""
    found = load.load(graded(tmp_path, '"1 dan"', '"6k"', "1500"))
    assert [one.rating for one in found.entrants] == [2100, 1500, 1500]
    assert found.as_stored()["tournament"]["rating_scale"] == "go"
    assert found.format_options.base == 2050 and found.frozen_part()["format"]["base"] == 2050
    assert load.load(graded(tmp_path, "1", "2")).format_options.base == 0
    assert load.load(graded(tmp_path, '"1d"', system="swiss")).tournament.rating_scale == "go"


@pytest.mark.parametrize(
    ("rating", "tournament", "told"),
    [
        ('"6q"', "", "must be a number or a grade such as 6k, 6 kyu"),
        (
            '"6k"',
            'rating_scale = "elo"',
            "rating: '6k' is a Go grade, but rating_scale is 'elo'. Hint: set rating_scale",
        ),
        ("1", 'rating_scale = "aga"', "tournament.rating_scale: "),
        ("[1]", "", "rating"),
    ],
)
def test_ratings_that_are_none(rating: str, tournament: str, told: str, tmp_path: Path) -> None:
    """The error of a rating has the line, what is allowed, and the scale that contradicts it."""
    with pytest.raises(InputRefused) as refused:
        load.load(graded(tmp_path, rating, "2", tournament=tournament))
    assert "graded.toml:" in str(refused.value) and told in str(refused.value)


def test_a_file_that_is_no_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    """The error of invalid TOML has the parser's line."""
    assert "trial.toml:2: not valid TOML" in refused(tmp_path, "[tournament]\nname = \n")


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A missing file, a directory, and invalid bytes are errors."""
    for path in (tmp_path / "missing.toml", tmp_path):
        with pytest.raises(InputRefused, match=str(path)):
            load.load(path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputRefused, match="UTF-8"):
        load.load(tmp_path / "bytes.toml")


def test_the_frozen_part_leaves_out_what_may_change(tmp_path: Path) -> None:
    """Concurrency and grace may change on resume, but the time control may not."""
    one = load.load(written(tmp_path, GOOD)).frozen_part()
    two = load.load(written(tmp_path, GOOD.replace("[play]", "[play]\nconcurrency = 2\ngrace = 5.0"))).frozen_part()
    three = load.load(written(tmp_path, GOOD.replace("1+0.01", "2+0.01"))).frozen_part()
    assert one == two
    assert one != three


PREVIOUS = """\
[play]
tc = "1+0.01"
slots = 2
margin_ms = 70
log_traffic = true
draw = { after_move = 40, moves = 8, score = 10 }
resign.moves = 4
resign.score = 600
resign.two_sided = false
openings = { moves = 4 }
[[entrants]]
engine = "wren1"
margin_ms = 80
[[entrants]]
engine = "wren2"
margin_ms = 90
"""
CURRENT = """\
[play]
tc = "1+0.01"
concurrency = 2
timemargin = 70
engine_log = true
draw = { movenumber = 40, movecount = 8, score = 10 }
resign.movecount = 4
resign.score = 600
resign.twosided = false
openings = { moves = 4 }
[[entrants]]
engine = "wren1"
timemargin = 80
[[entrants]]
engine = "wren2"
timemargin = 90
"""


def test_previous_keys_are_read(tmp_path: Path) -> None:
    """Each previous key means the current one, with one notice for each key and its line."""
    head = GOOD[: GOOD.index("[play]")]
    previous, current = (load.load(written(tmp_path, head + text)) for text in (PREVIOUS, CURRENT))
    assert previous.model_dump(exclude={"notices"}) == current.model_dump(exclude={"notices"})
    assert current.notices == () and load.current_text(head + PREVIOUS) == head + CURRENT
    names = [f"{'.'.join(path)} is now called {name};" for path, name in RENAMED_KEYS.items() if path[0] != "format"]
    assert len(previous.notices) == len(names) and all(any(name in line for line in previous.notices) for name in names)
    assert (
        f"{tmp_path / 'trial.toml'}:9: play.slots is now called concurrency; the previous name still works"
        in previous.notices
    )
    assert previous.at("entrants", 1, "timemargin") == f"{tmp_path / 'trial.toml'}:22"


@pytest.mark.parametrize(
    ("system", "previous", "value"),
    [("roundrobin", "colours", "rows"), ("dutch", "initial_colour", "black"), ("swiss-gotha", "colour_weight", 7)],
)
def test_previous_keys_of_formats_are_read(tmp_path: Path, system: str, previous: str, value: object) -> None:
    """A previous key of a format means the current one, with a notice."""
    rest = GOOD[GOOD.index("[play]") :]
    shown = f'"{value}"' if isinstance(value, str) else value
    more = 'order = "seats"\n' if system == "roundrobin" else "rounds = 3\n"
    head = f'[tournament]\nname = "trial"\n[format]\nsystem = "{system}"\n{more}'
    found = load.load(written(tmp_path, f"{head}{previous} = {shown}\n{rest}"))
    current = RENAMED_KEYS["format", previous]
    assert getattr(found.format_options, current) == value
    assert any(f"format.{previous} is now called {current};" in line for line in found.notices)


@pytest.mark.parametrize(
    ("extra", "line", "words"),
    [
        ("slots = 2\nconcurrency = 2", 9, "play.concurrency and its previous name slots are both given"),
        ("draw = { after_move = 1, movenumber = 1 }", 9, "play.draw.movenumber and its previous name after_move"),
        ("\nslots = 0", 10, "play.concurrency: must be between 1 and 1024 (found 0)"),
        ("resign = { moves = 0, score = 1 }", 9, "play.resign.movecount: must be between 1 and 1000"),
    ],
)
def test_wrong_previous_keys(tmp_path: Path, extra: str, line: int, words: str) -> None:
    """A key under both names is an error, and an invalid value is reported with its line."""
    message = refused(tmp_path, GOOD.replace('tc = "1+0.01"', f'tc = "1+0.01"\n{extra}'))
    assert f"trial.toml:{line}: " in message and words in message


@pytest.mark.parametrize("text", [PREVIOUS, CURRENT])
def test_a_tournament_stored_with_previous_keys_resumes(tmp_path: Path, text: str) -> None:
    """The same settings under previous or current keys do not count as a change, in the file or in the database."""
    settings = text[: text.index("[[entrants]]")].replace('[play]\ntc = "1+0.01"\n', "").replace("slots = 2\n", "")
    settings = settings.replace("concurrency = 2\n", "").replace("true", "false")
    path = config(tmp_path, TWO, "match", "games = 4", play=settings)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    old = "json_remove(config, '$.play.timemargin', '$.play.draw', '$.play.resign', '$.play.engine_log')"
    old = f"json_set({old}, '$.play.margin_ms', 70, '$.play.log_traffic', json('false'))"
    old = f'json_set({old}, \'$.play.draw\', json(\'{{"after_move":40,"moves":8,"score":10}}\'))'
    old = f'json_set({old}, \'$.play.resign\', json(\'{{"moves":4,"score":600,"two_sided":false}}\'))'
    meddled(tmp_path / "results" / "enginetour.db", f"UPDATE tournaments SET config = {old}")
    checked = tour(tmp_path, "check", str(path))
    done = tour(tmp_path, "run", str(path))
    for printed in (checked.stderr, done.stderr):
        assert printed.count("play.margin_ms is now called timemargin") == (text is PREVIOUS)
    assert "resuming after 1 of 4" in done.stderr
    changed = config(tmp_path, TWO, "match", "games = 6", play=settings.replace("score = 10", "score = 20"))
    assert "play.draw cannot change" in tour(tmp_path, "run", str(changed), expect=5).stderr


@pytest.mark.parametrize("path", sorted(Path(__file__).parents[3].glob("configs/*.toml")), ids=lambda path: path.stem)
def test_every_configuration_we_ship_is_valid(path: Path) -> None:
    """All bundled configurations are valid."""
    loaded = read_league(path).base if path.stem == "league" else load.load(path)
    assert loaded.entrants


def test_a_former_name_of_a_system_is_accepted(tmp_path: Path) -> None:
    """`system = "cup"` is the knockout, in the file, in the command and in a database that stored it."""
    path = config(tmp_path, ("wren1", "wren2"), "cup", "games_per_pairing = 2")
    assert load.load(path).frozen_part()["format"]["system"] == "knockout"
    assert "cup is now called knockout; the previous name still works" in tour(tmp_path, "check", str(path)).stderr
    assert tour(tmp_path, "systems", "cup").stdout == tour(tmp_path, "systems", "knockout").stdout
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    with closing(sqlite3.connect(tmp_path / "results" / "enginetour.db")) as raw, raw:
        raw.execute("UPDATE tournaments SET system = 'cup', config = replace(config, '\"knockout\"', '\"cup\"')")
    path.write_text(path.read_text().replace('"cup"', '"knockout"'))
    tour(tmp_path, "run", str(path), "--plain")
    assert unwrapped(tour(tmp_path, "status", "--json").stdout)["system"] == "knockout"


@pytest.mark.parametrize(
    ("system", "settings", "words"),
    [("swiss", "rounds = 9", "at most 3"), ("dutch", "rounds = 4", "at most 3"), ("scheveningen", "team = 4", "team")],
)
def test_a_field_that_cannot_be_paired(tmp_path: Path, system: str, settings: str, words: str) -> None:
    """More rounds than opponents are an error at the line of the format."""
    path = config(tmp_path, ("wren1", "wren2", "wren3", "wren4"), system, settings)
    for command in ("check", "run"):
        done = tour(tmp_path, command, str(path), expect=3)
        assert words in done.stderr and f"{path}:" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("system", "settings", "words"),
    [
        ("gauntlet", "cycles = 1000000000", "(found 2,000,000,000: pairs 2 * cycles 1000000000 * games_per_pairing 1)"),
        ("roundrobin", "cycles = 9\ngames_per_pairing = 100000000", "at most 2,000,000 games"),
        ("scheveningen", "cycles = 1000000000\nteam = 1", "at most 2,000,000 games"),
        ("bubble", "size = 2\nunpark_threshold = 1\ngames_per_pairing = 1000000000", "must be between 1 and 10000"),
        ("knockout", "games_per_pairing = 1000000000", "must be between 1 and 10000"),
        ("swiss", "rounds = 1\ngames_per_pairing = 1000000000", "must be between 1 and 10000"),
    ],
)
def test_games_without_end(tmp_path: Path, system: str, settings: str, words: str) -> None:
    """A schedule with too many games is an error before it is made."""
    path = config(tmp_path, ("wren1", "wren2", "wren3"), system, settings)
    assert words in tour(tmp_path, "check", str(path), expect=3).stderr


# Former bugs.

TWO = FOUR[:2]


def test_a_tournament_begun_before_a_setting_existed(tmp_path: Path) -> None:
    """A tournament whose stored configuration lacks a newer setting can be resumed."""
    path = config(tmp_path, FOUR, "dutch", "rounds = 2")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    with closing(sqlite3.connect(tmp_path / "results" / "enginetour.db", isolation_level=None)) as db:
        text = "json_remove(config, '$.format.absent', '$.format.initial_color', '$.play.repetition')"
        assert db.execute(f"UPDATE tournaments SET config = {text}").rowcount == 1
    changed = config(tmp_path, FOUR, "dutch", 'rounds = 2\ninitial_color = "black"')
    assert "cannot change" in tour(tmp_path, "run", str(changed), expect=5).stderr
    tour(tmp_path, "run", str(config(tmp_path, FOUR, "dutch", "rounds = 2")))


@pytest.mark.parametrize("command", ["check", "run"])
def test_ratings_an_order_cannot_bring(tmp_path: Path, command: str) -> None:
    """An order by ratings without a database is an error for a format that needs ratings."""
    path = config(tmp_path, FOUR, "mcmahon", "rounds = 2")
    path.write_text(path.read_text().replace("seed = 4", 'seed = 4\norder = "rating"'))
    done = tour(tmp_path, command, str(path), expect=3)
    assert "needs a rating" in done.stderr and f"{path}:" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("settings", "rating"), [("", "1e300"), ("", "-1e7"), ('width = 1e-9\ngroups = "bands"', "1000")]
)
def test_numbers_beyond_all_ratings(tmp_path: Path, settings: str, rating: str) -> None:
    """Huge ratings and tiny band widths are errors."""
    path = config(tmp_path, FOUR, "mcmahon", f"rounds = 2\n{settings}")
    path.write_text(path.read_text().replace('"wren1"', f'"wren1"\nrating = {rating}'))
    done = tour(tmp_path, "check", str(path), expect=3)
    assert "must be between" in done.stderr and f"{path}:" in done.stderr


@pytest.mark.parametrize("command", ["check", "run"])
def test_contradictory_criteria_are_told(tmp_path: Path, command: str) -> None:
    """Contradictory placement criteria are warnings of check and run."""
    path = config(tmp_path, TWO, "swiss-gotha", 'rounds = 1\nplacement = ["NBW", "DC", "SDC"]')
    assert "warning: placement has both DC and SDC" in tour(tmp_path, command, str(path)).stdout
    if command == "check":
        assert "DC and SDC" in unwrapped(tour(tmp_path, command, str(path), "--json").stdout)["warnings"][0]


def test_a_first_round_that_nobody_can_play(tmp_path: Path) -> None:
    """A field of one family that must not meet is an error of check."""
    path = config(tmp_path, FOUR, "dutch", "rounds = 2\nforbid_family = true\nstrict = true")
    path.write_text(path.read_text().replace("[[entrants]]", '[[entrants]]\nfamily = "W"'))
    done = tour(tmp_path, "check", str(path), expect=3)
    assert "round 1 cannot be paired" in done.stderr and done.stderr.count("\n") == 1


def test_an_order_by_ratings_with_a_database(tmp_path: Path) -> None:
    """Ratings of an earlier tournament pair the next one; check says that run uses them."""
    tour(tmp_path, "run", str(config(tmp_path, TWO, "roundrobin", "cycles = 1", name="first")))
    path = config(tmp_path, TWO, "mcmahon", "rounds = 1")
    path.write_text(path.read_text().replace("seed = 4", 'seed = 4\norder = "rating"'))
    assert "games: not known yet" in tour(tmp_path, "check", str(path)).stdout
    tour(tmp_path, "run", str(path))


def test_swiss_scores_are_wins(tmp_path: Path) -> None:
    """In a Swiss, SOS and floats of the report use wins, not McMahon scores."""
    path = config(tmp_path, FOUR, "swiss-gotha", 'rounds = 1\nplacement = ["NBW", "SOS", "SOSW"]')
    ratings = iter((1800, 1500, 1200, 900))
    lines = [
        f"{line}\nrating = {next(ratings)}" if line.startswith("engine") else line
        for line in path.read_text().splitlines()
    ]
    path.write_text("\n".join(lines))
    tour(tmp_path, "run", str(path))
    assert all(line["SOS"] == line["SOSW"] for line in read(tmp_path, "standings")["table"])
    assert read(tmp_path, "standings", "--pairing-report")["rounds"][0]["floats"] == 0


def test_openings_that_leave_no_move(tmp_path: Path) -> None:
    """An opening as long as the longest game is an error."""
    path = config(tmp_path, TWO, "match", "games = 2", play="max_moves = 5")
    said = tour(tmp_path, "check", str(path), expect=3).stderr
    assert "trial.toml:8: max_moves 5 is reached during the opening 'balanced" in said
    path.write_text(path.read_text().replace("max_moves = 5", "max_moves = 5\nopenings = { plies = 9 }"))
    assert "Finished game 2" in tour(tmp_path, "run", str(path)).stdout


def test_openings_longer_than_an_engine_plays(tmp_path: Path) -> None:
    """An opening as long as the longest game of an engine is an error."""
    more = '\n[[entrants]]\nengine = "wren3"\nquirks = { max_plies = 5 }\n'
    path = config(tmp_path, TWO[:1], "match", "games = 2", more)
    said = tour(tmp_path, "check", str(path), expect=3).stderr
    assert "max_plies 5 of Wren 3" in said
    assert "is reached during the opening 'balanced" in said
    path.write_text(path.read_text().replace("[play]", "[play]\nopenings = { plies = 4 }"))
    assert "Finished game 2" in tour(tmp_path, "run", str(path)).stdout


def test_a_book_whose_lines_leave_no_move(tmp_path: Path) -> None:
    """Book lines as long as the longest game are an error."""
    book(tmp_path / "book.bin", {"e2e4 e7e5 g1f3 b8c6 f1c4 g8f6": 1})
    path = config(tmp_path, TWO, "match", "games = 2", play='max_moves = 3\nopenings = { file = "book.bin" }')
    assert "Finished game 2" in tour(tmp_path, "run", str(path)).stdout
    assert [game["plies"] for game in read(tmp_path, "games")] == [6, 6]
    path.write_text(path.read_text().replace('"book.bin"', '"book.bin", moves = 3'))
    said = tour(tmp_path, "check", str(path), expect=3).stderr
    assert "trial.toml:8: max_moves 3 is reached during an opening line" in said


def test_an_opening_drawn_on_its_way(tmp_path: Path) -> None:
    """A position in the middle of an opening at which the game is drawn is an error."""
    board = chess.Board("7k/8/8/8/8/p7/8/R6K w - - 98 80")
    game = chess.pgn.Game.from_board(board)
    node: chess.pgn.GameNode = game
    for text in ("a1a2", "h8h7", "a2a3"):
        node = node.add_main_variation(chess.Move.from_uci(text))
    (tmp_path / "late.pgn").write_text(f"{game}\n")
    path = config(tmp_path, TWO, "match", "games = 2", play='openings = { file = "late.pgn" }')
    said = tour(tmp_path, "check", str(path), expect=3).stderr
    assert "the fifty-move rule applies after 2 plies" in said


# Settings of all entrants.

DEFAULTS = """[defaults]
tc = "2+0.02"
white_tc = "3+0.03"
timemargin = 70
env = { A = "1", B = "1" }
options = { Level = 2, Contempt = 7 }
[[entrants]]
engine = "wren1"
env = { B = "2" }
options = { level = 3 }
[[entrants]]
engine = "wren2"
tc = "4+0.04"
timemargin = 0
"""


def test_entrants_inherit_defaults(tmp_path: Path) -> None:
    """Own keys have priority, tables are combined, and an own time control replaces those of both colors."""
    read = load.load(written(tmp_path, GOOD.partition("[[entrants]]")[0] + DEFAULTS))
    first, second = read.entrants
    assert (first.tc, first.white_tc, first.timemargin, first.env) == ("2+0.02", "3+0.03", 70, {"A": "1", "B": "2"})
    assert (second.tc, second.white_tc, second.timemargin) == ("4+0.04", None, 0)
    assert read.at("entrants", 0, "timemargin").endswith(":12") and read.at("entrants", 1, "timemargin").endswith(":22")
    assert read.as_stored()["defaults"]["options"] == {"Level": 2, "Contempt": 7}
    sides = prepare(read.path, None).sides
    assert sides["Wren 1"].spec.options == (("Contempt", "7"), ("level", "3"))
    assert sides["Wren 1"].spec.optional == ("contempt",)
    assert sides["Wren 2"].spec.options == (("Level", "2"), ("Contempt", "7"))
    assert sides["Wren 2"].spec.optional == ("contempt", "level")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("timemargin = 70", "timemargin = -1", 12, "defaults.timemargin: must be between 0 and 60000"),
        ("timemargin = 70", 'engine = "wren1"', 12, "unknown key 'defaults.engine'"),
        ("Contempt = 7", "level = 7", 14, "defaults.options: 'Level' and 'level' are the same option"),
        ('tc = "2+0.02"', 'tc = "2+"', 10, "defaults.tc"),
        ('A = "1"', '"A=" = "1"', 13, "defaults.env: the name of a variable must not be empty or"),
        ("[defaults]", "[each]", 9, "unknown key 'each', did you mean 'defaults'?"),
    ],
)
def test_wrong_defaults_have_their_line(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    """An error in the defaults names their line, not that of an entrant."""
    text = GOOD.partition("[[entrants]]")[0] + DEFAULTS
    told = refused(tmp_path, text.replace(old, new, 1))
    assert f"trial.toml:{line}: {words}" in told


HEIRS = """[defaults]
tc = "2+0.02"
timemargin = 70
options = { Contempt = 7 }
[[entrants]]
inherit = "Four"
name = "Five"
options = { level = 5 }
[[entrants]]
engine = "wren4"
name = "Four"
rating = 1500
new = true
timemargin = 80
env = { A = "1" }
options = { Level = 4, Seed = 3 }
[[entrants]]
inherit = "Five"
name = "Six"
engine = "wren6"
env = { B = "2" }
tc = "4+0.04"
"""


def test_an_entrant_inherits_from_another_one(tmp_path: Path) -> None:
    """It has the engine and settings of the other one unless it sets them, also over two steps and from defaults."""
    read = load.load(written(tmp_path, GOOD.partition("[[entrants]]")[0] + HEIRS))
    five, four, six = read.entrants
    assert [(one.name, one.engine, one.new, one.rating, one.tc) for one in (five, four, six)] == [
        ("Five", "wren4", False, None, "2+0.02"),
        ("Four", "wren4", True, 1500, "2+0.02"),
        ("Six", "wren6", False, None, "4+0.04"),
    ]
    assert (six.timemargin, six.env, six.options) == (80, {"A": "1", "B": "2"}, {"Seed": 3, "level": 5})
    lines = [read.at("entrants", 2, key).rpartition(":")[2] for key in ("tc", "timemargin", "options")]
    assert lines == ["30", "22", "16"]
    sides = prepare(read.path, None).sides
    assert sides["Six"].spec.options == (("Contempt", "7"), ("Seed", "3"), ("level", "5"))
    assert sides["Six"].spec.optional == ("contempt",)
    assert sides["Five"].spec.command == sides["Four"].spec.command


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('inherit = "Four"', 'inherit = "Fou"', 14, "inherit: no other entrant is named 'Fou', did you mean 'Four'?"),
        ('inherit = "Four"', 'inherit = "Six"', 14, "inherit: Five inherits from itself through Six"),
        ('inherit = "Four"', 'inherit = "Five"', 14, "inherit: no other entrant is named 'Five'"),
        ('inherit = "Four"', "", 13, "entrants.1: needs exactly one of engine, command, glob (found none)"),
        ('inherit = "Four"', "inherit = 4", 14, "entrants.1.inherit: must be text"),
    ],
)
def test_wrong_heirs_have_their_line(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    """An unknown name and a circle are one line with the place of the key."""
    text = (GOOD.partition("[[entrants]]")[0] + HEIRS).replace(old, new, 1)
    with pytest.raises(InputRefused) as refusal:
        prepare(written(tmp_path, text), None)
    told = str(refusal.value)
    assert f"trial.toml:{line}: {words}" in told and "\n" not in told


def test_an_unsupported_default_has_its_line(tmp_path: Path) -> None:
    """A limit that an engine does not support is reported where it is set."""
    text = GOOD.partition("[[entrants]]")[0] + '[defaults]\ntc = "nodes=100"\n[[entrants]]\nengine = "wren2"\n'
    with pytest.raises(InputRefused, match=r"trial.toml:10: .*does not support nodes"):
        prepare(written(tmp_path, text), None)
