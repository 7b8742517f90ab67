"""Plays one game between two engines."""
