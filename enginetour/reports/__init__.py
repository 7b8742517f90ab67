"""Tables, charts and report pages from typed rows."""
