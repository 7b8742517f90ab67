"""Engines: engine files, start, protocols (UCI and CECP), sandboxes and end of their processes."""
