"""What the pages of a tournament and of a list contain."""
