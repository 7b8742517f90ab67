#include "rules.h"

#include <string.h>

#define BACK_RANKS 0xff000000000000ffULL

/* Rays by direction; the first four lead to higher squares. */
static const int STEPS[8][2] = {{1, 0}, {0, 1}, {1, 1}, {-1, 1}, {-1, 0}, {0, -1}, {-1, -1}, {1, -1}};
static Squares ray[8][64], by_knight[64], by_king[64], by_pawn[2][64];

static Squares leap(int square, int files, int ranks) {
    int file = (square & 7) + files, rank = (square >> 3) + ranks;
    return file < 0 || file > 7 || rank < 0 || rank > 7 ? 0 : BIT(rank * 8 + file);
}

void rules_begin(void) {
    for (int square = 0; square < 64; square++) {
        for (int way = 0; way < 8; way++) {
            Squares all = 0, next;
            for (int far = 1; (next = leap(square, STEPS[way][0] * far, STEPS[way][1] * far)); far++)
                all |= next;
            ray[way][square] = all;
            by_king[square] |= leap(square, STEPS[way][0], STEPS[way][1]);
        }
        for (int turn = -1; turn <= 1; turn += 2) {
            by_pawn[turn > 0][square] = leap(square, -1, turn) | leap(square, 1, turn);
            for (int wide = -1; wide <= 1; wide += 2)
                by_knight[square] |= leap(square, wide, 2 * turn) | leap(square, 2 * wide, turn);
        }
    }
}

static inline int lowest(Squares squares) { return __builtin_ctzll(squares); }
static inline int highest(Squares squares) { return 63 - __builtin_clzll(squares); }
static inline Squares occupied(const Board *board) { return board->side[0] | board->side[1]; }

static Squares along(int way, int square, Squares taken) {
    Squares all = ray[way][square], hit = all & taken;
    if (hit)
        all ^= ray[way][way < 4 ? lowest(hit) : highest(hit)];
    return all;
}

static Squares straight(int square, Squares taken) {
    return along(0, square, taken) | along(1, square, taken) | along(4, square, taken) | along(5, square, taken);
}

static Squares slanted(int square, Squares taken) {
    return along(2, square, taken) | along(3, square, taken) | along(6, square, taken) | along(7, square, taken);
}

/* Return whether a piece of `theirs`, all of the side that is not `turn`, attacks the square. */
static bool is_hit(const Board *board, int turn, int square, Squares taken, Squares theirs) {
    const Squares *of = board->of;
    Squares near = (by_knight[square] & of[KNIGHT]) | (by_pawn[turn][square] & of[PAWN]) | (by_king[square] & of[KING]);
    if (near & theirs)
        return true;
    Squares rooks = (of[ROOK] | of[QUEEN]) & theirs, bishops = (of[BISHOP] | of[QUEEN]) & theirs;
    return (rooks && straight(square, taken) & rooks) || (bishops && slanted(square, taken) & bishops);
}

int piece_at(const Board *board, int square) {
    for (int piece = PAWN; piece <= KING; piece++)
        if (board->of[piece] & BIT(square))
            return piece;
    return NONE;
}

static int king_of(const Board *board, int turn) { return lowest(board->of[KING] & board->side[turn]); }

bool rules_fit(const Board *board) {
    for (int turn = 0; turn < 2; turn++)
        if (__builtin_popcountll(board->of[KING] & board->side[turn]) != 1)
            return false;
    int waits = !board->turn;
    return !is_hit(board, waits, king_of(board, waits), occupied(board), board->side[!waits]);
}

bool move_is_castling(const Board *board, Move move) {
    if (!(board->of[KING] & BIT(move.from)))
        return false;
    int wide = (move.from & 7) - (move.to & 7);
    return wide > 1 || wide < -1 || board->of[ROOK] & board->side[board->turn] & BIT(move.to);
}

/* Return the rook of a castling move; -1: there is none, or the notation is that of the other kind of chess. */
int castling_rook(const Board *board, Move move) {
    Squares home = RANK_1 << (board->turn ? 0 : 56), rooks = board->rights & home;
    if (move.promotion || !(home & BIT(move.from)) || !(home & BIT(move.to)))
        return -1;
    if (board->shuffled)
        return rooks & BIT(move.to) ? move.to : -1;
    if ((move.from & 7) != 4 || ((move.to & 7) != 6 && (move.to & 7) != 2))
        return -1;
    int rook = move.to > move.from ? move.from + 3 : move.from - 4;
    return rooks & BIT(rook) ? rook : -1;
}

static Squares between(int one, int other) {
    Squares low = BIT(one < other ? one : other), high = BIT(one < other ? other : one);
    return one == other ? 0 : (high - 1) & ~(low | (low - 1));
}

static bool castles_legally(const Board *board, Move move) {
    int rook = castling_rook(board, move), king = move.from;
    if (rook < 0)
        return false;
    int rank = king & 56, king_to = rank + (rook < king ? 2 : 6), rook_to = rank + (rook < king ? 3 : 5);
    Squares path = between(king, king_to), theirs = board->side[!board->turn];
    Squares without = occupied(board) ^ BIT(king);
    if ((without ^ BIT(rook)) & (path | between(rook, rook_to) | BIT(king_to) | BIT(rook_to)))
        return false;
    for (Squares left = path | BIT(king); left; left &= left - 1)
        if (is_hit(board, board->turn, lowest(left), without, theirs))
            return false;
    return !is_hit(board, board->turn, king_to, without ^ BIT(rook) ^ BIT(rook_to), theirs);
}

/* Return the squares that a piece of the side to move reaches, without castling; its king may be left in check. */
Squares reach(const Board *board, int piece, int square) {
    Squares taken = occupied(board), own = board->side[board->turn];
    switch (piece) {
    case PAWN: {
        int turn = board->turn;
        Squares free = ~taken, step = (turn ? BIT(square) << 8 : BIT(square) >> 8) & free;
        Squares third = turn ? RANK_1 << 16 : RANK_1 << 40, goals = board->side[!turn];
        if (step & third)
            step |= (turn ? step << 8 : step >> 8) & free;
        if (board->passed >= 0)
            goals |= BIT(board->passed);
        return step | (by_pawn[turn][square] & goals);
    }
    case KNIGHT: return by_knight[square] & ~own;
    case BISHOP: return slanted(square, taken) & ~own;
    case ROOK: return straight(square, taken) & ~own;
    case QUEEN: return (straight(square, taken) | slanted(square, taken)) & ~own;
    default: return by_king[square] & ~own;
    }
}

/* Return whether a move within the reach of its piece leaves the own king safe. */
bool is_safe(const Board *board, int piece, int from, int to) {
    int turn = board->turn;
    Squares taken = (occupied(board) & ~BIT(from)) | BIT(to), theirs = board->side[!turn] & ~BIT(to);
    if (piece == PAWN && to == board->passed) {
        int victim = turn ? to - 8 : to + 8;
        taken &= ~BIT(victim);
        theirs &= ~BIT(victim);
    }
    return !is_hit(board, turn, piece == KING ? to : king_of(board, turn), taken, theirs);
}

bool move_is_legal(const Board *board, Move move) {
    if (!(board->side[board->turn] & BIT(move.from)))
        return false;
    int piece = piece_at(board, move.from);
    if (move_is_castling(board, move))
        return castles_legally(board, move);
    if ((piece == PAWN && (BIT(move.to) & BACK_RANKS) != 0) != (move.promotion != NONE))
        return false;
    return reach(board, piece, move.from) & BIT(move.to) && is_safe(board, piece, move.from, move.to);
}

bool in_check(const Board *board) {
    return is_hit(board, board->turn, king_of(board, board->turn), occupied(board), board->side[!board->turn]);
}

bool can_move(const Board *board) {
    for (Squares left = board->side[board->turn]; left; left &= left - 1) {
        int from = lowest(left), piece = piece_at(board, from);
        for (Squares goals = reach(board, piece, from); goals; goals &= goals - 1)
            if (is_safe(board, piece, from, lowest(goals)))
                return true;
    }
    return false; /* castling in Chess960 may be the only legal move */
}

static bool may_pass(const Board *board) {
    if (board->passed < 0)
        return false;
    for (Squares left = by_pawn[!board->turn][board->passed] & board->of[PAWN] & board->side[board->turn]; left;
         left &= left - 1)
        if (is_safe(board, PAWN, lowest(left), board->passed))
            return true;
    return false;
}

static void lift(Board *board, int square) {
    for (int piece = PAWN; piece <= KING; piece++)
        board->of[piece] &= ~BIT(square);
    board->side[0] &= ~BIT(square);
    board->side[1] &= ~BIT(square);
    board->promoted &= ~BIT(square);
}

static void put(Board *board, int turn, int piece, int square) {
    board->of[piece] |= BIT(square);
    board->side[turn] |= BIT(square);
}

bool play(Board *board, Move move) {
    int turn = board->turn, piece = piece_at(board, move.from), passed = -1;
    bool irreversible = may_pass(board), castles = move_is_castling(board, move);
    Squares rights = board->rights, target = occupied(board) & BIT(move.to);
    board->halfmoves++;
    if (castles) {
        int rook = castling_rook(board, move), rank = move.from & 56, short_side = rook > move.from;
        lift(board, move.from);
        lift(board, rook);
        put(board, turn, KING, rank + (short_side ? 6 : 2));
        put(board, turn, ROOK, rank + (short_side ? 5 : 3));
    } else {
        if (target || piece == PAWN)
            board->halfmoves = 0;
        if (piece == PAWN && move.to == board->passed)
            lift(board, turn ? move.to - 8 : move.to + 8);
        bool crowned = move.promotion || board->promoted & BIT(move.from);
        lift(board, move.from);
        lift(board, move.to);
        put(board, turn, move.promotion ? move.promotion : piece, move.to);
        if (crowned)
            board->promoted |= BIT(move.to);
        if (piece == PAWN && (move.to - move.from == 16 || move.from - move.to == 16))
            passed = (move.from + move.to) >> 1;
    }
    board->rights &= ~(BIT(move.from) | BIT(move.to));
    if (piece == KING)
        board->rights &= ~(RANK_1 << (turn ? 0 : 56));
    board->passed = passed;
    board->number += !turn;
    board->turn = !turn;
    return irreversible || !board->halfmoves || board->rights != rights;
}

bool is_thin(const Board *board) {
    return !(board->of[PAWN] | board->of[ROOK] | board->of[QUEEN]);
}

void key_of(const Board *board, Key *key) {
    memcpy(key->words, board->of + PAWN, 6 * sizeof(Squares));
    key->words[6] = board->side[1];
    key->words[7] = (Squares)board->turn;
    key->words[8] = board->rights;
    key->words[9] = may_pass(board) ? (Squares)board->passed : (Squares)-1;
}
