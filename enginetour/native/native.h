/* Declarations for all parts of the module enginetour._native; see module.c. */
#ifndef ENGINETOUR_NATIVE_H
#define ENGINETOUR_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "rules.h"

/* From and to a board of python-chess. False, or -1 with an exception: error; -1 without one: other rules. */
int board_read(PyObject *theirs, Board *board);
int board_give(const Board *board, PyObject *theirs);

extern PyTypeObject BoardType, RelayType;
/* Players and results of usual PGN text: the arguments are text and a mapping of names to numbers. */
PyObject *usual_games(PyObject *self, PyObject *arguments);

int boards_begin(void);

#endif
