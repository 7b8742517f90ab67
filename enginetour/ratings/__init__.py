"""From results to ratings with their errors. Pure."""
