/* The module enginetour._native: the work of every ply and the scan of PGN files, compiled. Without it, Python does the same work, slower. */
#include "native.h"

static PyMethodDef FUNCTIONS[] = {
    {"usual_games", usual_games, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "enginetour._native", .m_size = -1, .m_methods = FUNCTIONS};

PyMODINIT_FUNC PyInit__native(void) {
    if (boards_begin() < 0)
        return NULL;
    PyObject *module = PyModule_Create(&MODULE);
    if (module == NULL || PyModule_AddType(module, &BoardType) < 0 || PyModule_AddType(module, &RelayType) < 0 ||
        PyModule_AddIntConstant(module, "INTERFACE", 5) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
