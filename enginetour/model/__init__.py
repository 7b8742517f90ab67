"""Basic types of the program, and its errors; nothing here uses files, clocks, processes or databases."""
