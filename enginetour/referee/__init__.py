"""One game between two engines, and the process of a slot that plays it."""
