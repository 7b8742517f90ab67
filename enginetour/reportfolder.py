"""A report on the disk: a folder of pages, written beside its place and put there whole."""
