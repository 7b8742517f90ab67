"""Engines: their files, protocols (UCI and CECP) and sandboxes; start and end of their processes."""
