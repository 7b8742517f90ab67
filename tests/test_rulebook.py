"""Rules of adjudication as a configuration says them, and what of it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour import config, rulebook
from enginetour.errors import InputRefused
from enginetour.task import DrawRule, EngineSpec, Quirks, ResignRule, TableRule

HEAD = '[tournament]\nname = "t"\n[format]\nsystem = "roundrobin"\n[[entrants]]\nengine = "a"\n[play]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with what looks like a table of three pieces."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "KQvK.rtbw").write_bytes(b"\0" * 80)
    return tmp_path


def loaded(folder: Path, play: str) -> config.Config:
    """A configuration with these lines under [play]."""
    path = folder / "t.toml"
    path.write_text(HEAD + play, encoding="utf-8")
    return config.load(path)


def test_no_rule_is_on_unless_it_is_written(folder: Path) -> None:
    """Only the board ends games; nobody agrees on draws."""
    rules = rulebook.rules_of(loaded(folder, ""))
    assert (rules.draw, rules.resign, rules.tables, rules.draw_offers) == (None, None, None, False)


def test_rules_as_they_are_written(folder: Path) -> None:
    """Two sides resign unless it is said otherwise; folders begin at the configuration; pieces are those there are."""
    rules = rulebook.rules_of(loaded(folder, """
draw = { after_move = 40, moves = 8, score = 10 }
resign = { moves = 4, score = 600 }
tablebases = { path = "tables" }
draw_offers = true
"""))  # fmt: skip
    assert rules.draw == DrawRule(40, 8, 10)
    assert rules.resign == ResignRule(4, 600, two_sided=True)
    assert rules.tables == TableRule((str(folder / "tables"),), 3)
    assert rules.draw_offers
    both = f'tablebases = {{ path = ["tables", "{folder}"], pieces = 5, fifty = false, only = "wins" }}'
    expected = TableRule((str(folder / "tables"), str(folder)), 5, fifty=False, only="wins")
    assert rulebook.rules_of(loaded(folder, both)).tables == expected


@pytest.mark.parametrize(
    ("play", "words"),
    [
        ("draw = { after_move = 40, moves = 0, score = 10 }", "play.draw.moves: .*greater than or equal to 1"),
        ("draw = { moves = 8, score = 10 }", "play.draw.after_move is missing"),
        ("resign = { moves = 4, score = 0 }", "play.resign.score: .*greater than or equal to 1"),
        ("resign = { moves = 4, score = 600, twosided = true }", "twosided"),
        ('tablebases = { path = "" }', "a folder, some parted by"),
        ('tablebases = { path = "elsewhere" }', "elsewhere: No such file or directory"),
        ('tablebases = { path = "." }', "no Syzygy tables for standard in .*KQvK.rtbw"),
        ('tablebases = { path = "tables", pieces = 8 }', "play.tablebases.pieces: .*less than or equal to 7"),
        ('tablebases = { path = "tables", adjudicate = false }', "neither adjudicate nor are given to engines"),
        ('variant = "crazyhouse"\ntablebases = { path = "tables" }', "there are no tables for crazyhouse"),
    ],
)
def test_what_cannot_be_is_refused_by_its_line(folder: Path, play: str, words: str) -> None:
    """File and line first, then what was found and what is allowed."""
    with pytest.raises(InputRefused, match=rf"t\.toml:\d+: .*{words}"):
        rulebook.rules_of(loaded(folder, play))


def test_a_cut_table_is_refused(folder: Path) -> None:
    """Its path is told."""
    (folder / "tables" / "KRvK.rtbw").write_bytes(b"\0" * 8)
    with pytest.raises(InputRefused, match=r"KRvK\.rtbw: cut, or no table"):
        rulebook.rules_of(loaded(folder, 'tablebases = { path = "tables" }'))


def test_check_names_what_is_missing(folder: Path) -> None:
    """Up to the pieces asked for."""
    lines = rulebook.table_lines(loaded(folder, 'tablebases = { path = "tables", pieces = 4 }'))
    assert lines[0] == "WDL tables for 3 pieces: 1 of 5 files; missing KBvK, KNvK, KPvK and 1 more"
    assert lines[-1] == "WDL tables for 4 pieces: 0 of 30 files; missing KBBvK, KBNvK, KBPvK and 27 more"


def test_engines_get_the_tables_where_it_is_said(folder: Path) -> None:
    """An engine's own option goes first; tables may be for engines alone."""
    for_engines = loaded(folder, 'tablebases = { path = "tables", adjudicate = false, engines = true }')
    plain = EngineSpec("a", ("/a",), "uci")
    assert rulebook.rules_of(for_engines).tables is None
    assert rulebook.offered_to(for_engines, plain) == (("SyzygyPath", str(folder / "tables")),)
    own = EngineSpec("a", ("/a",), "uci", options=(("syzygypath", "/mine"),))
    assert rulebook.offered_to(for_engines, own) == ()
    assert rulebook.offered_to(loaded(folder, 'tablebases = { path = "tables" }'), plain) == ()
    without = EngineSpec("a", ("/a",), "uci", quirks=Quirks(no_tablebases=True))
    assert rulebook.offered_to(for_engines, without) == ()
