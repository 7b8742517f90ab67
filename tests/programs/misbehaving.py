"""The scripted engine for whole tournaments: every game starts with its first move, and there are more faults.

It prints a line to stderr at its start, and writes the time of its fault (CLOCK_MONOTONIC in ns) to the file --marks.
"""

# mypy: ignore-errors
# An engine is a program, not a module of the package: it has no annotations and does not use python-chess.
import _signal as signal  # for the reason in scripted.py
import faulthandler
import os
import resource
import sys
import time

sys.path.insert(0, __file__.rpartition("/tests/")[0] + "/enginetour/testing/engines")
from scripted import ANSWERS, Options, Scripted

ODD_NAMES = (
    "<script>alert(1)</script>",
    "\x1b[2J\x1b]0;title\x07",
    "../../etc/passwd",
    "=cmd|'/c calc'!A1",
    "x" * 9000,
)
PROMOTIONS = {
    "promotes-to-nothing": "{0}",
    "promotes-to-a-king": "{0}k",
    "promotes-capital": "{0}Q",
    "promotes-equals": "{0}=Q",
    "promotes-san": "{1}=Q",
    "promotes-bracket": "{1}(Q)",
}


class Misbehaving(Scripted):
    answers = ANSWERS | {"empty-square": "e4e5", "null-word": "(null)", "null-capitals": "NULL"}

    def __init__(self, options):
        super().__init__(options)
        self.marks = options.marks
        self.program = options.program
        self.own = 0  # searches of this game

    # Input and output.

    def say(self, *lines):
        if self.fault != "unflushed":
            super().say(*lines)

    def read(self):
        if self.fault != "line-by-line":
            return super().read()
        chunk = os.read(0, 65536)
        if not chunk:
            os._exit(0)
        line, _, self.input = (self.input + chunk).partition(b"\n")  # one line per wake-up
        return line.decode()

    def at_start(self):
        os.write(2, f"scripted {self.protocol} {self.fault or 'sound'}\n".encode())
        super().at_start()
        found = getattr(self, "begin_" + self.fault.replace("-", "_"), None)
        if found is not None:
            found()

    def begin_exit_0_at_start(self):
        os._exit(0)

    def begin_dies_after_banner(self):
        self.say("Welcome", "id name Banner", "feature done=0")
        os.kill(os.getpid(), signal.SIGSEGV)

    def begin_slow_start(self):
        time.sleep(self.seconds)

    def begin_long_banner(self):
        self.say(*[f"\x1b[3{n % 8}m{n} uciok readyok bestmove e2e4 1-0" for n in range(500)])
        os.write(1, b"prompt> ")

    def begin_hostile_names(self):
        os.write(2, b"\x1b[31m\xff\xfe red\n")

    def begin_litters(self):
        os.mkdir("closed")
        for name in ("..\n", "-rf", "caf\udce9", "a" * 200):
            os.close(os.open(os.path.join("closed", name), os.O_CREAT))
        os.symlink("/", "root")
        os.chmod("closed", 0)

    def begin_reads_the_terminal(self):
        try:
            os.close(os.open("/dev/tty", os.O_RDWR))
        except OSError:
            return
        os._exit(9)

    def begin_holds_the_pipes(self):
        if not os.fork():
            self.sleep()

    def begin_signals_its_group(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)

    def begin_ignores_everything(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    def begin_tells_users(self):
        if self.protocol == "cecp":
            self.say("telluser hello", "tellall hello", "askuser a b")

    # Protocols.

    def uci(self, word, rest):
        if word == "uci" and self.fault == "hostile-names":
            self.say(
                *[f"id name {name}" for name in ODD_NAMES], "option name <b>\x1b[1m</b> type string default ${HOME}"
            )
        if word == "uci" and self.fault == "many-options":
            self.say(*[f"option name Option {n} type spin default 1 min 0 max 9" for n in range(10_000)])
        if word == "quit" and self.fault == "ignores-everything":
            return
        super().uci(word, rest)
        if word == "position" and self.fault == "ignores-position":
            self.color, self.plies = "w", 0

    def cecp(self, word, rest):
        if word == "setboard" and self.fault == "ignores-position":
            return
        if word == "quit" and self.fault == "ignores-everything":
            return
        super().cecp(word, rest)

    def features(self):
        if self.fault == "hostile-names":
            self.say(*[f'feature myname="{name}"' for name in ODD_NAMES], 'feature nonsense="<b>" smp=NaN')
        if self.fault == "many-options":
            self.say(*[f'feature option="Option {n} -spin 1 0 9"' for n in range(10_000)])
        super().features()

    def pong(self, text):
        if self.fault == "early-pong":
            self.say("readyok" if self.protocol == "uci" else "pong 12345")
        if self.fault == "no-pong-between-games" and self.games == 2:
            return
        super().pong(text)

    def new_game(self):
        super().new_game()
        self.own = self.games - 1 if self.fault == "plays-on" else 0  # continues the moves of the last game

    # Searches.

    def move(self):
        moves = self.moves or {"w": ["g1f3", "f3g1"], "b": ["g8f6", "f6g8"]}[self.color]
        return moves[(self.own - 1) % len(moves)]

    def search(self, rest):
        self.own += 1
        if self.fault == "vanishes" and os.path.exists(self.program):
            os.unlink(self.program)
        super().search(rest)

    def always(self, move):
        if self.fault == "always-slow":
            time.sleep(self.seconds)
        super().always(move)

    def strike(self, move):
        if self.marks and self.deed() is not None:
            with open(self.marks, "a") as file:
                file.write(f"{time.monotonic_ns()}\n")
        return super().strike(move)

    def word(self, move):
        return f"bestmove {move}" if self.protocol == "uci" else f"move {move}"

    def do_exit_0(self, move):
        os._exit(0)

    def do_abort_call(self, move):
        os.abort()

    def do_stack_overflow(self, move):
        faulthandler._stack_overflow()

    def do_sigfpe(self, move):
        os.kill(os.getpid(), signal.SIGFPE)

    def do_killed(self, move):
        os.kill(os.getpid(), signal.SIGKILL)

    def do_kills_its_group(self, move):
        os.killpg(0, signal.SIGKILL)

    def do_out_of_cpu(self, move):
        used = int(time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (used, used + 5))
        self.do_spins(move)

    def do_out_of_memory(self, move):
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 26, 1 << 26))
        held = []
        while True:
            held.append(bytearray(1 << 24))

    def do_dies_with_a_child(self, move):
        if not os.fork():
            self.sleep()
        os._exit(6)

    def do_spins(self, move):
        while True:
            pass

    def do_stopped(self, move):
        os.kill(os.getpid(), signal.SIGSTOP)
        self.sleep()

    def do_half_a_line(self, move):
        os.write(1, self.word(move)[:-1].encode())
        self.sleep()

    def do_drips(self, move):
        while True:
            os.write(1, b"i")
            time.sleep(0.03)

    def do_late_then_dies(self, move):
        time.sleep(self.seconds)
        os._exit(3)

    def do_last_move_after(self, move):
        """Answer when the file --starts exists, and end."""
        while not os.path.exists(self.starts):
            time.sleep(0.001)
        self.answer(move)
        os._exit(3)

    def do_late_abort(self, move):
        time.sleep(self.seconds)
        self.say("* {no more}")

    def do_late_draw(self, move):
        time.sleep(self.seconds)
        self.say("1/2-1/2 {Draw by repetition}")

    def do_late_and_illegal(self, move):
        time.sleep(self.seconds)
        self.answer("e2e5")

    def do_illegal_then_dies(self, move):
        self.answer("e2e5")
        os._exit(3)

    def do_flood_then_move(self, move):
        block = b"info depth 1 score cp 5 nodes 1 pv g1f3\n" if self.protocol == "uci" else b"1 5 1 1 g1f3\n"
        for _ in range(63):
            self.all(1, block * 1600)
        return False

    def do_flood_on_stderr(self, move):
        for _ in range(48):
            self.all(2, b"x" * 99 + b"\n" * 650)
        return False

    def all(self, fd, block):
        while block:
            block = block[os.write(fd, block) :]

    def do_ten_megabyte_line(self, move):
        for _ in range(160):
            self.all(1, b"y" * 65536)
        self.say("")
        return False

    def do_bad_utf8(self, move):
        os.write(1, b"info string \xff\xfe\xc3\x28 \x00\x01\x7f\nid name \xe2\x82\n\x80\n")
        return False

    def do_wrong_geometry(self, move):
        self.answer("g1g3" if self.color == "w" else "g8g6")

    def do_no_move(self, move):
        self.say(self.word("").rstrip())

    def do_into_check(self, move):
        self.answer("e1d1" if self.color == "w" else "e8d8")

    def deed(self):
        form = PROMOTIONS.get(self.fault)
        return super().deed() if form is None else lambda move: self.promote(form)

    def promote(self, form):
        self.own -= 1  # the move of the knight is still to come
        self.answer(form.format(*("a7a8", "a8", "A7A8") if self.color == "w" else ("a2a1", "a1", "A2A1")))

    def do_speaks_after_its_answer(self, move):
        self.answer(move)
        self.say("info depth 9 score cp 900", "# noise", "Hint: e2e4", "info string resign 1-0 bestmove")

    def do_offer_and_move(self, move):
        self.say("offer draw")
        self.answer(move)
        self.say("offer draw")

    def do_tells_users(self, move):
        self.say("tellusererror nothing", "telluser hello", "Error (unknown command): otim")
        return False


if __name__ == "__main__":
    Misbehaving(Options(marks="", program="")).run()
