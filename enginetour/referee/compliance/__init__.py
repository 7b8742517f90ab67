"""Compliance checks, which test whether an engine follows its protocol, UCI or CECP."""
