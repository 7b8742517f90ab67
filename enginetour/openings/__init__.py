"""Where a game begins: opening books, Polyglot books, positions, choice."""
