/* The part of a plain ply after the wait: read the answer, judge it, charge its time, make the move. */
#define _GNU_SOURCE /* memmem */
#include "relay.h"
#include "thoughts.h"

#include <string.h>

static const long long SLEPT = 1000 * MS; /* enginetour/referee/clock.py */

Py_ssize_t answer_of(const Relay *relay, size_t from) {
    static const char WORD[] = "bestmove";
    size_t begun = from > sizeof WORD ? from - sizeof WORD : 0; /* a word may be split between two reads */
    const Byte *hit = memmem(relay->text + begun, relay->text_length - begun, WORD, sizeof WORD - 1);
    if (hit == NULL)
        return -2;
    size_t at = (size_t)(hit - relay->text), left = relay->text_length - at;
    if (at && relay->text[at - 1] != '\n')
        return -1;
    const Byte *end = memchr(hit, '\n', left);
    if (end == NULL)
        return -1; /* a line in pieces */
    return (size_t)(end - hit) + 1 == left ? (Py_ssize_t)at : -1;
}

static bool plain_answer(const Byte *line, const Byte *end, Move *move) {
    const Byte *at = line, *word;
    size_t length = next_word(&at, end, &word);
    if (length != 8) /* bestmove */
        return false;
    length = next_word(&at, end, &word);
    static const char *const ROOK_TAKING[] = {"e1h1", "e1a1", "e8h8", "e8a8"};
    for (int one = 0; one < 4; one++)
        if (length == 4 && memcmp(word, ROOK_TAKING[one], 4) == 0)
            return false; /* enginetour/engines/position.py */
    return move_read(word, length, move) && is_plain(at, end);
}

static Seen *seen_of(Relay *relay, const Key *key) {
    for (int at = relay->seen_count - 1; at >= 0; at--)
        if (relay->seen[at].key.words[6] == key->words[6] && memcmp(&relay->seen[at].key, key, sizeof *key) == 0)
            return &relay->seen[at];
    return NULL;
}

/* Adjudicate the position after the move: PLAIN, ODD, ENDED. */
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

/* Charge the clock for an answer that is plain, and extend the line; the board stays unchanged. */
static bool enter(Relay *relay, Side *side, Move move, long long elapsed, size_t search, bool check) {
    long long spent = elapsed / MS;
    side->moves++;
    side->total += spent;
    if (spent > side->longest)
        side->longest = spent;
    if (spent > (side->rest < 0 ? side->limit : side->rest))
        side->margin_uses++;
    if (side->rest >= 0) {
        long long left = side->rest > spent ? side->rest - spent : 0;
        if (side->least < 0 || left < side->least)
            side->least = left;
        if (side->to_go)
            side->to_go--;
        side->rest = left + side->increment;
    }
    relay->ply.is = true;
    relay->ply.side = side;
    relay->ply.move = move;
    relay->ply.spent = spent;
    relay->ply.clock = side->rest;
    relay->ply.gap = relay->answered ? relay->gap_ns : -1;
    relay->ply.search = search;
    relay->ply.check = check;
    relay->held++;
    relay->last_elapsed = (long)spent;
    if (!reserve(&relay->line, relay->line_length, &relay->line_room, 16))
        return false;
    Byte text[6], *at = relay->line + relay->line_length;
    size_t length = move_write(move, text);
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

static PyObject *number_or_none(long long number) {
    return number < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(number);
}

static bool settle_ply(Relay *relay) {
    Byte text[6];
    size_t length = move_write(relay->ply.move, text);
    PyObject *uci = PyUnicode_FromStringAndSize((const char *)text, (Py_ssize_t)length);
    PyObject *search = PyBytes_FromStringAndSize((const char *)relay->text, (Py_ssize_t)relay->ply.search);
    PyObject *clock = number_or_none(relay->ply.clock), *gap = number_or_none(relay->ply.gap);
    PyObject *fields = NULL, *ply = NULL, *done = NULL;
    if (uci && search && gap && clock && PyList_Append(relay->moves, uci) == 0) {
        fields = Py_BuildValue("((OLOOOsi))", relay->ply.side->seat, relay->ply.spent, clock, search, Py_False,
                               relay->ply.check ? "+" : "", 0);
        ply = fields ? PyTuple_Type.tp_new((PyTypeObject *)relay->raw, fields, NULL) : NULL;
        done = ply ? PyObject_CallFunction(relay->enter, "((OO))", ply, gap) : NULL;
    }
    PyObject *all[] = {uci, search, clock, gap, fields, ply, done};
    for (size_t at = 0; at < sizeof all / sizeof *all; at++)
        Py_XDECREF(all[at]);
    return done != NULL;
}

bool settle(Relay *relay) {
    /* if they contain the answer, its side has moved since */
    Side *side = relay->ply.is ? relay->ply.side : &relay->side[relay->board.turn];
    for (int at = 0; at < relay->pieces; at++) {
        size_t begin = relay->noted;
        relay->noted = relay->piece[at].end;
        if (!note(side, '<', relay->piece[at].stamp, relay->text + begin, relay->noted - begin))
            return false;
    }
    relay->pieces = 0;
    bool is = relay->ply.is;
    relay->ply.is = false;
    return !is || settle_ply(relay);
}

Why answered(Relay *relay, size_t begins) {
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

int seen_from(Relay *self, PyObject *dict) {
    Py_ssize_t at = 0;
    PyObject *key, *times;
    self->seen_count = 0;
    while (PyDict_Next(dict, &at, &key, &times)) {
        if (self->seen_count == MOST_KEYS || PyTuple_GET_SIZE(key) != 10)
            return 0;
        Seen *seen = &self->seen[self->seen_count++];
        for (int word = 0; word < 10; word++)
            seen->key.words[word] = PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(key, word));
        seen->times = PyLong_AsLong(times);
    }
    return PyErr_Occurred() ? -1 : 1;
}

PyObject *seen_told(const Relay *self) {
    PyObject *dict = PyDict_New();
    for (int at = 0; dict != NULL && at < self->seen_count; at++) {
        PyObject *key = PyTuple_New(10), *times = PyLong_FromLong(self->seen[at].times);
        for (int word = 0; key != NULL && word < 10; word++) {
            Squares number = self->seen[at].key.words[word];
            PyObject *item = word == 7                ? PyBool_FromLong(number != 0)
                             : number == (Squares)-1 ? PyLong_FromLong(-1)
                                                      : PyLong_FromUnsignedLongLong(number);
            if (item == NULL)
                Py_CLEAR(key);
            else
                PyTuple_SET_ITEM(key, word, item);
        }
        if (key == NULL || times == NULL || PyDict_SetItem(dict, key, times) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(times);
    }
    return dict;
}
