"""Rules of adjudication as a configuration says them, and what of it is refused."""

from __future__ import annotations

from pathlib import Path

import chess
import pytest

from enginetour.engines import protocol
from enginetour.model.errors import InputRefused
from enginetour.model.game import Game, Outcome, Pairing, Termination
from enginetour.model.task import DrawRule, EngineSpec, GameTask, Quirks, ResignRule, Rules, TableRule
from enginetour.referee.books import Books
from enginetour.referee.game import play
from enginetour.referee.startup import EngineShelf
from enginetour.referee.talk import Link
from enginetour.tournament.config import entrants, load
from enginetour.tournament.plan import prepare
from tests import touring
from tests.playing import scripted, sound

HEAD = '[tournament]\nname = "t"\n[format]\nsystem = "roundrobin"\n[[entrants]]\nengine = "a"\n[play]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with what looks like a table of three pieces."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "KQvK.rtbw").write_bytes(b"\0" * 80)
    return tmp_path


def loaded(folder: Path, play: str) -> load.Config:
    """A configuration with these lines under [play]."""
    path = folder / "t.toml"
    path.write_text(HEAD + play, encoding="utf-8")
    return load.load(path)


def test_no_rule_is_on_unless_it_is_written(folder: Path) -> None:
    """Only the board ends games; nobody agrees on draws."""
    rules = entrants.rules_of(loaded(folder, ""))
    assert (rules.draw, rules.resign, rules.tables, rules.draw_offers) == (None, None, None, False)


def test_rules_as_they_are_written(folder: Path) -> None:
    """Two sides resign unless it is said otherwise; folders begin at the configuration; pieces are those there are."""
    rules = entrants.rules_of(loaded(folder, """
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
    assert entrants.rules_of(loaded(folder, both)).tables == expected


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
        entrants.rules_of(loaded(folder, play))


def test_a_cut_table_is_refused(folder: Path) -> None:
    """Its path is told."""
    (folder / "tables" / "KRvK.rtbw").write_bytes(b"\0" * 8)
    with pytest.raises(InputRefused, match=r"KRvK\.rtbw: cut, or no table"):
        entrants.rules_of(loaded(folder, 'tablebases = { path = "tables" }'))


def test_check_names_what_is_missing(folder: Path) -> None:
    """Up to the pieces asked for."""
    lines = entrants.table_lines(loaded(folder, 'tablebases = { path = "tables", pieces = 4 }'))
    assert lines[0] == "WDL tables for 3 pieces: 1 of 5 files; missing KBvK, KNvK, KPvK and 1 more"
    assert lines[-1] == "WDL tables for 4 pieces: 0 of 30 files; missing KBBvK, KBNvK, KBPvK and 27 more"


def test_the_command_names_them_too(folder: Path) -> None:
    """With what else is known before the first game."""
    path = touring.config(folder, ("wren1", "wren2"), "match", "games = 2")
    path.write_text(path.read_text().replace("[report]", 'tablebases = { path = "tables", pieces = 4 }\n[report]'))
    told = touring.tour(folder, "check", str(path)).stdout.splitlines()
    assert "WDL tables for 3 pieces: 1 of 5 files; missing KBvK, KNvK, KPvK and 1 more" in told
    assert "WDL tables for 4 pieces: 0 of 30 files; missing KBBvK, KBNvK, KBPvK and 27 more" in told


def test_engines_get_the_tables_where_it_is_said(folder: Path) -> None:
    """An engine's own option goes first; tables may be for engines alone."""
    for_engines = loaded(folder, 'tablebases = { path = "tables", adjudicate = false, engines = true }')
    plain = EngineSpec("a", ("/a",), "uci")
    assert entrants.rules_of(for_engines).tables is None
    assert entrants.offered_to(for_engines, plain) == (("SyzygyPath", str(folder / "tables")),)
    own = EngineSpec("a", ("/a",), "uci", options=(("syzygypath", "/mine"),))
    assert entrants.offered_to(for_engines, own) == ()
    assert entrants.offered_to(loaded(folder, 'tablebases = { path = "tables" }'), plain) == ()
    without = EngineSpec("a", ("/a",), "uci", quirks=Quirks(no_tablebases=True))
    assert entrants.offered_to(for_engines, without) == ()


def prepared(
    folder: Path,
    lines: str,
    white: EngineSpec,
    *,
    fen: str = chess.STARTING_FEN,
    moves: str = "",
    tc: str = "nodes=1",
) -> GameTask:
    """The first game of a tournament with these lines under [play], against a sound engine with these moves."""
    (folder / "start.epd").write_text(f"{fen}\n", encoding="utf-8")
    entrants = "".join(touring.entrant(spec.name, spec.command) for spec in (white, sound(moves=moves)))
    path = touring.config(folder, (), "match", "games = 2", entrants, tc=tc)
    text = path.read_text().replace("[play]\n", f'[play]\nopenings = {{ file = "start.epd" }}\n{lines}\n')
    path.write_text(text, encoding="utf-8")
    plan = prepare(path, None)
    return plan.task(plan.sides, Pairing(white.name, "sound"), 0)


def played(task: GameTask) -> Game:
    """The same, played; no engine is left."""
    shelf = EngineShelf()
    try:
        return play(task, Link(), shelf)
    finally:
        shelf.close_all()


def test_a_game_has_the_rules_of_its_configuration(folder: Path) -> None:
    """Each of them, as it is written; without a word the defaults."""
    white = scripted(name="W")
    assert prepared(folder, "", white).rules == Rules()
    lines = """
repetition = 4
fifty = 60
max_moves = 90
hang_limit = 7.5
doubtful_flag = "loss"
draw = { after_move = 40, moves = 8, score = 10 }
resign = { moves = 4, score = 600, two_sided = false }
tablebases = { path = "tables", only = "wins" }
draw_offers = true
"""
    tables = TableRule((str(folder / "tables"),), 3, only="wins")
    resign = ResignRule(4, 600, two_sided=False)
    expected = Rules(4, 60, 90, 7.5, "loss", DrawRule(40, 8, 10), resign, tables, draw_offers=True)
    assert prepared(folder, lines, white).rules == expected


WALK = ("7k/8/8/8/8/8/8/R3K3 w - - 99 80", "a1a2,a2a3,a3a4,a4a5,a5a6,a6b6,b6b5,b5b4,b4b3,b3b2,b2b1/h8h7,h7h8")


@pytest.mark.parametrize(
    ("lines", "start", "cause", "plies"),
    [
        ("", (), "Draw by 3-fold repetition", 8),
        ("repetition = 5", (), "Draw by 5-fold repetition", 16),
        ("", WALK, "Draw by fifty moves rule", 1),
        ("fifty = 60", WALK, "Draw by fifty moves rule, counted to 60", 21),
        ("max_moves = 1", (), "Draw by adjudication: 2 plies played", 2),
    ],
    ids=["repetition-3", "repetition-5", "fifty-50", "fifty-60", "max-moves"],
)
def test_a_game_ends_by_the_rules_of_its_configuration(
    folder: Path, lines: str, start: tuple[str, ...], cause: str, plies: int
) -> None:
    """The same two engines, and what is written decides."""
    fen, moves = start or (chess.STARTING_FEN, "")
    drawn = played(prepared(folder, lines, scripted(name="W", moves=moves), fen=fen, moves=moves))
    assert (drawn.cause, drawn.plies) == (cause, plies)


def test_a_hang_ends_by_the_limit_of_its_configuration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Games without a clock are lost by it."""
    monkeypatch.setattr(protocol, "OWED_NS", 100 * protocol.MS)
    lost = played(prepared(folder, "hang_limit = 0.2", scripted("uci", "hang", at=1)))
    assert (lost.outcome, lost.termination) == (Outcome.BLACK, Termination.TIME)
    assert "after the hang limit of 0.2 s (" in lost.cause


@pytest.mark.parametrize(("lines", "outcome"), [("", Outcome.VOID), ('doubtful_flag = "loss"', Outcome.BLACK)])
def test_a_doubtful_flag_is_what_its_configuration_says(
    folder: Path, lines: str, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Late by less than the referee itself may have cost: void, or a loss all the same."""
    monkeypatch.setattr(Books, "waited_now", lambda _: 10_000 * protocol.MS)
    late = scripted("uci", "late", at=1, seconds=0.25)
    flag = played(prepared(folder, lines, late, tc="0.1"))
    assert (flag.outcome, flag.termination) == (outcome, Termination.TIME), flag.cause
    assert "doubtful" in flag.cause
