/* A relay: two engines, a game under way, and all that the path of a plain ply needs of both. */
#ifndef ENGINETOUR_RELAY_H
#define ENGINETOUR_RELAY_H

#include "native.h"

#include <poll.h>

#define MS 1000000LL /* nanoseconds in a millisecond */
#define NEVER (1LL << 62)

enum {
    READ_SIZE = 64 * 1024, /* a read, and a search that is longer is Python's: runner spec 2 */
    MOST_FDS = 16, /* beside both outputs */
    MOST_THREADS = 8, /* enginetour/referee/waits.py */
    MOST_MARKS = 2 * MOST_THREADS, /* threads, and the clocks of their processes */
    MOST_KEYS = 512,  /* positions since the last irreversible move: 75 moves always end a game */
    TOLD = 160,       /* bytes of a schedstat file, of the clocks in a `go` */
};

typedef enum { PLAIN, BOOKS, STIRRED, SLOW, ODD, ENDED, FAILED } Why;

typedef struct {
    int in, out;
    PyObject *seat;    /* that its plies are entered for */
    PyObject *traffic; /* what takes the chunks that are noted: a list of (direction, stamp, bytes), bytes in all */
    PyObject *noted;
    size_t noted_size;
    char *limits;      /* what follows the clocks in its `go` */
    long long rest, increment, margin, fixed; /* ms; rest -1: no clock, then `fixed` are the ns to its flag */
    long long limit; /* ms of a move without a clock, from which the margin is used */
    long to_go;
    long moves, margin_uses, searches;
    long long total, longest, least, asked, look;
    int threads, thread[MOST_MARKS]; /* files of threads; a negative number is the clock of a process */
    Byte marked[MOST_MARKS][TOLD];
    int marked_length[MOST_MARKS];
    long long marked_ns;
} Side;

typedef struct {
    Key key;
    long times;
} Seen;

typedef struct {
    PyObject_HEAD
    Side side[2]; /* by colour, as in python-chess */
    PyObject *moves, *enter, *gap, *raw, *written, *halts, *judge;
    int own_stat;
    long repetition, halfmoves, most_plies, longest_line;
    struct pollfd polled[3]; /* both outputs, Black's first; and an epoll of all that seldom speaks: half the cost */
    int beside;              /* that epoll */
    /* of the game under way */
    Board board;
    Seen *seen;
    int seen_count;
    Byte *line;
    size_t line_length, line_room;
    bool words_begun;
    long plies, anchor, begun_at;
    /* of the ply under way */
    bool thinking;
    Byte *text;
    size_t text_length;
    long long go, write, gap_ns, answered, stamp, slept, now, until;
    Byte waited[TOLD];
    int waited_length;
    long marks, long_waits; /* of both sides, enginetour/referee/waits.py */
    long long waited_ns; /* when that was asked for: searches that are sooner over are not told apart */
    size_t taken; /* bytes of the last write that the pipe took */
    PyObject *unread, *end;
    /* what is noted behind the next `go`: the read that brought the answer, and the ply */
    size_t chunk, chunk_length;
    struct {
        bool is;
        Side *side;
        Move move;
        long long spent, clock, gap; /* clock -1: none; gap -1: none */
        size_t search;
        bool check;
    } ply;
    long long quick; /* ns from `go`, after which a search is SLOW; 0: none is */
    /* of the books */
    long held, last_elapsed;
    long long since, due, live;
    bool urgent;
} Relay;

/* The parts of a ply, in their order. FAILED: with an exception set. */
Why set_thinking(Relay *relay);
Py_ssize_t answer_of(const Relay *relay, size_t from); /* where its line begins; -1: it is odd, -2: none yet */
Why answered(Relay *relay, size_t begins);             /* PLAIN: it is on the board, and the game goes on */
bool settle(Relay *relay);                             /* what the relay of an answer has left to be noted */
Why play_on(Relay *relay);                             /* plies until something is not plain */

int seen_from(Relay *relay, PyObject *dict); /* positions that count for repetitions; 0: they are not for here */
PyObject *seen_told(const Relay *relay);
void foresee_books(Relay *relay); /* when they are due in the search under way */
bool reserve_line(Relay *relay, size_t more);
bool note(Side *side, PyObject *direction, long long stamp, const Byte *text, size_t length);
extern PyObject *to_it, *from_it; /* directions */
long long flag_of(const Side *side); /* ns of thought from which a move is late */
int told_by(int file, Byte text[TOLD]); /* what a file of /proc says, or a clock by a negative number; bytes of it */
long long now_ns(void);                 /* CLOCK_MONOTONIC */
long long slept_ns(void);               /* that this machine has been suspended since boot */

#endif
