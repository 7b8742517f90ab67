"""Typed rows in; text, charts and pages out."""
