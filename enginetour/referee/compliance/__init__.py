"""Compliance checks: whether an engine keeps to its protocol, UCI or CECP."""
