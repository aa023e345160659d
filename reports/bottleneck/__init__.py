"""Where the time of a run went, and what would have shortened it."""
