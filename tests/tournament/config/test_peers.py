"""Tests of commands of cutechess-cli and fastchess, as scripts, guides and testing frameworks write them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from enginetour.formats.base import make_format
from enginetour.interop.toml import ConfigDraft
from enginetour.model.errors import InputRefused
from enginetour.model.game import Entrant, Termination
from enginetour.openings.choice import load_opening_book
from enginetour.store.tournaments import Store
from enginetour.tournament.config.load import load
from enginetour.tournament.config.peers import parse_limits, translate_command
from tests.support.tournaments import tour

COMMANDS = sorted((Path(__file__).parents[2] / "golden" / "commands").glob("*.sh"))


def translated(command: str) -> tuple[ConfigDraft, Sequence[str]]:
    return translate_command(command, "it", lambda name: None)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda path: path.stem)
def test_a_command_is_said_in_our_words(command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole configuration is as recorded, has the notes as comments, and can be loaded."""
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    draft, said = translate_command(command.read_text(), command.stem, str.lower)
    assert draft.text() == command.with_suffix(".toml").read_text()
    assert draft.remarks[1 : 1 + len(said)] == said
    file = tmp_path / "it.toml"
    file.write_text(draft.text())
    assert len(load(file).entrants) == len(draft.entrants)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("stockfish -engine cmd=a", "not a command of cutechess-cli or fastchess"),
        ("", "not a command of cutechess-cli or fastchess"),
        ("fastchess -engine cmd=a -each tc=1", "a match needs at least two engines (found 1)"),
        ("fastchess -engine cmd=a -engine cmd=b", "no search limit: give tc, st, nodes or depth"),
        (
            "cutechess-cli -engine cmd=a -engine cmd=b -each proto=uci tc=hg60+1",
            "tc=hg60+1 is not a valid time control",
        ),
        ("fastchess -engine cmd=a -engine cmd=b -each tc=soon", "tc=soon is not a valid time control"),
        ("cutechess-cli -engine cmd=a -engine cmd=b -each tc=1", "add proto=uci or proto=xboard"),
        ("cutechess-cli -engine conf=gone -engine cmd=b proto=uci -each tc=1", "enginetour engines import"),
        ("cutechess-cli -engine name=a -engine cmd=b proto=uci -each tc=1", "an engine has neither cmd= nor conf="),
        ("fastchess -engine cmd=$NEW -engine cmd=b -each tc=1", "contains the shell variable '$N' (found 'cmd=$NEW')"),
        ("fastchess -engine cmd='a -engine cmd=b", "is not a valid command line"),
        ("fastchess cmd=a", "expected an option such as -engine"),
        ("fastchess -engine cmd=a -engine cmd=b -each tc=1 -rounds many", "-rounds must be a whole number"),
        ("fastchess -engine cmd=a -engine cmd=b -each tc=1 -draw score=x", "score must be a number (found 'x')"),
        ("fastchess -engine cmd=a -engine cmd=b -each tc=1 -tournament swiss", "unknown tournament 'swiss'"),
    ],
)
def test_what_makes_no_tournament_is_refused(command: str, told: str) -> None:
    """The error is one sentence with a hint."""
    with pytest.raises(InputRefused, match="--from-command") as refused:
        translated(command)
    assert told in str(refused.value)


def test_an_unknown_option_is_said_by_name() -> None:
    """Unknown options of the program, of an engine, and of -openings are noted by name."""
    command = (
        "fastchess -engine cmd=a color=red -engine cmd=b -each tc=1 -sparkle 3 -openings file=a.epd mood=calm -recover"
    )
    _, said = translated(command)
    assert [line.partition(":")[0] for line in said] == ["-sparkle 3", "-openings mood=calm", "-recover", "color=red"]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("10", "10"),
        ("40/1:30+0.5", "40/90+0.5"),
        ("0/5+.05", "5+0.05"),
        ("0.5:0", "30"),
        ("Inf/10+1", "10+1"),
        ("10s+0.1s", "10+0.1"),
        ("hg1:30", "hourglass=90"),
    ],
)
def test_their_clocks(theirs: str, ours: str) -> None:
    """Minutes come before the colon; 0 moves mean all moves."""
    assert str(parse_limits(tc=theirs)) == ours
    assert str(parse_limits(tc=theirs, nodes="0", depth="10")) == f"{ours},depth=10"  # 0 is no limit


def match_of(words: str, program: str = "fastchess", engines: int = 2) -> tuple[ConfigDraft, str]:
    given = " ".join(f"-engine name={name} cmd={name} proto=uci" for name in "abcd"[:engines])
    draft, said = translated(f"{program} {given} -each tc=1 -openings file=b.epd {words}")
    return draft, "\n".join(said)


@pytest.mark.parametrize(
    ("words", "games", "legs"),
    [
        ("", 4, 2),
        ("-games 100", 200, 2),  # 2 rounds are the default, and become the games of each
        ("-games 6 -rounds 1", 6, 1),
        ("-repeat -games 1 -rounds 4", 4, 1),  # the later one counts
        ("-games 1 -repeat -rounds 4", 8, 2),
        ("-repeat 1 -rounds 4", 4, 1),
        ("-repeat 4 -rounds 2", 8, 2),
    ],
)
def test_games_and_rounds_of_fastchess(words: str, games: int, legs: int) -> None:
    """fastchess exchanges more than two games per round with the rounds, and no opening is repeated."""
    draft, _ = match_of(words)
    assert (draft.format["games"], draft.format["games_per_pairing"]) == (games, legs)
    assert "repeat" not in draft.play["openings"]


def test_games_and_rounds_that_fastchess_refuses() -> None:
    """More than two games and more than two rounds are an error of fastchess."""
    with pytest.raises(InputRefused, match=r"1 or 2 -games per round \(found -games 4 -rounds 3\)"):
        match_of("-games 4 -rounds 3")


@pytest.mark.parametrize(
    ("words", "engines", "openings"),
    [
        ("-games 4 -repeat 2", 3, "112233"),
        ("-games 2", 3, "123456"),
        ("-games 2 -openings file=b.epd policy=encounter", 3, "112233"),
        ("-games 3 -rounds 2 -openings file=b.epd policy=encounter", 2, "111111"),
        ("-games 4 -rounds 2 -openings file=b.epd policy=round", 2, "11112222"),
        ("-games 6 -repeat 3", 2, "111222"),
        ("-games 6", 2, "123456"),
        ("-rounds 6 -repeat", 2, "112233"),
    ],
)
def test_how_long_cutechess_keeps_an_opening(words: str, engines: int, openings: str, tmp_path: Path) -> None:
    """Each game has the opening that cutechess-cli 1.5.1 would choose."""
    draft, _ = match_of(words, "cutechess-cli", engines)
    (tmp_path / "b.epd").write_text("".join(f"k7/8/8/8/8/8/{n}P{7 - n}/7K w - - 0 1\n" for n in range(1, 7)))
    file = tmp_path / "it.toml"
    file.write_text(draft.text())
    config = load(file)
    system = make_format(draft.format["system"], config.format_options)
    offers = system.offers(system.start(tuple(Entrant(name) for name in "abcd"[:engines])))
    legs = min(2, draft.format["games_per_pairing"])
    book = load_opening_book(config.play.openings, seed=1, legs=legs, folder=tmp_path)
    dealt = [book.pick(offer).index for offer in sorted(offers, key=lambda offer: (offer.encounter, offer.leg))]
    assert "".join(map(str, dealt[: len(openings)])) == openings


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("taskset -c 0-3 fastchess {}", "taskset -c 0-3: ignored; put it before"),
        ("cd fastchess-1.8 && ./fastchess {}", "cd fastchess-1.8 &&: ignored; put it before"),
        ("fastchess {} && ordo -p a.pgn", "&& ordo -p a.pgn: ignored; put it after"),
        ("fastchess {} -maxmoves 9999", "-maxmoves 9999: enginetour uses 2000, the largest allowed value"),
        ("fastchess {} -maxmoves 99", "-maxmoves: fastchess counts from the end of the opening"),
        ("fastchess {} -each timemargin=99999", "timemargin=99999: enginetour uses 60000, the largest allowed value"),
        ("fastchess {} -resign movecount=3", "-resign score=0: enginetour uses 1, the smallest allowed value"),
        ("fastchess {} -concurrency -2", "-concurrency -2: 6 concurrent games on this machine"),
        (f"fastchess {{}} -event {'x' * 65}", f"-event {'x' * 65}: cut to 64 characters"),
        ("fastchess {} -sprt elo0=0 elo1=5 -output format=cutechess", "-sprt: fastchess counts games, "),
        ("cutechess-cli {} -repeat -sprt elo0=0 elo1=5", "-sprt: cutechess-cli counts games, "),
        ("cutechess-cli {} -draw movenumber=0 movecount=8 score=5", "-draw movenumber=0: this turns the rule off"),
        (
            "cutechess-cli {} -engine cmd=c proto=uci",
            "without name=, cutechess-cli uses the name that the engine sends",
        ),
        ("cutechess-cli {} -engine conf=c arg=-x", "arg=-x: add the arguments to the command in the engine file"),
        ("fastchess {} -each nodes=9 tc=inf", "without a clock, fastchess waits forever; in enginetour, hang_limit"),
        ("fastchess {} -engine name=c cmd=c -noswap", "-noswap: the colors follow the Berger tables"),
        ("cutechess-cli {}", "without -recover, cutechess-cli stops at the first crash"),
    ],
)
def test_what_is_other_here_is_said(command: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each difference has a note; a plain command with -recover has none."""
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    plain = "-engine name=a cmd=a proto=uci -engine name=b cmd=b proto=uci -openings file=b.pgn -each tc=1"
    draft, lines = translate_command(command.format(plain), "it", str.lower)
    assert [line for line in lines if line.startswith(said)]
    assert not {"draw", "sprt"} & set(draft.play)
    rules = "-srand 7 -draw movenumber=9 -resign score=400 -openings file=b.epd"  # the order of the file
    quiet = translate_command(f"fastchess {plain} {rules} -recover -sprt elo0=0 elo1=5", "it", str.lower)[1]
    assert [line.partition(":")[0] for line in quiet] == ["-recover", "-sprt"]


@pytest.mark.parametrize(
    ("program", "words", "told"),
    [
        ("cutechess-cli", "-draw movenumber=9", "-draw movenumber: cutechess-cli counts from the EPD position"),
        ("cutechess-cli", "-openings file=b format=epd -draw movenumber=9", "-draw movenumber: cutechess-cli counts"),
        ("cutechess-cli", "-resign movecount=3 score=400", "-draw, -resign: cutechess-cli accepts lowerbound"),
        (
            "cutechess-cli",
            "-tournament gauntlet -rounds 2",
            "-games 1: cutechess-cli gives the gauntlet engine one color",
        ),
        (
            "fastchess",
            "-openings order=random -srand 7",
            "-srand 7: the random order of the openings is different in enginetour",
        ),
    ],
)
def test_moves_scores_and_draws_of_lots_that_count_otherwise_are_said(program: str, words: str, told: str) -> None:
    """Differences in the count of moves, in exact scores and in random orders have notes."""
    assert told in match_of(words, program, engines=3 if "gauntlet" in words else 2)[1]
    assert told not in match_of(words.replace("random", "sequential"))[1]


def test_a_command_of_windows() -> None:
    """In Windows paths a backslash only escapes a quote; a caret or backtick continues the line."""
    command = (
        'D:\\t\\fast-chess.exe `\n -engine cmd=C:\\sf\\new.exe args="-x \\"a b\\"" `\n -engine cmd="C:\\My sf\\old.exe"'
    )
    draft, _ = translated(f"{command} -each tc=1")
    assert [entrant["command"] for entrant in draft.entrants] == [
        ["C:\\sf\\new.exe", "-x", "a b"],
        ["C:\\My sf\\old.exe"],
    ]
    assert [entrant["name"] for entrant in draft.entrants] == ["new", "old"]


def test_a_script() -> None:
    """Comments and other commands of a script are ignored; a command may continue on the next line."""
    engines = "-engine cmd=a\n  -engine cmd=b \\\n  -each\ntc=1 -recover -games 2"
    script = f"#!/bin/sh\nset -eux\n# don't\nfastchess {engines}\nordo -p a.pgn\n"
    draft, said = translated(script.replace("\n", "\r\n"))
    assert draft.format["games"] == 4
    assert said[:2] == (
        "set -eux: ignored; put it before enginetour init and enginetour run",
        "ordo -p a.pgn: ignored; put it after enginetour run",
    )


def test_words_of_an_engine() -> None:
    """Engine options keep their digits; the last args= counts, as in fastchess."""
    draft, _ = match_of("-each option.Key=007 option.Skill=1.50 option.Hash=16 args=-a -each args=-b")
    assert draft.entrants[0]["options"] == {"Key": "007", "Skill": "1.50", "Hash": 16}
    assert draft.entrants[0]["command"] == ["a", "-b"]


def test_limits_of_an_engine_of_cecp() -> None:
    """depth= of a CECP engine becomes one of its limits."""
    command = "cutechess-cli -engine cmd=a proto=xboard depth=4 -engine cmd=b proto=uci depth=4 -each tc=inf"
    draft, _ = translated(command)
    assert [entrant.get("limits") for entrant in draft.entrants] == [["clock", "movetime", "depth"], None]


def test_a_program_with_a_blank_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In fastchess cmd= is only a program; in cutechess-cli it is one if the file exists, also in dir=."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    Path("sub/my b").touch()
    words = '-engine cmd="my a" -engine cmd="my b" dir=sub -each tc=1 proto=uci'
    for program, first in (("fastchess", ["my a"]), ("cutechess-cli", ["my", "a"])):
        draft, _ = translated(f"{program} {words}")
        assert [entrant["command"] for entrant in draft.entrants] == [first, ["sub/my b"]]


def test_options_that_are_given_again() -> None:
    """Repeated options add to earlier ones, as in fastchess, and the later of two equal keys counts."""
    draft, _ = match_of(
        "-draw movenumber=40 movecount=8 score=20 -draw score=10 -openings start=3 -tb /tb -tbpieces 32"
    )
    assert draft.play["draw"] == {"movenumber": 40, "movecount": 8, "score": 10}
    assert draft.play["openings"] == {"file": "b.epd", "order": "sequential", "start": 3}
    assert draft.play["tablebases"]["pieces"] == 7


def test_a_name_of_its_own(tmp_path: Path) -> None:
    """--name has priority over -event."""
    command = "fastchess -engine cmd=a -engine cmd=b -each tc=1 -event Kite"
    tour(tmp_path, "init", "it.toml", "--from-command", command)
    tour(tmp_path, "init", "mine.toml", "--name", "Mine", "--from-command", command)
    assert [load(tmp_path / name).tournament.name for name in ("it.toml", "mine.toml")] == ["Kite", "Mine"]


def test_a_command_says_it_all(tmp_path: Path) -> None:
    """Other options of `init` with --from-command are an error."""
    command = "fastchess -engine cmd=a -engine cmd=b -each tc=1"
    told = tour(tmp_path, "init", "it.toml", "--tc", "5+0.05", "--from-command", command, expect=2)
    assert "--tc: cannot be combined with --from-command" in told.stderr
    assert not (tmp_path / "it.toml").exists()


def test_seeds() -> None:
    """Gauntlet seeds of fastchess play each other, those of cutechess do not; a cutechess knockout is drawn by lot."""
    gauntlet = "-tournament gauntlet -seeds 2"
    assert match_of(gauntlet, engines=3)[0].format["seeds_meet"] is True
    assert "seeds_meet" not in match_of(gauntlet, "cutechess-cli", 3)[0].format
    assert match_of("-tournament knockout", "cutechess-cli", 4)[0].format["seeding"] == "lottery"
    assert "seeding" not in match_of("-tournament knockout -seeds 4", "cutechess-cli", 4)[0].format


def test_a_program_that_lies_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare program name is found in PATH, else in the current directory, as in fastchess."""
    monkeypatch.chdir(tmp_path)
    for name in ("b", "sh"):
        Path(name).touch()
    draft, _ = translated("fastchess -engine cmd=b -engine cmd=sh -engine cmd=c -each tc=1")
    assert [entrant["command"] for entrant in draft.entrants] == [["./b"], ["sh"], ["c"]]


def test_nets_that_lie_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in engine options are relative to the current directory in fastchess, or to dir=."""
    monkeypatch.chdir(tmp_path)
    Path("nets").mkdir()
    Path("nets/a.nnue").touch()
    options = "option.EvalFile=nets/a.nnue option.SyzygyPath=./nets option.Book=gone.bin option.Style=nets"
    each = "args=--weights=nets/a.nnue -each tc=1"
    command = f"-engine cmd=b {options} -engine cmd=c dir=d option.EvalFile=nets/a.nnue {each}"
    draft, _ = translated(f"fastchess {command}")
    whole = {"EvalFile": f"{tmp_path}/nets/a.nnue", "SyzygyPath": f"{tmp_path}/nets"}
    own = {"EvalFile": "nets/a.nnue"}
    assert [entrant["options"] for entrant in draft.entrants] == [whole | {"Book": "gone.bin", "Style": "nets"}, own]
    assert draft.anchored(tmp_path).entrants[1]["command"][1] == f"--weights={tmp_path}/nets/a.nnue"


# Shuffles its knights by the number of plies, and sends the score of its command line.
SCORED = """\
import sys
plies = 0
for line in sys.stdin:
    words = line.split()
    if words[0] == "position":
        plies = len(words[words.index("moves") + 1 :]) if "moves" in words else 0
    elif words[0] == "go":
        move = ("g1f3", "g8f6", "f3g1", "f6g8")[plies % 4]
        print(f"info depth 1 score cp {sys.argv[1]} pv {move}\\nbestmove {move}", flush=True)
    elif words[0] in ("uci", "isready"):
        print({"uci": "uciok", "isready": "readyok"}[words[0]], flush=True)
    elif words[0] == "quit":
        break
"""
BOOK = ("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 1",
        "rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR w KQkq - 0 1")  # fmt: skip


DRAW, RESIGN = Termination.ADJUDICATION_DRAW, Termination.ADJUDICATION_RESIGN


@pytest.mark.parametrize(
    ("program", "rule", "score", "ends"),
    [
        (
            "cutechess-cli",
            "-draw movenumber=2 movecount=1 score=8",
            5,
            [("Ada", "1/2-1/2", DRAW, 4), ("Bea", "1/2-1/2", DRAW, 4)],
        ),
        ("fastchess", "-resign movecount=2 score=600", 700, [("Ada", "1-0", RESIGN, 4), ("Bea", "0-1", RESIGN, 3)]),
    ],
)
def test_a_command_is_played_as_it_says(
    tmp_path: Path, program: str, rule: str, score: int, ends: list[tuple[str, str, Termination, int]]
) -> None:
    """A translated command is played with its openings, adjudication and clock."""
    (tmp_path / "scored.py").write_text(SCORED)
    (tmp_path / "book.epd").write_text("\n".join(BOOK) + "\n")
    words = [program]
    for name, own in (("Ada", score), ("Bea", -score)):
        args = ["-I", "-S", f"{tmp_path}/scored.py", str(own)]
        given = f'args="{" ".join(args)}"' if program == "fastchess" else " ".join(f"arg={arg}" for arg in args)
        words.append(f"-engine name={name} cmd={sys.executable} proto=uci {given}")
    words.append("-each tc=40/60+0.5 -openings file=book.epd format=epd order=sequential")
    tour(tmp_path, "init", "it.toml", "--from-command", f"{' '.join(words)} -rounds 2 -games 2 -repeat {rule}")
    tour(tmp_path, "run", "it.toml")
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        games = [stored.game for stored in store.tournament("it").full_games()]
    assert [game.opening.fen for game in games] == [BOOK[0], BOOK[0], BOOK[1], BOOK[1]]
    assert [(game.pairing.white, game.outcome.value, game.termination, game.plies) for game in games] == 2 * ends
    assert (tmp_path / "results" / "it.pgn").read_text().count('[TimeControl "40/60+0.5"]') == 4


# main.cpp of cutechess-cli: every option with a valid value, one per row.
CUTECHESS = """
-srand 7 | -tournament gauntlet | -tournament knockout | -tournament pyramid | -tournament round-robin
-variant atomic | -variant fischerandom | -concurrency 2 | -draw movenumber=40 movecount=8 score=10
-resign movecount=4 score=600 | -resign movecount=4 score=600 twosided=true | -maxmoves 150 | -tb /tb
-tb /tb -tbpieces 5 | -tb /tb -tbignore50 | -event Cup | -games 4 | -rounds 3 | -sprt elo0=0 elo1=5 alpha=0.05 beta=0.05
-ratinginterval 5 | -outcomeinterval 5 | -resultformat wide | -debug | -debug all
-openings file=a.pgn format=pgn | -openings file=a.epd format=epd order=random plies=8 start=3 policy=round
-openings file=a.epd policy=encounter | -bookmode disk | -pgnout a.pgn | -pgnout a.pgn min | -pgnout a.pgn fi
-epdout a.epd | -repeat | -repeat 2 | -noswap | -reverse | -recover | -site Here | -wait 100
-tournament gauntlet -seeds 2 | -version | --version | -v | -help | --help | -engines | --engines
"""
# OptionsParser::registerOptions of fastchess, and its parsers.
FASTCHESS = """
-pgnout file=a.pgn | -pgnout append=false | -pgnout nodes=true | -pgnout seldepth=true | -pgnout nps=true
-pgnout hashfull=true | -pgnout tbhits=true | -pgnout timeleft=true | -pgnout latency=true | -pgnout min=true
-pgnout notation=uci | -pgnout match_line=info | -pgnout pv=true | -epdout file=a.epd append=true
-openings file=a.epd format=epd order=random plies=8 start=3 policy=round | -sprt elo0=0 elo1=5 alpha=0.1 beta=0.1
-sprt elo0=0 elo1=5 model=bayesian | -draw movenumber=40 movecount=8 score=10
-resign movecount=4 score=600 twosided=false | -maxmoves 150 | -tb /tb | -tb /tb -tbpieces 5 | -tb /tb -tbignore50
-tb /tb -tbadjudicate DRAW | -autosaveinterval 5 | -log file=a.log | -log level=trace | -log append=true
-log compress=true | -log realtime=false | -log engine=true | -config file=a.json | -config outname=a.json
-config discard=true | -config stats=false | -report penta=false | -output format=cutechess | -concurrency 2
-crc32 pgn=true | -force-concurrency | -event Cup | -site Here | -games 1 | -rounds 3 | -wait 100 | -noswap | -reverse
-ratinginterval 5 | -scoreinterval 5 | -srand 7 | -tournament gauntlet -seeds 2 | -tournament gauntlet
-tournament roundrobin | -recover | -repeat | -repeat 4 | -variant fischerandom | -use-affinity | -use-affinity 0-3
-check-mate-pvs | -show-latency | -debug | -testEnv | -strict | -startup-ms 20000 | -ucinewgame-ms 5000 | -ping-ms 5000
-quick cmd=c book=a.epd | -version | --version | -v | --v | -help | --help
"""
# Options that change nothing, because they are the default or have no effect here.
AS_IT_IS = (
    "-tournament round-robin", "-tournament roundrobin", "-repeat", "-repeat 2", "-tournament pyramid",
)  # fmt: skip
ENGINE = {
    "cutechess-cli": "name=x dir=/d arg=-x initstr=a restart=on trust tscale=2 st=1 timemargin=9 book=b.bin "
    "bookdepth=4 whitepov depth=5 nodes=500 ponder debug stderr=e.txt option.Hash=8",
    "fastchess": "name=x st=1 timemargin=9 nodes=500 plies=5 depth=5 dir=/d args=-x restart=on option.Hash=8",
}


def rows(text: str) -> list[str]:
    return [row.strip() for line in text.strip().splitlines() for row in line.split("|")]


def taken(program: str, option: str = "", engine: str = "") -> tuple[str, Sequence[str]]:
    own = "" if engine.startswith("st=") else "tc=1+0.1"  # a fixed time per move cannot be combined with a clock
    three = f"-engine cmd=a proto=uci {own} {engine} -engine cmd=b proto=uci tc=1+0.1 -engine cmd=c proto=uci tc=1+0.1"
    draft, said = translated(f"{program} {three} {option}")
    text = "\n".join(line for line in draft.text().splitlines() if not line.startswith("#"))
    return text, said


@pytest.mark.parametrize(
    ("program", "option"),
    [("cutechess-cli", row) for row in rows(CUTECHESS)] + [("fastchess", row) for row in rows(FASTCHESS)],
)
def test_every_option_of_theirs_has_an_answer(program: str, option: str, tmp_path: Path) -> None:
    """Every option changes the configuration or has a note, is not "unsupported", and the result can be loaded."""
    plain, before = taken(program)
    text, said = taken(program, option)
    fresh = [line for line in said if line not in before]
    assert not [line for line in fresh if "unsupported" in line]
    last = option.split(" -")[-1].split()[0].lstrip("-")
    named = [line for line in fresh if line.startswith(f"-{last}")]
    assert text != plain or named or option in AS_IT_IS
    assert all(": " in line for line in named)
    file = tmp_path / "it.toml"
    engines = " ".join(f"-engine cmd={name} proto=uci" for name in "abc")
    draft, _ = translated(f"{program} {engines} -each tc=1 {option}")
    file.write_text(draft.text())
    assert load(file).format_options is not None


@pytest.mark.parametrize(
    ("program", "word"), [(program, word) for program, words in ENGINE.items() for word in words.split()]
)
def test_every_setting_of_an_engine_has_an_answer(program: str, word: str) -> None:
    """So does every setting of -engine and -each."""
    plain, before = taken(program)
    text, said = taken(program, engine=word)
    fresh = [line for line in said if line not in before]
    assert not [line for line in fresh if "unsupported" in line]
    assert text != plain or [line for line in fresh if line.startswith(word.partition("=")[0])]


def comments(words: str, program: str = "fastchess") -> dict[str, Any]:
    draft, _ = translated(f"{program} -engine cmd=a proto=uci -engine cmd=b proto=uci -each tc=1 {words}")
    return {key: draft.play[key] for key in ("pgn", "keep_lines", "engine_log") if key in draft.play}


def test_the_comments_of_a_pgn() -> None:
    """PGN comments are in the order of the PGN; the last of two equal settings counts; patterns become keep_lines."""
    assert comments("-pgnout file=a pv=true nodes=true timeleft=true") == {"pgn": ["timeleft", "nodes", "pv"]}
    assert comments("-pgnout nodes=true nps=true nodes=false") == {"pgn": ["nps"]}
    assert comments("-pgnout match_line=^info match_line=tb") == {"pgn": ["lines"], "keep_lines": "(?:^info)|(?:tb)"}
    assert comments("-pgnout a.pgn min", "cutechess-cli") == {}
    assert comments("-log file=a engine=true") == {"engine_log": True}
