/* The rules of standard chess and Chess960, as in python-chess.
 *
 * Squares, colors and pieces are numbered as in python-chess: a1 is 0, h8 is 63, White is 1, a pawn is 1, a king 6.
 */
#ifndef ENGINETOUR_RULES_H
#define ENGINETOUR_RULES_H

#include "bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NONE, PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING };
enum { LONGEST_SAN = 7 }; /* bytes of "Qa1xb2#" and of "bxa1=Q#" */

typedef uint64_t Squares;

typedef struct {
    uint8_t from, to, promotion;
} Move;

typedef struct {
    Squares of[KING + 1]; /* by piece */
    Squares side[2];
    Squares promoted;
    Squares rights; /* rooks that may castle; only rooks on their squares */
    int passed;     /* en passant square, -1: none */
    int halfmoves;  /* since the last capture or pawn move */
    int number;     /* of the move */
    int turn;
    bool shuffled; /* Chess960: castling is written as king takes rook */
} Board;

/* Data that repeated positions share, FIDE 9.2.2. */
typedef struct {
    Squares words[10];
} Key;

#define BIT(square) ((Squares)1 << (square))
#define FILE_A 0x0101010101010101ULL
#define RANK_1 0xffULL

void rules_begin(void);
bool rules_fit(const Board *board); /* one king per side, the side that has moved not in check */
bool move_read(const Byte *text, size_t length, Move *move);
size_t move_write(Move move, Byte text[6]);
bool move_is_castling(const Board *board, Move move);
bool move_is_legal(const Board *board, Move move);
bool in_check(const Board *board);
bool can_move(const Board *board);
bool play(Board *board, Move move); /* play a legal move; true if no earlier position can occur again */
bool is_thin(const Board *board);   /* so few pieces that mate may be impossible */
void key_of(const Board *board, Key *key);
size_t move_san(const Board *board, Move move, Byte san[LONGEST_SAN]); /* without its mark of check or mate */

/* For notation.c. */
int piece_at(const Board *board, int square);
int castling_rook(const Board *board, Move move);
Squares reach(const Board *board, int piece, int square);
bool is_safe(const Board *board, int piece, int from, int to);

#endif
