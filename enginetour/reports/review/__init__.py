"""The contents of the reports of tournaments and rating lists."""
