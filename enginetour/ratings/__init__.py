"""Rating systems: they compute ratings with errors from results, without input or output."""
