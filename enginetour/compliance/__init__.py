"""Does an engine keep to its protocol? A course of steps, each ok, warn, FAIL or not offered."""
