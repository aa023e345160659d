"""The records of a run, read back by one reader."""
