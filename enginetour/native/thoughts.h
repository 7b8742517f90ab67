/* The last scored info line of a search, as enginetour/engines/uci_lines.py finds it; odd lines are left to Python. */
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
    const Byte *pv; /* words separated by blanks, as the engine wrote them */
    size_t pv_length;
} Thought;

typedef enum { FOUND, NOTHING, ODD_WORDS } Finding;

/* Without `bounds` the last exact score. ODD_WORDS: Python must read it. */
Finding thought_of(const Byte *text, size_t length, bool bounds, Thought *thought);

/* Return whether another line of the search may have a figure that the scored line lacks. */
bool has_more(const Byte *text, size_t length, const Thought *thought);

/* Find the next word at or after *at and move *at behind it; return its length, 0 at the end. */
size_t next_word(const Byte **at, const Byte *end, const Byte **word);

/* Printable ASCII, blanks and tabs, which have one meaning only. */
bool is_plain(const Byte *at, const Byte *end);

#endif
