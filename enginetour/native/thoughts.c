#define _GNU_SOURCE /* memmem, memrchr */
#include "thoughts.h"

#include <stdlib.h>
#include <string.h>

static const char *const FIGURE_WORDS[FIGURES] = {" depth ", " seldepth ", " nodes ", " nps ", " hashfull ", " tbhits "};
static const char SCORE[] = " score ";
enum { DIGITS = 18, MATE = 32000 }; /* certainly within 64 bits; runner spec 6: mate in n is +-(32000 - n) */

size_t next_word(const Byte **at, const Byte *end, const Byte **word) {
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
        ++*at;
    *word = *at;
    while (*at < end && **at != ' ' && **at != '\t' && **at != '\r')
        ++*at;
    return (size_t)(*at - *word);
}

static bool is(const Byte *word, size_t length, const char *other) {
    return length == strlen(other) && memcmp(word, other, length) == 0;
}

bool is_plain(const Byte *at, const Byte *end) {
    for (; at < end; at++)
        if ((*at < ' ' && *at != '\t' && *at != '\r') || *at >= 127)
            return false;
    return true;
}

typedef enum { NUMBER, NO_NUMBER, LONG_NUMBER } Reading;

static Reading number_of(const Byte *word, size_t length, long long *number) {
    bool minus = length && *word == '-';
    size_t sign = length && (*word == '-' || *word == '+');
    if (length == sign)
        return NO_NUMBER;
    long long found = 0;
    for (size_t at = sign; at < length; at++) {
        if (word[at] < '0' || word[at] > '9')
            return NO_NUMBER;
        if (at - sign >= DIGITS)
            return LONG_NUMBER;
        found = found * 10 + word[at] - '0';
    }
    *number = minus ? -found : found;
    return NUMBER;
}

static long long mate_score(long long moves) {
    long long distance = moves < 0 ? -moves : moves;
    if (distance > MATE - 1)
        distance = MATE - 1;
    return moves > 0 ? MATE - distance : distance - MATE;
}

static int figure_of(const Byte *word, size_t length) {
    for (int figure = 0; figure < FIGURES; figure++)
        if (strlen(FIGURE_WORDS[figure]) == length + 2 && memcmp(FIGURE_WORDS[figure] + 1, word, length) == 0)
            return figure;
    return -1;
}

static Finding thought_in(const Byte *line, const Byte *end, Thought *thought) {
    if (!is_plain(line, end))
        return ODD_WORDS;
    const Byte *at = line, *word, *value;
    size_t length, long_value;
    memset(thought, 0, sizeof *thought);
    thought->pv = line; /* without bytes if there is no PV */
    for (const Byte *look = line; (length = next_word(&look, end, &word)) != 0;)
        if (is(word, length, "string")) /* the rest of the line is text */
            end = word;
    bool spelt = false;
    for (const Byte *look = line; (length = next_word(&look, end, &word)) != 0;)
        spelt = spelt || is(word, length, "score");
    length = next_word(&at, end, &word);
    if (!spelt || !is(word, length, "info"))
        return NOTHING;
    for (;;) {
        length = next_word(&at, end, &word);
        if (is(word, length, "lowerbound") || is(word, length, "upperbound")) {
            thought->bound = *word == 'l' ? 1 : -1;
            continue;
        }
        long_value = next_word(&at, end, &value);
        if (!long_value)
            break;
        int figure = figure_of(word, length);
        if (figure >= 0) {
            Reading reading = number_of(value, long_value, &thought->figure[figure]);
            if (reading == LONG_NUMBER)
                return ODD_WORDS;
            thought->known[figure] = reading == NUMBER;
        } else if (is(word, length, "score")) {
            const Byte *told;
            size_t told_length = next_word(&at, end, &told);
            long long number;
            Reading reading = number_of(told, told_length, &number);
            if (reading == LONG_NUMBER)
                return ODD_WORDS;
            bool mate = is(value, long_value, "mate");
            if (reading == NUMBER && (mate || is(value, long_value, "cp"))) {
                thought->score = mate ? mate_score(number) : number;
                thought->scored = true;
            }
        } else if (is(word, length, "multipv")) {
            if (!is(value, long_value, "1"))
                return NOTHING;
        } else if (is(word, length, "pv")) {
            while (end > value && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
                end--;
            thought->pv = value;
            thought->pv_length = (size_t)(end - value);
            break;
        }
    }
    return thought->scored ? FOUND : NOTHING;
}

static const Byte *last_score(const Byte *text, size_t length) {
    size_t word = sizeof SCORE - 1;
    while (length >= word) {
        const Byte *hit = memrchr(text, 'c', length); /* the rarest letter of the word */
        if (hit == NULL)
            return NULL;
        if (hit - text >= 2 && (size_t)(hit - text) + 5 <= length && memcmp(hit - 2, SCORE, word) == 0)
            return hit - 2;
        length = (size_t)(hit - text);
    }
    return NULL;
}

Finding thought_of(const Byte *text, size_t length, bool bounds, Thought *thought) {
    const Byte *hit;
    size_t left = length;
    while ((hit = last_score(text, left)) != NULL) {
        const Byte *before = memrchr(text, '\n', (size_t)(hit - text));
        const Byte *line = before ? before + 1 : text;
        const Byte *after = memchr(hit, '\n', length - (size_t)(hit - text));
        Finding finding = thought_in(line, after ? after : text + length, thought);
        if (finding == ODD_WORDS || (finding == FOUND && (bounds || !thought->bound)))
            return finding;
        left = (size_t)(line - text);
    }
    memset(thought, 0, sizeof *thought);
    return NOTHING;
}

bool has_more(const Byte *text, size_t length, const Thought *thought) {
    for (int figure = 0; figure < FIGURES; figure++)
        if (!thought->known[figure] && memmem(text, length, FIGURE_WORDS[figure], strlen(FIGURE_WORDS[figure])))
            return true;
    return false;
}
