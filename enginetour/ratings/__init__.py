"""Rating systems: from results to ratings with errors, without input or output."""
