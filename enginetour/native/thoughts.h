/* The last scored info line of a search: what enginetour/engines/uci_lines.py finds, where nothing about it is odd. */
#ifndef ENGINETOUR_THOUGHTS_H
#define ENGINETOUR_THOUGHTS_H

#include "bytes.h"

#include <stdbool.h>
#include <stddef.h>

enum { DEPTH, SELDEPTH, NODES, NPS, HASHFULL, TBHITS, FIGURES };

typedef struct {
    bool scored;
    long long score;
    int bound;
    bool known[FIGURES];
    long long figure[FIGURES];
    const Byte *pv; /* words with blanks between them, as the engine wrote them */
    size_t pv_length;
} Thought;

typedef enum { FOUND, NOTHING, ODD_WORDS } Finding;

/* Without `bounds` the last exact score. ODD_WORDS: left to Python. */
Finding thought_of(const Byte *text, size_t length, bool bounds, Thought *thought);

/* Whether another line of the search may hold a figure that the scored one lacks. */
bool has_more(const Byte *text, size_t length, const Thought *thought);

/* The next word at or after *at, which moves behind it; its length, 0 at the end. */
size_t next_word(const Byte **at, const Byte *end, const Byte **word);

/* Printable ASCII, blanks and tabs: what has no second reading. */
bool is_plain(const Byte *at, const Byte *end);

#endif
