/* The part of a plain ply before the wait: start a search, and determine when bookkeeping is due in it. */
#include "relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const long long PATIENCE = 1 * MS; /* enginetour/referee/record.py */
static const long long HELD = 500 * MS;   /* as above */
static const int HELD_PLIES = 63;         /* as above */
static const int ROOM = 100;              /* enginetour/engines/position.py */
static const long long MARK = 1 * MS;     /* enginetour/referee/waits.py */
static const long long LONG = 10 * MS;    /* as above */
static const int LONG_PART = 20;          /* as above */

bool reserve(Byte **text, size_t length, size_t *room, size_t more) {
    if (length + more <= *room)
        return true;
    Byte *larger = realloc(*text, *room * 2 + more);
    if (larger == NULL) {
        PyErr_NoMemory();
        return false;
    }
    *text = larger;
    *room = *room * 2 + more;
    return true;
}

/* Write `go` after the position, past the end of the line; return the bytes of both. */
static size_t ask(Relay *relay, const Side *side, const Side *other) {
    size_t room = TOLD + strlen(side->limits);
    if (!reserve(&relay->line, relay->line_length, &relay->line_room, room))
        return 0;
    char *at = (char *)relay->line + relay->line_length;
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

/* Return the nanoseconds in a run queue from a schedstat file: its second number. */
static long long waited_by(const Byte *text, int length) {
    const Byte *blank = memchr(text, ' ', (size_t)length);
    long long number = 0;
    if (blank != NULL)
        for (const Byte *at = blank + 1; at < text + length && *at >= '0' && *at <= '9'; at++)
            number = 10 * number + (*at - '0');
    return number;
}

static void mark_queue(Relay *relay, Side *side) {
    if (relay->go >= relay->waited_ns + MARK) {
        relay->waited_length = told_by(relay->own_stat, relay->waited);
        relay->waited_ns = relay->go;
    }
    if (!side->threads || relay->go < side->marked_ns + MARK)
        return;
    long long most = 0;
    for (int at = 0; at < side->threads; at++) {
        int had = side->marked_length[at];
        long long before = waited_by(side->marked[at], had);
        int has = side->marked_length[at] = told_by(side->thread[at], side->marked[at]);
        if (had && has && side->thread[at] >= 0 && waited_by(side->marked[at], has) - before > most)
            most = waited_by(side->marked[at], has) - before;
    }
    if (side->marked_ns) {
        relay->marks++;
        relay->long_waits += most > LONG && most * LONG_PART > relay->go - side->marked_ns;
    }
    side->marked_ns = relay->go;
}

Why set_thinking(Relay *relay) {
    Side *side = &relay->side[relay->board.turn], *other = &relay->side[!relay->board.turn];
    if (relay->line_length + (size_t)ROOM > (size_t)relay->longest_line && relay->anchor != relay->begun_at)
        return ODD; /* Python shortens the line */
    Byte *aside = relay->text + 2 * READ_SIZE; /* text before it is not noted yet */
    ssize_t stale = read(side->out, aside, READ_SIZE);
    if (stale >= 0 || errno != EAGAIN) {
        if (stale > 0) {
            relay->stamp = now_ns();
            relay->unread = PyBytes_FromStringAndSize((const char *)aside, stale);
            if (!settle(relay) || relay->unread == NULL || !note(side, '<', relay->stamp, aside, (size_t)stale))
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
    relay->taken = taken < 0 ? 0 : (size_t)taken;
    side->searches++;
    if (!settle(relay))
        return FAILED;
    relay->thinking = true;
    relay->text_length = relay->noted = 0;
    relay->stamp = 0;
    bool noted = note(side, '>', relay->go, relay->line, length);
    if (noted && relay->answered) {
        PyObject *done = PyObject_CallFunction(relay->gap, "L", relay->gap_ns);
        Py_XDECREF(done);
        noted = done != NULL;
    }
    if (noted && (taken < 0 || relay->taken < length)) {
        /* the pipe is full or broken */
        relay->unread = PyBytes_FromStringAndSize((const char *)relay->line, (Py_ssize_t)length);
        return relay->unread ? ODD : FAILED;
    }
    if (!noted)
        return FAILED;
    mark_queue(relay, side);
    foresee_books(relay);
    return PLAIN;
}
