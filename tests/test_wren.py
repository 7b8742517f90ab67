"""Our own engine, in both protocols."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from types import TracebackType

import chess
import pytest

from enginetour.interop.files import shipped

WREN = shipped("engines") / "wren.py"
ITALIAN = ["e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "f8c5"]
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"


class Talk:
    """A running Wren and what is said to it."""

    def __init__(self, level: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WREN), str(level)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.communicate()

    def say(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()

    def lines(self) -> Iterator[str]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield line.rstrip("\n")

    def until(self, *starts: str) -> list[str]:
        """What comes up to the first line that begins so, that one included."""
        heard: list[str] = []
        for line in self.lines():
            heard.append(line)
            if line.startswith(starts):
                return heard
        raise AssertionError(f"no {starts}, only {heard}")

    def best(self, moves: Sequence[str], limit: str) -> str:
        played = f" moves {' '.join(moves)}" if moves else ""
        self.say(f"position startpos{played}", f"go {limit}")
        return self.until("bestmove")[-1].split()[1]


def _uci(level: int) -> Talk:
    talk = Talk(level)
    talk.say("uci", "isready")
    talk.until("readyok")
    return talk


def _cecp(level: int, *lines: str) -> Talk:
    talk = Talk(level)
    talk.say("xboard", "protover 2", "new", *lines, "ping 7")
    talk.until("pong 7")
    return talk


def test_uci_handshake() -> None:
    """It names itself and its level, and declares Level and Seed."""
    with Talk(3) as talk:
        talk.say("uci")
        heard = talk.until("uciok")
    assert heard[0] == "id name Wren 3"
    assert "option name Level type spin default 3 min 1 max 8" in heard
    assert "option name Seed type spin default 0 min 0 max 2147483647" in heard


def test_cecp_handshake() -> None:
    """It declares what a referee needs, between done=0 and done=1."""
    with Talk(4) as talk:
        talk.say("xboard", "protover 2")
        heard = talk.until("feature done=1")
    assert heard[0] == "feature done=0"
    for feature in ("ping=1", "setboard=1", "usermove=1", "time=1", "reuse=1", "draw=0", "sigint=0", 'myname="Wren 4"'):
        assert any(feature in line for line in heard), feature
    assert 'feature option="Level -spin 4 1 8"' in heard


@pytest.mark.parametrize("level", range(1, 9))
def test_uci_game(level: int) -> None:
    """Every level plays a legal game against itself, under depth, with the history sent as it grows."""
    board = chess.Board()
    with _uci(level) as talk:
        for _ in range(40):
            if board.is_game_over():
                break
            moves = [move.uci() for move in board.move_stack]
            board.push(board.parse_uci(talk.best(moves, "depth 2")))
        talk.say("quit")
        assert talk.process.wait() == 0


def test_cecp_game() -> None:
    """Two Wrens play a legal game over CECP by the clock, each getting one `go`."""
    board = chess.Board()
    with _cecp(2, "level 0 0:01 0.05", "post") as white, _cecp(4, "level 0 0:01 0.05", "post") as black:
        black.say("force")
        for ply in range(40):
            if board.is_game_over():
                break
            mover, other = (white, black) if board.turn else (black, white)
            clock = ("time 100", "otim 100")
            if ply == 0:
                mover.say(*clock, "go")
            elif ply == 1:
                mover.say(*clock, f"usermove {board.peek().uci()}", "go")
            else:
                mover.say(*clock, f"usermove {board.peek().uci()}")
            heard = mover.until("move ")
            assert not [line for line in heard if line.startswith(("Error", "Illegal"))]
            board.push(board.parse_uci(heard[-1].split()[1]))
            assert other is not mover


@pytest.mark.parametrize("limit", ["nodes 300", "depth 2"])
@pytest.mark.parametrize("level", [1, 3, 8])
def test_same_seed_same_moves(level: int, limit: str) -> None:
    """Under nodes and depth a seed plays the same moves, whatever was played before; another seed plays others."""
    lines = [ITALIAN[:n] for n in range(7)]

    def answers(seed: int, order: list[list[str]]) -> dict[int, str]:
        with _uci(level) as talk:
            talk.say(f"setoption name Seed value {seed}")
            return {len(line): talk.best(line, limit) for line in order}

    first = answers(5, lines)
    assert first == answers(5, lines[::-1])
    if level < 8:
        assert first != answers(6, lines)


def test_level_option() -> None:
    """The Level option counts over the command line; what is out of range changes nothing."""
    with _uci(8) as weak, _uci(1) as plain:
        weak.say("setoption name Level value 1", "setoption name Level value 9", "setoption name Level value x")
        assert [weak.best(ITALIAN[:n], "depth 3") for n in range(7)] == [
            plain.best(ITALIAN[:n], "depth 3") for n in range(7)
        ]


@pytest.mark.parametrize("level", range(2, 9))
def test_mates_when_it_can(level: int) -> None:
    """From the second level on it sees a mate in one."""
    with _uci(level) as talk:
        talk.say(f"position fen {MATE_IN_ONE}", "go depth 3")
        assert talk.until("bestmove")[-1] == "bestmove a1a8"


def test_score_lines() -> None:
    """Score lines have depth, score, nodes, time and a legal line; a mate is told as one."""
    with _uci(8) as talk:
        talk.say(f"position startpos moves {' '.join(ITALIAN)}", "go depth 3")
        for line in talk.until("bestmove")[:-1]:
            words = line.split()
            assert words[:2] == ["info", "depth"]
            assert {"score", "nodes", "time", "pv"} <= set(words)
            board = chess.Board()
            for move in [*ITALIAN, *words[words.index("pv") + 1 :]]:
                board.push(board.parse_uci(move))
        talk.say(f"position fen {MATE_IN_ONE}", "go depth 2")
        assert " score mate 1 " in talk.until("bestmove")[-2]
    with _cecp(8, "post", "sd 3", "force", f"setboard {MATE_IN_ONE}") as talk:
        talk.say("go")
        heard = talk.until("1-0")
    assert heard[-3].split()[1] == "100001"
    assert heard[-2:] == ["move a1a8", "1-0 {White mates}"]


def test_hears_while_thinking() -> None:
    """In an endless search it answers isready, and stop brings its move; quit ends it at once."""
    with _uci(8) as talk:
        talk.say("position startpos", "go infinite", "isready")
        assert talk.until("readyok")[-1] == "readyok"
        talk.say("stop")
        board = chess.Board()
        assert board.is_legal(chess.Move.from_uci(talk.until("bestmove")[-1].split()[1]))
        talk.say("go infinite", "quit")
        assert talk.process.wait() == 0


def test_infinite_waits_for_stop() -> None:
    """A level that has seen all it looks at keeps its move until stop."""
    with _uci(1) as talk:
        talk.say("position startpos", "go infinite", "isready")
        assert not [line for line in talk.until("readyok") if line.startswith("bestmove")]
        talk.say("stop")
        talk.until("bestmove")


def test_cecp_hears_while_thinking() -> None:
    """While thinking it answers ping, moves at `?`, and drops its move at force."""
    with _cecp(8, "level 0 60 0", "time 360000") as talk:
        talk.say("go", "ping 8")
        assert talk.until("pong 8") == ["pong 8"]
        talk.say("?")
        talk.until("move ")
        talk.say("usermove e7e5", "usermove d7d5", "force", "ping 9")
        heard = talk.until("pong 9")
        assert not [line for line in heard if line.startswith("move ")]
        talk.say("new", "force", "usermove e2e4", "usermove e7e5", "ping 10")
        assert talk.until("pong 10") == ["pong 10"]


def test_cecp_mistakes() -> None:
    """Illegal moves, bad positions, unknown commands and bad numbers are answered, and it lives on."""
    with _cecp(4, "force") as talk:
        talk.say("usermove e2e5", "setboard nonsense", "frobnicate", "sd x", "level 1", "ping 8")
        assert talk.until("pong 8") == [
            "Illegal move: e2e5",
            "tellusererror Illegal position",
            "Error (unknown command): frobnicate",
            "Error (bad argument): sd x",
            "Error (bad argument): level 1",
            "pong 8",
        ]


def test_finished_positions() -> None:
    """Mated or stalemated it says so instead of moving."""
    with _uci(8) as talk:
        talk.say("position startpos moves f2f3 e7e5 g2g4 d8h4", "go depth 2")
        assert talk.until("bestmove")[-1] == "bestmove (none)"
    with _cecp(8, "force", "setboard 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1") as talk:
        talk.say("go")
        assert talk.until("1/2")[-1] == "1/2-1/2 {Stalemate}"


def test_end_of_file() -> None:
    """It ends with its input, idle or thinking, and with status 0."""
    for lines in ([], ["uci"], ["uci", "position startpos", "go infinite"]):
        with Talk(8) as talk:
            talk.say(*lines)
            assert talk.process.stdin is not None
            talk.process.stdin.close()
            assert talk.process.wait() == 0
            talk.process.stdin = None


def test_impossible_level() -> None:
    """A level that is none is refused."""
    done = subprocess.run([sys.executable, str(WREN), "9"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "a level is 1 to 8, found 9\n"


def test_clock_left() -> None:
    """By its own sums it keeps a reserve: half a second and 20 ms a move last for a thousand moves."""
    sys.path.insert(0, str(WREN.parent))
    try:
        from wren_voice import share
    finally:
        sys.path.remove(str(WREN.parent))
    rest = 500.0
    for _ in range(1000):
        soft, hard = share(rest, 20, 0)
        assert 0 < soft <= hard < rest
        rest += 20 - hard
        assert rest > 100
    for left in (1, 2, 40):
        assert share(1000, 0, left)[1] < 500
