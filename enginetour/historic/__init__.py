"""Pairing systems of the past, kept to the letter: AccelRat, EPM, GoDraw, gopair as functions of the field."""
