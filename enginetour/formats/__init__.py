"""Tournament formats: which entrants meet next, computed from the event log alone."""
