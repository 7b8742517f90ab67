"""The configuration of a tournament: sections, reading, writing."""
