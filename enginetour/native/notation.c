/* Notation of moves: read and write UCI, write SAN. */
#include "rules.h"

#include <string.h>

bool move_read(const Byte *text, size_t length, Move *move) {
    static const char PROMOTIONS[] = "nbrq";
    if (length != 4 && length != 5)
        return false;
    for (int at = 0; at < 4; at += 2)
        if (text[at] < 'a' || text[at] > 'h' || text[at + 1] < '1' || text[at + 1] > '8')
            return false;
    move->from = (uint8_t)((text[1] - '1') * 8 + text[0] - 'a');
    move->to = (uint8_t)((text[3] - '1') * 8 + text[2] - 'a');
    move->promotion = NONE;
    if (length == 5) {
        const char *found = memchr(PROMOTIONS, text[4], sizeof PROMOTIONS - 1);
        if (found == NULL)
            return false;
        move->promotion = (uint8_t)(KNIGHT + (found - PROMOTIONS));
    }
    return move->from != move->to;
}

size_t move_write(Move move, Byte text[6]) {
    text[0] = (Byte)('a' + (move.from & 7));
    text[1] = (Byte)('1' + (move.from >> 3));
    text[2] = (Byte)('a' + (move.to & 7));
    text[3] = (Byte)('1' + (move.to >> 3));
    text[4] = (Byte)"\0\0nbrq\0"[move.promotion];
    text[5] = 0;
    return move.promotion ? 5 : 4;
}

/* Other own pieces of the same kind that may move to the same square. */
static Squares rivals(const Board *board, int piece, Move move) {
    Squares found = 0;
    for (Squares left = board->of[piece] & board->side[board->turn] & ~BIT(move.from); left; left &= left - 1) {
        int from = __builtin_ctzll(left);
        if (reach(board, piece, from) & BIT(move.to) && is_safe(board, piece, from, move.to))
            found |= BIT(from);
    }
    return found;
}

size_t move_san(const Board *board, Move move, Byte san[LONGEST_SAN]) {
    int piece = piece_at(board, move.from), file = move.from & 7, rank = move.from >> 3;
    Byte *end = san;
    if (move_is_castling(board, move)) {
        const char *word = castling_rook(board, move) > move.from ? "O-O" : "O-O-O";
        size_t length = strlen(word);
        memcpy(san, word, length);
        return length;
    }
    bool takes = (board->side[0] | board->side[1]) & BIT(move.to) || (piece == PAWN && file != (move.to & 7));
    if (piece == PAWN) {
        if (takes)
            *end++ = (Byte)('a' + file);
    } else {
        *end++ = (Byte)"  NBRQK"[piece];
        Squares others = piece == KING ? 0 : rivals(board, piece, move);
        if (others) {
            bool same_file = others & FILE_A << file, same_rank = others & RANK_1 << (rank * 8);
            if (same_rank || !same_file)
                *end++ = (Byte)('a' + file);
            if (same_file)
                *end++ = (Byte)('1' + rank);
        }
    }
    if (takes)
        *end++ = 'x';
    *end++ = (Byte)('a' + (move.to & 7));
    *end++ = (Byte)('1' + (move.to >> 3));
    if (move.promotion) {
        *end++ = '=';
        *end++ = (Byte)"  NBRQK"[move.promotion];
    }
    return (size_t)(end - san);
}
