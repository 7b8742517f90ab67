/* A plain ply, runner spec 4: wait, read, judge, relay. Python handles everything that is not plain.
 *
 * A relay continues until something is not plain: a line out of turn, an odd or late answer, the end of the game, a
 * signal, time for bookkeeping. It judges none of that: it returns what was read with its time stamps, and
 * enginetour/referee/relay.py continues as if it had read it itself.
 */
#include "relay.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static const size_t NOTED = 16 * 1024;      /* enginetour/engines/pipes.py */
static const long long GRACE = 100 * MS;    /* runner spec 3 */
static const long long SLICE = 100 * MS;    /* enginetour/engines/process.py */
static const long long LATE_WAKE = 20 * MS; /* enginetour/referee/clock.py */

static long long now_on(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

long long now_ns(void) { return now_on(CLOCK_MONOTONIC); }

long long slept_ns(void) { return now_on(CLOCK_BOOTTIME) - now_ns(); }

int told_by(int file, Byte text[TOLD]) {
    struct timespec time;
    if (file < 0)
        return clock_gettime(file, &time)
                   ? 0
                   : snprintf((char *)text, TOLD, "%lld", time.tv_sec * 1000000000LL + time.tv_nsec);
    ssize_t length = pread(file, text, TOLD - 1, 0);
    return length > 0 ? (int)length : 0;
}

long long flag_of(const Side *side) {
    return side->rest < 0 ? side->fixed : (side->rest + side->margin + 1) * MS;
}

static bool hand_notes_over(Side *side) {
    if (!side->noted_length)
        return true;
    const char *pieces = (const char *)side->noted;
    PyObject *done = PyObject_CallFunction(side->traffic, "y#", pieces, (Py_ssize_t)side->noted_length);
    side->noted_length = 0;
    Py_XDECREF(done);
    return done != NULL;
}

bool note(Side *side, char direction, long long stamp, const Byte *text, size_t length) {
    int64_t time = stamp;
    uint32_t size = (uint32_t)length;
    size_t whole = sizeof direction + sizeof time + sizeof size + length;
    if (side->noted_length + whole > NOTED && !hand_notes_over(side))
        return false;
    if (!reserve(&side->noted, side->noted_length, &side->noted_room, whole))
        return false;
    Byte *at = side->noted + side->noted_length;
    side->noted_length += whole;
    *at++ = (Byte)direction;
    memcpy(at, &time, sizeof time);
    memcpy(at + sizeof time, &size, sizeof size);
    memcpy(at + sizeof time + sizeof size, text, length);
    return true;
}

/* Wait once for output of the side that thinks; the other side must be silent. */
static Why await(Relay *relay) {
    Side *side = &relay->side[relay->board.turn];
    uint32_t thinker = relay->board.turn ? WHITE_OUT : BLACK_OUT;
    long long now = now_ns(), until = now + SLICE, deadline = relay->go + flag_of(side) + GRACE;
    long long soonest = relay->due < side->look ? relay->due : side->look;
    if (deadline < soonest)
        soonest = deadline;
    long long slow = relay->quick ? relay->go + relay->quick : NEVER;
    if (slow < soonest)
        soonest = slow;
    if (soonest < until)
        until = soonest > now ? soonest : now;
    struct epoll_event events[MOST_FDS];
    int ready = epoll_wait(relay->watched, events, MOST_FDS, (int)((until - now + MS - 1) / MS));
    if (ready < 0)
        return errno == EINTR ? ODD : FAILED;
    relay->now = now_ns();
    relay->until = until;
    if (relay->now > until + LATE_WAKE)
        return ODD;
    if (ready == 0)
        return relay->now >= deadline ? ODD : relay->now >= slow ? SLOW : relay->now >= soonest ? BOOKS : AGAIN;
    Why found = AGAIN;
    for (int at = 0; at < ready; at++) {
        uint32_t kind = events[at].data.u32;
        if (kind == thinker && events[at].events & EPOLLIN)
            found = PLAIN;
        else if (kind != ERRORS)
            return ODD;
        else if (found != PLAIN)
            found = STIRRED;
    }
    return found;
}

/* Read the output of the current search once. */
static Why hear(Relay *relay) {
    Side *side = &relay->side[relay->board.turn];
    if (relay->text_length >= READ_SIZE)
        return ODD;
    ssize_t length = read(side->out, relay->text + relay->text_length, READ_SIZE);
    long long stamp = now_ns();
    if (length <= 0)
        return ODD;
    relay->stamp = stamp;
    relay->text_length += (size_t)length;
    relay->piece[relay->pieces].end = relay->text_length;
    relay->piece[relay->pieces++].stamp = stamp;
    return PLAIN;
}

/* Listen to the current search, without Python's lock: engines send a line per iteration, and most need no answer.
 * PLAIN: the line at `begins` may be the answer. AGAIN: the pieces must be noted, or signals must be handled. */
static Why listen_to_search(Relay *relay, Py_ssize_t *begins) {
    for (long long end = now_ns() + SLICE;;) {
        Why why = await(relay);
        size_t before = relay->text_length;
        if (why == PLAIN)
            why = hear(relay);
        if (why != PLAIN)
            return why;
        *begins = answer_of(relay, before);
        if (*begins != -2)
            return PLAIN;
        if (relay->pieces == MOST_PIECES || relay->stamp > end)
            return AGAIN;
    }
}

/* Play plies until something is not plain; the last ply may not be noted yet. */
static Why go_on(Relay *relay) {
    for (;;) {
        Why why = relay->thinking ? PLAIN : set_thinking(relay);
        if (why != PLAIN)
            return why;
        Py_ssize_t begins = -1;
        int error;
        Py_BEGIN_ALLOW_THREADS
        why = listen_to_search(relay, &begins);
        error = errno;
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() < 0)
            return FAILED;
        if (why == FAILED) {
            errno = error;
            PyErr_SetFromErrno(PyExc_OSError);
        } else if (why == PLAIN) {
            why = begins < 0 ? ODD : answered(relay, (size_t)begins);
        } else if (why == AGAIN) {
            why = settle(relay) ? PLAIN : FAILED;
        }
        if (why != PLAIN)
            return why;
    }
}

Why play_on(Relay *relay) {
    Why why = go_on(relay);
    if (why == FAILED || !settle(relay) || !hand_notes_over(&relay->side[0]) || !hand_notes_over(&relay->side[1]))
        return FAILED;
    return why;
}
