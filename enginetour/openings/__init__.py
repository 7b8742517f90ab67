"""Start of a game: opening books, Polyglot books, positions, and the choice of an opening."""
