/* The path of a plain ply, runner spec 4: wait, read, judge, relay; whatever is not plain is left to Python.
 *
 * A relay plays on until something is not plain: a word out of turn, an odd or late answer, the end of the game, a
 * signal, time for the books. Nothing of that is judged here: what was read is handed over as it came, with its stamps,
 * and enginetour/referee/game.py goes on from there as if it had read it itself.
 */
#define _GNU_SOURCE /* ppoll, memmem */
#include "relay.h"
#include "thoughts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000LL
#define NEVER (1LL << 62)
static const long long GRACE = 100 * MS;    /* runner spec 3 */
static const long long SLICE = 100 * MS;    /* enginetour/supervise/waiting.py */
static const long long LATE_WAKE = 20 * MS; /* enginetour/referee/clock.py */
static const long long SLEPT = 1000 * MS;   /* as above */
static const long long PATIENCE = 1 * MS;   /* enginetour/referee/bookkeeping.py */
static const long long HELD = 250 * MS;     /* as above */
static const int HELD_PLIES = 31;           /* as above */
static const int ROOM = 100;                /* enginetour/adapters/position.py */
static const long long MARK = 1 * MS;       /* enginetour/referee/queueing.py */

static long long now_on(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long now_ns(void) { return now_on(CLOCK_MONOTONIC); }

long long slept_ns(void) { return now_on(CLOCK_BOOTTIME) - now_ns(); }

int told_by(int file, char text[TOLD]) {
    ssize_t length = file < 0 ? 0 : pread(file, text, TOLD - 1, 0);
    return length > 0 ? (int)length : 0;
}

static long long flag_of(const Side *side) {
    return side->rest < 0 ? side->fixed : (side->rest + side->margin + 1) * MS;
}

static bool note(const Side *side, const char *direction, long long stamp, PyObject *chunk) {
    PyObject *done = PyObject_CallFunction(side->traffic, "sLO", direction, stamp, chunk);
    Py_XDECREF(done);
    return done != NULL;
}

static bool reserve_line(Relay *relay, size_t more) {
    if (relay->line_length + more <= relay->line_room)
        return true;
    size_t room = relay->line_room * 2 + more;
    char *line = realloc(relay->line, room);
    if (line == NULL) {
        PyErr_NoMemory();
        return false;
    }
    relay->line = line;
    relay->line_room = room;
    return true;
}

/* `go` behind the position, written past the end of the line; the bytes of both. */
static size_t ask(Relay *relay, const Side *side, const Side *other) {
    size_t room = TOLD + strlen(side->limits);
    if (!reserve_line(relay, room))
        return 0;
    char *at = relay->line + relay->line_length;
    int length;
    if (side->rest < 0) {
        length = snprintf(at, room, "\ngo%s\n", side->limits);
    } else {
        long long own = side->rest > 1 ? side->rest : 1;
        long long theirs = other->rest < 0 ? own : other->rest > 1 ? other->rest : 1;
        bool white = relay->board.turn;
        length = snprintf(at, room, "\ngo wtime %lld btime %lld winc %lld binc %lld", white ? own : theirs,
                          white ? theirs : own, white ? side->increment : other->increment,
                          white ? other->increment : side->increment);
        if (side->to_go)
            length += snprintf(at + length, room - (size_t)length, " movestogo %ld", side->to_go);
        length += snprintf(at + length, room - (size_t)length, "%s\n", side->limits);
    }
    return relay->line_length + (size_t)length;
}

void foresee_books(Relay *relay) {
    if (relay->urgent || relay->held >= HELD_PLIES) {
        relay->due = relay->go;
    } else if (relay->held) {
        long long soon = relay->go + PATIENCE;
        if (relay->last_elapsed * MS < HELD) {
            if (!relay->since)
                relay->since = relay->go;
            if (relay->since + HELD > soon)
                soon = relay->since + HELD;
        }
        relay->due = soon;
    } else if (relay->live) {
        relay->due = relay->live > relay->go + PATIENCE ? relay->live : relay->go + PATIENCE;
    } else {
        relay->due = NEVER;
    }
}

static void mark_queue(Relay *relay, Side *side) {
    relay->waited_length = told_by(relay->own_stat, relay->waited);
    if (!side->threads || relay->go < side->marked_ns + MARK)
        return;
    for (int at = 0; at < side->threads; at++)
        side->marked_length[at] = told_by(side->thread[at], side->marked[at]);
    side->marked_ns = relay->go;
}

/* Set the side to move thinking. */
static Why set_thinking(Relay *relay) {
    Side *side = &relay->side[relay->board.turn], *other = &relay->side[!relay->board.turn];
    if (relay->line_length + (size_t)ROOM > (size_t)relay->longest_line && relay->anchor != relay->begun_at)
        return ODD; /* Python shortens the line */
    ssize_t stale = read(side->out, relay->text, READ_SIZE);
    if (stale >= 0 || errno != EAGAIN) {
        if (stale > 0) {
            relay->stamp = now_ns();
            relay->unread = PyBytes_FromStringAndSize(relay->text, stale);
            if (relay->unread == NULL || !note(side, "<", relay->stamp, relay->unread))
                return FAILED;
        }
        return ODD;
    }
    size_t length = ask(relay, side, other);
    if (!length)
        return FAILED;
    long long before = now_ns();
    ssize_t taken = write(side->in, relay->line, length);
    relay->go = side->asked = now_ns();
    relay->write = relay->go - before;
    relay->gap_ns = relay->answered ? before - relay->answered : 0;
    relay->thinking = true;
    relay->text_length = 0;
    relay->stamp = 0;
    relay->taken = taken < 0 ? 0 : (size_t)taken;
    side->searches++;
    PyObject *words = PyBytes_FromStringAndSize(relay->line, (Py_ssize_t)length);
    bool noted = words != NULL && note(side, ">", relay->go, words);
    if (noted && relay->answered) {
        PyObject *done = PyObject_CallFunction(relay->gap, "L", relay->gap_ns);
        Py_XDECREF(done);
        noted = done != NULL;
    }
    if (noted && (taken < 0 || relay->taken < length)) {
        relay->unread = Py_NewRef(words); /* the pipe is full or broken */
        Py_DECREF(words);
        return ODD;
    }
    Py_XDECREF(words);
    if (!noted)
        return FAILED;
    mark_queue(relay, side);
    foresee_books(relay);
    return PLAIN;
}

/* Wait until the side that thinks has said something, the only one who may. */
static Why await(Relay *relay) {
    Side *side = &relay->side[relay->board.turn];
    int thinker = relay->board.turn ? 1 : 0; /* where its output stands in the poll */
    for (;;) {
        long long now = now_ns(), until = now + SLICE, deadline = relay->go + flag_of(side) + GRACE;
        long long soonest = relay->due < side->look ? relay->due : side->look;
        if (deadline < soonest)
            soonest = deadline;
        if (soonest < until)
            until = soonest > now ? soonest : now;
        struct timespec pause = {(until - now) / 1000000000LL, (until - now) % 1000000000LL};
        int ready;
        Py_BEGIN_ALLOW_THREADS
        ready = ppoll(relay->polled, (nfds_t)relay->count, &pause, NULL);
        Py_END_ALLOW_THREADS
        if (ready < 0) {
            if (errno != EINTR || PyErr_CheckSignals() < 0) {
                if (!PyErr_Occurred())
                    PyErr_SetFromErrno(PyExc_OSError);
                return FAILED;
            }
            return ODD;
        }
        relay->now = now_ns();
        relay->until = until;
        if (relay->now > until + LATE_WAKE)
            return ODD;
        if (ready == 0) {
            if (relay->now >= deadline)
                return ODD;
            if (relay->now >= soonest)
                return BOOKS;
            continue;
        }
        bool stirred = false;
        for (int at = 0; at < relay->count; at++)
            if (relay->polled[at].revents && at != thinker) {
                if (relay->kind[at] != 's')
                    return ODD;
                stirred = true;
            }
        if (relay->polled[thinker].revents)
            return relay->polled[thinker].revents & POLLIN ? PLAIN : ODD;
        if (stirred)
            return STIRRED;
    }
}

/* One read of what the search under way says. */
static Why hear(Relay *relay) {
    Side *side = &relay->side[relay->board.turn];
    char *at = relay->text + relay->text_length;
    if (relay->text_length >= READ_SIZE)
        return ODD;
    ssize_t length = read(side->out, at, READ_SIZE);
    long long stamp = now_ns();
    if (length <= 0)
        return ODD;
    relay->stamp = stamp;
    relay->text_length += (size_t)length;
    PyObject *chunk = PyBytes_FromStringAndSize(at, length);
    bool noted = chunk != NULL && note(side, "<", stamp, chunk);
    Py_XDECREF(chunk);
    return noted ? PLAIN : FAILED;
}

/* Where the line of the answer begins, if there is one and no more behind it; -1 ODD, -2: none yet. */
static Py_ssize_t answer_of(const Relay *relay, size_t from) {
    static const char WORD[] = "bestmove";
    size_t begun = from > sizeof WORD ? from - sizeof WORD : 0; /* a word may come in two reads */
    const char *hit = memmem(relay->text + begun, relay->text_length - begun, WORD, sizeof WORD - 1);
    if (hit == NULL)
        return -2;
    size_t at = (size_t)(hit - relay->text), left = relay->text_length - at;
    if (at && relay->text[at - 1] != '\n')
        return -1;
    const char *end = memchr(hit, '\n', left);
    if (end == NULL)
        return -1; /* a line in pieces */
    return (size_t)(end - hit) + 1 == left ? (Py_ssize_t)at : -1;
}

static bool plain_answer(const char *line, const char *end, Move *move) {
    const char *at = line, *word;
    size_t length = next_word(&at, end, &word);
    if (length != 8) /* bestmove */
        return false;
    length = next_word(&at, end, &word);
    static const char *const ROOK_TAKING[] = {"e1h1", "e1a1", "e8h8", "e8a8"};
    for (int one = 0; one < 4; one++)
        if (length == 4 && memcmp(word, ROOK_TAKING[one], 4) == 0)
            return false; /* enginetour/adapters/moves.py */
    if (!move_read(word, length, move))
        return false;
    for (; at < end; at++)
        if ((*at < ' ' && *at != '\r' && *at != '\t') || *at >= 127)
            return false;
    return true;
}

static Seen *seen_of(Relay *relay, const Key *key) {
    for (int at = relay->seen_count - 1; at >= 0; at--)
        if (relay->seen[at].key.words[6] == key->words[6] && memcmp(&relay->seen[at].key, key, sizeof *key) == 0)
            return &relay->seen[at];
    return NULL;
}

/* What the adjudicator says of the position after the move: PLAIN, ODD, ENDED. */
static Why judged(Relay *relay, const Board *after, size_t before_answer) {
    if (relay->judge == Py_None)
        return PLAIN;
    Thought thought;
    if (thought_of(relay->text, before_answer, false, &thought) == ODD_WORDS)
        return ODD;
    PyObject *score = thought.scored ? PyLong_FromLongLong(thought.score) : Py_NewRef(Py_None);
    if (score == NULL)
        return FAILED;
    PyObject *seat = relay->side[relay->board.turn].seat;
    PyObject *end = PyObject_CallFunction(relay->judge, "OOiiN", seat, after->turn ? Py_True : Py_False,
                                          after->halfmoves, after->number, score);
    if (end == NULL)
        return FAILED;
    if (end == Py_None) {
        Py_DECREF(end);
        return PLAIN;
    }
    relay->end = end;
    return ENDED;
}

/* The clock and the record of an answer that is plain in all; the board stays as it was. */
static bool enter(Relay *relay, Side *side, Move move, long long elapsed, size_t before_answer, bool check) {
    long long spent = elapsed / MS;
    side->moves++;
    side->total += spent;
    if (spent > side->longest)
        side->longest = spent;
    if (spent > (side->rest < 0 ? side->limit : side->rest))
        side->margin_uses++;
    PyObject *clock = Py_None;
    if (side->rest >= 0) {
        long long left = side->rest > spent ? side->rest - spent : 0;
        if (side->least < 0 || left < side->least)
            side->least = left;
        if (side->to_go)
            side->to_go--;
        side->rest = left + side->increment;
        clock = PyLong_FromLongLong(side->rest);
    } else {
        Py_INCREF(clock);
    }
    char text[6];
    size_t length = move_write(move, text);
    PyObject *uci = PyUnicode_FromStringAndSize(text, (Py_ssize_t)length);
    PyObject *made = uci ? PyObject_CallOneArg(relay->written, uci) : NULL;
    PyObject *search = PyBytes_FromStringAndSize(relay->text, (Py_ssize_t)before_answer);
    PyObject *gap = relay->answered ? PyLong_FromLongLong(relay->gap_ns) : Py_NewRef(Py_None);
    PyObject *fields = NULL, *ply = NULL, *done = NULL;
    bool kept = false;
    if (uci && made && search && gap && clock && PyList_Append(relay->moves, uci) == 0) {
        fields = Py_BuildValue("((OOLOOOsi))", made, side->seat, spent, clock, search, Py_False, check ? "+" : "", 0);
        ply = fields ? PyTuple_Type.tp_new((PyTypeObject *)relay->raw, fields, NULL) : NULL;
        done = ply ? PyObject_CallFunction(relay->enter, "((OO))", ply, gap) : NULL;
        kept = done != NULL;
    }
    Py_XDECREF(fields);
    Py_XDECREF(ply);
    Py_XDECREF(done);
    Py_XDECREF(uci);
    Py_XDECREF(made);
    Py_XDECREF(search);
    Py_XDECREF(gap);
    Py_XDECREF(clock);
    relay->held++;
    relay->last_elapsed = (long)spent;
    if (!kept || !reserve_line(relay, 16))
        return false;
    char *at = relay->line + relay->line_length;
    if (!relay->words_begun) {
        memcpy(at, " moves", 6);
        at += 6;
        relay->words_begun = true;
    }
    *at++ = ' ';
    memcpy(at, text, length);
    relay->line_length = (size_t)(at - relay->line) + length;
    return true;
}

/* Judge an answer; PLAIN: it is on the board, and the game goes on. */
static Why answered(Relay *relay, size_t begins) {
    Side *side = &relay->side[relay->board.turn];
    long long elapsed = relay->stamp - relay->go;
    Move move;
    if (elapsed >= flag_of(side) || side->to_go == 1 ||
        !plain_answer(relay->text + begins, relay->text + relay->text_length - 1, &move) ||
        !move_is_legal(&relay->board, move) || relay->seen_count == MOST_KEYS)
        return ODD;
    PyObject *stopped = PyObject_GetAttrString(relay->halts, "continued");
    if (stopped == NULL)
        return FAILED;
    bool halted = stopped != Py_False || slept_ns() - relay->slept > SLEPT;
    Py_DECREF(stopped);
    if (halted)
        return ODD;
    Board after = relay->board;
    bool thinner = move.promotion || (after.side[!after.turn] & (Squares)1 << move.to) || move.to == after.passed;
    bool irreversible = play(&after, move);
    Key key;
    key_of(&after, &key);
    Seen *seen = irreversible ? NULL : seen_of(relay, &key);
    if (!can_move(&after) || (thinner && is_thin(&after)) || (seen ? seen->times : 0) + 1 >= relay->repetition ||
        (relay->halfmoves && after.halfmoves >= relay->halfmoves) || relay->plies + 1 >= relay->most_plies)
        return ODD;
    Why why = judged(relay, &after, begins);
    if (why == ODD || why == FAILED)
        return why;
    relay->thinking = false;
    relay->board = after;
    relay->plies++;
    if (irreversible) {
        relay->anchor = relay->plies;
        relay->seen_count = 0;
    }
    if (seen) {
        seen->times++;
    } else {
        relay->seen[relay->seen_count].key = key;
        relay->seen[relay->seen_count++].times = 1;
    }
    if (!enter(relay, side, move, elapsed, begins, in_check(&after)))
        return FAILED;
    relay->answered = relay->stamp;
    return why;
}

Why play_on(Relay *relay) {
    for (;;) {
        Why why = relay->thinking ? PLAIN : set_thinking(relay);
        if (why == PLAIN)
            why = await(relay);
        size_t before = relay->text_length;
        if (why == PLAIN)
            why = hear(relay);
        if (why != PLAIN)
            return why;
        Py_ssize_t begins = answer_of(relay, before);
        if (begins == -2)
            continue;
        why = begins < 0 ? ODD : answered(relay, (size_t)begins);
        if (why != PLAIN)
            return why;
    }
}
