"""Rows in, text out: tables, PGN, exports. Never opens the store."""
