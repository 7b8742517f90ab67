"""Tests of tournament/config/entrants."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import pytest

from enginetour.engines import protocol, registry
from enginetour.engines.cecp import stage_lines, time_lines
from enginetour.engines.position import Position
from enginetour.engines.protocol import Ask
from enginetour.engines.registry import to_spec
from enginetour.engines.uci_lines import go_command
from enginetour.interop.files import bundled_directory
from enginetour.model.errors import InputRefused, Unsupported
from enginetour.model.game import Game, Opening, Outcome, Pairing, Termination
from enginetour.model.task import (
    DrawRule,
    EngineSpec,
    GameTask,
    Quirks,
    ResignRule,
    Resources,
    Rules,
    Side,
    TablebaseRule,
    TimeTerms,
)
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.clock import MS, Clock
from enginetour.referee.game import play
from enginetour.referee.link import Link
from enginetour.referee.record import Record
from enginetour.referee.startup import EnginePool
from enginetour.tournament.config import entrants
from enginetour.tournament.config import load as load_module
from enginetour.tournament.config.entrants import control_warnings, describe_controls, engines_of, side_of
from enginetour.tournament.config.load import load
from enginetour.tournament.config.sections import EntrantSection
from enginetour.tournament.plan import prepare
from tests.support import tournaments
from tests.support.engines import game, scripted, sound
from tests.support.tournaments import config, read, tour

# Time controls with each color.

SPEC = EngineSpec("E", ("/e",), "uci")


def colors(folder: Path, play: str, own: str, spec: EngineSpec = SPEC) -> tuple[str, str]:
    """Return the controls with White and with Black of an entrant with the keys `own`, where ``[play]`` has `play`."""
    path = config(folder, (), "roundrobin", "", f'\n[[entrants]]\nengine = "wren1"\n{own}', tc=f'10+0.1"\n{play}\n#')
    loaded = load(path)
    side = side_of(loaded, spec, loaded.entrants[0])
    return str(side.playing(white=True).tc), str(side.playing(white=False).tc)


@pytest.mark.parametrize(
    ("play", "own", "white", "black"),
    [
        ("", "", "10+0.1", "10+0.1"),
        ('black_tc = "5"', "", "10+0.1", "5"),
        ('white_tc = "8"\nblack_tc = "5"', 'tc = "3"', "3", "3"),
        ('black_tc = "5"', 'white_tc = "3"', "3", "5"),
        ('black_tc = "5"', 'white_tc = "3"\ntc = "2"', "3", "2"),
        ("", "tc_factor = 0.5", "5+0.05", "5+0.05"),
        ('black_tc = "40/60:20/30+0.5"', "tc_factor = 3", "30+0.3", "40/180:20/90+1.5"),
        ("", 'tc = "nodes=1001"\ntc_factor = 0.5', "nodes=500", "nodes=500"),
        ("", 'tc = "10,depth=9"\ntc_factor = 0.001', "0.01,depth=9", "0.01,depth=9"),
        ("", 'tc = "hourglass=60"\ntc_factor = 0.5', "hourglass=30", "hourglass=30"),
        ("", 'tc = "movetime=0.1"\ntc_factor = 1.5', "movetime=0.15", "movetime=0.15"),
    ],
)
def test_the_most_particular_word_counts(tmp_path: Path, play: str, own: str, white: str, black: str) -> None:
    """Keys of the entrant count before those of the tournament, and a color before both; then its factor applies."""
    assert colors(tmp_path, play, own) == (white, black)


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ('tc = "depth=3"\ntc_factor = 2', "tc_factor cannot scale depth=3 of E"),
        ('tc = "86400"\ntc_factor = 2', "E: 86400 multiplied by 2 is longer than a day"),
        ('black_tc = "depth=3"', r'E does not support depth.*write limits = \["clock", "depth"\]'),
    ],
)
def test_what_cannot_be_is_refused_at_its_line(tmp_path: Path, own: str, words: str) -> None:
    """The last line of the file is the wrong one."""
    spec = EngineSpec("E", ("/e",), "uci", limits=frozenset({"clock"}) if "black" in own else SPEC.limits)
    with pytest.raises(InputRefused, match=words) as caught:
        colors(tmp_path, "", own, spec)
    last = len((tmp_path / "trial.toml").read_text().rstrip().splitlines())
    assert caught.value.place.endswith(f"trial.toml:{last}")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("tc_factor = 0", "tc_factor"),
        ('white_tc = "x"', "'x' is not a valid time control"),
        ('black_tc = ""', "'' is not a valid time control"),
    ],
)
def test_settings_have_bounds(tmp_path: Path, setting: str, words: str) -> None:
    """An empty control and a factor of 0 are errors when the file is read."""
    with pytest.raises(InputRefused, match=words):
        colors(tmp_path, "", setting)


def test_a_factor_is_exact() -> None:
    """Three times a second is exactly three seconds, and a time is never rounded down to zero."""
    assert str(TimeControl.parse("1+0.001").scaled(3)) == "3+0.003"
    assert str(TimeControl.parse("1+0.001").scaled(0.001)) == "0.001+0.001"
    assert str(TimeControl.parse("1,nodes=10").scaled(0.1, nodes=False)) == "0.1,nodes=10"


@pytest.mark.parametrize(
    ("control", "lines"),
    [
        ("40/60", ["level 40 1 0"]),
        ("10+0.1", ["level 0 0:10 0.1"]),
        ("90.7+1.25", ["level 0 1:30 1.25"]),
        ("40/5400:20/1800+30", ["level 40 90 0"]),
        ("0.4+0.05", ["level 0 0:01 0.05"]),
        ("0+0.05", ["level 0 0:01 0.05"]),
        ("movetime=2", ["st 2"]),
        ("depth=5", ["level 0 60 0", "sd 5"]),
        ("10+0.1,depth=5", ["level 0 0:10 0.1", "sd 5"]),
        ("nodes=1000", ["nps 1000", "st 1"]),
    ],
)
def test_cecp_engines_are_told_once_a_game(control: str, lines: list[str]) -> None:
    """`level` has the first stage in minutes or M:SS, and never less than 0:01."""
    assert [line.decode() for line in time_lines(TimeControl.parse(control), Quirks(), nps=True)] == lines


def test_fractions_of_st_are_for_those_that_take_them() -> None:
    """`st` has whole seconds, fractions with a quirk, or an increment instead."""
    tc = TimeControl.parse("movetime=0.1")
    assert time_lines(tc, Quirks(st_fraction=True), nps=False) == [b"st 0.1"]
    assert time_lines(tc, Quirks(movetime="level"), nps=False) == [b"level 0 0:01 0.1"]
    with pytest.raises(Unsupported, match='or set movetime = "level"'):
        time_lines(tc, Quirks(), nps=False)
    with pytest.raises(Unsupported, match="nodes"):
        time_lines(TimeControl.parse("nodes=5"), Quirks(), nps=False)


@pytest.mark.parametrize(
    ("control", "asked"),
    [
        ("3/10", ["movestogo 3", "movestogo 2", "movestogo 1", "movestogo 3"]),
        ("2/10:1/5+1", ["movestogo 2", "movestogo 1", "movestogo 1", "movestogo 1"]),
        ("2/10:5", ["movestogo 2", "movestogo 1", "", ""]),
        ("10+0.1", ["", "", "", ""]),
    ],
)
def test_uci_engines_are_told_the_moves_of_the_stage(control: str, asked: list[str]) -> None:
    """`movestogo` counts down to the end of each stage, and is not sent for a stage without moves."""
    clock = Clock(Side(SPEC, TimeControl.parse(control)), 60.0)
    for words in asked:
        ask = Ask(Position(), True, clock.tc, clock.shown_ms(), None, clock.increment_ms, 0, clock.moves_to_go)
        assert go_command(ask).partition("movestogo")[1:] == ("movestogo" if words else "", words[9:])
        clock.charge(100 * MS)


@pytest.mark.parametrize(
    ("control", "opening", "asked"),
    [
        ("3/10", 0, ["", "", "", ""]),
        ("3/10", 2, ["level 5 0:10 0", "", "", "level 8 0:10 0"]),
        ("3/10,depth=9", 3, ["", "", "", ""]),
        ("3/10,depth=9", 4, ["level 7 0:10 0\nsd 9", "", "", "level 10 0:10 0\nsd 9"]),
        ("2/10:1/5+1", 0, ["", "", "level 1 0:05 1", ""]),
        ("2/10:5+0.1", 1, ["level 3 0:10 0", "", "level 0 0:05 0.1", ""]),
        ("10+0.1", 4, ["", "", "", ""]),
    ],
)
def test_cecp_engines_are_told_where_the_stage_ends(control: str, opening: int, asked: list[str]) -> None:
    """CECP engines count the moves of the game including the opening, so the end of the stage is sent accordingly."""
    clock = Clock(Side(SPEC, TimeControl.parse(control)), 60.0)
    told_stage = clock.tc.stage(0)
    for made, words in enumerate(asked, opening):
        told_stage, lines = stage_lines(told_stage, clock.tc, clock.stage, made, clock.moves_to_go)
        assert b"\n".join(lines).decode() == words
        clock.charge(100 * MS)


def test_each_color_plays_by_its_own() -> None:
    """With Black, the control and margin of Black apply."""
    side = Side(SPEC, TimeControl.parse("5"), 50, black=TimeTerms(TimeControl.parse("movetime=1"), 100))
    assert describe_controls(side) == "5 with White, movetime=1 with Black"
    as_black = side.playing(white=False)
    assert (str(as_black.tc), as_black.margin_ms, describe_controls(as_black)) == ("movetime=1", 100, "movetime=1")
    assert str(side.playing(white=True).tc) == describe_controls(side.playing(white=True)) == "5"


def test_a_cecp_base_under_a_second_is_told() -> None:
    """CECP has no base time below a second, so a warning is shown; UCI engines get the exact clock."""
    half, second = TimeControl.parse("0.5+0.1"), TimeControl.parse("1+0.1")
    one, two = (Side(EngineSpec(name, ("/e",), "cecp"), half) for name in "EF")
    assert list(control_warnings([one])) == [
        "CECP cannot express a base time below 1 s: enginetour sends 0:01 for 0.5+0.1 to E"
    ]
    assert list(control_warnings([one, two])) == [
        "CECP cannot express a base time below 1 s: enginetour sends 0:01 for 0.5+0.1 to E, F"
    ]
    assert not list(control_warnings([Side(SPEC, half), Side(one.spec, second)]))


@pytest.mark.parametrize(
    ("control", "words"),
    [
        ("40/1:30", "40/1:30 means 40 moves in 1 s, then 30 s for the rest; for 1 min 30 s, write 40/90"),
        (
            "40/2:15+0.5",
            "40/2:15+0.5 means 40 moves in 2 s, then 15 s for the rest; for 2 min 15 s, write 40/135+0.5",
        ),
        (
            "40/15:00+5",  # the second stage has no time except its increment
            "40/15:0+5 means 40 moves in 15 s, then 5 s a move; for 15 min, write 40/900+5",
        ),
        ("40/60:30", ""),
        ("40/1+1:0+1", ""),
        ("40/1:9", ""),
        ("40/1:60", ""),
        ("40/1:20/30", ""),
        ("40/1.5:30", ""),
        ("40/1+1:30", ""),
        ("90", ""),
    ],
)
def test_a_clock_that_other_programs_read_as_minutes_is_told_once(control: str, words: str) -> None:
    """40/1:30 has two stages here and in PGN, but means 90 s in cutechess and fastchess, so a warning is shown."""
    side = Side(SPEC, TimeControl.parse(control))
    assert list(control_warnings([side, side])) == ([words] if words else [])


def test_controls_are_told_played_and_frozen(tmp_path: Path) -> None:
    """`check` shows different controls, games and PGN have them, and a resume with another one is an error."""
    more = '\n[[entrants]]\nengine = "wren2"\ntc_factor = 2'
    tc = '60,depth=1"\nblack_tc = "50,depth=1"\n#'
    path = config(tmp_path, ("wren1",), "roundrobin", "games_per_pairing = 2", more, tc=tc)
    shown = tour(tmp_path, "check", str(path)).stdout
    assert "Wren 1: 60,depth=1 with White, 50,depth=1 with Black" in shown
    assert "Wren 2: 120,depth=1 with White, 100,depth=1 with Black" in shown
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    text = path.read_text()
    path.write_text(text.replace("tc_factor = 2", "tc_factor = 3"))
    assert "tc of Wren 2 cannot change" in tour(tmp_path, "run", str(path), expect=5).stderr
    path.write_text(text.replace("tc_factor = 2", 'white_tc = "120,depth=1"\nblack_tc = "100,depth=2"'))
    assert "tc of Wren 2 with Black cannot change" in tour(tmp_path, "run", str(path), expect=5).stderr
    path.write_text(text)
    tour(tmp_path, "run", str(path))
    played = {(line["white"], line["white_tc"], line["black_tc"]) for line in read(tmp_path, "games")}
    assert played == {("Wren 1", "60,depth=1", "100,depth=1"), ("Wren 2", "120,depth=1", "50,depth=1")}
    assert '[WhiteTimeControl "60,depth=1"]\n[BlackTimeControl "100,depth=1"]' in "\n".join(
        tour(tmp_path, "games", str(number)).stdout for number in (1, 2)
    )


def test_an_hourglass_has_two_ends(tmp_path: Path) -> None:
    """All entrants have an hourglass or none; there is no estimate of the time."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "games_per_pairing = 2", tc="hourglass=5")
    assert "games: 2\n" in tour(tmp_path, "check", path.name).stdout
    path.write_text(path.read_text() + 'tc = "5+1"\n')
    told = tour(tmp_path, "check", path.name, expect=3).stderr
    assert "but Wren 1 uses hourglass=5 and Wren 2 uses 5+1" in told
    path.write_text(path.read_text().replace('tc = "5+1"', 'white_tc = "5"'))
    assert "Wren 1 uses hourglass=5 and Wren 2 uses 5." in tour(tmp_path, "check", path.name, expect=3).stderr


def test_check_is_silent_of_one_control(tmp_path: Path) -> None:
    """`check` does not list controls if all are the same."""
    assert "time controls:" not in tour(tmp_path, "check", str(config(tmp_path, ("wren1", "wren2")))).stdout


@pytest.mark.parametrize("protocol", ["uci", "cecp"])
def test_both_protocols_play_through_stages(protocol: str) -> None:
    """Both protocols play eight moves each through five stages with correct clocks."""
    played = game(
        sound(protocol),  # type: ignore[arg-type]
        scripted(protocol, name="other"),  # type: ignore[arg-type]
        white_tc="1/10:2/20+1:1/5",
        opening=Opening(),
    )
    assert played.outcome is Outcome.DRAW
    left = [move.clock_ms + move.elapsed_ms for move in played.moves[::2] if move.clock_ms is not None]
    spent = [move.elapsed_ms for move in played.moves[::2]]
    added = [21_000, 1_000, 5_000, 5_000, 5_000, 5_000, 5_000, 5_000]
    before = [10_000, *(each - cost for each, cost in zip(left, spent, strict=True))]
    assert [after - start for after, start in zip(left, before, strict=False)] == added


# Rules of the games.

HEAD = '[tournament]\nname = "t"\n[format]\nsystem = "roundrobin"\n[[entrants]]\nengine = "a"\n[play]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a directory with a file like a table of three pieces."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "KQvK.rtbw").write_bytes(b"\0" * 80)
    return tmp_path


def loaded(folder: Path, play: str) -> load_module.Config:
    """Load a configuration with these lines under [play]."""
    path = folder / "t.toml"
    path.write_text(HEAD + play, encoding="utf-8")
    return load_module.load(path)


def test_no_rule_is_on_unless_it_is_written(folder: Path) -> None:
    """By default no adjudication is active, and engines cannot agree on draws."""
    rules = entrants.rules_of(loaded(folder, ""))
    assert (rules.draw, rules.resign, rules.tables, rules.draw_offers) == (None, None, None, False)


def test_rules_as_they_are_written(folder: Path) -> None:
    """By default resigning needs both sides; directories start at the configuration; pieces are those of the tables."""
    rules = entrants.rules_of(loaded(folder, """
draw = { movenumber = 40, movecount = 8, score = 10 }
resign = { moves = 4, score = 600 }
tablebases = { path = "tables" }
draw_offers = true
"""))  # fmt: skip
    assert rules.draw == DrawRule(40, 8, 10)
    assert rules.resign == ResignRule(4, 600, two_sided=True)
    assert rules.tables == TablebaseRule((str(folder / "tables"),), 3)
    assert rules.draw_offers
    both = f'tablebases = {{ path = ["tables", "{folder}"], pieces = 5, fifty = false, only = "wins" }}'
    expected = TablebaseRule((str(folder / "tables"), str(folder)), 5, fifty=False, only="wins")
    assert entrants.rules_of(loaded(folder, both)).tables == expected


@pytest.mark.parametrize(
    ("play", "words"),
    [
        ("draw = { movenumber = 40, movecount = 0, score = 10 }", "play.draw.movecount: must be between 1 and 1000"),
        ("draw = { movecount = 8, score = 10 }", "play.draw.movenumber is missing"),
        ("resign = { movecount = 4, score = 0 }", "play.resign.score: must be between 1 and 31000"),
        ("resign = { movecount = 4, score = 600, two_side = true }", "two_side"),
        ('tablebases = { path = "" }', "must be a directory, directories separated by"),
        ('tablebases = { path = "elsewhere" }', "elsewhere cannot be read: No such file or directory"),
        ('tablebases = { path = "." }', "Syzygy tables for standard not found in .*KQvK.rtbw"),
        ('tablebases = { path = "tables", pieces = 8 }', "play.tablebases.pieces: must be between 3 and 7"),
        ('tablebases = { path = "tables", adjudicate = false }', "adjudicate = false needs engines = true"),
        ('variant = "crazyhouse"\ntablebases = { path = "tables" }', "Syzygy tables do not support crazyhouse"),
    ],
)
def test_what_cannot_be_is_refused_by_its_line(folder: Path, play: str, words: str) -> None:
    """The error has file and line, the value found and what is allowed."""
    with pytest.raises(InputRefused, match=rf"t\.toml:\d+: .*{words}"):
        entrants.rules_of(loaded(folder, play))


def test_a_cut_table_is_refused(folder: Path) -> None:
    """The error of a truncated table has its path."""
    (folder / "tables" / "KRvK.rtbw").write_bytes(b"\0" * 8)
    with pytest.raises(InputRefused, match=r"KRvK\.rtbw: truncated, or not a Syzygy table"):
        entrants.rules_of(loaded(folder, 'tablebases = { path = "tables" }'))


def test_check_names_what_is_missing(folder: Path) -> None:
    """Missing tables are listed up to the configured number of pieces."""
    lines = entrants.describe_tables(loaded(folder, 'tablebases = { path = "tables", pieces = 4 }'))
    assert lines[0] == "WDL tables for 3 pieces: 1 of 5 files; missing KBvK, KNvK, KPvK and 1 more"
    assert lines[-1] == "WDL tables for 4 pieces: 0 of 30 files; missing KBBvK, KBNvK, KBPvK and 27 more"


def test_the_command_names_them_too(folder: Path) -> None:
    """`check` prints them with the plan."""
    path = tournaments.config(folder, ("wren1", "wren2"), "match", "games = 2")
    path.write_text(path.read_text().replace("[report]", 'tablebases = { path = "tables", pieces = 4 }\n[report]'))
    told = tournaments.tour(folder, "check", str(path)).stdout.splitlines()
    assert "WDL tables for 3 pieces: 1 of 5 files; missing KBvK, KNvK, KPvK and 1 more" in told
    assert "WDL tables for 4 pieces: 0 of 30 files; missing KBBvK, KBNvK, KBPvK and 27 more" in told


def test_engines_get_the_tables_where_it_is_said(folder: Path) -> None:
    """An engine's own option has priority; tables may be for engines only."""
    for_engines = loaded(folder, 'tablebases = { path = "tables", adjudicate = false, engines = true }')
    plain = EngineSpec("a", ("/a",), "uci")
    assert entrants.rules_of(for_engines).tables is None
    assert entrants.tablebase_options(for_engines, plain) == (("SyzygyPath", str(folder / "tables")),)
    own = EngineSpec("a", ("/a",), "uci", options=(("syzygypath", "/mine"),))
    assert entrants.tablebase_options(for_engines, own) == ()
    assert entrants.tablebase_options(loaded(folder, 'tablebases = { path = "tables" }'), plain) == ()
    without = EngineSpec("a", ("/a",), "uci", quirks=Quirks(no_tablebases=True))
    assert entrants.tablebase_options(for_engines, without) == ()


def prepared(
    folder: Path,
    lines: str,
    white: EngineSpec,
    *,
    fen: str = chess.STARTING_FEN,
    moves: str = "",
    tc: str = "nodes=1",
) -> GameTask:
    """Prepare the first game of a tournament with these lines under [play] and moves of one engine."""
    (folder / "start.epd").write_text(f"{fen}\n", encoding="utf-8")
    entrants = "".join(tournaments.entrant(spec.name, spec.command) for spec in (white, sound(moves=moves)))
    path = tournaments.config(folder, (), "match", "games = 2", entrants, tc=tc)
    text = path.read_text().replace("[play]\n", f'[play]\nopenings = {{ file = "start.epd" }}\n{lines}\n')
    path.write_text(text, encoding="utf-8")
    plan = prepare(path, None)
    return plan.task(plan.sides, Pairing(white.name, "sound"), 0)


def played(task: GameTask) -> Game:
    """Play that game; no engine is left."""
    pool = EnginePool()
    try:
        return play(task, Link(), pool)
    finally:
        pool.close_all()


def test_a_game_has_the_rules_of_its_configuration(folder: Path) -> None:
    """The rules of a game are those of the configuration, or the defaults."""
    white = scripted(name="W")
    assert prepared(folder, "", white).rules == Rules()
    lines = """
repetition = 4
fifty = 60
max_moves = 90
hang_limit = 7.5
doubtful_flag = "loss"
draw = { movenumber = 40, movecount = 8, score = 10 }
resign = { movecount = 4, score = 600, twosided = false }
tablebases = { path = "tables", only = "wins" }
draw_offers = true
"""
    tables = TablebaseRule((str(folder / "tables"),), 3, only="wins")
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
    """The same two engines end differently by the rules of the configuration."""
    fen, moves = start or (chess.STARTING_FEN, "")
    drawn = played(prepared(folder, lines, scripted(name="W", moves=moves), fen=fen, moves=moves))
    assert (drawn.cause, drawn.plies) == (cause, plies)


def test_a_hang_ends_by_the_limit_of_its_configuration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a clock, a game is lost by `hang_limit`."""
    monkeypatch.setattr(protocol, "OWED_NS", 100 * protocol.MS)
    lost = played(prepared(folder, "hang_limit = 0.2", scripted("uci", "hang", at=1)))
    assert (lost.outcome, lost.termination) == (Outcome.BLACK, Termination.TIME)
    assert "after the hang limit of 0.2 s (" in lost.cause


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize(("lines", "outcome"), [("", Outcome.VOID), ('doubtful_flag = "loss"', Outcome.BLACK)])
def test_a_doubtful_flag_is_what_its_configuration_says(
    folder: Path, lines: str, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time loss within the delay of the referee is void, or a loss if configured."""
    monkeypatch.setattr(Record, "waited_now", lambda _: 100_000 * protocol.MS)
    late = scripted("uci", "answers-stop", at=1)
    flag = played(prepared(folder, lines, late, tc="0.1"))
    assert (flag.outcome, flag.termination) == (outcome, Termination.TIME), flag.cause
    assert "doubtful" in flag.cause


# Time margins.


@pytest.mark.parametrize(
    ("play", "own", "late", "margins"),
    [
        ("", "", (0, 0), (50, 50)),
        ("", "", (300, 40), (50, 50)),
        ("", "", (300, 250), (250, 250)),
        ("", 'tc = "movetime=1"', (0, 250), (100, 100)),
        ("", 'tc = "movetime=1"', (300, 0), (300, 300)),
        ("", 'black_tc = "movetime=1"', (0, 0), (50, 100)),
        ("margin_ms = 20", 'black_tc = "movetime=1"', (300, 250), (20, 20)),
        ("margin_ms = 20", "margin_ms = 0", (0, 250), (0, 0)),
    ],
)
def test_margins(tmp_path: Path, play: str, own: str, late: tuple[int, int], margins: tuple[int, int]) -> None:
    """Defaults are 50 ms and 100 ms or the engine's quirk; the tournament's margin and the entrant's have priority."""
    path = config(tmp_path, (), "roundrobin", "", f'\n[[entrants]]\nengine = "wren1"\n{own}', tc=f'9"\n{play}\n#')
    loaded = load(path)
    quirks = Quirks(movetime_margin_ms=late[0], clock_margin_ms=late[1])
    side = side_of(loaded, EngineSpec("E", ("/e",), "uci", quirks=quirks), loaded.entrants[0])
    assert tuple(side.playing(white=white).margin_ms for white in (True, False)) == margins


def test_each_engine_has_its_own_flag(tmp_path: Path) -> None:
    """Two entrants with different margins lose on time at different moments."""
    more = "".join(f'\n[[entrants]]\nengine = "wren{number}"\nmargin_ms = {10 * number}' for number in (1, 2))
    loaded = load(config(tmp_path, (), "roundrobin", "", more, tc="1"))
    spec = EngineSpec("E", ("/e",), "uci")
    flags = [Clock(side_of(loaded, spec, section), 60.0).flag_ns() for section in loaded.entrants]
    assert flags == [1_011 * MS, 1_021 * MS]


@pytest.mark.parametrize(
    ("play", "own", "option"),
    [
        ("", "", "false"),
        ("ponder = true", "", "true"),
        ("", "ponder = true", "true"),
        ("ponder = true", "ponder = false", "false"),
        ("ponder = true", "options = { PONDER = false }", "false"),
    ],
)
def test_ponder_goes_over_the_engine_file(tmp_path: Path, play: str, own: str, option: str) -> None:
    """`ponder` has priority over Ponder = false of the engine file, but not over the entrant's own options."""
    path = config(tmp_path, (), "roundrobin", "", f'\n[[entrants]]\nengine = "wren1"\n{own}', tc=f'9"\n{play}\n#')
    loaded = load(path)
    filed = EngineSpec("E", ("/e",), "uci", options=(("Hash", "16"), ("Ponder", "false")))
    spec = side_of(loaded, filed, loaded.entrants[0]).spec
    assert spec.options == (("Hash", "16"), ("Ponder", option))
    assert spec.ponder == (("Ponder", "true") in spec.offered)
    assert spec.ponder == (option == "true" or "options" in own)


# The engines of a section.


def test_the_engines_of_a_section(tmp_path: Path) -> None:
    """A section is one engine file, all of a glob, or a command; its settings have priority over the file's."""
    known = registry.load([bundled_directory("engines")])
    assert [entry.id for entry in engines_of(EntrantSection(glob="wren*"), known, tmp_path)] == [
        f"wren{n}" for n in range(1, 9)
    ]
    settings: dict[str, Any] = {"quirks": {"line_delay_ms": 5}, "limits": ("clock",), "dir": "d", "env": {"A": "b"}}
    (changed,) = engines_of(EntrantSection(engine="hoichess", **settings), known, tmp_path)
    assert changed.quirks == replace(known.get("hoichess").quirks, line_delay_ms=5)
    assert changed.supported_limits == {"clock"}
    settings = {"resources": {"memory": 900}, "sandbox": "landlock", "pass_env": ("A",), "keep_scratch": True}
    (confined,) = engines_of(EntrantSection(engine="wren1", **settings), known, tmp_path)
    spec = to_spec(confined)
    assert (spec.resources, spec.sandbox) == (Resources(memory=900), "landlock")
    assert (spec.pass_env, spec.keep_scratch) == (("A",), True)
    assert (changed.dir, dict(changed.env)) == (str(tmp_path / "d"), {"A": "b"})
    (tmp_path / "mine").touch(0o755)
    section = EntrantSection(command=("./mine", "-x"), protocol="cecp", name="My engine")
    (own,) = engines_of(section, known, tmp_path)
    assert to_spec(own).command == (str(tmp_path / "mine"), "-x")
    assert own.name == "My engine"
    assert own.supported_limits == {"clock", "movetime"}


def test_a_section_without_an_engine(tmp_path: Path) -> None:
    """A glob without matches, an unknown id and an unknown quirk are errors at their place."""
    known = registry.load([bundled_directory("engines")])
    for asked, told in (
        (EntrantSection(glob="x*"), "t:3: no engine file matches 'x\\*'"),
        (EntrantSection(engine="wren9"), "t:3: unknown engine 'wren9', did you mean 'wren"),
        (EntrantSection(engine="wren1", quirks={"fenc": "off"}), "t:3: unknown quirk 'fenc', did you mean 'fence'"),
        (
            EntrantSection(engine="wren1", resources={"memry": 9}),
            "t:3: unknown resource 'memry', did you mean 'memory'",
        ),
        (
            EntrantSection(engine="wren1", resources={"nice": 20}),
            r"t:3: resources.nice: must be between 0 and 19 \(found 20\)",
        ),
    ):
        with pytest.raises(InputRefused, match=told):
            list(engines_of(asked, known, tmp_path, "t:3"))
