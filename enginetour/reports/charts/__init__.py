"""Pictures of what a tournament came to: rows in, SVG text or PNG bytes out; one module a chart."""
