/* A relay: two engines, a game in progress, and all data of both for plain plies. */
#ifndef ENGINETOUR_RELAY_H
#define ENGINETOUR_RELAY_H

#include "native.h"

#define MS 1000000LL /* nanoseconds in a millisecond */
#define NEVER (1LL << 62)

enum {
    READ_SIZE = 64 * 1024, /* bytes of a read; Python handles longer search output: runner spec 2 */
    MOST_FDS = 16,
    MOST_THREADS = 8, /* enginetour/referee/waits.py */
    MOST_MARKS = 2 * MOST_THREADS, /* threads, and the CPU clocks of their processes */
    MOST_KEYS = 512,  /* positions since the last irreversible move: 75 moves always end a game */
    MOST_PIECES = 64, /* reads between two notes in the engine log */
    TOLD = 160,       /* bytes of a schedstat file, or of the clocks in a `go` */
};

enum { BLACK_OUT = 'b', WHITE_OUT = 'w', ERRORS = 's' }; /* kinds of watched descriptors; after others, Python acts */

typedef enum { PLAIN, BOOKS, STIRRED, SLOW, ODD, ENDED, FAILED, AGAIN } Why; /* Python never gets the last two */

typedef struct {
    int in, out;
    PyObject *seat;    /* the seat for which its plies are entered */
    PyObject *traffic; /* called with noted pieces: enginetour/engines/pipes.py */
    Byte *noted;
    size_t noted_length, noted_room;
    char *limits;      /* text after the clocks in its `go` */
    long long rest, increment, margin, fixed; /* ms; rest -1: no clock, and `fixed` is the ns to its flag */
    long long limit; /* ms of a move without a clock after which the margin is used */
    long to_go;
    long moves, margin_uses, searches;
    long long total, longest, least, asked, look;
    int threads, thread[MOST_MARKS]; /* files of threads; a negative number is the CPU clock of a process */
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
    Side side[2]; /* by color, as in python-chess */
    PyObject *moves, *enter, *gap, *raw, *halts, *judge;
    int own_stat;
    long repetition, halfmoves, most_plies, longest_line;
    int watched; /* an epoll of all descriptors: a wait takes 12 % less time than with a poll of both outputs */
    /* the current game */
    Board board;
    Seen *seen;
    int seen_count;
    Byte *line;
    size_t line_length, line_room;
    bool words_begun;
    long plies, anchor, begun_at;
    /* the current ply */
    bool thinking;
    Byte *text;
    size_t text_length;
    long long go, write, gap_ns, answered, stamp, slept, now, until;
    Byte waited[TOLD];
    int waited_length;
    long marks, long_waits; /* both sides, enginetour/referee/waits.py */
    long long waited_ns; /* time of the last mark; shorter searches share one */
    size_t taken; /* bytes of the last write that the pipe took */
    PyObject *unread, *end;
    /* noted after the next `go`: the pieces of output that were read, up to `noted` bytes before, and the ply */
    struct {
        size_t end; /* its end in the text */
        long long stamp;
    } piece[MOST_PIECES];
    int pieces;
    size_t noted;
    struct {
        bool is;
        Side *side;
        Move move;
        long long spent, clock, gap; /* clock -1: none; gap -1: none */
        size_t search;
        bool check;
    } ply;
    long long quick; /* ns after `go` from which a search is SLOW; 0: never */
    /* bookkeeping */
    long held, last_elapsed;
    long long since, due, live;
    bool urgent;
} Relay;

/* The parts of a ply, in order. FAILED: an exception is set. */
Why set_thinking(Relay *relay);
Py_ssize_t answer_of(const Relay *relay, size_t from); /* start of its line; -1: it is odd, -2: none yet */
Why answered(Relay *relay, size_t begins);             /* PLAIN: the move is made, and the game continues */
bool settle(Relay *relay);                             /* note what is left after the relay of an answer */
Why play_on(Relay *relay);                             /* play plies until something is not plain */

int seen_from(Relay *relay, PyObject *dict); /* positions for repetitions; 0: not supported here */
PyObject *seen_told(const Relay *relay);
void foresee_books(Relay *relay); /* when bookkeeping is due in the current search */
bool reserve(Byte **text, size_t length, size_t *room, size_t more);
bool note(Side *side, char direction, long long stamp, const Byte *text, size_t length);
long long flag_of(const Side *side); /* thinking time in ns from which a move is late */
int told_by(int file, Byte text[TOLD]); /* read a file of /proc, or a clock by a negative number; return its bytes */
long long now_ns(void);                 /* CLOCK_MONOTONIC */
long long slept_ns(void);               /* ns that this machine has been suspended since boot */

#endif
