"""The nouns of the program and its errors. Pure: no file, clock, process or database."""
