"""Takes one run from a checked scenario to its records: prepares, starts, follows and ends it."""
