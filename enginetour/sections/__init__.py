"""The sections of a configuration as people write them, each a frozen model of its own."""
