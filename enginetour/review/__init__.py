"""What the pages of a report show, gathered from an open store as frozen rows."""
