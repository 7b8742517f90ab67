"""Starts, watches and ends engine processes; knows nothing of chess."""
