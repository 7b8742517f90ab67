"""What the formats share: matching, criteria, Dutch, standings and tie-breaks."""
