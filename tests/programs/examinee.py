"""An engine that follows the rules and its protocol, with one fault that --fault selects.

Every step of the compliance tests of both protocols has a fault here that it must find.
"""

# mypy: ignore-errors
# An engine is a program, not a module of the package: it has no annotations.
import argparse
import os
import select
import signal
import time

import chess

OPTIONS = {
    "uci": [
        "Hash type spin default 16 min 1 max 1024",
        "Skill type spin default 5 min 0 max 9",
        "Ponder type check default false",
        "Calm type check default false",
        "Style type combo default Solid var Solid var Very Risky",
        "Motto type string default <empty>",
        "Clear Hash type button",
    ],
    "cecp": ["Skill -spin 5 0 9", "Calm -check 0", "Style -combo *Solid /// Risky", "Motto -string x", "Clear -button"],
}


class Examinee:
    def __init__(self, options):
        self.protocol, self.faults = options.protocol, options.fault.split(",")
        self.board = chess.Board()
        self.input = b""
        self.searching = None  # time of its move; None: no search
        self.pondering = False
        self.force = True
        self.searches = 0
        self.depth = self.lines = 0
        self.is_counting = False
        self.seconds = None
        self.mute = False
        self.empty = 0
        self.level_minutes = 0
        self.shuffled = False  # whether the back ranks are shuffled

    # Input and output.

    def has(self, fault):
        return fault in self.faults

    def say(self, *lines):
        try:
            os.write(1, "".join(f"{line}\n" for line in lines).encode())
        except OSError:
            os._exit(0)

    def run(self):
        if self.has("sigterm"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self.has("stderr"):
            os.write(2, b"warning: no book\n")
        while True:
            self.wait()
            line, found, rest = self.input.partition(b"\n")
            if not found:
                continue
            dropped = self.has("drops-lines") and rest.count(b"isready") + rest.count(b"ping") > 1
            self.input = b"" if dropped else rest
            self.lines += 1
            self.obey(line.decode())

    def wait(self):
        if b"\n" in self.input:
            return
        self.take(None if self.searching is None else max(0.0, self.searching - time.monotonic()))

    def take(self, seconds):
        if not select.select([0], [], [], seconds)[0]:
            self.answer()
            return
        chunk = os.read(0, 65536)
        if not chunk:
            if self.has("eof") or (self.has("eof-thinking") and self.searching is not None):
                while True:
                    time.sleep(60)
            os._exit(0)
        if self.has("pieces") and chunk in (b"isr", b"pin"):
            return
        self.input += chunk

    def obey(self, line):
        if self.has("crlf") and line.endswith("\r"):
            return
        self.empty = 0 if line.strip() else self.empty + 1
        if self.has("empty") and self.empty > 1:
            os._exit(1)
        word, _, rest = line.strip().partition(" ")
        if word == "quit":
            self.quit()
        elif word:
            getattr(self, self.protocol)(word, rest)

    def quit(self):
        if self.has("quit") or (self.has("quit-thinking") and self.searching is not None):
            return
        os._exit(3 if self.has("exit-code") else 0)

    # UCI.

    def uci(self, word, rest):
        if word == "uci":
            if self.has("second-uci") and self.lines > 1:
                return
            if not self.has("nameless"):
                self.say("id name Examinee")
            if not self.has("authorless"):
                self.say("id author the tests")
            shown = [*OPTIONS["uci"]]
            if self.has("default"):
                shown[1] = "Skill type spin default 50 min 0 max 9"
            if self.has("no-ponder"):
                shown = [text for text in shown if not text.startswith("Ponder")]
            shown.append("UCI_Chess960 type check default false")
            self.say(*(f"option name {text}" for text in shown), "uciok")
        elif word == "isready":
            if self.mute or (self.has("ping-thinking") and self.searching is not None):
                return
            self.say(*["readyok"] * (2 if self.has("double-pong") else 1))
        elif word == "setoption":
            if "UCI_Chess960" in rest:
                self.shuffled = rest.endswith("true")
            self.option(rest)
        elif word == "ucinewgame" and self.has("new-game"):
            self.mute = self.searches > 0
        elif word == "position":
            self.position(rest)
        elif word == "go":
            self.go(rest.split())
        elif word == "stop":
            if self.searching is not None and not self.has("stop"):
                self.answer()
            elif self.has("idle-stop"):
                self.say("bestmove 0000")
        elif word == "ponderhit":
            if not self.has("ponder-hit"):
                self.answer()
        elif self.has("unknown"):
            os._exit(1)

    def option(self, rest):
        name = rest.removeprefix("name ").partition(" value ")[0]
        if self.has(f"dies-of-{name}") or (self.has("strange-option") and name.startswith("No Such")):
            os._exit(1)

    def position(self, rest):
        if len(rest) > 1000 and self.has("long"):
            os._exit(1)
        where, _, moves = rest.partition("moves")
        words = where.split()
        self.board = chess.Board() if words[0] == "startpos" else self.placed(" ".join(words[1:]))
        for text in moves.split():
            self.board.push(chess.Move.from_uci(text))

    def placed(self, fen):
        board = chess.Board(fen, chess960=self.shuffled)
        if self.has("corner-rooks"):
            board.castling_rights &= chess.BB_CORNERS
        return board

    def go(self, words):
        self.searches += 1
        given = {word: words[n + 1] for n, word in enumerate(words[:-1])}
        self.pondering = "ponder" in words
        self.depth = int(given.get("depth", 5))
        self.is_counting = "nodes" in words
        pause = 0.0 if not self.has("late") or "movetime" not in words else 1.5
        endless = "infinite" in words or self.pondering
        for limit in ("wtime", "movetime", "nodes", "depth"):
            endless = endless or (limit in words and self.has(f"ignores-{limit}"))
        if "wtime" in words and int(given["wtime"]) > 100_000:
            endless = True
        if self.has("early") and ("infinite" in words or self.pondering):
            endless = False
        self.searching = time.monotonic() + (3600 if endless else pause)
        if not endless and not pause:
            self.answer()

    # CECP.

    def cecp(self, word, rest):
        if word == "protover":
            self.features()
        elif word == "ping":
            if not (self.has("ping-thinking") and self.searching is not None):
                self.say(*[f"pong {rest}"] * (2 if self.has("double-pong") else 1))
        elif word == "new":
            self.board, self.force, self.searching, self.depth, self.seconds = chess.Board(), False, None, 5, None
            self.level_minutes, self.shuffled = 0, False
        elif word == "variant":
            self.shuffled = True
        elif word == "force":
            self.force, self.searching = True, None
        elif word == "level":
            self.level_minutes = int(rest.split()[1].partition(":")[0])
            if self.has("level") and "." in rest:
                self.say("Error (bad level): level")
        elif word == "sd" and not self.has("ignores-depth"):
            self.depth, self.level_minutes = int(rest), 0
        elif word == "sd":
            self.say("Illegal move: sd 3")
        elif word == "st":
            self.level_minutes = 60 if self.has("ignores-movetime") else 0
            self.seconds = float(rest)
        elif word == "go":
            self.force = False
            self.think()
        elif word == "?":
            if self.searching is not None and not self.has("move-now"):
                self.answer()
        elif word == "setboard":
            self.board = self.placed(rest)
        elif word == "usermove":
            self.usermove(rest)
        elif word == "result":
            if self.has("result"):
                os._exit(1)
        elif word == "draw":
            if self.has("draw") and self.searching is not None:
                self.answer()
        elif word == "option":
            self.option("name " + rest.partition("=")[0])
        elif word in ("memory", "cores", "name", "hard", "computer"):
            if self.has(word):
                os._exit(1)
        elif word not in ("xboard", "post", "easy", "time", "otim", "accepted", "rejected"):
            if self.has("unknown"):
                os._exit(1)
            self.say(f"Error (unknown command): {word}")

    def features(self):
        if self.has("no-features"):
            return
        ping, setboard = int(not self.has("no-ping")), int(not self.has("no-setboard"))
        name = "" if self.has("nameless") else 'myname="Examinee"'
        variants = "crazyhouse" if self.has("variants") else "normal,fischerandom"
        self.say(f"feature ping={ping} setboard={setboard} usermove=1 reuse=1 sigint=0 colors=0 draw=1 {name}")
        self.say(f'feature memory=1 smp=1 name=1 variants="{variants}"')
        self.say(*(f'feature option="{text}"' for text in OPTIONS["cecp"]))
        if not self.has("done"):
            self.say("feature done=1")

    def usermove(self, text):
        try:
            move = chess.Move.from_uci(text)
        except ValueError:
            move = None
        if move is None or move not in self.board.legal_moves:
            if not self.has("illegal-talk"):
                self.say(f"Illegal move: {text}")
            return
        self.board.push(move)
        if self.force and self.has("force") and len(self.board.move_stack) == 4:
            self.say("move d2d4")
        if self.force and self.has("claims") and self.board.is_repetition(3):
            self.say("1/2-1/2 {3-fold repetition}")
        if not self.force:
            self.think()

    def think(self):
        self.searches += 1
        endless = self.level_minutes >= 60 and not self.has("from-book")
        pause = 1.5 if self.has("late") and self.seconds == 1 else 0.0
        if self.seconds is not None and self.seconds < 1:
            pause = self.seconds
        self.searching = time.monotonic() + (3600 if endless else pause)
        if not endless and not pause:
            self.answer()

    # Moves.

    def answer(self):
        self.searching = None
        moves = sorted(self.board.legal_moves, key=chess.Move.uci)
        if self.has("no-passing"):
            moves = [move for move in moves if not self.board.is_en_passant(move)]
        text = "a1a1" if not moves or self.has("illegal") else moves[0].uci()
        if self.has("bare-promotion"):
            text = text[:4]
        if self.has("dies-in-double-check") and len(self.board.checkers()) > 1:
            os._exit(1)
        self.tell(text)
        if self.protocol == "uci":
            follow = ""
            if moves and self.has("bad-ponder"):
                follow = " ponder a1a1"
            self.say(f"bestmove {text}{follow}")
        else:
            if moves:
                self.board.push(moves[0])
            self.say(f"move {text}")

    def tell(self, text):
        score = 900 if len(self.board.pieces(chess.QUEEN, self.board.turn)) else 0
        score = -score if self.has("view") else score
        depth = self.depth + (9 if self.has("deep") else 0)
        nodes = 9_000_000 if self.has("many-nodes") else 6 if self.has("short") else 1000
        if self.has("few-nodes"):
            nodes = 6 if self.is_counting else 50_000
        pv = "a1a1" if self.has("variation") else self.other(text) if self.has("other-variation") else text
        if self.has("no-score"):
            return
        if self.protocol == "cecp":
            self.say(f"{depth} {score} 1 {nodes} {pv}" if not self.has("output") else f"depth {depth}: {pv}")
            return
        extra = " speed fast" if self.has("info") else ""
        self.say(f"info depth {depth}{extra} score cp {score} nodes {nodes} pv {pv}")

    def other(self, text):
        return next((move.uci() for move in self.board.legal_moves if move.uci() != text), text)


parser = argparse.ArgumentParser()
parser.add_argument("--protocol", default="uci")
parser.add_argument("--fault", default="")
if __name__ == "__main__":
    Examinee(parser.parse_args()).run()
