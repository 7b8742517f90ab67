"""Tournaments without engines: worlds of strengths, a format played to its end in one, and how true its lists are."""
