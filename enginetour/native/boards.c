/* Conversion of python-chess boards, and the board on which the record of a game is written. */
#include "native.h"
#include "thoughts.h"

#include <string.h>

enum {
    PV_PLIES = 200, /* runner spec 6 */
    LONGEST_PV = 2048,
    ELAPSED = 1, CLOCK, SEARCH, /* indexes in RawPly, enginetour/referee/record.py */
    SOME_MATE = 31000, /* enginetour/referee/record.py: scores closer to 32000 are distances to mate */
};

static const char *const NAMES[] = {"", "pawns", "knights", "bishops", "rooks", "queens", "kings"};
static PyObject *names[KING + 1], *occupied_co, *occupied, *turn, *castling_rights, *ep_square, *halfmove_clock,
    *fullmove_number, *promoted, *chess960;

int boards_begin(void) {
    struct {
        PyObject **name;
        const char *text;
    } all[] = {{&occupied_co, "occupied_co"}, {&occupied, "occupied"}, {&turn, "turn"},
               {&castling_rights, "castling_rights"}, {&ep_square, "ep_square"},
               {&halfmove_clock, "halfmove_clock"}, {&fullmove_number, "fullmove_number"},
               {&promoted, "promoted"}, {&chess960, "chess960"}};
    for (size_t at = 0; at < sizeof all / sizeof *all; at++)
        if ((*all[at].name = PyUnicode_InternFromString(all[at].text)) == NULL)
            return -1;
    for (int piece = PAWN; piece <= KING; piece++)
        if ((names[piece] = PyUnicode_InternFromString(NAMES[piece])) == NULL)
            return -1;
    rules_begin();
    return 0;
}

static int read_number(PyObject *theirs, PyObject *name, Squares *number) {
    PyObject *found = PyObject_GetAttr(theirs, name);
    if (found == NULL)
        return -1;
    *number = found == Py_None ? (Squares)-1 : PyLong_AsUnsignedLongLongMask(found);
    Py_DECREF(found);
    return PyErr_Occurred() ? -1 : 0;
}

int board_read(PyObject *theirs, Board *board) {
    Squares moves, number, passed, whose, kind;
    memset(board, 0, sizeof *board);
    for (int piece = PAWN; piece <= KING; piece++)
        if (read_number(theirs, names[piece], &board->of[piece]) < 0)
            return -1;
    PyObject *sides = PyObject_GetAttr(theirs, occupied_co);
    if (sides == NULL)
        return -1;
    for (int side = 0; side < 2; side++) {
        PyObject *squares = PySequence_GetItem(sides, side);
        board->side[side] = squares ? PyLong_AsUnsignedLongLongMask(squares) : 0;
        Py_XDECREF(squares);
    }
    Py_DECREF(sides);
    if (PyErr_Occurred() || read_number(theirs, castling_rights, &board->rights) < 0 ||
        read_number(theirs, promoted, &board->promoted) < 0 || read_number(theirs, ep_square, &passed) < 0 ||
        read_number(theirs, halfmove_clock, &moves) < 0 || read_number(theirs, fullmove_number, &number) < 0 ||
        read_number(theirs, turn, &whose) < 0 || read_number(theirs, chess960, &kind) < 0)
        return -1;
    board->passed = (int)passed;
    board->halfmoves = (int)moves;
    board->number = (int)number;
    board->turn = whose != 0;
    board->shuffled = kind != 0;
    return rules_fit(board) ? 0 : -1;
}

static int give(PyObject *theirs, PyObject *name, PyObject *value) {
    int done = value == NULL ? -1 : PyObject_SetAttr(theirs, name, value);
    Py_XDECREF(value);
    return done;
}

int board_give(const Board *board, PyObject *theirs) {
    for (int piece = PAWN; piece <= KING; piece++)
        if (give(theirs, names[piece], PyLong_FromUnsignedLongLong(board->of[piece])) < 0)
            return -1;
    PyObject *sides = PyObject_GetAttr(theirs, occupied_co);
    if (sides == NULL)
        return -1;
    for (int side = 0; side < 2; side++) {
        PyObject *squares = PyLong_FromUnsignedLongLong(board->side[side]);
        if (squares == NULL || PySequence_SetItem(sides, side, squares) < 0) {
            Py_XDECREF(squares);
            Py_DECREF(sides);
            return -1;
        }
        Py_DECREF(squares);
    }
    Py_DECREF(sides);
    PyObject *passed = board->passed < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(board->passed);
    if (give(theirs, ep_square, passed) < 0 ||
        give(theirs, occupied, PyLong_FromUnsignedLongLong(board->side[0] | board->side[1])) < 0 ||
        give(theirs, castling_rights, PyLong_FromUnsignedLongLong(board->rights)) < 0 ||
        give(theirs, promoted, PyLong_FromUnsignedLongLong(board->promoted)) < 0 ||
        give(theirs, halfmove_clock, PyLong_FromLong(board->halfmoves)) < 0 ||
        give(theirs, fullmove_number, PyLong_FromLong(board->number)) < 0)
        return -1;
    return give(theirs, turn, PyBool_FromLong(board->turn));
}

typedef struct {
    PyObject_HEAD
    Board board;
} Shadow;

static PyObject *shadow_new(PyTypeObject *type, PyObject *args, PyObject *named) {
    PyObject *theirs;
    if (named && PyDict_GET_SIZE(named)) {
        PyErr_SetString(PyExc_TypeError, "Board takes one board of python-chess");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O", &theirs))
        return NULL;
    Shadow *made = (Shadow *)type->tp_alloc(type, 0);
    if (made != NULL && board_read(theirs, &made->board) < 0) {
        Py_DECREF(made);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "not a position of usual chess");
        return NULL;
    }
    return (PyObject *)made;
}

static bool read_uci(PyObject *text, Move *move) {
    Py_ssize_t length;
    const Byte *word = (const Byte *)PyUnicode_AsUTF8AndSize(text, &length);
    if (word != NULL && move_read(word, (size_t)length, move))
        return true;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "no move: %R", text);
    return false;
}

static bool read_legal(const Board *board, PyObject *text, Move *move) {
    if (!read_uci(text, move))
        return false;
    if (!move_is_legal(board, *move))
        PyErr_Format(PyExc_ValueError, "no legal move: %R", text);
    return !PyErr_Occurred();
}

/* Play a move; return its notation with its mark of check or mate. */
static PyObject *noted(Board *board, Move move) {
    Byte san[LONGEST_SAN];
    size_t length = move_san(board, move, san);
    play(board, move);
    if (in_check(board))
        san[length++] = can_move(board) ? '+' : '#';
    return PyUnicode_FromStringAndSize((const char *)san, (Py_ssize_t)length);
}

static PyObject *shadow_play(Shadow *self, PyObject *text) {
    Move move;
    return read_legal(&self->board, text, &move) ? noted(&self->board, move) : NULL;
}

static PyObject *shadow_onto(Shadow *self, PyObject *theirs) {
    if (board_give(&self->board, theirs) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *shadow_legal(Shadow *self, PyObject *text) {
    Move move;
    if (!read_uci(text, &move))
        return NULL;
    return PyBool_FromLong(move_is_legal(&self->board, move));
}

static PyObject *shadow_can_move(Shadow *self, PyObject *Py_UNUSED(none)) {
    return PyBool_FromLong(can_move(&self->board));
}

static PyObject *shadow_in_check(Shadow *self, PyObject *Py_UNUSED(none)) {
    return PyBool_FromLong(in_check(&self->board));
}

static PyObject *figure_or_none(const Thought *thought, int figure) {
    return thought->known[figure] ? PyLong_FromLongLong(thought->figure[figure]) : Py_NewRef(Py_None);
}

/* Return the PV; `holds`: its first `plies` moves begin with the move played and are legal. */
static PyObject *line_of(const Thought *thought, Board board, Move played, long plies, int *holds) {
    Byte kept[LONGEST_PV];
    size_t used = 0, length;
    const Byte *at = thought->pv, *end = at + thought->pv_length, *word;
    *holds = 1;
    for (int ply = 0; ply < PV_PLIES && (length = next_word(&at, end, &word)) != 0; ply++) {
        Move move;
        bool whole = used + (used > 0) + length <= LONGEST_PV;
        if (*holds && (ply == 0 || ply < plies)) {
            *holds = whole && move_read(word, length, &move) && move_is_legal(&board, move) &&
                     (ply > 0 || memcmp(&move, &played, sizeof move) == 0);
            if (*holds)
                play(&board, move);
        }
        if (used && used < LONGEST_PV)
            kept[used++] = ' ';
        for (size_t sign = 0; sign < length && used < LONGEST_PV; sign++)
            kept[used++] = word[sign];
        if (used == LONGEST_PV) {
            *holds = 0; /* a PV that was cut is checked by Python */
            break;
        }
    }
    return PyUnicode_DecodeASCII((const char *)kept, (Py_ssize_t)used, NULL);
}

/* Return a move as a tuple of that kind, with all data of its search. */
static PyObject *made_of(Shadow *self, PyTypeObject *kind, PyObject *raw, PyObject *gap, PyObject *uci, Move move,
                         const Thought *thought, PyObject *line) {
    PyObject *gap_us = Py_None;
    if (gap != Py_None) {
        gap_us = PyLong_FromLongLong(PyLong_AsLongLong(gap) / 1000);
        if (gap_us == NULL)
            return NULL;
    } else {
        Py_INCREF(gap_us);
    }
    PyObject *fields = Py_BuildValue(
        "((ONOOLNNOONNNNN()))", uci, noted(&self->board, move), PyTuple_GET_ITEM(raw, ELAPSED), PyTuple_GET_ITEM(raw, CLOCK),
        thought->score, figure_or_none(thought, DEPTH), figure_or_none(thought, NODES), line, Py_False,
        figure_or_none(thought, SELDEPTH), figure_or_none(thought, NPS), figure_or_none(thought, HASHFULL),
        figure_or_none(thought, TBHITS), gap_us);
    PyObject *made = fields ? PyTuple_Type.tp_new(kind, fields, NULL) : NULL;
    Py_XDECREF(fields);
    return made;
}

/* write(kind, raw, gap_ns, uci): record a ply without claims to check; None: Python must do it. */
static PyObject *shadow_write(Shadow *self, PyObject *args) {
    PyObject *kind, *raw, *gap, *uci;
    char *bytes;
    Py_ssize_t length;
    Move move;
    Thought thought;
    if (!PyArg_ParseTuple(args, "O!O!OU", &PyType_Type, &kind, &PyTuple_Type, &raw, &gap, &uci) ||
        !read_legal(&self->board, uci, &move) ||
        PyBytes_AsStringAndSize(PyTuple_GET_ITEM(raw, SEARCH), &bytes, &length) < 0)
        return NULL;
    const Byte *search = (const Byte *)bytes;
    if (thought_of(search, (size_t)length, true, &thought) != FOUND || thought.bound || thought.score >= SOME_MATE ||
        thought.score <= -SOME_MATE || has_more(search, (size_t)length, &thought))
        Py_RETURN_NONE;
    int holds;
    long elapsed = PyLong_AsLong(PyTuple_GET_ITEM(raw, ELAPSED));
    PyObject *line = line_of(&thought, self->board, move, elapsed, &holds);
    if (line == NULL || !holds || PyErr_Occurred()) {
        Py_XDECREF(line);
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NONE;
    }
    PyObject *made = made_of(self, (PyTypeObject *)kind, raw, gap, uci, move, &thought, line);
    Py_DECREF(line);
    return made;
}

static PyObject *shadow_turn(Shadow *self, void *Py_UNUSED(closure)) { return PyBool_FromLong(self->board.turn); }

static PyMethodDef METHODS[] = {
    {"play", (PyCFunction)shadow_play, METH_O, NULL},
    {"onto", (PyCFunction)shadow_onto, METH_O, NULL},
    {"is_legal", (PyCFunction)shadow_legal, METH_O, NULL},
    {"can_move", (PyCFunction)shadow_can_move, METH_NOARGS, NULL},
    {"in_check", (PyCFunction)shadow_in_check, METH_NOARGS, NULL},
    {"write", (PyCFunction)shadow_write, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef FIELDS[] = {
    {"turn", (getter)shadow_turn, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject BoardType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "enginetour._native.Board",
    .tp_basicsize = sizeof(Shadow),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = shadow_new,
    .tp_methods = METHODS,
    .tp_getset = FIELDS,
};
