"""A scripted engine for tests: it moves knights back and forth (or plays --moves), with one fault.

It does not know chess: its n-th move is the n-th move of its list, or of the list of its color if there are two lists
with a slash between them. The fault occurs at the --at-th search of the process.
"""

# mypy: ignore-errors
# An engine is a program, not a module of the package: it has no annotations and does not use python-chess.
import _signal as signal  # loading `signal` would take as long as a short game
import os
import sys
import time

LATE = ('feature ping=1 usermove=1 setboard=1 myname="Late" done=1',)
SHUFFLE = {"w": ["g1f3", "f3g1"], "b": ["g8f6", "f6g8"]}
# By fault: text instead of the move, lines instead of the answer, lines before the answer. %s is the opponent's last
# move.
ANSWERS = {
    "illegal": "e2e5",
    "null": "0000",
    "none": "(none)",
    "a1a1": "a1a1",
    "garbage": "\x07\x1b[2J" + "x" * 5000,
    "resign-word": "resign",
    "castles": "O-O",
}
WORDS = {
    "resign": ["resign"],
    "draw-silent": ["1/2-1/2 {Draw by repetition}"],
    "abort": ["* {no more}"],
    "blames": ["Illegal move: %s"],
    "error-blames": ["Error (Illegal move or unknown command): %s"],
}
BEFORE = {
    "resign-and-move": ["resign"],
    "draw-move": ["1/2-1/2 {Draw by repetition}"],
    "unsupported": ["Illegal move: sd 4", "Error (unknown command): otim", "telluser hello", "askuser x y"],
    "offer": ["offer draw"],
    "echo": ["1. %s"],
}


class Scripted:
    answers = ANSWERS

    def __init__(self, options):
        self.protocol = options.protocol
        self.fault = options.fault
        self.at = options.at
        self.moves = [text.split(",") for text in options.moves.split("/")] if options.moves else None
        self.variants = options.variants.split(",") if options.variants else []
        self.seconds = options.seconds
        self.end = "\r\n" if self.fault == "crlf" else "\n"
        self.searches = 0
        self.games = 0
        self.force = True
        self.trial = False
        self.color = "w"
        self.plies = 0
        self.set = []
        self.input = b""
        self.opponent = ""
        self.hint = options.hint
        self.ponders = 0
        self.starts = options.starts
        self.told = options.told.split("|") if options.told else []
        self.told_protover = 0
        self.early = -1  # plies when it answered before its turn
        self.pondering = False
        self.offered = False

    # Input and output.

    def say(self, *lines):
        text = "".join(line + self.end for line in lines)
        try:
            os.write(1, text.encode())
        except OSError:
            os._exit(0)

    def read(self):
        while b"\n" not in self.input:
            chunk = os.read(0, 65536)
            if not chunk:
                os._exit(0)
            self.input += chunk
        line, _, self.input = self.input.partition(b"\n")
        return line.decode()

    def run(self):
        self.at_start()
        while True:
            line = self.read()
            word, _, rest = line.partition(" ")
            getattr(self, self.protocol)(word, rest)

    def at_start(self):
        if self.fault == "exit-at-start":
            os.write(2, b"no net found\n")
            os._exit(7)
        if self.fault == "banner":
            self.say("Hello, I am", "id name Banner", "uciok", "readyok", "feature done=1", "", "\x1b[31mred\x1b[0m")
        if self.fault == "kill-at-start":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "chatter":
            while True:
                self.say("starting up ...")
                time.sleep(0.005)
        if self.fault == "silent":
            self.sleep()
        if self.fault == "deaf-at-first":  # in the first --at processes
            with open(self.starts, "a") as file:
                file.write(".")
                deaf = file.tell() <= self.at
            if deaf:
                self.sleep()
        if self.fault == "leaves-a-child" and not os.fork():
            os.setsid()
            os.closerange(0, 3)
            self.sleep()

    def sleep(self):
        while True:
            time.sleep(60)

    # Protocols.

    def uci(self, word, rest):
        if word == "uci":
            self.say(f"id name Scripted {self.fault}", "id author the tests", "")
            self.say("option name Hash type spin default 16 min 1 max 1024")
            self.say("option name Ponder type check default true")
            self.say("option name Clear Hash type button", "option name OwnBook type check default true")
            self.say("option name Style type combo default Solid var Solid var Very Risky")
            self.say("option name Log type string default <empty>")
            if "chess960" in self.variants:
                self.say("option name UCI_Chess960 type check default false")
            if self.variants:
                values = " ".join(f"var {name}" for name in ["chess", *self.variants])
                self.say(f"option name UCI_Variant type combo default chess {values}")
            if self.fault == "no-tables":
                self.say("option name SyzygyPath type string default <empty>")
            if self.fault == "odd-options":
                self.say("option name Hash type spin default 1 min 1 max 2", "option name X type wheel default 3")
                self.say("option name Y type spin default NaN", "option name")
                self.say("option name a name type type type check default true")
            if self.fault != "no-uciok":
                self.say("uciok")
        elif word == "isready":
            self.pong("readyok")
        elif word == "setoption":
            self.set.append(rest)
            if self.fault == "no-tables" and "SyzygyPath" in rest:
                os._exit(127)
        elif word == "ucinewgame":
            self.new_game()
        elif word == "position":
            words = rest.split()
            self.plies = len(words) - words.index("moves") - 1 if "moves" in words else 0
            black = "fen" in words and words[2] == "b"
            self.color = "wb"[(self.plies + black) % 2]
        elif word == "go" and rest.startswith("ponder"):
            self.ponder()
        elif word == "go":
            self.searches -= self.plies == self.early  # searched again, because its early answer did not count
            self.search(rest)
        elif word == "ponderhit":
            self.pondering = False
            if not self.strikes("ponder-silent") and not self.strikes("ponder-early"):
                self.answer(self.move())
        elif word == "stop" and self.pondering:
            self.pondering = False
            self.miss()
        elif word == "quit" and self.fault != "ignores-quit":
            os._exit(0)

    def strikes(self, fault):
        return self.fault == fault and self.ponders == self.at

    def ponder(self):
        """Search in the opponent's time; the answer comes after `ponderhit` or `stop`."""
        self.ponders += 1
        self.searches += 1
        self.pondering = True
        if self.fault == "ponder-deaf-at-first":  # input before its search is lost
            time.sleep(self.seconds)
            os.set_blocking(0, False)
            try:  # noqa: SIM105  # contextlib takes too long to load
                os.read(0, 65536)
            except BlockingIOError:
                pass
            os.set_blocking(0, True)
        self.think()
        if self.strikes("ponder-crash"):
            os._exit(3)
        if self.strikes("ponder-early"):
            self.pondering = False
            self.early = self.plies
            self.answer(self.move())

    def miss(self):
        """Send the answer to `stop` for a search that does not belong to the game."""
        if self.strikes("ponder-late"):
            time.sleep(self.seconds)
        if self.strikes("ponder-stops-twice"):
            self.say("bestmove a1a1", "bestmove b1c3")
        elif not self.strikes("ponder-deaf"):
            self.answer("a1a1")
        self.searches -= 1

    def cecp(self, word, rest):
        if word == "protover":
            self.features()
        elif word == "ping":
            self.pong(f"pong {rest}")
        elif word == "new":
            self.trial = True
            self.new_game()
            self.force, self.plies, self.color = True, 0, "w"
        elif word == "go" and self.trial:  # the test move before the first game of an engine without features
            self.say(*(LATE if self.fault == "late-features" else ()), "move g1f3")
        elif word == "go":
            self.force = False
            self.color = "wb"[self.plies % 2]
            self.search(rest)
        elif word == "setboard":
            if self.fault == "refuses-setboard":
                self.say("tellusererror Illegal position")
            self.plies = 1 if " b " in rest else 0
        elif word == "option":
            self.set.append(rest)
        elif word == "quit" and self.fault != "ignores-quit":
            os._exit(0)
        elif word == "force":
            self.force, self.trial = True, False
        elif word == "result":
            pass
        elif word == "draw":
            self.offered = True
        elif word == "computer":
            self.say("Error (unknown command): computer")
        elif not word and self.fault == "minds-empty-lines":
            self.say("Error (unknown command):")
        elif word == "usermove" or (len(word) in (4, 5) and word[1].isdigit() and word[3].isdigit()):
            self.opponent = rest or word
            self.plies += 1
            if not self.force:
                self.search("")

    def features(self):
        self.told_protover += 1
        if self.fault in ("no-features", "late-features", "minds-empty-lines"):
            return
        if self.fault == "loses-protover" and self.told_protover == 1:
            return
        if self.fault == "feature-flood":  # more lines than a pipe holds, before it reads
            self.say(*(f"feature nonsense{number}=1" for number in range(20_000)))
        if self.fault == "never-done":
            self.say("feature ping=1 usermove=1 setboard=1")
            return
        if self.fault == "done-0":
            self.say("feature done=0")
            return
        if self.fault == "done-0-then-1":
            self.say("feature done=0")
            time.sleep(0.3)
        ping = 0 if self.fault == "no-ping" else 1
        setboard = 0 if self.fault == "no-setboard" else 1
        reuse = 0 if self.fault == "no-reuse" else 1
        draw = 1 if self.fault.startswith("agrees") else 0
        self.say(f"feature ping={ping} setboard={setboard} usermove=1 reuse={reuse} sigint=0 colors=0 draw={draw}")
        self.say('feature myname="Scripted" option="Depth -spin 3 1 9" option="Book -check 1"')
        self.say("feature memory=1 smp=1")
        if self.fault == "tells-nps":
            self.say("feature nps=1")
        if self.variants:
            self.say(f'feature variants="normal,{",".join(self.variants)}"')
        self.say('feature option="Level -combo Easy /// *Hard" option="Wipe -button" done=1')

    def pong(self, text):
        if self.fault == "no-pong" or (self.fault == "no-pong-in-game" and self.games and self.searches >= self.at):
            return
        if self.fault == "late-pong":
            time.sleep(self.seconds)
        if self.searches == self.at - 1:
            if self.fault == "dies-at-a-fence":
                os._exit(3)
            if self.fault == "resigns-at-a-fence":
                self.say("resign")
            if self.fault == "answers-at-a-fence":
                self.say("bestmove a2a3" if self.protocol == "uci" else "move a2a3")
            if self.fault == "blames-at-a-fence":
                self.say(f"Illegal move: {self.opponent}")
            if self.fault == "answers-after-a-fence":
                text += self.end + ("bestmove a2a3" if self.protocol == "uci" else "move a2a3")
        self.say(text)
        if self.fault == "double-pong":
            self.say(text)

    def new_game(self):
        self.games += 1
        if self.fault == "dies-at-second-game" and self.games == 2:
            os._exit(4)
        if self.fault == "hangs-at-second-game" and self.games == 2:
            self.sleep()

    # Searches.

    def move(self):
        moves = self.moves["wb".index(self.color) % len(self.moves)] if self.moves else SHUFFLE[self.color]
        return moves[(self.searches - 1) % len(moves)]

    def answer(self, move):
        self.plies += 1
        expected = SHUFFLE["b"][(self.searches - 1) % 2] if self.color == "w" else SHUFFLE["w"][self.searches % 2]
        hint = self.hint or expected
        self.say(f"bestmove {move} ponder {hint}" if self.protocol == "uci" else f"move {move}")

    def think(self):
        if self.fault == "wordless" and self.searches == self.at:
            time.sleep(self.seconds)
        if self.fault == "tells-processors":
            numbers = ",".join(map(str, sorted(os.sched_getaffinity(0))))
            self.say(f"{'info string' if self.protocol == 'uci' else '#'} processors {numbers}")
        if self.told:
            self.say(self.told[min(self.searches, len(self.told)) - 1])
        elif self.protocol == "uci":
            self.say("info depth 5 seldepth 9 score cp 31 nodes 1234 nps 9 time 1 pv g1f3 g8f6", "info string hello")
        else:
            self.say(f"{'5.' if self.fault == 'dotted-depth' else '5'} 31 1 1234 g1f3 g8f6")
        if self.fault == "ends-with-a-bound":
            uci = "info depth 6 score cp -900 upperbound nodes 2000 pv g1f3"
            self.say(uci if self.protocol == "uci" else "6 -900? 1 2000 g1f3")

    def search(self, rest):
        self.searches += 1
        self.think()
        if self.offered and self.fault.startswith("agrees"):
            self.say("offer draw" if self.fault == "agrees" else "1/2-1/2 {Draw agreed}")
        if self.searches == self.at and self.strike(self.move()):
            return
        self.always(self.move())

    def always(self, move):
        if self.fault == "numbered":
            self.plies += 1
            self.say(f"1. ... {move}")
        elif self.fault == "my-move-is":
            self.say(f"1. {self.opponent}", f"1. ... {move}", f"My move is : {move}")
            self.plies += 1
        else:
            self.answer(move)

    def strike(self, move):
        """Execute the fault; return True if there is no further output."""
        found = self.deed()
        return found is not None and found(move) is not False

    def deed(self):
        """Return the action of the fault; None if there is none."""
        if self.fault in self.answers:
            return lambda move: self.answer(self.answers[self.fault])
        if self.fault in WORDS or self.fault in BEFORE:
            lines = WORDS.get(self.fault) or BEFORE[self.fault]
            return lambda move: self.say(*(line.replace("%s", self.opponent) for line in lines)) or self.fault in WORDS
        return getattr(self, "do_" + self.fault.replace("-", "_"), None)

    def do_crash(self, move):
        os.write(2, b"assertion failed\n")
        os._exit(3)

    def do_eats(self, move):
        held = bytearray(b"x") * 300_000_000
        self.sleep()
        del held

    def do_segv(self, move):
        os.kill(os.getpid(), signal.SIGSEGV)

    def do_sigill(self, move):
        os.kill(os.getpid(), signal.SIGILL)

    def do_hang(self, move):
        """Stay silent, but answer pings; the move is lost."""

    def do_deaf(self, move):
        self.sleep()

    def do_flood(self, move):
        while True:
            self.say(*["info depth 1 score cp 5 nodes 1 pv g1f3"] * 200)

    def do_flood_out_of_turn(self, move):
        """Answer, then print as fast as possible without reading."""
        self.answer(move)
        block = b"info depth 1 score cp 5 nodes 1 pv g1f3\n" * 1600
        while True:
            os.write(1, block)

    def do_endless_line(self, move):
        while True:
            os.write(1, b"x" * 65536)

    def do_late(self, move):
        """Answer after some seconds, and not before the file --starts exists, if there is one."""
        while self.starts and not os.path.exists(self.starts):
            time.sleep(0.001)
        time.sleep(self.seconds)
        return False

    def do_answers_stop(self, move):
        """Answer only when the search is stopped: the next line is `stop` or `?`."""
        self.read()
        return False

    def do_answers_stop_then_hangs(self, move):
        """Answer only to `stop`, and stay silent the next time."""
        self.fault, self.at = "hang", self.searches + 1
        return self.do_answers_stop(move)

    def do_other_side(self, move):
        self.answer("g8f6" if self.color == "w" else "g1f3")

    def do_empty(self, move):
        self.say("bestmove" if self.protocol == "uci" else "move zz")

    def do_two(self, move):
        word = "bestmove" if self.protocol == "uci" else "move"
        self.plies += 1
        self.say(f"{word} {move}", f"{word} a2a3", f"{word} a7a6")

    def do_stale_first(self, move):
        """Send an unexpected answer, and the right one immediately after it."""
        self.say("bestmove h1h5" if self.protocol == "uci" else "move h1h5")
        time.sleep(0.05)
        return False

    def do_answer_die(self, move):
        self.answer(move)
        os._exit(5)

    def do_eof(self, move):
        os.close(1)
        self.sleep()

    def do_closes_input(self, move):
        self.answer(move)
        os.close(0)
        self.sleep()

    def do_closes_input_and_thinks(self, move):
        os.close(0)
        self.sleep()

    def do_half(self, move):
        os.write(1, (f"bestmove {move}" if self.protocol == "uci" else f"move {move}").encode())
        os._exit(5)

    def do_half_move(self, move):
        os.write(1, (f"bestmove {move[:3]}" if self.protocol == "uci" else f"move {move[:3]}").encode())
        os._exit(5)

    def do_upper(self, move):
        self.answer(move.upper())

    def do_spaces(self, move):
        self.say(f"  \tbestmove\t {move}   " if self.protocol == "uci" else f" move   {move} \t")
        self.plies += 1

    def do_san(self, move):
        self.answer({"g1f3": "Nf3", "g8f6": "Nf6", "f3g1": "Ng1", "f6g8": "Ng8"}[move])

    def do_long_line(self, move):
        for _ in range(40):
            os.write(1, b"info string " + b"y" * 65536)
        self.say("")
        return False

    def do_absurd(self, move):
        pv = "g1f3 " * 3000
        self.say(f"info depth 99999999999999999999999 score cp NaN nodes {'9' * 40} pv {pv}")
        self.say(f"info depth 7 score cp {'9' * 25} nodes -3 pv {pv}")
        return False

    def do_mate_claim(self, move):
        self.say("info depth 3 score mate 1 nodes 10 pv g1f3" if self.protocol == "uci" else "3 100001 1 10 g1f3")
        return False

    def do_resigns_at_a_fence(self, move):
        """Print nothing more."""

    do_blames_at_a_fence = do_resigns_at_a_fence

    def do_own_loss(self, move):
        self.say("0-1 {White resigns}" if self.color == "w" else "1-0 {Black resigns}")

    def do_win(self, move):
        self.say("1-0 {White mates}" if self.color == "w" else "0-1 {Black mates}")

    def do_move_and_win(self, move):
        self.answer(move)
        self.say("1-0 {White mates}" if self.color == "w" else "0-1 {Black mates}")

    def do_move_and_later_win(self, move):
        self.answer(move)
        time.sleep(self.seconds)
        self.say("1-0 {White mates}" if self.color == "w" else "0-1 {Black mates}")

    def do_resign_out_of_turn(self, move):
        self.answer(move)
        time.sleep(0.05)
        self.say("resign")


# Options of the command line with their defaults, which also define the types.
OPTIONS = {
    "protocol": "uci",
    "fault": "",
    "at": 2,
    "moves": "",
    "variants": "",
    "hint": "a1a1",
    "seconds": 1.0,
    "starts": "",
    "told": "",  # by search, separated by bars; the last one is for all later searches
}


class Options:
    """Options of the command line; loading argparse would take longer than a short game."""

    def __init__(self, **more):
        vars(self).update(OPTIONS | more)
        for word, value in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
            name = word.removeprefix("--")
            setattr(self, name, type(getattr(self, name))(value))


if __name__ == "__main__":
    Scripted(Options()).run()
