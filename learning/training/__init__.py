"""Local training: turns one task into one result."""
