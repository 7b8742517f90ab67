"""Scripted engines: programs with one fault each.

`enginetour.testing.scripted_engine` returns the command of one.
"""
