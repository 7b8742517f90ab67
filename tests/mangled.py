"""Real files of each kind, spoilt by dice, and the commands that read them: whatever is in a file, one clear line."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.touring import tour

REFUSALS = {2, 3, 4, 5, 7}
TOKENS = (
    *(b'"', b"'", b"[", b"]", b"{", b"}", b"(", b")", b"=", b".", b",", b";", b"#", b"%", b"\\", b"/", b"-", b"+"),
    *(b"\x00", b"\x1b[2J", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc2\x9b", b"\xe2\x80\xae"),
    *(b"\r", b"\n", b"\n\n", b"\t", b" " * 40),
    *(b"nan", b"inf", b"-1", b"0", b"1e999", b"99999999999999999999", b"9" * 5000, b"true", b"null", b"2026-02-30"),
    *(b"[" * 600, b"{" * 600, b"(" * 600, b"a." * 600, b"A" * 70_000, b"../../x", b"/dev/null", b"%s%n{0}", b"\\ud800"),
)  # fmt: skip

SUITE = b"""[Event "one"]\n\n1. e4 e5 2. Nf3 {a comment} (2. f4) *\n
[Event "two"]\n[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]\n[SetUp "1"]\n\n1. e4 *\n"""
EPD = b"""rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - hmvc 0; fmvn 1; id "start";
4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n# a comment\n"""
GAMES = b"".join(
    b'[Event "club"]\n[Site "?"]\n[Date "2026.11.01"]\n[Round "1"]\n[White "%s"]\n[Black "%s"]\n[Result "%s"]\n'
    b'[TimeControl "60+1"]\n\n1. e4 {+0.3/12 1s} e5 (1... c5) 2. Nf3 ; rest\n%s\n\n' % (white, black, result, result)
    for white, black, result in (
        (b"A", b"B", b"1-0"),
        (b"B", b"C", b"0-1"),
        (b"C", b"A", b"1/2-1/2"),
        (b"B", b"A", b"*"),
    )
)
TRF = "".join(
    f"{line}\r\n"
    for line in (
        "012 club", "XXR 3", "XXC white1", "162  W1.0 D0.5", "240 H   2    4", "260 001 004    1    3",
        *(f"001 {n:4d} m    {name:33} {2100 - n:4} CZE {n:11} {'1980/01/01':10} {points:4.1f} {n:4d}  {cell}"
          for n, name, points, cell in ((1, "Ada", 1.0, "   2 w 1"), (2, "Bea", 0.0, "   1 b 0"),
                                        (3, "Cid", 0.5, "   4 b ="), (4, "Dan", 0.5, "   3 w ="))),
    )
).encode()  # fmt: skip
REGISTER = b"# club\nA1 Ada, A 2.5 CLUB=x\nB1 Bea 5k BYE\nC1 Cid 3d # DROP2\nD1 Dan -4.2\n## HANDICAPS MIN\n"
ROUND = b"A1 B1 w 0 6.5\nC1 D1 b 2 0.5 # x\n"
XML, H9 = ((Path(__file__).parent / "cases" / "opengotha" / f"evening.{kind}").read_bytes() for kind in ("xml", "h9"))
CONFIG = b"""[tournament]\nname = "club"\nseed = 3\n[format]\nsystem = "dutch"\nrounds = 1\n[play]\ntc = "40/60:20/30"
openings = { file = "suite.pgn", order = "random" }\n[ratings]\nsystems = ["ml", "elo"]\n[ratings.elo]\nk = 20.0
[[entrants]]\nengine = "mine"\n[[entrants]]\nengine = "wren1"\noptions = { Skill = 3 }\n"""
ENGINE = b"""name = "Mine"\ncommand = ["{python}", "x.py"]\nprotocol = "uci"\nlimits = ["clock", "depth"]\nrating = 2000
[options]\nHash = 16\n[files]\n"book.ini" = "a"\n[quirks]\nline_delay_ms = 3\ninit = ["x"]\n"""
ALIASES = b'"A","Ada","Ada 1.0"\nB, "Bea, the"\n# a comment\n'
CASE = json.dumps(
    {
        "format": "enginetour-bubble-case/1", "name": "three", "note": "",
        "params": {"size": 2, "min_matches": 1, "unpark_threshold": 1, "games_per_pairing": 1},
        "ranking": ["A", "B", "C"], "withdrawals": [{"engine": "A", "after_games": 1}],
        "results": [["-10", "0-1", "10-"]],
    }
).encode()  # fmt: skip


@dataclass(frozen=True)
class Door:
    """A file that is spoilt, those that stand beside it, and the command that reads them all."""

    name: str
    content: bytes
    words: tuple[str, ...]
    beside: Mapping[str, bytes] | None = None


_BESIDE = {
    "suite.pgn": SUITE,
    "engines/mine.toml": ENGINE,
    "engines/x.py": b"",
    "club.toml": CONFIG,
    "games.pgn": GAMES,
}
_PLAY = ("simulate", "club.toml", "--fields", "1")
DOORS: Mapping[str, Door] = {
    "config": Door("club.toml", CONFIG, _PLAY, _BESIDE),
    "engine-file": Door("engines/mine.toml", ENGINE, _PLAY, _BESIDE),
    "engines-list": Door("engines/mine.toml", ENGINE, ("engines", "list"), _BESIDE),
    "suite-pgn": Door("suite.pgn", SUITE, _PLAY, _BESIDE),
    "suite-epd": Door("suite.epd", EPD, _PLAY, {**_BESIDE, "club.toml": CONFIG.replace(b".pgn", b".epd")}),
    "rate": Door("games.pgn", GAMES, ("rate", "games.pgn", "-o", "made")),
    "import": Door("games.pgn", GAMES, ("import", "games.pgn", "--dry-run", "--name", "x")),
    "aliases": Door("names.csv", ALIASES, ("rate", "games.pgn", "--aliases", "names.csv"), _BESIDE),
    "pair-trf": Door("club.trf", TRF, ("pair", "club.trf", "-o", "made")),
    "pair-tde": Door("register.tde", REGISTER, ("pair", "register.tde"), {"1.tde": ROUND}),
    "tde-round": Door("1.tde", ROUND, ("pair", "register.tde"), {"register.tde": REGISTER}),
    "pair-xml": Door("evening.xml", XML, ("pair", "evening.xml")),
    "pair-h9": Door("evening.h9", H9, ("pair", "evening.h9", "--rounds", "5")),
    "case": Door("case.json", CASE, ("simulate", "--case", "case.json")),
}  # fmt: skip


def spoilt(content: bytes, dice: random.Random) -> bytes:
    """One to six changes: bytes, pieces, lines and words of the trade."""
    if dice.randrange(20) == 0:
        return dice.randbytes(dice.randrange(400))
    changes: tuple[Callable[[bytes], bytes], ...] = (
        lambda at: content[:place] + at + content[place:],
        lambda at: content[:place] + at + content[place + dice.randrange(1, 12) :],
        lambda _: content[:place] + content[place + dice.randrange(1, 40) :],
        lambda _: content[:place],
        lambda _: content[:place] + bytes([dice.randrange(256)]) + content[place + 1 :],
        lambda _: content[:place] + content[dice.randrange(len(content) + 1) :],
    )
    for _ in range(dice.randint(1, 6)):
        place = dice.randrange(len(content) + 1)
        lines = content.split(b"\n")
        if dice.randrange(4) == 0:
            one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
            key, sign, _ = lines[one].partition(b"=")
            lines[one] = key + sign + lines[other].rpartition(b"=")[2] if dice.randrange(2) else lines[other]
            content = b"\n".join(lines)
        else:
            content = dice.choice(changes)(dice.choice(TOKENS))
    return content


def opened(door: Door, content: bytes, folder: Path) -> int:
    """The law: taken, or refused in one line that names a place; no traceback, no part of a file. The exit code."""
    for name, other in {**(door.beside or {}), door.name: content}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(other)
    before = set(folder.rglob("*"))
    (folder / "results").mkdir(exist_ok=True)
    done = tour(folder, *door.words, expect=None)
    made = {path.name for path in set(folder.rglob("*")) - before} - {"results"}
    assert done.returncode == 0 or done.returncode in REFUSALS, done
    said = [line for line in done.stderr.splitlines() if line.startswith("enginetour: ")]
    assert len(said) == (done.returncode != 0), done.stderr
    if done.returncode:
        assert len(done.stderr.splitlines()[-1]) <= 2000
        assert done.stderr.splitlines()[-1] == said[0]
        assert not made, made
    else:
        assert made <= {"made"}, made
    for path in set(folder.rglob("made")):
        path.unlink()
    return done.returncode
