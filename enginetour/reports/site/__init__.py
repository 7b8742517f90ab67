"""The static site of a league."""
