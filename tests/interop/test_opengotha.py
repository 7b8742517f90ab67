"""Tournaments of OpenGotha, and result files of the EGF."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.formats.pairing import standings
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Kind
from enginetour.interop.foreign import next_round
from enginetour.interop.h9 import read
from enginetour.interop.opengotha import read as read_gotha
from enginetour.interop.pairers import make_pairing_system, on_rating_scale
from enginetour.model.errors import InputRefused
from tests.support.tournaments import tour, unwrapped

CASES = Path(__file__).parents[1] / "cases" / "opengotha"
EVENING = (CASES / "evening.xml").read_text("utf-8")


def broken(old: str, new: str) -> str:
    """Return the error for the tournament with one text replaced."""
    assert old in EVENING
    with pytest.raises(InputRefused) as told:
        read_gotha(EVENING.replace(old, new, 1).encode(), "x.xml").foreign()
    return str(told.value)


def test_a_tournament() -> None:
    """Entrants are sorted by name, with games, byes and absences; a preliminary entry is left out."""
    found = read_gotha(EVENING.encode(), "x.xml")
    assert [member.name for member in found.members] == [
        "Ant Bob",
        "Bee Ann",
        "Cat Eve",
        "Dog Max",
        "Elk Tim",
        "Élan Zoé",
    ]
    ant, elk = found.members[0], found.members[4]
    assert (ant.rating, ant.band, ant.family, ant.origin, ant.drawn) == (2010, 0, "Hill", "FR", "AntBob")
    assert (elk.rating, elk.band) == (-700, -30)
    first, second = found.history
    assert [turn.points for turn in first] == [0, 2, 1, 0, 2, 1]
    assert [turn.color for turn in first] == [BLACK, WHITE, WHITE, WHITE, BLACK, BLACK]
    assert [turn.handicap for turn in first] == [0, 0, 0, 9, -9, 0]
    assert [turn.kind for turn in second] == [
        Kind.FORFEIT,
        Kind.PLAYED,
        Kind.PLAYED,
        Kind.ABSENT,
        Kind.BYE,
        Kind.FORFEIT,
    ]
    assert (second[0].handicap, second[0].games, second[4].points) == (1, 0, 2)
    before = found.foreign()
    assert before.field.number == 3 and before.field.rounds == 5 and before.field.present == (0, 1, 2, 3, 4, 5)
    assert before.warnings == () and found.foreign(number=2).field.present == (0, 1, 2, 4, 5)


def test_settings_of_the_file() -> None:
    """The file's settings are used for pairing."""
    found = read_gotha(EVENING.encode(), "x.xml")
    assert found.system == "mcmahon"
    wanted = {
        "base": 2050.0,
        "placement": ("MMS", "SOSM", "SOSOSM"),
        "groups": "bands",
        "bar": 0,
        "floor": -20,
        "zero": -30,
        "whole": True,
        "absence": "standings",
        "corrections": {"Cat Eve": 1},
        "chance": "names",
        "color_weight": 10**6,
        "float_weight": 2 * 10**7,
        "seeding": "split-random",
        "seeding_later": "slip",
        "families": [["Hill", "Wood"]],
        "handicap": {"correction": 1, "ceiling": 9, "threshold": 0},
    }
    assert {key: found.settings[key] for key in wanted} == wanted
    system, told = make_pairing_system("mcmahon", found.foreign(), {})
    assert told == ()
    swiss = read_gotha(EVENING.replace('name="MMS"', 'name="NBW"').replace('="SOSM"', '="SOSW"').encode(), "x.xml")
    assert swiss.system == "swiss-gotha" and make_pairing_system("swiss-gotha", swiss.foreign(), {})[1] == ()
    category = EVENING.replace('name="MMS"', 'name="CAT"').replace('numberOfCategories="1"', 'numberOfCategories="2"')
    category = category.replace(
        "<PlacementParameterSet>", '<Category number="1" lowerLimit="1D"/><PlacementParameterSet>'
    )
    found = read_gotha(category.encode(), "x.xml")
    assert found.system == "swiss-cat" and found.settings["categories"] == [2050.0]
    system, told = make_pairing_system("swiss-cat", found.foreign(), {})
    assert told == () and system.terms(found.foreign().field).categories == (0, 0, 1, 1, 1, 1)


def test_scores_by_hand() -> None:
    """The grade determines the starting score, and half a point for an absence is rounded down."""
    found = read_gotha(EVENING.encode(), "x.xml").foreign()
    system, _ = make_pairing_system("mcmahon", found, {})
    values = standings.code_values(found.field, ("MMS", "SOSM"), system.terms(found.field))
    assert [value / 2 for value in values["MMS"]] == [31, 31, 30.5, 24, 12, 28.5]
    met = ((31, 28.5), (31, 30.5), (28.5, 31), (12, 24), (24, 10), (30.5, 31))
    given = (1, 0, 0, 9, -9, -1)  # handicap given counts in the sum
    assert [value / 2 for value in values["SOSM"]] == [sum(row) + h for row, h in zip(met, given, strict=True)]


def test_the_next_round(tmp_path: Path) -> None:
    """`pair` uses colors and handicaps of the file's settings, and does not write OpenGotha files."""
    told = tour(tmp_path, "pair", str(CASES / "evening.xml")).stdout
    assert "round 3 of 5 · mcmahon" in told and "Bee Ann    31    5  Elk Tim   12         9" in told
    assert (
        tour(tmp_path, "pair", str(CASES / "evening.xml"), "--absent", "3", "--bye", "elk tim").stdout.count("bye:")
        == 1
    )
    assert (
        ".xml files cannot be written" in tour(tmp_path, "pair", str(CASES / "evening.xml"), "-o", "o", expect=2).stderr
    )
    assert "a round from 1 to 3" in tour(tmp_path, "pair", str(CASES / "evening.xml"), "--round", "4", expect=3).stderr
    assert "or --rounds above 2" in tour(tmp_path, "pair", str(CASES / "evening.h9"), expect=3).stderr


def test_another_system_for_a_file(tmp_path: Path) -> None:
    """Settings that the chosen system does not have are listed in one note."""
    told = unwrapped(tour(tmp_path, "pair", str(CASES / "evening.xml"), "--system", "dutch", "--json").stdout)
    idle = [warning for warning in told["warnings"] if warning.startswith("settings of the file that dutch ignores")]
    assert len(idle) == 1 and "corrections" in idle[0] and "handicap" in idle[0]
    assert {pair.get("handicap", 0) for pair in told["pairs"]} == {0}


def test_ratings_below_the_lowest_of_gor() -> None:
    """Ratings below the lowest of GoR are raised to it, with a note."""
    found = read_gotha(EVENING.encode(), "x.xml").foreign()
    system, told = make_pairing_system("gor-drift", found, {})
    assert told[-1] == "with gor-drift, ratings below 100 count as 100, the lowest rating of GoR"
    assert [member.rating for member in on_rating_scale(system, found).field.members] == [
        2010,
        2310,
        1850,
        1500,
        100,
        1890,
    ]
    found = read_gotha(EVENING.replace('rating="-700"', 'rating="700"').encode(), "x.xml").foreign()
    system, told = make_pairing_system("gor-drift", found, {})
    assert on_rating_scale(system, found) is found and "GoR" not in "".join(told)


def test_chance_and_colors_by_names() -> None:
    """Random choices and colors depend on the names, as in OpenGotha."""
    text = EVENING[: EVENING.index("<Games>")] + EVENING[EVENING.index("<TournamentParameterSet>") :]
    found = read_gotha(text.encode(), "x.xml").foreign()
    system, _ = make_pairing_system("mcmahon", found, {})
    paired = next_round(system, found.field)
    for board in paired.boards:
        names = sorted(found.field.members[at].drawn for at in board.pair)
        total = sum(ord(letter) * at for at, letter in enumerate("".join(names), 1)) * 1_234_567
        if not board.handicap:
            assert found.field.members[board.white].drawn == names[total % 2]


def test_older_files() -> None:
    """Up to version 200 ratings are raised by 2050 and names lack accents; a rank of 99K uses the grade."""
    old = EVENING.replace('dataVersion="201"', 'dataVersion="200"').replace('rating="2310"', 'rating="260"')
    old = old.replace("ÉLANZOÉ", "ELANZOE").replace('rank="6K"', 'rank="99K" grade="5K"')
    found = read_gotha(old.encode(), "x.xml")
    assert found.members[1].rating == 2310 and found.history[0][5].points == 1 and found.members[3].band == -5
    unknown = read_gotha(EVENING.replace('rank="6K"', 'rank="99K"').encode(), "x.xml")
    assert unknown.members[3].band == -30 and "Dog does not have a valid rank or grade" in unknown.notes[0]


def test_open_games() -> None:
    """A game without a result prevents the next round, unless the user allows it."""
    text = EVENING.replace('result="RESULT_EQUAL"', "").replace("</Games>", "</Games><Teams><Team/></Teams>")
    found = read_gotha(text.encode(), "x.xml")
    with pytest.raises(InputRefused, match=r"a result for each game .*found CATEVE - ÉLANZOÉ in round 1, line 14"):
        found.foreign()
    assert found.foreign(unfinished_ok=True).field.scores == (2, 2, 2, 0, 4, 0)
    assert found.foreign(number=1).field.number == 1 and "teams are ignored" in found.notes[0]


def test_colors_and_worths_that_are_not_the_usual_ones() -> None:
    """A game of unknown color has no color, and unusual points of byes and absences count."""
    text = EVENING.replace('knownColor="true"', 'knownColor="false"').replace('ValueAbsent="1"', 'ValueAbsent="2"')
    found = read_gotha(text.replace('genMMS2ValueBye="2"', 'genMMS2ValueBye="1"').encode(), "x.xml")
    assert found.history[1][0].color == NEITHER
    assert (found.history[1][3].points, found.history[1][4].points) == (2, 1)
    assert found.settings["absence"] == "nothing"


ENTITIES = '<!DOCTYPE Tournament [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'


def test_no_entity_is_expanded(tmp_path: Path) -> None:
    """A document type is allowed, but no entity is declared and no file opened."""
    head = EVENING.index("<Tournament ")
    with pytest.raises(InputRefused, match=r"x.xml:2: expected a document type without entities .found the entity 'a'"):
        read_gotha((EVENING[:head] + ENTITIES + EVENING[head:]).encode(), "x.xml")
    secret = tmp_path / "secret.dtd"
    secret.write_text('<!ENTITY a "x">')
    outside = f'<!DOCTYPE Tournament SYSTEM "{secret}">'
    assert read_gotha((EVENING[:head] + outside + EVENING[head:]).encode(), "x.xml").rounds == 5
    entity = f'<!DOCTYPE Tournament [<!ENTITY a SYSTEM "{secret}">]>'
    with pytest.raises(InputRefused, match="without entities"):
        read_gotha((EVENING[:head] + entity + EVENING[head:]).encode(), "x.xml")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("</Tournament>", "", "expected an XML file of OpenGotha (found the end of the file inside an element)"),
        (EVENING, "", "expected an XML file of OpenGotha (found an empty file)"),
        (EVENING[-9:], "", "expected an XML file of OpenGotha (found the end of the file inside an element)"),
        ("<Tournament ", "<Turnier ", "an XML file of OpenGotha (found mismatched tag"),
        ('encoding="UTF-8"', 'encoding="klingon"', "an XML file of OpenGotha (found unknown encoding"),
        ('rank="3D"', 'rank="3D" rank="3D"', "found duplicate attribute"),
        ("<Games>", "<Games>" * 25, "at most 20 nested elements"),
        ('rating="2310"', 'rating="much"', "x.xml:4: expected rating from -1000000 to 1000000 (found 'much'"),
        ('smmsCorrection="1"', 'smmsCorrection="5"', "x.xml:7: expected smmsCorrection from -1 to 2 (found '5'"),
        (
            'name="Ant" firstName="Bob"',
            'name="Bee" firstName="Ann"',
            "a different name for each player (found Bee Ann",
        ),
        ('whitePlayer="CATEVE"', 'whitePlayer="NOBODY"', "x.xml:14: expected a player of the file in whitePlayer"),
        (
            'whitePlayer="CATEVE"',
            'whitePlayer="ANTBOB"',
            "x.xml:14: expected two players without another game in round 1",
        ),
        ("RESULT_EQUAL", "RESULT_MOON", "x.xml:14: expected one of RESULT_UNKNOWN, RESULT_WHITEWINS"),
        ('numberOfRounds="5"', 'numberOfRounds="99"', "numberOfRounds from 1 to 20 (found '99'"),
        ('genMMBar="1D"', 'genMMBar="high"', "genMMBar such as 5K, 1D or 2P (found 'high'"),
        ("SPLITANDSLIP", "SPLITANDSPILL", "paiMaSeedSystem2: one of SPLITANDRANDOM, SPLITANDFOLD, SPLITANDSLIP"),
        ('hdCeiling="9"', 'hdCeiling="-1"', "hdCeiling from 0 to 50 (found '-1'"),
        ('name="Ant"', 'name=""', "x.xml:5: expected the name of a player (found none"),
    ],
)
def test_a_broken_file(old: str, new: str, told: str) -> None:
    """The error has the line, the expected and the actual value."""
    assert told in broken(old, new)


def test_codes_that_are_not_known() -> None:
    """An unusual first placement criterion is noted, an unknown code raises an error."""
    found = read_gotha(EVENING.replace('name="MMS"', 'name="Rating"').encode(), "x.xml")
    assert found.system == "swiss-gotha" and "the first placement criterion is RATING" in found.notes[0]
    assert "x.xml:28: expected one of NULL, PTS, NBW" in broken('name="SOSM"', 'name="SOSX"')


RESULTS = (CASES / "evening.h9").read_text("utf-8")


def h9_refused(old: str, new: str) -> str:
    """Return the error for the result file with one text replaced."""
    assert old in RESULTS
    with pytest.raises(InputRefused) as told:
        read(RESULTS.replace(old, new, 1).encode(), "x.h9").foreign()
    return str(told.value)


def test_a_result_file() -> None:
    """Entrants are numbered by line, and games agree on both sides."""
    found = read(RESULTS.encode(), "x.h9")
    assert found.name == "Evening" and [member.name for member in found.members][4:] == ["Dog van Max", "Elk Tim"]
    assert [(member.band, member.rating) for member in found.members[:3]] == [(2, 2300), (0, 2100), (-2, 1900)]
    assert [member.family for member in found.members] == ["Hive", "Hill", "", "Wood", "Yar", "Wood"]
    assert found.members[4].origin == ""
    first, second = found.history
    assert [turn.points for turn in first] == [2, 0, 1, 1, 0, 2] and [turn.handicap for turn in first][4:] == [9, -9]
    assert [turn.kind for turn in second] == [
        Kind.PLAYED,
        Kind.FORFEIT,
        Kind.PLAYED,
        Kind.FORFEIT,
        Kind.HALF_BYE,
        Kind.BYE,
    ]
    assert second[1].color == WHITE and second[3].handicap == -1
    for half in ("?", "\xbd"):  # ½ in the code page that OpenGotha writes
        text = RESULTS.replace("\n", "\r\n").replace("½", half).replace("Elan", "Él\xe4n").encode("latin-1")
        again = read(text, "x.h9")
        assert (again.history, again.values) == (found.history, found.values) and again.members[3].name == "Élän Zoe"


def test_the_table_of_a_result_file() -> None:
    """McMahon scores and both sums over opponents agree with the file."""
    found = read(RESULTS.encode(), "x.h9")
    assert found.settings["corrections"] == {"Cat Eve": 1} and found.notes == ()
    before = found.foreign(ended=True)
    system, told = make_pairing_system(found.system, before, {})
    values = standings.code_values(before.field, tuple(found.values), system.terms(before.field))
    assert told == () and list(values) == ["MMS", "SOSM", "SOSOSM"]
    for code, column in found.values.items():
        assert [value / 2 for value in values[code]] == [*map(float, column)], code


def test_result_files_of_other_systems() -> None:
    """Wins, categories, missing names of values and inconsistent scores are read with notes."""
    swiss = RESULTS.replace("MMS", "NBW")
    assert read(swiss.encode(), "x.h9").system == "swiss-gotha"
    lines = ["; Pl Name                            Rk Co Club  CAT  NBW"]
    lines += [
        "1 Bee Ann 3D FR Hive 0 1 0 0 2+/w0",
        "2 Ant Bob 1D FR Hill 0 0 0 0 1-/b0",
        "3 Cat Eve 5K FR Hill 1 1 0 0 0+",
    ]
    found = read("\n".join(lines).encode(), "x.h9")
    assert found.system == "swiss-cat" and found.settings["categories"] == [2050.0]
    assert make_pairing_system("swiss-cat", found.foreign(rounds=3), {})[1] == ()
    named = read(RESULTS.replace("; Pl", "; --").encode(), "x.h9")
    assert named.system == "mcmahon" and "the first value is used as MMS" in named.notes[0]
    odd = read(RESULTS.replace("  31  61", "  77  61").encode(), "x.h9")
    assert "the starting scores do not match the grades" in odd.notes[0]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("2+/w0", "2-/w0", ""),
        (
            "2+/w0",
            "2=/w0",
            "x.h9:9: expected the same game in line 2 of the entrants (found 2=/w0 in round 1, but 1-/b0 there",
        ),
        ("2+/w0", "2+/b0", "expected the same game in line 2 of the entrants"),
        ("2+/w0", "2+/w3", "expected the same game in line 2 of the entrants"),
        ("2+/w0", "9+/w0", "found 9+/w0 in round 1, but not found there"),
        ("2+/w0", "1+/w0", "expected the same game in line 1 of the entrants"),
        ("1-/b0", "0-", "found 2+/w0 in round 1, but 0- there"),
        (" 3D ", " 3X ", "x.h9:9: expected place, name, rank such as 5K"),
        ("  31  61½  120 0  ", "  ", "expected place, name, rank such as 5K"),
        ("SOSSOSOS", "SOSNIX", "names of values such as MMS, NBW, SOS, SOSOS"),
        (" 4=/w0 ", " 4?/w0 ", "found 4?/w0 in round 1, but 3=/b0 there"),
    ],
)
def test_a_broken_result_file(old: str, new: str, told: str) -> None:
    """Both lines of a game must agree; a loss of both is possible."""
    if told:
        assert told in h9_refused(old, new)
    else:
        assert read(RESULTS.replace(old, new, 1).encode(), "x.h9").history[0][0].points == 0


def test_files_without_entrants_or_games() -> None:
    """A file without entrants or games raises an error."""
    for content, told in ((b"", "2 to 5000 lines with entrants"), (b"; EV[x]\n\xff\xfe", "place, name, rank")):
        with pytest.raises(InputRefused, match=told):
            read(content, "x.h9")
    with pytest.raises(InputRefused, match="games such as 2"):
        read(b"1 Bee Ann 3D FR Hive 0 0 0 0\n2 Ant Bob 1D FR Hill 0 0 0 0\n", "x.h9")


def test_all_rounds_are_compared(tmp_path: Path) -> None:
    """Rounds of OpenGotha, EGF and AGA files are paired again with the bye of the file."""
    tde = CASES.parent / "tde" / "comma"
    for case, words in ((CASES / "evening.xml", ()), (CASES / "evening.h9", ()), (tde, ("--rounds", "3"))):
        told = tour(tmp_path, "pair", str(case), "--check-all", *words).stdout
        assert "all 2 rounds are the same" in told and "the bye of each round is taken from the file" in told
    text = EVENING.replace("BEEANN", "SWAP").replace("ANTBOB", "BEEANN").replace("SWAP", "ANTBOB")
    (tmp_path / "other.xml").write_text(text.replace("RESULT_WHITEWINS", "RESULT_BLACKWINS"), "utf-8")
    assert "differ" in tour(tmp_path, "pair", "other.xml", "--check-all", expect=10).stdout


def table(folder: Path, file: str | Path, *words: str) -> list[dict[str, object]]:
    """Return the rows of ``enginetour standings``."""
    found: list[dict[str, object]] = unwrapped(tour(folder, "standings", str(file), "--json", *words).stdout)["table"]
    return found


def test_standings(tmp_path: Path) -> None:
    """The table uses the placement of the file and agrees for both kinds of files."""
    for kind in ("xml", "h9"):
        rows = table(tmp_path, CASES / f"evening.{kind}")
        assert [row["name"] for row in rows][:3] == ["Bee Ann", "Ant Bob", "Cat Eve"]
        assert [(row["MMS"], row["SOSM"], row["SOSOSM"]) for row in rows][:4] == [
            (31, 61.5, 120),
            (31, 60.5, 122),
            (30.5, 59.5, 122),
            (28.5, 60.5, 120),
        ]
    assert "the file has" not in tour(tmp_path, "standings", str(CASES / "evening.h9")).stdout
    (tmp_path / "other.h9").write_text(RESULTS.replace("61½", "60½").replace("  46 ", "  47 "), "utf-8")
    told = tour(tmp_path, "standings", "other.h9").stdout
    assert "SOSM of Bee Ann: 60.5 in the file, 61.5 here, and 1 more" in told
    by_wins = table(tmp_path, "other.h9", "--placement", "NBW,RATING")
    assert [row["name"] for row in by_wins][:2] == ["Elk Tim", "Cat Eve"]
    rested = table(tmp_path, "other.h9", "--unplayed", "zero")
    assert rested[4]["SOSM"] == 22, "the start of the entrant itself does not count then"
    told = tour(tmp_path, "standings", "other.h9", "--placement", "XYZ", expect=2).stderr
    assert "unknown code 'XYZ'" in told
    told = tour(tmp_path, "standings", str(CASES / "evening.xml"), "--engines", expect=2).stderr
    assert "--engines: has no effect on a file of another program" in told


def test_standings_of_a_register(tmp_path: Path) -> None:
    """A register has a table after its last round, with any number of rounds."""
    tde = CASES.parent / "tde" / "comma"
    rows = table(tmp_path, tde)
    assert rows == table(tmp_path, tde / "register.tde")
    assert [(row["name"], row["points"]) for row in rows][:2] == [("Bar, B.", 2), ("Quux, E.", 1)]
    (tmp_path / "register.tde").write_text("## TOURNEY Winter\nA Foo 3k\nB Bar 4k\n")
    (tmp_path / "1.tde").write_text("A B ? 0 6.5\n")
    told = unwrapped(tour(tmp_path, "standings", ".", "--json").stdout)
    assert not told["finished"] and tour(tmp_path, "standings", ".").stdout.startswith("standings · Winter")
