/* The Python type of a relay: the data of a game that it takes and returns. */
#include "relay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static PyObject *relay_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named)) {
    PyObject *moves, *enter, *gap, *raw, *halts, *judge;
    int own_stat;
    long repetition, halfmoves, most_plies, longest_line;
    if (!PyArg_ParseTuple(args, "O!OOO!OOillll", &PyList_Type, &moves, &enter, &gap, &PyType_Type, &raw, &halts,
                          &judge, &own_stat, &repetition, &halfmoves, &most_plies, &longest_line))
        return NULL;
    Relay *made = (Relay *)type->tp_alloc(type, 0);
    if (made == NULL)
        return NULL;
    made->watched = -1;
    made->moves = Py_NewRef(moves);
    made->enter = Py_NewRef(enter);
    made->gap = Py_NewRef(gap);
    made->raw = Py_NewRef(raw);
    made->halts = Py_NewRef(halts);
    made->judge = Py_NewRef(judge);
    made->own_stat = own_stat;
    made->repetition = repetition;
    made->halfmoves = halfmoves;
    made->most_plies = most_plies;
    made->longest_line = longest_line;
    made->slept = slept_ns();
    made->text = malloc(3 * READ_SIZE);
    made->seen = malloc(MOST_KEYS * sizeof *made->seen);
    made->line_room = READ_SIZE / 8;
    made->line = malloc(made->line_room);
    if (made->text == NULL || made->seen == NULL || made->line == NULL) {
        Py_DECREF(made);
        return PyErr_NoMemory();
    }
    return (PyObject *)made;
}

static void relay_gone(Relay *self) {
    PyObject_GC_UnTrack(self);
    for (int turn = 0; turn < 2; turn++) {
        Py_XDECREF(self->side[turn].seat);
        Py_XDECREF(self->side[turn].traffic);
        free(self->side[turn].noted);
        free(self->side[turn].limits);
    }
    PyObject *all[] = {self->moves, self->enter, self->gap, self->raw, self->halts, self->judge,
                       self->unread, self->end};
    for (size_t at = 0; at < sizeof all / sizeof *all; at++)
        Py_XDECREF(all[at]);
    free(self->text);
    free(self->seen);
    free(self->line);
    if (self->watched >= 0)
        close(self->watched);
    Py_TYPE(self)->tp_free(self);
}

static int relay_visit(Relay *self, visitproc visit, void *arg) {
    for (int turn = 0; turn < 2; turn++) {
        Py_VISIT(self->side[turn].seat);
        Py_VISIT(self->side[turn].traffic);
    }
    Py_VISIT(self->moves);
    Py_VISIT(self->enter);
    Py_VISIT(self->gap);
    Py_VISIT(self->halts);
    Py_VISIT(self->judge);
    return 0;
}

/* seat(white, seat, stdin, stdout, traffic, limits, threads): the engine that plays that color. */
static PyObject *relay_seat(Relay *self, PyObject *args) {
    int white, in, out;
    PyObject *seat, *traffic, *threads;
    const char *limits;
    if (!PyArg_ParseTuple(args, "pOiiOyO!", &white, &seat, &in, &out, &traffic, &limits, &PyList_Type, &threads))
        return NULL;
    Side *side = &self->side[white];
    side->in = in;
    side->out = out;
    Py_XSETREF(side->seat, Py_NewRef(seat));
    Py_XSETREF(side->traffic, Py_NewRef(traffic));
    free(side->limits);
    side->limits = strdup(limits);
    if (side->limits == NULL)
        return PyErr_NoMemory();
    side->threads = 0;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(threads) && at < MOST_MARKS; at++) {
        side->thread[at] = (int)PyLong_AsLong(PyList_GET_ITEM(threads, at));
        side->marked_length[at] = 0;
        side->threads++;
    }
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static int add_watched(const Relay *self, int fd, int events, int kind) {
    struct epoll_event event = {.events = (uint32_t)events, .data = {.u32 = (uint32_t)kind}};
    return epoll_ctl(self->watched, EPOLL_CTL_ADD, fd, &event);
}

/* watch(((fd, events, kind), ...)): descriptors to watch in addition to both outputs, until the next call. */
static PyObject *relay_watch(Relay *self, PyObject *all) {
    if (!PyTuple_Check(all) || PyTuple_GET_SIZE(all) > MOST_FDS - 2) {
        PyErr_SetString(PyExc_ValueError, "a tuple of at most 14 descriptors");
        return NULL;
    }
    if (self->watched >= 0)
        close(self->watched);
    self->watched = epoll_create1(EPOLL_CLOEXEC);
    if (self->watched < 0 || add_watched(self, self->side[0].out, EPOLLIN, BLACK_OUT) < 0 ||
        add_watched(self, self->side[1].out, EPOLLIN, WHITE_OUT) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(all); at++) {
        int fd, events, kind;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(all, at), "iiC", &fd, &events, &kind))
            return NULL;
        if (add_watched(self, fd, events, kind) < 0)
            return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}

/* clock(white, rest, increment, margin, to_go, fixed, limit, least, longest): before the first ply of a run. */
static PyObject *relay_clock(Relay *self, PyObject *args) {
    int white;
    long long rest, increment, margin, fixed, limit, least, longest;
    long to_go;
    if (!PyArg_ParseTuple(args, "pLLLlLLLL", &white, &rest, &increment, &margin, &to_go, &fixed, &limit, &least,
                          &longest))
        return NULL;
    Side *side = &self->side[white];
    side->rest = rest;
    side->increment = increment;
    side->margin = margin;
    side->to_go = to_go;
    side->fixed = fixed;
    side->limit = limit;
    side->least = least;
    side->longest = longest;
    side->moves = side->margin_uses = side->searches = 0;
    side->total = side->asked = side->marked_ns = 0;
    Py_RETURN_NONE;
}

/* take(board, line, words_begun, plies, anchor, begun_at, seen, answered_ns) -> bool: the game in its current state. */
static PyObject *relay_take(Relay *self, PyObject *args) {
    PyObject *board, *seen;
    const char *line;
    Py_ssize_t length;
    int words_begun;
    if (!PyArg_ParseTuple(args, "Oy#plllO!L", &board, &line, &length, &words_begun, &self->plies, &self->anchor,
                          &self->begun_at, &PyDict_Type, &seen, &self->answered))
        return NULL;
    int fits = board_read(board, &self->board);
    int known = fits < 0 ? fits : seen_from(self, seen);
    if (PyErr_Occurred())
        return NULL;
    if (fits < 0 || !known || (size_t)length > self->line_room / 2)
        Py_RETURN_FALSE;
    memcpy(self->line, line, (size_t)length);
    self->line_length = (size_t)length;
    self->words_begun = words_begun;
    self->thinking = false;
    self->text_length = self->noted = 0;
    self->stamp = 0;
    Py_RETURN_TRUE;
}

/* run(held, last_elapsed, since, urgent, live, look_black, look_white, quick) -> reason of its end. */
static PyObject *relay_run(Relay *self, PyObject *args) {
    int urgent;
    if (!PyArg_ParseTuple(args, "llLpLLLL", &self->held, &self->last_elapsed, &self->since, &urgent, &self->live,
                          &self->side[0].look, &self->side[1].look, &self->quick))
        return NULL;
    self->urgent = urgent;
    Py_CLEAR(self->unread);
    Py_CLEAR(self->end);
    self->now = self->until = 0;
    if (self->thinking)
        foresee_books(self);
    Why why = play_on(self);
    return why == FAILED ? NULL : PyLong_FromLong(why);
}

/* Return whether the engine that thinks, or the executor, has sent something. */
static PyObject *relay_stirs(Relay *self, PyObject *Py_UNUSED(none)) {
    struct epoll_event event;
    return PyBool_FromLong(epoll_wait(self->watched, &event, 1, 0) != 0);
}

/* crowd() -> (marks, long waits): moves of this game that were measured, and those with a long wait. */
static PyObject *relay_crowd(Relay *self, PyObject *Py_UNUSED(none)) {
    return Py_BuildValue("ll", self->marks, self->long_waits);
}

/* Return whether White is to move. */
static PyObject *relay_turn(Relay *self, PyObject *Py_UNUSED(none)) { return PyBool_FromLong(self->board.turn); }

/* give(board) -> (line, words_begun, anchor, seen): the current state; `board` is changed to it. */
static PyObject *relay_give(Relay *self, PyObject *board) {
    if (board_give(&self->board, board) < 0)
        return NULL;
    PyObject *seen = seen_told(self);
    if (seen == NULL)
        return NULL;
    return Py_BuildValue("y#NlN", (const char *)self->line, (Py_ssize_t)self->line_length,
                         PyBool_FromLong(self->words_begun), self->anchor, seen);
}

/* clocked(white) -> (rest, to_go, moves, total, longest, least, margin_uses, searches, asked, marked, marked_ns). */
static PyObject *relay_clocked(Relay *self, PyObject *white) {
    const Side *side = &self->side[PyObject_IsTrue(white) == 1];
    PyObject *marked = PyList_New(side->threads);
    for (int at = 0; marked != NULL && at < side->threads; at++) {
        PyObject *said = PyBytes_FromStringAndSize((const char *)side->marked[at], side->marked_length[at]);
        if (said == NULL)
            Py_CLEAR(marked);
        else
            PyList_SET_ITEM(marked, at, said);
    }
    if (marked == NULL)
        return NULL;
    return Py_BuildValue("LllLLLllLNL", side->rest, side->to_go, side->moves, side->total, side->longest, side->least,
                         side->margin_uses, side->searches, side->asked, marked, side->marked_ns);
}

/* ply() -> (thinking, text, stamp, go, write, gap, answered, waited, now, until, taken, unread, end). */
static PyObject *relay_ply(Relay *self, PyObject *Py_UNUSED(none)) {
    PyObject *none = Py_None;
    return Py_BuildValue("Oy#LLLLLy#LLnOO", self->thinking ? Py_True : Py_False,
                         (const char *)self->text, (Py_ssize_t)self->text_length, self->stamp, self->go, self->write,
                         self->gap_ns, self->answered, (const char *)self->waited,
                         (Py_ssize_t)self->waited_length, self->now, self->until, (Py_ssize_t)self->taken,
                         self->unread ? self->unread : none, self->end ? self->end : none);
}

static PyMethodDef METHODS[] = {
    {"seat", (PyCFunction)relay_seat, METH_VARARGS, NULL},
    {"watch", (PyCFunction)relay_watch, METH_O, NULL},
    {"clock", (PyCFunction)relay_clock, METH_VARARGS, NULL},
    {"take", (PyCFunction)relay_take, METH_VARARGS, NULL},
    {"run", (PyCFunction)relay_run, METH_VARARGS, NULL},
    {"turn", (PyCFunction)relay_turn, METH_NOARGS, NULL},
    {"crowd", (PyCFunction)relay_crowd, METH_NOARGS, NULL},
    {"stirs", (PyCFunction)relay_stirs, METH_NOARGS, NULL},
    {"give", (PyCFunction)relay_give, METH_O, NULL},
    {"clocked", (PyCFunction)relay_clocked, METH_O, NULL},
    {"ply", (PyCFunction)relay_ply, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject RelayType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "enginetour._native.Relay",
    .tp_basicsize = sizeof(Relay),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = relay_new,
    .tp_dealloc = (destructor)relay_gone,
    .tp_traverse = (traverseproc)relay_visit,
    .tp_methods = METHODS,
};
