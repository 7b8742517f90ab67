"""Every option of cutechess-cli 1.5.1 and fastchess 1.8.2, as their parsers know them: taken over, or answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from enginetour.tournament.config.load import load
from enginetour.tournament.config.peers import known_keys, translate_command

# main.cpp of cutechess-cli: every option with a value it takes, one a row.
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
# OptionsParser::registerOptions and the parsers it names, of fastchess.
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
# What they say without being told so, or what is as it is here.
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
    """The configuration without its remarks, and what was said."""
    own = "" if engine.startswith("st=") else "tc=1+0.1"  # a fixed time a move stands alone
    three = f"-engine cmd=a proto=uci {own} {engine} -engine cmd=b proto=uci tc=1+0.1 -engine cmd=c proto=uci tc=1+0.1"
    draft, said = translate_command(f"{program} {three} {option}", "it", lambda name: None)
    text = "\n".join(line for line in draft.text().splitlines() if not line.startswith("#"))
    return text, said


@pytest.mark.parametrize(
    ("program", "option"),
    [("cutechess-cli", row) for row in rows(CUTECHESS)] + [("fastchess", row) for row in rows(FASTCHESS)],
)
def test_every_option_of_theirs_has_an_answer(program: str, option: str, tmp_path: Path) -> None:
    """It is known, and either changes the configuration, or one line names it and says why not; ours can be read."""
    plain, before = taken(program)
    text, said = taken(program, option)
    fresh = [line for line in said if line not in before]
    assert not [line for line in fresh if "known here" in line]
    last = option.split(" -")[-1].split()[0].lstrip("-")
    named = [line for line in fresh if line.startswith(f"-{last}")]
    assert text != plain or named or option in AS_IT_IS
    assert all(": " in line for line in named)
    file = tmp_path / "it.toml"
    draft, _ = translate_command(
        f"{program} -engine cmd=a proto=uci -engine cmd=b proto=uci -engine cmd=c proto=uci -each tc=1 {option}",
        "it",
        lambda name: None,
    )
    file.write_text(draft.without_unknown(known_keys())[0].text())
    assert load(file).format_options is not None


@pytest.mark.parametrize(
    ("program", "word"), [(program, word) for program, words in ENGINE.items() for word in words.split()]
)
def test_every_setting_of_an_engine_has_an_answer(program: str, word: str) -> None:
    """The same for the words of -engine and -each."""
    plain, before = taken(program)
    text, said = taken(program, engine=word)
    fresh = [line for line in said if line not in before]
    assert not [line for line in fresh if "known here" in line]
    assert text != plain or [line for line in fresh if line.startswith(word.partition("=")[0])]


def comments(words: str, program: str = "fastchess") -> dict[str, Any]:
    draft, _ = translate_command(
        f"{program} -engine cmd=a proto=uci -engine cmd=b proto=uci -each tc=1 {words}", "it", lambda name: None
    )
    return {key: draft.play[key] for key in ("pgn", "keep_lines", "log_traffic") if key in draft.play}


def test_the_comments_of_a_pgn() -> None:
    """In the order of the PGN, whatever theirs; the last word of one counts; patterns go to keep_lines."""
    assert comments("-pgnout file=a pv=true nodes=true timeleft=true") == {"pgn": ["timeleft", "nodes", "pv"]}
    assert comments("-pgnout nodes=true nps=true nodes=false") == {"pgn": ["nps"]}
    assert comments("-pgnout match_line=^info match_line=tb") == {"pgn": ["lines"], "keep_lines": "(?:^info)|(?:tb)"}
    assert comments("-pgnout a.pgn min", "cutechess-cli") == {}
    assert comments("-log file=a engine=true") == {"log_traffic": True}
