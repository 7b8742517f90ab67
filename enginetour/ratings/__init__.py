"""Rating systems: pure functions from games to ratings with errors."""
