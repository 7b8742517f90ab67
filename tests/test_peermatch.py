"""Commands of cutechess-cli and fastchess, in the forms in which scripts, guides and testing frameworks write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.cli.drafts import known_keys
from enginetour.config import load
from enginetour.errors import InputRefused
from enginetour.interop.peermatch import translated
from enginetour.interop.peertime import control_of

COMMANDS = sorted((Path(__file__).parent / "golden" / "commands").glob("*.sh"))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda path: path.stem)
def test_a_command_is_said_in_our_words(command: Path, tmp_path: Path) -> None:
    """The whole configuration, with what could not be taken over; and this version can read it."""
    draft, said = translated(command.read_text(), command.stem, str.lower)
    assert draft.text() == command.with_suffix(".toml").read_text()
    assert draft.remarks[1 : 1 + len(said)] == said
    ours, _ = draft.without_unknown(known_keys())
    file = tmp_path / "it.toml"
    file.write_text(ours.text())
    assert len(load(file).entrants) == len(draft.entrants)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("stockfish -engine cmd=a", "no command of cutechess-cli or fastchess"),
        ("", "no command of cutechess-cli or fastchess"),
        ("fastchess -engine cmd=a -each tc=1", "1 engine, a match needs two"),
        ("fastchess -engine cmd=a -engine cmd=b", "no limit: give tc, st, nodes or depth"),
        ("fastchess -engine cmd=a -engine cmd=b -each tc=hg60", "an hourglass is not played here"),
        ("fastchess -engine cmd=a -engine cmd=b -each tc=soon", "cannot read tc=soon"),
        ("cutechess-cli -engine cmd=a -engine cmd=b -each tc=1", "add proto=uci or proto=xboard"),
        ("cutechess-cli -engine conf=gone -engine cmd=b proto=uci -each tc=1", "enginetour engines import"),
        ("cutechess-cli -engine name=a -engine cmd=b proto=uci -each tc=1", "without cmd= or conf="),
        ("fastchess -engine cmd=$NEW -engine cmd=b -each tc=1", "a variable of a shell in 'cmd=$NEW'"),
        ("fastchess -engine cmd='a -engine cmd=b", "cannot be cut into words"),
        ("fastchess cmd=a", "expected an option such as -engine"),
        ("fastchess -engine cmd=a -engine cmd=b -each tc=1 -rounds many", "-rounds takes a whole number"),
        ("fastchess -engine cmd=a -engine cmd=b -each tc=1 -draw score=x", "score is a number, found 'x'"),
        ("fastchess -engine cmd=a -engine cmd=b -each tc=1 -tournament swiss", "unknown tournament 'swiss'"),
    ],
)
def test_what_makes_no_tournament_is_refused(command: str, told: str) -> None:
    """One sentence with what to do."""
    with pytest.raises(InputRefused, match="--from-command") as refused:
        translated(command, "it", lambda name: None)
    assert told in str(refused.value)


def test_an_unknown_option_is_said_by_name() -> None:
    """Of the program, of an engine, and inside of -openings."""
    command = "fastchess -engine cmd=a colour=red -engine cmd=b -each tc=1 -sparkle 3 -openings file=a.epd mood=calm"
    _, said = translated(command, "it", lambda name: None)
    assert [line.partition(":")[0] for line in said] == ["-sparkle 3", "-openings mood=calm", "colour=red"]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("10", "10"),
        ("40/1:30+0.5", "40/90+0.5"),
        ("0/5+.05", "5+0.05"),
        ("0.5:0", "30"),
        ("Inf/10+1", "10+1"),
        ("10s+0.1s", "10+0.1"),
    ],
)
def test_their_clocks(theirs: str, ours: str) -> None:
    """Minutes stand before the colon; 0 moves are all of them."""
    assert str(control_of(tc=theirs)) == ours
