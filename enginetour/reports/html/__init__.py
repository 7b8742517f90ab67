"""Pages of a report: rows in, text out. Nothing here opens the store or looks at a clock."""
