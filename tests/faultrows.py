"""The rows of the tables of misbehaviour (reliability spec 2.1 to 2.6), each with what shows it.

A row names its verdict and category as the table does, faults of the scripted engines (by title where the protocols
differ), and tests of what no tournament can show. Illegal ponder moves wait for pondering.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.faults import BOTH, CECP, UCI
from tests.playing import Protocol

CONTROLS = ("clock", "movetime", "nodes", "depth")


@dataclass(frozen=True)
class Row:
    """One line of a table. `faults` and `tests` are words with blanks between; verdict "-": nothing is played."""

    words: str
    verdict: str  # play, loss, void or -
    category: str = ""
    faults: str = ""
    tests: str = ""
    on: tuple[Protocol, ...] = BOTH
    controls: tuple[str, ...] = ()  # that its faults must be seen under; nodes in UCI only


STARTS = (
    Row("ends at start", "void", "start-failure", "exit-at-start exit-0-at-start kill-at-start dies-after-banner",
        "test_scheduler::test_an_engine_that_never_starts_is_suspended"),
    Row("illegal instruction", "void", "start-failure", "sigill"),
    Row("binary missing or vanished", "void", "start-failure", "vanishes",
        "test_process::test_every_failed_start_is_named test_game::test_a_missing_program_is_a_failed_start"),
    Row("never says uciok or done=1, silent", "void", "start-timeout", "uci-no-uciok silent cecp-done-0"),
    Row("the same, printing all the while", "void", "start-timeout", "chatter"),
    Row("answers sit in a buffer", "void", "start-timeout", "unflushed", on=UCI),
    Row("reads one line per wake-up", "void", "start-timeout", "line-by-line",
        "test_probe::test_only_an_empty_line_that_wakes_it_twice_shows_a_reader_of_single_lines"),
    Row("reads one line per wake-up, with the quirk", "play", "",
        "uci-line-by-line-with-the-quirk cecp-line-by-line-with-the-quirk", "test_game::test_line_by_line"),
    Row("slow start, slow first ping", "play", "", "slow-start late-pong"),
    Row("banner, colours, prompts", "play", "", "banner long-banner"),
    Row("many, odd and doubled options", "play", "", "many-options uci-odd-options"),
    Row("aborts on a bad option value", "-", "", "",
        "test_uci::test_a_wrong_option_is_never_sent test_game::test_a_bad_option_is_void_and_named"),
    Row("refuses setboard", "void", "unsupported", "refuses-setboard",
        "test_scheduler::test_a_pairing_an_engine_cannot_play_stays_open", on=CECP),
    Row("has no setboard", "play", "", "no-setboard cecp-no-setboard-edit", on=CECP),
    Row("silently ignores the position", "loss", "illegal-move", "ignores-position"),
    Row("dies or hangs at the second game", "play", "restart", "dies-at-second-game hangs-at-second-game"),
    Row("plays moves of the previous game", "loss", "illegal-move", "plays-on"),
    Row("forgets its options at a new game", "play", "", "", "test_game::test_what_may_not_play_again_is_ended"),
    Row("pong late between games", "play", "restart", "no-pong-between-games"),
    Row("no pong at the start", "void", "start-timeout", "no-pong"),
    Row("no pong in a game", "loss", "stall", "no-pong-in-game"),
    Row("answers each ping twice, or early", "play", "", "double-pong early-pong"),
)  # fmt: skip

CRASHES = (
    Row("dies in a search", "loss", "crash",
        "crash uci-crash-first-search cecp-crash-first-search exit-0 abort-call segv stack-overflow sigfpe killed"
        " kills-its-group dies-with-a-child uci-crash-movetime cecp-crash-movetime uci-crash-nodes uci-crash-depth"
        " cecp-crash-depth", controls=CONTROLS),
    Row("answers and then dies", "loss", "crash", "answer-die", "test_game::test_a_dying_engine_may_still_mate"),
    Row("closes stdout and lives", "loss", "crash", "eof"),
    Row("closes stdin", "loss", "crash", "closes-input closes-input-and-thinks"),
    Row("exceeds its memory limit", "loss", "crash", "out-of-memory"),
    Row("exceeds a CPU limit", "loss", "crash", "out-of-cpu"),
    Row("half an answer and then exits", "loss", "crash", "half half-move"),
)  # fmt: skip

TIMES = (
    Row("silent in a search", "loss", "time",
        "hang uci-hang-movetime cecp-hang-movetime uci-hang-nodes uci-hang-depth cecp-hang-depth", controls=CONTROLS),
    Row("silent and deaf", "loss", "time", "deaf stopped spins"),
    Row("prints and does not move", "loss", "time",
        "flood half-a-line drips endless-line uci-flood-nodes uci-flood-depth cecp-flood-depth uci-flood-movetime"
        " cecp-flood-movetime", controls=CONTROLS),
    Row("answers late", "loss", "time", "late late-then-dies late-and-illegal",
        "test_game::test_a_late_answer_is_told_with_its_true_overrun"),
    Row("uses a little more than it says", "loss", "time", "always-slow"),
    Row("ignores nodes, depth, movetime, stop", "loss", "time", "uci-deaf-nodes uci-deaf-movetime cecp-deaf-movetime"
        " uci-deaf-depth cecp-deaf-depth"),
    Row("no answer in finished positions: never asked", "-", "", "",
        "test_game::test_a_dying_engine_may_still_mate test_game::test_sound_engines_draw_by_repetition"),
    Row("flood of info lines, then an answer", "play", "", "flood-then-move"),
    Row("flood out of turn", "loss", "time", "flood-out-of-turn",
        "test_game::test_a_flood_out_of_turn_costs_the_opponent_nothing"),
    Row("flood on stderr", "play", "", "flood-on-stderr",
        "test_process::test_a_flood_on_stderr_is_drained_and_bounded"),
)  # fmt: skip

ANSWERS = (
    Row("no legal move", "loss", "illegal-move",
        "illegal illegal-then-dies other-side wrong-geometry into-check empty-square a1a1 garbage promotes-to-a-king"
        " uci-resign-word uci-illegal-movetime cecp-illegal-movetime uci-illegal-nodes uci-illegal-depth"
        " cecp-illegal-depth", controls=CONTROLS),
    Row("no move at all", "loss", "illegal-move", "none null null-word null-capitals uci-no-move"),
    Row("promotion without piece", "loss", "illegal-move", "promotes-to-nothing"),
    Row("the same, leniently", "play", "protocol-warning",
        "uci-promotes-to-nothing-lenient cecp-promotes-to-nothing-lenient"),
    Row("odd forms of a move", "play", "protocol-warning",
        "promotes-capital promotes-equals promotes-san promotes-bracket upper san"),
    Row("odd characters", "play", "", "crlf spaces bad-utf8"),
    Row("two answers", "play", "protocol-warning", "two stale-first"),
    Row("talks out of turn", "play", "", "speaks-after-its-answer", "test_game::test_a_stale_answer_is_dropped"),
    Row("10 MB line, then a legal move", "play", "protocol-warning", "ten-megabyte-line"),
    Row("absurd numbers", "play", "", "absurd", "test_game::test_numbers_beyond_sense_are_clamped"),
    Row("claims a mate that is none", "play", "", "mate-claim"),
    Row("CECP of all ages", "play", "", "no-ping my-move-is echo dotted-depth", on=CECP),
    Row("CECP of all ages, told once", "play", "protocol-warning", "no-features late-features numbered", on=CECP),
)  # fmt: skip

CLAIMS = (
    Row("resigns or announces its loss", "loss", "resign", "resign own-loss",
        "test_game::test_a_resignation_ends_the_game_at_once", on=CECP),
    Row("announces a win that is none", "loss", "false-claim", "win move-and-win", on=CECP),
    Row("claims a draw that is none and does not move", "loss", "false-claim", "draw-silent", on=CECP),
    Row("claims a draw that is none and moves", "play", "", "draw-move",
        "test_game::test_a_true_draw_claim_ends_the_game", on=CECP),
    Row("says that a legal move was illegal", "loss", "false-claim", "blames error-blames", on=CECP),
    Row("*, twice", "void", "engine-abort", "abort", on=CECP),
    Row("*, the third time", "loss", "engine-abort", "abort",
        "test_game::test_an_abort_is_void_twice_and_then_a_loss", on=CECP),
    Row("draw offers", "play", "", "offer offer-and-move", on=CECP),
    Row("tellusererror, telluser, Error", "play", "protocol-warning", "tells-users unsupported", on=CECP),
)  # fmt: skip

PROCESSES = (
    Row("ignores quit and SIGTERM", "play", "shutdown-warning", "ignores-quit ignores-everything"),
    Row("children hold the pipes open", "play", "", "holds-the-pipes"),
    Row("a child leaves the session", "play", "orphan-warning", "leaves-a-child"),
    Row("signals its whole process group", "play", "", "signals-its-group"),
    Row("reads the terminal", "play", "", "reads-the-terminal"),
    Row("writes files with odd names", "play", "", "litters",
        "test_process::test_scratch_is_wiped_without_following_links"),
    Row("hostile names", "play", "", "hostile-names"),
)  # fmt: skip

RULES = (
    Row("both at fault", "void", tests="test_game::test_both_at_fault_is_void"),
    Row("the first cause wins", "loss",
        tests="regressions/test_referee::test_an_engine_that_flags_and_then_dies_lost_on_time"),
    Row("the host's voids use up no replays; pauses of 5 to 60 s", "void",
        tests="test_setbacks::test_voids_by_the_host_use_up_no_replays test_setbacks::test_pauses_grow_to_a_minute"),
    Row("two replays, then open", "void", tests="test_scheduler::test_a_pairing_an_engine_cannot_play_stays_open"),
    Row("suspended, and nothing goes on without it", "-",
        tests="test_standstill::test_it_is_withdrawn_when_patience_is_used_up"),
    Row("the referee was stopped, or woke up late", "void",
        tests="test_game::test_a_referee_that_was_stopped_judges_no_time"
        " test_clock::test_a_referee_that_overslept_knows_it"),
    Row("the machine slept", "void", tests="test_clock::test_a_machine_that_slept_is_noticed"),
    Row("a doubtful flag", "void", tests="test_verdict::test_a_doubtful_flag_is_void_and_the_hosts"),
    Row("the slot died", "void", tests="test_places::test_a_dead_slot_fails_its_game_with_words_and_is_replaced"),
)  # fmt: skip

TABLES = (*STARTS, *CRASHES, *TIMES, *ANSWERS, *CLAIMS, *PROCESSES)
