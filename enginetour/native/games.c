/* The scan of PGN text: players and results of usual games. `_quick` in interop/pgn.py does the same in Python, and
 * `TagReader` in interop/gametags.py reads everything that is refused here. */
#include "native.h"

#include <string.h>
#include <strings.h>

enum { UNFINISHED = 3, MOST_TAGS = 1000 }; /* interop/tally.py */
enum { LONGEST_LINE = 65536 };             /* interop/gametags.py */
enum { KNOWN = 256 };                      /* names that are found again without a Python object; chosen here */

typedef struct {
    const Byte *from, *to;
} Text;

typedef struct {
    Text players[2]; /* White, Black */
    int result;
} Game;

typedef struct {
    enum { BEFORE, TAGS, MOVES } part;
    bool blank; /* the line before is blank */
    int tags;
    bool named[3];     /* White, Black, Result */
    const Byte *moves; /* where the moves begin */
    Text last;         /* last line of the moves */
    Game *games;
    Py_ssize_t count, room;
} Scan;

static const char *const RESULTS[] = {"1-0", "1/2-1/2", "0-1", "*"}; /* in the order of the codes of interop/tally.py */

static inline bool is_text(Text text, const char *word) {
    size_t size = strlen(word);
    return (size_t)(text.to - text.from) == size && memcmp(text.from, word, size) == 0;
}

static inline bool starts_with(Text text, const char *word) {
    size_t size = strlen(word);
    return (size_t)(text.to - text.from) >= size && memcmp(text.from, word, size) == 0;
}

static int result_code(Text text) {
    for (int code = 0; code <= UNFINISHED; code++)
        if (is_text(text, RESULTS[code]))
            return code;
    return -1;
}

static bool is_blank(Byte byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/* Whether no comment is open after the moves of a game. An opening brace inside a comment is only text, so the last
 * brace decides. */
static bool is_closed(const Byte *from, const Byte *to) {
    if (memchr(from, '{', (size_t)(to - from)) == NULL)
        return true;
    while (to[-1] != '{' && to[-1] != '}')
        to--;
    return to[-1] == '}';
}

/* End the game before `at`. Return false if tags are missing, a comment is open, or the moves end with another result. */
static bool end_game(Scan *scan, const Byte *at) {
    if (scan->part == BEFORE)
        return true;
    if (!scan->named[0] || !scan->named[1] || !scan->named[2])
        return false;
    if (scan->part == MOVES) {
        if (!is_closed(scan->moves, at))
            return false;
        Text last = scan->last;
        while (last.to > last.from && is_blank(last.to[-1]))
            last.to--;
        const Byte *word = last.to;
        while (word > last.from && !is_blank(word[-1]))
            word--;
        int code = result_code((Text){word, last.to});
        if (code >= 0 && code != scan->games[scan->count].result)
            return false;
    }
    scan->count++;
    return true;
}

static bool begin_game(Scan *scan) {
    if (scan->count == scan->room) {
        Py_ssize_t room = scan->room ? 2 * scan->room : 64;
        Game *games = PyMem_RawRealloc(scan->games, (size_t)room * sizeof *games);
        if (games == NULL)
            return false;
        scan->games = games, scan->room = room;
    }
    memset(scan->named, 0, sizeof scan->named);
    scan->part = TAGS, scan->tags = 0;
    return true;
}

/* Read a line with one tag whose value has no quotes. Return false for other lines, and for tags that need care. */
static bool read_tag(Scan *scan, Text line) {
    static const char *const NAMES[] = {"White", "Black", "Result"};
    const Byte *quote = memchr(line.from, '"', (size_t)(line.to - line.from));
    if (quote == NULL || quote[-1] != ' ' || quote - line.from < 3)
        return false;
    Text name = {line.from + 1, quote - 1}, value = {quote + 1, line.to - 2};
    if (value.to < value.from || value.to[0] != '"' || value.to[1] != ']' || value.to[-1] == '\\' ||
        memchr(value.from, '"', (size_t)(value.to - value.from)) != NULL)
        return false;
    for (const Byte *at = name.from; at < name.to; at++)
        if (!((*at | 32) >= 'a' && (*at | 32) <= 'z') && !(*at >= '0' && *at <= '9') && !(*at == '_' && at > name.from))
            return false;
    if (++scan->tags > MOST_TAGS || line.to - line.from > LONGEST_LINE || is_text(name, "Handicap") ||
        is_text(name, "Variant"))
        return false;
    for (int number = 0; number < 3; number++) {
        size_t size = number < 2 ? 5 : 6;
        if ((size_t)(name.to - name.from) != size || strncasecmp((const char *)name.from, NAMES[number], size) != 0)
            continue;
        if (scan->named[number] || memcmp(name.from, NAMES[number], size) != 0)
            return false;
        scan->named[number] = true;
        if (number < 2)
            scan->games[scan->count].players[number] = value;
        else if ((scan->games[scan->count].result = result_code(value)) < 0)
            return false;
    }
    return true;
}

static bool read_bracket(Scan *scan, Text line) {
    if (scan->part == MOVES && starts_with(line, "[%")) { /* the comment of a program */
        scan->last = line;
        return !scan->blank;
    }
    if (scan->part == TAGS && !scan->blank)
        return read_tag(scan, line);
    if (!starts_with(line, "[Event \"") && !starts_with(line, "[White \""))
        return false;
    return end_game(scan, line.from) && begin_game(scan) && read_tag(scan, line);
}

static bool read_moves(Scan *scan, Text line) {
    const Byte *at = line.from;
    while (at < line.to && is_blank(*at))
        at++;
    if (at == line.to || *at == '%' || (at > line.from && *at == '[' && !starts_with((Text){at, line.to}, "[%")))
        return false;
    if (scan->part == TAGS && *at != ';')
        scan->part = MOVES, scan->moves = line.from;
    else if (scan->part != MOVES || (scan->blank && starts_with(line, "1."))) /* moves without tags */
        return false;
    scan->last = line;
    return true;
}

/* Read lines. Return false if a line is not usual. */
static bool read_lines(Scan *scan, const Byte *at, const Byte *end) {
    bool returns = memchr(at, '\r', (size_t)(end - at)) != NULL;
    while (at < end) {
        const Byte *feed = memchr(at, '\n', (size_t)(end - at));
        Text line = {at, feed != NULL ? feed : end};
        at = line.to + 1;
        if (returns && line.to > line.from) {
            const Byte *first = memchr(line.from, '\r', (size_t)(line.to - line.from));
            if (first != NULL && first != --line.to)
                return false;
        }
        bool blank = line.to == line.from;
        if (!blank && !(*line.from == '[' ? read_bracket(scan, line) : read_moves(scan, line)))
            return false;
        scan->blank = blank;
    }
    return end_game(scan, end);
}

typedef struct {
    Text name;
    int number;
} Known;

/* Return the number of a name in `names`, which assigns it if necessary; -1: the name needs care, or an exception. */
static int number_of(Text name, PyObject *names, Known *known) {
    unsigned hash = 0;
    size_t size = (size_t)(name.to - name.from);
    for (const Byte *at = name.from; at < name.to; at++)
        hash = hash * 31 + *at;
    Known *found = &known[(hash ^ hash >> 8) % KNOWN];
    if (found->name.from != NULL && (size_t)(found->name.to - found->name.from) == size &&
        memcmp(found->name.from, name.from, size) == 0)
        return found->number;
    PyObject *raw = PyBytes_FromStringAndSize((const char *)name.from, (Py_ssize_t)size);
    PyObject *number = raw != NULL ? PyObject_GetItem(names, raw) : NULL;
    int value = number != NULL ? (int)PyLong_AsLong(number) : -1;
    Py_XDECREF(raw);
    Py_XDECREF(number);
    *found = (Known){name, value};
    return value;
}

/* Return the columns, None if a name needs care, or NULL with an exception. */
static PyObject *columns(const Scan *scan, PyObject *names) {
    Known known[KNOWN] = {0};
    Py_ssize_t bytes = scan->count * (Py_ssize_t)sizeof(int);
    PyObject *white = PyBytes_FromStringAndSize(NULL, bytes), *black = PyBytes_FromStringAndSize(NULL, bytes);
    PyObject *results = PyBytes_FromStringAndSize(NULL, scan->count), *found = NULL;
    if (white == NULL || black == NULL || results == NULL)
        goto done;
    int *numbers[] = {(int *)PyBytes_AS_STRING(white), (int *)PyBytes_AS_STRING(black)};
    for (Py_ssize_t at = 0; at < scan->count; at++) {
        for (int side = 0; side < 2; side++)
            if ((numbers[side][at] = number_of(scan->games[at].players[side], names, known)) < 0) {
                if (!PyErr_Occurred())
                    found = Py_NewRef(Py_None);
                goto done;
            }
        PyBytes_AS_STRING(results)[at] = (char)scan->games[at].result;
    }
    found = PyTuple_Pack(3, white, black, results);
done:
    Py_XDECREF(white);
    Py_XDECREF(black);
    Py_XDECREF(results);
    return found;
}

PyObject *usual_games(PyObject *self, PyObject *arguments) {
    (void)self;
    Py_buffer text;
    PyObject *names;
    if (!PyArg_ParseTuple(arguments, "y*O", &text, &names))
        return NULL;
    Scan scan = {.blank = true};
    const Byte *from = text.buf;
    PyObject *found =
        read_lines(&scan, from, from + text.len) && scan.count ? columns(&scan, names) : Py_NewRef(Py_None);
    PyMem_RawFree(scan.games);
    PyBuffer_Release(&text);
    return found;
}
