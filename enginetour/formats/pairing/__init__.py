"""Shared parts of pairing systems: matching, criteria, Dutch rules, standings and tie-breaks."""
